//! Statements of a MariaDB's log, or of a MySQL's before 8.0, that say what no statement here says.

use super::Session;
use gannet_parser::ast::{self, ObjectName, Statement};
use gannet_parser::keyword::Kw;
use gannet_parser::lexer::{Lexer, Tok};
use gannet_parser::printer::{quote_name, statement};
use gannet_types::{ErrorCode, Result, SqlError, Value};
use std::ops::Range;

/// Whose statements a log has.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) enum Dialect {
    /// A Gannet's, or a MySQL's of 8.0 or later.
    #[default]
    Own,
    /// Of MySQL's before that, which make accounts with GRANT.
    Old,
    /// A MariaDB's.
    Mariadb,
}

impl Dialect {
    /// By the version of a server.
    pub(crate) fn of(version: &str) -> Dialect {
        match gannet_binlog::format::version_number(version.as_bytes()) {
            _ if version.contains("MariaDB") => Dialect::Mariadb,
            1..80_000 => Dialect::Old,
            _ => Dialect::Own,
        }
    }

    /// A statement of its log as it is run here; `None`: as it is. `inside`: a transaction has begun and goes on
    /// behind it, and a table that is made in it ends with this. Error 1235.
    ///
    /// SET PASSWORD has what is stored, which is a password in clear here; GRANT makes accounts; DROP TABLE drops those
    /// that are there, which it has said in the log with this error, or not at all (MariaDB).
    pub(crate) fn here(self, text: &[u8], error: u16, inside: Option<&[u8]>) -> Result<Option<Here>> {
        if self == Dialect::Mariadb
            && let Some(text) = unwaiting(text)
        {
            let here = self.here(&text, error, inside)?;
            return Ok(Some(here.unwrap_or(Here { before: Vec::new(), text })));
        }
        let mut words = words(text);
        let Some(verb) = words.next().filter(|_| self != Dialect::Own) else { return Ok(None) };
        let tables = |word: Word<'_>| word.is("TABLE") || word.is("TABLES");
        let passes = self == Dialect::Mariadb || error == ErrorCode::BadTable.number();
        if verb.is("DROP") && passes && words.next().is_some_and(tables) {
            return Ok(conditional(text).map(|text| Here { before: Vec::new(), text }));
        }
        if verb.is("SET") {
            return Ok(setting(text));
        }
        if verb.is("GRANT") {
            return Ok(granting(text, self == Dialect::Old));
        }
        if self == Dialect::Old {
            return Ok(None);
        }
        match role_with_admin(text)? {
            Some(here) => Ok(Some(here)),
            None => Ok(replacing(text, inside)),
        }
    }
}

/// What a statement becomes.
pub(crate) struct Here {
    /// Run before it; that what they drop is not there is no error. Again they do the same.
    pub(crate) before: Vec<String>,
    /// The statement.
    pub(crate) text: Vec<u8>,
}

/// What is the case here of variables that are MariaDB's alone: its mysqlbinlog sets them before all else.
pub(crate) fn variable(name: &str) -> Option<Value> {
    match name.to_ascii_lowercase().as_str() {
        "check_constraint_checks" => Some(Value::Int(1)),
        "sql_if_exists" | "system_versioning_insert_history" => Some(Value::Int(0)),
        _ => None,
    }
}

/// Sets one of them. Error 1235.
pub(crate) fn set(session: &mut Session, name: &str, value: &Value) -> Result<()> {
    match value {
        Value::Int(on @ (0 | 1)) if name.eq_ignore_ascii_case("sql_if_exists") => session.state.if_exists = *on == 1,
        value if variable(name).as_ref() == Some(value) => {}
        _ => return Err(SqlError::unsupported(format_args!("{name} of MariaDB"))),
    }
    Ok(())
}

/// A statement as it is under `sql_if_exists`, which a MariaDB's log has of it: of tables and programs that go or get
/// another name. `None`: it says so itself, or that makes no difference.
pub(crate) fn conditional(text: &[u8]) -> Option<Vec<u8>> {
    const OBJECTS: [&str; 11] =
        ["TABLE", "TABLES", "VIEW", "DATABASE", "SCHEMA", "PROCEDURE", "FUNCTION", "TRIGGER", "EVENT", "USER", "ROLE"];
    let mut words = words(text);
    let objects = match words.next()? {
        verb if verb.is("DROP") => &OBJECTS[..],
        verb if verb.is("RENAME") || verb.is("ALTER") => &OBJECTS[..2],
        _ => return None,
    };
    let between = |word: &Word<'_>| ["TEMPORARY", "ONLINE", "IGNORE"].iter().any(|w| word.is(w));
    let object = words.find(|word| !between(word))?;
    if !objects.iter().any(|o| object.is(o)) || words.next()?.is("IF") {
        return None;
    }
    let end = object.place.end;
    Some([&text[..end], b" IF EXISTS", &text[end..]].concat())
}

/// A word or sign of a statement, and where it stands.
struct Word<'t> {
    text: &'t [u8],
    place: Range<usize>,
}

impl Word<'_> {
    fn is(&self, word: &str) -> bool {
        self.text.eq_ignore_ascii_case(word.as_bytes())
    }
}

/// What a statement consists of, without its comments.
fn words(text: &[u8]) -> impl Iterator<Item = Word<'_>> {
    let mut lexer = Lexer::new(text, Default::default());
    std::iter::from_fn(move || {
        let token = lexer.next();
        let place = token.start as usize..token.end as usize;
        let text = text.get(place.clone())?;
        (!matches!(token.kind, Tok::End | Tok::Error)).then_some(Word { text, place })
    })
}

/// A statement without its WAIT n or NOWAIT, which says how long its locks are waited for: behind the name of a table
/// or the last of several, or the columns of an index. `None`: it has none.
fn unwaiting(text: &[u8]) -> Option<Vec<u8>> {
    let verb = words(text).next()?;
    if !["ALTER", "CREATE", "DROP", "OPTIMIZE", "RENAME", "TRUNCATE"].iter().any(|w| verb.is(w)) {
        return None;
    }
    let words: Vec<Word<'_>> = words(text).collect();
    let is = |at: usize, word: &str| words.get(at).is_some_and(|w| w.is(word));
    let position = |word: &str| words.iter().position(|w| w.is(word));
    // ONLINE, IGNORE, OR REPLACE, UNIQUE and the like come before.
    let near = |word: &str| position(word).filter(|at| *at <= 4);
    let behind_name = |at: usize| if is(at + 1, ".") { at + 3 } else { at + 1 };
    let of_index = near("INDEX").filter(|_| verb.is("CREATE") || verb.is("DROP"));
    let mut at = match (of_index, near("TABLE").or(near("TABLES"))) {
        (Some(_), _) => position("ON")? + 1,
        (None, Some(table)) if !verb.is("CREATE") => table + 1,
        (None, None) if verb.is("TRUNCATE") => 1,
        _ => return None,
    };
    if is(at, "IF") {
        at += 2;
    }
    at = behind_name(at);
    while (verb.is("DROP") || verb.is("OPTIMIZE")) && is(at, ",") {
        at = behind_name(at + 1);
    }
    if is(at, "(") {
        let mut depth = 0;
        at += words.get(at..)?.iter().position(|w| {
            depth += i32::from(w.is("(")) - i32::from(w.is(")"));
            depth == 0
        })? + 1;
    }
    let number = |at: usize| words.get(at).is_some_and(|w| w.text.iter().all(u8::is_ascii_digit));
    let last = match (is(at, "NOWAIT"), is(at, "WAIT") && number(at + 1)) {
        (true, _) => at,
        (_, true) => at + 1,
        _ => return None,
    };
    let mut plain = text.to_vec();
    plain.get_mut(words[at].place.start..words[last].place.end)?.fill(b' ');
    Some(plain)
}

/// SET PASSWORD FOR account = 'what is stored'; SET DEFAULT ROLE 'NONE'.
fn setting(text: &[u8]) -> Option<Here> {
    let set = match gannet_parser::parse(text, Default::default()).ok()?.statement {
        Statement::SetPassword(set) => set,
        Statement::SetDefaultRole { roles: ast::RoleSelection::Roles(roles), users } => {
            let is_none = |role: &ast::Account| matches!(role, ast::Account::Name { user, .. } if &**user == "NONE");
            let none = Statement::SetDefaultRole { roles: ast::RoleSelection::None, users };
            return roles.iter().all(is_none).then(|| Here { before: Vec::new(), text: statement(&none) });
        }
        _ => return None,
    };
    let stored = set.password.filter(|stored| !stored.is_empty())?;
    let secret = ast::AuthSecret::Hash(stored);
    let spec = ast::UserSpec {
        account: set.user.unwrap_or(ast::Account::CurrentUser),
        auth: vec![ast::Authentication { plugin: Some("mysql_native_password".into()), secret, initial: None }],
        factors: Vec::new(),
        discard_old_password: false,
        replace: None,
        retain_current: false,
    };
    let alter = user_statement(true, vec![spec]);
    Some(Here { before: Vec::new(), text: statement(&Statement::User(Box::new(alter))) })
}

fn user_statement(alter: bool, users: Vec<ast::UserSpec>) -> ast::UserStatement {
    ast::UserStatement {
        alter,
        existence: ast::Existence { if_exists: !alter, or_replace: false },
        users,
        default_role: None,
        require: None,
        resources: Vec::new(),
        options: Vec::new(),
        comment: None,
    }
}

/// GRANT with a password, REQUIRE or limits: the accounts are made and get these first. `all`: those without a password
/// are made, too.
fn granting(text: &[u8], all: bool) -> Option<Here> {
    let Statement::Grant(mut grant) = gannet_parser::parse(text, Default::default()).ok()?.statement else {
        return None;
    };
    let is_named = |spec: &ast::UserSpec| matches!(spec.account, ast::Account::Name { .. });
    let is_made = |spec: &&ast::UserSpec| all && is_named(spec) || !spec.auth.is_empty();
    let identified: Vec<_> = grant.to.iter().filter(is_made).cloned().collect();
    let (require, resources) = (grant.require.take(), std::mem::take(&mut grant.resources));
    if identified.is_empty() && require.is_none() && resources.is_empty() {
        return None;
    }
    let mut before = Vec::new();
    if !identified.is_empty() {
        before.push(printed(&Statement::User(Box::new(user_statement(false, identified)))));
    }
    let says = require.is_some() || !resources.is_empty() || grant.to.iter().any(|spec| !spec.auth.is_empty());
    let alter = ast::UserStatement { require, resources, ..user_statement(true, grant.to.clone()) };
    before.extend(says.then(|| printed(&Statement::User(Box::new(alter)))));
    grant.to.iter_mut().for_each(|spec| spec.auth.clear());
    Some(Here { before, text: statement(&Statement::Grant(grant)) })
}

/// CREATE ROLE ... WITH ADMIN makes the roles and gives them to one who may give them on: GRANT comes last, as the
/// place in the log is kept with it.
fn role_with_admin(text: &[u8]) -> Result<Option<Here>> {
    let mut lexer = Lexer::new(text, Default::default());
    let mut next = || lexer.next();
    if next().kw != Kw::CREATE {
        return Ok(None);
    }
    let mut token = next();
    if token.kw == Kw::OR {
        next();
        token = next();
    }
    if token.kw != Kw::ROLE {
        return Ok(None);
    }
    while token.kw != Kw::WITH || token.kind != Tok::Word {
        if matches!(token.kind, Tok::End | Tok::Error) {
            return Ok(None);
        }
        token = next();
    }
    let (roles, admin) = (text.get(..token.start as usize), text.get(next().end as usize..));
    let (Some(roles), Some(admin)) = (roles, admin.map(<[u8]>::trim_ascii)) else { return Ok(None) };
    if admin.is_empty() {
        return Ok(None);
    }
    if admin.to_ascii_uppercase().starts_with(b"CURRENT_ROLE") {
        return Err(SqlError::unsupported("CREATE ROLE ... WITH ADMIN CURRENT_ROLE"));
    }
    let replaced = replacing(roles, None);
    let plain = replaced.as_ref().map_or(roles, |here| &here.text);
    let Ok(parsed) = gannet_parser::parse(plain, Default::default()) else { return Ok(None) };
    let Statement::CreateRole { roles, .. } = parsed.statement else { return Ok(None) };
    let mut grant = b"GRANT ".to_vec();
    for (i, role) in roles.iter().enumerate() {
        let ast::Account::Name { user, host, .. } = role else { return Ok(None) };
        let separator = if i == 0 { "" } else { ", " };
        grant.extend_from_slice(format!("{separator}{}@{}", quote_name(user), quote_name(host)).as_bytes());
    }
    grant.extend_from_slice(b" TO ");
    grant.extend_from_slice(admin);
    grant.extend_from_slice(b" WITH ADMIN OPTION");
    let mut before = replaced.map_or_else(Vec::new, |here| here.before);
    before.push(printed(&Statement::CreateRole { if_not_exists: true, roles }));
    Ok(Some(Here { before, text: grant }))
}

fn printed(it: &Statement) -> String {
    String::from_utf8_lossy(&statement(it)).into_owned()
}

/// CREATE OR REPLACE drops what is there first, where that is a table, a database, an index, an account or a role: of
/// programs and views it is known here. CREATE TABLE in a transaction is CREATE TABLE ... SELECT, whose rows follow.
fn replacing(text: &[u8], inside: Option<&[u8]>) -> Option<Here> {
    let mut words = words(text);
    if !words.next()?.is("CREATE") {
        return None;
    }
    let (second, third) = (words.next()?, words.next()?);
    let replaces = second.is("OR") && third.is("REPLACE");
    if !(replaces || inside.is_some() && second.is("TABLE")) {
        return None;
    }
    let mut plain = text.to_vec();
    if replaces {
        plain[second.place.start..third.place.end].fill(b' ');
    }
    let name = |n: &ObjectName| {
        let schema = n.schema.as_ref().map_or(String::new(), |schema| quote_name(schema) + ".");
        schema + &quote_name(&n.name)
    };
    let before = match gannet_parser::parse(&plain, Default::default()).ok()?.statement {
        Statement::CreateTable(create) => {
            plain.extend_from_slice(inside.unwrap_or_default());
            format!("DROP TABLE IF EXISTS {}", name(&create.name))
        }
        Statement::CreateDatabase { name, .. } => format!("DROP DATABASE IF EXISTS {}", quote_name(&name)),
        Statement::CreateIndex(create) => {
            let index = create.index.name.as_ref()?;
            format!("DROP INDEX {} ON {}", quote_name(index), name(&create.table))
        }
        Statement::User(create) if !create.alter => {
            let users = create.users.into_iter().map(|user| user.account).collect();
            printed(&Statement::DropUser { if_exists: true, users })
        }
        Statement::CreateRole { roles, .. } => printed(&Statement::DropRole { if_exists: true, roles }),
        _ => return None,
    };
    Some(Here { before: replaces.then_some(before).into_iter().collect(), text: plain })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_need_not_be_there() {
        let shown = |text: &str| conditional(text.as_bytes()).map(|t| String::from_utf8(t).unwrap());
        for (text, then) in [
            ("rename table a to b", "rename table IF EXISTS a to b"),
            ("DROP VIEW\n v, w", "DROP VIEW IF EXISTS\n v, w"),
            ("DROP TEMPORARY TABLE `t`", "DROP TEMPORARY TABLE IF EXISTS `t`"),
            ("ALTER ONLINE TABLE t ADD a INT", "ALTER ONLINE TABLE IF EXISTS t ADD a INT"),
            ("drop role r", "drop role IF EXISTS r"),
            ("/* app */ DROP/**/TABLE`t`", "/* app */ DROP/**/TABLE IF EXISTS`t`"),
        ] {
            assert_eq!(shown(text).as_deref(), Some(then));
        }
        for text in ["DROP TABLE IF EXISTS t", "DROP INDEX i ON t", "ALTER VIEW v AS SELECT 1", "SELECT 1", "DROP", ""]
        {
            assert_eq!(shown(text), None, "{text}");
        }
    }

    #[test]
    fn locks_are_not_waited_for_at_a_replica() {
        let shown = |text: &str| {
            let plain = unwaiting(text.as_bytes())?;
            Some(String::from_utf8(plain).unwrap().split_whitespace().collect::<Vec<_>>().join(" "))
        };
        for (text, then) in [
            ("ALTER TABLE t WAIT 5 ADD b INT", "ALTER TABLE t ADD b INT"),
            (
                "alter online ignore table if exists `d` . t nowait add b int",
                "alter online ignore table if exists `d` . t add b int",
            ),
            (
                "CREATE UNIQUE INDEX i ON d.t (a, (f(b))) NOWAIT COMMENT 'x'",
                "CREATE UNIQUE INDEX i ON d.t (a, (f(b))) COMMENT 'x'",
            ),
            ("CREATE OR REPLACE INDEX i ON t WAIT 1 (a)", "CREATE OR REPLACE INDEX i ON t (a)"),
            ("DROP INDEX i ON t NOWAIT", "DROP INDEX i ON t"),
            ("DROP TABLE IF EXISTS a, d.b WAIT 10 CASCADE", "DROP TABLE IF EXISTS a, d.b CASCADE"),
            ("RENAME TABLE a NOWAIT TO b", "RENAME TABLE a TO b"),
            ("TRUNCATE t NOWAIT", "TRUNCATE t"),
            ("TRUNCATE TABLE d.t WAIT 3", "TRUNCATE TABLE d.t"),
            ("OPTIMIZE TABLE a, b NOWAIT", "OPTIMIZE TABLE a, b"),
        ] {
            assert_eq!(shown(text).as_deref(), Some(then), "{text}");
        }
        for text in [
            "ALTER TABLE nowait ADD nowait INT, CHANGE a wait INT",
            "CREATE TABLE t (nowait INT)",
            "DROP TABLE wait, nowait",
            "RENAME TABLE a TO nowait",
            "INSERT INTO t VALUES (1)",
            "TRUNCATE",
            "CREATE INDEX",
            "DROP TABLE a WAIT",
            "ALTER TABLE t (((",
        ] {
            assert_eq!(shown(text), None, "{text}");
        }
        let here = Dialect::Mariadb.here(b"DROP TABLE a NOWAIT", 0, None).unwrap().unwrap();
        assert_eq!(String::from_utf8(here.text).unwrap().trim(), "DROP TABLE IF EXISTS a");
    }

    #[test]
    fn of_a_mysql_before_8() {
        let shown = |text: &str, error| {
            let it = Dialect::of("5.6.24-log").here(text.as_bytes(), error, None).unwrap()?;
            Some((it.before.join("; "), String::from_utf8(it.text).unwrap()))
        };
        let is = |text: &str, error, before: &str, then: &str| {
            assert_eq!(shown(text, error), Some((before.to_owned(), then.to_owned())), "{text}");
        };
        let u = "create user if not exists `u`@`%`";
        is("grant select on d.* to u", 0, u, "grant SELECT on `d`.* to `u`@`%`");
        is("DROP TABLE a, b", 1051, "", "DROP TABLE IF EXISTS a, b");
        let hash = "*D7D6F58029EDE62070BA204436DE23AC54D8BD8A";
        let alter = format!("alter user `a`@`%` identified with 'mysql_native_password' as '{hash}'");
        is(&format!("SET PASSWORD FOR 'a'@'%'='{hash}'"), 0, "", &alter);
        for text in ["DROP TABLE a, b", "grant select on d.* to current_user()", "CREATE OR REPLACE VIEW v AS SELECT 1"]
        {
            assert_eq!(shown(text, 0), None, "{text}");
        }
        assert_eq!(Dialect::of("8.0.34"), Dialect::Own);
    }

    #[test]
    fn create_or_replace_drops_first() {
        let shown = |text: &str, inside| {
            let it = Dialect::Mariadb
                .here(text.as_bytes(), 0, if inside { Some(b" START TRANSACTION") } else { None })
                .unwrap()?;
            let text = String::from_utf8(it.text).unwrap();
            Some((it.before.join("; "), text))
        };
        let is = |text: &str, inside, before: &str, then: &str| {
            assert_eq!(shown(text, inside), Some((before.to_owned(), then.to_owned())), "{text}");
        };
        let t = "DROP TABLE IF EXISTS `t`";
        is("CREATE OR REPLACE TABLE t (a INT)", false, t, "CREATE            TABLE t (a INT)");
        is("/* c */ CREATE OR/**/REPLACE TABLE t (a INT)", false, t, "/* c */ CREATE               TABLE t (a INT)");
        is("create or\n  replace\ttable `t` like u", false, t, "create             \ttable `t` like u");
        is(
            "CREATE OR REPLACE TABLE `d`.`t` (a INT)",
            true,
            "DROP TABLE IF EXISTS `d`.`t`",
            "CREATE            TABLE `d`.`t` (a INT) START TRANSACTION",
        );
        is("CREATE TABLE `t` (a INT)", true, "", "CREATE TABLE `t` (a INT) START TRANSACTION");
        is("CREATE OR REPLACE DATABASE e", false, "DROP DATABASE IF EXISTS `e`", "CREATE            DATABASE e");
        let i = "DROP INDEX `i` ON `t`";
        is("CREATE OR REPLACE UNIQUE INDEX i ON t (v)", false, i, "CREATE            UNIQUE INDEX i ON t (v)");
        let u = "drop user if exists `u`@`%`,`o'x`@`h`";
        is(
            "CREATE OR REPLACE USER u IDENTIFIED BY PASSWORD '', 'o''x'@h",
            false,
            u,
            "CREATE            USER u IDENTIFIED BY PASSWORD '', 'o''x'@h",
        );
        is("CREATE OR REPLACE ROLE r, s", false, "drop role if exists `r`@`%`,`s`@`%`", "CREATE            ROLE r, s");
        is(
            "CREATE ROLE IF NOT EXISTS r, `s` WITH ADMIN CURRENT_USER()",
            false,
            "create role if not exists `r`@`%`,`s`@`%`",
            "GRANT `r`@`%`, `s`@`%` TO CURRENT_USER() WITH ADMIN OPTION",
        );
        is(
            "CREATE OR REPLACE ROLE r with admin 'u'@'h'",
            false,
            "drop role if exists `r`@`%`; create role if not exists `r`@`%`",
            "GRANT `r`@`%` TO 'u'@'h' WITH ADMIN OPTION",
        );
        let refused = Dialect::Mariadb.here(b"CREATE ROLE r WITH ADMIN CURRENT_ROLE", 0, None).err().map(|e| e.code());
        assert_eq!(refused, Some(gannet_types::ErrorCode::NotSupportedYet));
        is(
            "SET PASSWORD FOR 'a'@'%'='*D7D6F58029EDE62070BA204436DE23AC54D8BD8A'",
            false,
            "",
            "alter user `a`@`%` identified with 'mysql_native_password' as '*D7D6F58029EDE62070BA204436DE23AC54D8BD8A'",
        );
        is(
            "GRANT SELECT ON d.* TO z IDENTIFIED BY 'q', y REQUIRE SSL WITH GRANT OPTION MAX_USER_CONNECTIONS 5",
            false,
            "create user if not exists `z`@`%` identified by 'q'; \
             alter user `z`@`%` identified by 'q',`y`@`%` require ssl with MAX_USER_CONNECTIONS 5",
            "grant SELECT on `d`.* to `z`@`%`,`y`@`%` with grant option",
        );
        is("DROP TABLE a, b", false, "", "DROP TABLE IF EXISTS a, b");
        is("SET DEFAULT ROLE 'NONE' FOR 'b'@'%'", false, "", "set default role none to `b`@`%`");
        for text in [
            "SET DEFAULT ROLE 'r' FOR 'b'@'%'",
            "GRANT SELECT ON d.* TO z WITH GRANT OPTION",
            "GRANT r TO u",
            "SET PASSWORD FOR 'a'@'%'=''",
            "SET GLOBAL a = 1",
            "CREATE ROLE `with`",
            "CREATE ROLE r WITH ADMIN",
            "CREATE USER u",
            "CREATE ROLE r",
            "CREATE TABLE t (a INT)",
            "CREATE OR REPLACE VIEW v AS SELECT 1",
            "CREATE OR REPLACE PROCEDURE p() SELECT 1",
            "CREATE OR REPLACE TABLE t (a",
            "CREATE OR",
            "CREATE",
            "",
            " ",
            "DROP INDEX i ON t",
            "CREATE\u{a0}OR REPLACE TABLE t (a INT)",
        ] {
            assert_eq!(shown(text, false), None, "{text}");
        }
    }
}

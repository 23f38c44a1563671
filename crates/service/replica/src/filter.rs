//! CHANGE REPLICATION FILTER: what of the source's log is done here. The rules are MySQL's for row events: databases
//! first, then tables, then patterns of both; what wants something excludes all else.

use super::source::{line, lines};
use gannet_base::sync::atomic::AtomicU64;
use gannet_base::sync::atomic::Ordering::Relaxed;
use gannet_core::replication::Row;
use gannet_parser::ast::{Ident, ObjectName, Statement, TableFactor, TableRef};
use gannet_runtime::WallTime;
use gannet_types::{Result, SqlError, Value, sql_err};

/// Rules by kind, in the order of SHOW REPLICA STATUS.
const KINDS: [&str; 7] = [
    "REPLICATE_DO_DB",
    "REPLICATE_IGNORE_DB",
    "REPLICATE_DO_TABLE",
    "REPLICATE_IGNORE_TABLE",
    "REPLICATE_WILD_DO_TABLE",
    "REPLICATE_WILD_IGNORE_TABLE",
    "REPLICATE_REWRITE_DB",
];
const SHOWN: [&str; 7] = [
    "Replicate_Do_DB",
    "Replicate_Ignore_DB",
    "Replicate_Do_Table",
    "Replicate_Ignore_Table",
    "Replicate_Wild_Do_Table",
    "Replicate_Wild_Ignore_Table",
    "Replicate_Rewrite_DB",
];
const DO_DB: usize = 0;
const IGNORE_DB: usize = 1;
const DO_TABLE: usize = 2;
const IGNORE_TABLE: usize = 3;
const WILD_DO: usize = 4;
const WILD_IGNORE: usize = 5;
const REWRITE: usize = 6;

/// What a statement is that is never left out.
const CONTROL: [&[u8]; 7] =
    [b"BEGIN", b"START TRANSACTION", b"COMMIT", b"ROLLBACK", b"SAVEPOINT", b"RELEASE SAVEPOINT", b"XA "];

/// Rules of a kind: databases, `database.table`, patterns of LIKE for the latter, and databases by turns with those
/// that are written in their place.
#[derive(Default, Debug)]
struct Rules {
    values: Vec<String>,
    /// When they were given: microseconds since 1970.
    since_us: u64,
    /// For this channel alone.
    own: bool,
    /// How often one of them has decided.
    used: AtomicU64,
}

impl Clone for Rules {
    fn clone(&self) -> Rules {
        let used = AtomicU64::new(self.used.load(Relaxed));
        Rules { values: self.values.clone(), since_us: self.since_us, own: self.own, used }
    }
}

impl Rules {
    fn decides(&self, is: impl FnMut(&String) -> bool) -> bool {
        let found = self.values.iter().any(is);
        if found {
            self.used.fetch_add(1, Relaxed);
        }
        found
    }

    fn shown(&self, kind: usize) -> String {
        match kind {
            REWRITE => self.pairs().map(|(from, to)| format!("({from},{to})")).collect::<Vec<_>>().join(","),
            _ => self.values.join(","),
        }
    }

    fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.chunks_exact(2).map(|pair| (&*pair[0], &*pair[1]))
    }
}

/// The rules by their kinds.
#[derive(Clone, Default, Debug)]
pub(crate) struct Filter([Rules; 7]);

impl Filter {
    /// From a record of the dictionary.
    pub(crate) fn decode(record: &[u8]) -> Filter {
        let mut it = Filter::default();
        for (name, value) in lines(record) {
            let (name, of) = name.split_once(' ').unwrap_or((&name, ""));
            let Some(kind) = KINDS.iter().position(|kind| *kind == name) else { continue };
            let rules = &mut it.0[kind];
            match of {
                "" => rules.values.push(value),
                "since" => rules.since_us = value.parse().unwrap_or(0),
                "own" => rules.own = true,
                _ => {}
            }
        }
        it
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = String::new();
        for (name, rules) in KINDS.iter().zip(&self.0) {
            rules.values.iter().for_each(|rule| line(&mut out, name, rule));
            if rules.since_us > 0 {
                line(&mut out, &format!("{name} since"), rules.since_us);
            }
            if rules.own {
                line(&mut out, &format!("{name} own"), 1);
            }
        }
        out.into_bytes()
    }

    /// With the rules of a statement, each of which takes the place of those of its kind; `own`: for one channel.
    /// Errors 1210 for what is no name, table or pattern, and 1235.
    pub(crate) fn changed(&self, rules: &[(Ident, Vec<Box<str>>)], own: bool) -> Result<Filter> {
        let mut it = self.clone();
        for (name, values) in rules {
            let name = name.text.to_ascii_uppercase();
            let Some(kind) = KINDS.iter().position(|kind| *kind == name) else {
                return Err(SqlError::unsupported(format_args!("CHANGE REPLICATION FILTER {name}")));
            };
            let rule = |text: &str| match kind {
                DO_DB | IGNORE_DB => Some(vec![database(text)?]),
                DO_TABLE | IGNORE_TABLE => Some(vec![table(text)?]),
                REWRITE => pair(text),
                _ => Some(vec![pattern(text)?]),
            };
            let all: Option<Vec<Vec<String>>> = values.iter().map(|text| rule(text.trim())).collect();
            let values = all.ok_or_else(|| sql_err!(WrongArguments, name))?.concat();
            it.0[kind] = Rules { values, since_us: WallTime::now().micros(), own, used: AtomicU64::new(0) };
        }
        Ok(it)
    }

    /// Everything is done, as it is.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|rules| rules.values.is_empty())
    }

    /// In SHOW REPLICA STATUS.
    pub(crate) fn shown(&self) -> [(&'static str, String); 7] {
        std::array::from_fn(|kind| (SHOWN[kind], self.0[kind].shown(kind)))
    }

    /// In performance_schema: a row for each kind of rules.
    pub(crate) fn rows(&self) -> Vec<Row> {
        let of = |kind: usize| {
            let rules = &self.0[kind];
            let by = if rules.own { "CHANGE_REPLICATION_FILTER_FOR_CHANNEL" } else { "CHANGE_REPLICATION_FILTER" };
            vec![
                ("FILTER_NAME", Value::text(KINDS[kind])),
                ("FILTER_RULE", Value::text(&rules.shown(kind))),
                ("CONFIGURED_BY", Value::text(by)),
                ("ACTIVE_SINCE", Value::UInt(rules.since_us)),
                ("COUNTER", Value::UInt(rules.used.load(Relaxed))),
            ]
        };
        (0..KINDS.len()).filter(|kind| !self.0[*kind].values.is_empty()).map(of).collect()
    }

    /// The database that a channel writes to where its source has written to this one.
    pub(crate) fn rewritten<'a>(&'a self, database: &'a str) -> &'a str {
        let rules = &self.0[REWRITE];
        let Some((_, to)) = rules.pairs().find(|(from, _)| *from == database) else { return database };
        rules.used.fetch_add(1, Relaxed);
        to
    }

    fn takes_database(&self, database: &str) -> bool {
        let has = |kind: usize| self.0[kind].decides(|d| d == database);
        if self.0[DO_DB].values.is_empty() { !has(IGNORE_DB) } else { has(DO_DB) }
    }

    /// The first table that a rule is about decides.
    fn takes_tables(&self, names: &[String]) -> bool {
        for name in names {
            let is = |kind: usize| self.0[kind].decides(|t| t == name);
            let like = |kind: usize| self.0[kind].decides(|p| matches(p.as_bytes(), name.as_bytes()));
            match () {
                () if is(DO_TABLE) => return true,
                () if is(IGNORE_TABLE) => return false,
                () if like(WILD_DO) => return true,
                () if like(WILD_IGNORE) => return false,
                () => {}
            }
        }
        self.0[DO_TABLE].values.is_empty() && self.0[WILD_DO].values.is_empty()
    }

    /// Rows of a table, in the database that they are written to.
    pub(crate) fn takes_rows(&self, schema: &str, name: &str) -> bool {
        self.takes_database(schema) && self.takes_tables(&[format!("{schema}.{name}")])
    }

    /// The default database that a statement runs with here, by the one that it ran with; `None`: it is left out.
    /// What makes, changes and drops databases names them as they are.
    pub(crate) fn takes_statement<'a>(&'a self, schema: &'a str, text: &[u8]) -> Option<&'a str> {
        let starts = |word: &&[u8]| text.get(..word.len()).is_some_and(|t| t.eq_ignore_ascii_case(word));
        if self.is_empty() || CONTROL.iter().any(starts) {
            return Some(schema);
        }
        let to = self.rewritten(schema);
        let parsed = gannet_parser::parse(text, Default::default());
        let Ok(parsed) = parsed else { return self.takes_database(to).then_some(to) };
        let named = match &parsed.statement {
            Statement::CreateDatabase { name, .. } | Statement::DropDatabase { name, .. } => Some(&*name.text),
            Statement::AlterDatabase { name, .. } => Some(name.as_ref().map_or(schema, |name| &*name.text)),
            _ => None,
        };
        if let Some(database) = named {
            // Patterns for all tables of a database are about it, too.
            let like = |kind: usize| {
                self.0[kind].decides(|p: &String| matches(p.as_bytes(), format!("{database}.").as_bytes()))
            };
            let takes = self.takes_database(database)
                && (like(WILD_DO) || !like(WILD_IGNORE) && self.0[WILD_DO].values.is_empty());
            return takes.then_some(schema);
        }
        let full = |n: &&ObjectName| format!("{}.{}", n.schema.as_ref().map_or(to, |s| s), &*n.name);
        let mut names = gannet_exec::ddl::locked_tables(&parsed.statement);
        changed_tables(&parsed.statement, &mut names);
        let tables: Vec<String> = names.iter().map(full).collect();
        (self.takes_database(to) && (tables.is_empty() || self.takes_tables(&tables))).then_some(to)
    }
}

/// The tables that a statement changes rows of: of UPDATE all that it names, as which of them it changes is known by
/// their columns only.
fn changed_tables<'s>(statement: &'s Statement, out: &mut Vec<&'s ObjectName>) {
    match statement {
        Statement::Insert(insert) => out.push(&insert.table),
        Statement::Load(load) => out.push(&load.table),
        Statement::Update(update) => update.tables.iter().for_each(|t| named(t, &mut |t| out.push(&t.name))),
        Statement::Delete(delete) => delete.tables.iter().for_each(|t| {
            named(t, &mut |t| {
                let is = |target: &ObjectName| match &t.alias {
                    Some(alias) => alias.text.eq_ignore_ascii_case(&target.name.text),
                    None => t.name.name.text == target.name.text,
                };
                if delete.targets.is_empty() || delete.targets.iter().any(is) {
                    out.push(&t.name);
                }
            });
        }),
        _ => {}
    }
}

/// The tables that a reference names.
fn named<'s>(reference: &'s TableRef, each: &mut dyn FnMut(&'s TableFactor)) {
    match reference {
        TableRef::Table(table) => each(table),
        TableRef::Join(join) => {
            named(&join.left, each);
            named(&join.right, each);
        }
        TableRef::Nested(list) => list.iter().for_each(|t| named(t, each)),
        TableRef::Derived(_) | TableRef::JsonTable(_) => {}
    }
}

/// The name of a database as it is written.
fn database(text: &str) -> Option<String> {
    match gannet_parser::parse(format!("DROP DATABASE {text}").as_bytes(), Default::default()).ok()?.statement {
        Statement::DropDatabase { name, .. } => Some(name.text.to_string()),
        _ => None,
    }
}

/// Two databases in parentheses as they are written.
fn pair(text: &str) -> Option<Vec<String>> {
    let inner = text.strip_prefix('(')?.strip_suffix(')')?;
    // A comma may be in a name.
    let at = |(i, _): (usize, &str)| Some(vec![database(&inner[..i])?, database(&inner[i + 1..])?]);
    inner.match_indices(',').find_map(at)
}

/// `database.table` as it is written.
fn table(text: &str) -> Option<String> {
    match gannet_parser::parse(format!("TRUNCATE TABLE {text}").as_bytes(), Default::default()).ok()?.statement {
        Statement::Truncate(name) => Some(format!("{}.{}", name.schema.as_deref()?, &*name.name)),
        _ => None,
    }
}

/// A text in quotes with a dot: backslashes in it are those of LIKE.
fn pattern(text: &str) -> Option<String> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
    inner.contains('.').then(|| inner.replace(&format!("{quote}{quote}"), &quote.to_string()))
}

/// LIKE, byte by byte.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    match pattern {
        [] => text.is_empty(),
        [b'%', rest @ ..] => (0..=text.len()).any(|n| matches(rest, &text[n..])),
        [b'_', rest @ ..] => text.split_first().is_some_and(|(_, text)| matches(rest, text)),
        [b'\\', c, rest @ ..] | [c, rest @ ..] => {
            text.split_first().is_some_and(|(t, text)| t == c && matches(rest, text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(rules: &[(usize, &[&str])]) -> Filter {
        let mut it = Filter::default();
        for (kind, values) in rules {
            it.0[*kind].values = values.iter().map(|v| (*v).to_owned()).collect();
        }
        it
    }

    #[test]
    fn rules_are_mysqls() {
        let wanted = filter(&[(DO_DB, &["a"]), (WILD_IGNORE, &["a.tmp\\_%"])]);
        assert_eq!(Filter::decode(&wanted.encode()).encode(), wanted.encode());
        assert_eq!(["t", "tmp_1", "tmpx1"].map(|t| wanted.takes_rows("a", t)), [true, false, true]);
        assert!(!wanted.takes_rows("b", "t"));
        // Tables of other databases go by the default one.
        let takes = |filter: &Filter, schema: &str, text: &str| {
            let to = filter.takes_statement(schema, text.as_bytes());
            assert!(to.is_none_or(|to| to == schema));
            to.is_some()
        };
        assert!(takes(&wanted, "a", "CREATE TABLE b.t (x INT)"));
        assert!(!takes(&wanted, "a", "DROP TABLE tmp_1"));
        assert!(!takes(&wanted, "", "CREATE USER u"));
        assert!(takes(&wanted, "", "SAVEPOINT x"));
        assert!(takes(&wanted, "b", "CREATE DATABASE a"));
        assert!(!takes(&wanted, "a", "CREATE DATABASE b"));
        let ignores = filter(&[(IGNORE_DB, &["b"]), (IGNORE_TABLE, &["a.t"])]);
        assert!(!ignores.takes_rows("b", "t") && !ignores.takes_rows("a", "t") && ignores.takes_rows("a", "u"));
        assert!(takes(&ignores, "", "CREATE USER u") && !takes(&ignores, "b", "CREATE USER u"));
        let tables = filter(&[(DO_TABLE, &["a.t"]), (WILD_DO, &["w%.%"])]);
        assert_eq!([("a", "t"), ("a", "u"), ("w1", "x")].map(|(d, t)| tables.takes_rows(d, t)), [true, false, true]);
        assert!(takes(&tables, "x", "CREATE DATABASE w2") && !takes(&tables, "x", "CREATE DATABASE a"));
        assert!(takes(&tables, "x", "ALTER TABLE a.t ADD z INT"));
        // Statements that change rows, by the tables that they change.
        assert!(takes(&tables, "a", "INSERT INTO t SELECT * FROM u") && !takes(&tables, "a", "REPLACE u SELECT 1"));
        assert!(takes(&tables, "a", "UPDATE u JOIN (t) SET u.x = 1") && !takes(&tables, "a", "UPDATE u SET x = 1"));
        assert!(takes(&tables, "a", "DELETE q FROM u, t AS q") && !takes(&tables, "a", "DELETE u FROM u, t"));
        assert!(takes(&tables, "a", "LOAD DATA INFILE 'f' INTO TABLE t") && takes(&tables, "x", "DELETE FROM a.t"));
    }

    #[test]
    fn databases_are_rewritten_before_rules_are_asked() {
        let filter = filter(&[(REWRITE, &["a", "b", "b", "c"]), (IGNORE_DB, &["a"]), (IGNORE_TABLE, &["b.no"])]);
        assert_eq!(Filter::decode(&filter.encode()).shown()[REWRITE].1, "(a,b),(b,c)");
        assert_eq!(["a", "b", "x"].map(|d| filter.rewritten(d)), ["b", "c", "x"]);
        let to = |schema: &'static str, text: &str| filter.takes_statement(schema, text.as_bytes());
        assert_eq!(to("a", "CREATE TABLE t (x INT)"), Some("b"));
        assert_eq!(to("a", "CREATE TABLE no (x INT)"), None);
        // Names with a database are as they are, and so are databases.
        assert_eq!(to("a", "CREATE TABLE a.t (x INT)"), Some("b"));
        assert_eq!((to("", "CREATE DATABASE a"), to("a", "CREATE DATABASE b")), (None, Some("a")));
        assert_eq!(to("x", "SAVEPOINT a"), Some("x"));
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        assert_eq!(database("`a b`").as_deref(), Some("a b"));
        assert_eq!(table("a . `t``x`").as_deref(), Some("a.t`x"));
        assert_eq!(table("t"), None);
        assert_eq!(pair("(a, `b,``c`)"), Some(vec!["a".to_owned(), "b,`c".to_owned()]));
        assert_eq!(pair("(a)"), None);
        assert_eq!(pattern("'d\\_%.t''%'").as_deref(), Some("d\\_%.t'%"));
        assert_eq!(pattern("'nothing'"), None);
    }
}

//! Statements of a MariaDB's log that say what no statement here says.

use gannet_parser::ast::{ObjectName, Statement};
use gannet_parser::printer::{quote_name, statement};

/// What a statement becomes.
pub(crate) struct Here {
    /// Run before it; that what it drops is not there is no error.
    pub(crate) before: Option<String>,
    /// The statement.
    pub(crate) text: Vec<u8>,
}

/// A statement of a log as it is run here; `None`: as it is. `inside`: a transaction has begun and goes on behind it,
/// and a table that is made in it ends with this.
/// CREATE OR REPLACE drops what is there first, where that is a table, a database, an index, an account or a role: of
/// programs and views it is known here. CREATE TABLE within a transaction is CREATE TABLE ... SELECT, whose rows follow.
pub(crate) fn here(text: &[u8], inside: Option<&[u8]>) -> Option<Here> {
    let mut words = text.split_inclusive(|b| b.is_ascii_whitespace());
    let mut at = 0;
    // Where the words after CREATE begin and end.
    let mut word = || loop {
        let piece = words.next()?;
        let begin = at;
        at += piece.len();
        let word = piece.trim_ascii();
        if !word.is_empty() {
            return Some((begin, begin + word.len()));
        }
    };
    let is = |(begin, end): (usize, usize), word: &str| text[begin..end].eq_ignore_ascii_case(word.as_bytes());
    if !is(word()?, "CREATE") {
        return None;
    }
    let second = word()?;
    let (or, replace) = (second, word()?);
    let replaces = is(or, "OR") && is(replace, "REPLACE");
    if !(replaces || inside.is_some() && is(second, "TABLE")) {
        return None;
    }
    let mut plain = text.to_vec();
    if replaces {
        plain[or.0..replace.1].fill(b' ');
    }
    let name = |n: &ObjectName| {
        let schema = n.schema.as_ref().map_or(String::new(), |schema| quote_name(schema) + ".");
        schema + &quote_name(&n.name)
    };
    let printed = |it: &Statement| String::from_utf8_lossy(&statement(it)).into_owned();
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
    Some(Here { before: replaces.then_some(before), text: plain })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn create_or_replace_drops_first() {
        let shown = |text: &str, inside| {
            let it = here(text.as_bytes(), if inside { Some(b" START TRANSACTION") } else { None })?;
            let text = String::from_utf8(it.text).unwrap();
            Some((it.before.unwrap_or_default(), text))
        };
        let is = |text: &str, inside, before: &str, then: &str| {
            assert_eq!(shown(text, inside), Some((before.to_owned(), then.to_owned())), "{text}");
        };
        let t = "DROP TABLE IF EXISTS `t`";
        is("CREATE OR REPLACE TABLE t (a INT)", false, t, "CREATE            TABLE t (a INT)");
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
        for text in [
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
            "DROP TABLE t",
            "CREATE\u{a0}OR REPLACE TABLE t (a INT)",
        ] {
            assert_eq!(shown(text, false), None, "{text}");
        }
    }
}

//! CHANGE REPLICATION FILTER: what of the source's log is done here. The rules are MySQL's for row events: databases
//! first, then tables, then patterns of both; what wants something excludes all else.

use super::source::{line, lines};
use gannet_core::replication::Row;
use gannet_parser::ast::{Ident, ObjectName, Statement};
use gannet_types::{Result, SqlError, Value, sql_err};

/// Rules by kind, in the order of SHOW REPLICA STATUS.
const KINDS: [&str; 6] = [
    "REPLICATE_DO_DB",
    "REPLICATE_IGNORE_DB",
    "REPLICATE_DO_TABLE",
    "REPLICATE_IGNORE_TABLE",
    "REPLICATE_WILD_DO_TABLE",
    "REPLICATE_WILD_IGNORE_TABLE",
];
const SHOWN: [&str; 6] = [
    "Replicate_Do_DB",
    "Replicate_Ignore_DB",
    "Replicate_Do_Table",
    "Replicate_Ignore_Table",
    "Replicate_Wild_Do_Table",
    "Replicate_Wild_Ignore_Table",
];
const DO_DB: usize = 0;
const IGNORE_DB: usize = 1;
const DO_TABLE: usize = 2;
const IGNORE_TABLE: usize = 3;
const WILD_DO: usize = 4;
const WILD_IGNORE: usize = 5;

/// What a statement is that is never left out.
const CONTROL: [&[u8]; 7] =
    [b"BEGIN", b"START TRANSACTION", b"COMMIT", b"ROLLBACK", b"SAVEPOINT", b"RELEASE SAVEPOINT", b"XA "];

/// The rules: databases, `database.table`, and patterns of LIKE for the latter.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Filter([Vec<String>; 6]);

impl Filter {
    /// From a record of the dictionary.
    pub(crate) fn decode(record: &[u8]) -> Filter {
        let mut it = Filter::default();
        for (name, value) in lines(record) {
            if let Some(kind) = KINDS.iter().position(|kind| *kind == name) {
                it.0[kind].push(value);
            }
        }
        it
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = String::new();
        for (name, rules) in KINDS.iter().zip(&self.0) {
            rules.iter().for_each(|rule| line(&mut out, name, rule));
        }
        out.into_bytes()
    }

    /// With the rules of a statement, each of which takes the place of those of its kind. Errors 1210 for what is no
    /// table or pattern, and 1235.
    pub(crate) fn changed(&self, rules: &[(Ident, Vec<Box<str>>)]) -> Result<Filter> {
        let mut it = self.clone();
        for (name, values) in rules {
            let name = name.text.to_ascii_uppercase();
            let Some(kind) = KINDS.iter().position(|kind| *kind == name) else {
                return Err(SqlError::unsupported(format_args!("CHANGE REPLICATION FILTER {name}")));
            };
            let rule = |text: &str| match kind {
                DO_DB | IGNORE_DB => database(text),
                DO_TABLE | IGNORE_TABLE => table(text),
                _ => pattern(text),
            };
            let all: Option<Vec<String>> = values.iter().map(|text| rule(text.trim())).collect();
            it.0[kind] = all.ok_or_else(|| sql_err!(WrongArguments, name))?;
        }
        Ok(it)
    }

    /// Everything is done.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(Vec::is_empty)
    }

    /// In SHOW REPLICA STATUS.
    pub(crate) fn shown(&self) -> [(&'static str, String); 6] {
        let of = |kind: usize| (SHOWN[kind], self.0[kind].join(","));
        [of(DO_DB), of(IGNORE_DB), of(DO_TABLE), of(IGNORE_TABLE), of(WILD_DO), of(WILD_IGNORE)]
    }

    /// In performance_schema: a row for each kind of rules.
    pub(crate) fn rows(&self) -> Vec<Row> {
        let of = |(kind, rules): (&&'static str, &Vec<String>)| {
            let by = Value::text("CHANGE_REPLICATION_FILTER");
            vec![
                ("FILTER_NAME", Value::text(kind)),
                ("FILTER_RULE", Value::text(&rules.join(","))),
                ("CONFIGURED_BY", by),
            ]
        };
        KINDS.iter().zip(&self.0).filter(|(_, rules)| !rules.is_empty()).map(of).collect()
    }

    fn takes_database(&self, database: &str) -> bool {
        let has = |kind: usize| self.0[kind].iter().any(|d| d == database);
        if self.0[DO_DB].is_empty() { !has(IGNORE_DB) } else { has(DO_DB) }
    }

    /// The first table that a rule is about decides.
    fn takes_tables(&self, names: &[String]) -> bool {
        for name in names {
            let is = |kind: usize| self.0[kind].iter().any(|t| t == name);
            let like = |kind: usize| self.0[kind].iter().any(|p| matches(p.as_bytes(), name.as_bytes()));
            match () {
                () if is(DO_TABLE) => return true,
                () if is(IGNORE_TABLE) => return false,
                () if like(WILD_DO) => return true,
                () if like(WILD_IGNORE) => return false,
                () => {}
            }
        }
        self.0[DO_TABLE].is_empty() && self.0[WILD_DO].is_empty()
    }

    /// Rows of a table.
    pub(crate) fn takes_rows(&self, schema: &str, name: &str) -> bool {
        self.takes_database(schema) && self.takes_tables(&[format!("{schema}.{name}")])
    }

    /// A statement, under the default database that it ran with.
    pub(crate) fn takes_statement(&self, schema: &str, text: &[u8]) -> bool {
        let starts = |word: &&[u8]| text.get(..word.len()).is_some_and(|t| t.eq_ignore_ascii_case(word));
        if self.is_empty() || CONTROL.iter().any(starts) {
            return true;
        }
        let parsed = gannet_parser::parse(text, Default::default());
        let Ok(parsed) = parsed else { return self.takes_database(schema) };
        let named = match &parsed.statement {
            Statement::CreateDatabase { name, .. } | Statement::DropDatabase { name, .. } => Some(&*name.text),
            Statement::AlterDatabase { name, .. } => Some(name.as_ref().map_or(schema, |name| &*name.text)),
            _ => None,
        };
        if let Some(database) = named {
            // Patterns for all tables of a database are about it, too.
            let like =
                |kind: usize| self.0[kind].iter().any(|p| matches(p.as_bytes(), format!("{database}.").as_bytes()));
            return self.takes_database(database)
                && (like(WILD_DO) || !like(WILD_IGNORE) && self.0[WILD_DO].is_empty());
        }
        let full = |n: &&ObjectName| format!("{}.{}", n.schema.as_ref().map_or(schema, |s| s), &*n.name);
        let tables: Vec<String> = gannet_exec::ddl::locked_tables(&parsed.statement).iter().map(full).collect();
        self.takes_database(schema) && (tables.is_empty() || self.takes_tables(&tables))
    }
}

/// The name of a database as it is written.
fn database(text: &str) -> Option<String> {
    match gannet_parser::parse(format!("DROP DATABASE {text}").as_bytes(), Default::default()).ok()?.statement {
        Statement::DropDatabase { name, .. } => Some(name.text.to_string()),
        _ => None,
    }
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
            it.0[*kind] = values.iter().map(|v| (*v).to_owned()).collect();
        }
        it
    }

    #[test]
    fn rules_are_mysqls() {
        let wanted = filter(&[(DO_DB, &["a"]), (WILD_IGNORE, &["a.tmp\\_%"])]);
        assert_eq!(Filter::decode(&wanted.encode()), wanted);
        assert_eq!(["t", "tmp_1", "tmpx1"].map(|t| wanted.takes_rows("a", t)), [true, false, true]);
        assert!(!wanted.takes_rows("b", "t"));
        // Tables of other databases go by the default one.
        assert!(wanted.takes_statement("a", b"CREATE TABLE b.t (x INT)"));
        assert!(!wanted.takes_statement("a", b"DROP TABLE tmp_1"));
        assert!(!wanted.takes_statement("", b"CREATE USER u"));
        assert!(wanted.takes_statement("", b"SAVEPOINT x"));
        assert!(wanted.takes_statement("b", b"CREATE DATABASE a"));
        assert!(!wanted.takes_statement("a", b"CREATE DATABASE b"));
        let ignores = filter(&[(IGNORE_DB, &["b"]), (IGNORE_TABLE, &["a.t"])]);
        assert!(!ignores.takes_rows("b", "t") && !ignores.takes_rows("a", "t") && ignores.takes_rows("a", "u"));
        assert!(ignores.takes_statement("", b"CREATE USER u") && !ignores.takes_statement("b", b"CREATE USER u"));
        let tables = filter(&[(DO_TABLE, &["a.t"]), (WILD_DO, &["w%.%"])]);
        assert_eq!([("a", "t"), ("a", "u"), ("w1", "x")].map(|(d, t)| tables.takes_rows(d, t)), [true, false, true]);
        assert!(
            tables.takes_statement("x", b"CREATE DATABASE w2") && !tables.takes_statement("x", b"CREATE DATABASE a")
        );
        assert!(tables.takes_statement("x", b"ALTER TABLE a.t ADD z INT"));
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        assert_eq!(database("`a b`").as_deref(), Some("a b"));
        assert_eq!(table("a . `t``x`").as_deref(), Some("a.t`x"));
        assert_eq!(table("t"), None);
        assert_eq!(pattern("'d\\_%.t''%'").as_deref(), Some("d\\_%.t'%"));
        assert_eq!(pattern("'nothing'"), None);
    }
}

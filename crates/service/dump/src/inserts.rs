//! Statements that bring rows in: what they are, and whether their order matters.

use crate::catalog::Column;
use crate::fault::{Fault, Outcome};
use crate::ledger::Ledger;
use crate::names::quoted;
use crate::peer::{SETTINGS, Session};
use crate::script::{self, Statement};
use std::path::Path;

/// What a statement of a dump is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// Sets the session: SET, USE.
    Context,
    /// INSERT INTO, without IGNORE and the like.
    Insert,
    /// Changes rows in another way.
    Change,
    /// CREATE TABLE.
    Table,
    /// Without a meaning here: locks, transactions, DISABLE KEYS.
    Nothing,
    /// The rest: definitions.
    Other,
}

impl Class {
    pub(crate) fn of(statement: &Statement) -> Class {
        let head = statement.head();
        let mut head = head.as_str();
        if let Some(rest) = head.strip_prefix("/*!") {
            head = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c.is_whitespace());
        }
        let words: Vec<String> = head
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .filter(|w| !w.is_empty())
            .take(4)
            .map(str::to_ascii_uppercase)
            .collect();
        match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["SET", "AUTOCOMMIT", ..] => Class::Nothing,
            ["SET" | "USE", ..] => Class::Context,
            ["INSERT", "INTO", ..] => Class::Insert,
            ["INSERT" | "REPLACE" | "UPDATE" | "DELETE" | "CALL" | "DO" | "SELECT" | "WITH" | "LOAD", ..] => {
                Class::Change
            }
            ["CREATE", "TABLE", ..] => Class::Table,
            ["LOCK" | "UNLOCK", "TABLES" | "TABLE", ..] | ["START", "TRANSACTION", ..] => Class::Nothing,
            ["COMMIT" | "BEGIN"] | ["COMMIT", "WORK"] | ["BEGIN", "WORK"] => Class::Nothing,
            ["ALTER", "TABLE", ..] if head.to_ascii_uppercase().contains("ABLE KEYS") => Class::Nothing,
            _ => Class::Other,
        }
    }
}

/// Where the value of an AUTO_INCREMENT column stands in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbering {
    /// There is no such column.
    None,
    /// At this place, from 0.
    At(usize),
}

/// An INSERT taken apart: `INSERT INTO name [(columns)] VALUES`, and where the rows begin.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Insert {
    /// The database, if it is said.
    pub(crate) schema: Option<String>,
    pub(crate) table: String,
    pub(crate) columns: Option<Vec<String>>,
    rows: usize,
}

impl Insert {
    /// `None` for an INSERT of another form.
    pub(crate) fn parse(text: &[u8]) -> Option<Insert> {
        let mut s = Scanner { text, at: 0 };
        (s.word()? == "INSERT" && s.word()? == "INTO").then_some(())?;
        let mut table = s.name()?;
        let mut schema = None;
        if s.eat(b'.') {
            schema = Some(std::mem::replace(&mut table, s.name()?));
        }
        let mut columns = None;
        if s.eat(b'(') {
            let mut list = Vec::new();
            loop {
                list.push(s.name()?);
                if !s.eat(b',') {
                    break;
                }
            }
            s.eat(b')').then_some(())?;
            columns = Some(list);
        }
        matches!(s.word()?.as_str(), "VALUES" | "VALUE").then_some(())?;
        Some(Insert { schema, table, columns, rows: s.at })
    }

    /// All values are literals, and none lets the server number the row: the order of such statements does not matter.
    pub(crate) fn is_free(&self, text: &[u8], numbering: Numbering) -> bool {
        let mut s = Scanner { text, at: self.rows };
        loop {
            if !s.eat(b'(') {
                return false;
            }
            let mut column = 0;
            loop {
                s.space();
                let begins = s.peek();
                if numbering == Numbering::At(column) && !begins.is_some_and(|b| matches!(b, b'1'..=b'9' | b'-')) {
                    return false;
                }
                if !s.literal() {
                    return false;
                }
                column += 1;
                if !s.eat(b',') {
                    break;
                }
            }
            if !s.eat(b')') {
                return false;
            }
            if !s.eat(b',') {
                s.space();
                return s.at == text.len();
            }
        }
    }

    /// The statement without the values of generated columns: for an INSERT that names no columns and has values for
    /// all. `None`: there is nothing to leave out.
    pub(crate) fn without(&self, text: &[u8], generated: &[usize], columns: &[Column]) -> Option<Vec<u8>> {
        if generated.is_empty() || self.columns.is_some() {
            return None;
        }
        let names: Vec<String> = columns.iter().map(|c| quoted(&c.name)).collect();
        let table = quoted(&self.table);
        let table = self.schema.as_ref().map_or(table.clone(), |s| format!("{}.{table}", quoted(s)));
        let mut out = format!("INSERT INTO {table} ({}) VALUES", names.join(",")).into_bytes();
        let mut s = Scanner { text, at: self.rows };
        loop {
            s.eat(b'(').then_some(())?;
            out.push(b'(');
            let mut column = 0;
            loop {
                s.space();
                let from = s.at;
                s.literal().then_some(())?;
                if !generated.contains(&column) {
                    if out.last() != Some(&b'(') {
                        out.push(b',');
                    }
                    out.extend_from_slice(&text[from..s.at]);
                }
                column += 1;
                if !s.eat(b',') {
                    break;
                }
            }
            (s.eat(b')') && column == columns.len() + generated.len()).then_some(())?;
            out.push(b')');
            if !s.eat(b',') {
                s.space();
                return (s.at == text.len()).then_some(out);
            }
            out.push(b',');
        }
    }
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn space(&mut self) {
        while self.peek().is_some_and(|b| b.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        self.space();
        let is = self.peek() == Some(byte);
        self.at += usize::from(is);
        is
    }

    fn run(&mut self, take: impl Fn(u8) -> bool) -> &[u8] {
        let from = self.at;
        while self.peek().is_some_and(&take) {
            self.at += 1;
        }
        &self.text[from..self.at]
    }

    fn word(&mut self) -> Option<String> {
        self.space();
        let word = self.run(|b| b.is_ascii_alphabetic());
        (!word.is_empty()).then(|| String::from_utf8_lossy(word).to_ascii_uppercase())
    }

    fn name(&mut self) -> Option<String> {
        self.space();
        if self.peek() != Some(b'`') {
            let name = self.run(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'$' || b >= 0x80);
            return (!name.is_empty()).then(|| String::from_utf8_lossy(name).into_owned());
        }
        let from = self.at + 1;
        self.quoted(b'`').then_some(())?;
        Some(String::from_utf8_lossy(&self.text[from..self.at - 1]).replace("``", "`"))
    }

    /// Steps over a quoted text.
    fn quoted(&mut self, quote: u8) -> bool {
        self.at += 1;
        loop {
            let Some(next) = memchr::memchr2(quote, b'\\', &self.text[self.at..]) else { return false };
            self.at += next;
            if self.text[self.at] == b'\\' && quote != b'`' {
                self.at += 2;
                if self.at > self.text.len() {
                    return false;
                }
            } else if self.text[self.at] == b'\\' {
                self.at += 1;
            } else {
                self.at += 1;
                if self.peek() != Some(quote) {
                    return true;
                }
                self.at += 1;
            }
        }
    }

    /// Steps over a literal; false when there is something else.
    fn literal(&mut self) -> bool {
        match self.peek() {
            Some(quote @ (b'\'' | b'"')) => self.quoted(quote),
            Some(b'0'..=b'9' | b'-' | b'+' | b'.') => {
                self.at += 1;
                let word = |b: u8| b.is_ascii_alphanumeric() || b == b'.';
                let digits = self.run(word);
                let is_exponent = matches!(digits.last(), Some(b'e' | b'E')) && !digits.starts_with(b"x");
                if is_exponent && matches!(self.peek(), Some(b'+' | b'-')) {
                    self.at += 1;
                    self.run(word);
                }
                true
            }
            Some(b) if b.is_ascii_alphabetic() || b == b'_' => {
                let word = self.run(|b| b.is_ascii_alphanumeric() || b == b'_').to_ascii_uppercase();
                match word.as_slice() {
                    b"NULL" | b"TRUE" | b"FALSE" => true,
                    b"X" | b"B" | b"N" => self.peek() == Some(b'\'') && self.quoted(b'\''),
                    [b'_', ..] => {
                        self.space();
                        self.peek() != Some(b'_') && self.literal()
                    }
                    _ => false,
                }
            }
            _ => false,
        }
    }
}

/// Statements that go in by one transaction, under what was set before them.
pub(crate) struct Batch {
    /// The numbers of the first and the last statement in the file.
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) statements: Vec<Statement>,
    pub(crate) bytes: usize,
}

impl Batch {
    pub(crate) fn begin(statement: Statement) -> Batch {
        let (n, bytes) = (statement.number, statement.text.len());
        Batch { from: n, to: n, statements: vec![statement], bytes }
    }

    pub(crate) fn add(&mut self, statement: Statement) {
        self.to = statement.number;
        self.bytes += statement.text.len();
        self.statements.push(statement);
    }

    /// Runs the statements, and writes them down. The rows that went in.
    pub(crate) fn run(&self, db: &mut Session, ledger: &Ledger, name: &str, path: &Path) -> Outcome<u64> {
        db.run("START TRANSACTION")?;
        let outcome = self.run_inside(db, ledger, name, path);
        match &outcome {
            Ok(_) => drop(db.run("COMMIT")?),
            Err(Fault::Lost(_)) => {}
            Err(_) => drop(db.attempt("ROLLBACK")?),
        }
        outcome
    }

    fn run_inside(&self, db: &mut Session, ledger: &Ledger, name: &str, path: &Path) -> Outcome<u64> {
        let mut rows = 0;
        if ledger.piece(db, name, self.from, self.to + 1, 0)? {
            for s in &self.statements {
                let place = |e| Fault::from(e).at(format!("{}:{}", path.display(), s.line));
                let results = db.connection.query_bytes(&s.text).map_err(place)?;
                rows += results.iter().map(|r| r.ok.affected).sum::<u64>();
            }
        }
        Ok(rows)
    }
}

/// What a session has been set to: statements, of which a new session has none.
#[derive(Debug, Clone, Default)]
pub(crate) struct Applied {
    connection: u32,
    count: usize,
}

impl Applied {
    /// Runs the statements of the context that this session has not had.
    pub(crate) fn catch_up(&mut self, db: &mut Session, context: &[Statement], path: &Path) -> Outcome<()> {
        let id = db.connection.greeting.connection_id;
        if self.connection != id {
            *self = Applied { connection: id, count: 0 };
        }
        while let Some(s) = context.get(self.count) {
            script::run(db, path, s)?;
            self.count += 1;
        }
        Ok(())
    }
}

/// The context that every file begins with: what sessions have when they are new.
pub(crate) fn beginning(schema: Option<&str>, setup: &[String]) -> Vec<Statement> {
    let into = schema.map(|s| format!("USE {}", crate::names::quoted(s)));
    let all = SETTINGS.iter().map(|s| (*s).to_owned()).chain(setup.iter().cloned()).chain(into);
    all.map(|sql| Statement { text: sql.into_bytes(), line: 0, number: 0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(sql: &str) -> Class {
        Class::of(&Statement { text: sql.into(), line: 1, number: 1 })
    }

    #[test]
    fn statements_are_told_apart() {
        for (sql, want) in [
            ("/*!40101 SET NAMES utf8mb4 */", Class::Context),
            ("USE `x`", Class::Context),
            ("SET autocommit=0", Class::Nothing),
            ("INSERT INTO t VALUES (1)", Class::Insert),
            ("insert ignore into t values (1)", Class::Change),
            ("REPLACE INTO t VALUES (1)", Class::Change),
            ("/*!40000 ALTER TABLE `t` DISABLE KEYS */", Class::Nothing),
            ("ALTER TABLE t ADD KEY (a)", Class::Other),
            ("LOCK TABLES `t` WRITE", Class::Nothing),
            ("/*!50001 CREATE TABLE `v` (\n", Class::Table),
            ("CREATE TABLE t (a int)", Class::Table),
            ("DROP TABLE IF EXISTS `t`", Class::Other),
            ("commit", Class::Nothing),
        ] {
            assert_eq!(class(sql), want, "{sql}");
        }
    }

    #[test]
    fn inserts_of_literals_are_free() {
        let free = |sql: &str, n| Insert::parse(sql.as_bytes()).is_some_and(|i| i.is_free(sql.as_bytes(), n));
        let yes =
            r#"INSERT INTO `a``b` VALUES (1,'it''s \' (now()',NULL),(-2.5e-3,"x""y",_binary 'z'),(0xFF,x'00',true)"#;
        assert!(free(yes, Numbering::None));
        assert_eq!(Insert::parse(yes.as_bytes()).unwrap().table, "a`b");
        let named = Insert::parse(b"insert into s.t (a, `b`) values\n(1,2)").unwrap();
        assert_eq!((named.schema.as_deref(), named.table.as_str()), (Some("s"), "t"));
        assert_eq!(named.columns, Some(vec!["a".to_owned(), "b".to_owned()]));
        for no in [
            "INSERT INTO t VALUES (NOW())",
            "INSERT INTO t VALUES (@x)",
            "INSERT INTO t VALUES (1+a)",
            "INSERT INTO t VALUES (1),('x",
            "INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = 1",
            "INSERT INTO t SELECT 1",
            "INSERT INTO t SET a = 1",
            "INSERT INTO t VALUES (DEFAULT)",
        ] {
            assert!(!free(no, Numbering::None), "{no}");
        }
        let column = |name: &str| Column { name: name.into(), ty: "int".into(), form: crate::rows::Form::Plain };
        let sql = b"INSERT INTO `t` VALUES ( 1,'g',2),(3, 'h(' ,4)";
        let out = Insert::parse(sql).unwrap().without(sql, &[1], &[column("a"), column("c")]);
        assert_eq!(String::from_utf8(out.unwrap()).unwrap(), "INSERT INTO `t` (`a`,`c`) VALUES(1,2),(3,4)");
        assert_eq!(Insert::parse(sql).unwrap().without(sql, &[1], &[column("a")]), None);
        assert!(free("INSERT INTO t VALUES ('a',1),('b',22)", Numbering::At(1)));
        assert!(!free("INSERT INTO t VALUES ('a',1),('b',NULL)", Numbering::At(1)));
        assert!(!free("INSERT INTO t VALUES ('a',0)", Numbering::At(1)));
    }
}

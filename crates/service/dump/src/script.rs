//! Scripts: statements of a file, one after the other.

use crate::ddl::replace_words;
use crate::fault::{Fault, Outcome, wrong};
use crate::peer::{About, Kind, Session};
use crate::read;
use crate::split::{Piece, Splitter};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// A statement and the line it begins in.
#[derive(Debug, Clone)]
pub(crate) struct Statement {
    pub(crate) text: Vec<u8>,
    pub(crate) line: u64,
    /// Its number in the file, from 1.
    pub(crate) number: u64,
}

/// The longest line of a script: as long as the largest packet.
const LONGEST_LINE: u64 = 1 << 30;

/// The statements of a file, as they come.
pub(crate) struct Statements {
    path: PathBuf,
    input: BufReader<Box<dyn Read + Send>>,
    splitter: Splitter,
    line: Vec<u8>,
    lines: u64,
    /// Read, and not yet given out; the last first.
    ahead: Vec<Piece>,
    number: u64,
    /// Plain bytes that were read.
    pub(crate) bytes: u64,
    over: bool,
}

impl Statements {
    pub(crate) fn open(path: &Path) -> Outcome<Statements> {
        let input = BufReader::with_capacity(256 << 10, read::open(path)?);
        let (splitter, line, ahead) = (Splitter::default(), Vec::new(), Vec::new());
        Ok(Statements {
            path: path.to_owned(),
            input,
            splitter,
            line,
            lines: 0,
            ahead,
            number: 0,
            bytes: 0,
            over: false,
        })
    }

    /// The next statement; `None` at the end.
    pub(crate) fn next(&mut self) -> Outcome<Option<Statement>> {
        loop {
            match self.ahead.pop() {
                Some(Piece::Statement { text, line, .. }) => {
                    self.number += 1;
                    return Ok(Some(Statement { text, line, number: self.number }));
                }
                Some(Piece::Command(command, _)) => {
                    let place = format!("{}:{}", self.path.display(), self.lines);
                    return wrong(format!("{place}: the client's command {command:?} is not for scripts"));
                }
                None if self.over => return Ok(None),
                None => self.read_line()?,
            }
        }
    }

    fn read_line(&mut self) -> Outcome<()> {
        self.line.clear();
        let path = self.path.display();
        let read = (&mut self.input).take(LONGEST_LINE).read_until(b'\n', &mut self.line);
        let n = read
            .map_err(|e| Fault::Wrong(format!("{path}:{}: the file is damaged or cut short: {e}", self.lines + 1)))?;
        self.lines += 1;
        self.bytes += n as u64;
        if n as u64 == LONGEST_LINE {
            return wrong(format!("{path}:{}: the line is too long", self.lines));
        }
        if n == 0 {
            self.over = true;
            if let Some((what, at)) = self.splitter.unfinished() {
                return wrong(format!("{path}:{at}: the file ends inside of a {what}: it is cut short"));
            }
            self.ahead.extend(self.splitter.finish());
            return Ok(());
        }
        let end = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
        self.ahead = self.splitter.line(end.strip_suffix(b"\r").unwrap_or(end));
        self.ahead.reverse();
        Ok(())
    }
}

/// Reads a script of definitions.
pub(crate) fn read(path: &Path) -> Outcome<Vec<Statement>> {
    let mut all = Vec::new();
    let mut input = Statements::open(path)?;
    while let Some(statement) = input.next()? {
        if std::str::from_utf8(&statement.text).is_err() {
            return wrong(format!("{}:{}: the text is not UTF-8", path.display(), statement.line));
        }
        all.push(statement);
    }
    Ok(joined(all))
}

/// mydumper writes the bodies of programs without a delimiter of their own: a statement that creates a program goes on
/// up to the SET that follows each. Its `SET NAMES binary` is for rows, and has no place among definitions in UTF-8.
fn joined(all: Vec<Statement>) -> Vec<Statement> {
    const END: &[u8] = b"SET character_set_client = @PREV_CHARACTER_SET_CLIENT";
    let mut out: Vec<Statement> = Vec::with_capacity(all.len());
    let mut inside = false;
    let marked = all.iter().any(|s| s.text.starts_with(END));
    for s in all {
        inside &= !s.text.starts_with(END);
        match out.last_mut() {
            Some(last) if inside => {
                last.text.extend_from_slice(b";\n");
                last.text.extend(s.text);
            }
            _ if s.text == b"/*!40101 SET NAMES binary*/" => {}
            _ => {
                inside = marked && begins(s.sql(), &["CREATE"]);
                out.push(s);
            }
        }
    }
    out
}

impl Statement {
    /// The text, if it is one.
    pub(crate) fn sql(&self) -> &str {
        std::str::from_utf8(&self.text).unwrap_or_default()
    }

    /// The first words, for telling what it is; a comment of a version counts as its content.
    pub(crate) fn head(&self) -> String {
        let head = &self.text[..self.text.len().min(400)];
        String::from_utf8_lossy(head).into_owned()
    }
}

/// Runs a statement of a file; an error names the place.
pub(crate) fn run(db: &mut Session, path: &Path, statement: &Statement) -> Outcome<()> {
    let adapted = std::str::from_utf8(&statement.text).ok().map(|sql| adapted(sql, &db.about));
    match db.connection.query_bytes(adapted.as_deref().map_or(&statement.text, str::as_bytes)) {
        Ok(_) => Ok(()),
        Err(e) => Err(Fault::from(e).at(format!("{}:{}", path.display(), statement.line))),
    }
}

/// Modes that MySQL 8 has no more, nor this server: they were about GRANT and SHOW, name others that are listed beside
/// them, or say what is so in any case. What else a mode of MariaDB's changes is left for the target to refuse.
const GONE: [&str; 11] = [
    "NO_AUTO_CREATE_USER",
    "NO_FIELD_OPTIONS",
    "NO_KEY_OPTIONS",
    "NO_TABLE_OPTIONS",
    "DB2",
    "MAXDB",
    "MSSQL",
    "MYSQL323",
    "MYSQL40",
    "POSTGRESQL",
    "TIME_ROUND_FRACTIONAL",
];

/// `SET sql_mode = '..'` without the modes that are gone; `None`: another statement, or none of them is named.
fn without_gone_modes(sql: &str) -> Option<String> {
    let bare = sql.strip_prefix("/*!").map_or(sql, |s| s.trim_start_matches(|c: char| c.is_ascii_digit()));
    if !begins(bare, &["SET"]) {
        return None;
    }
    const VARIABLE: &str = "sql_mode";
    let behind = sql.to_ascii_lowercase().find(VARIABLE)? + VARIABLE.len();
    let (equals, rest) = sql[behind..].split_once('\'')?;
    let (modes, rest) = rest.split_once('\'')?;
    let is_gone = |mode: &str| GONE.iter().any(|gone| mode.eq_ignore_ascii_case(gone));
    if equals.trim() != "=" || !modes.split(',').any(is_gone) {
        return None;
    }
    let kept: Vec<&str> = modes.split(',').filter(|mode| !is_gone(mode)).collect();
    Some(format!("{}{equals}'{}'{rest}", &sql[..behind], kept.join(",")))
}

/// The statement as the target knows it: without modes that are gone, and with the collations of MySQL 8 for those of
/// MariaDB or the other way round; an older MySQL has neither.
pub(crate) fn adapted(sql: &str, target: &About) -> String {
    if target.kind != Kind::MariaDb
        && let Some(sql) = without_gone_modes(sql)
    {
        return sql;
    }
    if !sql.contains("_0900_") && !sql.contains("_uca1400_") {
        return sql.to_owned();
    }
    let new = target.is_mysql([8, 0, 1]);
    let old = !new && target.kind != Kind::MariaDb;
    replace_words(sql, |word| match word {
        "utf8mb4_0900_bin" if !new => Some("utf8mb4_bin"),
        w if !new && w.starts_with("utf8mb4_0900_as") => Some("utf8mb4_bin"),
        w if !new && w.starts_with("utf8mb4_0900_") => Some("utf8mb4_unicode_520_ci"),
        w if old && w.starts_with("utf8mb4_uca1400_as") => Some("utf8mb4_bin"),
        w if old && w.starts_with("utf8mb4_uca1400_") => Some("utf8mb4_unicode_520_ci"),
        w if new && w.starts_with("utf8mb4_uca1400_as_cs") => Some("utf8mb4_0900_as_cs"),
        w if new && w.starts_with("utf8mb4_uca1400_as") => Some("utf8mb4_0900_as_ci"),
        w if new && w.starts_with("utf8mb4_uca1400_") => Some("utf8mb4_0900_ai_ci"),
        w if (new || old) && w.starts_with("utf8mb3_uca1400_") => Some("utf8mb3_unicode_ci"),
        _ => None,
    })
}

/// A statement begins with these words.
pub(crate) fn begins(sql: &str, words: &[&str]) -> bool {
    let mut all = sql.split_whitespace();
    words.iter().all(|w| all.next().is_some_and(|t| t.eq_ignore_ascii_case(w)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_that_are_gone_are_left_out() {
        let to = |sql: &str| adapted(sql, &About::of("8.4.0-gannet", ""));
        assert_eq!(
            to("/*!50003 SET sql_mode              = 'STRICT_TRANS_TABLES,NO_AUTO_CREATE_USER,NO_ZERO_DATE' */"),
            "/*!50003 SET sql_mode              = 'STRICT_TRANS_TABLES,NO_ZERO_DATE' */"
        );
        assert_eq!(
            to("SET @@SESSION.SQL_MODE='no_auto_create_user', time_zone = 'SYSTEM'"),
            "SET @@SESSION.SQL_MODE='', time_zone = 'SYSTEM'"
        );
        for kept in [
            "SET sql_mode = 'ORACLE,NO_ZERO_DATE'",
            "SET @saved_sql_mode = @@sql_mode, @a = 'NO_AUTO_CREATE_USER'",
            "SET sql_mode = @saved_sql_mode",
            "INSERT INTO t VALUES ('sql_mode = ''NO_AUTO_CREATE_USER''')",
        ] {
            assert_eq!(to(kept), kept);
        }
        let own = "SET sql_mode = 'NO_AUTO_CREATE_USER'";
        assert_eq!(adapted(own, &About::of("10.11.6-MariaDB", "")), own);
    }

    #[test]
    fn collations_are_the_targets() {
        let to = |sql: &str, version: &str| adapted(sql, &About::of(version, ""));
        for (sql, version, made) in [
            ("COLLATE=utf8mb4_0900_ai_ci", "5.6.24", "COLLATE=utf8mb4_unicode_520_ci"),
            ("COLLATE utf8mb4_0900_as_cs", "5.7.44", "COLLATE utf8mb4_bin"),
            ("COLLATE utf8mb4_0900_ai_ci", "8.0.36", "COLLATE utf8mb4_0900_ai_ci"),
            ("COLLATE utf8mb4_0900_bin", "10.11.6-MariaDB", "COLLATE utf8mb4_bin"),
            ("COLLATE utf8mb4_uca1400_ai_ci", "8.4.0-gannet", "COLLATE utf8mb4_0900_ai_ci"),
            ("COLLATE utf8mb4_uca1400_as_cs", "5.6.24", "COLLATE utf8mb4_bin"),
            ("DEFAULT 'utf8mb4_0900_ai_ci'", "5.6.24", "DEFAULT 'utf8mb4_0900_ai_ci'"),
        ] {
            assert_eq!(to(sql, version), made, "{sql} {version}");
        }
    }
}

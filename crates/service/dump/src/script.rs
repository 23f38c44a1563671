//! Scripts: statements of a file, one after the other.

use crate::ddl::replace_words;
use crate::fault::{Fault, Outcome, wrong};
use crate::peer::{Kind, Session};
use crate::read;
use crate::split::{Piece, Splitter};
use std::io::{BufRead, BufReader};
use std::path::Path;

/// A statement and the line it begins in.
#[derive(Debug, Clone)]
pub(crate) struct Statement {
    pub(crate) text: String,
    pub(crate) line: u64,
}

/// Reads a script of definitions.
pub(crate) fn read(path: &Path) -> Outcome<Vec<Statement>> {
    let mut input = BufReader::new(read::open(path)?);
    let mut splitter = Splitter::default();
    let (mut line, mut number, mut all) = (Vec::new(), 0, Vec::new());
    loop {
        line.clear();
        let n = input.read_until(b'\n', &mut line).map_err(|e| Fault::file(path, e))?;
        number += 1;
        let pieces = match n {
            0 => {
                if let Some((what, at)) = splitter.unfinished() {
                    return wrong(format!(
                        "{}:{at}: the file ends inside of a {what}: it is cut short",
                        path.display()
                    ));
                }
                splitter.finish().into_iter().collect()
            }
            _ => {
                let end = line.strip_suffix(b"\n").unwrap_or(&line);
                splitter.line(end.strip_suffix(b"\r").unwrap_or(end))
            }
        };
        for piece in pieces {
            match piece {
                Piece::Statement { text, line, .. } => match String::from_utf8(text) {
                    Ok(text) => all.push(Statement { text, line }),
                    Err(_) => return wrong(format!("{}:{line}: the text is not UTF-8", path.display())),
                },
                Piece::Command(..) => {
                    return wrong(format!("{}:{number}: a command of the mysql client", path.display()));
                }
            }
        }
        if n == 0 {
            return Ok(all);
        }
    }
}

/// Runs a statement of a file; an error names the place.
pub(crate) fn run(db: &mut Session, path: &Path, statement: &Statement) -> Outcome<()> {
    let text = adapted(&statement.text, db.about.kind);
    match db.connection.query_bytes(text.as_bytes()) {
        Ok(_) => Ok(()),
        Err(e) => Err(Fault::from(e).at(format!("{}:{}", path.display(), statement.line))),
    }
}

/// The statement with the collations that the target knows: MySQL 8's for MariaDB's and the other way round.
pub(crate) fn adapted(sql: &str, target: Kind) -> String {
    if !sql.contains("_0900_") && !sql.contains("_uca1400_") {
        return sql.to_owned();
    }
    replace_words(sql, |word| match (target, word) {
        (Kind::MariaDb, "utf8mb4_0900_bin") => Some("utf8mb4_bin"),
        (Kind::MariaDb, w) if w.starts_with("utf8mb4_0900_as") => Some("utf8mb4_bin"),
        (Kind::MariaDb, w) if w.starts_with("utf8mb4_0900_") => Some("utf8mb4_unicode_520_ci"),
        (Kind::MySql | Kind::Gannet, w) if w.starts_with("utf8mb4_uca1400_as_cs") => Some("utf8mb4_0900_as_cs"),
        (Kind::MySql | Kind::Gannet, w) if w.starts_with("utf8mb4_uca1400_as") => Some("utf8mb4_0900_as_ci"),
        (Kind::MySql | Kind::Gannet, w) if w.starts_with("utf8mb4_uca1400_") => Some("utf8mb4_0900_ai_ci"),
        (Kind::MySql | Kind::Gannet, w) if w.starts_with("utf8mb3_uca1400_") => Some("utf8mb3_unicode_ci"),
        _ => None,
    })
}

/// A statement begins with these words.
pub(crate) fn begins(sql: &str, words: &[&str]) -> bool {
    let mut all = sql.split_whitespace();
    words.iter().all(|w| all.next().is_some_and(|t| t.eq_ignore_ascii_case(w)))
}

//! Rows into a table: by LOAD DATA LOCAL where the server takes it, else by INSERTs of many rows.

use crate::fault::{Fault, Outcome, wrong};
use crate::names::{literal, qualified, quoted};
use crate::peer::Session;
use crate::plan::{Decode, Format};
use crate::read::{Dialect, Piece};
use crate::rows::{from_base64, unescape};
use gannet_wire::client::ResultSet;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

/// How rows go in.
#[derive(Debug, Clone)]
pub(crate) struct Way {
    how: How,
    /// The values of the lines, where these can be looked into.
    columns: Option<Columns>,
}

#[derive(Debug, Clone)]
enum How {
    /// A LOAD DATA LOCAL, which decodes so.
    Local { sql: String, decode: Vec<Option<Decode>> },
    /// INSERTs that begin so, of values that are decoded so.
    Insert { head: String, decode: Vec<Option<Decode>> },
}

#[derive(Debug, Clone)]
struct Columns {
    schema: String,
    table: String,
    names: Vec<String>,
}

/// Bytes of a packet of LOCAL data.
const STEP: usize = 256 << 10;
/// Bytes of an INSERT, if `max_allowed_packet` lets it.
const STATEMENT: usize = 1 << 20;

/// What the last statement warned of.
struct Warned {
    /// Level, number, text.
    list: Vec<Vec<Option<String>>>,
    /// How many they are, whether they are in the list or not.
    all: Option<usize>,
}

impl Warned {
    fn of(db: &mut Session) -> Outcome<Warned> {
        let list = db.rows("SHOW WARNINGS")?;
        Ok(Warned { list, all: db.value("SHOW COUNT(*) WARNINGS")?.and_then(|n| n.parse().ok()) })
    }
}

impl Way {
    /// The way for a table. `local`: the server's `local_infile`.
    pub(crate) fn of(local: bool, schema: &str, table: &str, format: &Format) -> Outcome<Way> {
        let Format::Lines { dialect, charset, columns, decode } = format else {
            return wrong("statements are no rows");
        };
        let into = qualified(schema, table);
        let told = || Columns { schema: schema.into(), table: table.into(), names: columns.clone() };
        let told = (*dialect == Dialect::default()).then(told);
        let decoded = columns.iter().map(|c| decode.get(c).copied()).collect();
        if local {
            let mut sets = Vec::new();
            let mut list = Vec::new();
            for (i, column) in columns.iter().enumerate() {
                match decode.get(column) {
                    Some(how) => {
                        list.push(format!("@v{i}"));
                        sets.push(format!("{} = {}(@v{i})", quoted(column), how.function()));
                    }
                    None => list.push(quoted(column)),
                }
            }
            let sets = if sets.is_empty() { String::new() } else { format!(" SET {}", sets.join(", ")) };
            let sql = format!(
                "LOAD DATA LOCAL INFILE 'rows' INTO TABLE {into} CHARACTER SET {} {} ({}){sets}",
                literal(charset),
                dialect.clauses(),
                list.join(", ")
            );
            return Ok(Way { how: How::Local { sql, decode: decoded }, columns: told });
        }
        if *dialect != Dialect::default() || !matches!(charset.as_str(), "utf8mb4" | "utf8" | "utf8mb3" | "ascii") {
            return wrong("rows in this form need the server's local_infile = ON");
        }
        let names: Vec<String> = columns.iter().map(|c| quoted(c)).collect();
        let head = format!("INSERT INTO {into} ({}) VALUES ", names.join(", "));
        Ok(Way { how: How::Insert { head, decode: decoded }, columns: told })
    }

    /// Puts the rows of a piece in, all of them as they are, or fails. The caller's transaction is open.
    pub(crate) fn put(&self, db: &mut Session, piece: &Piece, file: &Path) -> Outcome<()> {
        match &self.how {
            How::Local { sql, decode } => {
                // Servers make NULL of what is no base64.
                if self.columns.is_some() && decode.contains(&Some(Decode::Base64)) {
                    check_base64(decode, piece, file)?;
                }
                self.local(db, sql, piece, file)
            }
            How::Insert { head, decode } => self.insert(db, head, decode, piece, file),
        }
    }

    /// All that the last statement warned of are empty texts of `rows` that an ENUM has no member for: what is so in a
    /// dump was the empty value, which is what has gone in.
    fn warned_of_empty_members(
        &self,
        db: &mut Session,
        warned: &Warned,
        piece: &Piece,
        rows: Range<usize>,
    ) -> Outcome<bool> {
        let Some(told) = &self.columns else { return Ok(false) };
        let mut named = BTreeSet::new();
        for warning in &warned.list {
            let text = match warning.as_slice() {
                [_, Some(code), Some(text)] if code == "1265" => text,
                _ => return Ok(false),
            };
            let column = text.strip_prefix("Data truncated for column '").and_then(|t| t.rsplit_once("' at row "));
            let at = column.and_then(|(name, _)| told.names.iter().position(|n| n.eq_ignore_ascii_case(name)));
            let Some(at) = at else { return Ok(false) };
            named.insert(at);
        }
        for at in &named {
            let sql = format!(
                "SELECT column_type FROM information_schema.columns WHERE table_schema = {} AND table_name = {} \
                 AND column_name = {} AND data_type = 'enum'",
                literal(&told.schema),
                literal(&told.table),
                literal(&told.names[*at])
            );
            let Some(members) = db.value(&sql)? else { return Ok(false) };
            if ["('',", ",'',", ",'')", "('')"].iter().any(|empty| members.contains(empty)) {
                return Ok(false);
            }
        }
        let mut empty = 0;
        for row in rows {
            let begin = if row == 0 { 0 } else { piece.ends[row - 1] };
            let line = &piece.bytes[begin..piece.ends[row] - 1];
            empty += line.split(|b| *b == b'\t').enumerate().filter(|(i, v)| v.is_empty() && named.contains(i)).count();
        }
        Ok(warned.all == Some(empty))
    }

    fn local(&self, db: &mut Session, sql: &str, piece: &Piece, file: &Path) -> Outcome<()> {
        let mut rest = piece.bytes.chunks(STEP);
        let ok = db.connection.load_local(sql, &mut |out| {
            let step = rest.next();
            out.extend_from_slice(step.unwrap_or_default());
            Ok(step.is_some())
        });
        let ok = ok.map_err(|e| Fault::from(e).at(file.display()))?;
        let rows = piece.ends.len() as u64;
        if ok.affected == rows && ok.warnings == 0 {
            return Ok(());
        }
        let warned = Warned::of(db)?;
        if ok.affected == rows && self.warned_of_empty_members(db, &warned, piece, 0..piece.ends.len())? {
            return Ok(());
        }
        // LOCAL makes warnings of errors: what was skipped or changed is found here.
        for warning in warned.list {
            if let [Some(level), Some(code), Some(text)] = warning.as_slice()
                && level != "Note"
            {
                let text = at_row_of_file(text, piece.row);
                let text = format!("{}: {text}{}", file.display(), of_rows(&text, piece));
                return Err(Fault::Refused { code: code.parse().unwrap_or(0), text: format!("{text} ({code})") });
            }
        }
        if ok.affected == rows {
            return Ok(());
        }
        wrong(format!("{}: {} of {rows} rows went in, from row {}", file.display(), ok.affected, piece.row))
    }

    fn insert(
        &self,
        db: &mut Session,
        head: &str,
        decode: &[Option<Decode>],
        piece: &Piece,
        file: &Path,
    ) -> Outcome<()> {
        let (mut sql, mut first, mut begin) = (head.as_bytes().to_vec(), piece.row, 0);
        for (i, &end) in piece.ends.iter().enumerate() {
            let row = piece.row + i as u64;
            if sql.len() > head.len() {
                sql.push(b',');
            }
            values(&piece.bytes[begin..end - 1], decode, &mut sql)
                .map_err(|what| Fault::Wrong(format!("{}: row {row}: {what}", file.display())))?;
            begin = end;
            if sql.len() >= STATEMENT || i + 1 == piece.ends.len() {
                let rows = (first - piece.row) as usize..i + 1;
                let result = self.inserted(db, &sql, piece, rows).map_err(|e| match e {
                    Fault::Refused { code, text } => {
                        let text = at_row_of_file(&text, first);
                        let text = format!("{}: {text}{}", file.display(), of_rows(&text, piece));
                        Fault::Refused { code, text }
                    }
                    other => other.at(file.display()),
                })?;
                let (want, got) = (row + 1 - first, result);
                if want != got {
                    return wrong(format!("{}: {got} of {want} rows went in, from row {first}", file.display()));
                }
                sql.truncate(head.len());
                first = row + 1;
            }
        }
        Ok(())
    }

    /// Rows that an INSERT of these rows has made. Strict modes refuse the empty value of an ENUM.
    fn inserted(&self, db: &mut Session, sql: &[u8], piece: &Piece, rows: Range<usize>) -> Outcome<u64> {
        const TRUNCATED: u16 = 1265;
        let affected = |results: Vec<ResultSet>| results.first().map_or(0, |r| r.ok.affected);
        let refused = match db.connection.query_bytes(sql).map_err(Fault::from) {
            Err(refused @ Fault::Refused { code: TRUNCATED, .. }) => refused,
            other => return other.map(affected),
        };
        let mode = db.value("SELECT @@sql_mode")?.unwrap_or_default();
        let loose: Vec<&str> = mode.split(',').filter(|m| !m.starts_with("STRICT_")).collect();
        db.run(&format!("SET sql_mode = {}", literal(&loose.join(","))))?;
        let done = db.connection.query_bytes(sql).map(affected).map_err(Fault::from);
        let warned = Warned::of(db);
        db.run(&format!("SET sql_mode = {}", literal(&mode)))?;
        match done {
            Ok(done) if self.warned_of_empty_members(db, &warned?, piece, rows)? => Ok(done),
            _ => Err(refused),
        }
    }
}

/// The server counts rows from the beginning of the statement; the user reads them in the file.
fn at_row_of_file(text: &str, first: u64) -> String {
    let (front, behind) = match text.strip_prefix("Row ") {
        Some(behind) => ("", behind),
        None => match text.rsplit_once("row ") {
            Some(parts) => parts,
            None => return text.to_owned(),
        },
    };
    let digits = behind.len() - behind.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    match behind[..digits].parse::<u64>() {
        Ok(n) => format!("{front}row {}{}", first + n.saturating_sub(1), &behind[digits..]),
        Err(_) => text.to_owned(),
    }
}

/// Where it is, for a text that does not say so.
fn of_rows(text: &str, piece: &Piece) -> String {
    match text.contains("row ") {
        true => String::new(),
        false => format!(", in rows {} to {}", piece.row, piece.row + piece.ends.len() as u64 - 1),
    }
}

/// The values of a piece that are to be base64 are.
fn check_base64(decode: &[Option<Decode>], piece: &Piece, file: &Path) -> Outcome<()> {
    let (mut begin, mut plain) = (0, Vec::new());
    for (i, &end) in piece.ends.iter().enumerate() {
        let values = piece.bytes[begin..end - 1].split(|&b| b == b'\t').zip(decode);
        for (value, _) in values.filter(|(value, how)| **how == Some(Decode::Base64) && *value != b"\\N") {
            plain.clear();
            unescape(value, &mut plain);
            if from_base64(&plain).is_none() {
                return wrong(format!("{}: row {}: a value is no base64", file.display(), piece.row + i as u64));
            }
        }
        begin = end;
    }
    Ok(())
}

/// Appends a line's values in parentheses. The escapes of lines are those of literals, but for the quote.
fn values(line: &[u8], decode: &[Option<Decode>], sql: &mut Vec<u8>) -> Result<(), &'static str> {
    let mut count = 0;
    for (i, value) in line.split(|&b| b == b'\t').enumerate() {
        count += 1;
        sql.push(if i == 0 { b'(' } else { b',' });
        if value == b"\\N" {
            sql.extend_from_slice(b"NULL");
            continue;
        }
        match decode.get(i) {
            None => return Err("there are more values than columns"),
            Some(None) => {
                sql.push(b'\'');
                let mut rest = value;
                while let Some(at) = memchr::memchr(b'\'', rest) {
                    sql.extend_from_slice(&rest[..at]);
                    sql.extend_from_slice(b"''");
                    rest = &rest[at + 1..];
                }
                sql.extend_from_slice(rest);
                sql.push(b'\'');
            }
            Some(Some(how)) => {
                let mut plain = Vec::new();
                unescape(value, &mut plain);
                sql.extend_from_slice(b"x'");
                match how {
                    Decode::Base64 => hex(&from_base64(&plain).ok_or("a value is no base64")?, sql),
                    Decode::Hex if plain.iter().all(u8::is_ascii_hexdigit) => sql.extend_from_slice(&plain),
                    Decode::Hex => return Err("a value is no hexadecimal number"),
                }
                sql.push(b'\'');
            }
        }
    }
    sql.push(b')');
    if count < decode.len() { Err("there are fewer values than columns") } else { Ok(()) }
}

fn hex(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for b in bytes {
        out.extend_from_slice(&[DIGITS[usize::from(b >> 4)], DIGITS[usize::from(b & 15)]]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_values() {
        let mut sql = Vec::new();
        values(b"1\tit's\\n\t\\N\tAP8=", &[None, None, None, Some(Decode::Base64)], &mut sql).unwrap();
        assert_eq!(sql, b"('1','it''s\\n',NULL,x'00FF')");
        let fault = |line: &[u8], d: &[Option<Decode>]| values(line, d, &mut Vec::new()).unwrap_err();
        assert_eq!(fault(b"1\t2", &[None]), "there are more values than columns");
        assert_eq!(fault(b"1", &[None, None]), "there are fewer values than columns");
        assert_eq!(fault(b"!", &[Some(Decode::Base64)]), "a value is no base64");
        assert_eq!(fault(b"0g", &[Some(Decode::Hex)]), "a value is no hexadecimal number");
    }

    #[test]
    fn rows_are_numbered_as_in_the_file() {
        assert_eq!(
            at_row_of_file("Data truncated for column 'a' at row 3", 101),
            "Data truncated for column 'a' at row 103"
        );
        assert_eq!(at_row_of_file("Row 2 was truncated", 5), "row 6 was truncated");
        assert_eq!(at_row_of_file("Duplicate entry 'row x'", 5), "Duplicate entry 'row x'");
    }
}

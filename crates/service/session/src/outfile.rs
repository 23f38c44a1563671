//! SELECT ... INTO OUTFILE and INTO DUMPFILE: rows into a new file of the server's machine. What a failed statement has
//! written is removed.

use super::Session;
use super::files;
use super::reply::Done;
use gannet_exec::file::Format as Clauses;
use gannet_exec::{Outcome, ResultSink, Rows};
use gannet_parser::ast::SelectInto;
use gannet_plan::Plan;
use gannet_plan::plan::ResultColumn;
use gannet_runtime::{File, fs};
use gannet_types::charset::Charset;
use gannet_types::{Result, SqlError, SqlMode, TypeId, Value, sql_err};
use gannet_wire::codec::Reader;
use gannet_wire::value::{Format, text_value};

/// The buffer is written when it holds more.
const FLUSH_BYTES: usize = 256 * 1024;

/// A result column in a file.
struct Column {
    format: Format,
    /// Its values are texts: those are quoted with OPTIONALLY, and escaped.
    text: bool,
    /// Of its texts, if characters have several bytes that may be those of others.
    multi: Option<Charset>,
    /// In the fixed format.
    width: usize,
}

/// Writes rows into a file.
struct FileSink {
    file: File,
    written: u64,
    buffer: Vec<u8>,
    columns: Vec<Column>,
    /// `None`: DUMPFILE.
    clauses: Option<Clauses>,
    fixed: bool,
    /// CHARACTER SET; values stay as they are without.
    charset: Option<Charset>,
    rows: u64,
    cell: Vec<u8>,
}

fn write_error(e: &std::io::Error) -> SqlError {
    let message = format!("Error writing file (OS errno {} - {e})", e.raw_os_error().unwrap_or(0));
    SqlError::with_message(gannet_types::ErrorCode::EeWrite, message)
}

impl FileSink {
    fn flush(&mut self) -> Result<()> {
        self.file.write_at(&self.buffer, self.written).map_err(|e| write_error(&e))?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// A line of text: see [`Clauses`].
    fn line(&mut self, rows: &Rows<'_>, row: usize, clauses: &Clauses) {
        self.buffer.extend_from_slice(&clauses.line_start);
        for (i, column) in self.columns.iter().enumerate() {
            if i > 0 {
                self.buffer.extend_from_slice(&clauses.field_term);
            }
            self.cell.clear();
            text_value(&mut self.cell, rows.value(row, i), column.format, self.charset);
            let value = Reader::new(&self.cell).lenenc_bytes_or_null().ok().flatten();
            let begin = self.buffer.len();
            match value {
                None if self.fixed => {}
                None => match clauses.escape {
                    Some(escape) => self.buffer.extend_from_slice(&[escape, b'N']),
                    None => self.buffer.extend_from_slice(b"NULL"),
                },
                Some(value) => put_field(&mut self.buffer, value, column, clauses),
            }
            if self.fixed {
                let width = self.buffer.len() - begin;
                self.buffer.truncate(begin + width.min(column.width));
                self.buffer.resize(begin + column.width, b' ');
            }
        }
        self.buffer.extend_from_slice(&clauses.line_term);
    }
}

/// Whether the byte would have another meaning behind the escape character.
fn is_escape_letter(byte: u8) -> bool {
    b"ntrb0ZN".contains(&byte)
}

fn put_field(out: &mut Vec<u8>, value: &[u8], column: &Column, clauses: &Clauses) {
    let quote = clauses.enclosed.filter(|_| column.text || !clauses.optionally);
    out.extend(quote);
    let separator = clauses.enclosed.or(clauses.field_term.first().copied());
    let in_numbers = separator.is_some_and(|s| b".0123456789e+-".contains(&s));
    match clauses.escape {
        Some(escape) if column.text || in_numbers => {
            // A quote that is also a letter of escapes can only be doubled; a terminator that is one cannot be written
            // otherwise.
            let doubled = separator.filter(|s| is_escape_letter(*s));
            let ambiguous = clauses.field_term.first().copied().filter(|t| is_escape_letter(*t));
            let stop = if quote.is_some() { separator } else { clauses.field_term.first().copied() };
            let mut within = 0;
            for (at, &byte) in value.iter().enumerate() {
                if within > 0 {
                    // A later byte of a character.
                    within -= 1;
                    out.push(byte);
                    continue;
                }
                within = column.multi.map_or(0, |charset| charset.char_len(&value[at..]) - 1);
                let special = byte == escape
                    || Some(byte) == stop
                    || Some(byte) == clauses.line_term.first().copied()
                    || byte == 0;
                if special && (quote.is_some() || ambiguous != Some(byte)) {
                    out.push(if Some(byte) == doubled { byte } else { escape });
                }
                out.push(if byte == 0 && special { b'0' } else { byte });
            }
        }
        _ => out.extend_from_slice(value),
    }
    out.extend(quote);
}

impl ResultSink for FileSink {
    fn begin(&mut self, columns: &[ResultColumn]) -> Result<()> {
        let charset = self.charset;
        let column = |c: &ResultColumn| Column {
            multi: charset
                .filter(|c| *c != Charset::Binary)
                .or(Some(c.ty.collation.charset()))
                .filter(|c| c.is_multi()),
            format: Format::of(&c.ty),
            text: !c.ty.id.is_numeric() && c.ty.id != TypeId::Null || c.ty.id == TypeId::Bit,
            width: if c.ty.id.is_string() { c.ty.max_bytes() as usize } else { c.ty.display_chars() as usize },
        };
        self.columns = columns.iter().map(column).collect();
        let blobs = columns.iter().any(|c| c.ty.id.is_lob() || c.ty.id == TypeId::Json);
        self.fixed = self.clauses.as_ref().is_some_and(Clauses::is_fixed) && !blobs;
        Ok(())
    }

    fn rows(&mut self, rows: Rows<'_>) -> Result<()> {
        let clauses = self.clauses.take();
        for row in 0..rows.len() {
            self.rows += 1;
            match &clauses {
                Some(clauses) => self.line(&rows, row, clauses),
                None if self.rows > 1 => return Err(sql_err!(TooManyRows)),
                None => {
                    for i in 0..self.columns.len() {
                        self.cell.clear();
                        text_value(&mut self.cell, rows.value(row, i), self.columns[i].format, None);
                        match Reader::new(&self.cell).lenenc_bytes_or_null().ok().flatten() {
                            Some(value) => self.buffer.extend_from_slice(value),
                            None => self.buffer.push(0),
                        }
                    }
                }
            }
            if self.buffer.len() >= FLUSH_BYTES {
                self.flush()?;
            }
        }
        self.clauses = clauses;
        Ok(())
    }
}

/// SELECT ... INTO OUTFILE, INTO DUMPFILE.
pub(crate) fn run_into_file(session: &mut Session, plan: &Plan, into: &SelectInto, params: &[Value]) -> Result<Done> {
    files::require_file_privilege(&session.state)?;
    let backslash = !session.settings.exec.sql_mode.contains(SqlMode::NO_BACKSLASH_ESCAPES);
    let (name, clauses, charset) = match into {
        SelectInto::Outfile { file, charset, format } => {
            let charset = charset.as_ref().map(|c| Charset::by_name(c)).transpose()?;
            files::warn_of_separators(session, format);
            (file, Some(Clauses::new(format, backslash)?), charset)
        }
        SelectInto::Dumpfile(file) => (file, None, None),
        SelectInto::Variables(_) => return Err(SqlError::internal("INTO of variables")),
    };
    let (file, path) = files::create(&session.state, name)?;
    let mut sink = FileSink {
        file,
        written: 0,
        buffer: Vec::new(),
        columns: Vec::new(),
        clauses,
        fixed: false,
        charset,
        rows: 0,
        cell: Vec::new(),
    };
    let locks = session.plan_locks(plan);
    let outcome = session.execute_with(plan, &locks, params, |cx, buffers| {
        let outcome = gannet_exec::run(cx, buffers, &mut sink)?;
        sink.flush()?;
        Ok(outcome)
    });
    match outcome {
        Ok(Outcome::Rows { .. } | Outcome::Affected(_)) => {
            if !session.running.counted_rows {
                session.state.running.before.found_rows = sink.rows;
            }
            Ok(Done::affected(sink.rows))
        }
        Err(e) => {
            let _ = fs::remove_file(&path);
            Err(e)
        }
    }
}

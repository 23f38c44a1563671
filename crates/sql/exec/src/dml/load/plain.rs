//! Rows out of lines without a second look: of a table without expressions of its own, from fields that go to columns
//! as they are. A line that anything is to be said of, or that asks for a number, is left to the statement's own way.

use super::{Load, text};
use crate::context::Cx;
use crate::convert;
use crate::dml::defaults;
use gannet_plan::plan::{Insert, LoadField};
use gannet_schema::{ColumnDefault, Table};
use gannet_types::convert::Stored;
use gannet_types::{CollationId, Value, ValueRef};
use smallvec::SmallVec;

/// Lines, and what they have become.
#[derive(Default)]
pub(super) struct Chunk {
    /// Whole lines; the last one of the file may lack its end.
    pub(super) text: Vec<u8>,
    /// One for each line.
    pub(super) lines: Vec<Line>,
    /// Keys and rows, one behind the other.
    pub(super) bytes: Vec<u8>,
}

/// A line, and what has become of it.
#[derive(Clone, Copy)]
pub(super) struct Line {
    /// Where it ends in the text, and its row in the bytes.
    pub(super) end: usize,
    pub(super) row_end: usize,
    /// Bytes of the key, which is before the row; none: the line is no plain one, and has no row.
    pub(super) key: Option<u32>,
    /// The row's AUTO_INCREMENT value, 0 without.
    pub(super) number: u64,
}

/// How lines become rows.
pub(super) struct Plain<'p> {
    table: &'p Table,
    /// Columns of the fields.
    columns: Vec<u32>,
    /// Of all columns: what they have if no field is theirs.
    values: Vec<Value>,
    collation: CollationId,
    field_end: u8,
    line_end: u8,
    escape: Option<u8>,
    /// Bytes of a line's fields.
    limit: usize,
    /// Hidden keys are made when a row's turn comes.
    has_key: bool,
    /// Bytes that mean something.
    special: [bool; 256],
}

/// A field of a line: where it lies in the text, or, without its escapes, in the scratch.
#[derive(Clone, Copy)]
enum Cut {
    Null,
    Text(usize, usize),
    Escaped(usize, usize),
}

/// Whether the line at hand is a plain one.
struct Odd;

impl<'p> Plain<'p> {
    /// `None`: rows need the statement.
    pub(super) fn new(
        load: &Load<'_>,
        (insert, table): (&Insert, &'p Table),
        limit: usize,
        cx: &mut Cx<'_, 'p>,
    ) -> Option<Plain<'p>> {
        let format = load.format;
        let (&[field_end], &[line_end]) = (&format.field_term[..], &format.line_term[..]) else { return None };
        let apart = field_end != line_end && format.escape.is_none_or(|e| e != field_end && e != line_end);
        let exprs = cx.shared.plan.tables[insert.table as usize].exprs.as_deref();
        let own = |e: &gannet_plan::TableExprs| !e.generated.is_empty() || !e.checks.is_empty();
        let simple = apart
            && format.enclosed.is_none()
            && format.line_start.is_empty()
            && !load.collation.charset().is_wide()
            && insert.columns.len() == load.fields.len()
            && insert.checks.is_empty()
            && table.triggers.is_empty()
            && table.partitions.is_none()
            && !exprs.is_some_and(own);
        if !simple || load.fields.is_empty() {
            return None;
        }
        let columns: Option<Vec<u32>> =
            load.fields.iter().map(|f| if let LoadField::Column(c) = f { Some(*c) } else { None }).collect();
        let columns = columns?;
        let mut values = Vec::with_capacity(table.columns.len());
        for (i, column) in table.columns.iter().enumerate() {
            let fields = columns.iter().filter(|c| **c as usize == i).count();
            values.push(match &column.default {
                _ if fields > 1 || column.generated.is_some() => return None,
                _ if fields == 1 => Value::Null,
                _ if column.auto_increment => return None,
                ColumnDefault::Literal(_) | ColumnDefault::Null | ColumnDefault::CurrentTimestamp => {
                    let warned = cx.warnings.total();
                    let value = defaults::missing_value(table, i, cx).ok()?;
                    if cx.warnings.total() != warned {
                        return None;
                    }
                    value
                }
                ColumnDefault::None | ColumnDefault::Expression(_) => return None,
            });
        }
        let mut special = [false; 256];
        for byte in [Some(field_end), Some(line_end), format.escape].into_iter().flatten() {
            special[usize::from(byte)] = true;
        }
        let (collation, escape, has_key) = (load.collation, format.escape, !table.has_hidden_key());
        Some(Plain { table, columns, values, collation, field_end, line_end, escape, limit, has_key, special })
    }

    /// Where the last whole line of the text ends.
    pub(super) fn last_end(&self, text: &[u8]) -> Option<usize> {
        let mut rest = text;
        while let Some(at) = memchr::memrchr(self.line_end, rest) {
            rest = &rest[..at];
            let escapes = rest.iter().rev().take_while(|b| Some(**b) == self.escape).count();
            // An escaped one is a part of its field.
            if escapes % 2 == 0 {
                return Some(at + 1);
            }
        }
        None
    }

    /// Makes rows of the chunk's lines.
    pub(super) fn convert(&self, chunk: &mut Chunk, cx: &mut Cx<'_, 'p>) {
        chunk.lines.clear();
        chunk.bytes.clear();
        let (mut at, mut cuts, mut scratch) = (0, Vec::with_capacity(self.columns.len()), Vec::new());
        while at < chunk.text.len() {
            let row = chunk.bytes.len();
            cuts.clear();
            scratch.clear();
            let (end, whole) = self.cut(&chunk.text, at, &mut cuts, &mut scratch);
            let fits = whole && cuts.len() == self.columns.len() && end - at <= self.limit;
            let warned = cx.warnings.mark();
            let made = if fits { self.row((&chunk.text, &scratch), &cuts, &mut chunk.bytes, cx) } else { Err(Odd) };
            let made = made.and_then(|made| if cx.warnings.total() == warned.total() { Ok(made) } else { Err(Odd) });
            if made.is_err() {
                cx.warnings.back_to(warned);
                chunk.bytes.truncate(row);
            }
            let (key, number) = made.map_or((None, 0), |(key, number)| (Some(key), number));
            chunk.lines.push(Line { end, row_end: chunk.bytes.len(), key, number });
            at = end;
        }
    }

    /// Cuts the line that begins at `at`: where it ends, and whether it is one like most.
    fn cut(&self, text: &[u8], at: usize, cuts: &mut Vec<Cut>, scratch: &mut Vec<u8>) -> (usize, bool) {
        let (mut start, mut i, mut escaped) = (at, at, false);
        loop {
            while text.get(i).is_some_and(|b| !self.special[usize::from(*b)]) {
                i += 1;
            }
            let byte = text.get(i).copied();
            if byte.is_some() && byte == self.escape {
                escaped = true;
                i += 2;
                if i > text.len() {
                    return (text.len(), false);
                }
                continue;
            }
            // Behind the last field's end the file has no further, empty one.
            if byte.is_none() && start == i {
                return (i, true);
            }
            let field = &text[start..i];
            cuts.push(match escaped {
                false => Cut::Text(start, i),
                true if matches!(field, [_, b'N']) => Cut::Null,
                true => {
                    let from = scratch.len();
                    self.unescape(field, scratch);
                    Cut::Escaped(from, scratch.len())
                }
            });
            if byte != Some(self.field_end) {
                return ((i + 1).min(text.len()), true);
            }
            (start, i, escaped) = (i + 1, i + 1, false);
        }
    }

    fn unescape(&self, field: &[u8], to: &mut Vec<u8>) {
        let mut bytes = field.iter().copied();
        while let Some(byte) = bytes.next() {
            let meant = if Some(byte) == self.escape { bytes.next().map(crate::file::reader::unescaped) } else { None };
            to.push(meant.unwrap_or(byte));
        }
    }

    /// Appends key and row to `out`: the key's length, and the AUTO_INCREMENT value.
    fn row(
        &self,
        (line, scratch): (&[u8], &[u8]),
        cuts: &[Cut],
        out: &mut Vec<u8>,
        cx: &mut Cx<'_, 'p>,
    ) -> Result<(u32, u64), Odd> {
        let mut values: SmallVec<[Stored<'_>; 16]> = self.values.iter().map(|v| Stored::Same(v.as_ref())).collect();
        for (cut, ordinal) in cuts.iter().zip(&self.columns) {
            let column = &self.table.columns[*ordinal as usize];
            let field = match *cut {
                Cut::Text(from, to) => &line[from..to],
                Cut::Escaped(from, to) => &scratch[from..to],
                Cut::Null if column.nullable => continue,
                Cut::Null => return Err(Odd),
            };
            let value = text(field, self.collation, Some(column));
            values[*ordinal as usize] = convert::store_ref(value, &self.table.name, column, 1, cx).map_err(|_| Odd)?;
        }
        let mut number = 0;
        if let Some(column) = self.table.auto_column {
            number = match values[column as usize].as_ref() {
                ValueRef::Int(n) => u64::try_from(n).unwrap_or(0),
                ValueRef::UInt(n) => n,
                _ => 0,
            };
            // It may ask for one.
            if number == 0 {
                return Err(Odd);
            }
        }
        let from = out.len();
        if self.has_key {
            self.table.clustered_key(|i| values[i].as_ref(), out).map_err(|_| Odd)?;
        }
        let key = out.len() - from;
        self.table.layout().encode_with(|i| values[i].as_ref(), out).map_err(|_| Odd)?;
        Ok((key as u32, number))
    }
}

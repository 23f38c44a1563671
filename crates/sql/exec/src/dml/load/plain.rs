//! Rows out of lines without a second look: of a table without expressions of its own, from fields that go to columns
//! as they are. A line that anything is to be said of, or that asks for a number, is left to the statement's own way.

use super::{Load, text};
use crate::context::Cx;
use crate::convert;
use crate::dml::defaults;
use crate::file::cutter::{Cut, Cutter};
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
    pub(super) cutter: Cutter,
    /// Bytes of a line's fields.
    limit: usize,
    /// Hidden keys are made when a row's turn comes.
    has_key: bool,
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
        let cutter = Cutter::new(load.format, load.fields.len())?;
        let exprs = cx.shared.plan.tables[insert.table as usize].exprs.as_deref();
        let own = |e: &gannet_plan::TableExprs| !e.generated.is_empty() || !e.checks.is_empty();
        let simple = !load.collation.charset().is_wide()
            && !load.collation.charset().is_multi()
            && insert.columns.len() == load.fields.len()
            && insert.checks.is_empty()
            && table.triggers.is_empty()
            && table.partitions.is_none()
            && !exprs.is_some_and(own);
        if !simple {
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
                ColumnDefault::None | ColumnDefault::Dropped | ColumnDefault::Expression(_) => return None,
            });
        }
        let (collation, has_key) = (load.collation, !table.has_hidden_key());
        Some(Plain { table, columns, values, collation, cutter, limit, has_key })
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
            let cut = self.cutter.cut(&chunk.text, at, &mut cuts, &mut scratch);
            let (end, fits) = (cut.end, cut.plain && cut.end - at <= self.limit);
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
                Cut::Made(from, to) => &scratch[from..to],
                Cut::Null if column.nullable => continue,
                Cut::Null => return Err(Odd),
            };
            let value = text(field, self.collation, Some(column)).map_err(|_| Odd)?;
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

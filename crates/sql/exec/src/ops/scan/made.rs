//! Tables whose rows the server makes.

use crate::batch::{Batch, Column};
use crate::context::{Cx, MadeRow, Operator, Rest};
use crate::{eval, vector};
use gannet_plan::physical::{Access, TableScan};
use gannet_schema::RowSource;
use gannet_telemetry::{Counter, add};
use gannet_types::charset::Charset;
use gannet_types::{Result, SqlError, SqlType, ValueRef};

/// A scan of a virtual table.
pub(super) struct VirtualScan<'p> {
    scan: &'p TableScan,
    types: &'p [SqlType],
    /// A batch that was given back.
    spare: Option<Batch>,
    /// What the table has left to make.
    rest: Rest,
    done: bool,
}

impl<'p> VirtualScan<'p> {
    pub(super) fn new(scan: &'p TableScan, types: &'p [SqlType]) -> Self {
        VirtualScan { scan, types, spare: None, rest: None, done: false }
    }

    /// The rows of one call.
    fn piece(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Batch> {
        let table = &cx.shared.plan.tables[self.scan.table as usize].table;
        let (RowSource::Virtual(number), Access::Virtual { equals }) = (&table.source, &self.scan.access) else {
            return Err(SqlError::internal("a virtual scan of a stored table"));
        };
        let empty = Batch::one_empty_row();
        let mut known = Vec::with_capacity(equals.len());
        for (column, expr) in equals {
            known.push((*column, eval::eval(expr, &empty, 0, cx)?));
        }
        let mut batch = Batch::fresh(&mut self.spare, self.types);
        let columns = &self.scan.columns;
        let first = self.rest.is_none();
        let (rest, lists) = (&mut self.rest, &mut cx.lists);
        let noted = cx.session.virtual_rows(*number, &known, columns, rest, lists, &mut |row| {
            let wanted = batch.columns.iter_mut().zip(columns);
            match row {
                MadeRow::Values(row) => {
                    wanted.for_each(|(column, n)| push(column, row.get(*n as usize).map(|v| v.as_ref())));
                }
                MadeRow::Lent(row) => wanted.for_each(|(column, n)| match (column, row.get(*n as usize)) {
                    // A counter that was just written is read as it was written: a copy of the whole value would wait.
                    (Column::UInt(numbers, nulls), Some(ValueRef::UInt(n))) if nulls.none() => numbers.push(*n),
                    (column, value) => push(column, value.copied()),
                }),
            }
            batch.rows += 1;
            Ok(())
        })?;
        self.done = self.rest.is_none();
        cx.counts.examined += batch.rows as u64;
        // MySQL fills a temporary table with these rows and reads it.
        add(Counter::HandlerReadRndNext, batch.rows as u64 + u64::from(self.done));
        add(Counter::CreatedTmpTables, first.into());
        let kept = self.scan.filter.as_ref().map(|filter| vector::select(filter, &batch, cx)).transpose()?;
        for (row, warning) in noted {
            if kept.as_ref().is_none_or(|kept| kept.binary_search(&row).is_ok()) {
                cx.warnings.push(warning);
            }
        }
        Ok(match kept {
            Some(kept) => batch.gather(&kept),
            None => batch,
        })
    }
}

/// Appends a value. Texts become the column's own: names are names whatever their collation, and a vector of texts has
/// one for all.
#[inline]
fn push(column: &mut Column, value: Option<ValueRef<'_>>) {
    match (&mut *column, value.unwrap_or(ValueRef::Null)) {
        (Column::Text(texts), ValueRef::Str(bytes, given)) => {
            let own = texts.collation;
            let is_own = own != given && is_text_of(own.charset(), given.charset(), bytes);
            column.push(ValueRef::Str(bytes, if is_own { own } else { given }));
        }
        (_, value) => column.push(value),
    }
}

/// The bytes mean the same in both.
fn is_text_of(own: Charset, given: Charset, bytes: &[u8]) -> bool {
    let names = [Charset::Utf8mb4, Charset::Utf8mb3, Charset::Ascii];
    own == given || names.contains(&own) && names.contains(&given) && (given.is_subset_of(own) || bytes.is_ascii())
}

impl<'p> Operator<'p> for VirtualScan<'p> {
    fn open(&mut self, _: &mut Cx<'_, 'p>) -> Result<()> {
        (self.rest, self.done) = (None, false);
        Ok(())
    }

    fn next(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        while !self.done {
            let batch = self.piece(cx)?;
            if batch.rows > 0 || self.done {
                return Ok(Some(batch));
            }
            gannet_runtime::yield_if_due();
        }
        Ok(None)
    }

    fn recycle(&mut self, batch: Batch) {
        self.spare = Some(batch).filter(|b| b.columns.len() == self.types.len());
    }
}

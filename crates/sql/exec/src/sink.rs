//! Where results go.

use crate::batch::{Batch, Column};
use gannet_plan::plan::ResultColumn;
use gannet_types::row::StoredRow;
use gannet_types::{Result, TimeZone, ValueRef};
use smallvec::SmallVec;

/// Takes the rows of a result set. The server implements it with the protocol's text and binary rows; an error ends
/// the statement.
///
/// TIMESTAMP values arrive as stored; [`Rows::zone`] localises them.
pub trait ResultSink {
    /// Called once, before the first row.
    fn begin(&mut self, columns: &[ResultColumn]) -> Result<()>;
    /// Rows. The call may wait for a slow client.
    fn rows(&mut self, rows: Rows<'_>) -> Result<()>;
    /// A row as it is stored. Who writes its columns somewhere needs no values of them.
    fn stored(&mut self, row: Stored<'_>) -> Result<()> {
        row.with_values(|rows| self.rows(rows))
    }
}

/// A row as it is stored, and what of it is in the result.
#[derive(Clone, Copy, Debug)]
pub struct Stored<'a> {
    /// The row.
    pub row: StoredRow<'a>,
    /// Ordinals of the columns.
    pub columns: &'a [u32],
    /// Session time zone.
    pub zone: &'a TimeZone,
}

/// Columns of a row whose values are on the stack while it is sent.
const FEW: usize = 16;

impl Stored<'_> {
    /// The same row, by its values.
    #[cold]
    #[inline(never)]
    pub fn with_values(self, to: impl FnOnce(Rows<'_>) -> Result<()>) -> Result<()> {
        let mut values = SmallVec::<[ValueRef<'_>; FEW]>::new();
        for column in self.columns {
            values.push(self.row.get(*column as usize)?);
        }
        to(Rows { source: RowSource::One(&values), zone: self.zone })
    }
}

/// Some rows of a result.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    /// The rows.
    pub source: RowSource<'a>,
    /// Session time zone.
    pub zone: &'a TimeZone,
}

/// Where the values of [`Rows`] are.
#[derive(Clone, Copy)]
pub enum RowSource<'a> {
    /// In a batch.
    Batch(&'a Batch),
    /// One row, on the direct path.
    One(&'a [ValueRef<'a>]),
}

impl Rows<'_> {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self.source {
            RowSource::Batch(batch) => batch.rows,
            RowSource::One(_) => 1,
        }
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        match self.source {
            RowSource::Batch(batch) => batch.columns.len(),
            RowSource::One(values) => values.len(),
        }
    }

    /// False when no value has more bytes than so many ([`ValueRef::long_bytes`]).
    pub fn may_have_longer(&self, bytes: usize) -> bool {
        let long = |column: &Column| match column {
            Column::Int(..) | Column::UInt(..) | Column::Double(..) => false,
            Column::Text(texts) => texts.bytes.len() > bytes,
            Column::Values(values) => values.iter().any(|v| v.long_bytes() > bytes),
            Column::Constant(value, _) => value.long_bytes() > bytes,
        };
        match self.source {
            RowSource::Batch(batch) => batch.columns.iter().any(long),
            RowSource::One(values) => values.iter().any(|v| v.long_bytes() > bytes),
        }
    }

    /// The value of a column in a row, as the client is to see it.
    #[inline]
    pub fn value(&self, row: usize, column: usize) -> ValueRef<'_> {
        match self.source {
            RowSource::Batch(batch) => batch.columns[column].get(row),
            RowSource::One(values) => values[column],
        }
        .localize(self.zone)
    }
}

//! Where results go.

use crate::batch::{Batch, Column};
use gannet_plan::plan::ResultColumn;
use gannet_types::{Result, TimeZone, ValueRef};

/// Takes the rows of a result set. The server implements it with the protocol's text and binary rows; an error ends
/// the statement.
///
/// TIMESTAMP values arrive as stored; [`Rows::zone`] localises them.
pub trait ResultSink {
    /// Called once, before the first row.
    fn begin(&mut self, columns: &[ResultColumn]) -> Result<()>;
    /// Rows. The call may wait for a slow client.
    fn rows(&mut self, rows: Rows<'_>) -> Result<()>;
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

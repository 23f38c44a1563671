//! Values of a stored row that go somewhere one by one: those of the commonest kinds as what they are, without a
//! [`ValueRef`] between, which is written in narrower pieces than it is read in.

use super::{Corrupt, Kind, SHORT, StoredRow, chunk, fixed, is_null};
use crate::collation::CollationId;
use crate::value::ValueRef;

/// Takes values one by one.
pub trait Taker {
    /// NULL.
    fn null(&mut self);
    /// An integer with a sign.
    fn int(&mut self, n: i64);
    /// A text, or bytes.
    fn text(&mut self, text: &[u8], collation: CollationId);
    /// A value of any kind.
    fn value(&mut self, value: ValueRef<'_>);
}

impl StoredRow<'_> {
    /// No value of the row takes more bytes.
    pub fn most_bytes(&self) -> usize {
        self.payload.len()
    }

    /// Tells the value of a column: what [`StoredRow::get`] gives. In case of an error nothing is told.
    #[inline]
    pub fn tell(&self, col: usize, to: &mut impl Taker) -> Result<(), Corrupt> {
        let StoredRow { layout, shape, wide, payload } = *self;
        let Some(column) = shape.columns.get(col) else { return Err(Corrupt::Column) };
        if is_null(column, payload)? {
            to.null();
            return Ok(());
        }
        match column.kind {
            Kind::Str => {
                let bytes = shape.variable(payload, wide, column.place as usize).ok_or(SHORT)?;
                to.text(bytes, column.collation);
            }
            Kind::I32 => {
                let bytes = payload.get(column.place as usize..).ok_or(SHORT)?;
                to.int(i64::from(i32::from_le_bytes(chunk(bytes)?)));
            }
            Kind::I64 => to.int(i64::from_le_bytes(chunk(payload.get(column.place as usize..).ok_or(SHORT)?)?)),
            Kind::Json => to.value(self.get(col)?),
            Kind::Absent => to.value(layout.default(col)?),
            _ => to.value(fixed(column, payload.get(column.place as usize..).ok_or(SHORT)?)?),
        }
        Ok(())
    }
}

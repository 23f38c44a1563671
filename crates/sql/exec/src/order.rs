//! The order of rows by sort keys.
//!
//! A row's first key makes eight bytes that decide most comparisons without a look at the row; equal ones compare value
//! by value.

use crate::{
    batch::{Batch, Column},
    context::Cx,
    long, vector,
};
use gannet_plan::expr::{ExprKind, SortKey};
use gannet_types::{CollationId, Decimal, Result, SqlType, TypeId, ValueRef, convert::compare::order};
use std::cmp::Ordering;

/// A batch with the columns it is sorted by.
pub(crate) struct Keyed {
    /// The rows.
    pub(crate) rows: Batch,
    /// One a key.
    keys: Vec<KeyColumn>,
}

enum KeyColumn {
    /// A column of the rows.
    Own(usize),
    Computed(Column),
}

/// What to sort by.
#[derive(Clone, Copy)]
pub(crate) struct RowOrder<'p> {
    keys: &'p [SortKey],
}

impl Keyed {
    pub(crate) fn key(&self, number: usize, row: usize) -> ValueRef<'_> {
        match &self.keys[number] {
            KeyColumn::Own(column) => self.rows.columns[*column].get(row),
            KeyColumn::Computed(column) => column.get(row),
        }
    }

    /// An empty batch of the same shape.
    fn empty_like(types: &[SqlType], keys: &[SortKey]) -> Keyed {
        let keys = keys.iter().map(|k| match own_column(k) {
            Some(column) => KeyColumn::Own(column),
            None => KeyColumn::Computed(Column::for_type(&k.expr.ty)),
        });
        Keyed { rows: Batch::for_types(types), keys: keys.collect() }
    }

    /// Appends row `row` of another one with the same keys.
    pub(crate) fn push(&mut self, other: &Keyed, row: usize) {
        self.rows.push_row(&other.rows, row);
        for (mine, theirs) in self.keys.iter_mut().zip(&other.keys) {
            if let (KeyColumn::Computed(mine), KeyColumn::Computed(theirs)) = (mine, theirs) {
                mine.push_from(theirs, row);
            }
        }
    }

    /// The rows with their computed keys as further columns: see [`RowOrder::keyed_again`].
    pub(crate) fn into_batch(self) -> Batch {
        let mut batch = self.rows;
        for key in self.keys {
            if let KeyColumn::Computed(column) = key {
                batch.columns.push(column);
            }
        }
        batch
    }

    /// Bytes held.
    pub(crate) fn memory_bytes(&self) -> usize {
        let computed = self.keys.iter().map(|k| match k {
            KeyColumn::Own(_) => 0,
            KeyColumn::Computed(column) => column.memory_bytes(),
        });
        self.rows.memory_bytes() + computed.sum::<usize>()
    }
}

/// The input column that a key is. Stored timestamps are localised first.
fn own_column(key: &SortKey) -> Option<usize> {
    match key.expr.kind {
        ExprKind::Column(n) if !matches!(key.expr.ty.id, TypeId::DateTime | TypeId::Timestamp) => Some(n as usize),
        _ => None,
    }
}

impl<'p> RowOrder<'p> {
    pub(crate) fn new(keys: &'p [SortKey]) -> Self {
        RowOrder { keys }
    }

    /// Computes the keys of a batch.
    pub(crate) fn keyed(self, rows: Batch, cx: &mut Cx<'_, 'p>) -> Result<Keyed> {
        let mut keys = Vec::with_capacity(self.keys.len());
        for key in self.keys {
            keys.push(match own_column(key) {
                Some(column) => KeyColumn::Own(column),
                None => KeyColumn::Computed(vector::eval(&key.expr, &rows, cx)?),
            });
        }
        Ok(Keyed { rows, keys })
    }

    /// A batch of `width` columns and the computed keys, as [`Keyed::into_batch`] made it. The keys stay among the
    /// columns.
    pub(crate) fn keyed_again(self, batch: Batch, width: usize) -> Keyed {
        let mut computed = width..;
        let place = |key| own_column(key).or_else(|| computed.next()).unwrap_or(width);
        let keys = self.keys.iter().map(place).map(KeyColumn::Own).collect();
        Keyed { rows: batch, keys }
    }

    /// The given rows of several batches as one.
    pub(crate) fn gather<'k>(self, types: &[SqlType], rows: impl Iterator<Item = (&'k Keyed, usize)>) -> Keyed {
        let mut out = Keyed::empty_like(types, self.keys);
        rows.for_each(|(batch, row)| out.push(batch, row));
        out
    }

    /// Eight bytes of a row's first key: where two rows' differ, they order the rows.
    pub(crate) fn prefix(self, batch: &Keyed, row: usize) -> u64 {
        let Some(key) = self.keys.first() else { return 0 };
        let prefix = value_prefix(batch.key(0, row), &key.expr.ty);
        if key.descending { !prefix } else { prefix }
    }

    /// Those of all rows.
    pub(crate) fn prefixes(self, batch: &Keyed) -> Vec<u64> {
        let Some(key) = self.keys.first() else { return vec![0; batch.rows.rows] };
        let column = match &batch.keys[0] {
            KeyColumn::Own(column) => &batch.rows.columns[*column],
            KeyColumn::Computed(column) => column,
        };
        let mut prefixes: Vec<u64> = match column {
            Column::Int(values, nulls) if nulls.none() => values.iter().map(|v| known(integer_bits(*v))).collect(),
            Column::Double(values, nulls) if nulls.none() => values.iter().map(|v| known(double_bits(*v))).collect(),
            Column::Text(texts) if texts.nulls.none() => {
                let collation = text_collation(texts.collation, &key.expr.ty).get();
                (0..batch.rows.rows).map(|row| known(collation.sort_prefix(texts.get(row)))).collect()
            }
            _ => (0..batch.rows.rows).map(|row| value_prefix(column.get(row), &key.expr.ty)).collect(),
        };
        if key.descending {
            prefixes.iter_mut().for_each(|prefix| *prefix = !*prefix);
        }
        prefixes
    }

    /// Order of two rows.
    pub(crate) fn compare(self, a: (&Keyed, usize), b: (&Keyed, usize)) -> Ordering {
        for (number, key) in self.keys.iter().enumerate() {
            let found = compare_values(a.0.key(number, a.1), b.0.key(number, b.1), &key.expr.ty);
            if found.is_ne() {
                return if key.descending { found.reverse() } else { found };
            }
        }
        Ordering::Equal
    }
}

/// Order of two values of a column: NULL first.
pub(crate) fn compare_values(a: ValueRef<'_>, b: ValueRef<'_>, ty: &SqlType) -> Ordering {
    // Digits that the type does not have make no order.
    if let (ValueRef::Decimal(x), ValueRef::Decimal(y)) = (a, b)
        && ty.id == TypeId::Decimal
        && x.scale().max(y.scale()) > ty.scale
        && let (Some(x), Some(y)) = (x.round(ty.scale), y.round(ty.scale))
    {
        return order(ValueRef::Decimal(x), ValueRef::Decimal(y), ty.collation);
    }
    let collation = match a {
        ValueRef::Str(_, own) => text_collation(own, ty),
        _ => ty.collation,
    };
    long::over(long::shorter(a, b), || order(a, b, collation))
}

fn text_collation(own: CollationId, ty: &SqlType) -> CollationId {
    if ty.id.is_string() && ty.collation.charset() == own.charset() { ty.collation } else { own }
}

/// 0 for NULL; else the top bit and 63 bits that order as [`compare_values`] does as far as they go. Kinds without such
/// bits have one prefix for all values.
fn value_prefix(value: ValueRef<'_>, ty: &SqlType) -> u64 {
    let bits = match value {
        ValueRef::Null => return 0,
        // Both kinds may be in one column.
        ValueRef::Int(v) => integer_bits(v),
        ValueRef::UInt(v) => (v >> 1) + (1 << 62),
        ValueRef::Double(v) => double_bits(v),
        ValueRef::Float(v) => double_bits(f64::from(v)),
        ValueRef::Date(v) => signed(v.to_datetime().packed()),
        ValueRef::DateTime(v, _) => signed(v.packed()),
        ValueRef::Timestamp(v, _) => signed(v.unix_micros()),
        ValueRef::Time(v, _) => signed(v.packed()),
        ValueRef::Decimal(v) if ty.id == TypeId::Decimal => decimal_bits(v, ty.scale),
        ValueRef::Str(text, own) => text_collation(own, ty).get().sort_prefix(text),
        _ => 0,
    };
    known(bits)
}

fn known(bits: u64) -> u64 {
    1 << 63 | bits >> 1
}

fn signed(v: i64) -> u64 {
    (v as u64) ^ (1 << 63)
}

fn integer_bits(v: i64) -> u64 {
    signed(v) >> 1
}

/// The digits without the point, at the scale of the type. What no such integer holds is beyond all that one does.
fn decimal_bits(v: Decimal, scale: u8) -> u64 {
    let beyond = if v.is_negative() { f64::NEG_INFINITY } else { f64::INFINITY };
    let rounded = if v.scale() > scale { v.round(scale) } else { Some(v) };
    let digits = rounded.and_then(|v| match scale - v.scale() {
        0 => v.to_i128(),
        missing => v.to_i128()?.checked_mul(10i128.checked_pow(u32::from(missing))?),
    });
    // Few digits are a double without a function of the compiler's.
    double_bits(digits.map_or(beyond, |digits| i64::try_from(digits).map_or_else(|_| digits as f64, |few| few as f64)))
}

fn double_bits(v: f64) -> u64 {
    let bits = (v + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_types::Value;

    #[test]
    fn prefixes_and_comparison_agree() {
        let integers = [
            Value::Null,
            Value::Int(i64::MIN),
            Value::Int(-1),
            Value::Int(0),
            Value::UInt(5),
            Value::Int(i64::MAX),
            Value::UInt(1 << 63),
            Value::UInt(u64::MAX),
        ];
        let doubles =
            [Value::Null, Value::Double(-1e300), Value::Double(-0.5), Value::Double(0.0), Value::Double(3.25)];
        let texts = ["", "\u{1}", "a", "ab", "abcdefghi", "abcdefghj", "b", "é", "zebra", "ж"].map(Value::text);
        let bytes = [b"".as_slice(), b"\0", b"\0\0", b"a", b"a\0", b"\xFF"].map(Value::bytes);
        let decimal = |text: &str| Value::Decimal(Decimal::parse(text.as_bytes()).value);
        let decimals = [
            Value::Null,
            decimal("-9e60"),
            decimal("-10.5"),
            decimal("-10.49"),
            decimal("-0.004"),
            decimal("0"),
            decimal("0.0"),
            decimal("0.0049"),
            decimal("0.01"),
            decimal("9007199254740993.1"),
            decimal("9007199254740993.11"),
            decimal("170141183460469231731687303715884105727"),
            decimal("9e60"),
        ];
        for (values, ty) in [
            (&integers[..], &SqlType::BIGINT),
            (&doubles[..], &SqlType::DOUBLE),
            (&texts[..], &SqlType::varchar(9, CollationId::DEFAULT)),
            // Padded with spaces, the empty text is behind a control character.
            (&texts[1..], &SqlType::varchar(9, CollationId::UTF8MB4_GENERAL_CI)),
            (&bytes[..], &SqlType::new(TypeId::Blob)),
            (&decimals[..], &SqlType::decimal(10, 2)),
        ] {
            for a in values {
                for b in values {
                    let by_prefix = value_prefix(a.as_ref(), ty).cmp(&value_prefix(b.as_ref(), ty));
                    let full = compare_values(a.as_ref(), b.as_ref(), ty);
                    assert!(by_prefix.is_eq() || by_prefix == full, "{a:?} {b:?} {ty:?}");
                }
            }
            assert!(values.is_sorted_by(|a, b| compare_values(a.as_ref(), b.as_ref(), ty).is_le()), "{ty:?}");
        }
    }
}

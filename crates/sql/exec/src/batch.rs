//! Batches of columns: what operators pass to each other.

use gannet_types::row::StoredRow;
use gannet_types::{CollationId, Result, SqlType, TypeId, Value, ValueRef};

/// Rows an operator aims for in one batch; the first batch of a scan is smaller.
pub const BATCH_ROWS: usize = 1024;
/// Bytes of texts and documents beyond which a batch gets no more rows: what a statement holds of rows of megabytes is
/// bounded.
pub const BATCH_BYTES: usize = 4 << 20;

/// Values of one column of a batch. Typed vectors where the executor has loops for them, [`Column::Values`] otherwise.
#[derive(Clone, Debug)]
pub enum Column {
    /// Signed integers.
    Int(Vec<i64>, Nulls),
    /// Unsigned integers.
    UInt(Vec<u64>, Nulls),
    /// Doubles.
    Double(Vec<f64>, Nulls),
    /// Strings of one collation.
    Text(TextColumn),
    /// Anything.
    Values(Vec<Value>),
    /// The same value in every row.
    Constant(Value, usize),
}

/// Which rows are NULL: empty while none is, else one flag a row.
#[derive(Clone, Debug, Default)]
pub struct Nulls(pub(crate) Vec<bool>);

impl Nulls {
    /// No NULLs.
    pub const NONE: Nulls = Nulls(Vec::new());

    /// True when no row is NULL.
    #[inline]
    pub fn none(&self) -> bool {
        self.0.is_empty()
    }

    /// True when row `i` is NULL.
    #[inline]
    pub fn get(&self, i: usize) -> bool {
        !self.0.is_empty() && self.0[i]
    }

    pub(crate) fn push(&mut self, null: bool, rows_before: usize) {
        if null && self.0.is_empty() {
            self.0.resize(rows_before, false);
        }
        if null || !self.0.is_empty() {
            self.0.push(null);
        }
    }

    fn gather(&self, rows: &[u32]) -> Nulls {
        if self.none() { Nulls::NONE } else { Nulls(rows.iter().map(|i| self.0[*i as usize]).collect()) }
    }
}

/// Strings back to back, with their ends.
#[derive(Clone, Debug)]
pub struct TextColumn {
    pub(crate) ends: Vec<u32>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) nulls: Nulls,
    pub(crate) collation: CollationId,
}

impl TextColumn {
    /// The text of row `i`; an empty one for NULL.
    #[inline]
    pub(crate) fn get(&self, i: usize) -> &[u8] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] as usize };
        &self.bytes[start..self.ends[i] as usize]
    }

    /// Bytes of each text.
    pub(crate) fn lengths(&self) -> Column {
        let mut before = 0;
        let length = |end: &u32| i64::from(*end - std::mem::replace(&mut before, *end));
        Column::Int(self.ends.iter().map(length).collect(), self.nulls.clone())
    }
}

impl Column {
    /// An empty column for values of a type.
    pub fn for_type(ty: &SqlType) -> Column {
        match ty.id {
            id if id.is_integer() && ty.unsigned => Column::UInt(Vec::new(), Nulls::NONE),
            id if id.is_integer() => Column::Int(Vec::new(), Nulls::NONE),
            TypeId::Double => Column::Double(Vec::new(), Nulls::NONE),
            id if id.is_string() => Column::Text(TextColumn {
                ends: Vec::new(),
                bytes: Vec::new(),
                nulls: Nulls::NONE,
                collation: ty.collation,
            }),
            _ => Column::Values(Vec::new()),
        }
    }

    /// An empty column that takes this one's values as they are.
    pub(crate) fn same_kind(&self) -> Column {
        match self {
            Column::Int(..) => Column::Int(Vec::new(), Nulls::NONE),
            Column::UInt(..) => Column::UInt(Vec::new(), Nulls::NONE),
            Column::Double(..) => Column::Double(Vec::new(), Nulls::NONE),
            Column::Text(t) => Column::Text(TextColumn {
                ends: Vec::new(),
                bytes: Vec::new(),
                nulls: Nulls::NONE,
                collation: t.collation,
            }),
            Column::Values(_) | Column::Constant(..) => Column::Values(Vec::new()),
        }
    }

    /// Gives DECIMALs the digits of their type ([`Value::settle`]).
    pub(crate) fn settle(&mut self, ty: &SqlType) {
        match self {
            Column::Values(values) => values.iter_mut().for_each(|v| v.settle(ty)),
            Column::Constant(value, _) => value.settle(ty),
            Column::Int(..) | Column::UInt(..) | Column::Double(..) | Column::Text(_) => {}
        }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Column::Int(v, _) => v.len(),
            Column::UInt(v, _) => v.len(),
            Column::Double(v, _) => v.len(),
            Column::Text(t) => t.ends.len(),
            Column::Values(v) => v.len(),
            Column::Constant(_, n) => *n,
        }
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of row `i`.
    #[inline]
    pub fn get(&self, i: usize) -> ValueRef<'_> {
        match self {
            Column::Int(v, nulls) if !nulls.get(i) => ValueRef::Int(v[i]),
            Column::UInt(v, nulls) if !nulls.get(i) => ValueRef::UInt(v[i]),
            Column::Double(v, nulls) if !nulls.get(i) => ValueRef::Double(v[i]),
            Column::Text(t) if !t.nulls.get(i) => ValueRef::Str(t.get(i), t.collation),
            Column::Values(v) => v[i].as_ref(),
            Column::Constant(v, _) => v.as_ref(),
            _ => ValueRef::Null,
        }
    }

    /// Appends a value. A value that the typed vector cannot hold turns the column into one of plain values.
    #[inline]
    pub fn push(&mut self, value: ValueRef<'_>) {
        match (&mut *self, value) {
            (Column::Int(v, nulls), ValueRef::Int(x)) => {
                nulls.push(false, v.len());
                v.push(x);
            }
            (Column::Int(v, nulls), ValueRef::Null) => {
                nulls.push(true, v.len());
                v.push(0);
            }
            (Column::UInt(v, nulls), ValueRef::UInt(x)) => {
                nulls.push(false, v.len());
                v.push(x);
            }
            (Column::UInt(v, nulls), ValueRef::Null) => {
                nulls.push(true, v.len());
                v.push(0);
            }
            (Column::Double(v, nulls), ValueRef::Double(x)) => {
                nulls.push(false, v.len());
                v.push(x);
            }
            (Column::Double(v, nulls), ValueRef::Null) => {
                nulls.push(true, v.len());
                v.push(0.0);
            }
            (Column::Text(t), ValueRef::Str(bytes, collation))
                if collation == t.collation && t.bytes.len() + bytes.len() <= u32::MAX as usize =>
            {
                t.nulls.push(false, t.ends.len());
                t.bytes.extend_from_slice(bytes);
                t.ends.push(t.bytes.len() as u32);
            }
            (Column::Text(t), ValueRef::Null) => {
                t.nulls.push(true, t.ends.len());
                t.ends.push(t.bytes.len() as u32);
            }
            // Most of what has no vector of its own, without a call.
            (Column::Values(v), ValueRef::Decimal(x)) => v.push(Value::Decimal(x)),
            (Column::Values(v), ValueRef::Date(x)) => v.push(Value::Date(x)),
            (Column::Values(v), ValueRef::DateTime(x, digits)) => v.push(Value::DateTime(x, digits)),
            (Column::Values(v), value) => v.push(value.to_owned()),
            (_, value) => {
                self.generalise();
                self.push(value);
            }
        }
    }

    /// Appends the value of a stored row's column.
    #[inline(always)]
    pub(crate) fn push_stored(&mut self, row: &StoredRow<'_>, ordinal: usize) -> Result<()> {
        match self {
            Column::Values(v) => row.append(ordinal, v)?,
            _ => self.push(row.get(ordinal)?),
        }
        Ok(())
    }

    /// Appends an owned value.
    pub fn push_value(&mut self, value: Value) {
        match self {
            Column::Values(v) => v.push(value),
            _ => self.push(value.as_ref()),
        }
    }

    fn generalise(&mut self) {
        let values = (0..self.len()).map(|i| self.get(i).to_owned()).collect();
        *self = Column::Values(values);
    }

    /// Makes room for so many rows more.
    pub(crate) fn reserve(&mut self, rows: usize) {
        match self {
            Column::Int(v, _) => v.reserve(rows),
            Column::UInt(v, _) => v.reserve(rows),
            Column::Double(v, _) => v.reserve(rows),
            Column::Text(t) => t.ends.reserve(rows),
            Column::Values(v) => v.reserve(rows),
            Column::Constant(..) => {}
        }
    }

    /// Appends row `i` of another column.
    #[inline]
    pub fn push_from(&mut self, other: &Column, i: usize) {
        self.push(other.get(i));
    }

    /// The given rows, in the given order.
    pub fn gather(&self, rows: &[u32]) -> Column {
        match self {
            Column::Int(v, nulls) => Column::Int(rows.iter().map(|i| v[*i as usize]).collect(), nulls.gather(rows)),
            Column::UInt(v, nulls) => Column::UInt(rows.iter().map(|i| v[*i as usize]).collect(), nulls.gather(rows)),
            Column::Double(v, nulls) => {
                Column::Double(rows.iter().map(|i| v[*i as usize]).collect(), nulls.gather(rows))
            }
            Column::Text(t) => {
                let mut out = TextColumn {
                    ends: Vec::with_capacity(rows.len()),
                    bytes: Vec::new(),
                    nulls: t.nulls.gather(rows),
                    collation: t.collation,
                };
                for i in rows {
                    out.bytes.extend_from_slice(t.get(*i as usize));
                    out.ends.push(out.bytes.len() as u32);
                }
                Column::Text(out)
            }
            Column::Values(v) => Column::Values(rows.iter().map(|i| v[*i as usize].clone()).collect()),
            Column::Constant(v, _) => Column::Constant(v.clone(), rows.len()),
        }
    }

    /// The rows from one number to another.
    pub(crate) fn range(&self, from: usize, to: usize) -> Column {
        let nulls = |nulls: &Nulls| if nulls.none() { Nulls::NONE } else { Nulls(nulls.0[from..to].to_vec()) };
        match self {
            Column::Int(v, n) => Column::Int(v[from..to].to_vec(), nulls(n)),
            Column::UInt(v, n) => Column::UInt(v[from..to].to_vec(), nulls(n)),
            Column::Double(v, n) => Column::Double(v[from..to].to_vec(), nulls(n)),
            Column::Text(t) => {
                let start = if from == 0 { 0 } else { t.ends[from - 1] };
                let end = if to == 0 { 0 } else { t.ends[to - 1] };
                Column::Text(TextColumn {
                    ends: t.ends[from..to].iter().map(|end| end - start).collect(),
                    bytes: t.bytes[start as usize..end as usize].to_vec(),
                    nulls: nulls(&t.nulls),
                    collation: t.collation,
                })
            }
            Column::Values(v) => Column::Values(v[from..to].to_vec()),
            Column::Constant(v, _) => Column::Constant(v.clone(), to - from),
        }
    }

    /// Bytes of its texts and documents, as far as it takes to say whether they are more than `bound`. The last of
    /// mixed values speaks for all, until it would be too much: then they are added up.
    pub(crate) fn long_bytes(&self, bound: usize) -> usize {
        match self {
            Column::Int(..) | Column::UInt(..) | Column::Double(..) => 0,
            Column::Text(t) => t.bytes.len(),
            Column::Constant(v, _) => v.long_bytes(),
            Column::Values(v) => {
                let guess = v.last().map_or(0, Value::long_bytes) * v.len();
                if guess > bound { v.iter().map(Value::long_bytes).sum() } else { guess }
            }
        }
    }

    /// Bytes held, for memory bounds.
    pub fn memory_bytes(&self) -> usize {
        match self {
            Column::Int(v, _) => v.len() * 9,
            Column::UInt(v, _) => v.len() * 9,
            Column::Double(v, _) => v.len() * 9,
            Column::Text(t) => t.bytes.len() + t.ends.len() * 5,
            Column::Values(v) => v.iter().map(value_bytes).sum(),
            Column::Constant(v, _) => value_bytes(v),
        }
    }
}

/// Bytes a value holds, its own size included.
pub fn value_bytes(value: &Value) -> usize {
    let behind = match value {
        Value::Str(text, _) | Value::Json(text) if text.len() > 30 => text.len() + 16,
        _ => 0,
    };
    size_of::<Value>() + behind
}

/// Some rows, column by column. A batch without columns still has rows (`SELECT COUNT(*)`).
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Number of rows.
    pub rows: usize,
    /// Columns, each of `rows` values.
    pub columns: Vec<Column>,
}

impl Batch {
    /// No rows yet, columns for the given types.
    pub fn for_types(types: &[SqlType]) -> Batch {
        Batch { rows: 0, columns: types.iter().map(Column::for_type).collect() }
    }

    /// No rows yet, columns for the given types, in the memory of one that was given back, if there is one.
    pub(crate) fn fresh(spare: &mut Option<Batch>, types: &[SqlType]) -> Batch {
        match spare.take() {
            Some(spare) => spare.again(types),
            None => Batch::for_types(types),
        }
    }

    /// No rows yet, columns for the given types, in the memory of a batch that was made for them.
    pub(crate) fn again(mut self, types: &[SqlType]) -> Batch {
        self.rows = 0;
        for (column, ty) in self.columns.iter_mut().zip(types) {
            let fresh = Column::for_type(ty);
            match (&mut *column, &fresh) {
                (Column::Int(v, nulls), Column::Int(..)) => {
                    v.clear();
                    nulls.0.clear();
                }
                (Column::UInt(v, nulls), Column::UInt(..)) => {
                    v.clear();
                    nulls.0.clear();
                }
                (Column::Double(v, nulls), Column::Double(..)) => {
                    v.clear();
                    nulls.0.clear();
                }
                (Column::Text(t), Column::Text(new)) if t.collation == new.collation => {
                    t.ends.clear();
                    t.bytes.clear();
                    t.nulls.0.clear();
                }
                (Column::Values(v), Column::Values(_)) => v.clear(),
                _ => *column = fresh,
            }
        }
        self
    }

    /// One row without columns: the input of a SELECT without FROM.
    pub fn one_empty_row() -> Batch {
        Batch { rows: 1, columns: Vec::new() }
    }

    /// Appends row `i` of another batch with the same columns.
    pub fn push_row(&mut self, other: &Batch, i: usize) {
        for (mine, theirs) in self.columns.iter_mut().zip(&other.columns) {
            mine.push_from(theirs, i);
        }
        self.rows += 1;
    }

    /// True when the rows of `next` are few enough to be appended one by one instead of being kept as a batch of their
    /// own.
    pub(crate) fn has_room_for(&self, next: &Batch) -> bool {
        const FEW: usize = 8;
        next.rows <= FEW && self.rows + next.rows <= BATCH_ROWS
    }

    /// True with so many rows, or with [`BATCH_BYTES`]: it gets no more.
    pub(crate) fn is_full(&self, rows: usize) -> bool {
        self.rows >= rows || self.columns.iter().map(|c| c.long_bytes(BATCH_BYTES)).sum::<usize>() > BATCH_BYTES
    }

    /// Appends a row of values.
    pub fn push_values(&mut self, values: &[Value]) {
        for (column, value) in self.columns.iter_mut().zip(values) {
            column.push(value.as_ref());
        }
        self.rows += 1;
    }

    /// Keeps the given rows.
    pub fn gather(&self, rows: &[u32]) -> Batch {
        Batch { rows: rows.len(), columns: self.columns.iter().map(|c| c.gather(rows)).collect() }
    }

    /// The given range of rows.
    pub fn slice(&self, from: usize, to: usize) -> Batch {
        Batch { rows: to - from, columns: self.columns.iter().map(|c| c.range(from, to)).collect() }
    }

    /// The row as owned values.
    pub fn row_values(&self, i: usize) -> Vec<Value> {
        self.columns.iter().map(|c| c.get(i).to_owned()).collect()
    }

    /// Bytes held, for memory bounds.
    pub fn memory_bytes(&self) -> usize {
        self.columns.iter().map(Column::memory_bytes).sum::<usize>() + 64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_takes_nulls_at_any_place() {
        let mut column = Column::for_type(&SqlType::BIGINT);
        for value in [ValueRef::Int(1), ValueRef::Null, ValueRef::Int(3)] {
            column.push(value);
        }
        assert!(matches!(column, Column::Int(..)));
        let picked = column.gather(&[2, 1]);
        assert_eq!([picked.get(0), picked.get(1)], [ValueRef::Int(3), ValueRef::Null]);
    }

    #[test]
    fn a_value_of_another_type_generalises_the_column() {
        let mut column = Column::for_type(&SqlType::BIGINT);
        column.push(ValueRef::Null);
        column.push(ValueRef::Int(7));
        column.push(ValueRef::UInt(u64::MAX));
        assert_eq!(
            [column.get(0), column.get(1), column.get(2)],
            [ValueRef::Null, ValueRef::Int(7), ValueRef::UInt(u64::MAX)]
        );
    }

    #[test]
    fn strings_keep_their_bounds() {
        let mut column = Column::for_type(&SqlType::new(TypeId::Blob));
        for text in [&b"ab"[..], b"", b"cde"] {
            column.push(ValueRef::Str(text, CollationId::BINARY));
        }
        let picked = column.gather(&[2, 0, 1]);
        let text = |i| match picked.get(i) {
            ValueRef::Str(s, _) => s.to_vec(),
            other => panic!("{other:?}"),
        };
        assert_eq!([text(0), text(1), text(2)], [b"cde".to_vec(), b"ab".to_vec(), b"".to_vec()]);
    }
}

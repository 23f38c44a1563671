//! Histograms: how the values of a column are spread, for conditions that no index serves.
//!
//! Bounds of buckets are keys ([`gannet_types::key`]) of the column's values, so a histogram compares with `memcmp`,
//! and a condition becomes ranges of keys by the same code that an index's conditions go through. What SQL shows of a
//! histogram (`information_schema.COLUMN_STATISTICS`) is the JSON text kept beside them.

use crate::column::Column;
use gannet_base::{DecodeError, Reader, Writer};
use gannet_types::key::{self, KeyPart};
use gannet_types::{CollationId, SqlType, TypeId, ValueRef};

/// One end of a range of keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyCut<'a> {
    /// Before all values.
    Start,
    /// Before the first key that is `>=` these bytes.
    Before(&'a [u8]),
    /// After the last key that begins with these bytes.
    After(&'a [u8]),
    /// After all values.
    End,
}

/// How the values of one column are spread.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// The column's name.
    pub column: Box<str>,
    /// Its type when the histogram was made.
    pub shape: Shape,
    /// Share of NULLs.
    pub nulls: f64,
    /// By value, ascending; of each value or range of values.
    pub buckets: Box<[Bucket]>,
    /// As `information_schema.COLUMN_STATISTICS` shows it.
    pub json: Box<str>,
    /// Buckets asked for.
    pub wanted: u32,
    /// Made anew by every ANALYZE TABLE.
    pub automatic: bool,
}

/// What of a column's type its keys depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    id: TypeId,
    unsigned: bool,
    scale: u8,
    collation: CollationId,
}

/// Some of a column's values.
#[derive(Clone, Debug, PartialEq)]
pub struct Bucket {
    /// Key of the least value.
    pub low: Box<[u8]>,
    /// Key of the greatest.
    pub high: Box<[u8]>,
    /// Share of the table's rows in this bucket and those before.
    pub cumulative: f64,
    /// Distinct values in it.
    pub distinct: f64,
}

impl Shape {
    /// Of a type.
    pub fn of(ty: &SqlType) -> Shape {
        Shape { id: ty.id, unsigned: ty.unsigned, scale: ty.scale, collation: ty.collation }
    }
}

/// The key part whose keys a column's histogram has.
pub fn key_part(ty: &SqlType) -> KeyPart {
    KeyPart { ty: ty.clone(), prefix: None, descending: false }
}

impl Histogram {
    /// The column is still the one that was looked at.
    pub fn fits(&self, column: &Column) -> bool {
        *self.column == *column.name && self.shape == Shape::of(&column.ty)
    }

    /// Share of the table's rows whose values lie in a range of keys of `ty`, the column's type.
    pub fn share(&self, ty: &SqlType, low: KeyCut<'_>, high: KeyCut<'_>) -> f64 {
        let mut null = Vec::new();
        let nulls = match ty.nullable && key::encode(&key_part(ty), ValueRef::Null, &mut null).is_ok() {
            true if !lies_before(&null, low) && lies_before(&null, high) => self.nulls,
            _ => 0.0,
        };
        let values = match (low, high) {
            (KeyCut::Before(a), KeyCut::After(b)) if a == b => self.equal(a),
            _ => self.before(high) - self.before(low),
        };
        (nulls + values).clamp(0.0, 1.0)
    }

    /// Distinct values.
    pub fn distinct(&self) -> f64 {
        self.buckets.iter().map(|b| b.distinct).sum::<f64>().max(1.0)
    }

    /// Share of rows with one value.
    fn equal(&self, key: &[u8]) -> f64 {
        let at = self.buckets.partition_point(|b| *b.high < *key);
        match self.buckets.get(at) {
            Some(b) if *b.low <= *key => (b.cumulative - self.up_to(at)) / b.distinct.max(1.0),
            _ => 0.0,
        }
    }

    fn up_to(&self, bucket: usize) -> f64 {
        bucket.checked_sub(1).and_then(|i| self.buckets.get(i)).map_or(0.0, |b| b.cumulative)
    }

    /// Share of rows with values before a cut.
    fn before(&self, cut: KeyCut<'_>) -> f64 {
        let at = self.buckets.partition_point(|b| lies_before(&b.high, cut));
        let whole = self.up_to(at);
        let (Some(b), KeyCut::Before(key) | KeyCut::After(key)) = (self.buckets.get(at), cut) else { return whole };
        if !lies_before(&b.low, cut) || b.low == b.high {
            return whole;
        }
        whole + (b.cumulative - whole) * place(&b.low, &b.high, key)
    }
}

/// The key lies before the cut.
fn lies_before(key: &[u8], cut: KeyCut<'_>) -> bool {
    match cut {
        KeyCut::Start => false,
        KeyCut::Before(k) => key < k,
        KeyCut::After(k) => key <= k || key.starts_with(k),
        KeyCut::End => true,
    }
}

/// How far between two keys a third lies, taking the eight bytes behind their common prefix for a number.
fn place(low: &[u8], high: &[u8], key: &[u8]) -> f64 {
    let common = low.iter().zip(high).take_while(|(a, b)| a == b).count();
    let number = |key: &[u8]| {
        let mut bytes = [0u8; 8];
        for (to, from) in bytes.iter_mut().zip(key.get(common..).unwrap_or_default()) {
            *to = *from;
        }
        u64::from_be_bytes(bytes) as f64
    };
    let (low, high, at) = (number(low), number(high), number(key));
    if high > low { ((at - low) / (high - low)).clamp(0.0, 1.0) } else { 0.5 }
}

/// Format of a histogram's row in the dictionary.
const VERSION: u8 = 1;
const MAX_BUCKETS: usize = 1024;
const MAX_JSON: usize = 16 << 20;
const MAX_KEY: usize = 1 << 20;

impl Histogram {
    /// Appends the stored form: version, column, type, wanted buckets, automatic, NULLs, buckets, JSON.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut w = Writer::new(out);
        w.u8(VERSION).prefixed(self.column.as_bytes());
        w.u8(self.shape.id as u8).u8(self.shape.unsigned.into()).u8(self.shape.scale).u16(self.shape.collation.0);
        w.varint(self.wanted.into()).u8(self.automatic.into()).u64(self.nulls.to_bits());
        w.varint(self.buckets.len() as u64);
        for b in &self.buckets {
            w.prefixed(&b.low).prefixed(&b.high).u64(b.cumulative.to_bits()).u64(b.distinct.to_bits());
        }
        w.prefixed(self.json.as_bytes());
    }

    /// From the stored form.
    pub fn decode(bytes: &[u8]) -> Result<Histogram, DecodeError> {
        let mut r = Reader::new(bytes);
        if r.u8()? != VERSION {
            return Err(r.invalid("version of a histogram"));
        }
        let column = r.prefixed_str(1024)?.into();
        let id = r.u8()?;
        let id = TypeId::from_u8(id).ok_or_else(|| r.invalid("type of a histogram"))?;
        let shape = Shape { id, unsigned: r.u8()? != 0, scale: r.u8()?, collation: CollationId(r.u16()?) };
        let wanted = r.varint()?.min(MAX_BUCKETS as u64) as u32;
        let automatic = r.u8()? != 0;
        let share = |r: &mut Reader<'_>| -> Result<f64, DecodeError> {
            let v = f64::from_bits(r.u64()?);
            if v.is_finite() && v >= 0.0 { Ok(v) } else { Err(r.invalid("number in a histogram")) }
        };
        let nulls = share(&mut r)?;
        let count = r.varint()?;
        if count > MAX_BUCKETS as u64 {
            return Err(r.invalid("buckets of a histogram"));
        }
        let mut buckets = Vec::new();
        for _ in 0..count {
            let (low, high) = (r.prefixed(MAX_KEY)?.into(), r.prefixed(MAX_KEY)?.into());
            buckets.push(Bucket { low, high, cumulative: share(&mut r)?, distinct: share(&mut r)? });
        }
        let json = r.prefixed_str(MAX_JSON)?.into();
        r.finish()?;
        Ok(Histogram { column, shape, nulls, buckets: buckets.into(), json, wanted, automatic })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(v: i64) -> Vec<u8> {
        let mut out = Vec::new();
        key::encode(&key_part(&SqlType::BIGINT), ValueRef::Int(v), &mut out).unwrap();
        out
    }

    fn histogram(buckets: &[(i64, i64, f64, f64)]) -> Histogram {
        let bucket = |&(low, high, cumulative, distinct): &(i64, i64, f64, f64)| Bucket {
            low: key(low).into(),
            high: key(high).into(),
            cumulative,
            distinct,
        };
        Histogram {
            column: "c".into(),
            shape: Shape::of(&SqlType::BIGINT),
            nulls: 0.1,
            buckets: buckets.iter().map(bucket).collect(),
            json: "{}".into(),
            wanted: 100,
            automatic: true,
        }
    }

    #[test]
    fn shares_of_single_values_and_ranges() {
        let h = histogram(&[(1, 1, 0.5, 1.0), (2, 2, 0.8, 1.0), (9, 9, 0.9, 1.0)]);
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-3, "{a} {b}");
        let of = |low: KeyCut<'_>, high: KeyCut<'_>| h.share(&SqlType::BIGINT, low, high);
        near(of(KeyCut::Before(&key(2)), KeyCut::After(&key(2))), 0.3);
        near(of(KeyCut::Before(&key(3)), KeyCut::After(&key(3))), 0.0);
        near(of(KeyCut::Before(&key(2)), KeyCut::After(&key(100))), 0.4);
        near(of(KeyCut::After(&key(2)), KeyCut::After(&key(8))), 0.0);
        near(of(KeyCut::Before(&key(-5)), KeyCut::Before(&key(2))), 0.5);
        near(of(KeyCut::Start, KeyCut::End), 1.0);
    }

    #[test]
    fn wide_buckets_are_taken_as_even() {
        let h = histogram(&[(0, 999, 0.45, 1000.0), (1000, 1999, 0.9, 500.0)]);
        let near = |a: f64, b: f64| assert!((a - b).abs() < 2e-3, "{a} {b}");
        let of = |low: KeyCut<'_>, high: KeyCut<'_>| h.share(&SqlType::BIGINT, low, high);
        near(of(KeyCut::Before(&key(500)), KeyCut::After(&key(1499))), 0.45);
        near(of(KeyCut::Before(&key(7)), KeyCut::After(&key(7))), 0.00045);
        near(of(KeyCut::Before(&key(1007)), KeyCut::After(&key(1007))), 0.0009);
    }

    #[test]
    fn stored_form_comes_back_and_damage_is_an_error() {
        let h = histogram(&[(1, 5, 0.5, 3.0), (6, 7, 0.9, 2.0)]);
        let mut bytes = Vec::new();
        h.encode(&mut bytes);
        assert_eq!(Histogram::decode(&bytes).unwrap(), h);
        for cut in 0..bytes.len() {
            assert!(matches!(Histogram::decode(&bytes[..cut]), Err(DecodeError::Short { .. })), "cut at {cut}");
        }
    }
}

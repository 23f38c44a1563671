//! From symbolic access conditions to byte ranges, when a scan opens.
//!
//! A condition compares a column with a value in some domain; the index orders the column's own values. [`locate`] finds where
//! the value lies among them: on one, between two, beyond all. When it cannot tell (text that is no date, a zone's gap), the
//! range is made wide instead of wrong; the planner keeps the condition as a filter wherever that can happen
//! (see [`is_total`]).

use crate::expr::{Comparison, Expr};
use crate::physical::{Access, Interval, IntervalBound, KeyValue, Ranges};
use gannet_catalog::Table;
use gannet_types::collation::{LikePattern, Pad};
use gannet_types::convert::{Context, to_datetime, to_decimal, to_f64, to_integer, to_text, to_time};
use gannet_types::key::{self, KeyPart};
use gannet_types::temporal::DateFlags;
use gannet_types::{
    Date, Decimal, Result, SqlError, SqlMode, SqlType, TimeZone, Timestamp, TypeId, Value, ValueRef, Warnings,
};

/// One end of a range of keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit<'a> {
    /// The tree's end.
    Open,
    /// Before the first key that is `>=` these bytes.
    Before(&'a [u8]),
    /// After the last key that begins with these bytes.
    After(&'a [u8]),
}

/// Encoded ranges: sorted, disjoint. Keeps its allocations from use to use.
#[derive(Default, Debug, Clone)]
pub struct Bounds {
    bytes: Vec<u8>,
    ranges: Vec<(End, End)>,
    prefix: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Open,
    Before(usize, usize),
    After(usize, usize),
}

impl Bounds {
    /// Number of ranges; none: nothing can match.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Nothing can match.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Range `n` in key order.
    pub fn get(&self, n: usize) -> (Limit<'_>, Limit<'_>) {
        let (low, high) = self.ranges[n];
        (self.limit(low), self.limit(high))
    }

    fn limit(&self, end: End) -> Limit<'_> {
        match end {
            End::Open => Limit::Open,
            End::Before(from, to) => Limit::Before(&self.bytes[from..to]),
            End::After(from, to) => Limit::After(&self.bytes[from..to]),
        }
    }

    /// No ranges.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ranges.clear();
        self.prefix.clear();
    }

    fn before(&mut self, key: &[u8]) -> End {
        let from = self.bytes.len();
        self.bytes.extend_from_slice(key);
        if key.is_empty() { End::Open } else { End::Before(from, self.bytes.len()) }
    }

    fn after(&mut self, key: &[u8]) -> End {
        let from = self.bytes.len();
        self.bytes.extend_from_slice(key);
        if key.is_empty() { End::Open } else { End::After(from, self.bytes.len()) }
    }

    /// All keys that begin with the prefix under construction.
    fn push_prefix(&mut self) {
        let prefix = std::mem::take(&mut self.prefix);
        let (low, high) = (self.before(&prefix), self.after(&prefix));
        self.ranges.push((low, high));
        self.prefix = prefix;
    }

    /// Sorts the ranges, drops empty ones and merges those that overlap.
    fn normalise(&mut self) {
        if self.ranges.len() < 2 {
            let bytes = &self.bytes;
            self.ranges.retain(|(low, high)| !is_empty(bytes, *low, *high));
            return;
        }
        let bytes = std::mem::take(&mut self.bytes);
        self.ranges.retain(|(low, high)| !is_empty(&bytes, *low, *high));
        self.ranges.sort_by(|a, b| compare_low(&bytes, a.0, b.0));
        let mut merged: Vec<(End, End)> = Vec::with_capacity(self.ranges.len());
        for (low, high) in self.ranges.drain(..) {
            match merged.last_mut() {
                Some(last) if !is_before(&bytes, last.1, low) => {
                    if compare_high(&bytes, last.1, high).is_lt() {
                        last.1 = high;
                    }
                }
                _ => merged.push((low, high)),
            }
        }
        self.ranges = merged;
        self.bytes = bytes;
    }
}

fn key_of(bytes: &[u8], end: End) -> &[u8] {
    match end {
        End::Open => &[],
        End::Before(from, to) | End::After(from, to) => &bytes[from..to],
    }
}

/// Orders cut places. `After(k)` lies behind every key that begins with `k`.
fn compare_cut(bytes: &[u8], a: End, b: End) -> std::cmp::Ordering {
    use std::cmp::Ordering::*;
    let (x, y) = (key_of(bytes, a), key_of(bytes, b));
    let after = |e: End| matches!(e, End::After(..));
    if x == y {
        return after(a).cmp(&after(b));
    }
    if y.starts_with(x) {
        return if after(a) { Greater } else { Less };
    }
    if x.starts_with(y) {
        return if after(b) { Less } else { Greater };
    }
    x.cmp(y)
}

fn compare_low(bytes: &[u8], a: End, b: End) -> std::cmp::Ordering {
    match (a, b) {
        (End::Open, End::Open) => std::cmp::Ordering::Equal,
        (End::Open, _) => std::cmp::Ordering::Less,
        (_, End::Open) => std::cmp::Ordering::Greater,
        _ => compare_cut(bytes, a, b),
    }
}

fn compare_high(bytes: &[u8], a: End, b: End) -> std::cmp::Ordering {
    match (a, b) {
        (End::Open, End::Open) => std::cmp::Ordering::Equal,
        (End::Open, _) => std::cmp::Ordering::Greater,
        (_, End::Open) => std::cmp::Ordering::Less,
        _ => compare_cut(bytes, a, b),
    }
}

/// The high end lies before the low end, so that the ranges do not touch.
fn is_before(bytes: &[u8], high: End, low: End) -> bool {
    !matches!(high, End::Open) && !matches!(low, End::Open) && compare_cut(bytes, high, low).is_lt()
}

fn is_empty(bytes: &[u8], low: End, high: End) -> bool {
    !matches!(low, End::Open) && !matches!(high, End::Open) && !compare_cut(bytes, low, high).is_lt()
}

/// Encodes the ranges of an access. `index` is the position walked (`None`: the clustered tree of a table with hidden row ids, which
/// has full scans only). `eval` computes key expressions over parameters and registers.
pub fn encode_access<'p>(
    table: &Table,
    index: Option<usize>,
    access: &'p Access,
    zone: &TimeZone,
    eval: &mut impl FnMut(&'p Expr) -> Result<Value>,
    bounds: &mut Bounds,
) -> Result<()> {
    bounds.clear();
    let parts = index.map(|i| table.key_parts(i)).unwrap_or_default();
    let mut encoder = Encoder { parts, zone, bounds };
    match access {
        Access::Full | Access::Virtual { .. } => encoder.bounds.ranges.push((End::Open, End::Open)),
        Access::Point { key } | Access::Ref { key } => encoder.equal(key, eval)?,
        Access::Ranges { ranges } => encoder.ranges(ranges, eval)?,
        Access::Merge { .. } | Access::Skip(_) => {
            return Err(SqlError::internal("a scan of several ranges encoded as one"));
        }
    }
    bounds.normalise();
    Ok(())
}

/// As [`encode_access`], for ranges of an index.
pub fn encode_ranges<'p>(
    table: &Table,
    index: usize,
    ranges: &'p Ranges,
    zone: &TimeZone,
    eval: &mut impl FnMut(&'p Expr) -> Result<Value>,
    bounds: &mut Bounds,
) -> Result<()> {
    encode_ranges_behind(table, index, 0, ranges, zone, eval, bounds)
}

/// As [`encode_ranges`], of the columns of the index behind the first `skipped`.
pub fn encode_ranges_behind<'p>(
    table: &Table,
    index: usize,
    skipped: usize,
    ranges: &'p Ranges,
    zone: &TimeZone,
    eval: &mut impl FnMut(&'p Expr) -> Result<Value>,
    bounds: &mut Bounds,
) -> Result<()> {
    bounds.clear();
    let mut encoder = Encoder { parts: &table.key_parts(index)[skipped..], zone, bounds };
    encoder.ranges(ranges, eval)?;
    bounds.normalise();
    Ok(())
}

/// As [`encode_ranges`], for the values of one column.
pub(crate) fn encode_values<'p>(
    part: &KeyPart,
    ranges: &'p Ranges,
    zone: &TimeZone,
    eval: &mut impl FnMut(&'p Expr) -> Result<Value>,
    bounds: &mut Bounds,
) -> Result<()> {
    bounds.clear();
    let mut encoder = Encoder { parts: std::slice::from_ref(part), zone, bounds };
    encoder.ranges(ranges, eval)?;
    bounds.normalise();
    Ok(())
}

/// The key of a point: the encoded bytes, or false when nothing can match (or the value cannot be placed; only for keys that
/// are [`is_total`]).
pub fn encode_point<'p>(
    parts: &[KeyPart],
    key: &'p [KeyValue],
    zone: &TimeZone,
    mut eval: impl FnMut(&'p Expr) -> Result<Value>,
    out: &mut Vec<u8>,
) -> Result<bool> {
    out.clear();
    for (part, value) in parts.iter().zip(key) {
        let v = eval(&value.value)?;
        if let Some(exact) = fast_exact(part, &v) {
            key::encode(part, exact, out)?;
            continue;
        }
        match locate(&part.ty, value.by, v.as_ref(), zone)? {
            Located::Exact(v) => key::encode(part, v.as_ref(), out)?,
            Located::Null if value.null_safe && part.ty.nullable => key::encode(part, ValueRef::Null, out)?,
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// The common case without a detour: an integer in range, text in the column's collation.
#[inline]
fn fast_exact<'v>(part: &KeyPart, value: &'v Value) -> Option<ValueRef<'v>> {
    match (part.ty.id, value) {
        (TypeId::Int, Value::Int(v)) if !part.ty.unsigned && i32::try_from(*v).is_ok() => Some(ValueRef::Int(*v)),
        (TypeId::BigInt, Value::Int(v)) if !part.ty.unsigned => Some(ValueRef::Int(*v)),
        (id, Value::Str(_, c)) if id.is_string() && *c == part.ty.collation => Some(value.as_ref()),
        _ => None,
    }
}

struct Encoder<'a> {
    parts: &'a [KeyPart],
    zone: &'a TimeZone,
    bounds: &'a mut Bounds,
}

impl Encoder<'_> {
    fn equal<'p>(&mut self, key: &'p [KeyValue], eval: &mut impl FnMut(&'p Expr) -> Result<Value>) -> Result<()> {
        for (part, value) in self.parts.iter().zip(key) {
            match self.append(part, value, eval)? {
                Appended::Yes => {}
                Appended::NoMatch => return Ok(()),
                Appended::Unknown => break,
            }
        }
        self.bounds.push_prefix();
        Ok(())
    }

    /// Appends one equality to the prefix.
    fn append<'p>(
        &mut self,
        part: &KeyPart,
        value: &'p KeyValue,
        eval: &mut impl FnMut(&'p Expr) -> Result<Value>,
    ) -> Result<Appended> {
        let v = eval(&value.value)?;
        self.append_value(part, value, &v)
    }

    fn append_value(&mut self, part: &KeyPart, key: &KeyValue, v: &Value) -> Result<Appended> {
        if let Some(exact) = fast_exact(part, v) {
            key::encode(part, exact, &mut self.bounds.prefix)?;
            return Ok(Appended::Yes);
        }
        match locate(&part.ty, key.by, v.as_ref(), self.zone)? {
            Located::Exact(v) => key::encode(part, v.as_ref(), &mut self.bounds.prefix)?,
            Located::Null if key.null_safe && part.ty.nullable => {
                key::encode(part, ValueRef::Null, &mut self.bounds.prefix)?;
            }
            Located::Unknown => return Ok(Appended::Unknown),
            _ => return Ok(Appended::NoMatch),
        }
        Ok(Appended::Yes)
    }

    fn ranges<'p>(&mut self, ranges: &'p Ranges, eval: &mut impl FnMut(&'p Expr) -> Result<Value>) -> Result<()> {
        match ranges {
            Ranges::Union(all) => all.iter().try_for_each(|r| self.ranges(r, eval)),
            Ranges::Product { parts, last } => {
                let mut values = Vec::with_capacity(parts.len());
                for alternatives in parts {
                    values.push(alternatives.iter().map(|k| eval(&k.value)).collect::<Result<Vec<_>>>()?);
                }
                let last = match last {
                    None => None,
                    Some(interval) => Some(self.evaluate(interval, eval)?),
                };
                self.bounds.prefix.clear();
                self.product(parts, &values, last.as_ref())
            }
        }
    }

    fn product(
        &mut self,
        parts: &[Box<[KeyValue]>],
        values: &[Vec<Value>],
        last: Option<&EvaluatedInterval>,
    ) -> Result<()> {
        let depth = self.parts.len();
        let Some((alternatives, rest)) = parts.split_first() else {
            return match (last, self.parts.first()) {
                (Some(interval), Some(part)) => self.interval(part, interval),
                _ => {
                    self.bounds.push_prefix();
                    Ok(())
                }
            };
        };
        let (Some((part, behind)), Some((values, values_rest))) = (self.parts.split_first(), values.split_first())
        else {
            self.bounds.push_prefix();
            return Ok(());
        };
        debug_assert!(depth > 0);
        let length = self.bounds.prefix.len();
        for (key, value) in alternatives.iter().zip(values) {
            self.bounds.prefix.truncate(length);
            match self.append_value(part, key, value)? {
                Appended::Yes => {
                    let mut inner = Encoder { parts: behind, zone: self.zone, bounds: &mut *self.bounds };
                    inner.product(rest, values_rest, last)?;
                }
                Appended::Unknown => {
                    self.bounds.prefix.truncate(length);
                    self.bounds.push_prefix();
                }
                Appended::NoMatch => {}
            }
        }
        self.bounds.prefix.truncate(length);
        Ok(())
    }

    fn evaluate<'p>(
        &self,
        interval: &'p Interval,
        eval: &mut impl FnMut(&'p Expr) -> Result<Value>,
    ) -> Result<EvaluatedInterval> {
        let mut bound = |b: &'p Option<IntervalBound>| -> Result<Option<(Value, Comparison, bool)>> {
            match b {
                None => Ok(None),
                Some(b) => Ok(Some((eval(&b.value)?, b.by, b.inclusive))),
            }
        };
        let (low, high) = (bound(&interval.low)?, bound(&interval.high)?);
        let like = match &interval.like {
            None => None,
            Some(like) => Some((eval(&like.pattern)?, like.escape)),
        };
        Ok(EvaluatedInterval { low, high, like })
    }

    /// Pushes the range of an interval on `part` behind the prefix.
    fn interval(&mut self, part: &KeyPart, interval: &EvaluatedInterval) -> Result<()> {
        if let Some((pattern, escape)) = &interval.like {
            return self.like(part, pattern, *escape);
        }
        let low = self.place(part, interval.low.as_ref(), true)?;
        let high = self.place(part, interval.high.as_ref(), false)?;
        let (Some(low), Some(high)) = (low, high) else { return Ok(()) };
        let (low, high) = if part.descending { (high, low) } else { (low, high) };
        self.bounds.ranges.push((low, high));
        Ok(())
    }

    /// The cut of one bound in key order; `None`: nothing lies within the bound.
    fn place(&mut self, part: &KeyPart, bound: Option<&(Value, Comparison, bool)>, lower: bool) -> Result<Option<End>> {
        let Some((value, by, inclusive)) = bound else { return Ok(Some(self.edge(part, lower)?)) };
        // A prefix index cannot tell what lies behind the prefix.
        let inclusive = *inclusive || part.prefix.is_some();
        let (value, inclusive) = match locate(&part.ty, *by, value.as_ref(), self.zone)? {
            Located::Null => return Ok(None),
            Located::Unknown => return Ok(Some(self.edge(part, lower)?)),
            Located::Exact(v) => (v, inclusive),
            // Between two values: above the lower of them, or up to it.
            Located::Between(Some(below)) => (below, !lower),
            Located::Between(None) => return Ok(Some(self.edge(part, lower)?)),
            Located::BelowAll => return if lower { Ok(Some(self.edge(part, lower)?)) } else { Ok(None) },
            Located::AboveAll => return if lower { Ok(None) } else { Ok(Some(self.edge(part, lower)?)) },
        };
        let mut key = self.bounds.prefix.clone();
        key::encode(part, value.as_ref(), &mut key)?;
        // Before the value's keys for an inclusive lower or exclusive upper bound; the other way round in a descending part.
        let before = (lower == inclusive) != part.descending;
        Ok(Some(if before { self.bounds.before(&key) } else { self.bounds.after(&key) }))
    }

    /// Where the column's values that are not NULL begin or end.
    fn edge(&mut self, part: &KeyPart, lower: bool) -> Result<End> {
        let mut key = self.bounds.prefix.clone();
        if lower && part.ty.nullable {
            key::encode(part, ValueRef::Null, &mut key)?;
            return Ok(if part.descending { self.bounds.before(&key) } else { self.bounds.after(&key) });
        }
        Ok(if lower != part.descending { self.bounds.before(&key) } else { self.bounds.after(&key) })
    }

    fn like(&mut self, part: &KeyPart, pattern: &Value, escape: char) -> Result<()> {
        if pattern.is_null() {
            return Ok(());
        }
        let collation = part.ty.collation;
        let same = matches!(pattern, Value::Str(_, c) if c.charset() == collation.charset());
        let text = to_text(&pattern.as_ref()).into_owned();
        let compiled = LikePattern::new(&text, Some(escape), collation);
        let stem = compiled.prefix();
        if stem.is_empty() || !(same || stem.is_ascii() && !collation.charset().is_wide()) {
            let (low, high) = (self.edge(part, true)?, self.edge(part, false)?);
            let (low, high) = if part.descending { (high, low) } else { (low, high) };
            self.bounds.ranges.push((low, high));
            return Ok(());
        }
        let mut key = self.bounds.prefix.clone();
        key::encode(part, ValueRef::Str(stem, collation), &mut key)?;
        // Without its end the key is a prefix of all keys that begin alike.
        let properties = collation.get();
        let unit = if properties.is_bytes() { 1 } else { 2 };
        let end = if properties.pad == Pad::NoPad { 2 } else { unit + 1 };
        key.truncate(key.len().saturating_sub(end).max(self.bounds.prefix.len()));
        let (low, high) = (self.bounds.before(&key), self.bounds.after(&key));
        self.bounds.ranges.push((low, high));
        Ok(())
    }
}

enum Appended {
    Yes,
    NoMatch,
    Unknown,
}

struct EvaluatedInterval {
    low: Option<(Value, Comparison, bool)>,
    high: Option<(Value, Comparison, bool)>,
    like: Option<(Value, char)>,
}

/// Where a value lies among the values of a type.
#[derive(Clone, Debug, PartialEq)]
pub enum Located {
    /// It is NULL.
    Null,
    /// Equal to this one, which is of the type.
    Exact(Value),
    /// Greater than this one, less than the next; `None`: not equal to any, and no more is known.
    Between(Option<Value>),
    /// Less than all.
    BelowAll,
    /// Greater than all.
    AboveAll,
    /// It cannot be told.
    Unknown,
}

/// [`locate`] always tells for values that have the type `value`, so an equality that an index serves needs no filter.
pub fn is_total(column: &SqlType, by: Comparison, value: &SqlType) -> bool {
    match by {
        Comparison::Integer => column.id.is_integer() && (value.id.is_integer() || value.id == TypeId::Null),
        Comparison::Decimal => {
            (column.id.is_integer() || column.id == TypeId::Decimal)
                && (value.id.is_integer() || matches!(value.id, TypeId::Decimal | TypeId::Null))
        }
        Comparison::Double => column.id == TypeId::Double && matches!(value.id, TypeId::Double | TypeId::Float),
        Comparison::String(collation) => {
            column.id.is_string()
                && column.collation == collation
                && value.id.is_string()
                && (value.collation.charset() == collation.charset()
                    || value.id.is_binary_string() && collation.is_binary())
        }
        Comparison::Datetime => {
            matches!(column.id, TypeId::Date | TypeId::DateTime) && matches!(value.id, TypeId::Date | TypeId::DateTime)
        }
        Comparison::Time => column.id == TypeId::Time && value.id == TypeId::Time,
        Comparison::Json => false,
    }
}

/// The index can serve comparisons of this column in this domain at all. `equality`: only `=` and IN.
pub fn is_sargable(column: &SqlType, by: Comparison, equality: bool) -> bool {
    match by {
        Comparison::Integer | Comparison::Decimal => {
            let year = matches!(column.id, TypeId::Year | TypeId::Bit) && by == Comparison::Integer;
            column.id.is_integer() || column.id == TypeId::Decimal || year
        }
        Comparison::Double => {
            column.id.is_integer() || matches!(column.id, TypeId::Decimal | TypeId::Double | TypeId::Float)
        }
        Comparison::String(collation) => {
            column.collation == collation && (column.id.is_string() || equality && column.id == TypeId::Enum)
        }
        Comparison::Datetime => matches!(column.id, TypeId::Date | TypeId::DateTime | TypeId::Timestamp),
        Comparison::Time => column.id == TypeId::Time,
        Comparison::Json => false,
    }
}

/// Places `value`, compared in domain `by`, among the values of a column type.
pub fn locate(ty: &SqlType, by: Comparison, value: ValueRef<'_>, zone: &TimeZone) -> Result<Located> {
    if value.is_null() {
        return Ok(Located::Null);
    }
    let mut warnings = Warnings::default();
    let mut cx = Context {
        mode: SqlMode::DEFAULT,
        zone,
        today: Date::new(1970, 1, 1),
        strict: false,
        warnings: &mut warnings,
        stopped: gannet_types::convert::never,
    };
    match ty.id {
        id if id.is_integer() => locate_integer(ty, by, value, &mut cx),
        TypeId::Year | TypeId::Bit => locate_small(ty, value, &mut cx),
        TypeId::Decimal => locate_decimal(ty, value, &mut cx),
        TypeId::Double | TypeId::Float => locate_double(ty, value, &mut cx),
        TypeId::Date | TypeId::DateTime | TypeId::Timestamp if by == Comparison::Datetime => {
            locate_datetime(ty, value, &mut cx)
        }
        TypeId::Time if by == Comparison::Time => {
            let Some((time, _)) = to_time(value, &mut cx)? else { return Ok(Located::Unknown) };
            let (cut, fsp) = (time.round(ty.scale, true), ty.scale);
            Ok(match cut.cmp(&time) {
                std::cmp::Ordering::Equal => Located::Exact(Value::Time(cut, fsp)),
                std::cmp::Ordering::Less => Located::Between(Some(Value::Time(cut, fsp))),
                std::cmp::Ordering::Greater => Located::Unknown,
            })
        }
        _ => locate_text(ty, by, value),
    }
}

fn whole(v: std::result::Result<i64, u64>) -> i128 {
    v.map_or_else(i128::from, i128::from)
}

fn integer_limits(ty: &SqlType) -> (i128, i128) {
    let bits = 8 * ty.id.int_width() as u32;
    if ty.unsigned { (0, (1 << bits) - 1) } else { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) }
}

fn locate_integer(ty: &SqlType, by: Comparison, value: ValueRef<'_>, cx: &mut Context<'_>) -> Result<Located> {
    let (floor, exact) = match (by, value) {
        (_, ValueRef::Int(v)) => (i128::from(v), true),
        (_, ValueRef::UInt(v)) => (i128::from(v), true),
        (Comparison::Integer, v) => (whole(to_integer(v, cx)?), true),
        (Comparison::Decimal, v) => {
            let d = to_decimal(v, cx)?;
            let whole = d.truncate(0).unwrap_or(d);
            let exact = whole == d;
            match whole.to_i128() {
                Some(n) => (n - i128::from(!exact && d.is_negative()), exact),
                None if d.is_negative() => return Ok(Located::BelowAll),
                None => return Ok(Located::AboveAll),
            }
        }
        (_, v) => {
            let f = to_f64(v, cx)?;
            if f.is_nan() {
                return Ok(Located::Unknown);
            }
            (f.floor() as i128, f.floor() == f)
        }
    };
    let (low, high) = integer_limits(ty);
    let make = |n: i128| if ty.unsigned { Value::UInt(n as u64) } else { Value::Int(n as i64) };
    Ok(if floor < low {
        Located::BelowAll
    } else if floor > high {
        Located::AboveAll
    } else if exact {
        Located::Exact(make(floor))
    } else {
        Located::Between(Some(make(floor)))
    })
}

fn locate_small(ty: &SqlType, value: ValueRef<'_>, cx: &mut Context<'_>) -> Result<Located> {
    let n = whole(to_integer(value, cx)?);
    if ty.id == TypeId::Year {
        let year = n == 0 || (1901..=2155).contains(&n);
        return Ok(if year { Located::Exact(Value::Year(n as u16)) } else { Located::Unknown });
    }
    let width = ty.length.clamp(1, 64);
    Ok(if n < 0 {
        Located::BelowAll
    } else if n >> width != 0 {
        Located::AboveAll
    } else {
        Located::Exact(Value::Bit(n as u64, width as u8))
    })
}

fn locate_decimal(ty: &SqlType, value: ValueRef<'_>, cx: &mut Context<'_>) -> Result<Located> {
    let d = match value {
        ValueRef::Double(f) => Decimal::from_f64(f),
        ValueRef::Float(f) => Decimal::from_f64(f64::from(f)),
        v => Some(to_decimal(v, cx)?),
    };
    let Some(d) = d else { return Ok(Located::Unknown) };
    let Some(cut) = d.truncate(ty.scale) else { return Ok(Located::Unknown) };
    let limit = Decimal::max_of(ty.length as u8, ty.scale);
    if cut.abs() > limit {
        return Ok(if d.is_negative() { Located::BelowAll } else { Located::AboveAll });
    }
    if cut == d {
        return Ok(Located::Exact(Value::Decimal(cut)));
    }
    if !d.is_negative() {
        return Ok(Located::Between(Some(Value::Decimal(cut))));
    }
    let unit = Decimal::from_i128(1, ty.scale);
    Ok(match cut.checked_sub(&unit) {
        Some(below) if below.abs() <= limit => Located::Between(Some(Value::Decimal(below))),
        _ => Located::BelowAll,
    })
}

fn locate_double(ty: &SqlType, value: ValueRef<'_>, cx: &mut Context<'_>) -> Result<Located> {
    let f = to_f64(value, cx)?;
    if f.is_nan() {
        return Ok(Located::Unknown);
    }
    if ty.id == TypeId::Double {
        return Ok(Located::Exact(Value::Double(f)));
    }
    let near = f as f32;
    if f64::from(near) == f {
        return Ok(Located::Exact(Value::Float(near)));
    }
    if !near.is_finite() {
        return Ok(if f < 0.0 { Located::BelowAll } else { Located::AboveAll });
    }
    let below = if f64::from(near) < f { near } else { near.next_down() };
    Ok(Located::Between(Some(Value::Float(below))))
}

fn locate_datetime(ty: &SqlType, value: ValueRef<'_>, cx: &mut Context<'_>) -> Result<Located> {
    if matches!(value, ValueRef::Time(..)) {
        return Ok(Located::Unknown);
    }
    let Some((at, _)) = to_datetime(value, DateFlags::LAX, cx)? else { return Ok(Located::Unknown) };
    if ty.id == TypeId::Date {
        let date = Value::Date(at.date());
        let midnight = at.date().to_datetime() == at;
        return Ok(if midnight { Located::Exact(date) } else { Located::Between(Some(date)) });
    }
    let Some(cut) = at.round(ty.scale, true) else { return Ok(Located::Unknown) };
    if ty.id == TypeId::DateTime {
        let value = Value::DateTime(cut, ty.scale);
        return Ok(if cut == at { Located::Exact(value) } else { Located::Between(Some(value)) });
    }
    match Timestamp::from_local(cut, cx.zone) {
        Some((instant, false)) => {
            let value = Value::Timestamp(instant, ty.scale);
            Ok(if cut == at { Located::Exact(value) } else { Located::Between(Some(value)) })
        }
        _ => Ok(Located::Unknown),
    }
}

fn locate_text(ty: &SqlType, by: Comparison, value: ValueRef<'_>) -> Result<Located> {
    let Comparison::String(collation) = by else { return Ok(Located::Unknown) };
    if collation != ty.collation {
        return Ok(Located::Unknown);
    }
    let charset = collation.charset();
    let text = match value {
        ValueRef::Str(bytes, from) => {
            let converted = from.charset().convert(bytes, charset);
            if converted.lossy {
                // No text of the column is equal to it.
                return Ok(Located::Between(None));
            }
            converted.bytes.into_owned()
        }
        v => to_text(&v).into_owned(),
    };
    if ty.id == TypeId::Enum {
        let Some(members) = &ty.members else { return Ok(Located::Unknown) };
        let found = members.names.iter().position(|n| collation.get().equal(n.as_bytes(), &text));
        return Ok(match found {
            Some(i) => Located::Exact(Value::Enum(i as u16 + 1, members.clone())),
            None if text.is_empty() => Located::Unknown,
            None => Located::Between(None),
        });
    }
    if !ty.id.is_string() {
        return Ok(Located::Unknown);
    }
    Ok(Located::Exact(Value::Str(text.into(), collation)))
}

#[cfg(test)]
mod tests;

//! From symbolic access conditions to byte ranges, when a scan opens.
//!
//! A condition compares a column with a value in some domain; the index orders the column's own values. [`locate`]
//! finds where the value lies among them: on one, between two, beyond all. When it cannot tell (text that is no date, a
//! zone's gap), the range is made wide instead of wrong; the planner keeps the condition as a filter wherever that can
//! happen (see [`is_total`]).

mod bounds;
mod locate;

pub use bounds::{Bounds, Limit};
use bounds::{End, KEYS_AT_HAND, compare_high, compare_low, is_empty};
pub use locate::{Located, is_sargable, is_total, locate, tells_apart};

use crate::expr::{Comparison, Expr};
use crate::physical::{Access, Interval, IntervalBound, KeyValue, MembersAccess, Ranges};
use gannet_schema::Table;
use gannet_schema::array;
use gannet_types::collation::{CutKeys, LikePattern};
use gannet_types::convert::to_text;
use gannet_types::json::Json;
use gannet_types::key::{self, KeyPart};
use gannet_types::{Result, SqlError, SqlType, TimeZone, TypeId, Value, ValueRef};

/// Encodes the ranges of an access. `index` is the position walked (`None`: the clustered tree of a table with hidden
/// row ids, which has full scans only). `eval` computes key expressions over parameters and registers.
pub fn encode_access<'p>(
    table: &Table,
    index: Option<usize>,
    access: &'p Access,
    zone: &TimeZone,
    eval: &mut impl FnMut(&'p Expr) -> Result<Value>,
    bounds: &mut Bounds,
) -> Result<()> {
    bounds.clear();
    bounds.bytes.reserve(KEYS_AT_HAND);
    let parts = index.map(|i| table.key_parts(i)).unwrap_or_default();
    let mut encoder = Encoder { parts, zone, bounds };
    match access {
        Access::Full | Access::Virtual { .. } => encoder.bounds.ranges.push((End::Open, End::Open)),
        Access::Point { key } | Access::Ref { key } => encoder.equal(key, eval)?,
        Access::Ranges { ranges } => encoder.ranges(ranges, eval)?,
        Access::Merge { .. } | Access::Skip(_) | Access::Search(_) | Access::Members(_) => {
            return Err(SqlError::internal("a scan of several ranges encoded as one"));
        }
    }
    bounds.normalise();
    Ok(())
}

/// The ranges of an access by elements of an array, one for each element. False: what is looked for is not in the
/// index, and all rows have to be read.
pub fn encode_members<'p>(
    table: &Table,
    index: usize,
    members: &'p MembersAccess,
    zone: &TimeZone,
    eval: &mut impl FnMut(&'p Expr) -> Result<Value>,
    bounds: &mut Bounds,
) -> Result<bool> {
    bounds.clear();
    let parts = table.key_parts(index);
    let Some((before, [part, after @ ..])) = parts.split_at_checked(members.before.len()) else { return Ok(false) };
    let elements = match eval(&members.document) {
        Ok(Value::Json(stored)) => {
            let document = Json::decode(&stored, gannet_types::room::Room::FREE)?;
            elements_of(&document, &part.ty, members.all, members.exact)
        }
        Ok(Value::Null) => Some(Vec::new()),
        // The condition gives the error in its own words, if there is a row for it.
        Ok(_) | Err(_) => None,
    };
    let Some(elements) = elements else { return Ok(false) };
    let mut encoder = Encoder { parts, zone, bounds };
    for (part, value) in before.iter().zip(&members.before) {
        match encoder.append(part, value, eval)? {
            Appended::Yes => {}
            Appended::NoMatch => return Ok(true),
            Appended::Unknown | Appended::Among(..) => return Ok(false),
        }
    }
    let length = encoder.bounds.prefix.len();
    'elements: for element in &elements {
        encoder.bounds.prefix.truncate(length);
        key::encode(part, element.as_ref(), &mut encoder.bounds.prefix)?;
        for (part, value) in after.iter().zip(&members.after) {
            match encoder.append(part, value, eval)? {
                Appended::Yes => {}
                Appended::NoMatch => continue 'elements,
                Appended::Unknown | Appended::Among(..) => break,
            }
        }
        encoder.bounds.push_prefix();
    }
    bounds.normalise();
    Ok(true)
}

/// The elements of a document that an index with elements of `ty` may have: none, if rows with one of them cannot be in
/// the table. With `exact` they are compared as documents are: only what the index has as it is can be looked for.
/// `None`: the index does not tell.
pub(crate) fn elements_of(document: &Json, ty: &SqlType, all: bool, exact: bool) -> Option<Vec<Value>> {
    let items = match document {
        Json::Array(items) if items.is_empty() => return None,
        Json::Array(items) => &items[..],
        scalar => std::slice::from_ref(scalar),
    };
    let mut elements = Vec::with_capacity(items.len());
    for item in items {
        match item {
            // There is none in an array, and rows without an array are not asked for.
            Json::Null if all => return Some(Vec::new()),
            Json::Null => {}
            item => match array::element(ty, item) {
                Ok(element) if exact && !array::is_as_it_was(ty, &element, item) => return None,
                Ok(element) => elements.push(element),
                // No row has it, since it would not have been taken.
                Err(_) if all => return Some(Vec::new()),
                Err(_) if exact => {}
                // The condition is as it was written then, for all of them.
                Err(_) => return None,
            },
        }
    }
    Some(elements)
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

/// As [`encode_ranges`], over columns that are no index.
pub(crate) fn encode_parts<'p>(
    parts: &[KeyPart],
    ranges: &'p Ranges,
    zone: &TimeZone,
    eval: &mut impl FnMut(&'p Expr) -> Result<Value>,
    bounds: &mut Bounds,
) -> Result<()> {
    bounds.clear();
    let mut encoder = Encoder { parts, zone, bounds };
    encoder.ranges(ranges, eval)?;
    bounds.normalise();
    Ok(())
}

/// The key of a point: the encoded bytes, or false when nothing can match (or the value cannot be placed; only for keys
/// that are [`is_total`]).
#[inline]
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
        if let Some(exact) = fast_exact(part, value.by, &v) {
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

/// The common case without a detour: an integer in range, text in the column's collation. As DOUBLEs, long integers are
/// equal to their neighbours.
#[inline]
fn fast_exact<'v>(part: &KeyPart, by: Comparison, value: &'v Value) -> Option<ValueRef<'v>> {
    match (part.ty.id, value) {
        (TypeId::Int, Value::Int(v)) if !part.ty.unsigned && i32::try_from(*v).is_ok() => Some(ValueRef::Int(*v)),
        (TypeId::BigInt, Value::Int(v)) if !part.ty.unsigned && by != Comparison::Double => Some(ValueRef::Int(*v)),
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
        if self.parts.iter().zip(key).any(|(part, _)| part.cuts_disorder()) {
            let alternatives: Vec<&[KeyValue]> = key.iter().map(std::slice::from_ref).collect();
            let values = key.iter().map(|k| Ok(vec![eval(&k.value)?])).collect::<Result<Vec<_>>>()?;
            return self.product(&alternatives, &values, None);
        }
        for (part, value) in self.parts.iter().zip(key) {
            match self.append(part, value, eval)? {
                Appended::Yes => {}
                Appended::NoMatch => return Ok(()),
                Appended::Unknown => break,
                Appended::Among(first, last) => return self.push_among(part, &first, &last),
            }
        }
        self.bounds.push_prefix();
        Ok(())
    }

    /// All keys that begin with the prefix under construction and one of the values from `first` to `last`.
    fn push_among(&mut self, part: &KeyPart, first: &Value, last: &Value) -> Result<()> {
        let (first, last) = if part.descending { (last, first) } else { (first, last) };
        let mut ends = [self.bounds.prefix.clone(), self.bounds.prefix.clone()];
        for (end, value) in ends.iter_mut().zip([first, last]) {
            key::encode(part, value.as_ref(), end)?;
        }
        let range = (self.bounds.before(&ends[0]), self.bounds.after(&ends[1]));
        self.bounds.ranges.push(range);
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
        if let Some(exact) = fast_exact(part, key.by, v) {
            key::encode(part, exact, &mut self.bounds.prefix)?;
            return Ok(Appended::Yes);
        }
        match locate(&part.ty, key.by, v.as_ref(), self.zone)? {
            Located::Exact(v) => key::encode(part, v.as_ref(), &mut self.bounds.prefix)?,
            Located::Null if key.null_safe && part.ty.nullable => {
                key::encode(part, ValueRef::Null, &mut self.bounds.prefix)?;
            }
            Located::Unknown => return Ok(Appended::Unknown),
            Located::Among(first, last) => return Ok(Appended::Among(first, last)),
            _ => return Ok(Appended::NoMatch),
        }
        Ok(Appended::Yes)
    }

    fn ranges<'p>(&mut self, ranges: &'p Ranges, eval: &mut impl FnMut(&'p Expr) -> Result<Value>) -> Result<()> {
        ranges.0.iter().try_for_each(|product| {
            if let (true, Some(interval), Some(part)) = (product.parts.is_empty(), &product.last, self.parts.first())
                && interval.is_plain()
            {
                let low = interval.low.as_ref().map(|b| bound(b, eval)).transpose()?;
                let high = interval.high.as_ref().map(|b| bound(b, eval)).transpose()?;
                self.bounds.prefix.clear();
                if let Some(range) = self.between(part, low.as_ref(), high.as_ref())? {
                    self.bounds.ranges.push(range);
                }
                return Ok(());
            }
            let mut values = Vec::with_capacity(product.parts.len());
            for alternatives in &product.parts {
                values.push(alternatives.iter().map(|k| eval(&k.value)).collect::<Result<Vec<_>>>()?);
            }
            let last = match &product.last {
                None => None,
                Some(interval) => Some(self.evaluate(interval, eval)?),
            };
            self.bounds.prefix.clear();
            self.product(&product.parts, &values, last.as_ref())
        })
    }

    fn product(
        &mut self,
        parts: &[impl AsRef<[KeyValue]>],
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
        for (key, value) in alternatives.as_ref().iter().zip(values) {
            self.bounds.prefix.truncate(length);
            if let Some(cuts) = self.cuts(part, key.by, value)? {
                self.bounds.stems = true;
                for point in cuts.points {
                    self.bounds.prefix.truncate(length);
                    self.bounds.prefix.extend_from_slice(&point);
                    // Between the first level and the next part lie levels that are not known.
                    if !cuts.whole {
                        self.bounds.push_prefix();
                        continue;
                    }
                    let mut inner = Encoder { parts: behind, zone: self.zone, bounds: &mut *self.bounds };
                    inner.product(rest, values_rest, last)?;
                }
                if let Some(stem) = cuts.rest {
                    self.bounds.prefix.truncate(length);
                    self.bounds.prefix.extend_from_slice(&stem);
                    self.bounds.push_prefix();
                }
                continue;
            }
            match self.append_value(part, key, value)? {
                Appended::Yes => {
                    let mut inner = Encoder { parts: behind, zone: self.zone, bounds: &mut *self.bounds };
                    inner.product(rest, values_rest, last)?;
                }
                Appended::Unknown => {
                    self.bounds.prefix.truncate(length);
                    self.bounds.push_prefix();
                }
                Appended::Among(first, last) => {
                    self.bounds.prefix.truncate(length);
                    self.push_among(part, &first, &last)?;
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
        let low = interval.low.as_ref().map(|b| bound(b, eval)).transpose()?;
        let high = interval.high.as_ref().map(|b| bound(b, eval)).transpose()?;
        let like = match &interval.like {
            None => None,
            Some(like) => Some((eval(&like.pattern)?, like.escape)),
        };
        let mut holes = Vec::with_capacity(interval.holes.len());
        for hole in &interval.holes {
            let low = (eval(&hole.low.value)?, hole.low.by, true);
            let high = match &hole.high {
                Some(high) => Some((eval(&high.value)?, high.by, true)),
                None => None,
            };
            holes.push((low, high));
        }
        Ok(EvaluatedInterval { low, high, like, holes })
    }

    /// Pushes the range of an interval on `part` behind the prefix.
    fn interval(&mut self, part: &KeyPart, interval: &EvaluatedInterval) -> Result<()> {
        if let Some((pattern, escape)) = &interval.like {
            return self.like(part, pattern, *escape);
        }
        let Some((low, high)) = self.between(part, interval.low.as_ref(), interval.high.as_ref())? else {
            return Ok(());
        };
        let Some(mut holes) = self.holes(part, &interval.holes)? else { return Ok(()) };
        let mut from = low;
        holes.sort_by(|a, b| compare_low(&self.bounds.bytes, a.0, b.0));
        for (start, end) in holes {
            // Nothing lies before an open start; a hole behind the interval ends no range.
            if start != End::Open {
                let behind = compare_high(&self.bounds.bytes, start, high).is_gt();
                self.bounds.ranges.push((from, if behind { high } else { start }));
            }
            if end == End::Open {
                return Ok(());
            }
            if compare_low(&self.bounds.bytes, from, end).is_lt() {
                from = end;
            }
        }
        self.bounds.ranges.push((from, high));
        Ok(())
    }

    /// The range between two bounds, in key order; `None`: nothing can lie there.
    fn between(&mut self, part: &KeyPart, low: Option<&Bound>, high: Option<&Bound>) -> Result<Option<(End, End)>> {
        let low = self.place(part, low, true)?;
        let high = self.place(part, high, false)?;
        let (Some(low), Some(high)) = (low, high) else { return Ok(None) };
        Ok(Some(if part.descending { (high, low) } else { (low, high) }))
    }

    /// The holes of an interval, in key order; `None`: the holes cover it. A value that cannot be placed makes no
    /// hole.
    fn holes(&mut self, part: &KeyPart, holes: &[(Bound, Option<Bound>)]) -> Result<Option<Vec<(End, End)>>> {
        let mut cuts = Vec::with_capacity(holes.len());
        for (low, high) in holes {
            let bounded = |b: &Bound| !b.0.is_null();
            if !bounded(low) && !high.as_ref().is_some_and(bounded) {
                return Ok(None);
            }
            // Entries of a prefix index stand for other values, too.
            if part.prefix.is_some() {
                continue;
            }
            let mut placed = true;
            for bound in std::iter::once(low).chain(high).filter(|b| bounded(b)) {
                let at = locate(&part.ty, bound.1, bound.0.as_ref(), self.zone)?;
                placed &= match at {
                    Located::Exact(_) => true,
                    Located::Between(Some(_)) | Located::BelowAll | Located::AboveAll => high.is_some(),
                    Located::Between(None) | Located::Among(..) | Located::Unknown | Located::Null => false,
                };
            }
            if !placed {
                continue;
            }
            let high = high.as_ref().unwrap_or(low);
            let start = self.place(part, Some(low).filter(|b| bounded(b)), true)?;
            let end = self.place(part, Some(high).filter(|b| bounded(b)), false)?;
            if let (Some(start), Some(end)) = (start, end) {
                let hole = if part.descending { (end, start) } else { (start, end) };
                if !is_empty(&self.bounds.bytes, hole.0, hole.1) {
                    cuts.push(hole);
                }
            }
        }
        Ok(Some(cuts))
    }

    /// The cut of one bound in key order; `None`: nothing lies within the bound.
    fn place(&mut self, part: &KeyPart, bound: Option<&Bound>, lower: bool) -> Result<Option<End>> {
        let Some((value, by, inclusive)) = bound else { return Ok(Some(self.edge(part, lower)?)) };
        // A prefix index cannot tell what lies behind the prefix.
        let inclusive = *inclusive || part.prefix.is_some();
        let located;
        let (value, inclusive) = if fast_exact(part, *by, value).is_some() {
            (value, inclusive)
        } else {
            let (v, inclusive) = match locate(&part.ty, *by, value.as_ref(), self.zone)? {
                Located::Null => return Ok(None),
                Located::Unknown => return Ok(Some(self.edge(part, lower)?)),
                Located::Exact(v) => (v, inclusive),
                // Between two values: above the lower of them, or up to it.
                Located::Between(Some(below)) => (below, !lower),
                Located::Between(None) => return Ok(Some(self.edge(part, lower)?)),
                Located::Among(first, last) => (if lower { first } else { last }, true),
                Located::BelowAll => return if lower { Ok(Some(self.edge(part, lower)?)) } else { Ok(None) },
                Located::AboveAll => return if lower { Ok(None) } else { Ok(Some(self.edge(part, lower)?)) },
            };
            located = v;
            (&located, inclusive)
        };
        let cuts = self.cuts(part, *by, value)?;
        let Bounds { bytes, ranges, prefix, stems } = &mut *self.bounds;
        let mut from = bytes.len();
        if let Some(cuts) = cuts {
            *stems = true;
            // The bytes that were cut off may make the difference: such keys are read, wherever they lie.
            for point in &cuts.points {
                bytes.extend_from_slice(prefix);
                bytes.extend_from_slice(point);
                let to = bytes.len();
                if to > from {
                    ranges.push((End::Before(from, to), End::After(from, to)));
                }
                from = to;
            }
            bytes.extend_from_slice(prefix);
            bytes.extend_from_slice(cuts.rest.as_ref().or(cuts.points.last()).map_or(&[], Vec::as_slice));
        } else {
            bytes.extend_from_slice(prefix);
            key::encode(part, value.as_ref(), bytes)?;
        }
        // Before the value's keys for an inclusive lower or exclusive upper bound; the other way round in a descending
        // part.
        let before = (lower == inclusive) != part.descending;
        let to = bytes.len();
        Ok(Some(match to == from {
            true => End::Open,
            false if before => End::Before(from, to),
            false => End::After(from, to),
        }))
    }

    /// Where the keys of texts equal to `value` lie, if the part has first characters only that may be ordered as the
    /// texts are not.
    fn cuts(&self, part: &KeyPart, by: Comparison, value: &Value) -> Result<Option<CutKeys>> {
        if !part.cuts_disorder() {
            return Ok(None);
        }
        match locate(&part.ty, by, value.as_ref(), self.zone)? {
            Located::Exact(Value::Str(text, _)) => Ok(Some(part.cut_keys(&text))),
            _ => Ok(None),
        }
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
        let key = [self.bounds.prefix.as_slice(), &part.stem(stem)].concat();
        let (low, high) = (self.bounds.before(&key), self.bounds.after(&key));
        self.bounds.ranges.push((low, high));
        self.bounds.stems = true;
        Ok(())
    }
}

enum Appended {
    Yes,
    NoMatch,
    Unknown,
    /// What is equal to it lies from the one to the other.
    Among(Value, Value),
}

struct EvaluatedInterval {
    low: Option<Bound>,
    high: Option<Bound>,
    like: Option<(Value, char)>,
    holes: Vec<(Bound, Option<Bound>)>,
}

/// Value, domain, inclusive.
type Bound = (Value, Comparison, bool);

fn bound<'p>(bound: &'p IntervalBound, eval: &mut impl FnMut(&'p Expr) -> Result<Value>) -> Result<Bound> {
    Ok((eval(&bound.value)?, bound.by, bound.inclusive))
}

#[cfg(test)]
mod tests;

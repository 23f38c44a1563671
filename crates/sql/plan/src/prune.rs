//! Which parts of a table may have rows that a scan wants.
//!
//! The conditions on the columns that place a row are ranges over these columns, as if they were an index. When a scan
//! opens, the values are known: the ranges are encoded as those of an index are, and looked up among the bounds of
//! RANGE COLUMNS and LIST COLUMNS, whose keys they are comparable with. Where an expression places rows, or a hash, a
//! single row's columns give its part; a range of one column gives a range of parts if the expression rises with the
//! column, or if the range has few values. What says nothing leaves all parts.
//!
//! EXPLAIN and the planner ask the same questions with the values of the statement at hand.

use crate::expr::{Expr, ExprKind};
use crate::physical::{PartFilter, PartScan, Ranges};
use crate::range::{Bounds, Limit, Located, encode_parts, locate};
use gannet_schema::Table;
use gannet_schema::partition::{Level, Numbers};
use gannet_types::key;
use gannet_types::{Result, TimeZone, Value, ValueRef};

/// Values of a range that are tried one by one.
const FEW: i128 = 64;
/// Combinations of values that are tried one by one.
const MAX_ROWS: usize = 4096;

/// A set of parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartSet {
    bits: Vec<u64>,
    len: u32,
}

impl PartSet {
    /// All of so many.
    pub fn all(len: usize) -> PartSet {
        let mut bits = vec![u64::MAX; len.div_ceil(64)];
        if let Some(last) = bits.last_mut().filter(|_| !len.is_multiple_of(64)) {
            *last = (1 << (len % 64)) - 1;
        }
        PartSet { bits, len: len as u32 }
    }

    /// None of so many.
    pub fn none(len: usize) -> PartSet {
        PartSet { bits: vec![0; len.div_ceil(64)], len: len as u32 }
    }

    /// Adds one.
    pub fn insert(&mut self, n: u32) {
        if n < self.len
            && let Some(word) = self.bits.get_mut(n as usize / 64)
        {
            *word |= 1 << (n % 64);
        }
    }

    /// Has it.
    pub fn contains(&self, n: u32) -> bool {
        self.bits.get(n as usize / 64).is_some_and(|word| word >> (n % 64) & 1 == 1)
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.bits.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// In order.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.bits.iter().enumerate().flat_map(|(word, bits)| {
            let mut left = *bits;
            std::iter::from_fn(move || {
                let bit = left.trailing_zeros();
                left &= left.wrapping_sub(1);
                (bit < 64).then_some(word as u32 * 64 + bit)
            })
        })
    }

    fn intersect(&mut self, other: &PartSet) {
        self.bits.iter_mut().zip(&other.bits).for_each(|(a, b)| *a &= b);
    }
}

/// What pruning asks of those who can evaluate.
pub trait Evaluate<'p> {
    /// A value of a condition.
    fn value(&mut self, e: &'p Expr) -> Result<Value>;

    /// What the expression of PARTITION BY (0) or SUBPARTITION BY (1) gives for a row, of which only the columns it
    /// reads are filled. `None` is NULL.
    fn number(&mut self, which: usize, row: &[Value]) -> Result<Option<i128>>;

    /// The filter's values are known.
    fn knows(&self, filter: &PartFilter) -> bool;

    /// That expression.
    fn expression(&self, which: usize) -> Option<&Expr>;
}

/// The parts that a scan has to read; `only` are those that the statement names.
pub fn prune<'p>(
    table: &Table,
    scan: &'p PartScan,
    only: Option<&[u32]>,
    zone: &TimeZone,
    by: &mut impl Evaluate<'p>,
) -> Result<PartSet> {
    let Some(parts) = &table.partitions else { return Ok(PartSet::all(0)) };
    let (locator, subs) = (parts.locator(), parts.locator().subs());
    let main = level(table, (locator.main(), parts.len() / subs, 0), &scan.main, zone, by)?;
    let sub = match locator.sub() {
        Some(l) => level(table, (l, subs, 1), &scan.sub, zone, by)?,
        None => PartSet::all(1),
    };
    let mut set = if subs == 1 {
        main
    } else {
        let mut set = PartSet::none(parts.len());
        main.iter().for_each(|partition| sub.iter().for_each(|s| set.insert(partition * subs as u32 + s)));
        set
    };
    if let Some(only) = only {
        let mut named = PartSet::none(parts.len());
        only.iter().for_each(|n| named.insert(*n));
        set.intersect(&named);
    }
    Ok(set)
}

/// The places of one clause that all its conditions leave.
fn level<'p>(
    table: &Table,
    (level, places, which): (&Level, usize, usize),
    filters: &'p [PartFilter],
    zone: &TimeZone,
    by: &mut impl Evaluate<'p>,
) -> Result<PartSet> {
    let mut set = PartSet::all(places);
    for filter in filters.iter().filter(|f| by.knows(f)).collect::<Vec<_>>() {
        let mut some = PartSet::none(places);
        let look = Look { table, level, which, zone };
        if look.places(&filter.ranges, by, &mut some)? {
            set.intersect(&some);
        }
    }
    Ok(set)
}

struct Look<'a> {
    table: &'a Table,
    level: &'a Level,
    which: usize,
    zone: &'a TimeZone,
}

/// A place in the order of a column's values.
enum Side {
    /// Beyond NULL, or beyond all.
    Open,
    /// This value belongs to the range.
    At(Value),
    /// It does not.
    Beyond(Value),
}

impl Look<'_> {
    /// Adds the places of some ranges; false: they say nothing.
    fn places<'p>(&self, ranges: &'p Ranges, by: &mut impl Evaluate<'p>, set: &mut PartSet) -> Result<bool> {
        let whole = ranges.0.iter().all(|p| p.parts.len() == self.level.columns.len() && p.last.is_none());
        if whole {
            return self.rows(ranges, by, set);
        }
        let mut bounds = Bounds::default();
        if self.level.is_keyed() {
            encode_parts(&self.level.key, ranges, self.zone, &mut |e| by.value(e), &mut bounds)?;
            for n in 0..bounds.len() {
                let (low, high) = bounds.get(n);
                let low = match low {
                    Limit::Open => (&[][..], true),
                    Limit::Before(key) => (key, true),
                    Limit::After(key) => (key, false),
                };
                let high = match high {
                    Limit::Open => None,
                    Limit::Before(key) => Some((key, false)),
                    Limit::After(key) => Some((key, true)),
                };
                self.level.keys_between(low, high, &mut |places| places.for_each(|p| set.insert(p)));
            }
            return Ok(true);
        }
        let [part] = &*self.level.key else { return Ok(false) };
        if !part.is_invertible() {
            return Ok(false);
        }
        encode_parts(&self.level.key, ranges, self.zone, &mut |e| by.value(e), &mut bounds)?;
        // What texts begin with is no value.
        if bounds.has_stems() {
            return Ok(false);
        }
        for n in 0..bounds.len() {
            let (low, high) = bounds.get(n);
            let decode = |key: &[u8]| key::decode(part, &mut &*key);
            let (low, null) = match low {
                Limit::Open => (Side::Open, part.ty.nullable),
                Limit::Before(key) => match decode(key)? {
                    Value::Null => (Side::Open, true),
                    value => (Side::At(value), false),
                },
                Limit::After(key) => match decode(key)? {
                    Value::Null => (Side::Open, false),
                    value => (Side::Beyond(value), false),
                },
            };
            let high = match high {
                Limit::Open => Side::Open,
                Limit::Before(key) => Side::Beyond(decode(key)?),
                Limit::After(key) => Side::At(decode(key)?),
            };
            if !self.span(low, high, null, by, set)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Adds the places of rows whose columns are all known.
    fn rows<'p>(&self, ranges: &'p Ranges, by: &mut impl Evaluate<'p>, set: &mut PartSet) -> Result<bool> {
        let mut row = vec![Value::Null; self.table.columns.len()];
        for product in ranges.0.iter() {
            let mut columns: Vec<Vec<Value>> = Vec::with_capacity(product.parts.len());
            for (alternatives, part) in product.parts.iter().zip(&self.level.key) {
                let mut values = Vec::with_capacity(alternatives.len());
                for key in alternatives.iter() {
                    let value = by.value(&key.value)?;
                    match locate(&part.ty, key.by, value.as_ref(), self.zone)? {
                        Located::Exact(value) => values.push(value),
                        Located::Null if key.null_safe && part.ty.nullable => values.push(Value::Null),
                        Located::Unknown | Located::Among(..) => return Ok(false),
                        // No row is equal to it.
                        Located::Null | Located::Between(_) | Located::BelowAll | Located::AboveAll => {}
                    }
                }
                columns.push(values);
            }
            let rows = columns.iter().try_fold(1_usize, |n, values| n.checked_mul(values.len()));
            let Some(rows) = rows.filter(|n| *n <= MAX_ROWS) else { return Ok(false) };
            for n in 0..rows {
                let mut rest = n;
                for (values, column) in columns.iter().zip(&self.level.columns) {
                    row[*column as usize] = values[rest % values.len()].clone();
                    rest /= values.len();
                }
                self.row(&row, by, set)?;
            }
        }
        Ok(true)
    }

    /// Adds the place of a row.
    fn row<'p>(&self, row: &[Value], by: &mut impl Evaluate<'p>, set: &mut PartSet) -> Result<()> {
        let number = if self.level.by_expression { by.number(self.which, row)? } else { None };
        if let Some(place) = self.level.locate(&|i| row.get(i).map_or(ValueRef::Null, Value::as_ref), number)? {
            set.insert(place);
        }
        Ok(())
    }

    fn row_of(&self, value: Value) -> Vec<Value> {
        let mut row = vec![Value::Null; self.table.columns.len()];
        if let Some(column) = self.level.columns.first() {
            row[*column as usize] = value;
        }
        row
    }

    /// Adds the places of a range of one column's values, NULL among them with `null`.
    fn span<'p>(
        &self,
        low: Side,
        high: Side,
        null: bool,
        by: &mut impl Evaluate<'p>,
        set: &mut PartSet,
    ) -> Result<bool> {
        // NULL alone.
        if let Side::At(Value::Null) = high {
            self.row(&self.row_of(Value::Null), by, set)?;
            return Ok(true);
        }
        let low = match low {
            Side::Open => None,
            Side::At(value) => Some(value),
            Side::Beyond(value) => Some(step(&value, 1).unwrap_or(value)),
        };
        let high = match high {
            Side::Open => None,
            Side::At(value) => Some(value),
            Side::Beyond(value) => Some(step(&value, -1).unwrap_or(value)),
        };
        if let (Some(a), Some(b)) = (low.as_ref().and_then(integer), high.as_ref().and_then(integer))
            && (b - a < FEW || a > b)
        {
            for n in a..=b {
                let value = low.as_ref().map_or(Value::Null, |like| integer_like(like, n));
                self.row(&self.row_of(value), by, set)?;
            }
            return Ok(true);
        }
        let rises = by.expression(self.which).map(rises);
        let Some(Some(rise)) = rises.filter(|_| self.level.is_numbered()) else { return Ok(false) };
        let mut number = |value: Option<Value>| match value {
            None => Ok(None),
            Some(value) => by.number(self.which, &self.row_of(value)),
        };
        let span = (number(low)?, number(high)?);
        // A date that is none gives NULL, whatever lies around it.
        self.level.numbers_between(span, null || rise == Rise::OrNull, &mut |p| p.for_each(|p| set.insert(p)));
        Ok(true)
    }
}

/// An expression that is never less for a greater value of its one column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rise {
    Always,
    /// Some values give NULL.
    OrNull,
}

fn rises(e: &Expr) -> Option<Rise> {
    match &e.kind {
        ExprKind::Column(_) => Some(Rise::Always),
        ExprKind::Call(def, args) if args.len() == 1 && matches!(args[0].kind, ExprKind::Column(_)) => {
            match def.name.to_ascii_lowercase().as_str() {
                "year" | "unix_timestamp" => Some(Rise::Always),
                "to_days" | "to_seconds" => Some(Rise::OrNull),
                _ => None,
            }
        }
        _ => None,
    }
}

/// A value of a column as the expressions that place rows have it: an instant is its seconds since 1970.
pub fn placing(value: &Value) -> Value {
    let Value::Timestamp(time, fsp) = value else { return value.clone() };
    let (seconds, micros) = (time.unix_micros().div_euclid(1_000_000), time.unix_micros().rem_euclid(1_000_000));
    match fsp {
        0 => Value::Int(seconds),
        _ => Value::Decimal(gannet_types::Decimal::parse(format!("{seconds}.{micros:06}").as_bytes()).value),
    }
}

fn integer(value: &Value) -> Option<i128> {
    match value {
        Value::Int(n) => Some(i128::from(*n)),
        Value::UInt(n) => Some(i128::from(*n)),
        Value::Year(n) => Some(i128::from(*n)),
        _ => None,
    }
}

fn integer_like(like: &Value, n: i128) -> Value {
    match like {
        Value::UInt(_) => Value::UInt(n as u64),
        Value::Year(_) => Value::Year(n as u16),
        _ => Value::Int(n as i64),
    }
}

/// The value next to another, of a type whose values have neighbours.
fn step(value: &Value, by: i64) -> Option<Value> {
    match value {
        Value::Int(n) => n.checked_add(by).map(Value::Int),
        Value::UInt(n) => n.checked_add_signed(by).map(Value::UInt),
        Value::Date(date) if date.month() > 0 && date.day() > 0 => {
            let days = date.days().checked_add(by)?;
            gannet_types::temporal::from_days(days).map(Value::Date)
        }
        Value::DateTime(time, fsp) if time.month() > 0 && time.day() > 0 => {
            let unit = 10_i64.pow(u32::from(6 - (*fsp).min(6)));
            gannet_types::DateTime::from_micros(time.to_micros() + by * unit).map(|t| Value::DateTime(t, *fsp))
        }
        Value::Timestamp(time, fsp) => {
            let unit = 10_i64.pow(u32::from(6 - (*fsp).min(6)));
            let micros = time.unix_micros() + by * unit;
            gannet_types::Timestamp::from_unix_micros(micros).map(|t| Value::Timestamp(t, *fsp))
        }
        _ => None,
    }
}

/// What an expression's value is as a number: none is NULL, and any other kind of value.
pub fn number_of(value: &Value) -> Option<i128> {
    match value {
        Value::Timestamp(time, 0) => Some(i128::from(time.unix_micros().div_euclid(1_000_000))),
        Value::Decimal(number) => number.to_i128(),
        Value::Bit(bits, _) => Some(i128::from(*bits)),
        other => integer(other),
    }
}

/// The part of a row whose values and numbers are known.
pub fn locate_row(table: &Table, row: &[Value], numbers: Numbers) -> Result<Option<u32>> {
    match &table.partitions {
        Some(parts) => parts.locator().locate(|i| row.get(i).map_or(ValueRef::Null, Value::as_ref), numbers),
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::PartSet;

    #[test]
    fn a_set_has_what_is_put_into_it() {
        for len in [1, 63, 64, 65, 200] {
            let all = PartSet::all(len);
            assert_eq!((all.count(), all.iter().count()), (len, len));
            let mut some = PartSet::none(len);
            some.insert(len as u32 - 1);
            some.insert(len as u32);
            some.insert(0);
            let wanted: Vec<u32> = if len == 1 { vec![0] } else { vec![0, len as u32 - 1] };
            assert_eq!(some.iter().collect::<Vec<_>>(), wanted);
            some.intersect(&all);
            assert_eq!(some.count(), wanted.len());
            assert!(!all.contains(len as u32));
        }
    }
}

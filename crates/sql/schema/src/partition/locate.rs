//! Which part a row belongs to.
//!
//! Bounds and list values of columns are kept as memory-comparable keys (`gannet_types::key`), so that a row is placed
//! by one encoding and one search, and collations are right by construction; those of expressions are numbers.
//!
//! HASH takes the absolute value of the remainder. LINEAR masks with the next power of two less one, and once more with
//! half of it where that is beyond the parts (Litwin's linear hashing, VLDB 1980; manual, "LINEAR HASH Partitioning").

use super::hash::hash_columns;
use super::{By, Method, Partitioning, Placement, Spread, Values, key_parts};
use crate::column::Column;
use crate::names::eq_name;
use gannet_types::key::{self, KeyPart};
use gannet_types::{Result, Value, ValueRef};
use std::ops::Range;

/// What the expressions of a partitioning give for a row: of partitions and of subpartitions. NULL is none, and so is
/// the value of an expression that there is not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Numbers {
    /// PARTITION BY
    pub main: Option<i128>,
    /// SUBPARTITION BY
    pub sub: Option<i128>,
}

/// An interval of partitions or of values. `None` is open; the ends are included.
pub type Span<T> = (Option<T>, Option<T>);

/// Finds parts.
#[derive(Debug)]
pub struct Locator {
    main: Level,
    sub: Option<Level>,
    subs: usize,
    columns: Box<[u32]>,
}

/// One clause.
#[derive(Debug)]
pub struct Level {
    /// Columns that it looks at, in their order; those in the expression.
    pub columns: Box<[u32]>,
    /// Of these columns.
    pub key: Box<[KeyPart]>,
    /// An expression decides.
    pub by_expression: bool,
    places: Places,
}

#[derive(Debug)]
enum Places {
    /// Upper bounds, excluded. NULL is in the first.
    Below(Vec<i128>),
    /// Values with their partitions, sorted; where NULL is.
    Numbers(Vec<(i128, u32)>, Option<u32>),
    /// Upper bounds.
    BelowKeys(Vec<KeyBound>),
    /// Keys with their partitions, sorted.
    Keys(Vec<(Vec<u8>, u32)>),
    /// A number modulo.
    Hash { parts: u32, linear: bool, placement: Placement },
    /// A hash modulo.
    Key { parts: u32, linear: bool, old: bool, placement: Placement },
}

/// An upper bound, excluded.
#[derive(Debug)]
struct KeyBound {
    key: Vec<u8>,
    /// MAXVALUE follows: all keys that begin with `key` are below.
    max: bool,
}

impl KeyBound {
    /// All keys below this bound are below the other, and some more: MAXVALUE is behind all keys that begin alike.
    fn is_below(&self, other: &KeyBound) -> bool {
        if other.max && self.key.starts_with(&other.key) {
            return !(self.max && self.key == other.key);
        }
        if self.max && other.key.starts_with(&self.key) {
            return false;
        }
        self.key < other.key
    }

    fn is_above(&self, key: &[u8]) -> bool {
        *key < self.key[..] || self.max && key.starts_with(&self.key)
    }
}

impl Locator {
    pub(super) fn new(definition: &Partitioning, columns: &[Column], primary: &[u32]) -> Locator {
        let subs = definition.subs();
        let main = Level::new(&definition.spread, definition, definition.partitions.len(), columns, primary);
        let sub = definition.sub.as_ref().map(|s| Level::new(s, definition, subs, columns, primary));
        let mut all = main.columns.to_vec();
        all.extend(sub.iter().flat_map(|s| s.columns.iter()));
        all.sort_unstable();
        all.dedup();
        Locator { main, sub, subs, columns: all.into() }
    }

    /// PARTITION BY.
    pub fn main(&self) -> &Level {
        &self.main
    }

    /// SUBPARTITION BY.
    pub fn sub(&self) -> Option<&Level> {
        self.sub.as_ref()
    }

    pub(super) fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// Subpartitions of a partition, 1 without.
    pub fn subs(&self) -> usize {
        self.subs
    }

    /// The part of a row; `None`: there is none for it.
    pub fn locate<'v>(&self, value: impl Fn(usize) -> ValueRef<'v>, numbers: Numbers) -> Result<Option<u32>> {
        let Some(main) = self.main.locate(&value, numbers.main)? else { return Ok(None) };
        let Some(sub) = &self.sub else { return Ok(Some(main)) };
        let at = sub.locate(&value, numbers.sub)?.unwrap_or(0);
        Ok(Some(main * self.subs as u32 + at))
    }
}

/// Ordinals of the columns of a clause.
fn ordinals(spread: &Spread, columns: &[Column], primary: &[u32]) -> Box<[u32]> {
    let named = |name: &str| columns.iter().position(|c| eq_name(&c.name, name) && !c.hidden).map(|c| c as u32);
    match &spread.by {
        By::Columns(names) => names.iter().filter_map(|n| named(n)).collect(),
        By::Primary => primary.into(),
        By::Expression(text) => {
            let mut found: Vec<u32> = Vec::new();
            for ordinal in columns_in(text).iter().filter_map(|n| named(n)) {
                if !found.contains(&ordinal) {
                    found.push(ordinal);
                }
            }
            found.into()
        }
    }
}

/// Names in backquotes of a kept text, which has no strings with backquotes.
fn columns_in(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '`' {
            continue;
        }
        let mut name = String::new();
        while let Some(d) = rest.next() {
            if d == '`' && rest.next_if_eq(&'`').is_none() {
                break;
            }
            name.push(d);
        }
        names.push(name);
    }
    names
}

impl Level {
    fn new(spread: &Spread, definition: &Partitioning, parts: usize, columns: &[Column], primary: &[u32]) -> Level {
        let own = ordinals(spread, columns, primary);
        let key = key_parts(columns, &own);
        let by_expression = matches!(spread.by, By::Expression(_));
        let (parts, linear, placement) = (parts as u32, spread.linear, spread.placement);
        let each = || definition.partitions.iter().map(|p| &p.values);
        let places = match (spread.method, by_expression) {
            (Method::Hash, _) => Places::Hash { parts, linear, placement },
            (Method::Key, _) => Places::Key { parts, linear, old: spread.algorithm == 1, placement },
            (Method::Range, true) => Places::Below(each().map(number_bound).collect()),
            (Method::Range, false) => Places::BelowKeys(each().map(|v| key_bound(v, &key)).collect()),
            (Method::List, true) => number_list(each()),
            (Method::List, false) => key_list(each(), &key),
        };
        Level { columns: own, key, by_expression, places }
    }

    /// The place of a row among the parts of this clause.
    pub fn locate<'v>(&self, value: &impl Fn(usize) -> ValueRef<'v>, number: Option<i128>) -> Result<Option<u32>> {
        Ok(match &self.places {
            Places::Below(bounds) => {
                let at = number.map_or(0, |n| bounds.partition_point(|b| *b <= n));
                (at < bounds.len()).then_some(at as u32)
            }
            Places::Numbers(values, null) => match number {
                None => *null,
                Some(n) => values.binary_search_by_key(&n, |v| v.0).ok().map(|i| values[i].1),
            },
            Places::BelowKeys(bounds) => {
                let key = self.row_key(value)?;
                let at = bounds.partition_point(|b| !b.is_above(&key));
                (at < bounds.len()).then_some(at as u32)
            }
            Places::Keys(values) => {
                let key = self.row_key(value)?;
                values.binary_search_by(|v| v.0[..].cmp(&key)).ok().map(|i| values[i].1)
            }
            Places::Hash { parts, linear, placement: Placement::First } => {
                Some(hash_place(number.unwrap_or(0), *parts, *linear))
            }
            // MySQL's integers are signed here, and NULL is the least of them.
            Places::Hash { parts, linear, placement: Placement::Mysql } => {
                let number = number.map_or(i64::MIN, |n| n as i64);
                Some(hash_place(i128::from(number), *parts, *linear))
            }
            Places::Key { parts, linear, old, placement } => {
                let values = self.columns.iter().zip(&self.key).map(|(c, k)| (value(*c as usize), &k.ty));
                Some(hash_place(i128::from(hash_columns(values, *old, *placement)), *parts, *linear))
            }
        })
    }

    fn row_key<'v>(&self, value: &impl Fn(usize) -> ValueRef<'v>) -> Result<Vec<u8>> {
        let mut out = Vec::with_capacity(32);
        for (column, part) in self.columns.iter().zip(&self.key) {
            key::encode(part, value(*column as usize), &mut out)?;
        }
        Ok(out)
    }

    /// Parts are found by the order of the columns' keys: RANGE COLUMNS and LIST COLUMNS.
    pub fn is_keyed(&self) -> bool {
        matches!(self.places, Places::BelowKeys(_) | Places::Keys(_))
    }

    /// Parts are found by the order of the expression's numbers: RANGE and LIST.
    pub fn is_numbered(&self) -> bool {
        matches!(self.places, Places::Below(_) | Places::Numbers(..))
    }

    /// Gives `each` the places that may hold keys of a range. `low` and `high` say how keys begin, and whether those
    /// that begin so belong to the range.
    pub fn keys_between(&self, low: (&[u8], bool), high: Option<(&[u8], bool)>, each: &mut dyn FnMut(Range<u32>)) {
        let ((low, begins), (high, included)) = (low, (high.map(|h| h.0), high.is_none_or(|h| h.1)));
        match &self.places {
            Places::BelowKeys(bounds) => {
                // A bound that begins so has no key below it which is beyond all that do.
                let from = bounds.partition_point(|b| !b.is_above(low) || !begins && b.key.starts_with(low));
                let to = match high {
                    // The partition of the last key that begins with `high`.
                    Some(high) if included => {
                        // All that begin so are below the bound, if MAXVALUE follows at once.
                        let all = |b: &KeyBound| b.max && b.key.len() == high.len();
                        bounds.partition_point(|b| !b.is_above(high) || b.key.starts_with(high) && !all(b))
                    }
                    // All keys before `high` are below a bound that is the same.
                    Some(high) => bounds.partition_point(|b| !b.is_above(high) && (b.max || b.key != high)),
                    None => bounds.len(),
                };
                let to = (to + 1).min(bounds.len());
                if from < to {
                    each(from as u32..to as u32);
                }
            }
            Places::Keys(values) => {
                let from = values.partition_point(|v| v.0[..] < *low);
                for (key, part) in &values[from..] {
                    let within = |high: &[u8]| key[..] < *high || included && key.starts_with(high);
                    if !high.is_none_or(within) {
                        break;
                    }
                    if begins || !key.starts_with(low) {
                        each(*part..*part + 1);
                    }
                }
            }
            _ => {}
        }
    }

    /// Gives `each` the places that may hold numbers of a span, NULL among them with `null`.
    pub fn numbers_between(&self, span: Span<i128>, null: bool, each: &mut dyn FnMut(Range<u32>)) {
        match &self.places {
            Places::Below(bounds) => {
                if null && !bounds.is_empty() {
                    each(0..1);
                }
                let from = span.0.map_or(0, |n| bounds.partition_point(|b| *b <= n));
                let to = span.1.map_or(bounds.len(), |n| (bounds.partition_point(|b| *b <= n) + 1).min(bounds.len()));
                if from < to {
                    each(from as u32..to as u32);
                }
            }
            Places::Numbers(values, of_null) => {
                if let Some(part) = of_null.filter(|_| null) {
                    each(part..part + 1);
                }
                let from = span.0.map_or(0, |n| values.partition_point(|v| v.0 < n));
                for (n, part) in &values[from..] {
                    if span.1.is_some_and(|high| *n > high) {
                        break;
                    }
                    each(*part..*part + 1);
                }
            }
            _ => {}
        }
    }
}

/// The place of a number among parts.
fn hash_place(number: i128, parts: u32, linear: bool) -> u32 {
    if let (Ok(number), false) = (i64::try_from(number), linear) {
        return (number % i64::from(parts.max(1))).unsigned_abs() as u32;
    }
    if !linear {
        return (number % i128::from(parts.max(1))).unsigned_abs() as u32;
    }
    let mask = parts.max(1).next_power_of_two() - 1;
    // Two's complement of a negative number.
    let at = (number as u64 & u64::from(mask)) as u32;
    if at < parts { at } else { at & (mask >> 1) }
}

fn number_bound(values: &Values) -> i128 {
    let Values::LessThan(bounds) = values else { return i128::MAX };
    bounds.first().and_then(Option::as_ref).and_then(number).unwrap_or(i128::MAX)
}

fn number_list<'a>(each: impl Iterator<Item = &'a Values>) -> Places {
    let (mut numbers, mut null) = (Vec::new(), None);
    for (part, values) in each.enumerate() {
        let Values::In(rows) = values else { continue };
        for row in rows {
            match row.first().and_then(number) {
                Some(n) => numbers.push((n, part as u32)),
                None => null = Some(part as u32),
            }
        }
    }
    numbers.sort_unstable();
    Places::Numbers(numbers, null)
}

/// An integer.
fn number(value: &Value) -> Option<i128> {
    match value {
        Value::Int(n) => Some(i128::from(*n)),
        Value::UInt(n) => Some(i128::from(*n)),
        _ => None,
    }
}

/// The bound of a RANGE COLUMNS. What cannot be encoded, which definitions do not let in, is beyond all.
fn key_bound(values: &Values, key: &[KeyPart]) -> KeyBound {
    let mut made = KeyBound { key: Vec::new(), max: false };
    let Values::LessThan(bounds) = values else { return KeyBound { max: true, ..made } };
    for (bound, part) in bounds.iter().zip(key) {
        let encoded = bound.as_ref().map(|v| key::encode(part, v.as_ref(), &mut made.key));
        if !matches!(encoded, Some(Ok(()))) {
            made.max = true;
            break;
        }
    }
    made
}

fn key_list<'a>(each: impl Iterator<Item = &'a Values>, key: &[KeyPart]) -> Places {
    let mut keys = Vec::new();
    for (part, values) in each.enumerate() {
        let Values::In(rows) = values else { continue };
        for row in rows {
            let mut out = Vec::new();
            if row.iter().zip(key).all(|(v, p)| key::encode(p, v.as_ref(), &mut out).is_ok()) {
                keys.push((out, part as u32));
            }
        }
    }
    keys.sort_unstable();
    Places::Keys(keys)
}

impl Partitioning {
    /// The first partition whose bound is not above that of the one before it.
    pub fn not_increasing(&self, columns: &[Column], primary: &[u32]) -> bool {
        let level = Level::new(&self.spread, self, self.partitions.len(), columns, primary);
        match &level.places {
            Places::Below(bounds) => bounds.windows(2).any(|w| w[0] >= w[1]),
            Places::BelowKeys(bounds) => bounds.windows(2).any(|w| !w[0].is_below(&w[1])),
            _ => false,
        }
    }

    /// The bound of the first partition is below that of another definition's first.
    pub fn below(&self, other: &Partitioning, columns: &[Column]) -> bool {
        let level = |of: &Partitioning| Level::new(&of.spread, of, of.partitions.len(), columns, &[]).places;
        match (&level(self), &level(other)) {
            (Places::Below(a), Places::Below(b)) => a.first() < b.first(),
            (Places::BelowKeys(a), Places::BelowKeys(b)) => {
                a.first().zip(b.first()).is_some_and(|(a, b)| a.is_below(b))
            }
            _ => false,
        }
    }

    /// A value is listed twice.
    pub fn lists_twice(&self, columns: &[Column], primary: &[u32]) -> bool {
        let level = Level::new(&self.spread, self, self.partitions.len(), columns, primary);
        let nulls = self.partitions.iter().flat_map(|p| match &p.values {
            Values::In(rows) => &rows[..],
            _ => &[],
        });
        match &level.places {
            Places::Numbers(values, _) => {
                values.windows(2).any(|w| w[0].0 == w[1].0)
                    || nulls.filter(|r| r.iter().any(Value::is_null)).count() > 1
            }
            Places::Keys(values) => values.windows(2).any(|w| w[0].0 == w[1].0),
            _ => false,
        }
    }
}

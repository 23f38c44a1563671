//! From a plan's symbolic access to byte ranges of an index.
//!
//! A bound's value is converted to the column's type first. Where that loses something, the converted value still orders
//! correctly against the wanted one, and the cut moves to the other side of it: `int_col < 5.5` becomes a cut after 5.

use crate::{batch::Batch, compare::compare, context::Cx, eval};
use gannet_catalog::Table;
use gannet_plan::{
    expr::{Comparison, Expr},
    physical::{Access, Interval, KeyValue, Ranges},
};
use gannet_types::{
    Result, SqlError, TypeId, Value, ValueRef,
    collation::{Algorithm, Pad},
    convert::{self, Context, StoreTarget},
    key::{self, KeyPart},
    sql_err,
};
use std::cmp::Ordering;

/// Ranges that one scan may have; more is a plan's mistake.
const MAX_RANGES: usize = 1 << 17;

/// One end of a range. Ordered as cuts between keys are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Before the first key.
    Start,
    /// Before the keys that begin with these bytes.
    Before(Vec<u8>),
    /// After them.
    After(Vec<u8>),
    /// After the last key.
    End,
}

/// Ranges in index order, without overlap.
#[derive(Default, Debug)]
pub(crate) struct Bounds(pub(crate) Vec<(End, End)>);

struct Encoder<'e, 'a, 'p> {
    parts: &'e [KeyPart],
    cx: &'e mut Cx<'a, 'p>,
    out: Vec<(End, End)>,
}

/// The ranges of an access. `index` is `None` for the clustered tree of a table without a clustered index.
pub(crate) fn encode<'p>(
    table: &Table,
    index: Option<usize>,
    access: &'p Access,
    cx: &mut Cx<'_, 'p>,
) -> Result<Bounds> {
    let parts = index.map_or(&[][..], |i| table.key_parts(i));
    let mut encoder = Encoder { parts, cx, out: Vec::new() };
    match access {
        Access::Full => encoder.out.push((End::Start, End::End)),
        Access::Point { key } | Access::Ref { key } => {
            let mut bytes = Vec::with_capacity(32);
            if encoder.equalities(key, &mut bytes)? {
                encoder.out.push((End::Before(bytes.clone()), End::After(bytes)));
            }
        }
        Access::Ranges { ranges } => encoder.ranges(ranges)?,
        Access::Virtual { .. } => return Err(SqlError::internal("ranges of a virtual table")),
    }
    let mut ranges = encoder.out;
    if ranges.len() > 1 {
        merge(&mut ranges);
    }
    Ok(Bounds(ranges))
}

/// Appends the key of equalities on leading parts; false when nothing can be equal.
pub(crate) fn point_key<'p>(
    parts: &[KeyPart],
    key: &'p [KeyValue],
    cx: &mut Cx<'_, 'p>,
    out: &mut Vec<u8>,
) -> Result<bool> {
    Encoder { parts, cx, out: Vec::new() }.equalities(key, out)
}

impl<'p> Encoder<'_, '_, 'p> {
    fn value(&mut self, expr: &'p Expr) -> Result<Value> {
        eval::eval(expr, &Batch::default(), 0, self.cx)
    }

    /// The value in the part's type, and how it orders against the wanted one. `None`: it orders nowhere.
    fn convert(&mut self, part: &KeyPart, value: Value, by: Comparison) -> Result<Option<(Value, Ordering)>> {
        match (part.ty.id, &value) {
            (TypeId::Int, Value::Int(n)) if !part.ty.unsigned && i32::try_from(*n).is_ok() => {
                return Ok(Some((value, Ordering::Equal)));
            }
            (TypeId::BigInt, Value::Int(_)) if !part.ty.unsigned => return Ok(Some((value, Ordering::Equal))),
            _ => {}
        }
        let stored = {
            let settings = self.cx.settings;
            let mut ignored = gannet_types::Warnings::default();
            let mut conversion = Context {
                mode: settings.sql_mode,
                zone: &settings.time_zone,
                today: settings.today,
                strict: false,
                warnings: &mut ignored,
            };
            convert::store(value.as_ref(), &part.ty, StoreTarget { column: "", row: 1 }, &mut conversion)
        };
        let Ok(stored) = stored else { return Ok(None) };
        if stored.is_null() {
            return Ok(None);
        }
        let order = compare(by, stored.as_ref(), value.as_ref(), self.cx)?;
        Ok(order.map(|order| (stored, order)))
    }

    /// Appends one equality; false when nothing can be equal.
    fn equality(&mut self, part: &KeyPart, wanted: &'p KeyValue, out: &mut Vec<u8>) -> Result<bool> {
        let value = self.value(&wanted.value)?;
        if value.is_null() {
            if !wanted.null_safe || !part.ty.nullable {
                return Ok(false);
            }
            key::encode(part, ValueRef::Null, out)?;
            return Ok(true);
        }
        match self.convert(part, value, wanted.by)? {
            Some((stored, order)) if order == Ordering::Equal || part.prefix.is_some() => {
                key::encode(part, stored.as_ref(), out)?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn equalities(&mut self, wanted: &'p [KeyValue], out: &mut Vec<u8>) -> Result<bool> {
        let parts = self.parts;
        for (part, wanted) in parts.iter().zip(wanted) {
            if !self.equality(part, wanted, out)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn ranges(&mut self, ranges: &'p Ranges) -> Result<()> {
        match ranges {
            Ranges::Union(all) => all.iter().try_for_each(|r| self.ranges(r)),
            Ranges::Product { parts, last } => {
                let mut prefixes = vec![Vec::new()];
                for (part, alternatives) in self.parts.iter().zip(parts) {
                    if prefixes.len().saturating_mul(alternatives.len()) > MAX_RANGES {
                        return Err(sql_err!(OutOfResources));
                    }
                    let mut longer = Vec::with_capacity(prefixes.len() * alternatives.len());
                    for wanted in alternatives {
                        let mut bytes = Vec::new();
                        if self.equality(part, wanted, &mut bytes)? {
                            longer.extend(prefixes.iter().map(|p: &Vec<u8>| [&p[..], &bytes].concat()));
                        }
                    }
                    prefixes = longer;
                }
                let next = self.parts.get(parts.len());
                match (last, next) {
                    (Some(interval), Some(part)) => {
                        if let Some((low, high)) = self.interval(part, interval)? {
                            for prefix in prefixes {
                                self.out.push((low.behind(&prefix), high.behind(&prefix)));
                            }
                        }
                    }
                    _ => {
                        for prefix in prefixes {
                            self.out.push((End::Before(prefix.clone()), End::After(prefix)));
                        }
                    }
                }
                Ok(())
            }
        }
    }

    /// The two ends of an interval on one part, in key order; `None` when it is empty.
    fn interval(&mut self, part: &KeyPart, interval: &'p Interval) -> Result<Option<(End, End)>> {
        if let Some(like) = &interval.like {
            let pattern = self.value(&like.pattern)?;
            return Ok(like_range(part, &pattern, like.escape));
        }
        let mut ends = [None, None];
        for (end, bound) in ends.iter_mut().zip([&interval.low, &interval.high]) {
            let Some(bound) = bound else { continue };
            let value = self.value(&bound.value)?;
            if value.is_null() {
                return Ok(None);
            }
            let Some((stored, order)) = self.convert(part, value, bound.by)? else { return Ok(None) };
            let mut bytes = Vec::new();
            key::encode(part, stored.as_ref(), &mut bytes)?;
            // A prefix of the value stands for more than the value: the cut includes it.
            let inclusive = bound.inclusive || part.prefix.is_some();
            *end = Some((bytes, order, inclusive));
        }
        let [low, high] = ends;
        // Values increase to the right; with a descending part, keys do so to the left.
        let low = low.map(|(bytes, order, inclusive)| match order {
            Ordering::Equal => (bytes, inclusive),
            Ordering::Less => (bytes, part.prefix.is_some()),
            Ordering::Greater => (bytes, true),
        });
        let high = high.map(|(bytes, order, inclusive)| match order {
            Ordering::Equal => (bytes, inclusive),
            Ordering::Less => (bytes, true),
            Ordering::Greater => (bytes, part.prefix.is_some()),
        });
        let mut null = Vec::new();
        if part.ty.nullable {
            key::encode(part, ValueRef::Null, &mut null)?;
        }
        let ends = if part.descending {
            let first =
                high.map_or(End::Start, |(b, inclusive)| if inclusive { End::Before(b) } else { End::After(b) });
            let last = match low {
                Some((b, inclusive)) => {
                    if inclusive {
                        End::After(b)
                    } else {
                        End::Before(b)
                    }
                }
                None if part.ty.nullable => End::Before(null),
                None => End::End,
            };
            (first, last)
        } else {
            let first = match low {
                Some((b, inclusive)) => {
                    if inclusive {
                        End::Before(b)
                    } else {
                        End::After(b)
                    }
                }
                None if part.ty.nullable => End::After(null),
                None => End::Start,
            };
            let last = high.map_or(End::End, |(b, inclusive)| if inclusive { End::After(b) } else { End::Before(b) });
            (first, last)
        };
        Ok(Some(ends))
    }
}

impl End {
    /// The end behind the bytes of leading equalities.
    fn behind(&self, prefix: &[u8]) -> End {
        match self {
            End::Start => End::Before(prefix.to_vec()),
            End::End => End::After(prefix.to_vec()),
            End::Before(bytes) => End::Before([prefix, bytes].concat()),
            End::After(bytes) => End::After([prefix, bytes].concat()),
        }
    }

    fn cmp(&self, other: &End) -> Ordering {
        use End::{After, Before};
        match (self, other) {
            (End::Start, End::Start) | (End::End, End::End) => Ordering::Equal,
            (End::Start, _) | (_, End::End) => Ordering::Less,
            (_, End::Start) | (End::End, _) => Ordering::Greater,
            (Before(a), Before(b)) | (After(a), After(b)) if a == b => Ordering::Equal,
            // After(x) lies behind all keys that begin with x.
            (After(a), After(b)) if a.starts_with(b) => Ordering::Less,
            (After(a), After(b)) if b.starts_with(a) => Ordering::Greater,
            (After(a), Before(b)) if b.starts_with(a) => Ordering::Greater,
            (Before(a), After(b)) if a.starts_with(b) => Ordering::Less,
            (Before(a) | After(a), Before(b) | After(b)) => a.cmp(b),
        }
    }
}

/// Sorts ranges, drops empty ones, joins those that touch.
fn merge(ranges: &mut Vec<(End, End)>) {
    ranges.retain(|(low, high)| low.cmp(high) == Ordering::Less);
    ranges.sort_by(|a, b| a.0.cmp(&b.0));
    let mut merged: Vec<(End, End)> = Vec::with_capacity(ranges.len());
    for (low, high) in ranges.drain(..) {
        match merged.last_mut() {
            Some((_, last)) if low.cmp(last) != Ordering::Greater => {
                if high.cmp(last) == Ordering::Greater {
                    *last = high;
                }
            }
            _ => merged.push((low, high)),
        }
    }
    *ranges = merged;
}

/// The keys of texts that may match a LIKE pattern, by the pattern's constant beginning.
fn like_range(part: &KeyPart, pattern: &Value, escape: char) -> Option<(End, End)> {
    let Value::Str(pattern, _) = pattern else { return None };
    let mut escape_bytes = [0; 4];
    let escape = escape.encode_utf8(&mut escape_bytes).as_bytes();
    let mut constant = Vec::new();
    let mut rest = pattern.as_bytes();
    while let Some(first) = rest.first() {
        if !escape.is_empty() && rest.starts_with(escape) && rest.len() > escape.len() {
            rest = &rest[escape.len()..];
            constant.push(rest[0]);
        } else if matches!(first, b'%' | b'_') {
            break;
        } else {
            constant.push(*first);
        }
        rest = &rest[1..];
    }
    let everything = {
        let mut null = Vec::new();
        if part.ty.nullable {
            key::encode(part, ValueRef::Null, &mut null).ok()?;
            if part.descending { (End::Start, End::Before(null)) } else { (End::After(null), End::End) }
        } else {
            (End::Start, End::End)
        }
    };
    if part.descending || constant.is_empty() {
        return Some(everything);
    }
    // A cut inside a character, or of a column of another character set, bounds nothing.
    let charset = part.ty.collation.charset();
    constant.truncate(charset.valid_prefix(&constant));
    let mut bytes = Vec::new();
    key::encode(part, ValueRef::Str(&constant, part.ty.collation), &mut bytes).ok()?;
    let collation = part.ty.collation.get();
    let terminator = match (collation.pad, collation.algorithm) {
        (Pad::NoPad, _) => 2,
        (Pad::PadSpace, Algorithm::Bytes) => 2,
        (Pad::PadSpace, _) => 3,
    };
    bytes.truncate(bytes.len().saturating_sub(terminator));
    Some((End::Before(bytes.clone()), End::After(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_order_as_cuts_do() {
        let b = |s: &str| End::Before(s.as_bytes().to_vec());
        let a = |s: &str| End::After(s.as_bytes().to_vec());
        let order =
            [End::Start, b("a"), b("ab"), b("abc"), a("abc"), b("abd"), a("ab"), b("ac"), a("a"), b("b"), End::End];
        for pair in order.windows(2) {
            assert_eq!(pair[0].cmp(&pair[1]), Ordering::Less, "{pair:?}");
            assert_eq!(pair[1].cmp(&pair[0]), Ordering::Greater, "{pair:?}");
        }
    }

    #[test]
    fn overlapping_ranges_become_one() {
        let b = |s: &str| End::Before(s.as_bytes().to_vec());
        let a = |s: &str| End::After(s.as_bytes().to_vec());
        let mut ranges = vec![(b("m"), a("m")), (b("a"), a("c")), (b("b"), a("d")), (b("z"), b("y"))];
        merge(&mut ranges);
        assert_eq!(ranges, vec![(b("a"), a("d")), (b("m"), a("m"))]);
    }
}

//! `replica_type_conversions`: which columns take the values of other types of a log, and what becomes of these.

use super::Session;
use gannet_binlog::map::ColumnKind;
use gannet_core::vars::Live;
use gannet_types::convert::{self, StoreTarget};
use gannet_types::room::Room;
use gannet_types::{SqlMode, SqlType, Value};
use std::cmp::Ordering;

/// What is allowed beyond equal types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Allowed {
    lossy: bool,
    wider: bool,
    /// Integers of a log that does not say so, in columns of another size.
    pub(crate) unsigned: bool,
}

impl Allowed {
    pub(crate) fn of(session: &Session) -> Allowed {
        Allowed::named(session.server.globals.get(Live::ReplicaTypeConversions).as_str())
    }

    fn named(text: &str) -> Allowed {
        let has = |word: &str| text.split(',').any(|w| w == word);
        Allowed {
            lossy: has("ALL_LOSSY"),
            wider: has("ALL_NON_LOSSY"),
            unsigned: has("ALL_UNSIGNED") && !has("ALL_SIGNED"),
        }
    }

    /// Whether a column takes another's values, and whether these become others. `None`: it does not.
    pub(crate) fn takes(self, from: ColumnKind, to: ColumnKind) -> Option<bool> {
        use ColumnKind as K;
        let (same, order) = match (from, to) {
            (K::OldTime, K::Time(_)) | (K::OldDateTime, K::DateTime(_)) | (K::OldTimestamp, K::Timestamp(_)) => {
                return Some(false);
            }
            // A document is text in MariaDB.
            (K::VarChar(_) | K::Char(_) | K::Blob(_), K::Json(_)) => return Some(false),
            (K::Int(a), K::Int(b)) => (a == b, a.cmp(&b)),
            (K::Bit(a), K::Bit(b)) => (true, a.cmp(&b)),
            (K::Enum(a), K::Enum(b)) | (K::Set(a), K::Set(b)) => (true, a.cmp(&b)),
            // Without digits of the second the log says nothing of them.
            (K::Time(0), K::Time(_)) | (K::DateTime(0), K::DateTime(_)) | (K::Timestamp(0), K::Timestamp(_)) => {
                return Some(from != to);
            }
            (K::Time(a), K::Time(b)) | (K::DateTime(a), K::DateTime(b)) | (K::Timestamp(a), K::Timestamp(b)) => {
                (true, a.cmp(&b))
            }
            (K::Decimal(p, s), K::Decimal(to_p, to_s)) if (p, s) != (to_p, to_s) => {
                let fits = to_s >= s && to_p.saturating_sub(to_s) >= p.saturating_sub(s);
                (true, if fits { Ordering::Less } else { Ordering::Greater })
            }
            (K::Float, K::Double) => (false, Ordering::Less),
            (K::Double, K::Float) | (K::Decimal(..), K::Float | K::Double) | (K::Float | K::Double, K::Decimal(..)) => {
                (false, Ordering::Greater)
            }
            (K::VarChar(_) | K::Char(_) | K::Blob(_), K::VarChar(_) | K::Char(_) | K::Blob(_)) => {
                (from.number() == to.number(), bytes_of(from).cmp(&bytes_of(to)))
            }
            (a, b) if std::mem::discriminant(&a) == std::mem::discriminant(&b) => return Some(false),
            _ => return None,
        };
        let allowed = match order {
            Ordering::Equal => same || self.lossy || self.wider,
            Ordering::Less => self.wider,
            Ordering::Greater => self.lossy,
        };
        allowed.then_some(!same || order != Ordering::Equal)
    }
}

/// The longest text, in bytes.
fn bytes_of(kind: ColumnKind) -> u64 {
    match kind {
        ColumnKind::VarChar(n) | ColumnKind::Char(n) => n.into(),
        ColumnKind::Blob(n) => (1 << (8 * u32::from(n.min(4)))) - 1,
        _ => 0,
    }
}

/// A type of a log, as errors name it.
pub(crate) fn shown(kind: ColumnKind) -> String {
    use ColumnKind as K;
    match kind {
        K::Int(1) => "tinyint".into(),
        K::Int(2) => "smallint".into(),
        K::Int(3) => "mediumint".into(),
        K::Int(4) => "int".into(),
        K::Int(_) => "bigint".into(),
        K::Decimal(p, s) => format!("decimal({p},{s})"),
        K::Bit(n) => format!("bit({n})"),
        K::VarChar(n) => format!("varchar({n}(bytes))"),
        K::Char(n) => format!("char({n}(bytes))"),
        K::Blob(1) => "tinyblob".into(),
        K::Blob(2) => "blob".into(),
        K::Blob(3) => "mediumblob".into(),
        K::Blob(_) => "longblob".into(),
        K::Time(n) | K::DateTime(n) | K::Timestamp(n) if n > 0 => format!("{}({n})", plain(kind)),
        kind => plain(kind).into(),
    }
}

fn plain(kind: ColumnKind) -> &'static str {
    use ColumnKind as K;
    match kind {
        K::Float => "float",
        K::Double => "double",
        K::Year => "year",
        K::Date => "date",
        K::Time(_) | K::OldTime => "time",
        K::DateTime(_) | K::OldDateTime => "datetime",
        K::Timestamp(_) | K::OldTimestamp => "timestamp",
        K::Json(_) => "json",
        K::Enum(_) => "enum",
        K::Set(_) => "set",
        _ => "geometry",
    }
}

/// The nearest value that a column of this type has.
pub(crate) fn converted(session: &Session, value: &Value, ty: &SqlType) -> Value {
    let mut warnings = session.running.diagnostics.warnings.like();
    let mut conversion = convert::Context {
        mode: SqlMode::default(),
        zone: &session.settings.exec.time_zone,
        today: session.settings.exec.today,
        strict: false,
        warnings: &mut warnings,
        stopped: convert::never,
        room: Room::FREE,
    };
    let ty = SqlType { nullable: true, ..ty.clone() };
    let at = StoreTarget { column: "", row: 1 };
    convert::store(value.as_ref(), &ty, at, &mut conversion).unwrap_or_else(|_| value.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ColumnKind as K;

    #[test]
    fn what_is_taken_is_what_is_allowed() {
        let takes = |from, to| {
            ["", "ALL_NON_LOSSY", "ALL_LOSSY", "ALL_LOSSY,ALL_NON_LOSSY"].map(|t| Allowed::named(t).takes(from, to))
        };
        let (no, as_it_is, other) = (None, Some(false), Some(true));
        for (from, to, want) in [
            (K::Int(4), K::Int(4), [as_it_is; 4]),
            (K::Int(4), K::Int(8), [no, other, no, other]),
            (K::Int(8), K::Int(1), [no, no, other, other]),
            (K::Decimal(10, 2), K::Decimal(10, 2), [as_it_is; 4]),
            (K::Decimal(10, 2), K::Decimal(12, 4), [no, other, no, other]),
            (K::Decimal(10, 2), K::Decimal(11, 4), [no, no, other, other]),
            (K::Float, K::Double, [no, other, no, other]),
            (K::Decimal(10, 2), K::Double, [no, no, other, other]),
            (K::VarChar(10), K::VarChar(40), [no, other, no, other]),
            (K::VarChar(40), K::Char(10), [no, no, other, other]),
            (K::Char(10), K::VarChar(10), [no, other, other, other]),
            (K::VarChar(255), K::Blob(1), [no, other, other, other]),
            (K::Blob(2), K::Blob(4), [no, other, no, other]),
            (K::Bit(5), K::Bit(10), [no, other, no, other]),
            (K::DateTime(0), K::DateTime(6), [other; 4]),
            (K::DateTime(6), K::DateTime(0), [no, no, other, other]),
            (K::Timestamp(0), K::DateTime(0), [no; 4]),
            (K::Int(4), K::VarChar(40), [no; 4]),
            (K::OldTime, K::Time(0), [as_it_is; 4]),
            (K::Blob(4), K::Json(4), [as_it_is; 4]),
            (K::Enum(1), K::Enum(2), [no, other, no, other]),
            (K::Date, K::Date, [as_it_is; 4]),
        ] {
            assert_eq!(takes(from, to), want, "{from:?} {to:?}");
        }
        assert_eq!(
            shown(K::VarChar(40)) + &shown(K::DateTime(3)) + &shown(K::Int(3)),
            "varchar(40(bytes))datetime(3)mediumint"
        );
    }
}

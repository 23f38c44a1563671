//! Which collation an operation on several texts uses (manual, "Collation Coercibility in Expressions").

use super::{Collation, CollationId};
use crate::charset::Charset;
use crate::error::{Result, SqlError};
use crate::sql_err;

/// How firmly a text holds on to its collation; lower is firmer. The numbers are those of `COERCIBILITY()`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Coercibility {
    Explicit = 0,
    None = 1,
    Implicit = 2,
    SysConst = 3,
    Coercible = 4,
    Numeric = 5,
    Ignorable = 6,
}

impl Coercibility {
    /// As error 1267 prints it.
    pub fn as_str(self) -> &'static str {
        match self {
            Coercibility::Explicit => "EXPLICIT",
            Coercibility::None => "NONE",
            Coercibility::Implicit => "IMPLICIT",
            Coercibility::SysConst => "SYSCONST",
            Coercibility::Coercible => "COERCIBLE",
            Coercibility::Numeric => "NUMERIC",
            Coercibility::Ignorable => "IGNORABLE",
        }
    }
}

/// Collation of an expression and where it came from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CollationSource {
    pub collation: CollationId,
    pub coercibility: Coercibility,
    /// All characters are ASCII (literals, numbers), so any character set can hold the text.
    pub ascii_only: bool,
}

impl CollationSource {
    pub fn new(collation: CollationId, coercibility: Coercibility) -> CollationSource {
        CollationSource { collation, coercibility, ascii_only: false }
    }
}

/// What an operation needs the collation for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// It compares: two implicit collations that differ are an error.
    Compare,
    /// It makes text: two implicit collations that differ leave text of coercibility `None`.
    Result,
}

/// The collation in which two texts are compared: [`aggregate_for`] of two, to compare.
pub fn aggregate(a: CollationSource, b: CollationSource, operation: &str) -> Result<CollationSource> {
    aggregate_for(&[a, b], Purpose::Compare, operation)
}

/// The collation in which texts are compared: [`aggregate_for`], to compare.
pub fn aggregate_all(sources: &[CollationSource], operation: &str) -> Result<CollationSource> {
    aggregate_for(sources, Purpose::Compare, operation)
}

/// The collation of an operation on any number of texts; error 1267 for two, 1270 for three, 1271 for more if there is
/// none. `operation` is what the error names (`=`, `concat`).
pub fn aggregate_for(sources: &[CollationSource], purpose: Purpose, operation: &str) -> Result<CollationSource> {
    let Some((first, rest)) = sources.split_first() else {
        return Ok(CollationSource::new(CollationId::BINARY, Coercibility::Ignorable));
    };
    // Two character sets that do not go together leave nothing but a firmer third to settle it.
    let mut foreign = false;
    let plain = |s: &CollationSource| s.ascii_only || s.collation.charset() == Charset::Ascii;
    // A text that has taken in others beyond ASCII is no longer ASCII for those that follow; one that has taken over
    // is what it was before: MySQL forgets what it replaces.
    let mut seen_plain = plain(first);
    let mut merged = *first;
    for next in rest {
        let before = merged;
        merged = match pair(merged, *next, seen_plain) {
            Some(source) => source,
            None if merged.coercibility == Coercibility::Explicit && next.coercibility == Coercibility::Explicit => {
                return Err(mixed(sources, operation));
            }
            None => {
                foreign = true;
                CollationSource::new(CollationId::BINARY, Coercibility::None)
            }
        };
        let taken_over = merged.collation == next.collation && before.collation != next.collation;
        seen_plain = plain(next) && (taken_over || seen_plain);
    }
    let undecided = merged.coercibility == Coercibility::None && purpose == Purpose::Compare && !rest.is_empty();
    if undecided || foreign && merged.coercibility != Coercibility::Explicit {
        return Err(mixed(sources, operation));
    }
    Ok(merged)
}

/// The error of texts that do not go together: 1267 names two of them, 1270 three, 1271 none.
#[cold]
pub fn mixed(sources: &[CollationSource], operation: &str) -> SqlError {
    let name = |s: &CollationSource| s.collation.get().name;
    match sources {
        [a, b] => {
            sql_err!(
                CantAggregate2Collations,
                name(a),
                a.coercibility.as_str(),
                name(b),
                b.coercibility.as_str(),
                operation
            )
        }
        [a, b, c] => {
            let (x, y, z) = (a.coercibility.as_str(), b.coercibility.as_str(), c.coercibility.as_str());
            sql_err!(CantAggregate3Collations, name(a), x, name(b), y, name(c), z, operation)
        }
        _ => sql_err!(CantAggregateNcollations, operation),
    }
}

/// `None`: no collation. Coercibility `None` in the result: two implicit collations that a firmer third may still
/// settle.
fn pair(a: CollationSource, b: CollationSource, a_plain: bool) -> Option<CollationSource> {
    let ascii_only = a.ascii_only && b.ascii_only;
    if a.collation == b.collation {
        let coercibility = a.coercibility.min(b.coercibility);
        return Some(CollationSource { collation: a.collation, coercibility, ascii_only });
    }
    let (ca, cb) = (a.collation.charset(), b.collation.charset());
    let win = |s: CollationSource| Some(CollationSource { ascii_only, ..s });
    // What is NULL whatever it was made of stands against nothing.
    if a.coercibility == Coercibility::Ignorable && b.coercibility == Coercibility::Ignorable {
        return win(a);
    }
    if ca != cb {
        // Binary wins, unless the other side is firmer.
        if ca == Charset::Binary || cb == Charset::Binary {
            let (bin, other) = if ca == Charset::Binary { (a, b) } else { (b, a) };
            return win(if bin.coercibility <= other.coercibility { bin } else { other });
        }
        let b_plain = b.ascii_only || b.collation.charset() == Charset::Ascii;
        let a_first = a.coercibility <= b.coercibility;
        let (firm, loose) = if a_first { (a, b) } else { (b, a) };
        let (firm_plain, loose_plain) = if a_first { (a_plain, b_plain) } else { (b_plain, a_plain) };
        let equal = a.coercibility == b.coercibility;
        let (cf, cl) = (firm.collation.charset(), loose.collation.charset());
        let unicode = |c: Charset| matches!(c, Charset::Utf8mb3 | Charset::Utf8mb4) || c.is_wide();
        if equal {
            // Unicode takes the other in; utf8mb4 takes utf8mb3 in.
            return match (cf, cl) {
                (Charset::Utf8mb4, Charset::Utf8mb3) => win(firm),
                (Charset::Utf8mb3, Charset::Utf8mb4) => win(loose),
                // What holds every character takes in what does not.
                (
                    Charset::Utf8mb4 | Charset::Utf16 | Charset::Utf16le | Charset::Utf32,
                    Charset::Utf8mb3 | Charset::Ucs2,
                ) => win(firm),
                (
                    Charset::Utf8mb3 | Charset::Ucs2,
                    Charset::Utf8mb4 | Charset::Utf16 | Charset::Utf16le | Charset::Utf32,
                ) => win(loose),
                _ if unicode(cf) && !unicode(cl) => win(firm),
                _ if unicode(cl) && !unicode(cf) => win(loose),
                // What holds more takes ASCII in; of two that are ASCII none does.
                _ if loose_plain && !firm_plain => win(firm),
                _ if firm_plain && !loose_plain => win(loose),
                _ => None,
            };
        }
        if unicode(cf) || loose_plain || cl.is_subset_of(cf) || loose.coercibility >= Coercibility::SysConst {
            return win(firm);
        }
        return None;
    }
    if a.coercibility != b.coercibility {
        return win(if a.coercibility < b.coercibility { a } else { b });
    }
    if a.coercibility == Coercibility::Explicit {
        return None;
    }
    // Of two collations of one character set, equally firm, the `_bin` wins; else none does.
    if a.collation.get().is_bin() {
        return win(a);
    }
    if b.collation.get().is_bin() {
        return win(b);
    }
    let bin = Collation::binary_of(ca).id;
    Some(CollationSource { collation: bin, coercibility: Coercibility::None, ascii_only })
}

//! Key ranges as two cuts in the order of keys.

/// A place between keys.
///
/// Keys are memory-comparable encodings in which no encoded column value is a proper prefix of another, so a prefix of
/// columns can be cut before or after as a whole: with `e` the encoding of 5 as first column, `a >= 5` begins at
/// `Before(e)`, `a > 5` at `After(e)`; `a < 5` ends at `Before(e)`, `a <= 5` at `After(e)`; `a = 5` is
/// `Before(e)..After(e)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cut<'a> {
    /// Before all keys.
    Start,
    /// Just before the first key that is `>=` these bytes.
    Before(&'a [u8]),
    /// Just after the last key that begins with these bytes (the key itself included).
    After(&'a [u8]),
    /// After all keys.
    End,
}

/// The keys between two cuts. Empty when `lower` is not before `upper`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyRange<'a> {
    /// Where it begins.
    pub lower: Cut<'a>,
    /// Where it ends.
    pub upper: Cut<'a>,
}

impl<'a> KeyRange<'a> {
    /// Every key.
    pub const ALL: KeyRange<'static> = KeyRange { lower: Cut::Start, upper: Cut::End };

    /// Between two cuts.
    pub const fn new(lower: Cut<'a>, upper: Cut<'a>) -> Self {
        KeyRange { lower, upper }
    }

    /// All keys that begin with `prefix`: equality on leading columns, or on a whole key.
    pub const fn prefix(prefix: &'a [u8]) -> Self {
        KeyRange { lower: Cut::Before(prefix), upper: Cut::After(prefix) }
    }
}

/// The least byte string above every string that begins with `prefix`, written to `out`; false when there is none
/// (`prefix` is empty or all 0xff).
pub(crate) fn successor(prefix: &[u8], out: &mut Vec<u8>) -> bool {
    out.clear();
    let Some(last) = prefix.iter().rposition(|&b| b != 0xff) else { return false };
    out.extend_from_slice(&prefix[..=last]);
    out[last] += 1;
    true
}

/// Writes the byte string at or above (below) which the range lies; false when there is none.
pub(crate) fn write_bound(cut: Cut<'_>, out: &mut Vec<u8>) -> bool {
    match cut {
        Cut::Start | Cut::End => false,
        Cut::Before(k) => {
            out.extend_from_slice(k);
            true
        }
        Cut::After(k) => successor(k, out),
    }
}

/// The range is empty for want of keys that high, or that low.
pub(crate) fn is_beyond_all(range: KeyRange<'_>) -> bool {
    match (range.lower, range.upper) {
        (Cut::End, _) | (_, Cut::Start) => true,
        (Cut::After(k), _) => k.iter().all(|&b| b == 0xff),
        _ => false,
    }
}

/// Lower and upper bound of a range; `None` when it is empty for want of keys that high.
pub(crate) fn bounds(range: KeyRange<'_>) -> Option<(Option<Vec<u8>>, Option<Vec<u8>>)> {
    let bound = |cut| {
        let mut out = Vec::new();
        write_bound(cut, &mut out).then_some(out)
    };
    (!is_beyond_all(range)).then(|| (bound(range.lower), bound(range.upper)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn successor_is_least_above_prefix() {
        let mut out = Vec::new();
        assert!(successor(b"ab", &mut out));
        assert_eq!(out, b"ac");
        assert!(successor(&[1, 0xff, 0xff], &mut out));
        assert_eq!(out, [2]);
        assert!(!successor(&[0xff, 0xff], &mut out));
        assert!(!successor(b"", &mut out));
    }
}

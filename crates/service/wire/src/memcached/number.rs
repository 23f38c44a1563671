//! Numbers in requests, as memcached reads them.

/// The answer to a number that is none, and to other faults of a line.
pub(crate) const FORMAT: &str = "CLIENT_ERROR bad command line format";

/// A number as the C library reads it: blanks before it, a sign, digits, and nothing, a blank or a zero behind them.
fn digits(word: &[u8]) -> Option<(bool, u64)> {
    // The usual form: a few digits. Eighteen of them are below 2^64.
    if let 1..=18 = word.len()
        && word.iter().all(u8::is_ascii_digit)
    {
        return Some((false, word.iter().fold(0, |n, b| n * 10 + u64::from(b - b'0'))));
    }
    let begin = word.iter().take_while(|b| is_space(**b)).count();
    let (negative, digits) = match &word[begin..] {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let end = digits.iter().take_while(|b| b.is_ascii_digit()).count();
    if end == 0 || digits.get(end).is_some_and(|b| *b != 0 && !is_space(*b)) {
        return None;
    }
    let number = digits[..end].iter().try_fold(0u64, |n, b| n.checked_mul(10)?.checked_add(u64::from(b - b'0')))?;
    Some((negative, number))
}

fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t'..=b'\r')
}

/// A number of 64 bits, of a request or of an item that counts. What stands behind a blank is passed over. A negative
/// one is taken modulo 2^64, and refused where that has the highest bit.
pub fn unsigned(word: &[u8]) -> Option<u64> {
    match digits(word)? {
        (false, n) => Some(n),
        (true, n) => i64::try_from(n.wrapping_neg()).ok().map(i64::cast_unsigned),
    }
}

/// A number of 64 bits of which 32 are taken: times are that in memcached.
pub(crate) fn signed(word: &[u8]) -> Option<i32> {
    let (negative, n) = digits(word)?;
    let n = if negative { 0i64.checked_sub_unsigned(n) } else { i64::try_from(n).ok() };
    n.map(|n| n as i32)
}

/// Bytes of a value.
pub(crate) fn length(word: &[u8]) -> Option<usize> {
    signed(word).filter(|n| (0..=i32::MAX - 2).contains(n)).map(|n| n as usize)
}

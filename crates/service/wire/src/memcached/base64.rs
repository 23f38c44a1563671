//! Base64 of meta keys: the alphabet of RFC 4648 with padding.

/// The bytes; `None` for what is none.
pub fn decode(text: &[u8]) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (groups, _) = text.as_chunks::<4>();
    for (n, group) in groups.iter().enumerate() {
        let padding = group.iter().rev().take_while(|b| **b == b'=').count();
        if padding > 2 || (padding > 0 && n + 1 != groups.len()) {
            return None;
        }
        let digits = group[..4 - padding].iter().try_fold(0u32, |bits, b| Some(bits << 6 | u32::from(digit(*b)?)))?;
        let bits = digits << (6 * padding);
        out.extend_from_slice(&bits.to_be_bytes()[1..4 - padding]);
    }
    Some(out)
}

fn digit(b: u8) -> Option<u8> {
    Some(match b {
        b'A'..=b'Z' => b - b'A',
        b'a'..=b'z' => b - b'a' + 26,
        b'0'..=b'9' => b - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn texts_are_decoded_or_refused() {
        for (text, bytes) in
            [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYg==", "foob"), ("+/+/", "\u{0}")]
        {
            let expected = if text == "+/+/" { vec![0xfb, 0xff, 0xbf] } else { bytes.as_bytes().to_vec() };
            assert_eq!(decode(text.as_bytes()), Some(expected), "{text}");
        }
        for text in ["a", "ab", "abc", "====", "a===", "Zg==Zg==", "Zm9\u{1}", "Z=g="] {
            assert_eq!(decode(text.as_bytes()), None, "{text}");
        }
    }
}

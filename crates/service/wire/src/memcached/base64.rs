//! Base64 as memcached reads it in keys: other characters and what stands behind the padding are passed over, padding
//! may stand anywhere in its four letters, and bits beyond the last byte may be anything. Written it is as everybody
//! does.

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const PAD: u8 = b'=';

/// The bytes that a text stands for, at least one.
pub fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let letters: Vec<u8> = text.iter().copied().filter(|b| *b == PAD || LETTERS.contains(b)).collect();
    if !letters.len().is_multiple_of(4) {
        return None;
    }
    let mut out = Vec::with_capacity(letters.len() / 4 * 3);
    for four in letters.chunks_exact(4) {
        let pads = four.iter().filter(|b| **b == PAD).count();
        if pads > 2 {
            return None;
        }
        // Padding stands for bits of 0.
        let value = |letter: &u8| LETTERS.iter().position(|l| l == letter).unwrap_or(0) as u32;
        let bits = four.iter().fold(0, |bits, letter| bits << 6 | value(letter));
        out.extend_from_slice(&bits.to_be_bytes()[1..4 - pads]);
        if pads > 0 {
            break;
        }
    }
    Some(out).filter(|out| !out.is_empty())
}

/// Appends the text of some bytes.
pub fn encode(bytes: &[u8], out: &mut Vec<u8>) {
    for three in bytes.chunks(3) {
        let bits = (0..3).fold(0u32, |bits, i| bits << 8 | u32::from(*three.get(i).unwrap_or(&0)));
        for i in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * i) & 63) as usize];
            out.push(if i <= three.len() { letter } else { PAD });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for (bytes, text) in [(&b"k1"[..], "azE="), (b"a", "YQ=="), (b"\xff\0\xfe", "/wD+"), (b"four", "Zm91cg==")] {
            let mut out = Vec::new();
            encode(bytes, &mut out);
            assert_eq!((str::from_utf8(&out), decode(text.as_bytes())), (Ok(text), Some(bytes.to_vec())));
        }
        for loose in [&b"azF="[..], b"azE=azE=", b"a!zE=", b"az\xffE="] {
            assert_eq!(decode(loose), Some(b"k1".to_vec()), "{loose:?}");
        }
        assert_eq!([&b"a=a="[..], b"=zE="].map(decode), [Some(vec![0x68]), Some(vec![3])]);
        assert_eq!([&b""[..], b"azE", b"a===", b"====", b"az\xffE", b"!!!!"].map(decode), [const { None }; 6]);
    }
}

//! Base64 as memcached reads it in keys: what stands behind the padding is passed over, and bits beyond the last byte
//! may be anything. Written it is as everybody does.

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const PAD: u8 = b'=';

/// The bytes that a text stands for, at least one.
pub fn decode(text: &[u8]) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    for four in text.chunks_exact(4) {
        let pads = four.iter().rev().take_while(|b| **b == PAD).count();
        let letters = four.get(..4 - pads).filter(|letters| letters.len() > 1)?;
        let mut bits = 0u32;
        for letter in letters {
            bits = bits << 6 | LETTERS.iter().position(|l| l == letter)? as u32;
        }
        let bytes = (bits << (6 * pads)).to_be_bytes();
        out.extend_from_slice(&bytes[1..4 - pads]);
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
        assert_eq!([&b"azF="[..], b"azE=azE="].map(decode), [Some(b"k1".to_vec()), Some(b"k1".to_vec())]);
        assert_eq!([&b""[..], b"azE", b"a===", b"====", b"a=b=", b"az\xffE", b"!!!!"].map(decode), [const { None }; 7]);
    }
}

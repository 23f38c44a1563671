//! The first eight bytes of a text's order.
//!
//! Most weights of two bytes are those of few characters: these are a byte here, and others a byte between those of
//! their neighbours and the weight itself, so that a prefix goes further than four characters and orders all the same.

use super::uca::ASCII_900;

/// A prefix in the making.
#[derive(Default)]
pub(super) struct Prefix {
    bits: u64,
    len: u32,
}

impl Prefix {
    #[inline]
    fn push(&mut self, byte: u8) {
        if self.len < 8 {
            self.bits |= u64::from(byte) << (56 - 8 * self.len);
            self.len += 1;
        }
    }

    #[inline]
    fn push_code(&mut self, (byte, weight): (u8, Option<u16>)) {
        self.push(byte);
        if let Some(weight) = weight {
            weight.to_be_bytes().into_iter().for_each(|byte| self.push(byte));
        }
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.len == 8
    }

    /// With what follows the text's end.
    #[inline]
    pub(super) fn filled(mut self, fill: (u8, Option<u16>)) -> u64 {
        while !self.is_full() {
            self.push_code(fill);
        }
        self.bits
    }

    /// Of weights, each as `code` says.
    pub(super) fn of(weights: impl Iterator<Item = u16>, code: fn(u16) -> (u8, Option<u16>)) -> Prefix {
        let mut prefix = Prefix::default();
        for weight in weights {
            prefix.push_code(code(weight));
            if prefix.is_full() {
                break;
            }
        }
        prefix
    }

    /// Of the primary weights of a text in 9.0.0; `None`: it is not all ASCII.
    #[inline]
    pub(super) fn of_ascii_900(text: &[u8]) -> Option<Prefix> {
        let mut prefix = Prefix::default();
        for byte in text {
            match RANKS_900.get(usize::from(*byte))? {
                0 => {}
                rank => prefix.push(*rank),
            }
            if prefix.is_full() {
                break;
            }
        }
        Some(prefix)
    }
}

/// Appends the codes of a text's primary weights in 9.0.0; false: it is not all ASCII, and nothing is appended.
pub(super) fn put_ascii_900(text: &[u8], out: &mut Vec<u8>) -> bool {
    if !text.is_ascii() {
        return false;
    }
    let start = out.len();
    let mut ignored = false;
    out.extend(text.iter().map(|byte| {
        let code = RANKS_900[usize::from(byte & 0x7F)];
        ignored |= code == 0;
        code
    }));
    if ignored {
        let mut at = start;
        for n in start..out.len() {
            out[at] = out[n];
            at += usize::from(out[n] != 0);
        }
        out.truncate(at);
    }
    true
}

pub(super) fn put_code((byte, weight): (u8, Option<u16>), out: &mut Vec<u8>) {
    out.push(byte);
    out.extend(weight.into_iter().flat_map(u16::to_be_bytes));
}

/// Codes of weights that are code points, or nearly so.
pub(super) fn code_of_point(weight: u16) -> (u8, Option<u16>) {
    match u8::try_from(weight) {
        Ok(byte) if byte < 0xFF => (byte, None),
        _ => (0xFF, Some(weight)),
    }
}

/// Codes of primary weights in 9.0.0: even for those that an ASCII character has.
pub(super) fn code_900(weight: u16) -> (u8, Option<u16>) {
    match (weight, ASCII_900.contains(&weight)) {
        (0, _) => (0, None),
        (_, true) => (rank_900(weight) * 2 + 2, None),
        (_, false) => (rank_900(weight) * 2 + 1, Some(weight)),
    }
}

/// ASCII characters that weigh something, and less.
const fn rank_900(weight: u16) -> u8 {
    let (mut rank, mut c) = (0, 0);
    while c < 128 {
        let other = ASCII_900[c];
        rank += (other != 0 && other < weight) as u8;
        c += 1;
    }
    rank
}

/// The codes of ASCII characters; 0 for those that are ignored.
static RANKS_900: [u8; 128] = {
    let mut ranks = [0; 128];
    let mut c = 0;
    while c < 128 {
        if ASCII_900[c] != 0 {
            ranks[c] = rank_900(ASCII_900[c]) * 2 + 2;
        }
        c += 1;
    }
    ranks
};

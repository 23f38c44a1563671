//! The little of DER (X.690) that certificates need: tag, length, contents.

/// Tags in use.
pub(super) mod tag {
    pub const BOOLEAN: u8 = 1;
    pub const INTEGER: u8 = 2;
    pub const BIT_STRING: u8 = 3;
    pub const OCTET_STRING: u8 = 4;
    pub const OID: u8 = 6;
    pub const UTF8_STRING: u8 = 12;
    pub const UTC_TIME: u8 = 23;
    pub const GENERALIZED_TIME: u8 = 24;
    pub const SEQUENCE: u8 = 0x30;
    pub const SET: u8 = 0x31;
    /// `[n]`, constructed.
    pub const fn context(n: u8) -> u8 {
        0xA0 | n
    }
}

/// One element of these parts.
pub(super) fn put(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let len: usize = parts.iter().map(|p| p.len()).sum();
    let mut out = vec![tag];
    match len {
        0..0x80 => out.push(len as u8),
        0x80..0x100 => out.extend([0x81, len as u8]),
        0x100..0x1_0000 => out.extend([0x82, (len >> 8) as u8, len as u8]),
        _ => out.extend([0x83, (len >> 16) as u8, (len >> 8) as u8, len as u8]),
    }
    parts.iter().for_each(|p| out.extend_from_slice(p));
    out
}

/// Reads elements one after the other.
#[derive(Clone, Copy)]
pub(super) struct Elements<'a>(pub(super) &'a [u8]);

impl<'a> Elements<'a> {
    /// The next element: its tag and contents. `None` at the end, and where the bytes are none.
    pub(super) fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&[tag, first], mut rest) = self.0.split_first_chunk::<2>()?;
        let len = match first {
            0..=0x7F => usize::from(first),
            0x81..=0x84 => {
                let (digits, after) = rest.split_at_checked(usize::from(first & 0x7F))?;
                rest = after;
                digits.iter().fold(0, |n, d| n << 8 | usize::from(*d))
            }
            _ => return None,
        };
        let (contents, rest) = rest.split_at_checked(len)?;
        self.0 = rest;
        Some((tag, contents))
    }

    /// The contents of the next element, which has this tag.
    pub(super) fn expect(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.next().filter(|(t, _)| *t == tag).map(|(_, c)| c)
    }
}

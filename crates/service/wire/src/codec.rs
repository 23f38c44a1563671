//! Bounded reading and the length-encoded forms of the protocol.

/// The bytes do not form what the protocol expects at this place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("malformed packet")
    }
}

impl std::error::Error for Malformed {}

/// Reads a payload from the front; every method checks what is left.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// A reader over the whole of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// What has not been read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// True at the end of the payload.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next `n` bytes.
    pub fn bytes(&mut self, n: usize) -> Result<&'a [u8], Malformed> {
        let (head, tail) = self.rest.split_at_checked(n).ok_or(Malformed)?;
        self.rest = tail;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (head, tail) = self.rest.split_first_chunk::<N>().ok_or(Malformed)?;
        self.rest = tail;
        Ok(*head)
    }

    /// One byte.
    pub fn u8(&mut self) -> Result<u8, Malformed> {
        Ok(self.array::<1>()?[0])
    }

    /// Two bytes, little-endian.
    pub fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_le_bytes)
    }

    /// Three bytes, little-endian.
    pub fn u24(&mut self) -> Result<u32, Malformed> {
        let [a, b, c] = self.array::<3>()?;
        Ok(u32::from_le_bytes([a, b, c, 0]))
    }

    /// Four bytes, little-endian.
    pub fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    /// Eight bytes, little-endian.
    pub fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
    }

    /// A length-encoded integer. `0xFB` (NULL in text rows) and `0xFF` are malformed here.
    pub fn lenenc(&mut self) -> Result<u64, Malformed> {
        match self.u8()? {
            n @ 0..=0xFA => Ok(u64::from(n)),
            0xFC => self.u16().map(u64::from),
            0xFD => self.u24().map(u64::from),
            0xFE => self.u64(),
            _ => Err(Malformed),
        }
    }

    /// A string preceded by its length-encoded length.
    pub fn lenenc_bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let n = self.lenenc()?;
        self.bytes(usize::try_from(n).map_err(|_| Malformed)?)
    }

    /// A value of a text row: `None` for NULL.
    pub fn lenenc_bytes_or_null(&mut self) -> Result<Option<&'a [u8]>, Malformed> {
        if self.rest.first() == Some(&0xFB) {
            self.bytes(1)?;
            return Ok(None);
        }
        self.lenenc_bytes().map(Some)
    }

    /// A string up to NUL, which is taken too.
    pub fn nul_bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let at = self.rest.iter().position(|&b| b == 0).ok_or(Malformed)?;
        let s = self.bytes(at)?;
        self.bytes(1)?;
        Ok(s)
    }

    /// A string up to NUL or up to the end: old clients leave the last NUL out.
    pub fn nul_or_rest(&mut self) -> &'a [u8] {
        match self.nul_bytes() {
            Ok(s) => s,
            Err(Malformed) => std::mem::take(&mut self.rest),
        }
    }
}

/// Bytes that [`put_lenenc`] writes for `n`.
pub fn lenenc_len(n: u64) -> usize {
    match n {
        0..=0xFA => 1,
        0xFB..=0xFFFF => 3,
        0x1_0000..=0xFF_FFFF => 4,
        _ => 9,
    }
}

/// Appends a length-encoded integer.
#[inline]
pub fn put_lenenc(out: &mut Vec<u8>, n: u64) {
    if n < 0xFB {
        out.push(n as u8);
    } else {
        put_lenenc_long(out, n);
    }
}

fn put_lenenc_long(out: &mut Vec<u8>, n: u64) {
    let le = n.to_le_bytes();
    match n {
        0..=0xFFFF => out.extend_from_slice(&[0xFC, le[0], le[1]]),
        0x1_0000..=0xFF_FFFF => out.extend_from_slice(&[0xFD, le[0], le[1], le[2]]),
        _ => {
            out.push(0xFE);
            out.extend_from_slice(&le);
        }
    }
}

/// Appends a string with its length-encoded length.
#[inline]
pub fn put_lenenc_bytes(out: &mut Vec<u8>, s: &[u8]) {
    put_lenenc(out, s.len() as u64);
    out.extend_from_slice(s);
}

/// Appends a string and NUL. A NUL inside would end the string early at the reader: it is cut there.
pub fn put_nul_bytes(out: &mut Vec<u8>, s: &[u8]) {
    out.extend(s.iter().take_while(|&&b| b != 0));
    out.push(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lenenc_round_trips_at_every_border() {
        for n in [0, 1, 0xFA, 0xFB, 0xFC, 0xFF, 0x100, 0xFFFF, 0x1_0000, 0xFF_FFFF, 0x100_0000, u64::MAX] {
            let mut out = Vec::new();
            put_lenenc(&mut out, n);
            assert_eq!(out.len(), lenenc_len(n));
            let mut r = Reader::new(&out);
            assert_eq!(r.lenenc(), Ok(n));
            assert!(r.is_empty());
            for cut in 0..out.len() {
                assert_eq!(Reader::new(&out[..cut]).lenenc(), Err(Malformed));
            }
        }
        assert_eq!(Reader::new(&[0xFF]).lenenc(), Err(Malformed));
        assert_eq!(Reader::new(&[0xFB]).lenenc_bytes_or_null(), Ok(None));
    }

    #[test]
    fn promised_lengths_are_checked() {
        let mut huge = vec![0xFE];
        huge.extend_from_slice(&u64::MAX.to_le_bytes());
        huge.push(b'x');
        assert_eq!(Reader::new(&huge).lenenc_bytes(), Err(Malformed));
        assert_eq!(Reader::new(b"abc").nul_bytes(), Err(Malformed));
        assert_eq!(Reader::new(b"abc").nul_or_rest(), b"abc");
    }
}

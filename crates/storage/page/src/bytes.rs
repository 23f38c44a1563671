//! Reading page bytes from memory that is stable or not.
//!
//! An optimistic reader looks at a frame while another thread may be writing it. It must not make a reference to such
//! bytes; it copies words and validates afterwards. [`PageBytes`] is that access: the reading code is written once and
//! runs over a stable [`PageBuf`] as well as over a frame read by racing word loads. All offsets are clamped into the
//! page, so that torn values read before validation cannot lead outside.

use std::cmp::Ordering;

use gannet_base::PAGE_SIZE;

use crate::PageBuf;

/// Eight-byte words in a page.
pub const WORDS: usize = PAGE_SIZE / 8;

/// Read access to the bytes of one page. What a racing implementation returns means nothing before it is validated.
pub trait PageBytes {
    /// Word `i` (bytes `8 i ..`), little-endian. `i` wraps at [`WORDS`].
    fn word(&self, i: usize) -> u64;

    /// The bytes, when nobody can be writing them.
    #[inline]
    fn stable(&self) -> Option<&PageBuf> {
        None
    }

    /// The byte at `at`, which wraps at the page's end.
    #[inline]
    fn u8_at(&self, at: usize) -> u8 {
        (self.word(at / 8) >> (at % 8 * 8)) as u8
    }

    /// Two bytes at `at`; wraps at the page's end.
    #[inline]
    fn u16_at(&self, at: usize) -> u16 {
        if at % 8 <= 6 { (self.word(at / 8) >> (at % 8 * 8)) as u16 } else { self.u64_at(at) as u16 }
    }

    /// Four bytes at `at`; wraps at the page's end.
    #[inline]
    fn u32_at(&self, at: usize) -> u32 {
        if at % 8 <= 4 { (self.word(at / 8) >> (at % 8 * 8)) as u32 } else { self.u64_at(at) as u32 }
    }

    /// Eight bytes at `at`; wraps at the page's end.
    #[inline]
    fn u64_at(&self, at: usize) -> u64 {
        let shift = at % 8 * 8;
        let low = self.word(at / 8);
        if shift == 0 { low } else { low >> shift | self.word(at / 8 + 1) << (64 - shift) }
    }

    /// Appends `len` bytes from `at` to `out`; what lies outside of the page is left out.
    #[inline]
    fn copy_to(&self, at: usize, len: usize, out: &mut Vec<u8>) {
        let at = at.min(PAGE_SIZE);
        let len = len.min(PAGE_SIZE - at);
        if let Some(page) = self.stable() {
            out.extend_from_slice(&page.0[at..at + len]);
            return;
        }
        out.reserve(len + 8);
        let mut i = 0;
        while i + 8 <= len {
            out.extend_from_slice(&self.u64_at(at + i).to_le_bytes());
            i += 8;
        }
        if i < len {
            out.extend_from_slice(&self.u64_at(at + i).to_le_bytes()[..len - i]);
        }
    }

    /// Fills `out` with the bytes from `at`; what lies outside of the page becomes zero.
    #[inline]
    fn read(&self, at: usize, out: &mut [u8]) {
        let at = at.min(PAGE_SIZE);
        let len = out.len().min(PAGE_SIZE - at);
        let (inside, outside) = out.split_at_mut(len);
        outside.fill(0);
        if let Some(page) = self.stable() {
            inside.copy_from_slice(&page.0[at..at + len]);
            return;
        }
        for (i, chunk) in inside.chunks_mut(8).enumerate() {
            chunk.copy_from_slice(&self.u64_at(at + 8 * i).to_le_bytes()[..chunk.len()]);
        }
    }

    /// Copies the whole page.
    #[inline]
    fn copy_page(&self, out: &mut PageBuf) {
        for (i, chunk) in out.0.chunks_exact_mut(8).enumerate() {
            chunk.copy_from_slice(&self.word(i).to_le_bytes());
        }
    }

    /// Compares `len` bytes at `at` with `key`, as `memcmp` and then by length would. Clamped to the page.
    #[inline]
    fn compare(&self, at: usize, len: usize, key: &[u8]) -> Ordering {
        let at = at.min(PAGE_SIZE);
        let len = len.min(PAGE_SIZE - at);
        if let Some(page) = self.stable() {
            return page.0[at..at + len].cmp(key);
        }
        let both = len.min(key.len());
        let mut i = 0;
        while i < both {
            let theirs = self.u64_at(at + i).swap_bytes();
            let ours = be_word(&key[i..both]);
            let mask = if both - i >= 8 { u64::MAX } else { !(u64::MAX >> ((both - i) * 8)) };
            if (theirs & mask) != ours {
                return (theirs & mask).cmp(&ours);
            }
            i += 8;
        }
        len.cmp(&key.len())
    }
}

/// The first eight bytes as a big-endian number, missing ones zero.
#[inline]
pub(crate) fn be_word(bytes: &[u8]) -> u64 {
    if let Some(eight) = bytes.first_chunk() {
        return u64::from_be_bytes(*eight);
    }
    // Two halves that overlap say the same of the bytes that they share.
    let shift = |n: usize| 64 - 8 * n;
    match (bytes.first_chunk(), bytes.last_chunk(), bytes) {
        (Some(first), Some(last), _) => {
            u64::from(u32::from_be_bytes(*first)) << 32 | u64::from(u32::from_be_bytes(*last)) << shift(bytes.len())
        }
        (_, _, [a, b, c]) => u64::from(*a) << 56 | u64::from(*b) << 48 | u64::from(*c) << 40,
        (_, _, [a, b]) => u64::from(*a) << 56 | u64::from(*b) << 48,
        (_, _, [a]) => u64::from(*a) << 56,
        _ => 0,
    }
}

impl PageBytes for PageBuf {
    #[inline]
    fn word(&self, i: usize) -> u64 {
        let at = i % WORDS * 8;
        u64::from_le_bytes(*self.0[at..].first_chunk().expect("WORDS bounds the index"))
    }

    #[inline]
    fn stable(&self) -> Option<&PageBuf> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads like a racing frame does: by words only.
    struct Words<'a>(&'a PageBuf);
    impl PageBytes for Words<'_> {
        fn word(&self, i: usize) -> u64 {
            self.0.word(i)
        }
    }

    fn page() -> Box<PageBuf> {
        let mut p = PageBuf::boxed();
        for (i, b) in p.0.iter_mut().enumerate() {
            *b = (i * 7 + i / 251) as u8;
        }
        p
    }

    #[test]
    fn word_access_equals_byte_access() {
        let p = page();
        for at in (0..64).chain(PAGE_SIZE - 64..PAGE_SIZE) {
            assert_eq!(Words(&p).u8_at(at), p.0[at]);
            if at + 8 <= PAGE_SIZE {
                let b: [u8; 8] = p.0[at..at + 8].try_into().unwrap();
                assert_eq!(Words(&p).u64_at(at), u64::from_le_bytes(b));
                assert_eq!(Words(&p).u32_at(at), u64::from_le_bytes(b) as u32);
                assert_eq!(Words(&p).u16_at(at), u64::from_le_bytes(b) as u16);
            }
            for len in 0..40 {
                let mut out = vec![1];
                Words(&p).copy_to(at, len, &mut out);
                let end = (at + len).min(PAGE_SIZE);
                assert_eq!(&out[1..], &p.0[at..end]);
                let mut exact = vec![9; len];
                Words(&p).read(at, &mut exact);
                assert_eq!(&exact[..end - at], &p.0[at..end]);
            }
        }
    }

    #[test]
    fn words_of_few_bytes() {
        let bytes = [0xF1, 0x02, 0xE3, 0x04, 0xD5, 0x06, 0xC7, 0x08, 0xB9];
        for len in 0..=bytes.len() {
            let by_byte = (0..8).fold(0, |word, i| word << 8 | bytes[..len].get(i).map_or(0, |b| u64::from(*b)));
            assert_eq!(be_word(&bytes[..len]), by_byte, "{len} bytes");
        }
    }

    #[test]
    fn compare_is_memcmp() {
        let p = page();
        for at in [100, 101, 107, PAGE_SIZE - 20] {
            for len in 0..20 {
                let own = &p.0[at..at + len];
                for cut in 0..=len {
                    for delta in [0u8, 1, 255] {
                        let mut key = own[..cut].to_vec();
                        if let Some(last) = key.last_mut() {
                            *last = last.wrapping_add(delta);
                        }
                        assert_eq!(Words(&p).compare(at, len, &key), own.cmp(&key));
                        assert_eq!(p.compare(at, len, &key), own.cmp(&key));
                        key.push(0);
                        assert_eq!(Words(&p).compare(at, len, &key), own.cmp(&key));
                    }
                }
            }
        }
    }

    #[test]
    fn wild_offsets_stay_inside() {
        let p = page();
        let mut out = Vec::new();
        Words(&p).copy_to(usize::MAX - 3, 7, &mut out);
        Words(&p).copy_to(PAGE_SIZE - 3, usize::MAX, &mut out);
        assert_eq!(out, &p.0[PAGE_SIZE - 3..]);
        let _ = (Words(&p).u64_at(PAGE_SIZE - 1), Words(&p).compare(70000, 70000, b"x"), p.compare(70000, 1, b"x"));
    }
}

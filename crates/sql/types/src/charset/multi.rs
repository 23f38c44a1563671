//! Character sets of several bytes that are not Unicode: what is a character, which one it is, and back.
//!
//! The maps are those of MySQL (`data/multi.py` measures them and tells their format); each is unpacked when it is
//! first needed. A byte below 0x80 is ASCII where a character begins, but may be the end of one as well.

use super::Charset;
use std::sync::LazyLock;

static DATA: &[u8] = include_bytes!("../../data/multi.bin");

/// Bytes of the weights behind the maps.
const WEIGHT_BYTES: usize = 126 * 190 * 2;

/// A map in the data, in their order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Set {
    Gbk,
    Gb2312,
    Gb18030,
    Big5,
    Cp932,
    Sjis,
    /// JIS X 0208, and behind a third byte JIS X 0212.
    Eucjpms,
    Eucjpms3,
    Ujis,
    Ujis3,
    Euckr,
}

const SETS: usize = Set::Euckr as usize + 1;

/// The characters of codes of two bytes.
struct Map {
    /// By place in the grid; 0 where there is none.
    chars: Vec<u16>,
    /// By character; 0 where there is none.
    codes: Vec<u16>,
    /// gb18030: the characters of the basic plane that have codes of four bytes, in their order.
    longer: Vec<u16>,
}

static MAPS: [LazyLock<Map>; SETS] = [
    LazyLock::new(|| unpack(Set::Gbk)),
    LazyLock::new(|| unpack(Set::Gb2312)),
    LazyLock::new(|| unpack(Set::Gb18030)),
    LazyLock::new(|| unpack(Set::Big5)),
    LazyLock::new(|| unpack(Set::Cp932)),
    LazyLock::new(|| unpack(Set::Sjis)),
    LazyLock::new(|| unpack(Set::Eucjpms)),
    LazyLock::new(|| unpack(Set::Eucjpms3)),
    LazyLock::new(|| unpack(Set::Ujis)),
    LazyLock::new(|| unpack(Set::Ujis3)),
    LazyLock::new(|| unpack(Set::Euckr)),
];

impl Set {
    fn map(self) -> &'static Map {
        &MAPS[self as usize]
    }

    /// Least and greatest lead byte, and trail bytes as ranges.
    fn grid(self) -> (&'static [(u8, u8)], &'static [(u8, u8)]) {
        match self {
            Set::Gbk | Set::Gb18030 => (&[(0x81, 0xFE)], &[(0x40, 0x7E), (0x80, 0xFE)]),
            Set::Big5 => (&[(0xA1, 0xF9)], &[(0x40, 0x7E), (0xA1, 0xFE)]),
            Set::Cp932 | Set::Sjis => (&[(0x81, 0x9F), (0xE0, 0xFC)], &[(0x40, 0x7E), (0x80, 0xFC)]),
            Set::Euckr => (&[(0x81, 0xFE)], &[(0x41, 0x5A), (0x61, 0x7A), (0x81, 0xFE)]),
            // The last rows of gb2312 have no characters.
            Set::Gb2312 | Set::Eucjpms | Set::Eucjpms3 | Set::Ujis | Set::Ujis3 => (&[(0xA1, 0xFE)], &[(0xA1, 0xFE)]),
        }
    }

    /// The place of a code in the grid.
    fn place(self, lead: u8, trail: u8) -> Option<usize> {
        let (leads, trails) = self.grid();
        Some(place_in(leads, lead)? * width(trails) + place_in(trails, trail)?)
    }

    /// The codes of the grid in their order.
    fn all(self) -> impl Iterator<Item = u16> {
        let (leads, trails) = self.grid();
        let bytes = |ranges: &'static [(u8, u8)]| ranges.iter().flat_map(|(from, to)| *from..=*to);
        bytes(leads).flat_map(move |lead| bytes(trails).map(move |trail| u16::from_be_bytes([lead, trail])))
    }

    /// What the set is told as a difference to has at a code.
    fn base(self, code: u16) -> u16 {
        let [lead, trail] = code.to_be_bytes();
        let (base, lead, trail) = match self {
            Set::Gb2312 | Set::Gb18030 => (Set::Gbk, lead, trail),
            Set::Sjis => (Set::Cp932, lead, trail),
            Set::Ujis3 => (Set::Eucjpms3, lead, trail),
            Set::Eucjpms | Set::Ujis => {
                // Two rows of 94 characters are one of 188.
                let (row, cell) = (lead - 0xA1, trail - 0xA1 + row_shift(lead));
                let lead = row / 2 + if row < 62 { 0x81 } else { 0xC1 };
                (Set::Cp932, lead, cell + 0x40 + u8::from(cell >= 0x3F))
            }
            _ => return 0,
        };
        base.place(lead, trail).map_or(0, |at| base.map().chars[at])
    }
}

/// Where the cells of a row begin in the doubled row.
fn row_shift(lead: u8) -> u8 {
    if (lead - 0xA1).is_multiple_of(2) { 0 } else { 94 }
}

fn width(ranges: &[(u8, u8)]) -> usize {
    ranges.iter().map(|(from, to)| usize::from(to - from) + 1).sum()
}

fn place_in(ranges: &[(u8, u8)], byte: u8) -> Option<usize> {
    let mut before = 0;
    for (from, to) in ranges {
        if (*from..=*to).contains(&byte) {
            return Some(before + usize::from(byte - from));
        }
        before += usize::from(to - from) + 1;
    }
    None
}

fn varint(rest: &mut &[u8]) -> Option<u32> {
    let (mut n, mut shift) = (0, 0);
    loop {
        let (first, behind) = rest.split_first()?;
        *rest = behind;
        n |= u32::from(first & 0x7F) << shift;
        if *first < 0x80 {
            return Some(n);
        }
        shift += 7;
    }
}

fn unpack(set: Set) -> Map {
    let mut rest = DATA;
    let mut own: &[u8] = &[];
    for _ in 0..=set as usize {
        let (len, behind) = rest.split_at(4);
        let len = u32::from_le_bytes([len[0], len[1], len[2], len[3]]) as usize;
        (own, rest) = behind.split_at(len);
    }
    let mut chars = Vec::new();
    let (mut run, mut copied, mut last) = (0, false, 0u16);
    for code in set.all() {
        if run == 0 {
            let op = varint(&mut own).unwrap_or(0);
            copied = op == 1;
            match op {
                0 | 1 => run = varint(&mut own).unwrap_or(u32::MAX),
                _ => {
                    let n = op - 2;
                    let delta = (n >> 1) as i32 ^ -((n & 1) as i32);
                    last = (i32::from(last) + delta) as u16;
                    chars.push(last);
                    continue;
                }
            }
        }
        run -= 1;
        chars.push(if copied { set.base(code) } else { 0 });
        if copied {
            last = set.base(code);
        }
    }
    let mut codes = vec![0; 0x10000];
    for (code, c) in set.all().zip(&chars) {
        let at = &mut codes[usize::from(*c)];
        if *c != 0 && (*at == 0 || set == Set::Cp932) {
            *at = code;
        }
    }
    while let (Some(c), Some(code)) = (varint(&mut own), varint(&mut own)) {
        codes[c as usize & 0xFFFF] = code as u16;
    }
    let longer = if set == Set::Gb18030 { longer(&codes) } else { Vec::new() };
    Map { chars, codes, longer }
}

/// Of the edition of 2005, the character that got the code of another, and that other, which went to its place among
/// the codes of four bytes.
const MOVED: (u16, u16) = (0x1E3F, 0xE7C7);

fn longer(codes: &[u16]) -> Vec<u16> {
    let is_longer = |c: &u16| *c == MOVED.0 || codes[usize::from(*c)] == 0 && *c != MOVED.1;
    (0x80..0xD800).chain(0xE000..=0xFFFF).filter(is_longer).collect()
}

/// Number of a code of four bytes, if it is one.
fn four(bytes: &[u8]) -> Option<u32> {
    let [a @ 0x81..=0xFE, b @ 0x30..=0x39, c @ 0x81..=0xFE, d @ 0x30..=0x39, ..] = *bytes else { return None };
    let digit = |byte: u8, from: u8| u32::from(byte - from);
    Some(((digit(a, 0x81) * 10 + digit(b, 0x30)) * 126 + digit(c, 0x81)) * 10 + digit(d, 0x30))
}

/// Of the codes of four bytes, the first beyond the basic plane.
const BEYOND: u32 = (0x90 - 0x81) * 12600;

fn put_four(n: u32, out: &mut Vec<u8>) {
    let byte = |from: u8, n: u32| from + n as u8;
    out.extend_from_slice(&[
        byte(0x81, n / 12600),
        byte(0x30, n / 1260 % 10),
        byte(0x81, n / 10 % 126),
        byte(0x30, n % 10),
    ]);
}

/// Bytes of the first character, which may be none that Unicode has; `None`: there is none.
#[inline]
pub(super) fn char_len(charset: Charset, bytes: &[u8]) -> Option<usize> {
    let first = *bytes.first()?;
    if first < 0x80 {
        return Some(1);
    }
    let trail = bytes.get(1).copied().unwrap_or(0);
    let is = |whole: bool, n: usize| whole.then_some(n);
    let high = |byte: u8| (0xA1..=0xFE).contains(&byte);
    match charset {
        Charset::Gb18030 => match trail {
            0x30..=0x39 => four(bytes).map(|_| 4),
            _ => is(Set::Gb18030.place(first, trail).is_some(), 2),
        },
        Charset::Gb2312 => is((0xA1..=0xF7).contains(&first) && high(trail), 2),
        Charset::Sjis | Charset::Cp932 if (0xA1..=0xDF).contains(&first) => Some(1),
        Charset::Ujis | Charset::Eucjpms => match first {
            0x8E => is(high(trail), 2),
            0x8F => is(high(trail) && bytes.get(2).is_some_and(|b| high(*b)), 3),
            _ => is(high(first) && high(trail), 2),
        },
        _ => is(set_of(charset)?.place(first, trail).is_some(), 2),
    }
}

/// The map of the codes of two bytes.
fn set_of(charset: Charset) -> Option<Set> {
    Some(match charset {
        Charset::Gbk => Set::Gbk,
        Charset::Gb2312 => Set::Gb2312,
        Charset::Gb18030 => Set::Gb18030,
        Charset::Big5 => Set::Big5,
        Charset::Cp932 => Set::Cp932,
        Charset::Sjis => Set::Sjis,
        Charset::Eucjpms => Set::Eucjpms,
        Charset::Ujis => Set::Ujis,
        Charset::Euckr => Set::Euckr,
        _ => return None,
    })
}

/// The first character and its bytes; no character where Unicode has none, and for a byte that begins none.
pub(super) fn decode(charset: Charset, bytes: &[u8]) -> (Option<char>, usize) {
    let Some(n) = char_len(charset, bytes) else { return (None, 1) };
    let (first, set) = (bytes[0], set_of(charset));
    let code = match n {
        1 if first < 0x80 => u32::from(first),
        1 => u32::from(first) + 0xFEC0,
        2 if first == 0x8E && matches!(charset, Charset::Ujis | Charset::Eucjpms) => match bytes[1] {
            kana @ 0xA1..=0xDF => u32::from(kana) + 0xFEC0,
            _ => 0,
        },
        2 => set.map_or(0, |s| char_of(s, first, bytes[1])),
        3 if charset == Charset::Ujis => char_of(Set::Ujis3, bytes[1], bytes[2]),
        3 => char_of(Set::Eucjpms3, bytes[1], bytes[2]),
        _ => four(bytes).map_or(0, char_of_four),
    };
    // NUL is a character of one byte.
    (char::from_u32(code).filter(|c| *c != '\0' || n == 1), n)
}

fn char_of(set: Set, lead: u8, trail: u8) -> u32 {
    set.place(lead, trail).map_or(0, |at| set.map().chars[at].into())
}

fn char_of_four(n: u32) -> u32 {
    if n >= BEYOND {
        return if n - BEYOND < 0x100000 { n - BEYOND + 0x10000 } else { 0 };
    }
    match Set::Gb18030.map().longer.get(n as usize) {
        Some(c) if *c == MOVED.0 => MOVED.1.into(),
        found => found.copied().unwrap_or(0).into(),
    }
}

/// Appends `c`; false: the set has no such character.
pub(super) fn encode(charset: Charset, c: char, out: &mut Vec<u8>) -> bool {
    let (code, Some(set)) = (u32::from(c), set_of(charset)) else { return false };
    if code < 0x80 && !(c == '\\' && charset == Charset::Sjis) {
        out.push(code as u8);
        return true;
    }
    let Ok(short) = u16::try_from(code) else {
        if charset == Charset::Gb18030 {
            put_four(BEYOND + code - 0x10000, out);
        }
        return charset == Charset::Gb18030;
    };
    let found = set.map().codes[usize::from(short)];
    if found != 0 {
        out.extend_from_slice(&found.to_be_bytes());
        return true;
    }
    match charset {
        Charset::Sjis | Charset::Cp932 if (0xFF61..=0xFF9F).contains(&code) => out.push((code - 0xFEC0) as u8),
        Charset::Ujis | Charset::Eucjpms if (0xFF61..=0xFF9F).contains(&code) => {
            out.extend_from_slice(&[0x8E, (code - 0xFEC0) as u8]);
        }
        Charset::Ujis | Charset::Eucjpms => {
            let set = if charset == Charset::Ujis { Set::Ujis3 } else { Set::Eucjpms3 };
            let [lead, trail] = set.map().codes[usize::from(short)].to_be_bytes();
            if lead == 0 {
                return false;
            }
            out.extend_from_slice(&[0x8F, lead, trail]);
        }
        Charset::Gb18030 => {
            let sought = if short == MOVED.1 { MOVED.0 } else { short };
            let Ok(n) = set.map().longer.binary_search(&sought) else { return false };
            put_four(n as u32, out);
        }
        _ => return false,
    }
    true
}

/// Weight of a character of two bytes in `gbk_chinese_ci`.
pub(crate) fn gbk_weight(lead: u8, trail: u8) -> u16 {
    let at = Set::Gbk.place(lead, trail).map_or(0, |place| DATA.len() - WEIGHT_BYTES + place * 2);
    u16::from_le_bytes([DATA[at], DATA[at + 1]])
}

/// Text of a statement has come as UTF-8, but for what would not come back: characters that Unicode does not have, or
/// has twice, and bytes that are none. Those are characters of private use in planes 15 and 16.
const KEPT: u32 = 0xF_0000;
const KEPT_LONG: u32 = 0x10_0000;

/// Appends a statement's text of this character set as UTF-8; if its literals keep their bytes, [`from_statement`]
/// gives them back.
pub(super) fn to_statement(charset: Charset, text: &[u8], keeps: bool, out: &mut Vec<u8>) {
    let mut rest = text;
    let mut back = Vec::with_capacity(4);
    while let Some(first) = rest.first() {
        let (c, n) = decode(charset, rest);
        back.clear();
        let returns = *first < 0x80 || !keeps || c.is_some_and(|c| encode(charset, c, &mut back) && back == rest[..n]);
        let kept = match (n, rest) {
            (1, [byte, ..]) => KEPT | u32::from(*byte),
            (2, [a, b, ..]) => KEPT | u32::from(*a) << 8 | u32::from(*b),
            (3, [_, a, b, ..]) => KEPT_LONG | u32::from(*a) << 8 | u32::from(*b),
            // Of the codes of four bytes those without a character are lost.
            _ => u32::from('?'),
        };
        let c = match c.filter(|_| returns) {
            // Of a character of several bytes no part escapes what follows.
            Some('\\') if n > 1 => Some('\u{FF3C}'),
            None if keeps => char::from_u32(kept),
            c => c,
        };
        out.extend_from_slice(c.unwrap_or('?').encode_utf8(&mut [0; 4]).as_bytes());
        rest = &rest[n..];
    }
}

/// Appends a character of a statement's text as it came.
pub(super) fn from_statement(charset: Charset, c: char, out: &mut Vec<u8>) -> bool {
    let code = u32::from(c);
    let [lead, trail] = (code as u16).to_be_bytes();
    match code {
        0..0x80 => out.push(code as u8),
        KEPT_LONG.. if matches!(charset, Charset::Ujis | Charset::Eucjpms) => {
            out.extend_from_slice(&[0x8F, lead, trail]);
        }
        KEPT..KEPT_LONG if lead == 0 => out.push(trail),
        // All codes of gb18030 return.
        KEPT..KEPT_LONG if charset != Charset::Gb18030 => out.extend_from_slice(&[lead, trail]),
        _ => return encode(charset, c, out),
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charset::CHARSETS;
    use crate::testing::seeds;

    fn text(charset: Charset, bytes: &[u8]) -> String {
        String::from_utf8(charset.convert(bytes, Charset::Utf8mb4).bytes.into_owned()).unwrap()
    }

    fn bytes(charset: Charset, text: &str) -> Vec<u8> {
        Charset::Utf8mb4.convert(text.as_bytes(), charset).bytes.into_owned()
    }

    #[test]
    fn known_codes() {
        for (charset, code, c) in [
            (Charset::Gbk, &b"\xB0\xA1"[..], "啊"),
            (Charset::Gbk, b"\x81\x5C", "乗"),
            (Charset::Gb2312, b"\xA1\xAA", "―"),
            (Charset::Gb18030, b"\xA8\xBC", "\u{1E3F}"),
            (Charset::Gb18030, b"\x81\x35\xF4\x37", "\u{E7C7}"),
            (Charset::Gb18030, b"\x81\x30\x81\x30", "\u{80}"),
            (Charset::Gb18030, b"\x82\x35\x8F\x33", "\u{9FA6}"),
            (Charset::Gb18030, b"\x84\x31\xA4\x39", "\u{FFFF}"),
            (Charset::Gb18030, b"\x90\x30\x81\x30", "\u{10000}"),
            (Charset::Gb18030, b"\xE3\x32\x9A\x35", "\u{10FFFF}"),
            (Charset::Big5, b"\xA4\x40", "一"),
            (Charset::Sjis, b"\x83\x5C", "ソ"),
            (Charset::Sjis, b"\xB1", "ｱ"),
            (Charset::Sjis, b"\x81\x5F", "\\"),
            (Charset::Cp932, b"\x81\x5F", "＼"),
            (Charset::Ujis, b"\xA5\xBD", "ソ"),
            (Charset::Ujis, b"\x8E\xB1", "ｱ"),
            (Charset::Ujis, b"\x8F\xB0\xA1", "丂"),
            (Charset::Eucjpms, b"\xAD\xA1", "①"),
            (Charset::Euckr, b"\xB0\xA1", "가"),
            (Charset::Euckr, b"\x81\x41", "갂"),
        ] {
            assert_eq!(text(charset, code), c, "{charset:?}");
            assert_eq!(bytes(charset, c), code, "{charset:?} {c}");
        }
        // A character of its own, whatever it is meant for elsewhere.
        assert_eq!(text(Charset::Big5, b"\xA1\x5A"), "\u{FFFD}");
        assert!(!Charset::Big5.convert(b"\xA1\x5A", Charset::Utf8mb4).lossy);
        assert_eq!(bytes(Charset::Gbk, "a😀é"), b"a?\xA8\xA6");
        // Of what is a character only here, a text keeps no part.
        assert_eq!(text(Charset::Gbk, b"\xA1\x40a\xFFb"), "?a?b");
        assert_eq!(Charset::Gbk.valid_prefix(b"a\xA1\x40\x81"), 3);
        assert_eq!(Charset::Gb18030.valid_prefix(b"\x81\x30\x81\x30\x81\x30\x81"), 4);
    }

    /// Every character that a code means has a code that means it.
    #[test]
    fn characters_come_back() {
        for charset in CHARSETS.iter().map(|c| c.charset).filter(|c| c.is_multi()) {
            let mut count = 0;
            for c in (0..0x2_0000).filter_map(char::from_u32) {
                let mut code = Vec::new();
                if charset.encode(c, &mut code) {
                    count += 1;
                    let own = charset.decode(&code);
                    // Of cp932, MySQL has the code of a neighbour for one character.
                    let odd = (charset, c) == (Charset::Cp932, '\u{6661}');
                    assert!(own == Some((c, code.len())) || odd, "{charset:?} {c:?} {code:02X?} {own:?}");
                    assert!(charset.is_valid(&code));
                }
            }
            assert!(count > 7000, "{charset:?} {count}");
        }
    }

    #[test]
    fn statements_keep_the_bytes_of_literals() {
        for charset in CHARSETS.iter().map(|c| c.charset).filter(|c| c.is_multi()) {
            seeds(200, |rng| {
                let mut text = rng.bytes(20, b"a\\'\x81\x8E\x8F\xA1\xB0\xFE\x40\x5C\x30");
                if charset == Charset::Gb18030 {
                    // Codes of four bytes that mean nothing are lost.
                    text.retain(|b| *b != 0x30);
                }
                let kept = charset.statement(&text, charset).into_owned();
                assert!(std::str::from_utf8(&kept).is_ok());
                assert_eq!(charset.literal(&kept), text, "{charset:?}");
                // Nothing but a character of one byte is ASCII in there.
                let single =
                    |charset: Charset, text: &[u8]| charset.chars(text).zip(0..).filter(|(c, _)| c.is_ascii()).count();
                assert!(single(Charset::Utf8mb4, &kept) <= text.iter().filter(|b| b.is_ascii()).count());
            });
        }
    }

    #[test]
    fn occurrences_are_of_characters() {
        let all = |text: &[u8], what: &[u8]| Charset::Gbk.occurrences(text, what).collect::<Vec<_>>();
        assert_eq!(all(b"\xB0\xA1\xA1\xB0\xA1\xA1", b"\xA1\xA1"), [4]);
        assert_eq!(all(b"\x81\x5C\x5C\x5C", b"\\"), [2, 3]);
        assert_eq!(all(b"aaaa", b"aa"), [0, 2]);
        assert_eq!(all(b"\xB0\xA1", b"\xB0\xA1\xB0"), [0; 0]);
    }
}

//! Character sets: how bytes are cut into characters, checked, and converted between a connection and a column.
//!
//! Text lives in the engine in its column's character set. `utf8mb4` is the common case and is checked by the standard
//! library.

mod multi;
mod tables;

use crate::error::Result;
use crate::sql_err;
pub(crate) use multi::gbk_weight;
use std::borrow::Cow;

/// All character sets, one declaration each, in the order of `SHOW CHARACTER SET`: name, description, default
/// collation, bytes of the longest character, and for one-byte sets beyond ASCII the characters of the upper half.
macro_rules! charsets {
    ($($(#[$doc:meta])* $id:ident $name:literal $description:literal $default:literal $max:literal $table:expr;)*) => {
        /// A character set.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Charset {
            $($(#[$doc])* $id),*
        }

        /// All character sets, in the order of `SHOW CHARACTER SET`.
        pub const CHARSETS: &[CharsetInfo] = &[$(CharsetInfo {
            charset: Charset::$id,
            name: $name,
            description: $description,
            default_collation: $default,
            max_len: $max,
        }),*];

        /// Characters of the bytes 0x80..=0xFF, 0 where there is none; in the order of [`CHARSETS`].
        const UPPER: &[Option<&[u16; 128]>] = &[$($table),*];
    };
}

charsets! {
    Armscii8 "armscii8" "ARMSCII-8 Armenian" "armscii8_general_ci" 1 Some(&tables::ARMSCII8);
    Ascii "ascii" "US ASCII" "ascii_general_ci" 1 None;
    Big5 "big5" "Big5 Traditional Chinese" "big5_chinese_ci" 2 None;
    Binary "binary" "Binary pseudo charset" "binary" 1 None;
    Cp1250 "cp1250" "Windows Central European" "cp1250_general_ci" 1 Some(&tables::CP1250);
    Cp1251 "cp1251" "Windows Cyrillic" "cp1251_general_ci" 1 Some(&tables::CP1251);
    Cp1256 "cp1256" "Windows Arabic" "cp1256_general_ci" 1 Some(&tables::CP1256);
    Cp1257 "cp1257" "Windows Baltic" "cp1257_general_ci" 1 Some(&tables::CP1257);
    Cp850 "cp850" "DOS West European" "cp850_general_ci" 1 Some(&tables::CP850);
    Cp852 "cp852" "DOS Central European" "cp852_general_ci" 1 Some(&tables::CP852);
    Cp866 "cp866" "DOS Russian" "cp866_general_ci" 1 Some(&tables::CP866);
    Cp932 "cp932" "SJIS for Windows Japanese" "cp932_japanese_ci" 2 None;
    Dec8 "dec8" "DEC West European" "dec8_swedish_ci" 1 Some(&tables::DEC8);
    Eucjpms "eucjpms" "UJIS for Windows Japanese" "eucjpms_japanese_ci" 3 None;
    Euckr "euckr" "EUC-KR Korean" "euckr_korean_ci" 2 None;
    Gb18030 "gb18030" "China National Standard GB18030" "gb18030_chinese_ci" 4 None;
    Gb2312 "gb2312" "GB2312 Simplified Chinese" "gb2312_chinese_ci" 2 None;
    Gbk "gbk" "GBK Simplified Chinese" "gbk_chinese_ci" 2 None;
    Geostd8 "geostd8" "GEOSTD8 Georgian" "geostd8_general_ci" 1 Some(&tables::GEOSTD8);
    Greek "greek" "ISO 8859-7 Greek" "greek_general_ci" 1 Some(&tables::GREEK);
    Hebrew "hebrew" "ISO 8859-8 Hebrew" "hebrew_general_ci" 1 Some(&tables::HEBREW);
    Hp8 "hp8" "HP West European" "hp8_english_ci" 1 Some(&tables::HP8);
    Keybcs2 "keybcs2" "DOS Kamenicky Czech-Slovak" "keybcs2_general_ci" 1 Some(&tables::KEYBCS2);
    Koi8r "koi8r" "KOI8-R Relcom Russian" "koi8r_general_ci" 1 Some(&tables::KOI8R);
    Koi8u "koi8u" "KOI8-U Ukrainian" "koi8u_general_ci" 1 Some(&tables::KOI8U);
    /// cp1252, as MySQL's latin1 is; the five bytes that cp1252 leaves open map to the C1 controls.
    Latin1 "latin1" "cp1252 West European" "latin1_swedish_ci" 1 Some(&tables::LATIN1);
    Latin2 "latin2" "ISO 8859-2 Central European" "latin2_general_ci" 1 Some(&tables::LATIN2);
    Latin5 "latin5" "ISO 8859-9 Turkish" "latin5_turkish_ci" 1 Some(&tables::LATIN5);
    Latin7 "latin7" "ISO 8859-13 Baltic" "latin7_general_ci" 1 Some(&tables::LATIN7);
    Macce "macce" "Mac Central European" "macce_general_ci" 1 Some(&tables::MACCE);
    Macroman "macroman" "Mac West European" "macroman_general_ci" 1 Some(&tables::MACROMAN);
    Sjis "sjis" "Shift-JIS Japanese" "sjis_japanese_ci" 2 None;
    Swe7 "swe7" "7bit Swedish" "swe7_swedish_ci" 1 None;
    Tis620 "tis620" "TIS620 Thai" "tis620_thai_ci" 1 Some(&tables::TIS620);
    Ucs2 "ucs2" "UCS-2 Unicode" "ucs2_general_ci" 2 None;
    Ujis "ujis" "EUC-JP Japanese" "ujis_japanese_ci" 3 None;
    Utf16 "utf16" "UTF-16 Unicode" "utf16_general_ci" 4 None;
    Utf16le "utf16le" "UTF-16LE Unicode" "utf16le_general_ci" 4 None;
    Utf32 "utf32" "UTF-32 Unicode" "utf32_general_ci" 4 None;
    Utf8mb3 "utf8mb3" "UTF-8 Unicode" "utf8mb3_general_ci" 3 None;
    Utf8mb4 "utf8mb4" "UTF-8 Unicode" "utf8mb4_0900_ai_ci" 4 None;
}

/// What `SHOW CHARACTER SET` shows.
#[derive(Debug)]
pub struct CharsetInfo {
    pub charset: Charset,
    pub name: &'static str,
    pub description: &'static str,
    pub default_collation: &'static str,
    /// Bytes of the longest character.
    pub max_len: u8,
}

/// Text after a conversion, and whether characters had no counterpart (they became `?`).
#[derive(Debug, PartialEq, Eq)]
pub struct Converted<'a> {
    pub bytes: Cow<'a, [u8]>,
    pub lossy: bool,
}

/// Bytes of no character set for an error's text: those that ASCII does not print are `\xHH`.
pub fn escaped(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for b in bytes {
        if (0x20..0x7F).contains(b) {
            out.push(*b as char)
        } else {
            out.push_str(&format!("\\x{b:02X}"));
        }
    }
    out
}

impl Charset {
    /// By name, case-insensitive; `utf8` is utf8mb3. Error 1115.
    pub fn by_name(name: &str) -> Result<Charset> {
        if name.eq_ignore_ascii_case("utf8") {
            return Ok(Charset::Utf8mb3);
        }
        let found = CHARSETS.iter().find(|c| c.name.eq_ignore_ascii_case(name));
        found.map(|c| c.charset).ok_or_else(|| sql_err!(UnknownCharacterSet, name))
    }

    pub fn info(self) -> &'static CharsetInfo {
        &CHARSETS[self as usize]
    }

    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// Bytes of the longest character.
    pub fn max_len(self) -> u32 {
        u32::from(self.info().max_len)
    }

    /// Bytes of the unit that every character is made of. Where it is more than one, ASCII text is not what it is
    /// elsewhere.
    pub fn unit(self) -> usize {
        match self {
            Charset::Ucs2 | Charset::Utf16 | Charset::Utf16le => 2,
            Charset::Utf32 => 4,
            _ => 1,
        }
    }

    /// Is a unit more than a byte?
    #[inline]
    pub fn is_wide(self) -> bool {
        matches!(self, Charset::Ucs2 | Charset::Utf16 | Charset::Utf16le | Charset::Utf32)
    }

    /// Has it characters of several bytes whose later bytes may be those of other characters? Then only a walk from the
    /// front tells where characters begin.
    #[inline]
    pub fn is_multi(self) -> bool {
        use Charset::*;
        matches!(self, Big5 | Cp932 | Eucjpms | Euckr | Gb18030 | Gb2312 | Gbk | Sjis | Ujis)
    }

    /// Is ASCII text of it the same in `to`, byte for byte?
    #[inline]
    pub(crate) fn shares_ascii(self, to: Charset, text: &[u8]) -> bool {
        self != Charset::Binary
            && !self.is_wide()
            && !to.is_wide()
            && text.is_ascii()
            // The backslash of sjis is a character of two bytes.
            && (to != Charset::Sjis || self == to || !text.contains(&b'\\'))
            && (self == to || ![self, to].contains(&Charset::Swe7) || !text.iter().any(|b| swe7(*b).is_some()))
    }

    /// May statements come in this character set? Their words are ASCII.
    pub fn may_be_clients(self) -> bool {
        !self.is_wide() && self != Charset::Swe7
    }

    /// The first character of text of a wide character set, if it is well formed.
    fn decode_wide(self, bytes: &[u8]) -> Option<(char, usize)> {
        let unit = |at: usize| {
            let pair: [u8; 2] = bytes.get(at..at + 2)?.try_into().ok()?;
            Some(if self == Charset::Utf16le { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) })
        };
        match self {
            Charset::Utf32 => {
                let word: [u8; 4] = bytes.get(..4)?.try_into().ok()?;
                char::from_u32(u32::from_be_bytes(word)).map(|c| (c, 4))
            }
            Charset::Ucs2 => char::from_u32(unit(0)?.into()).map(|c| (c, 2)),
            _ => {
                let first = unit(0)?;
                if !(0xD800..0xE000).contains(&first) {
                    return char::from_u32(first.into()).map(|c| (c, 2));
                }
                let c = char::decode_utf16([first, unit(2)?]).next()?.ok()?;
                Some((c, 4))
            }
        }
    }

    /// Text of ASCII characters in this character set.
    pub fn ascii(self, text: &[u8]) -> Cow<'_, [u8]> {
        if self.is_wide() { Charset::Ascii.convert(text, self).bytes } else { Cow::Borrowed(text) }
    }

    /// Text of this character set for what reads ASCII: numbers, dates, names.
    pub fn narrow(self, text: &[u8]) -> Cow<'_, [u8]> {
        if self.is_wide() { self.convert(text, Charset::Utf8mb4).bytes } else { Cow::Borrowed(text) }
    }

    /// Without the spaces at its end.
    pub fn trim_end(self, text: &[u8]) -> &[u8] {
        if !self.is_wide() {
            let end = text.iter().rposition(|b| *b != b' ').map_or(0, |i| i + 1);
            return &text[..end];
        }
        let space = self.ascii(b" ");
        let mut rest = text;
        while let Some(shorter) = rest.strip_suffix(&space[..]).filter(|s| s.len().is_multiple_of(space.len())) {
            rest = shorter;
        }
        rest
    }

    /// Is every character one byte?
    pub fn is_single_byte(self) -> bool {
        self.max_len() == 1
    }

    /// Length of the longest prefix of `bytes` that is well formed.
    pub fn valid_prefix(self, bytes: &[u8]) -> usize {
        match self {
            Charset::Ascii => bytes.iter().position(|b| *b >= 0x80).unwrap_or(bytes.len()),
            Charset::Utf8mb4 => match std::str::from_utf8(bytes) {
                Ok(_) => bytes.len(),
                Err(e) => e.valid_up_to(),
            },
            Charset::Utf8mb3 => {
                let end = Charset::Utf8mb4.valid_prefix(bytes);
                bytes[..end].iter().position(|b| *b >= 0xF0).unwrap_or(end)
            }
            // Lone surrogates are characters of ucs2.
            Charset::Ucs2 => bytes.len() & !1,
            _ if self.is_wide() => {
                let mut at = 0;
                while let Some((_, n)) = self.decode_wide(&bytes[at..]) {
                    at += n;
                }
                at
            }
            _ if self.is_multi() => {
                let mut at = 0;
                while let Some(n) = multi::char_len(self, &bytes[at..]) {
                    at += n;
                }
                at
            }
            _ => bytes.len(),
        }
    }

    pub fn is_valid(self, bytes: &[u8]) -> bool {
        self.valid_prefix(bytes) == bytes.len()
    }

    /// Number of characters. Bytes that are not well formed count as one character each.
    pub fn char_count(self, bytes: &[u8]) -> usize {
        if self.is_single_byte() {
            return bytes.len();
        }
        if self.is_wide() {
            return Chars { charset: self, rest: bytes }.count();
        }
        if bytes.is_ascii() {
            return bytes.len();
        }
        if self.is_multi() {
            let (mut rest, mut count) = (bytes, 0);
            while !rest.is_empty() {
                rest = &rest[self.char_len(rest)..];
                count += 1;
            }
            return count;
        }
        if std::str::from_utf8(bytes).is_ok() {
            return bytes.iter().filter(|b| (**b & 0xC0) != 0x80).count();
        }
        Chars { charset: self, rest: bytes }.count()
    }

    /// Byte length of the first `chars` characters (all of `bytes`, if it has fewer).
    pub fn prefix_len(self, bytes: &[u8], chars: usize) -> usize {
        if self.is_single_byte() {
            return bytes.len().min(chars);
        }
        if bytes.len() <= chars {
            return bytes.len();
        }
        let mut at = 0;
        for _ in 0..chars {
            if at >= bytes.len() {
                break;
            }
            at += self.char_len(&bytes[at..]);
        }
        at
    }

    /// Byte length of the longest prefix of whole characters that has at most `max` bytes.
    pub fn prefix_of_bytes(self, bytes: &[u8], max: usize) -> usize {
        if bytes.len() <= max {
            return bytes.len();
        }
        let mut end = max;
        if self.is_wide() {
            end -= end % self.unit();
        } else if self.is_multi() {
            end = 0;
            while end + self.char_len(&bytes[end..]) <= max {
                end += self.char_len(&bytes[end..]);
            }
        } else if !self.is_single_byte() {
            while end > 0 && bytes[end] & 0xC0 == 0x80 {
                end -= 1;
            }
        }
        end
    }

    /// Byte length of the first character of non-empty `bytes`; 1 where it is not well formed.
    pub fn char_len(self, bytes: &[u8]) -> usize {
        if self.is_single_byte() {
            1
        } else if self.is_wide() {
            self.decode(bytes).map_or(1, |(_, n)| n)
        } else if self.is_multi() {
            multi::char_len(self, bytes).unwrap_or(1)
        } else {
            decode_utf8(bytes).map_or(1, |(_, n)| n)
        }
    }

    /// The first character and its byte length. Bytes that are not well formed give U+FFFD, one at a time; `binary`
    /// maps bytes to U+0000..U+00FF.
    pub fn decode(self, bytes: &[u8]) -> Option<(char, usize)> {
        let first = *bytes.first()?;
        Some(match self {
            Charset::Binary => (first as char, 1),
            Charset::Ascii => (if first < 0x80 { first as char } else { '\u{FFFD}' }, 1),
            Charset::Utf8mb3 | Charset::Utf8mb4 => decode_utf8(bytes).unwrap_or(('\u{FFFD}', 1)),
            _ if self.is_wide() => self.decode_wide(bytes).unwrap_or(('\u{FFFD}', self.unit().min(bytes.len()))),
            _ if self.is_multi() => {
                let (c, n) = multi::decode(self, bytes);
                (c.unwrap_or('\u{FFFD}'), n)
            }
            Charset::Swe7 => (swe7(first).unwrap_or(first as char), 1),
            _ => (self.upper(first), 1),
        })
    }

    /// The character of a byte of a one-byte set; U+FFFD where it has none.
    fn upper(self, byte: u8) -> char {
        match (byte, UPPER[self as usize]) {
            (0..0x80, _) | (_, None) => byte as char,
            (_, Some(table)) => match table[usize::from(byte - 0x80)] {
                0 => '\u{FFFD}',
                code => char::from_u32(code.into()).unwrap_or('\u{FFFD}'),
            },
        }
    }

    /// Characters of `bytes`.
    pub fn chars(self, bytes: &[u8]) -> Chars<'_> {
        Chars { charset: self, rest: bytes }
    }

    /// Appends `c`, or gives back false (and appends nothing) if the character set has no such character.
    pub fn encode(self, c: char, out: &mut Vec<u8>) -> bool {
        let code = c as u32;
        match self {
            Charset::Utf8mb4 => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            Charset::Utf8mb3 if code < 0x10000 => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            Charset::Ascii if code < 0x80 => out.push(code as u8),
            Charset::Binary if code < 0x100 => out.push(code as u8),
            Charset::Ucs2 if code < 0x10000 => out.extend_from_slice(&(code as u16).to_be_bytes()),
            Charset::Utf16 => c.encode_utf16(&mut [0; 2]).iter().for_each(|u| out.extend_from_slice(&u.to_be_bytes())),
            Charset::Utf16le => {
                c.encode_utf16(&mut [0; 2]).iter().for_each(|u| out.extend_from_slice(&u.to_le_bytes()))
            }
            Charset::Utf32 => out.extend_from_slice(&code.to_be_bytes()),
            Charset::Utf8mb3 | Charset::Ascii | Charset::Binary | Charset::Ucs2 => return false,
            _ if self.is_multi() => return multi::encode(self, c, out),
            // The last of the codes that mean it.
            Charset::Tis620 if c == '\u{FFFD}' => out.push(0xFF),
            Charset::Swe7 if c != '\u{FFFD}' => {
                match (0..0x80).find(|b| swe7(*b).map_or(c == *b as char, |own| own == c)) {
                    Some(b) => out.push(b),
                    None => return false,
                }
            }
            _ if code < 0x80 => out.push(code as u8),
            _ => {
                let table = UPPER[self as usize];
                let at = |i: usize| table.is_some_and(|t| u32::from(t[i]) == code);
                // Most of latin1, and parts of others, are where Unicode has them.
                match (0x80..0x100).contains(&code).then(|| code as usize - 0x80).filter(|i| at(*i)) {
                    Some(i) => out.push(0x80 + i as u8),
                    None => match (0..128).find(|i| at(*i)) {
                        Some(i) => out.push(0x80 + i as u8),
                        None => return false,
                    },
                }
            }
        }
        true
    }

    /// Does every string of `self` mean the same in `to`, byte for byte?
    pub fn is_subset_of(self, to: Charset) -> bool {
        use Charset::*;
        self == to
            || to == Binary
            || self == Ascii && !to.is_wide() && !matches!(to, Sjis | Swe7)
            || (self, to) == (Utf8mb3, Utf8mb4)
    }

    /// Has every text of `self` a counterpart in `to`? Bytes are checked where they become text.
    pub fn fits_in(self, to: Charset) -> bool {
        use Charset::*;
        let whole = |c: Charset| matches!(c, Utf8mb4 | Utf16 | Utf16le | Utf32);
        let plane = |c: Charset| matches!(c, Utf8mb3 | Ucs2);
        self == Binary || self.is_subset_of(to) || whole(to) || plane(to) && !whole(self)
    }

    /// As [`Charset::convert`], where a character that has no place in `to`, and bytes that are no text of it, are an
    /// error instead of a `?`: 3854.
    pub fn fit(self, bytes: &[u8], to: Charset) -> Result<Cow<'_, [u8]>> {
        let converted = self.convert(bytes, to);
        let refused = converted.lossy && (self == Charset::Binary || !self.fits_in(to));
        if refused { Err(self.misfit(bytes, to)) } else { Ok(converted.bytes) }
    }

    #[cold]
    fn misfit(self, bytes: &[u8], to: Charset) -> crate::SqlError {
        const SHOWN: usize = 64;
        let shown = &bytes[..bytes.len().min(SHOWN)];
        let text = escaped(shown);
        let rest = if shown.len() < bytes.len() { "..." } else { "" };
        sql_err!(CannotConvertString, format_args!("{text}{rest}"), self.name(), to.name())
    }

    /// Places of a text that is not empty in another one, which do not overlap.
    pub fn occurrences<'a>(self, text: &'a [u8], what: &'a [u8]) -> impl Iterator<Item = usize> + use<'a> {
        let finder = memchr::memmem::Finder::new(what);
        let (mut from, mut begin) = (0, 0);
        std::iter::from_fn(move || {
            loop {
                let at = from + finder.find(text.get(from..)?)?;
                if self.is_multi() {
                    while begin < at {
                        begin += self.char_len(&text[begin..]);
                    }
                    if begin > at {
                        // Bytes of two characters.
                        from = at + 1;
                        continue;
                    }
                }
                from = at + what.len().max(1);
                return Some(at);
            }
        })
    }

    /// Does a character begin at `at`, or the text end?
    pub fn is_boundary(self, text: &[u8], at: usize) -> bool {
        let mut begin = 0;
        while begin < at {
            begin += self.char_len(&text[begin..]);
        }
        begin == at
    }

    /// Is `c` in front of the text, and not what malformed bytes there are decoded as?
    fn begins_with(self, text: &[u8], c: char) -> bool {
        if self.is_multi() {
            return multi::decode(self, text).0 == Some(c);
        }
        // Several bytes of tis620 mean the one character that stands for what is none.
        if let (Some(table), [byte @ 0x80..=0xFF, ..]) = (UPPER[self as usize], text) {
            return u32::from(table[usize::from(byte - 0x80)]) == c as u32;
        }
        let mut own = Vec::with_capacity(4);
        self.encode(c, &mut own) && text.starts_with(&own)
    }

    /// Converts text; borrows where bytes stay as they are. Characters without a counterpart, and malformed bytes,
    /// become `?`.
    pub fn convert(self, bytes: &[u8], to: Charset) -> Converted<'_> {
        if to == Charset::Binary || self == to || self.shares_ascii(to, bytes) {
            return Converted { bytes: Cow::Borrowed(bytes), lossy: false };
        }
        if self == Charset::Binary && !bytes.len().is_multiple_of(to.unit()) {
            // The first character lacks its leading zeros.
            let mut out = vec![0; to.unit() - bytes.len() % to.unit()];
            out.extend_from_slice(bytes);
            let lossy = !to.is_valid(&out);
            return Converted { bytes: Cow::Owned(out), lossy };
        }
        if self == Charset::Binary {
            return Converted { bytes: Cow::Borrowed(bytes), lossy: !to.is_valid(bytes) };
        }
        if self.is_subset_of(to) && self.is_valid(bytes) {
            return Converted { bytes: Cow::Borrowed(bytes), lossy: false };
        }
        let mut out = Vec::with_capacity(bytes.len() + bytes.len() / 2);
        let mut lossy = false;
        let mut rest = bytes;
        while let Some((c, n)) = self.decode(rest) {
            if c == '\u{FFFD}' && !self.begins_with(rest, c) || !to.encode(c, &mut out) {
                to.encode('?', &mut out);
                lossy = true;
            }
            rest = &rest[n..];
        }
        Converted { bytes: Cow::Owned(out), lossy }
    }

    /// Is text of it in statements UTF-8 already, or so treated?
    #[inline]
    pub fn is_written(self) -> bool {
        matches!(self, Charset::Utf8mb4 | Charset::Utf8mb3 | Charset::Binary | Charset::Ascii)
    }

    /// A statement of this character set as it is kept in here: UTF-8. Where its literals are of the same character
    /// set, [`Charset::literal`] gives back their bytes, also those that Unicode has no character for.
    pub fn statement(self, text: &[u8], literals: Charset) -> Cow<'_, [u8]> {
        if self.is_written() || !self.is_wide() && text.is_ascii() {
            return Cow::Borrowed(text);
        }
        if !self.is_multi() {
            return self.convert(text, Charset::Utf8mb4).bytes;
        }
        let mut out = Vec::with_capacity(text.len() + text.len() / 2);
        multi::to_statement(self, text, self == literals, &mut out);
        Cow::Owned(out)
    }

    /// A literal of this character set, which is that of the statement too, from the statement's text.
    pub fn literal(self, text: &[u8]) -> Cow<'_, [u8]> {
        if !self.is_multi() {
            return Charset::Utf8mb4.convert(text, self).bytes;
        }
        if text.is_ascii() {
            return Cow::Borrowed(text);
        }
        let mut out = Vec::with_capacity(text.len());
        for c in Charset::Utf8mb4.chars(text) {
            if !multi::from_statement(self, c, &mut out) {
                out.push(b'?');
            }
        }
        Cow::Owned(out)
    }
}

/// What a byte of swe7 means where it is not that of ASCII; U+FFFD where there is none.
fn swe7(byte: u8) -> Option<char> {
    Some(match byte {
        b'@' => 'É',
        b'[' => 'Ä',
        b'\\' => 'Ö',
        b']' => 'Å',
        b'^' => 'Ü',
        b'`' => 'é',
        b'{' => 'ä',
        b'|' => 'ö',
        b'}' => 'å',
        b'~' => 'ü',
        0x7F.. => '\u{FFFD}',
        _ => return None,
    })
}

/// The first character of UTF-8 text, if well formed.
#[inline]
pub(crate) fn decode_utf8(bytes: &[u8]) -> Option<(char, usize)> {
    let first = *bytes.first()?;
    if first < 0x80 {
        return Some((first as char, 1));
    }
    let tail = |i: usize| bytes.get(i).filter(|b| **b & 0xC0 == 0x80).map(|b| u32::from(*b & 0x3F));
    let (code, len) = match first {
        0xC2..=0xDF => (u32::from(first & 0x1F) << 6 | tail(1)?, 2),
        0xE0..=0xEF => {
            let code = u32::from(first & 0xF) << 12 | tail(1)? << 6 | tail(2)?;
            (if code < 0x800 { return None } else { code }, 3)
        }
        0xF0..=0xF4 => {
            let code = u32::from(first & 7) << 18 | tail(1)? << 12 | tail(2)? << 6 | tail(3)?;
            (if code < 0x10000 { return None } else { code }, 4)
        }
        _ => return None,
    };
    // Surrogates and what is beyond U+10FFFF fail here.
    char::from_u32(code).map(|c| (c, len))
}

/// Iterator over the characters of a byte string.
#[derive(Clone, Debug)]
pub struct Chars<'a> {
    charset: Charset,
    rest: &'a [u8],
}

impl<'a> Chars<'a> {
    /// The bytes not yet walked.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl Iterator for Chars<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        let (c, n) = self.charset.decode(self.rest)?;
        self.rest = &self.rest[n..];
        Some(c)
    }
}

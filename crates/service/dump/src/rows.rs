//! Rows as lines: values separated by tabs, `\N` for NULL, special characters behind a backslash, binary values in
//! base64. It is the default of LOAD DATA.

use crate::fault::{Outcome, wrong};
use base64ct::{Base64, Encoding};
use gannet_wire::codec::Reader;

/// How a column's values are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Numbers and times: no character of theirs is special.
    Plain,
    /// Texts.
    Text,
    /// Texts of JSON documents.
    Json,
    /// Bytes of any kind, which a file in UTF-8 cannot hold as they are: in base64.
    Binary,
}

impl Form {
    /// The form of a type of `information_schema.COLUMNS.DATA_TYPE` and its character set. Of gbk and the like not
    /// every text comes back from UTF-8 as it was.
    pub(crate) fn of(data_type: &str, charset: &str) -> Form {
        let many = ["big5", "cp932", "eucjpms", "euckr", "gb18030", "gb2312", "gbk", "sjis", "ujis"];
        match data_type {
            "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" if many.contains(&charset) => {
                Form::Binary
            }
            "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "decimal" | "float" | "double" | "date"
            | "time" | "datetime" | "timestamp" | "year" => Form::Plain,
            "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" | "bit" | "geometry" | "point"
            | "linestring" | "polygon" | "multipoint" | "multilinestring" | "multipolygon" | "geometrycollection"
            | "geomcollection" | "vector" => Form::Binary,
            "json" => Form::Json,
            _ => Form::Text,
        }
    }
}

/// What stands behind the backslash for a byte; 0 for bytes that stand for themselves.
const fn escapes() -> [u8; 256] {
    let mut table = [0; 256];
    table[0] = b'0';
    table[0x08] = b'b';
    table[b'\n' as usize] = b'n';
    table[b'\r' as usize] = b'r';
    table[b'\t' as usize] = b't';
    table[0x1A] = b'Z';
    table[b'\\' as usize] = b'\\';
    table
}

const ESCAPES: [u8; 256] = escapes();

/// Appends a row of the text protocol as a line.
pub(crate) fn line(packet: &[u8], forms: &[Form], out: &mut Vec<u8>) -> Outcome<()> {
    let mut r = Reader::new(packet);
    for (i, form) in forms.iter().enumerate() {
        if i > 0 {
            out.push(b'\t');
        }
        match (r.lenenc_bytes_or_null(), form) {
            (Ok(None), _) => out.extend_from_slice(b"\\N"),
            (Ok(Some(value)), Form::Plain) => out.extend_from_slice(value),
            (Ok(Some(value)), Form::Text | Form::Json) => escape(value, out),
            (Ok(Some(value)), Form::Binary) => base64(value, out),
            (Err(_), _) => return wrong("the server sent a row that ends too early"),
        }
    }
    if !r.is_empty() {
        return wrong("the server sent a row with too many values");
    }
    out.push(b'\n');
    Ok(())
}

/// What a row is in the sum of its table: its line, but with other numbers in documents. A server prints an exact
/// number there with all of its digits, and makes an approximate one of it when it reads it back.
pub(crate) fn summed(packet: &[u8], forms: &[Form], out: &mut Vec<u8>) -> Outcome<()> {
    let mut r = Reader::new(packet);
    for form in forms {
        match (r.lenenc_bytes_or_null(), form) {
            (Ok(None), _) => out.extend_from_slice(b"\\N"),
            (Ok(Some(document)), Form::Json) => approximate(document, out),
            (Ok(Some(value)), _) => escape(value, out),
            (Err(_), _) => return wrong("the server sent a row that ends too early"),
        }
        out.push(b'\t');
    }
    Ok(())
}

/// Appends a document whose numbers that are no integers of 64 bits stand for their doubles.
fn approximate(document: &[u8], out: &mut Vec<u8>) {
    let (mut at, mut quoted) = (0, false);
    while let Some(&b) = document.get(at) {
        let number = |b: &u8| b.is_ascii_digit() || matches!(b, b'-' | b'+' | b'.' | b'e' | b'E');
        if quoted || !(b.is_ascii_digit() || b == b'-') {
            // A quote behind a backslash ends nothing.
            let step = if quoted && b == b'\\' { 2 } else { 1 };
            quoted ^= b == b'"';
            let end = (at + step).min(document.len());
            out.extend_from_slice(&document[at..end]);
            at = end;
            continue;
        }
        let length = document[at..].iter().take_while(|b| number(b)).count();
        let token = &document[at..at + length];
        let text = str::from_utf8(token).unwrap_or_default();
        let integer = text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok();
        match text.parse::<f64>() {
            Ok(double) if !integer => out.extend_from_slice(format!("{double:e}").as_bytes()),
            _ => out.extend_from_slice(token),
        }
        at += length;
    }
}

/// Bytes that [`plain`] looks at together: the compiler makes a few instructions of it.
const WINDOW: usize = 32;

/// No byte of these is a special character, nor below the space: most texts are so.
#[inline]
fn plain<const N: usize>(window: &[u8; N]) -> bool {
    window.iter().fold(true, |all, b| all & (*b >= b' ') & (*b != b'\\'))
}

/// As [`plain`], of a text of any length. The last window covers bytes that were looked at already.
#[inline]
fn is_plain(text: &[u8]) -> bool {
    const SMALL: usize = 8;
    match (text.last_chunk::<WINDOW>(), text.last_chunk::<SMALL>()) {
        (Some(last), _) => text.as_chunks::<WINDOW>().0.iter().all(plain) && plain(last),
        (None, Some(last)) => text.as_chunks::<SMALL>().0.iter().all(plain) && plain(last),
        (None, None) => text.iter().all(|b| ESCAPES[usize::from(*b)] == 0),
    }
}

/// Appends a text with its special characters behind backslashes.
pub(crate) fn escape(text: &[u8], out: &mut Vec<u8>) {
    if is_plain(text) {
        return out.extend_from_slice(text);
    }
    for part in text.chunks(WINDOW) {
        if part.first_chunk::<WINDOW>().is_some_and(plain) {
            out.extend_from_slice(part);
            continue;
        }
        let mut rest = part;
        while let Some(at) = rest.iter().position(|&b| ESCAPES[usize::from(b)] != 0) {
            out.extend_from_slice(&rest[..at]);
            out.extend_from_slice(&[b'\\', ESCAPES[usize::from(rest[at])]]);
            rest = &rest[at + 1..];
        }
        out.extend_from_slice(rest);
    }
}

/// Appends what an escaped text stands for.
pub(crate) fn unescape(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(at) = rest.iter().position(|&b| b == b'\\') {
        out.extend_from_slice(&rest[..at]);
        let Some(&next) = rest.get(at + 1) else {
            out.push(b'\\');
            return;
        };
        out.push(match next {
            b'0' => 0,
            b'b' => 0x08,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'Z' => 0x1A,
            other => other,
        });
        rest = &rest[at + 2..];
    }
    out.extend_from_slice(rest);
}

/// Appends bytes in base64, without line ends.
pub(crate) fn base64(bytes: &[u8], out: &mut Vec<u8>) {
    let from = out.len();
    out.resize(from + Base64::encoded_len(bytes), 0);
    Base64::encode(bytes, &mut out[from..]).expect("the text fits where its length was reserved");
}

/// The bytes that base64 stands for; `None` when it is none. Line ends are skipped.
pub(crate) fn from_base64(text: &[u8]) -> Option<Vec<u8>> {
    let text: Vec<u8> = text.iter().copied().filter(|b| !matches!(b, b'\n' | b'\r')).collect();
    Base64::decode_vec(str::from_utf8(&text).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_from_lines() {
        let all: Vec<u8> = (0..=255).collect();
        let (mut escaped, mut back) = (Vec::new(), Vec::new());
        escape(&all, &mut escaped);
        assert!(!escaped.contains(&b'\n') && !escaped.contains(&b'\t') && !escaped.contains(&0));
        unescape(&escaped, &mut back);
        assert_eq!(back, all);
        for len in [0, 1, 2, 3, 4, 5, 255] {
            let mut text = Vec::new();
            base64(&all[..len], &mut text);
            assert_eq!(text.len(), len.div_ceil(3) * 4);
            assert_eq!(from_base64(&text).as_deref(), Some(&all[..len]));
        }
        for bad in ["a", "ab", "abc", "a===", "ab=c", "ab==ab==", "a*cd", "====", "YWI=YWI="] {
            assert_eq!(from_base64(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(from_base64(b"YWJj\nZA==").as_deref(), Some(&b"abcd"[..]));
    }

    #[test]
    fn special_characters_are_found_wherever_they_are() {
        let one_by_one = |text: &[u8]| {
            let escaped = |b: &u8| match ESCAPES[usize::from(*b)] {
                0 => vec![*b],
                letter => vec![b'\\', letter],
            };
            text.iter().flat_map(escaped).collect::<Vec<u8>>()
        };
        for len in 0..100 {
            for special in [0, 7, 8, 9, 10, 13, 0x1A, 0x1F, b' ', b'[', b'\\', b']', 0x7F, 0x80, 0xFF] {
                for at in 0..len {
                    let mut text = vec![b'x'; len];
                    text[at] = special;
                    let mut out = b"before".to_vec();
                    escape(&text, &mut out);
                    assert_eq!(out[6..], one_by_one(&text), "{special} at {at} of {len}");
                }
            }
        }
    }

    #[test]
    fn numbers_of_documents_are_summed_as_doubles() {
        let sum = |text: &str| {
            let mut out = Vec::new();
            approximate(text.as_bytes(), &mut out);
            String::from_utf8(out).unwrap()
        };
        for (exact, read) in [
            ("[1.50, -0.10]", "[1.5, -0.1]"),
            (r#"{"1.50": 100.00, "\"2.50": 1e3}"#, r#"{"1.50": 100.0, "\"2.50": 1000.0}"#),
            ("123456789012345678901234567890", "1.2345678901234568e29"),
            ("[18446744073709551615, -7]", "[18446744073709551615, -7]"),
        ] {
            assert_eq!(sum(exact), sum(read));
        }
        assert_ne!(sum(r#"["1.50"]"#), sum(r#"["1.5"]"#));
        assert_ne!(sum(r#"["\\\"1.50"]"#), sum(r#"["\\\"1.5"]"#));
        assert_ne!(sum("9223372036854775807"), sum("9223372036854775806"));
    }

    #[test]
    fn rows_become_lines() {
        let mut out = Vec::new();
        let forms = [Form::Plain, Form::Text, Form::Binary, Form::Text];
        line(b"\x0212\x03a\tb\x02\x00\xFF\xFB", &forms, &mut out).unwrap();
        assert_eq!(out, b"12\ta\\tb\tAP8=\t\\N\n");
        let cut = line(b"\x0212\x05a", &forms, &mut out).unwrap_err().to_string();
        assert_eq!(cut, "the server sent a row that ends too early");
        assert_eq!((Form::of("text", "latin1"), Form::of("text", "gbk")), (Form::Text, Form::Binary));
        assert_eq!(
            (Form::of("json", ""), Form::of("bit", ""), Form::of("year", "")),
            (Form::Json, Form::Binary, Form::Plain)
        );
    }
}

//! The fuzz target of [`super::reader`].

use super::{Format, Input, Reader};
use crate::file::cutter::{Cut, Cutter};
use crate::file::reader::Field;
use gannet_types::Result;

struct Pieces<'a>(std::slice::Chunks<'a, u8>);

impl Input for Pieces<'_> {
    fn read(&mut self, buffer: &mut Vec<u8>) -> Result<bool> {
        let piece = self.0.next();
        buffer.extend_from_slice(piece.unwrap_or_default());
        Ok(piece.is_some())
    }
}

const LIMIT: usize = 1 << 12;

/// All fields of the text, with the lines' ends.
fn cut(format: &Format, text: &[u8], piece: usize, fields: usize) -> Vec<(Field, Vec<u8>)> {
    let mut input = Pieces(text.chunks(piece));
    let mut reader = Reader::new(format, &mut input, LIMIT);
    let mut all = Vec::new();
    // Every line takes a byte at least, or is the last.
    for _ in 0..=text.len() + 1 {
        for _ in 0..fields {
            if format.is_fixed() {
                let Ok(more) = reader.fixed_line(fields) else { return all };
                all.push((if more { Field::Text } else { Field::End }, reader.field().to_vec()));
                break;
            }
            let Ok(field) = reader.next_field() else { return all };
            all.push((field, reader.field().to_vec()));
            if field == Field::End {
                break;
            }
        }
        let more = reader.next_line().unwrap_or(false);
        all.push((Field::End, vec![u8::from(reader.line_was_cut())]));
        if !more || all.last().is_some_and(|(f, _)| *f == Field::End) && reader.field().is_empty() && text.is_empty() {
            return all;
        }
        assert!(reader.field().len() <= LIMIT + 1);
    }
    all
}

/// Cuts `data` in formats that its first bytes choose, whole and in pieces: both must be the same.
pub fn check(data: &[u8]) {
    let Some((head, text)) = data.split_first_chunk::<4>() else { return };
    const TERMS: [&[u8]; 8] = [b"\t", b",", b"", b"\n", b"\r\n", b",,", b"aab", b"ab"];
    let byte = |n: u8| [None, Some(b'"'), Some(b'\\'), Some(b','), Some(b'\n'), Some(b'a')][usize::from(n) % 6];
    let format = Format {
        field_term: TERMS[usize::from(head[0] & 7)].to_vec(),
        line_term: TERMS[usize::from(head[0] >> 3 & 7)].to_vec(),
        line_start: TERMS[usize::from(head[1] & 7)].iter().filter(|_| head[1] & 8 != 0).copied().collect(),
        enclosed: byte(head[2]),
        escape: byte(head[2] / 6),
        optionally: false,
    };
    let fields = 1 + usize::from(head[3] & 7);
    let whole = cut(&format, text, text.len().max(1), fields);
    let pieces = cut(&format, text, 1 + usize::from(head[3] >> 3), fields);
    assert_eq!(whole, pieces);
    at_hand(&format, text, fields);
}

/// What is cut out of a text that is at hand is what the reader cuts, line by line, and wherever a text is divided
/// behind whole lines, its parts have the same lines.
fn at_hand(format: &Format, text: &[u8], fields: usize) {
    let Some(cutter) = Cutter::new(format, fields) else { return };
    let (mut at, mut ends) = (0, vec![0]);
    while at < text.len() {
        let mut input = Pieces(text[at..].chunks(text.len()));
        let mut reader = Reader::new(format, &mut input, usize::MAX);
        let (mut cuts, mut made) = (Vec::new(), Vec::new());
        let line = cutter.cut(text, at, &mut cuts, &mut made);
        let mut full = true;
        for i in 0..fields {
            let field = reader.next_field().expect("no bound");
            full &= field != Field::End;
            match cuts.get(i) {
                _ if !line.plain => {}
                None => panic!("a plain line has too few fields"),
                Some(Cut::Null) => assert_eq!(field, Field::Null),
                Some(Cut::Text(from, to)) => assert_eq!((field, reader.field()), (Field::Text, &text[*from..*to])),
                Some(Cut::Made(from, to)) => assert_eq!((field, reader.field()), (Field::Text, &made[*from..*to])),
            }
            if field == Field::End {
                break;
            }
        }
        let more = reader.next_line().expect("no bound");
        assert!(!line.plain || full && !reader.line_was_cut());
        assert_eq!(more, line.ended);
        at = line.end;
        ends.extend(line.ended.then_some(at));
        let (rest, ..) = reader.into_rest();
        assert_eq!(rest, text[at..], "the line ends elsewhere");
    }
    for size in 1..=text.len() {
        let last = ends.iter().copied().rfind(|end| *end <= size).unwrap_or(0);
        assert_eq!(cutter.last_end(&text[..size]).unwrap_or(0), last, "of {size} bytes");
    }
}

/// Valid inputs.
pub fn seeds() -> Vec<Vec<u8>> {
    let texts: [&[u8]; 6] = [
        b"1\ta\n2\t\\N\n",
        b"\"a\"\"b\",NULL,3\r\n\"x,y\",\\\"\r\n",
        b"aabx,,yab,z",
        b"abcdefgh\nabcdefgh\n",
        b"\"a\nb\",\"c\"\"\\\"\"\nNULL,\"NULL\"\n\\N,\"\\N\"\nx\"y,\"z\"z\",\"more\n\n\"open",
        b"\"a\"\"b\",c\"\"d\n\"\",\"\"\"\"\n\"x\ny\",\"z\"",
    ];
    let heads: [[u8; 4]; 6] =
        [[24, 0, 12, 9], [33, 0, 13, 2], [46, 13, 0, 20], [26, 0, 0, 3], [25, 0, 13, 9], [25, 0, 7, 9]];
    texts.iter().zip(heads).map(|(t, h)| [&h[..], t].concat()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number below `n`, by chance, the same each time.
    fn below(x: &mut u64, n: usize) -> usize {
        *x = x.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        (*x >> 33) as usize % n
    }

    #[test]
    fn seeds_and_texts_by_chance() {
        seeds().iter().for_each(|seed| check(seed));
        let mut x = 1;
        for round in 0..20_000 {
            // One of three has both quotes and terminators of a byte.
            let head = match round % 3 {
                0 => [25, 0, [13, 7, 1, 12][below(&mut x, 4)], below(&mut x, 256) as u8],
                _ => [(); 4].map(|()| below(&mut x, 256) as u8),
            };
            const PARTS: [&[u8]; 12] =
                [b"\"", b"\"", b",", b"\n", b"\\", b"N", b"NULL", b"a", b"b", b"\"\"", b"\",\"", b"\"\n\""];
            let mut text = head.to_vec();
            for _ in 0..below(&mut x, 30) {
                text.extend_from_slice(PARTS[below(&mut x, PARTS.len())]);
            }
            check(&text);
        }
    }
}

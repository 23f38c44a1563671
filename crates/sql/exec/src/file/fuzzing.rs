//! The fuzz target of [`super::reader`].

use super::{Format, Input, Reader};
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
}

/// Valid inputs.
pub fn seeds() -> Vec<Vec<u8>> {
    let texts: [&[u8]; 4] =
        [b"1\ta\n2\t\\N\n", b"\"a\"\"b\",NULL,3\r\n\"x,y\",\\\"\r\n", b"aabx,,yab,z", b"abcdefgh\nabcdefgh\n"];
    let heads: [[u8; 4]; 4] = [[24, 0, 12, 9], [33, 0, 13, 2], [46, 13, 0, 20], [26, 0, 0, 3]];
    texts.iter().zip(heads).map(|(t, h)| [&h[..], t].concat()).collect()
}

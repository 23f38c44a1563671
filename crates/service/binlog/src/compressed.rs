//! Events that a MariaDB has compressed (`log_bin_compress`): statements and rows, each for itself.
//!
//! ```text
//! ..  what stands before the text of the statement, or before the images of the rows
//! ..  u8   0x80, and the number of bytes of the next field; bits 4 to 6: how it is compressed, 0: zlib
//! ..  length of what was compressed: one to four bytes, the highest first
//! ..  a stream of zlib (RFC 1950), to the end
//! ```
//!
//! Source: MariaDB Server documentation, "Compressing Events to Reduce Size of the Binary Log".

use crate::event::{MAX_EVENT, kind};
use crate::query::Query;
use crate::rows::Rows;
use gannet_base::{DecodeError, Reader};
use std::io::Read;

/// The event as it was before: its kind and its body. `None`: it is none that is compressed.
pub fn plain(event: u8, body: &[u8]) -> Result<Option<(u8, Vec<u8>)>, DecodeError> {
    let as_kind = match event {
        kind::MARIADB_QUERY_COMPRESSED => kind::QUERY,
        kind::MARIADB_WRITE_ROWS_COMPRESSED_V1 => kind::WRITE_ROWS_V1,
        kind::MARIADB_UPDATE_ROWS_COMPRESSED_V1 => kind::UPDATE_ROWS_V1,
        kind::MARIADB_DELETE_ROWS_COMPRESSED_V1 => kind::DELETE_ROWS_V1,
        kind::MARIADB_WRITE_ROWS_COMPRESSED => kind::WRITE_ROWS,
        kind::MARIADB_UPDATE_ROWS_COMPRESSED => kind::UPDATE_ROWS,
        kind::MARIADB_DELETE_ROWS_COMPRESSED => kind::DELETE_ROWS,
        _ => return Ok(None),
    };
    // What stands before is as it always is.
    let compressed = match Rows::decode(as_kind, body)? {
        Some(rows) => rows.images,
        None => Query::decode(body)?.text,
    };
    let mut out = body[..body.len() - compressed.len()].to_vec();
    inflate(&mut Reader::new(compressed), &mut out)?;
    Ok(Some((as_kind, out)))
}

/// Appends what was compressed. Memory is asked for as bytes come, whatever their number is said to be.
fn inflate(r: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<(), DecodeError> {
    let invalid = r.invalid("compressed part of an event");
    let head = r.u8()?;
    if head & 0xF8 != 0x80 {
        return Err(invalid);
    }
    let digits = usize::from(head & 7);
    if !(1..=4).contains(&digits) {
        return Err(invalid);
    }
    let length = r.bytes(digits)?.iter().fold(0, |n: u64, byte| n << 8 | u64::from(*byte));
    if length > u64::from(MAX_EVENT) {
        return Err(invalid);
    }
    let mut stream = flate2::bufread::ZlibDecoder::new(r.rest());
    let before = out.len();
    // One more than there is to be: the stream's end and its checksum are read, too.
    let read = stream.by_ref().take(length + 1).read_to_end(out);
    let whole = read.is_ok() && (out.len() - before) as u64 == length && stream.into_inner().is_empty();
    if whole { Ok(()) } else { Err(invalid) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Checksum, Event};
    use crate::map::TableMap;
    use gannet_types::Value;

    // As a MariaDB 10.11 has written them: CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(2000)), INSERT of two rows,
    // UPDATE of both, DELETE of one.
    const QUERY: &str = "\
        b3240b6ba54d00000086000000a0020000000004000000000000000100002300000000000101000020540000000006037374640421002100080081070000\
        000000000064008133789c730e72750c7155087174f271552851d04854f0f40b510808f2f4750c8a54f0768dd451485208730c72f6700cd230323030d0d4\
        04005b9e0ce3fa5a4b18";
    const MAP: &str = "b3240b6b134d0000002c000000430300000000120000000000010001640001740002030f02d007022e624e51";
    const WRITE: &str = "\
        b3240b6ba64d0000004300000086030000000012000000000001000203820267789cfbc3c8c0c010c19498943c8a4611d5d11f2660f26264a800001a7ce8\
        7fa54577e2";
    const UPDATE: &str = "\
        b3240b6ba74d0000005400000087040000000012000000000001000203038204cd789cfbc3c8c0c010c19498943c8a4611d5d11f50f2d261ac1a0544833f\
        4cc0206364a800d3a341470a00006bef08e2485eef9b";
    const DELETE: &str = "\
        b3240b6ba84d0000003700000063050000000012000000000001000203820133789cfbc3c8c0c0a0c358350a8806007775902322a8d8a1";

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect()
    }

    fn event(hex: &str) -> (u8, Vec<u8>) {
        let bytes = bytes(hex);
        let event = Event::first(&bytes, Checksum::Crc32).unwrap().unwrap();
        (event.header.kind, event.body.to_vec())
    }

    #[test]
    fn what_a_mariadb_has_compressed_is_read() {
        let (k, body) = event(QUERY);
        let (k, body) = plain(k, &body).unwrap().unwrap();
        let query = Query::decode(&body).unwrap();
        let text = b"CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(2000))";
        assert_eq!((k, query.schema, query.text), (kind::QUERY, &b"d"[..], &text[..]));
        let map = TableMap::decode(&event(MAP).1).unwrap();
        let (long, changed) = ("abc".repeat(200), "z".repeat(300));
        let row = |a: i64, b: &str| (a, b.to_owned());
        for (hex, as_kind, images) in [
            (WRITE, kind::WRITE_ROWS_V1, vec![row(1, &long), row(2, "x")]),
            (UPDATE, kind::UPDATE_ROWS_V1, vec![row(1, &long), row(1, &changed), row(2, "x"), row(2, &changed)]),
            (DELETE, kind::DELETE_ROWS_V1, vec![row(1, &changed)]),
        ] {
            let (k, body) = event(hex);
            assert_eq!(Rows::decode(k, &body).unwrap().map(|r| r.table), None);
            let (k, body) = plain(k, &body).unwrap().unwrap();
            assert_eq!(k, as_kind);
            let mut rows = Rows::decode(k, &body).unwrap().unwrap();
            let mut read = Vec::new();
            while let Some(crate::rows::Row { first, second, .. }) = rows.next(&map).unwrap() {
                for image in [Some(first), second].into_iter().flatten() {
                    let [Some(Value::Int(a)), Some(Value::Str(b, _))] = &image[..] else { panic!("{image:?}") };
                    read.push((*a, String::from_utf8(b.to_vec()).unwrap()));
                }
            }
            assert_eq!(read, images);
        }
        assert_eq!(plain(kind::QUERY, b"").unwrap(), None);
    }

    #[test]
    fn what_lies_is_an_error() {
        let (k, body) = event(WRITE);
        let read = |body: &[u8]| plain(k, body).map(|plain| plain.unwrap().1.len());
        let wrong = |body: &[u8], why: &str| match read(body) {
            Err(DecodeError::Invalid { .. } | DecodeError::Short { .. }) => {}
            other => panic!("{why}: {other:?}"),
        };
        assert_eq!(read(&body).unwrap(), 10 + 0x267);
        // Cut off anywhere.
        (0..body.len()).for_each(|n| wrong(&body[..n], "cut off"));
        // A bit that is another one: an error, or another way to say the same.
        let whole = plain(k, &body).unwrap();
        for at in 10..body.len() {
            for bit in 0..8 {
                let mut other = body.clone();
                other[at] ^= 1 << bit;
                match plain(k, &other) {
                    Err(DecodeError::Invalid { .. } | DecodeError::Short { .. }) => {}
                    read => assert_eq!(read.unwrap(), whole, "bit {bit} of {at}"),
                }
            }
        }
        let with = |head: &[u8]| [&body[..10], head, &body[13..]].concat();
        wrong(&with(&[0x82, 2, 0x66]), "shorter than said");
        wrong(&with(&[0x82, 2, 0x68]), "longer than said");
        wrong(&with(&[0x84, 0xFF, 0xFF, 0xFF, 0xFF]), "beyond every event");
        wrong(&with(&[0x84, 0x40, 0, 0, 0]), "a gigabyte");
        wrong(&with(&[0x80]), "no length");
        wrong(&with(&[0x85, 0, 0, 0, 2, 0x67]), "a length of five bytes");
        wrong(&with(&[0x92, 2, 0x67]), "another algorithm");
        wrong(&with(&[2, 2, 0x67]), "not compressed");
        wrong(&[&body[..], &[0]].concat(), "more behind it");
        // Leading zeros are a length like others.
        assert_eq!(read(&with(&[0x84, 0, 0, 2, 0x67])).unwrap(), 10 + 0x267);
        let (q, body) = event(QUERY);
        (0..body.len()).for_each(|n| {
            assert!(matches!(plain(q, &body[..n]), Err(DecodeError::Short { .. } | DecodeError::Invalid { .. })))
        });
    }
}

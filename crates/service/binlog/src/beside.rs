//! Events before a statement in a log of statements: what it has of its session, and the file of LOAD DATA.
//!
//! ```text
//! INTVAR              u8 1 LAST_INSERT_ID() or 2 the first AUTO_INCREMENT value; u64 value
//! RAND                u64, u64 seeds of RAND()
//! USER_VAR            u32 length of the name, name, u8 is NULL; else u8 type, u32 collation, u32 length, value;
//!                     u8 flags (1: unsigned), which old servers lack
//! BEGIN_LOAD_QUERY,
//! APPEND_BLOCK        u32 number of the file; its bytes to the end
//! DELETE_FILE         u32 number of the file
//! EXECUTE_LOAD_QUERY  as QUERY, and before the status variables: u32 number of the file, u32 and u32 from where to
//!                     where ` INFILE ... INTO` stands in the text, u8 what becomes of duplicates (0 error, 1 IGNORE,
//!                     2 REPLACE)
//! ```
//!
//! A value of a user variable is bytes (type 0), a double (1), an i64 (2), or digits before and behind the point, a
//! byte each, and a decimal as in rows (4). Source: MySQL 8.4 Source Code Documentation, "Binary log event".

use crate::query::Query;
use gannet_base::{DecodeError, Reader};
use gannet_types::decimal::stored;
use gannet_types::{Collation, Value};
use std::ops::Range;

/// What a statement has of its session.
#[derive(Clone, PartialEq, Debug)]
pub enum Beside {
    /// LAST_INSERT_ID().
    LastInsertId(u64),
    /// The first value that AUTO_INCREMENT gives.
    InsertId(u64),
    /// The seeds of RAND().
    Seeds(u64, u64),
    /// A user variable.
    Variable(String, Value),
}

impl Beside {
    /// From an INTVAR event's body.
    pub fn integer(body: &[u8]) -> Result<Beside, DecodeError> {
        let mut r = Reader::new(body);
        match r.u8()? {
            1 => Ok(Beside::LastInsertId(r.u64()?)),
            2 => Ok(Beside::InsertId(r.u64()?)),
            _ => Err(r.invalid("kind of an integer")),
        }
    }

    /// From a RAND event's body.
    pub fn seeds(body: &[u8]) -> Result<Beside, DecodeError> {
        let mut r = Reader::new(body);
        Ok(Beside::Seeds(r.u64()?, r.u64()?))
    }

    /// From a USER_VAR event's body.
    pub fn variable(body: &[u8]) -> Result<Beside, DecodeError> {
        const UNSIGNED: u8 = 1;
        let mut r = Reader::new(body);
        let length = r.u32()? as usize;
        let name = String::from_utf8_lossy(r.bytes(length)?).into_owned();
        if r.u8()? != 0 {
            return Ok(Beside::Variable(name, Value::Null));
        }
        let (kind, collation, length) = (r.u8()?, r.u32()?, r.u32()? as usize);
        let mut v = Reader::new(r.bytes(length)?);
        let unsigned = !r.is_empty() && r.u8()? & UNSIGNED != 0;
        let value = match kind {
            0 => {
                let known = u16::try_from(collation).ok().and_then(Collation::by_id);
                let collation = known.ok_or(v.invalid("collation of a variable"))?;
                Value::Str(v.rest().into(), collation.id)
            }
            1 => Value::Double(f64::from_bits(v.u64()?)),
            2 if unsigned => Value::UInt(v.u64()?),
            2 => Value::Int(v.u64()? as i64),
            4 => {
                let bad = v.invalid("decimal of a variable");
                let (precision, scale) = (v.u8()?, v.u8()?);
                let bytes = v.bytes(stored::len(precision, scale))?;
                Value::Decimal(stored::decode(bytes, precision, scale).ok_or(bad)?)
            }
            _ => return Err(v.invalid("type of a variable")),
        };
        Ok(Beside::Variable(name, value))
    }
}

impl std::fmt::Display for Beside {
    /// As in SHOW BINLOG EVENTS.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Beside::LastInsertId(id) => write!(f, "LAST_INSERT_ID={id}"),
            Beside::InsertId(id) => write!(f, "INSERT_ID={id}"),
            Beside::Seeds(a, b) => write!(f, "rand_seed1={a},rand_seed2={b}"),
            Beside::Variable(name, value) => {
                write!(f, "@`{}`=", name.replace('`', "``"))?;
                let Value::Str(bytes, id) = value else {
                    let mut text = Vec::new();
                    value.write_text(&mut text);
                    let text = if value.is_null() { "NULL".into() } else { String::from_utf8_lossy(&text) };
                    return f.write_str(&text);
                };
                write!(f, "_{} 0x", id.charset().name())?;
                bytes.iter().try_for_each(|b| write!(f, "{b:02X}"))?;
                write!(f, " COLLATE {}", id.get().name)
            }
        }
    }
}

/// A part of a file: its number, and the bytes.
pub fn block(body: &[u8]) -> Result<(u32, &[u8]), DecodeError> {
    let mut r = Reader::new(body);
    Ok((r.u32()?, r.rest()))
}

/// LOAD DATA, whose file came before it.
#[derive(Clone, PartialEq, Debug)]
pub struct LoadQuery<'a> {
    /// The statement, with the name that the file has at its server.
    pub query: Query<'a>,
    /// The number of the file.
    pub file: u32,
    /// Where the file is named, from INFILE to INTO.
    named: Range<usize>,
    /// What becomes of duplicates.
    duplicates: &'static str,
}

impl<'a> LoadQuery<'a> {
    /// From an EXECUTE_LOAD_QUERY event's body.
    pub fn decode(body: &'a [u8]) -> Result<LoadQuery<'a>, DecodeError> {
        let (query, own) = Query::decode_with::<13>(body)?;
        let mut r = Reader::new(own);
        let (file, start, end) = (r.u32()?, r.u32()? as usize, r.u32()? as usize);
        let duplicates = match r.u8()? {
            0 => "",
            1 => " IGNORE",
            2 => " REPLACE",
            _ => return Err(r.invalid("what becomes of duplicates")),
        };
        if start > end || end > query.text.len() {
            return Err(r.invalid("place of a file's name"));
        }
        Ok(LoadQuery { query, file, named: start..end, duplicates })
    }

    /// The statement, about a file with this name, in which no character has to be escaped.
    pub fn text(&self, name: &str) -> Vec<u8> {
        let (head, tail) = (&self.query.text[..self.named.start], &self.query.text[self.named.end..]);
        let said = format!(" INFILE '{name}'{} INTO ", self.duplicates);
        [head, said.as_bytes(), tail].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Checksum, Event, MAGIC, kind};

    #[test]
    fn what_statements_have_is_shown() {
        let file = crate::fuzzing::seeds().swap_remove(0);
        let mut rest = &file[MAGIC.len()..];
        let (mut shown, mut load) = (Vec::new(), None);
        while let Some(event) = Event::first(rest, Checksum::Crc32).unwrap() {
            rest = &rest[event.bytes.len()..];
            if matches!(event.header.kind, kind::INTVAR | kind::RAND..=kind::USER_VAR | 17..=18) {
                shown.push(crate::show::info(&event));
            }
            if event.header.kind == kind::EXECUTE_LOAD_QUERY {
                load = Some(LoadQuery::decode(event.body).unwrap().text("f"));
            }
        }
        assert_eq!(
            shown,
            [
                "INSERT_ID=5",
                "rand_seed1=506381209866536711,rand_seed2=506381209866536711",
                "@`v`=_utf8mb4 0x616263 COLLATE utf8mb4_0900_ai_ci",
                "@`v`=1.2",
                "@`v`=1",
                ";file_id=1;block_len=3",
                "use `d`; LOAD DATA INFILE 'x' INTO  TABLE t ;file_id=1",
            ]
        );
        assert_eq!(load.as_deref(), Some(&b"LOAD DATA INFILE 'f' REPLACE INTO TABLE t"[..]));
    }

    #[test]
    fn wrong_ones_are_refused() {
        let wrong = |body: &[u8]| Beside::variable(body).unwrap_err().to_string();
        let is = |body: &[u8], what: &str| assert!(wrong(body).contains(what), "{}", wrong(body));
        is(b"\x01\0\0\0v\0\x00\xFF\xFF\0\0\x01\0\0\0a", "collation of a variable");
        is(b"\x01\0\0\0v\0\x03\xFF\0\0\0\x01\0\0\0a", "type of a variable");
        is(b"\x01\0\0\0v\0\x04\x3F\0\0\0\x04\0\0\0\x03\x01\x80\x0C", "decimal of a variable");
        is(b"\xFF\xFF\xFF\xFFv", "end");
        let integer = Beside::integer(&[3, 0, 0, 0, 0, 0, 0, 0, 0]).unwrap_err();
        assert!(integer.to_string().contains("kind of an integer"));
        let load = |start: u8, end: u8, duplicates: u8| {
            let own = [1, 0, 0, 0, start, 0, 0, 0, end, 0, 0, 0, duplicates];
            LoadQuery::decode(&[&[0; 13][..], &own, b"\0LOAD DATA"].concat()).is_ok()
        };
        assert!(load(4, 9, 0) && !load(4, 10, 0) && !load(5, 4, 0) && !load(4, 9, 3));
    }
}

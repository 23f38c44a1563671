//! The stored form read and made: see the table of [`super`].

use super::*;
use std::cmp::Ordering;

fn tagged(out: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    out.push(tag);
    out.extend_from_slice(bytes);
}

fn too_big<E>(_: E) -> crate::error::SqlError {
    sql_err!(JsonValueTooBig)
}

fn sized(out: &mut Vec<u8>, head: &[u8], bytes: &[u8]) -> Result<()> {
    let length = u32::try_from(bytes.len()).map_err(too_big)?;
    out.extend_from_slice(head);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(bytes);
    Ok(())
}

/// Begins a container; its length is written when it closes.
fn container(out: &mut Vec<u8>, tag: u8, count: usize) -> Result<usize> {
    let count = u32::try_from(count).map_err(too_big)?;
    tagged(out, tag, &[0; 4]);
    out.extend_from_slice(&count.to_le_bytes());
    Ok(out.len())
}

fn close(out: &mut [u8], start: usize) -> Result<()> {
    let length = u32::try_from(out.len() - start).map_err(too_big)?;
    out[start - 8..start - 4].copy_from_slice(&length.to_le_bytes());
    Ok(())
}

/// Makes the stored form.
pub(super) struct Encoder<'r> {
    out: Vec<u8>,
    counted: usize,
    pieces: Pieces<'r>,
}

impl<'r> Encoder<'r> {
    pub(super) fn new(room: Room<'r>) -> Self {
        Encoder { out: Vec::new(), counted: 0, pieces: Pieces::of(room) }
    }

    /// The text is a copy.
    pub(super) fn finish(mut self) -> Result<Text> {
        self.pieces.take(self.out.len())?;
        Ok(self.out.into())
    }

    /// Takes room for what was written since.
    fn count(&mut self) -> Result<()> {
        let grown = self.out.len() - std::mem::replace(&mut self.counted, self.out.len());
        self.pieces.take(grown)
    }

    pub(super) fn value(&mut self, json: &Json, depth: usize) -> Result<()> {
        if depth > MAX_DEPTH + usize::from(json.is_scalar()) {
            return Err(sql_err!(JsonDocumentTooDeep));
        }
        let out = &mut self.out;
        match json {
            Json::Null => out.push(0),
            Json::Bool(b) => out.push(if *b { 1 } else { 2 }),
            Json::Int(v) => tagged(out, 3, &v.to_le_bytes()),
            Json::UInt(v) => tagged(out, 4, &v.to_le_bytes()),
            Json::Double(v) => tagged(out, 5, &v.to_bits().to_le_bytes()),
            Json::Decimal(v) => {
                let scale = v.scale().min(30);
                let precision = (v.int_digits() + scale).clamp(1, 65);
                out.extend_from_slice(&[6, precision, scale]);
                v.encode(precision, scale, out);
            }
            Json::String(text) => sized(out, &[7], text.as_bytes())?,
            Json::Array(items) => return self.array(items.iter(), depth),
            Json::Object(object) => return self.object(object.iter(), depth),
            Json::Date(v) => tagged(out, 10, &v.packed().to_le_bytes()),
            Json::Time(v) => tagged(out, 11, &v.packed().to_le_bytes()),
            Json::DateTime(v) => tagged(out, 12, &v.packed().to_le_bytes()),
            Json::Timestamp(v) => tagged(out, 13, &v.packed().to_le_bytes()),
            Json::Opaque(ty, bytes) => sized(out, &[14, *ty], bytes)?,
        }
        self.count()
    }

    pub(super) fn array<'j>(&mut self, items: impl ExactSizeIterator<Item = &'j Json>, depth: usize) -> Result<()> {
        let start = container(&mut self.out, 8, items.len())?;
        for item in items {
            self.value(item, depth + 1)?;
        }
        close(&mut self.out, start)
    }

    pub(super) fn object<'j>(
        &mut self,
        members: impl ExactSizeIterator<Item = (&'j str, &'j Json)>,
        depth: usize,
    ) -> Result<()> {
        let start = container(&mut self.out, 9, members.len())?;
        for (key, value) in members {
            sized(&mut self.out, &[], key.as_bytes())?;
            self.value(value, depth + 1)?;
        }
        close(&mut self.out, start)
    }
}

/// Reads it.
pub(super) struct Reader<'a> {
    pub(super) rest: &'a [u8],
    pieces: Pieces<'a>,
    /// Why it ended, if not by bytes that are none.
    pub(super) refused: Option<SqlError>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(rest: &'a [u8], room: Room<'a>) -> Self {
        Reader { rest, pieces: Pieces::of(room), refused: None }
    }

    /// Takes room for a part of the tree.
    fn room(&mut self, bytes: usize) -> Option<()> {
        self.pieces.take(bytes).map_err(|e| self.refused = Some(e)).ok()
    }

    /// Appends the text of a value, without its tree.
    pub(super) fn write(&mut self, out: &mut Vec<u8>, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        let object = match self.rest.first()? {
            8 => false,
            9 => true,
            _ => return self.value(depth).map(|scalar| scalar.write_scalar(out, true)),
        };
        self.take(1)?;
        let (bytes, count) = (self.length()?, self.length()?);
        let rest = self.take(bytes)?;
        let behind = std::mem::replace(&mut self.rest, rest);
        out.push(if object { b'{' } else { b'[' });
        for i in 0..count {
            if i > 0 {
                out.extend_from_slice(b", ");
            }
            if object {
                let length = self.length()?;
                write_quoted(self.text(length)?, out);
                out.extend_from_slice(b": ");
            }
            self.write(out, depth + 1)?;
        }
        out.push(if object { b'}' } else { b']' });
        self.rest = behind;
        Some(())
    }

    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (front, rest) = self.rest.split_at_checked(n)?;
        self.rest = rest;
        Some(front)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn length(&mut self) -> Option<usize> {
        usize::try_from(u32::from_le_bytes(self.array()?)).ok()
    }

    fn text(&mut self, length: usize) -> Option<&'a str> {
        std::str::from_utf8(self.take(length)?).ok()
    }

    pub(super) fn value(&mut self, depth: usize) -> Option<Json> {
        if depth > MAX_DEPTH {
            return None;
        }
        Some(match self.take(1)?[0] {
            0 => Json::Null,
            1 => Json::Bool(true),
            2 => Json::Bool(false),
            3 => Json::Int(i64::from_le_bytes(self.array()?)),
            4 => Json::UInt(u64::from_le_bytes(self.array()?)),
            5 => Json::Double(f64::from_bits(u64::from_le_bytes(self.array()?))),
            6 => {
                let [precision, scale] = self.array()?;
                if !(1..=65).contains(&precision) || scale > precision.min(30) {
                    return None;
                }
                let bytes = self.take(Decimal::encoded_len(precision))?;
                Json::Decimal(Decimal::decode(bytes, scale)?)
            }
            7 => {
                let length = self.length()?;
                self.room(length.min(self.rest.len()) + KEY)?;
                Json::String(self.text(length)?.into())
            }
            8 => {
                let (bytes, count) = (self.length()?, self.length()?);
                let rest = self.take(bytes)?;
                // Every element takes a byte at least: a damaged count allocates no more than that.
                let count = count.min(bytes + 1);
                self.room(count * size_of::<Json>())?;
                let behind = std::mem::replace(&mut self.rest, rest);
                let mut items = Vec::with_capacity(count);
                for _ in 0..count {
                    items.push(self.value(depth + 1)?);
                }
                self.rest = behind;
                Json::Array(items)
            }
            9 => {
                let (bytes, count) = (self.length()?, self.length()?);
                let rest = self.take(bytes)?;
                let count = count.min(bytes / 5 + 1);
                self.room(count * size_of::<(Box<str>, Json)>())?;
                let behind = std::mem::replace(&mut self.rest, rest);
                let mut members = Vec::with_capacity(count);
                for _ in 0..count {
                    let length = self.length()?;
                    self.room(length.min(self.rest.len()) + KEY)?;
                    let key = self.text(length)?.into();
                    members.push((key, self.value(depth + 1)?));
                }
                self.rest = behind;
                Json::Object(Object(members))
            }
            10 => Json::Date(Date::from_packed(u32::from_le_bytes(self.array()?))?),
            11 => Json::Time(Time::from_packed(i64::from_le_bytes(self.array()?))?),
            12 => Json::DateTime(DateTime::from_packed(i64::from_le_bytes(self.array()?))?),
            13 => Json::Timestamp(DateTime::from_packed(i64::from_le_bytes(self.array()?))?),
            14 => {
                let ty = self.take(1)?[0];
                let length = self.length()?;
                self.room(length.min(self.rest.len()))?;
                Json::Opaque(ty, self.take(length)?.into())
            }
            _ => return None,
        })
    }
}

impl Reader<'_> {
    /// The tag of the next value.
    fn tag(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// Goes into a container.
    fn enter(&mut self) -> Option<usize> {
        self.take(1)?;
        let (_, count) = (self.length()?, self.length()?);
        Some(count)
    }

    fn key(&mut self) -> Option<&str> {
        let length = self.length()?;
        self.text(length)
    }
}

const ARRAY: u8 = 8;
const OBJECT: u8 = 9;

/// [`compare`] of two stored forms, without their trees; `None` for bytes that are none.
pub fn compare_stored(a: &[u8], b: &[u8]) -> Option<Ordering> {
    compare_next(&mut Reader::new(a, Room::FREE), &mut Reader::new(b, Room::FREE), 0)
}

fn compare_next(a: &mut Reader<'_>, b: &mut Reader<'_>, depth: usize) -> Option<Ordering> {
    if depth > MAX_DEPTH {
        return None;
    }
    match (a.tag()?, b.tag()?) {
        (ARRAY, ARRAY) => {
            let (n, m) = (a.enter()?, b.enter()?);
            for _ in 0..n.min(m) {
                match compare_next(a, b, depth + 1)? {
                    Ordering::Equal => {}
                    order => return Some(order),
                }
            }
            Some(n.cmp(&m))
        }
        (OBJECT, OBJECT) => {
            let (n, m) = (a.enter()?, b.enter()?);
            if n != m {
                return Some(n.cmp(&m));
            }
            for _ in 0..n {
                let keys = key_order(a.key()?, b.key()?);
                match keys.then(if keys.is_eq() { compare_next(a, b, depth + 1)? } else { keys }) {
                    Ordering::Equal => {}
                    order => return Some(order),
                }
            }
            Some(Ordering::Equal)
        }
        // A container stands for its kind here: an empty one will do.
        _ => Some(compare(&a.outline(depth)?, &b.outline(depth)?)),
    }
}

impl Reader<'_> {
    /// The scalar that comes next, or an empty container in the place of one.
    fn outline(&mut self, depth: usize) -> Option<Json> {
        match self.tag()? {
            ARRAY => Some(Json::Array(Vec::new())),
            OBJECT => Some(Json::Object(Object::default())),
            _ => self.value(depth),
        }
    }
}

/// [`sort_key`] of a stored form, without its tree. `None`, and nothing sensible was appended, for bytes that are none.
pub fn sort_key_stored(stored: &[u8], out: &mut Vec<u8>) -> Option<()> {
    key_of_next(&mut Reader::new(stored, Room::FREE), out, 0)
}

fn key_of_next(reader: &mut Reader<'_>, out: &mut Vec<u8>, depth: usize) -> Option<()> {
    if depth > MAX_DEPTH {
        return None;
    }
    match reader.tag()? {
        ARRAY => {
            out.push(super::compare::ARRAY);
            for _ in 0..reader.enter()? {
                key_of_next(reader, out, depth + 1)?;
            }
            out.push(0);
        }
        OBJECT => {
            out.push(super::compare::OBJECT);
            let count = reader.enter()?;
            out.extend_from_slice(&(count as u32).to_be_bytes());
            for _ in 0..count {
                let key = reader.key()?;
                out.extend_from_slice(&(key.len() as u16).to_be_bytes());
                out.extend_from_slice(key.as_bytes());
                key_of_next(reader, out, depth + 1)?;
            }
        }
        _ => sort_key(&reader.value(depth)?, out),
    }
    Some(())
}

//! Changes of a JSON document, which an event of rows has in the place of a document that is another one in a part only
//! (`binlog_row_value_options = PARTIAL_JSON`).
//!
//! One behind the other, up to the end of the value:
//!
//! ```text
//! 0   u8       0: the value at the path is replaced; 1: one is put there that was not; 2: it is taken out
//! 1   lenenc   length of the path; its text
//! ..  lenenc   but of 2: length of the value; the value, as a document (see `json`)
//! ```
//!
//! A path leads to one place, of members and cells alone. A cell that is put in moves those behind it. Source: MySQL 8.4
//! Source Code Documentation, "json_diff.h" and "rows_event.h".

use crate::format::{lenenc, put_lenenc};
use crate::json;
use gannet_base::{DecodeError, Reader};
use gannet_types::json::{Json, Leg, Path};

/// A change.
#[derive(Debug, PartialEq)]
pub struct Diff {
    /// Where; not the document itself.
    pub path: Path,
    /// What becomes of it.
    pub edit: Edit,
}

/// What becomes of a place in a document.
#[derive(Debug, PartialEq)]
pub enum Edit {
    /// The value is this one.
    Replace(Json),
    /// There is this one, where none was.
    Insert(Json),
    /// There is none any more.
    Remove,
}

/// All of a value.
pub fn decode(bytes: &[u8]) -> Result<Vec<Diff>, DecodeError> {
    let mut r = Reader::new(bytes);
    let mut all = Vec::new();
    while r.remaining() > 0 {
        let edit = r.u8()?;
        let bad = r.invalid("path of a change");
        let length = lenenc(&mut r)? as usize;
        let text = std::str::from_utf8(r.bytes(length)?).map_err(|_| r.invalid("path of a change"))?;
        let path = Path::parse(text).ok().filter(|path| !path.0.is_empty() && !path.matches_many()).ok_or(bad)?;
        let mut value = || {
            let length = lenenc(&mut r)? as usize;
            json::decode(r.bytes(length)?)
        };
        let edit = match edit {
            0 => Edit::Replace(value()?),
            1 => Edit::Insert(value()?),
            2 => Edit::Remove,
            _ => return Err(r.invalid("kind of a change")),
        };
        all.push(Diff { path, edit });
    }
    Ok(all)
}

/// Appends changes.
pub fn encode<'d>(diffs: impl IntoIterator<Item = &'d Diff>, out: &mut Vec<u8>) {
    let mut piece = Vec::new();
    for diff in diffs {
        let (number, value) = match &diff.edit {
            Edit::Replace(value) => (0, Some(value)),
            Edit::Insert(value) => (1, Some(value)),
            Edit::Remove => (2, None),
        };
        out.push(number);
        piece.clear();
        diff.path.write(&mut piece);
        put_lenenc(piece.len() as u64, out);
        out.extend_from_slice(&piece);
        if let Some(value) = value {
            piece.clear();
            json::encode(value, &mut piece);
            put_lenenc(piece.len() as u64, out);
            out.extend_from_slice(&piece);
        }
    }
}

/// Changes a document. False: one of the places is not as the change says, and the document is of no use.
pub fn apply(diffs: Vec<Diff>, document: &mut Json) -> bool {
    diffs.into_iter().all(|diff| apply_one(diff, document).is_some())
}

fn apply_one(diff: Diff, document: &mut Json) -> Option<()> {
    let (last, parents) = diff.path.0.split_last()?;
    let parent = parents.iter().try_fold(document, |value, leg| place(value, leg))?;
    match (diff.edit, last, parent) {
        (Edit::Replace(value), last, parent) => *place(parent, last)? = value,
        (Edit::Insert(value), Leg::Member(key), Json::Object(object)) => {
            if object.get(key).is_some() {
                return None;
            }
            object.insert(key.clone(), value);
        }
        (Edit::Insert(value), Leg::Cell(index), Json::Array(items)) => {
            let at = match index.within(items.len()) {
                Ok(at) => at,
                Err(true) => 0,
                Err(false) => items.len(),
            };
            items.insert(at, value);
        }
        (Edit::Remove, Leg::Member(key), Json::Object(object)) => drop(object.remove(key)?),
        (Edit::Remove, Leg::Cell(index), Json::Array(items)) => drop(items.remove(index.within(items.len()).ok()?)),
        _ => return None,
    }
    Some(())
}

/// The value at a member or cell, which is there: what is no array has no cells.
fn place<'j>(value: &'j mut Json, leg: &Leg) -> Option<&'j mut Json> {
    match (value, leg) {
        (Json::Object(object), Leg::Member(key)) => object.get_mut(key),
        (Json::Array(items), Leg::Cell(index)) => {
            let at = index.within(items.len()).ok()?;
            items.get_mut(at)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_types::json::parse;

    fn text(json: &Json) -> String {
        let mut out = Vec::new();
        json.write(&mut out);
        String::from_utf8(out).unwrap()
    }

    fn json(text: &str) -> Json {
        parse(text.as_bytes()).unwrap()
    }

    /// Bytes written down from the description of the format, not by the encoder.
    #[test]
    fn bytes_of_changes() {
        let bytes = [
            // $.a becomes 7: a document of type 5, an i16.
            &[0, 3, b'$', b'.', b'a', 3, 5, 7, 0][..],
            // "x" is put before $.b[1]: type 12, a text of one byte.
            &[1, 6, b'$', b'.', b'b', b'[', b'1', b']', 3, 12, 1, b'x'],
            // $."c d" is taken out.
            &[2, 7, b'$', b'.', b'"', b'c', b' ', b'd', b'"'],
        ]
        .concat();
        let diffs = decode(&bytes).unwrap();
        let mut again = Vec::new();
        encode(&diffs, &mut again);
        assert_eq!(again, bytes);
        let mut document = json(r#"{"a": [1], "b": [10, 20], "c d": null}"#);
        assert!(apply(diffs, &mut document));
        assert_eq!(text(&document), r#"{"a": 7, "b": [10, "x", 20]}"#);
        assert_eq!(decode(&[]).unwrap(), []);
        for end in [1, 2, 4, 5, 8, 10, 20, 22] {
            decode(&bytes[..end]).unwrap_err();
        }
        for (bytes, what) in [
            (&[3, 3, b'$', b'.', b'a'][..], "kind"),
            (&[2, 1, b'$'], "path"),
            (&[2, 3, b'$', b'.', b'*'], "path"),
            (&[2, 4, b'$', b'*', b'*', b'a'], "path"),
            (&[2, 1, 0xFF], "path"),
            (&[2, 2, b'a', b'b'], "path"),
            (&[0, 3, b'$', b'.', b'a', 1, 99], "JSON"),
        ] {
            let e = decode(bytes).unwrap_err();
            assert!(format!("{e:?}").contains(what), "{bytes:?}: {e:?}");
        }
    }

    #[test]
    fn places_have_to_be_as_the_change_says() {
        let diff = |path: &str, edit| Diff { path: Path::parse(path).unwrap(), edit };
        let replace = |path| diff(path, Edit::Replace(Json::Int(1)));
        let insert = |path| diff(path, Edit::Insert(Json::Int(1)));
        let remove = |path| diff(path, Edit::Remove);
        for (before, change, after) in [
            (r#"{"a": {"b": 0}}"#, replace("$.a.b"), Some(r#"{"a": {"b": 1}}"#)),
            (r#"{"a": 0}"#, replace("$.b"), None),
            (r#"{"a": 0}"#, replace("$.a.b"), None),
            // What is no array is not taken for one.
            ("5", replace("$[0]"), None),
            ("[0]", replace("$[1]"), None),
            ("[0, 0]", replace("$[last]"), Some("[0, 1]")),
            (r#"{"a": 0}"#, insert("$.b"), Some(r#"{"a": 0, "b": 1}"#)),
            (r#"{"a": 0}"#, insert("$.a"), None),
            ("[]", insert("$.a"), None),
            ("[0]", insert("$[0]"), Some("[1, 0]")),
            ("[0]", insert("$[9]"), Some("[0, 1]")),
            (r#"{"a": 0}"#, remove("$.a"), Some("{}")),
            (r#"{"a": 0}"#, remove("$.b"), None),
            ("[0, 2]", remove("$[0]"), Some("[2]")),
            ("[0]", remove("$[1]"), None),
        ] {
            let mut document = json(before);
            let shown = format!("{before} {change:?}");
            let done = apply(vec![change], &mut document);
            assert_eq!(done.then(|| text(&document)).as_deref(), after, "{shown}");
        }
    }
}

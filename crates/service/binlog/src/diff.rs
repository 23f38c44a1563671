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
//! A path leads to one place, of members and cells alone. A cell that is put in moves those behind it. Source: MySQL
//! 8.4 Source Code Documentation, "json_diff.h" and "rows_event.h".

use crate::format::{lenenc, put_lenenc};
use crate::json;
use gannet_base::{DecodeError, Reader};
use gannet_types::json::{Index, Json, Leg, Path};
use gannet_types::room::Room;

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

/// The changes that make a document another one; `None`: it is another one as a whole.
pub fn between(old: &Json, mut new: Json) -> Option<Vec<Diff>> {
    let mut all = Vec::new();
    if !is_part(old, &new) && !same(old, &new) {
        return None;
    }
    walk(old, &mut new, &mut Vec::new(), &mut all);
    Some(all)
}

/// Both are containers of one kind: one becomes the other by what is in it.
fn is_part(old: &Json, new: &Json) -> bool {
    matches!((old, new), (Json::Object(_), Json::Object(_)) | (Json::Array(_), Json::Array(_)))
}

/// To the last bit: 1.0 and 1.00, 0.0 and -0.0 are not the same.
fn same(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Double(a), Json::Double(b)) => a.to_bits() == b.to_bits(),
        (Json::Decimal(a), Json::Decimal(b)) => a == b && a.scale() == b.scale(),
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|((k, a), (l, b))| k == l && same(a, b))
        }
        (a, b) => a == b,
    }
}

/// Two containers of one kind. What is new is taken out of `new`.
fn walk(old: &Json, new: &mut Json, path: &mut Vec<Leg>, all: &mut Vec<Diff>) {
    match (old, new) {
        (Json::Object(old), Json::Object(new)) => {
            for (key, _) in old.iter().filter(|(key, _)| new.get(key).is_none()) {
                at(path, Leg::Member(key.into()), |path| put(path, Edit::Remove, all));
            }
            let keys: Vec<Box<str>> = new.iter().map(|(key, _)| key.into()).collect();
            for key in keys {
                let Some(value) = new.get_mut(&key) else { continue };
                let before = old.get(&key);
                at(path, Leg::Member(key), |path| match before {
                    Some(before) => turn(before, value, path, all),
                    None => put(path, Edit::Insert(std::mem::replace(value, Json::Null)), all),
                });
            }
        }
        (Json::Array(old), Json::Array(new)) => {
            let front = old.iter().zip(new.iter()).take_while(|(a, b)| same(a, b)).count();
            let (old, new) = (&old[front..], &mut new[front..]);
            let back = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| same(a, b)).count();
            let (left, right) = (old.len() - back, new.len() - back);
            let (old, new) = (&old[..left], &mut new[..right]);
            let cell = |i: usize| Leg::Cell(Index { n: front + i, from_end: false });
            let both = old.len().min(new.len());
            for (i, (before, value)) in old.iter().zip(new.iter_mut()).enumerate() {
                at(path, cell(i), |path| turn(before, value, path, all));
            }
            for (i, value) in new.iter_mut().enumerate().skip(both) {
                at(path, cell(i), |path| put(path, Edit::Insert(std::mem::replace(value, Json::Null)), all));
            }
            // Those behind one that is taken out move to its place.
            for _ in both..old.len() {
                at(path, cell(both), |path| put(path, Edit::Remove, all));
            }
        }
        _ => {}
    }
}

fn at(path: &mut Vec<Leg>, leg: Leg, f: impl FnOnce(&mut Vec<Leg>)) {
    path.push(leg);
    f(path);
    path.pop();
}

fn put(path: &[Leg], edit: Edit, all: &mut Vec<Diff>) {
    all.push(Diff { path: Path(path.to_vec()), edit });
}

/// One value of a container becomes another.
fn turn(old: &Json, new: &mut Json, path: &mut Vec<Leg>, all: &mut Vec<Diff>) {
    if is_part(old, new) {
        walk(old, new, path, all);
    } else if !same(old, new) {
        put(path, Edit::Replace(std::mem::replace(new, Json::Null)), all);
    }
}

/// The changes of a stored document, where they take fewer bytes than the document that it becomes.
pub(crate) fn shorter(old: &[u8], new: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    if old == new {
        return Some(out);
    }
    // Stored documents can be read: they were made by the server.
    let (old, new) = (Json::decode(old, Room::FREE).ok()?, Json::decode(new, Room::FREE).ok()?);
    json::encode(&new, &mut out);
    let whole = out.len();
    out.clear();
    encode(&between(&old, new)?, &mut out);
    (out.len() < whole).then_some(out)
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

    #[test]
    fn what_is_between_two_documents() {
        let show = |old: &str, new: &str| {
            let mut document = json(old);
            let diffs = between(&document, json(new))?;
            let mut bytes = Vec::new();
            encode(&diffs, &mut bytes);
            assert_eq!(decode(&bytes).unwrap(), diffs);
            let path = |d: &Diff| {
                let mut out = Vec::new();
                d.path.write(&mut out);
                let sign = match d.edit {
                    Edit::Replace(_) => "=",
                    Edit::Insert(_) => "+",
                    Edit::Remove => "-",
                };
                format!("{}{sign}", String::from_utf8(out).unwrap())
            };
            let shown = diffs.iter().map(path).collect::<Vec<_>>().join(" ");
            assert!(apply(diffs, &mut document), "{old} {new}");
            assert_eq!(text(&document), text(&json(new)), "{old} {new}");
            Some(shown)
        };
        for (old, new, want) in [
            ("1", "1", Some("")),
            ("1", "1.0", None),
            ("1.0", "1", None),
            ("[]", "{}", None),
            (r#"{"a": 1, "b": [1, {"c": 2}]}"#, r#"{"a": 1, "b": [1, {"c": 3}]}"#, Some("$.b[1].c=")),
            (r#"{"a": 1, "x y": 2}"#, r#"{"b": 1, "x y": null}"#, Some("$.a- $.b+ $.\"x y\"=")),
            (r#"{"a": [1]}"#, r#"{"a": {"b": 1}}"#, Some("$.a=")),
            ("[1, 2, 3]", "[1, 3]", Some("$[1]-")),
            ("[1, 3]", "[1, 2, 3]", Some("$[1]+")),
            ("[1, 2, 3, 4, 5]", "[1, 9, 5]", Some("$[1]= $[2]- $[2]-")),
            ("[1, 5]", "[1, 2, 3, 4, 5]", Some("$[1]+ $[2]+ $[3]+")),
            ("[0.0]", "[-0.0]", Some("$[0]=")),
            ("[[1], [2]]", "[[1, 1], [2]]", Some("$[0][1]+")),
            ("[]", "[]", Some("")),
        ] {
            assert_eq!(show(old, new).as_deref(), want, "{old} {new}");
        }
        let stored = |text: &str| json(text).to_text(Room::FREE).unwrap();
        let shorter = |old: &str, new: &str| shorter(&stored(old), &stored(new)).map(|d| d.len());
        let long = "x".repeat(1000);
        let (old, new) = (format!("{{\"a\": 1, \"b\": \"{long}\"}}"), format!("{{\"a\": 2, \"b\": \"{long}\"}}"));
        assert_eq!(shorter(&old, &new), Some(9));
        assert_eq!(shorter(&old, &old), Some(0));
        assert_eq!(shorter("{\"a\": 1}", "{\"b\": 2}"), None);
    }
}

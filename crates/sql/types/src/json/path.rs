//! Path expressions: `$`, `.key`, `[n]`, `[last-n]`, `[a to b]`, `.*`, `[*]`, `**` (manual, "JSON Path Syntax").

use super::Json;
use crate::error::Result;
use crate::room::{Pieces, Room};
use std::collections::HashSet;

/// A place in an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Index {
    /// Distance from the start, or from the last element.
    pub n: usize,
    /// `last`, `last-n`
    pub from_end: bool,
}

impl Index {
    /// The position in an array of that length. `Err`: before its start (true) or behind its end (false).
    pub fn within(self, length: usize) -> Result<usize, bool> {
        match self.from_end {
            true if self.n < length => Ok(length - 1 - self.n),
            true => Err(true),
            false if self.n < length => Ok(self.n),
            false => Err(false),
        }
    }

    /// As a bound: positions outside are cut to -1 and the length.
    fn clamped(self, length: usize) -> i64 {
        match self.within(length) {
            Ok(n) => n as i64,
            Err(true) => -1,
            Err(false) => length as i64,
        }
    }
}

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leg {
    /// `.key`
    Member(Box<str>),
    /// `.*`
    AnyMember,
    /// `[n]`
    Cell(Index),
    /// `[a to b]`
    Range(Index, Index),
    /// `[*]`
    AnyCell,
    /// `**`
    Ellipsis,
}

/// A path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path(pub Vec<Leg>);

/// Error 3143: character position at which the path goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathError {
    /// Not a path; the byte up to which it was read.
    Invalid(usize),
    /// More than a hundred legs: error 3157.
    TooDeep,
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\n' | b'\r')
}

fn starts_identifier(c: char) -> bool {
    c.is_alphabetic() || c == '$' || c == '_'
}

fn continues_identifier(c: char) -> bool {
    starts_identifier(c) || c.is_alphanumeric() || matches!(c, '\u{200C}' | '\u{200D}') || is_mark(c)
}

/// Combining marks of the common blocks.
fn is_mark(c: char) -> bool {
    matches!(c as u32, 0x300..=0x36F | 0x483..=0x487 | 0x591..=0x5BD | 0x610..=0x61A | 0x64B..=0x65F | 0x900..=0x903 | 0x20D0..=0x20DC)
}

impl Path {
    /// Parses a path.
    pub fn parse(text: &str) -> Result<Path, PathError> {
        let mut p = Parser { text, at: 0 };
        let legs = p.path().map_err(PathError::Invalid)?;
        if legs.len() > super::MAX_DEPTH {
            return Err(PathError::TooDeep);
        }
        Ok(Path(legs))
    }

    /// May it match more than one value?
    pub fn matches_many(&self) -> bool {
        self.0.iter().any(|leg| matches!(leg, Leg::AnyMember | Leg::AnyCell | Leg::Ellipsis | Leg::Range(..)))
    }

    /// The values that it matches, each once, in document order. Error 1038 without room for the list.
    pub fn find<'j>(&self, json: &'j Json, room: Room<'_>) -> Result<Vec<&'j Json>> {
        let mut found = Vec::new();
        let mut pieces = Pieces::of(room);
        self.visit(json, false, room, &mut |value, _| {
            // A list grows by doubling.
            pieces.take(2 * size_of::<&Json>())?;
            found.push(value);
            Ok(true)
        })?;
        Ok(found)
    }

    /// Does it match any value? Error 1038 as [`Path::find`].
    pub fn exists(&self, json: &Json, room: Room<'_>) -> Result<bool> {
        let mut any = false;
        self.visit(json, false, room, &mut |_, _| {
            any = true;
            Ok(false)
        })?;
        Ok(any)
    }

    /// Shows the values that it matches to `f`, each once, in document order, until `f` gives false. `tracked`: with
    /// the legs that lead there. Error 1038 without room for what was seen.
    pub fn visit<'j>(&self, json: &'j Json, tracked: bool, room: Room<'_>, f: &mut Visitor<'_, 'j>) -> Result<()> {
        let ellipses = self.0.iter().filter(|leg| **leg == Leg::Ellipsis).count();
        let pieces = Pieces::of(room);
        let mut walk = Walk { at: Vec::new(), tracked, ellipses, seen: HashSet::new(), pieces, f, done: false };
        walk.step(&self.0, json)
    }

    /// As text.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(b'$');
        for leg in &self.0 {
            write_leg(leg, out);
        }
    }

    /// The one value that a path without wildcards leads to. A cell of what is no array is the value itself, for
    /// position 0.
    pub fn find_mut<'j>(legs: &[Leg], json: &'j mut Json) -> Option<&'j mut Json> {
        let Some((leg, rest)) = legs.split_first() else { return Some(json) };
        let next = match (leg, json) {
            (Leg::Member(key), Json::Object(object)) => object.get_mut(key)?,
            (Leg::Cell(index), Json::Array(items)) => {
                let at = index.within(items.len()).ok()?;
                &mut items[at]
            }
            (Leg::Cell(index), other) => {
                index.within(1).ok()?;
                other
            }
            _ => return None,
        };
        Path::find_mut(rest, next)
    }
}

/// Appends the text of one leg.
pub fn write_leg(leg: &Leg, out: &mut Vec<u8>) {
    let index = |i: &Index| match (i.from_end, i.n) {
        (false, n) => n.to_string(),
        (true, 0) => "last".to_owned(),
        (true, n) => format!("last-{n}"),
    };
    match leg {
        Leg::Member(key) => {
            out.push(b'.');
            let mut chars = key.chars();
            if chars.next().is_some_and(starts_identifier) && chars.all(continues_identifier) {
                out.extend_from_slice(key.as_bytes());
            } else {
                super::write_quoted(key, out);
            }
        }
        Leg::AnyMember => out.extend_from_slice(b".*"),
        Leg::Cell(i) => out.extend_from_slice(format!("[{}]", index(i)).as_bytes()),
        Leg::Range(a, b) => out.extend_from_slice(format!("[{} to {}]", index(a), index(b)).as_bytes()),
        Leg::AnyCell => out.extend_from_slice(b"[*]"),
        Leg::Ellipsis => out.extend_from_slice(b"**"),
    }
}

/// What takes the values that a path matches.
pub type Visitor<'f, 'j> = dyn FnMut(&'j Json, &mut Vec<Leg>) -> Result<bool> + 'f;

/// Bytes that a walk takes to remember a value: a set is up to half empty.
const SEEN: usize = 3 * size_of::<(usize, usize)>();

/// A walk along a path.
struct Walk<'f, 'j, 'r> {
    /// The legs that led here, when they are asked for.
    at: Vec<Leg>,
    tracked: bool,
    /// How many `**` the path has. With one, a value may be matched in several ways, and counts once; with more, a
    /// place may be reached in many.
    ellipses: usize,
    /// (legs left, value's address) that were seen.
    seen: HashSet<(usize, usize)>,
    pieces: Pieces<'r>,
    f: &'f mut Visitor<'f, 'j>,
    done: bool,
}

impl<'j> Walk<'_, 'j, '_> {
    fn step(&mut self, legs: &[Leg], json: &'j Json) -> Result<()> {
        if self.done {
            return Ok(());
        }
        let counts = match legs.first() {
            None => self.ellipses > 0,
            Some(leg) => self.ellipses > 1 && *leg == Leg::Ellipsis,
        };
        if counts {
            self.pieces.take(SEEN)?;
            if !self.seen.insert((legs.len(), std::ptr::from_ref(json) as usize)) {
                return Ok(());
            }
        }
        let Some((leg, rest)) = legs.split_first() else {
            self.done = !(self.f)(json, &mut self.at)?;
            return Ok(());
        };
        match (leg, json) {
            (Leg::Member(key), Json::Object(object)) => match object.get(key) {
                Some(value) => self.member(rest, (key, value)),
                None => Ok(()),
            },
            (Leg::AnyMember, Json::Object(object)) => object.iter().try_for_each(|m| self.member(rest, m)),
            (Leg::Cell(index), Json::Array(items)) => match index.within(items.len()) {
                Ok(at) => self.cell(rest, at, &items[at]),
                Err(_) => Ok(()),
            },
            (Leg::Cell(index), scalar) if index.within(1).is_ok() => self.step(rest, scalar),
            (Leg::Range(a, b), Json::Array(items)) => {
                let (a, b) = (a.clamped(items.len()).max(0), b.clamped(items.len()).min(items.len() as i64 - 1));
                (a..=b).try_for_each(|at| self.cell(rest, at as usize, &items[at as usize]))
            }
            (Leg::Range(a, b), scalar) if a.clamped(1).max(0) <= b.clamped(1).min(0) => self.step(rest, scalar),
            (Leg::AnyCell, Json::Array(items)) => self.cells(rest, items),
            (Leg::Ellipsis, json) => {
                self.step(rest, json)?;
                match json {
                    Json::Array(items) => self.cells(legs, items),
                    Json::Object(object) => object.iter().try_for_each(|m| self.member(legs, m)),
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    fn cells(&mut self, legs: &[Leg], items: &'j [Json]) -> Result<()> {
        items.iter().enumerate().try_for_each(|(n, item)| self.cell(legs, n, item))
    }

    fn cell(&mut self, legs: &[Leg], n: usize, item: &'j Json) -> Result<()> {
        if !self.tracked {
            return self.step(legs, item);
        }
        self.at.push(Leg::Cell(Index { n, from_end: false }));
        let outcome = self.step(legs, item);
        self.at.pop();
        outcome
    }

    fn member(&mut self, legs: &[Leg], (key, value): (&str, &'j Json)) -> Result<()> {
        if !self.tracked {
            return self.step(legs, value);
        }
        self.at.push(Leg::Member(key.into()));
        let outcome = self.step(legs, value);
        self.at.pop();
        outcome
    }
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }

    fn path(&mut self) -> Result<Vec<Leg>, usize> {
        self.space();
        if self.peek() != Some(b'$') {
            return Err(self.at + 1);
        }
        self.at += 1;
        let mut legs = Vec::new();
        self.space();
        while self.peek().is_some() {
            legs.push(self.leg()?);
            self.space();
        }
        // `**` is not a last leg.
        if legs.last() == Some(&Leg::Ellipsis) {
            return Err(self.text.len());
        }
        Ok(legs)
    }

    fn leg(&mut self) -> Result<Leg, usize> {
        match self.peek() {
            Some(b'.') => self.member(),
            Some(b'[') => self.cell(),
            Some(b'*') => {
                let start = self.at;
                self.at += 1;
                if self.peek() != Some(b'*') {
                    return Err(start);
                }
                self.at += 1;
                // Three of them are none.
                if matches!(self.peek(), None | Some(b'*')) {
                    return Err(self.at);
                }
                Ok(Leg::Ellipsis)
            }
            _ => Err(self.at),
        }
    }

    fn member(&mut self) -> Result<Leg, usize> {
        self.at += 1;
        self.space();
        match self.peek() {
            None => Err(self.at),
            Some(b'*') => {
                self.at += 1;
                Ok(Leg::AnyMember)
            }
            Some(b'"') => {
                let start = self.at;
                self.at += 1;
                while let Some(b) = self.peek() {
                    match b {
                        b'"' => break,
                        b'\\' => self.at += 2,
                        _ => self.at += 1,
                    }
                }
                let end = self.at + 1;
                let text = self.text.get(start..end).ok_or(self.text.len())?;
                match super::parse(text.as_bytes()) {
                    Ok(Json::String(key)) => {
                        self.at = end;
                        Ok(Leg::Member(key))
                    }
                    _ => Err(end),
                }
            }
            Some(_) => {
                let start = self.at;
                let rest = &self.text[start..];
                // A key without quotes ends where a leg or white space begins.
                let length = rest
                    .find(|c: char| matches!(c, '.' | '[' | '*') || c.is_ascii() && is_space(c as u8))
                    .unwrap_or(rest.len());
                let key = &rest[..length];
                let mut chars = key.chars();
                if !(chars.next().is_some_and(starts_identifier) && chars.all(continues_identifier)) {
                    return Err(start + length);
                }
                self.at += length;
                Ok(Leg::Member(key.into()))
            }
        }
    }

    fn number(&mut self) -> Result<usize, usize> {
        let start = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        let n: u32 = self.text[start..self.at].parse().map_err(|_| start)?;
        usize::try_from(n).map_err(|_| start)
    }

    fn index(&mut self) -> Result<Index, usize> {
        if !self.text[self.at..].starts_with("last") {
            return Ok(Index { n: self.number()?, from_end: false });
        }
        self.at += 4;
        let behind = self.at;
        self.space();
        if self.peek() != Some(b'-') {
            self.at = behind;
            return Ok(Index { n: 0, from_end: true });
        }
        self.at += 1;
        self.space();
        Ok(Index { n: self.number()?, from_end: true })
    }

    fn cell(&mut self) -> Result<Leg, usize> {
        self.at += 1;
        self.space();
        let leg = if self.peek() == Some(b'*') {
            self.at += 1;
            Leg::AnyCell
        } else {
            let from = self.index()?;
            let behind = self.at;
            self.space();
            let rest = &self.text[self.at..];
            if self.at > behind && rest.starts_with("to") && rest.as_bytes().get(2).is_some_and(|b| is_space(*b)) {
                self.at += 2;
                self.space();
                let to = self.index()?;
                // A range that can never be one.
                let backwards =
                    from.from_end == to.from_end && if from.from_end { from.n < to.n } else { from.n > to.n };
                if backwards {
                    return Err(self.at);
                }
                Leg::Range(from, to)
            } else {
                Leg::Cell(from)
            }
        };
        self.space();
        match self.peek() {
            Some(b']') => {}
            // The character that is not wanted has been taken.
            Some(_) => return Err(self.at + 1),
            None => return Err(self.at),
        }
        self.at += 1;
        Ok(leg)
    }
}

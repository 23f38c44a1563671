//! JSON text (RFC 8259), with the messages and positions of the parser that MySQL uses.

use super::{Json, MAX_DEPTH, Object};
use crate::convert::{Stopped, never};
use crate::room::{Pieces, Room};

/// What is wrong with a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// Error 3157.
    TooDeep,
    /// Error 3140 or 3141: the message and the byte position.
    Invalid(&'static str, usize),
    /// Error 1317: it was given up.
    Stopped,
    /// Error 1038: its tree takes more memory than may be taken.
    NoRoom,
}

use ParseError::{Invalid, TooDeep};

/// Bytes of text between two questions whether to stop.
const ASK_EVERY: usize = 64 << 10;

const VALUE: &str = "Invalid value.";
const ENCODING: &str = "Invalid encoding in string.";
const SURROGATE: &str = "The surrogate pair in string is invalid.";
const HEX: &str = "Incorrect hex digit after \\u escape in string.";
const UNCLOSED: &str = "Missing a closing quotation mark in string.";

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    /// Asked when `at` has come to `ask_at`.
    stopped: Stopped,
    ask_at: usize,
    pieces: Pieces<'a>,
}

/// Parses a whole document: one of the server's own, or a short one.
pub fn parse(text: &[u8]) -> Result<Json, ParseError> {
    parse_until(text, never, Room::FREE)
}

/// [`parse`], given up when `stopped` says so or the tree does not fit.
pub fn parse_until(text: &[u8], stopped: Stopped, room: Room<'_>) -> Result<Json, ParseError> {
    let mut p = Parser { text, at: 0, stopped, ask_at: ASK_EVERY, pieces: Pieces::of(room) };
    p.space();
    if p.at == text.len() {
        return Err(Invalid("The document is empty.", p.at));
    }
    let value = p.value(1)?;
    p.space();
    if p.at < text.len() {
        return Err(Invalid("The document root must not be followed by other values.", p.at));
    }
    Ok(value)
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn take(&mut self, bytes: usize) -> Result<(), ParseError> {
        self.pieces.take(bytes).map_err(|_| ParseError::NoRoom)
    }

    fn eat(&mut self, b: u8) -> bool {
        let there = self.peek() == Some(b);
        self.at += usize::from(there);
        there
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn word(&mut self, word: &str, value: Json) -> Result<Json, ParseError> {
        for b in word.bytes() {
            if !self.eat(b) {
                return Err(Invalid(VALUE, self.at));
            }
        }
        Ok(value)
    }

    fn value(&mut self, depth: usize) -> Result<Json, ParseError> {
        if self.at >= self.ask_at {
            self.ask_at = self.at + ASK_EVERY;
            if (self.stopped)() {
                return Err(ParseError::Stopped);
            }
        }
        self.take(super::NODE)?;
        match self.peek() {
            Some(b'n') => self.word("null", Json::Null),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'"') => Ok(Json::String(self.string()?.into())),
            Some(b'{') if depth > MAX_DEPTH => Err(TooDeep),
            Some(b'[') if depth > MAX_DEPTH => Err(TooDeep),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            _ => self.number(),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, ParseError> {
        self.at += 1;
        self.space();
        let mut members = Vec::new();
        if self.eat(b'}') {
            return Ok(Json::Object(Object::default()));
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(Invalid("Missing a name for object member.", self.at));
            }
            let key = self.string()?;
            self.space();
            if !self.eat(b':') {
                return Err(Invalid("Missing a colon after a name of object member.", self.at));
            }
            self.space();
            members.push((key.into(), self.value(depth + 1)?));
            self.space();
            if self.eat(b',') {
                self.space();
            } else if self.eat(b'}') {
                return Ok(Json::Object(Object::of(members)));
            } else {
                return Err(Invalid("Missing a comma or '}' after an object member.", self.at));
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Json, ParseError> {
        self.at += 1;
        self.space();
        let mut items = Vec::new();
        if self.eat(b']') {
            return Ok(Json::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.space();
            if self.eat(b',') {
                self.space();
            } else if self.eat(b']') {
                return Ok(Json::Array(items));
            } else {
                return Err(Invalid("Missing a comma or ']' after an array element.", self.at));
            }
        }
    }

    fn hex(&mut self, escape: usize) -> Result<u32, ParseError> {
        let mut n = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|b| char::from(b).to_digit(16)).ok_or(Invalid(HEX, escape))?;
            n = n << 4 | digit;
            self.at += 1;
        }
        Ok(n)
    }

    fn string(&mut self) -> Result<String, ParseError> {
        self.at += 1;
        let mut out: Vec<u8> = Vec::new();
        loop {
            let start = self.at;
            while self.peek().is_some_and(|b| b >= 0x20 && b != b'"' && b != b'\\') {
                self.at += 1;
            }
            let run = &self.text[start..self.at];
            if let Err(e) = std::str::from_utf8(run) {
                return Err(Invalid(ENCODING, start + e.valid_up_to()));
            }
            out.extend_from_slice(run);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    break;
                }
                Some(b'\\') => self.escape(&mut out)?,
                Some(0) | None => return Err(Invalid(UNCLOSED, self.at)),
                Some(_) => return Err(Invalid(ENCODING, self.at)),
            }
        }
        self.take(out.len() + super::KEY)?;
        String::from_utf8(out).map_err(|_| Invalid(ENCODING, self.at))
    }

    fn escape(&mut self, out: &mut Vec<u8>) -> Result<(), ParseError> {
        let escape = self.at;
        self.at += 1;
        let simple = match self.peek() {
            Some(b @ (b'"' | b'\\' | b'/')) => b,
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => {
                self.at += 1;
                let mut code = self.hex(escape)?;
                if (0xD800..0xDC00).contains(&code) {
                    if !(self.eat(b'\\') && self.eat(b'u')) {
                        return Err(Invalid(SURROGATE, escape));
                    }
                    let low = self.hex(escape)?;
                    if !(0xDC00..0xE000).contains(&low) {
                        return Err(Invalid(SURROGATE, escape));
                    }
                    code = 0x10000 + ((code - 0xD800) << 10 | (low - 0xDC00));
                }
                let c = char::from_u32(code).ok_or(Invalid(SURROGATE, escape))?;
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            _ => return Err(Invalid("Invalid escape character in string.", escape)),
        };
        out.push(simple);
        self.at += 1;
        Ok(())
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - start
    }

    fn number(&mut self) -> Result<Json, ParseError> {
        let start = self.at;
        let negative = self.eat(b'-');
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => {
                self.digits();
            }
            _ => return Err(Invalid(VALUE, self.at)),
        }
        let whole = self.at;
        let mut fraction = 0;
        if self.eat(b'.') {
            fraction = self.digits();
            if fraction == 0 {
                return Err(Invalid("Miss fraction part in number.", self.at));
            }
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            let down = self.peek() == Some(b'-');
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            let digits = self.at;
            if self.digits() == 0 {
                return Err(Invalid("Miss exponent in number.", self.at));
            }
            let exponent = self.text[digits..self.at]
                .iter()
                .fold(0u32, |n, b| n.saturating_mul(10).saturating_add(u32::from(b - b'0')));
            if !down && exponent as usize > 308 + fraction {
                return Err(Invalid("Number too big to be stored in double.", start));
            }
        }
        let text = std::str::from_utf8(&self.text[start..self.at]).unwrap_or("0");
        if self.at == whole {
            if let Ok(v) = text.parse::<i64>() {
                return Ok(Json::Int(v));
            }
            if !negative && let Ok(v) = text.parse::<u64>() {
                return Ok(Json::UInt(v));
            }
        }
        match text.parse::<f64>() {
            Ok(v) if v.is_finite() => Ok(Json::Double(v)),
            _ => Err(Invalid("Terminate parsing due to Handler error.", start)),
        }
    }
}

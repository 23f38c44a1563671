//! Lines of a text that is at hand, cut into fields as [`super::reader`] cuts them, for formats whose terminators are
//! a byte each. Lines that more is to be said of than what their fields are (too few, too many, a quote that is never
//! closed) are cut off all the same, and called odd.
//!
//! Where a line ends is known only from its beginning on: a terminator within quotes ends nothing, a quote within a
//! field encloses nothing, and behind the last field that is wanted quotes mean nothing any more.

use super::Format;
use super::reader::unescaped;

/// A field of a line: where it lies in the text, or, as what it means, in the scratch.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cut {
    /// NULL.
    Null,
    /// In the text.
    Text(usize, usize),
    /// In the scratch.
    Made(usize, usize),
}

/// A line that was cut off.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    /// Where the next one begins.
    pub(crate) end: usize,
    /// Its end was found; else the text was over before.
    pub(crate) ended: bool,
    /// It has as many fields as it should, and nothing else is to be said of it.
    pub(crate) plain: bool,
}

/// A field as it lies in the text.
struct Found {
    start: usize,
    end: usize,
    quoted: bool,
    /// It means something else than what it is.
    escaped: bool,
}

/// How a field ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    Field,
    Line,
    /// The text is over.
    Over,
    /// The text is over where more has to come: within quotes, behind an escape.
    Cut,
}

/// Cuts lines of a number of fields.
pub(crate) struct Cutter {
    fields: usize,
    field_end: u8,
    line_end: u8,
    escape: Option<u8>,
    quote: Option<u8>,
    /// Bytes that mean something outside of quotes.
    special: [bool; 256],
}

impl Cutter {
    /// `None`: the format has longer terminators, or bytes that mean two things.
    pub(crate) fn new(format: &Format, fields: usize) -> Option<Cutter> {
        let (&[field_end], &[line_end]) = (&format.field_term[..], &format.line_term[..]) else { return None };
        let (escape, quote) = (format.escape, format.enclosed);
        let apart = |byte: Option<u8>| byte.is_none_or(|b| b != field_end && b != line_end);
        if field_end == line_end || !apart(escape) || !apart(quote) || !format.line_start.is_empty() || fields == 0 {
            return None;
        }
        let mut special = [false; 256];
        for byte in [Some(field_end), Some(line_end), escape].into_iter().flatten() {
            special[usize::from(byte)] = true;
        }
        Some(Cutter { fields, field_end, line_end, escape, quote, special })
    }

    /// Where the last line of the text that has its end ends; a line begins where the text begins.
    pub(crate) fn last_end(&self, text: &[u8]) -> Option<usize> {
        if self.quote.is_none() {
            return self.last_end_without_quotes(text);
        }
        let mut end = 0;
        loop {
            let line = self.walk(text, end, |_| {});
            if !line.ended {
                return (end > 0).then_some(end);
            }
            end = line.end;
        }
    }

    /// Without quotes, the last terminator that is not escaped is one, wherever lines begin.
    fn last_end_without_quotes(&self, text: &[u8]) -> Option<usize> {
        let mut rest = text;
        while let Some(at) = memchr::memrchr(self.line_end, rest) {
            rest = &rest[..at];
            let escapes = rest.iter().rev().take_while(|b| Some(**b) == self.escape).count();
            if escapes % 2 == 0 {
                return Some(at + 1);
            }
        }
        None
    }

    /// Cuts the line that begins at `at`.
    pub(crate) fn cut(&self, text: &[u8], at: usize, cuts: &mut Vec<Cut>, scratch: &mut Vec<u8>) -> Line {
        self.walk(text, at, |found| {
            let field = &text[found.start..found.end];
            cuts.push(match found.escaped {
                false if !found.quoted && self.quote.is_some() && field == b"NULL" => Cut::Null,
                false => Cut::Text(found.start, found.end),
                true if self.is_escaped_n(field) => Cut::Null,
                true => {
                    let from = scratch.len();
                    self.unescape(field, found.quoted, scratch);
                    match &scratch[from..] {
                        b"NULL" if !found.quoted && self.quote.is_some() => Cut::Null,
                        _ => Cut::Made(from, scratch.len()),
                    }
                }
            });
        })
    }

    /// Goes over the line that begins at `at`.
    #[inline]
    fn walk(&self, text: &[u8], at: usize, mut each: impl FnMut(Found)) -> Line {
        let mut start = at;
        for n in 1..=self.fields {
            // Behind the last field's end the text has no further, empty one.
            if start >= text.len() {
                return Line { end: text.len(), ended: false, plain: false };
            }
            let quoted = self.quote.is_some() && self.quote == Some(text[start]);
            let (found, then) = if quoted { self.quoted(text, start + 1) } else { self.bare(text, start) };
            let end = found.end + usize::from(quoted);
            if then != Then::Cut {
                each(found);
            }
            match then {
                Then::Field => start = end + 1,
                Then::Line => return Line { end: end + 1, ended: true, plain: n == self.fields },
                Then::Over => return Line { end: text.len(), ended: false, plain: n == self.fields },
                Then::Cut => return Line { end: text.len(), ended: false, plain: false },
            }
        }
        self.surplus(text, start)
    }

    /// A field without quotes.
    #[inline]
    fn bare(&self, text: &[u8], start: usize) -> (Found, Then) {
        let (mut at, mut escaped) = (start, false);
        loop {
            while text.get(at).is_some_and(|b| !self.special[usize::from(*b)]) {
                at += 1;
            }
            let then = match text.get(at) {
                None => Then::Over,
                Some(b) if *b == self.field_end => Then::Field,
                Some(b) if *b == self.line_end => Then::Line,
                // Where the escape is the quote, it only doubles.
                Some(b) if self.quote == Some(*b) => {
                    let twice = text.get(at + 1) == Some(b);
                    escaped |= twice;
                    at += 1 + usize::from(twice);
                    continue;
                }
                Some(_) if at + 1 == text.len() => Then::Cut,
                Some(_) => {
                    escaped = true;
                    at += 2;
                    continue;
                }
            };
            return (Found { start, end: at, quoted: false, escaped }, then);
        }
    }

    /// A field within quotes, which begins behind the first of them, and ends at the other one.
    fn quoted(&self, text: &[u8], start: usize) -> (Found, Then) {
        let quote = self.quote.unwrap_or_default();
        let escape = self.escape.unwrap_or(quote);
        let (mut at, mut escaped) = (start, false);
        loop {
            let rest = text.get(at..).unwrap_or_default();
            let Some(stop) = memchr::memchr2(quote, escape, rest) else {
                return (Found { start, end: text.len(), quoted: true, escaped }, Then::Cut);
            };
            at += stop;
            let next = text.get(at + 1).copied();
            if text[at] != quote {
                escaped = true;
                at += 2;
                continue;
            }
            let then = match next {
                None => Then::Over,
                Some(b) if b == self.line_end => Then::Line,
                Some(b) if b == self.field_end => Then::Field,
                // Two are one; one alone is a part of the text.
                Some(b) => {
                    escaped |= b == quote;
                    at += 1 + usize::from(b == quote);
                    continue;
                }
            };
            return (Found { start, end: at, quoted: true, escaped }, then);
        }
    }

    /// What is behind the last field that is wanted: up to a terminator without an escape before it.
    #[cold]
    fn surplus(&self, text: &[u8], start: usize) -> Line {
        let escape = self.escape.unwrap_or(self.line_end);
        let mut at = start;
        while let Some(stop) = text.get(at..).and_then(|rest| memchr::memchr2(self.line_end, escape, rest)) {
            at += stop;
            if text[at] == self.line_end {
                return Line { end: at + 1, ended: true, plain: false };
            }
            at += 2;
        }
        Line { end: text.len(), ended: false, plain: false }
    }

    /// `\N`, where the escape does more than doubling.
    fn is_escaped_n(&self, field: &[u8]) -> bool {
        matches!(field, [escape, b'N'] if self.quote != Some(*escape))
    }

    fn unescape(&self, field: &[u8], quoted: bool, to: &mut Vec<u8>) {
        let doubles = self.quote.filter(|quote| quoted || self.escape == Some(*quote));
        let mut bytes = field.iter().copied().peekable();
        while let Some(byte) = bytes.next() {
            let meant = match byte {
                _ if doubles == Some(byte) => bytes.next_if_eq(&byte),
                _ if self.escape == Some(byte) => bytes.next().map(unescaped),
                _ => None,
            };
            to.push(meant.unwrap_or(byte));
        }
    }
}

//! Lines and fields out of a stream of bytes, as LOAD DATA cuts them.
//!
//! ```text
//! line   = [anything LINES STARTING BY] field (FIELDS TERMINATED BY field)* LINES TERMINATED BY
//! field  = bytes | quote bytes quote
//! ```
//!
//! Inside of a quoted field a quote counts as the end only before a terminator (or the end of the file), and two quotes
//! are one. After the escape byte `0 b n r t Z` mean what they mean in literals, `N` alone is NULL, and any other byte
//! itself. Where the escape is the quote, it only doubles. An empty field terminator with a quote means that fields end
//! where lines do.
//!
//! Memory is bounded: a line's fields together hold at most `limit` bytes (error 1153), and of the input one chunk
//! beyond the current byte is there.

use super::format::Format;
use gannet_types::charset::Charset;
use gannet_types::{Result, sql_err};

/// Where the bytes come from.
pub trait Input {
    /// Appends some more bytes; `false` at the end.
    fn read(&mut self, buffer: &mut Vec<u8>) -> Result<bool>;

    /// Bytes that were read, and of all, where that is known.
    fn extent(&self) -> Option<(u64, u64)> {
        None
    }
}

/// A field as it was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// No field is left in the line.
    End,
    /// `\N`, or the word NULL without quotes where there are quotes.
    Null,
    /// The bytes in [`Reader::field`].
    Text,
}

/// Cuts the input.
pub struct Reader<'a> {
    format: &'a Format,
    input: &'a mut dyn Input,
    buffer: Vec<u8>,
    at: usize,
    exhausted: bool,
    limit: usize,
    /// The texts' character set, if its characters have several bytes that may be those of others.
    multi: Option<Charset>,
    /// Bytes of the current line's fields.
    held: usize,
    field: Vec<u8>,
    field_term: Vec<u8>,
    line_term: Vec<u8>,
    at_line_start: bool,
    line_ended: bool,
    eof: bool,
    line_cut: bool,
}

impl<'a> Reader<'a> {
    /// A reader of lines that hold at most `limit` bytes of fields.
    pub fn new(format: &'a Format, input: &'a mut dyn Input, limit: usize) -> Reader<'a> {
        Self::of(Charset::Binary, format, input, limit)
    }

    /// The same of texts of a character set.
    pub fn of(charset: Charset, format: &'a Format, input: &'a mut dyn Input, limit: usize) -> Reader<'a> {
        let mut line_term = format.line_term.clone();
        let mut field_term = format.field_term.clone();
        if !field_term.is_empty() && field_term == line_term {
            // Every field ends like a line: the columns alone say where a line ends.
            line_term.clear();
        }
        if field_term.is_empty() && format.enclosed.is_some() {
            field_term = line_term.clone();
        }
        Reader {
            at_line_start: !format.line_start.is_empty(),
            format,
            input,
            buffer: Vec::new(),
            at: 0,
            exhausted: false,
            limit,
            multi: Some(charset).filter(|c| c.is_multi()),
            held: 0,
            field: Vec::new(),
            field_term,
            line_term,
            line_ended: false,
            eof: false,
            line_cut: false,
        }
    }

    /// What is left, at the begin of a line: what has been read already, the rest, and whether that is at its end.
    pub(crate) fn into_rest(mut self) -> (Vec<u8>, &'a mut dyn Input, bool) {
        (self.buffer.split_off(self.at), self.input, self.exhausted)
    }

    /// Bytes of the last field.
    pub fn field(&self) -> &[u8] {
        &self.field
    }

    /// The last line had more than was read of it.
    pub fn line_was_cut(&self) -> bool {
        self.line_cut
    }

    /// Makes `count` unread bytes available, if there are so many.
    fn ensure(&mut self, count: usize) -> Result<bool> {
        while self.buffer.len() - self.at < count {
            if self.exhausted {
                return Ok(false);
            }
            // The byte before the current one may be put back.
            let keep = self.at.saturating_sub(1);
            self.buffer.drain(..keep);
            self.at -= keep;
            self.exhausted = !self.input.read(&mut self.buffer)?;
        }
        Ok(true)
    }

    #[inline]
    fn next_byte(&mut self) -> Result<Option<u8>> {
        if self.at >= self.buffer.len() && !self.ensure(1)? {
            return Ok(None);
        }
        let byte = self.buffer[self.at];
        self.at += 1;
        Ok(Some(byte))
    }

    fn put_back(&mut self) {
        self.at -= 1;
    }

    /// The byte just read begins `terminator`: takes the rest of it.
    fn ends(&mut self, terminator: End, byte: u8) -> Result<bool> {
        let text = match terminator {
            End::Field => &self.field_term,
            End::Line => &self.line_term,
        };
        if text.first() != Some(&byte) {
            return Ok(false);
        }
        let rest = text.len() - 1;
        if rest == 0 {
            return Ok(true);
        }
        if !self.ensure(rest)? {
            return Ok(false);
        }
        let text = match terminator {
            End::Field => &self.field_term,
            End::Line => &self.line_term,
        };
        let found = self.buffer[self.at..self.at + rest] == text[1..];
        self.at += if found { rest } else { 0 };
        Ok(found)
    }

    /// Takes bytes up to the next one of `stops` into the field: none of them means anything but itself.
    #[inline]
    fn take_run(&mut self, stops: [u8; 3]) -> Result<()> {
        if let Some(charset) = self.multi {
            return take_chars(self, charset, stops);
        }
        let rest = &self.buffer[self.at..];
        let run = memchr::memchr3(stops[0], stops[1], stops[2], rest).unwrap_or(rest.len());
        self.held += run;
        if self.held > self.limit {
            return Err(sql_err!(NetPacketTooLarge));
        }
        self.field.extend_from_slice(&rest[..run]);
        self.at += run;
        Ok(())
    }

    fn push(&mut self, byte: u8) -> Result<()> {
        self.held += 1;
        if self.held > self.limit {
            return Err(sql_err!(NetPacketTooLarge));
        }
        self.field.push(byte);
        Ok(())
    }

    /// Goes behind LINES STARTING BY. `false` at the end of the input.
    fn skip_line_start(&mut self) -> Result<bool> {
        self.at_line_start = false;
        let start = &self.format.line_start;
        loop {
            self.at += memchr::memchr(start[0], &self.buffer[self.at..]).unwrap_or(self.buffer.len() - self.at);
            let Some(byte) = self.next_byte()? else {
                self.line_ended = true;
                self.eof = true;
                return Ok(false);
            };
            if byte != start[0] {
                continue;
            }
            let rest = start.len() - 1;
            if rest == 0 || self.ensure(rest)? && self.buffer[self.at..self.at + rest] == start[1..] {
                self.at += rest;
                return Ok(true);
            }
        }
    }

    fn end_of_input(&mut self) {
        self.line_ended = true;
        self.eof = true;
    }

    /// Cuts the next field of the line.
    pub fn next_field(&mut self) -> Result<Field> {
        self.field.clear();
        if self.line_ended || self.at_line_start && !self.skip_line_start()? {
            return Ok(Field::End);
        }
        let Some(first) = self.next_byte()? else {
            self.end_of_input();
            return Ok(Field::End);
        };
        let quote = self.format.enclosed.filter(|q| *q == first);
        if quote.is_none() {
            self.put_back();
        }
        match quote {
            Some(quote) => self.quoted(quote),
            None => self.plain(),
        }
    }

    /// What the byte after an escape stands for; `None`: the escape was the last byte of the input.
    fn escaped(&mut self) -> Result<Option<u8>> {
        Ok(self.next_byte()?.map(unescaped))
    }

    fn plain(&mut self) -> Result<Field> {
        let escape = self.format.escape;
        // Each is one of those that there are.
        let any = self.line_term.first().or(self.field_term.first()).copied().or(escape).unwrap_or_default();
        let stop = |byte: Option<u8>| byte.unwrap_or(any);
        let stops = [stop(self.line_term.first().copied()), stop(self.field_term.first().copied()), stop(escape)];
        let mut escaped_n = false;
        loop {
            self.take_run(stops)?;
            let Some(byte) = self.next_byte()? else {
                self.end_of_input();
                break;
            };
            if Some(byte) == escape {
                if escape != self.format.enclosed {
                    let Some(value) = self.escaped()? else {
                        self.push(byte)?;
                        self.end_of_input();
                        break;
                    };
                    escaped_n |= value == b'N';
                    self.push(value)?;
                    continue;
                }
                match self.next_byte()? {
                    Some(second) if second == byte => {
                        self.push(byte)?;
                        continue;
                    }
                    Some(_) => self.put_back(),
                    None => {}
                }
            }
            if self.ends(End::Line, byte)? {
                self.line_ended = true;
                break;
            }
            if self.ends(End::Field, byte)? {
                break;
            }
            self.push(byte)?;
        }
        let null = escaped_n && self.field == b"N" || self.format.enclosed.is_some() && self.field == b"NULL";
        Ok(if null { Field::Null } else { Field::Text })
    }

    fn quoted(&mut self, quote: u8) -> Result<Field> {
        let escape = self.format.escape;
        let mut escaped_n = false;
        loop {
            self.take_run([quote, quote, escape.unwrap_or(quote)])?;
            let Some(byte) = self.next_byte()? else {
                // Never closed: the opening quote belongs to the text.
                self.field.insert(0, quote);
                self.end_of_input();
                return Ok(Field::Text);
            };
            if Some(byte) == escape && escape != Some(quote) {
                let Some(value) = self.escaped()? else {
                    self.push(byte)?;
                    self.field.insert(0, quote);
                    self.end_of_input();
                    return Ok(Field::Text);
                };
                escaped_n |= value == b'N';
                self.push(value)?;
                continue;
            }
            if byte == quote {
                match self.next_byte()? {
                    None => {
                        self.end_of_input();
                        break;
                    }
                    Some(second) if second == quote => {
                        self.push(quote)?;
                        continue;
                    }
                    Some(second) => {
                        if self.ends(End::Line, second)? {
                            self.line_ended = true;
                            break;
                        }
                        if self.ends(End::Field, second)? {
                            break;
                        }
                        self.put_back();
                    }
                }
            }
            self.push(byte)?;
        }
        Ok(if escaped_n && self.field == b"N" { Field::Null } else { Field::Text })
    }

    /// A line of fields of fixed widths that are `width` bytes together, into [`Reader::field`]. `false` at the end of
    /// the input.
    pub fn fixed_line(&mut self, width: usize) -> Result<bool> {
        self.field.clear();
        if self.line_ended || self.at_line_start && !self.skip_line_start()? {
            return Ok(false);
        }
        while self.field.len() < width {
            let Some(byte) = self.next_byte()? else {
                self.end_of_input();
                return Ok(!self.field.is_empty());
            };
            if Some(byte) == self.format.escape {
                match self.escaped()? {
                    Some(value) => self.push(value)?,
                    None => {
                        self.push(byte)?;
                        self.end_of_input();
                        return Ok(true);
                    }
                }
                continue;
            }
            if self.ends(End::Line, byte)? {
                self.line_ended = true;
                return Ok(true);
            }
            self.push(byte)?;
        }
        Ok(true)
    }

    /// Goes to the next line. `false` at the end of the input.
    pub fn next_line(&mut self) -> Result<bool> {
        self.line_cut = false;
        self.held = 0;
        self.at_line_start = !self.format.line_start.is_empty();
        if self.line_ended || self.eof {
            self.line_ended = false;
            return Ok(!self.eof);
        }
        let Some(&end) = self.line_term.first() else { return Ok(true) };
        let escape = self.format.escape.unwrap_or(end);
        loop {
            while let Some(charset) = self.multi {
                let n = whole_char(self, charset)?;
                if n == 0 || [end, escape].contains(&self.buffer[self.at]) {
                    break;
                }
                self.line_cut = true;
                self.at += n;
            }
            let rest = &self.buffer[self.at..];
            let run = if self.multi.is_some() { 0 } else { memchr::memchr2(end, escape, rest).unwrap_or(rest.len()) };
            self.line_cut |= run > 0;
            self.at += run;
            let Some(byte) = self.next_byte()? else {
                self.eof = true;
                return Ok(false);
            };
            if Some(byte) == self.format.escape {
                self.line_cut = true;
                if self.next_byte()?.is_none() {
                    self.eof = true;
                    return Ok(false);
                }
                continue;
            }
            if self.ends(End::Line, byte)? {
                return Ok(true);
            }
            self.line_cut = true;
        }
    }
}

/// As [`Reader::take_run`]: of the bytes of a character only the first may be one of `stops`.
#[cold]
fn take_chars(reader: &mut Reader<'_>, charset: Charset, stops: [u8; 3]) -> Result<()> {
    loop {
        let n = whole_char(reader, charset)?;
        if n == 0 || stops.contains(&reader.buffer[reader.at]) {
            return Ok(());
        }
        for at in reader.at..reader.at + n {
            reader.push(reader.buffer[at])?;
        }
        reader.at += n;
    }
}

/// Bytes of the next character, which are at hand; 0 at the end.
fn whole_char(reader: &mut Reader<'_>, charset: Charset) -> Result<usize> {
    reader.ensure(charset.max_len() as usize)?;
    let rest = &reader.buffer[reader.at..];
    Ok(if rest.is_empty() { 0 } else { charset.char_len(rest) })
}

/// What a byte after an escape stands for.
pub(crate) fn unescaped(byte: u8) -> u8 {
    match byte {
        b'0' => 0,
        b'b' => 8,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'Z' => 26,
        other => other,
    }
}

#[derive(Clone, Copy)]
enum End {
    Field,
    Line,
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Chunks(Vec<u8>, usize);

    impl Input for Chunks {
        fn read(&mut self, buffer: &mut Vec<u8>) -> Result<bool> {
            let n = self.1.min(self.0.len());
            buffer.extend(self.0.drain(..n));
            Ok(n > 0)
        }
    }

    /// Lines of `count` fields; NULL as `\N`.
    fn cut(format: &Format, text: &str, count: usize, chunk: usize) -> Vec<Vec<String>> {
        let mut input = Chunks(text.into(), chunk);
        let mut reader = Reader::new(format, &mut input, 1000);
        let mut lines = Vec::new();
        loop {
            let mut line = Vec::new();
            while line.len() < count {
                match reader.next_field().unwrap() {
                    Field::End => break,
                    Field::Null => line.push("\\N".into()),
                    Field::Text => line.push(String::from_utf8_lossy(reader.field()).into_owned()),
                }
            }
            if line.is_empty() {
                return lines;
            }
            let more = reader.next_line().unwrap();
            if reader.line_was_cut() {
                line.push("+".into());
            }
            lines.push(line);
            if !more {
                return lines;
            }
        }
    }

    fn check(format: &Format, text: &str, count: usize, expected: &[&[&str]]) {
        for chunk in [1, 2, 3, 100] {
            assert_eq!(cut(format, text, count, chunk), expected, "{text:?} in pieces of {chunk}");
        }
    }

    #[test]
    fn default_format() {
        let f = Format::default();
        check(&f, "1\ta\n2\tb\n", 2, &[&["1", "a"], &["2", "b"]]);
        check(&f, "1\ta\n2\tb", 2, &[&["1", "a"], &["2", "b"]]);
        check(&f, "1\t\\N\n\\\\\\t\tx\\\ny\n", 2, &[&["1", "\\N"], &["\\\t", "x\ny"]]);
        check(&f, "1\n2\tb\tc\n\n", 2, &[&["1"], &["2", "b", "+"], &[""]]);
        check(&f, "NULL\tN\n", 2, &[&["NULL", "N"]]);
        check(&f, "", 2, &[]);
        check(&f, "a\\", 1, &[&["a\\"]]);
    }

    #[test]
    fn characters_are_whole() {
        // Second bytes that are a backslash, a quote's neighbour and a terminator.
        let format = Format { field_term: b"|".to_vec(), enclosed: Some(b'"'), ..Format::default() };
        for chunk in [1, 2, 3, 100] {
            let text = b"\x81\x5C|\"\x81\x7C\"|x\x97\x5C\n\x81\x5C|b".to_vec();
            let mut input = Chunks(text, chunk);
            let mut reader = Reader::of(Charset::Gbk, &format, &mut input, 100);
            let mut field = |want: &[u8]| {
                assert_eq!(reader.next_field().unwrap(), Field::Text);
                assert_eq!(reader.field(), want);
            };
            field(b"\x81\x5C");
            field(b"\x81\x7C");
            assert!(reader.next_line().unwrap() && reader.line_was_cut());
            assert_eq!(reader.next_field().unwrap(), Field::Text);
            assert_eq!(reader.field(), b"\x81\x5C");
        }
    }

    #[test]
    fn quotes_and_long_terminators() {
        let f = Format {
            field_term: b",,".to_vec(),
            enclosed: Some(b'"'),
            line_term: b"\r\n".to_vec(),
            line_start: b">>".to_vec(),
            ..Format::default()
        };
        check(&f, "x>>\"a\"\"b\",,NULL\r\nno>>\"NULL\",,a,b\r\n", 2, &[&["a\"b", "\\N"], &["NULL", "a,b"]]);
        check(&f, ">>\"a\"b,,c\",,d\r\n", 2, &[&["a\"b,,c", "d"]]);
        check(&f, ">>\"open", 1, &[&["\"open"]]);
        check(&f, ">>\"\\N\",,\\N\r\n", 2, &[&["\\N", "\\N"]]);
        let csv = Format { escape: Some(b'"'), field_term: b",".to_vec(), line_start: Vec::new(), ..f };
        check(&csv, "\"a\"\"b\",c\"\"d\\n\r\n", 2, &[&["a\"b", "c\"d\\n"]]);
    }

    #[test]
    fn terminators_that_are_alike_or_empty() {
        let same = Format { field_term: b"\n".to_vec(), ..Format::default() };
        check(&same, "1\n2\n3\n4\n", 2, &[&["1", "2"], &["3", "4"]]);
        let none = Format { line_term: Vec::new(), field_term: b",".to_vec(), ..Format::default() };
        check(&none, "1,2,3,4", 2, &[&["1", "2"], &["3", "4"]]);
        let fixed = Format { field_term: Vec::new(), ..Format::default() };
        let mut input = Chunks(b"abcdefg\nhi\n".to_vec(), 2);
        let mut reader = Reader::new(&fixed, &mut input, 100);
        assert!(reader.fixed_line(4).unwrap());
        assert_eq!(reader.field(), b"abcd");
        assert!(reader.next_line().unwrap() && reader.line_was_cut());
        assert!(reader.fixed_line(4).unwrap());
        assert_eq!(reader.field(), b"hi");
        assert!(reader.next_line().unwrap() && !reader.line_was_cut());
        assert!(!reader.fixed_line(4).unwrap());
    }

    #[test]
    fn lines_are_bounded() {
        let format = Format::default();
        let mut input = Chunks(vec![b'x'; 5000], 64);
        let mut reader = Reader::new(&format, &mut input, 1000);
        assert_eq!(reader.next_field().unwrap_err().number(), 1153);
        assert!(reader.buffer.capacity() < 1000);
    }
}

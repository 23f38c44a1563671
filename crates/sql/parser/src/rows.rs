//! INSERT and REPLACE of many rows of literals: where the rows lie in the text, and their values as tokens. Such a
//! statement needs no tree of syntax: [`many_rows`] finds what stands around the rows, which is a statement of its own,
//! and a [`Cell`] for each value.
//!
//! The lexer is the parser's, so that both read the same tokens. What is not plainly a literal (an expression, DEFAULT,
//! an introducer but `_binary`, adjacent strings, a comment with a version, a number beyond BIGINT) makes the statement
//! one for the parser.

use crate::keyword::Kw;
use crate::lexer::{Lexer, Tok, Token, unquote_string};
use crate::mode::LexMode;
use std::borrow::Cow;

/// What a cell holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellKind {
    /// NULL
    Null,
    /// TRUE, FALSE
    Bool(bool),
    /// Digits, 18 at most; with a sign if `true`.
    Int(bool),
    /// Digits with a point.
    Decimal(bool),
    /// With an exponent of one or two digits.
    Float(bool),
    /// Text in quotes.
    Text,
    /// `_binary '..'`: the token in quotes.
    Bytes,
    /// `x'..'` or `0x..`
    Hex,
}

/// A literal in a row.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// What it is.
    pub kind: CellKind,
    /// Offset of its token's first byte; the sign is not in it.
    pub start: u32,
    /// Offset behind its last byte.
    pub end: u32,
}

impl Cell {
    /// Its token.
    pub fn raw<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        text.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    /// The bytes between its quotes as they are meant.
    pub fn quoted<'t>(&self, text: &'t [u8], mode: LexMode) -> Cow<'t, [u8]> {
        let raw = self.raw(text);
        let inner = raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default();
        let quote = raw.first().copied().unwrap_or(b'\'');
        if crate::lexer::find_either(inner, 0, quote, b'\\') >= inner.len() {
            return Cow::Borrowed(inner);
        }
        Cow::Owned(unquote_string(raw, mode))
    }

    /// The bytes that a [`CellKind::Hex`] stands for.
    pub fn hex(&self, text: &[u8]) -> Vec<u8> {
        crate::parser::hex_bytes(self.raw(text))
    }
}

/// The rows of a statement; reused from one to the next.
#[derive(Debug, Default)]
pub struct ManyRows {
    /// Values, row by row.
    pub cells: Vec<Cell>,
    /// Values of each row.
    pub width: usize,
    /// There are [`CellKind::Hex`] among them.
    pub hex: bool,
    /// There are [`CellKind::Bytes`].
    pub bytes: bool,
    /// Where the rows begin, and where what follows them does.
    head: usize,
    tail: usize,
}

impl ManyRows {
    /// How many rows there are.
    pub fn count(&self) -> usize {
        self.cells.len() / self.width.max(1)
    }

    /// The values of each row.
    pub fn rows(&self) -> std::slice::ChunksExact<'_, Cell> {
        self.cells.chunks_exact(self.width.max(1))
    }

    /// The statement with one row of NULLs in the place of its rows: its plan does not depend on them.
    pub fn frame(&self, text: &[u8], out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(text.get(..self.head).unwrap_or_default());
        for i in 0..self.width {
            out.extend_from_slice(if i == 0 { b"(NULL" } else { b",NULL" });
        }
        out.push(b')');
        out.extend_from_slice(text.get(self.tail..).unwrap_or_default());
    }
}

/// Finds the rows of `text`, if it is an INSERT or REPLACE of at least two rows of literals. `out` is meaningless
/// otherwise.
pub fn many_rows(text: &[u8], mode: LexMode, out: &mut ManyRows) -> bool {
    find(text, mode, out).is_some()
}

fn find(text: &[u8], mode: LexMode, out: &mut ManyRows) -> Option<()> {
    out.cells.clear();
    (out.hex, out.bytes) = (false, false);
    u32::try_from(text.len()).ok()?;
    let mut lexer = Lexer::new(text, mode);
    let first = lexer.next();
    if !matches!(first.kw, Kw::INSERT | Kw::REPLACE) {
        return None;
    }
    head(&mut lexer)?;
    let mut rows = Rows { text, lexer, out };
    rows.read()
}

/// Goes behind VALUES. A name in front of it may be any word, in parentheses above all.
fn head(lexer: &mut Lexer<'_>) -> Option<()> {
    let mut depth = 0;
    loop {
        let token = lexer.next();
        match token.kind {
            Tok::Word => match token.kw {
                Kw::VALUES | Kw::VALUE if depth == 0 => return (!lexer.in_version()).then_some(()),
                Kw::SELECT | Kw::SET | Kw::TABLE | Kw::WITH => return None,
                _ => {}
            },
            Tok::Quoted | Tok::Dot | Tok::Comma => {}
            Tok::LParen => depth += 1,
            Tok::RParen => depth -= 1,
            _ => return None,
        }
    }
}

struct Rows<'a, 'o> {
    text: &'a [u8],
    lexer: Lexer<'a>,
    out: &'o mut ManyRows,
}

impl Rows<'_, '_> {
    fn read(&mut self) -> Option<()> {
        let mut token = self.lexer.next_raw();
        self.out.head = token.start as usize;
        let mut count = 0_usize;
        loop {
            if token.kind != Tok::LParen || self.lexer.in_version() {
                return None;
            }
            self.row()?;
            if self.lexer.in_version() {
                return None;
            }
            count += 1;
            let width = self.out.cells.len() / count;
            if count == 1 {
                self.out.width = width;
            }
            if self.out.cells.len() != count * self.out.width {
                return None;
            }
            self.out.tail = self.lexer.pos();
            token = self.lexer.next_raw();
            match token.kind {
                Tok::Comma => token = self.lexer.next_raw(),
                Tok::End => break,
                // ON DUPLICATE KEY UPDATE, or a name for the row.
                Tok::Word => break,
                Tok::Semi if self.ends(token) => break,
                _ => return None,
            }
        }
        (count > 1).then_some(())
    }

    /// Nothing but the ends of statements follows.
    fn ends(&self, semi: Token) -> bool {
        let rest = self.text.get(semi.start as usize..).unwrap_or_default();
        rest.iter().all(|b| *b == b';' || crate::lexer::is_space(*b))
    }

    /// The values of a row, and its parenthesis.
    fn row(&mut self) -> Option<()> {
        loop {
            let cell = self.cell()?;
            self.out.hex |= cell.kind == CellKind::Hex;
            self.out.bytes |= cell.kind == CellKind::Bytes;
            self.out.cells.push(cell);
            match self.lexer.next_raw().kind {
                Tok::Comma => {}
                Tok::RParen => return Some(()),
                _ => return None,
            }
        }
    }

    fn cell(&mut self) -> Option<Cell> {
        let mut token = self.lexer.next_raw();
        let negative = token.kind == Tok::Minus;
        if negative {
            token = self.lexer.next_raw();
        }
        let raw = self.text.get(token.start as usize..token.end as usize)?;
        let kind = match token.kind {
            Tok::Int if raw.len() <= 18 => CellKind::Int(negative),
            Tok::Decimal => CellKind::Decimal(negative),
            Tok::Float if is_small_power(raw) => CellKind::Float(negative),
            _ if negative => return None,
            Tok::Str => CellKind::Text,
            Tok::Hex => CellKind::Hex,
            Tok::Word if raw.eq_ignore_ascii_case(b"NULL") => CellKind::Null,
            Tok::Word if raw.eq_ignore_ascii_case(b"TRUE") => CellKind::Bool(true),
            Tok::Word if raw.eq_ignore_ascii_case(b"FALSE") => CellKind::Bool(false),
            Tok::Word if raw.eq_ignore_ascii_case(b"_binary") => {
                token = self.lexer.next_raw();
                match token.kind {
                    Tok::Str => CellKind::Bytes,
                    _ => return None,
                }
            }
            _ => return None,
        };
        Some(Cell { kind, start: token.start, end: token.end })
    }
}

/// The exponent has two digits at most: the number is a DOUBLE whatever its digits are, if they are not too many.
fn is_small_power(raw: &[u8]) -> bool {
    let exponent = raw.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    exponent <= 2 && raw.len() < 100
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODE: LexMode = LexMode {
        ansi_quotes: false,
        pipes_as_concat: false,
        no_backslash_escapes: false,
        ignore_space: false,
        high_not_precedence: false,
    };

    fn rows(text: &str) -> Option<(String, Vec<String>)> {
        let mut out = ManyRows::default();
        if !many_rows(text.as_bytes(), MODE, &mut out) {
            return None;
        }
        let mut frame = Vec::new();
        out.frame(text.as_bytes(), &mut frame);
        let cell = |c: &Cell| {
            let raw = String::from_utf8_lossy(c.raw(text.as_bytes())).into_owned();
            format!("{:?} {raw}", c.kind)
        };
        let list = out.rows().map(|row| row.iter().map(cell).collect::<Vec<_>>().join(", ")).collect();
        Some((String::from_utf8(frame).unwrap(), list))
    }

    #[test]
    fn rows_of_literals_are_found() {
        let (frame, list) =
            rows("insert ignore into `a`.t (x, `values`) VALUES (1,'a''b'), (-2.5 , NULL)\n,(1e5,_binary 'x') ;")
                .unwrap();
        assert_eq!(frame, "insert ignore into `a`.t (x, `values`) VALUES (NULL,NULL) ;");
        assert_eq!(list, ["Int(false) 1, Text 'a''b'", "Decimal(true) 2.5, Null NULL", "Float(false) 1e5, Bytes 'x'"]);
        let (frame, list) = rows("REPLACE t VALUE (TRUE),(0xff) AS n ON DUPLICATE KEY UPDATE a = n.a + 1").unwrap();
        assert_eq!(frame, "REPLACE t VALUE (NULL) AS n ON DUPLICATE KEY UPDATE a = n.a + 1");
        assert_eq!(list, ["Bool(true) TRUE", "Hex 0xff"]);
        let (frame, _) = rows("/* c */ INSERT /*!INTO*/ t PARTITION (p1, p2) VALUES (1) /* d */ , (2) -- e").unwrap();
        assert_eq!(frame, "/* c */ INSERT /*!INTO*/ t PARTITION (p1, p2) VALUES (NULL) -- e");
    }

    #[test]
    fn other_statements_are_not() {
        for text in [
            "INSERT INTO t VALUES (1)",
            "INSERT INTO t VALUES (1),(2,3)",
            "INSERT INTO t VALUES (1),(1+1)",
            "INSERT INTO t VALUES (1),(DEFAULT)",
            "INSERT INTO t VALUES (1),('a' 'b')",
            "INSERT INTO t VALUES (1),(_latin1 'a')",
            "INSERT INTO t VALUES (1),(- 'a')",
            "INSERT INTO t VALUES (1),(1234567890123456789)",
            "INSERT INTO t VALUES (1),(1e308)",
            "INSERT INTO t VALUES (1),(NOW())",
            "INSERT INTO t VALUES (1),()",
            "INSERT INTO t VALUES (1),(2),",
            "INSERT INTO t VALUES (1),(2); SELECT 1",
            "INSERT INTO t VALUES (1),('a",
            "INSERT INTO t VALUES (1),(?)",
            "INSERT INTO t VALUES ROW(1),ROW(2)",
            "INSERT INTO t SELECT 1 FROM (VALUES ROW(1)) v",
            "INSERT INTO t SET a = 1",
            "INSERT /*!50000 INTO t VALUES (1),(2) */",
            "INSERT INTO t VALUES (1) /*!50000 ,(2) */",
            "INSERT INTO t VALUES (1) /*!50000 ,(2),(3",
            "INSERT /*+ SET_VAR(x=1) */ INTO t VALUES (1),(2)",
            "SELECT 1",
            "",
        ] {
            assert_eq!(rows(text), None, "{text}");
        }
    }

    #[test]
    fn quoted_bytes_are_what_the_parser_reads() {
        let text = br"INSERT INTO t VALUES ('a\n''b'),('plain'),('')";
        let mut out = ManyRows::default();
        assert!(many_rows(text, MODE, &mut out));
        let read: Vec<Vec<u8>> = out.cells.iter().map(|c| c.quoted(text, MODE).to_vec()).collect();
        assert_eq!(read, [b"a\n'b".to_vec(), b"plain".to_vec(), Vec::new()]);
        assert_eq!(Cell { kind: CellKind::Hex, start: 0, end: 5 }.hex(b"0xf0A"), [0x0f, 0x0a]);
    }
}

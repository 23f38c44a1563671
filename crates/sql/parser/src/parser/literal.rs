//! Literals.

use super::*;

/// Character sets that `_name` introduces.
const CHARSETS: &[&str] = &[
    "armscii8", "ascii", "big5", "binary", "cp1250", "cp1251", "cp1256", "cp1257", "cp850", "cp852", "cp866", "cp932",
    "dec8", "eucjpms", "euckr", "gb18030", "gb2312", "gbk", "geostd8", "greek", "hebrew", "hp8", "keybcs2", "koi8r",
    "koi8u", "latin1", "latin2", "latin5", "latin7", "macce", "macroman", "sjis", "swe7", "tis620", "ucs2", "ujis",
    "utf16", "utf16le", "utf32", "utf8", "utf8mb3", "utf8mb4",
];

/// Is there a character set of this name?
pub(crate) fn is_charset(name: &[u8]) -> bool {
    CHARSETS.iter().any(|c| c.as_bytes().eq_ignore_ascii_case(name))
}

/// Bytes of `x'..'` or `0x..`.
pub(crate) fn hex_bytes(raw: &[u8]) -> Vec<u8> {
    let digits: Vec<u8> = digits(raw).iter().filter_map(|&b| (b as char).to_digit(16)).map(|d| d as u8).collect();
    pack(&digits, 2, 4)
}

/// Bytes of `b'..'` or `0b..`.
pub(super) fn bit_bytes(raw: &[u8]) -> Vec<u8> {
    let digits: Vec<u8> = digits(raw).iter().map(|b| b & 1).collect();
    pack(&digits, 8, 1)
}

/// What stands between the quotes or behind the prefix.
fn digits(raw: &[u8]) -> &[u8] {
    let body = raw.get(2..).unwrap_or_default();
    body.strip_suffix(b"'").unwrap_or(body)
}

/// Packs digits into bytes, the first byte filled up with zeros on the left.
fn pack(digits: &[u8], per_byte: usize, bits: u32) -> Vec<u8> {
    let byte = |chunk: &[u8]| chunk.iter().fold(0u8, |n, d| n << bits | d);
    let (first, rest) = digits.split_at(digits.len() % per_byte);
    let head = (!first.is_empty()).then(|| byte(first));
    head.into_iter().chain(rest.chunks(per_byte).map(byte)).collect()
}

impl Parser<'_> {
    fn index(&self, t: Token) -> LiteralIndex {
        LiteralIndex(self.parameterised.then_some(t.literal))
    }

    fn literal_from(&self, t: Token, value: LiteralValue) -> Literal {
        Literal { value, index: self.index(t), span: self.span_from(t.start) }
    }

    /// NULL, TRUE, FALSE: part of the statement's shape, so without an ordinal.
    pub(super) fn constant(&mut self, value: LiteralValue) -> Expr {
        let t = self.advance();
        Expr::Literal(Literal { value, index: LiteralIndex(None), span: Span { start: t.start, end: t.end } })
    }

    /// Is the current token the start of a literal (constants apart)?
    pub(super) fn at_literal(&mut self) -> bool {
        let t = self.tok();
        t.kind.is_literal() || (t.kind == Tok::Word && self.at_introducer())
    }

    /// `_charset` in front of a string?
    fn at_introducer(&mut self) -> bool {
        let t = self.tok();
        if t.kind != Tok::Word || !matches!(self.text[t.start as usize], b'_') {
            return false;
        }
        let name = &self.bytes(t)[1..];
        is_charset(name) && matches!(self.peek(1).kind, Tok::Str | Tok::Hex | Tok::Bit)
    }

    /// A literal; the current token starts one.
    pub(super) fn literal(&mut self) -> Result<Literal> {
        let t = self.tok();
        let raw = self.bytes(t);
        let text = || -> Box<str> { String::from_utf8_lossy(raw).into() };
        let value = match t.kind {
            Tok::Int => match text().parse() {
                Ok(n) => LiteralValue::Int(n),
                Err(_) => LiteralValue::Decimal(text()),
            },
            Tok::Decimal => LiteralValue::Decimal(text()),
            Tok::Float => LiteralValue::Float(text()),
            Tok::Hex => LiteralValue::Hex { bytes: hex_bytes(raw).into(), charset: None },
            Tok::Bit => LiteralValue::Bit { bytes: bit_bytes(raw).into(), charset: None },
            Tok::Str => return self.joined_string(t, None),
            Tok::NStr => {
                self.notice(Notice::National);
                return self.joined_string(t, Some("utf8mb3".into()));
            }
            Tok::Word if self.at_introducer() => {
                let name = String::from_utf8_lossy(&raw[1..]).to_ascii_lowercase().into_boxed_str();
                self.notice_charset(&name);
                self.advance();
                let start = t.start;
                let mut literal = self.literal()?;
                literal.span.start = start;
                match &mut literal.value {
                    LiteralValue::String { charset, .. }
                    | LiteralValue::Hex { charset, .. }
                    | LiteralValue::Bit { charset, .. } => *charset = Some(name),
                    _ => return self.syntax(),
                }
                return Ok(literal);
            }
            _ => return self.syntax(),
        };
        self.advance();
        Ok(self.literal_from(t, value))
    }

    /// A string and those that follow it directly.
    fn joined_string(&mut self, first: Token, charset: Option<Box<str>>) -> Result<Literal> {
        self.advance();
        let raw = self.bytes(first);
        let raw = if first.kind == Tok::NStr { &raw[1..] } else { raw };
        let mut bytes = unquote_string(raw, self.mode);
        while self.at(Tok::Str) {
            let t = self.advance();
            bytes.extend(unquote_string(self.bytes(t), self.mode));
        }
        Ok(self.literal_from(first, LiteralValue::String { bytes: bytes.into(), charset }))
    }

    /// A string literal as an expression's part (a JSON path).
    pub(super) fn string_literal(&mut self) -> Result<Literal> {
        if !self.at(Tok::Str) {
            return self.syntax();
        }
        self.literal()
    }

    /// `DATE '..'` and its kin: the current token is the string.
    pub(super) fn temporal(&mut self, kind: TemporalKind, start: u32) -> Result<Literal> {
        let t = self.tok();
        let text = self.string()?;
        let mut literal = self.literal_from(t, LiteralValue::Temporal { kind, text, odbc: false });
        literal.span.start = start;
        Ok(literal)
    }
}

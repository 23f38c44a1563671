//! The lexer: text to tokens, without copying.
//!
//! One lexer serves the parser, the shape ([`crate::digest::scan`]) and the digest. It follows MySQL's: what a
//! character means depends on `sql_mode`; a version comment `/*!NNNNN ... */` is transparent if NNNNN is at most
//! [`VERSION_ID`]; a word behind a point is an identifier whatever it spells and may start with a digit; a built-in
//! function's name is a keyword in front of `(` only.

use crate::keyword::{self, Class, Kw};
use crate::mode::LexMode;

/// Version comments up to this version are executed.
pub const VERSION_ID: u32 = 80_400;

/// Kinds of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[expect(missing_docs, reason = "the names are the characters'")]
pub enum Tok {
    /// End of the text.
    End,
    /// A character or a literal that cannot be read.
    Error,
    /// Keyword or plain identifier.
    Word,
    /// `` `..` ``, or `".."` under ANSI_QUOTES.
    Quoted,
    /// `'..'` or `".."`.
    Str,
    /// `N'..'`
    NStr,
    /// `x'..'` or `0x..`
    Hex,
    /// `b'..'` or `0b..`
    Bit,
    /// Digits.
    Int,
    /// Number with a point.
    Decimal,
    /// Number with an exponent.
    Float,
    /// `@name`, `@'name'` and so on; also the host of an account.
    UserVar,
    /// `@@`
    AtAt,
    /// `?`
    Param,
    /// `/*+ .. */` behind a verb.
    Hint,
    LParen,
    RParen,
    Comma,
    Semi,
    Dot,
    Star,
    Plus,
    Minus,
    Slash,
    Percent,
    Caret,
    Tilde,
    Amp,
    AmpAmp,
    Pipe,
    PipePipe,
    Bang,
    Eq,
    NullSafeEq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Shl,
    Shr,
    /// `:=`
    Assign,
    Colon,
    LBrace,
    RBrace,
    /// `->`
    Arrow,
    /// `->>`
    LongArrow,
}

impl Tok {
    /// Is it extracted as a literal by [`crate::digest::scan`]?
    #[inline]
    pub fn is_literal(self) -> bool {
        matches!(self, Tok::Str | Tok::NStr | Tok::Hex | Tok::Bit | Tok::Int | Tok::Decimal | Tok::Float)
    }
}

/// A token.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    /// What it is.
    pub kind: Tok,
    /// Which keyword, if it is a word that spells one here.
    pub kw: Kw,
    /// Offset of its first byte.
    pub start: u32,
    /// Offset behind its last byte.
    pub end: u32,
    /// Number of literal tokens in front of it.
    pub literal: u32,
}

/// Classes of bytes.
const SPACE: u8 = 1;
const WORD: u8 = 2;
const DIGIT: u8 = 4;
const HEX: u8 = 8;
/// No white space, nor the first byte of a comment or of what ends one.
const TOKEN: u8 = 16;
/// Begins a plain word, whatever follows (not `n`, `x`, `b`: a quote may follow).
const NAME: u8 = 32;

static CLASS: [u8; 256] = {
    let mut t = [0u8; 256];
    let mut i = 0;
    while i < 256 {
        let b = i as u8;
        t[i] = match b {
            b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r' => SPACE,
            b'0'..=b'9' => WORD | DIGIT | HEX | TOKEN,
            b'b' | b'B' => WORD | HEX | TOKEN,
            b'n' | b'N' | b'x' | b'X' => WORD | TOKEN,
            b'a'..=b'f' | b'A'..=b'F' => WORD | HEX | TOKEN | NAME,
            b'g'..=b'z' | b'G'..=b'Z' | b'_' | b'$' | 0x80..=0xff => WORD | TOKEN | NAME,
            b'#' | b'-' | b'/' | b'*' => 0,
            _ => TOKEN,
        };
        i += 1;
    }
    t
};

/// White space?
#[inline]
pub(crate) fn is_space(b: u8) -> bool {
    CLASS[b as usize] & SPACE != 0
}

/// A byte of an identifier?
#[inline]
pub(crate) fn is_word(b: u8) -> bool {
    CLASS[b as usize] & WORD != 0
}

#[inline]
fn is_digit(b: u8) -> bool {
    CLASS[b as usize] & DIGIT != 0
}

#[inline]
fn is_hex(b: u8) -> bool {
    CLASS[b as usize] & HEX != 0
}

/// A position in a text. Copying it is how the parser looks ahead.
#[derive(Clone, Copy)]
pub struct Lexer<'a> {
    text: &'a [u8],
    pos: usize,
    mode: LexMode,
    /// Inside an executed version comment.
    in_version: bool,
    /// The last token was a point directly in front of `pos`.
    after_dot: bool,
    /// The last token was a word or a quoted name.
    after_name: bool,
    /// The last token was SELECT, INSERT, REPLACE, UPDATE or DELETE.
    after_verb: bool,
    literals: u32,
    /// A comment stood in front of the last token.
    commented: bool,
}

impl<'a> Lexer<'a> {
    /// A lexer at the start of `text`, which must have less than 4 GiB.
    pub fn new(text: &'a [u8], mode: LexMode) -> Lexer<'a> {
        debug_assert!(u32::try_from(text.len()).is_ok());
        Lexer {
            text,
            pos: 0,
            mode,
            in_version: false,
            after_dot: false,
            after_name: false,
            after_verb: false,
            literals: 0,
            commented: false,
        }
    }

    /// Did a comment stand in front of the last token?
    pub(crate) fn commented(&self) -> bool {
        self.commented
    }

    /// Is what comes next inside an executed version comment?
    pub(crate) fn in_version(&self) -> bool {
        self.in_version
    }

    /// Start of what has not been read.
    pub(crate) fn pos(&self) -> usize {
        self.pos
    }

    #[inline]
    fn at(&self, i: usize) -> u8 {
        match self.text.get(i) {
            Some(b) => *b,
            None => 0,
        }
    }

    /// Skips white space and comments. `Err(start)`: an unterminated comment; `Ok(Some(start))`: a hint from `start`.
    fn skip(&mut self) -> Result<Option<usize>, usize> {
        loop {
            let b = self.at(self.pos);
            if is_space(b) {
                self.pos += 1;
                continue;
            }
            match b {
                b'#' => self.skip_line(),
                b'-' if self.at(self.pos + 1) == b'-' && self.dashes_comment() => self.skip_line(),
                b'/' if self.at(self.pos + 1) == b'*' => {
                    if let Some(hint) = self.skip_block()? {
                        return Ok(Some(hint));
                    }
                }
                b'*' if self.in_version && self.at(self.pos + 1) == b'/' => {
                    self.in_version = false;
                    self.commented = true;
                    self.pos += 2;
                }
                _ => return Ok(None),
            }
        }
    }

    /// Are the two dashes at `pos` followed by white space, a control character or the end?
    fn dashes_comment(&self) -> bool {
        match self.text.get(self.pos + 2) {
            None => true,
            Some(&b) => b <= b' ' || b == 0x7f,
        }
    }

    fn skip_line(&mut self) {
        self.commented = true;
        self.pos = find(self.text, self.pos, b'\n').unwrap_or(self.text.len());
    }

    /// At `/*`.
    fn skip_block(&mut self) -> Result<Option<usize>, usize> {
        let start = self.pos;
        self.commented |= !(self.after_verb && self.at(start + 2) == b'+');
        match self.at(start + 2) {
            b'!' if !self.in_version => {
                let digits = (0..6).take_while(|i| is_digit(self.at(start + 3 + i))).count();
                if digits < 5 {
                    self.in_version = true;
                    self.pos = start + 3;
                    return Ok(None);
                }
                let version =
                    self.text[start + 3..start + 3 + digits].iter().fold(0, |n, b| n * 10 + u32::from(b - b'0'));
                self.pos = start + 3 + digits;
                if version <= VERSION_ID {
                    self.in_version = true;
                } else {
                    self.skip_discarded().ok_or(start)?;
                }
                Ok(None)
            }
            b'+' if self.after_verb => {
                self.pos = find2(self.text, start + 3).ok_or(start)?;
                Ok(Some(start))
            }
            _ => {
                self.pos = find2(self.text, start + 2).ok_or(start)?;
                Ok(None)
            }
        }
    }

    /// Skips a version comment that is not executed; one level of comments may be nested in it.
    fn skip_discarded(&mut self) -> Option<()> {
        let mut i = self.pos;
        loop {
            match (*self.text.get(i)?, self.at(i + 1)) {
                (b'*', b'/') => {
                    self.pos = i + 2;
                    return Some(());
                }
                (b'/', b'*') => i = find2(self.text, i + 2)?,
                _ => i += 1,
            }
        }
    }

    /// The next token. Behind the end it goes on returning [`Tok::End`].
    #[inline]
    pub fn next(&mut self) -> Token {
        self.next_token::<false>()
    }

    /// What follows is the end.
    pub(crate) fn skip_rest(&mut self) {
        self.pos = self.text.len();
        self.in_version = false;
    }

    /// Like [`Lexer::next`], but without looking up keywords: the same tokens with the same bounds, except that every
    /// `/*+ .. */` is a [`Tok::Hint`] wherever it stands.
    #[inline]
    pub(crate) fn next_raw(&mut self) -> Token {
        self.after_verb = true;
        self.next_token::<true>()
    }

    #[inline]
    fn next_token<const RAW: bool>(&mut self) -> Token {
        let mut kw = Kw::NoKeyword;
        self.commented = false;
        // Most tokens have one space or none in front of them.
        self.pos += usize::from(self.at(self.pos) == b' ');
        let skipped = match CLASS[self.at(self.pos) as usize] & TOKEN {
            0 => self.skip(),
            _ => Ok(None),
        };
        let (kind, start) = match skipped {
            Ok(None) => {
                let start = self.pos;
                (self.scan::<RAW>(&mut kw), start)
            }
            Ok(Some(start)) => (Tok::Hint, start),
            Err(start) => {
                self.pos = self.text.len();
                (Tok::Error, start)
            }
        };
        self.after_dot = kind == Tok::Dot;
        self.after_name = matches!(kind, Tok::Word | Tok::Quoted);
        if !RAW {
            self.after_verb = matches!(kw, Kw::SELECT | Kw::INSERT | Kw::REPLACE | Kw::UPDATE | Kw::DELETE);
        }
        let token = Token { kind, kw, start: start as u32, end: self.pos as u32, literal: self.literals };
        self.literals += u32::from(kind.is_literal());
        token
    }

    /// Reads the token at `pos`.
    #[inline]
    fn scan<const RAW: bool>(&mut self, kw: &mut Kw) -> Tok {
        let start = self.pos;
        let b = self.at(start);
        // A word directly behind a point is an identifier.
        if self.after_dot && is_word(b) && self.text.get(start.wrapping_sub(1)) == Some(&b'.') {
            self.pos = self.word_end(start);
            return Tok::Word;
        }
        if CLASS[b as usize] & NAME != 0 {
            self.pos = self.word_end(start);
            if !RAW {
                *kw = self.keyword(start);
            }
            return Tok::Word;
        }
        match b {
            b'n' | b'N' if self.at(start + 1) == b'\'' => self.string(start + 1, b'\'', Tok::NStr),
            b'x' | b'X' if self.at(start + 1) == b'\'' => self.quoted_digits(Tok::Hex),
            b'b' | b'B' if self.at(start + 1) == b'\'' => self.quoted_digits(Tok::Bit),
            b if is_word(b) && !is_digit(b) => {
                self.pos = self.word_end(start);
                if !RAW {
                    *kw = self.keyword(start);
                }
                Tok::Word
            }
            b'0'..=b'9' => self.number(),
            b'\'' => self.string(start, b'\'', Tok::Str),
            b'"' if self.mode.ansi_quotes => self.quoted_name(start, b'"', Tok::Quoted),
            b'"' => self.string(start, b'"', Tok::Str),
            b'`' => self.quoted_name(start, b'`', Tok::Quoted),
            b'@' => self.at_sign(),
            b'.' => {
                if is_digit(self.at(start + 1)) && !self.name_before(start) {
                    self.fraction(start)
                } else {
                    self.take(1, Tok::Dot)
                }
            }
            0 if self.only_padding(start) => {
                if self.in_version {
                    // An executed version comment that is never closed.
                    self.in_version = false;
                    return Tok::Error;
                }
                Tok::End
            }
            _ => self.punctuation(b),
        }
    }

    /// Does an identifier end directly in front of the point at `start`? (A word there is one, even a reserved word.)
    fn name_before(&self, start: usize) -> bool {
        // Neither white space nor a comment may stand between.
        self.after_name && start > 0 && (is_word(self.text[start - 1]) || matches!(self.text[start - 1], b'`' | b'"'))
    }

    /// Is there nothing behind `start` but NUL bytes (which some clients count into the text), spaces and `;`?
    fn only_padding(&self, start: usize) -> bool {
        self.text.get(start..).is_none_or(|rest| rest.iter().all(|&b| b == 0 || b == b';' || is_space(b)))
    }

    #[inline]
    fn word_end(&self, i: usize) -> usize {
        let rest = self.text.get(i..).unwrap_or_default();
        i + rest.iter().position(|&b| !is_word(b)).unwrap_or(rest.len())
    }

    /// The keyword spelled by the word from `start` to `pos`.
    #[inline]
    fn keyword(&self, start: usize) -> Kw {
        // A word directly in front of a point and another word is an identifier.
        if self.at(self.pos) == b'.' && is_word(self.at(self.pos + 1)) {
            return Kw::NoKeyword;
        }
        let kw = keyword::lookup(&self.text[start..self.pos]);
        if kw.class() == Class::Function && !self.paren_follows() {
            return Kw::NoKeyword;
        }
        kw
    }

    /// Does `(` follow directly, or behind white space under IGNORE_SPACE?
    fn paren_follows(&self) -> bool {
        let mut i = self.pos;
        if self.mode.ignore_space {
            while is_space(self.at(i)) {
                i += 1;
            }
        }
        self.at(i) == b'('
    }

    #[inline]
    fn take(&mut self, n: usize, kind: Tok) -> Tok {
        self.pos += n;
        kind
    }

    /// `'..'` or `".."` with its opening quote at `open`.
    fn string(&mut self, open: usize, quote: u8, kind: Tok) -> Tok {
        let escape = if self.mode.no_backslash_escapes { quote } else { b'\\' };
        let mut i = open + 1;
        loop {
            i = find_either(self.text, i, quote, escape);
            let Some(&b) = self.text.get(i) else { break };
            if b == quote && self.at(i + 1) != quote {
                self.pos = i + 1;
                return kind;
            }
            // A doubled quote or an escape.
            i += 2;
        }
        self.pos = self.text.len();
        Tok::Error
    }

    /// A name in quotes, from `open`.
    fn quoted_name(&mut self, open: usize, quote: u8, kind: Tok) -> Tok {
        let mut i = open + 1;
        while let Some(&b) = self.text.get(i) {
            if b == quote {
                if self.at(i + 1) != quote {
                    self.pos = i + 1;
                    return kind;
                }
                i += 1;
            }
            i += 1;
        }
        self.pos = self.text.len();
        Tok::Error
    }

    /// `x'..'`, `b'..'`
    fn quoted_digits(&mut self, kind: Tok) -> Tok {
        let first = self.pos + 2;
        let mut i = first;
        let ok: fn(u8) -> bool = if kind == Tok::Hex { is_hex } else { |b| b == b'0' || b == b'1' };
        while ok(self.at(i)) {
            i += 1;
        }
        if self.at(i) != b'\'' || (kind == Tok::Hex && !(i - first).is_multiple_of(2)) {
            self.pos = (i + 1).min(self.text.len());
            return Tok::Error;
        }
        self.pos = i + 1;
        kind
    }

    /// A token that starts with a digit: a number or an identifier.
    fn number(&mut self) -> Tok {
        let start = self.pos;
        if self.at(start) == b'0' {
            let (ok, kind): (fn(u8) -> bool, Tok) = match self.at(start + 1) {
                b'x' => (is_hex, Tok::Hex),
                b'b' => (|b| b == b'0' || b == b'1', Tok::Bit),
                _ => (|_| false, Tok::Int),
            };
            if kind != Tok::Int {
                let mut i = start + 2;
                while ok(self.at(i)) {
                    i += 1;
                }
                if i > start + 2 && !is_word(self.at(i)) {
                    self.pos = i;
                    return kind;
                }
                self.pos = self.word_end(start);
                return Tok::Word;
            }
        }
        let mut i = start;
        while is_digit(self.at(i)) {
            i += 1;
        }
        match self.at(i) {
            b'.' => self.fraction(i),
            b'e' | b'E' => match self.exponent(i) {
                Some(end) => self.take(end - start, Tok::Float),
                None => {
                    self.pos = self.word_end(i);
                    Tok::Word
                }
            },
            b if is_word(b) => {
                self.pos = self.word_end(i);
                Tok::Word
            }
            _ => self.take(i - start, Tok::Int),
        }
    }

    /// End of the exponent whose `e` is at `i`.
    fn exponent(&self, i: usize) -> Option<usize> {
        let mut j = i + 1;
        if matches!(self.at(j), b'+' | b'-') {
            j += 1;
        }
        if !is_digit(self.at(j)) {
            return None;
        }
        while is_digit(self.at(j)) {
            j += 1;
        }
        Some(j)
    }

    /// From the point of a number at `dot`.
    fn fraction(&mut self, dot: usize) -> Tok {
        let mut i = dot + 1;
        while is_digit(self.at(i)) {
            i += 1;
        }
        self.pos = i;
        if matches!(self.at(i), b'e' | b'E') {
            if let Some(end) = self.exponent(i) {
                self.pos = end;
                return Tok::Float;
            }
            return Tok::Error;
        }
        Tok::Decimal
    }

    /// `@@`, `@name`, `@'name'`
    fn at_sign(&mut self) -> Tok {
        let start = self.pos;
        match self.at(start + 1) {
            b'@' => self.take(2, Tok::AtAt),
            q @ (b'\'' | b'"') => self.string(start + 1, q, Tok::UserVar),
            b'`' => self.quoted_name(start + 1, b'`', Tok::UserVar),
            _ => {
                let mut i = start + 1;
                while is_word(self.at(i)) || self.at(i) == b'.' {
                    i += 1;
                }
                self.pos = i;
                Tok::UserVar
            }
        }
    }

    fn punctuation(&mut self, b: u8) -> Tok {
        let (c, d) = (self.at(self.pos + 1), self.at(self.pos + 2));
        let (n, kind) = match (b, c, d) {
            (b'(', ..) => (1, Tok::LParen),
            (b')', ..) => (1, Tok::RParen),
            (b',', ..) => (1, Tok::Comma),
            (b';', ..) => (1, Tok::Semi),
            (b'*', ..) => (1, Tok::Star),
            (b'+', ..) => (1, Tok::Plus),
            (b'-', b'>', b'>') => (3, Tok::LongArrow),
            (b'-', b'>', _) => (2, Tok::Arrow),
            (b'-', ..) => (1, Tok::Minus),
            (b'/', ..) => (1, Tok::Slash),
            (b'%', ..) => (1, Tok::Percent),
            (b'^', ..) => (1, Tok::Caret),
            (b'~', ..) => (1, Tok::Tilde),
            (b'&', b'&', _) => (2, Tok::AmpAmp),
            (b'&', ..) => (1, Tok::Amp),
            (b'|', b'|', _) => (2, Tok::PipePipe),
            (b'|', ..) => (1, Tok::Pipe),
            (b'!', b'=', _) => (2, Tok::Ne),
            (b'!', ..) => (1, Tok::Bang),
            (b'=', ..) => (1, Tok::Eq),
            (b'<', b'=', b'>') => (3, Tok::NullSafeEq),
            (b'<', b'=', _) => (2, Tok::Le),
            (b'<', b'>', _) => (2, Tok::Ne),
            (b'<', b'<', _) => (2, Tok::Shl),
            (b'<', ..) => (1, Tok::Lt),
            (b'>', b'=', _) => (2, Tok::Ge),
            (b'>', b'>', _) => (2, Tok::Shr),
            (b'>', ..) => (1, Tok::Gt),
            (b':', b'=', _) => (2, Tok::Assign),
            (b':', ..) => (1, Tok::Colon),
            (b'{', ..) => (1, Tok::LBrace),
            (b'}', ..) => (1, Tok::RBrace),
            (b'?', ..) => (1, Tok::Param),
            _ => (1, Tok::Error),
        };
        self.pos += n;
        kind
    }
}

fn find(text: &[u8], from: usize, byte: u8) -> Option<usize> {
    text.get(from..)?.iter().position(|&b| b == byte).map(|i| from + i)
}

/// Offset of the first `a` or `b` from `from`, eight bytes at a time; the text's length or more if there is none.
pub(crate) fn find_either(text: &[u8], mut from: usize, a: u8, b: u8) -> usize {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let zeros = |x: u64| x.wrapping_sub(LOW) & !x & HIGH;
    let (a8, b8) = (LOW * u64::from(a), LOW * u64::from(b));
    while let Some(chunk) = text.get(from..).and_then(|t| t.first_chunk::<8>()) {
        let x = u64::from_le_bytes(*chunk);
        let hits = zeros(x ^ a8) | zeros(x ^ b8);
        if hits != 0 {
            return from + (hits.trailing_zeros() / 8) as usize;
        }
        from += 8;
    }
    while from < text.len() && text[from] != a && text[from] != b {
        from += 1;
    }
    from
}

/// Offset behind the next `*/`.
fn find2(text: &[u8], from: usize) -> Option<usize> {
    let mut i = from;
    loop {
        i = find(text, i, b'*')? + 1;
        if text.get(i) == Some(&b'/') {
            return Some(i + 1);
        }
    }
}

/// Value of a quoted string token: quotes removed, doubled quotes and escapes resolved.
pub fn unquote_string(raw: &[u8], mode: LexMode) -> Vec<u8> {
    let Some((&quote, rest)) = raw.split_first() else { return Vec::new() };
    let body = rest.strip_suffix(&[quote]).unwrap_or(rest);
    let escapes = !mode.no_backslash_escapes;
    if !body.iter().any(|&b| b == quote || (b == b'\\' && escapes)) {
        return body.to_vec();
    }
    let mut out = Vec::with_capacity(body.len());
    let mut i = 0;
    while i < body.len() {
        let b = body[i];
        if b == quote {
            out.push(b);
            i += 2;
        } else if b == b'\\' && escapes && i + 1 < body.len() {
            match body[i + 1] {
                b'n' => out.push(b'\n'),
                b't' => out.push(b'\t'),
                b'r' => out.push(b'\r'),
                b'b' => out.push(8),
                b'0' => out.push(0),
                b'Z' => out.push(26),
                // Kept for LIKE.
                e @ (b'%' | b'_') => out.extend([b'\\', e]),
                e => out.push(e),
            }
            i += 2;
        } else {
            out.push(b);
            i += 1;
        }
    }
    out
}

/// A quoted identifier without its quotes; doubled quotes resolved.
pub fn unquote_name(raw: &[u8]) -> Vec<u8> {
    let Some((&quote, rest)) = raw.split_first() else { return Vec::new() };
    let body = rest.strip_suffix(&[quote]).unwrap_or(rest);
    let mut out = Vec::with_capacity(body.len());
    let mut i = 0;
    while i < body.len() {
        out.push(body[i]);
        i += if body[i] == quote { 2 } else { 1 };
    }
    out
}

/// Text of a piece of a statement as MySQL keeps it: comments stay, but version comments are opened or dropped.
pub(crate) fn open_version_comments(text: &[u8], mode: LexMode) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut lexer = Lexer::new(text, mode);
    // The piece may start inside one.
    let comment = |w: &[u8]| matches!(w, b"/*" | b"*/");
    lexer.in_version = text.windows(2).find(|w| comment(w)).is_some_and(|w| w == b"*/");
    loop {
        let from = lexer.pos();
        let token = lexer.next();
        copy_gap(&text[from..token.start as usize], &mut out);
        if token.kind == Tok::End || token.end == token.start {
            return out;
        }
        out.extend_from_slice(&text[token.start as usize..token.end as usize]);
    }
}

/// Copies what stands between two tokens without the marks of version comments and without discarded ones.
fn copy_gap(gap: &[u8], out: &mut Vec<u8>) {
    let mut i = 0;
    while i < gap.len() {
        let end = match &gap[i..] {
            [b'#', ..] | [b'-', b'-', ..] => find(gap, i, b'\n').unwrap_or(gap.len()),
            [b'/', b'*', b'!', rest @ ..] => {
                let digits = rest.iter().take(6).take_while(|b| is_digit(**b)).count();
                let version = rest[..digits].iter().fold(0, |n, b| n * 10 + u32::from(b - b'0'));
                i = match digits {
                    0..=4 => i + 3,
                    _ if version <= VERSION_ID => i + 3 + digits,
                    _ => find2(gap, i + 3).unwrap_or(gap.len()),
                };
                continue;
            }
            [b'/', b'*', ..] => find2(gap, i + 2).unwrap_or(gap.len()),
            [b'*', b'/', ..] => {
                i += 2;
                continue;
            }
            _ => i + 1,
        };
        out.extend_from_slice(&gap[i..end]);
        i = end;
    }
}

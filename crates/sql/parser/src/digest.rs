//! Shape and digest of a statement's text.
//!
//! **Shape** ([`scan`]) is the key of the plan cache: two texts of one shape differ in their literals only, so that one
//! plan serves both. It is the text itself with each literal token replaced by its kind; comments in front of the first
//! word, directly behind it and at the end are left out, where tracing tools put theirs. White space, case and further
//! comments count, because unaliased columns of a result are named by their source text. The hash is keyed by a secret
//! of the process, so that nobody can construct two texts of one shape.
//!
//! **Literals.** `scan` lists the literal tokens in the order of the text: numbers, strings, `x'..'`, `b'..'`, `N'..'`
//! (not NULL, TRUE, FALSE, `?`, nor what stands in comments and hints). Adjacent strings are as many tokens.
//! [`crate::parse_parameterised`] parses the same text and gives each [`crate::ast::Literal`] the ordinal of its
//! (first) token in that list, in [`crate::ast::Literal::index`].
//!
//! **Contract with the plan cache.** The planner decides which ordinals become runtime parameters of the plan. *Every
//! other ordinal is pinned*: a cached plan may be used only if the raw text of each pinned literal is the same.
//! Ordinals that appear nowhere in the tree (lengths of types, the second of two adjacent strings, file names, ...) are
//! therefore pinned without anybody naming them. The planner pins for itself: positions in ORDER BY and GROUP BY,
//! literals inside select items without an alias (their text is the column's name), LIMIT if it decides the plan, and
//! whatever it folds.
//!
//! **Digest** ([`digest`]) is what statistics are grouped by: MySQL's normal form, in which keywords are in upper case,
//! literals are `?`, lists of values collapse to `(...)` and repeated rows to `(...) /* , ... */`. As MySQL's it goes
//! by words: one that is a keyword is printed as such wherever it stands, but behind or in front of a point, and of
//! words that mean the same always one is printed (see `shown`). It depends on the shape only, so it is computed once
//! per cached plan, not per execution.

use crate::keyword::{Class, Kw};
use crate::lexer::{Lexer, Tok, Token};
use crate::mode::LexMode;

/// Texts longer than this are not cached.
pub const MAX_TEXT: usize = 64 << 10;
/// Texts with more literals are not cached.
pub const MAX_LITERALS: usize = 1000;
/// Tokens of a digest at most; what follows is left out.
pub const MAX_DIGEST_TOKENS: usize = 1024;

/// A literal token of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiteralToken {
    /// [`Tok::Int`], [`Tok::Decimal`], [`Tok::Float`], [`Tok::Str`], [`Tok::NStr`], [`Tok::Hex`] or [`Tok::Bit`].
    pub kind: Tok,
    /// Offset of its first byte.
    pub start: u32,
    /// Offset behind its last byte.
    pub end: u32,
}

impl LiteralToken {
    /// Its text, quotes and all.
    pub fn raw<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        &text[self.start as usize..self.end as usize]
    }
}

/// Result of [`scan`]; reused from statement to statement.
#[derive(Clone, Debug)]
pub struct Scan {
    seed: u64,
    /// Hash of the text without its literals.
    pub shape: u128,
    /// The literals.
    pub literals: Vec<LiteralToken>,
    /// Number of `?`.
    pub params: u32,
}

impl Scan {
    /// Buffers for scanning; all scans whose shapes are compared must have one `seed`, secret and random.
    pub fn new(seed: u64) -> Scan {
        Scan { seed, shape: 0, literals: Vec::with_capacity(32), params: 0 }
    }
}

const K: [u64; 4] = [0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03, 0xaef1_7502_108e_f2d9, 0xda94_2042_e4dd_58b5];

/// Two lanes of folded 64x64 -> 128 multiplications.
struct Hasher {
    a: u64,
    b: u64,
}

#[inline]
fn fold(x: u64, y: u64) -> u64 {
    let p = u128::from(x) * u128::from(y);
    (p as u64) ^ ((p >> 64) as u64)
}

#[inline]
fn read(bytes: &[u8]) -> u64 {
    match bytes.first_chunk::<8>() {
        Some(chunk) => u64::from_le_bytes(*chunk),
        None => bytes.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b)),
    }
}

impl Hasher {
    #[inline]
    fn new(seed: u64) -> Hasher {
        Hasher { a: seed ^ K[0], b: fold(seed ^ K[1], K[2]) }
    }

    #[inline]
    fn word(&mut self, x: u64, y: u64) {
        self.a = fold(self.a ^ x, y ^ K[1]) ^ self.b.rotate_left(23);
        self.b = fold(self.b ^ y, x ^ K[2]).wrapping_add(self.a);
    }

    /// A run of bytes; its length is part of it.
    #[inline]
    fn bytes(&mut self, mut bytes: &[u8]) {
        let len = bytes.len() as u64;
        while bytes.len() > 16 {
            self.word(read(bytes), read(&bytes[8..]));
            bytes = &bytes[16..];
        }
        let high = if bytes.len() > 8 { read(&bytes[8..]) } else { 0 };
        self.word(read(bytes), high);
        self.a ^= len.wrapping_mul(K[3]);
    }

    #[inline]
    fn finish(&self) -> u128 {
        let low = fold(self.a ^ K[3], self.b ^ K[0]);
        let high = fold(self.b ^ K[2], self.a ^ K[1]);
        u128::from(high) << 64 | u128::from(low)
    }
}

#[cold]
fn sets_variables(hints: &[u8]) -> bool {
    hints.windows(7).any(|w| w.eq_ignore_ascii_case(b"SET_VAR"))
}

/// Computes the shape of `text` and lists its literals. Returns false if the text is not for the plan cache: too long,
/// too many literals, more than one statement, or not readable. `out` is meaningless then.
pub fn scan(text: &[u8], mode: LexMode, out: &mut Scan) -> bool {
    out.literals.clear();
    out.params = 0;
    if text.len() > MAX_TEXT {
        return false;
    }
    let mut hash = Hasher::new(out.seed);
    let mut lexer = Lexer::new(text, mode);
    // Start of the text that was not hashed yet, end of the last token.
    let (mut from, mut before) = (0, 0);
    let mut verb = false;
    loop {
        let token = lexer.next_raw();
        let start = token.start as usize;
        if before == 0 {
            from = start;
        } else if verb && lexer.commented() && token.kind != Tok::End {
            hash.bytes(&text[from..before]);
            from = start;
        }
        verb = before == 0 && token.kind == Tok::Word;
        match token.kind {
            Tok::Int | Tok::Str | Tok::Decimal | Tok::Float | Tok::NStr | Tok::Hex | Tok::Bit => {
                if out.literals.len() >= MAX_LITERALS {
                    return false;
                }
                hash.bytes(&text[from..start]);
                hash.word(u64::from(token.kind as u8), K[3]);
                from = token.end as usize;
                out.literals.push(LiteralToken { kind: token.kind, start: token.start, end: token.end });
            }
            Tok::Param => out.params += 1,
            Tok::Semi => {
                let end = |b: &u8| *b == b';' || crate::lexer::is_space(*b);
                if !text[start..].iter().all(end) {
                    return false;
                }
                hash.bytes(&text[from..before.max(from)]);
                break;
            }
            Tok::End => {
                hash.bytes(&text[from.min(before)..before]);
                break;
            }
            Tok::Error => return false,
            // A plan is made for the variables of a session.
            Tok::Hint if sets_variables(&text[start..token.end as usize]) => return false,
            _ => {}
        }
        before = token.end as usize;
    }
    out.shape = hash.finish();
    true
}

/// MySQL's normal form of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    /// Hash of the normal form; the same in every process.
    pub hash: u128,
    /// The normal form, at most some kilobytes.
    pub text: String,
}

/// A token of the normal form.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Norm {
    /// Keyword or punctuation, with the byte range it came from.
    Plain(Tok, Kw, u32, u32),
    /// Identifier.
    Name(u32, u32, bool),
    /// A word of a hint, or where hints begin and end.
    Hint(&'static str),
    /// `@block` of a hint; true: of the table in front of it.
    Block(u32, u32, bool),
    /// `_charset`
    Charset,
    /// A number that means a column of the select list: it stays.
    Position(u32),
    /// `?`
    Value,
    /// `?, ...`
    Values,
    /// `(?)`
    Row1,
    /// `(?) /* , ... */`
    Row1List,
    /// `(...)`
    Row,
    /// `(...) /* , ... */`
    RowList,
    /// `IN (...)`
    InList,
}

impl Norm {
    fn is(&self, kind: Tok) -> bool {
        matches!(self, Norm::Plain(k, ..) if *k == kind)
    }
}

/// Where a token stands: for each open parenthesis, and outside of all, whether it is in the list of ORDER BY, GROUP
/// BY, PARTITION BY or ROLLUP.
struct Lists {
    open: Vec<bool>,
    /// An item of such a list begins with the next token.
    begins: bool,
    before: Kw,
}

impl Lists {
    fn new() -> Lists {
        Lists { open: vec![false], begins: false, before: Kw::NoKeyword }
    }

    /// The token is passed. Returns the column that it means, as a whole item of a list.
    fn pass(&mut self, text: &[u8], token: Token, next: Token) -> Option<u32> {
        let item = std::mem::take(&mut self.begins);
        let before = std::mem::replace(&mut self.before, token.kw);
        match token.kind {
            Tok::LParen if self.open.len() < MAX_DIGEST_TOKENS => {
                self.begins = before == Kw::ROLLUP && self.open.last() == Some(&true);
                self.open.push(self.begins);
            }
            Tok::RParen if self.open.len() > 1 => drop(self.open.pop()),
            Tok::Comma => self.begins = self.open.last() == Some(&true),
            Tok::Int if item && ends_item(next) => {
                let digits = std::str::from_utf8(&text[token.start as usize..token.end as usize]);
                return digits.ok()?.parse().ok().filter(|n| *n <= i32::MAX as u32);
            }
            Tok::Word if token.kw == Kw::BY => {
                self.begins = matches!(before, Kw::ORDER | Kw::GROUP | Kw::PARTITION);
                self.within(self.begins);
            }
            Tok::Word if ends_list(token.kw) => self.within(false),
            _ => {}
        }
        None
    }

    fn within(&mut self, list: bool) {
        if let Some(last) = self.open.last_mut() {
            *last = list;
        }
    }
}

/// What follows an item of a list that is nothing but a number.
fn ends_item(next: Token) -> bool {
    match next.kind {
        Tok::Comma | Tok::RParen | Tok::Semi | Tok::End => true,
        Tok::Word => matches!(next.kw, Kw::ASC | Kw::DESC | Kw::WITH) || ends_list(next.kw),
        _ => false,
    }
}

/// Words that come behind a list of ORDER BY, GROUP BY or PARTITION BY.
fn ends_list(kw: Kw) -> bool {
    matches!(
        kw,
        Kw::LIMIT
            | Kw::HAVING
            | Kw::ORDER
            | Kw::WINDOW
            | Kw::FOR
            | Kw::LOCK
            | Kw::INTO
            | Kw::ON
            | Kw::UNION
            | Kw::EXCEPT
            | Kw::INTERSECT
            | Kw::ROWS
            | Kw::RANGE
            | Kw::GROUPS
            | Kw::SEPARATOR
    )
}

/// The normal form of the first statement of `text`.
pub fn digest(text: &[u8], mode: LexMode) -> Digest {
    let mut out: Vec<Norm> = Vec::with_capacity(64);
    let text = &text[..text.len().min(u32::MAX as usize)];
    let mut lexer = Lexer::new(text, mode);
    let mut token = lexer.next();
    let (mut truncated, mut lists) = (false, Lists::new());
    while !matches!(token.kind, Tok::End | Tok::Error | Tok::Semi) {
        let next = lexer.next();
        if out.len() >= MAX_DIGEST_TOKENS {
            truncated = true;
            break;
        }
        let position = lists.pass(text, token, next);
        match token.kind {
            Tok::Int if let Some(column) = position => out.push(Norm::Position(column)),
            Tok::Hint => hints(&mut out, text, token),
            Tok::Word if is_charset(&text[token.start as usize..token.end as usize]) => out.push(Norm::Charset),
            Tok::Word if matches!(out.last(), Some(Norm::Plain(Tok::AtAt, ..))) => {
                // GLOBAL and SESSION are words of their own there.
                let kw = crate::keyword::lookup(&text[token.start as usize..token.end as usize]);
                let kw = if kw.class() == Class::Function { Kw::NoKeyword } else { kw };
                add(&mut out, Token { kw, ..token }, next);
            }
            _ => add(&mut out, token, next),
        }
        token = next;
    }
    let mut digest = Digest { hash: 0, text: String::new() };
    for (i, norm) in out.iter().enumerate() {
        let glued = matches!(norm, Norm::Block(.., true)) || i > 0 && matches!(out[i - 1], Norm::Plain(Tok::AtAt, ..));
        if i > 0 && !glued {
            digest.text.push(' ');
        }
        print(norm, text, &mut digest.text);
    }
    if truncated {
        digest.text.push_str(" ...");
    }
    let mut hash = Hasher::new(0);
    hash.bytes(digest.text.as_bytes());
    digest.hash = hash.finish();
    digest
}

/// `_charset`, which stands in front of a string.
fn is_charset(word: &[u8]) -> bool {
    word.split_first().is_some_and(|(first, name)| *first == b'_' && crate::parser::is_charset(name))
}

/// Appends hints: their words, names, and values.
fn hints(out: &mut Vec<Norm>, text: &[u8], token: Token) {
    let (from, to) = (token.start as usize + 3, (token.end as usize).saturating_sub(2));
    let inside = text.get(from..to).unwrap_or_default();
    out.push(Norm::Hint("/*+"));
    let mut lexer = Lexer::new(inside, LexMode::default());
    let mut before = 0;
    loop {
        let it = lexer.next();
        if matches!(it.kind, Tok::End | Tok::Error) || out.len() >= MAX_DIGEST_TOKENS {
            break;
        }
        let (start, end) = (it.start + from as u32, it.end + from as u32);
        match it.kind {
            Tok::Word => match crate::hint::word(&inside[it.start as usize..it.end as usize]) {
                Some(word) => out.push(Norm::Hint(word)),
                None => out.push(Norm::Name(start, end, false)),
            },
            Tok::UserVar => {
                out.push(Norm::Block(start, end, before == start && matches!(out.last(), Some(Norm::Name(..)))))
            }
            _ => add(out, Token { start, end, ..it }, it),
        }
        before = end;
    }
    out.push(Norm::Hint("*/"));
}

/// NULL is a value where an operand stands, also behind NOT.
fn is_value_null(out: &[Norm]) -> bool {
    match out {
        [before @ .., Norm::Plain(Tok::Word, Kw::NOT, ..)] => is_operand_position(before.last()),
        _ => is_operand_position(out.last()),
    }
}

/// Appends a token and reduces what it completes.
fn add(out: &mut Vec<Norm>, token: Token, next: Token) {
    match token.kind {
        Tok::Word if token.kw == Kw::NULL && is_value_null(out) => value(out, false),
        Tok::Word => {
            let behind_at = matches!(out.last(), Some(Norm::Plain(Tok::AtAt, ..)));
            let beside_point =
                matches!(out.last(), Some(Norm::Plain(Tok::Dot, ..))) || next.kind == Tok::Dot && !behind_at;
            out.push(if token.kw == Kw::NoKeyword || beside_point {
                Norm::Name(token.start, token.end, false)
            } else {
                Norm::Plain(Tok::Word, token.kw, token.start, token.end)
            });
        }
        Tok::Quoted => out.push(Norm::Name(token.start, token.end, true)),
        Tok::Int | Tok::Decimal | Tok::Float | Tok::Hex | Tok::Bit => value(out, true),
        Tok::Str | Tok::NStr | Tok::Param => value(out, false),
        Tok::Hint => {}
        Tok::RParen => close(out, token),
        kind => out.push(Norm::Plain(kind, Kw::NoKeyword, token.start, token.end)),
    }
}

fn value(out: &mut Vec<Norm>, number: bool) {
    // A sign in front of a number belongs to it if no operand stands in front of the sign.
    while number
        && let [rest @ .., sign] = &out[..]
        && (sign.is(Tok::Minus) || sign.is(Tok::Plus))
        && is_operand_position(rest.last())
        && !matches!(rest.last(), Some(Norm::Plain(Tok::Word, Kw::BY, ..)))
    {
        out.pop();
    }
    if let [.., before, comma] = &out[..]
        && comma.is(Tok::Comma)
        && matches!(before, Norm::Value | Norm::Values)
    {
        out.truncate(out.len() - 2);
        out.push(Norm::Values);
        return;
    }
    out.push(Norm::Value);
}

fn close(out: &mut Vec<Norm>, token: Token) {
    let row = match &out[..] {
        [.., open, Norm::Value] if open.is(Tok::LParen) => Norm::Row1,
        [.., open, Norm::Values] if open.is(Tok::LParen) => Norm::Row,
        _ => {
            out.push(Norm::Plain(Tok::RParen, Kw::NoKeyword, token.start, token.end));
            return;
        }
    };
    out.truncate(out.len() - 2);
    if matches!(out.last(), Some(Norm::Plain(Tok::Word, Kw::IN, ..))) {
        out.pop();
        out.push(Norm::InList);
        return;
    }
    let list = match (&out[..], row) {
        ([.., Norm::Row1 | Norm::Row1List, comma], Norm::Row1) if comma.is(Tok::Comma) => Some(Norm::Row1List),
        ([.., Norm::Row | Norm::RowList, comma], Norm::Row) if comma.is(Tok::Comma) => Some(Norm::RowList),
        _ => None,
    };
    if let Some(list) = list {
        out.truncate(out.len() - 2);
        out.push(list);
    } else {
        out.push(row);
    }
}

/// May an operand stand behind `last`?
fn is_operand_position(last: Option<&Norm>) -> bool {
    match last {
        None => true,
        Some(Norm::Plain(Tok::Word, kw, ..)) => matches!(
            kw,
            Kw::SELECT
                | Kw::DISTINCT
                | Kw::WHERE
                | Kw::AND
                | Kw::OR
                | Kw::XOR
                | Kw::BY
                | Kw::ON
                | Kw::HAVING
                | Kw::LIKE
                | Kw::BETWEEN
                | Kw::REGEXP
                | Kw::RLIKE
                | Kw::DIV
                | Kw::MOD
                | Kw::WHEN
                | Kw::THEN
                | Kw::ELSE
                | Kw::CASE
                | Kw::LIMIT
                | Kw::OFFSET
                | Kw::INTERVAL
                | Kw::RETURN
                | Kw::ESCAPE
                | Kw::DEFAULT
        ),
        Some(Norm::Hint(_)) => true,
        Some(Norm::Plain(kind, ..)) => !matches!(kind, Tok::RParen | Tok::Dot | Tok::UserVar | Tok::AtAt | Tok::RBrace),
        Some(_) => false,
    }
}

/// The word that MySQL prints for a keyword: of those that mean the same, the last of its own list.
#[rustfmt::skip]
fn shown(kw: Kw) -> &'static str {
    let same = match kw {
        Kw::ANY => Kw::SOME,
        Kw::CHAR => Kw::CHARACTER,
        Kw::COLUMNS => Kw::FIELDS,
        Kw::CURRENT_DATE => Kw::CURDATE,
        Kw::CURRENT_TIME => Kw::CURTIME,
        Kw::CURRENT_TIMESTAMP | Kw::LOCALTIME | Kw::LOCALTIMESTAMP => Kw::NOW,
        Kw::DATABASE => Kw::SCHEMA,
        Kw::DATABASES => Kw::SCHEMAS,
        Kw::DEC => Kw::DECIMAL,
        Kw::DESCRIBE => Kw::EXPLAIN,
        Kw::DISTINCT => Kw::DISTINCTROW,
        Kw::DOUBLE => Kw::FLOAT8,
        Kw::FLOAT => Kw::FLOAT4,
        Kw::GEOMCOLLECTION => Kw::GEOMETRYCOLLECTION,
        Kw::INT | Kw::INT4 => Kw::INTEGER,
        Kw::INT1 => Kw::TINYINT,
        Kw::INT2 => Kw::SMALLINT,
        Kw::INT3 | Kw::MEDIUMINT => Kw::MIDDLEINT,
        Kw::BIGINT => Kw::INT8,
        Kw::IO_THREAD => Kw::RELAY_THREAD,
        Kw::NDB => Kw::NDBCLUSTER,
        Kw::DAY => Kw::SQL_TSI_DAY,
        Kw::HOUR => Kw::SQL_TSI_HOUR,
        Kw::MINUTE => Kw::SQL_TSI_MINUTE,
        Kw::MONTH => Kw::SQL_TSI_MONTH,
        Kw::QUARTER => Kw::SQL_TSI_QUARTER,
        Kw::SECOND => Kw::SQL_TSI_SECOND,
        Kw::SQL_TSI_WEEK => Kw::WEEK,
        Kw::SQL_TSI_YEAR => Kw::YEAR,
        Kw::USER | Kw::SESSION_USER => Kw::SYSTEM_USER,
        Kw::MID | Kw::SUBSTR => Kw::SUBSTRING,
        Kw::STD | Kw::STDDEV => Kw::STDDEV_POP,
        Kw::VARIANCE => Kw::VAR_POP,
        Kw::VARCHAR => Kw::VARCHARACTER,
        Kw::REGEXP => Kw::RLIKE,
        other => other,
    };
    same.word()
}

fn print(norm: &Norm, text: &[u8], out: &mut String) {
    let piece = |start: &u32, end: &u32| String::from_utf8_lossy(&text[*start as usize..*end as usize]).into_owned();
    match norm {
        Norm::Plain(Tok::Word, kw, ..) => out.push_str(shown(*kw)),
        Norm::Plain(Tok::UserVar, _, start, end) => {
            out.push('@');
            let name = piece(start, end);
            out.push_str(if name.len() > 1 { "?" } else { "" });
        }
        Norm::Plain(_, _, start, end) => match &*piece(start, end) {
            "<>" => out.push_str("!="),
            piece => out.push_str(piece),
        },
        Norm::Name(start, end, quoted) => {
            let raw = &text[*start as usize..*end as usize];
            let name = if *quoted { crate::lexer::unquote_name(raw) } else { raw.to_vec() };
            // As in MySQL, a backtick within is not doubled.
            out.push_str(&format!("`{}`", String::from_utf8_lossy(&name)));
        }
        Norm::Hint(word) => out.push_str(word),
        Norm::Block(start, end, _) => {
            let name = piece(start, end);
            out.push_str(&format!("@`{}`", name.trim_start_matches('@').trim_matches('`')));
        }
        Norm::Charset => out.push_str("(_charset)"),
        Norm::Position(column) => out.push_str(&column.to_string()),
        Norm::Value => out.push('?'),
        Norm::Values => out.push_str("?, ..."),
        Norm::Row1 => out.push_str("(?)"),
        Norm::Row1List => out.push_str("(?) /* , ... */"),
        Norm::Row => out.push_str("(...)"),
        Norm::RowList => out.push_str("(...) /* , ... */"),
        Norm::InList => out.push_str("IN (...)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> (bool, u128, Vec<String>) {
        let mut s = Scan::new(7);
        let ok = scan(text.as_bytes(), LexMode::default(), &mut s);
        let literals =
            s.literals.iter().map(|l| String::from_utf8_lossy(l.raw(text.as_bytes())).into_owned()).collect();
        (ok, s.shape, literals)
    }

    #[test]
    fn shapes_are_equal_up_to_literals_and_comments() {
        let a = shape("SELECT c FROM t WHERE id=12345 AND n='x'");
        let b = shape("SELECT c FROM t WHERE id=7 AND n='it''s \\' '");
        assert!(a.0 && b.0);
        assert_eq!(a.1, b.1);
        assert_eq!(a.2, ["12345", "'x'"]);
        assert_eq!(b.2, ["7", "'it''s \\' '"]);
        assert_eq!(shape("/* 1 */SELECT 1").1, shape("/* 22 'x' */SELECT 2").1);
        assert_eq!(shape("SELECT/* a 1 */ 1").1, shape("SELECT /* b */ 2 -- c").1);
        assert_eq!(shape("SELECT a, 1 /* x */").1, shape("SELECT a, 2").1);
        assert_eq!(shape("SELECT 1").1, shape("SELECT 1 ").1);
        assert_eq!(shape("SELECT a").1, shape("SELECT a; ; ").1);
    }

    #[test]
    fn shapes_differ() {
        let texts = [
            "SELECT 1",
            "SELECT 1.5",
            "SELECT 1e5",
            "SELECT '1'",
            "SELECT x'31'",
            "SELECT b'1'",
            "SELECT N'1'",
            "SELECT ?",
            "SELECT  1",
            "select 1",
            "SELECT 1, 1",
            "SELECT 1,1",
            "SELECT a1",
            "SELECT a2",
            "SELECT a.1b",
            "SELECT a.2b",
            "SELECT `1`",
            "SELECT `2`",
            "SELECT @1",
            "SELECT @2",
            "SELECT /*+ A(1) */ 1",
            "SELECT /*+ A(2) */ 1",
            "SELECT /*!1*/ 1",
            "SELECT a b",
            "SELECT a/**/b",
            "SELECT a/* c */b",
            "SELECT a /**/b",
            "SELECT ab",
            "SELECT NULL",
            "SELECT TRUE",
            "SELECT 1a",
            "SELECT 2a",
        ];
        let all: Vec<_> = texts.iter().map(|t| shape(t)).collect();
        for (i, a) in all.iter().enumerate() {
            assert!(a.0, "{}", texts[i]);
            for (j, b) in all.iter().enumerate().skip(i + 1) {
                assert_ne!(a.1, b.1, "{} / {}", texts[i], texts[j]);
            }
        }
    }

    #[test]
    fn refuses_what_is_not_for_the_cache() {
        assert!(!shape("SELECT 1; SELECT 2").0);
        assert!(!shape("SELECT 'abc").0);
        assert!(!shape("SELECT 1 /* ").0);
        assert!(!shape(&format!("SELECT {}", "1,".repeat(1001))).0);
        assert!(shape(&format!("SELECT {}1", "1,".repeat(999))).0);
        assert!(!shape(&format!("SELECT '{}'", "x".repeat(MAX_TEXT))).0);
    }

    #[test]
    fn normal_forms() {
        let rows = [
            ("SELECT c FROM sbtest1 WHERE id=12345", "SELECT `c` FROM `sbtest1` WHERE `id` = ?"),
            ("select 1", "SELECT ?"),
            ("select -1, +2, a - 1", "SELECT ?, ... , `a` - ?"),
            ("insert into t values (1,2),(3,4), (5,6)", "INSERT INTO `t` VALUES (...) /* , ... */"),
            ("insert into t values (1),(3)", "INSERT INTO `t` VALUES (?) /* , ... */"),
            ("insert into t(a,b) values (1,'x')", "INSERT INTO `t` ( `a` , `b` ) VALUES (...)"),
            ("select * from t where a in (1,2,3)", "SELECT * FROM `t` WHERE `a` IN (...)"),
            ("select * from t where a in (1)", "SELECT * FROM `t` WHERE `a` IN (...)"),
            ("select count(*) from db.t", "SELECT COUNT ( * ) FROM `db` . `t`"),
            ("select @@version_comment limit 1", "SELECT @@`version_comment` LIMIT ?"),
            ("select @a, t.status, status from t", "SELECT @? , `t` . `status` , STATUS FROM `t`"),
            ("select `a``b`, a<>1, 'x' regexp not null", "SELECT `a`b` , `a` != ?, ... RLIKE NOT ?"),
            (
                "select distinct day(a), day.b, user from user",
                "SELECT DISTINCTROW SQL_TSI_DAY ( `a` ) , `day` . `b` , SYSTEM_USER FROM SYSTEM_USER",
            ),
            ("select @@global.a, @@session.b, @@c", "SELECT @@GLOBAL . `a` , @@SESSION . `b` , @@`c`"),
            ("select _utf8mb4'x', _nix, count, count(a)", "SELECT (_charset) ? , `_nix` , `count` , COUNT ( `a` )"),
            (
                "select /*+ no_index(t@x a,b) MAX_EXECUTION_TIME(10) bka(@q t1) set_var(a='x') y */ 1",
                "SELECT /*+ NO_INDEX ( `t`@`x` `a` , `b` ) MAX_EXECUTION_TIME (?) BKA ( @`q` `t1` ) SET_VAR ( `a` = ? ) `y` */ ?",
            ),
            (
                "create table t (a int not null, b double default null)",
                "CREATE TABLE `t` ( `a` INTEGER NOT NULL , `b` FLOAT8 DEFAULT ? )",
            ),
            ("select 1 from t for update nowait", "SELECT ? FROM `t` FOR UPDATE NOWAIT"),
            ("show status like 'x'", "SHOW STATUS LIKE ?"),
            ("truncate table t", "TRUNCATE TABLE `t`"),
            ("commit", "COMMIT"),
            ("select null, a is null", "SELECT ? , `a` IS NULL"),
            ("update t set a = null /* c */ where b <=> 'x'", "UPDATE `t` SET `a` = ? WHERE `b` <=> ?"),
            ("select 1; select 2", "SELECT ?"),
            ("select a from t order by 1", "SELECT `a` FROM `t` ORDER BY 1"),
            (
                "select a from t group by b, 1, 02 order by 2 desc, 1",
                "SELECT `a` FROM `t` GROUP BY `b` , 1 , 2 ORDER BY 2 DESC , 1",
            ),
            (
                "select a from t group by rollup(1, 2) having 1",
                "SELECT `a` FROM `t` GROUP BY ROLLUP ( 1 , 2 ) HAVING ?",
            ),
            ("select a from t group by 1 with rollup limit 1", "SELECT `a` FROM `t` GROUP BY 1 WITH ROLLUP LIMIT ?"),
            ("select a from t order by 1+1, -1, 1.5, 'x'", "SELECT `a` FROM `t` ORDER BY ? + ?, ..."),
            ("select a from t order by -1", "SELECT `a` FROM `t` ORDER BY - ?"),
            (
                "select a from t order by (1), if(a, 1, 2), 3",
                "SELECT `a` FROM `t` ORDER BY (?) , IF ( `a` , ?, ... ) , 3",
            ),
            ("select a from t order by 99999999999, null", "SELECT `a` FROM `t` ORDER BY ?, ..."),
            (
                "select sum(a) over (partition by 1 order by 1 rows 1 preceding) from t",
                "SELECT SUM ( `a` ) OVER ( PARTITION BY 1 ORDER BY 1 ROWS ? PRECEDING ) FROM `t`",
            ),
            (
                "select group_concat(a order by 1 separator ','), 1, 2 from t",
                "SELECT GROUP_CONCAT ( `a` ORDER BY 1 SEPARATOR ? ) , ?, ... FROM `t`",
            ),
            (
                "(select 1 order by 1) union select 2, 3 order by 1",
                "( SELECT ? ORDER BY 1 ) UNION SELECT ?, ... ORDER BY 1",
            ),
            ("select a from t order by 1 limit 1, 2", "SELECT `a` FROM `t` ORDER BY 1 LIMIT ?, ..."),
        ];
        for (text, want) in rows {
            assert_eq!(digest(text.as_bytes(), LexMode::default()).text, want, "{text}");
        }
        let d = |t: &str| digest(t.as_bytes(), LexMode::default()).hash;
        assert_eq!(d("select a from t where b in (1,2)"), d("SELECT a FROM t  WHERE b IN (1,2,3,4)"));
        assert_ne!(d("select a from t"), d("select b from t"));
        assert_ne!(d("select a from t order by 1"), d("select a from t order by 2"));
    }

    #[test]
    fn digests_are_bounded() {
        let text = "a+".repeat(1 << 20);
        assert!(digest(text.as_bytes(), LexMode::default()).text.len() < 16 << 10);
        let text = format!("select {}1", "1,".repeat(1 << 20));
        assert_eq!(digest(text.as_bytes(), LexMode::default()).text, "SELECT ?, ...");
    }
}

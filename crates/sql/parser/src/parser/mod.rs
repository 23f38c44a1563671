//! Recursive descent over the lexer's tokens, one module per family of statements.
//!
//! Tokens are read as they are needed, with a few of look-ahead; there is no token list, and, but for one place
//! (`schema.table.*`), no backtracking, so that time and memory are linear in the text. Expressions are parsed with
//! an explicit stack (see [`expr`]); what recursion remains (subqueries, functions with a grammar of their own,
//! statements in statements) measures the native stack it uses against [`STACK_BUDGET`].

mod account;
mod admin;
mod alter;
mod create;
mod datatype;
mod dml;
mod expr;
mod function;
mod literal;
mod options;
mod program;
mod query;
mod replication;
mod schema;
mod set;
mod show;
mod statement;
mod table;
mod transaction;
mod window;

pub(crate) use literal::is_charset;

pub(crate) use literal::hex_bytes;

use crate::ast::*;
use crate::error::{ErrorKind, ParseError};
use crate::keyword::Kw;
use crate::lexer::{Lexer, Tok, Token, open_version_comments, unquote_name, unquote_string};
use crate::mode::LexMode;
use crate::notice::Notice;

/// Greatest height of an expression tree: what walks one may recurse this deep.
pub const MAX_HEIGHT: u32 = 200;
/// Bytes of native stack the parser uses at most before it refuses a text as nested too deeply. A caller must have this
/// much left, and some 32 KiB for what does not recurse.
pub const STACK_BUDGET: usize = 192 << 10;
/// And what has to be left where the caller's stack is known: texts are parsed inside of statements, too (views).
const STACK_RESERVE: usize = 32 << 10;
/// Greatest number of operators, parentheses and calls open at once in all expressions.
pub(crate) const MAX_OPEN: usize = 4096;
/// Parameters of a statement at most.
const MAX_PARAMS: u32 = 65_535;

pub(crate) type Result<T> = std::result::Result<T, ParseError>;

/// A parsed statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// It.
    pub statement: Statement,
    /// Offset behind the statement, its `;` and the white space that follows.
    pub consumed: usize,
    /// Number of `?` parameters.
    pub params: u32,
    /// Offset of the first of them.
    first_param: u32,
    /// Deprecated syntax, in order of appearance.
    pub notices: Vec<Notice>,
}

impl Parsed {
    /// The refusal of `text`, of which this was parsed, for its first parameter: only prepared statements have any.
    #[must_use]
    pub fn unwanted_param(&self, text: &[u8]) -> ParseError {
        refused_at(text, ErrorKind::Syntax, self.first_param)
    }
}

/// Bytes of text between two questions whether to go on.
const ASK_EVERY: u32 = 4096;

/// How long the caller waits: see [`parse_until`].
struct Patience {
    stopped: fn() -> bool,
    /// It is asked behind so many bytes of the text.
    ask_at: u32,
    /// It said yes: the rest of the text is not read.
    ended: bool,
}

impl Patience {
    #[cold]
    fn ask(&mut self, state: &mut State<'_>) {
        self.ask_at = state.prev_end.saturating_add(ASK_EVERY);
        if (self.stopped)() {
            (self.ended, self.ask_at) = (true, u32::MAX);
            state.lexer.skip_rest();
            (state.tok, state.ahead_len) = (state.lexer.next(), 0);
        }
    }
}

/// The refusal of `text` for what stands at `offset`. White space in front of a statement does not belong to it, nor do
/// that and semicolons behind it.
#[cold]
fn refused_at(text: &[u8], kind: ErrorKind, offset: u32) -> ParseError {
    let blank = |b: &u8| crate::lexer::is_space(*b);
    let end = text.iter().rposition(|b| !blank(b) && *b != b';').map_or(0, |i| i + 1);
    let start = text.iter().position(|b| !blank(b)).unwrap_or(0);
    let at = (offset as usize).min(end);
    let near: String = String::from_utf8_lossy(&text[at..end.min(at + 320)]).chars().take(80).collect();
    let before = text.get(start..at).unwrap_or_default();
    let line = 1 + before.iter().filter(|&&b| b == b'\n').count() as u32;
    ParseError { kind, offset, near: near.into(), line }
}

/// What a text is to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// As for [`parse_one`].
    First,
    /// As for [`parse`].
    Whole,
    /// As for [`parse_parameterised`].
    Parameterised,
}

/// Parses a text of a client's size. `stopped` is asked again and again; when it says yes, this ends with
/// [`ErrorKind::Stopped`].
pub fn parse_until(text: &[u8], mode: LexMode, extent: Extent, stopped: fn() -> bool) -> Result<Parsed> {
    let mut parser = Parser::new(text, mode, extent == Extent::Parameterised)?;
    parser.patience = Patience { stopped, ask_at: ASK_EVERY, ended: false };
    let parsed = parser.run().and_then(|parsed| match extent {
        Extent::First => Ok(parsed),
        Extent::Whole | Extent::Parameterised => parser.must_be_end().map(|()| parsed),
    });
    if parser.patience.ended { parser.error_at(ErrorKind::Stopped, 0) } else { parsed }
}

/// Parses the first statement of `text`.
pub fn parse_one(text: &[u8], mode: LexMode) -> Result<Parsed> {
    Parser::new(text, mode, false)?.run()
}

/// Parses `text`, which must hold one statement and nothing else (one `;` at its end is allowed).
pub fn parse(text: &[u8], mode: LexMode) -> Result<Parsed> {
    let mut parser = Parser::new(text, mode, false)?;
    let parsed = parser.run()?;
    parser.must_be_end()?;
    Ok(parsed)
}

/// Like [`parse`], and sets [`Literal::index`] to the literal's ordinal in [`crate::digest::Scan::literals`] of the
/// same text and mode.
pub fn parse_parameterised(text: &[u8], mode: LexMode) -> Result<Parsed> {
    let mut parser = Parser::new(text, mode, true)?;
    let parsed = parser.run()?;
    parser.must_be_end()?;
    Ok(parsed)
}

/// Parses `text` as one expression (a stored generated column, default or check).
pub fn parse_expr(text: &[u8], mode: LexMode) -> Result<Expr> {
    let mut parser = Parser::new(text, mode, false)?;
    let expr = parser.expr()?;
    parser.must_be_end()?;
    Ok(expr)
}

#[derive(Clone, Copy)]
struct State<'a> {
    lexer: Lexer<'a>,
    /// The token to be consumed next.
    tok: Token,
    ahead: [Token; 3],
    ahead_len: usize,
    prev_end: u32,
}

pub(crate) struct Parser<'a> {
    text: &'a [u8],
    mode: LexMode,
    state: State<'a>,
    parameterised: bool,
    params: u32,
    first_param: u32,
    /// In a trigger: the columns of OLD and NEW that were named.
    rows: Option<Vec<(Ident, Ident)>>,
    patience: Patience,
    /// Where the native stack was when the parser started.
    stack_base: usize,
    /// Greatest height of the expressions finished since it was last taken.
    height: u32,
    /// Open operators of all expressions being parsed.
    open: Vec<expr::Frame>,
    /// Inside the body of a stored program.
    in_program: bool,
    /// The text holds `/*!` somewhere.
    version_comments: bool,
    /// Subqueries are refused (PURGE, KILL, schedules of events).
    no_subquery: bool,
    /// Where the last INTO stood.
    into_at: u32,
    /// Where it ends.
    into_end: u32,
    /// It stood behind the whole of its query, not behind the list of a SELECT.
    into_trails: bool,
    pub(crate) notices: Vec<Notice>,
}

/// In a trigger `OLD.a` and `NEW.a` are columns of its rows, whatever aliases there are.
#[inline]
fn note_row(rows: &mut Option<Vec<(Ident, Ident)>>, row: &Ident, column: &Ident) {
    if let Some(rows) = rows
        && (row.text.eq_ignore_ascii_case("OLD") || row.text.eq_ignore_ascii_case("NEW"))
    {
        rows.push((row.clone(), column.clone()));
    }
}

impl<'a> Parser<'a> {
    fn new(text: &'a [u8], mode: LexMode, parameterised: bool) -> Result<Parser<'a>> {
        if u32::try_from(text.len()).is_err() {
            return Err(ParseError { kind: ErrorKind::TooLong, offset: 0, near: "".into(), line: 1 });
        }
        let mut lexer = Lexer::new(text, mode);
        let tok = lexer.next();
        Ok(Parser {
            text,
            mode,
            state: State { lexer, tok, ahead: [tok; 3], ahead_len: 0, prev_end: 0 },
            parameterised,
            params: 0,
            first_param: 0,
            rows: None,
            patience: Patience { stopped: || false, ask_at: u32::MAX, ended: false },
            stack_base: stack_position(),
            height: 0,
            open: Vec::new(),
            in_program: false,
            version_comments: text.windows(3).any(|w| w == b"/*!"),
            no_subquery: false,
            into_at: 0,
            into_end: 0,
            into_trails: false,
            notices: Vec::new(),
        })
    }

    fn run(&mut self) -> Result<Parsed> {
        let statement = self.statement_or_empty()?;
        let consumed = match self.state.tok.kind {
            Tok::End => self.text.len(),
            Tok::Semi => {
                let mut end = self.state.tok.end as usize;
                while end < self.text.len() && crate::lexer::is_space(self.text[end]) {
                    end += 1;
                }
                end
            }
            _ => return self.syntax(),
        };
        let notices = std::mem::take(&mut self.notices);
        Ok(Parsed { statement, consumed, first_param: self.first_param, params: self.params, notices })
    }

    fn must_be_end(&mut self) -> Result<()> {
        while self.eat(Tok::Semi) {}
        if self.at(Tok::End) { Ok(()) } else { self.syntax() }
    }

    // Tokens.

    #[inline]
    fn tok(&self) -> Token {
        self.state.tok
    }

    #[inline]
    fn at(&self, kind: Tok) -> bool {
        self.state.tok.kind == kind
    }

    #[inline]
    fn at_kw(&self, kw: Kw) -> bool {
        self.state.tok.kw == kw
    }

    /// The `n`-th token behind the current one, from 1 to 3.
    fn peek(&mut self, n: usize) -> Token {
        while self.state.ahead_len < n {
            self.state.ahead[self.state.ahead_len] = self.state.lexer.next();
            self.state.ahead_len += 1;
        }
        self.state.ahead[n - 1]
    }

    #[inline]
    fn advance(&mut self) -> Token {
        let state = &mut self.state;
        let token = state.tok;
        state.prev_end = token.end;
        if state.ahead_len > 0 {
            state.tok = state.ahead[0];
            state.ahead.copy_within(1.., 0);
            state.ahead_len -= 1;
        } else {
            state.tok = state.lexer.next();
        }
        if token.end >= self.patience.ask_at {
            self.patience.ask(state);
        }
        token
    }

    #[inline]
    fn eat(&mut self, kind: Tok) -> bool {
        let yes = self.at(kind);
        if yes {
            self.advance();
        }
        yes
    }

    #[inline]
    fn eat_kw(&mut self, kw: Kw) -> bool {
        let yes = self.at_kw(kw);
        if yes {
            self.advance();
        }
        yes
    }

    /// Consumes `first second` if both are there.
    fn eat_kw2(&mut self, first: Kw, second: Kw) -> bool {
        let yes = self.at_kw(first) && self.peek(1).kw == second;
        if yes {
            self.advance();
            self.advance();
        }
        yes
    }

    fn expect(&mut self, kind: Tok) -> Result<Token> {
        if self.at(kind) { Ok(self.advance()) } else { self.syntax() }
    }

    fn expect_kw(&mut self, kw: Kw) -> Result<()> {
        if self.eat_kw(kw) { Ok(()) } else { self.syntax() }
    }

    /// Consumes the first of `kws` that is there.
    fn one_of(&mut self, kws: &[Kw]) -> Option<Kw> {
        let kw = self.state.tok.kw;
        if kw == Kw::NoKeyword || !kws.contains(&kw) {
            return None;
        }
        self.advance();
        Some(kw)
    }

    /// Is the current token this word, which need not be a keyword?
    fn at_word(&self, word: &str) -> bool {
        self.is_word_token(self.tok(), word)
    }

    fn is_word_token(&self, t: Token, word: &str) -> bool {
        t.kind == Tok::Word && self.bytes(t).eq_ignore_ascii_case(word.as_bytes())
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let yes = self.at_word(word);
        if yes {
            self.advance();
        }
        yes
    }

    fn bytes(&self, t: Token) -> &'a [u8] {
        &self.text[t.start as usize..t.end as usize]
    }

    fn span_from(&self, start: u32) -> Span {
        Span { start, end: self.state.prev_end }
    }

    /// Offset of the current token.
    fn here(&self) -> u32 {
        self.state.tok.start
    }

    /// Text from `start` to the last consumed token, version comments opened.
    fn source_text(&self, start: u32) -> SourceText {
        let raw = &self.text[start as usize..self.state.prev_end.max(start) as usize];
        if self.version_comments && raw.windows(2).any(|w| w == b"*/") {
            return SourceText(String::from_utf8_lossy(&open_version_comments(raw, self.mode)).into());
        }
        SourceText(String::from_utf8_lossy(raw).into())
    }

    /// Text from `start` to the last consumed token, as it is.
    fn raw_text(&self, start: u32) -> SourceText {
        let raw = &self.text[start as usize..self.state.prev_end.max(start) as usize];
        SourceText(String::from_utf8_lossy(raw).into())
    }

    // Errors.

    /// Syntax error at the current token.
    #[cold]
    fn syntax<T>(&self) -> Result<T> {
        self.error_at(ErrorKind::Syntax, self.state.tok.start)
    }

    #[cold]
    fn error_at<T>(&self, kind: ErrorKind, offset: u32) -> Result<T> {
        Err(refused_at(self.text, kind, offset))
    }

    #[cold]
    fn too_deep<T>(&self) -> Result<T> {
        self.error_at(ErrorKind::TooDeep, self.state.tok.start)
    }

    /// Runs `f` one level deeper.
    fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.check_stack()?;
        f(self)
    }

    /// Refuses to go deeper if the stack budget is used up. Every cycle of the grammar's recursion passes here.
    #[inline]
    fn check_stack(&self) -> Result<()> {
        let used = self.stack_base.abs_diff(stack_position());
        if used > STACK_BUDGET || gannet_base::stack::remaining() < STACK_RESERVE { self.too_deep() } else { Ok(()) }
    }

    // Names and small pieces.

    fn utf8(&self, t: Token, bytes: Vec<u8>) -> Result<Box<str>> {
        match String::from_utf8(bytes) {
            Ok(s) => Ok(s.into()),
            Err(_) => self.error_at(ErrorKind::InvalidUtf8, t.start),
        }
    }

    /// Names are utf8mb3: characters beyond the basic plane are none of theirs. The error shows 16 bytes.
    #[cold]
    fn supplementary<T>(&self, t: Token, name: &str) -> Result<T> {
        let escaped: String = name.bytes().take(16).map(|b| format!("\\x{b:02X}")).collect();
        let error = refused_at(self.text, ErrorKind::Supplementary, t.start);
        Err(ParseError { near: escaped.into(), ..error })
    }

    fn ident_of(&self, t: Token) -> Result<Ident> {
        let raw = self.bytes(t);
        let text = match t.kind {
            Tok::Quoted => self.utf8(t, unquote_name(raw))?,
            _ => match std::str::from_utf8(raw) {
                Ok(s) => s.into(),
                Err(_) => return self.error_at(ErrorKind::InvalidUtf8, t.start),
            },
        };
        if text.bytes().any(|b| b >= 0xF0) {
            return self.supplementary(t, &text);
        }
        Ok(Ident { text, span: Span { start: t.start, end: t.end } })
    }

    #[inline]
    fn at_ident(&self) -> bool {
        is_ident(self.state.tok)
    }

    fn ident(&mut self) -> Result<Ident> {
        if !self.at_ident() {
            return self.syntax();
        }
        let t = self.advance();
        self.ident_of(t)
    }

    /// Any word, reserved or not, but no quoted name: what is printed as it stands.
    fn any_word(&mut self) -> Result<Ident> {
        if self.tok().kind != Tok::Word {
            return self.syntax();
        }
        let t = self.advance();
        self.ident_of(t)
    }

    fn opt_ident(&mut self) -> Result<Option<Ident>> {
        if self.at_ident() { self.ident().map(Some) } else { Ok(None) }
    }

    /// Identifier or string.
    fn ident_or_string(&mut self) -> Result<Ident> {
        if self.at(Tok::Str) {
            let t = self.advance();
            let text = self.utf8(t, unquote_string(self.bytes(t), self.mode))?;
            return Ok(Ident { text, span: Span { start: t.start, end: t.end } });
        }
        self.ident()
    }

    /// `[schema.]name`; a leading point is allowed, as MySQL does.
    fn object_name(&mut self) -> Result<ObjectName> {
        self.eat(Tok::Dot);
        let first = self.ident()?;
        if self.eat(Tok::Dot) {
            let name = self.ident()?;
            return Ok(ObjectName { schema: Some(first), name });
        }
        Ok(ObjectName { schema: None, name: first })
    }

    /// `[[schema.]table.]column`
    fn column_ref(&mut self) -> Result<ColumnRef> {
        let first = self.ident()?;
        self.column_ref_from(first)
    }

    fn column_ref_from(&mut self, first: Ident) -> Result<ColumnRef> {
        if !self.eat(Tok::Dot) {
            return Ok(ColumnRef { qualifier: None, column: first });
        }
        let second = self.ident()?;
        if !self.eat(Tok::Dot) {
            note_row(&mut self.rows, &first, &second);
            return Ok(ColumnRef {
                qualifier: Some(Box::new(ObjectName { schema: None, name: first })),
                column: second,
            });
        }
        let column = self.ident()?;
        Ok(ColumnRef { qualifier: Some(Box::new(ObjectName { schema: Some(first), name: second })), column })
    }

    /// `item, item, ...`
    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut out = vec![item(self)?];
        while self.eat(Tok::Comma) {
            out.push(item(self)?);
        }
        Ok(out)
    }

    /// `(item, item, ...)`
    fn paren_list<T>(&mut self, item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.expect(Tok::LParen)?;
        let out = self.list(item)?;
        self.expect(Tok::RParen)?;
        Ok(out)
    }

    /// `(name, ...)`, possibly empty or absent.
    fn opt_ident_list(&mut self) -> Result<Vec<Ident>> {
        if self.at(Tok::LParen) { self.paren_list(Self::ident) } else { Ok(Vec::new()) }
    }

    /// A string literal's bytes (adjacent strings are not joined; `x'..'` is accepted as MySQL does).
    fn string_bytes(&mut self) -> Result<Box<[u8]>> {
        match self.tok().kind {
            Tok::Str => {
                let t = self.advance();
                Ok(unquote_string(self.bytes(t), self.mode).into())
            }
            Tok::Hex => {
                let t = self.advance();
                Ok(literal::hex_bytes(self.bytes(t)).into())
            }
            Tok::Bit => {
                let t = self.advance();
                Ok(literal::bit_bytes(self.bytes(t)).into())
            }
            _ => self.syntax(),
        }
    }

    /// A string literal that is text.
    fn string(&mut self) -> Result<Box<str>> {
        if !self.at(Tok::Str) {
            return self.syntax();
        }
        let t = self.advance();
        self.utf8(t, unquote_string(self.bytes(t), self.mode))
    }

    /// An unsigned integer literal (also hexadecimal).
    fn number(&mut self) -> Result<u64> {
        let t = self.tok();
        let n = match t.kind {
            // Digits only: what does not fit is too large for whatever it means.
            Tok::Int => {
                Some(self.bytes(t).iter().fold(0u64, |n, b| n.saturating_mul(10).saturating_add(u64::from(b - b'0'))))
            }
            Tok::Hex => literal::hex_bytes(self.bytes(t))
                .iter()
                .try_fold(0u64, |n, &b| (n >> 56 == 0).then(|| n << 8 | u64::from(b))),
            _ => None,
        };
        match n {
            Some(n) => {
                self.advance();
                Ok(n)
            }
            None => self.syntax(),
        }
    }

    /// `(n)`
    fn paren_number(&mut self) -> Result<u64> {
        self.expect(Tok::LParen)?;
        let n = self.number()?;
        self.expect(Tok::RParen)?;
        Ok(n)
    }

    fn if_exists(&mut self) -> bool {
        self.eat_kw2(Kw::IF, Kw::EXISTS)
    }

    fn if_not_exists(&mut self) -> bool {
        if self.at_kw(Kw::IF) && self.peek(1).kw == Kw::NOT && self.peek(2).kw == Kw::EXISTS {
            self.advance();
            self.advance();
            self.advance();
            return true;
        }
        false
    }

    /// Name of a character set: an identifier, a string or BINARY.
    fn charset_name(&mut self) -> Result<Ident> {
        let name = self.collation_in_expr()?;
        self.notice_charset(&name.text);
        Ok(name)
    }

    /// Name of a collation.
    fn collation_name(&mut self) -> Result<Ident> {
        let name = self.collation_in_expr()?;
        self.notice_collation(&name.text);
        Ok(name)
    }

    /// Name of a collation behind an expression: MySQL warns of none.
    fn collation_in_expr(&mut self) -> Result<Ident> {
        if self.at_kw(Kw::BINARY) { self.any_word() } else { self.ident_or_string() }
    }

    /// `CHARACTER SET`, `CHAR SET` or `CHARSET`
    fn eat_charset(&mut self) -> bool {
        self.eat_kw2(Kw::CHARACTER, Kw::SET) || self.eat_kw2(Kw::CHAR, Kw::SET) || self.eat_kw(Kw::CHARSET)
    }
}

/// An address on the native stack.
#[inline(never)]
fn stack_position() -> usize {
    let here = 0u8;
    std::hint::black_box(&raw const here) as usize
}

/// May the token be an identifier?
#[inline]
fn is_ident(t: Token) -> bool {
    match t.kind {
        Tok::Word => t.kw.is_free(),
        Tok::Quoted => true,
        _ => false,
    }
}

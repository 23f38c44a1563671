//! The grammar of AGAINST, with the words of InnoDB's errors.
//!
//! ```text
//! query   expr*
//! expr    [+ - < > ~] ( term | text | '(' expr* ')' )
//! term    '*'* word ['*']
//! text    '"' ... '"' ['@' number]
//! ```
//!
//! Natural language mode knows words, texts and the star, which means nothing there.

use crate::query::{Item, Maker, Node, Operator};
use gannet_types::{ErrorCode, Result, SqlError, sql_err};

/// Parentheses in each other; more are error 209.
const MAX_LEVELS: usize = 32;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lexeme<'t> {
    Sign(char),
    Number(&'t str),
    Word(&'t str),
    Text(&'t str),
    End,
}

impl Lexeme<'_> {
    fn name(self) -> String {
        match self {
            Lexeme::Sign(c) => format!("'{c}'"),
            Lexeme::Number(_) => "FTS_NUMB".to_owned(),
            Lexeme::Word(_) => "FTS_TERM".to_owned(),
            Lexeme::Text(_) => "FTS_TEXT".to_owned(),
            Lexeme::End => "$end".to_owned(),
        }
    }
}

struct Lexer<'t> {
    rest: &'t str,
    signs: &'static str,
}

impl<'t> Lexer<'t> {
    fn peek(&self) -> Lexeme<'t> {
        Lexer { rest: self.rest, signs: self.signs }.next()
    }

    fn next(&mut self) -> Lexeme<'t> {
        loop {
            let Some(first) = self.rest.chars().next() else { return Lexeme::End };
            let behind = &self.rest[first.len_utf8()..];
            if first == '"' {
                let end = behind.find(['"', '\n']).filter(|end| behind[*end..].starts_with('"'));
                if let Some(end) = end {
                    self.rest = &behind[end + 1..];
                    return Lexeme::Text(&behind[..end]);
                }
                // A quote that is never closed is nothing.
                self.rest = behind;
                continue;
            }
            if self.signs.contains(first) {
                self.rest = behind;
                return Lexeme::Sign(first);
            }
            let ends = |c: char| matches!(c, ' ' | '\n' | '"' | '%') || self.signs.contains(c);
            if ends(first) {
                self.rest = behind;
                continue;
            }
            let (word, rest) = self.rest.split_at(self.rest.find(ends).unwrap_or(self.rest.len()));
            self.rest = rest;
            let number = word.bytes().all(|b| b.is_ascii_digit());
            return if number { Lexeme::Number(word) } else { Lexeme::Word(word) };
        }
    }
}

fn unexpected(what: Lexeme<'_>, wanted: &str) -> SqlError {
    SqlError::with_message(ErrorCode::Parse, format!("syntax error, unexpected {}{wanted}", what.name()))
}

/// Parses a whole query.
pub(crate) fn parse(text: &str, maker: &mut Maker<'_>) -> Result<Vec<Item>> {
    let mut lexer = Lexer { rest: text, signs: if maker.natural { "*" } else { "*()+-<>~@" } };
    let mut levels: Vec<(Operator, Vec<Item>)> = Vec::new();
    let mut items: Vec<Item> = Vec::new();
    let mut deep = false;
    loop {
        let mut lexeme = lexer.next();
        let mut operator = Operator::None;
        if let Lexeme::Sign(sign) = lexeme
            && let Some(found) = operator_of(sign)
        {
            operator = found;
            lexeme = lexer.next();
        }
        let node = match lexeme {
            Lexeme::Sign('(') => {
                levels.push((operator, std::mem::take(&mut items)));
                continue;
            }
            Lexeme::Text(text) => {
                let within = within(&mut lexer)?;
                maker.phrase(text, within)
            }
            Lexeme::Word(word) | Lexeme::Number(word) => starred(word, &mut lexer, maker),
            Lexeme::Sign('*') => {
                let word = loop {
                    match lexer.next() {
                        Lexeme::Sign('*') => {}
                        Lexeme::Word(word) | Lexeme::Number(word) => break word,
                        other => return Err(unexpected(other, ", expecting FTS_TERM or FTS_NUMB or '*'")),
                    }
                };
                starred(word, &mut lexer, maker)
            }
            other if operator != Operator::None => return Err(unexpected(other, "")),
            Lexeme::Sign(')') if !levels.is_empty() => {
                let Some((before, outer)) = levels.pop() else { return Ok(items) };
                operator = before;
                let inner = std::mem::replace(&mut items, outer);
                if !items.is_empty() && maker.is_stepwise() {
                    items.push(Item { operator: Operator::None, node: Node::Step });
                }
                let is_deep = levels.len() >= MAX_LEVELS;
                deep |= is_deep && !inner.is_empty();
                if inner.is_empty() || is_deep { Node::Words(Vec::new()) } else { Node::List(inner) }
            }
            Lexeme::End if levels.is_empty() && deep => return Err(sql_err!(FtTooManyLevels)),
            Lexeme::End if levels.is_empty() && maker.too_long => return Err(sql_err!(FtTooManyWords)),
            Lexeme::End if levels.is_empty() => return Ok(items),
            other if levels.is_empty() => return Err(unexpected(other, ", expecting $end")),
            other => return Err(unexpected(other, "")),
        };
        items.push(Item { operator, node });
    }
}

fn operator_of(sign: char) -> Option<Operator> {
    Some(match sign {
        '+' => Operator::Require,
        '-' => Operator::Exclude,
        '<' => Operator::Lower,
        '>' => Operator::Raise,
        '~' => Operator::Negate,
        _ => return None,
    })
}

fn starred(word: &str, lexer: &mut Lexer<'_>, maker: &mut Maker<'_>) -> Node {
    let star = lexer.peek() == Lexeme::Sign('*');
    if star {
        lexer.next();
    }
    maker.words(word, star)
}

/// `@n` behind a text.
fn within(lexer: &mut Lexer<'_>) -> Result<Option<u64>> {
    if lexer.peek() != Lexeme::Sign('@') {
        return Ok(None);
    }
    lexer.next();
    match lexer.next() {
        // `@0` is a phrase as without it.
        Lexeme::Number(n) => Ok(Some(n.parse().unwrap_or(u64::MAX)).filter(|n| *n > 0)),
        other => Err(unexpected(other, ", expecting FTS_NUMB")),
    }
}

//! LIKE: `%` any run, `_` one character, an escape character; characters compare one by one by the collation.

use super::{Algorithm, Collation, CollationId, Pad, Uca};
use std::sync::OnceLock;

/// A compiled pattern.
#[derive(Clone, Debug)]
pub struct LikePattern {
    collation: CollationId,
    shape: Shape,
    /// The literal bytes before the first wildcard.
    prefix: Box<[u8]>,
    literal: bool,
}

#[derive(Clone, Debug)]
enum Shape {
    /// Literal pieces with `%` between them, to be compared as bytes: the frequent case of `_bin` and `binary`.
    Pieces(Box<[Box<[u8]>]>),
    Tokens(Box<[Token]>),
    /// Tokens that are printable ASCII and `%` only, where ASCII texts compare as bytes but for the case of letters:
    /// the pieces in upper case, for such texts.
    Folded(Box<[Box<[u8]>]>, Box<[Token]>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    /// Bytes of one character; the ASCII letter it folds to, if all that equals it in ASCII is its other case.
    Char(Box<[u8]>, Option<u8>),
    One,
    Any,
}

impl LikePattern {
    /// Compiles `pattern`; `escape` `None` means that nothing escapes.
    pub fn new(pattern: &[u8], escape: Option<char>, collation: CollationId) -> LikePattern {
        let info = collation.get();
        let folds = match info.algorithm {
            _ if info.charset.is_wide() => false,
            Algorithm::General | Algorithm::General500 | Algorithm::Ascii | Algorithm::Uca(Uca::V900, 1 | 2) => true,
            Algorithm::Table(_) | Algorithm::Multi(_) | Algorithm::Coded(..) => table_folds_ascii(collation),
            _ => false,
        };
        let mut tokens: Vec<Token> = Vec::new();
        let mut rest = pattern;
        while let Some((c, n)) = info.charset.decode(rest) {
            let (mut bytes, mut wildcard) = (&rest[..n], None);
            rest = &rest[n..];
            if Some(c) == escape && !rest.is_empty() {
                let n = info.charset.char_len(rest);
                bytes = &rest[..n];
                rest = &rest[n..];
            } else if c == '%' {
                wildcard = Some(Token::Any);
            } else if c == '_' {
                wildcard = Some(Token::One);
            }
            let token = wildcard.unwrap_or_else(|| {
                // Control characters may weigh nothing and equal each other.
                let fold = bytes.first().filter(|b| folds && (0x20..0x7F).contains(*b)).map(u8::to_ascii_uppercase);
                Token::Char(bytes.into(), fold)
            });
            if token != Token::Any || tokens.last() != Some(&Token::Any) {
                tokens.push(token);
            }
        }
        let bytes_of = |t: &Token| if let Token::Char(b, _) = t { Some(b.clone()) } else { None };
        let mut stem: Vec<_> = tokens.iter().map_while(bytes_of).collect();
        // A letter of two characters sorts elsewhere than its first, which LIKE compares alone.
        if let Algorithm::Uca(Uca::V400For(language), _) = info.algorithm {
            let char_of = |bytes: &[u8]| info.charset.decode(bytes).map(|(c, _)| c);
            let ends = stem.len() == tokens.len();
            let pair = (0..stem.len()).find(|i| {
                let next = stem.get(i + 1).and_then(|c| char_of(c));
                char_of(&stem[*i]).is_some_and(|c| (next.is_some() || !ends) && language.may_be_pair(c, next))
            });
            stem.truncate(pair.unwrap_or(stem.len()));
        }
        if let Algorithm::Uca(Uca::V900For(language), _) = info.algorithm {
            let begins = |c: &[u8]| info.charset.decode(c).is_some_and(|(c, _)| language.may_begin(c));
            stem.truncate(stem.iter().position(|c| begins(c)).unwrap_or(stem.len()));
        }
        let prefix: Vec<u8> = stem.into_iter().flat_map(Vec::from).collect();
        let literal = tokens.iter().all(|t| matches!(t, Token::Char(..)));
        let shape = if info.is_bytes() && !info.charset.is_multi() && !tokens.contains(&Token::One) {
            let pieces = tokens.split(|t| *t == Token::Any);
            Shape::Pieces(pieces.map(|p| p.iter().filter_map(bytes_of).flat_map(Vec::from).collect()).collect())
        } else if tokens.iter().all(|t| matches!(t, Token::Any | Token::Char(_, Some(_)))) {
            let pieces = tokens.split(|t| *t == Token::Any);
            let upper = |t: &Token| if let Token::Char(_, fold) = t { *fold } else { None };
            let pieces = pieces.map(|p| p.iter().filter_map(upper).collect()).collect();
            Shape::Folded(pieces, tokens.into())
        } else {
            Shape::Tokens(tokens.into())
        };
        LikePattern { collation, shape, prefix: prefix.into(), literal }
    }

    /// Literal text in front of the first wildcard, for range access.
    pub fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    /// Has the pattern no wildcard at all?
    pub fn is_literal(&self) -> bool {
        self.literal
    }

    pub fn matches(&self, text: &[u8]) -> bool {
        match &self.shape {
            Shape::Pieces(pieces) => match_pieces(pieces, text),
            Shape::Folded(pieces, _) if text.is_ascii() => match_folded(pieces, text),
            Shape::Tokens(tokens) | Shape::Folded(_, tokens) => self.match_tokens(tokens, text, || false) == Some(true),
        }
    }

    /// As [`LikePattern::matches`], for what may take long: `None` when `stopped` says so meanwhile.
    pub fn matches_unless(&self, text: &[u8], stopped: impl Fn() -> bool) -> Option<bool> {
        match &self.shape {
            Shape::Folded(_, tokens) | Shape::Tokens(tokens) if text.len().saturating_mul(tokens.len()) > MUCH => {
                self.match_tokens(tokens, text, stopped)
            }
            _ => Some(self.matches(text)),
        }
    }

    /// At most text times pattern steps, without recursion: on a mismatch only the last `%` is retried.
    /// `None`: stopped.
    fn match_tokens(&self, tokens: &[Token], text: &[u8], stopped: impl Fn() -> bool) -> Option<bool> {
        // A character that weighs nothing is not a space.
        let collation = &Collation { pad: Pad::NoPad, ..*self.collation.get() };
        let charset = collation.charset;
        // Beyond the basic plane UCA 4.0.0 has no weights: LIKE takes such characters for themselves, `=` takes them
        // for one.
        // Characters of as many strokes are not alike to LIKE.
        let counted = matches!(collation.algorithm, Algorithm::Coded(..));
        let basic = matches!(collation.algorithm, Algorithm::Uca(Uca::V400 | Uca::V400For(_), _));
        let ascii = |first: u8| first < 0x80 && !charset.is_wide();
        let (mut at, mut token) = (0, 0);
        let mut retry: Option<(usize, usize)> = None;
        let mut steps = 0u32;
        loop {
            steps = steps.wrapping_add(1);
            if steps.is_multiple_of(STEPS) && stopped() {
                return None;
            }
            match tokens.get(token) {
                Some(Token::Any) => {
                    token += 1;
                    if token == tokens.len() {
                        return Some(true);
                    }
                    retry = Some((token, at));
                    continue;
                }
                Some(want) if at < text.len() => {
                    let first = text[at];
                    let n = if ascii(first) { 1 } else { charset.char_len(&text[at..]) };
                    let same = match want {
                        Token::Char(_, Some(fold)) if (0x20..0x7F).contains(&first) => {
                            first.to_ascii_uppercase() == *fold
                        }
                        Token::Char(c, _) if **c == text[at..at + n] => true,
                        Token::Char(..) if counted && n > 1 => false,
                        Token::Char(c, _) if basic && (n == 4 || c.len() == 4) => false,
                        Token::Char(c, _) if let Algorithm::Whole(whole) = collation.algorithm => {
                            whole.alike(&text[at..at + n], c)
                        }
                        Token::Char(c, _) => collation.compare(&text[at..at + n], c).is_eq(),
                        _ => true,
                    };
                    if same {
                        at += n;
                        token += 1;
                        continue;
                    }
                }
                None if at == text.len() => return Some(true),
                _ => {}
            }
            let Some((t, from)) = retry.filter(|(_, from)| *from < text.len()) else { return Some(false) };
            let next = from + if ascii(text[from]) { 1 } else { charset.char_len(&text[from..]) };
            retry = Some((t, next));
            token = t;
            at = next;
        }
    }
}

/// Bytes of a text times parts of a pattern that are compared at once.
const MUCH: usize = 1 << 24;
/// Pieces of so many bytes are sought without preparing for it.
const SHORT: usize = 64;
/// Steps between two looks whether that is to be stopped.
const STEPS: u32 = 1 << 16;

/// First piece in front, last at the end, the others one after the other in between.
fn match_pieces(pieces: &[Box<[u8]>], text: &[u8]) -> bool {
    let (first, rest) = match pieces {
        [] => return text.is_empty(),
        [only] => return **only == *text,
        [first, rest @ ..] => (first, rest),
    };
    let (Some(mut text), Some((last, middle))) = (text.strip_prefix(&**first), rest.split_last()) else { return false };
    for piece in middle {
        let Some(i) = find(text, piece) else { return false };
        text = &text[i + piece.len()..];
    }
    text.ends_with(last)
}

fn find(text: &[u8], piece: &[u8]) -> Option<usize> {
    if piece.len() > SHORT {
        // Whatever the texts are, in time that their lengths bound.
        return memchr::memmem::find(text, piece);
    }
    let (first, rest) = piece.split_first()?;
    let last_start = text.len().checked_sub(piece.len())?;
    let mut at = 0;
    while at <= last_start {
        at += memchr::memchr(*first, &text[at..=last_start])?;
        if text[at + 1..].starts_with(rest) {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// As [`match_pieces`], for pieces in upper case and any case of the text's letters.
fn match_folded(pieces: &[Box<[u8]>], text: &[u8]) -> bool {
    let (first, rest) = match pieces {
        [] => return text.is_empty(),
        [only] => return only.eq_ignore_ascii_case(text),
        [first, rest @ ..] => (first, rest),
    };
    let Some((last, middle)) = rest.split_last() else { return false };
    if text.len() < first.len() || !text[..first.len()].eq_ignore_ascii_case(first) {
        return false;
    }
    let mut text = &text[first.len()..];
    for piece in middle {
        let Some(i) = find_folded(text, piece) else { return false };
        text = &text[i + piece.len()..];
    }
    text.len() >= last.len() && text[text.len() - last.len()..].eq_ignore_ascii_case(last)
}

fn find_folded(text: &[u8], piece: &[u8]) -> Option<usize> {
    let (first, rest) = piece.split_first()?;
    let last_start = text.len().checked_sub(piece.len())?;
    let lower = first.to_ascii_lowercase();
    let mut at = 0;
    while at <= last_start {
        at += memchr::memchr2(*first, lower, &text[at..=last_start])?;
        if text[at + 1..][..rest.len()].eq_ignore_ascii_case(rest) {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// [`folds_ascii`] of a collation with a table of weights, computed once for all of them.
fn table_folds_ascii(collation: CollationId) -> bool {
    static ALL: OnceLock<Box<[bool]>> = OnceLock::new();
    let of = |id: u16| match CollationId(id).get().algorithm {
        Algorithm::Table(weights) | Algorithm::Multi(weights) | Algorithm::Coded(_, weights) => folds_ascii(weights),
        _ => false,
    };
    let all = ALL.get_or_init(|| (0..=LAST_TABLE).map(of).collect());
    all.get(usize::from(collation.0)).copied().unwrap_or(false)
}

/// Numbers of collations with one weight a byte are below this one.
const LAST_TABLE: u16 = 255;

/// Among ASCII characters just the two cases of a letter weigh the same; none that is printable weighs as a control
/// character does.
fn folds_ascii(weights: &[u8; 256]) -> bool {
    (0x20..0x7Fu8).all(|a| {
        (0..0x80u8).all(|b| (weights[usize::from(a)] == weights[usize::from(b)]) == a.eq_ignore_ascii_case(&b))
    })
}

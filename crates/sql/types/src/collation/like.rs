//! LIKE: `%` any run, `_` one character, an escape character; characters compare one by one by the collation.

use super::CollationId;

/// A compiled pattern.
#[derive(Clone, Debug)]
pub struct LikePattern {
    collation: CollationId,
    tokens: Box<[Token]>,
    /// The literal bytes before the first wildcard.
    prefix: Box<[u8]>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    /// Bytes of one character.
    Char(Box<[u8]>),
    One,
    Any,
}

impl LikePattern {
    /// Compiles `pattern`; `escape` `None` means that nothing escapes.
    pub fn new(pattern: &[u8], escape: Option<char>, collation: CollationId) -> LikePattern {
        let charset = collation.charset();
        let mut tokens: Vec<Token> = Vec::new();
        let mut rest = pattern;
        while let Some((c, n)) = charset.decode(rest) {
            let (mut bytes, mut token) = (&rest[..n], None);
            rest = &rest[n..];
            if Some(c) == escape && !rest.is_empty() {
                let n = charset.char_len(rest);
                bytes = &rest[..n];
                rest = &rest[n..];
            } else if c == '%' {
                token = Some(Token::Any);
            } else if c == '_' {
                token = Some(Token::One);
            }
            let token = token.unwrap_or_else(|| Token::Char(bytes.into()));
            if token != Token::Any || tokens.last() != Some(&Token::Any) {
                tokens.push(token);
            }
        }
        let literal = tokens.iter().map_while(|t| if let Token::Char(b) = t { Some(b) } else { None });
        let prefix: Vec<u8> = literal.flat_map(|b| b.iter().copied()).collect();
        LikePattern { collation, tokens: tokens.into(), prefix: prefix.into() }
    }

    /// Literal text in front of the first wildcard, for range access.
    pub fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    /// Has the pattern no wildcard at all?
    pub fn is_literal(&self) -> bool {
        self.tokens.iter().all(|t| matches!(t, Token::Char(_)))
    }

    /// Linear in text times pattern, without recursion: on a mismatch only the last `%` is retried.
    pub fn matches(&self, text: &[u8]) -> bool {
        let collation = self.collation.get();
        let charset = collation.charset;
        let bytes = collation.is_bytes();
        let (mut at, mut token) = (0, 0);
        let mut retry: Option<(usize, usize)> = None;
        loop {
            match self.tokens.get(token) {
                Some(Token::Any) => {
                    token += 1;
                    if token == self.tokens.len() {
                        return true;
                    }
                    retry = Some((token, at));
                    continue;
                }
                Some(want) if at < text.len() => {
                    let n = charset.char_len(&text[at..]);
                    let have = &text[at..at + n];
                    let same = match want {
                        Token::Char(c) => **c == *have || (!bytes && collation.compare(have, c).is_eq()),
                        _ => true,
                    };
                    if same {
                        at += n;
                        token += 1;
                        continue;
                    }
                }
                None if at == text.len() => return true,
                _ => {}
            }
            let Some((t, from)) = retry else { return false };
            if from >= text.len() {
                return false;
            }
            let next = from + charset.char_len(&text[from..]);
            retry = Some((t, next));
            token = t;
            at = next;
        }
    }
}

//! The list of an ENUM or SET.

use crate::charset::Charset;
use crate::collation::CollationId;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::OnceLock;

/// Lists up to this length are searched from their front.
const SHORT: usize = 8;

/// Names in UTF-8, whatever the character set of the column is, and the column's collation.
#[derive(Debug)]
pub struct Members {
    pub names: Box<[Box<str>]>,
    pub collation: CollationId,
    /// Characters of the longest name.
    pub longest: u32,
    /// Positions by sort keys, made when a text is first looked for in a long list.
    by_key: OnceLock<HashMap<Box<[u8]>, u32>>,
}

impl Members {
    pub fn new(names: Box<[Box<str>]>, collation: CollationId) -> Members {
        let longest = names.iter().map(|n| n.chars().count() as u32).max().unwrap_or(0);
        Members { names, collation, longest, by_key: OnceLock::new() }
    }

    /// One-based position of the first member that equals `text`, which is in the collation's character set.
    pub fn find(&self, text: &[u8]) -> Option<usize> {
        if self.names.len() <= SHORT {
            return self
                .names
                .iter()
                .position(|n| self.collation.get().equal(&self.own(n.as_bytes()), text))
                .map(|i| i + 1);
        }
        let by_key = self.by_key.get_or_init(|| {
            let mut by_key = HashMap::with_capacity(self.names.len());
            for (position, name) in (1..).zip(&self.names) {
                by_key.entry(self.key(&self.own(name.as_bytes()))).or_insert(position);
            }
            by_key
        });
        by_key.get(&*self.key(text)).map(|p| *p as usize)
    }

    /// As [`find`](Self::find), of text in UTF-8.
    pub fn find_utf8(&self, text: &[u8]) -> Option<usize> {
        self.find(&self.own(text))
    }

    /// UTF-8 in the collation's character set.
    fn own<'n>(&self, text: &'n [u8]) -> Cow<'n, [u8]> {
        Charset::Utf8mb4.convert(text, self.collation.charset()).bytes
    }

    fn key(&self, text: &[u8]) -> Box<[u8]> {
        let mut key = Vec::new();
        self.collation.sort_key(text, &mut key);
        key.into()
    }
}

impl PartialEq for Members {
    fn eq(&self, other: &Members) -> bool {
        (&self.names, self.collation) == (&other.names, other.collation)
    }
}

impl Eq for Members {}

impl std::hash::Hash for Members {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.names.hash(state);
        self.collation.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Collation;

    #[test]
    fn long_and_short_lists_find_the_same() {
        for collation in
            ["utf8mb4_0900_ai_ci", "utf8mb4_bin", "latin1_german1_ci", "ucs2_general_ci", "utf8mb4_unicode_ci"]
        {
            let collation = Collation::by_name(collation).unwrap();
            let own = |n: &str| Charset::Utf8mb4.convert(n.as_bytes(), collation.charset).bytes.into_owned();
            let names = ["a", "é", "ß", "", "x y", "Ä", "10", "ss"];
            let short = Members::new(names.map(Box::from).into(), collation.id);
            let more = names.iter().map(|n| Box::from(*n)).chain((0..3000).map(|i| format!("member {i}").into()));
            let long = Members::new(more.collect(), collation.id);
            for text in ["a", "A", "e", "É", "SS", "ß", " ", "x y ", "ä", "member", "10", "nothing"] {
                assert_eq!(short.find(&own(text)), long.find(&own(text)), "{} {text}", collation.name);
            }
            assert_eq!(long.find(&own("member 2999")), Some(3008));
            assert_eq!((short.longest, long.longest), (3, 11));
        }
    }
}

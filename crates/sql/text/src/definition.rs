//! How an index takes texts apart. All of it is decided when the index is made and never changes: else a row that is
//! deleted would be looked for under other words than those it was entered with.
//!
//! ```text
//! version     u8: 2, or 1 of an index whose rows never wait
//! collation   u16
//! tokens      u8: 0 words, 1 ngrams; then u8 minimum and u8 maximum length, or u8 size, in characters
//! stopwords   u8: 0 the default list, 1 none, 2 a list: varint number, each prefixed by its length; in UTF-8
//! ```

use gannet_base::{DecodeError, Reader, Writer};
use gannet_types::CollationId;

/// The words that InnoDB leaves out unless told otherwise (`INNODB_FT_DEFAULT_STOPWORD`, which has `the` twice).
pub const DEFAULT_STOPWORDS: [&str; 36] = [
    "a", "about", "an", "are", "as", "at", "be", "by", "com", "de", "en", "for", "from", "how", "i", "in", "is", "it",
    "la", "of", "on", "or", "that", "the", "this", "to", "was", "what", "when", "where", "who", "will", "with", "und",
    "the", "www",
];

const VERSION: u8 = 2;
/// Without [`Definition::waits`].
const OLDER: u8 = 1;

/// Bytes of a stopword, at most.
const MAX_WORD: usize = 1 << 16;

/// Words of a list of stopwords, at most.
const MAX_STOPWORDS: u64 = 1 << 20;

/// How an index takes texts apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Of the first column, and with it of all: words are equal by it.
    pub collation: CollationId,
    /// What is indexed.
    pub tokens: Tokens,
    /// What is not.
    pub stopwords: Stopwords,
    /// The words of a new row wait together until they go to their places.
    pub waits: bool,
}

/// What a text is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tokens {
    /// Words of `min` to `max` characters.
    Words {
        /// `innodb_ft_min_token_size`
        min: u8,
        /// `innodb_ft_max_token_size`
        max: u8,
    },
    /// WITH PARSER ngram: each run of so many characters without a blank.
    Ngrams {
        /// `ngram_token_size`
        size: u8,
    },
}

/// Words that are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopwords {
    /// [`DEFAULT_STOPWORDS`].
    Default,
    /// None: `innodb_ft_enable_stopword` was off.
    None,
    /// Those of a table, as they were then.
    Own(Box<[Box<str>]>),
}

impl Definition {
    /// Words of 3 to 84 characters but for the default stopwords.
    pub fn new(collation: CollationId) -> Definition {
        Definition { collation, tokens: Tokens::Words { min: 3, max: 84 }, stopwords: Stopwords::Default, waits: true }
    }

    /// Appends its stored form.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut w = Writer::new(out);
        w.u8(if self.waits { VERSION } else { OLDER }).u16(self.collation.0);
        match self.tokens {
            Tokens::Words { min, max } => w.u8(0).u8(min).u8(max),
            Tokens::Ngrams { size } => w.u8(1).u8(size),
        };
        match &self.stopwords {
            Stopwords::Default => {
                w.u8(0);
            }
            Stopwords::None => {
                w.u8(1);
            }
            Stopwords::Own(words) => {
                w.u8(2).varint(words.len() as u64);
                for word in words {
                    w.prefixed(word.as_bytes());
                }
            }
        }
    }

    /// Reads the stored form.
    pub fn decode(bytes: &[u8]) -> Result<Definition, DecodeError> {
        let mut r = Reader::new(bytes);
        let waits = match r.u8()? {
            VERSION => true,
            OLDER => false,
            _ => return Err(r.invalid("version of a full-text index")),
        };
        let collation = CollationId(r.u16()?);
        if gannet_types::Collation::by_id(collation.0).is_none() {
            return Err(r.invalid("collation of a full-text index"));
        }
        let tokens = match r.u8()? {
            0 => Tokens::Words { min: r.u8()?, max: r.u8()? },
            1 => Tokens::Ngrams { size: r.u8()?.max(1) },
            _ => return Err(r.invalid("tokens of a full-text index")),
        };
        let stopwords = match r.u8()? {
            0 => Stopwords::Default,
            1 => Stopwords::None,
            2 => {
                let n = r.varint()?;
                if n > MAX_STOPWORDS {
                    return Err(r.invalid("number of stopwords"));
                }
                let mut words: Vec<Box<str>> = Vec::new();
                for _ in 0..n {
                    let word = r.prefixed_str(MAX_WORD)?;
                    words.push(word.into());
                }
                Stopwords::Own(words.into())
            }
            _ => return Err(r.invalid("stopwords of a full-text index")),
        };
        r.finish()?;
        Ok(Definition { collation, tokens, stopwords, waits })
    }

    /// The words that are left out, in UTF-8.
    pub fn stopwords(&self) -> Vec<&str> {
        match &self.stopwords {
            Stopwords::Default => DEFAULT_STOPWORDS.to_vec(),
            Stopwords::None => Vec::new(),
            Stopwords::Own(words) => words.iter().map(|w| &**w).collect(),
        }
    }
}

//! What rows have of a query's terms, found in their texts.
//!
//! Most words of a row are none of the query's, and mostly their first two characters say so: what these weigh is what
//! the word's key begins with. Only words that they do not exclude are taken for words at all.

use crate::query::Term;
use crate::split::{Found, Splitter};
use crate::words::{Analyzer, Token};

/// Bytes of words that are remembered from row to row.
const MOST_BYTES: usize = 1 << 20;

/// Finds the words of terms in rows.
#[derive(Debug)]
pub struct Finder<'q> {
    analyzer: &'q Analyzer,
    terms: &'q [Term],
    /// Terms that are words, by their keys.
    words: Vec<usize>,
    /// Terms that are beginnings of words.
    starts: Vec<usize>,
    heads: Heads,
    splitter: Splitter,
}

impl<'q> Finder<'q> {
    /// Looks for these terms in texts of the analyzer's index.
    pub fn new(analyzer: &'q Analyzer, terms: &'q [Term]) -> Finder<'q> {
        Finder::with(analyzer, terms, Heads::new(analyzer))
    }

    /// The same for one row: what is asked of beginnings of words is not worth keeping.
    pub fn of_one_row(analyzer: &'q Analyzer, terms: &'q [Term]) -> Finder<'q> {
        Finder::with(analyzer, terms, Heads::default())
    }

    fn with(analyzer: &'q Analyzer, terms: &'q [Term], heads: Heads) -> Finder<'q> {
        let (starts, mut words): (Vec<usize>, Vec<usize>) = (0..terms.len()).partition(|n| terms[*n].start.is_some());
        words.sort_by(|a, b| terms[*a].key.cmp(&terms[*b].key));
        Finder { analyzer, terms, words, starts, heads, splitter: Splitter::default() }
    }

    /// Calls `each` with what a row has of the terms: the number of the term, and the word.
    pub fn row<'t>(
        &mut self,
        columns: impl Iterator<Item = Option<&'t [u8]>>,
        each: &mut dyn FnMut(usize, &Found<'_>),
    ) {
        let Finder { analyzer, terms, words, starts, heads, splitter } = self;
        if splitter.size() > MOST_BYTES {
            splitter.clear();
        }
        // Some term's key may begin with what these characters weigh.
        let may_be = |stem: &[u8]| {
            let at = words.partition_point(|n| terms[*n].key[..] < *stem);
            words.get(at).is_some_and(|n| terms[*n].key.starts_with(stem))
                || starts.iter().any(|n| terms[*n].key.starts_with(stem) || stem.starts_with(&terms[*n].key))
        };
        splitter.split_those(analyzer, columns, |token| heads.may_be(analyzer, token, may_be));
        for word in splitter.found() {
            let at = words.partition_point(|n| terms[*n].key[..] < *word.key);
            let equal = words[at..].iter().take_while(|n| terms[**n].key == word.key);
            for n in equal.chain(&*starts).copied().filter(|n| terms[*n].is_at(word.key)) {
                if terms[n].takes(analyzer, word.text) {
                    each(n, &word);
                }
            }
        }
    }
}

/// Whether words that begin with these two characters may be wanted: what has been asked of each pair.
#[derive(Debug, Default)]
struct Heads {
    /// Each character weighs what it weighs alone. If not, nothing is excluded.
    useful: bool,
    /// Of two bytes of seven bits, of which the second may not be there.
    plain: Vec<u8>,
    /// Of other characters, by their hash the last asked: their bytes, at most seven, and what is said of them.
    others: Vec<u64>,
}

const UNKNOWN: u8 = 0;
const NO: u8 = 1;
const MAYBE: u8 = 2;

/// Bits of a hash of other characters.
const HASH_BITS: u32 = 10;

impl Heads {
    fn new(analyzer: &Analyzer) -> Heads {
        let useful = analyzer.collation.weighs_alone();
        let sizes = if useful { [1 << 14, 1 << HASH_BITS] } else { [0, 0] };
        Heads { useful, plain: vec![UNKNOWN; sizes[0]], others: vec![0; sizes[1]] }
    }

    /// `may_be` says it of what the characters weigh.
    #[inline]
    fn may_be(&mut self, analyzer: &Analyzer, token: &Token<'_>, may_be: impl Fn(&[u8]) -> bool) -> bool {
        if !self.useful {
            return true;
        }
        let found = |head: &[u8]| if may_be(&analyzer.stem(head)) { MAYBE } else { NO };
        let (a, b) = (token.text[0], token.text.get(1).copied().unwrap_or(0));
        if (a | b) < 0x80 && !analyzer.charset().is_wide() {
            let known = &mut self.plain[usize::from(a) << 7 | usize::from(b)];
            if *known == UNKNOWN {
                *known = found(&token.text[..token.text.len().min(2)]);
            }
            return *known == MAYBE;
        }
        let head = &token.text[..analyzer.charset().prefix_len(token.text, 2)];
        if head.len() >= size_of::<u64>() {
            return true;
        }
        let bytes = head.iter().fold(0, |all, byte| all << 8 | u64::from(*byte)) << 8;
        let known = &mut self.others[(bytes.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - HASH_BITS)) as usize];
        if *known == 0 || *known & !0xFF != bytes {
            *known = bytes | u64::from(found(head));
        }
        *known as u8 == MAYBE
    }
}

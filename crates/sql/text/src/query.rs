//! What AGAINST asks for.

use crate::parse;
use crate::words::{Analyzer, Token};
use gannet_types::Result;
use std::collections::HashMap;

/// How AGAINST is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Mode {
    /// IN NATURAL LANGUAGE MODE
    Natural,
    /// IN BOOLEAN MODE
    Boolean,
    /// WITH QUERY EXPANSION
    Expansion,
}

/// A query: a tree over terms.
#[derive(Clone, Debug)]
pub struct Query {
    pub(crate) root: Vec<Item>,
    pub(crate) terms: Vec<Term>,
    /// Words that are counted.
    pub(crate) words: usize,
}

/// A word that is looked for, or the beginning of words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// The key of the word, or what the keys of all words with this beginning begin with.
    pub key: Vec<u8>,
    /// The beginning, as text. Words under the key are compared with it again.
    pub start: Option<Vec<u8>>,
    /// The number of the word among the words that are counted. A word and the same word with a star are one: InnoDB
    /// adds up the rows of both, and a row has it once.
    pub word: usize,
    /// Where it is in a row matters.
    pub placed: bool,
}

/// Words in their order, or near each other.
#[derive(Clone, Debug)]
pub struct Phrase {
    /// Term, and place in the phrase.
    pub(crate) words: Vec<(usize, u64)>,
    /// All tokens by their keys, those that are not indexed too.
    pub(crate) tokens: Vec<Vec<u8>>,
    /// `@n`: within so many words, in any order.
    pub(crate) within: Option<u64>,
}

/// An operator before a part of a query.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operator {
    None,
    Require,
    Exclude,
    Raise,
    Lower,
    Negate,
}

/// A part of a query with its operator.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) operator: Operator,
    pub(crate) node: Node,
}

#[derive(Clone, Debug)]
pub(crate) enum Node {
    /// A word that no row has: a stopword, or one too short.
    Dead,
    Word(usize),
    /// A word in quotes: it is looked for, and counted, also where nothing can come of it.
    Quoted(usize),
    Phrase(Box<Phrase>),
    /// Words that punctuation joins, two or more, or nothing: of a term without a word, and of empty parentheses.
    Words(Vec<Node>),
    /// What stands in parentheses.
    List(Vec<Item>),
    /// Stands before parentheses: what the list has before it is read to its end first.
    Step,
}

impl Query {
    /// Reads what AGAINST was given, in UTF-8. Error 1064 for what the grammar does not allow.
    pub fn new(analyzer: &Analyzer, text: &str, mode: Mode) -> Result<Query> {
        let natural = mode != Mode::Boolean;
        let (by_key, words) = (HashMap::new(), HashMap::new());
        let mut maker = Maker { analyzer, terms: Vec::new(), by_key, words, natural, too_long: false };
        let root = parse::parse(text, &mut maker)?;
        Ok(Query { root, terms: maker.terms, words: maker.words.len() })
    }

    /// The query with more words, given by their keys: those of the rows that it has found.
    pub fn expanded(mut self, keys: impl Iterator<Item = Vec<u8>>) -> Query {
        let known: std::collections::HashSet<Vec<u8>> =
            self.terms.iter().filter(|t| t.start.is_none()).map(|t| t.key.clone()).collect();
        for key in keys.filter(|key| !known.contains(key)) {
            self.root.push(Item { operator: Operator::None, node: Node::Word(self.terms.len()) });
            self.terms.push(Term { key, start: None, word: self.words, placed: false });
            self.words += 1;
        }
        self
    }

    /// The terms whose rows are needed.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }
}

impl Term {
    /// The key is the term's, or of a word with its beginning.
    pub fn is_at(&self, key: &[u8]) -> bool {
        if self.start.is_some() { key.starts_with(&self.key) } else { key == self.key }
    }

    /// A word found under the key is meant.
    pub fn takes(&self, analyzer: &Analyzer, word: &[u8]) -> bool {
        self.start.as_ref().is_none_or(|start| analyzer.begins_with(word, start))
    }
}

impl Phrase {
    /// The text of a row has it: for words that are not indexed, or too frequent to keep all their places.
    pub fn is_in<'t>(&self, analyzer: &Analyzer, columns: impl Iterator<Item = Option<&'t [u8]>>) -> bool {
        let (mut found, mut keys): (bool, Vec<Vec<u8>>) = (false, Vec::new());
        for text in columns {
            if self.within.is_none() {
                keys.clear();
            }
            analyzer.tokens(text.unwrap_or_default(), &mut |token| keys.push(analyzer.key(token.text)));
            found |= self.within.is_none() && keys.windows(self.tokens.len()).any(|w| w == self.tokens);
        }
        let Some(within) = self.within else { return found };
        let places =
            |key: &Vec<u8>| (0..).zip(&keys).filter(|(_, k)| *k == key).map(|(at, _)| at).collect::<Vec<u64>>();
        near(&self.tokens.iter().map(places).collect::<Vec<_>>(), within)
    }
}

/// What is left of an ordinal when columns are as one text.
const COUNTED: u64 = crate::posting::GAP - 1;

/// One of each list lies within `within` words.
pub(crate) fn near(lists: &[Vec<u64>], within: u64) -> bool {
    let mut at = vec![0; lists.len()];
    loop {
        let (mut least, mut most) = ((u64::MAX, 0), 0);
        for (i, list) in lists.iter().enumerate() {
            let Some(place) = list.get(at[i]).map(|place| place & COUNTED) else { return false };
            if place < least.0 {
                least = (place, i);
            }
            most = most.max(place);
        }
        if most.saturating_sub(least.0) < within.max(1) {
            return true;
        }
        at[least.1] += 1;
    }
}

/// Makes terms of what the parser reads.
pub(crate) struct Maker<'a> {
    analyzer: &'a Analyzer,
    terms: Vec<Term>,
    by_key: HashMap<(Vec<u8>, bool), usize>,
    /// By their keys, without a star.
    words: HashMap<Vec<u8>, usize>,
    pub(crate) natural: bool,
    /// A phrase has more words than may be.
    pub(crate) too_long: bool,
}

/// Words of a phrase; more are error 191.
const MAX_PHRASE: usize = 128;

impl Maker<'_> {
    /// The term of a word that has `key`.
    fn term(&mut self, key: Vec<u8>) -> usize {
        self.add(key.clone(), key, None)
    }

    /// The term of all words that begin with `start`.
    fn beginning(&mut self, start: &[u8]) -> usize {
        self.add(self.analyzer.stem(start), self.analyzer.key(start), Some(start.to_vec()))
    }

    fn add(&mut self, key: Vec<u8>, word: Vec<u8>, start: Option<Vec<u8>>) -> usize {
        let known = self.words.len();
        let word = *self.words.entry(word).or_insert(known);
        let place = *self.by_key.entry((key.clone(), start.is_some())).or_insert(self.terms.len());
        if place == self.terms.len() {
            self.terms.push(Term { key, start, word, placed: false });
        }
        place
    }

    /// Whether what stands before parentheses is read first: InnoDB's own parser says so, that of ngrams does not.
    pub(crate) fn is_stepwise(&self) -> bool {
        !matches!(self.analyzer.tokens, crate::Tokens::Ngrams { .. })
    }

    fn converted(&self, text: &str) -> Vec<u8> {
        use gannet_types::charset::Charset;
        Charset::Utf8mb4.convert(text.as_bytes(), self.analyzer.collation.charset).bytes.into_owned()
    }

    /// A term as it stands in the query, perhaps with a star behind it: its words, which punctuation joins.
    pub(crate) fn words(&mut self, text: &str, star: bool) -> Node {
        let (text, analyzer) = (self.converted(text), self.analyzer);
        let star = star && !self.natural;
        let mut tokens: Vec<Token<'_>> = Vec::new();
        if let crate::Tokens::Ngrams { size } = analyzer.tokens {
            if star && analyzer.collation.charset.char_count(&text) < size.into() {
                return Node::Word(self.beginning(&text));
            }
            analyzer.tokens(&text, &mut |token| tokens.push(token));
            if tokens.is_empty() || !self.natural {
                return self.phrase_of(&tokens, None).unwrap_or(Node::Dead);
            }
            return joined(tokens.iter().map(|t| self.word(t)).collect());
        }
        analyzer.words(&text, &mut |token| tokens.push(token));
        // Of words that punctuation joins those that are too short are left out, but for the first.
        let mut first = true;
        tokens.retain(|token| !analyzer.is_long(token) && (std::mem::take(&mut first) || !analyzer.is_short(token)));
        let last = tokens.len().saturating_sub(1);
        let node = |(i, token): (usize, &Token<'_>)| match star && i == last {
            true => Node::Word(self.beginning(token.text)),
            false => self.word(token),
        };
        joined(tokens.iter().enumerate().map(node).collect())
    }

    fn word(&mut self, token: &Token<'_>) -> Node {
        match self.analyzer.indexed(token) {
            Some(key) => Node::Word(self.term(key)),
            None => Node::Dead,
        }
    }

    /// A text in quotes. One without a word that is indexed is found nowhere, one without anything asks for nothing.
    pub(crate) fn phrase(&mut self, text: &str, within: Option<u64>) -> Node {
        if text.is_empty() {
            return Node::Words(Vec::new());
        }
        let (text, analyzer) = (self.converted(text), self.analyzer);
        let mut tokens: Vec<Token<'_>> = Vec::new();
        analyzer.tokens(&text, &mut |token| tokens.push(token));
        self.phrase_of(&tokens, within).unwrap_or(Node::Dead)
    }

    fn phrase_of(&mut self, tokens: &[Token<'_>], within: Option<u64>) -> Option<Node> {
        let keys: Vec<Option<Vec<u8>>> = tokens.iter().map(|t| self.analyzer.indexed(t)).collect();
        let first = keys.iter().position(Option::is_some)?;
        let mut phrase = Phrase { words: Vec::new(), tokens: Vec::new(), within };
        for (place, (token, key)) in (0..).zip(tokens.iter().zip(keys).skip(first)) {
            match key {
                Some(key) => {
                    phrase.tokens.push(key.clone());
                    phrase.words.push((self.term(key), place));
                }
                // Near each other are indexed words only.
                None if within.is_some() => {}
                None => phrase.tokens.push(self.analyzer.key(token.text)),
            }
        }
        self.too_long |= phrase.words.len() > MAX_PHRASE;
        match (&phrase.words[..], phrase.tokens.len()) {
            ([(term, _)], 1) => Some(Node::Quoted(*term)),
            _ => {
                phrase.words.iter().for_each(|(term, _)| self.terms[*term].placed = true);
                Some(Node::Phrase(Box::new(phrase)))
            }
        }
    }
}

fn joined(mut nodes: Vec<Node>) -> Node {
    match (nodes.len(), nodes.pop()) {
        (1, Some(only)) => only,
        (_, last) => Node::Words(nodes.into_iter().chain(last).collect()),
    }
}

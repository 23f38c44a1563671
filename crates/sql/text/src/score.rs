//! Which rows a query finds, and how they rank.
//!
//! The rank of a row is what `<`, `>` and `~` give it, at most 1 and at least -1, and for each word of the query that
//! it was found by the number of times it has the word, by the square of log10(rows / rows with the word). A word that
//! all rows have counts log10(1.0001); a word that was looked for twice counts its rows twice. Sums are rounded to 32
//! bits after each word.
//!
//! Each list of a query is read in three steps, as InnoDB reads it: rows of any part without `+` and `-` (`~` changes
//! only what is there by then); rows that have all parts with `+`; of these the rows that have nothing with `-`. What
//! stands before parentheses goes through all three before them, and words with `+` or `-` that punctuation joins
//! count at once.

use crate::posting::Posting;
use crate::query::{Item, Node, Operator, Phrase, Query, near};

/// The rows of a term, ascending.
#[derive(Debug, Default)]
pub struct List {
    /// Rows, by the numbers that the caller has given them.
    pub rows: Vec<u32>,
    /// Entries: more than rows, where the term is the beginning of several words. InnoDB counts them.
    pub entries: u64,
    /// How often each has the term.
    pub times: Vec<u32>,
    /// Where, encoded, if the term is placed: ends in `bytes`.
    pub ends: Vec<usize>,
    /// See `ends`.
    pub bytes: Vec<u8>,
}

impl List {
    /// Adds a row; rows come in order. One that is there already keeps the greater number of times: of words with a
    /// beginning InnoDB counts the one that it comes to first, which depends on what is in its cache.
    pub fn push(&mut self, row: u32, posting: &Posting<'_>, placed: bool) {
        self.entries += 1;
        if let (Some(last), Some(times)) = (self.rows.last(), self.times.last_mut())
            && *last == row
        {
            *times = posting.times.max(*times);
            return;
        }
        self.rows.push(row);
        self.times.push(posting.times);
        if placed {
            self.bytes.extend_from_slice(posting.at);
            self.ends.push(self.bytes.len());
        }
    }

    /// The ordinals of the term in the row at a position, and whether they are all.
    fn ordinals(&self, at: usize) -> (Vec<u64>, bool) {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        let bytes = &self.bytes[start..self.ends[at]];
        Posting { times: self.times[at], text: &[], at: bytes }.ordinals()
    }
}

/// The first place from `at` on that is not `less`: near, mostly. Those that are less come first.
#[inline]
pub fn advance<T>(list: &[T], at: usize, less: impl Fn(&T) -> bool) -> usize {
    let rest = &list[at..];
    let mut step = 1;
    while step <= rest.len() && less(&rest[step - 1]) {
        step *= 2;
    }
    let from = step / 2;
    at + from + rest[from..step.min(rest.len())].partition_point(less)
}

/// Rows in order with what operators have given them.
type Rows = Vec<(u32, f32)>;

/// Rows that a term counts for.
enum Counted {
    All,
    Of(Vec<u32>),
}

impl Counted {
    fn with(self, more: Counted) -> Counted {
        match (self, more) {
            (Counted::Of(a), Counted::Of(b)) => Counted::Of(merged(&a, &b)),
            _ => Counted::All,
        }
    }
}

/// Rows of a part of a query, and the terms that count for them.
#[derive(Default)]
struct Part {
    rows: Rows,
    counted: Vec<(usize, Counted)>,
}

/// What a query finds.
pub struct Ranked {
    /// Rows, ascending, with their ranks.
    pub rows: Vec<(u32, f32)>,
    /// How many rows each word was found in, as InnoDB counts.
    pub found: Vec<u64>,
}

/// The rows that a query finds among the `total` rows of a table. `lists` has the rows of each term. Where they are
/// those of one row only, which is judged by itself, `found` is what was counted of the table. `holds` says of a row
/// whether its text has a phrase, where places do not tell.
pub fn evaluate<E>(
    query: &Query,
    lists: &[List],
    found: Option<&[u64]>,
    total: u64,
    holds: &mut dyn FnMut(u32, &Phrase) -> Result<bool, E>,
) -> Result<Ranked, E> {
    let mut evaluation = Evaluation { lists, visits: vec![0; lists.len()], holds };
    let mut all = Part::default();
    evaluation.list(&query.root, &mut all, &mut false)?;
    let found = found.map_or_else(|| evaluation.found(query), <[u64]>::to_vec);
    let Part { mut rows, counted } = all;
    let mut of_word: Vec<Option<Word>> = (0..query.words).map(|_| None).collect();
    let mut order = Vec::new();
    for (term, more) in counted {
        let (word, starred) = (query.terms[term].word, query.terms[term].start.is_some());
        of_word[word] = Some(match of_word[word].take() {
            None => {
                order.push(word);
                Word { counted: more, lists: [Some(term), None] }
            }
            Some(Word { counted, lists: [first, second] }) => {
                // The list of all words with the beginning has all that the word's own has.
                let lists = match first {
                    Some(first) if first != term && starred => [Some(term), Some(first)],
                    Some(first) if first != term => [Some(first), Some(term)],
                    _ => [first, second],
                };
                Word { counted: counted.with(more), lists }
            }
        });
    }
    for word in order {
        let (Some(Word { counted, lists: of }), found) = (&of_word[word], found[word]) else { continue };
        if found == 0 {
            continue;
        }
        let idf = if found == total { 1.0001_f64.log10() } else { (total as f64 / found as f64).log10() };
        let mut cursors = of.map(|term| (term.map(|term| &lists[term]), 0));
        let mut at_counted = 0;
        for (row, rank) in &mut rows {
            let times = cursors.iter_mut().find_map(|(list, at)| {
                let list = list.as_ref()?;
                *at = advance(&list.rows, *at, |r| r < row);
                (list.rows.get(*at) == Some(row)).then(|| list.times[*at])
            });
            let Some(times) = times else { continue };
            if let Counted::Of(only) = counted {
                at_counted = advance(only, at_counted, |r| r < row);
                if only.get(at_counted) != Some(row) {
                    continue;
                }
            }
            *rank += (f64::from(times) * idf * idf) as f32;
        }
    }
    Ok(Ranked { rows, found })
}

/// A word that counts.
struct Word {
    counted: Counted,
    /// Terms whose lists tell how often a row has it, the first one first.
    lists: [Option<usize>; 2],
}

struct Evaluation<'a, E> {
    lists: &'a [List],
    /// How often each term was looked for.
    visits: Vec<u64>,
    holds: &'a mut dyn FnMut(u32, &Phrase) -> Result<bool, E>,
}

impl<E> Evaluation<'_, E> {
    fn found(&self, query: &Query) -> Vec<u64> {
        let mut found = vec![0_u64; query.words];
        for ((term, list), visits) in query.terms.iter().zip(self.lists).zip(&self.visits) {
            found[term.word] += list.entries * visits;
        }
        found
    }

    /// Reads a list into `all`. `restricted`: a part with `+` was there before.
    fn list(&mut self, items: &[Item], all: &mut Part, restricted: &mut bool) -> Result<(), E> {
        for items in items.split(|item| matches!(item.node, Node::Step)) {
            for item in items {
                match (&item.node, item.operator) {
                    (Node::Words(nodes), operator) => {
                        nodes.iter().try_for_each(|node| self.part(node, operator, all, restricted))?;
                    }
                    (_, Operator::Require | Operator::Exclude) => {}
                    (node, operator) => self.part(node, operator, all, restricted)?,
                }
            }
            for last in [Operator::Require, Operator::Exclude] {
                let waits = |item: &&Item| item.operator == last && !matches!(item.node, Node::Words(_));
                items.iter().filter(waits).try_for_each(|item| self.part(&item.node, last, all, restricted))?;
            }
        }
        Ok(())
    }

    fn part(&mut self, node: &Node, operator: Operator, all: &mut Part, restricted: &mut bool) -> Result<(), E> {
        let none = all.rows.is_empty();
        let part = match node {
            // Nothing can be left of no rows: the word is not looked for.
            Node::Word(_)
                if none && (operator == Operator::Exclude || operator == Operator::Require && *restricted) =>
            {
                Part::default()
            }
            Node::Word(term) | Node::Quoted(term) => {
                self.visits[*term] += 1;
                Part {
                    rows: self.lists[*term].rows.iter().map(|row| (*row, 0.0)).collect(),
                    counted: vec![(*term, Counted::All)],
                }
            }
            Node::Phrase(phrase) => {
                for (term, _) in &phrase.words {
                    self.visits[*term] += 1;
                    if self.lists[*term].rows.is_empty() {
                        break;
                    }
                }
                let rows = self.phrase(phrase)?;
                let counted = phrase.words.iter().map(|(term, _)| (*term, Counted::Of(rows.clone()))).collect();
                Part { rows: rows.into_iter().map(|row| (row, 0.0)).collect(), counted }
            }
            // Parentheses may be 32 deep.
            Node::List(items) => {
                let mut part = Part::default();
                self.list(items, &mut part, &mut false)?;
                part
            }
            Node::Dead | Node::Words(_) | Node::Step => Part::default(),
        };
        match operator {
            Operator::Require => all.require(part, std::mem::replace(restricted, true)),
            Operator::Exclude => all.exclude(&part),
            operator => all.add(part, operator),
        }
        Ok(())
    }

    /// Rows with a phrase: those that have all its words, if they are in their places.
    fn phrase(&mut self, phrase: &Phrase) -> Result<Vec<u32>, E> {
        let mut lists: Vec<&List> = phrase.words.iter().map(|(term, _)| &self.lists[*term]).collect();
        let placed: Vec<&List> = lists.clone();
        lists.sort_by_key(|list| list.rows.len());
        let mut found = Vec::new();
        let Some((rarest, others)) = lists.split_first() else { return Ok(found) };
        let mut at = vec![0; others.len()];
        for row in &rarest.rows {
            let everywhere = others.iter().zip(&mut at).all(|(list, at)| {
                *at = advance(&list.rows, *at, |r| r < row);
                list.rows.get(*at) == Some(row)
            });
            if !everywhere {
                continue;
            }
            let holds = match by_places(phrase, &placed, *row) {
                Some(holds) => holds,
                None => (self.holds)(*row, phrase)?,
            };
            if holds {
                found.push(*row);
            }
        }
        Ok(found)
    }
}

/// Whether the words of a phrase are in their places in a row; `None`: the text has to tell.
fn by_places(phrase: &Phrase, lists: &[&List], row: u32) -> Option<bool> {
    let mut whole = true;
    let mut places = Vec::with_capacity(lists.len());
    for list in lists {
        let at = list.rows.partition_point(|r| *r < row);
        let (ordinals, all) = list.ordinals(at);
        whole &= all;
        places.push(ordinals);
    }
    if let Some(within) = phrase.within {
        return (near(&places, within) || whole).then(|| near(&places, within));
    }
    let first = phrase.words[0].1;
    let begins = |start: &u64| {
        places.iter().zip(&phrase.words).all(|(list, (_, place))| list.binary_search(&(start + place - first)).is_ok())
    };
    match (places[0].iter().any(begins), whole, phrase.tokens.len() == phrase.words.len()) {
        (true, _, true) => Some(true),
        (false, true, _) => Some(false),
        _ => None,
    }
}

fn bounded(given: f32) -> f32 {
    given.clamp(-1.0, 1.0)
}

impl Part {
    /// Adds rows; `~` changes only those that are there.
    fn add(&mut self, mut part: Part, operator: Operator) {
        let change = match operator {
            Operator::Raise => 1.0,
            Operator::Lower | Operator::Negate => -1.0,
            _ => 0.0,
        };
        if operator == Operator::Negate {
            part.keep(&self.rows);
        }
        self.rows = union(&self.rows, &part.rows, change);
        self.counted.append(&mut part.counted);
    }

    /// Leaves rows of another part: of the first one all, of a further one those that are here. What both have given
    /// a row is added.
    fn require(&mut self, mut part: Part, restricted: bool) {
        let before = std::mem::take(&mut self.rows);
        let mut at = 0;
        for (row, given) in &part.rows {
            at = advance(&before, at, |(r, _)| r < row);
            match before.get(at).filter(|(r, _)| r == row) {
                Some((_, before)) => self.rows.push((*row, bounded(before + given))),
                None if restricted => {}
                None => self.rows.push((*row, *given)),
            }
        }
        self.counted.append(&mut part.counted);
        self.restrict();
    }

    /// Leaves the rows that another part does not have.
    fn exclude(&mut self, part: &Part) {
        let (mut at, before) = (0, self.rows.len());
        self.rows.retain(|(row, _)| {
            at = advance(&part.rows, at, |(r, _)| r < row);
            part.rows.get(at).is_none_or(|(r, _)| r != row)
        });
        if self.rows.len() < before {
            self.restrict();
        }
    }

    /// Terms count for the rows that are left.
    fn restrict(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        self.keep(&rows);
        self.rows = rows;
    }

    /// Leaves `rows` only.
    fn keep(&mut self, rows: &Rows) {
        let there = |at: &mut usize, row: &u32| {
            *at = advance(rows, *at, |(r, _)| r < row);
            rows.get(*at).is_some_and(|(r, _)| r == row)
        };
        let mut at = 0;
        self.rows.retain(|(row, _)| there(&mut at, row));
        for (_, counted) in &mut self.counted {
            let mut at = 0;
            match counted {
                Counted::All => *counted = Counted::Of(rows.iter().map(|(row, _)| *row).collect()),
                Counted::Of(only) => only.retain(|row| there(&mut at, row)),
            }
        }
    }
}

/// Rows of either. What `b` was given counts for rows that only it has; to all its rows `change` is added.
fn union(a: &Rows, b: &Rows, change: f32) -> Rows {
    let mut out = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    loop {
        match (a.get(i), b.get(j)) {
            (Some(x), Some(y)) if x.0 == y.0 => {
                out.push((x.0, bounded(x.1 + change)));
                (i, j) = (i + 1, j + 1);
            }
            (Some(x), Some(y)) if x.0 < y.0 => {
                out.push(*x);
                i += 1;
            }
            (_, Some(y)) => {
                out.push((y.0, bounded(y.1 + change)));
                j += 1;
            }
            (Some(x), None) => {
                out.push(*x);
                i += 1;
            }
            (None, None) => return out,
        }
    }
}

fn merged(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut all = [a, b].concat();
    all.sort_unstable();
    all.dedup();
    all
}

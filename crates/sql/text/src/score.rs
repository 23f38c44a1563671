//! Which rows a query finds, and how they rank.
//!
//! The rank of a row is what `<`, `>` and `~` give it, at most 1 and at least -1, and for each word of the query that
//! it was found by the number of times it has the word, by the square of log10(rows / rows with the word). A word that
//! all rows have counts log10(1.0001). Sums are rounded to 32 bits after each word, words in the order of their keys.
//!
//! Each list of a query is read in four steps, as InnoDB reads it: rows of any plain word (`~` changes only what is
//! there by then); rows that have all words with `+`; parts in parentheses, which add rows, or leave some with `+`; of
//! these the rows that have nothing with `-`.

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
    /// Adds a row; rows come in order. One that is there already keeps the greater number of times.
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

/// Rows in order with what operators have given them.
type Rows = Vec<(u32, f32)>;

/// Rows that a term counts for.
enum Counted {
    All,
    Of(Vec<u32>),
}

/// Rows of a part of a query, and the terms that count for them.
#[derive(Default)]
struct Part {
    rows: Rows,
    counted: Vec<(usize, Counted)>,
}

/// The rows that a query finds, ascending, with their ranks. `lists` has the rows of each term, `counts` says how many
/// entries it has among the `total` rows of the table (more than in the list, where one row is judged by itself).
/// `holds` says of a row whether its text has a phrase, where places do not tell.
pub fn evaluate<E>(
    query: &Query,
    lists: &[List],
    counts: &[u64],
    total: u64,
    holds: &mut dyn FnMut(u32, &Phrase) -> Result<bool, E>,
) -> Result<Vec<(u32, f32)>, E> {
    let Part { mut rows, counted } = Evaluation { lists, holds }.list(&query.root)?;
    let mut order: Vec<usize> = (0..query.terms.len()).collect();
    order.sort_by(|a, b| query.terms[*a].key.cmp(&query.terms[*b].key));
    let mut of_term: Vec<Option<Counted>> = query.terms.iter().map(|_| None).collect();
    for (term, more) in counted {
        of_term[term] = Some(match (of_term[term].take(), more) {
            (None, more) => more,
            (Some(Counted::Of(a)), Counted::Of(b)) => Counted::Of(merged(&a, &b)),
            _ => Counted::All,
        });
    }
    for term in order {
        let (Some(counted), list) = (&of_term[term], &lists[term]) else { continue };
        let found = counts[term] as f64 * f64::from(query.terms[term].times);
        if found == 0.0 {
            continue;
        }
        let idf = if found == total as f64 { 1.0001_f64.log10() } else { (total as f64 / found).log10() };
        let (mut at, mut at_counted) = (0, 0);
        for (row, rank) in &mut rows {
            at += list.rows[at..].partition_point(|r| r < row);
            if list.rows.get(at) != Some(row) {
                continue;
            }
            if let Counted::Of(only) = counted {
                at_counted += only[at_counted..].partition_point(|r| r < row);
                if only.get(at_counted) != Some(row) {
                    continue;
                }
            }
            *rank += (f64::from(list.times[at]) * idf * idf) as f32;
        }
    }
    Ok(rows)
}

struct Evaluation<'a, E> {
    lists: &'a [List],
    holds: &'a mut dyn FnMut(u32, &Phrase) -> Result<bool, E>,
}

impl<E> Evaluation<'_, E> {
    fn node(&mut self, node: &Node) -> Result<Part, E> {
        Ok(match node {
            Node::Dead => Part::default(),
            Node::Word(term) => Part {
                rows: self.lists[*term].rows.iter().map(|row| (*row, 0.0)).collect(),
                counted: vec![(*term, Counted::All)],
            },
            Node::Phrase(phrase) => {
                let rows = self.phrase(phrase)?;
                let counted = phrase.words.iter().map(|(term, _)| (*term, Counted::Of(rows.clone()))).collect();
                Part { rows: rows.into_iter().map(|row| (row, 0.0)).collect(), counted }
            }
            // Parentheses may be 32 deep.
            Node::List(items) => self.list(items)?,
        })
    }

    fn list(&mut self, items: &[Item]) -> Result<Part, E> {
        let of = |list: bool, wanted: fn(Operator) -> bool| {
            items.iter().filter(move |i| matches!(i.node, Node::List(_)) == list && wanted(i.operator))
        };
        let mut all = Part::default();
        for item in of(false, |o| !matches!(o, Operator::Require | Operator::Exclude)) {
            let part = self.node(&item.node)?;
            all.add(part, item.operator);
        }
        let mut restricted = false;
        for item in of(false, |o| o == Operator::Require) {
            let part = self.node(&item.node)?;
            all.require(part, &mut restricted);
        }
        for item in of(true, |o| o != Operator::Exclude) {
            let part = self.node(&item.node)?;
            match item.operator {
                Operator::Require => all.require(part, &mut restricted),
                operator => all.add(part, operator),
            }
        }
        let mut excluded = false;
        for item in items.iter().filter(|i| i.operator == Operator::Exclude) {
            let part = self.node(&item.node)?;
            let mut at = 0;
            all.rows.retain(|(row, _)| {
                at += part.rows[at..].partition_point(|(r, _)| r < row);
                part.rows.get(at).is_none_or(|(r, _)| r != row)
            });
            excluded = true;
        }
        if excluded {
            all.restrict();
        }
        Ok(all)
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
                *at += list.rows[*at..].partition_point(|r| r < row);
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

    /// Leaves rows of another part: of the first one all, of a further one those that are here.
    fn require(&mut self, mut part: Part, restricted: &mut bool) {
        let before = std::mem::take(&mut self.rows);
        let there = |row: u32| before.binary_search_by_key(&row, |(r, _)| *r).ok().map(|at| before[at].1);
        for (row, given) in &part.rows {
            match there(*row) {
                Some(before) => self.rows.push((*row, before)),
                None if *restricted => {}
                None => self.rows.push((*row, *given)),
            }
        }
        *restricted = true;
        self.counted.append(&mut part.counted);
        self.restrict();
    }

    /// Terms count for the rows that are left.
    fn restrict(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        self.keep(&rows);
        self.rows = rows;
    }

    /// Leaves `rows` only.
    fn keep(&mut self, rows: &Rows) {
        let there = |row: &u32| rows.binary_search_by_key(row, |(r, _)| *r).is_ok();
        self.rows.retain(|(row, _)| there(row));
        for (_, counted) in &mut self.counted {
            match counted {
                Counted::All => *counted = Counted::Of(rows.iter().map(|(row, _)| *row).collect()),
                Counted::Of(only) => only.retain(there),
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

//! Full-text searches: the rows that a query finds in an index, and their ranks.
//!
//! A search reads the entries of each term (`schema::method`) that the statement's snapshot has, joins and ranks them
//! (`gannet_text::evaluate`), and keeps row keys with ranks for as long as the statement runs. `MATCH` as a value looks
//! a row's key up there; `MATCH` as an access reads the rows by these keys.
//!
//! A statement that locks rows searches what is committed when it comes to it; each row that it finds is judged again
//! by its text once it is locked.

use crate::context::Cx;
use crate::found::{Found, Keys, Search, Weighed};
use crate::{codec, error::from_engine};
use gannet_engine::{Cut, KeyRange, ScanOptions, SnapshotReader};
use gannet_plan::expr::Match;
use gannet_plan::plan::Intent;
use gannet_schema::{FullText, Table};
use gannet_text::{Finder, List, Mode, Phrase, Posting, Query, Ranked, Splitter, Term, Weigher, evaluate};
use gannet_types::charset::Charset;
use gannet_types::{CollationId, Result, SqlError, Value, ValueRef, sql_err};
use std::collections::HashMap;
use std::sync::Arc;

/// The rank of the row with a key: the value of `MATCH ... AGAINST`.
pub(crate) fn rank(search: &Match, against: &Value, values: &[Value], cx: &mut Cx<'_, '_>) -> Result<Value> {
    let Some(index) = search.index else { return weigh(search, against, values, cx) };
    let (at, _) = find(search.table, index, search.mode, against, cx)?;
    let table = &*cx.shared.plan.tables[search.table as usize].table;
    if values.iter().any(Value::is_null) {
        return Ok(Value::Double(0.0));
    }
    let mut key = Vec::with_capacity(16);
    match (table.has_hidden_key(), values.first()) {
        (true, Some(Value::UInt(id))) => table.row_id_key(*id, &mut key),
        (true, _) => return Err(SqlError::internal("MATCH without the row's id")),
        (false, _) => {
            let columns = table.clustered_columns();
            let value = |column: usize| {
                let at = columns.iter().position(|c| *c as usize == column);
                at.and_then(|at| values.get(at)).map_or(ValueRef::Null, Value::as_ref)
            };
            table.clustered_key(value, &mut key)?;
        }
    }
    let Some(search) = cx.searches.as_ref().and_then(|s| s.0.get(at)) else { return Ok(Value::Double(0.0)) };
    let rank = search.judged.get(key.as_slice()).copied().unwrap_or_else(|| search.found.rank(&key));
    Ok(Value::Double(f64::from(rank)))
}

/// The rank of a row with these texts.
fn weigh(search: &Match, against: &Value, texts: &[Value], cx: &mut Cx<'_, '_>) -> Result<Value> {
    let collation = search.args.get(1).map_or(CollationId::DEFAULT, |column| column.ty.collation);
    let all = &mut cx.searches.get_or_insert_default().1;
    let known = all.iter().position(|w| w.collation == collation && w.against == *against);
    let at = known.unwrap_or(all.len());
    if known.is_none() {
        let query = query_text(against, collation.charset());
        let weigher = query.map(|query| Weigher::new(collation, &query)).transpose()?;
        all.push(Weighed { collation, against: against.clone(), weigher });
    }
    let texts: Vec<Option<&[u8]>> = texts.iter().map(|value| text_of(value.as_ref())).collect();
    let weigher = all.get(at).and_then(|w| w.weigher.as_ref());
    Ok(Value::Double(weigher.map_or(0.0, |weigher| weigher.rank(&texts).into())))
}

fn text_of(value: ValueRef<'_>) -> Option<&[u8]> {
    match value {
        ValueRef::Str(bytes, _) => Some(bytes),
        _ => None,
    }
}

/// The search of a query in an index of a plan table: done once for each text. Its number, and what it has found.
pub(crate) fn find(
    slot: u32,
    index: u32,
    mode: Mode,
    against: &Value,
    cx: &mut Cx<'_, '_>,
) -> Result<(usize, Arc<Found>)> {
    let of = (slot, index, mode);
    let known = cx.searches.iter().flat_map(|s| &s.0).position(|s| s.of == of && s.against == *against);
    if let Some(at) = known
        && let Some(search) = cx.searches.as_ref().and_then(|s| s.0.get(at))
    {
        return Ok((at, search.found.clone()));
    }
    let found = Arc::new(search(slot, index as usize, mode, against, cx)?);
    cx.reserve(found.keys.bytes.len() + found.rows.len() * 24)?;
    let all = &mut cx.searches.get_or_insert_default().0;
    all.push(Search { of, against: against.clone(), found: found.clone(), judged: HashMap::new() });
    Ok((all.len() - 1, found))
}

/// Judges a row, which is locked now, by its text. False: it is not found any more.
pub(crate) fn judge(at: usize, slot: u32, index: usize, key: &[u8], cx: &mut Cx<'_, '_>) -> Result<bool> {
    let table = &*cx.shared.plan.tables[slot as usize].table;
    let Some(search) = cx.searches.as_ref().and_then(|s| s.0.get(at)) else { return Ok(true) };
    let (found, text) = (search.found.clone(), definition(table, index)?);
    let Some(query) = &found.query else { return Ok(true) };
    let mut buffer = gannet_engine::RowBuf::new();
    let tree = codec::row_tree(table, cx.txn.get()?)?;
    // What is locked is read as it is, by its owner.
    let read = cx.txn.get()?.get(tree, key, gannet_engine::ReadMode::Newest, &mut buffer).map_err(from_engine)?;
    if read != gannet_engine::Read::Found {
        return Ok(false);
    }
    let values = codec::decode_row(table, buffer.row())?;
    let columns = || texts(table, index, |i| values[i].as_ref());
    let mut lists: Vec<List> = query.terms().iter().map(|_| List::default()).collect();
    let mut finder = Finder::of_one_row(&text.analyzer, query.terms());
    add_row(&mut finder, query.terms(), columns(), 0, &mut lists)?;
    let holds = &mut |_, phrase: &Phrase| Ok::<bool, SqlError>(phrase.is_in(&text.analyzer, columns()));
    let rank = evaluate(query, &lists, Some(&found.counts), found.total, holds)?.rows.first().map(|(_, rank)| *rank);
    if let Some(search) = cx.searches.as_mut().and_then(|s| s.0.get_mut(at)) {
        search.judged.insert(key.into(), rank.unwrap_or(0.0));
    }
    Ok(rank.is_some())
}

fn definition(table: &Table, index: usize) -> Result<&FullText> {
    table.indexes[index].text().ok_or_else(|| SqlError::internal("a search in an index that is not full-text"))
}

/// The texts of an index's columns.
fn texts<'v>(
    table: &Table,
    index: usize,
    value: impl Fn(usize) -> ValueRef<'v>,
) -> impl Iterator<Item = Option<&'v [u8]>> {
    table.indexes[index].parts.iter().map(move |part| match value(part.column as usize) {
        ValueRef::Str(bytes, _) => Some(bytes),
        _ => None,
    })
}

/// Adds what a row has of the terms.
fn add_row<'v>(
    finder: &mut Finder<'_>,
    terms: &[Term],
    columns: impl Iterator<Item = Option<&'v [u8]>>,
    number: u32,
    lists: &mut [List],
) -> Result<()> {
    let (mut carried, mut done) = (Vec::new(), Ok(()));
    finder.row(columns, &mut |term, word| {
        carried.clear();
        word.carried(&mut carried);
        match Posting::read(&carried) {
            Ok(posting) => lists[term].push(number, &posting, terms[term].placed),
            Err(e) => done = Err(damaged(e)),
        }
    });
    done
}

fn damaged(e: gannet_base::DecodeError) -> SqlError {
    SqlError::internal(format_args!("an entry of a full-text index: {e}"))
}

/// The query as text; bytes are text of the index's character set.
fn query_text(against: &Value, own: Charset) -> Option<String> {
    let mut bytes = Vec::new();
    match against {
        Value::Null => return None,
        Value::Str(text, collation) => {
            let from = if collation.is_binary() { own } else { collation.charset() };
            bytes.extend_from_slice(&from.convert(text, Charset::Utf8mb4).bytes);
        }
        other => other.write_text(&mut bytes),
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn search(slot: u32, index: usize, mode: Mode, against: &Value, cx: &mut Cx<'_, '_>) -> Result<Found> {
    let plan_table = &cx.shared.plan.tables[slot as usize];
    let (table, text) = (&*plan_table.table, definition(&plan_table.table, index)?);
    let Some(words) = query_text(against, text.analyzer.charset()) else { return Ok(Found::default()) };
    let mut query = Query::new(&text.analyzer, &words, mode)?;
    let locks = plan_table.intent != Intent::Read;
    let txn = cx.txn.get()?;
    let reader = if locks { None } else { txn.snapshot_reader().map_err(from_engine)? };
    let reader = match reader {
        Some(reader) => reader,
        None => SnapshotReader::of_now(txn, false).map_err(from_engine)?,
    };
    let source = Source { table, index, text, reader, trees: codec::trees(table, txn)? };
    let mut found = source.find(&query, cx)?;
    if mode == Mode::Expansion && !found.rows.is_empty() {
        let mut splitter = Splitter::default();
        for n in 0..found.len() {
            let row = source.row(found.key(n))?.unwrap_or_default();
            splitter.split(&text.analyzer, source.texts(&row)?.into_iter());
        }
        let mut keys: Vec<Vec<u8>> = (0..splitter.words() as u32).map(|word| splitter.key(word).to_vec()).collect();
        keys.sort_unstable();
        query = query.expanded(keys.into_iter());
        found = source.find(&query, cx)?;
    }
    found.query = Some(query);
    Ok(found)
}

/// What a search reads.
struct Source<'t> {
    table: &'t Table,
    index: usize,
    text: &'t FullText,
    reader: SnapshotReader,
    trees: &'t gannet_catalog::Trees,
}

/// The entries of one term, by row keys.
#[derive(Default)]
struct Read {
    keys: Keys,
    list: List,
}

/// What a row whose words wait has of a term.
struct Waiting {
    row_key: Vec<u8>,
    carried: Vec<u8>,
}

impl Read {
    fn push(&mut self, number: &mut u32, row_key: &[u8], carried: &[u8], term: &Term) -> Result<()> {
        self.keys.push(row_key);
        self.list.push(*number, &Posting::read(carried).map_err(damaged)?, term.placed);
        *number += 1;
        Ok(())
    }
}

impl Source<'_> {
    fn find(&self, query: &Query, cx: &mut Cx<'_, '_>) -> Result<Found> {
        let (keys, lists) = if self.reader.reads(&self.trees.indexes[self.index]) {
            joined(self.entries(query.terms(), cx)?)
        } else {
            self.all_rows(query.terms(), cx)?
        };
        let total = self.trees.row.approximate_rows().max(lists.iter().map(|l| l.rows.len() as u64).max().unwrap_or(0));
        let holds = &mut |number: u32, phrase: &Phrase| {
            let row = self.row(keys.get(number as usize))?.unwrap_or_default();
            Ok::<bool, SqlError>(phrase.is_in(&self.text.analyzer, self.texts(&row)?.into_iter()))
        };
        let Ranked { rows, found: counts } = evaluate(query, &lists, None, total, holds)?;
        let mut order: Vec<u32> = (0..rows.len() as u32).collect();
        order.sort_by(|a, b| rows[*b as usize].1.total_cmp(&rows[*a as usize].1));
        Ok(Found { query: None, total, counts, keys, rows, order })
    }

    /// The entries of each term.
    fn entries(&self, terms: &[Term], cx: &mut Cx<'_, '_>) -> Result<Vec<Read>> {
        let tree = &self.trees.indexes[self.index];
        let most = match cx.session.system_variable(true, "innodb_ft_result_cache_limit")? {
            Value::UInt(n) => usize::try_from(n).unwrap_or(usize::MAX),
            Value::Int(n) => usize::try_from(n).unwrap_or(usize::MAX),
            _ => usize::MAX,
        };
        let mut waiting = self.waiting(terms, cx)?;
        let mut bytes = 0;
        let mut all = Vec::with_capacity(terms.len());
        for (term, waiting) in terms.iter().zip(&mut waiting) {
            let options = ScanOptions { sequential: true, ..ScanOptions::default() };
            let mut scan = self.reader.scan(tree, KeyRange::prefix(&term.key), options).map_err(from_engine)?;
            let mut read = Read::default();
            // Entries of several words: their rows come in no order.
            let mut of_words: Vec<(Vec<u8>, u32)> = Vec::new();
            let mut number = 0_u32;
            bytes += waiting.iter().map(|w| w.row_key.len() + 24 + w.carried.len()).sum::<usize>();
            if term.start.is_some() {
                let times = |w: &Waiting| Posting::read(&w.carried).map(|p| p.times).map_err(damaged);
                of_words = waiting.drain(..).map(|w| Ok((w.row_key.clone(), times(&w)?))).collect::<Result<_>>()?;
            }
            let mut before = waiting.iter().peekable();
            while let Some(entry) = scan.next().map_err(from_engine)? {
                if number.is_multiple_of(256) {
                    cx.check_interrupt()?;
                }
                let posting = Posting::read(entry.value).map_err(damaged)?;
                // What the keys of other words begin with says less than a word's key does.
                let row_key = match term.start {
                    None => entry.key.get(term.key.len()..).unwrap_or_default(),
                    Some(_) if !term.takes(&self.text.analyzer, posting.text) => continue,
                    Some(_) => self.table.split_index_key(self.index, entry.key)?.1,
                };
                bytes += row_key.len() + 24 + if term.placed { entry.value.len() } else { 0 };
                if bytes > most {
                    return Err(sql_err!(FtResultCacheLimit));
                }
                if term.start.is_some() {
                    of_words.push((row_key.to_vec(), posting.times));
                    continue;
                }
                while let Some(w) = before.next_if(|w| w.row_key[..] < *row_key) {
                    read.push(&mut number, &w.row_key, &w.carried, term)?;
                }
                read.keys.push(row_key);
                read.list.push(number, &posting, term.placed);
                number += 1;
            }
            for w in before {
                read.push(&mut number, &w.row_key, &w.carried, term)?;
            }
            of_words.sort_unstable();
            for (i, (key, times)) in of_words.iter().enumerate() {
                // The last of equal ones has the greatest number of times.
                if of_words.get(i + 1).is_none_or(|next| next.0 != *key) {
                    read.list.push(read.keys.len() as u32, &Posting::times(*times), false);
                    read.keys.push(key);
                }
            }
            if term.start.is_some() {
                read.list.entries = of_words.len() as u64;
            }
            if bytes > most {
                return Err(sql_err!(FtResultCacheLimit));
            }
            all.push(read);
        }
        Ok(all)
    }

    /// What rows whose words wait have of each term, by row keys.
    fn waiting(&self, terms: &[Term], cx: &mut Cx<'_, '_>) -> Result<Vec<Vec<Waiting>>> {
        let mut all: Vec<Vec<Waiting>> = terms.iter().map(|_| Vec::new()).collect();
        if !self.text.may_have_waiting() || terms.is_empty() {
            return Ok(all);
        }
        let options = ScanOptions { sequential: true, ..ScanOptions::default() };
        let tree = &self.trees.indexes[self.index];
        let mut scan = self.reader.scan(tree, crate::waiting::range(), options).map_err(from_engine)?;
        let (mut rows, mut finder) = (0_u32, Finder::new(&self.text.analyzer, terms));
        while let Some(entry) = scan.next().map_err(from_engine)? {
            let Some((row_key, 0)) = crate::waiting::split(entry.key) else { continue };
            rows += 1;
            if rows.is_multiple_of(64) {
                cx.check_interrupt()?;
            }
            // Without a snapshot, the row may have gone meanwhile.
            let Some(row) = self.row(row_key)? else { continue };
            finder.row(self.texts(&row)?.into_iter(), &mut |term, word| {
                let mut carried = Vec::new();
                word.carried(&mut carried);
                all[term].push(Waiting { row_key: row_key.to_vec(), carried });
            });
        }
        Ok(all)
    }

    /// What all rows have of the terms: where entries are candidates only, since the transaction has written over rows
    /// that others changed after its snapshot.
    fn all_rows(&self, terms: &[Term], cx: &mut Cx<'_, '_>) -> Result<(Keys, Vec<List>)> {
        let mut keys = Keys::default();
        let mut lists: Vec<List> = terms.iter().map(|_| List::default()).collect();
        let options = ScanOptions { sequential: true, whole: true, ..ScanOptions::default() };
        let mut scan = self.reader.scan(&self.trees.row, KeyRange::ALL, options).map_err(from_engine)?;
        let mut finder = Finder::new(&self.text.analyzer, terms);
        while let Some(entry) = scan.next().map_err(from_engine)? {
            cx.check_interrupt()?;
            let columns = self.texts(entry.value)?.into_iter();
            add_row(&mut finder, terms, columns, keys.len() as u32, &mut lists)?;
            keys.push(entry.key);
        }
        Ok((keys, lists))
    }

    /// A row as it is stored.
    fn row(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let only = KeyRange::new(Cut::Before(key), Cut::After(key));
        let mut scan = self.reader.scan(&self.trees.row, only, ScanOptions::default()).map_err(from_engine)?;
        Ok(scan.next().map_err(from_engine)?.map(|entry| entry.value.to_vec()))
    }

    /// The texts of a stored row; of none, none.
    fn texts<'r>(&'r self, row: &'r [u8]) -> Result<Vec<Option<&'r [u8]>>> {
        if row.is_empty() {
            return Ok(Vec::new());
        }
        let parts = self.table.indexes[self.index].parts.iter();
        parts
            .map(|part| match self.table.layout().get(row, part.column as usize)? {
                ValueRef::Str(bytes, _) => Ok(Some(bytes)),
                _ => Ok(None),
            })
            .collect()
    }
}

/// Numbers the rows of all terms by their keys.
fn joined(mut reads: Vec<Read>) -> (Keys, Vec<List>) {
    if reads.len() == 1
        && let Some(only) = reads.pop()
    {
        return (only.keys, vec![only.list]);
    }
    let mut keys = Keys::default();
    // Short keys of one length are compared as numbers.
    let width = reads.iter().find_map(|r| (r.keys.len() > 0).then(|| r.keys.get(0).len())).unwrap_or(0);
    let short = width <= 8 && reads.iter().all(|r| r.keys.are_all(width));
    let numbers = if short {
        let as_number = |key: &[u8]| key.iter().fold(0_u64, |n, byte| n << 8 | u64::from(*byte));
        let (all, numbers) = numbered(&reads, as_number);
        all.iter().for_each(|key| keys.push(&key.to_be_bytes()[8 - width..]));
        numbers
    } else {
        let (all, numbers) = numbered(&reads, |key| key);
        all.iter().for_each(|key| keys.push(key));
        numbers
    };
    let lists = reads.into_iter().zip(numbers).map(|(read, rows)| List { rows, ..read.list }).collect();
    (keys, lists)
}

/// The keys of all terms, each once, and the numbers that those of each term have among them.
fn numbered<'r, K: Ord + Copy>(reads: &'r [Read], key: impl Fn(&'r [u8]) -> K) -> (Vec<K>, Vec<Vec<u32>>) {
    let keys = |read: &'r Read| (0..read.keys.len()).map(|n| key(read.keys.get(n)));
    let mut all: Vec<K> = reads.iter().flat_map(keys).collect();
    // Each list is in order already: a sort by merging.
    all.sort();
    all.dedup();
    let numbers = |read: &'r Read| {
        let mut at = 0;
        let one = |key| {
            at = gannet_text::advance(&all, at, |k| *k < key);
            at as u32
        };
        keys(read).map(one).collect()
    };
    let numbers = reads.iter().map(numbers).collect();
    (all, numbers)
}

/// Whether rows that are not found satisfy `MATCH > bound`, `MATCH >= bound`, too.
pub(crate) fn takes_all(bound: &Value, inclusive: bool) -> bool {
    let bound = match bound {
        Value::Null => return false,
        Value::Int(n) => *n as f64,
        Value::UInt(n) => *n as f64,
        Value::Double(n) => *n,
        Value::Float(n) => f64::from(*n),
        Value::Decimal(n) => n.to_f64(),
        // Whatever number it becomes.
        _ => return true,
    };
    bound < 0.0 || inclusive && bound == 0.0
}

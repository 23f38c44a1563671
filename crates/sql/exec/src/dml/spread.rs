//! Rows of one statement that go into many parts of a table.
//!
//! Where each row has a part of its own, no two of them share a leaf. What still makes the difference is that a step is
//! done for all rows before the next one begins: its code stays in the processor's cache, which the whole way of a row
//! does not fit into.

use super::rows::{insert_entries, insert_entry};
use crate::changes::{Images, RowWriter};
use crate::{codec, error::from_engine};
use gannet_engine::{Insert, NewEntry};
use gannet_schema::{Index, Table};
use gannet_types::{Result, Value};
use std::ops::Range;

/// A row, and the part that it goes into.
pub(crate) struct Placed<'r> {
    pub(crate) number: u32,
    pub(crate) part: &'r Table,
    pub(crate) values: &'r [Value],
}

/// Where a row's key and its stored form lie.
struct Stored {
    row: usize,
    key: Range<usize>,
    content: Range<usize>,
}

/// Inserts the rows with their index entries, part by part. False: two rows are in each other's way, or one that was
/// there is; the caller rolls back to where it began, and finds out row by row which one it is.
pub(crate) fn insert_spread(rows: &[Placed<'_>], to: &mut RowWriter<'_>) -> Result<bool> {
    let mark = to.mark();
    let (mut bytes, mut key) = (Vec::with_capacity(64 * rows.len()), Vec::new());
    let mut stored = Vec::with_capacity(rows.len());
    for (row, placed) in rows.iter().enumerate() {
        codec::new_row_key(placed.part, placed.values, to.txn, &mut key)?;
        let from = bytes.len();
        bytes.extend_from_slice(&key);
        let middle = bytes.len();
        codec::encode_row(placed.part, placed.values, &mut bytes)?;
        stored.push(Stored { row, key: from..middle, content: middle..bytes.len() });
    }
    stored.sort_by(|a, b| {
        rows[a.row].number.cmp(&rows[b.row].number).then_with(|| bytes[a.key.clone()].cmp(&bytes[b.key.clone()]))
    });
    let entries: Vec<NewEntry<'_>> =
        stored.iter().map(|s| (&bytes[s.key.clone()], &bytes[s.content.clone()])).collect();
    let groups = || {
        let mut from = 0;
        stored.chunk_by(|a, b| rows[a.row].number == rows[b.row].number).map(move |group| {
            let range = from..from + group.len();
            from = range.end;
            (rows[group[0].row].part, range)
        })
    };
    for (part, range) in groups() {
        if !insert_rows(part, &entries[range], to)? {
            return Ok(false);
        }
    }
    let indexes = rows.first().map_or(0, |row| row.part.indexes.len());
    for number in 0..indexes {
        for (part, range) in groups().filter(|(part, _)| part.clustered != Some(number)) {
            let keyed = stored[range.clone()].iter().zip(&entries[range]).map(|(s, e)| (e.0, &rows[s.row].values));
            if !insert_into_index(part, number, keyed, to)? {
                return Ok(false);
            }
        }
    }
    for (i, (s, (key, _))) in stored.iter().zip(&entries).enumerate() {
        let Placed { part, values, .. } = rows[s.row];
        to.note(part, key);
        to.tell_of_run(mark + i as u64, part, Images::insert(values))?;
    }
    Ok(true)
}

/// Inserts rows of one part. Each has one undo record, in their order.
fn insert_rows(part: &Table, entries: &[NewEntry<'_>], to: &mut RowWriter<'_>) -> Result<bool> {
    if entries.windows(2).any(|two| two[0].0 == two[1].0) {
        return Ok(false);
    }
    let (tree, mut rest) = (codec::row_tree(part, to.txn)?, entries);
    while let [(key, content), ..] = rest {
        let n = match tree.insert_run(rest, to.txn).map_err(from_engine)? {
            0 => match to.txn.insert(tree, key, content).map_err(from_engine)? {
                Insert::Inserted => 1,
                Insert::Duplicate => return Ok(false),
            },
            n => n,
        };
        rest = &rest[n..];
    }
    Ok(true)
}

fn insert_into_index<'r>(
    part: &Table,
    number: usize,
    rows: impl Iterator<Item = (&'r [u8], &'r &'r [Value])>,
    to: &mut RowWriter<'_>,
) -> Result<bool> {
    let index: &Index = &part.indexes[number];
    if !index.unique() {
        return insert_entries(part, number, rows, to.txn).map(|()| true);
    }
    for (key, values) in rows {
        if insert_entry(part, number, index, key, values, false, to.txn)?.is_some() {
            return Ok(false);
        }
    }
    Ok(true)
}

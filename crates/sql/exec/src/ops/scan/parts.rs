//! Scans of tables with parts: part after part, or all of them merged in the order of the index walked.
//!
//! Which parts are read is found when the scan opens, and for an inner side of a join for each outer row. A part's scan
//! is made when its turn comes, so a LIMIT leaves the rest unopened.

use super::{FIRST_ROWS, TreeScan, members, merge, skip};
use crate::context::{BoxedOperator, Operator};
use crate::{
    batch::{BATCH_ROWS, Batch},
    context::Cx,
    place,
};
use gannet_plan::physical::{Access, PartScan, TableScan};
use gannet_schema::Table;
use gannet_types::{Result, SqlError, SqlType};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Reads the parts of a table.
pub(super) struct PartsScan<'p> {
    scan: &'p TableScan,
    how: &'p PartScan,
    types: &'p [SqlType],
    /// Parts to come, last first.
    left: Vec<u32>,
    /// The part that is read, or was read last.
    open: Option<(u32, BoxedOperator<'p>)>,
    reading: bool,
    want: Option<u64>,
}

pub(super) fn build<'p>(scan: &'p TableScan, how: &'p PartScan, types: &'p [SqlType]) -> BoxedOperator<'p> {
    let one_by_one = PartsScan { scan, how, types, left: Vec::new(), open: None, reading: false, want: None };
    if how.merged && !matches!(scan.access, Access::Point { .. }) {
        return Box::new(Merged { parts: one_by_one, sources: Vec::new(), heads: BinaryHeap::new(), rows: FIRST_ROWS });
    }
    Box::new(one_by_one)
}

/// A part's scan.
fn of_part<'p>(scan: &'p TableScan, part: (u32, &'p Table), types: &'p [SqlType]) -> Result<BoxedOperator<'p>> {
    Ok(match &scan.access {
        Access::Virtual { .. } => return Err(SqlError::internal("a virtual table with parts")),
        Access::Merge { kind, parts } => Box::new(merge::MergeScan::new(scan, *kind, parts, types).of_part(part)),
        Access::Skip(skip) => Box::new(skip::SkipScan::new(scan, skip, types).of_part(part)),
        Access::Members(of) => Box::new(members::MembersScan::new(scan, of, types).of_part(part)),
        _ => Box::new(TreeScan::new(scan, &scan.access, types).of_part(part)),
    })
}

impl<'p> PartsScan<'p> {
    fn table(&self, cx: &Cx<'_, 'p>) -> &'p Table {
        let plan = cx.shared.plan;
        &plan.tables[self.scan.table as usize].table
    }

    fn find(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        let wanted = place::wanted(self.scan.table as usize, self.how, cx)?;
        self.left = wanted.iter().collect();
        // Parts of a RANGE follow each other in the order of their rows: of a scan that goes backward the last is
        // first.
        if !self.scan.reverse {
            self.left.reverse();
        }
        Ok(())
    }

    /// Opens the scan of the next part; false when there is none.
    fn open_next(&mut self, cx: &mut Cx<'_, 'p>) -> Result<bool> {
        let Some(number) = self.left.pop() else { return Ok(false) };
        let table = self.table(cx);
        if self.open.as_ref().is_none_or(|(n, _)| *n != number) {
            self.open = Some((number, of_part(self.scan, (number, table.part(number)?), self.types)?));
        }
        if let Some((_, operator)) = &mut self.open {
            operator.open(cx)?;
            if let Some(rows) = self.want {
                operator.want(rows);
            }
        }
        self.reading = true;
        Ok(true)
    }
}

impl<'p> Operator<'p> for PartsScan<'p> {
    fn open(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        self.reading = false;
        self.find(cx)
    }

    fn want(&mut self, rows: u64) {
        self.want = Some(rows);
        if let Some((_, operator)) = &mut self.open {
            operator.want(rows);
        }
    }

    fn recycle(&mut self, batch: Batch) {
        if let Some((_, operator)) = &mut self.open {
            operator.recycle(batch);
        }
    }

    fn skip(&mut self, rows: u64, cx: &mut Cx<'_, 'p>) -> Result<u64> {
        let mut skipped = 0;
        while skipped < rows && (self.reading || self.open_next(cx)?) {
            let Some((_, operator)) = &mut self.open else { break };
            let some = operator.skip(rows - skipped, cx)?;
            skipped += some;
            if skipped < rows {
                // The part is at its end, or its rows have to be looked at.
                break;
            }
        }
        Ok(skipped)
    }

    fn next(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        while self.reading || self.open_next(cx)? {
            if let Some((_, operator)) = &mut self.open
                && let Some(batch) = operator.next(cx)?
            {
                return Ok(Some(batch));
            }
            self.reading = false;
        }
        Ok(None)
    }
}

/// The rows of several parts in the order of their entries.
struct Merged<'p> {
    parts: PartsScan<'p>,
    sources: Vec<Source<'p>>,
    /// The first entry of each part that has any left.
    heads: BinaryHeap<Head>,
    rows: usize,
}

/// One part.
struct Source<'p> {
    scan: TreeScan<'p>,
    batch: Batch,
    /// Keys of the entries that the batch's rows were made of.
    keys: Vec<Box<[u8]>>,
    at: usize,
}

/// The first entry of a part.
struct Head {
    key: Box<[u8]>,
    source: usize,
    backward: bool,
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> Ordering {
        // The greatest of the heap is the first entry.
        let forward = Reverse((&self.key, self.source)).cmp(&Reverse((&other.key, other.source)));
        if self.backward { forward.reverse() } else { forward }
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Head {}

impl<'p> Source<'p> {
    /// The key of the next row; reads on where the batch has been delivered.
    fn head(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Option<Box<[u8]>>> {
        while self.at >= self.keys.len() {
            let Some(batch) = self.scan.next(cx)? else { return Ok(None) };
            self.keys = self.scan.take_keys();
            self.at = 0;
            if self.keys.len() != batch.rows {
                return Err(SqlError::internal("a merged scan without its keys"));
            }
            self.batch = batch;
        }
        Ok(Some(std::mem::take(&mut self.keys[self.at])))
    }
}

impl<'p> Merged<'p> {
    fn push(&mut self, source: usize, cx: &mut Cx<'_, 'p>) -> Result<()> {
        let backward = self.parts.scan.reverse;
        if let Some(key) = self.sources[source].head(cx)? {
            self.heads.push(Head { key, source, backward });
        }
        Ok(())
    }
}

impl<'p> Operator<'p> for Merged<'p> {
    fn open(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        self.sources.clear();
        self.heads.clear();
        self.rows = FIRST_ROWS;
        self.parts.open(cx)?;
        if self.parts.left.len() < 2 {
            return Ok(());
        }
        let table = self.parts.table(cx);
        while let Some(number) = self.parts.left.pop() {
            let (scan, types) = (self.parts.scan, self.parts.types);
            let mut part = TreeScan::new(scan, &scan.access, types).of_part((number, table.part(number)?)).with_keys();
            part.open(cx)?;
            if let Some(rows) = self.parts.want {
                part.want(rows);
            }
            self.sources.push(Source { scan: part, batch: Batch::default(), keys: Vec::new(), at: 0 });
            self.push(self.sources.len() - 1, cx)?;
        }
        Ok(())
    }

    fn want(&mut self, rows: u64) {
        self.parts.want(rows);
        self.sources.iter_mut().for_each(|s| s.scan.want(rows));
    }

    fn next(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        if self.sources.is_empty() {
            return self.parts.next(cx);
        }
        let want = self.parts.want.map_or(BATCH_ROWS, |n| n.clamp(1, BATCH_ROWS as u64) as usize);
        let mut batch = Batch::for_types(self.parts.types);
        while !batch.is_full(self.rows.min(want)) {
            let Some(Head { source, .. }) = self.heads.pop() else { break };
            let from = &mut self.sources[source];
            for (column, values) in batch.columns.iter_mut().zip(&from.batch.columns) {
                column.push(values.get(from.at));
            }
            batch.rows += 1;
            from.at += 1;
            self.push(source, cx)?;
        }
        self.rows = (self.rows * 2).min(BATCH_ROWS);
        Ok(Some(batch).filter(|b| b.rows > 0))
    }
}

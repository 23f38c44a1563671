//! Rows that a full-text search finds, those of the highest rank first.

use super::{By, FIRST_ROWS, Reader, TreeScan};
use crate::batch::{BATCH_BYTES, BATCH_ROWS, Batch};
use crate::context::{Cx, Operator};
use crate::found::Found;
use crate::search::{find, judge, takes_all};
use crate::{eval, vector};
use gannet_plan::expr::{Expr, ExprKind, SortKey};
use gannet_plan::physical::{Access, LockStrength, Op, Physical, SearchAccess, TableScan};
use gannet_schema::Table;
use gannet_telemetry::{Counter, count};
use gannet_types::{Result, SqlType};
use std::sync::Arc;

/// What a condition is read by that all rows may satisfy.
const EVERYTHING: &Access = &Access::Full;

/// The query of a search that delivers rows to a sort by rank, the highest first, and the query of those ranks; `None`
/// where the sort is by something else.
pub(crate) fn ranked<'p>(input: &'p Physical, keys: &'p [SortKey]) -> Option<(&'p Expr, &'p Expr)> {
    let [SortKey { expr, descending: true }] = keys else { return None };
    let ExprKind::Match(wanted) = &expr.kind else { return None };
    let scan = match &input.op {
        Op::TableScan(scan) => scan,
        Op::Filter { input, .. } => return ranked(input, keys),
        _ => return None,
    };
    let Access::Search(search) = &scan.access else { return None };
    let same = (scan.table, Some(search.index), search.mode) == (wanted.table, wanted.index, wanted.mode);
    // Rows that are locked are judged again.
    (same && scan.lock.strength == LockStrength::None).then_some((&search.against, wanted.args.first()?))
}

pub(super) struct SearchScan<'p> {
    reader: Reader<'p>,
    plan: &'p SearchAccess,
    types: &'p [SqlType],
    found: Option<(usize, Arc<Found>)>,
    /// The next one.
    at: usize,
    rows: usize,
    /// At most so many rows are of use: no more are locked.
    want: usize,
    /// All rows, where those that are not found satisfy the condition.
    instead: Option<Box<TreeScan<'p>>>,
}

impl<'p> SearchScan<'p> {
    pub(super) fn new(scan: &'p TableScan, plan: &'p SearchAccess, types: &'p [SqlType]) -> Self {
        let (found, instead) = (None, None);
        SearchScan { reader: Reader::new(scan), plan, types, found, at: 0, rows: FIRST_ROWS, want: BATCH_ROWS, instead }
    }

    fn table(&self, cx: &Cx<'_, 'p>) -> &'p Table {
        &cx.shared.plan.tables[self.reader.scan.table as usize].table
    }
}

impl<'p> Operator<'p> for SearchScan<'p> {
    fn open(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        (self.at, self.rows, self.found, self.instead) = (0, FIRST_ROWS, None, None);
        let empty = Batch::one_empty_row();
        let everything = match &self.plan.above {
            Some((bound, inclusive)) => takes_all(&eval::eval(bound, &empty, 0, cx)?, *inclusive),
            None => false,
        };
        if everything {
            let mut all = Box::new(TreeScan::new(self.reader.scan, EVERYTHING, self.types));
            all.open(cx)?;
            self.instead = Some(all);
            return Ok(());
        }
        let against = eval::eval(&self.plan.against, &empty, 0, cx)?;
        self.found = Some(find(self.reader.scan.table, self.plan.index, self.plan.mode, &against, cx)?);
        count(Counter::HandlerReadKey);
        Ok(())
    }

    fn want(&mut self, rows: u64) {
        if self.reader.scan.lock.strength != LockStrength::None {
            self.want = rows.clamp(1, BATCH_ROWS as u64) as usize;
        }
    }

    fn next(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        if let Some(all) = &mut self.instead {
            return all.next(cx);
        }
        let table = self.table(cx);
        let Some((search, found)) = self.found.clone() else { return Ok(None) };
        let scan = self.reader.scan;
        let mut batch = Batch::for_types(self.types);
        self.reader.taken = 0;
        while self.at < found.len() && batch.rows < self.rows.min(self.want) && self.reader.taken <= BATCH_BYTES {
            let key = found.key(self.at);
            self.at += 1;
            if self.at.is_multiple_of(256) {
                cx.check_interrupt()?;
            }
            count(Counter::HandlerReadNext);
            cx.counts.examined += 1;
            let before = batch.rows;
            self.reader.fetch(table, key, By::Entry(None), &mut batch, cx)?;
            let locked = scan.lock.strength != LockStrength::None && batch.rows > before;
            if locked && !judge(search, scan.table, self.plan.index as usize, key, cx)? {
                batch = batch.slice(0, before);
            }
        }
        if batch.rows == 0 {
            return Ok((self.at < found.len()).then_some(batch));
        }
        self.rows = (self.rows * 2).min(BATCH_ROWS);
        self.reader.pad(table, &mut batch, cx);
        let Some(filter) = &scan.filter else { return Ok(Some(batch)) };
        let kept = vector::select(filter, &batch, cx)?;
        Ok(Some(if kept.len() == batch.rows { batch } else { batch.gather(&kept) }))
    }
}

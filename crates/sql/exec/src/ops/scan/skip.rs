//! Scans that jump from group to group of an index: loose index scans and skip scans.
//!
//! The first entry behind the last group names the next one; what is read of it are the plan's inner ranges behind the
//! group's columns. GROUP BY and DISTINCT need an entry or two of a group: the first that passes the filter, and the
//! last.

use super::{By, FIRST_ROWS, Reader, cut};
use crate::context::Operator;
use crate::{
    batch::{BATCH_ROWS, Batch},
    codec,
    context::Cx,
    error::from_engine,
    eval,
};
use gannet_engine::{Cut, Direction, KeyRange, ReadMode, Scan, ScanOptions};
use gannet_plan::{
    physical::{SkipScan as Plan, SkipTake, TableScan},
    range::{Bounds, Limit, encode_access, encode_ranges_behind},
};
use gannet_schema::Table;
use gannet_telemetry::{Counter, count};
use gannet_types::{Result, SqlError, SqlType, ValueRef};

/// Reads an index group by group.
pub(super) struct SkipScan<'p> {
    reader: Reader<'p>,
    plan: &'p Plan,
    types: &'p [SqlType],
    outer: Bounds,
    /// Next range of `outer`.
    at: usize,
    inner: Option<Bounds>,
    /// The entries' first bytes that make the group at hand; empty before the first.
    group: Vec<u8>,
    /// The group is being read: next of its inner ranges, and the scan of the last.
    reading: Option<(usize, Option<Scan>)>,
    rows: usize,
}

impl<'p> SkipScan<'p> {
    pub(super) fn new(scan: &'p TableScan, plan: &'p Plan, types: &'p [SqlType]) -> Self {
        SkipScan {
            reader: Reader::new(scan),
            plan,
            types,
            outer: Bounds::default(),
            at: 0,
            inner: None,
            group: Vec::new(),
            reading: None,
            rows: FIRST_ROWS,
        }
    }

    /// The scan of one part of the table.
    pub(super) fn of_part(mut self, part: (u32, &'p Table)) -> Self {
        self.reader.part = Some(part);
        self
    }

    fn table(&self, cx: &Cx<'_, 'p>) -> &'p Table {
        self.reader.table(cx)
    }

    fn index(&self) -> Result<usize> {
        self.reader.scan.index.map(|i| i as usize).ok_or_else(|| SqlError::internal("a skip scan without an index"))
    }

    fn scan(
        &self,
        table: &'p Table,
        (low, high): (Cut<'_>, Cut<'_>),
        direction: Direction,
        cx: &mut Cx<'_, 'p>,
    ) -> Result<Scan> {
        let index = self.index()?;
        let clustered = table.clustered == Some(index);
        let tree = if clustered {
            codec::row_tree(table, cx.txn.get()?)?
        } else {
            codec::index_tree(table, index, cx.txn.get()?)?
        };
        let options = ScanOptions {
            direction,
            mode: ReadMode::Snapshot,
            unique_equality: false,
            sequential: false,
            whole: false,
            unseen: false,
            semi_consistent: false,
        };
        cx.txn.get()?.scan(tree, KeyRange::new(low, high), options).map_err(from_engine)
    }

    /// Finds the next group; false at the end.
    fn next_group(&mut self, table: &'p Table, cx: &mut Cx<'_, 'p>) -> Result<bool> {
        cx.check_interrupt()?;
        let index = self.index()?;
        while self.at < self.outer.len() {
            let (low, high) = self.outer.get(self.at);
            let low = if self.group.is_empty() { cut(low, Cut::Start) } else { Cut::After(&self.group) };
            let mut scan = self.scan(table, (low, cut(high, Cut::End)), Direction::Forward, cx)?;
            count(Counter::HandlerReadKey);
            if let Some(entry) = scan.next(cx.txn.get()?).map_err(from_engine)? {
                cx.counts.examined += 1;
                let mut ends = Vec::new();
                table.part_ends(index, entry.key, &mut ends);
                let end = ends.get(self.plan.parts as usize - 1);
                let end = *end.ok_or_else(|| SqlError::internal("an index entry without its columns"))?;
                self.group.clear();
                self.group.extend_from_slice(&entry.key[..end]);
                return Ok(true);
            }
            self.at += 1;
            self.group.clear();
        }
        Ok(false)
    }

    /// The range with that number inside the group at hand.
    fn inside(&self, number: usize) -> Option<(Limit<'_>, Limit<'_>, Vec<u8>, Vec<u8>)> {
        let (low, high) = match &self.inner {
            None if number == 0 => (Limit::Open, Limit::Open),
            Some(inner) if number < inner.len() => inner.get(number),
            _ => return None,
        };
        let behind = |limit: Limit<'_>| {
            let mut key = self.group.clone();
            match limit {
                Limit::Open => {}
                Limit::Before(k) | Limit::After(k) => key.extend_from_slice(k),
            }
            key
        };
        Some((low, high, behind(low), behind(high)))
    }

    fn scan_inside(
        &self,
        number: usize,
        direction: Direction,
        table: &'p Table,
        cx: &mut Cx<'_, 'p>,
    ) -> Result<Option<Scan>> {
        let Some((low, high, low_key, high_key)) = self.inside(number) else { return Ok(None) };
        let low = match low {
            Limit::After(_) => Cut::After(&low_key),
            _ => Cut::Before(&low_key),
        };
        let high = match high {
            Limit::Before(_) => Cut::Before(&high_key),
            _ => Cut::After(&high_key),
        };
        self.scan(table, (low, high), direction, cx).map(Some)
    }

    /// The next row of a scan that passes the filter, and the entry's key.
    fn passing(&mut self, scan: &mut Scan, table: &'p Table, cx: &mut Cx<'_, 'p>) -> Result<Option<(Batch, Vec<u8>)>> {
        let index = self.index()?;
        let verify = scan.must_verify();
        let filter = self.reader.scan.filter.as_ref();
        while let Some(entry) = scan.next(cx.txn.get()?).map_err(from_engine)? {
            cx.counts.examined += 1;
            count(Counter::HandlerReadKey);
            if cx.counts.examined.is_multiple_of(256) {
                cx.check_interrupt()?;
            }
            let mut row = Batch::for_types(self.types);
            if table.clustered == Some(index) {
                self.reader.push_row(table, entry.key, entry.value, &mut row)?;
            } else if verify {
                let (_, row_key) = table.split_index_key(index, entry.key)?;
                let (row_key, made_by) = (row_key.to_vec(), (index, entry.key.to_vec()));
                self.reader.fetch(table, &row_key, By::Entry(Some(&made_by)), &mut row, cx)?;
            } else {
                self.reader.push_entry(table, index, entry.key, entry.value, &mut row)?;
            }
            self.reader.pad(table, &mut row, cx);
            if row.rows == 1 && filter.map_or(Ok(true), |f| eval::is_true(f, &row, 0, cx))? {
                return Ok(Some((row, entry.key.to_vec())));
            }
        }
        Ok(None)
    }

    /// The group's first (or last) row that passes the filter.
    fn end(&mut self, last: bool, table: &'p Table, cx: &mut Cx<'_, 'p>) -> Result<Option<(Batch, Vec<u8>)>> {
        let count = self.inner.as_ref().map_or(1, Bounds::len);
        let direction = if last { Direction::Backward } else { Direction::Forward };
        for i in 0..count {
            let number = if last { count - 1 - i } else { i };
            let Some(mut scan) = self.scan_inside(number, direction, table, cx)? else { break };
            if let Some(found) = self.passing(&mut scan, table, cx)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The first row behind an entry that is NULL in a column, in which it is not.
    fn known(&mut self, part: usize, key: &[u8], table: &'p Table, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        let index = self.index()?;
        let parts = table.key_parts(index);
        let mut rest = key;
        for p in &parts[..part] {
            gannet_types::key::skip(p, &mut rest)?;
        }
        let mut start = key[..key.len() - rest.len()].to_vec();
        let mut null = Vec::new();
        gannet_types::key::encode(&parts[part], ValueRef::Null, &mut null)?;
        if !rest.starts_with(&null) {
            return Ok(None);
        }
        let high = start.clone();
        start.extend_from_slice(&null);
        let mut scan = self.scan(table, (Cut::After(&start), Cut::After(&high)), Direction::Forward, cx)?;
        Ok(self.passing(&mut scan, table, cx)?.map(|(row, _)| row))
    }

    /// The rows of a group that GROUP BY and DISTINCT need.
    fn ends(
        &mut self,
        (first, last, nullable): (bool, bool, Option<u32>),
        table: &'p Table,
        batch: &mut Batch,
        cx: &mut Cx<'_, 'p>,
    ) -> Result<()> {
        if first || !last {
            let Some((row, key)) = self.end(false, table, cx)? else { return Ok(()) };
            append(batch, &row);
            if let Some(part) = nullable
                && let Some(row) = self.known(part as usize, &key, table, cx)?
            {
                append(batch, &row);
            }
        }
        if last && let Some((row, _)) = self.end(true, table, cx)? {
            append(batch, &row);
        }
        Ok(())
    }

    /// More rows of the group at hand; false when it has none.
    fn more(&mut self, table: &'p Table, batch: &mut Batch, cx: &mut Cx<'_, 'p>) -> Result<bool> {
        let Some((number, open)) = self.reading.take() else { return Ok(false) };
        let Some(mut scan) =
            open.map_or_else(|| self.scan_inside(number, Direction::Forward, table, cx), |s| Ok(Some(s)))?
        else {
            return Ok(false);
        };
        while !batch.is_full(self.rows) {
            match self.passing(&mut scan, table, cx)? {
                Some((row, _)) => append(batch, &row),
                None => {
                    self.reading = Some((number + 1, None));
                    return Ok(true);
                }
            }
        }
        self.reading = Some((number, Some(scan)));
        Ok(true)
    }
}

fn append(batch: &mut Batch, row: &Batch) {
    for (column, from) in batch.columns.iter_mut().zip(&row.columns) {
        column.push(from.get(0));
    }
    batch.rows += 1;
}

impl<'p> Operator<'p> for SkipScan<'p> {
    fn open(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        (self.at, self.rows, self.reading) = (0, FIRST_ROWS, None);
        self.group.clear();
        let (table, index, empty) = (self.table(cx), self.index()?, Batch::one_empty_row());
        let zone = &cx.shared.settings.time_zone;
        let mut eval = |expr| eval::eval(expr, &empty, 0, cx);
        encode_access(table, Some(index), &self.plan.outer, zone, &mut eval, &mut self.outer)?;
        if let Some(ranges) = &self.plan.inner {
            let bounds = self.inner.get_or_insert_default();
            encode_ranges_behind(table, index, self.plan.parts as usize, ranges, zone, &mut eval, bounds)?;
        }
        Ok(())
    }

    fn next(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        let table = self.table(cx);
        let mut batch = Batch::for_types(self.types);
        while !batch.is_full(self.rows) {
            if self.reading.is_some() {
                self.more(table, &mut batch, cx)?;
                continue;
            }
            if !self.next_group(table, cx)? {
                break;
            }
            match self.plan.take {
                SkipTake::All => self.reading = Some((0, None)),
                SkipTake::Ends { first, last, nullable } => {
                    self.ends((first, last, nullable), table, &mut batch, cx)?;
                }
            }
        }
        self.rows = (self.rows * 2).min(BATCH_ROWS);
        Ok((batch.rows > 0).then_some(batch))
    }
}

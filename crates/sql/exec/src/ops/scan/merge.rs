//! Index merge: the row keys that several indexes give are brought together in the order of the row tree, and the rows
//! read by them.
//!
//! A part whose entries all have the same values in the whole index delivers its row keys in order (the index is
//! ordered by them behind its columns); the keys of others are collected and sorted. Where they do not fit into memory
//! all rows are read instead: the filter holds the whole condition.

use super::{By, FIRST_ROWS, Reader, TreeScan, cut};
use crate::context::Operator;
use crate::{
    batch::{BATCH_ROWS, Batch},
    codec,
    context::Cx,
    error::from_engine,
    eval, long, vector,
};
use gannet_engine::{Cut, Direction, KeyRange, Scan, ScanOptions};
use gannet_plan::{
    physical::{Access, LockStrength, MergeKind, MergePart, TableScan},
    range::{Bounds, encode_access},
};
use gannet_schema::Table;
use gannet_telemetry::{Counter, count};
use gannet_types::{Result, SqlType};

/// Reads rows through several indexes.
pub(super) struct MergeScan<'p> {
    reader: Reader<'p>,
    kind: MergeKind,
    types: &'p [SqlType],
    parts: Vec<Part<'p>>,
    started: bool,
    reserved: usize,
    rows: usize,
    want: usize,
    /// All rows, when the keys do not fit into memory.
    instead: Option<Box<TreeScan<'p>>>,
}

/// One index.
struct Part<'p> {
    plan: &'p MergePart,
    bounds: Bounds,
    at: usize,
    open: Option<Scan>,
    /// Sorted row keys, last first, of a part that does not deliver them in order.
    keys: Vec<Box<[u8]>>,
    /// The least key not yet consumed.
    next: Option<Vec<u8>>,
}

/// All entries of the row tree.
const EVERYTHING: &Access = &Access::Full;

impl<'p> MergeScan<'p> {
    pub(super) fn new(scan: &'p TableScan, kind: MergeKind, parts: &'p [MergePart], types: &'p [SqlType]) -> Self {
        let part = |plan| Part { plan, bounds: Bounds::default(), at: 0, open: None, keys: Vec::new(), next: None };
        MergeScan {
            reader: Reader::new(scan),
            kind,
            types,
            parts: parts.iter().map(part).collect(),
            started: false,
            reserved: 0,
            rows: FIRST_ROWS,
            want: BATCH_ROWS,
            instead: None,
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

    /// Collects the keys of parts without order, and looks at the first of each. False: they do not fit into memory.
    fn start(&mut self, table: &'p Table, cx: &mut Cx<'_, 'p>) -> Result<bool> {
        self.started = true;
        let scan = self.reader.scan;
        for part in &mut self.parts {
            if !part.plan.ordered {
                let mut own = 0;
                let mut key = Vec::new();
                while part.read(scan, table, &mut key, cx)? {
                    let bytes = key.len() + size_of::<Box<[u8]>>() + 16;
                    cx.hold(bytes);
                    self.reserved += bytes;
                    own += bytes;
                    part.keys.push(key.as_slice().into());
                    if cx.over(own) {
                        return Ok(false);
                    }
                }
                long::over(own, || part.keys.sort_unstable_by(|a, b| b.cmp(a)));
                part.keys.dedup();
            }
            part.advance(scan, table, cx)?;
        }
        Ok(true)
    }

    fn reset(&mut self, cx: &mut Cx<'_, 'p>) {
        cx.release(std::mem::take(&mut self.reserved));
        for part in &mut self.parts {
            (part.at, part.open, part.next) = (0, None, None);
            part.keys = Vec::new();
        }
        (self.started, self.instead, self.rows) = (false, None, FIRST_ROWS);
    }

    /// The next row key that counts.
    fn next_key(&mut self, table: &'p Table, cx: &mut Cx<'_, 'p>) -> Result<Option<Vec<u8>>> {
        let scan = self.reader.scan;
        loop {
            let heads = || self.parts.iter().filter_map(|p| p.next.as_deref());
            let least = match self.kind {
                MergeKind::Union | MergeKind::SortUnion => heads().min(),
                MergeKind::Intersect if heads().count() < self.parts.len() => None,
                MergeKind::Intersect => heads().max(),
            };
            let Some(key) = least.map(<[u8]>::to_vec) else { return Ok(None) };
            let all = heads().all(|k| *k == *key);
            for part in &mut self.parts {
                // Of an intersection what lies before the greatest is in no other part.
                while part
                    .next
                    .as_ref()
                    .is_some_and(|k| *k < key || *k == key && (all || self.kind != MergeKind::Intersect))
                {
                    part.advance(scan, table, cx)?;
                }
            }
            if all || self.kind != MergeKind::Intersect {
                return Ok(Some(key));
            }
        }
    }
}

impl<'p> Part<'p> {
    /// Reads one row key of the index; false at the end.
    fn read(&mut self, scan: &TableScan, table: &'p Table, key: &mut Vec<u8>, cx: &mut Cx<'_, 'p>) -> Result<bool> {
        let index = self.plan.index as usize;
        let clustered = table.clustered == Some(index);
        loop {
            let Some(open) = &mut self.open else {
                if self.at >= self.bounds.len() {
                    return Ok(false);
                }
                cx.check_interrupt()?;
                let (low, high) = self.bounds.get(self.at);
                self.at += 1;
                let options = ScanOptions {
                    direction: Direction::Forward,
                    mode: cx.shared.settings.locks.mode(scan.lock),
                    unique_equality: matches!(self.plan.access, Access::Point { .. }),
                    sequential: false,
                    whole: false,
                    unseen: false,
                    semi_consistent: false,
                };
                let range = KeyRange::new(cut(low, Cut::Start), cut(high, Cut::End));
                let tree = if clustered {
                    codec::row_tree(table, cx.txn.get()?)?
                } else {
                    codec::index_tree(table, index, cx.txn.get()?)?
                };
                count(Counter::HandlerReadKey);
                self.open = Some(cx.txn.get()?.scan(tree, range, options).map_err(from_engine)?);
                continue;
            };
            let Some(entry) = open.next(cx.txn.get()?).map_err(from_engine)? else {
                self.open = None;
                continue;
            };
            cx.counts.examined += 1;
            count(Counter::HandlerReadNext);
            if cx.counts.examined.is_multiple_of(256) {
                cx.check_interrupt()?;
            }
            key.clear();
            key.extend_from_slice(if clustered { entry.key } else { table.split_index_key(index, entry.key)?.1 });
            return Ok(true);
        }
    }

    /// Moves to the next key.
    fn advance(&mut self, scan: &TableScan, table: &'p Table, cx: &mut Cx<'_, 'p>) -> Result<()> {
        if !self.plan.ordered {
            self.next = self.keys.pop().map(Vec::from);
            return Ok(());
        }
        let mut key = self.next.take().unwrap_or_default();
        if self.read(scan, table, &mut key, cx)? {
            self.next = Some(key);
        }
        Ok(())
    }
}

impl<'p> Operator<'p> for MergeScan<'p> {
    fn open(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        self.reset(cx);
        let table = self.table(cx);
        let empty = Batch::one_empty_row();
        for part in &mut self.parts {
            let zone = &cx.shared.settings.time_zone;
            let mut eval = |expr| eval::eval(expr, &empty, 0, cx);
            let (index, access) = (Some(part.plan.index as usize), &part.plan.access);
            encode_access(table, index, access, zone, &mut eval, &mut part.bounds)?;
        }
        Ok(())
    }

    fn want(&mut self, rows: u64) {
        if self.reader.scan.lock.strength != LockStrength::None {
            self.want = rows.clamp(1, BATCH_ROWS as u64) as usize;
        }
    }

    fn next(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        let table = self.table(cx);
        if !self.started && !self.start(table, cx)? {
            self.reset(cx);
            let mut all = Box::new(TreeScan::new(self.reader.scan, EVERYTHING, self.types));
            all.reader.part = self.reader.part;
            all.open(cx)?;
            (self.started, self.instead) = (true, Some(all));
        }
        if let Some(all) = &mut self.instead {
            return all.next(cx);
        }
        let mut batch = Batch::for_types(self.types);
        while !batch.is_full(self.rows.min(self.want)) {
            let Some(key) = self.next_key(table, cx)? else { break };
            count(Counter::HandlerReadRnd);
            self.reader.fetch(table, &key, By::Entry(None), &mut batch, cx)?;
        }
        if batch.rows == 0 {
            return Ok(None);
        }
        self.rows = (self.rows * 2).min(BATCH_ROWS);
        self.reader.pad(table, &mut batch, cx);
        let Some(filter) = &self.reader.scan.filter else { return Ok(Some(batch)) };
        let kept = vector::select(filter, &batch, cx)?;
        Ok(Some(if kept.len() == batch.rows { batch } else { batch.gather(&kept) }))
    }
}

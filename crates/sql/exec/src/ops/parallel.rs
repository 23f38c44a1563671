//! COUNT(*) of the rows of a table, or of those for which a condition holds, by several workers.
//!
//! The statement's snapshot is shared by a [`SnapshotReader`]. The tree is cut into ranges, several for each task, so
//! that one which meets rows with many versions does not keep the others waiting: they are the pieces that
//! [`share_out`] gives to tasks.

use super::scan::Reader;
use crate::batch::{BATCH_BYTES, BATCH_ROWS, Batch};
use crate::context::{BoxedOperator, Operator};
use crate::part::{share_out, stands_alone};
use crate::{codec, context::Cx, error::from_engine, vector};
use gannet_engine::{Cut, KeyRange, ReadMode, ScanOptions, SnapshotReader, TreeHandle};
use gannet_functions::AggregateKernel;
use gannet_plan::expr::{Aggregate, Expr};
use gannet_plan::physical::{Access, Op, Physical, TableScan};
use gannet_schema::Table;
use gannet_telemetry::{Counter, add, count};
use gannet_types::{Result, SqlType, Value};

/// Fewer entries than these are counted by the statement alone.
const LEAST_ROWS: u64 = 10_000;
/// Ranges for each task.
const RANGES: usize = 8;
/// Entries between two looks at whether the statement is to end.
const AT_ONCE: u64 = 256;

/// A SELECT of nothing but COUNT(*) over rows of a table that is read from end to end. Where several workers are not of
/// use, `serial` does it.
pub(super) struct ParallelCount<'p> {
    serial: BoxedOperator<'p>,
    scan: &'p TableScan,
    /// A condition without which there is nothing to count.
    once: Option<&'p Expr>,
    /// Types of the columns that the scan delivers.
    columns: &'p [SqlType],
    types: &'p [SqlType],
    state: State,
}

enum State {
    Serial,
    Counted(u64),
    Delivered,
}

/// An aggregation, by several workers where that may be of use.
pub(super) fn over<'p>(serial: BoxedOperator<'p>, node: &'p Physical) -> BoxedOperator<'p> {
    match counted(node) {
        Some((scan, once, columns)) => {
            Box::new(ParallelCount { serial, scan, once, columns, types: &node.types, state: State::Serial })
        }
        None => serial,
    }
}

/// The scan whose rows an aggregation counts, if it does nothing else but ask a condition once.
fn counted(node: &Physical) -> Option<(&TableScan, Option<&Expr>, &[SqlType])> {
    let Op::Aggregate { input, groups, carried, aggregates, groupings, .. } = &node.op else { return None };
    let (input, once) = match &input.op {
        Op::Filter { input, predicate, once: true } => (input, Some(predicate)),
        _ => (input, None),
    };
    let Op::TableScan(scan) = &input.op else { return None };
    if scan.parts.is_some() {
        return None;
    }
    let counts = |a: &Aggregate| a.def.kernel == AggregateKernel::Count && !a.distinct && a.args.is_empty();
    let one_group = groups.is_empty() && carried.is_empty() && groupings.is_empty();
    let all = matches!(scan.access, Access::Full)
        && scan.filter.as_ref().is_none_or(stands_alone)
        && scan.index_filter.is_none();
    (one_group && !aggregates.is_empty() && aggregates.iter().all(counts) && all && !input.one_by_one).then_some((
        scan,
        once,
        &input.types,
    ))
}

impl<'p> ParallelCount<'p> {
    /// The rows, by all workers the statement may use; `None`: they are not of use.
    fn count(&self, cx: &mut Cx<'_, 'p>) -> Result<Option<u64>> {
        let tasks = cx.shared.settings.parallel_workers as usize;
        let plain = cx.shared.settings.locks.mode(self.scan.lock) == ReadMode::Snapshot;
        let table = &cx.shared.plan.tables[self.scan.table as usize].table;
        let secondary = self.scan.index.map(|i| i as usize).filter(|i| Some(*i) != table.clustered);
        let txn = cx.txn.get()?;
        let delivered = secondary.is_none() || self.scan.covering || self.scan.filter.is_none();
        if tasks < 2 || !plain || !delivered {
            return Ok(None);
        }
        let tree = match secondary {
            Some(index) => codec::index_tree(table, index, txn)?,
            None => codec::row_tree(table, txn)?,
        };
        let range = KeyRange::new(Cut::Start, Cut::End);
        let estimate = txn.engine().estimate_rows(tree, range).map_err(from_engine)?;
        let Some(reader) = txn.snapshot_reader().map_err(from_engine)? else { return Ok(None) };
        if estimate.rows < LEAST_ROWS || !reader.reads(tree) {
            return Ok(None);
        }
        if let Some(once) = self.once
            && vector::select(once, &Batch::one_empty_row(), cx)?.is_empty()
        {
            return Ok(Some(0));
        }
        let cuts = reader.cuts(tree, tasks * RANGES).map_err(from_engine)?;
        let whole = Whole { reader, tree, cuts, table, scan: self.scan, columns: self.columns, secondary };
        let before = cx.counts.examined;
        let Some(counts) = share_out(tasks, whole.cuts.len() + 1, cx, |n, cx| whole.count(n, cx))? else {
            return Ok(None);
        };
        let rows = cx.counts.examined - before;
        cx.counts.no_index |= secondary.is_none();
        match secondary {
            None => add(Counter::HandlerReadRndNext, rows + 1),
            Some(_) => {
                count(Counter::HandlerReadFirst);
                add(Counter::HandlerReadNext, rows);
            }
        }
        Ok(Some(counts.iter().sum()))
    }
}

impl<'p> Operator<'p> for ParallelCount<'p> {
    fn open(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        self.state = match self.count(cx)? {
            Some(rows) => State::Counted(rows),
            None => {
                self.serial.open(cx)?;
                State::Serial
            }
        };
        Ok(())
    }

    fn want(&mut self, rows: u64) {
        self.serial.want(rows);
    }

    fn next(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        match self.state {
            State::Serial => self.serial.next(cx),
            State::Delivered => Ok(None),
            State::Counted(rows) => {
                self.state = State::Delivered;
                let mut batch = Batch::for_types(self.types);
                batch.push_values(&vec![Value::Int(rows as i64); self.types.len()]);
                Ok(Some(batch))
            }
        }
    }
}

/// What is counted.
struct Whole<'p> {
    reader: SnapshotReader,
    tree: &'p TreeHandle,
    /// Range `i` lies between cuts `i - 1` and `i`.
    cuts: Vec<Vec<u8>>,
    table: &'p Table,
    scan: &'p TableScan,
    /// Types of the columns that it delivers.
    columns: &'p [SqlType],
    /// The index whose tree it is, if it is not that of the rows.
    secondary: Option<usize>,
}

impl<'p> Whole<'p> {
    /// Counts the rows of a range, or those for which the condition holds.
    fn count(&self, range: usize, cx: &mut Cx<'_, 'p>) -> Result<u64> {
        let from = range.checked_sub(1).map_or(Cut::Start, |before| Cut::Before(&self.cuts[before]));
        let to = self.cuts.get(range).map_or(Cut::End, |cut| Cut::Before(cut));
        let options = ScanOptions { sequential: true, whole: self.secondary.is_none(), ..ScanOptions::default() };
        let mut scan = self.reader.scan(self.tree, KeyRange::new(from, to), options).map_err(from_engine)?;
        let Some(filter) = &self.scan.filter else {
            while scan.next().map_err(from_engine)?.is_some() {
                cx.counts.examined += 1;
                if cx.counts.examined.is_multiple_of(AT_ONCE) {
                    cx.check_interrupt()?;
                }
            }
            return Ok(cx.counts.examined);
        };
        let (mut rows, mut reader) = (0, Reader::new(self.scan));
        loop {
            let mut batch = Batch::for_types(self.columns);
            reader.taken = 0;
            while batch.rows < BATCH_ROWS && reader.taken <= BATCH_BYTES {
                let Some(entry) = scan.next().map_err(from_engine)? else { break };
                match self.secondary {
                    None => reader.push_row(self.table, entry.key, entry.value, &mut batch)?,
                    Some(index) => reader.push_entry(self.table, index, entry.key, entry.value, &mut batch)?,
                }
            }
            if batch.rows == 0 {
                return Ok(rows);
            }
            cx.counts.examined += batch.rows as u64;
            reader.pad(self.table, &mut batch, cx);
            rows += vector::select(filter, &batch, cx)?.len() as u64;
            cx.check_interrupt()?;
        }
    }
}

//! COUNT(*) of a table by several workers.
//!
//! The statement's snapshot is shared by a [`SnapshotReader`]. The tree is cut into ranges, several for each task, so that one which meets
//! rows with many versions does not keep the others waiting; each task takes the next range until there is none. The statement's own
//! fiber is one of the tasks; the others are fibers on the workers after its own.

use super::scan::read_mode;
use crate::context::{BoxedOperator, Operator};
use crate::{batch::Batch, codec, context::Cx, error::from_engine};
use gannet_base::sync::Arc;
use gannet_base::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use gannet_engine::{Cut, KeyRange, ReadMode, ScanOptions, SnapshotReader, TreeHandle};
use gannet_functions::AggregateKernel;
use gannet_plan::expr::Aggregate;
use gannet_plan::physical::{Access, Op, Physical, TableScan};
use gannet_telemetry::{Counter, Wait, add, count};
use gannet_types::{Result, SqlType, Value};

/// Fewer entries than these are counted by the statement alone.
const LEAST_ROWS: u64 = 10_000;
/// Ranges for each task.
const RANGES: usize = 8;
/// Entries between two looks at whether the statement is to end.
const AT_ONCE: u64 = 256;

/// A SELECT of nothing but COUNT(*) over all rows of a table. Where several workers are not of use, `serial` does it.
pub(super) struct ParallelCount<'p> {
    serial: BoxedOperator<'p>,
    scan: &'p TableScan,
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
        Some(scan) => Box::new(ParallelCount { serial, scan, types: &node.types, state: State::Serial }),
        None => serial,
    }
}

/// The scan whose rows an aggregation counts, if it does nothing else.
fn counted(node: &Physical) -> Option<&TableScan> {
    let Op::Aggregate { input, groups, carried, aggregates, groupings, .. } = &node.op else { return None };
    let Op::TableScan(scan) = &input.op else { return None };
    let counts = |a: &Aggregate| a.def.kernel == AggregateKernel::Count && !a.distinct && a.args.is_empty();
    let one_group = groups.is_empty() && carried.is_empty() && groupings.is_empty();
    let all = matches!(scan.access, Access::Full) && scan.filter.is_none() && scan.index_filter.is_none();
    (one_group && !aggregates.is_empty() && aggregates.iter().all(counts) && all && !input.one_by_one).then_some(scan)
}

impl<'p> ParallelCount<'p> {
    /// The rows, by all workers the statement may use; `None`: they are not of use.
    fn count(&self, cx: &mut Cx<'_, 'p>) -> Result<Option<u64>> {
        let tasks = cx.settings.parallel_workers as usize;
        let plain = read_mode(self.scan.lock, cx.settings.unlock_unmatched) == ReadMode::Snapshot;
        if tasks < 2 || !plain {
            return Ok(None);
        }
        let table = &cx.plan.tables[self.scan.table as usize].table;
        let secondary = self.scan.index.map(|i| i as usize).filter(|i| Some(*i) != table.clustered);
        let tree = match secondary {
            Some(index) => codec::index_tree(table, index, cx.txn)?,
            None => codec::row_tree(table, cx.txn)?,
        };
        let range = KeyRange::new(Cut::Start, Cut::End);
        let estimate = cx.txn.engine().estimate_rows(tree, range).map_err(from_engine)?;
        let Some(reader) = cx.txn.snapshot_reader().map_err(from_engine)? else { return Ok(None) };
        if estimate.rows < LEAST_ROWS || !reader.reads(tree) {
            return Ok(None);
        }
        let cuts = reader.cuts(tree, tasks * RANGES).map_err(from_engine)?;
        let work = Arc::new(Work {
            reader,
            tree: tree.clone(),
            cuts,
            next: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
        });
        let rows = work.run(tasks, cx)?;
        cx.counts.examined += rows;
        cx.counts.no_index = true;
        match secondary {
            None => add(Counter::HandlerReadRndNext, rows + 1),
            Some(_) => {
                count(Counter::HandlerReadFirst);
                add(Counter::HandlerReadNext, rows);
            }
        }
        Ok(Some(rows))
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

/// What the tasks of one count share.
struct Work {
    reader: SnapshotReader,
    tree: TreeHandle,
    /// Range `i` lies between cuts `i - 1` and `i`.
    cuts: Vec<Vec<u8>>,
    /// The next range that nobody has taken.
    next: AtomicUsize,
    /// The statement is to end.
    stop: AtomicBool,
}

impl Work {
    /// Counts with so many tasks; the current one is the first.
    fn run(self: &Arc<Self>, tasks: usize, cx: &mut Cx<'_, '_>) -> Result<u64> {
        let others: Vec<_> = (1..tasks.min(self.cuts.len() + 1))
            .map(|turn| {
                let work = self.clone();
                gannet_runtime::spawn_beside(turn, "count", move || {
                    work.ranges(|| {
                        gannet_runtime::yield_if_due();
                        Ok(())
                    })
                })
            })
            .collect();
        add(Counter::ParallelTasks, others.len() as u64);
        let mut outcome = self.ranges(|| cx.check_interrupt());
        for task in others {
            if outcome.is_err() || !task.wait(Wait::Parallel) {
                self.stop.store(true, Relaxed);
            }
            let rows = task.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            outcome = outcome.and_then(|sum| Ok(sum + rows?));
        }
        let rows = outcome?;
        // Where some were told to stop the sum is not all.
        if self.stop.load(Relaxed) { Err(gannet_types::sql_err!(QueryInterrupted)) } else { Ok(rows) }
    }

    /// Counts ranges until there is none left, or the statement is to end.
    fn ranges(&self, mut check: impl FnMut() -> Result<()>) -> Result<u64> {
        let mut rows = 0;
        loop {
            let i = self.next.fetch_add(1, Relaxed);
            if i > self.cuts.len() {
                return Ok(rows);
            }
            let from = i.checked_sub(1).map_or(Cut::Start, |before| Cut::Before(&self.cuts[before]));
            let to = self.cuts.get(i).map_or(Cut::End, |cut| Cut::Before(cut));
            let options = ScanOptions { sequential: true, ..ScanOptions::default() };
            let mut scan = self.reader.scan(&self.tree, KeyRange::new(from, to), options).map_err(from_engine)?;
            while scan.next().map_err(from_engine)?.is_some() {
                rows += 1;
                if rows % AT_ONCE == 0 {
                    check()?;
                    if self.stop.load(Relaxed) {
                        return Ok(rows);
                    }
                }
            }
        }
    }
}

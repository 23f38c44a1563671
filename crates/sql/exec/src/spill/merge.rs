//! Merging of runs that are in order.

use super::{Run, RunWriter, SpillFile};
use crate::{
    batch::{BATCH_ROWS, Batch, Column},
    context::Cx,
};
use gannet_types::{Result, ValueRef};
use std::cmp::Ordering;

/// What runs are ordered by.
pub(crate) trait MergeOrder {
    /// A batch as it is compared.
    type Loaded;
    /// Prepares a batch that was read.
    fn load(&self, batch: Batch) -> Self::Loaded;
    /// Its rows.
    fn rows<'l>(&self, loaded: &'l Self::Loaded) -> &'l Batch;
    /// Eight bytes that decide most comparisons.
    fn prefix(&self, loaded: &Self::Loaded, row: usize) -> u64;
    /// Order of two rows with equal prefixes.
    fn compare(&self, a: (&Self::Loaded, usize), b: (&Self::Loaded, usize)) -> Ordering;
}

/// By the last column, an integer that is not negative.
#[derive(Clone, Copy)]
pub(crate) struct BySequence;

impl MergeOrder for BySequence {
    type Loaded = Batch;

    fn load(&self, batch: Batch) -> Batch {
        batch
    }

    fn rows<'l>(&self, loaded: &'l Batch) -> &'l Batch {
        loaded
    }

    fn prefix(&self, loaded: &Batch, row: usize) -> u64 {
        match loaded.columns.last().map(|c| c.get(row)) {
            Some(ValueRef::Int(n)) => n as u64,
            _ => 0,
        }
    }

    fn compare(&self, _: (&Batch, usize), _: (&Batch, usize)) -> Ordering {
        Ordering::Equal
    }
}

struct Source<L> {
    run: Run,
    next: usize,
    loaded: L,
    row: usize,
    prefix: u64,
}

/// The rows of several runs in order; of equal ones those of the earlier run first. A heap of the runs by their next
/// row.
pub(crate) struct Merge<O: MergeOrder> {
    order: O,
    sources: Vec<Source<O::Loaded>>,
    heap: Vec<usize>,
}

impl<O: MergeOrder> Merge<O> {
    pub(crate) fn new(order: O, runs: Vec<Run>) -> Result<Merge<O>> {
        let mut merge = Merge { order, sources: Vec::with_capacity(runs.len()), heap: Vec::new() };
        for run in runs {
            if let Some(batch) = run.batch(0)? {
                let loaded = merge.order.load(batch);
                let prefix = merge.order.prefix(&loaded, 0);
                merge.sources.push(Source { run, next: 1, loaded, row: 0, prefix });
            }
        }
        merge.heap = (0..merge.sources.len()).collect();
        for at in (0..merge.heap.len() / 2).rev() {
            merge.sink(at);
        }
        Ok(merge)
    }

    fn before(&self, a: usize, b: usize) -> bool {
        let (x, y) = (&self.sources[a], &self.sources[b]);
        let order = x.prefix.cmp(&y.prefix);
        order.then_with(|| self.order.compare((&x.loaded, x.row), (&y.loaded, y.row))).then(a.cmp(&b)).is_lt()
    }

    fn sink(&mut self, mut at: usize) {
        loop {
            let mut least = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.heap.len() && self.before(self.heap[child], self.heap[least]) {
                    least = child;
                }
            }
            if least == at {
                return;
            }
            self.heap.swap(at, least);
            at = least;
        }
    }

    /// Goes on to the next row of the run that is first.
    fn advance(&mut self) -> Result<()> {
        let Some(&first) = self.heap.first() else { return Ok(()) };
        let source = &mut self.sources[first];
        source.row += 1;
        if source.row == self.order.rows(&source.loaded).rows {
            match source.run.batch(source.next)? {
                Some(batch) => {
                    source.loaded = self.order.load(batch);
                    (source.row, source.next) = (0, source.next + 1);
                }
                None => {
                    self.heap.swap_remove(0);
                    self.sink(0);
                    return Ok(());
                }
            }
        }
        source.prefix = self.order.prefix(&source.loaded, source.row);
        self.sink(0);
        Ok(())
    }

    /// The next rows, at most `limit`, with their first `width` columns; `None` at the end.
    pub(crate) fn next(&mut self, width: usize, limit: usize, cx: &mut Cx<'_, '_>) -> Result<Option<Batch>> {
        cx.check_interrupt()?;
        let Some(&first) = self.heap.first() else { return Ok(None) };
        let columns = self.order.rows(&self.sources[first].loaded).columns.iter().take(width);
        let mut out = Batch { rows: 0, columns: columns.map(Column::same_kind).collect() };
        while !out.is_full(limit) {
            let Some(&first) = self.heap.first() else { break };
            let source = &self.sources[first];
            out.push_row(self.order.rows(&source.loaded), source.row);
            self.advance()?;
        }
        Ok(Some(out))
    }
}

/// Runs that are merged at once.
const FAN_IN: usize = 64;

/// Merges neighbours until there are few enough to be merged at once. `limit`: no more rows are wanted.
pub(crate) fn reduce<O: MergeOrder + Copy>(
    order: O,
    mut runs: Vec<Run>,
    limit: u64,
    cx: &mut Cx<'_, '_>,
) -> Result<Vec<Run>> {
    while runs.len() > FAN_IN {
        let file = SpillFile::create(&cx.temp_space()?)?;
        let mut left = runs.into_iter().peekable();
        let mut merged = Vec::new();
        while left.peek().is_some() {
            gannet_telemetry::count(gannet_telemetry::Counter::SortMergePasses);
            let mut merge = Merge::new(order, left.by_ref().take(FAN_IN).collect())?;
            let mut out = RunWriter::new(&file);
            while out.rows() < limit
                && let Some(batch) = merge.next(usize::MAX, BATCH_ROWS, cx)?
            {
                out.write(&batch)?;
            }
            merged.push(out.finish()?);
        }
        runs = merged;
    }
    Ok(runs)
}

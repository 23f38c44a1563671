//! Sort, with and without a limit. What memory does not hold is sorted in pieces on disk, which are merged.

use super::rows::limit_value;
use crate::context::{BoxedOperator, Operator};
use crate::{
    batch::{BATCH_ROWS, Batch},
    context::Cx,
    eval::eval,
    long,
    order::{Keyed, RowOrder},
    spill::{Merge, MergeOrder, Run, RunWriter, SpillFile, chunk_rows, reduce},
};
use gannet_plan::{
    expr::{Expr, SortKey},
    physical::TopN,
};
use gannet_telemetry::{Counter, add, count};
use gannet_types::{Result, SqlType};
use std::{cmp::Ordering, rc::Rc};

/// Sorted rows.
pub struct Sort<'p> {
    input: BoxedOperator<'p>,
    order: RowOrder<'p>,
    limit: Option<&'p TopN>,
    types: &'p [SqlType],
    rows: Vec<Keyed>,
    /// The rows in order, once sorted.
    sorted: Vec<Entry>,
    at: usize,
    /// With a limit: the last of as many rows as are wanted. No row that comes later and is not before it is needed.
    last: Option<Entry>,
    reserved: usize,
    /// Sorted pieces on disk, in order of arrival.
    runs: Vec<Run>,
    file: Option<Rc<SpillFile>>,
    merge: Option<Merge<Saved<'p>>>,
    /// The rows in `sorted` are those wanted, and nobody has asked for their order so far.
    unsorted: bool,
    /// Rows to deliver.
    left: u64,
    /// The sorted rows come from a range, for the statistics.
    ranged: bool,
    /// The query of the search below, and the one whose ranks are the order: if they are the same, rows come in it.
    ranked: Option<(&'p Expr, &'p Expr)>,
}

/// A row: what orders it against most others, its place among the batches.
#[derive(Clone, Copy)]
struct Entry {
    prefix: u64,
    batch: u32,
    row: u32,
}

/// Rows sorted without a look at interruptions: some milliseconds.
const SORT_PIECE: usize = 16 << 10;
/// Rows of fewer bytes are compared in no time.
const LONG_ROW: usize = 1 << 10;

/// Appends two sorted pieces as one; of equal rows the left ones first.
fn merge(
    mut left: &[Entry],
    mut right: &[Entry],
    out: &mut Vec<Entry>,
    compare: impl Fn(&Entry, &Entry) -> Ordering,
    cx: &mut Cx<'_, '_>,
) -> Result<()> {
    while let (Some((a, more_left)), Some((b, more_right))) = (left.split_first(), right.split_first()) {
        if compare(a, b).is_le() {
            out.push(*a);
            left = more_left;
        } else {
            out.push(*b);
            right = more_right;
        }
        if out.len().is_multiple_of(4096) {
            cx.check_interrupt()?;
        }
    }
    out.extend_from_slice(left);
    out.extend_from_slice(right);
    Ok(())
}

/// The order of rows that were written with their keys.
#[derive(Clone, Copy)]
struct Saved<'p> {
    order: RowOrder<'p>,
    width: usize,
}

impl MergeOrder for Saved<'_> {
    type Loaded = Keyed;

    fn load(&self, batch: Batch) -> Keyed {
        self.order.keyed_again(batch, self.width)
    }

    fn rows<'l>(&self, loaded: &'l Keyed) -> &'l Batch {
        &loaded.rows
    }

    fn prefix(&self, loaded: &Keyed, row: usize) -> u64 {
        self.order.prefix(loaded, row)
    }

    fn compare(&self, a: (&Keyed, usize), b: (&Keyed, usize)) -> Ordering {
        self.order.compare(a, b)
    }
}

impl<'p> Sort<'p> {
    pub fn new(
        (input, ranged): (BoxedOperator<'p>, bool),
        keys: &'p [SortKey],
        limit: Option<&'p TopN>,
        types: &'p [SqlType],
    ) -> Self {
        Sort {
            input,
            ranged,
            ranked: None,
            order: RowOrder::new(keys),
            limit,
            types,
            rows: Vec::new(),
            sorted: Vec::new(),
            at: 0,
            last: None,
            reserved: 0,
            runs: Vec::new(),
            file: None,
            merge: None,
            unsorted: false,
            left: 0,
        }
    }

    /// With the two queries of [`super::scan::ranked`].
    pub fn with_ranks(self, ranked: Option<(&'p Expr, &'p Expr)>) -> Self {
        Sort { ranked, ..self }
    }

    /// The rows come in the order wanted.
    fn comes_sorted(&self, cx: &mut Cx<'_, 'p>) -> Result<bool> {
        let Some((one, other)) = self.ranked else { return Ok(false) };
        let empty = Batch::one_empty_row();
        Ok(eval(one, &empty, 0, cx)? == eval(other, &empty, 0, cx)?)
    }

    fn reset(&mut self, cx: &mut Cx<'_, 'p>) {
        cx.release(std::mem::take(&mut self.reserved));
        self.rows.clear();
        self.sorted.clear();
        (self.at, self.last) = (0, None);
        self.runs.clear();
        (self.file, self.merge, self.unsorted) = (None, None, false);
    }

    /// Sorts from a row on, piece by piece, and merges the pieces, so that a KILL is seen in between. Rows with equal
    /// keys keep their order of arrival.
    fn sort(&mut self, from: usize, cx: &mut Cx<'_, 'p>) -> Result<()> {
        let (order, rows) = (self.order, &self.rows);
        let place = |e: &Entry| (&rows[e.batch as usize], e.row as usize);
        let compare = |a: &Entry, b: &Entry| a.prefix.cmp(&b.prefix).then_with(|| order.compare(place(a), place(b)));
        // Comparing rows of long values takes as long as they are.
        let each = self.reserved / self.sorted.len().max(1);
        let each = if each < LONG_ROW { 0 } else { each };
        for piece in self.sorted[from..].chunks_mut(SORT_PIECE) {
            long::over(each * piece.len(), || piece.sort_by(compare));
            cx.check_interrupt()?;
        }
        let len = self.sorted.len() - from;
        let (mut width, mut merged) = (SORT_PIECE, Vec::new());
        while width < len {
            merged.reserve_exact(from + len);
            merged.extend_from_slice(&self.sorted[..from]);
            for pair in self.sorted[from..].chunks(2 * width) {
                let (left, right) = pair.split_at(width.min(pair.len()));
                merge(left, right, &mut merged, compare, cx)?;
            }
            std::mem::swap(&mut self.sorted, &mut merged);
            merged.clear();
            width *= 2;
        }
        Ok(())
    }

    /// Brings the first `wanted` rows before all others, in no order: what a limit or an offset needs takes no sort.
    fn divide(&mut self, wanted: usize, cx: &mut Cx<'_, 'p>) -> Result<()> {
        if wanted == 0 || wanted >= self.sorted.len() {
            return Ok(());
        }
        let (order, rows) = (self.order, &self.rows);
        let place = |e: &Entry| (&rows[e.batch as usize], e.row as usize);
        // Of rows with equal keys the first to arrive come first.
        let compare = |a: &Entry, b: &Entry| {
            let keys = a.prefix.cmp(&b.prefix).then_with(|| order.compare(place(a), place(b)));
            keys.then_with(|| (a.batch, a.row).cmp(&(b.batch, b.row)))
        };
        let sorted = &mut self.sorted;
        long::over(self.reserved, || sorted.select_nth_unstable_by(wanted - 1, compare));
        cx.check_interrupt()
    }

    /// Keeps the first `wanted` rows only, so that a top-N never holds more than twice that and a batch.
    fn shrink(&mut self, wanted: usize, cx: &mut Cx<'_, 'p>) -> Result<()> {
        self.divide(wanted, cx)?;
        self.sorted.truncate(wanted);
        let last = self.sorted.last().map(|e| (e.batch, e.row));
        self.sorted.sort_unstable_by_key(|e| (e.batch, e.row));
        let places = self.sorted.iter().map(|e| (&self.rows[e.batch as usize], e.row as usize));
        let kept = self.order.gather(self.types, places);
        self.last = None;
        for (i, entry) in self.sorted.iter_mut().enumerate() {
            let is_last = Some((entry.batch, entry.row)) == last;
            (entry.batch, entry.row) = (0, i as u32);
            if is_last {
                self.last = Some(*entry);
            }
        }
        cx.release(std::mem::take(&mut self.reserved));
        self.take_memory(kept.memory_bytes() + self.sorted.len() * size_of::<Entry>(), cx);
        self.rows = vec![kept];
        Ok(())
    }

    fn take_memory(&mut self, bytes: usize, cx: &mut Cx<'_, 'p>) {
        cx.hold(bytes);
        self.reserved += bytes;
    }

    fn take_batch(&mut self, batch: Batch, cx: &mut Cx<'_, 'p>) -> Result<()> {
        cx.begin_computing();
        let mut rows = self.order.keyed(batch, cx)?;
        let mut prefixes = self.order.prefixes(&rows);
        if let Some(last) = self.last {
            let kept = &self.rows[last.batch as usize];
            let before = |row: &usize| {
                let order = prefixes[*row].cmp(&last.prefix);
                order.then_with(|| self.order.compare((&rows, *row), (kept, last.row as usize))).is_lt()
            };
            let wanted: Vec<usize> = (0..rows.rows.rows).filter(before).collect();
            if wanted.len() < rows.rows.rows {
                rows = self.order.gather(self.types, wanted.iter().map(|row| (&rows, *row)));
                prefixes = wanted.iter().map(|row| prefixes[*row]).collect();
            }
        }
        let count = rows.rows.rows;
        if count == 0 {
            return Ok(());
        }
        let bytes = rows.memory_bytes() + count * size_of::<Entry>();
        let joined = self.rows.last().filter(|last| last.rows.has_room_for(&rows.rows)).map(|last| last.rows.rows);
        let number = (self.rows.len() - usize::from(joined.is_some())) as u32;
        let first = joined.unwrap_or(0);
        let entry = |(row, prefix)| Entry { prefix, batch: number, row: (first + row) as u32 };
        self.sorted.extend(prefixes.into_iter().enumerate().map(entry));
        match self.rows.last_mut() {
            Some(last) if joined.is_some() => (0..count).for_each(|row| last.push(&rows, row)),
            _ => self.rows.push(rows),
        }
        self.take_memory(bytes, cx);
        Ok(())
    }

    /// Writes the rows that are here, sorted, with their keys.
    fn spill(&mut self, wanted: Option<usize>, cx: &mut Cx<'_, 'p>) -> Result<()> {
        self.sort(0, cx)?;
        if let Some(wanted) = wanted {
            self.sorted.truncate(wanted);
        }
        let file = match &self.file {
            Some(file) => file.clone(),
            None => self.file.insert(SpillFile::create(&cx.temp_space()?)?).clone(),
        };
        let mut writer = RunWriter::new(&file);
        let step = chunk_rows(self.reserved, self.sorted.len());
        for entries in self.sorted.chunks(step) {
            cx.check_interrupt()?;
            let places = entries.iter().map(|e| (&self.rows[e.batch as usize], e.row as usize));
            writer.write(&self.order.gather(self.types, places).into_batch())?;
        }
        self.runs.push(writer.finish()?);
        self.rows.clear();
        self.sorted.clear();
        self.last = None;
        cx.release(std::mem::take(&mut self.reserved));
        Ok(())
    }
}

impl<'p> Operator<'p> for Sort<'p> {
    fn open(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        self.reset(cx);
        let wanted = match self.limit {
            Some(top) => {
                let offset = limit_value(top.offset.as_ref(), 0, cx)?;
                Some(limit_value(Some(&top.limit), u64::MAX, cx)?.saturating_add(offset))
            }
            None => None,
        };
        self.left = wanted.unwrap_or(u64::MAX);
        let wanted = wanted.and_then(|n| usize::try_from(n).ok());
        let sorted = self.comes_sorted(cx)?;
        self.input.open(cx)?;
        let mut taken = 0;
        while let Some(batch) = self.input.next(cx)? {
            cx.check_interrupt()?;
            if batch.rows == 0 {
                continue;
            }
            taken += batch.rows as u64;
            self.take_batch(batch, cx)?;
            if let Some(wanted) = wanted
                && self.sorted.len() > wanted.saturating_mul(2).max(BATCH_ROWS)
            {
                self.shrink(wanted, cx)?;
            }
            if cx.over(self.reserved) {
                self.spill(wanted, cx)?;
            }
            if sorted && wanted.is_some_and(|wanted| self.sorted.len() >= wanted) {
                break;
            }
        }
        add(Counter::SortRows, taken.min(self.left));
        count(if self.ranged { Counter::SortRange } else { Counter::SortScan });
        if self.runs.is_empty() {
            if let Some(wanted) = wanted {
                self.divide(wanted, cx)?;
                self.sorted.truncate(wanted);
            }
            self.unsorted = true;
            return Ok(());
        }
        if !self.sorted.is_empty() {
            self.spill(wanted, cx)?;
        }
        count(Counter::SortMergePasses);
        let order = Saved { order: self.order, width: self.types.len() };
        let runs = reduce(order, std::mem::take(&mut self.runs), self.left, cx)?;
        self.merge = Some(Merge::new(order, runs)?);
        Ok(())
    }

    fn skip(&mut self, rows: u64, cx: &mut Cx<'_, 'p>) -> Result<u64> {
        let here = if self.merge.is_some() { 0 } else { self.sorted.len() - self.at };
        let skipped = here.min(usize::try_from(rows).unwrap_or(usize::MAX));
        self.at += skipped;
        if self.unsorted {
            self.divide(self.at, cx)?;
        }
        Ok(skipped as u64)
    }

    fn next(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        if let Some(merge) = &mut self.merge {
            let rows = usize::try_from(self.left).unwrap_or(usize::MAX).min(BATCH_ROWS);
            let batch = if rows > 0 { merge.next(self.types.len(), rows, cx)? } else { None };
            match &batch {
                Some(batch) => self.left -= batch.rows as u64,
                None => self.reset(cx),
            }
            return Ok(batch);
        }
        // What was skipped needs no order.
        if std::mem::take(&mut self.unsorted) {
            self.sort(self.at, cx)?;
        }
        if self.at == self.sorted.len() {
            self.reset(cx);
            return Ok(None);
        }
        let end = (self.at + BATCH_ROWS).min(self.sorted.len());
        let mut out = Batch::for_types(self.types);
        out.rows = end - self.at;
        for (n, column) in out.columns.iter_mut().enumerate() {
            column.reserve(end - self.at);
            for entry in &self.sorted[self.at..end] {
                column.push_from(&self.rows[entry.batch as usize].rows.columns[n], entry.row as usize);
            }
        }
        self.at = end;
        Ok(Some(out))
    }
}

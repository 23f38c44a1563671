//! Window functions over input sorted by partition and order.
//!
//! Whole partitions are kept ([`Rows`]) and computed at once. An aggregate whose frame only grows (from the partition's
//! start, or seen backward from its end) takes every row once. A frame that slides takes rows in and out where the
//! aggregate can (COUNT, exact SUM and AVG) and keeps a queue of candidates for MIN and MAX. For aggregates that cannot
//! take rows out but can be joined (SUM and AVG of DOUBLE, variances, bits) a short frame is computed anew, as MySQL
//! does; a long one as two stacks: see [`Sliding`].

use super::rows::number_of_rows;
use super::window_rows::Rows;
use crate::context::{BoxedOperator, Operator};
use crate::{
    batch::{Batch, Column},
    compare,
    context::Cx,
    convert,
    order::{RowOrder, compare_values},
    vector,
};
use gannet_functions::{Accumulator, AggregateKernel, Call, Part};
use gannet_plan::{
    expr::{Comparison, Expr},
    physical::{Frame, FrameBound, FrameUnit, Window as Definition, WindowFunction, WindowKind},
};
use gannet_types::{ErrorCode, Result, SqlType, Value, ValueRef, sql_err};
use std::{cell::Cell, cmp::Ordering, collections::VecDeque, ops::Range};

/// Input rows, each with its window functions' values.
pub struct Window<'p> {
    input: BoxedOperator<'p>,
    definition: &'p Definition,
    types: &'p [SqlType],
    /// Rows that were read beyond the partitions in work.
    ahead: Option<Batch>,
    /// The partitions in work, and their functions' values.
    rows: Rows<'p>,
    values: Vec<Column>,
    at: usize,
    reserved: usize,
}

/// One partition: rows with equal values of PARTITION BY.
struct Partition<'r, 'p> {
    rows: &'r Rows<'p>,
    range: Range<usize>,
    definition: &'p Definition,
    /// For each row of the partition: its peers, rows that ORDER BY does not tell apart.
    peers: Peers,
    /// `n PRECEDING`, `n FOLLOWING` of ROWS: the n.
    offsets: [usize; 2],
    /// Bytes of long results: not counted yet, and counted.
    long: Cell<[usize; 2]>,
}

/// Long results are counted when there are so many bytes of them.
const COUNTED_AT: usize = 1 << 20;

/// Runs of equal rows.
struct Peers {
    /// Ends of the runs.
    ends: Vec<usize>,
    start: usize,
}

impl Peers {
    fn of(&self, i: usize) -> Range<usize> {
        let run = self.ends.partition_point(|end| *end <= i);
        let start = run.checked_sub(1).map_or(self.start, |before| self.ends[before]);
        start..self.ends.get(run).copied().unwrap_or(i + 1)
    }
}

impl<'p> Window<'p> {
    pub fn new(input: BoxedOperator<'p>, definition: &'p Definition, types: &'p [SqlType]) -> Self {
        let rows = Rows::new(definition);
        Window { input, definition, types, ahead: None, rows, values: Vec::new(), at: 0, reserved: 0 }
    }

    fn reset(&mut self, cx: &mut Cx<'_, 'p>) {
        cx.release(std::mem::take(&mut self.reserved));
        self.rows.clear(cx);
        self.values.clear();
        self.at = 0;
    }

    /// Takes whole partitions of the input, at least one; their ranges.
    fn gather(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Vec<Range<usize>>> {
        let by = &self.definition.partition;
        let mut ranges = Vec::new();
        let mut start = 0;
        let mut last: Vec<Value> = Vec::new();
        loop {
            let batch = match self.ahead.take() {
                Some(batch) => Some(batch),
                None => self.input.next(cx)?,
            };
            cx.check_interrupt()?;
            let Some(batch) = batch else { break };
            if batch.rows == 0 {
                continue;
            }
            let keys = by.iter().map(|e| vector::eval(e, &batch, cx)).collect::<Result<Vec<_>>>()?;
            let before = self.rows.len();
            let mut complete = None;
            for row in 0..batch.rows {
                let same = |n: usize, key: &Column| {
                    let earlier = if row == 0 { last[n].as_ref() } else { key.get(row - 1) };
                    compare_values(earlier, key.get(row), &by[n].ty).is_eq()
                };
                if before + row > 0 && !keys.iter().enumerate().all(|(n, key)| same(n, key)) {
                    ranges.push(start..before + row);
                    start = before + row;
                    complete = Some(row);
                }
            }
            if let Some(complete) = complete {
                if complete > 0 {
                    self.rows.push(batch.slice(0, complete), cx)?;
                }
                self.ahead = Some(batch.slice(complete, batch.rows));
                break;
            }
            last = keys.iter().map(|key| key.get(batch.rows - 1).to_owned()).collect();
            self.rows.push(batch, cx)?;
        }
        self.rows.seal()?;
        if start < self.rows.len() {
            ranges.push(start..self.rows.len());
        }
        Ok(ranges)
    }

    /// Computes the next partitions; false at the end.
    fn compute(&mut self, cx: &mut Cx<'_, 'p>) -> Result<bool> {
        self.reset(cx);
        let ranges = self.gather(cx)?;
        if ranges.is_empty() {
            return Ok(false);
        }
        let (definition, rows) = (self.definition, &self.rows);
        let order = RowOrder::new(&definition.order);
        let frame = &definition.frame;
        let offsets = [offset(&frame.start, frame, rows, cx)?, offset(&frame.end, frame, rows, cx)?];
        let own = self.types.len() - definition.functions.len();
        let mut values: Vec<Column> = self.types[own..].iter().map(Column::for_type).collect();
        for range in ranges {
            let peers = peers(rows, range.clone(), order, cx)?;
            let held = peers.ends.len() * size_of::<usize>();
            cx.reserve(held)?;
            let partition = Partition { rows, range, definition, peers, offsets, long: Cell::default() };
            for (n, (function, values)) in definition.functions.iter().zip(&mut values).enumerate() {
                let before = values.memory_bytes();
                partition.compute(n, function, values, cx)?;
                let more = values.memory_bytes() - before;
                let [_, counted] = partition.long.take();
                self.reserved += more.max(counted);
                cx.reserve(more.saturating_sub(counted))?;
            }
            cx.release(held);
            cx.check_interrupt()?;
        }
        // As a column of a table has them.
        values.iter_mut().zip(&definition.functions).for_each(|(column, f)| column.settle(&f.ty));
        self.values = values;
        Ok(true)
    }
}

/// The runs of rows in a partition that ORDER BY does not tell apart.
fn peers<'p>(rows: &Rows<'p>, range: Range<usize>, order: RowOrder<'p>, cx: &mut Cx<'_, 'p>) -> Result<Peers> {
    let mut ends = Vec::new();
    let mut before = rows.place(range.start)?;
    for i in range.start + 1..range.end {
        let here =
            if before.1 + 1 < before.0.keyed.rows.rows { (before.0.clone(), before.1 + 1) } else { rows.place(i)? };
        if order.compare((&before.0.keyed, before.1), (&here.0.keyed, here.1)).is_ne() {
            ends.push(i);
        }
        before = here;
        if i % 4096 == 0 {
            cx.check_interrupt()?;
        }
    }
    ends.push(range.end);
    Ok(Peers { ends, start: range.start })
}

/// The n of `ROWS n PRECEDING`; 0 for other bounds.
fn offset<'p>(bound: &'p FrameBound, frame: &Frame, rows: &Rows<'p>, cx: &mut Cx<'_, 'p>) -> Result<usize> {
    let (FrameUnit::Rows, FrameBound::Preceding(e) | FrameBound::Following(e)) = (frame.unit, bound) else {
        return Ok(0);
    };
    match number_of_rows(rows.eval(e, 0, cx)?.as_ref()) {
        Some(n) => Ok(usize::try_from(n).unwrap_or(usize::MAX)),
        None => Err(sql_err!(WindowFrameIllegal, "<unnamed window>")),
    }
}

impl<'p> Partition<'_, 'p> {
    /// Rows of the frame of row `i`.
    fn frame(&self, i: usize, cx: &mut Cx<'_, 'p>) -> Result<Range<usize>> {
        let frame = &self.definition.frame;
        let all = &self.range;
        let peers = self.peers.of(i);
        let rows = frame.unit == FrameUnit::Rows;
        let start = match &frame.start {
            FrameBound::UnboundedPreceding => all.start,
            FrameBound::CurrentRow if rows => i,
            FrameBound::CurrentRow => peers.start,
            FrameBound::Preceding(_) if rows => i.saturating_sub(self.offsets[0]).max(all.start),
            FrameBound::Following(_) if rows => i.saturating_add(self.offsets[0]).min(all.end),
            FrameBound::Preceding(e) => self.bound(e, i, Ordering::Less, true, cx)?,
            FrameBound::Following(e) => self.bound(e, i, Ordering::Less, false, cx)?,
            FrameBound::UnboundedFollowing => all.end,
        };
        let end = match &frame.end {
            FrameBound::UnboundedFollowing => all.end,
            FrameBound::CurrentRow if rows => i + 1,
            FrameBound::CurrentRow => peers.end,
            FrameBound::Preceding(_) if rows => {
                (i + 1).checked_sub(self.offsets[1]).unwrap_or(all.start).max(all.start)
            }
            FrameBound::Following(_) if rows => (i + 1).saturating_add(self.offsets[1]).min(all.end),
            FrameBound::Preceding(e) => self.bound(e, i, Ordering::Equal, true, cx)?,
            FrameBound::Following(e) => self.bound(e, i, Ordering::Equal, false, cx)?,
            FrameBound::UnboundedPreceding => all.start,
        };
        Ok(start..end.max(start))
    }

    /// The first row of the partition whose key is beyond the bound of a RANGE frame: `last` Less skips the keys before
    /// it, Equal those at it too. A row without a key has its peers as frame.
    fn bound(&self, bound: &'p Expr, i: usize, last: Ordering, preceding: bool, cx: &mut Cx<'_, 'p>) -> Result<usize> {
        let peers = self.peers.of(i);
        let key = &self.definition.order[0];
        if self.rows.key(i)?.is_null() {
            return Ok(if last == Ordering::Less { peers.start } else { peers.end });
        }
        let value = match self.rows.eval(bound, i, cx) {
            Ok(value) => value,
            // Beyond what the type holds: before or behind every key.
            Err(e) if e.code() == ErrorCode::DataOutOfRange => Value::Null,
            Err(e) => return Err(e),
        };
        let (mut low, mut high) = (self.range.start, self.range.end);
        while low < high {
            let middle = (low + high) / 2;
            let key_there = self.rows.key(middle)?;
            let place = match (key_there.as_ref(), value.as_ref()) {
                (ValueRef::Null, _) if key.descending => Ordering::Greater,
                (ValueRef::Null, _) => Ordering::Less,
                (_, ValueRef::Null) if preceding => Ordering::Greater,
                (_, ValueRef::Null) => Ordering::Less,
                (a, b) => {
                    let order = compare_keys(a, b, cx)?;
                    if key.descending { order.reverse() } else { order }
                }
            };
            if place == Ordering::Less || (place == Ordering::Equal && last == Ordering::Equal) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// Appends the function's value of every row of the partition.
    fn compute(&self, n: usize, f: &'p WindowFunction, out: &mut Column, cx: &mut Cx<'_, 'p>) -> Result<()> {
        let count = self.range.len();
        let rank = |i: usize| self.peers.of(i).start - self.range.start + 1;
        match &f.kind {
            WindowKind::RowNumber => (1..=count).for_each(|k| out.push_value(Value::UInt(k as u64))),
            WindowKind::Rank => self.range.clone().for_each(|i| out.push_value(Value::UInt(rank(i) as u64))),
            WindowKind::DenseRank => {
                let mut dense = 0;
                for i in self.range.clone() {
                    dense += u64::from(self.peers.of(i).start == i);
                    out.push_value(Value::UInt(dense));
                }
            }
            WindowKind::PercentRank => {
                let others = (count.max(2) - 1) as f64;
                self.range.clone().for_each(|i| out.push_value(Value::Double((rank(i) - 1) as f64 / others)));
            }
            WindowKind::CumeDist => {
                let upto = |i: usize| self.peers.of(i).end - self.range.start;
                self.range.clone().for_each(|i| out.push_value(Value::Double(upto(i) as f64 / count as f64)));
            }
            WindowKind::Ntile => self.ntile(n, out)?,
            WindowKind::Lag | WindowKind::Lead => {
                for i in self.range.clone() {
                    let value = self.neighbour(n, f, i)?;
                    let value = convert::cast_common(value, &f.ty, cx)?;
                    self.put(out, value, cx)?;
                    self.pause(i, cx)?;
                }
            }
            WindowKind::FirstValue | WindowKind::LastValue | WindowKind::NthValue => {
                for i in self.range.clone() {
                    let frame = self.frame(i, cx)?;
                    let at = match f.kind {
                        WindowKind::FirstValue => Some(frame.start),
                        WindowKind::LastValue => frame.end.checked_sub(1),
                        _ => match positive(self.rows.arg(n, 1, i)?.as_ref()) {
                            Some(nth) => frame.start.checked_add(nth - 1),
                            None => return Err(sql_err!(WrongArguments, "nth_value")),
                        },
                    };
                    let found = at.filter(|at| frame.contains(at));
                    self.put(out, found.map_or(Ok(Value::Null), |at| self.rows.arg(n, 0, at))?, cx)?;
                    self.pause(i, cx)?;
                }
            }
            WindowKind::Aggregate(def) => {
                let args: Vec<SqlType> = f.args.iter().map(|e| e.ty.clone()).collect();
                let fresh = || match def.kernel {
                    AggregateKernel::Count => None,
                    _ => Some((def.start)(Call { ty: &f.ty, args: &args, site: 0 })),
                };
                self.aggregate(n, &fresh, def.kernel, out, cx)?;
            }
        }
        Ok(())
    }

    fn ntile(&self, n: usize, out: &mut Column) -> Result<()> {
        let count = self.range.len();
        let first = self.rows.arg(n, 0, self.range.start)?;
        let buckets = positive(first.as_ref()).ok_or_else(|| sql_err!(WrongArguments, "ntile"))?;
        let (size, larger) = (count / buckets, count % buckets);
        let in_larger = larger * (size + 1);
        for k in 0..count {
            let bucket = if k < in_larger { k / (size + 1) } else { larger + (k - in_larger) / size.max(1) };
            out.push_value(Value::UInt(bucket as u64 + 1));
        }
        Ok(())
    }

    /// LAG and LEAD.
    fn neighbour(&self, n: usize, f: &WindowFunction, i: usize) -> Result<Value> {
        let lag = f.kind == WindowKind::Lag;
        let distance = match f.args.len() {
            1 => 1,
            _ => match number_of_rows(self.rows.arg(n, 1, i)?.as_ref()) {
                Some(d) => usize::try_from(d).unwrap_or(usize::MAX),
                None => return Err(sql_err!(WrongArguments, if lag { "lag" } else { "lead" })),
            },
        };
        let at = if lag { i.checked_sub(distance) } else { i.checked_add(distance) };
        Ok(match at.filter(|at| self.range.contains(at)) {
            Some(at) => self.rows.arg(n, 0, at)?,
            None if f.args.len() == 3 => self.rows.arg(n, 2, i)?,
            None => Value::Null,
        })
    }

    fn aggregate(
        &self,
        n: usize,
        fresh: &dyn Fn() -> Option<Box<dyn Accumulator>>,
        kernel: AggregateKernel,
        out: &mut Column,
        cx: &mut Cx<'_, 'p>,
    ) -> Result<()> {
        // The order in which rows are taken does not matter to the aggregates that have a kernel.
        let unordered = kernel != AggregateKernel::General;
        let extreme = match kernel {
            AggregateKernel::Min => Some(Ordering::Less),
            AggregateKernel::Max => Some(Ordering::Greater),
            _ => None,
        };
        let frame = &self.definition.frame;
        let backward =
            unordered && frame.end == FrameBound::UnboundedFollowing && frame.start != FrameBound::UnboundedPreceding;
        let slides = frame.start != FrameBound::UnboundedPreceding && !backward;
        if let (Some(wanted), true) = (extreme, slides) {
            return self.sliding_extreme(n, wanted, out, cx);
        }
        if slides
            && let Some(state) = fresh()
            && state.part().is_some()
        {
            return self.sliding_parts(n, fresh, out, cx);
        }
        let mut reversed = Vec::new();
        let mut taken = self.range.start..self.range.start;
        let mut state = State::new(fresh());
        let mut value = None;
        for k in 0..self.range.len() {
            let i = if backward { self.range.end - 1 - k } else { self.range.start + k };
            let wanted = self.frame(i, cx)?;
            if wanted != taken || value.is_none() {
                let grows = match (taken.is_empty(), backward) {
                    (true, _) => false,
                    (_, false) => wanted.start == taken.start && wanted.end >= taken.end,
                    (_, true) => wanted.end == taken.end && wanted.start <= taken.start,
                };
                let moved = !backward && taken.contains(&wanted.start) && wanted.end >= taken.end;
                let moved = grows || moved && state.remove_all(self.rows, n, taken.start..wanted.start, cx)?;
                let new = match (moved, backward) {
                    (true, false) => taken.end..wanted.end,
                    (true, true) => wanted.start..taken.start,
                    (false, _) => {
                        std::mem::replace(&mut state, State::new(fresh())).free(cx);
                        wanted.clone()
                    }
                };
                for row in new {
                    state.add(self.rows, n, row, cx)?;
                }
                cx.check_interrupt()?;
                taken = wanted;
                value = Some(state.value(cx)?);
            }
            let value = value.clone().unwrap_or(Value::Null);
            self.count(value.long_bytes(), cx)?;
            if backward {
                reversed.push(value)
            } else {
                out.push_value(value)
            }
            self.pause(k, cx)?;
        }
        state.free(cx);
        reversed.into_iter().rev().for_each(|v| out.push_value(v));
        Ok(())
    }

    /// Adds a row's result.
    fn put(&self, out: &mut Column, value: Value, cx: &mut Cx<'_, 'p>) -> Result<()> {
        self.count(value.long_bytes(), cx)?;
        out.push_value(value);
        Ok(())
    }

    /// Counts bytes of a long result: a short text, repeated for each row of a partition, is as long as all of them.
    fn count(&self, bytes: usize, cx: &mut Cx<'_, 'p>) -> Result<()> {
        let [new, counted] = self.long.get();
        let new = new + bytes;
        if new < COUNTED_AT {
            self.long.set([new, counted]);
            return Ok(());
        }
        self.long.set([0, counted + new]);
        cx.reserve(new)
    }

    /// MIN (`wanted` Less) or MAX over a frame both ends of which only move on: a queue of rows each of which is better
    /// than all behind it; the first is the frame's.
    fn sliding_extreme(&self, n: usize, wanted: Ordering, out: &mut Column, cx: &mut Cx<'_, 'p>) -> Result<()> {
        let Some(first) = self.functions_arg(n) else { return Ok(()) };
        let mut queue: VecDeque<(usize, Value)> = VecDeque::new();
        let mut seen = self.range.start;
        for i in self.range.clone() {
            let frame = self.frame(i, cx)?;
            for row in seen.max(frame.start)..frame.end {
                let new = self.rows.arg(n, 0, row)?;
                if new.is_null() {
                    continue;
                }
                let worse = |last: &(usize, Value)| compare_values(last.1.as_ref(), new.as_ref(), first) != wanted;
                while queue.back().is_some_and(worse) {
                    queue.pop_back();
                }
                queue.push_back((row, new));
            }
            seen = seen.max(frame.end);
            while queue.front().is_some_and(|(row, _)| *row < frame.start) {
                queue.pop_front();
            }
            let best = queue.front().filter(|(row, _)| frame.contains(row));
            self.put(out, best.map_or(Value::Null, |(_, value)| value.clone()), cx)?;
            self.pause(i, cx)?;
        }
        Ok(())
    }

    /// An aggregate that cannot take rows out, over a frame both ends of which only move on.
    fn sliding_parts(
        &self,
        n: usize,
        fresh: &dyn Fn() -> Option<Box<dyn Accumulator>>,
        out: &mut Column,
        cx: &mut Cx<'_, 'p>,
    ) -> Result<()> {
        let mut sliding = Sliding::new(fresh(), self.range.start);
        let mut last: Option<(Range<usize>, Value)> = None;
        for i in self.range.clone() {
            let frame = self.frame(i, cx)?;
            let value = match last.take() {
                Some((same, value)) if same == frame => value,
                _ if frame.len() <= SHORT_FRAME => {
                    let mut state = State::new(fresh());
                    for row in frame.clone() {
                        state.add(self.rows, n, row, cx)?;
                    }
                    let value = state.value(cx)?;
                    state.free(cx);
                    value
                }
                _ => {
                    sliding.move_to(frame.clone(), self.rows, n, fresh, cx)?;
                    sliding.value(fresh, cx)?
                }
            };
            self.put(out, value.clone(), cx)?;
            last = Some((frame, value));
            self.pause(i, cx)?;
        }
        cx.release(sliding.held);
        Ok(())
    }

    /// Now and then, for KILL.
    fn pause(&self, i: usize, cx: &mut Cx<'_, 'p>) -> Result<()> {
        if i.is_multiple_of(256) { cx.check_interrupt() } else { Ok(()) }
    }

    /// Type of a function's first argument.
    fn functions_arg(&self, n: usize) -> Option<&'p SqlType> {
        self.definition.functions[n].args.first().map(|e| &e.ty)
    }
}

/// Frames up to this many rows are computed row by row, so that rounding is MySQL's to the last digit.
const SHORT_FRAME: usize = 64;

/// A queue as two stacks: each row is taken twice, however long the frame is. The front has for each of its rows what
/// the rows from there to the front's end are together; the back is one running aggregate. When the front is used up,
/// the back's rows become the front.
struct Sliding {
    /// Aggregates of rows `k..front_end`, for falling k.
    front: Vec<Part>,
    front_end: usize,
    /// Rows `front_end..end`.
    back: Option<Box<dyn Accumulator>>,
    end: usize,
    held: usize,
}

impl Sliding {
    fn new(back: Option<Box<dyn Accumulator>>, start: usize) -> Sliding {
        Sliding { front: Vec::new(), front_end: start, back, end: start, held: 0 }
    }

    fn move_to<'p>(
        &mut self,
        frame: Range<usize>,
        rows: &Rows<'p>,
        n: usize,
        fresh: &dyn Fn() -> Option<Box<dyn Accumulator>>,
        cx: &mut Cx<'_, 'p>,
    ) -> Result<()> {
        if frame.start < self.front_end {
            self.front.truncate(self.front_end - frame.start);
            if let Some(back) = &mut self.back {
                for row in self.end..frame.end {
                    cx.accumulate(&mut **back, &rows.args(n, row)?)?;
                }
            }
            self.end = self.end.max(frame.end);
            return Ok(());
        }
        let Some(mut state) = fresh() else { return Ok(()) };
        cx.release(self.held);
        self.held = frame.len() * size_of::<Part>();
        cx.reserve(self.held)?;
        self.front.clear();
        for row in frame.clone().rev() {
            cx.accumulate(&mut *state, &rows.args(n, row)?)?;
            self.front.extend(state.part());
        }
        (self.front_end, self.end, self.back) = (frame.end, frame.end, fresh());
        cx.check_interrupt()
    }

    fn value(&self, fresh: &dyn Fn() -> Option<Box<dyn Accumulator>>, cx: &mut Cx<'_, '_>) -> Result<Value> {
        let Some(mut state) = fresh() else { return Ok(Value::Null) };
        let back = self.back.as_ref().and_then(|back| back.part());
        self.front.last().copied().into_iter().chain(back).for_each(|part| state.join(part));
        cx.accumulated(&*state)
    }
}

/// A running aggregate; COUNT without an accumulator.
struct State {
    counted: i64,
    accumulator: Option<Box<dyn Accumulator>>,
    /// Bytes of the accumulator that are counted.
    held: usize,
}

impl State {
    fn new(accumulator: Option<Box<dyn Accumulator>>) -> State {
        State { counted: 0, accumulator, held: 0 }
    }

    fn add(&mut self, rows: &Rows<'_>, n: usize, i: usize, cx: &mut Cx<'_, '_>) -> Result<()> {
        let args = rows.args(n, i)?;
        match &mut self.accumulator {
            None => self.counted += i64::from(args.iter().all(|v| !v.is_null())),
            Some(accumulator) => {
                cx.accumulate(&mut **accumulator, &args)?;
                // What it keeps is given back with the partition's state: a frame's values are there all the time.
                let now = accumulator.memory_bytes();
                if now > self.held {
                    cx.reserve(now - self.held)?;
                    self.held = now;
                }
            }
        }
        Ok(())
    }

    /// Gives back what it held.
    fn free(self, cx: &mut Cx<'_, '_>) {
        cx.release(self.held);
    }

    /// Takes rows out again. False: the aggregate cannot.
    fn remove_all(&mut self, rows: &Rows<'_>, n: usize, gone: Range<usize>, cx: &mut Cx<'_, '_>) -> Result<bool> {
        for i in gone {
            let args = rows.args(n, i)?;
            match &mut self.accumulator {
                None => self.counted -= i64::from(args.iter().all(|v| !v.is_null())),
                Some(accumulator) => {
                    if !accumulator.remove(&mut cx.eval_context(), &args)? {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }

    fn value(&self, cx: &mut Cx<'_, '_>) -> Result<Value> {
        match &self.accumulator {
            None => Ok(Value::Int(self.counted)),
            Some(accumulator) => cx.accumulated(&**accumulator),
        }
    }
}

fn positive(value: ValueRef<'_>) -> Option<usize> {
    number_of_rows(value).filter(|n| *n > 0).map(|n| usize::try_from(n).unwrap_or(usize::MAX))
}

/// Order of a row's key and the bound computed from another's: their types may differ.
fn compare_keys(a: ValueRef<'_>, b: ValueRef<'_>, cx: &mut Cx<'_, '_>) -> Result<Ordering> {
    use ValueRef as V;
    let is_float = |v: &V<'_>| matches!(v, V::Double(_) | V::Float(_));
    let by = match (&a, &b) {
        (V::Int(_) | V::UInt(_), V::Int(_) | V::UInt(_)) => Comparison::Integer,
        (V::Time(..), V::Time(..)) => Comparison::Time,
        (V::Date(_) | V::DateTime(..) | V::Timestamp(..), _) => Comparison::Datetime,
        (x, y) if is_float(x) || is_float(y) => Comparison::Double,
        _ => Comparison::Decimal,
    };
    Ok(compare::compare(by, a, b, cx)?.unwrap_or(Ordering::Equal))
}

impl<'p> Operator<'p> for Window<'p> {
    fn open(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        gannet_telemetry::count(gannet_telemetry::Counter::CreatedTmpTables);
        self.reset(cx);
        self.ahead = None;
        self.input.open(cx)
    }

    fn next(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        if self.at == self.rows.pieces() && !self.compute(cx)? {
            return Ok(None);
        }
        let (mut batch, range) = self.rows.columns(self.at)?;
        let places: Vec<u32> = range.map(|i| i as u32).collect();
        batch.columns.extend(self.values.iter().map(|v| v.gather(&places)));
        self.at += 1;
        Ok(Some(batch))
    }
}

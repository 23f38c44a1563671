//! Window functions over input sorted by partition and order.
//!
//! The whole input is kept; each partition is computed at once. An aggregate whose frame only grows (from the partition's start, or
//! seen backward from its end) takes every row once. A frame that slides takes rows in and out where the aggregate can (COUNT, exact SUM
//! and AVG), keeps a queue of candidates for MIN and MAX, and is computed anew for the others.

use super::{BoxedOperator, Operator};
use crate::{
    batch::{Batch, Column},
    compare,
    context::Cx,
    convert, eval,
    order::{Keyed, RowOrder, compare_values},
    vector,
};
use gannet_functions::{Accumulator, AggregateKernel, Call};
use gannet_plan::{
    expr::{Comparison, Expr},
    physical::{Frame, FrameBound, FrameUnit, Window as Definition, WindowFunction, WindowKind},
};
use gannet_types::{ErrorCode, Result, SqlType, Value, ValueRef, sql_err};
use std::{cmp::Ordering, collections::VecDeque, ops::Range};

/// Input rows, each with its window functions' values.
pub struct Window<'p> {
    input: BoxedOperator<'p>,
    definition: &'p Definition,
    types: &'p [SqlType],
    done: Vec<Batch>,
    at: usize,
    reserved: usize,
}

/// The input, and what is computed over it once.
struct Rows {
    batches: Vec<Keyed>,
    /// Where each row is: batch, row in it.
    places: Vec<(u32, u32)>,
    /// For each function, for each batch: its arguments.
    args: Vec<Vec<Vec<Column>>>,
}

impl Rows {
    fn place(&self, i: usize) -> (&Keyed, usize) {
        let (batch, row) = self.places[i];
        (&self.batches[batch as usize], row as usize)
    }

    fn arg(&self, function: usize, arg: usize, i: usize) -> ValueRef<'_> {
        let (batch, row) = self.places[i];
        self.args[function][batch as usize][arg].get(row as usize)
    }

    /// Evaluates over row `i`.
    fn eval<'p>(&self, expr: &'p Expr, i: usize, cx: &mut Cx<'_, 'p>) -> Result<Value> {
        let (batch, row) = self.place(i);
        eval::eval(expr, &batch.rows, row, cx)
    }
}

/// One partition: rows with equal values of PARTITION BY.
struct Partition<'r, 'p> {
    rows: &'r Rows,
    range: Range<usize>,
    definition: &'p Definition,
    /// For each row of the partition: its peers, rows that ORDER BY does not tell apart.
    peers: Vec<Range<usize>>,
    /// `n PRECEDING`, `n FOLLOWING` of ROWS: the n.
    offsets: [usize; 2],
}

impl<'p> Window<'p> {
    pub fn new(input: BoxedOperator<'p>, definition: &'p Definition, types: &'p [SqlType]) -> Self {
        Window { input, definition, types, done: Vec::new(), at: 0, reserved: 0 }
    }

    fn reset(&mut self, cx: &mut Cx<'_, 'p>) {
        cx.release(std::mem::take(&mut self.reserved));
        self.done.clear();
        self.at = 0;
    }

    /// Takes the whole input.
    fn gather(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Rows> {
        let mut batches = super::collect(&mut self.input, cx)?;
        let bytes = batches.iter().map(Batch::memory_bytes).sum::<usize>();
        let order = RowOrder::new(&self.definition.order);
        let functions = &self.definition.functions;
        let mut rows = Rows { batches: Vec::new(), places: Vec::new(), args: vec![Vec::new(); functions.len()] };
        for batch in batches.drain(..) {
            for (function, args) in functions.iter().zip(&mut rows.args) {
                args.push(function.args.iter().map(|e| vector::eval(e, &batch, cx)).collect::<Result<Vec<_>>>()?);
            }
            let number = rows.batches.len() as u32;
            rows.places.extend((0..batch.rows as u32).map(|row| (number, row)));
            rows.batches.push(order.keyed(batch, cx)?);
        }
        let more =
            rows.args.iter().flatten().flatten().map(Column::memory_bytes).sum::<usize>() + rows.places.len() * 24;
        cx.reserve(more)?;
        self.reserved = bytes + more;
        Ok(rows)
    }

    /// Ends of the partitions.
    fn partitions(&self, rows: &Rows, cx: &mut Cx<'_, 'p>) -> Result<Vec<Range<usize>>> {
        let by = &self.definition.partition;
        let mut keys = Vec::with_capacity(rows.batches.len());
        for batch in &rows.batches {
            keys.push(by.iter().map(|e| vector::eval(e, &batch.rows, cx)).collect::<Result<Vec<_>>>()?);
        }
        let same = |a: usize, b: usize| {
            let ((i, p), (j, q)) = (rows.places[a], rows.places[b]);
            let columns = keys[i as usize].iter().zip(&keys[j as usize]);
            let mut columns = columns.zip(by);
            columns.all(|((x, y), e)| compare_values(x.get(p as usize), y.get(q as usize), &e.ty).is_eq())
        };
        Ok(runs(0..rows.places.len(), same))
    }
}

/// Splits a range where neighbours are not the same.
fn runs(range: Range<usize>, same: impl Fn(usize, usize) -> bool) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let mut start = range.start;
    for i in range.clone() {
        if i + 1 == range.end || !same(i, i + 1) {
            out.push(start..i + 1);
            start = i + 1;
        }
    }
    out
}

/// The n of `ROWS n PRECEDING`; 0 for other bounds.
fn offset<'p>(bound: &'p FrameBound, frame: &Frame, rows: &Rows, cx: &mut Cx<'_, 'p>) -> Result<usize> {
    let (FrameUnit::Rows, FrameBound::Preceding(e) | FrameBound::Following(e)) = (frame.unit, bound) else {
        return Ok(0);
    };
    match rows.eval(e, 0, cx)? {
        Value::Int(n) if n >= 0 => Ok(n as usize),
        Value::UInt(n) => Ok(usize::try_from(n).unwrap_or(usize::MAX)),
        _ => Err(sql_err!(WindowFrameIllegal, "<unnamed window>")),
    }
}

impl<'p> Partition<'_, 'p> {
    /// Rows of the frame of row `i`.
    fn frame(&self, i: usize, cx: &mut Cx<'_, 'p>) -> Result<Range<usize>> {
        let frame = &self.definition.frame;
        let all = &self.range;
        let peers = &self.peers[i - all.start];
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

    /// The first row of the partition whose key is beyond the bound of a RANGE frame: `last` Less skips the keys before it, Equal
    /// those at it too. A row without a key has its peers as frame.
    fn bound(&self, bound: &'p Expr, i: usize, last: Ordering, preceding: bool, cx: &mut Cx<'_, 'p>) -> Result<usize> {
        let peers = &self.peers[i - self.range.start];
        let key = &self.definition.order[0];
        if self.key(i).is_null() {
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
            let place = match (self.key(middle), value.as_ref()) {
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

    fn key(&self, i: usize) -> ValueRef<'_> {
        let (batch, row) = self.rows.place(i);
        batch.key(0, row)
    }

    /// Appends the function's value of every row of the partition.
    fn compute(&self, n: usize, f: &'p WindowFunction, out: &mut Vec<Value>, cx: &mut Cx<'_, 'p>) -> Result<()> {
        let count = self.range.len();
        let rank = |i: usize| self.peers[i - self.range.start].start - self.range.start + 1;
        match &f.kind {
            WindowKind::RowNumber => out.extend((1..=count).map(|k| Value::UInt(k as u64))),
            WindowKind::Rank => out.extend(self.range.clone().map(|i| Value::UInt(rank(i) as u64))),
            WindowKind::DenseRank => {
                let mut dense = 0;
                out.extend(self.range.clone().map(|i| {
                    dense += u64::from(self.peers[i - self.range.start].start == i);
                    Value::UInt(dense)
                }));
            }
            WindowKind::PercentRank => {
                let others = (count.max(2) - 1) as f64;
                out.extend(self.range.clone().map(|i| Value::Double((rank(i) - 1) as f64 / others)));
            }
            WindowKind::CumeDist => {
                let upto = |i: usize| self.peers[i - self.range.start].end - self.range.start;
                out.extend(self.range.clone().map(|i| Value::Double(upto(i) as f64 / count as f64)));
            }
            WindowKind::Ntile => self.ntile(n, out)?,
            WindowKind::Lag | WindowKind::Lead => {
                for i in self.range.clone() {
                    let value = self.neighbour(n, f, i)?;
                    out.push(convert::cast_common(value, &f.ty, cx)?);
                }
            }
            WindowKind::FirstValue | WindowKind::LastValue | WindowKind::NthValue => {
                for i in self.range.clone() {
                    let frame = self.frame(i, cx)?;
                    let at = match f.kind {
                        WindowKind::FirstValue => Some(frame.start),
                        WindowKind::LastValue => frame.end.checked_sub(1),
                        _ => match positive(self.rows.arg(n, 1, i)) {
                            Some(nth) => frame.start.checked_add(nth - 1),
                            None => return Err(sql_err!(WrongArguments, "nth_value")),
                        },
                    };
                    let found = at.filter(|at| frame.contains(at));
                    out.push(found.map_or(Value::Null, |at| self.rows.arg(n, 0, at).to_owned()));
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

    fn ntile(&self, n: usize, out: &mut Vec<Value>) -> Result<()> {
        let count = self.range.len();
        let first = self.rows.arg(n, 0, self.range.start);
        if first.is_null() {
            out.extend((0..count).map(|_| Value::Null));
            return Ok(());
        }
        let buckets = positive(first).ok_or_else(|| sql_err!(WrongArguments, "ntile"))?;
        let (size, larger) = (count / buckets, count % buckets);
        let in_larger = larger * (size + 1);
        out.extend((0..count).map(|k| {
            let bucket = if k < in_larger { k / (size + 1) } else { larger + (k - in_larger) / size.max(1) };
            Value::UInt(bucket as u64 + 1)
        }));
        Ok(())
    }

    /// LAG and LEAD.
    fn neighbour(&self, n: usize, f: &WindowFunction, i: usize) -> Result<Value> {
        let lag = f.kind == WindowKind::Lag;
        let distance = match f.args.len() {
            1 => 1,
            _ => match self.rows.arg(n, 1, i) {
                ValueRef::Int(d) if d >= 0 => d as usize,
                ValueRef::UInt(d) => usize::try_from(d).unwrap_or(usize::MAX),
                _ => return Err(sql_err!(WrongArguments, if lag { "lag" } else { "lead" })),
            },
        };
        let at = if lag { i.checked_sub(distance) } else { i.checked_add(distance) };
        Ok(match at.filter(|at| self.range.contains(at)) {
            Some(at) => self.rows.arg(n, 0, at).to_owned(),
            None if f.args.len() == 3 => self.rows.arg(n, 2, i).to_owned(),
            None => Value::Null,
        })
    }

    fn aggregate(
        &self,
        n: usize,
        fresh: &dyn Fn() -> Option<Box<dyn Accumulator>>,
        kernel: AggregateKernel,
        out: &mut Vec<Value>,
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
        let first = out.len();
        out.resize(first + self.range.len(), Value::Null);
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
                let moved = !backward
                    && !taken.is_empty()
                    && wanted.start >= taken.start
                    && wanted.start < taken.end
                    && wanted.end >= taken.end;
                let moved = grows || moved && state.remove_all(self.rows, n, taken.start..wanted.start, cx)?;
                let new = match (moved, backward) {
                    (true, false) => taken.end..wanted.end,
                    (true, true) => wanted.start..taken.start,
                    (false, _) => {
                        state = State::new(fresh());
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
            out[first + i - self.range.start] = value.clone().unwrap_or(Value::Null);
        }
        Ok(())
    }

    /// MIN (`wanted` Less) or MAX over a frame both ends of which only move on: a queue of rows each of which is better than all
    /// behind it; the first is the frame's.
    fn sliding_extreme(&self, n: usize, wanted: Ordering, out: &mut Vec<Value>, cx: &mut Cx<'_, 'p>) -> Result<()> {
        let Some(first) = self.functions_arg(n) else { return Ok(()) };
        let value = |i: usize| self.rows.arg(n, 0, i);
        let mut queue: VecDeque<usize> = VecDeque::new();
        let mut seen = self.range.start;
        for i in self.range.clone() {
            let frame = self.frame(i, cx)?;
            for row in seen.max(frame.start)..frame.end {
                let new = value(row);
                if new.is_null() {
                    continue;
                }
                while queue.back().is_some_and(|last| compare_values(value(*last), new, first) != wanted) {
                    queue.pop_back();
                }
                queue.push_back(row);
            }
            seen = seen.max(frame.end);
            while queue.front().is_some_and(|row| *row < frame.start) {
                queue.pop_front();
            }
            let best = queue.front().filter(|row| frame.contains(row));
            out.push(best.map_or(Value::Null, |row| value(*row).to_owned()));
            if i % 1024 == 0 {
                cx.check_interrupt()?;
            }
        }
        Ok(())
    }

    /// Type of a function's first argument.
    fn functions_arg(&self, n: usize) -> Option<&'p SqlType> {
        self.definition.functions[n].args.first().map(|e| &e.ty)
    }
}

/// A running aggregate; COUNT without an accumulator.
struct State {
    counted: i64,
    accumulator: Option<Box<dyn Accumulator>>,
}

impl State {
    fn new(accumulator: Option<Box<dyn Accumulator>>) -> State {
        State { counted: 0, accumulator }
    }

    fn add(&mut self, rows: &Rows, n: usize, i: usize, cx: &mut Cx<'_, '_>) -> Result<()> {
        let (batch, row) = rows.places[i];
        let columns = &rows.args[n][batch as usize];
        match &mut self.accumulator {
            None => self.counted += i64::from(columns.iter().all(|c| !c.get(row as usize).is_null())),
            Some(accumulator) => {
                let values: Vec<Value> = columns.iter().map(|c| c.get(row as usize).to_owned()).collect();
                accumulator.add(&mut cx.eval_context(), &values)?;
            }
        }
        Ok(())
    }

    /// Takes rows out again. False: the aggregate cannot.
    fn remove_all(&mut self, rows: &Rows, n: usize, gone: Range<usize>, cx: &mut Cx<'_, '_>) -> Result<bool> {
        for i in gone {
            let (batch, row) = rows.places[i];
            let columns = &rows.args[n][batch as usize];
            match &mut self.accumulator {
                None => self.counted -= i64::from(columns.iter().all(|c| !c.get(row as usize).is_null())),
                Some(accumulator) => {
                    let values: Vec<Value> = columns.iter().map(|c| c.get(row as usize).to_owned()).collect();
                    if !accumulator.remove(&mut cx.eval_context(), &values)? {
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
            Some(accumulator) => accumulator.value(&mut cx.eval_context()),
        }
    }
}

fn positive(value: ValueRef<'_>) -> Option<usize> {
    match value {
        ValueRef::Int(n) if n > 0 => Some(n as usize),
        ValueRef::UInt(n) if n > 0 => Some(usize::try_from(n).unwrap_or(usize::MAX)),
        _ => None,
    }
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
        self.reset(cx);
        let rows = self.gather(cx)?;
        if rows.places.is_empty() {
            return Ok(());
        }
        let definition = self.definition;
        let order = RowOrder::new(&definition.order);
        let frame = &definition.frame;
        let offsets = [offset(&frame.start, frame, &rows, cx)?, offset(&frame.end, frame, &rows, cx)?];
        let mut values: Vec<Vec<Value>> =
            definition.functions.iter().map(|_| Vec::with_capacity(rows.places.len())).collect();
        for range in self.partitions(&rows, cx)? {
            let same = |a, b| order.compare(rows.place(a), rows.place(b)).is_eq();
            let peers = runs(range.clone(), same).into_iter().flat_map(|r| vec![r.clone(); r.len()]).collect();
            let partition = Partition { rows: &rows, range, definition, peers, offsets };
            for (n, (function, values)) in definition.functions.iter().zip(&mut values).enumerate() {
                partition.compute(n, function, values, cx)?;
            }
            cx.check_interrupt()?;
        }
        let mut values: Vec<_> = values.into_iter().map(Vec::into_iter).collect();
        let mut held = 0;
        for batch in rows.batches {
            let mut batch = batch.rows;
            let own = batch.columns.len();
            for (values, ty) in values.iter_mut().zip(&self.types[own..]) {
                let mut column = Column::for_type(ty);
                values.take(batch.rows).for_each(|v| column.push_value(v));
                held += column.memory_bytes();
                batch.columns.push(column);
            }
            self.done.push(batch);
        }
        cx.reserve(held)?;
        self.reserved += held;
        Ok(())
    }

    fn next(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        let Some(batch) = self.done.get_mut(self.at) else {
            self.reset(cx);
            return Ok(None);
        };
        self.at += 1;
        Ok(Some(std::mem::take(batch)))
    }
}

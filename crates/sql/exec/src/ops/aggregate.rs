//! Grouping and aggregates.
//!
//! Groups are found by hash. When memory is full no new group is made: rows of known groups count in theirs, others
//! go to partitions by their key, with everything that is computed over them, and at the end each partition is
//! grouped by itself. The keys of DISTINCT aggregates are treated the same way: when memory is full, unknown keys go
//! to partitions by group and key, and are added when all rows are read. An input that arrives grouped needs one
//! group at a time. Where the aggregates are small ones, groups are numbers among columns of states ([`flat`]).

mod distinct;
mod flat;

use crate::context::{BoxedOperator, Operator};
use crate::{
    batch::{BATCH_ROWS, Batch, Column},
    compare::{append_sort_key, append_value_key},
    context::Cx,
    eval, long,
    numbered::{Key, KeyMap, Numbered},
    order::compare_values,
    spill::{MAX_LEVEL, Partitions, Run},
    vector,
};
use flat::Flat;
use gannet_functions::{Accumulator, AggregateKernel, Call};
use gannet_plan::expr::{Aggregate, Expr};
use gannet_telemetry::Counter;
use gannet_types::{Level, Result, SqlType, Value, ValueRef, sql_err};
use std::{cmp::Ordering, collections::VecDeque};

/// What to group, from the plan node.
pub struct AggregationPlan<'p> {
    pub groups: &'p [Expr],
    pub carried: &'p [Expr],
    pub aggregates: &'p [Aggregate],
    /// Equal groups are neighbours.
    pub streaming: bool,
    pub rollup: bool,
    pub groupings: &'p [Box<[u32]>],
}

/// One aggregate in one group.
enum State {
    /// COUNT has no need of a box.
    Count(i64),
    Boxed(Box<dyn Accumulator>),
    /// DISTINCT: the keys seen.
    Distinct(Box<(Box<dyn Accumulator>, KeyMap)>),
    /// GROUP_CONCAT with ORDER BY: (sort key, arguments), added when the group ends.
    Ordered(Box<Ordered>),
}

impl State {
    fn accumulator(&self) -> Option<&dyn Accumulator> {
        match self {
            State::Count(_) => None,
            State::Boxed(state) => Some(&**state),
            State::Distinct(distinct) => Some(&*distinct.0),
            State::Ordered(ordered) => Some(&*ordered.0),
        }
    }
}

/// The rows so far, and with DISTINCT the keys seen.
type Ordered = (Box<dyn Accumulator>, SortedRows, Option<Numbered>);
type SortedRows = Vec<(Vec<u8>, Vec<Value>)>;

/// What groups rows: the keys of a batch.
struct KeyColumns<'b> {
    columns: &'b [Column],
    of: &'b [Expr],
    buffer: Vec<u8>,
}

impl<'b> KeyColumns<'b> {
    fn new(columns: &'b [Column], of: &'b [Expr]) -> Self {
        KeyColumns { columns, of, buffer: Vec::new() }
    }

    #[inline]
    fn key(&mut self, row: usize) -> Result<Key<'_>> {
        if let [Column::Int(values, nulls)] = self.columns
            && !nulls.get(row)
        {
            return Ok(Key::integer(values[row]));
        }
        self.buffer.clear();
        for (column, expr) in self.columns.iter().zip(self.of) {
            append_value_key(column.get(row), &expr.ty, &mut self.buffer)?;
        }
        Ok(Key::of(&self.buffer))
    }
}

struct Group {
    keys: Vec<Value>,
    carried: Vec<Value>,
    states: Vec<State>,
    /// Keys that count; the others are rolled up.
    level: usize,
    held: usize,
}

/// Rows with the columns that are computed over them.
struct Input<'b> {
    keys: Vec<Column>,
    /// For each aggregate.
    args: Vec<Vec<Column>>,
    rest: Rest<'b>,
    rows: usize,
}

/// Columns that are needed for few rows only.
enum Rest<'b> {
    /// Over these rows.
    Over(&'b Batch),
    /// Was computed before the rows went to disk: carried expressions, then the order keys of each aggregate.
    Done { carried: Vec<Column>, order: Vec<Vec<Column>> },
}

/// Grouping.
pub struct Aggregation<'p> {
    input: BoxedOperator<'p>,
    plan: AggregationPlan<'p>,
    types: &'p [SqlType],
    arg_types: Vec<Vec<SqlType>>,
    /// Aggregates whose state grows with each row.
    growing: Vec<bool>,
    /// Where there is a GROUP_CONCAT, the rows that each aggregate took in the groups that have ended, for each level
    /// of keys. The statement counts on where it groups again.
    written: Vec<u64>,
    /// Keys of the groups, with their numbers.
    index: KeyMap,
    groups: Vec<Group>,
    /// The key in work.
    key: Vec<u8>,
    /// Streaming: the group of the last row; WITH ROLLUP also those of its shorter keys, shortest first.
    open: Vec<Group>,
    /// Groups to be delivered.
    ended: VecDeque<Group>,
    /// The groups as columns, where they can be that. Then there are no others.
    flat: Option<Flat>,
    /// So many of them are delivered; no row comes to them any more.
    flat_at: usize,
    flat_ended: bool,
    /// The groups of the rows of a batch.
    numbers: Vec<u32>,
    held: usize,
    /// Memory is full: see `overflow`.
    full: bool,
    /// Rows of groups that memory has no room for.
    aside: Option<Partitions>,
    /// Values of DISTINCT aggregates that memory has no room for: group, aggregate, arguments.
    distinct_aside: Option<Partitions>,
    /// Partitions to be grouped, with the levels left.
    work: Vec<(u32, Run)>,
    levels: u32,
    /// All input was taken.
    drained: bool,
    any: bool,
}

impl<'p> Aggregation<'p> {
    pub fn new(input: BoxedOperator<'p>, plan: AggregationPlan<'p>, types: &'p [SqlType]) -> Self {
        let arg_types = plan.aggregates.iter().map(|a| a.args.iter().map(|e| e.ty.clone()).collect()).collect();
        let growing = plan.aggregates.iter().map(keeps_values).collect();
        let is_cut = |a: &Aggregate| a.def.name == "GROUP_CONCAT";
        let levels = if plan.aggregates.iter().any(is_cut) { plan.groups.len() + 1 } else { 0 };
        let written = vec![0; levels * plan.aggregates.len()];
        Aggregation {
            input,
            plan,
            types,
            arg_types,
            growing,
            written,
            index: KeyMap::default(),
            groups: Vec::new(),
            key: Vec::new(),
            open: Vec::new(),
            ended: VecDeque::new(),
            flat: None,
            flat_at: 0,
            flat_ended: false,
            numbers: Vec::new(),
            held: 0,
            full: false,
            aside: None,
            distinct_aside: None,
            work: Vec::new(),
            levels: MAX_LEVEL,
            drained: false,
            any: false,
        }
    }

    fn reset(&mut self, cx: &mut Cx<'_, 'p>) {
        cx.release(std::mem::take(&mut self.held));
        self.groups.clear();
        self.open.clear();
        self.ended.clear();
        self.index = KeyMap::default();
        self.flat = self.fresh_flat();
        (self.flat_at, self.flat_ended) = (0, false);
        self.work.clear();
        (self.aside, self.distinct_aside) = (None, None);
        (self.full, self.drained, self.any, self.levels) = (false, false, false, MAX_LEVEL);
    }

    fn fresh_flat(&self) -> Option<Flat> {
        flat::serves(&self.plan).then(|| Flat::new(&self.plan, &self.arg_types, self.types))
    }

    fn fresh_states(&self) -> Vec<State> {
        self.plan
            .aggregates
            .iter()
            .zip(&self.arg_types)
            .map(|(a, args)| {
                if a.def.kernel == AggregateKernel::Count && !a.distinct {
                    return State::Count(0);
                }
                let boxed = (a.def.start)(Call { ty: &a.ty, args, site: 0 });
                match (a.distinct, a.order.is_empty()) {
                    (distinct, false) => {
                        State::Ordered(Box::new((boxed, Vec::new(), distinct.then(Numbered::default))))
                    }
                    (true, true) => State::Distinct(Box::new((boxed, KeyMap::default()))),
                    (false, true) => State::Boxed(boxed),
                }
            })
            .collect()
    }

    fn new_group(
        &mut self,
        keys: Vec<Value>,
        first: Option<(&Input<'_>, usize)>,
        cx: &mut Cx<'_, 'p>,
    ) -> Result<Group> {
        let carried = match first {
            Some((input, row)) => self.carried(input, row, cx)?,
            None => vec![Value::Null; self.plan.carried.len()],
        };
        let states = self.fresh_states();
        let bytes = 128
            + 64 * states.len()
            + keys.iter().chain(&carried).map(|v| crate::batch::value_bytes(v) + 8).sum::<usize>();
        cx.hold(bytes);
        self.held += bytes;
        let level = keys.len();
        Ok(Group { keys, carried, states, level, held: bytes })
    }

    fn carried(&self, input: &Input<'_>, row: usize, cx: &mut Cx<'_, 'p>) -> Result<Vec<Value>> {
        match &input.rest {
            Rest::Over(batch) => self.plan.carried.iter().map(|e| eval::eval(e, batch, row, cx)).collect(),
            Rest::Done { carried, .. } => Ok(carried.iter().map(|c| c.get(row).to_owned()).collect()),
        }
    }

    /// Two values of a key make one group.
    fn is_same_key(&self, number: usize, a: ValueRef<'_>, b: ValueRef<'_>) -> bool {
        compare_values(a, b, &self.plan.groups[number].ty).is_eq()
    }

    /// Everything that every row needs, computed.
    fn compute<'b>(&self, batch: &'b Batch, cx: &mut Cx<'_, 'p>) -> Result<Input<'b>> {
        cx.begin_computing();
        let keys = self.plan.groups.iter().map(|e| vector::eval(e, batch, cx)).collect::<Result<_>>()?;
        let of = |a: &'p Aggregate, cx: &mut Cx<'_, 'p>| {
            let mut columns: Vec<Column> = a.args.iter().map(|e| vector::eval(e, batch, cx)).collect::<Result<_>>()?;
            // Values that are kept have the digits of their type.
            if GROWING.contains(&a.def.name) {
                columns.iter_mut().zip(&a.args).for_each(|(c, e)| c.settle(&e.ty));
            }
            Ok(columns)
        };
        let args = self.plan.aggregates.iter().map(|a| of(a, cx)).collect::<Result<_>>()?;
        Ok(Input { keys, args, rest: Rest::Over(batch), rows: batch.rows })
    }

    /// Rows as they go to disk: keys, arguments, carried values, order keys.
    fn saved(&self, input: &Input<'_>, batch: &Batch, rows: &[u32], cx: &mut Cx<'_, 'p>) -> Result<Batch> {
        let mut columns: Vec<Column> =
            input.keys.iter().chain(input.args.iter().flatten()).map(|c| c.gather(rows)).collect();
        let batch = batch.gather(rows);
        let order = self.plan.aggregates.iter().flat_map(|a| &a.order).map(|k| &k.expr);
        for expr in self.plan.carried.iter().chain(order) {
            columns.push(vector::eval(expr, &batch, cx)?);
        }
        Ok(Batch { rows: rows.len(), columns })
    }

    /// What [`saved`](Self::saved) made.
    fn loaded(&self, batch: Batch) -> Input<'static> {
        let rows = batch.rows;
        let mut columns = batch.columns.into_iter();
        let mut take = |n: usize| columns.by_ref().take(n).collect::<Vec<_>>();
        let keys = take(self.plan.groups.len());
        let args = self.plan.aggregates.iter().map(|a| take(a.args.len())).collect();
        let carried = take(self.plan.carried.len());
        let order = self.plan.aggregates.iter().map(|a| take(a.order.len())).collect();
        Input { keys, args, rest: Rest::Done { carried, order }, rows }
    }

    /// A streaming input: a row counts in its group and, WITH ROLLUP, in one for each shorter prefix of the keys; those
    /// end when their prefix changes, longest first.
    fn stream(&mut self, input: &Input<'_>, cx: &mut Cx<'_, 'p>) -> Result<()> {
        let (rollup, width) = (self.plan.rollup, input.keys.len());
        let levels = if rollup { width + 1 } else { 1 };
        for row in 0..input.rows {
            let common = match self.open.last() {
                None => 0,
                Some(last) => {
                    let before = last.keys.iter().zip(&input.keys).zip(self.plan.groups);
                    before.take_while(|((a, b), e)| compare_values(a.as_ref(), b.get(row), &e.ty).is_eq()).count()
                }
            };
            if self.open.is_empty() || common < width {
                let kept = if rollup && !self.open.is_empty() { common + 1 } else { 0 };
                self.close_above(kept, cx)?;
                for n in kept..levels {
                    let level = if rollup { n } else { width };
                    let columns = input.keys.iter().enumerate();
                    let values = columns.map(|(n, c)| if n < level { c.get(row).to_owned() } else { Value::Null });
                    let mut group = self.new_group(values.collect(), Some((input, row)), cx)?;
                    group.level = level;
                    self.open.push(group);
                }
            }
            for n in 0..self.open.len() {
                let mut group = std::mem::replace(&mut self.open[n], NO_GROUP);
                let added = self.add(&mut group, None, input, row, cx);
                self.open[n] = group;
                added?;
            }
        }
        Ok(())
    }

    /// Ends the open groups beyond the first `kept`, those with the longest keys first. Super-aggregate rows show what
    /// is carried of the last group in them, as MySQL's do.
    fn close_above(&mut self, kept: usize, cx: &mut Cx<'_, 'p>) -> Result<()> {
        let mut carried: Option<Vec<Value>> = None;
        while self.open.len() > kept
            && let Some(mut group) = self.open.pop()
        {
            match &carried {
                Some(carried) => group.carried.clone_from(carried),
                None => carried = Some(group.carried.clone()),
            }
            finish_group(&mut group, cx)?;
            self.tell_cut(&group, cx)?;
            self.ended.push_back(group);
        }
        Ok(())
    }

    /// Warning 1260, an error in strict changes, for each text of the group that is cut: it names the row by its
    /// number among all rows that the aggregate took.
    fn tell_cut(&mut self, group: &Group, cx: &mut Cx<'_, 'p>) -> Result<()> {
        let level = self.written.iter_mut().skip(group.states.len() * group.level);
        for (state, before) in group.states.iter().zip(level) {
            let (rows, cut) = state.accumulator().map_or((0, false), Accumulator::written_rows);
            *before += rows;
            if cut {
                let cut = sql_err!(CutValueGroupConcat, *before, "GROUP_CONCAT()");
                if cx.strict {
                    return Err(cut);
                }
                cx.warnings.push(cut.to_warning(Level::Warning));
            }
        }
        Ok(())
    }

    /// As [`tell_cut`](Self::tell_cut), of all groups in the order of their keys.
    fn tell_cuts(&mut self, groups: &[Group], cx: &mut Cx<'_, 'p>) -> Result<()> {
        let cut = |s: &State| s.accumulator().is_some_and(|a| a.written_rows().1);
        let mut places: Vec<usize> = (0..groups.len()).collect();
        if groups.iter().any(|g| g.states.iter().any(cut)) {
            let in_order = |a: &usize, b: &usize| {
                let keys = groups[*a].keys.iter().zip(&groups[*b].keys).zip(self.plan.groups);
                let mut orders = keys.map(|((a, b), e)| compare_values(a.as_ref(), b.as_ref(), &e.ty));
                orders.find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
            };
            places.sort_by(in_order);
        }
        places.into_iter().try_for_each(|place| self.tell_cut(&groups[place], cx))
    }

    /// Adds one row to the states of one group. `number`: the group's place, when values of DISTINCT aggregates may go
    /// to disk.
    fn add(
        &mut self,
        group: &mut Group,
        number: Option<usize>,
        input: &Input<'_>,
        row: usize,
        cx: &mut Cx<'_, 'p>,
    ) -> Result<()> {
        for (n, aggregate) in self.plan.aggregates.iter().enumerate() {
            let columns = &input.args[n];
            let (mut bytes, mut less) = (0, 0);
            match &mut group.states[n] {
                State::Count(count) => {
                    if columns.iter().all(|c| !c.get(row).is_null()) {
                        *count += 1;
                    }
                }
                State::Boxed(state) if self.growing[n] => {
                    let before = state.memory_bytes();
                    add_row(state.as_mut(), columns, row, cx)?;
                    let after = state.memory_bytes();
                    (bytes, less) = (after.saturating_sub(before), before.saturating_sub(after));
                }
                State::Boxed(state) => add_row(state.as_mut(), columns, row, cx)?,
                State::Distinct(distinct) => {
                    let (state, seen) = &mut **distinct;
                    // A DISTINCT aggregate leaves out rows with a NULL; its accumulator would skip them as well.
                    if columns.iter().any(|c| c.get(row).is_null()) {
                        continue;
                    }
                    let key = match columns.as_slice() {
                        [Column::Int(values, _)] => Key::integer(values[row]),
                        _ => {
                            distinct_key(columns, aggregate, row, &mut self.key)?;
                            Key::of(&self.key)
                        }
                    };
                    if let (Some(number), Some(aside)) = (number, &mut self.distinct_aside) {
                        if seen.get(key).is_none() {
                            let width = self.arg_types.iter().map(Vec::len).max().unwrap_or(0);
                            distinct::put_aside(aside, [number, n, width], &key.bytes(), columns, row)?;
                        }
                        continue;
                    }
                    if !seen.entry(key, (0, 0)).1 {
                        continue;
                    }
                    bytes = KeyMap::cost(key);
                    add_row(state.as_mut(), columns, row, cx)?;
                }
                State::Ordered(ordered) => bytes = self.keep_ordered(ordered, n, input, row, cx)?,
            }
            self.count(group, bytes, less, cx)?;
        }
        Ok(())
    }

    /// A group holds so many bytes more, or fewer: a shorter text is the least one now.
    fn count(&mut self, group: &mut Group, more: usize, fewer: usize, cx: &mut Cx<'_, 'p>) -> Result<()> {
        if more > 0 {
            cx.reserve(more)?;
            group.held += more;
            self.held += more;
        } else if fewer > 0 {
            cx.release(fewer);
            group.held = group.held.saturating_sub(fewer);
            self.held = self.held.saturating_sub(fewer);
        }
        Ok(())
    }

    /// Keeps the arguments of an aggregate with an order, and their key, until the group ends; bytes that this takes.
    fn keep_ordered(
        &mut self,
        (_, rows, seen): &mut Ordered,
        n: usize,
        input: &Input<'_>,
        row: usize,
        cx: &mut Cx<'_, 'p>,
    ) -> Result<usize> {
        let (aggregate, columns) = (&self.plan.aggregates[n], &input.args[n]);
        if let Some(seen) = seen {
            distinct_key(columns, aggregate, row, &mut self.key)?;
            if !seen.insert(&self.key).1 {
                return Ok(0);
            }
        }
        let values: Vec<Value> = columns.iter().map(|c| c.get(row).to_owned()).collect();
        let mut key = Vec::new();
        for (place, part) in aggregate.order.iter().enumerate() {
            let value = match &input.rest {
                Rest::Over(batch) => eval::eval(&part.expr, batch, row, cx)?,
                Rest::Done { order, .. } => order[n][place].get(row).to_owned(),
            };
            append_sort_key(value.as_ref(), &part.expr.ty, part.descending, &mut key)?;
        }
        let bytes = key.len() + 96 + values.iter().map(crate::batch::value_bytes).sum::<usize>();
        rows.push((key, values));
        Ok(bytes)
    }

    /// Adds rows to their groups. `batch`: the rows as they came, to compute the columns that go to disk.
    fn consume(&mut self, input: &Input<'_>, cx: &mut Cx<'_, 'p>) -> Result<()> {
        if input.keys.is_empty() && self.add_whole_batch(input, cx)? {
            return Ok(());
        }
        let mut groups = std::mem::take(&mut self.groups);
        let put_aside = self.consume_into(&mut groups, input, cx);
        self.groups = groups;
        let (put_aside, keys_aside) = put_aside?;
        if put_aside.is_empty() {
            return Ok(());
        }
        let saved = match &input.rest {
            Rest::Over(batch) => self.saved(input, batch, &put_aside, cx)?,
            Rest::Done { carried, order } => {
                let columns = input.keys.iter().chain(input.args.iter().flatten());
                let columns = columns.chain(carried).chain(order.iter().flatten());
                Batch { rows: put_aside.len(), columns: columns.map(|c| c.gather(&put_aside)).collect() }
            }
        };
        if let Some(aside) = &mut self.aside {
            for (row, key) in keys_aside.iter().enumerate() {
                aside.push(key, &saved, row, None)?;
            }
        }
        Ok(())
    }

    /// Adds rows to their groups; the rows that have to be put aside, and their keys.
    fn consume_into(
        &mut self,
        groups: &mut Vec<Group>,
        input: &Input<'_>,
        cx: &mut Cx<'_, 'p>,
    ) -> Result<(Vec<u32>, Vec<Vec<u8>>)> {
        let (mut put_aside, mut keys_aside) = (Vec::new(), Vec::new());
        let mut keys = KeyColumns::new(&input.keys, self.plan.groups);
        for row in 0..input.rows {
            let key = keys.key(row)?;
            let number = if self.aside.is_none() {
                let (found, new) = self.index.entry(key, (groups.len() as u32, 0));
                let number = found.0 as usize;
                if new {
                    let values = input.keys.iter().map(|c| c.get(row).to_owned()).collect();
                    groups.push(self.new_group(values, Some((input, row)), cx)?);
                    let bytes = KeyMap::cost(key);
                    cx.hold(bytes);
                    self.held += bytes;
                }
                number
            } else if let Some((number, _)) = self.index.get(key) {
                number as usize
            } else {
                put_aside.push(row as u32);
                keys_aside.push(key.bytes());
                continue;
            };
            self.add(&mut groups[number], Some(number), input, row, cx)?;
            if cx.over(self.held) {
                self.overflow(cx)?;
            }
        }
        Ok((put_aside, keys_aside))
    }

    /// MySQL makes a temporary table of the groups. What it sorts for DISTINCT alone is none.
    fn makes_table(&self) -> bool {
        !self.plan.streaming && !self.plan.groups.is_empty()
    }

    /// Memory is full: no new groups, no new keys of DISTINCT aggregates.
    fn overflow(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        // What still grows cannot go to disk.
        cx.reserve(0)?;
        if std::mem::replace(&mut self.full, true) {
            return Ok(());
        }
        // Partitions that do not fit either are parts of the same table.
        if self.makes_table() && self.levels == MAX_LEVEL {
            gannet_telemetry::count(Counter::CreatedTmpDiskTables);
        }
        let unordered = |a: &Aggregate| a.distinct && a.order.is_empty();
        if self.plan.aggregates.iter().any(unordered) {
            self.distinct_aside = Some(Partitions::new(cx)?);
        }
        if !self.plan.groups.is_empty() && self.levels > 0 {
            self.aside = Some(Partitions::new(cx)?);
        }
        Ok(())
    }

    /// Without groups: loops over whole columns where every aggregate has one. False when there is an aggregate
    /// without.
    fn add_whole_batch(&mut self, input: &Input<'_>, cx: &mut Cx<'_, 'p>) -> Result<bool> {
        let simple = self.plan.aggregates.iter().all(|a| !a.distinct && a.order.is_empty());
        if !simple || input.rows == 0 {
            return Ok(input.rows == 0);
        }
        if self.groups.is_empty() {
            let group = self.new_group(Vec::new(), Some((input, 0)), cx)?;
            self.groups.push(group);
            self.index.entry(Key::Bytes(&[]), (0, 0));
        }
        let mut bytes = 0;
        for (n, columns) in input.args.iter().enumerate() {
            match &mut self.groups[0].states[n] {
                State::Count(count) => {
                    let rows = (0..input.rows).filter(|row| columns.iter().all(|c| !c.get(*row).is_null()));
                    *count += if columns.is_empty() { input.rows } else { rows.count() } as i64;
                }
                State::Boxed(state) => {
                    let before = state.memory_bytes();
                    for row in 0..input.rows {
                        add_row(state.as_mut(), columns, row, cx)?;
                    }
                    bytes += state.memory_bytes().saturating_sub(before);
                }
                _ => {}
            }
        }
        cx.reserve(bytes)?;
        self.held += bytes;
        Ok(true)
    }

    /// Called when all rows are in their groups or on disk: adds the keys of DISTINCT aggregates that were put aside,
    /// and completes the groups.
    fn finish(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        if let Some(aside) = self.distinct_aside.take() {
            self.add_distinct(aside, cx)?;
        }
        self.index = KeyMap::default();
        (self.full, self.flat_ended) = (false, true);
        let mut groups = std::mem::take(&mut self.groups);
        groups.iter_mut().try_for_each(|group| finish_group(group, cx))?;
        if !self.written.is_empty() {
            self.tell_cuts(&groups, cx)?;
        }
        self.ended.extend(groups);
        if let Some(aside) = self.aside.take() {
            let levels = self.levels.saturating_sub(1);
            let runs = aside.finish()?.into_iter().filter(|r| r.rows > 0);
            self.work.extend(runs.map(|run| (levels, run)));
        }
        Ok(())
    }

    /// Takes input until there are groups to deliver. False at the end.
    fn fill(&mut self, cx: &mut Cx<'_, 'p>) -> Result<bool> {
        while !self.drained {
            let Some(batch) = self.input.next(cx)? else {
                self.drained = true;
                self.close_above(0, cx)?;
                self.finish(cx)?;
                if self.plan.groups.is_empty() && !self.any {
                    let mut group = self.new_group(Vec::new(), None, cx)?;
                    finish_group(&mut group, cx)?;
                    self.ended.push_back(group);
                }
                break;
            };
            cx.check_interrupt()?;
            if batch.rows == 0 {
                continue;
            }
            self.any = true;
            let input = self.compute(&batch, cx)?;
            if let Some(flat) = self.flat.take() {
                self.consume_flat(flat, &input, cx)?;
                if self.flat_complete() >= BATCH_ROWS {
                    return Ok(true);
                }
            } else if self.plan.streaming {
                self.stream(&input, cx)?;
                if self.ended.len() >= BATCH_ROWS {
                    return Ok(true);
                }
            } else {
                self.consume(&input, cx)?;
            }
        }
        while self.ended.is_empty() && self.flat_complete() == 0 {
            let Some((levels, run)) = self.work.pop() else { return Ok(false) };
            self.levels = levels;
            for n in 0..run.batches() {
                cx.check_interrupt()?;
                let Some(batch) = run.batch(n)? else { break };
                let input = self.loaded(batch);
                self.consume(&input, cx)?;
            }
            self.finish(cx)?;
        }
        Ok(true)
    }

    fn deliver(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Batch> {
        let mut out = Batch::for_types(self.types);
        let mut row = Vec::with_capacity(self.types.len());
        let mut held = 0;
        for mut group in self.ended.drain(..self.ended.len().min(BATCH_ROWS)) {
            row.clear();
            row.append(&mut group.keys);
            row.append(&mut group.carried);
            for state in &group.states {
                row.push(match state {
                    State::Count(n) => Value::Int(*n),
                    State::Boxed(s) => cx.accumulated(&**s)?,
                    State::Distinct(distinct) => cx.accumulated(&*distinct.0)?,
                    State::Ordered(ordered) => cx.accumulated(&*ordered.0)?,
                });
            }
            for places in self.plan.groupings {
                let bit = |p: &u32| i64::from(*p as usize >= group.level);
                row.push(Value::Int(places.iter().fold(0, |bits, p| bits << 1 | bit(p))));
            }
            held += group.held;
            out.push_values(&row);
        }
        let held = held.min(self.held);
        cx.release(held);
        self.held -= held;
        if self.ended.is_empty() && !self.plan.streaming {
            // The keys of the index go with the groups.
            cx.release(std::mem::take(&mut self.held));
        }
        Ok(out)
    }
}

/// The state's size depends on the values: they are texts or documents, or are collected.
fn keeps_values(a: &Aggregate) -> bool {
    GROWING.contains(&a.def.name)
        || matches!(a.def.kernel, AggregateKernel::Min | AggregateKernel::Max) && a.args.iter().any(flat::long_value)
}

/// Aggregates that keep what they are given.
const GROWING: &[&str] = &["GROUP_CONCAT", "JSON_ARRAYAGG", "JSON_OBJECTAGG"];

const NO_GROUP: Group = Group { keys: Vec::new(), carried: Vec::new(), states: Vec::new(), level: 0, held: 0 };

/// Makes the key of a row's arguments.
fn distinct_key(columns: &[Column], aggregate: &Aggregate, row: usize, key: &mut Vec<u8>) -> Result<()> {
    key.clear();
    for (column, expr) in columns.iter().zip(&aggregate.args) {
        append_value_key(column.get(row), &expr.ty, key)?;
    }
    Ok(())
}

/// Adds what waited for the group's end.
fn finish_group(group: &mut Group, cx: &mut Cx<'_, '_>) -> Result<()> {
    for state in &mut group.states {
        if let State::Ordered(ordered) = state {
            let (accumulator, rows, _) = &mut **ordered;
            long::over(rows.len() * size_of::<(Vec<u8>, Vec<Value>)>(), || rows.sort_by(|a, b| a.0.cmp(&b.0)));
            for (_, values) in rows.drain(..) {
                cx.accumulate(&mut **accumulator, &values)?;
            }
        }
    }
    Ok(())
}

fn add_row<'p>(state: &mut dyn Accumulator, columns: &[Column], row: usize, cx: &mut Cx<'_, 'p>) -> Result<()> {
    match columns {
        [one] => {
            let value = one.get(row);
            if state.take(value) { Ok(()) } else { cx.accumulate(state, &[value.to_owned()]) }
        }
        _ => {
            let values: Vec<Value> = columns.iter().map(|c| c.get(row).to_owned()).collect();
            cx.accumulate(state, &values)
        }
    }
}

impl<'p> Operator<'p> for Aggregation<'p> {
    fn open(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        if self.makes_table() {
            gannet_telemetry::count(Counter::CreatedTmpTables);
        }
        self.reset(cx);
        self.input.open(cx)
    }

    fn next(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        if let Some(batch) = self.deliver_flat(cx)? {
            return Ok(Some(batch));
        }
        if self.ended.is_empty() && !self.fill(cx)? {
            self.reset(cx);
            self.drained = true;
            return Ok(None);
        }
        match self.deliver_flat(cx)? {
            Some(batch) => Ok(Some(batch)),
            None => self.deliver(cx).map(Some),
        }
    }
}

//! Groups whose aggregates are small: a column for each key and a vector of states for each aggregate, in which a
//! group is a number. A new group allocates nothing of its own, and a batch of rows is added column by column.

use super::{Aggregation, AggregationPlan, Group, Input, KeyColumns, State};
use crate::{
    batch::{BATCH_ROWS, Batch, Column},
    context::Cx,
    numbered::KeyMap,
};
use gannet_functions::{Accumulator, AggregateKernel, Call, Extreme, Sum};
use gannet_plan::expr::{Aggregate, Expr};
use gannet_types::{Result, SqlType, TypeId, Value, ValueRef};

/// The groups.
pub(super) struct Flat {
    /// Keys, then what is carried along.
    columns: Vec<Column>,
    keys: usize,
    states: Vec<States>,
    groups: usize,
}

/// The states of an aggregate, one for each group.
enum States {
    Counts(Vec<i64>),
    Sums(Vec<Sum>, Sum),
    Extremes(Vec<Extreme>, Extreme),
}

/// Its values may be long.
pub(super) fn long_value(e: &Expr) -> bool {
    e.ty.id.is_string() || e.ty.id == TypeId::Json
}

/// Every aggregate has states that are small, and adding to them never warns.
pub(super) fn serves(plan: &AggregationPlan<'_>) -> bool {
    let small = |a: &Aggregate| {
        !a.distinct
            && a.order.is_empty()
            && match (a.def.kernel, &a.args[..]) {
                (AggregateKernel::Count, _) => true,
                (AggregateKernel::Sum | AggregateKernel::Avg, [arg]) => arg.ty.id.is_numeric(),
                (AggregateKernel::Min | AggregateKernel::Max, [arg]) => !long_value(arg),
                _ => false,
            }
    };
    !plan.rollup && plan.groupings.is_empty() && plan.aggregates.iter().all(small)
}

fn states(aggregate: &Aggregate, args: &[SqlType]) -> States {
    let call = Call { ty: &aggregate.ty, args, site: 0 };
    match aggregate.def.kernel {
        AggregateKernel::Sum => States::Sums(Vec::new(), Sum::new(call, false)),
        AggregateKernel::Avg => States::Sums(Vec::new(), Sum::new(call, true)),
        AggregateKernel::Min => States::Extremes(Vec::new(), Extreme::new(call, false)),
        AggregateKernel::Max => States::Extremes(Vec::new(), Extreme::new(call, true)),
        AggregateKernel::Count | AggregateKernel::General => States::Counts(Vec::new()),
    }
}

impl Flat {
    /// Without groups. `types`: of what the aggregation delivers.
    pub(super) fn new(plan: &AggregationPlan<'_>, arg_types: &[Vec<SqlType>], types: &[SqlType]) -> Flat {
        let keys = plan.groups.len();
        Flat {
            columns: types[..keys + plan.carried.len()].iter().map(Column::for_type).collect(),
            keys,
            states: plan.aggregates.iter().zip(arg_types).map(|(a, args)| states(a, args)).collect(),
            groups: 0,
        }
    }

    pub(super) fn groups(&self) -> usize {
        self.groups
    }

    /// A new group, with the keys of a row and what is carried along; bytes that it takes.
    fn push(&mut self, input: &Input<'_>, row: usize, carried: &[Value]) -> usize {
        let mut bytes = self.states.iter().map(States::bytes).sum();
        let keys = input.keys.iter().map(|column| column.get(row));
        for (to, value) in self.columns.iter_mut().zip(keys.chain(carried.iter().map(Value::as_ref))) {
            bytes += size_of::<Value>() + value.long_bytes();
            to.push(value);
        }
        self.states.iter_mut().for_each(States::push);
        self.groups += 1;
        bytes
    }

    /// Adds rows where there are no keys.
    fn add_to_one(&mut self, input: &Input<'_>, cx: &mut Cx<'_, '_>) -> Result<()> {
        for (states, columns) in self.states.iter_mut().zip(&input.args) {
            match (states, columns.as_slice()) {
                (States::Counts(counts), []) => counts[0] += input.rows as i64,
                (States::Counts(counts), [Column::Int(values, nulls)]) if nulls.none() => {
                    counts[0] += values.len() as i64;
                }
                (States::Counts(counts), columns) => {
                    let known = (0..input.rows).filter(|row| columns.iter().all(|c| !c.get(*row).is_null()));
                    counts[0] += known.count() as i64;
                }
                (States::Sums(sums, _), [column]) => add_column(&mut sums[0], column, cx)?,
                (States::Extremes(extremes, _), [column]) => add_column(&mut extremes[0], column, cx)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Adds rows to the groups with these numbers.
    fn add(&mut self, input: &Input<'_>, numbers: &[u32], cx: &mut Cx<'_, '_>) -> Result<()> {
        for (states, columns) in self.states.iter_mut().zip(&input.args) {
            match (states, columns.as_slice()) {
                (States::Counts(counts), []) => numbers.iter().for_each(|n| counts[*n as usize] += 1),
                (States::Counts(counts), columns) => {
                    for (row, n) in numbers.iter().enumerate() {
                        counts[*n as usize] += i64::from(columns.iter().all(|c| !c.get(row).is_null()));
                    }
                }
                (States::Sums(sums, _), [column]) => add_all(sums, column, numbers, cx)?,
                (States::Extremes(extremes, _), [column]) => add_all(extremes, column, numbers, cx)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// The groups from one number to another, as rows.
    pub(super) fn rows(&self, from: usize, to: usize, types: &[SqlType], cx: &mut Cx<'_, '_>) -> Result<Batch> {
        let mut columns: Vec<Column> = self.columns.iter().map(|column| column.range(from, to)).collect();
        let mut context = cx.eval_context();
        for (states, ty) in self.states.iter().zip(&types[self.columns.len()..]) {
            let mut column = Column::for_type(ty);
            column.reserve(to - from);
            match states {
                States::Counts(counts) => counts[from..to].iter().for_each(|n| column.push(ValueRef::Int(*n))),
                States::Sums(sums, _) => {
                    for sum in &sums[from..to] {
                        column.push_value(sum.value(&mut context)?);
                    }
                }
                States::Extremes(extremes, _) => {
                    for extreme in &extremes[from..to] {
                        column.push_value(extreme.value(&mut context)?);
                    }
                }
            }
            columns.push(column);
        }
        Ok(Batch { rows: to - from, columns })
    }

    /// Only the last group, which may get more rows.
    pub(super) fn keep_last(&mut self) {
        let last = self.groups - 1;
        self.columns.iter_mut().for_each(|column| *column = column.range(last, last + 1));
        self.states.iter_mut().for_each(|states| states.keep_last(last));
        self.groups = 1;
    }

    /// The groups one by one, each of so many bytes.
    pub(super) fn into_groups(self, held: usize) -> Vec<Group> {
        let Flat { columns, keys, states, groups } = self;
        let mut all: Vec<Group> = (0..groups)
            .map(|n| {
                let mut values: Vec<Value> = columns.iter().map(|c| c.get(n).to_owned()).collect();
                let carried = values.split_off(keys);
                Group { level: keys, keys: values, carried, states: Vec::with_capacity(states.len()), held }
            })
            .collect();
        for states in states {
            let mut groups = all.iter_mut();
            let mut put = |state: State| {
                if let Some(group) = groups.next() {
                    group.states.push(state);
                }
            };
            match states {
                States::Counts(counts) => counts.into_iter().for_each(|n| put(State::Count(n))),
                States::Sums(sums, _) => sums.into_iter().for_each(|sum| put(State::Boxed(Box::new(sum)))),
                States::Extremes(all, _) => all.into_iter().for_each(|one| put(State::Boxed(Box::new(one)))),
            }
        }
        all
    }
}

impl States {
    fn bytes(&self) -> usize {
        match self {
            States::Counts(_) => size_of::<i64>(),
            States::Sums(..) => size_of::<Sum>(),
            States::Extremes(..) => size_of::<Extreme>(),
        }
    }

    fn push(&mut self) {
        match self {
            States::Counts(counts) => counts.push(0),
            States::Sums(sums, fresh) => sums.push(fresh.clone()),
            States::Extremes(extremes, fresh) => extremes.push(fresh.clone()),
        }
    }

    fn keep_last(&mut self, last: usize) {
        match self {
            States::Counts(counts) => drop(counts.drain(..last)),
            States::Sums(sums, _) => drop(sums.drain(..last)),
            States::Extremes(extremes, _) => drop(extremes.drain(..last)),
        }
    }
}

/// Adds the values of a column to a state.
fn add_column<A: Accumulator>(to: &mut A, column: &Column, cx: &mut Cx<'_, '_>) -> Result<()> {
    if let Column::Int(values, nulls) = column
        && nulls.none()
    {
        for value in values {
            if !to.take(ValueRef::Int(*value)) {
                cx.accumulate(to, &[Value::Int(*value)])?;
            }
        }
        return Ok(());
    }
    for row in 0..column.len() {
        let value = column.get(row);
        if !to.take(value) {
            cx.accumulate(to, &[value.to_owned()])?;
        }
    }
    Ok(())
}

/// Adds the values of a column to the states with these numbers.
fn add_all<A: Accumulator>(to: &mut [A], column: &Column, numbers: &[u32], cx: &mut Cx<'_, '_>) -> Result<()> {
    if let Column::Int(values, nulls) = column
        && nulls.none()
    {
        for (value, n) in values.iter().zip(numbers) {
            if !to[*n as usize].take(ValueRef::Int(*value)) {
                cx.accumulate(&mut to[*n as usize], &[Value::Int(*value)])?;
            }
        }
        return Ok(());
    }
    for (row, n) in numbers.iter().enumerate() {
        let value = column.get(row);
        if !to[*n as usize].take(value) {
            cx.accumulate(&mut to[*n as usize], &[value.to_owned()])?;
        }
    }
    Ok(())
}

impl<'p> Aggregation<'p> {
    /// Adds rows to groups that are columns.
    pub(super) fn consume_flat(&mut self, mut flat: Flat, input: &Input<'_>, cx: &mut Cx<'_, 'p>) -> Result<()> {
        let mut numbers = std::mem::take(&mut self.numbers);
        numbers.clear();
        let bytes = if self.plan.groups.is_empty() {
            let first = flat.groups == 0;
            let bytes = if first { flat.push(input, 0, &self.carried(input, 0, cx)?) } else { 0 };
            flat.add_to_one(input, cx)?;
            bytes
        } else {
            let bytes = if self.plan.streaming {
                self.follow(&mut flat, input, &mut numbers, cx)?
            } else {
                self.find(&mut flat, input, &mut numbers, cx)?
            };
            flat.add(input, &numbers, cx)?;
            bytes
        };
        self.numbers = numbers;
        cx.hold(bytes);
        self.held += bytes;
        if !cx.over(self.held) || self.plan.streaming {
            self.flat = Some(flat);
            return Ok(());
        }
        // More than memory holds goes on one by one.
        let each = self.held / flat.groups().max(1);
        self.groups = flat.into_groups(each);
        self.overflow(cx)
    }

    /// Finds the group of each row; bytes that new groups take.
    fn find(
        &mut self,
        flat: &mut Flat,
        input: &Input<'_>,
        numbers: &mut Vec<u32>,
        cx: &mut Cx<'_, 'p>,
    ) -> Result<usize> {
        let (mut keys, mut bytes) = (KeyColumns::new(&input.keys, self.plan.groups), 0);
        for row in 0..input.rows {
            let key = keys.key(row)?;
            let (found, new) = self.index.entry(key, (flat.groups as u32, 0));
            numbers.push(found.0);
            if new {
                bytes += KeyMap::cost(key) + flat.push(input, row, &self.carried(input, row, cx)?);
            }
        }
        Ok(bytes)
    }

    /// The same for rows that come group by group.
    fn follow(
        &mut self,
        flat: &mut Flat,
        input: &Input<'_>,
        numbers: &mut Vec<u32>,
        cx: &mut Cx<'_, 'p>,
    ) -> Result<usize> {
        let mut bytes = 0;
        for row in 0..input.rows {
            let known = flat.groups > 0
                && input.keys.iter().enumerate().all(|(n, rows)| match rows {
                    // Of two rows of integers no values are made.
                    Column::Int(values, nulls) if row > 0 && nulls.none() => values[row - 1] == values[row],
                    _ => self.is_same_key(n, flat.columns[n].get(flat.groups - 1), rows.get(row)),
                });
            if !known {
                bytes += flat.push(input, row, &self.carried(input, row, cx)?);
            }
            numbers.push(flat.groups as u32 - 1);
        }
        Ok(bytes)
    }

    /// Groups that are columns and are complete: of those that come one after the other all but the last one.
    pub(super) fn flat_complete(&self) -> usize {
        let groups = self.flat.as_ref().map_or(0, Flat::groups);
        match (self.flat_ended, self.plan.streaming) {
            (true, _) => groups,
            (false, true) => groups.saturating_sub(1),
            (false, false) => 0,
        }
    }

    pub(super) fn deliver_flat(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        let complete = self.flat_complete();
        let Some(flat) = self.flat.as_mut().filter(|_| self.flat_at < complete) else { return Ok(None) };
        let end = complete.min(self.flat_at + BATCH_ROWS);
        let batch = flat.rows(self.flat_at, end, self.types, cx)?;
        self.flat_at = end;
        if end == complete {
            self.flat_at = 0;
            if self.flat_ended {
                self.flat = None
            } else {
                flat.keep_last()
            }
            cx.release(std::mem::take(&mut self.held));
        }
        Ok(Some(batch))
    }
}

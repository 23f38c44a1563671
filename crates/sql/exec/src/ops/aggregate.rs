//! Grouping and aggregates.

use super::{BoxedOperator, Operator};
use crate::{
    batch::{BATCH_ROWS, Batch},
    compare::{append_sort_key, append_value_key},
    context::Cx,
    eval,
    order::compare_values,
    vector,
};
use gannet_base::hash::{HashMap, HashSet};
use gannet_functions::{Accumulator, AggregateKernel, Call};
use gannet_plan::expr::{Aggregate, Expr};
use gannet_types::{Result, SqlType, Value};

/// What to group, from the plan node.
pub struct AggregationPlan<'p> {
    pub groups: &'p [Expr],
    pub carried: &'p [Expr],
    pub aggregates: &'p [Aggregate],
    pub rollup: bool,
    pub groupings: &'p [Box<[u32]>],
}

/// One aggregate in one group.
enum State {
    /// COUNT and SUM over integers have no need of a box.
    Count(i64),
    Boxed(Box<dyn Accumulator>),
    /// DISTINCT: the keys seen.
    Distinct(Box<dyn Accumulator>, HashSet<Box<[u8]>>),
    /// GROUP_CONCAT with ORDER BY: (sort key, arguments), added when the group ends.
    Ordered(Box<dyn Accumulator>, Vec<(Vec<u8>, Vec<Value>)>, Option<HashSet<Box<[u8]>>>),
}

struct Group {
    keys: Vec<Value>,
    carried: Vec<Value>,
    states: Vec<State>,
    /// Keys that count; the others are rolled up.
    level: usize,
}

/// Grouping by hash. Groups are delivered in order of their first row, so that a sorted input gives sorted groups.
pub struct Aggregation<'p> {
    input: BoxedOperator<'p>,
    plan: AggregationPlan<'p>,
    types: &'p [SqlType],
    arg_types: Vec<Vec<SqlType>>,
    groups: Vec<Group>,
    /// WITH ROLLUP: the groups that the last row is in, by number of keys; and those that have ended, in order of delivery.
    open: Vec<usize>,
    ended: Vec<usize>,
    index: HashMap<Box<[u8]>, usize>,
    reserved: usize,
    at: usize,
}

impl<'p> Aggregation<'p> {
    pub fn new(input: BoxedOperator<'p>, plan: AggregationPlan<'p>, types: &'p [SqlType]) -> Self {
        let arg_types = plan.aggregates.iter().map(|a| a.args.iter().map(|e| e.ty.clone()).collect()).collect();
        Aggregation {
            input,
            plan,
            types,
            arg_types,
            groups: Vec::new(),
            open: Vec::new(),
            ended: Vec::new(),
            index: HashMap::default(),
            reserved: 0,
            at: 0,
        }
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
                    (distinct, false) => State::Ordered(boxed, Vec::new(), distinct.then(HashSet::default)),
                    (true, true) => State::Distinct(boxed, HashSet::default()),
                    (false, true) => State::Boxed(boxed),
                }
            })
            .collect()
    }

    fn new_group(&mut self, keys: Vec<Value>, batch: Option<(&Batch, usize)>, cx: &mut Cx<'_, 'p>) -> Result<usize> {
        let carried = match batch {
            Some((batch, row)) => {
                self.plan.carried.iter().map(|e| eval::eval(e, batch, row, cx)).collect::<Result<Vec<_>>>()?
            }
            None => vec![Value::Null; self.plan.carried.len()],
        };
        let states = self.fresh_states();
        self.take_memory(128 + 64 * (keys.len() + carried.len() + states.len()), cx)?;
        let level = keys.len();
        self.groups.push(Group { keys, carried, states, level });
        Ok(self.groups.len() - 1)
    }

    fn take_memory(&mut self, bytes: usize, cx: &mut Cx<'_, 'p>) -> Result<()> {
        cx.reserve(bytes)?;
        self.reserved += bytes;
        Ok(())
    }

    /// WITH ROLLUP: the input is sorted by the groups. A row counts in its group and in one for each shorter prefix of the keys; those
    /// end when their prefix changes, longest first.
    fn roll_up(&mut self, batch: &Batch, cx: &mut Cx<'_, 'p>) -> Result<()> {
        let keys = self.plan.groups.iter().map(|e| vector::eval(e, batch, cx)).collect::<Result<Vec<_>>>()?;
        let args = self.arguments(batch, cx)?;
        for row in 0..batch.rows {
            let common = match self.open.last() {
                None => 0,
                Some(last) => {
                    let before = self.groups[*last].keys.iter().zip(&keys).zip(self.plan.groups);
                    before.take_while(|((a, b), e)| compare_values(a.as_ref(), b.get(row), &e.ty).is_eq()).count()
                }
            };
            if self.open.is_empty() || common < keys.len() {
                let kept = if self.open.is_empty() { 0 } else { common + 1 };
                self.close_above(kept);
                for level in kept..=keys.len() {
                    let columns = keys.iter().enumerate();
                    let values = columns.map(|(n, c)| if n < level { c.get(row).to_owned() } else { Value::Null });
                    let group = self.new_group(values.collect(), Some((batch, row)), cx)?;
                    self.groups[group].level = level;
                    self.open.push(group);
                }
            }
            for level in 0..self.open.len() {
                self.add(self.open[level], &args, batch, row, cx)?;
            }
        }
        Ok(())
    }

    /// Ends the open groups beyond the first `kept`, those with the longest keys first.
    fn close_above(&mut self, kept: usize) {
        self.ended.extend(self.open.drain(kept.min(self.open.len())..).rev());
    }

    /// Adds one row to the states of one group.
    fn add(
        &mut self,
        group: usize,
        args: &[Vec<crate::batch::Column>],
        batch: &Batch,
        row: usize,
        cx: &mut Cx<'_, 'p>,
    ) -> Result<()> {
        for (n, aggregate) in self.plan.aggregates.iter().enumerate() {
            let columns = &args[n];
            let mut held = 0;
            match &mut self.groups[group].states[n] {
                State::Count(count) => {
                    if columns.iter().all(|c| !c.get(row).is_null()) {
                        *count += 1;
                    }
                }
                State::Boxed(state) => {
                    add_row(state.as_mut(), columns, row, cx)?;
                }
                State::Distinct(state, seen) => {
                    let mut key = Vec::new();
                    for (column, expr) in columns.iter().zip(&aggregate.args) {
                        append_value_key(column.get(row), &expr.ty, &mut key)?;
                    }
                    // A DISTINCT aggregate leaves out rows with a NULL; its accumulator would skip them as well.
                    if columns.iter().all(|c| !c.get(row).is_null()) && seen.insert(key.as_slice().into()) {
                        held = key.len() + 48;
                        add_row(state.as_mut(), columns, row, cx)?;
                    }
                }
                State::Ordered(_, rows, seen) => {
                    let values: Vec<Value> = columns.iter().map(|c| c.get(row).to_owned()).collect();
                    let mut key = Vec::new();
                    if let Some(seen) = seen {
                        for (value, expr) in values.iter().zip(&aggregate.args) {
                            append_value_key(value.as_ref(), &expr.ty, &mut key)?;
                        }
                        if !seen.insert(key.as_slice().into()) {
                            continue;
                        }
                        key.clear();
                    }
                    for part in &aggregate.order {
                        let value = eval::eval(&part.expr, batch, row, cx)?;
                        append_sort_key(value.as_ref(), &part.expr.ty, part.descending, &mut key)?;
                    }
                    held = key.len() + 96 + values.iter().map(crate::batch::value_bytes).sum::<usize>();
                    rows.push((key, values));
                }
            }
            if held > 0 {
                self.take_memory(held, cx)?;
            }
        }
        Ok(())
    }

    /// The aggregates' arguments.
    fn arguments(&self, batch: &Batch, cx: &mut Cx<'_, 'p>) -> Result<Vec<Vec<crate::batch::Column>>> {
        let of = |a: &'p Aggregate, cx: &mut Cx<'_, 'p>| a.args.iter().map(|e| vector::eval(e, batch, cx)).collect();
        self.plan.aggregates.iter().map(|a| of(a, cx)).collect()
    }

    fn consume(&mut self, batch: &Batch, cx: &mut Cx<'_, 'p>) -> Result<()> {
        let keys = self.plan.groups.iter().map(|e| vector::eval(e, batch, cx)).collect::<Result<Vec<_>>>()?;
        let args = self.arguments(batch, cx)?;
        if keys.is_empty() && self.add_whole_batch(&args, batch, cx)? {
            return Ok(());
        }
        let mut key = Vec::new();
        for row in 0..batch.rows {
            key.clear();
            for (column, expr) in keys.iter().zip(self.plan.groups) {
                append_value_key(column.get(row), &expr.ty, &mut key)?;
            }
            let group = match self.index.get(&key[..]) {
                Some(group) => *group,
                None => {
                    let values = keys.iter().map(|c| c.get(row).to_owned()).collect();
                    let group = self.new_group(values, Some((batch, row)), cx)?;
                    self.take_memory(key.len() + 48, cx)?;
                    self.index.insert(key.as_slice().into(), group);
                    group
                }
            };
            self.add(group, &args, batch, row, cx)?;
        }
        Ok(())
    }

    /// Without groups: loops over whole columns where every aggregate has one. False when there is an aggregate without.
    fn add_whole_batch(
        &mut self,
        args: &[Vec<crate::batch::Column>],
        batch: &Batch,
        cx: &mut Cx<'_, 'p>,
    ) -> Result<bool> {
        let simple = self.plan.aggregates.iter().all(|a| !a.distinct && a.order.is_empty());
        if !simple || batch.rows == 0 {
            return Ok(batch.rows == 0);
        }
        let group = match self.index.get(&[][..]) {
            Some(group) => *group,
            None => {
                let group = self.new_group(Vec::new(), Some((batch, 0)), cx)?;
                self.index.insert(Box::default(), group);
                group
            }
        };
        for (n, columns) in args.iter().enumerate() {
            match &mut self.groups[group].states[n] {
                State::Count(count) => {
                    let rows = (0..batch.rows).filter(|row| columns.iter().all(|c| !c.get(*row).is_null()));
                    *count += if columns.is_empty() { batch.rows } else { rows.count() } as i64;
                }
                State::Boxed(state) => {
                    for row in 0..batch.rows {
                        add_row(state.as_mut(), columns, row, cx)?;
                    }
                }
                _ => {}
            }
        }
        Ok(true)
    }

    fn finish(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        if self.plan.rollup {
            self.close_above(0);
            let mut groups: Vec<Option<Group>> = self.groups.drain(..).map(Some).collect();
            self.groups = self.ended.drain(..).filter_map(|n| groups[n].take()).collect();
        }
        if self.plan.groups.is_empty() && self.groups.is_empty() {
            self.new_group(Vec::new(), None, cx)?;
        }
        for group in &mut self.groups {
            for state in &mut group.states {
                if let State::Ordered(accumulator, rows, _) = state {
                    rows.sort_by(|a, b| a.0.cmp(&b.0));
                    for (_, values) in rows.drain(..) {
                        accumulator.add(&mut cx.eval_context(), &values)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn deliver(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        if self.at == self.groups.len() {
            cx.release(std::mem::take(&mut self.reserved));
            self.groups.clear();
            self.index.clear();
            self.at = 0;
            return Ok(None);
        }
        let end = (self.at + BATCH_ROWS).min(self.groups.len());
        let mut out = Batch::for_types(self.types);
        let mut row = Vec::with_capacity(self.types.len());
        for group in &mut self.groups[self.at..end] {
            row.clear();
            row.append(&mut group.keys);
            row.append(&mut group.carried);
            for state in &group.states {
                row.push(match state {
                    State::Count(n) => Value::Int(*n),
                    State::Boxed(s) | State::Distinct(s, _) | State::Ordered(s, _, _) => {
                        s.value(&mut cx.eval_context())?
                    }
                });
            }
            for places in self.plan.groupings {
                let bit = |p: &u32| i64::from(*p as usize >= group.level);
                row.push(Value::Int(places.iter().fold(0, |bits, p| bits << 1 | bit(p))));
            }
            out.push_values(&row);
        }
        self.at = end;
        Ok(Some(out))
    }
}

fn add_row<'p>(
    state: &mut dyn Accumulator,
    columns: &[crate::batch::Column],
    row: usize,
    cx: &mut Cx<'_, 'p>,
) -> Result<()> {
    match columns {
        [one] => state.add(&mut cx.eval_context(), &[one.get(row).to_owned()]),
        _ => {
            let values: Vec<Value> = columns.iter().map(|c| c.get(row).to_owned()).collect();
            state.add(&mut cx.eval_context(), &values)
        }
    }
}

impl<'p> Operator<'p> for Aggregation<'p> {
    fn open(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        cx.release(std::mem::take(&mut self.reserved));
        self.groups.clear();
        self.open.clear();
        self.ended.clear();
        self.index.clear();
        self.at = 0;
        self.input.open(cx)?;
        while let Some(batch) = self.input.next(cx)? {
            cx.check_interrupt()?;
            if self.plan.rollup {
                self.roll_up(&batch, cx)?;
            } else {
                self.consume(&batch, cx)?;
            }
        }
        self.finish(cx)
    }

    fn next(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        self.deliver(cx)
    }
}

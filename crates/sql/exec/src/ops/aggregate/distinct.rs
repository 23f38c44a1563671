//! Values of DISTINCT aggregates that memory has no room for.

use super::{Aggregation, State, add_row};
use crate::{
    batch::{Batch, Column},
    context::Cx,
    numbered::Numbered,
    spill::{MAX_LEVEL, Partitions, Run},
};
use gannet_types::{Result, Value, ValueRef};

fn cell(batch: &Batch, column: usize, row: usize) -> Option<ValueRef<'_>> {
    batch.columns.get(column).map(|c| c.get(row))
}

/// Appends a value of a DISTINCT aggregate to the partition of group, aggregate and key, with `width` arguments.
pub(super) fn put_aside(
    aside: &mut Partitions,
    [group, aggregate, width]: [usize; 3],
    key: &[u8],
    columns: &[Column],
    row: usize,
) -> Result<()> {
    let mut whole = (group as u64).to_be_bytes().to_vec();
    whole.extend_from_slice(&(aggregate as u32).to_be_bytes());
    whole.extend_from_slice(key);
    let mut values = vec![Value::bytes(&whole), Value::UInt(group as u64), Value::UInt(aggregate as u64)];
    values.extend(columns.iter().map(|c| c.get(row).to_owned()));
    values.resize(3 + width, Value::Null);
    let batch = Batch { rows: 1, columns: values.into_iter().map(|v| Column::Values(vec![v])).collect() };
    aside.push(&whole, &batch, 0, None)
}

impl<'p> Aggregation<'p> {
    /// Adds values of DISTINCT aggregates, each once. The keys that the groups know are not among them.
    pub(super) fn add_distinct(&mut self, aside: Partitions, cx: &mut Cx<'_, 'p>) -> Result<()> {
        for group in &mut self.groups {
            for state in &mut group.states {
                if let State::Distinct(distinct) = state {
                    let bytes = std::mem::take(&mut distinct.1).held();
                    cx.release(bytes);
                    self.held = self.held.saturating_sub(bytes);
                    group.held = group.held.saturating_sub(bytes);
                }
            }
        }
        let mut work: Vec<(u32, Run)> = aside.finish()?.into_iter().map(|run| (MAX_LEVEL, run)).collect();
        while let Some((levels, run)) = work.pop() {
            let mut seen = Numbered::default();
            let mut held = 0;
            let mut again: Option<Partitions> = None;
            for at in 0..run.batches() {
                cx.check_interrupt()?;
                let Some(batch) = run.batch(at)? else { break };
                for row in 0..batch.rows {
                    let (Some(ValueRef::Str(key, _)), Some(ValueRef::UInt(number)), Some(ValueRef::UInt(n))) =
                        (cell(&batch, 0, row), cell(&batch, 1, row), cell(&batch, 2, row))
                    else {
                        continue;
                    };
                    if let Some(again) = &mut again {
                        if !seen.contains(key) {
                            again.push(key, &batch, row, None)?;
                        }
                        continue;
                    }
                    if !seen.insert(key).1 {
                        continue;
                    }
                    let bytes = Numbered::cost(key.len());
                    held += bytes;
                    if levels > 0 {
                        cx.hold(bytes);
                        if cx.over(held) {
                            again = Some(Partitions::new(cx)?);
                        }
                    } else {
                        cx.reserve(bytes)?;
                    }
                    let group = self.groups.get_mut(number as usize);
                    if let Some(State::Distinct(distinct)) = group.and_then(|g| g.states.get_mut(n as usize)) {
                        let width = self.plan.aggregates[n as usize].args.len();
                        let end = (3 + width).min(batch.columns.len());
                        add_row(distinct.0.as_mut(), &batch.columns[3..end], row, cx)?;
                    }
                }
            }
            cx.release(held);
            if let Some(again) = again {
                work.extend(again.finish()?.into_iter().map(|run| (levels - 1, run)));
            }
        }
        Ok(())
    }
}

//! Common table expressions: computed at first use, kept for the execution.

use crate::{
    batch::Batch,
    compare::append_row_key,
    context::Cx,
    ops::{self, collect},
};
use gannet_types::{Result, sql_err};
use std::collections::HashSet;

/// The rows of one expression.
#[derive(Default)]
pub(crate) struct State<'p> {
    rows: Option<Vec<Batch>>,
    /// While the recursive part runs: the rows of the previous round.
    round: Option<Vec<Batch>>,
    _plan: std::marker::PhantomData<&'p ()>,
}

/// Computes the expression if that has not happened yet.
pub(crate) fn materialise<'p>(number: u32, cx: &mut Cx<'_, 'p>) -> Result<()> {
    let n = number as usize;
    if cx.ctes[n].rows.is_some() || cx.ctes[n].round.is_some() {
        return Ok(());
    }
    let plan = cx.plan;
    let cte = &plan.ctes[n];
    let mut seen = HashSet::new();
    let mut base = ops::build(&cte.base)?;
    let mut round = collect(&mut base, cx)?;
    if cte.recursive.is_some() && cte.distinct {
        round = unseen(round, &cte.base.types, &mut seen)?;
    }
    let Some(recursive) = &cte.recursive else {
        cx.ctes[n].rows = Some(round);
        return Ok(());
    };
    let limit = match &cte.limit {
        Some((limit, offset)) => {
            let offset = ops::limit_value(offset.as_ref(), 0, cx)?;
            ops::limit_value(limit.as_ref(), u64::MAX, cx)?.saturating_add(offset)
        }
        None => u64::MAX,
    };
    let mut operator = ops::build(recursive)?;
    let mut rows: Vec<Batch> = Vec::new();
    let mut rounds = 0;
    while round.iter().any(|b| b.rows > 0) && count(&rows) < limit {
        if rounds > cx.settings.cte_max_recursion_depth {
            return Err(sql_err!(CteMaxRecursionDepth, rounds));
        }
        rounds += 1;
        rows.extend(round.iter().cloned());
        cx.ctes[n].round = Some(round);
        let next = collect(&mut operator, cx);
        cx.ctes[n].round = None;
        round = next?;
        if cte.distinct {
            round = unseen(round, &cte.base.types, &mut seen)?;
        }
    }
    cx.ctes[n].rows = Some(rows);
    Ok(())
}

fn count(rows: &[Batch]) -> u64 {
    rows.iter().map(|b| b.rows as u64).sum()
}

fn unseen(batches: Vec<Batch>, types: &[gannet_types::SqlType], seen: &mut HashSet<Box<[u8]>>) -> Result<Vec<Batch>> {
    let mut kept = Vec::new();
    for batch in batches {
        let (mut rows, mut key) = (Vec::new(), Vec::new());
        for row in 0..batch.rows {
            key.clear();
            append_row_key(&batch.columns, row, types, &mut key)?;
            if seen.insert(key.as_slice().into()) {
                rows.push(row as u32);
            }
        }
        kept.push(batch.gather(&rows));
    }
    Ok(kept)
}

/// Batch number `at`: of the previous round inside the recursive part, of the whole elsewhere.
pub(crate) fn batch(number: u32, at: usize, cx: &Cx<'_, '_>) -> Option<Batch> {
    let state = &cx.ctes[number as usize];
    state.round.as_ref().or(state.rows.as_ref()).and_then(|rows| rows.get(at)).cloned()
}

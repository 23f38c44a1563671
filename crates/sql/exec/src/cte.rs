//! Common table expressions: computed at first use, and kept while the outer values that they read stay the same.

use crate::{batch::Batch, compare::append_row_key, context::Cx, ops, spill::Kept};
use gannet_types::{Result, sql_err};
use std::collections::HashSet;

/// Computes the expression if that has not happened yet.
pub(crate) fn materialise<'p>(number: u32, cx: &mut Cx<'_, 'p>) -> Result<()> {
    let n = number as usize;
    let plan = cx.shared.plan;
    let cte = &plan.ctes[n];
    if cx.ctes[n].round.is_some() {
        return Ok(());
    }
    let versions = cx.register_versions(&cte.depends);
    if let Some(mut rows) = cx.ctes[n].rows.take() {
        if cx.ctes[n].versions == versions {
            cx.ctes[n].rows = Some(rows);
            return Ok(());
        }
        rows.clear(cx);
    }
    cx.ctes[n].versions = versions;
    if cte.recursive.is_none() {
        return fill(n, cx);
    }
    // Rows of a recursion are stored as those of a table are: what is lost is an error where SQL mode is strict.
    let strict = std::mem::replace(&mut cx.strict, cx.shared.settings.sql_mode.is_strict() && !cx.ignore);
    let filled = fill(n, cx);
    cx.strict = strict;
    filled
}

fn fill(n: usize, cx: &mut Cx<'_, '_>) -> Result<()> {
    let cte = &cx.shared.plan.ctes[n];
    gannet_telemetry::count(gannet_telemetry::Counter::CreatedTmpTables);
    let mut seen = HashSet::new();
    let mut base = ops::build(&cte.base, cx.profile.is_some())?;
    let mut round = Kept::collect(&mut base, cx)?;
    if cte.recursive.is_some() && cte.distinct {
        round = unseen(round, &cte.base.types, &mut seen, cx)?;
    }
    let Some(recursive) = &cte.recursive else {
        cx.ctes[n].rows = Some(round);
        return Ok(());
    };
    // LIMIT is of all rows: the recursion ends when there are as many.
    let (from, to) = match &cte.limit {
        Some((limit, offset)) => {
            let offset = ops::limit_value(offset.as_ref(), 0, cx)?;
            (offset, ops::limit_value(limit.as_ref(), u64::MAX, cx)?.saturating_add(offset))
        }
        None => (0, u64::MAX),
    };
    let mut operator = ops::build(recursive, cx.profile.is_some())?;
    let mut rows = Kept::default();
    let mut rounds = 0;
    while round.rows() > 0 && rows.rows() + round.rows() < to {
        if rounds > cx.shared.settings.cte_max_recursion_depth {
            return Err(sql_err!(CteMaxRecursionDepth, rounds));
        }
        rounds += 1;
        // Which rows are new is not known before they are there.
        let most = if cte.distinct { u64::MAX } else { to - rows.rows() - round.rows() };
        cx.ctes[n].round = Some(round);
        let next = Kept::collect_some(&mut operator, most, cx);
        let last = cx.ctes[n].round.take().unwrap_or_default();
        rows.append(last, cx)?;
        round = next?;
        if cte.distinct {
            round = unseen(round, &cte.base.types, &mut seen, cx)?;
        }
    }
    rows.append(round, cx)?;
    rows.seal()?;
    if from > 0 || rows.rows() > to {
        rows = rows.cut(from, to, cx)?;
    }
    cx.ctes[n].rows = Some(rows);
    Ok(())
}

/// The rows that are not among those seen.
fn unseen(
    mut round: Kept,
    types: &[gannet_types::SqlType],
    seen: &mut HashSet<Box<[u8]>>,
    cx: &mut Cx<'_, '_>,
) -> Result<Kept> {
    let mut kept = Kept::default();
    let (mut rows, mut key, mut at) = (Vec::new(), Vec::new(), 0);
    while let Some(batch) = round.batch(at)? {
        cx.check_interrupt()?;
        rows.clear();
        for row in 0..batch.rows {
            key.clear();
            append_row_key(&batch.columns, row, types, &mut key)?;
            if !seen.contains(&key[..]) {
                cx.reserve(key.len() + 48)?;
                seen.insert(key.as_slice().into());
                rows.push(row as u32);
            }
        }
        kept.push(batch.gather(&rows), cx)?;
        at += 1;
    }
    round.clear(cx);
    kept.seal()?;
    Ok(kept)
}

/// Batch number `at`: of the previous round inside the recursive part, of the whole elsewhere.
pub(crate) fn batch(number: u32, at: usize, cx: &Cx<'_, '_>) -> Result<Option<Batch>> {
    let state = &cx.ctes[number as usize];
    state.round.as_ref().or(state.rows.as_ref()).map_or(Ok(None), |rows| rows.batch(at))
}

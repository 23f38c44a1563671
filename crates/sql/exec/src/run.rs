//! Runs a plan.

use crate::{
    batch::Batch,
    context::Cx,
    direct::{self, DirectBuffers},
    dml::{self, Affected},
    ops, padding,
    profile::Profile,
    sink::{ResultSink, RowSource, Rows},
};
use gannet_plan::{
    physical::{Op, Physical},
    plan::PlanKind,
};
use gannet_telemetry::{Counter, add_all};
use gannet_types::{Result, SqlError};

/// What a statement did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A result set was delivered.
    Rows {
        /// How many.
        sent: u64,
    },
    /// Rows were changed.
    Affected(Affected),
}

/// Runs the plan in the context's transaction. After an error the caller rolls the statement back.
pub fn run<'p>(cx: &mut Cx<'_, 'p>, buffers: &mut DirectBuffers, sink: &mut dyn ResultSink) -> Result<Outcome> {
    let plan = cx.shared.plan;
    crate::eval::read_constants(cx)?;
    match &plan.kind {
        PlanKind::PointSelect(point) if padding::is_on(cx) => {
            add_all([(Counter::HandlerCommit, 1), (Counter::HandlerExternalLock, 2)]);
            query(&point.query, buffers, sink, cx)
        }
        PlanKind::PointSelect(point) => {
            let sent = direct::point_select(point, buffers, sink, cx)?;
            Ok(Outcome::Rows { sent })
        }
        PlanKind::Query(root) => query(root, buffers, sink, cx),
        PlanKind::Insert(insert) => dml::insert(insert, cx).map(Outcome::Affected),
        PlanKind::Update(update) => dml::update(update, cx).map(Outcome::Affected),
        PlanKind::Delete(delete) => dml::delete(delete, cx).map(Outcome::Affected),
    }
}

fn query<'p>(
    root: &'p Physical,
    buffers: &mut DirectBuffers,
    sink: &mut dyn ResultSink,
    cx: &mut Cx<'_, 'p>,
) -> Result<Outcome> {
    if let Some(direct) = ops::Direct::of(root, cx)? {
        let sent = direct.run(&mut buffers.bounds, sink, cx)?;
        cx.counts.sent = sent;
        return Ok(Outcome::Rows { sent });
    }
    let mut operator = ops::build(root, false)?;
    operator.open(cx)?;
    // The header goes out only when the first rows are there, so that an error before them replaces the result.
    let first = operator.next(cx)?;
    // An interruption that was not noticed so far is an error here; in the middle of a packet it would end the
    // connection.
    cx.check_interrupt()?;
    sink.begin(&cx.shared.plan.columns)?;
    let mut sent = 0;
    let mut deliver = |batch: &Batch, cx: &mut Cx<'_, 'p>| -> Result<()> {
        sent += batch.rows as u64;
        if batch.rows > 0 {
            sink.rows(Rows { source: RowSource::Batch(batch), zone: &cx.shared.settings.time_zone })?;
        }
        cx.check_interrupt()
    };
    if let Some(batch) = first {
        deliver(&batch, cx)?;
        operator.recycle(batch);
        while let Some(batch) = operator.next(cx)? {
            deliver(&batch, cx)?;
            operator.recycle(batch);
        }
    }
    cx.counts.sent = sent;
    Ok(Outcome::Rows { sent })
}

/// The only expression of a plan that reads no table: `None` for other plans.
pub fn only_value(plan: &gannet_plan::Plan) -> Option<&gannet_plan::Expr> {
    let PlanKind::Query(root) = &plan.kind else { return None };
    // A query without tables is a projection of one row without columns.
    let Op::Project { input, exprs, .. } = &root.op else { return None };
    let Op::Values { rows, .. } = &input.op else { return None };
    let ([row], [expr]) = (&**rows, &**exprs) else { return None };
    if !row.is_empty() {
        return None;
    }
    let alone = plan.tables.is_empty() && plan.subplans.is_empty() && plan.ctes.is_empty() && plan.registers == 0;
    alone.then_some(expr)
}

/// The value of [`only_value`].
pub fn value_of<'p>(expr: &'p gannet_plan::Expr, cx: &mut Cx<'_, 'p>) -> Result<gannet_types::Value> {
    crate::eval::eval(expr, &Batch::one_empty_row(), 0, cx)
}

/// Runs a query and returns its rows: subordinate queries of the server itself.
pub fn collect_rows<'p>(root: &'p Physical, cx: &mut Cx<'_, 'p>) -> Result<Vec<Batch>> {
    ops::collect(&mut ops::build(root, false)?, cx)
}

/// Runs a query to its end, drops its rows, and reports what each operator did. Error 1235 for statements that change
/// rows.
pub fn analyze(cx: &mut Cx<'_, '_>) -> Result<Profile> {
    let root = match &cx.shared.plan.kind {
        PlanKind::Query(root) => root,
        PlanKind::PointSelect(point) => &point.query,
        _ => return Err(SqlError::unsupported("EXPLAIN ANALYZE of statements that change rows")),
    };
    cx.profile = Some(Box::default());
    let mut operator = ops::build(root, true)?;
    operator.open(cx)?;
    while operator.next(cx)?.is_some() {
        cx.check_interrupt()?;
    }
    Ok(*cx.profile.take().unwrap_or_default())
}

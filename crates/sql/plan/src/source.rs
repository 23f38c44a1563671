//! Plans of statements that fill a table which was made for their rows: CREATE TABLE ... SELECT.

use crate::bind::Binder;
use crate::optimize::Builder;
use crate::options::PlanOptions;
use crate::physical::Reads;
use crate::plan::{Insert, InsertSource, Intent, Plan, PlanKind, PlanTable};
use crate::planner::{finish, result_columns};
use crate::rewrite;
use gannet_parser::ast::Query;
use gannet_schema::{CatalogSnapshot, Table};
use gannet_types::{Result, SqlError};
use std::sync::Arc;

/// Plans the query of CREATE TABLE ... SELECT. Its reads lock what they see, as those of INSERT ... SELECT do.
pub fn plan_source(query: &Query, snapshot: &CatalogSnapshot, options: &PlanOptions<'_>) -> Result<Plan> {
    let mut binder = Binder::new(snapshot, options);
    let mut query = binder.top_query(query)?;
    binder.lock_all_reads(Reads::Source, &mut query);
    let mut arena = binder.arena;
    let columns = result_columns(&arena, &query);
    rewrite::query(&mut arena, &mut query, options);
    let mut builder = Builder::new(&arena, options);
    builder.mark_used(Some(&query));
    let root = builder.query_plan(&query)?;
    finish(builder, PlanKind::Query(Box::new(root)), columns, snapshot, options)
}

/// What happens to rows that collide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colliding {
    /// Error 1062.
    Refused,
    /// IGNORE: left out with a warning.
    Skipped,
    /// REPLACE: the row there was goes.
    Replacing,
}

/// Turns a plan of [`plan_source`] into one that inserts its rows into `columns` of a table which the query does not
/// read.
pub fn insert_rows_of(
    plan: Plan,
    table: &Arc<Table>,
    columns: Vec<u32>,
    colliding: Colliding,
    snapshot: &CatalogSnapshot,
) -> Result<Plan> {
    let PlanKind::Query(root) = plan.kind else { return Err(SqlError::internal("not the plan of a query")) };
    let mut tables = plan.tables.into_vec();
    let replace = colliding == Colliding::Replacing;
    let exprs = table.has_expressions().then(|| crate::table_exprs::table_exprs(table)).transpose()?;
    let slot = tables.len() as u32;
    tables.push(PlanTable {
        table: table.clone(),
        alias: (&*table.name).into(),
        intent: if replace { Intent::Replace } else { Intent::Insert },
        columns_used: Box::new([]),
        starred: false,
        statistics_epoch: table.statistics.epoch(),
        exprs,
        links: None,
        only: None,
        through: None,
    });
    crate::foreign::link(&mut tables, false, snapshot)?;
    let insert = Insert {
        checks: Box::new([]),
        table: slot,
        columns: columns.into(),
        source: InsertSource::Query(root),
        replace,
        ignore: colliding == Colliding::Skipped,
        on_duplicate: Box::new([]),
        self_reference: false,
        shown: Box::new([]),
        hides_counter: false,
    };
    Ok(Plan { kind: PlanKind::Insert(Box::new(insert)), columns: Box::new([]), tables: tables.into(), ..plan })
}

//! The expressions of a table's definition (generated columns, defaults, checks) bound over the table's own row.

use crate::bind::Binder;
use crate::expr::{Expr, ExprKind};
use crate::logical::ColId;
use crate::optimize::Builder;
use crate::options::PlanOptions;
use crate::plan::TableExprs;
use gannet_parser::{LexMode, ast};
use gannet_schema::{CatalogSnapshot, ColumnDefault, Table};
use gannet_types::{Result, SqlError, SqlType, TypeId};
use std::sync::Arc;

/// The expressions of a table, bound at the first call for this version of it. A view has none of its own: its columns
/// tell of the defaults of others, and the place has its query.
pub fn table_exprs(table: &Arc<Table>) -> Result<Arc<TableExprs>> {
    match table.view() {
        None => table.compiled.get_or_try_init(|| bind_all(table).map(Arc::new)).cloned(),
        Some(_) => {
            Ok(Arc::new(TableExprs { defaults: vec![None; table.columns.len()].into(), ..TableExprs::default() }))
        }
    }
}

/// Rows that were written for version `old` of a table hold what the expressions of version `new` give, and its checks
/// hold for them, the columns being where they were. A change of a column's type, collation or default shows in what is
/// bound to it.
pub fn rows_keep(old: &Arc<Table>, new: &Arc<Table>) -> Result<bool> {
    let after = table_exprs(new)?;
    // Nothing is known of values whose expressions can no longer be bound.
    let Ok(before) = table_exprs(old) else { return Ok(false) };
    let same_default = |c: u32| old.columns[c as usize].default == new.columns[c as usize].default;
    let same_defaults = |e: &Expr| {
        !e.any(&mut |e| match &e.kind {
            ExprKind::Default { column, .. } => !same_default(*column),
            _ => false,
        })
    };
    let same_type = |c: u32| old.columns[c as usize].ty == new.columns[c as usize].ty;
    let known = |check: &Expr| before.checks.iter().any(|(_, e)| e == check) && same_defaults(check);
    Ok(before.generated == after.generated
        && after.generated.iter().all(|(column, e)| same_type(*column) && same_defaults(e))
        && after.checks.iter().all(|(_, check)| known(check)))
}

fn bind_all(table: &Arc<Table>) -> Result<TableExprs> {
    let mut exprs = TableExprs { defaults: vec![None; table.columns.len()].into(), ..TableExprs::default() };
    let (mut generated, mut checks) = (Vec::new(), Vec::new());
    for (ordinal, column) in table.columns.iter().enumerate() {
        if let ColumnDefault::Expression(text) = &column.default {
            exprs.defaults[ordinal] = Some(bind_text(table, text)?);
        }
        if let Some(definition) = &column.generated {
            generated.push((ordinal as u32, bind_text(table, &definition.expression)?));
        }
    }
    for (position, check) in table.constraints.checks.iter().enumerate().filter(|(_, c)| c.enforced) {
        checks.push((position as u32, bind_text(table, &check.expression)?));
    }
    if let Some(parts) = &table.partitions {
        let definition = parts.definition();
        for (place, spread) in exprs.places.iter_mut().zip([Some(&definition.spread), definition.sub.as_ref()]) {
            *place = spread.and_then(|s| s.expression()).map(|text| bind_text(table, text)).transpose()?;
            place.iter_mut().for_each(instants);
        }
    }
    exprs.generated = generated.into();
    exprs.checks = checks.into();
    Ok(exprs)
}

/// UNIX_TIMESTAMP of a TIMESTAMP column is the instant itself, which a time zone's repeated hour cannot tell: those who
/// place rows have it in the column's place ([`crate::prune::placing`]).
fn instants(e: &mut Expr) {
    if let ExprKind::Call(def, args) = &e.kind
        && let [Expr { kind: ExprKind::Column(n), ty }] = &**args
        && def.name.eq_ignore_ascii_case("unix_timestamp")
        && ty.id == gannet_types::TypeId::Timestamp
    {
        e.kind = ExprKind::Column(*n);
        return;
    }
    e.for_each_child_mut(instants);
}

fn bind_text(table: &Arc<Table>, text: &str) -> Result<Expr> {
    let parsed = gannet_parser::parse_expr(text.as_bytes(), LexMode::default());
    match parsed.map_err(|e| SqlError::internal(format_args!("stored expression {text}: {e}")))? {
        // The column of a multi-valued index holds the array as it is; its elements are converted in the entries.
        ast::Expr::Cast(cast) if cast.array => {
            let document = bind_over(table, &cast.expr)?;
            Ok(match document.ty.id {
                TypeId::Json => document,
                _ => Expr {
                    kind: ExprKind::Cast(Box::new(document)),
                    ty: SqlType { nullable: true, ..SqlType::new(TypeId::Json) },
                },
            })
        }
        parsed => bind_over(table, &parsed),
    }
}

/// CAST ... AS ... ARRAY is the whole of an index's part, and nothing else.
#[cold]
pub fn array_outside() -> SqlError {
    SqlError::unsupported(
        "Use of CAST( .. AS .. ARRAY) outside of functional index in CREATE(non-SELECT)/ALTER TABLE or in general \
         expressions",
    )
}

/// Binds an expression over the row of a table. It sees this table only.
pub fn bind_over(table: &Arc<Table>, expr: &ast::Expr) -> Result<Expr> {
    let snapshot = CatalogSnapshot::default();
    let options = PlanOptions::new(Some(&table.schema));
    let mut binder = Binder::new(&snapshot, &options);
    let (bound, first) = binder.over_table(table, expr)?;
    let schema: Vec<ColId> = (first..first + table.columns.len() as u32).collect();
    let arena = binder.arena;
    Builder::new(&arena, &options).lower(&bound, &schema)
}

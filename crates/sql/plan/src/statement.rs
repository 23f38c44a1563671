//! The way of a statement through binder and optimizer.

use crate::bind::Binder;
use crate::expr::ExprKind;
use crate::logical::{Arena, Body, ColId, Label, Query};
use crate::optimize::Optimizer;
use crate::options::PlanOptions;
use crate::plan::{Plan, ResultColumn};
use gannet_catalog::{CatalogSnapshot, ColumnDefault, Table};
use gannet_parser::ast::Statement;
use gannet_types::{Result, SqlError, SqlType, TypeId, sqltype::flags};

/// Plans SELECT, INSERT, REPLACE, UPDATE and DELETE against a snapshot of the dictionary. Errors as MySQL gives them;
/// 1235 for what is not there.
pub fn plan(statement: &Statement, snapshot: &CatalogSnapshot, options: &PlanOptions<'_>) -> Result<Plan> {
    let mut binder = Binder::new(snapshot, options);
    match statement {
        Statement::Query(query) => {
            let query = binder.top_query(query)?;
            let columns = result_columns(&binder.arena, &query);
            Optimizer::new(binder.arena, options).select(query, columns)
        }
        Statement::Insert(insert) => {
            let bound = binder.insert(insert)?;
            Optimizer::new(binder.arena, options).insert(bound)
        }
        Statement::Update(update) => {
            let bound = binder.update(update)?;
            Optimizer::new(binder.arena, options).update(bound)
        }
        Statement::Delete(delete) => {
            let bound = binder.delete(delete)?;
            Optimizer::new(binder.arena, options).delete(bound)
        }
        _ => Err(SqlError::internal("a statement that is not planned")),
    }
}

fn result_columns(arena: &Arena, query: &Query) -> Vec<ResultColumn> {
    query.columns.iter().map(|column| result_column(arena, query, &column.name, column.id)).collect()
}

/// Metadata of one column: that of the base column which it shows, if it shows one.
fn result_column(arena: &Arena, query: &Query, name: &str, id: ColId) -> ResultColumn {
    let ty = arena.types[id as usize].clone();
    let shown = match &query.body {
        Body::Block(block) => match block.items.iter().find(|i| i.id == id).map(|i| &i.expr.kind) {
            Some(ExprKind::Column(shown)) => {
                // Behind an aggregation a group key stands for its expression.
                let group = block.groups.iter().find(|(_, key)| key == shown).map(|(e, _)| &e.kind);
                match group {
                    Some(ExprKind::Column(base)) => Some(*base),
                    Some(_) => None,
                    None => Some(*shown),
                }
            }
            _ => None,
        },
        _ => None,
    };
    let mut made = ResultColumn {
        name: name.into(),
        org_name: "".into(),
        table: "".into(),
        org_table: "".into(),
        schema: "".into(),
        flags: type_flags(&ty),
        ty,
    };
    match shown.map(|id| &arena.labels[id as usize]) {
        Some(Label::Base { table, ordinal }) => {
            let table = &arena.tables[*table as usize];
            if let Some(column) = table.table.columns.get(*ordinal as usize) {
                made.org_name = (&*column.name).into();
                made.table = table.alias.clone();
                made.org_table = (&*table.table.name).into();
                made.schema = (&*table.table.schema).into();
                made.flags |= column_flags(&table.table, *ordinal);
            }
        }
        Some(Label::Derived { alias, name, .. }) => {
            made.table = alias.clone();
            made.org_name = name.clone();
        }
        _ => {}
    }
    made
}

/// Flags that follow from the type.
fn type_flags(ty: &SqlType) -> u16 {
    let mut bits = 0;
    let mut set = |on: bool, flag: u16| {
        if on {
            bits |= flag;
        }
    };
    set(!ty.nullable, flags::NOT_NULL);
    set(ty.unsigned, flags::UNSIGNED);
    set(ty.zerofill, flags::ZEROFILL);
    set(ty.id.is_lob(), flags::BLOB);
    set(ty.id == TypeId::Enum, flags::ENUM);
    set(ty.id == TypeId::Set, flags::SET);
    let binary =
        ty.collation.is_binary() && ty.id != TypeId::Bit || ty.id.is_string() && ty.collation.is_binary_flagged();
    set(binary, flags::BINARY);
    bits
}

/// Flags that follow from the column's place in its table.
fn column_flags(table: &Table, ordinal: u32) -> u16 {
    let column = &table.columns[ordinal as usize];
    let mut bits = 0;
    for index in &table.indexes {
        let first = index.parts.first().is_some_and(|p| p.column == ordinal);
        let single = index.parts.len() == 1;
        if index.parts.iter().any(|p| p.column == ordinal) {
            bits |= flags::PART_KEY;
            match index.kind {
                gannet_catalog::IndexKind::Primary => bits |= flags::PRI_KEY,
                gannet_catalog::IndexKind::Unique if first && single => bits |= flags::UNIQUE_KEY,
                _ if first => bits |= flags::MULTIPLE_KEY,
                _ => {}
            }
        }
    }
    if column.auto_increment {
        bits |= flags::AUTO_INCREMENT;
    }
    if column.default == ColumnDefault::None && !column.nullable && !column.auto_increment {
        bits |= flags::NO_DEFAULT_VALUE;
    }
    if column.on_update_now {
        bits |= flags::ON_UPDATE_NOW;
    }
    if column.ty.id == TypeId::Timestamp {
        bits |= flags::TIMESTAMP;
    }
    bits
}

//! Generated invisible primary keys: with `sql_generate_invisible_primary_key`, CREATE TABLE gives a table without a
//! primary key the column `my_row_id bigint unsigned NOT NULL AUTO_INCREMENT INVISIBLE`, before all others, as its key.
//! Nothing but its definition tells such a key from one that was written. ALTER TABLE may drop the column or change
//! whether it is visible, and nothing else.

use gannet_parser::ast::{AlterAction, AlterTable};
use gannet_schema::names::eq_name;
use gannet_schema::{
    Column, ColumnDefault, ColumnDefinition, GENERATED_KEY, IndexDefinition, IndexKind, Table, TableDefinition,
    has_generated_key, is_generated_key_type,
};
use gannet_types::{Result, SqlError, SqlType, sql_err};

/// Puts the column before the others. Returns its key. Errors 1235 for a table with partitions, 4108, 4109.
pub(super) fn add(columns: &mut Vec<ColumnDefinition>, partitioned: bool) -> Result<IndexDefinition> {
    if partitioned {
        return Err(SqlError::unsupported("generating invisible primary key for the partitioned tables"));
    }
    for ColumnDefinition { column, .. } in columns.iter().filter(|c| !c.column.hidden) {
        if eq_name(&column.name, GENERATED_KEY) {
            return Err(sql_err!(GipkColumnExists));
        }
        if column.auto_increment {
            return Err(sql_err!(GipkFailedAutoincColumnExists));
        }
    }
    let ty = SqlType { nullable: false, ..SqlType::bigint_unsigned() };
    let plain = Column::new(GENERATED_KEY, ty, false, ColumnDefault::None);
    let column = Column { auto_increment: true, invisible: true, ..plain };
    columns.insert(0, ColumnDefinition { column, explicit_null: false });
    Ok(IndexDefinition::of_column(IndexKind::Primary, GENERATED_KEY))
}

/// A definition without a primary key gets one.
pub(super) fn add_to(definition: &mut TableDefinition) -> Result<bool> {
    if definition.indexes.iter().any(|i| i.kind == IndexKind::Primary) {
        return Ok(false);
    }
    let key = add(&mut definition.columns, definition.partitioning.is_some())?;
    definition.indexes.insert(0, key);
    Ok(true)
}

/// Whether ALTER TABLE may make this of a table. `generates`: `sql_generate_invisible_primary_key`, under which primary
/// keys do not go. Errors 1235, 4110, 4111.
pub(super) fn check_alter(alter: &AlterTable, old: &Table, new: &TableDefinition, generates: bool) -> Result<()> {
    if old.partitions.is_some() || old.primary_key().is_none() {
        return Ok(());
    }
    if generates && !new.indexes.iter().any(|i| i.kind == IndexKind::Primary) {
        return Err(SqlError::unsupported(
            "existing primary key drop without adding a new primary key. In \
             @@sql_generate_invisible_primary_key=ON mode table should have a primary key. Please add a new primary \
             key to be able to drop existing primary key.",
        ));
    }
    if !has_generated_key(old) {
        return Ok(());
    }
    if alter.partition.is_some() {
        return Err(SqlError::unsupported("partitioning table with generated invisible primary key"));
    }
    let is_it = |name: &str| eq_name(name, GENERATED_KEY);
    let drops = |a: &AlterAction| matches!(a, AlterAction::DropColumn { name, .. } if is_it(name));
    if alter.actions.iter().any(drops) {
        return Ok(());
    }
    let unkeyed = |a: &AlterAction| match a {
        AlterAction::DropPrimaryKey => true,
        AlterAction::DropIndex { name, .. } | AlterAction::DropConstraint { name, .. } => eq_name(name, "PRIMARY"),
        _ => false,
    };
    if alter.actions.iter().any(unkeyed) {
        return Err(sql_err!(DropPkColumnToDropGipk));
    }
    let same = new.columns.first().is_some_and(|c| is_it(&c.column.name) && is_generated_key_type(&c.column));
    if same { Ok(()) } else { Err(sql_err!(GipkColumnAlterNotAllowed)) }
}

/// Its column gets no default. Error 4110.
pub(super) fn check_defaults(alter: &AlterTable, old: &Table) -> Result<()> {
    let altered = |a: &AlterAction| match a {
        AlterAction::SetDefault { column, .. } | AlterAction::DropDefault(column) => eq_name(column, GENERATED_KEY),
        _ => false,
    };
    if has_generated_key(old) && alter.actions.iter().any(altered) {
        return Err(sql_err!(GipkColumnAlterNotAllowed));
    }
    Ok(())
}

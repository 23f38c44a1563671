//! Foreign keys in definitions: what a new one needs, and what the others forbid.

use super::DdlContext;
use crate::error::from_engine;
use crate::foreign;
use gannet_catalog::{Edit, Pending, StoredTable};
use gannet_engine::{KeyRange, ScanOptions};
use gannet_schema::names::eq_name;
use gannet_schema::{CatalogSnapshot, Column, ForeignKey, ReferenceAction, Table};
use gannet_types::{Result, SqlType, TypeId, ValueRef, sql_err};
use std::sync::Arc;

/// Checks the foreign keys that a new table has, or an altered one gets. Self references see `table`, others the
/// snapshot.
pub(super) fn check_new(
    table: &Table,
    altered: Option<&Pending>,
    snapshot: &CatalogSnapshot,
    cx: &DdlContext<'_>,
) -> Result<()> {
    check_stored_columns(table, altered)?;
    for key in table.constraints.foreign_keys.iter().filter(|k| altered.is_none_or(|p| p.brings(k))) {
        check_own_side(table, key)?;
        let own = key.parent_schema == table.schema && key.parent == table.name;
        if own {
            check_parent(table, key, table, cx)?;
            continue;
        }
        match snapshot.base_table(&key.parent_schema, &key.parent) {
            Some(parent) => check_parent(table, key, parent, cx)?,
            None if !cx.foreign_key_checks => {}
            None => return Err(sql_err!(FkCannotOpenParent, key.parent)),
        }
    }
    Ok(())
}

/// A table that comes into being as the parent of keys which wait for it (`foreign_key_checks` = 0) must fit them.
pub(super) fn check_waiting(table: &Table, snapshot: &CatalogSnapshot, cx: &DdlContext<'_>) -> Result<()> {
    for child in snapshot.children(&table.schema, &table.name) {
        if child.schema == table.schema && child.name == table.name {
            continue;
        }
        for key in refers(&child, table) {
            check_parent(&child, key, table, cx)?;
        }
    }
    Ok(())
}

/// The foreign keys of `child` to `parent`.
pub(super) fn refers<'c>(child: &'c Table, parent: &Table) -> impl Iterator<Item = &'c ForeignKey> {
    let (schema, name) = (parent.schema.clone(), parent.name.clone());
    child.constraints.foreign_keys.iter().filter(move |k| k.parent_schema == schema && k.parent == name)
}

fn check_own_side(table: &Table, key: &ForeignKey) -> Result<()> {
    let actions = [key.on_delete, key.on_update];
    if actions.contains(&ReferenceAction::SetDefault) {
        return Err(sql_err!(CannotAddForeign));
    }
    for ordinal in &key.columns {
        let column = &table.columns[*ordinal as usize];
        if let Some(generated) = &column.generated {
            if !generated.stored {
                return Err(sql_err!(FkCannotUseVirtualColumn, key.name, column.name));
            }
            let clause = match (key.on_delete, key.on_update) {
                (_, ReferenceAction::SetNull) => Some("ON UPDATE SET NULL"),
                (_, ReferenceAction::Cascade) => Some("ON UPDATE CASCADE"),
                (ReferenceAction::SetNull, _) => Some("ON DELETE SET NULL"),
                _ => None,
            };
            if let Some(clause) = clause {
                return Err(sql_err!(WrongFkOptionForGeneratedColumn, clause));
            }
        }
        if !column.nullable && actions.contains(&ReferenceAction::SetNull) {
            return Err(sql_err!(FkColumnNotNull, column.name, key.name));
        }
        let changes = |a: &ReferenceAction| matches!(a, ReferenceAction::SetNull | ReferenceAction::Cascade);
        if changes(&key.on_update) || key.on_delete == ReferenceAction::SetNull {
            let check = table.constraints.checks.iter().find(|c| super::expressions::uses(&c.expression, &column.name));
            if let Some(check) = check {
                return Err(sql_err!(CheckConstraintClauseUsingFkReferActionColumn, column.name, check.name, key.name));
            }
        }
    }
    Ok(())
}

/// A foreign key's action changes no column that a stored one is computed from. Error 3192. What was there may
/// stay.
fn check_stored_columns(table: &Table, altered: Option<&Pending>) -> Result<()> {
    let changes = |a: ReferenceAction| !matches!(a, ReferenceAction::NoAction | ReferenceAction::Restrict);
    let keys = table.constraints.foreign_keys.iter().filter(|k| changes(k.on_delete) || changes(k.on_update));
    for key in keys {
        let old = altered.filter(|p| !p.brings(key)).map(|p| &p.old);
        let had = |column: &Column| {
            let same = |c: &Column| eq_name(&c.name, &column.name) && c.generated == column.generated;
            old.is_some_and(|t| t.columns.iter().any(same))
        };
        // Generated columns use only such that stand before them.
        let mut changing = key.columns.to_vec();
        for (ordinal, column) in table.columns.iter().enumerate() {
            let Some(generated) = &column.generated else { continue };
            let names = super::expressions::names_in(&generated.expression);
            if !names.iter().filter_map(|n| table.column(n)).any(|used| changing.contains(&used)) {
                continue;
            }
            if generated.stored && !had(column) {
                return Err(sql_err!(CannotAddForeignBaseColStored));
            }
            changing.push(ordinal as u32);
        }
    }
    Ok(())
}

/// Foreign keys refer to unique keys alone.
fn restricts(cx: &DdlContext<'_>) -> bool {
    cx.restrict_non_standard_keys && cx.foreign_key_checks
}

/// The columns are a unique key.
fn is_standard(table: &Table, columns: &[u32]) -> bool {
    let exact = |i: &gannet_schema::Index| {
        i.unique() && i.parts.len() == columns.len() && gannet_schema::define::serves(i, columns)
    };
    table.indexes.iter().any(exact)
}

fn check_parent(child: &Table, key: &ForeignKey, parent: &Table, cx: &DdlContext<'_>) -> Result<()> {
    if parent.partitions.is_some() || child.partitions.is_some() {
        return Err(sql_err!(ForeignKeyOnPartitioned));
    }
    let mut columns = Vec::with_capacity(key.columns.len());
    for (own, name) in key.columns.iter().zip(&key.parent_columns) {
        let Some(ordinal) = parent.column(name) else {
            return Err(sql_err!(FkNoColumnParent, name, key.name, key.parent));
        };
        let (a, b): (&Column, &Column) = (&child.columns[*own as usize], &parent.columns[ordinal as usize]);
        if b.generated.as_ref().is_some_and(|g| !g.stored) {
            return Err(sql_err!(FkCannotUseVirtualColumn, key.name, b.name));
        }
        if !compatible(&a.ty, &b.ty) {
            return Err(sql_err!(FkIncompatibleColumns, a.name, b.name, key.name));
        }
        columns.push(ordinal);
    }
    if restricts(cx) && !is_standard(parent, &columns) {
        return Err(sql_err!(FkNoUniqueIndexParent, key.name, key.parent));
    }
    if foreign::serving(parent, &columns).is_none() {
        return Err(sql_err!(FkNoIndexParent, key.name, key.parent));
    }
    Ok(())
}

/// Values of the two types may be compared by their keys' bytes.
fn compatible(a: &SqlType, b: &SqlType) -> bool {
    let text = |t: &SqlType| matches!(t.id, TypeId::Char | TypeId::VarChar);
    let bytes = |t: &SqlType| matches!(t.id, TypeId::Binary | TypeId::VarBinary);
    if text(a) && text(b) {
        return a.collation == b.collation;
    }
    if bytes(a) && bytes(b) {
        return true;
    }
    a.id == b.id
        && match a.id {
            id if id.is_integer() => a.unsigned == b.unsigned,
            TypeId::Decimal => a.unsigned == b.unsigned && a.length == b.length && a.scale == b.scale,
            TypeId::Enum | TypeId::Set => a.collation == b.collation,
            id if id.is_lob() => false,
            TypeId::Time | TypeId::DateTime | TypeId::Timestamp => true,
            _ => true,
        }
}

/// An index of the new version was brought by a foreign key that the old one did not have.
fn brought(pending: &Pending, index: usize) -> bool {
    let new = &pending.table;
    let mut keys = new.constraints.foreign_keys.iter().filter(|k| pending.brings(k));
    keys.any(|k| new.indexes[index].parts.iter().map(|p| p.column).eq(k.columns.iter().copied()))
}

/// What the foreign keys around an altered table forbid. Errors 1828, 1829, 1553, 1832, 1833.
pub(super) fn check_alter(pending: &Pending, snapshot: &CatalogSnapshot, cx: &DdlContext<'_>) -> Result<()> {
    let (old, new) = (&pending.old, &pending.table);
    let moved = |ordinal: u32| pending.columns.iter().position(|o| *o == Some(ordinal)).map(|i| i as u32);
    let changed = |a: u32, b: u32| super::online::converts(&old.columns[a as usize].ty, &new.columns[b as usize].ty);
    let gone = |columns: &[u32]| -> Option<&Arc<str>> {
        // The index which served is the one that was dropped.
        let dropped = |i: &usize| !pending.origins.contains(&Some(*i));
        let serving = |i: &usize| gannet_schema::define::serves(&old.indexes[*i], columns);
        (0..old.indexes.len()).filter(serving).find(dropped).map(|i| &old.indexes[i].name)
    };
    check_set_null(pending)?;
    for key in &old.constraints.foreign_keys {
        if !new.constraints.foreign_keys.iter().any(|k| eq_name(&k.name, &key.name) && !pending.brings(k)) {
            continue;
        }
        let own = *key.parent_schema == *old.schema && *key.parent == *old.name;
        let parent = if own { Some(new) } else { snapshot.base_table(&key.parent_schema, &key.parent) };
        for (ordinal, name) in key.columns.iter().zip(&key.parent_columns) {
            let Some(to) = moved(*ordinal).filter(|to| changed(*ordinal, *to)) else { continue };
            if let Some(parent) = parent.and_then(|p| p.column(name).map(|c| &p.columns[c as usize])) {
                check_changed(key, &new.columns[to as usize], parent, cx)?;
            }
            if cx.foreign_key_checks {
                return Err(sql_err!(FkColumnCannotChange, old.columns[*ordinal as usize].name, key.name));
            }
        }
        let columns: Option<Vec<u32>> = key.columns.iter().map(|c| moved(*c)).collect();
        // An index made for the occasion does not count, but one that a new foreign key brings.
        let there = |i: usize| pending.origins[i].is_some() || !new.indexes[i].generated || brought(pending, i);
        if let Some(columns) = columns
            && !(0..new.indexes.len()).any(|i| gannet_schema::define::serves(&new.indexes[i], &columns) && there(i))
            && let Some(name) = gone(&key.columns)
        {
            return Err(sql_err!(DropIndexFk, name));
        }
    }
    for child in snapshot.children(&old.schema, &old.name) {
        let own = child.id == old.id;
        for key in refers(if own { new } else { &child }, old) {
            let mut columns = Vec::new();
            for (own_column, name) in key.columns.iter().zip(&key.parent_columns) {
                let Some(ordinal) = old.column(name) else { continue };
                match moved(ordinal) {
                    None => {
                        let table = format!("{}.{}", child.schema, child.name);
                        return Err(sql_err!(FkColumnCannotDropChild, name, key.name, table));
                    }
                    Some(to) => {
                        if changed(ordinal, to) {
                            let child = if own { new } else { &child };
                            check_changed(key, &child.columns[*own_column as usize], &new.columns[to as usize], cx)?;
                        }
                        if cx.foreign_key_checks && changed(ordinal, to) {
                            let table = format!("{}.{}", child.schema, child.name);
                            return Err(sql_err!(FkColumnCannotChangeChild, name, key.name, table));
                        }
                        columns.push(to);
                    }
                }
            }
            let referred: Vec<u32> = key.parent_columns.iter().filter_map(|n| old.column(n)).collect();
            // One that is not unique takes the place of a unique one only where such keys may be made.
            let lost = restricts(cx) && is_standard(old, &referred) && !is_standard(new, &columns);
            if columns.len() == key.columns.len()
                && (lost || foreign::serving(new, &columns).is_none())
                && let Some(index) = gone(&referred)
            {
                return Err(sql_err!(DropIndexFk, index));
            }
        }
    }
    Ok(())
}

/// A key that sets NULL stays one of columns that take it. Error 1830.
fn check_set_null(pending: &Pending) -> Result<()> {
    let new = &pending.table;
    for key in new.constraints.foreign_keys.iter().filter(|key| !pending.brings(key)) {
        for ordinal in &key.columns {
            let column = &new.columns[*ordinal as usize];
            if !column.nullable && [key.on_delete, key.on_update].contains(&ReferenceAction::SetNull) {
                return Err(sql_err!(FkColumnNotNull, column.name, key.name));
            }
        }
    }
    Ok(())
}

/// A column of a key gets another type: their values have to compare by their keys' bytes. Without foreign_key_checks
/// the character sets of both may be changed one after the other. Error 3780.
fn check_changed(key: &ForeignKey, child: &Column, parent: &Column, cx: &DdlContext<'_>) -> Result<()> {
    let text = |c: &Column| matches!(c.ty.id, TypeId::Char | TypeId::VarChar);
    if compatible(&child.ty, &parent.ty) || !cx.foreign_key_checks && text(child) && text(parent) {
        return Ok(());
    }
    Err(sql_err!(FkIncompatibleColumns, child.name, parent.name, key.name))
}

/// DROP COLUMN of a column that one of the table's own keys needs: error 1828.
pub(super) fn check_dropped(old: &Table, kept: &[&str], column: u32) -> Result<()> {
    for key in &old.constraints.foreign_keys {
        if key.columns.contains(&column) && kept.iter().any(|n| eq_name(n, &key.name)) {
            return Err(sql_err!(FkColumnCannotDrop, old.columns[column as usize].name, key.name));
        }
    }
    Ok(())
}

/// The rows of a table satisfy the foreign keys that the statement brings. Error 1452.
pub(super) fn check_rows(pending: &Pending, edit: &mut Edit<'_>, cx: &DdlContext<'_>) -> Result<()> {
    let table = &pending.table;
    let keys: Vec<&ForeignKey> = table.constraints.foreign_keys.iter().filter(|k| pending.brings(k)).collect();
    if keys.is_empty() || !cx.foreign_key_checks {
        return Ok(());
    }
    let engine = edit.txn().engine().clone();
    // Rows which are not copied are where they were.
    let rows = table.trees(&engine).map_err(from_engine)?.row.clone();
    let reader = super::sql(edit.reader(table))?;
    for key in keys {
        let own = key.parent_schema == table.schema && key.parent == table.name;
        let parent =
            if own { table.clone() } else { edit.snapshot().require_table(&key.parent_schema, &key.parent)?.clone() };
        let columns: Vec<u32> = key.parent_columns.iter().filter_map(|n| parent.column(n)).collect();
        let Some(index) = foreign::serving(&parent, &columns) else {
            return Err(sql_err!(FkNoIndexParent, key.name, key.parent));
        };
        let trees = parent.trees(&engine).map_err(from_engine)?.clone();
        let options = ScanOptions { sequential: true, ..ScanOptions::default() };
        let mut scan = reader.scan(&rows, KeyRange::ALL, options).map_err(from_engine)?;
        let mut prefix = Vec::new();
        while let Some(entry) = scan.next().map_err(from_engine)? {
            let value = |c: u32| table.layout().get(entry.value, c as usize).unwrap_or(ValueRef::Null);
            if key.columns.iter().any(|c| value(*c).is_null()) {
                continue;
            }
            prefix.clear();
            foreign::encode_prefix(&parent, index, key.columns.iter().map(|c| value(*c)), &mut prefix)?;
            let parents = reader.scan(&trees.indexes[index], KeyRange::prefix(&prefix), ScanOptions::default());
            if !parents.and_then(|mut p| Ok(p.next()?.is_some())).map_err(from_engine)? {
                return Err(foreign::no_parent(table, key));
            }
        }
    }
    Ok(())
}

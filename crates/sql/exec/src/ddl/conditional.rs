//! ALTER TABLE's IF EXISTS and IF NOT EXISTS of MariaDB, where they are no part of the action itself: what has nothing
//! to do is left out, with a note.

use super::DdlContext;
use gannet_parser::ast::{AlterAction, AlterTable, IndexKind, TableElement};
use gannet_schema::Table;
use gannet_schema::names::eq_name;
use gannet_types::{SqlError, sql_err};

fn is_conditional(element: &TableElement) -> bool {
    match element {
        TableElement::Index(index) => index.if_not_exists,
        TableElement::ForeignKey(key) => key.if_not_exists,
        TableElement::Check(check) => check.if_not_exists,
        _ => false,
    }
}

/// The statement without conditions; `None`: it has none.
pub(super) fn resolved(alter: &AlterTable, table: &Table, cx: &mut DdlContext<'_>) -> Option<AlterTable> {
    let conditional = |action: &AlterAction| match action {
        AlterAction::Conditional(_) => true,
        AlterAction::AddElement(element) => is_conditional(element),
        AlterAction::AddElements(elements) => elements.iter().any(is_conditional),
        _ => false,
    };
    if !alter.actions.iter().any(conditional) {
        return None;
    }
    let gone: Vec<&str> = alter.actions.iter().filter_map(dropped).collect();
    let actions = alter.actions.iter().filter_map(|action| one(action, table, &gone, cx)).collect();
    Some(AlterTable { actions, ..alter.clone() })
}

/// A key or constraint that the statement drops, which may come again.
fn dropped(action: &AlterAction) -> Option<&str> {
    match action {
        AlterAction::DropPrimaryKey => Some("PRIMARY"),
        AlterAction::DropIndex { name, .. }
        | AlterAction::DropForeignKey { name, .. }
        | AlterAction::DropConstraint { name, .. }
        | AlterAction::DropCheck(name) => Some(name),
        _ => None,
    }
}

/// What is left of an action.
fn one(action: &AlterAction, table: &Table, gone: &[&str], cx: &mut DdlContext<'_>) -> Option<AlterAction> {
    let is_there = |element: &TableElement, columns: bool| there(element, table, gone, columns);
    match (action, action.plain()) {
        (_, AlterAction::AddElement(element)) => noted(is_there(element, false), action, cx),
        (_, AlterAction::AddElements(elements)) => {
            let columns = matches!(action, AlterAction::Conditional(_));
            let mut left = elements.clone();
            left.retain(|element| match is_there(element, columns) {
                Some(e) => {
                    cx.note(&e);
                    false
                }
                None => true,
            });
            (!left.is_empty()).then_some(AlterAction::AddElements(left))
        }
        (AlterAction::Conditional(_), AlterAction::DropPartition(names)) => {
            let mut left = names.clone();
            left.retain(|name| {
                let of = table.partitions.as_ref();
                let found = of.is_none_or(|of| of.definition().partition(name).is_some());
                if !found {
                    cx.note(&sql_err!(DropPartitionNonExistent, "DROP"));
                }
                found
            });
            (!left.is_empty()).then_some(AlterAction::DropPartition(left))
        }
        (AlterAction::Conditional(_), plain) => noted(nothing_to_do(plain, table), plain, cx),
        (action, _) => Some(action.clone()),
    }
}

fn noted(why: Option<SqlError>, action: &AlterAction, cx: &mut DdlContext<'_>) -> Option<AlterAction> {
    match why {
        Some(e) => {
            cx.note(&e);
            None
        }
        None => Some(action.clone()),
    }
}

/// That what is to be added is there.
fn there(element: &TableElement, table: &Table, gone: &[&str], columns: bool) -> Option<SqlError> {
    let goes = |name: &str| gone.iter().any(|g| eq_name(g, name));
    match element {
        TableElement::Column(column) if columns => {
            table.column(&column.name).is_some().then(|| sql_err!(DupFieldname, column.name))
        }
        TableElement::Index(index) if index.if_not_exists && index.kind == IndexKind::Primary => {
            let found = table.primary_key().is_some() && !goes("PRIMARY");
            found.then(|| sql_err!(MultiplePriKey))
        }
        TableElement::Index(index) if index.if_not_exists => {
            let name = index.name.as_ref().or(index.constraint.as_ref())?;
            let found = table.index(name).is_some() && !goes(name);
            found.then(|| sql_err!(DupKeyname, name))
        }
        TableElement::ForeignKey(key) if key.if_not_exists => {
            let name = key.constraint.as_ref().or(key.name.as_ref())?;
            let found = table.constraints.foreign_keys.iter().any(|k| eq_name(&k.name, name) && !goes(name));
            found.then(|| sql_err!(FkDupName, name))
        }
        TableElement::Check(check) if check.if_not_exists => {
            let name = check.constraint.as_ref()?;
            let found = table.constraints.checks.iter().any(|c| eq_name(&c.name, name) && !goes(name));
            found.then(|| sql_err!(CheckConstraintDupName, name))
        }
        _ => None,
    }
}

/// That what is to be changed is not there, or a partition is.
fn nothing_to_do(action: &AlterAction, table: &Table) -> Option<SqlError> {
    let column = |name: &str| table.column(name).is_none().then(|| sql_err!(BadField, name, table.name));
    let index = |name: &str| table.index(name).is_none().then(|| sql_err!(KeyDoesNotExits, name, table.name));
    match action {
        AlterAction::RenameColumn { old, .. } => column(old),
        AlterAction::SetDefault { column: name, .. } | AlterAction::DropDefault(name) => column(name),
        AlterAction::RenameIndex { old, .. } => index(old),
        AlterAction::IndexVisibility { name, .. } => index(name),
        AlterAction::AddPartition { partitions, .. } => {
            let of = table.partitions.as_ref()?;
            let same = partitions.iter().find(|p| of.definition().partition(&p.name).is_some())?;
            Some(sql_err!(SameNamePartition, same.name))
        }
        _ => None,
    }
}

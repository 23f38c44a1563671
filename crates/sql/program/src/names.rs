//! What names mean in the statements of a program.

use crate::Slot;
use gannet_plan::options::{Local, Locals};
use gannet_schema::names::eq_name;
use gannet_types::{Result, SqlType, sql_err};
use std::sync::Arc;

/// The rows that a trigger sees.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// The first slot of OLD.
    pub old: Option<u32>,
    /// The first slot of NEW.
    pub new: Option<u32>,
    /// What fires the trigger, for messages.
    pub event: &'static str,
    /// The columns' names.
    pub columns: Box<[Box<str>]>,
}

/// Declarations as they nest: number 0 has none.
#[derive(Debug, Default)]
pub(crate) struct Scopes {
    pub(crate) list: Vec<Scope>,
    pub(crate) slots: Box<[Slot]>,
    pub(crate) rows: Option<Rows>,
}

#[derive(Debug)]
pub(crate) struct Scope {
    pub(crate) outer: u32,
    pub(crate) slots: Vec<u32>,
}

/// What names mean at one place of a program.
#[derive(Clone, Debug)]
pub struct Names {
    pub(crate) scopes: Arc<Scopes>,
    pub(crate) scope: u32,
}

pub(crate) fn find_slot(list: &[Scope], slots: &[Slot], scope: u32, name: &str) -> Option<u32> {
    let mut at = scope;
    loop {
        let scope = list.get(at as usize)?;
        let found = scope.slots.iter().rev().find(|s| eq_name(&slots[**s as usize].name, name));
        if let Some(slot) = found {
            return Some(*slot);
        }
        if at == 0 {
            return None;
        }
        at = scope.outer;
    }
}

/// The slot of `OLD.column` or `NEW.column`. Errors 1363, 1054.
pub fn row_slot(rows: &Rows, row: &str, column: &str) -> Result<u32> {
    let first = if eq_name(row, "OLD") { rows.old } else { rows.new };
    let first =
        first.ok_or_else(|| sql_err!(TrgNoSuchRowInTrg, row.to_uppercase(), format_args!("on {}", rows.event)))?;
    let found = rows.columns.iter().position(|c| eq_name(c, column));
    let found = found.ok_or_else(|| sql_err!(BadField, column, row.to_uppercase()))?;
    Ok(first + found as u32)
}

impl Names {
    /// The variable that a name means.
    pub fn slot(&self, name: &str) -> Option<u32> {
        find_slot(&self.scopes.list, &self.scopes.slots, self.scope, name)
    }

    /// How many variables of the blocks around, and of its own before it, a variable stands behind.
    fn offset(&self, slot: u32) -> usize {
        let (mut at, mut before, mut found) = (self.scope, 0, false);
        while let Some(scope) = self.scopes.list.get(at as usize) {
            if found {
                before += scope.slots.len();
            } else if let Some(place) = scope.slots.iter().position(|s| *s == slot) {
                (before, found) = (place, true);
            }
            if at == 0 {
                break;
            }
            at = scope.outer;
        }
        before
    }

    /// The slot of a column of OLD or NEW; `None` outside triggers.
    pub fn row_slot(&self, row: &str, column: &str) -> Result<Option<u32>> {
        self.scopes.rows.as_ref().map(|rows| row_slot(rows, row, column)).transpose()
    }

    /// Name and type of a slot.
    pub fn of(&self, slot: u32) -> &Slot {
        &self.scopes.slots[slot as usize]
    }

    /// It may be assigned: a variable, or a column of NEW.
    pub fn is_old(&self, slot: u32) -> bool {
        let rows = self.scopes.rows.as_ref();
        rows.and_then(|r| r.old.map(|first| (first..first + r.columns.len() as u32).contains(&slot))).unwrap_or(false)
    }
}

impl Locals for Names {
    fn find(&self, row: Option<&str>, name: &str) -> Result<Option<Local>> {
        let slot = match row {
            Some(row) => self.row_slot(row, name)?,
            None => self.slot(name),
        };
        Ok(slot.map(|slot| {
            let of = self.of(slot);
            let name = match row {
                Some(row) => format!("{}.{}", row.to_uppercase(), of.name),
                None => format!("{name}@{}", self.offset(slot)),
            };
            Local { slot, ty: SqlType { nullable: true, ..of.ty.clone() }, name: name.into() }
        }))
    }
}

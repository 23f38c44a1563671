//! Triggers: stages of a row's change. A table without triggers is looked at once for each statement or row and pays no
//! more. What follows by foreign keys fires none.

use super::defaults;
use crate::context::Cx;
use gannet_plan::plan::Insert;
use gannet_schema::{Table, TriggerEvent};
use gannet_types::{Level, Result, Value, sql_err};

/// Fires the triggers of an event and time of plan table `slot` for one row. NEW comes back as BEFORE triggers leave
/// it, and the columns that they have set to NULL.
pub(crate) fn fire(
    slot: usize,
    (event, after): (TriggerEvent, bool),
    old: Option<&[Value]>,
    mut new: Option<&mut [Value]>,
    cx: &mut Cx<'_, '_>,
) -> Result<Vec<u32>> {
    let plan = cx.shared.plan;
    let mut nulled = Vec::new();
    if !cx.shared.settings.triggers {
        return Ok(nulled);
    }
    let table = &plan.tables[slot].table;
    for trigger in table.triggers_of(event, after) {
        let (session, to, warnings) = cx.program()?;
        nulled.extend(session.fire_trigger(to, warnings, (table, trigger), old, new.as_deref_mut())?);
    }
    Ok(nulled)
}

/// Triggers of the event run before the row is written: what NOT NULL says waits for them.
pub(crate) fn before(table: &Table, event: TriggerEvent) -> bool {
    !table.triggers.is_empty() && table.triggers_of(event, false).next().is_some()
}

/// The triggers that fire do nothing that other rows, or what is done to them, could show.
pub(super) fn are_of_row(insert: &Insert, cx: &mut Cx<'_, '_>) -> Result<bool> {
    let plan = cx.shared.plan;
    let table = &plan.tables[insert.table as usize].table;
    if !table.fires(TriggerEvent::Insert) || !cx.shared.settings.triggers {
        return Ok(true);
    }
    if insert.ignore || table.triggers_of(TriggerEvent::Insert, true).next().is_some() {
        return Ok(false);
    }
    for trigger in table.triggers_of(TriggerEvent::Insert, false) {
        let (session, to, warnings) = cx.program()?;
        if !session.is_of_row(to, warnings, (table, trigger)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// NULL in NOT NULL columns after BEFORE triggers: error 1048, or without strict mode a warning and the implicit
/// default. `missing`: columns that the statement gave no value, which is error 1364.
pub(crate) fn check_nulls(
    table: &Table,
    row: &mut [Value],
    missing: &[usize],
    refuse: bool,
    cx: &mut Cx<'_, '_>,
) -> Result<()> {
    for (i, column) in table.columns.iter().enumerate() {
        if !row[i].is_null() || column.nullable || column.auto_increment || column.generated.is_some() {
            continue;
        }
        let given = !missing.contains(&i);
        let error = if given { sql_err!(BadNull, column.name) } else { defaults::no_default(column, cx) };
        if cx.strict || refuse && given {
            return Err(error);
        }
        match given {
            true => cx.warnings.push(error.to_warning(Level::Warning)),
            false => defaults::warn_of_no_default(column, cx),
        }
        row[i] = if given { defaults::emptied(column) } else { defaults::implicit(column) };
    }
    Ok(())
}

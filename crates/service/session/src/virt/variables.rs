//! performance_schema: the variables of sessions.

use super::columns::COUNT;
use super::declare::{NAME, varchar};
use super::runtime::visible;
use super::{Emit, Equals, text};
use crate::state::State;
use crate::variables::{each, each_of};
use gannet_core::vars::{Scope, find};
use gannet_types::{Result, Value};

tables! {
    PERFORMANCE_SCHEMA in "performance_schema":
    variables_by_thread by variables {
        THREAD_ID: COUNT, VARIABLE_NAME: NAME.not_null(), VARIABLE_VALUE: varchar(1024),
    }
}

/// Of others as they were at the end of their last commands.
fn variables(state: &mut State, equals: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    // There are many rows, and what asks for them most often knows which.
    let (thread, variable) = (equals.text("THREAD_ID"), equals.text("VARIABLE_NAME"));
    for entry in visible(state).iter().filter(|e| thread.as_ref().is_none_or(|id| *id == e.id.to_string())) {
        let wanted = |name: &str| variable.as_ref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(name));
        let mut send = |name: &str, value: &str| match wanted(name) {
            true => emit(&[Value::UInt(entry.id), text(name), text(value)]),
            false => Ok(()),
        };
        if entry.id == state.entry.id {
            let own = |name: &str| find(name).is_some_and(|id| id.def().scope != Scope::Global);
            each(state, false, own, &mut send)?;
        } else if let Some(vars) = entry.variables.lock().clone() {
            each_of(state, &vars, &mut send)?;
        }
    }
    Ok(())
}

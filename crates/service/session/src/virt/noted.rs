//! performance_schema: memory, of which the server knows the sizes and no allocations.

use super::columns::{EVENT, MEMORY};
use super::{Emit, Equals, text};
use crate::state::State;
use gannet_base::PAGE_SIZE;
use gannet_core::Core;
use gannet_types::{Result, Value};

tables! {
    PERFORMANCE_SCHEMA in "performance_schema":
    memory_summary_global_by_event_name by memory, reset by nothing {} + EVENT + MEMORY
}

/// The pool's pages, what statements hold, and the rest of the process.
fn memory(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let server = &state.server;
    let pages = server.engine.status().pool_resident;
    let pool = pages * PAGE_SIZE as u64;
    let statements = server.temp.memory_used() as u64;
    let resident = gannet_runtime::resident_bytes().unwrap_or(0);
    let rest = resident.saturating_sub(pool).saturating_sub(statements);
    let of = |name: &str, count: u64, bytes: u64| {
        let mut row = vec![text(name)];
        let size = |column: &str| match column {
            "CURRENT_COUNT_USED" | "HIGH_COUNT_USED" => i64::try_from(count),
            "CURRENT_NUMBER_OF_BYTES_USED" | "HIGH_NUMBER_OF_BYTES_USED" => i64::try_from(bytes),
            _ => Ok(0),
        };
        row.extend(MEMORY.iter().map(|(column, _)| match size(column).unwrap_or(i64::MAX) {
            n if column.ends_with("_USED") => Value::Int(n),
            n => Value::UInt(n.unsigned_abs()),
        }));
        row
    };
    emit(&of("memory/innodb/buf_buf_pool", pages, pool))?;
    emit(&of("memory/gannet/statements", 0, statements))?;
    emit(&of("memory/gannet/other", 0, rest))
}

/// There is nothing to forget.
fn nothing(_: &Core) {}

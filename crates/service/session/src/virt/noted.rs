//! performance_schema: memory, of which the server knows the sizes and no allocations; and indexes, of which it knows
//! the plans that use them and no waits.

use super::columns::{DELETE, EVENT, FETCH, INSERT, MEMORY, READ, TIMED, UPDATE, WRITE};
use super::declare::NAME;
use super::metadata::each_table;
use super::{Emit, Equals, text};
use crate::state::State;
use gannet_base::PAGE_SIZE;
use gannet_core::Core;
use gannet_schema::RowSource;
use gannet_types::{Result, Value};

tables! {
    PERFORMANCE_SCHEMA in "performance_schema":
    memory_summary_global_by_event_name by memory, reset by nothing {} + EVENT + MEMORY
    table_io_waits_summary_by_index_usage by indexes, reset by forget {
        OBJECT_TYPE: NAME, OBJECT_SCHEMA: NAME, OBJECT_NAME: NAME, INDEX_NAME: NAME,
    } + TIMED + READ + WRITE + FETCH + INSERT + UPDATE + DELETE
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

/// A row for each index, and one for scans of all rows. Plans are counted, not the rows that they read.
fn indexes(state: &mut State, equals: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let zeros = TIMED.len() + READ.len() + WRITE.len() + FETCH.len() + INSERT.len() + UPDATE.len() + DELETE.len();
    each_table(state, equals, ("OBJECT_SCHEMA", "OBJECT_NAME"), |_, t| {
        if !matches!(t.source, RowSource::Engine) {
            return Ok(());
        }
        for name in t.indexes.iter().map(|i| Some(&i.name)).chain([None]) {
            let uses = t.statistics.uses(name.map_or("", |name| name));
            let mut row = vec![text("TABLE"), text(&t.schema), text(&t.name), name.map_or(Value::Null, |n| text(n))];
            row.resize(row.len() + zeros, Value::UInt(0));
            // COUNT_STAR, COUNT_READ, COUNT_FETCH.
            for at in [0, TIMED.len(), TIMED.len() + READ.len() + WRITE.len()] {
                row[4 + at] = Value::UInt(uses);
            }
            emit(&row)?;
        }
        Ok(())
    })
}

/// There is nothing to forget.
fn nothing(_: &Core) {}

fn forget(core: &Core) {
    let snapshot = core.catalog.snapshot();
    for schema in snapshot.schemas() {
        snapshot.tables(&schema.name).iter().for_each(|t| t.statistics.forget_uses());
    }
}

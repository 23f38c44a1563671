//! performance_schema: memory, of which the server knows what statements took, and else sizes alone.

use super::columns::*;
use super::deeds::whose;
use super::runtime::visible;
use super::{Emit, Equals, text};
use crate::state::State;
use gannet_base::PAGE_SIZE;
use gannet_core::Core;
use gannet_core::accounts::Privilege;
use gannet_core::ledger::Of;
use gannet_exec::spill::Figures;
use gannet_types::{Result, Value};

tables! {
    PERFORMANCE_SCHEMA in "performance_schema":
    memory_summary_global_by_event_name by memory, reset by forget_all {} + EVENT + MEMORY
    memory_summary_by_thread_by_event_name by by_thread, reset by forget_threads {} + THREAD + MEMORY
    memory_summary_by_account_by_event_name by memory_of(Account), reset by forget(Account) {} + ACCOUNT + MEMORY
    memory_summary_by_user_by_event_name by memory_of(User), reset by forget(User) {} + USER + MEMORY
    memory_summary_by_host_by_event_name by memory_of(Host), reset by forget(Host) {} + HOST + MEMORY
}

/// What statements, and values that their sessions keep, take from the memory that is for them.
const STATEMENTS: &str = "memory/gannet/statements";

/// Bytes of a piece in which statements take memory.
const PIECE: u64 = 1 << 20;

/// The columns of [`MEMORY`].
fn figures(f: &Figures) -> [Value; 10] {
    let unsigned = |n: u64| Value::UInt(n);
    let signed = |n: u64| Value::Int(i64::try_from(n).unwrap_or(i64::MAX));
    [
        unsigned(f.taken / PIECE),
        unsigned(f.given / PIECE),
        unsigned(f.taken),
        unsigned(f.given),
        signed(f.least / PIECE),
        signed(f.held() / PIECE),
        signed(f.most / PIECE),
        signed(f.least),
        signed(f.held()),
        signed(f.most),
    ]
}

/// The pool's pages, what statements hold, and the rest of the process.
fn memory(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let server = &state.server;
    let pages = server.engine.status().pool_resident;
    let pool = pages * PAGE_SIZE as u64;
    let statements = server.temp.taken().read();
    let resident = gannet_runtime::resident_bytes().unwrap_or(0);
    let rest = resident.saturating_sub(pool).saturating_sub(statements.held());
    // Sizes at this moment, of which no history is kept: as if what is there had been taken, and nothing given back.
    let size = |name: &str, count: u64, bytes: u64| {
        let f = figures(&Figures { taken: bytes, given: 0, least: 0, most: bytes });
        let [_, given, taken, given_bytes, low, _, _, low_bytes, bytes, most] = f;
        let held = Value::Int(i64::try_from(count).unwrap_or(i64::MAX));
        let row = [Value::UInt(count), given, taken, given_bytes, low, held.clone(), held, low_bytes, bytes, most];
        [&[text(name)], &row[..]].concat()
    };
    emit(&size("memory/innodb/buf_buf_pool", pages, pool))?;
    emit(&[&[text(STATEMENTS)], &figures(&statements)[..]].concat())?;
    emit(&size("memory/gannet/other", 0, rest))
}

fn by_thread(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for e in visible(state) {
        emit(&[&[Value::UInt(e.id), text(STATEMENTS)], &figures(&e.memory.read())[..]].concat())?;
    }
    Ok(())
}

fn memory_of(state: &State, of: Of, emit: Emit<'_>) -> Result<()> {
    state.privileges().require(Privilege::Process)?;
    for (key, taken) in state.server.registry.memory(of) {
        emit(&[&whose(of, &key)[..], &[text(STATEMENTS)], &figures(&taken)].concat())?;
    }
    Ok(())
}

fn forget_all(core: &Core) {
    core.temp.taken().begin_again();
    core.registry.forget_memory(Some(Of::All));
}

fn forget_threads(core: &Core) {
    core.registry.forget_memory(None);
}

fn forget(core: &Core, of: Of) {
    core.registry.forget_memory(Some(of));
}

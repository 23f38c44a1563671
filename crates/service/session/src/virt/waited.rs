//! performance_schema: what sessions waited for, by session, account, user and host; and how long tables were waited
//! for.

use super::columns::*;
use super::deeds::{all_by, timed, whose};
use super::metadata::each_table;
use super::runtime::{ps, visible};
use super::{Emit, Equals, objects, sockets, text, usage};
use crate::state::State;
use gannet_core::Core;
use gannet_core::accounts::Privilege;
use gannet_core::ledger::Of;
use gannet_core::waited::{Waits, Whose};
use gannet_engine::lock::Waited;
use gannet_schema::{RowSource, Table};
use gannet_types::{Result, Value};

tables! {
    PERFORMANCE_SCHEMA in "performance_schema":
    events_waits_summary_global_by_event_name by of_all, reset by forget_all {} + EVENT + TIMED
    events_waits_summary_by_thread_by_event_name by by_thread, reset by forget_threads {} + THREAD + TIMED
    events_waits_summary_by_account_by_event_name by waits_of(Account), reset by forget(Account) {} + ACCOUNT + TIMED
    events_waits_summary_by_user_by_event_name by waits_of(User), reset by forget(User) {} + USER + TIMED
    events_waits_summary_by_host_by_event_name by waits_of(Host), reset by forget(Host) {} + HOST + TIMED
    table_lock_waits_summary_by_table by of_tables, reset by forget_tables {}
        + OBJECT + TIMED + READ + WRITE + READ_NORMAL + READ_SHARED + READ_HIGH + READ_NO_INSERT + READ_EXTERNAL
        + WRITE_ALLOW + WRITE_CONCURRENT + WRITE_LOW + WRITE_NORMAL + WRITE_EXTERNAL
    objects_summary_global_by_type by objects, reset by forget_objects {} + OBJECT + TIMED
}

/// The least and the greatest are not kept.
fn emit_waits(whose: &[Value], waits: &Waits, emit: Emit<'_>) -> Result<()> {
    for (event, count, ns) in waits.each() {
        let average = ns.checked_div(count).unwrap_or(0);
        let times = [Value::UInt(count), ps(ns), ps(0), ps(average), ps(0)];
        emit(&[whose, &[text(event.name())], &times].concat())?;
    }
    Ok(())
}

/// Those of files, sockets and tables are the figures of the tables that have these alone.
fn of_all(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for w in state.server.reports.waits.totals().iter().filter(|w| !w.wait.is_of_file()) {
        emit(&[&[text(w.wait.name())], &timed(w.count, w.ns, w.least_ns, w.most_ns)[..]].concat())?;
    }
    objects::emit_file_waits(emit)?;
    sockets::emit_wait(state, emit)?;
    usage::emit_wait(state, emit)
}

fn by_thread(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for e in visible(state) {
        emit_waits(&[Value::UInt(e.id)], &e.deeds.waits.read(&e.counters, Whose::Session), emit)?;
    }
    Ok(())
}

fn waits_of(state: &State, of: Of, emit: Emit<'_>) -> Result<()> {
    state.privileges().require(Privilege::Process)?;
    all_by(state, of).iter().try_for_each(|(key, account)| emit_waits(&whose(of, key), &account.waits, emit))
}

fn forget_all(core: &Core) {
    core.reports.waits.reset();
    objects::forget_files(core);
    sockets::forget_events(core);
    usage::forget_tables(core);
    core.registry.forget_waits(Some(Of::All));
}

fn forget_threads(core: &Core) {
    core.registry.forget_waits(None);
}

fn stored(t: &Table) -> bool {
    matches!(t.source, RowSource::Engine) && !t.temporary
}

fn times(w: &Waited) -> [Value; 5] {
    timed(w.count, w.total_ns, w.min_ns, w.max_ns)
}

/// Waits for the metadata locks of tables, LOCK TABLES among them: as the external locks of readers and writers.
fn of_tables(state: &mut State, equals: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let waits = state.server.engine.lock_table().mdl_waits();
    let shown = state.server.registry.setup.shows("TABLE");
    each_table(state, equals, ("OBJECT_SCHEMA", "OBJECT_NAME"), |_, t| {
        if !stored(t) || !shown(&t.schema, &t.name) {
            return Ok(());
        }
        let nothing = Waited::default();
        let (readers, writers) = waits.get(&t.id.0).map_or((nothing, nothing), |w| (w.readers, w.writers));
        let all = [readers.and(writers), readers, writers];
        let parts = [&all[..], &[nothing; 4], &[readers], &[nothing; 4], &[writers]].concat();
        let mut row = vec![text("TABLE"), text(&t.schema), text(&t.name)];
        row.extend(parts.iter().flat_map(times));
        emit(&row)
    })
}

fn forget_tables(core: &Core) {
    core.engine.lock_table().forget_mdl_waits();
}

/// Rows that were read and changed, without times, as of the tables' I/O.
fn objects(state: &mut State, equals: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    each_table(state, equals, ("OBJECT_SCHEMA", "OBJECT_NAME"), |_, t| {
        if !stored(t) {
            return Ok(());
        }
        let uses = state.server.reports.uses.objects.of(t);
        let mut row = vec![text("TABLE"), text(&t.schema), text(&t.name), Value::UInt(uses.read() + uses.changed())];
        row.resize(8, Value::UInt(0));
        emit(&row)
    })
}

fn forget_objects(core: &Core) {
    core.reports.uses.objects.reset(core);
}

fn forget(core: &Core, of: Of) {
    core.registry.forget_waits(Some(of));
}

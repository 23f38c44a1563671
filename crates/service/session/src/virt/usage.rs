//! What tables, indexes, users and clients were used for: the tables of `userstat`, with MariaDB's columns, and
//! performance_schema's table I/O. The counts are always made; `userstat` says whether its tables show them.

use super::columns::*;
use super::declare::{BIGINT, DOUBLE, INT, NAME, UBIGINT, varchar};
use super::metadata::each_table;
use super::{Emit, Equals, text};
use crate::state::State;
use gannet_core::Core;
use gannet_core::accounts::Privilege;
use gannet_core::ledger::{Account, Of};
use gannet_core::tallies::By;
use gannet_core::uses::{FiguresSince, TableUses};
use gannet_core::vars::Live;
use gannet_schema::{RowSource, Table};
use gannet_telemetry::Counter;
use gannet_types::{Result, Value};
use std::collections::HashMap;

/// The columns of USER_STATISTICS and CLIENT_STATISTICS behind the numbers of connections.
const FIGURES: super::declare::Columns = &[
    ("BUSY_TIME", DOUBLE.not_null()),
    ("CPU_TIME", DOUBLE.not_null()),
    ("BYTES_RECEIVED", BIGINT.not_null()),
    ("BYTES_SENT", BIGINT.not_null()),
    ("BINLOG_BYTES_WRITTEN", BIGINT.not_null()),
    ("ROWS_READ", BIGINT.not_null()),
    ("ROWS_SENT", BIGINT.not_null()),
    ("ROWS_DELETED", BIGINT.not_null()),
    ("ROWS_INSERTED", BIGINT.not_null()),
    ("ROWS_UPDATED", BIGINT.not_null()),
    ("SELECT_COMMANDS", BIGINT.not_null()),
    ("UPDATE_COMMANDS", BIGINT.not_null()),
    ("OTHER_COMMANDS", BIGINT.not_null()),
    ("COMMIT_TRANSACTIONS", BIGINT.not_null()),
    ("ROLLBACK_TRANSACTIONS", BIGINT.not_null()),
    ("DENIED_CONNECTIONS", BIGINT.not_null()),
    ("LOST_CONNECTIONS", BIGINT.not_null()),
    ("ACCESS_DENIED", BIGINT.not_null()),
    ("EMPTY_QUERIES", BIGINT.not_null()),
    ("TOTAL_SSL_CONNECTIONS", UBIGINT.not_null()),
    ("MAX_STATEMENT_TIME_EXCEEDED", BIGINT.not_null()),
];

tables! {
    INFORMATION_SCHEMA in "information_schema":
    TABLE_STATISTICS by tables {
        TABLE_SCHEMA: NAME.not_null(), TABLE_NAME: NAME.not_null(), ROWS_READ: BIGINT.not_null(),
        ROWS_CHANGED: BIGINT.not_null(), ROWS_CHANGED_X_INDEXES: BIGINT.not_null(),
    }
    INDEX_STATISTICS by indexes {
        TABLE_SCHEMA: NAME.not_null(), TABLE_NAME: NAME.not_null(), INDEX_NAME: NAME.not_null(),
        ROWS_READ: BIGINT.not_null(),
    }
    USER_STATISTICS by users {
        USER: varchar(128).not_null(), TOTAL_CONNECTIONS: INT.not_null(), CONCURRENT_CONNECTIONS: INT.not_null(),
        CONNECTED_TIME: INT.not_null(),
    } + FIGURES
    CLIENT_STATISTICS by clients {
        CLIENT: NAME.not_null(), TOTAL_CONNECTIONS: BIGINT.not_null(), CONCURRENT_CONNECTIONS: BIGINT.not_null(),
        CONNECTED_TIME: BIGINT.not_null(),
    } + FIGURES
}

tables! {
    PERFORMANCE_SCHEMA in "performance_schema":
    table_io_waits_summary_by_table by io_by_table, reset by forget_tables {}
        + OBJECT + TIMED + READ + WRITE + FETCH + INSERT + UPDATE + DELETE
    table_io_waits_summary_by_index_usage by io_by_index, reset by forget_indexes {
        OBJECT_TYPE: NAME, OBJECT_SCHEMA: NAME, OBJECT_NAME: NAME, INDEX_NAME: NAME,
    } + TIMED + READ + WRITE + FETCH + INSERT + UPDATE + DELETE
}

fn n(n: u64) -> Value {
    Value::Int(i64::try_from(n).unwrap_or(i64::MAX))
}

fn shows(state: &State) -> bool {
    state.server.globals.get(Live::Userstat).as_bool()
}

fn tables(state: &mut State, equals: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    if !shows(state) {
        return Ok(());
    }
    each_table(state, equals, ("TABLE_SCHEMA", "TABLE_NAME"), |_, t| {
        let uses = state.server.reports.uses.tables.of(t);
        let (read, changed) = (uses.read(), uses.changed());
        if read + changed == 0 {
            return Ok(());
        }
        let times_indexes = changed * (t.indexes.len() as u64).max(1);
        emit(&[text(&t.schema), text(&t.name), n(read), n(changed), n(times_indexes)])
    })
}

fn indexes(state: &mut State, equals: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    if !shows(state) {
        return Ok(());
    }
    each_table(state, equals, ("TABLE_SCHEMA", "TABLE_NAME"), |_, t| {
        let uses = state.server.reports.uses.indexes.of(t);
        for (number, index) in t.indexes.iter().enumerate() {
            let read = uses.by_index(t, number);
            if read > 0 {
                emit(&[text(&t.schema), text(&t.name), text(&index.name), n(read)])?;
            }
        }
        Ok(())
    })
}

/// Counts without times: a row is read in less time than a clock.
fn counted(uses: [u64; 4], row: &mut Vec<Value>) {
    let [fetched, inserted, updated, deleted] = uses;
    let written = inserted + updated + deleted;
    for count in [fetched + written, fetched, written, fetched, inserted, updated, deleted] {
        row.push(Value::UInt(count));
        row.extend([const { Value::UInt(0) }; 4]);
    }
}

fn stored(t: &Table) -> bool {
    matches!(t.source, RowSource::Engine)
}

fn io_by_table(state: &mut State, equals: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let shown = state.server.registry.setup.shows("TABLE");
    each_table(state, equals, ("OBJECT_SCHEMA", "OBJECT_NAME"), |_, t| {
        if !stored(t) || !shown(&t.schema, &t.name) {
            return Ok(());
        }
        let uses = state.server.reports.uses.io_by_table.of(t);
        let mut row = vec![text("TABLE"), text(&t.schema), text(&t.name)];
        counted([uses.read(), uses.rows.inserted, uses.rows.updated, uses.rows.deleted], &mut row);
        emit(&row)
    })
}

/// Rows that are read and changed, as a wait: MySQL's name.
pub(super) const TABLE: &str = "wait/io/table/sql/handler";

/// Those of all tables.
pub(super) fn emit_wait(state: &State, emit: Emit<'_>) -> Result<()> {
    let count = state.server.reports.uses.io_by_table.sum(&state.server);
    let mut row = vec![text(TABLE), Value::UInt(count)];
    row.resize(6, Value::UInt(0));
    emit(&row)
}

/// A row for each index, and one for what went by none: reading from end to end, and INSERT. A row that was updated or
/// deleted counts for the primary key, whatever it was found by.
fn io_by_index(state: &mut State, equals: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let shown = state.server.registry.setup.shows("TABLE");
    each_table(state, equals, ("OBJECT_SCHEMA", "OBJECT_NAME"), |_, t| {
        if !stored(t) || !shown(&t.schema, &t.name) {
            return Ok(());
        }
        let uses = state.server.reports.uses.io_by_index.of(t);
        let changed = [uses.rows.updated, uses.rows.deleted];
        let mut send = |name: Value, [fetched, inserted, updated, deleted]: [u64; 4]| {
            let mut row = vec![text("TABLE"), text(&t.schema), text(&t.name), name];
            counted([fetched, inserted, updated, deleted], &mut row);
            emit(&row)
        };
        for (number, index) in t.indexes.iter().enumerate() {
            let [updated, deleted] = if t.clustered == Some(number) { changed } else { [0, 0] };
            send(text(&index.name), [uses.by_index(t, number), 0, updated, deleted])?;
        }
        let TableUses { rows, .. } = uses;
        // Without a key its rows are read by none.
        let (read, [updated, deleted]) = if t.clustered.is_none() { (rows.read, changed) } else { (0, [0, 0]) };
        send(Value::Null, [rows.scanned + read, rows.inserted, updated, deleted])
    })
}

/// The indexes' sums go with it, as in MySQL.
pub(super) fn forget_tables(core: &Core) {
    core.reports.uses.io_by_table.reset(core);
    forget_indexes(core);
}

fn forget_indexes(core: &Core) {
    core.reports.uses.io_by_index.reset(core);
}

/// Statements that change rows or definitions.
const UPDATES: [&str; 8] = ["insert", "update", "delete", "replace", "alter", "create", "drop", "load"];

fn is_update(name: &str) -> bool {
    name.strip_prefix("Com_")
        .is_some_and(|kind| UPDATES.iter().any(|verb| kind.starts_with(verb)) || kind == "truncate")
}

/// Errors that mean that an account may not do what it has asked for.
const DENIED: [u16; 7] = [1044, 1095, 1142, 1143, 1227, 1370, 1698];

/// Total connections, connected seconds, and [`FIGURES`]: times in microseconds.
fn figures(total: u64, account: &Account) -> Vec<u64> {
    let count = |c: Counter| account.counts.get(c as usize).copied().unwrap_or(0);
    let sum = |f: fn(&gannet_core::ledger::Did) -> u64| account.deeds.values().map(f).sum::<u64>();
    let commands = |keep: &dyn Fn(&str) -> bool| -> u64 {
        Counter::ALL.iter().filter(|c| c.name().starts_with("Com_") && keep(c.name())).map(|c| count(*c)).sum()
    };
    let (select, update) = (count(Counter::ComSelect), commands(&is_update));
    let ended = commands(&|name| matches!(name, "Com_commit" | "Com_rollback"));
    let denied = DENIED.iter().filter_map(|number| account.errors.get(number)).map(|raised| raised.count).sum();
    vec![
        total,
        account.life.connected_ns / 1_000_000_000,
        sum(|d| d.total_ns) / 1000,
        sum(|d| d.cpu_ns) / 1000,
        count(Counter::BytesReceived),
        count(Counter::BytesSent),
        count(Counter::BinlogBytesWritten),
        sum(|d| d.rows_examined),
        sum(|d| d.rows_sent),
        count(Counter::HandlerDelete),
        count(Counter::HandlerWrite),
        count(Counter::HandlerUpdate),
        select,
        update,
        commands(&|_| true).saturating_sub(select + update + ended),
        count(Counter::HandlerCommit),
        count(Counter::HandlerRollback),
        account.life.denied,
        account.life.lost,
        denied,
        count(Counter::EmptyQueries),
        account.life.secure,
        count(Counter::MaxExecutionTimeExceeded),
    ]
}

/// By name: connections now, and the figures since the start.
fn people(state: &State, of: Of, by: By) -> HashMap<String, (u64, Vec<u64>)> {
    let mut all: HashMap<String, (u64, Vec<u64>)> = HashMap::new();
    let name = |user: &Option<String>, host: &Option<String>| if of == Of::User { user.clone() } else { host.clone() };
    let accounts = super::deeds::all_by(state, of);
    let tallies = state.server.registry.tallies.all(by);
    let counts: HashMap<_, _> =
        tallies.iter().filter_map(|t| Some((name(&t.user, &t.host)?, (t.current, t.total)))).collect();
    for ((user, host), account) in &accounts {
        let Some(name) = name(user, host) else { continue };
        // Sessions of the server's own are no connections.
        let Some((current, total)) = counts.get(&name).copied().or((account.life.denied > 0).then_some((0, 0))) else {
            continue;
        };
        all.insert(name, (current, figures(total, account)));
    }
    all
}

fn emit_people(state: &State, of: Of, by: By, since: &FiguresSince, emit: Emit<'_>) -> Result<()> {
    if !shows(state) || !state.privileges().has(Privilege::Process) {
        return Ok(());
    }
    let mut all: Vec<_> = people(state, of, by).into_iter().collect();
    all.sort_by(|(a, _), (b, _)| a.cmp(b));
    for (name, (current, figures)) in all {
        let figures = since.of(&name, figures);
        if current == 0 && figures.iter().all(|n| *n == 0) {
            continue;
        }
        let mut row = vec![text(&name), n(figures[0]), n(current), n(figures[1])];
        let microseconds = |us: u64| Value::Double(us as f64 / 1e6);
        row.extend([microseconds(figures[2]), microseconds(figures[3])]);
        row.extend(figures[4..].iter().map(|f| n(*f)));
        // The one that is unsigned.
        let secure = row.len() - 2;
        row[secure] = Value::UInt(figures[figures.len() - 2]);
        emit(&row)?;
    }
    Ok(())
}

fn users(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    emit_people(state, Of::User, By::User, &state.server.reports.uses.users, emit)
}

fn clients(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    emit_people(state, Of::Host, By::Host, &state.server.reports.uses.clients, emit)
}

/// FLUSH TABLE_STATISTICS and its kin; `false`: FLUSH of something else.
pub(crate) fn flush(state: &State, what: &str) -> bool {
    let uses = &state.server.reports.uses;
    let now = |of, by| people(state, of, by).into_iter().map(|(name, (_, figures))| (name, figures)).collect();
    match &*what.to_ascii_uppercase() {
        "TABLE_STATISTICS" => uses.tables.reset(&state.server),
        "INDEX_STATISTICS" => uses.indexes.reset(&state.server),
        "USER_STATISTICS" => uses.users.reset(now(Of::User, By::User)),
        "CLIENT_STATISTICS" => uses.clients.reset(now(Of::Host, By::Host)),
        _ => return false,
    }
    true
}

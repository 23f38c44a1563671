//! performance_schema: what statements did, by kind of statement, and by session, account, user, host and all together;
//! errors and status variables by the same; latencies.

use super::columns::*;
use super::declare::{Columns, INT, NAME, TEXT, UBIGINT, UINT, double, enumeration, fixed, timestamp, varchar};
use super::runtime::{ps, visible, worked};
use super::{Emit, Equals, maybe, member, micros, seconds, text};
use crate::state::State;
use gannet_core::Core;
use gannet_core::accounts::Privilege;
use gannet_core::ledger::{Account, Deeds, Did, Errors, Key, Of, Part};
use gannet_core::log::Severity;
use gannet_core::waited::Whose;
use gannet_telemetry::{Counter, Histogram, Scope};
use gannet_types::{ErrorCode, Result, Value};
use std::collections::BTreeMap;

const ERROR_SUMS: Columns = &[
    ("ERROR_NUMBER", INT),
    ("ERROR_NAME", NAME),
    ("SQL_STATE", varchar(5)),
    ("SUM_ERROR_RAISED", COUNT),
    ("SUM_ERROR_HANDLED", COUNT),
    ("FIRST_SEEN", timestamp(0)),
    ("LAST_SEEN", timestamp(0)),
];

const STATUS: Columns = &[("VARIABLE_NAME", NAME.not_null()), ("VARIABLE_VALUE", varchar(1024))];

const BUCKETS: Columns = &[
    ("BUCKET_NUMBER", UINT.not_null()),
    ("BUCKET_TIMER_LOW", COUNT),
    ("BUCKET_TIMER_HIGH", COUNT),
    ("COUNT_BUCKET", COUNT),
    ("COUNT_BUCKET_AND_LOWER", COUNT),
    ("BUCKET_QUANTILE", double(7, 6).not_null()),
];

tables! {
    PERFORMANCE_SCHEMA in "performance_schema":
    events_statements_summary_global_by_event_name by statements_of(All), reset by forget_statements(All) {}
        + EVENT + TIMED + STATEMENT_SUMS
    events_statements_summary_by_thread_by_event_name by statements_by_thread, reset by forget_threads {}
        + THREAD + TIMED + STATEMENT_SUMS
    events_statements_summary_by_account_by_event_name by statements_of(Account), reset by forget_statements(Account) {}
        + ACCOUNT + TIMED + STATEMENT_SUMS
    events_statements_summary_by_user_by_event_name by statements_of(User), reset by forget_statements(User) {}
        + USER + TIMED + STATEMENT_SUMS
    events_statements_summary_by_host_by_event_name by statements_of(Host), reset by forget_statements(Host) {}
        + HOST + TIMED + STATEMENT_SUMS
    events_errors_summary_global_by_error by errors_of(All), reset by forget_errors(All) {} + ERROR_SUMS
    events_errors_summary_by_thread_by_error by errors_by_thread, reset by forget_error_threads {
        THREAD_ID: COUNT,
    } + ERROR_SUMS
    events_errors_summary_by_account_by_error by errors_of(Account), reset by forget_errors(Account) {
        USER: fixed(32).utf8mb4_bin(), HOST: fixed(255).ascii(),
    } + ERROR_SUMS
    events_errors_summary_by_user_by_error by errors_of(User), reset by forget_errors(User) {
        USER: fixed(32).utf8mb4_bin(),
    } + ERROR_SUMS
    events_errors_summary_by_host_by_error by errors_of(Host), reset by forget_errors(Host) {
        HOST: fixed(255).ascii(),
    } + ERROR_SUMS
    status_by_thread by status_by_thread { THREAD_ID: COUNT } + STATUS
    status_by_account by status_of(Account), reset by forget_status(Account) {
        USER: fixed(32).utf8mb4_bin(), HOST: fixed(255).ascii(),
    } + STATUS
    status_by_user by status_of(User), reset by forget_status(User) { USER: fixed(32).utf8mb4_bin() } + STATUS
    status_by_host by status_of(Host), reset by forget_status(Host) { HOST: fixed(255).ascii() } + STATUS
    events_statements_histogram_global by histogram, reset by forget_digests {} + BUCKETS
    events_statements_histogram_by_digest by histograms, reset by forget_digests {
        SCHEMA_NAME: NAME, DIGEST: NAME,
    } + BUCKETS
    error_log by error_log {
        LOGGED: timestamp(6).not_null(), THREAD_ID: UBIGINT,
        PRIO: enumeration(&["System", "Error", "Warning", "Note"]).not_null(), ERROR_CODE: varchar(10),
        SUBSYSTEM: varchar(7), DATA: TEXT.not_null(),
    }
}

fn n(n: u64) -> Value {
    Value::UInt(n)
}

/// COUNT and the four times: sum, least, average, most. Others count on while these are read, one after the other: what
/// they have added to some of them only does not put the average outside of the two.
pub(super) fn timed(count: u64, total_ns: u64, min_ns: u64, max_ns: u64) -> [Value; 5] {
    let least = if count == 0 { 0 } else { min_ns.min(max_ns) };
    let total = total_ns.max(max_ns);
    let average = total.checked_div(count).unwrap_or(0).clamp(least, max_ns);
    [n(count), ps(total), ps(least), ps(average), ps(max_ns)]
}

/// The columns of [`STATEMENT_SUMS`].
pub(super) fn sums(did: &Did) -> Vec<Value> {
    let mut row = vec![
        ps(did.locks_ns),
        n(did.errors),
        n(did.warnings),
        n(did.rows_affected),
        n(did.rows_sent),
        n(did.rows_examined),
    ];
    row.extend(worked(|c| did.work.of(c)).map(n));
    let memory = || n(did.work.memory);
    row.extend([n(did.no_index), n(0), ps(did.cpu_ns), memory(), memory(), n(0)]);
    row
}

/// One row for each kind of statement that ran.
fn emit_deeds(whose: &[Value], deeds: &Deeds, emit: Emit<'_>) -> Result<()> {
    for (kind, did) in deeds {
        let times = timed(did.count, did.total_ns, did.min_ns, did.max_ns);
        emit(&[whose, &[text(&kind.name())], &times, &sums(did)].concat())?;
    }
    Ok(())
}

/// Errors whose names end in `_ERROR`.
const ENDS_IN_ERROR: &[u16] = &[
    1040, 1042, 1043, 1044, 1045, 1046, 1047, 1048, 1049, 1050, 1051, 1052, 1054, 1064, 1086, 1095, 1139, 1142, 1143,
    1149, 1155, 1157, 1158, 1227, 1257, 1258, 1259, 1370, 1479, 1480, 1481, 1486, 1488, 1492, 1493, 1495, 1499, 1504,
    1698, 1873,
];

/// An error's name as MySQL writes it, `ER_DUP_ENTRY`: the table of errors has it without the capitals.
fn error_name(code: ErrorCode) -> String {
    let mut name = String::from("ER");
    let mut before = ' ';
    for c in format!("{code:?}").chars() {
        if c.is_ascii_uppercase() || c.is_ascii_digit() && !before.is_ascii_digit() {
            name.push('_');
        }
        name.push(c.to_ascii_uppercase());
        before = c;
    }
    if ENDS_IN_ERROR.contains(&code.number()) {
        name.push_str("_ERROR");
    }
    name
}

fn emit_errors(whose: &[Value], errors: &Errors, emit: Emit<'_>) -> Result<()> {
    for (number, raised) in errors {
        let code = ErrorCode::from_number(*number);
        let state = code.map(|c| String::from_utf8_lossy(&c.sqlstate()).into_owned());
        let [first, last] = [raised.first_us, raised.last_us].map(|us| seconds(us / 1_000_000));
        // As in MySQL, what a handler took is counted there alone.
        let counts = [n(raised.count - raised.handled), n(raised.handled), first, last];
        let named = [Value::Int((*number).into()), maybe(code.map(error_name).as_deref()), maybe(state.as_deref())];
        emit(&[whose, &named, &counts].concat())?;
    }
    Ok(())
}

/// Of the sessions that go on, and of those that have ended.
fn by(state: &State, of: Of) -> Result<BTreeMap<Key, Account>> {
    state.privileges().require(Privilege::Process)?;
    Ok(all_by(state, of))
}

/// The same, whoever asks.
pub(super) fn all_by(state: &State, of: Of) -> BTreeMap<Key, Account> {
    all_of(&state.server, of)
}

/// The same.
pub(super) fn all_of(core: &Core, of: Of) -> BTreeMap<Key, Account> {
    let registry = &core.registry;
    let mut all = registry.ledger.ended(of);
    for entry in registry.all() {
        let (user, host) = entry.account();
        let account = all.entry(of.key(&user, &host)).or_default();
        account.add(&registry.ledger.open(&entry.deeds, of));
        account.waits.add(&entry.deeds.waits.read(&entry.counters, Whose::Sum(of)));
        account.counts.resize(Counter::COUNT, 0);
        account.counts.iter_mut().zip(Counter::ALL).for_each(|(sum, c)| *sum += entry.counters.get(*c));
        account.life.add(&entry.life());
    }
    all
}

/// The columns that say whose figures they are.
pub(super) fn whose(of: Of, (user, host): &Key) -> Vec<Value> {
    let (user, host) = (maybe(user.as_deref()), maybe(host.as_deref()));
    match of {
        Of::Account => vec![user, host],
        Of::User => vec![user],
        Of::Host => vec![host],
        Of::All => Vec::new(),
    }
}

fn statements_of(state: &State, of: Of, emit: Emit<'_>) -> Result<()> {
    by(state, of)?.iter().try_for_each(|(key, account)| emit_deeds(&whose(of, key), &account.deeds, emit))
}

fn errors_of(state: &State, of: Of, emit: Emit<'_>) -> Result<()> {
    by(state, of)?.iter().try_for_each(|(key, account)| emit_errors(&whose(of, key), &account.errors, emit))
}

/// Counters that a session has; those of statements are in the tables of statements, as in MySQL.
fn counters() -> impl Iterator<Item = Counter> {
    let shown = |c: &Counter| c.scope() == Scope::Both && !c.name().starts_with("Com_");
    let mut all: Vec<Counter> = Counter::ALL.iter().copied().filter(shown).collect();
    all.sort_by_key(|c| c.name());
    all.into_iter()
}

fn status_of(state: &State, of: Of, emit: Emit<'_>) -> Result<()> {
    for (key, account) in by(state, of)? {
        for c in counters() {
            let count = account.counts.get(c as usize).copied().unwrap_or(0);
            emit(&[&whose(of, &key)[..], &[text(c.name()), text(&count.to_string())]].concat())?;
        }
    }
    Ok(())
}

fn statements_by_thread(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for e in visible(state) {
        emit_deeds(&[n(e.id)], &state.server.registry.ledger.deeds(&e.deeds), emit)?;
    }
    Ok(())
}

fn errors_by_thread(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for e in visible(state) {
        emit_errors(&[n(e.id)], &state.server.registry.ledger.errors(&e.deeds), emit)?;
    }
    Ok(())
}

fn status_by_thread(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for e in visible(state) {
        for c in counters() {
            emit(&[n(e.id), text(c.name()), text(&e.counters.get(c).to_string())])?;
        }
    }
    Ok(())
}

fn forget_threads(server: &Core) {
    server.registry.ledger.forget_sessions(Part::Statements);
}

fn forget_error_threads(server: &Core) {
    server.registry.ledger.forget_sessions(Part::Errors);
}

fn forget_statements(core: &Core, of: Of) {
    core.registry.ledger.forget(Part::Statements, of);
}

fn forget_errors(core: &Core, of: Of) {
    core.registry.ledger.forget(Part::Errors, of);
}

fn forget_status(core: &Core, of: Of) {
    core.registry.ledger.forget(Part::Status, of);
}

fn forget_digests(server: &Core) {
    server.stats.clear();
}

/// Of a histogram the buckets up to the last one with a count.
fn emit_buckets(whose: &[Value], histogram: &Histogram, emit: Emit<'_>) -> Result<()> {
    let total = histogram.count();
    let mut lower = 0;
    for (number, (low, high, count)) in histogram.all_buckets().enumerate() {
        if lower == total {
            break;
        }
        lower += count;
        let quantile = lower as f64 / total as f64;
        let row = [n(number as u64), ps(low), ps(high), n(count), n(lower), Value::Double(quantile)];
        emit(&[whose, &row].concat())?;
    }
    Ok(())
}

fn histogram(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let mut all = Histogram::new();
    state.server.stats.snapshots().for_each(|d| all.merge(&d.sums.latency));
    emit_buckets(&[], &all, emit)
}

fn histograms(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for d in state.server.stats.snapshots() {
        let schema = if d.schema.is_empty() { Value::Null } else { text(&d.schema) };
        emit_buckets(&[schema, maybe(d.texts.as_ref().map(|t| &*t.digest))], &d.sums.latency, emit)?;
    }
    Ok(())
}

fn error_log(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for line in state.server.log.last() {
        let prio = match line.severity {
            Severity::System => "System",
            Severity::Error => "Error",
            Severity::Warning => "Warning",
            Severity::Note => "Note",
        };
        emit(&[
            micros(line.unix_us, 6),
            n(0),
            member("error_log", "PRIO", prio),
            Value::Null,
            text("Server"),
            text(&line.text),
        ])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sum, least, average and most of figures that were read while somebody added to them.
    #[test]
    fn averages_lie_between_the_ends() {
        let of = |count, total, least, most| timed(count, total, least, most)[1..].to_vec();
        let want = |times: [u64; 4]| times.map(ps).to_vec();
        assert_eq!(of(3, 60, 10, 30), want([60, 10, 20, 30]));
        // Counted, and its time is not there yet.
        assert_eq!(of(2, 10, 10, 10), want([10, 10, 10, 10]));
        assert_eq!(of(1, 0, u64::MAX, 0), want([0, 0, 0, 0]));
        // Its time is there, and is not the longest yet; or it is the longest, and not in the sum.
        assert_eq!(of(2, 110, 10, 10), want([110, 10, 10, 10]));
        assert_eq!(of(2, 10, 10, 100), want([100, 10, 50, 100]));
        assert_eq!(of(0, 0, u64::MAX, 0), want([0, 0, 0, 0]));
    }
}

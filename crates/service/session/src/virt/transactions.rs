//! performance_schema: transactions, those that are open, the last ones, and their sums.

use super::columns::*;
use super::deeds::{all_by, whose};
use super::runtime::{ps, visible};
use super::{Emit, Equals, member, text};
use crate::state::State;
use gannet_core::Core;
use gannet_core::accounts::Privilege;
use gannet_core::consumers::Consumer;
use gannet_core::ledger::{Of, Part};
use gannet_core::status::shown_trx;
use gannet_core::transacted::{Ended, How, Timed, Transactions};
use gannet_engine::{Isolation, TransactionInfo};
use gannet_runtime::now_ns;
use gannet_types::{Result, Value};
use std::collections::HashMap;

tables! {
    PERFORMANCE_SCHEMA in "performance_schema":
    events_transactions_current by current, reset by forget_current {} + TRANSACTION
    events_transactions_history by history, reset by forget_history {} + TRANSACTION
    events_transactions_history_long by history_long, reset by forget_history_long {} + TRANSACTION
    events_transactions_summary_global_by_event_name by sums_of(All), reset by forget(All) {}
        + EVENT + TIMED + READ_WRITE + READ_ONLY
    events_transactions_summary_by_thread_by_event_name by sums_by_thread, reset by forget_threads {}
        + THREAD + TIMED + READ_WRITE + READ_ONLY
    events_transactions_summary_by_account_by_event_name by sums_of(Account), reset by forget(Account) {}
        + ACCOUNT + TIMED + READ_WRITE + READ_ONLY
    events_transactions_summary_by_user_by_event_name by sums_of(User), reset by forget(User) {}
        + USER + TIMED + READ_WRITE + READ_ONLY
    events_transactions_summary_by_host_by_event_name by sums_of(Host), reset by forget(Host) {}
        + HOST + TIMED + READ_WRITE + READ_ONLY
}

/// The event's name, in all tables.
const NAME: &str = "transaction";

fn n(n: u64) -> Value {
    Value::UInt(n)
}

/// One transaction as a row has it.
struct Shown {
    thread: u64,
    number: u64,
    /// `None`: it is open.
    end_number: Option<u64>,
    trx: u64,
    started_ns: u64,
    latency_ns: u64,
    how: How,
}

impl Shown {
    fn ended(thread: u64, e: &Ended) -> Shown {
        let &Ended { number, end_number, trx, started_ns, latency_ns, how } = e;
        Shown { thread, number, end_number: Some(end_number), trx, started_ns, latency_ns, how: how.into() }
    }

    fn row(&self, state: &State) -> Vec<Value> {
        let enumerated = |column: &'static str, name: &str| member("events_transactions_current", column, name);
        let level = match self.how.isolation {
            Isolation::ReadUncommitted => "READ UNCOMMITTED",
            Isolation::ReadCommitted => "READ COMMITTED",
            Isolation::RepeatableRead => "REPEATABLE READ",
            Isolation::Serializable => "SERIALIZABLE",
        };
        let status = match (self.end_number, self.how.committed) {
            (None, _) => "ACTIVE",
            (_, true) => "COMMITTED",
            (_, false) => "ROLLED BACK",
        };
        let start = self.started_ns.saturating_sub(state.server.started_ns());
        let [set, rolled_back_to, released] = self.how.savepoints.map(|count| n(count.into()));
        let mut row = vec![
            n(self.thread),
            n(self.number),
            self.end_number.map_or(Value::Null, n),
            text(NAME),
            enumerated("STATE", status),
            if self.trx == 0 { Value::Null } else { n(self.trx) },
        ];
        row.resize(12, Value::Null);
        row.extend([
            ps(start),
            ps(start + self.latency_ns),
            ps(self.latency_ns),
            enumerated("ACCESS_MODE", if self.how.read_only { "READ ONLY" } else { "READ WRITE" }),
            text(level),
            enumerated("AUTOCOMMIT", if self.how.autocommit { "YES" } else { "NO" }),
            set,
            rolled_back_to,
            released,
            Value::Null,
            n(self.number),
            enumerated("NESTING_EVENT_TYPE", "STATEMENT"),
        ]);
        row
    }
}

/// For each session the transaction that is open, or the last one.
fn current(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    if !state.server.registry.consumers.is_on(Consumer::TransactionsCurrent) {
        return Ok(());
    }
    let active = state.server.engine.transactions(10_000);
    let active: HashMap<u64, &TransactionInfo> = active.iter().map(|t| (t.owner_thread_id, t)).collect();
    for entry in visible(state).into_iter().filter(|e| e.watched.get().instrumented) {
        let (open, engine) = (entry.deeds.transacted.open(), active.get(&entry.id));
        let trx = engine.map_or(0, |t| shown_trx(t.id, t.lock_owner));
        let (since, number, how) = match (open, engine) {
            (Some(open), _) => open,
            // A single statement, which began when the session began it.
            (None, Some(t)) => {
                let since = if t.started_ns == 0 { entry.activity().1 } else { t.started_ns };
                let (read_only, autocommit, isolation) = (t.read_only, t.autocommit, t.isolation);
                let how = How { committed: false, read_only, autocommit, isolation, savepoints: [0; 3] };
                (since, entry.deeds.history.count() + 1, how)
            }
            (None, None) => {
                if let Some(last) = entry.deeds.last_transaction(&state.server.registry.forgotten) {
                    emit(&Shown::ended(entry.id, &last).row(state))?;
                }
                continue;
            }
        };
        let latency_ns = now_ns().saturating_sub(since);
        let shown = Shown { thread: entry.id, number, end_number: None, trx, started_ns: since, latency_ns, how };
        emit(&shown.row(state))?;
    }
    Ok(())
}

fn history(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    if !state.server.registry.consumers.is_on(Consumer::TransactionsHistory) {
        return Ok(());
    }
    for entry in visible(state) {
        for ended in entry.deeds.transactions(&state.server.registry.forgotten) {
            emit(&Shown::ended(entry.id, &ended).row(state))?;
        }
    }
    Ok(())
}

fn history_long(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    if !state.server.registry.consumers.is_on(Consumer::TransactionsHistoryLong) {
        return Ok(());
    }
    let seen = visible(state);
    let all = state.privileges().has(Privilege::Process);
    for (thread, ended) in state.server.registry.long_transactions.all() {
        if all || seen.iter().any(|e| e.id == thread) {
            emit(&Shown::ended(thread, &ended).row(state))?;
        }
    }
    Ok(())
}

fn forget_current(core: &Core) {
    core.registry.forgotten.forget_last(now_ns());
}

fn forget_history(core: &Core) {
    core.registry.forgotten.forget_kept(now_ns());
}

fn forget_history_long(core: &Core) {
    core.registry.long_transactions.clear();
}

/// Count and times of all, of those that were READ WRITE, and of those that were READ ONLY.
fn emit_sums(whose: &[Value], sums: &Transactions, emit: Emit<'_>) -> Result<()> {
    let of = |t: &Timed| super::deeds::timed(t.count, t.total_ns, t.min_ns, t.max_ns);
    let times = [of(&sums.all()), of(&sums.read_write), of(&sums.read_only)].concat();
    emit(&[whose, &[text(NAME)], &times].concat())
}

fn sums_of(state: &State, of: Of, emit: Emit<'_>) -> Result<()> {
    state.privileges().require(Privilege::Process)?;
    all_by(state, of).iter().try_for_each(|(key, account)| emit_sums(&whose(of, key), &account.transactions, emit))
}

fn sums_by_thread(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for e in visible(state) {
        emit_sums(&[n(e.id)], &state.server.registry.ledger.transactions(&e.deeds), emit)?;
    }
    Ok(())
}

fn forget_threads(core: &Core) {
    core.registry.ledger.forget_sessions(Part::Transactions);
}

fn forget(core: &Core, of: Of) {
    core.registry.ledger.forget(Part::Transactions, of);
}

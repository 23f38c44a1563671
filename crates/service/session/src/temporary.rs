//! Temporary tables: tables of one session, which hide others of their names.
//!
//! A temporary table has rows and indexes like any other, in trees of the engine, and a row in the dictionary under its
//! number, so that the next start frees what a crash leaves. It is in no snapshot but its session's
//! ([`gannet_schema::CatalogSnapshot::with_temporaries`]). CREATE and DROP TEMPORARY TABLE change the dictionary in a
//! transaction of their own: the session's stays open. Its rows belong to the session's transactions and roll back with
//! them; so the trees of a dropped one live until no transaction is open that may have changed them.

use super::reply::{Done, Reply};
use super::{Session, surroundings};
use gannet_base::sync::atomic::{AtomicU64, Ordering};
use gannet_catalog::StoredTable;
use gannet_core::Core;
use gannet_core::work::Transaction;
use gannet_engine::TxnOptions;
use gannet_exec::ddl;
use gannet_exec::error::from_catalog;
use gannet_parser::ast::{self, Statement};
use gannet_plan::Plan;
use gannet_schema::{CatalogSnapshot, Table, TemporaryTables};
use gannet_types::{Result, sql_err};
use std::collections::HashMap;
use std::sync::Arc;

/// How many temporary tables a session may have: a bound on memory, far beyond what programs use.
const MAX_TEMPORARY: usize = 10_000;

/// Numbers sets of temporary tables.
static SETS: AtomicU64 = AtomicU64::new(1);

/// What a session has to remember of its temporary tables beside their definitions, which are in its snapshot.
#[derive(Default)]
pub(crate) struct Temporaries {
    /// Dropped ones: freed when no transaction is open that may have changed them.
    dropped: Vec<Arc<Table>>,
    /// The transactions, by their numbers, in which CREATE and DROP TEMPORARY TABLE happened last; zero: none.
    created_in: u64,
    dropped_in: u64,
}

impl Temporaries {
    /// Whether one was created and dropped in a transaction, which ROLLBACK does not undo.
    pub(crate) fn changed_in(&self, transaction: &Transaction) -> (bool, bool) {
        (self.created_in == transaction.number(), self.dropped_in == transaction.number())
    }

    /// The session's tables were `old` and are `now`: those that are gone are dropped. Altered ones have their name
    /// still, renamed ones their number.
    fn follow(&mut self, old: &TemporaryTables, now: &TemporaryTables) {
        let stays =
            |t: &Table| now.get(&t.schema, &t.name).is_some_and(|n| n.id == t.id) || now.iter().any(|n| n.id == t.id);
        self.dropped.extend(old.beyond(now).filter(|t| !stays(t)).cloned());
    }

    /// Frees the dropped ones. No transaction is open that may have changed them. `thread`: the connection's id.
    fn discard(&mut self, core: &Core, thread: u64) {
        let _mask = gannet_runtime::mask_interrupts();
        for table in std::mem::take(&mut self.dropped) {
            if let Err(e) = core.catalog.discard_temporary(&table).map_err(from_catalog) {
                core.log.error(format_args!(
                    "connection {thread}: the space of a dropped temporary table cannot be freed: {e}; the next start frees it"
                ));
            }
        }
    }
}

impl Session {
    /// [`create_temporary`], in whatever schema.
    pub(super) fn make_temporary(
        &mut self,
        statement: &Statement,
        create: &ast::CreateTable,
        reply: &mut dyn Reply,
    ) -> Result<Done> {
        refuse_foreign_keys(create)?;
        self.state.renew_snapshot();
        super::branch::refuse_temporary(self)?;
        if self.state.snapshot.temporaries().is_some_and(|t| t.len() >= MAX_TEMPORARY) {
            return Err(sql_err!(OutOfResources));
        }
        let select = self.select_of(statement);
        if select.is_err() && self.work.is_autocommit() {
            self.work.unlock_statement();
        }
        let select = select?;
        let mut own = self.server.engine.try_begin(own_options(self)).map_err(gannet_exec::error::from_engine)?;
        let before = self.state.snapshot.temporaries().cloned().unwrap_or_default();
        let defined = self.define(statement, Some(&mut own), select, None);
        if own.is_active() {
            own.rollback().map_err(gannet_exec::error::from_engine)?;
        }
        let (done, snapshot, select) = defined?;
        let created = snapshot.temporaries().and_then(|now| now.beyond(&before).next().cloned());
        self.take_snapshot(snapshot);
        // By copies of its own tables the server changes these, which ROLLBACK says nothing of.
        let is_copy = |t: &Arc<Table>| &*t.schema == "performance_schema";
        if created.as_ref().is_some_and(|t| !is_copy(t)) && !self.work.is_autocommit() {
            self.temporaries.created_in = self.work.transaction().number();
        }
        let (Some(table), Some((plan, params)), ast::CreateTableBody::Define { on_duplicate, .. }) =
            (created, select, &create.body)
        else {
            return Ok(Done { affected: done.rows, info: done.info, ..Done::default() });
        };
        let filled = ddl::insert_plan(&table, plan, *on_duplicate, &self.state.snapshot)
            .and_then(|plan| surroundings::creating(self, &table.name, |s| s.run_plan(&plan, None, &params, reply)));
        if filled.is_err() {
            self.forget_temporary(&table);
            self.discard_dropped();
        }
        filled
    }

    /// Goes on with a snapshot which a statement of this session has made. Temporary tables that it no longer has are
    /// dropped.
    pub(super) fn take_snapshot(&mut self, snapshot: Arc<CatalogSnapshot>) {
        let before = std::mem::replace(&mut self.state.snapshot, snapshot);
        let (old, new) = (before.temporaries(), self.state.snapshot.temporaries());
        match (old, new) {
            (Some(a), Some(b)) if Arc::ptr_eq(a, b) => return,
            _ => {}
        }
        self.tracker.change();
        let none = TemporaryTables::default();
        let (old, now) = (old.map_or(&none, |o| o), new.map_or(&none, |n| n));
        self.temporaries.follow(old, now);
        self.state.plan_salt = if new.is_some() { new_salt() } else { 0 };
    }

    pub(super) fn forget_temporary(&mut self, table: &Table) {
        let Some(all) = self.state.snapshot.temporaries() else { return };
        let mut left = (**all).clone();
        if left.get(&table.schema, &table.name).is_none_or(|t| t.id != table.id) {
            return;
        }
        left.remove(&table.schema, &table.name);
        let snapshot = self.state.snapshot.with_temporaries(Some(Arc::new(left)));
        self.take_snapshot(Arc::new(snapshot));
    }

    /// Frees dropped temporary tables, unless an open transaction may have changed them.
    pub(super) fn discard_dropped(&mut self) {
        // A transaction of another server that is rolled back comes again, and finds what it had dropped.
        let may_return = self.follows && self.work.transaction().is_open();
        if !self.temporaries.dropped.is_empty() && !self.work.txn().is_active() && !may_return {
            self.temporaries.discard(&self.server, self.entry.id);
        }
    }

    /// Error 1137 for a plan that uses a temporary table twice.
    pub(super) fn opened_once(&self, plan: Plan) -> Result<Plan> {
        if self.state.snapshot.temporaries().is_none() {
            return Ok(plan);
        }
        for (i, t) in plan.tables.iter().enumerate().filter(|(_, t)| t.table.temporary) {
            if plan.tables[i + 1..].iter().any(|o| o.table.id == t.table.id) {
                return Err(sql_err!(CantReopenTable, t.alias));
            }
        }
        Ok(plan)
    }
}

fn own_options(session: &Session) -> TxnOptions {
    TxnOptions { owner_thread_id: session.entry.id, ..TxnOptions::default() }
}

/// Whether every table whose definition the statement changes is a temporary one.
pub(crate) fn only_temporary(session: &Session, statement: &Statement) -> bool {
    if matches!(statement, Statement::CreateTable(_) | Statement::RenameTable { .. }) {
        return false;
    }
    let names = ddl::locked_tables(statement);
    let database = session.state.database.as_deref().unwrap_or_default();
    let schema = |n: &ast::ObjectName| n.schema.as_ref().map_or(database, |s| s).to_string();
    !names.is_empty() && names.iter().all(|n| session.state.snapshot.temporary_table(&schema(n), &n.name).is_some())
}

/// CREATE TEMPORARY TABLE.
pub(crate) fn create_temporary(
    session: &mut Session,
    statement: &Statement,
    create: &ast::CreateTable,
    reply: &mut dyn Reply,
) -> Result<Done> {
    session.state.renew_snapshot();
    session.refuse_system_schemas(statement)?;
    session.make_temporary(statement, create, reply)
}

/// DROP TEMPORARY TABLE.
pub(crate) fn drop_temporary(session: &mut Session, statement: &Statement) -> Result<Done> {
    session.state.renew_snapshot();
    let mut own = session.server.engine.try_begin(own_options(session)).map_err(gannet_exec::error::from_engine)?;
    let defined = session.define(statement, Some(&mut own), None, None);
    if own.is_active() {
        own.rollback().map_err(gannet_exec::error::from_engine)?;
    }
    let (done, snapshot, _) = defined?;
    session.take_snapshot(snapshot);
    if !session.work.is_autocommit() {
        session.temporaries.dropped_in = session.work.transaction().number();
    }
    session.discard_dropped();
    Ok(Done { affected: done.rows, ..Done::default() })
}

/// Those of the connections of another server, whose log names each connection by its number. Those of one of them are
/// the session's.
#[derive(Default, Clone)]
pub(crate) struct OfConnections {
    now: u32,
    others: HashMap<u32, Arc<TemporaryTables>>,
}

impl OfConnections {
    /// A connection's statement is about to run.
    pub(crate) fn take(&mut self, session: &mut Session, connection: u32) {
        let before = std::mem::replace(&mut self.now, connection);
        if before == connection {
            return;
        }
        let own = session.state.snapshot.temporaries().cloned();
        if own.is_none() && self.others.is_empty() {
            return;
        }
        let next = self.others.remove(&connection);
        self.others.extend(own.map(|own| (before, own)));
        session.state.plan_salt = if next.is_some() { new_salt() } else { 0 };
        session.state.snapshot = Arc::new(session.state.snapshot.with_temporaries(next));
    }

    /// How many tables there are, but for the session's.
    pub(crate) fn tables(&self) -> usize {
        self.others.values().map(|tables| tables.len()).sum()
    }

    /// How many there are.
    pub(crate) fn count(&self, session: &Session) -> usize {
        self.tables() + session.state.snapshot.temporaries().map_or(0, |own| own.len())
    }

    /// All of them, the session's among the others.
    pub(crate) fn whole(&self, session: &Session) -> OfConnections {
        let own = session.state.snapshot.temporaries().map(|own| (self.now, own.clone()));
        OfConnections { now: self.now, others: self.others.clone().into_iter().chain(own).collect() }
    }

    /// The session has those of [`OfConnections::whole`] from now on, or none.
    fn give(&mut self, session: &mut Session, whole: Option<OfConnections>) {
        *self = whole.unwrap_or_default();
        let own = self.others.remove(&self.now);
        session.state.plan_salt = if own.is_some() { new_salt() } else { 0 };
        session.state.snapshot = Arc::new(session.state.snapshot.with_temporaries(own));
    }

    /// The session goes on with what another one has left.
    pub(crate) fn enter(&mut self, session: &mut Session, left: OfConnections) {
        self.give(session, Some(left));
    }

    /// They stay, and the session has none of them any more.
    pub(crate) fn leave(&mut self, session: &mut Session) -> OfConnections {
        let whole = self.whole(session);
        self.give(session, None);
        whole
    }

    /// A transaction is about to be rolled back, and will come again: what was made in it is dropped, and what was
    /// dropped in it is there, as `then`, when it began.
    pub(crate) fn undo(&mut self, session: &mut Session, mut then: OfConnections) {
        let now = self.whole(session);
        let all = |of: &OfConnections| of.others.values().flat_map(|set| set.iter().cloned()).collect::<Vec<_>>();
        let has = |list: &[Arc<Table>], t: &Arc<Table>| list.iter().any(|other| Arc::ptr_eq(other, t));
        let (mut there, before) = (all(&now), all(&then));
        there.extend(session.temporaries.dropped.iter().cloned());
        for set in then.others.values_mut() {
            // What was altered is another table now, and cannot be had again.
            let lost: Vec<_> = set.iter().filter(|t| !has(&there, t)).cloned().collect();
            let kept = Arc::make_mut(set);
            lost.iter().for_each(|t| kept.remove(&t.schema, &t.name));
        }
        session.temporaries.dropped = there.into_iter().filter(|t| !has(&before, t)).collect();
        self.give(session, Some(then));
    }

    /// Drops all.
    pub(crate) fn drop_all(&mut self, session: &mut Session) {
        let connections: Vec<u32> = self.others.keys().copied().collect();
        drop_all_temporary(session);
        for connection in connections {
            self.take(session, connection);
            drop_all_temporary(session);
        }
    }
}

/// Keeps plans for a set of temporary tables apart from all others: an odd multiplier spreads a number over the key.
fn new_salt() -> u64 {
    SETS.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Drops them all when the session ends or is reset; no transaction is open.
pub(crate) fn drop_all_temporary(session: &mut Session) {
    if session.state.snapshot.temporaries().is_some() {
        let snapshot = session.state.snapshot.with_temporaries(None);
        session.take_snapshot(Arc::new(snapshot));
    }
    session.discard_dropped();
}

/// Takes note of how many rows the temporary tables have that a statement has changed: nobody samples them in the
/// background, and a plan that was made for an empty one would stay.
/// `writes`: it may have changed some.
#[inline(always)]
pub(super) fn recount(plan: &Plan, writes: bool) {
    for t in plan.tables.iter().filter(|t| writes && t.table.temporary) {
        let Some(trees) = t.table.opened_trees() else { continue };
        let (rows, before) = (trees.row.approximate_rows(), t.table.statistics.figures().rows);
        if rows.abs_diff(before) > before / 10 {
            t.table.statistics.recount(rows);
        }
    }
}

/// A table that is filled where it is made has no foreign keys of its own: error 3978.
pub(super) fn refuse_foreign_keys(create: &ast::CreateTable) -> Result<()> {
    match &create.body {
        ast::CreateTableBody::Define { elements, query: Some(_), .. }
            if elements.iter().any(|e| matches!(e, ast::TableElement::ForeignKey(_))) =>
        {
            Err(sql_err!(ForeignKeyWithAtomicCreateSelect))
        }
        _ => Ok(()),
    }
}

//! SQL without a protocol: the state that is carried from statement to statement, and what statements do. The
//! crate's README explains the parts.
//!
//! *Invariants.* What a client may do is decided here, by what the core's accounts say. A session that waits for
//! its client costs no fiber and no thread.
//!
//! | module | what |
//! |---|---|
//! | `own` | a session without a client |
//! | `virt` | the virtual tables |
//! | `opening` | who opens a session, and what he can do; sessions of a core |
//! | `reply` | where answers go |
//! | `running` | what belongs to the statement that runs |
//! | `query` | running: a text, a statement, a plan |
//! | `cached` | the plan cache |
//! | `deprecated` | warnings of deprecated syntax |
//! | `profile` | SHOW PROFILES |
//! | `planning` | plans |
//! | `prepared` | prepared statements of both kinds |
//! | `statement` | statements that are not planned |
//! | `programs`, `events`, `bodies` | definitions of stored programs |
//! | `calls`, `steps`, `diagnostics` | stored programs that run; their conditions |
//! | `show_programs` | SHOW CREATE of them |
//! | `temporary` | temporary tables |
//! | `transaction` | the state machine of transactions |
//! | `locks`, `user_locks` | metadata locks, LOCK TABLES; GET_LOCK |
//! | `variables` | reading system variables; settings that follow from them |
//! | `set` | SET |
//! | `show` | SHOW |
//! | `accounts`, `grants` | accounts and roles; GRANT, REVOKE |
//! | `grant_tables` | changes of mysql.user and the other grant tables |
//! | `privileges` | what statements need |
//! | `files`, `load`, `outfile` | files of the server; LOAD DATA; SELECT ... INTO OUTFILE |
//! | `key_caches` | CACHE INDEX, LOAD INDEX INTO CACHE |
//! | `maintain` | ANALYZE, CHECK, CHECKSUM, OPTIMIZE, REPAIR TABLE |
//! | `admin` | KILL, FLUSH, SHUTDOWN |
//! | `safety` | `sql_safe_updates`, `max_join_size` |
//! | `track` | session tracking |
//! | `later` | replies that wait for the log |
//! | `logged`, `words`, `logs` | the binary log: rows, definitions, statements about it |

mod accounts;
pub mod admin;
mod alone;
pub mod apply;
mod bodies;
mod branch;
pub mod cached;
mod callbacks;
pub(crate) mod calls;
mod compiled;
mod components;
mod concluded;
mod conversions;
mod counting;
mod definers;
mod deprecated;
pub(crate) mod diagnostics;
mod dialect;
mod estimate;
mod events;
mod explain;
mod files;
pub mod follow;
mod frame;
mod full_text;
mod functions;
mod grant_tables;
mod grants;
mod gtids;
mod handler;
mod help;
mod hinted;
mod histogram;
mod key_caches;
mod known;
pub mod later;
mod light;
mod lists;
mod load;
mod locks;
mod log_tables;
mod logged;
mod logging;
mod logs;
mod maintain;
mod many;
mod objects;
mod opening;
mod outfile;
mod own;
mod owned;
mod partitions;
mod planning;
mod powers;
mod prepared;
mod privileges;
mod profile;
mod profiles;
mod programs;
mod query;
mod reach;
mod replicas;
pub mod reply;
mod restore;
pub mod running;
mod safety;
pub mod scheduler;
mod set;
mod setup;
mod show;
pub(crate) mod show_programs;
mod show_values;
mod state;
mod statement;
mod steps;
mod surroundings;
mod sys;
pub mod sys_config;
mod temporary;
pub mod text;
mod track;
mod transaction;
mod user_locks;
mod variables;
pub mod virt;
mod words;

pub use opening::{Abilities, Opening, Sessions};
pub use own::{Answer, OwnSession, init_connect};
pub use prepared::{Prepared, Values};
pub use query::name_of;
pub use reply::Reply;
pub use variables::Settings;

use cached::Plans;
use gannet_base::prefetch;
use gannet_core::Core;
use gannet_core::accounts::Account;
use gannet_core::registry::Entry;
use gannet_core::vars::{Live, SessionVars, VarValue};
use gannet_core::work::Work;
use gannet_exec::DirectBuffers;
use gannet_exec::spill::TempFile;
use gannet_runtime::{Conn, Interrupt, now_ns};
use gannet_telemetry::{Counter, count};
use gannet_types::charset::Charset;
use gannet_types::{Collation, CollationId, Result, SqlError, sql_err};
use prepared::Named;
use reply::{Change, Status};
use running::Running;
use state::State;
use std::collections::HashMap;
use std::mem::offset_of;
use std::sync::Arc;

/// One session.
///
/// The order in memory is deliberate: what every statement touches lies together. With a thousand connections all of
/// it has left the processor's own caches when the next statement arrives, and each line costs a wait.
#[repr(C)]
pub struct Session {
    pub(crate) buffers: DirectBuffers,
    /// [`SessionVars::changes`] of those that the entry has.
    shown_variables: u32,
    pub(crate) statements: Named,
    /// Statements that were prepared so far, by PREPARE or the client.
    pub(crate) prepared: u32,
    /// What EXECUTE has executed, until the statement around is counted.
    pub(crate) executed: Option<std::sync::Arc<gannet_core::instances::Instance>>,
    /// The counters of [`gannet_telemetry::WORK`] when a statement last looked.
    pub(crate) work_seen: [u64; gannet_telemetry::WORK.len()],
    /// For `log_slow_extra`.
    pub(crate) extra_seen: logging::ExtraSeen,
    pub(crate) temporaries: temporary::Temporaries,
    /// HANDLER.
    pub(crate) handlers: Vec<handler::Opened>,
    /// The text of the statement that runs, where the connection's is another one's: of CALL, or of EXECUTE.
    pub(crate) own_text: Option<Arc<[u8]>>,
    /// Where another server's log stands behind the definition that runs: kept with it.
    pub(crate) position: Option<gannet_catalog::Position>,
    /// The definition that runs has nothing to tell the binary log.
    pub(crate) told_nothing: bool,
    /// It does what another server's log tells.
    pub(crate) follows: bool,
    /// Its statements are not told by the slow query log.
    pub(crate) never_slow: bool,
    /// BINLOG.
    pub(crate) applier: Option<Box<apply::Applier>>,
    /// Of stored programs that were called.
    pub(crate) surroundings: surroundings::Surroundings,
    /// Programs of the statement around that only compute.
    pub(crate) light: Vec<light::Light>,
    /// A dump of schema mysql that the session restores.
    restoring: Option<Box<grant_tables::Restoring>>,
    ended: bool,
    /// See [`Session::is_inside`].
    inside: bool,
    pub(crate) plans: Arc<Plans>,
    /// What functions and the executor see. From its second part on: for every statement.
    pub state: State,
    pub server: Arc<Core>,
    pub entry: Arc<Entry>,
    /// What its statements so far have waited for locks.
    pub(crate) locks_seen_ns: u64,
    /// Processor time of the entry's counters then.
    pub(crate) cpu_seen_ns: u64,
    pub(crate) abilities: Abilities,
    /// COM_SET_OPTION or CLIENT_MULTI_STATEMENTS.
    pub multi_statements: bool,
    /// COMMIT RELEASE and KILL of oneself: close after the reply.
    pub closing: bool,
    /// The file of LOAD DATA that came with another server's log.
    pub(crate) brought: Option<Arc<TempFile>>,
    /// Transaction, metadata locks, gates.
    pub(crate) work: Work,
    /// What waits for the log.
    pub later: later::Later,
    /// Of the statement that runs.
    pub running: Running,
    /// Changes of the session that the next answer tells of.
    pub(crate) changes: Vec<Change>,
    /// LOCK TABLES.
    pub(crate) locked: locks::LockedTables,
    pub settings: Settings,
    /// XA.
    pub(crate) branch: branch::BranchState,
    pub(crate) tracker: track::Tracker,
}

/// Character sets of the conversation.
#[derive(Clone, Copy, Debug)]
pub struct Charsets {
    /// The character set in which statements arrive.
    pub client: Charset,
    /// Literals have this collation.
    pub connection: CollationId,
    /// The character set to which results are converted; `None`: they are sent as they are stored.
    pub results: Option<Charset>,
    /// What clients are told of texts that are sent in it: the collation by which it was chosen, as SET NAMES ...
    /// COLLATE and logins do.
    pub shown: CollationId,
}

impl Charsets {
    /// Collation id that result columns of type text carry.
    pub fn result_collation(&self, own: CollationId) -> u16 {
        match self.results {
            None => own.0,
            Some(_) if own.charset() == Charset::Binary => CollationId::BINARY.0,
            Some(_) => self.shown.0,
        }
    }
}

impl Session {
    /// What every statement touches of a session, and of its state from the rights on.
    const HOT: std::ops::Range<usize> =
        offset_of!(Session, state) + offset_of!(State, server) - 16..offset_of!(Session, tracker) + 1;

    /// A request has arrived: asks for what all of them touch.
    #[inline]
    pub fn prefetch(&self) {
        prefetch(self, Self::HOT);
    }

    /// The same for what is behind its pointers.
    #[inline]
    pub fn prefetch_behind(&self) {
        prefetch(&*self.entry, 0..128);
        self.entry.counters.prefetch();
        self.work.txn().prefetch();
    }

    /// A command has arrived, and its clock runs.
    #[inline(always)]
    pub fn arrives(&mut self) {
        self.prefetch_behind();
        self.state.running.clock = running::Clock::now();
    }

    /// A command begins that is understood.
    #[inline(always)]
    pub fn begins_command(&mut self) {
        self.entry.counters.enter();
        if gannet_telemetry::measures_cpu() {
            gannet_runtime::cpu_runs();
            self.cpu_seen_ns = self.entry.counters.cpu_ns();
        }
        count(Counter::Queries);
        (self.running.more, self.running.database_dropped, self.running.no_index) = (false, false, false);
    }

    /// The rest of the command waits for the log: [`Session::resume`] does it.
    pub fn is_left(&self) -> bool {
        self.later.is_left()
    }

    /// A command has ended. `true`: the session is to be closed.
    #[inline(always)]
    pub fn ends_command(&mut self) -> bool {
        gannet_runtime::cpu_rests();
        if self.shown_variables != self.state.vars.changes() {
            show_variables(self);
        }
        self.entry.counters.leave();
        self.entry.idle(match self.state.running.clock.ended_ns {
            0 => now_ns(),
            ended_ns => ended_ns,
        });
        self.closing
    }

    /// A session for an account that has logged in.
    pub fn open(
        server: Arc<Core>,
        plans: Arc<Plans>,
        entry: Arc<Entry>,
        account: Arc<Account>,
        opening: &Opening,
    ) -> Result<Self> {
        let limit = server.globals.get(Live::MaxConnections).as_u64() as usize;
        // One more connection is for administrators.
        let extra = usize::from(account.grants.global.may_administer_connections());
        if !server.registry.let_in(&entry, limit + extra) {
            return Err(sql_err!(ConCount));
        }
        let usage = gannet_core::accounts::count_connection(&server, &account)?;
        let mut it = Self::new(server, plans, entry, account, opening);
        it.state.usage = usage;
        it.entry.keep_attributes(&opening.attributes);
        begin_life(&mut it, opening)?;
        Ok(it)
    }

    /// A session that has done nothing yet.
    fn new(server: Arc<Core>, plans: Arc<Plans>, entry: Arc<Entry>, account: Arc<Account>, opening: &Opening) -> Self {
        let abilities = opening.abilities;
        let vars = SessionVars::new(&server.globals);
        let work = Work::new(server.clone(), entry.id, transaction::terms(&vars));
        let state = State::new(server.clone(), entry.clone(), account, vars, &opening.user);
        Self {
            abilities,
            settings: Settings::of(&state, abilities.found_rows),
            buffers: DirectBuffers::default(),
            running: Running::default(),
            shown_variables: 0,
            statements: Named::default(),
            prepared: 0,
            executed: None,
            changes: Vec::new(),
            tracker: track::Tracker::default(),
            later: later::Later::default(),
            multi_statements: abilities.multi_statements,
            closing: false,
            brought: None,
            cpu_seen_ns: 0,
            locks_seen_ns: state.entry.counters.get(Counter::LockWaitNs),
            work_seen: gannet_telemetry::WORK.map(|c| state.entry.counters.get(c)),
            extra_seen: None,
            locked: locks::LockedTables::default(),
            branch: branch::BranchState::None,
            handlers: Vec::new(),
            own_text: None,
            position: None,
            told_nothing: false,
            follows: false,
            never_slow: false,
            applier: None,
            restoring: None,
            surroundings: surroundings::Surroundings::default(),
            light: Vec::new(),
            temporaries: temporary::Temporaries::default(),
            ended: false,
            inside: false,
            work,
            state,
            server,
            plans,
            entry,
        }
    }

    /// `@@proxy_user`: the account that the client logged in to, when the session has another account's rights.
    pub fn came_as(&mut self, own: &Account) {
        if !self.state.account.is(&own.id()) {
            self.state.vars.set(Live::ProxyUser, VarValue::text(&own.id().quoted()));
        }
    }

    /// Takes over what the variables say.
    pub fn refresh(&mut self) {
        self.settings = Settings::of(&self.state, self.abilities.found_rows);
        self.running.diagnostics.warnings.set_limit(self.state.vars[Live::MaxErrorCount].as_u64() as usize);
        self.work.set_terms(transaction::terms(&self.state.vars));
        self.entry.set_mode(text::lex_mode(self.settings.exec.sql_mode));
        track::refresh_tracker(self);
    }

    /// The greeting of a new session is over: nothing in it is reported as a change.
    pub fn greeted(&mut self) {
        self.changes.clear();
    }

    /// `max_allowed_packet`.
    pub fn max_packet(&self) -> usize {
        self.state.vars[Live::MaxAllowedPacket].as_u64() as usize
    }

    pub fn net_read_timeout_s(&self) -> u64 {
        self.state.vars[Live::NetReadTimeout].as_u64()
    }

    /// `net_write_timeout`.
    pub fn write_timeout_ns(&self) -> u64 {
        self.state.vars[Live::NetWriteTimeout].as_u64() * 1_000_000_000
    }

    pub fn idle_timeout_s(&self) -> u64 {
        self.state.vars[Live::WaitTimeout].as_u64()
    }

    /// What a client is told of the session.
    pub fn status(&self) -> Status {
        let transaction = self.work.transaction();
        let in_transaction = transaction.is_open();
        Status {
            autocommit: self.work.terms().autocommit,
            in_transaction,
            read_only: in_transaction && transaction.is_read_only(),
            no_backslash_escapes: self.settings.exec.sql_mode.contains(gannet_types::SqlMode::NO_BACKSLASH_ESCAPES),
            no_index: self.running.no_index,
            more: self.running.more,
            database_dropped: self.running.database_dropped,
            outs: false,
        }
    }

    /// Makes `name` the default database; `""` leaves none.
    pub fn use_database(&mut self, name: &str) -> Result<()> {
        if name.is_empty() {
            return Err(sql_err!(NoDb));
        }
        self.state.renew_snapshot();
        self.require_entry(name)?;
        let schema = self.state.snapshot.schema(name).ok_or_else(|| gannet_schema::names::missing_schema(name))?;
        let (name, collation) = (schema.name.clone(), schema.collation);
        self.state.set_database(Some(name.clone()));
        self.state.vars.set(Live::CharacterSetDatabase, VarValue::text(collation.charset().name()));
        self.state.vars.set(Live::CollationDatabase, VarValue::text(collation.get().name));
        self.entry.set_database(Some(name.clone()));
        self.tracker.change();
        if self.abilities.tracks && self.state.vars[Live::SessionTrackSchema].as_bool() {
            self.changes.push(Change::Schema(name));
        }
        Ok(())
    }

    /// COM_RESET_CONNECTION, and the second half of COM_CHANGE_USER: as after a login, but without one.
    pub fn reset(&mut self, opening: &Opening) {
        let_go(self);
        self.restoring = None;
        let database = self.state.database.clone();
        let account = self.state.account.clone();
        let vars = SessionVars::new(&self.server.globals);
        let usage = self.state.usage.take();
        self.state = State::new(self.server.clone(), self.entry.clone(), account, vars, &opening.user);
        self.state.usage = usage;
        self.entry.counters.reset();
        counting::counters_reset(self);
        self.state.set_database(database);
        self.running.diagnostics.warnings.clear();
        self.changes.clear();
        self.tracker = track::Tracker::default();
        self.work.reset();
        start_variables(self, opening);
        show_variables(self);
    }

    /// The error that the client is told when its connection ends for a reason of the server.
    pub fn farewell(&self, conn: &Conn) -> Option<SqlError> {
        match conn.context().pending()? {
            Interrupt::Shutdown => Some(sql_err!(ServerShutdown)),
            _ => None,
        }
    }

    /// Ends the session when the connection is over: releases everything. Idempotent.
    pub fn end(&mut self) {
        if !std::mem::replace(&mut self.ended, true) {
            let_go(self);
            self.state.leave_account();
        }
    }
}

/// Gives back all that a session holds, whether it ends or begins anew.
fn let_go(session: &mut Session) {
    session.abandon_transaction();
    branch::forget_branch(session);
    temporary::drop_all_temporary(session);
    session.handlers.clear();
    session.locked.clear();
    session.work.locks().unlock_instance();
    session.work.locks().release_explicit();
    session.statements.clear();
    session.state.release_user_locks();
}

/// Others may see the variables that have changed.
#[cold]
fn show_variables(session: &mut Session) {
    session.shown_variables = session.state.vars.changes();
    *session.entry.variables.lock() = Some(session.state.vars.clone());
}

/// Takes over what the login says: character sets, timeouts, the default database.
pub(crate) fn begin_life(session: &mut Session, opening: &Opening) -> Result<()> {
    session.work.watched.tell_to(session.server.clone(), session.entry.clone());
    start_variables(session, opening);
    let outcome = match opening.database.as_deref().filter(|d| !d.is_empty()) {
        Some(database) => session.use_database(database),
        None => Ok(()),
    };
    show_variables(session);
    outcome
}

/// Variables that a login sets: the client's collation, the timeouts of interactive clients.
fn start_variables(session: &mut Session, opening: &Opening) {
    let id = opening.collation;
    let known = Collation::by_id(id).filter(|c| id != 0 && c.charset.may_be_clients());
    let collation = known.unwrap_or_else(|| session.server.collation());
    set_names(session, collation.charset, collation);
    if session.abilities.interactive {
        let seconds = session.state.vars[Live::InteractiveTimeout].clone();
        session.state.vars.set(Live::WaitTimeout, seconds);
    }
    session.refresh();
}

/// SET NAMES without its checks.
pub(crate) fn set_names(session: &mut Session, charset: Charset, collation: &'static Collation) {
    let name = VarValue::text(charset.name());
    for id in [Live::CharacterSetClient, Live::CharacterSetConnection, Live::CharacterSetResults] {
        session.state.vars.set(id, name.clone());
    }
    session.state.vars.set(Live::CollationConnection, VarValue::text(collation.name));
    session.state.results = Some(collation.id);
}

impl Drop for Session {
    fn drop(&mut self) {
        self.end();
    }
}

/// User variables of a session, by lower-case name.
pub type UserVariables = HashMap<String, gannet_types::Value>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_every_statement_touches_lies_on_22_lines() {
        let size = Session::HOT.len();
        assert!(size <= 22 * 64, "{size} bytes");
    }
}

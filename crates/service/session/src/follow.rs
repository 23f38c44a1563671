//! A session that does what another server's log tells: transactions with the GTIDs they have there, definitions under
//! the settings they had, rows by [`Applier`]. Where it stands is kept with each transaction, in the same commit.

use super::apply::Applier;
use super::dialect::Here;
use super::own::OwnSession;
use super::reply::{Done, Ended, Manner, Reply};
use super::temporary::OfConnections;
use super::{Charsets, Session};
use gannet_base::Attached;
use gannet_binlog::beside::Beside;
use gannet_binlog::event::kind;
use gannet_binlog::group::First;
use gannet_binlog::map::TableMap;
use gannet_binlog::query::{Query, Settings, flags2};
use gannet_catalog::Position;
use gannet_core::accounts::{Account, Name};
use gannet_core::binlog::OwnGtid;
use gannet_core::vars::{Live, VarValue};
use gannet_core::work::{Gtids, NextGtid, Origin};
use gannet_engine::{Lsn, TrxId, commit_gate, in_order};
use gannet_exec::ddl::statement_of;
use gannet_exec::error::from_engine;
use gannet_exec::spill::TempFile;
use gannet_exec::{Rows, Session as _};
use gannet_functions::Generator;
use gannet_parser::ast::{self, Completion, Statement, TableOption};
use gannet_plan::physical::Reads;
use gannet_plan::plan::ResultColumn;
use gannet_runtime::Interrupt;
use gannet_types::temporal::LOCALE_NUMBERS;
use gannet_types::{ErrorCode, Result, SqlError, SqlMode, Value, sql_err};
use std::sync::Arc;

/// What the definition of a table ends with whose rows follow.
const ROWS_FOLLOW: &[u8] = b" START TRANSACTION";

/// Keeps an error.
struct Heard(Option<SqlError>);

impl Reply for Heard {
    fn begin(&mut self, _: &[ResultColumn], _: Manner, _: Option<&Attached>) -> Result<()> {
        Ok(())
    }

    fn rows(&mut self, _: Rows<'_>, _: usize) -> Result<()> {
        Ok(())
    }

    fn row(&mut self, _: &[Value]) -> Result<()> {
        Ok(())
    }

    fn end(&mut self, _: &Ended<'_>) {}

    fn error(&mut self, error: &SqlError, _: &Charsets) {
        self.0 = Some(error.clone());
    }
}

fn run(session: &mut Session, text: &[u8]) -> Result<()> {
    let mut heard = Heard(None);
    session.query(text, &mut heard);
    heard.0.map_or(Ok(()), Err)
}

/// What follows another server.
pub struct Follower {
    session: OwnSession,
    applier: Applier,
    keys: KeyCheck,
    /// Statements that change rows are refused.
    row_format: bool,
    /// What is said of the transaction's first server.
    origin: Arc<Origin>,
    first: First,
    /// The last commit that did not wait for the log.
    unsynced: Lsn,
    /// Commits since the one before it that [`Follower::left`] waits for next.
    ahead: u32,
    former: Lsn,
    connections: OfConnections,
    /// Their temporary tables when the transaction that is open began.
    before: Option<OfConnections>,
}

/// Temporary tables of another server's connections, which outlive a [`Follower`].
#[derive(Default)]
pub struct OpenTables(OfConnections);

impl OpenTables {
    /// How many.
    pub fn count(&self) -> usize {
        self.0.tables()
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let session = self.session.session();
        self.connections.drop_all(session);
    }
}

/// What is to be known of the server that wrote a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogKind(bool);

/// Twice so many transactions at most are applied and not durable.
const MOST_AHEAD: u32 = 64;

/// REQUIRE_TABLE_PRIMARY_KEY_CHECK: what becomes of tables without a primary key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum KeyCheck {
    /// As the source says.
    #[default]
    Stream,
    /// They are refused.
    On,
    /// They are made.
    Off,
    /// They get one ([`gannet_schema::GENERATED_KEY`]).
    Generate,
}

impl KeyCheck {
    /// From its name.
    pub fn of(name: &str) -> KeyCheck {
        match name {
            "ON" => KeyCheck::On,
            "OFF" => KeyCheck::Off,
            "GENERATE" => KeyCheck::Generate,
            _ => KeyCheck::Stream,
        }
    }
}

impl Follower {
    /// Applies with a session that may do everything, or with an account whose privileges are checked.
    pub fn new(mut session: OwnSession, keys: KeyCheck) -> Follower {
        let own = session.session();
        own.follows = true;
        own.never_slow = !own.server.globals.get(Live::LogSlowReplicaStatements).as_bool();
        let applier = Applier::checking(&own.state.account);
        Follower {
            session,
            applier,
            keys,
            row_format: false,
            origin: Arc::default(),
            first: First::default(),
            unsynced: Lsn::ZERO,
            ahead: 0,
            former: Lsn::ZERO,
            connections: OfConnections::default(),
            before: None,
        }
    }

    fn command<T>(&mut self, f: impl FnOnce(&mut Session, &mut Applier) -> Result<T>) -> Result<T> {
        let session = self.session.session();
        session.entry.context.clear(Interrupt::Query);
        session.arrives();
        session.begins_command();
        session.work.watched.within_program();
        let outcome = f(session, &mut self.applier);
        session.ends_command();
        outcome
    }

    /// Rows take the place of those that are there, and those that are not there are passed over.
    pub fn be_idempotent(&mut self) {
        self.applier.set_idempotent(true);
    }

    /// Rows and definitions are applied, and no other statements: error 3944.
    pub fn require_row_format(&mut self) {
        self.row_format = true;
    }

    /// Runs statements that are not the log's (`init_replica`).
    pub fn run(&mut self, text: &str) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.session.execute(text).map(drop).map_err(|(_, e)| e)
    }

    /// The format of the events that follow.
    pub fn describe(&mut self, body: &[u8]) -> Result<()> {
        self.applier.describe(body)
    }

    /// Rows that follow are of the same log as another one's.
    pub fn is_as(&mut self, log: LogKind) {
        self.applier.set_virtual(log.0);
    }

    /// What log it is.
    pub fn log_kind(&self) -> LogKind {
        LogKind(self.applier.has_virtual())
    }

    /// A transaction with this GTID begins, which another server has committed first. False: it is executed already,
    /// and to be passed over.
    pub fn begin(&mut self, gtid: Option<OwnGtid>, first: First) -> Result<bool> {
        let origin = self.origin.clone();
        self.first = first;
        self.command(|session, _| {
            Gtids::of(&mut session.work).set(NextGtid::Automatic);
            let Some(log) = session.server.binlog().cloned() else { return Ok(true) };
            origin.say(first);
            Gtids::of(&mut session.work).from(&origin);
            let Some(gtid) = gtid else { return Ok(true) };
            let owned = match gtid.0 == log.uuid() {
                // Nobody else gives others' numbers.
                false => log.take(gtid, session.entry.id)?,
                true => log.own(&session.server.engine, gtid, session.entry.id)?,
            };
            if !owned {
                return Ok(false);
            }
            Gtids::of(&mut session.work).set(NextGtid::Owned(gtid));
            Ok(true)
        })
    }

    /// BEGIN: rows follow, which have what they need of settings themselves.
    pub fn start(&mut self) -> Result<()> {
        self.before = Some(self.connections.whole(self.session.session()));
        self.command(|session, _| session.begin(&ast::Begin::default()))
    }

    /// A statement. `position`: where the log stands behind it, if it is a transaction by itself.
    pub fn query(&mut self, query: &Query<'_>, timestamp: u32, position: Option<&Position>) -> Result<()> {
        let (keys, origin, first) = (self.keys, self.origin.clone(), self.first);
        let row_format = self.row_format;
        let mut connections = std::mem::take(&mut self.connections);
        let outcome = self.command(|session, applier| {
            applier.leave(session);
            session.state.vars.set(Live::RequireRowFormat, VarValue::bool(row_format));
            under(session, &query.settings, timestamp, keys)?;
            connections.take(session, query.thread_id);
            let schema = String::from_utf8_lossy(query.schema).into_owned();
            session.state.set_database((!schema.is_empty()).then(|| schema.into()));
            let inside = position.is_none().then_some(ROWS_FOLLOW);
            let here = applier.dialect().here(query.text, query.error, inside)?;
            run_before(session, here.as_ref())?;
            let text = here.as_ref().map_or(query.text, |here| &here.text);
            // What ran before it has ended what was said.
            origin.say(first);
            session.position = position.cloned();
            let outcome = match (run(session, text), text.strip_suffix(ROWS_FOLLOW)) {
                // One that is there and empty was made before a crash.
                (Err(e), Some(_)) if e.code() == ErrorCode::TableExists && is_empty(session, text)? => {
                    let mut body = Vec::new();
                    Query { text, ..query.clone() }.encode(&mut body);
                    rows_follow(session, body)
                }
                (outcome, _) => outcome,
            };
            let kept = session.position.take().is_none();
            session.brought = None;
            // What is written anew does all that it had done there.
            let error = if here.is_some() { 0 } else { query.error };
            as_there(outcome, &Query { error, ..query.clone() })?;
            match position {
                // A statement that told the log nothing: where it stands is kept by itself.
                Some(position) if !kept => commit(session, position),
                _ => Ok(None),
            }
        });
        self.connections = connections;
        self.left(outcome?)
    }

    /// What the statement that follows has of its session.
    pub fn bring(&mut self, beside: Beside) -> Result<()> {
        self.command(|session, _| {
            let state = &mut session.state;
            match beside {
                Beside::LastInsertId(id) => state.last_insert_id = id,
                Beside::InsertId(id) => state.next_insert_id = id,
                Beside::Seeds(a, b) => state.random = Some(Generator::of_seeds(a as u32, b as u32)),
                Beside::Variable(name, value) => state.set_user_variable(&name, value)?,
            }
            Ok(())
        })
    }

    /// The file of the LOAD DATA that follows.
    pub fn bring_file(&mut self, file: Arc<TempFile>) {
        self.session.session().brought = Some(file);
    }

    /// The statement that what was brought is for is left out.
    pub fn forget(&mut self) {
        let session = self.session.session();
        session.state.next_insert_id = 0;
        session.brought = None;
    }

    /// A table whose rows follow.
    pub fn map(&mut self, map: TableMap) {
        self.applier.map(map);
    }

    /// Rows.
    pub fn rows(&mut self, kind: u8, body: &[u8], timestamp: u32) -> Result<()> {
        self.command(|session, applier| {
            session.state.fixed_time_us = Some(i64::from(timestamp) * 1_000_000);
            applier.rows(session, kind, body).map_err(|e| of_rows(e, kind, applier.table()))
        })
    }

    /// Rows are applied at READ COMMITTED from now on: what is not there is not locked.
    pub fn read_committed(&mut self) -> Result<()> {
        self.command(|session, _| run(session, b"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"))
    }

    /// The engine's number of the transaction that is open.
    pub fn name(&mut self) -> Result<TrxId> {
        self.command(|session, _| {
            session.begin_statement(Reads::Snapshot)?;
            in_order::name(session.work.txn_mut()).map_err(from_engine)
        })
    }

    /// Waits for the end of a transaction that has to commit before the one that is open. Error 1213 where it waits for
    /// rows of this one, which is undone then.
    pub fn wait_behind(&mut self, ahead: TrxId) -> Result<()> {
        self.command(|session, _| in_order::wait_behind(session.work.txn_mut(), ahead).map_err(from_engine))
    }

    /// The transaction ends; `position` is kept with it, in the same commit. So it need not be durable before the next
    /// one is applied: see [`Follower::settle`].
    pub fn commit(&mut self, position: &Position) -> Result<()> {
        let lsn = self.commit_early(position)?;
        self.left(lsn)
    }

    /// The same, and [`Follower::left`] is told of it later.
    pub fn commit_early(&mut self, position: &Position) -> Result<Option<Lsn>> {
        self.command(|session, _| commit(session, position))
    }

    /// A commit has not waited for the log. Where many have not, waits for those that are not the newest.
    pub fn left(&mut self, lsn: Option<Lsn>) -> Result<()> {
        let Some(lsn) = lsn else { return Ok(()) };
        (self.unsynced, self.ahead) = (lsn, self.ahead + 1);
        if self.ahead < MOST_AHEAD {
            return Ok(());
        }
        self.ahead = 0;
        let former = std::mem::replace(&mut self.former, lsn);
        self.wait_for_log(former)
    }

    /// Waits until what was applied is durable. It waits for no replica of this server: servers that follow each other
    /// would wait for each other.
    pub fn settle(&mut self) -> Result<()> {
        self.ahead = 0;
        self.former = Lsn::ZERO;
        let lsn = std::mem::take(&mut self.unsynced);
        self.wait_for_log(lsn)
    }

    /// The last commit that has not waited for the log.
    pub fn unsynced(&self) -> Lsn {
        self.unsynced
    }

    fn wait_for_log(&mut self, lsn: Lsn) -> Result<()> {
        let gate = commit_gate(&self.session.session().server.engine);
        if lsn.is_zero() { Ok(()) } else { gate.wait_for_log(lsn).map_err(from_engine) }
    }

    /// Goes on with temporary tables that another one has left.
    pub fn enter_tables(&mut self, left: OpenTables) {
        self.connections.enter(self.session.session(), left.0);
    }

    /// The temporary tables stay, as they were before a transaction that is open: it comes again.
    pub fn leave_tables(&mut self) -> OpenTables {
        self.undo_tables();
        OpenTables(self.connections.leave(self.session.session()))
    }

    /// Drops the temporary tables: the server whose they are has been started again.
    pub fn drop_tables(&mut self) {
        self.connections.drop_all(self.session.session());
    }

    /// How many temporary tables there are.
    pub fn open_tables(&mut self) -> usize {
        self.connections.count(self.session.session())
    }

    fn undo_tables(&mut self) {
        let session = self.session.session();
        if let Some(before) = self.before.take().filter(|_| session.work.transaction().is_open()) {
            self.connections.undo(session, before);
        }
    }

    /// Nothing of the transaction stays.
    pub fn rollback(&mut self) -> Result<()> {
        self.undo_tables();
        self.command(|session, _| {
            let outcome = session.rollback(Completion::default());
            Gtids::of(&mut session.work).set(NextGtid::Automatic);
            outcome
        })
    }
}

/// What a replica says of an error of rows: with the name that MySQL's handlers have for it.
fn of_rows(e: SqlError, rows: u8, table: Option<(&str, &str)>) -> SqlError {
    const CONVERSION_FAILED: u16 = 13146;
    let handler = match e.code() {
        ErrorCode::ReplicaConversionFailed => return SqlError::signal(CONVERSION_FAILED, *b"HY000", e.message()),
        ErrorCode::KeyNotFound => "HA_ERR_KEY_NOT_FOUND",
        ErrorCode::DupEntry => "HA_ERR_FOUND_DUPP_KEY",
        ErrorCode::NoReferencedRow2 => "HA_ERR_NO_REFERENCED_ROW",
        ErrorCode::RowIsReferenced2 => "HA_ERR_ROW_IS_REFERENCED",
        _ => return e,
    };
    let Some((schema, table)) = table else { return e };
    let (what, number) = (e.message(), e.number());
    let name = kind::name(rows);
    SqlError::with_message(
        e.code(),
        format!(
            "Could not execute {name} event on table {schema}.{table}; {what}, Error_code: {number}; handler error {handler}"
        ),
    )
}

/// Runs what comes before a statement, as transactions of this server: the statement's GTID is for one.
fn run_before(session: &mut Session, here: Option<&Here>) -> Result<()> {
    let Some(Here { before, .. }) = here.filter(|here| !here.before.is_empty()) else { return Ok(()) };
    let next = NextGtid::of(&session.work);
    Gtids::of(&mut session.work).set_aside(NextGtid::Automatic);
    let outcome = before.iter().try_for_each(|text| match run(session, text.as_bytes()) {
        Err(e) if e.code() == ErrorCode::CantDropFieldOrKey => Ok(()),
        outcome => outcome,
    });
    Gtids::of(&mut session.work).set_aside(next);
    outcome
}

/// A statement ends here as at its server. One that failed there, too, is in the log for what it did before: of tables
/// without transactions, or of several ones that DROP TABLE names. Errors 3001 for one that was broken off there, 3002
/// for one that fails otherwise here, or not at all.
fn as_there(outcome: Result<()>, query: &Query<'_>) -> Result<()> {
    use ErrorCode as Code;
    const BROKEN_OFF: [Code; 5] = [
        Code::QueryInterrupted,
        Code::ServerShutdown,
        Code::NewAbortingConnection,
        Code::NetRead,
        Code::NetErrorOnWrite,
    ];
    // Others may wait otherwise here.
    const OF_LOCKS: [Code; 2] = [Code::LockWaitTimeout, Code::LockDeadlock];
    let there = |codes: &[Code]| codes.iter().any(|code| code.number() == query.error);
    let (schema, text) = said(query);
    match outcome {
        Err(e) if matches!(e.code(), Code::QueryInterrupted | Code::ServerShutdown) => Err(e),
        _ if there(&BROKEN_OFF) => Err(sql_err!(ErrorOnSource, query.error, text)),
        Err(e) if query.error == 0 => Err(of_query(e, query)),
        Err(e) if e.number() == query.error => Ok(()),
        Ok(()) if query.error == 0 || there(&OF_LOCKS) => Ok(()),
        outcome => {
            let (here, number) =
                outcome.map_or_else(|e| (e.message().to_owned(), e.number()), |()| ("no error".to_owned(), 0));
            let there =
                ErrorCode::from_number(query.error).map_or(String::new(), |code| code.format().replace("{}", "%s"));
            Err(sql_err!(InconsistentError, there, query.error, here, number, schema, text))
        }
    }
}

/// The database and the beginning of the text, for an error.
fn said(query: &Query<'_>) -> (String, String) {
    let text = String::from_utf8_lossy(query.text);
    (String::from_utf8_lossy(query.schema).into_owned(), text.chars().take(LONGEST_QUOTED).collect())
}

/// What a replica says of an error of a statement.
fn of_query(e: SqlError, query: &Query<'_>) -> SqlError {
    let (schema, text) = said(query);
    let said = format!("Error '{}' on query. Default database: '{schema}'. Query: '{text}'", e.message());
    SqlError::signal(e.number(), e.sqlstate(), said)
}

/// Characters of a statement in an error.
const LONGEST_QUOTED: usize = 1024;

/// Commits; the log is waited for by [`Follower::settle`].
fn commit(session: &mut Session, (name, position): &Position) -> Result<Option<Lsn>> {
    if !session.work.transaction().is_open() {
        session.work.start(None, false)?;
    }
    session.begin_statement(Reads::Snapshot)?;
    let server = session.server.clone();
    let stored = server.catalog.replication();
    stored.put(session.work.txn_mut(), name, position).map_err(from_engine)?;
    session.work.leave_waiting(true);
    let outcome = session.commit(Completion::default());
    session.work.leave_waiting(false);
    outcome?;
    Gtids::of(&mut session.work).set(NextGtid::Automatic);
    Ok(session.work.unsynced())
}

/// A table whose rows follow: they are told with its definition, as one group.
fn rows_follow(session: &mut Session, body: Vec<u8>) -> Result<()> {
    session.work.start(None, false)?;
    Gtids::of(&mut session.work).put_before(kind::QUERY, body);
    Ok(())
}

/// CREATE TABLE ... START TRANSACTION: the table is made at once, and a transaction begins whose rows it is told with.
pub(crate) fn new_table(session: &mut Session, create: &ast::CreateTable, reply: &mut dyn Reply) -> Result<Done> {
    let text = session.own_text.as_deref().map_or_else(|| session.entry.logged_text(), <[u8]>::to_vec);
    let mut body = super::words::query(session, &text);
    let mut plain = create.clone();
    if let ast::CreateTableBody::Define { options, .. } = &mut plain.body {
        options.retain(|option| *option != TableOption::StartTransaction);
    }
    let (next, logs) = (NextGtid::of(&session.work), session.state.vars[Live::SqlLogBin].clone());
    session.commit_implicitly()?;
    Gtids::of(&mut session.work).set_aside(NextGtid::Automatic);
    session.state.vars.set(Live::SqlLogBin, VarValue::bool(false));
    let outcome = session.perform(&Statement::CreateTable(Box::new(plain)), reply);
    session.state.vars.set(Live::SqlLogBin, logs);
    Gtids::of(&mut session.work).set_aside(next);
    let done = outcome?;
    if session.state.vars[Live::SqlGenerateInvisiblePrimaryKey].as_bool() {
        // Who reads it generates none.
        let database = session.state.database.clone();
        let schema = create.name.schema.as_ref().map(|s| &*s.text).or(database.as_deref()).unwrap_or_default();
        let table = session.state.snapshot.require_table(schema, &create.name.name)?;
        let mut text = statement_of(table, database.as_deref()).into_bytes();
        text.extend_from_slice(ROWS_FOLLOW);
        body = super::words::query(session, &text);
    }
    if super::logged::is_logged(session) {
        rows_follow(session, body)?
    } else {
        session.work.start(None, false)?
    }
    Ok(done)
}

/// The table that a text defines has no rows.
fn is_empty(session: &mut Session, text: &[u8]) -> Result<bool> {
    let parsed = gannet_parser::parse(text, Default::default());
    let Ok(parsed) = parsed else { return Ok(false) };
    let Statement::CreateTable(create) = &parsed.statement else { return Ok(false) };
    let database = session.state.database.clone().unwrap_or_default();
    let schema = create.name.schema.as_ref().map_or(&*database, |s| s);
    let (schema, name) =
        (gannet_parser::printer::quote_name(schema), gannet_parser::printer::quote_name(&create.name.name));
    let text = format!("DO EXISTS (SELECT 1 FROM {schema}.{name})");
    let parsed = gannet_parser::parse(text.as_bytes(), Default::default());
    match parsed.map(|p| p.statement) {
        Ok(Statement::Do(list)) => {
            let value = list.first().map(|e| session.evaluate(e)).transpose()?;
            Ok(matches!(value, Some(Value::Int(0))))
        }
        _ => Ok(false),
    }
}

/// What is made without a DEFINER is theirs, and they are CURRENT_USER. A log need not say who.
fn in_the_name_of(session: &mut Session, invoker: Option<&(String, String)>) {
    let account = match invoker {
        Some((user, host)) if session.state.account.is(&Name::new(user, host)) => return,
        Some((user, host)) => Account::unchecked_as(user, host),
        None => Account::unchecked(),
    };
    session.state.current_user = account.name();
    session.state.account = Arc::new(account);
}

/// The session has the settings of a statement of the log.
/// Error 1227 where the account that is checked may not set what the source says of primary keys.
fn under(session: &mut Session, settings: &Settings, timestamp: u32, keys: KeyCheck) -> Result<()> {
    let micros = i64::from(settings.microseconds.unwrap_or(0));
    session.state.fixed_time_us = Some(i64::from(timestamp) * 1_000_000 + micros);
    if session.state.account.is_unchecked() {
        in_the_name_of(session, settings.invoker.as_ref());
    }
    let is = session.state.vars[Live::SqlRequirePrimaryKey].as_bool();
    if keys == KeyCheck::Stream
        && settings.require_primary_key.is_some_and(|on| on != is)
        && !session.state.privileges().may_set_restricted_variables()
    {
        return Err(SqlError::new(ErrorCode::SpecificAccessDenied, &[&super::set::MAY_SET_RESTRICTED]));
    }
    let vars = &mut session.state.vars;
    let collation = gannet_types::Collation::by_id;
    if let Some(bits) = settings.flags2 {
        vars.set(Live::ForeignKeyChecks, VarValue::bool(bits & flags2::NO_FOREIGN_KEY_CHECKS == 0));
        vars.set(Live::UniqueChecks, VarValue::bool(bits & flags2::RELAXED_UNIQUE_CHECKS == 0));
        session.state.if_exists = bits & flags2::IF_EXISTS != 0;
    }
    if let Some(bits) = settings.sql_mode {
        // Those of other servers' that do not exist here have no meaning here.
        let known = (0..64).map(|n| 1 << n).filter(|bit| bits & bit != 0 && SqlMode::from_bits(*bit).is_ok()).sum();
        let mode = SqlMode::from_bits(known).unwrap_or_default();
        vars.set(Live::SqlMode, VarValue::text(&mode.to_string()));
    }
    // These are in a log where they are not the default.
    let (increment, offset) = settings.auto_increment.unwrap_or((1, 1));
    vars.set(Live::AutoIncrementIncrement, VarValue::Int(i64::from(increment.max(1))));
    vars.set(Live::AutoIncrementOffset, VarValue::Int(i64::from(offset.max(1))));
    let locale = settings.lc_time_names.and_then(|n| LOCALE_NUMBERS.get(usize::from(n)));
    vars.set(Live::LcTimeNames, VarValue::text(locale.unwrap_or(&"en_US")));
    if let Some([client, connection, server]) = settings.charset {
        if let Some(c) = collation(client) {
            vars.set(Live::CharacterSetClient, VarValue::text(c.charset.name()));
        }
        if let Some(c) = collation(connection) {
            vars.set(Live::CharacterSetConnection, VarValue::text(c.charset.name()));
            vars.set(Live::CollationConnection, VarValue::text(c.name));
        }
        if let Some(c) = collation(server) {
            vars.set(Live::CharacterSetServer, VarValue::text(c.charset.name()));
            vars.set(Live::CollationServer, VarValue::text(c.name));
        }
    }
    if let Some(zone) = &settings.time_zone {
        vars.set(Live::TimeZone, VarValue::text(zone));
    }
    // A source that says nothing of it is older than MySQL 8.0, or a MariaDB.
    let utf8mb4 = settings.default_collation_utf8mb4.unwrap_or(gannet_types::CollationId::UTF8MB4_GENERAL_CI.0);
    if let Some(c) = collation(utf8mb4) {
        vars.set(Live::DefaultCollationForUtf8mb4, VarValue::text(c.name));
    }
    let required = match keys {
        KeyCheck::Stream => settings.require_primary_key,
        keys => Some(keys == KeyCheck::On),
    };
    vars.set(Live::SqlGenerateInvisiblePrimaryKey, VarValue::bool(keys == KeyCheck::Generate));
    if let Some(on) = required {
        vars.set(Live::SqlRequirePrimaryKey, VarValue::bool(on));
    }
    session.refresh();
    Ok(())
}

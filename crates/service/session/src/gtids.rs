//! `gtid_next` and `session_track_gtids`.

use super::Session;
use super::reply::Change;
use gannet_core::Core;
use gannet_core::kinds::{self, Logged};
use gannet_core::vars::{Live, VarId};
use gannet_core::work::{Gtids, NextGtid};
use gannet_engine::TxnOptions;
use gannet_exec::error::from_engine;
use gannet_parser::ast::{CreateTable, CreateTableBody, FlushTarget, MaintenanceKind, Statement, TableOption};
use gannet_plan::Plan;
use gannet_runtime::now_ns;
use gannet_types::gtid::{Gtid, GtidSet};
use gannet_types::{ErrorCode, Result, SqlError, Value, sql_err};

/// What `gtid_next` may say. Error 1774.
pub(crate) fn check_next(text: &str) -> Result<()> {
    let named = |word: &str| text.eq_ignore_ascii_case(word);
    if named("AUTOMATIC") || named("ANONYMOUS") {
        return Ok(());
    }
    if text.get(..10).is_some_and(|word| word.eq_ignore_ascii_case("AUTOMATIC:")) {
        return Err(SqlError::unsupported(format_args!("gtid_next = {text}, which has a tag")));
    }
    match Gtid::parse(text.as_bytes()) {
        Some(gtid) if gtid.source.tag.is_empty() => Ok(()),
        Some(_) => Err(SqlError::unsupported(format_args!("gtid_next = {text}, which has a tag"))),
        None => Err(sql_err!(MalformedGtidSpecification, text)),
    }
}

/// What [`check_next`] has passed, as it is shown.
pub(crate) fn shown_next(text: &str) -> String {
    Gtid::parse(text.as_bytes()).map_or_else(|| text.to_ascii_uppercase(), |gtid| gtid.to_string())
}

/// `gtid_next` is set to what [`check_next`] has passed. Errors 1765 in a function or trigger, 1766 in a transaction,
/// 1790 while the session owns a GTID, 1782 for ANONYMOUS with a binary log, which has GTIDs, and 1781 without one.
pub(crate) fn set_next(session: &mut Session, text: &str) -> Result<()> {
    if session.inside {
        return Err(sql_err!(VariableNotSettableInSfOrTrigger, "gtid_next"));
    }
    if is_in_transaction(session) {
        return Err(sql_err!(VariableNotSettableInTransaction, "gtid_next"));
    }
    if let NextGtid::Owned((uuid, number)) = NextGtid::of(&session.work) {
        return Err(sql_err!(CantSetGtidNextWhenOwningGtid, format_args!("{uuid}:{number}")));
    }
    let log = session.server.binlog().cloned();
    let Some(gtid) = Gtid::parse(text.as_bytes()) else {
        if log.is_some() && text.eq_ignore_ascii_case("ANONYMOUS") {
            return Err(sql_err!(CantSetGtidNextToAnonymousWhenGtidModeIsOn));
        }
        Gtids::of(&mut session.work).set(NextGtid::Automatic);
        return Ok(());
    };
    let Some(log) = log else {
        return Err(sql_err!(CantSetGtidNextToGtidWhenGtidModeIsOff));
    };
    let own = (gtid.source.uuid, gtid.number);
    Gtids::of(&mut session.work).set(NextGtid::Automatic);
    let owned = log.own(&session.server.engine, own, session.entry.id)?;
    Gtids::of(&mut session.work).set(if owned { NextGtid::Owned(own) } else { NextGtid::Skipped });
    Ok(())
}

/// `original_commit_timestamp`, `original_server_version` and `immediate_server_version` of the next transaction are
/// set; false: another variable is.
pub(crate) fn set_origin(session: &mut Session, id: VarId, value: u64) -> bool {
    if ![Live::OriginalCommitTimestamp, Live::OriginalServerVersion, Live::ImmediateServerVersion]
        .iter()
        .any(|v| id.is(*v))
    {
        return false;
    }
    let origin = session.state.origin.get_or_insert_default().clone();
    match () {
        () if id.is(Live::OriginalCommitTimestamp) => origin.set_committed_us(value),
        () if id.is(Live::OriginalServerVersion) => origin.set_version(value as u32),
        () => origin.set_immediate(value as u32),
    }
    say_origin(session);
    true
}

/// BINLOG has been used: with `pseudo_replica_mode` the session does again what another server has done first.
pub(crate) fn repeat_another(session: &mut Session) {
    if session.state.vars[Live::PseudoReplicaMode].as_bool() {
        session.state.origin.get_or_insert_default().set_elsewhere(true);
        say_origin(session);
    }
}

fn say_origin(session: &mut Session) {
    if let Some(origin) = session.state.origin.clone()
        && session.server.binlog().is_some()
    {
        Gtids::of(&mut session.work).from(&origin);
    }
}

/// Error 1837, where another GTID has to be given first.
fn used(session: &Session) -> SqlError {
    sql_err!(GtidNextTypeUndefinedGtid, session.state.vars[Live::GtidNext].as_str())
}

/// In a transaction that was begun; a statement's own is none.
fn is_in_transaction(session: &Session) -> bool {
    !session.work.is_autocommit() && session.work.transaction().is_open()
}

/// Whether a statement is passed over, as its transaction is executed already. Errors 1778, 1837.
#[cold]
pub(crate) fn passes_over(session: &Session, statement: &Statement) -> Result<bool> {
    let next = NextGtid::of(&session.work);
    if matches!(next, NextGtid::Owned(_) | NextGtid::Skipped)
        && !session.follows
        && is_in_transaction(session)
        && commits_first(session, statement)
    {
        return Err(sql_err!(CantDoImplicitCommitInTrxWhenGtidNextIsSet));
    }
    if is_harmless(statement) { Ok(false) } else { is_skipped(session) }
}

/// The error of a statement that could not begin: none where it would have been passed over.
#[cold]
pub(crate) fn passes_over_error(session: &Session, statement: &Statement, error: SqlError) -> Option<SqlError> {
    if !matches!(NextGtid::of(&session.work), NextGtid::Skipped | NextGtid::Used) {
        return Some(error);
    }
    match passes_over(session, statement) {
        Ok(true) => None,
        Ok(false) => Some(error),
        Err(before) => Some(before),
    }
}

/// Whether a statement commits the open transaction before it begins.
fn commits_first(session: &Session, statement: &Statement) -> bool {
    match statement {
        Statement::Commit(_) | Statement::Rollback(_) => false,
        Statement::Flush(_) | Statement::Reset(_) => true,
        Statement::CreateTable(create) if create.temporary => false,
        Statement::DropTable { temporary: true, .. } => false,
        // A table whose rows follow goes on with the transaction, behind the BEGIN that mysqlbinlog prints.
        Statement::CreateTable(create) if has_rows_following(create) => false,
        _ => kinds::of(statement).commits && !super::temporary::only_temporary(session, statement),
    }
}

/// What is done whatever `gtid_next` says: what changes nothing, and begins and ends transactions.
fn is_harmless(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Begin(_)
            | Statement::Commit(_)
            | Statement::Rollback(_)
            | Statement::Set(_)
            | Statement::SetStatement { .. }
            | Statement::Show(_)
            | Statement::Describe { .. }
            | Statement::Explain(_)
            | Statement::Query(_)
            | Statement::Do(_)
            | Statement::Use(_)
            | Statement::Empty
    )
}

/// CREATE TABLE ... START TRANSACTION: the table's rows follow in the transaction.
pub(crate) fn has_rows_following(create: &CreateTable) -> bool {
    let asks = |options: &[TableOption]| options.contains(&TableOption::StartTransaction);
    !create.temporary && matches!(&create.body, CreateTableBody::Define { options, .. } if asks(options))
}

/// The same of a plan.
#[cold]
pub(crate) fn passes_over_plan(session: &Session, plan: &Plan) -> Result<bool> {
    if !plan.writes {
        return Ok(false);
    }
    is_skipped(session)
}

/// The transaction that the session is to do is executed: what belongs to it is passed over, with its own end.
fn is_skipped(session: &Session) -> Result<bool> {
    match NextGtid::of(&session.work) {
        NextGtid::Automatic | NextGtid::Owned(_) => Ok(false),
        NextGtid::Used => Err(used(session)),
        NextGtid::Skipped => Ok(true),
    }
}

/// A statement has ended well: a definition whose GTID was chosen is in the log.
#[cold]
pub(crate) fn end_definition(session: &mut Session, statement: &Statement) {
    let temporary = super::temporary::only_temporary(session, statement);
    // A definition that opens a transaction is told with its rows.
    let open = session.work.transaction().is_open();
    if kinds::of(statement).logged == Logged::Text && !temporary && !open {
        let logged = super::logged::is_logged(session);
        Gtids::of(&mut session.work).tell();
        Gtids::of(&mut session.work).end(logged);
        session.position = None;
    }
}

/// A statement has failed. If it was a transaction by itself, or its transaction went with it, the GTID that was chosen
/// for it is given back. What was not understood has not begun.
#[cold]
pub(crate) fn end_failed(session: &mut Session, error: &SqlError) {
    let begun = !matches!(error.code(), ErrorCode::Parse | ErrorCode::CantSetGtidNextWhenOwningGtid);
    let owns = matches!(NextGtid::of(&session.work), NextGtid::Owned(_));
    if owns && begun && !session.follows && !session.inside && !session.work.transaction().is_open() {
        Gtids::of(&mut session.work).end(false);
    }
}

/// A definition has ended that changed nothing and is not in the log: a GTID that was chosen for it is of an empty
/// transaction. What follows another server keeps its place with that one itself.
pub(crate) fn end_nothing(session: &mut Session) -> Result<()> {
    if session.follows || !matches!(NextGtid::of(&session.work), NextGtid::Owned(_)) {
        return Ok(());
    }
    session.work.start(None, false)?;
    Gtids::of(&mut session.work).commit_whole();
    session.commit_implicitly()
}

/// Maintenance of tables and FLUSH, which have ended well, are in the log for others to do them too, unless they say
/// LOCAL. What is not leaves an owned GTID to an empty transaction.
pub(crate) fn tell_upkeep(session: &mut Session, statement: &Statement) -> Result<()> {
    let told = match statement {
        Statement::TableMaintenance(m) => {
            !m.no_write_to_binlog && !matches!(m.kind, MaintenanceKind::Check | MaintenanceKind::Checksum)
        }
        Statement::Flush(f) => !f.no_write_to_binlog && f.targets.iter().all(is_for_others),
        _ => return Ok(()),
    };
    if !told {
        return end_nothing(session);
    }
    let Some(words) = super::words::words(session) else { return end_nothing(session) };
    // Who holds back all others' commits may do this.
    let passed = match session.work.locks().pass_definition_gates() {
        Err(e) if e.code() == ErrorCode::CantUpdateWithReadlock => false,
        outcome => outcome.map(|()| true)?,
    };
    let catalog = &session.server.catalog;
    let txn = catalog.engine().try_begin(TxnOptions::default());
    let done = txn.and_then(|mut txn| catalog.replication().commit(&mut txn, Some(&words)));
    if passed {
        session.work.locks().leave_definition_gates();
    }
    done.map_err(from_engine)?;
    let logged = super::logged::is_logged(session);
    Gtids::of(&mut session.work).tell();
    Gtids::of(&mut session.work).end(logged);
    session.position = None;
    Ok(())
}

/// What a FLUSH flushes elsewhere too: not what locks tables, nor logs.
fn is_for_others(target: &FlushTarget) -> bool {
    !matches!(
        target,
        FlushTarget::BinaryLogs
            | FlushTarget::RelayLogs(_)
            | FlushTarget::Logs
            | FlushTarget::Tables { with_read_lock: true, .. }
            | FlushTarget::Tables { for_export: true, .. }
    )
}

/// WAIT_FOR_EXECUTED_GTID_SET: 0 when all of the set is executed, 1 if it is not in time. Errors 1235 without a binary
/// log, 1317, 1772.
pub(crate) fn wait_for(server: &Core, args: &[Value]) -> Result<Value> {
    let log = server.binlog().ok_or_else(|| SqlError::unsupported("WAIT_FOR_EXECUTED_GTID_SET without --log-bin"))?;
    let mut text = Vec::new();
    args.iter().take(1).for_each(|set| set.write_text(&mut text));
    let malformed = || sql_err!(MalformedGtidSetSpecification, String::from_utf8_lossy(&text));
    let set = GtidSet::parse(&text).ok_or_else(malformed)?;
    let deadline = match args.get(1) {
        Some(Value::Double(seconds)) => Some(now_ns().saturating_add((seconds.clamp(0.0, 1e9) * 1e9) as u64)),
        _ => None,
    };
    Ok(Value::Int(i64::from(!log.wait_executed(&server.engine, &set, deadline)?)))
}

/// `session_track_gtids`: what the client is told of the commits behind its last answer.
#[cold]
pub(crate) fn track(session: &mut Session) {
    let (told, all) =
        (Gtids::of(&mut session.work).told(), session.state.vars[Live::SessionTrackGtids].as_str() == "ALL_GTIDS");
    let Some(log) = session.server.binlog().cloned().filter(|_| told) else { return };
    log.catch_up(&session.server.engine);
    if all {
        session.changes.push(Change::Gtids(log.state().1.to_string()));
    } else if let Some((lsn, (uuid, number))) = log.last_of(session.entry.id, session.tracker.gtids_since) {
        session.tracker.gtids_since = lsn;
        session.changes.push(Change::Gtids(format!("{uuid}:{number}")));
    }
}

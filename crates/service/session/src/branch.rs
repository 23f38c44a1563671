//! XA: a session's part in a distributed transaction.
//!
//! ```text
//! none ── XA START ──▶ active ── XA END ──▶ idle ── XA PREPARE ──▶ (prepared: the server's, see gannet_core::xa)
//!                                            └── XA COMMIT ... ONE PHASE, XA ROLLBACK ──▶ none
//! ```

use super::reply::plain_column;
use super::reply::{Done, Reply};
use super::show::table;
use super::{Session, locks, logged, words};
use gannet_binlog::event::kind;
use gannet_binlog::format::XaPrepare;
use gannet_binlog::group::Around;
use gannet_core::accounts::Privilege;
use gannet_core::work::{Gtids, NextGtid};
use gannet_core::xa::Branch;
use gannet_parser::ast::{self, Statement, Xa};
use gannet_telemetry::{Counter, count};
use gannet_types::charset::Charset;
use gannet_types::{CollationId, ErrorCode, Result, SqlError, SqlType, Value, sql_err};
use std::cell::Cell;

/// Where the session is in its branch.
#[derive(Debug, Default)]
pub(crate) enum BranchState {
    #[default]
    None,
    Active(Branch),
    Idle(Branch),
}

impl BranchState {
    fn own(&self) -> Option<&Branch> {
        match self {
            BranchState::None => None,
            BranchState::Active(b) | BranchState::Idle(b) => Some(b),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            BranchState::None => "NON-EXISTING",
            BranchState::Active(_) => "ACTIVE",
            BranchState::Idle(_) => "IDLE",
        }
    }

    /// The error of a statement that names what is not there. An idle branch lets no statement look for it.
    pub(crate) fn unfound(&self, error: SqlError) -> SqlError {
        match self {
            BranchState::Idle(_) if error.code() == ErrorCode::NoSuchTable => sql_err!(XaerRmfail, self.name()),
            _ => error,
        }
    }
}

/// Error 1399 for a statement that a branch under way does not allow.
#[cold]
pub(crate) fn check_branch(session: &Session, statement: Option<&Statement>) -> Result<()> {
    let refused = match (&session.branch, statement) {
        (BranchState::None, _) | (_, Some(Statement::Xa(_))) => false,
        // Rows are read and changed while the branch is active only.
        (BranchState::Idle(_), None) => true,
        // A deadlock has rolled the transaction back: nothing may go on as if it were there.
        (BranchState::Active(_), None) if !session.work.transaction().is_open() => return Err(sql_err!(XaRbrollback)),
        (BranchState::Active(_), None) => false,
        (_, Some(Statement::CreateTable(c))) if c.temporary => return refuse_temporary(session),
        (_, Some(Statement::DropTable { temporary: true, .. })) => return refuse_temporary(session),
        (_, Some(s)) => gannet_core::kinds::of(s).commits,
    };
    if refused { Err(sql_err!(XaerRmfail, session.branch.name())) } else { Ok(()) }
}

/// Error 1399 for what would commit a branch under way.
pub(crate) fn refuse_commit(session: &Session) -> Result<()> {
    match &session.branch {
        BranchState::None => Ok(()),
        other => Err(sql_err!(XaerRmfail, other.name())),
    }
}

/// Error 4091: a prepared branch belongs to no session, and temporary tables to one.
pub(crate) fn refuse_temporary(session: &Session) -> Result<()> {
    match &session.branch {
        BranchState::None => Ok(()),
        _ => Err(sql_err!(XaTempTable)),
    }
}

/// The session's branch is over, or the session is: what is not prepared is rolled back by the caller.
pub(crate) fn forget_branch(session: &mut Session) {
    if let Some(b) = session.branch.own().cloned() {
        session.server.branches.release(&b);
    }
    session.branch = BranchState::None;
}

/// Texts of an identifier as bytes of the connection's character set.
fn encode(xa: &mut Xa, to: Charset) {
    let xid = match xa {
        Xa::Start { xid, .. } | Xa::End { xid, .. } | Xa::Prepare(xid) => xid,
        Xa::Commit { xid, .. } | Xa::Rollback(xid) => xid,
        Xa::Recover { .. } => return,
    };
    let (gtrid, bqual) = (&mut xid.gtrid, &mut xid.bqual);
    for (bytes, text) in [gtrid, bqual].into_iter().zip(xid.texts) {
        if text {
            *bytes = to.literal(bytes).into();
        }
    }
}

/// XA.
pub(crate) fn xa(session: &mut Session, xa: &Xa, reply: &mut dyn Reply) -> Result<Done> {
    let mut own;
    let mut xa = xa;
    let charset = session.settings.charsets.connection.charset();
    if !Charset::Utf8mb4.is_subset_of(charset) {
        own = xa.clone();
        encode(&mut own, charset);
        xa = &own;
    }
    match xa {
        Xa::Start { xid, resume: true, .. } if matches!(session.branch, BranchState::Idle(_)) => {
            count(Counter::ComXaStart);
            session.branch = BranchState::Active(idle_branch(session, xid)?);
        }
        Xa::Start { xid, join, resume } => xa_start(session, xid, *join || *resume)?,
        Xa::End { xid, suspend, .. } => xa_end(session, xid, *suspend)?,
        Xa::Prepare(xid) => xa_prepare(session, xid)?,
        Xa::Commit { xid, one_phase } => xa_commit(session, xid, *one_phase)?,
        Xa::Rollback(xid) => xa_rollback(session, xid)?,
        Xa::Recover { convert_xid } => return xa_recover(session, *convert_xid, reply),
    }
    Ok(Done::default())
}

fn xa_start(session: &mut Session, xid: &ast::Xid, join: bool) -> Result<()> {
    count(Counter::ComXaStart);
    if join {
        // Nobody else's branch can be joined, and none is suspended: only one that has ended is resumed.
        return Err(sql_err!(XaerInval));
    }
    if !matches!(session.branch, BranchState::None) {
        return Err(sql_err!(XaerRmfail, session.branch.name()));
    }
    if session.work.transaction().is_open() || !session.locked.is_empty() {
        return Err(sql_err!(XaerOutside));
    }
    let branch = Branch::from(xid);
    session.server.branches.reserve(&branch)?;
    if let Err(e) = session.begin(&ast::Begin { read_only: None, consistent_snapshot: false }) {
        session.server.branches.release(&branch);
        return Err(e);
    }
    session.branch = BranchState::Active(branch);
    Ok(())
}

fn xa_end(session: &mut Session, xid: &ast::Xid, suspend: bool) -> Result<()> {
    count(Counter::ComXaEnd);
    if suspend {
        return Err(sql_err!(XaerInval));
    }
    match &session.branch {
        BranchState::Active(b) if *b == Branch::from(xid) => session.branch = BranchState::Idle(b.clone()),
        BranchState::Active(_) => return Err(sql_err!(XaerNota)),
        other => return Err(sql_err!(XaerRmfail, other.name())),
    }
    Ok(())
}

/// The session's own branch, idle and of this name.
fn idle_branch(session: &Session, xid: &ast::Xid) -> Result<Branch> {
    match &session.branch {
        BranchState::Idle(b) if *b == Branch::from(xid) => Ok(b.clone()),
        BranchState::Idle(_) => Err(sql_err!(XaerNota)),
        other => Err(sql_err!(XaerRmfail, other.name())),
    }
}

fn xa_prepare(session: &mut Session, xid: &ast::Xid) -> Result<()> {
    count(Counter::ComXaPrepare);
    count(Counter::HandlerPrepare);
    let branch = idle_branch(session, xid)?;
    if !session.work.txn().is_active() && !session.work.transaction().is_open() {
        return branch_lost(session);
    }
    let (mut start, mut end, mut prepare) = (Vec::new(), Vec::new(), Vec::new());
    if logged::is_logged(session) {
        start = words::query(session, &xa_text("START", &branch));
        end = words::query(session, &xa_text("END", &branch));
        let Branch { format, gtrid, bqual } = &branch;
        XaPrepare { one_phase: false, format: *format as u32, gtrid, bqual }.encode(&mut prepare);
    }
    let around =
        || Around { before: vec![(kind::QUERY, start)], after: vec![(kind::QUERY, end), (kind::XA_PREPARE, prepare)] };
    let given = session.work.give_away(around)?;
    let told = given.1.is_some();
    let tables = locks::locked_table_ids(session);
    let server = session.server.clone();
    if let Err((e, back)) = server.branches.prepare(&server, &branch, given, &tables) {
        session.work.take_back(Some(*back));
        return Err(e);
    }
    session.branch = BranchState::None;
    session.work.take_back(None);
    end_gtid(session, told)
}

/// A transaction has ended, and with it a GTID that was chosen for it; `told`: it is in the log. Else that GTID is of
/// an empty transaction, which what follows another server makes itself.
fn end_gtid(session: &mut Session, told: bool) -> Result<()> {
    if told {
        Gtids::of(&mut session.work).tell();
        Gtids::of(&mut session.work).end(true);
    } else if !session.follows && matches!(NextGtid::of(&session.work), NextGtid::Owned(_)) {
        session.work.start(None, false)?;
        Gtids::of(&mut session.work).commit_whole();
        session.commit_implicitly()?;
    }
    Ok(())
}

/// A statement about a branch, as the binary log has it.
fn xa_text(verb: &str, branch: &Branch) -> Vec<u8> {
    let xid = gannet_binlog::show::xid_text(&branch.gtrid, &branch.bqual, branch.format as u32);
    format!("XA {verb} {xid}").into_bytes()
}

/// The branch's transaction was rolled back as a deadlock's victim or after a timeout.
fn branch_lost(session: &mut Session) -> Result<()> {
    forget_branch(session);
    Err(sql_err!(XaRbrollback))
}

fn xa_commit(session: &mut Session, xid: &ast::Xid, one_phase: bool) -> Result<()> {
    count(Counter::ComXaCommit);
    let branch = Branch::from(xid);
    if one_phase {
        match &session.branch {
            BranchState::Idle(b) if *b == branch => {}
            BranchState::None if !session.work.transaction().is_open() => return Err(sql_err!(XaerNota)),
            other => return Err(sql_err!(XaerRmfail, other.name())),
        }
        if !session.work.transaction().is_open() {
            return branch_lost(session);
        }
        session.finish(true)?;
        forget_branch(session);
        return Ok(());
    }
    if !matches!(session.branch, BranchState::None) {
        return Err(sql_err!(XaerRmfail, session.branch.name()));
    }
    end_prepared(session, &branch, true)
}

fn xa_rollback(session: &mut Session, xid: &ast::Xid) -> Result<()> {
    count(Counter::ComXaRollback);
    let branch = Branch::from(xid);
    match &session.branch {
        BranchState::Idle(b) if *b == branch => {
            session.finish(false)?;
            forget_branch(session);
            Ok(())
        }
        BranchState::None => end_prepared(session, &branch, false),
        other => Err(sql_err!(XaerRmfail, other.name())),
    }
}

fn end_prepared(session: &mut Session, branch: &Branch, commit: bool) -> Result<()> {
    if session.work.transaction().is_open() {
        return Err(sql_err!(XaerRmfail, session.branch.name()));
    }
    if commit {
        session.work.locks().pass_commit_gate()?;
    }
    let server = session.server.clone();
    let text = xa_text(if commit { "COMMIT" } else { "ROLLBACK" }, branch);
    let told = Cell::new(false);
    let outcome = server.branches.finish(&server, branch, commit, || {
        told.set(true);
        words::words_of(session, || text)
    });
    session.work.unlock_statement();
    outcome?;
    if told.get() {
        // It is kept with that.
        session.position = None;
    }
    let told = told.get() && logged::is_logged(session);
    end_gtid(session, told)
}

fn xa_recover(session: &mut Session, convert: bool, reply: &mut dyn Reply) -> Result<Done> {
    count(Counter::ComXaRecover);
    if !session.state.privileges().has(Privilege::XaRecoverAdmin) {
        return Err(sql_err!(XaerRmerr));
    }
    let row = |b: Branch| {
        let mut data = [&b.gtrid[..], &b.bqual].concat();
        if convert {
            data = data.iter().fold("0x".to_string(), |s, b| s + &format!("{b:02X}")).into_bytes();
        }
        let n = |n: usize| Value::Int(n as i64);
        let data = Value::Str(data[..].into(), CollationId::UTF8MB3_GENERAL_CI);
        vec![Value::Int(b.format as i64), n(b.gtrid.len()), n(b.bqual.len()), data]
    };
    let number = |name: &str| plain_column(name, SqlType::BIGINT.not_null());
    let data = plain_column("data", SqlType::varchar(if convert { 256 } else { 128 }, CollationId::UTF8MB3_GENERAL_CI));
    let columns = vec![number("formatID"), number("gtrid_length"), number("bqual_length"), data];
    let rows = session.server.branches.list().into_iter().map(row).collect();
    session.send_table(&table(columns, rows), reply)
}

//! SQL text: shape, plan cache, execution, statistics.
//!
//! The road of a cached statement: one lexer pass finds its shape and literals; the worker's own cache has the plan;
//! the literals become the plan's parameters; the executor writes rows into the connection's buffer. Only what the
//! literals need is allocated, and nothing is written that another worker reads.

use super::cached::{Cached, CachedPlan, with_scan};
use super::concluded::finish_statement;
use super::locks::{PlanLocks, is_stale};
use super::many::Many;
use super::reply::Done;
use super::reply::Reply;
use super::reply::{OneRowSink, ResultSet, RowsSink};
use super::running::Clock;
use super::text::{lex_mode, parse_error};
use super::{
    Session, alone, branch, cached, calls, counting, grant_tables, gtids, locks, logged, logging, outfile, profile,
};
use gannet_core::event_names;
use gannet_core::kinds;
use gannet_core::registry::Activity;
use gannet_core::vars::Live;
use gannet_core::work::NextGtid;
use gannet_engine::Savepoint;
use gannet_exec::{Affected, Counts, Cx, DirectBuffers, Outcome, ResultSink, Shared};
use gannet_parser::Extent;
use gannet_parser::ast::{self, Statement};
use gannet_parser::digest;
use gannet_plan::physical::Op;
use gannet_plan::plan::Intent;
use gannet_plan::{Plan, PlanKind};
use gannet_telemetry::{Counter, count};
use gannet_types::{ErrorCode, Result, SqlError, Value, sql_err};
use std::borrow::Cow;
use std::sync::Arc;

/// How often a statement is planned again when its tables change between planning and locking.
const MAX_REPLANS: u32 = 10;

/// A text without the white space and semicolons behind its last statement, which make no statement of their own.
fn without_end(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|b| *b != b';' && !b.is_ascii_whitespace() && *b != b'\x0b');
    &text[..end.map_or(0, |last| last + 1)]
}

/// Reading a longer text takes so long that it is asked before whether the statement was stopped.
const LONG_TEXT: usize = 1 << 16;

impl Session {
    /// COM_QUERY.
    pub fn query(&mut self, sql: &[u8], reply: &mut dyn Reply) {
        let text = to_utf8(self, sql);
        let mut rest = without_end(&text);
        self.begins(Activity::Query, rest);
        loop {
            let mut consumed = rest.len();
            let outcome = self.run_text(rest, &mut consumed, reply);
            let failed = outcome.is_err();
            rest = &rest[consumed.min(rest.len())..];
            self.answer(reply, outcome);
            if failed || rest.is_empty() {
                return;
            }
            self.state.running.clock = Clock::now();
            self.begins(Activity::Query, rest);
        }
    }

    /// Runs the first statement of `text`; `consumed` becomes where the next one begins. Sets MORE_RESULTS when there
    /// is one.
    fn run_text(&mut self, text: &[u8], consumed: &mut usize, reply: &mut dyn Reply) -> Result<Done> {
        if self.state.vars[Live::Profiling].as_bool() {
            profile::profiled(self, text, consumed, reply)
        } else {
            self.unprofiled(text, consumed, reply)
        }
    }

    /// [`Session::run_text`], whether or not it is profiled.
    pub(super) fn unprofiled(&mut self, text: &[u8], consumed: &mut usize, reply: &mut dyn Reply) -> Result<Done> {
        let started = self.state.running.clock.ns;
        logging::note_query(self, text);
        count(Counter::Questions);
        self.state.statement_id += 1;
        if let Some(usage) = &self.state.usage
            && let Err(e) = usage.take(&self.state.account, 0)
        {
            return refuse_text(self, text, started, e);
        }
        if let Some(rows) = Many::find(self, text) {
            let outcome = run_many(self, &rows, text, reply);
            if !outcome.as_ref().is_err_and(is_stale) {
                return finish_statement(self, started, Some(&rows.entry().digest.digest.0), &[], outcome);
            }
        }
        if text.len() >= LONG_TEXT && gannet_exec::stopped() {
            return refuse_text(self, text, started, sql_err!(QueryInterrupted));
        }
        let mode = lex_mode(self.settings.exec.sql_mode);
        let secret = self.server.scan_secret;
        let cached = with_scan(secret, |scan| {
            if !digest::scan(text, mode, scan) || scan.params > 0 {
                return None;
            }
            self.state.renew_snapshot();
            let key = self.plan_key(scan.shape, 0);
            let mut found = cached::find_plan(self, &key, scan, text, None);
            if let Some(entry) = found.take_if(|e| e.is_asked()) {
                found = cached::plan_of_class(self, entry, &key, scan, text);
            }
            if found.is_some() {
                count(Counter::PlanCacheHits);
            }
            Some(found.map(|entry| {
                let params = self.bind(&entry.plan, &scan.literals, text, &[]);
                (entry, params)
            }))
        });
        match cached {
            Some(Some((entry, params))) => {
                begin_cached(self, &entry.digest);
                if params.is_ok()
                    && let Some(c) = entry.digest.counter
                {
                    count(c);
                }
                let outcome = params.and_then(|p| self.last(reply.resumes(), |s| s.run_cached(&entry, &p, reply)));
                if outcome.as_ref().is_err_and(is_stale) {
                    return parse_and_run(self, text, consumed, true, started, reply);
                }
                finish_statement(self, started, Some(&entry.digest.digest.0), &[], outcome)
            }
            scanned => parse_and_run(self, text, consumed, scanned.is_some(), started, reply),
        }
    }

    /// Runs a parsed statement of any kind, without the cache.
    pub(crate) fn run_statement(&mut self, statement: &Statement, reply: &mut dyn Reply) -> Result<Done> {
        self.with_hinted(statement, |session| {
            session.state.renew_snapshot();
            if !session.is_planned_here(statement) {
                return session.perform(statement, reply);
            }
            let mut tries = 0;
            loop {
                let (plan, params) = session.make_inner_plan(statement)?;
                match session.run_plan(&plan, None, &params, reply) {
                    Err(e) if is_stale(&e) && tries < MAX_REPLANS => {
                        tries += 1;
                        session.state.renew_snapshot();
                    }
                    outcome => return outcome,
                }
            }
        })
    }

    /// Runs a cached plan.
    #[inline]
    pub(crate) fn run_cached(&mut self, entry: &CachedPlan, params: &[Value], reply: &mut dyn Reply) -> Result<Done> {
        let outcome = self.run_plan(&entry.plan, Some(&entry.digest), params, reply);
        entry.note_examined(self.running.figures.examined);
        outcome
    }

    /// Runs a plan and sends its rows.
    pub(crate) fn run_plan(
        &mut self,
        plan: &Plan,
        cached: Option<&Cached>,
        params: &[Value],
        reply: &mut dyn Reply,
    ) -> Result<Done> {
        if let Some(into) = &plan.into {
            return run_into(self, plan, into, params);
        }
        if NextGtid::of(&self.work) != NextGtid::Automatic && gtids::passes_over_plan(self, plan)? {
            return Ok(Done::default());
        }
        let place = cached.map(|c| &c.place);
        let made;
        let locks = match cached {
            Some(c) => &c.locks,
            None => {
                made = self.plan_locks(plan);
                &made
            }
        };
        let (manner, left) = (self.manner(), select_limit(self, plan));
        let mut sink = ResultSet { reply, manner, place, left, sent: 0 };
        let outcome = self.execute(plan, locks, params, &mut sink);
        let sent = sink.sent;
        done(self, outcome?, sent)
    }

    /// The same, with the locks at hand. Error 1222.
    pub(super) fn run_into_variables(
        &mut self,
        plan: &Plan,
        locks: &PlanLocks,
        targets: &[ast::IntoTarget],
        params: &[Value],
    ) -> Result<Done> {
        if targets.len() != plan.columns.len() {
            return Err(sql_err!(WrongNumberOfColumnsInSelect));
        }
        let locals: Vec<_> = targets.iter().map(|t| slot_of_target(self, t)).collect::<Result<_>>()?;
        let memory = alone::statement_memory(self);
        let mut sink = OneRowSink::default();
        let outcome = self.execute_with(plan, locks, params, |cx, buffers| {
            // As MySQL, which evaluates the select list for the variables, and the rest as of any query.
            cx.strict_items = std::mem::replace(&mut cx.strict, false);
            let outcome = gannet_exec::run(cx, buffers, &mut sink);
            // Within the statement, which fails when a value does not fit: of the first row, before a second is one
            // too many.
            let mut misfit = None;
            for (i, (local, value)) in locals.iter().zip(sink.row.iter_mut().flatten()).enumerate() {
                let Some((names, slot)) = local else { continue };
                let given = (std::mem::replace(value, Value::Null), names.of(*slot));
                match alone::converted_by(cx.shared.settings, cx.warnings, memory, given) {
                    Ok(fit) => *value = fit,
                    Err(error) => {
                        misfit = Some((i, error));
                        break;
                    }
                }
            }
            // Variables before that one are assigned, it is NULL.
            if let (Some((i, error)), Some(row)) = (misfit, &mut sink.row) {
                row.truncate(i + 1);
                return Err(error);
            }
            outcome
        });
        let found = u64::from(sink.row.is_some());
        if outcome.is_ok() && !self.running.counted_rows {
            self.state.running.before.found_rows = found;
        }
        // The first row is assigned also where a second one is an error.
        for (target, value) in targets.iter().zip(sink.row.into_iter().flatten()) {
            self.assign_target(target, value, true)?;
        }
        outcome?;
        if found == 0 {
            self.running.diagnostics.warnings.warn(ErrorCode::SpFetchNoData, &[]);
        }
        Ok(Done::affected(found))
    }

    /// Runs a query of the server's own and keeps its rows.
    pub(crate) fn keep_rows(&mut self, plan: &Plan, params: &[Value]) -> Result<RowsSink> {
        // A `?` of a prepared statement that is no query: only its expressions get values.
        if params.len() < plan.params.len() {
            return Err(sql_err!(UnsupportedPs));
        }
        let mut sink = RowsSink::default();
        let locks = self.plan_locks(plan);
        self.execute(plan, &locks, params, &mut sink)?;
        // Whoever wants them may send them.
        self.running.figures.sent = 0;
        Ok(sink)
    }

    /// Privileges, locks, transaction, executor.
    #[inline(always)]
    pub(super) fn execute(
        &mut self,
        plan: &Plan,
        locks: &PlanLocks,
        params: &[Value],
        sink: &mut dyn ResultSink,
    ) -> Result<Outcome> {
        self.execute_with(plan, locks, params, |cx, buffers| gannet_exec::run(cx, buffers, sink))
    }

    /// The same around another way of running.
    #[inline]
    pub(crate) fn execute_with<'p>(
        &mut self,
        plan: &'p Plan,
        locks: &PlanLocks,
        params: &[Value],
        run: impl FnOnce(&mut Cx<'_, 'p>, &mut DirectBuffers) -> Result<Outcome>,
    ) -> Result<Outcome> {
        if params.len() < plan.params.len() {
            return Err(SqlError::internal("a plan without the values of its parameters"));
        }
        let writes = plan.writes;
        let writes_base = writes_base(plan);
        let takes_base = takes_base(plan);
        check_plan(self, plan, writes, takes_base)?;
        plan.warnings.iter().for_each(|w| self.running.diagnostics.warnings.push(w.clone()));
        let mark = begin_over(self, plan)?;
        calls::begin_using(self, plan);
        let locked = if takes_base {
            self.work.locks().pass_write_gate(gannet_engine::lock::MdlDuration::Statement)
        } else {
            Ok(())
        };
        let locked = locked.and_then(|()| locks::lock_tables(self, plan, locks));
        let limit = match plan.max_execution_time {
            _ if writes || self.is_part() => 0,
            Some(hinted) => u64::from(hinted),
            None => self.state.vars[Live::MaxExecutionTime].as_u64(),
        };
        let timer = (limit > 0).then(|| {
            count(Counter::MaxExecutionTimeSet);
            self.server.timers.start(self.entry.context.clone(), limit)
        });
        self.settings.begin(self.state.statement_time());
        logged::log_rows(self, writes || plan.uses.programs);
        self.state.running.insert_id_given = false;
        self.running.counted_rows = false;
        self.state.running.over_tables = !plan.tables.is_empty();
        if !plan.uses.virtual_tables {
            self.state.last_query_cost = plan.cost();
        }
        if self.tracker.on && !plan.tables.is_empty() {
            self.tracker.used(writes);
        }
        let mut told = None;
        let outcome = locked.and_then(|()| {
            let shared = Shared::new(plan, &self.settings.exec, params);
            let (txn, changes) = self.work.writing();
            let mut cx = Cx::new(&shared, txn, &mut self.state, &mut self.running.diagnostics.warnings);
            cx.changes = changes.filter(|_| writes || plan.uses.programs);
            (cx.strict, cx.inner) = (self.running.strict, self.inside);
            let outcome = run(&mut cx, &mut self.buffers);
            told = Some((cx.counts, cx.found_rows, cx.row));
            outcome
        });
        let row = told.and_then(|told| counted(self, told));
        if plan.into.is_some() {
            (self.running.figures.sent, self.running.figures.into) = (0, true);
        }
        calls::end_using(self, plan.uses.programs);
        if matches!(plan.kind, PlanKind::Delete(_)) {
            // LAST_INSERT_ID(n) there is for the session alone.
            self.state.running.insert_id_given = false;
        }
        self.running.timed_out = timer.is_some_and(|t| t.fired());
        // A statement of a function or trigger is no unit: only the row that it was at is undone.
        let outcome = end_over(self, if self.inside { row } else { mark }, outcome);
        super::temporary::recount(plan, writes && !writes_base);
        // A point select has counted itself.
        if !matches!(plan.kind, PlanKind::PointSelect(_)) {
            counting::count_execution(self, plan, outcome.is_ok());
        }
        outcome
    }

    /// The value of an expression, by a query without tables.
    pub(crate) fn evaluate_by_query(&mut self, expr: &ast::Expr) -> Result<Value> {
        self.state.renew_snapshot();
        let (plan, params) = self.make_inner_plan(&Statement::Do(vec![expr.clone()]))?;
        let kept = self.keep_rows(&plan, &params)?;
        Ok(kept.rows.into_iter().next().and_then(|r| r.into_iter().next()).unwrap_or(Value::Null))
    }

    /// Goes through the planner: not what only looks like it, changes of the grant tables.
    pub(crate) fn is_planned_here(&self, statement: &Statement) -> bool {
        kinds::of(statement).way == kinds::Way::Planned && grant_tables::made_table(self, statement).is_none()
    }
}

/// The variable of the program that INTO names.
fn slot_of_target(session: &Session, target: &ast::IntoTarget) -> Result<Option<(gannet_program::Names, u32)>> {
    match target {
        ast::IntoTarget::User(_) => Ok(None),
        ast::IntoTarget::Local(name) => session.slot_of(&name.text).map(Some),
    }
}

/// A statement begins whose plan is at hand.
#[inline]
fn begin_cached(session: &mut Session, cached: &Cached) {
    (session.running.more, session.running.database_dropped, session.running.no_index) = (false, false, false);
    session.running.diagnostics.warnings.clear();
    session.warn_of(&cached.notices);
    session.state.profiles.stage("executing");
    session.running.figures.kind = cached.counter;
}

/// Runs an INSERT of many rows of literals.
#[cold]
fn run_many(session: &mut Session, rows: &Many, text: &[u8], reply: &mut dyn Reply) -> Result<Done> {
    begin_cached(session, &rows.entry().digest);
    if let Some(c) = rows.entry().digest.counter {
        count(c);
    }
    session.last(reply.resumes(), |s| {
        let outcome = rows.execute(s, text)?;
        done(s, outcome, 0)
    })
}

/// The statement's text in the server's character set.
pub(crate) fn to_utf8<'t>(session: &Session, sql: &'t [u8]) -> Cow<'t, [u8]> {
    let charsets = &session.settings.charsets;
    charsets.client.statement(sql, charsets.connection.charset())
}

/// The road of a statement that is not in the cache.
#[cold]
fn parse_and_run(
    session: &mut Session,
    text: &[u8],
    consumed: &mut usize,
    single: bool,
    started: u64,
    reply: &mut dyn Reply,
) -> Result<Done> {
    if session.state.if_exists
        && let Some(conditional) = crate::dialect::conditional(text)
    {
        let done = parse_and_run(session, &conditional, consumed, single, started, reply);
        *consumed = consumed.saturating_sub(conditional.len() - text.len());
        return done;
    }
    let mode = lex_mode(session.settings.exec.sql_mode);
    let extent = match single {
        true => Extent::Parameterised,
        false if session.multi_statements => Extent::First,
        false => Extent::Whole,
    };
    let known = session.state.known.find(text, mode, session.state.database.as_deref());
    let parsed = match &known {
        Some(known) => known.parsed.clone(),
        None => match gannet_parser::parse_until(text, mode, extent, gannet_exec::stopped) {
            Ok(parsed) if parsed.params > 0 => {
                return refuse_text(session, text, started, parse_error(parsed.unwanted_param(text)));
            }
            Ok(parsed) => Arc::new(parsed),
            Err(e) => return refuse_text(session, text, started, parse_error(e)),
        },
    };
    *consumed = parsed.consumed;
    let more = parsed.consumed < text.len();
    (session.running.more, session.running.database_dropped, session.running.no_index) = (more, false, false);
    let statement_text = &text[..parsed.consumed.min(text.len())];
    if more {
        session.begins(Activity::Query, statement_text);
    }
    kinds::count_statement(&parsed.statement);
    session.running.figures.kind = event_names::counter_of(&parsed.statement);
    if kinds::of(&parsed.statement).keeps_diagnostics {
        session.running.diagnostics.warnings.keep()
    } else {
        session.running.diagnostics.warnings.clear()
    }
    session.warn_of(&parsed.notices);
    if single && session.is_planned_here(&parsed.statement) {
        return plan_and_run(session, text, &parsed, started, reply);
    }
    // Comments alone are a statement that does nothing; nothing at all is error 1065.
    let blank = |b: &u8| b.is_ascii_whitespace() || *b == b';';
    if matches!(parsed.statement, Statement::Empty) && !statement_text.iter().all(blank) {
        return Ok(Done::default());
    }
    let handle = match known {
        Some(known) => known.digest.clone(),
        None => {
            let (handle, state) = (session.digest_handle(statement_text), &mut session.state);
            state.known.keep(text, mode, state.database.as_ref(), &parsed, &handle);
            handle
        }
    };
    session.state.profiles.stage("executing");
    let outcome = session.run_statement(&parsed.statement, reply);
    let outcome =
        outcome.or_else(|e| gtids::passes_over_error(session, &parsed.statement, e).map_or(Ok(Done::default()), Err));
    finish_statement(session, started, Some(&handle), &[], outcome)
}

/// The same of a statement that is planned here, whose plan is kept.
fn plan_and_run(
    session: &mut Session,
    text: &[u8],
    parsed: &gannet_parser::Parsed,
    started: u64,
    reply: &mut dyn Reply,
) -> Result<Done> {
    count(Counter::PlanCacheMisses);
    let mut tries = 0;
    loop {
        session.state.renew_snapshot();
        session.state.profiles.stage("optimizing");
        match cached::plan_text(session, &parsed.statement, &parsed.notices, text) {
            Ok((entry, params)) => {
                session.state.profiles.stage("executing");
                let outcome = session.run_cached(&entry, &params, reply);
                if outcome.as_ref().is_err_and(is_stale) && tries < MAX_REPLANS {
                    tries += 1;
                    continue;
                }
                break finish_statement(session, started, Some(&entry.digest.digest.0), &[], outcome);
            }
            Err(error) => match gtids::passes_over_error(session, &parsed.statement, error) {
                None => break finish_statement(session, started, None, &[], Ok(Done::default())),
                // What its text alone was warned of stays.
                Some(error) => {
                    let handle = session.digest_handle(text);
                    break finish_statement(session, started, Some(&handle), &[], Err(error));
                }
            },
        }
    }
}

/// A statement that never ran: it counts in the statistics all the same.
fn refuse_text(session: &mut Session, text: &[u8], started: u64, error: SqlError) -> Result<Done> {
    session.running.diagnostics.warnings.clear();
    let handle = session.digest_handle(text);
    finish_statement(session, started, Some(&handle), &[], Err(error))
}

/// SELECT ... INTO: one row for variables. No row leaves them as they are, with warning 1329; two are error 1172.
fn run_into(session: &mut Session, plan: &Plan, into: &ast::SelectInto, params: &[Value]) -> Result<Done> {
    let ast::SelectInto::Variables(targets) = into else {
        return outfile::run_into_file(session, plan, into, params);
    };
    let locks = session.plan_locks(plan);
    session.run_into_variables(plan, &locks, targets, params)
}

pub(crate) fn done(session: &mut Session, outcome: Outcome, sent: u64) -> Result<Done> {
    match outcome {
        Outcome::Rows { .. } => {
            if !session.running.counted_rows {
                session.state.running.before.found_rows = sent;
            }
            Ok(Done::ROWS)
        }
        Outcome::Affected(Affected { rows, last_insert_id, last_row_id, info }) => {
            let insert_id = insert_id(session, last_insert_id, last_row_id);
            Ok(Done { rows: false, affected: rows, insert_id, info })
        }
    }
}

/// The OK packet's number (C API, `mysql_insert_id()`): the first generated value that is in a row, else what
/// LAST_INSERT_ID(n) was given, else the last row's value.
pub(crate) fn insert_id(session: &mut Session, generated: u64, last_row: u64) -> u64 {
    if generated != 0 {
        session.state.last_insert_id = generated;
    }
    match generated {
        0 if session.state.running.insert_id_given => session.state.last_insert_id,
        // A value that the client gave is in the OK packet, not in LAST_INSERT_ID().
        0 => last_row,
        n => n,
    }
}

/// `sql_select_limit` holds for queries without LIMIT.
#[inline(always)]
fn select_limit(session: &Session, plan: &Plan) -> u64 {
    let limit = session.state.vars[Live::SqlSelectLimit].as_u64();
    match &plan.kind {
        PlanKind::Query(root) if limit != u64::MAX && !matches!(root.op, Op::Limit { .. }) => limit,
        PlanKind::PointSelect(_) => limit,
        _ => u64::MAX,
    }
}

/// What may keep a plan from running: privileges, limits, the state of the session.
#[inline(always)]
fn check_plan(session: &mut Session, plan: &Plan, writes: bool, takes_base: bool) -> Result<()> {
    if !session.state.access.all || plan.uses.views {
        session.check_plan_privileges(plan)?;
    }
    if session.state.must_change_password {
        session.check_password_expired(None)?;
    }
    if !matches!(session.branch, super::branch::BranchState::None) {
        branch::check_branch(session, None)?;
        if plan.tables.iter().any(|t| t.table.temporary) {
            branch::refuse_temporary(session)?;
        }
    }
    if writes && session.inside {
        calls::refuse_used(session, plan)?;
    }
    if writes {
        if let Some(usage) = &session.state.usage {
            usage.take(&session.state.account, 1)?;
        }
        if takes_base {
            session.require_writable()?;
        }
        refuse_virtual_targets(session, plan)?;
        if session.state.vars[Live::SqlSafeUpdates].as_bool() && !super::safety::is_safe_update(plan) {
            return Err(sql_err!(UpdateWithoutKeyInSafeMode, ""));
        }
        super::transaction::refuse_statements(session)?;
    } else if takes_base {
        session.require_writable()?;
    }
    if !session.state.vars[Live::SqlBigSelects].as_bool() {
        super::safety::check_rows(plan, session.state.vars[Live::MaxJoinSize].as_u64())?;
    }
    Ok(())
}

fn refuse_virtual_targets(session: &Session, plan: &Plan) -> Result<()> {
    let target = |t: &&gannet_plan::plan::PlanTable| !t.intent.is_select() && t.intent.is_named();
    for t in plan.tables.iter().filter(target) {
        if matches!(t.table.source, gannet_schema::RowSource::Virtual(_)) {
            let a = &session.state.account;
            return Err(sql_err!(DbaccessDenied, a.user, a.host, t.table.schema));
        }
    }
    Ok(())
}

/// A name that the client sent by itself, in its character set.
pub fn name_of(session: &Session, sent: &[u8]) -> String {
    String::from_utf8_lossy(&to_utf8(session, sent)).into_owned()
}

/// A statement begins. Where nothing that is stored is read, there is nothing to be in a transaction about: `None`.
#[inline]
fn begin_over(session: &mut Session, plan: &Plan) -> Result<Option<Savepoint>> {
    if session.server.logs.to_tables() {
        super::log_tables::catch_up(session, plan);
    }
    let stored = |t: &gannet_plan::plan::PlanTable| t.table.source.is_engine();
    match session.work.txn().is_active() || plan.uses.programs || plan.tables.iter().any(stored) {
        true => session.begin_statement(plan.reads).map(Some),
        false => Ok(None),
    }
}

/// What [`begin_over`] has begun ends. Without a transaction there may still be metadata locks: of views.
#[inline(always)]
fn end_over<T>(session: &mut Session, mark: Option<Savepoint>, outcome: Result<T>) -> Result<T> {
    let Some(mark) = mark else {
        if !session.inside {
            session.work.unlock_statement();
        }
        return outcome;
    };
    session.end_statement(mark, outcome)
}

/// The plan changes rows of tables that are not the session's own.
pub(super) fn writes_base(plan: &Plan) -> bool {
    let reads = |i: Intent| i.is_select() || i == Intent::ForeignRead;
    plan.writes && plan.tables.iter().any(|t| !t.table.temporary && !reads(t.intent))
}

/// The plan changes such rows, or takes them for it (FOR UPDATE).
#[inline]
pub(super) fn takes_base(plan: &Plan) -> bool {
    let takes = |i: Intent| !matches!(i, Intent::Read | Intent::LockingRead | Intent::ForeignRead);
    plan.tables.iter().any(|t| !t.table.temporary && takes(t.intent))
}

/// Keeps what an execution has counted, beside what its functions and triggers have read. Returns where the row begins
/// that it was at.
#[inline]
fn counted(session: &mut Session, told: (Counts, Option<u64>, Option<Savepoint>)) -> Option<Savepoint> {
    let (counts, found, row) = told;
    let figures = &mut session.running.figures;
    figures.examined += counts.examined;
    (figures.sent, figures.no_index) = (counts.sent, counts.no_index);
    if let Some(n) = found {
        session.state.running.before.found_rows = n;
        session.running.counted_rows = true;
    }
    row
}

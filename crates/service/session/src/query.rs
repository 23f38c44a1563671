//! SQL text: shape, plan cache, execution, statistics.
//!
//! The road of a cached statement: one lexer pass finds its shape and literals; the worker's own cache has the plan;
//! the literals become the plan's parameters; the executor writes rows into the connection's buffer. Only what the
//! literals need is allocated, and nothing is written that another worker reads.

use super::Session;
use super::cached::{Cached, CachedPlan, with_scan};
use super::locks::{PlanLocks, is_stale};
use super::reply::Done;
use super::reply::Reply;
use super::reply::{OneRowSink, ResultSet, RowsSink};
use super::running::Clock;
use super::text::{lex_mode, parse_error};
use gannet_core::event_names;
use gannet_core::history::Ended;
use gannet_core::kept::DigestHandle;
use gannet_core::kinds;
use gannet_core::registry::Activity;
use gannet_core::vars::Live;
use gannet_engine::Savepoint;
use gannet_exec::{Affected, Cx, DirectBuffers, Outcome, ResultSink, Shared};
use gannet_parser::Extent;
use gannet_parser::ast::{self, Statement};
use gannet_parser::digest;
use gannet_plan::physical::Op;
use gannet_plan::plan::Intent;
use gannet_plan::{Plan, PlanKind};
use gannet_runtime::{Interrupt, now_ns};
use gannet_telemetry::{Counter, DigestKey, Execution, count};
use gannet_types::charset::Charset;
use gannet_types::{ErrorCode, Level, Result, SqlError, Value, sql_err};
use std::borrow::Cow;

/// How often a statement is planned again when its tables change between planning and locking.
const MAX_REPLANS: u32 = 10;

/// Adds the statement that has ended to those of all sessions.
#[cold]
fn keep_long(session: &Session) {
    if let Some(event) = session.entry.last_event() {
        session.server.registry.long_history.add(event);
    }
}

impl Session {
    /// COM_QUERY.
    pub fn query(&mut self, sql: &[u8], reply: &mut dyn Reply) {
        let text = self.to_utf8(sql);
        let mut rest: &[u8] = &text;
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

    /// The statement's text in the server's character set.
    pub fn to_utf8<'t>(&self, sql: &'t [u8]) -> Cow<'t, [u8]> {
        match self.charsets.client {
            Charset::Utf8mb4 | Charset::Utf8mb3 | Charset::Binary | Charset::Ascii => Cow::Borrowed(sql),
            other => match other.convert(sql, Charset::Utf8mb4).bytes {
                Cow::Borrowed(_) => Cow::Borrowed(sql),
                Cow::Owned(bytes) => Cow::Owned(bytes),
            },
        }
    }

    /// Runs the first statement of `text`; `consumed` becomes where the next one begins. Sets MORE_RESULTS when there
    /// is one.
    fn run_text(&mut self, text: &[u8], consumed: &mut usize, reply: &mut dyn Reply) -> Result<Done> {
        if self.state.vars[Live::Profiling].as_bool() {
            self.profiled(text, consumed, reply)
        } else {
            self.unprofiled(text, consumed, reply)
        }
    }

    /// [`Session::run_text`], whether or not it is profiled.
    pub(super) fn unprofiled(&mut self, text: &[u8], consumed: &mut usize, reply: &mut dyn Reply) -> Result<Done> {
        let started = self.state.running.clock.ns;
        self.note_query(text);
        count(Counter::Questions);
        self.state.statement_id += 1;
        if let Some(usage) = &self.state.usage
            && let Err(e) = usage.take(&self.state.account, 0)
        {
            return self.refuse_text(text, started, e);
        }
        let mode = lex_mode(self.settings.sql_mode);
        let secret = self.server.scan_secret;
        let cached = with_scan(secret, |scan| {
            if !digest::scan(text, mode, scan) || scan.params > 0 {
                return None;
            }
            self.state.renew_snapshot();
            let key = self.plan_key(scan.shape, 0);
            let mut found = self.find_plan(&key, scan, text, None);
            if let Some(entry) = found.take_if(|e| e.is_asked()) {
                found = self.plan_of_class(entry, &key, scan, text);
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
                (self.running.more, self.running.database_dropped) = (false, false);
                self.running.warnings.clear();
                self.warn_of(&entry.digest.notices);
                self.state.profiles.stage("executing");
                self.running.figures.kind = entry.digest.counter;
                if params.is_ok()
                    && let Some(c) = entry.digest.counter
                {
                    count(c);
                }
                let outcome = params.and_then(|p| self.last(reply.resumes(), |s| s.run_cached(&entry, &p, reply)));
                if outcome.as_ref().is_err_and(is_stale) {
                    return self.parse_and_run(text, consumed, true, started, reply);
                }
                self.finish_statement(started, Some(&entry.digest.digest.0), &[], outcome)
            }
            scanned => self.parse_and_run(text, consumed, scanned.is_some(), started, reply),
        }
    }

    /// The road of a statement that is not in the cache.
    #[cold]
    fn parse_and_run(
        &mut self,
        text: &[u8],
        consumed: &mut usize,
        single: bool,
        started: u64,
        reply: &mut dyn Reply,
    ) -> Result<Done> {
        let mode = lex_mode(self.settings.sql_mode);
        let extent = match single {
            true => Extent::Parameterised,
            false if self.multi_statements => Extent::First,
            false => Extent::Whole,
        };
        let parsed = match gannet_parser::parse_until(text, mode, extent, gannet_exec::stopped) {
            Ok(parsed) if parsed.params > 0 => {
                let error = SqlError::with_message(
                    ErrorCode::Parse,
                    "You have an error in your SQL syntax; a parameter marker is allowed in prepared statements only",
                );
                return self.refuse_text(text, started, error);
            }
            Ok(parsed) => parsed,
            Err(e) => return self.refuse_text(text, started, parse_error(e)),
        };
        *consumed = parsed.consumed;
        let more = parsed.consumed < text.len();
        (self.running.more, self.running.database_dropped) = (more, false);
        let statement_text = &text[..parsed.consumed.min(text.len())];
        if more {
            self.begins(Activity::Query, statement_text);
        }
        kinds::count_statement(&parsed.statement);
        self.running.figures.kind = event_names::counter_of(&parsed.statement);
        if kinds::of(&parsed.statement).keeps_diagnostics {
            self.running.warnings.keep()
        } else {
            self.running.warnings.clear()
        }
        self.warn_of(&parsed.notices);
        if single && self.is_planned_here(&parsed.statement) {
            count(Counter::PlanCacheMisses);
            let mut tries = 0;
            return loop {
                self.state.renew_snapshot();
                self.state.profiles.stage("optimizing");
                match self.plan_text(&parsed.statement, &parsed.notices, text) {
                    Ok((entry, params)) => {
                        self.state.profiles.stage("executing");
                        let outcome = self.run_cached(&entry, &params, reply);
                        if outcome.as_ref().is_err_and(is_stale) && tries < MAX_REPLANS {
                            tries += 1;
                            continue;
                        }
                        break self.finish_statement(started, Some(&entry.digest.digest.0), &[], outcome);
                    }
                    Err(error) => break self.refuse_text(text, started, error),
                }
            };
        }
        // Comments alone are a statement that does nothing; nothing at all is error 1065.
        let blank = |b: &u8| b.is_ascii_whitespace() || *b == b';';
        if matches!(parsed.statement, Statement::Empty) && !statement_text.iter().all(blank) {
            return Ok(Done::default());
        }
        let handle = self.digest_handle(statement_text);
        self.state.profiles.stage("executing");
        let outcome = self.run_statement(&parsed.statement, reply);
        self.finish_statement(started, Some(&handle), &[], outcome)
    }

    /// Goes through the planner: not what only looks like it, changes of the grant tables.
    pub(crate) fn is_planned_here(&self, statement: &Statement) -> bool {
        kinds::of(statement).way == kinds::Way::Planned && self.made_table(statement).is_none()
    }

    /// A statement that never ran: it counts in the statistics all the same.
    fn refuse_text(&mut self, text: &[u8], started: u64, error: SqlError) -> Result<Done> {
        self.running.warnings.clear();
        let handle = self.digest_handle(text);
        self.finish_statement(started, Some(&handle), &[], Err(error))
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

    /// Statistics, diagnostics and functions about the statement that ended; later, where its commit is not on disk
    /// yet. `values`: of its markers.
    pub(crate) fn finish_statement(
        &mut self,
        started: u64,
        handle: Option<&DigestHandle>,
        values: &[Value],
        outcome: Result<Done>,
    ) -> Result<Done> {
        if let (Some(lsn), Ok(_)) = (self.work.unsynced(), &outcome) {
            self.leave(lsn, started, handle, values, outcome?);
            return Ok(Done::default());
        }
        let digest = handle.and_then(DigestHandle::key);
        self.conclude(started, digest, |e| handle.iter().for_each(|h| h.record(e)), values, outcome)
    }

    /// [`Session::finish_statement`], when nothing is to be waited for any more.
    pub(super) fn conclude(
        &mut self,
        started: u64,
        digest: Option<DigestKey>,
        record: impl FnOnce(&Execution),
        values: &[Value],
        outcome: Result<Done>,
    ) -> Result<Done> {
        self.state.profiles.stage("query end");
        let outcome = outcome.map_err(|e| self.final_error(e));
        if std::mem::take(&mut self.running.timed_out) {
            // The limit was this statement's, which may have ended by itself just then: not the next one of the text.
            self.entry.context.clear(Interrupt::Query);
        }
        if let Err(e) = &outcome {
            self.running.warnings.push(e.to_warning(Level::Error));
        }
        self.state.warning_count = self.running.warnings.total();
        self.state.error_count = self.running.warnings.errors();
        self.state.row_count = match &outcome {
            Ok(done) if done.rows => -1,
            Ok(done) => i64::try_from(done.affected).unwrap_or(i64::MAX),
            Err(_) => -1,
        };
        let figures = std::mem::take(&mut self.running.figures);
        let latency = now_ns().saturating_sub(started);
        let locks_ns = self.entry.counters.get(Counter::LockWaitNs).wrapping_sub(self.locks_seen_ns);
        let ended_us = self.state.running.clock.unix_us + latency / 1000;
        self.state.running.clock.ended_ns = started + latency;
        let work = figures.works.then(|| self.work_done());
        let execution = Execution {
            latency_ns: latency,
            locks_ns,
            error: outcome.is_err(),
            warnings: self.running.warnings.total(),
            rows_sent: figures.sent,
            rows_examined: figures.examined,
            rows_affected: figures.affected,
            no_index: figures.no_index,
            work,
            end_unix_us: ended_us,
        };
        record(&execution);
        let number = outcome.as_ref().err().map_or(0, |e| e.number());
        self.server.registry.did(&self.entry, figures.kind, number, &execution);
        let kept = self.server.registry.consumers.of_ended();
        if kept.own || kept.long {
            let error = outcome.as_ref().err().map(|e| (e.number(), e.message()));
            let schema = self.state.database_id();
            self.entry.ended(&Ended { execution: &execution, digest, started_ns: started, schema, error });
        }
        if kept.long {
            keep_long(self);
        }
        self.locks_seen_ns = self.locks_seen_ns.wrapping_add(locks_ns);
        self.check_slow(latency, locks_ns, &figures, values, &outcome);
        outcome
    }

    // ---- execution ----

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
            return self.run_into(plan, into, params);
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
        let (manner, left) = (self.manner(), self.select_limit(plan));
        let mut sink = ResultSet { reply, manner, place, left, sent: 0 };
        let outcome = self.execute(plan, locks, params, &mut sink);
        let sent = sink.sent;
        self.done(outcome?, sent)
    }

    /// SELECT ... INTO: one row for variables. No row leaves them as they are, with warning 1329; two are error 1172.
    fn run_into(&mut self, plan: &Plan, into: &ast::SelectInto, params: &[Value]) -> Result<Done> {
        let ast::SelectInto::Variables(targets) = into else {
            return self.run_into_file(plan, into, params);
        };
        let locks = self.plan_locks(plan);
        self.run_into_variables(plan, &locks, targets, params)
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
        let mut sink = OneRowSink::default();
        self.execute(plan, locks, params, &mut sink)?;
        let found = u64::from(sink.row.is_some());
        if !self.running.counted_rows {
            self.state.found_rows = found;
        }
        match sink.row {
            None => self.running.warnings.warn(ErrorCode::SpFetchNoData, &[]),
            Some(row) => {
                for (target, value) in targets.iter().zip(row) {
                    self.assign_target(target, value)?;
                }
            }
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
        Ok(sink)
    }

    pub(super) fn done(&mut self, outcome: Outcome, sent: u64) -> Result<Done> {
        match outcome {
            Outcome::Rows { .. } => {
                if !self.running.counted_rows {
                    self.state.found_rows = sent;
                }
                Ok(Done::ROWS)
            }
            Outcome::Affected(Affected { rows, last_insert_id, last_row_id, info }) => {
                self.running.figures.affected = rows;
                let insert_id = self.insert_id(last_insert_id, last_row_id);
                Ok(Done { rows: false, affected: rows, insert_id, info })
            }
        }
    }

    /// The OK packet's number (C API, `mysql_insert_id()`): the first generated value that is in a row, else what
    /// LAST_INSERT_ID(n) was given, else the last row's value.
    pub(super) fn insert_id(&mut self, generated: u64, last_row: u64) -> u64 {
        if generated != 0 {
            self.state.last_insert_id = generated;
        }
        match generated {
            0 if self.state.running.insert_id_given => self.state.last_insert_id,
            // A value that the client gave is in the OK packet, not in LAST_INSERT_ID().
            0 => last_row,
            n => n,
        }
    }

    /// `sql_select_limit` holds for queries without LIMIT.
    pub(super) fn select_limit(&self, plan: &Plan) -> u64 {
        let limit = self.state.vars[Live::SqlSelectLimit].as_u64();
        match &plan.kind {
            PlanKind::Query(root) if limit != u64::MAX && !matches!(root.op, Op::Limit { .. }) => limit,
            PlanKind::PointSelect(_) => limit,
            _ => u64::MAX,
        }
    }

    /// Privileges, locks, transaction, executor.
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
        let writes = matches!(plan.kind, PlanKind::Insert(_) | PlanKind::Update(_) | PlanKind::Delete(_));
        let writes_base = writes_base(plan);
        self.check_plan(plan, writes, writes_base)?;
        plan.warnings.iter().for_each(|w| self.running.warnings.push(w.clone()));
        let mark = begin_over(self, plan)?;
        self.begin_using(plan);
        let locked = if writes_base {
            self.work.locks().pass_write_gate(gannet_engine::lock::MdlDuration::Statement)
        } else {
            Ok(())
        };
        let locked = locked.and_then(|()| self.lock_tables(plan, locks));
        let limit = match plan.max_execution_time {
            _ if writes || self.is_part() => 0,
            Some(hinted) => u64::from(hinted),
            None => self.state.vars[Live::MaxExecutionTime].as_u64(),
        };
        let timer = (limit > 0).then(|| {
            count(Counter::MaxExecutionTimeSet);
            self.server.timers.start(self.entry.context.clone(), limit)
        });
        self.start_settings();
        self.log_rows(writes);
        self.settings.insert_id =
            if matches!(plan.kind, PlanKind::Insert(_)) { std::mem::take(&mut self.state.next_insert_id) } else { 0 };
        self.state.running.insert_id_given = false;
        self.running.counted_rows = false;
        self.state.running.over_tables = !plan.tables.is_empty();
        if !plan.uses.virtual_tables {
            self.state.last_query_cost = plan.cost();
        }
        if self.tracker.on && !plan.tables.is_empty() {
            self.tracker.used(writes);
        }
        let outcome = locked.and_then(|()| {
            let shared = Shared::new(plan, &self.settings, params);
            let (txn, changes) = self.work.writing();
            let mut cx = Cx::new(&shared, txn, &mut self.state, &mut self.running.warnings);
            cx.changes = changes.filter(|_| writes);
            let outcome = run(&mut cx, &mut self.buffers);
            self.running.figures.examined = cx.counts.examined;
            self.running.figures.sent = cx.counts.sent;
            self.running.figures.no_index = cx.counts.no_index;
            let found = cx.found_rows;
            if let Some(n) = found {
                self.state.found_rows = n;
                self.running.counted_rows = true;
            }
            outcome
        });
        self.end_using(plan);
        if matches!(plan.kind, PlanKind::Delete(_)) {
            // LAST_INSERT_ID(n) there is for the session alone.
            self.state.running.insert_id_given = false;
        }
        self.running.timed_out = timer.is_some_and(|t| t.fired());
        let outcome = end_over(self, mark, outcome);
        super::temporary::recount(plan, writes && !writes_base);
        // A point select has counted itself.
        if !matches!(plan.kind, PlanKind::PointSelect(_)) {
            self.count_execution(plan, outcome.is_ok());
        }
        outcome
    }

    /// What may keep a plan from running: privileges, limits, the state of the session.
    #[inline]
    fn check_plan(&mut self, plan: &Plan, writes: bool, writes_base: bool) -> Result<()> {
        if !self.state.access.all || plan.uses.views {
            self.check_plan_privileges(plan)?;
        }
        if self.state.must_change_password {
            self.check_password_expired(None)?;
        }
        if !matches!(self.branch, super::branch::BranchState::None) {
            self.check_branch(None)?;
        }
        if writes && self.inside {
            self.refuse_used(plan)?;
        }
        if writes {
            if let Some(usage) = &self.state.usage {
                usage.take(&self.state.account, 1)?;
            }
            if writes_base {
                self.require_writable()?;
                self.refuse_unlogged()?;
            }
            self.refuse_virtual_targets(plan)?;
            if self.state.vars[Live::SqlSafeUpdates].as_bool() && !super::safety::is_safe_update(plan) {
                return Err(sql_err!(UpdateWithoutKeyInSafeMode, ""));
            }
        }
        if !self.state.vars[Live::SqlBigSelects].as_bool() {
            super::safety::check_rows(plan, self.state.vars[Live::MaxJoinSize].as_u64())?;
        }
        Ok(())
    }

    /// The statement's time.
    pub(crate) fn start_settings(&mut self) {
        let now_us = self.state.statement_time();
        self.settings.now_us = now_us;
        // Zones change their offsets at whole seconds.
        let second = Some(now_us.div_euclid(1_000_000));
        if self.today_of_s != second {
            self.today_of_s = second;
            self.settings.today = today(now_us, &self.settings.time_zone);
        }
    }

    fn refuse_virtual_targets(&self, plan: &Plan) -> Result<()> {
        let target = |t: &&gannet_plan::plan::PlanTable| {
            !matches!(t.intent, Intent::Read | Intent::LockingRead) && t.intent.is_named()
        };
        for t in plan.tables.iter().filter(target) {
            if matches!(t.table.source, gannet_schema::RowSource::Virtual(_)) {
                let a = &self.state.account;
                return Err(sql_err!(DbaccessDenied, a.user, a.host, t.table.schema));
            }
        }
        Ok(())
    }

    /// The value of an expression, by a query without tables.
    pub(crate) fn evaluate_by_query(&mut self, expr: &ast::Expr) -> Result<Value> {
        self.state.renew_snapshot();
        let (plan, params) = self.make_inner_plan(&Statement::Do(vec![expr.clone()]))?;
        let kept = self.keep_rows(&plan, &params)?;
        Ok(kept.rows.into_iter().next().and_then(|r| r.into_iter().next()).unwrap_or(Value::Null))
    }
}

/// A name that the client sent by itself, in its character set.
pub fn name_of(session: &Session, sent: &[u8]) -> String {
    String::from_utf8_lossy(&session.to_utf8(sent)).into_owned()
}

/// A statement begins. Where nothing that is stored is read, there is nothing to be in a transaction about: `None`.
#[inline]
fn begin_over(session: &mut Session, plan: &Plan) -> Result<Option<Savepoint>> {
    let stored = |t: &gannet_plan::plan::PlanTable| !matches!(t.table.source, gannet_schema::RowSource::Virtual(_));
    match session.work.txn().is_active() || plan.uses.programs || plan.tables.iter().any(stored) {
        true => session.begin_statement().map(Some),
        false => Ok(None),
    }
}

/// What [`begin_over`] has begun ends.
#[inline]
fn end_over<T>(session: &mut Session, mark: Option<Savepoint>, outcome: Result<T>) -> Result<T> {
    match mark {
        Some(mark) => session.end_statement(mark, outcome),
        None => outcome,
    }
}

/// The plan changes rows of tables that are not the session's own.
pub(super) fn writes_base(plan: &Plan) -> bool {
    let reads = |i: Intent| matches!(i, Intent::Read | Intent::LockingRead | Intent::ForeignRead);
    let writes = matches!(plan.kind, PlanKind::Insert(_) | PlanKind::Update(_) | PlanKind::Delete(_));
    writes && plan.tables.iter().any(|t| !t.table.temporary && !reads(t.intent))
}

/// The date of an instant in a zone.
fn today(now_us: i64, zone: &gannet_types::TimeZone) -> gannet_types::Date {
    let stamp = gannet_types::Timestamp::from_unix_micros(now_us);
    stamp.map_or(gannet_types::Date::new(0, 0, 0), |t| t.to_local(zone).date())
}

//! Prepared statements: of the protocol (COM_STMT_...) and of SQL (PREPARE).

use super::Session;
use super::cached::CachedPlan;
use super::cursor::Cursor;
use super::locks::is_stale;
use super::reply::Done;
use super::reply::Reply;
use super::text::{lex_mode, parse_error};
use super::variables::type_of;
use super::wire::{Wire, put_column};
use gannet_base::hash::HashMap;
use gannet_base::sync::atomic::Ordering;
use gannet_core::kept::DigestHandle;
use gannet_core::kinds::{self, count_statement};
use gannet_core::registry::Activity;
use gannet_core::vars::Live;
use gannet_exec::Session as _;
use gannet_parser::ast::{self, Statement};
use gannet_parser::digest::{self, LiteralToken, Scan};
use gannet_parser::{Extent, Notice};
use gannet_plan::plan::{Param, ResultColumn};
use gannet_plan::{Plan, PlanKey};
use gannet_telemetry::{Counter, add, count, sub};
use gannet_types::{
    CollationId, Date, DateTime, Decimal, ErrorCode, Result, SqlError, SqlType, Time, TypeId, Value, sql_err,
};
use gannet_wire::codec::Malformed;
use gannet_wire::command::{self, Execute, ParamType};
use gannet_wire::flags::ty;
use gannet_wire::reply;
use std::sync::Arc;

/// A session's prepared statements.
#[derive(Default)]
pub(crate) struct Prepared {
    /// `None` while the statement runs.
    by_id: HashMap<u32, Option<Box<Statement_>>>,
    by_name: HashMap<String, Statement_>,
    next: u32,
    /// The server-wide count of prepared statements; [`Drop`] lowers it.
    counted: Option<Arc<gannet_core::Core>>,
}

/// One prepared statement.
pub(crate) struct Statement_ {
    text: Arc<[u8]>,
    /// Its number for the process list.
    text_number: u64,
    /// For statements that are not planned, and for planning again.
    statement: Arc<Statement>,
    /// Deprecated syntax, of which a warning is given when the text is prepared.
    notices: Box<[Notice]>,
    params: u16,
    shape: u128,
    literals: Box<[LiteralToken]>,
    /// It may not be shared with other sessions.
    private: bool,
    /// SET_VAR is among its hints.
    sets_variables: bool,
    digest: DigestHandle,
    database: Option<Arc<str>>,
    types: Vec<ParamType>,
    /// Parameters that were sent in pieces.
    long: Vec<Option<Vec<u8>>>,
    /// Bytes of these.
    long_held: usize,
    /// Why something that was sent in pieces was not taken: executions fail until the statement is reset.
    long_refused: Option<SqlError>,
    plan: Option<Arc<CachedPlan>>,
    /// CURSOR_TYPE_READ_ONLY.
    cursor: Option<Box<Cursor>>,
    /// Values of the plan's parameters; reused.
    values: Vec<Value>,
}

/// Bytes that COM_STMT_SEND_LONG_DATA may pile up beyond `max_allowed_packet`.
const LONG_DATA_SLACK: usize = 1024;

/// A parameter's value that is longer is not kept after the execution.
const LONG_KEPT: usize = 4096;

const LONG_DATA_OVERFLOW: &str = "Parameter of prepared statement which is set through mysql_send_long_data() is longer than 'max_allowed_packet' bytes";

impl Statement_ {
    /// Drops the parameters that were sent in pieces. Returns how many bytes that frees.
    fn forget_long(&mut self) -> usize {
        self.long = Vec::new();
        std::mem::take(&mut self.long_held)
    }
}

impl Prepared {
    pub(crate) fn clear(&mut self) {
        let n = self.by_id.len() + self.by_name.len();
        self.give_back(n);
        self.by_id.clear();
        self.by_name.clear();
    }

    fn give_back(&self, n: usize) {
        if let Some(server) = &self.counted {
            server.prepared.fetch_sub(n as u64, Ordering::Relaxed);
            sub(Counter::PreparedStmtCount, n as u64);
        }
    }
}

impl Session {
    /// Parses and plans a statement that is to be prepared.
    fn make_prepared(&mut self, sql: &[u8]) -> Result<Statement_> {
        let server = self.server.clone();
        let limit = server.globals.get(Live::MaxPreparedStmtCount).as_u64();
        if server.prepared.load(Ordering::Relaxed) >= limit {
            return Err(sql_err!(MaxPreparedStmtCountReached, limit));
        }
        let text: Arc<[u8]> = self.to_utf8(sql).into();
        let mode = lex_mode(self.settings.sql_mode);
        let mut scan = Scan::new(server.scan_secret);
        let shared = digest::scan(&text, mode, &mut scan);
        let extent = if shared { Extent::Parameterised } else { Extent::Whole };
        let parsed = gannet_parser::parse_until(&text, mode, extent, gannet_exec::stopped).map_err(parse_error)?;
        if !kinds::of(&parsed.statement).prepared {
            return Err(sql_err!(UnsupportedPs));
        }
        let params = u16::try_from(parsed.params).map_err(|_| sql_err!(PsManyParam))?;
        Ok(Statement_ {
            digest: self.digest_handle(&text),
            text_number: self.entry.new_text(),
            sets_variables: super::hinted::sets_variables(&parsed.statement),
            statement: Arc::new(parsed.statement),
            notices: parsed.notices.into(),
            params,
            shape: scan.shape,
            literals: if shared { scan.literals.into() } else { Box::new([]) },
            private: !shared,
            database: self.state.database.clone(),
            types: Vec::new(),
            long: Vec::new(),
            long_held: 0,
            long_refused: None,
            plan: None,
            cursor: None,
            values: Vec::new(),
            text,
        })
    }

    fn keep_count(&mut self) {
        self.server.prepared.fetch_add(1, Ordering::Relaxed);
        add(Counter::PreparedStmtCount, 1);
        self.statements.counted.get_or_insert_with(|| self.server.clone());
    }

    /// COM_STMT_PREPARE.
    pub fn prepare(&mut self, sql: &[u8], wire: &mut Wire<'_>) {
        count(Counter::ComStmtPrepare);
        self.begins(Activity::Prepare, sql);
        self.note_text("Prepare", sql);
        match self.prepare_and_reply(sql, wire) {
            Ok(()) => {}
            Err(e) => {
                self.running.warnings.push(e.to_warning(gannet_types::Level::Error));
                self.fail(wire, e);
            }
        }
    }

    fn prepare_and_reply(&mut self, sql: &[u8], wire: &mut Wire<'_>) -> Result<()> {
        // SHOW WARNINGS and similar statements show diagnostics that outlive their own preparation.
        let shown = std::mem::take(&mut self.running.warnings);
        let mut made = self.make_prepared(sql)?;
        if kinds::of(&made.statement).keeps_diagnostics {
            self.running.warnings = shown;
            self.running.warnings.keep();
        }
        self.warn_of(&made.notices);
        self.state.renew_snapshot();
        let mut markers: Vec<SqlType> = Vec::new();
        let mut columns: Vec<ResultColumn> = Vec::new();
        if self.is_planned_here(&made.statement) {
            let entry = self.plan_prepared(&mut made, &[], &[], 0)?;
            if super::query::writes_base(&entry.plan) {
                self.require_read_write()?;
            }
            markers = vec![SqlType::varchar(255, CollationId::DEFAULT); made.params.into()];
            for p in &entry.plan.params {
                if let Param::Marker { index, ty } = p
                    && let Some(slot) = markers.get_mut(*index as usize)
                {
                    *slot = ty.clone();
                }
            }
            columns = entry.plan.columns.to_vec();
            Self::keep_plan(&mut made, entry);
        } else if let Statement::Show(_) | Statement::Explain(_) | Statement::Describe { .. } = &*made.statement {
            columns = self.columns_of(&made.statement)?;
        }
        markers.resize(made.params.into(), SqlType::varchar(255, CollationId::DEFAULT));
        self.statements.next = self.statements.next.wrapping_add(1).max(1);
        let id = self.statements.next;
        let warnings = self.running.warnings.raised().min(u64::from(u16::MAX)) as u16;
        let (caps, status, charsets) = (self.capabilities, self.status_flags(), self.charsets);
        let mut w = wire.writer();
        reply::prepared(&mut w, caps, id, columns.len() as u16, made.params, warnings);
        for ty in &markers {
            let marker = super::reply::plain_column("?", ty.clone());
            put_column(&mut w, &marker, &charsets, None);
        }
        if !markers.is_empty() {
            reply::end_of_columns(&mut w, caps, status);
        }
        for c in &columns {
            put_column(&mut w, c, &charsets, None);
        }
        if !columns.is_empty() {
            reply::end_of_columns(&mut w, caps, status);
        }
        self.keep_count();
        self.statements.by_id.insert(id, Some(Box::new(made)));
        Ok(())
    }

    /// The plan for the given parameter types: the one at hand when nothing changed, else from the cache, else made anew. The one at
    /// hand is moved out, for [`keep_plan`](Self::keep_plan) to put back: counting a reference would write a line that all sessions
    /// with this statement share.
    fn plan_prepared(
        &mut self,
        s: &mut Statement_,
        markers: &[SqlType],
        values: &[Value],
        types_hash: u64,
    ) -> Result<Arc<CachedPlan>> {
        let key = self.plan_key(s.shape, types_hash);
        if let Some(plan) = s.plan.take_if(|p| p.key == key && p.plan.is_current()) {
            if plan.is_asked() {
                return self.prepared_of_class(plan, s, (markers, values), key);
            }
            return Ok(plan);
        }
        if s.plan.is_some() {
            count(Counter::ComStmtReprepare);
        }
        let found = if s.private { None } else { self.find_prepared_plan(&key, &s.text, &s.literals, None) };
        let entry = match found {
            Some(entry) if entry.is_asked() => self.prepared_of_class(entry, s, (markers, values), key)?,
            Some(entry) => entry,
            None => self.make_prepared_plan(s, (markers, values), key)?,
        };
        s.plan = None;
        Ok(entry)
    }

    /// Plans a prepared statement for given types and values.
    #[cold]
    fn make_prepared_plan(
        &mut self,
        s: &Statement_,
        given: (&[SqlType], &[Value]),
        key: PlanKey,
    ) -> Result<Arc<CachedPlan>> {
        let source = (!s.private).then_some((&*s.text, &*s.literals));
        let plan = self.make_plan(&s.statement, given, source)?;
        Ok(if s.private {
            self.enter_private_plan(plan, key, &s.text, &s.statement)
        } else {
            self.enter_plan(plan, key, &s.text, &s.literals, &s.statement, &s.notices)
        })
    }

    /// The plan that is right for the values at hand, when `entry` is dear or was seen to read too much: see [`gannet_plan::dive`].
    #[cold]
    fn prepared_of_class(
        &mut self,
        entry: Arc<CachedPlan>,
        s: &Statement_,
        given: (&[SqlType], &[Value]),
        key: PlanKey,
    ) -> Result<Arc<CachedPlan>> {
        if given.1.len() < usize::from(s.params) {
            return Ok(entry);
        }
        let values = self.arrange(&entry.plan, s, given.1)?;
        let class = entry.plan.class_of(&values, self, &self.settings.time_zone);
        if class == entry.plan.selectivity {
            return Ok(entry);
        }
        match self.find_prepared_plan(&key, &s.text, &s.literals, Some(class)) {
            Some(other) => Ok(other),
            None if self.plans.is_full(&key) => Ok(entry),
            None => {
                let types: Vec<SqlType> = match given.0.len() {
                    0 => s.types.iter().map(|t| sql_type(*t, self.literal_collation())).collect(),
                    _ => given.0.to_vec(),
                };
                self.make_prepared_plan(s, (&types, given.1), key)
            }
        }
    }

    /// Keeps a plan for the next execution.
    fn keep_plan(s: &mut Statement_, entry: Arc<CachedPlan>) {
        // The types of user variables may change from one execution to the next.
        s.plan = Some(entry).filter(|e| !e.plan.uses.user_variables);
    }

    /// COM_STMT_EXECUTE.
    pub fn execute_prepared(&mut self, execute: Execute<'_>, wire: &mut Wire<'_>) {
        count(Counter::ComStmtExecute);
        count(Counter::Questions);
        let started = self.state.running.clock.ns;
        // Out of the map while it runs: the session is free for everything else.
        let Some(mut s) = self.statements.by_id.get_mut(&execute.statement).and_then(Option::take) else {
            let name = execute.statement.to_string();
            return self.fail(wire, sql_err!(UnknownStmtHandler, name, "mysqld_stmt_execute"));
        };
        self.entry.begin_again(Activity::Execute, started, &s.text, s.text_number);
        if kinds::of(&s.statement).keeps_diagnostics {
            self.running.warnings.keep()
        } else {
            self.running.warnings.clear()
        }
        self.state.statement_id += 1;
        wire.binary = true;
        s.cursor = None;
        let outcome = match s.long_refused.clone() {
            None if is_at_home(self, &s) => execute_hinted(self, &mut s, &execute, wire),
            None => in_other_database(self, s.database.clone(), |own| execute_hinted(own, &mut s, &execute, wire)),
            Some(refused) => Err(refused),
        };
        self.state.held.give(s.forget_long());
        self.state.query_attributes.clear();
        self.note_execution(&s.text, &s.values);
        let outcome = self.finish_statement(started, Some(&s.digest), &s.values, outcome);
        if s.values.iter().any(|v| v.long_bytes() > LONG_KEPT) {
            s.values = Vec::new();
        }
        if let Some(place) = self.statements.by_id.get_mut(&execute.statement) {
            *place = Some(s);
        }
        self.answer(wire, outcome);
    }

    fn execute_statement(&mut self, s: &mut Statement_, execute: &Execute<'_>, wire: &mut Wire<'_>) -> Result<Done> {
        let n = usize::from(s.params);
        let wants_cursor = execute.flags & command::CURSOR_READ_ONLY != 0;
        let collation = self.literal_collation();
        let client = self.charsets.client;
        let mut bound = std::mem::take(&mut s.values);
        bound.iter_mut().for_each(|value| *value = Value::Null);
        if bound.len() != n {
            bound.resize(n, Value::Null);
        }
        let (types, long) = (&mut s.types, &s.long);
        let decoded: std::result::Result<_, Refused> = execute.params(
            self.capabilities,
            n,
            types,
            |i| long.get(i).is_some_and(Option::is_some),
            |i, p| {
                bound[i] = param_value(p, collation, client).map_err(Refused::Sql)?;
                Ok(())
            },
        );
        match decoded {
            Ok(attributes) => self.keep_attributes(&attributes)?,
            Err(Refused::Malformed) => return Err(sql_err!(MalformedPacket)),
            Err(Refused::Sql(e)) => return Err(e),
        }
        for (i, data) in s.long.iter().enumerate() {
            if let (Some(data), Some(slot)) = (data, bound.get_mut(i)) {
                let binary = s.types.get(i).is_some_and(|t| is_blob(t.ty));
                *slot = Value::Str(data[..].into(), if binary { CollationId::BINARY } else { collation });
            }
        }
        self.state.renew_snapshot();
        if !self.is_planned_here(&s.statement) {
            count_statement(&s.statement);
            return self.run_unplanned(s, bound, wire);
        }
        let types_hash = types_hash(&s.types);
        let key = self.plan_key(s.shape, types_hash);
        let entry = match s.plan.take_if(|p| p.key == key && p.plan.is_current() && !p.is_asked()) {
            Some(plan) => plan,
            None => {
                let markers: Vec<SqlType> = s.types.iter().map(|t| sql_type(*t, collation)).collect();
                self.plan_prepared(s, &markers, &bound, types_hash)?
            }
        };
        count(Counter::PlanCacheHits);
        if let Some(c) = entry.digest.counter {
            count(c);
        }
        let arranged;
        let values = if are_markers(&entry.plan.params, n) {
            &bound
        } else {
            arranged = self.arrange(&entry.plan, s, &bound)?;
            &arranged
        };
        let cursor = wants_cursor.then_some(&mut s.cursor);
        let mut outcome = self.last(true, |session| session.run_prepared(&entry, values, wire, cursor));
        if outcome.as_ref().is_err_and(is_stale) {
            outcome = self.again(s, types_hash, &bound, wire, wants_cursor);
        } else {
            Self::keep_plan(s, entry);
        }
        s.values = bound;
        outcome
    }

    /// The tables changed since the plan was made: plans and runs once more, several times if need be.
    #[cold]
    fn again(
        &mut self,
        s: &mut Statement_,
        types_hash: u64,
        bound: &[Value],
        wire: &mut Wire<'_>,
        wants_cursor: bool,
    ) -> Result<Done> {
        let collation = self.literal_collation();
        let markers: Vec<SqlType> = s.types.iter().map(|t| sql_type(*t, collation)).collect();
        for _ in 0..10 {
            self.state.renew_snapshot();
            let entry = self.plan_prepared(s, &markers, bound, types_hash)?;
            let values = self.arrange(&entry.plan, s, bound)?;
            match self.run_prepared(&entry, &values, wire, wants_cursor.then_some(&mut s.cursor)) {
                Err(e) if is_stale(&e) => {}
                outcome => {
                    Self::keep_plan(s, entry);
                    return outcome;
                }
            }
        }
        Err(sql_err!(NeedReprepare))
    }

    /// The values of the plan's parameters: markers and literals of the text.
    fn arrange(&self, plan: &Plan, s: &Statement_, bound: &[Value]) -> Result<Vec<Value>> {
        self.bind(plan, &s.literals, &s.text, bound)
    }

    /// COM_STMT_CLOSE.
    pub fn close_prepared(&mut self, id: u32) {
        count(Counter::ComStmtClose);
        if let Some(s) = self.statements.by_id.remove(&id) {
            self.statements.give_back(1);
            self.state.held.give(s.map_or(0, |s| s.long_held));
        }
    }

    /// COM_STMT_SEND_LONG_DATA: errors are kept silent until the execution, as the protocol has no wire here.
    pub fn long_data(&mut self, id: u32, parameter: u16, data: &[u8]) {
        count(Counter::ComStmtSendLongData);
        let limit = self.max_packet() + LONG_DATA_SLACK;
        let Some(Some(s)) = self.statements.by_id.get_mut(&id) else { return };
        let i = usize::from(parameter);
        if parameter >= s.params {
            s.long_refused = Some(sql_err!(WrongArguments, "mysql_stmt_send_long_data"));
            return;
        }
        if s.long.len() <= i {
            s.long.resize(i + 1, None);
        }
        let slot = s.long[i].get_or_insert_default();
        if s.long_held + data.len() > limit {
            s.long_refused = Some(SqlError::with_message(ErrorCode::UnknownError, LONG_DATA_OVERFLOW));
        } else if !self.state.hold(data.len()) {
            s.long_refused = Some(sql_err!(OutOfResources));
        } else {
            slot.extend_from_slice(data);
            s.long_held += data.len();
        }
    }

    /// COM_STMT_RESET.
    pub fn reset_prepared(&mut self, id: u32) -> Result<Done> {
        count(Counter::ComStmtReset);
        let s = self.statements.by_id.get_mut(&id).and_then(Option::as_mut);
        let s = s.ok_or_else(|| sql_err!(UnknownStmtHandler, id, "mysqld_stmt_reset"))?;
        s.long_refused = None;
        s.cursor = None;
        let given = s.forget_long();
        self.state.held.give(given);
        Ok(Done::default())
    }

    /// The cursor of a statement, taken out; `None`: it has none open.
    pub(super) fn take_cursor(&mut self, id: u32) -> Result<Option<Box<Cursor>>> {
        let s = self.statements.by_id.get_mut(&id).and_then(Option::as_mut);
        s.map(|s| s.cursor.take()).ok_or_else(|| sql_err!(UnknownStmtHandler, id, "mysqld_stmt_fetch"))
    }

    /// Puts back what [`take_cursor`](Self::take_cursor) took.
    pub(super) fn keep_cursor(&mut self, id: u32, cursor: Box<Cursor>) {
        if let Some(Some(s)) = self.statements.by_id.get_mut(&id) {
            s.cursor = Some(cursor);
        }
    }

    // ---- PREPARE, EXECUTE, DEALLOCATE ----

    /// PREPARE.
    pub(crate) fn prepare_named(&mut self, name: &str, source: &ast::PrepareSource) -> Result<Done> {
        count(Counter::ComPrepareSql);
        self.tracker.change();
        let sql = match source {
            ast::PrepareSource::Text(text) => text.to_vec(),
            ast::PrepareSource::Variable(v) => match self.state.user_variable(v) {
                // MySQL takes NULL for the text 'NULL'.
                Value::Null => b"NULL".to_vec(),
                value => {
                    let mut text = Vec::new();
                    value.write_text(&mut text);
                    text
                }
            },
        };
        let key = name.to_lowercase();
        // An old statement of this name goes first, even when the new one is wrong.
        if self.statements.by_name.remove(&key).is_some() {
            self.statements.give_back(1);
        }
        let mut made = self.make_prepared(&sql)?;
        self.warn_of(&made.notices);
        self.state.renew_snapshot();
        if self.is_planned_here(&made.statement) {
            let entry = self.plan_prepared(&mut made, &[], &[], 0)?;
            if super::query::writes_base(&entry.plan) {
                self.require_read_write()?;
            }
            Self::keep_plan(&mut made, entry);
        }
        self.keep_count();
        self.statements.by_name.insert(key, made);
        Ok(Done { info: "Statement prepared".into(), ..Done::default() })
    }

    /// EXECUTE.
    pub(crate) fn execute_named(&mut self, name: &str, using: &[ast::Ident], reply: &mut dyn Reply) -> Result<Done> {
        count(Counter::ComExecuteSql);
        let key = name.to_lowercase();
        let unknown = || sql_err!(UnknownStmtHandler, name, "EXECUTE");
        let mut s = self.statements.by_name.remove(&key).ok_or_else(unknown)?;
        let outcome = if is_at_home(self, &s) {
            execute_by_name(self, &mut s, using, reply)
        } else {
            in_other_database(self, s.database.clone(), |own| execute_by_name(own, &mut s, using, reply))
        };
        self.statements.by_name.insert(key, s);
        outcome
    }

    fn execute_named_in(&mut self, s: &mut Statement_, using: &[ast::Ident], reply: &mut dyn Reply) -> Result<Done> {
        if using.len() != usize::from(s.params) {
            return Err(sql_err!(WrongArguments, "EXECUTE"));
        }
        let bound: Vec<Value> = using.iter().map(|v| self.state.user_variable(v)).collect();
        self.state.renew_snapshot();
        count_statement(&s.statement);
        if !self.is_planned_here(&s.statement) {
            return self.run_unplanned(s, bound, reply);
        }
        let markers: Vec<SqlType> = bound.iter().map(type_of).collect();
        let mut tries = 0;
        loop {
            let entry = self.plan_prepared(s, &markers, &bound, hash_of(&markers))?;
            let values = self.arrange(&entry.plan, s, &bound)?;
            match self.run_cached(&entry, &values, reply) {
                Err(e) if is_stale(&e) && tries < 10 => tries += 1,
                outcome => {
                    Self::keep_plan(s, entry);
                    return outcome;
                }
            }
            self.state.renew_snapshot();
        }
    }

    /// Runs a statement that is not planned as a whole: the plans inside it find the parameters in [`Session::markers`].
    fn run_unplanned(&mut self, s: &Statement_, markers: Vec<Value>, reply: &mut dyn Reply) -> Result<Done> {
        let statement = s.statement.clone();
        self.running.markers = markers;
        let outcome = self.perform(&statement, reply);
        self.running.markers.clear();
        outcome
    }

    /// DEALLOCATE PREPARE.
    pub(crate) fn deallocate(&mut self, name: &str) -> Result<Done> {
        count(Counter::ComDeallocSql);
        self.tracker.change();
        if self.statements.by_name.remove(&name.to_lowercase()).is_none() {
            return Err(sql_err!(UnknownStmtHandler, name, "DEALLOCATE PREPARE"));
        }
        self.statements.give_back(1);
        Ok(Done::default())
    }
}

/// The statement was prepared in the database that is current.
#[inline]
fn is_at_home(session: &Session, s: &Statement_) -> bool {
    match (&s.database, &session.state.database) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b) || a == b,
        (None, None) => true,
        _ => false,
    }
}

/// Runs with the database in force in which a statement was prepared. Whatever the statement is, its names are of
/// that database.
#[cold]
fn in_other_database<T>(session: &mut Session, its: Option<Arc<str>>, run: impl FnOnce(&mut Session) -> T) -> T {
    session.state.renew_snapshot();
    let own = session.state.database.clone();
    let there = |session: &Session, name: &Arc<str>| session.state.snapshot.schema(name).is_some();
    // One that was dropped is none, for the statement and for the session.
    let its = its.filter(|name| there(session, name));
    session.state.set_database(its);
    let outcome = run(session);
    session.state.renew_snapshot();
    let kept = own.clone().filter(|name| there(session, name));
    session.running.extra_status &= !gannet_wire::flags::status::DB_DROPPED;
    if own.is_some() && kept.is_none() {
        session.running.extra_status |= gannet_wire::flags::status::DB_DROPPED;
    }
    session.entry.set_database(kept.clone());
    session.state.set_database(kept);
    outcome
}

#[inline]
fn execute_hinted(
    session: &mut Session,
    s: &mut Statement_,
    execute: &Execute<'_>,
    wire: &mut Wire<'_>,
) -> Result<Done> {
    if s.sets_variables {
        let statement = s.statement.clone();
        return session.with_hinted(&statement, |session| session.execute_statement(s, execute, wire));
    }
    session.execute_statement(s, execute, wire)
}

fn execute_by_name(
    session: &mut Session,
    s: &mut Statement_,
    using: &[ast::Ident],
    reply: &mut dyn Reply,
) -> Result<Done> {
    if s.sets_variables {
        let statement = s.statement.clone();
        return session.with_hinted(&statement, |session| session.execute_named_in(s, using, reply));
    }
    session.execute_named_in(s, using, reply)
}

/// Why parameters were refused.
enum Refused {
    Malformed,
    Sql(SqlError),
}

impl From<Malformed> for Refused {
    fn from(_: Malformed) -> Self {
        Refused::Malformed
    }
}

fn is_blob(t: u8) -> bool {
    matches!(t, ty::TINY_BLOB | ty::MEDIUM_BLOB | ty::LONG_BLOB | ty::BLOB)
}

impl super::Session {
    /// Keeps the query attributes of a command, as text, for `mysql_query_attribute_string()`.
    pub fn keep_attributes(&mut self, attributes: &[command::Attribute<'_>]) -> Result<()> {
        let client = self.charsets.client;
        for a in attributes {
            let value = match param_value(a.value, CollationId::UTF8MB4_0900_AI_CI, client)? {
                Value::Null => Value::Null,
                value => {
                    let mut text = Vec::new();
                    value.write_text(&mut text);
                    let readable = String::from_utf8_lossy(&text);
                    Value::Str(readable.as_bytes().into(), CollationId::UTF8MB4_0900_AI_CI)
                }
            };
            self.state.query_attributes.push((a.name.into(), value));
        }
        Ok(())
    }
}

/// The common case: a plan's parameters are the statement's markers, in order.
fn are_markers(params: &[Param], markers: usize) -> bool {
    let is = |(i, p): (usize, &Param)| matches!(p, Param::Marker { index, .. } if *index as usize == i);
    params.len() == markers && params.iter().enumerate().all(is)
}

/// A parameter of the protocol as a value.
fn param_value(p: command::Param<'_>, collation: CollationId, client: gannet_types::charset::Charset) -> Result<Value> {
    use gannet_types::charset::Charset;
    let wrong = || sql_err!(WrongArguments, "mysqld_stmt_execute");
    Ok(match p {
        command::Param::Null => Value::Null,
        command::Param::Int(n) => Value::Int(n),
        command::Param::UInt(n) => Value::UInt(n),
        command::Param::Float(x) => Value::Float(x),
        command::Param::Double(x) => Value::Double(x),
        command::Param::Decimal(text) => Value::Decimal(Decimal::parse(text).value),
        command::Param::Bytes(b) => Value::Str(b.into(), CollationId::BINARY),
        command::Param::Text(b) => match client {
            Charset::Utf8mb4 | Charset::Utf8mb3 | Charset::Ascii | Charset::Binary
                if matches!(
                    collation.charset(),
                    Charset::Utf8mb4 | Charset::Utf8mb3 | Charset::Ascii | Charset::Binary
                ) =>
            {
                Value::Str(b.into(), collation)
            }
            Charset::Binary => Value::Str(b.into(), collation),
            _ => Value::Str(client.convert(b, collation.charset()).bytes.as_ref().into(), collation),
        },
        command::Param::DateTime(d) => {
            let (y, mo, day) = (u32::from(d.year), u32::from(d.month), u32::from(d.day));
            if y > 9999 || mo > 12 || day > 31 || d.hour > 23 || d.minute > 59 || d.second > 59 || d.micros > 999_999 {
                return Err(wrong());
            }
            if d.date_only {
                Value::Date(Date::new(y, mo, day))
            } else {
                let fsp = if d.micros == 0 { 0 } else { 6 };
                Value::DateTime(
                    DateTime::new(y, mo, day, d.hour.into(), d.minute.into(), d.second.into(), d.micros),
                    fsp,
                )
            }
        }
        command::Param::Time(t) => {
            let us = t.total_micros().ok_or_else(wrong)?;
            Value::Time(Time::from_micros(us).clamp().0, if t.micros == 0 { 0 } else { 6 })
        }
    })
}

/// The SQL type of a parameter's type.
fn sql_type(t: ParamType, collation: CollationId) -> SqlType {
    let int = |id| if t.unsigned { SqlType::new(id).unsigned() } else { SqlType::new(id) };
    match t.ty {
        ty::TINY | ty::SHORT | ty::LONG | ty::INT24 | ty::LONGLONG | ty::YEAR => int(TypeId::BigInt),
        ty::FLOAT => SqlType::new(TypeId::Float),
        ty::DOUBLE => SqlType::DOUBLE,
        ty::DECIMAL | ty::NEWDECIMAL => SqlType::decimal(65, 30),
        ty::DATE | ty::NEWDATE => SqlType::new(TypeId::Date),
        ty::DATETIME | ty::TIMESTAMP => SqlType::temporal(TypeId::DateTime, 6),
        ty::TIME => SqlType::temporal(TypeId::Time, 6),
        ty::NULL => SqlType::NULL,
        t if is_blob(t) || t == ty::BIT || t == ty::GEOMETRY => SqlType::new(TypeId::LongBlob),
        _ => SqlType::new(TypeId::LongText).with_collation(collation),
    }
}

/// Numbers the classes that plans distinguish; never 0, which is 'not known'.
fn types_hash(types: &[ParamType]) -> u64 {
    types.iter().fold(1, |h: u64, t| (h ^ (u64::from(class(*t)) + 1)).wrapping_mul(0x100_0000_01B3).rotate_left(5))
}

fn class(t: ParamType) -> u8 {
    match t.ty {
        ty::TINY | ty::SHORT | ty::LONG | ty::INT24 | ty::LONGLONG | ty::YEAR => 1 + u8::from(t.unsigned),
        ty::FLOAT => 3,
        ty::DOUBLE => 4,
        ty::DECIMAL | ty::NEWDECIMAL => 5,
        ty::DATE | ty::NEWDATE => 6,
        ty::DATETIME | ty::TIMESTAMP => 7,
        ty::TIME => 8,
        ty::NULL => 9,
        t if is_blob(t) || t == ty::BIT || t == ty::GEOMETRY => 10,
        _ => 11,
    }
}

fn hash_of(types: &[SqlType]) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut h = DefaultHasher::new();
    types.hash(&mut h);
    // Apart from the protocol's hashes.
    h.finish() | 1 << 63
}

//! Prepared statements: of PREPARE, and of services that keep their clients' own.

use super::cached::CachedPlan;
use super::concluded::finish_execution;
use super::locks::is_stale;
use super::reply::Done;
use super::reply::Reply;
use super::text::{lex_mode, parse_error};
use super::variables::type_of;
use super::{Session, cached, logging, query, show};
use gannet_base::hash::HashMap;
use gannet_base::sync::atomic::Ordering;
use gannet_core::Core;
use gannet_core::instances::Instance;
use gannet_core::kept::DigestHandle;
use gannet_core::kinds::{self, count_statement};
use gannet_core::registry::{Activity, Entry};
use gannet_core::vars::Live;
use gannet_exec::Session as _;
use gannet_parser::ast::{self, ShowKind, Statement};
use gannet_parser::digest::{self, LiteralToken, Scan};
use gannet_parser::{Extent, Notice};
use gannet_plan::plan::{Param, ResultColumn};
use gannet_plan::{Plan, PlanKey};
use gannet_runtime::now_ns;
use gannet_telemetry::{Counter, add, count, sub};
use gannet_types::{CollationId, Result, SqlType, Value, sql_err};
use std::sync::Arc;

/// The prepared statements of PREPARE.
pub(crate) type Named = HashMap<String, Prepared>;

/// One prepared statement.
pub struct Prepared {
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
    plan: Option<Arc<CachedPlan>>,
    /// A plan was made for the types of values.
    typed: bool,
    /// Values of the plan's parameters; reused.
    values: Vec<Value>,
    /// It counts among the server's, once it is prepared.
    counted: Option<Counted>,
}

/// A place among the server's prepared statements, and among its session's.
struct Counted {
    core: Arc<Core>,
    entry: Arc<Entry>,
    instance: Arc<Instance>,
}

impl Counted {
    /// `name`: of PREPARE; `began_ns`: when its preparation did.
    fn new(session: &mut Session, made: &Prepared, name: Option<&str>, began_ns: u64) -> Self {
        let (core, entry) = (session.server.clone(), session.entry.clone());
        core.prepared.fetch_add(1, Ordering::Relaxed);
        add(Counter::PreparedStmtCount, 1);
        session.prepared = session.prepared.wrapping_add(1).max(1);
        let mode = lex_mode(session.settings.exec.sql_mode);
        let prepare_ns = now_ns().saturating_sub(began_ns);
        let instance = Arc::new(Instance::new(
            (session.prepared, name.map(str::to_owned)),
            (made.text.clone(), made.text_number, mode),
            (entry.deeds.history.count() + 1, prepare_ns),
        ));
        entry.deeds.prepared.add(instance.clone());
        Counted { core, entry, instance }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.entry.deeds.prepared.remove(&self.instance);
        self.core.prepared.fetch_sub(1, Ordering::Relaxed);
        sub(Counter::PreparedStmtCount, 1);
    }
}

/// What a client is told of a statement that was prepared.
pub struct Described {
    /// Columns of its result; none: it has none, or they are not known yet.
    pub columns: Vec<ResultColumn>,
    /// Types of its markers.
    pub markers: Vec<SqlType>,
    /// How many warnings its preparation raised.
    pub warnings: u64,
}

/// Where an execution's values for the markers come from.
pub trait Values {
    /// Puts them into `bound`, which is as long as there are markers, and has values of an earlier execution: each is
    /// replaced. Returns a number for the classes of their types: other numbers mean other plans. 0 stands for no
    /// types.
    fn take(&mut self, session: &mut Session, bound: &mut [Value]) -> Result<u64>;

    /// The types of the values that were taken; texts without a collation have that of literals.
    fn types(&self, literals: CollationId) -> Vec<SqlType>;
}

/// A value that is longer is not kept after the execution.
const LONG_KEPT: usize = 4096;

impl Prepared {
    /// How many markers it has.
    pub fn markers(&self) -> u16 {
        self.params
    }

    /// Its number among the session's.
    pub fn number(&self) -> u32 {
        self.counted.as_ref().map_or(0, |c| c.instance.number)
    }

    fn instance(&self) -> Option<&Arc<Instance>> {
        self.counted.as_ref().map(|c| &c.instance)
    }

    /// It is a query whose rows go to the client.
    pub fn is_query(&self) -> bool {
        matches!(&*self.statement, Statement::Query(query) if query.into.is_none())
    }

    /// Keeps a plan for the next execution.
    fn keep_plan(&mut self, entry: Arc<CachedPlan>) {
        // The types of user variables may change from one execution to the next.
        self.plan = Some(entry).filter(|e| !e.plan.uses.user_variables);
    }
}

impl Session {
    /// Prepares a statement for a client.
    pub fn prepare(&mut self, sql: &[u8]) -> Result<(Prepared, Described)> {
        let outcome = prepare_text(self, sql);
        if let Err(e) = &outcome {
            self.running.diagnostics.warnings.push(e.to_warning(gannet_types::Level::Error));
        }
        outcome
    }

    /// Executes a prepared statement, and answers.
    pub fn execute_prepared(&mut self, s: &mut Prepared, values: &mut dyn Values, reply: &mut dyn Reply) {
        let started = self.state.running.clock.ns;
        self.entry.begin_again(Activity::Execute, started, &s.text, s.text_number);
        if kinds::of(&s.statement).keeps_diagnostics {
            self.running.diagnostics.warnings.keep()
        } else {
            self.running.diagnostics.warnings.clear()
        }
        self.state.statement_id += 1;
        let outcome = if is_at_home(self, s) {
            execute_hinted(self, s, values, reply)
        } else {
            in_other_database(self, s.database.clone(), |own| execute_hinted(own, s, values, reply))
        };
        self.state.running.attributes = None;
        logging::note_execution(self, &s.text, &s.values);
        let outcome = finish_execution(self, started, (&s.digest, s.text_number), &s.values, outcome);
        if s.values.iter().any(|v| v.long_bytes() > LONG_KEPT) {
            s.values = Vec::new();
        }
        self.answer(reply, outcome);
    }

    /// Keeps the query attributes of a command, as text, for `mysql_query_attribute_string()`.
    pub fn keep_attributes(&mut self, attributes: impl Iterator<Item = (Box<[u8]>, Value)>) {
        for (name, value) in attributes {
            let value = match value {
                Value::Null => Value::Null,
                value => {
                    let text = gannet_types::convert::utf8_text(&value.as_ref()).into_owned();
                    let readable = String::from_utf8_lossy(&text);
                    Value::Str(readable.as_bytes().into(), CollationId::UTF8MB4_0900_AI_CI)
                }
            };
            self.state.running.attributes.get_or_insert_default().push((name, value));
        }
    }
}

/// Error 1046 for a statement that means the current database where there is none.
fn require_database(session: &Session, statement: &Statement) -> Result<()> {
    let unnamed = match statement {
        _ if session.state.database.is_some() => false,
        Statement::Call { name, .. } => name.schema.is_none(),
        Statement::Show(show) => match &show.kind {
            ShowKind::Tables { schema, .. }
            | ShowKind::TableStatus { schema }
            | ShowKind::Triggers { schema, .. }
            | ShowKind::Events { schema } => schema.is_none(),
            ShowKind::Columns { table, .. } | ShowKind::Index { table, .. } => table.schema.is_none(),
            _ => false,
        },
        other => gannet_exec::ddl::locked_tables(other).iter().any(|name| name.schema.is_none()),
    };
    if unnamed { Err(sql_err!(NoDb)) } else { Ok(()) }
}

/// Parses and plans a statement that is to be prepared; its text is in the server's character set.
fn make_prepared(session: &mut Session, sql: &[u8]) -> Result<Prepared> {
    let server = session.server.clone();
    let limit = server.globals.get(Live::MaxPreparedStmtCount).as_u64();
    if server.prepared.load(Ordering::Relaxed) >= limit {
        return Err(sql_err!(MaxPreparedStmtCountReached, limit));
    }
    let mut text: Arc<[u8]> = sql.into();
    if session.state.if_exists
        && let Some(conditional) = crate::dialect::conditional(&text)
    {
        text = conditional.into();
    }
    let mode = lex_mode(session.settings.exec.sql_mode);
    let mut scan = Scan::new(server.scan_secret);
    let shared = digest::scan(&text, mode, &mut scan);
    let extent = if shared { Extent::Parameterised } else { Extent::Whole };
    let parsed = gannet_parser::parse_until(&text, mode, extent, gannet_exec::stopped).map_err(parse_error)?;
    if matches!(parsed.statement, ast::Statement::Empty) {
        return Err(sql_err!(EmptyQuery));
    }
    if !kinds::of(&parsed.statement).prepared {
        return Err(sql_err!(UnsupportedPs));
    }
    require_database(session, &parsed.statement)?;
    let params = u16::try_from(parsed.params).map_err(|_| sql_err!(PsManyParam))?;
    Ok(Prepared {
        digest: session.digest_handle(&text),
        text_number: session.entry.new_text(),
        sets_variables: super::hinted::sets_variables(&parsed.statement),
        statement: Arc::new(parsed.statement),
        notices: parsed.notices.into(),
        params,
        shape: scan.shape,
        literals: if shared { scan.literals.into() } else { Box::new([]) },
        private: !shared,
        database: session.state.database.clone(),
        plan: None,
        typed: false,
        values: Vec::new(),
        counted: None,
        text,
    })
}

/// Prepares a statement of the server's own, for [`execute_typed`].
pub(crate) fn make_own(session: &mut Session, sql: &[u8]) -> Result<Prepared> {
    make_prepared(session, sql)
}

/// Executes a statement that [`make_own`] has prepared, with values of these types: the same types each time.
pub(crate) fn execute_typed(
    session: &mut Session,
    s: &mut Prepared,
    types: &[SqlType],
    bound: &[Value],
    reply: &mut dyn Reply,
) -> Result<Done> {
    let number = hash_of(types);
    let mut tries = 0;
    loop {
        session.state.renew_snapshot();
        let entry = plan_prepared(session, s, types, bound, number)?;
        let values = arrange(session, &entry.plan, s, bound)?;
        match session.run_cached(&entry, &values, reply) {
            Err(e) if is_stale(&e) && tries < 10 => tries += 1,
            outcome => {
                s.keep_plan(entry);
                return outcome;
            }
        }
    }
}

fn prepare_text(session: &mut Session, sql: &[u8]) -> Result<(Prepared, Described)> {
    // SHOW WARNINGS and similar statements show diagnostics that outlive their own preparation.
    let shown = std::mem::take(&mut session.running.diagnostics.warnings);
    let began_ns = session.state.running.clock.ns;
    let text = query::to_utf8(session, sql).into_owned();
    let mut made = make_prepared(session, &text)?;
    if kinds::of(&made.statement).keeps_diagnostics {
        session.running.diagnostics.warnings = shown;
        session.running.diagnostics.warnings.keep();
    }
    session.warn_of(&made.notices);
    session.state.renew_snapshot();
    let mut markers: Vec<SqlType> = Vec::new();
    let mut columns: Vec<ResultColumn> = Vec::new();
    if session.is_planned_here(&made.statement) {
        let entry = plan_prepared(session, &mut made, &[], &[], 0)?;
        if super::query::takes_base(&entry.plan) {
            session.work.require_read_write()?;
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
        made.keep_plan(entry);
    } else if let Statement::Show(_) | Statement::Explain(_) | Statement::Describe { .. } = &*made.statement {
        columns = show::columns_of(session, &made.statement)?;
    }
    markers.resize(made.params.into(), SqlType::varchar(255, CollationId::DEFAULT));
    made.counted = Some(Counted::new(session, &made, None, began_ns));
    let warnings = session.running.diagnostics.warnings.raised();
    Ok((made, Described { columns, markers, warnings }))
}

/// The plan for the given parameter types: the one at hand when nothing changed, else from the cache, else made
/// anew. The one at hand is moved out, for [`keep_plan`](Prepared::keep_plan) to put back: counting a reference
/// would write a line that all sessions with this statement share.
fn plan_prepared(
    session: &mut Session,
    s: &mut Prepared,
    markers: &[SqlType],
    values: &[Value],
    types_hash: u64,
) -> Result<Arc<CachedPlan>> {
    let key = session.plan_key(s.shape, types_hash);
    if let Some(plan) = s.plan.take_if(|p| p.key == key && p.plan.is_current()) {
        if plan.is_asked() {
            return prepared_of_class(session, plan, s, (markers, values), key);
        }
        return Ok(plan);
    }
    // The first values may have other types than those that were thought of.
    let first = !std::mem::replace(&mut s.typed, types_hash != 0) && types_hash != 0;
    // Nor is it told where nothing but the figures of its tables has moved.
    if !first && s.plan.as_ref().is_some_and(|p| p.key != key) {
        count(Counter::ComStmtReprepare);
        s.instance().iter().for_each(|i| i.is_prepared_again(&session.server.registry.prepared));
    }
    let found = if s.private { None } else { cached::find_prepared_plan(session, &key, &s.text, &s.literals, None) };
    let entry = match found {
        Some(entry) if entry.is_asked() => prepared_of_class(session, entry, s, (markers, values), key)?,
        Some(entry) => entry,
        None => make_prepared_plan(session, s, (markers, values), key)?,
    };
    s.plan = None;
    Ok(entry)
}

/// Plans a prepared statement for given types and values.
#[cold]
fn make_prepared_plan(
    session: &mut Session,
    s: &Prepared,
    given: (&[SqlType], &[Value]),
    key: PlanKey,
) -> Result<Arc<CachedPlan>> {
    let source = (!s.private).then_some((&*s.text, &*s.literals));
    let plan = session.make_plan(&s.statement, given, source)?;
    Ok(if s.private {
        cached::enter_private_plan(session, plan, key, &s.text, &s.statement)
    } else {
        session.enter_plan(plan, key, &s.text, &s.literals, &s.statement, &s.notices)
    })
}

/// The plan that is right for the values at hand, when `entry` is dear or was seen to read too much: see
/// [`gannet_plan::dive`].
#[cold]
fn prepared_of_class(
    session: &mut Session,
    entry: Arc<CachedPlan>,
    s: &Prepared,
    given: (&[SqlType], &[Value]),
    key: PlanKey,
) -> Result<Arc<CachedPlan>> {
    if given.1.len() < usize::from(s.params) {
        return Ok(entry);
    }
    let values = arrange(session, &entry.plan, s, given.1)?;
    let class = entry.plan.class_of(&values, session, &session.settings.exec.time_zone);
    if class == entry.plan.selectivity {
        return Ok(entry);
    }
    match cached::find_prepared_plan(session, &key, &s.text, &s.literals, Some(class)) {
        Some(other) => Ok(other),
        None if session.plans.is_full(&key) => Ok(entry),
        None => make_prepared_plan(session, s, given, key),
    }
}

#[inline(always)]
fn execute_statement(
    session: &mut Session,
    s: &mut Prepared,
    values: &mut dyn Values,
    reply: &mut dyn Reply,
) -> Result<Done> {
    let n = usize::from(s.params);
    let mut bound = std::mem::take(&mut s.values);
    if bound.len() != n {
        bound.resize(n, Value::Null);
    }
    let types_hash = values.take(session, &mut bound)?;
    session.state.renew_snapshot();
    if !session.is_planned_here(&s.statement) {
        count_statement(&s.statement);
        return run_unplanned(session, s, bound, None, reply);
    }
    let key = session.plan_key(s.shape, types_hash);
    let entry = match s.plan.take_if(|p| p.key == key && p.plan.is_current() && !p.is_asked()) {
        Some(plan) => plan,
        None => plan_prepared(session, s, &values.types(session.literal_collation()), &bound, types_hash)?,
    };
    count(Counter::PlanCacheHits);
    if let Some(c) = entry.digest.counter {
        count(c);
    }
    let arranged;
    let arguments = if are_markers(&entry.plan.params, n) {
        &bound
    } else {
        arranged = arrange(session, &entry.plan, s, &bound)?;
        &arranged
    };
    let mut outcome = session.last(reply.resumes(), |session| session.run_cached(&entry, arguments, reply));
    if outcome.as_ref().is_err_and(is_stale) {
        let types = values.types(session.literal_collation());
        outcome = again(session, s, (&types, types_hash), &bound, reply);
    } else {
        s.keep_plan(entry);
    }
    s.values = bound;
    outcome
}

/// The tables changed since the plan was made: plans and runs once more, several times if need be.
#[cold]
fn again(
    session: &mut Session,
    s: &mut Prepared,
    (types, types_hash): (&[SqlType], u64),
    bound: &[Value],
    reply: &mut dyn Reply,
) -> Result<Done> {
    for _ in 0..10 {
        session.state.renew_snapshot();
        let entry = plan_prepared(session, s, types, bound, types_hash)?;
        let values = arrange(session, &entry.plan, s, bound)?;
        match session.run_cached(&entry, &values, reply) {
            Err(e) if is_stale(&e) => {}
            outcome => {
                s.keep_plan(entry);
                return outcome;
            }
        }
    }
    Err(sql_err!(NeedReprepare))
}

/// The values of the plan's parameters: markers and literals of the text.
fn arrange(session: &Session, plan: &Plan, s: &Prepared, bound: &[Value]) -> Result<Vec<Value>> {
    session.bind(plan, &s.literals, &s.text, bound)
}

/// PREPARE.
pub(crate) fn prepare_named(session: &mut Session, name: &str, source: &ast::PrepareSource) -> Result<Done> {
    count(Counter::ComPrepareSql);
    session.tracker.change();
    let sql = match source {
        ast::PrepareSource::Text(text) => text.to_vec(),
        ast::PrepareSource::Variable(v) => match session.state.user_variable(v) {
            // MySQL takes NULL for the text 'NULL'.
            Value::Null => b"NULL".to_vec(),
            value => {
                let mut text = Vec::new();
                value.write_text(&mut text);
                let literals = session.settings.charsets.connection.charset();
                match &value {
                    Value::Str(_, c) if c.is_binary() => query::to_utf8(session, &text).into_owned(),
                    Value::Str(_, c) => c.charset().statement(&text, literals).into_owned(),
                    _ => text,
                }
            }
        },
    };
    let key = name.to_lowercase();
    // An old statement of this name goes first, even when the new one is wrong.
    session.statements.remove(&key);
    // As in MySQL these count as the protocol's commands, too.
    count(Counter::ComStmtPrepare);
    let began_ns = now_ns();
    let mut made = make_prepared(session, &sql)?;
    session.warn_of(&made.notices);
    session.state.renew_snapshot();
    if session.is_planned_here(&made.statement) {
        let entry = plan_prepared(session, &mut made, &[], &[], 0)?;
        if super::query::takes_base(&entry.plan) {
            session.work.require_read_write()?;
        }
        made.keep_plan(entry);
    }
    made.counted = Some(Counted::new(session, &made, Some(name), began_ns));
    session.statements.insert(key, made);
    Ok(Done { info: "Statement prepared".into(), ..Done::default() })
}

/// EXECUTE.
pub(crate) fn execute_named(
    session: &mut Session,
    name: &str,
    using: &[ast::Ident],
    reply: &mut dyn Reply,
) -> Result<Done> {
    count(Counter::ComExecuteSql);
    let key = name.to_lowercase();
    let unknown = || sql_err!(UnknownStmtHandler, name, "EXECUTE");
    let mut s = session.statements.remove(&key).ok_or_else(unknown)?;
    count(Counter::ComStmtExecute);
    let outcome = if is_at_home(session, &s) {
        execute_named_hinted(session, &mut s, using, reply)
    } else {
        in_other_database(session, s.database.clone(), |own| execute_named_hinted(own, &mut s, using, reply))
    };
    session.executed = s.instance().cloned();
    session.statements.insert(key, s);
    outcome
}

fn execute_by_name(
    session: &mut Session,
    s: &mut Prepared,
    using: &[ast::Ident],
    reply: &mut dyn Reply,
) -> Result<Done> {
    if using.len() != usize::from(s.params) {
        return Err(sql_err!(WrongArguments, "EXECUTE"));
    }
    let bound: Vec<Value> = using.iter().map(|v| session.state.user_variable(v)).collect();
    session.state.renew_snapshot();
    count_statement(&s.statement);
    if !session.is_planned_here(&s.statement) {
        return run_unplanned(session, s, bound, Some(using), reply);
    }
    let markers: Vec<SqlType> = bound.iter().map(type_of).collect();
    let mut tries = 0;
    loop {
        let entry = plan_prepared(session, s, &markers, &bound, hash_of(&markers))?;
        let values = arrange(session, &entry.plan, s, &bound)?;
        match session.run_cached(&entry, &values, reply) {
            Err(e) if is_stale(&e) && tries < 10 => tries += 1,
            outcome => {
                s.keep_plan(entry);
                return outcome;
            }
        }
        session.state.renew_snapshot();
    }
}

/// Runs a statement that is not planned as a whole: the plans inside it find the parameters in
/// [`Session::markers`].
fn run_unplanned(
    session: &mut Session,
    s: &Prepared,
    markers: Vec<Value>,
    using: Option<&[ast::Ident]>,
    reply: &mut dyn Reply,
) -> Result<Done> {
    let statement = s.statement.clone();
    session.running.markers = markers;
    let around = session.own_text.replace(s.text.clone());
    let outcome = session.perform(&statement, reply);
    session.own_text = around;
    let values = std::mem::take(&mut session.running.markers);
    let outs = std::mem::take(&mut session.running.outs);
    if outs.is_empty() || outcome.is_err() {
        return outcome;
    }
    match using {
        Some(names) => {
            for (n, ..) in outs {
                let name = names.get(n as usize).map_or("", |name| &name.text);
                session.assign(name, values[n as usize].clone())?;
            }
        }
        None if session.abilities.takes_outs => send_outs(session, &outs, &values, reply)?,
        None => {}
    }
    outcome
}

/// One more result set of one row before the end of a prepared CALL: the values of its OUT and INOUT parameters.
fn send_outs(
    session: &mut Session,
    outs: &[(u32, Box<str>, SqlType)],
    values: &[Value],
    reply: &mut dyn Reply,
) -> Result<()> {
    let more = std::mem::replace(&mut session.running.more, true);
    let columns: Vec<_> = outs.iter().map(|(_, name, ty)| super::reply::plain_column(name, ty.clone())).collect();
    let row: Vec<Value> = outs.iter().map(|(n, ..)| values[*n as usize].clone()).collect();
    let status = super::reply::Status { outs: true, ..session.status() };
    reply.begin(&columns, super::reply::Manner { status, ..session.manner() }, None)?;
    reply.row(&row)?;
    reply.end(&super::reply::Ended { done: &Done::ROWS, status, warnings: 0, changes: &[] });
    session.running.more = more;
    Ok(())
}

/// DEALLOCATE PREPARE.
pub(crate) fn deallocate(session: &mut Session, name: &str) -> Result<Done> {
    count(Counter::ComDeallocSql);
    session.tracker.change();
    if session.statements.remove(&name.to_lowercase()).is_none() {
        return Err(sql_err!(UnknownStmtHandler, name, "DEALLOCATE PREPARE"));
    }
    count(Counter::ComStmtClose);
    Ok(Done::default())
}

/// The statement was prepared in the database that is current.
#[inline]
fn is_at_home(session: &Session, s: &Prepared) -> bool {
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
    // One that was dropped is none for the session; the statement's names are still of it.
    session.state.set_database(its);
    let outcome = run(session);
    session.state.renew_snapshot();
    let kept = own.clone().filter(|name| there(session, name));
    session.running.database_dropped = own.is_some() && kept.is_none();
    session.entry.set_database(kept.clone());
    session.state.set_database(kept);
    outcome
}

#[inline]
fn execute_hinted(
    session: &mut Session,
    s: &mut Prepared,
    values: &mut dyn Values,
    reply: &mut dyn Reply,
) -> Result<Done> {
    if s.sets_variables {
        let statement = s.statement.clone();
        return session.with_hinted(&statement, |session| execute_statement(session, s, values, reply));
    }
    execute_statement(session, s, values, reply)
}

fn execute_named_hinted(
    session: &mut Session,
    s: &mut Prepared,
    using: &[ast::Ident],
    reply: &mut dyn Reply,
) -> Result<Done> {
    if s.sets_variables {
        let statement = s.statement.clone();
        return session.with_hinted(&statement, |session| execute_by_name(session, s, using, reply));
    }
    execute_by_name(session, s, using, reply)
}

/// The common case: a plan's parameters are the statement's markers, in order.
fn are_markers(params: &[Param], markers: usize) -> bool {
    let is = |(i, p): (usize, &Param)| matches!(p, Param::Marker { index, .. } if *index as usize == i);
    params.len() == markers && params.iter().enumerate().all(is)
}

fn hash_of(types: &[SqlType]) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut h = DefaultHasher::new();
    types.hash(&mut h);
    // Apart from the protocol's hashes.
    h.finish() | 1 << 63
}

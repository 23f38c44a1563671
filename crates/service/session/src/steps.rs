//! Runs the steps of stored programs.
//!
//! A [`Frame`] is a program that runs. While one of its statements runs, its variables are the statement's parameters
//! (`Running::markers`), and `Running::locals` says which names mean them.

use super::alone::{self, converted, or_null, value_of_code, value_stored};
use super::cached::CachedPlan;
use super::frame::{Active, Frame, OpenCursor, in_program};
use super::locks::is_stale;
use super::reply::{Done, Ended, Manner, Reply};
use super::running::{Clock, Figures, storing};
use super::{Charsets, Session, cached};
use gannet_base::Attached;
use gannet_core::kinds;
use gannet_core::vars::Live;
use gannet_exec::spill::Around;
use gannet_exec::{ResultSink, Rows, Stored};
use gannet_parser::ast::{IntoTarget, Statement};
use gannet_plan::PlanKey;
use gannet_plan::plan::ResultColumn;
use gannet_program::{Inner, Place, Program, Raised, Step};
use gannet_runtime::now_ns;
use gannet_telemetry::{Counter, Execution, Rare, WORK, Work};
use gannet_types::convert;
use gannet_types::room::Room;
use gannet_types::{ErrorCode, Level, Result, SqlError, Value, Warning, sql_err};
use std::sync::Arc;

/// How often rounds of a loop that only set variables look at the clock: once in so many.
const ROUNDS: u8 = 16;

/// How often a statement is planned again when its tables change between planning and locking.
const MAX_REPLANS: u32 = 10;

/// Where a program goes on.
enum Flow {
    Next,
    /// The next step, after a step that may have raised warnings.
    Raised,
    To(Place),
    /// The same, after a step that may have raised warnings.
    RaisedTo(Place),
    Return(Value),
}

/// Passes a statement's answers on, and knows whether a result set is under way.
struct Between<'a> {
    to: &'a mut dyn Reply,
    open: bool,
}

impl Reply for Between<'_> {
    fn begin(&mut self, columns: &[ResultColumn], manner: Manner, place: Option<&Attached>) -> Result<()> {
        self.to.begin(columns, manner, place)?;
        self.open = true;
        Ok(())
    }

    fn rows(&mut self, rows: Rows<'_>, count: usize) -> Result<()> {
        self.to.rows(rows, count)
    }

    fn stored(&mut self, row: Stored<'_>) -> Result<()> {
        self.to.stored(row)
    }

    fn row(&mut self, row: &[Value]) -> Result<()> {
        self.to.row(row)
    }

    fn end(&mut self, ended: &Ended<'_>) {
        self.open = false;
        self.to.end(ended);
    }

    fn error(&mut self, error: &SqlError, charsets: &Charsets) {
        self.open = false;
        self.to.error(error, charsets);
    }
}

/// Keeps the rows of a cursor.
#[derive(Default)]
struct CursorSink {
    rows: Vec<Vec<Value>>,
    width: usize,
    bytes: usize,
}

impl ResultSink for CursorSink {
    fn begin(&mut self, columns: &[ResultColumn]) -> Result<()> {
        self.width = columns.len();
        Ok(())
    }

    fn rows(&mut self, rows: Rows<'_>) -> Result<()> {
        for i in 0..rows.len() {
            let row: Vec<Value> = (0..rows.width()).map(|c| rows.value(i, c).to_owned()).collect();
            self.bytes += row.iter().map(|v| size_of::<Value>() + v.long_bytes()).sum::<usize>();
            self.rows.push(row);
        }
        Ok(())
    }
}

impl Session {
    /// The variable of a name. Error 1327.
    pub(super) fn slot_of(&self, name: &str) -> Result<(gannet_program::Names, u32)> {
        let undeclared = || sql_err!(SpUndeclaredVar, name);
        let names = self.running.locals.clone().ok_or_else(undeclared)?;
        let slot = names.slot(name).ok_or_else(undeclared)?;
        Ok((names, slot))
    }

    /// Assigns what INTO names, or GET DIAGNOSTICS, which cuts what does not fit and is not `strict`.
    pub(super) fn assign_target(&mut self, target: &IntoTarget, value: Value, strict: bool) -> Result<()> {
        match target {
            IntoTarget::User(name) => self.assign(name, value),
            IntoTarget::Local(name) => {
                let (names, slot) = self.slot_of(&name.text)?;
                let value = if strict { value } else { alone::told(self, value, names.of(slot))? };
                assign_slot(self, &names, slot, value)
            }
        }
    }
}

/// Runs a program to its end. Gives what a function returns.
pub(crate) fn run_program(session: &mut Session, frame: &mut Frame, reply: &mut dyn Reply) -> Result<Option<Value>> {
    let handlers = session.running.diagnostics.stacked.len();
    let began_ns = now_ns();
    let outcome = run_steps(session, frame, reply);
    frame.program.figures.runs.note(now_ns().saturating_sub(began_ns));
    session.running.diagnostics.stacked.truncate(handlers);
    for cursor in frame.cursors.iter_mut().filter_map(Option::take) {
        session.state.held.give(cursor.held);
    }
    outcome
}

fn run_steps(session: &mut Session, frame: &mut Frame, reply: &mut dyn Reply) -> Result<Option<Value>> {
    let program = frame.program.clone();
    loop {
        let place = frame.at;
        let Some(step) = program.steps.get(place as usize) else { return Ok(None) };
        match run_step(session, &program, frame, step, reply) {
            Ok(Flow::Next) => frame.at = place + 1,
            Ok(Flow::Raised) => {
                (frame.at, frame.plain) = (place + 1, false);
                catch_warnings(session, &program, frame, place);
            }
            Ok(Flow::To(to)) => go_to(frame, to)?,
            Ok(Flow::RaisedTo(to)) => {
                frame.plain = false;
                go_to(frame, to)?;
                catch_warnings(session, &program, frame, place);
            }
            Ok(Flow::Return(value)) => return Ok(Some(value)),
            Err(error) => {
                frame.plain = false;
                catch(session, &program, frame, place, error)?;
            }
        }
    }
}

/// Goes on elsewhere. Error 1317 on the way back, where a loop without an end can be stopped.
fn go_to(frame: &mut Frame, to: Place) -> Result<()> {
    if to <= frame.at {
        // Rounds that only set variables are short: the clock is not read in each.
        frame.rounds = if frame.plain { (frame.rounds + 1) % ROUNDS } else { 0 };
        if frame.rounds == 0 {
            gannet_runtime::yield_if_due();
        }
        if gannet_runtime::interrupted() {
            return Err(sql_err!(QueryInterrupted));
        }
    }
    frame.at = to;
    Ok(())
}

fn run_step(
    session: &mut Session,
    program: &Arc<Program>,
    frame: &mut Frame,
    step: &Step,
    reply: &mut dyn Reply,
) -> Result<Flow> {
    match step {
        Step::Set { slot, value: None } => {
            frame.set(*slot, Value::Null);
            Ok(Flow::Next)
        }
        Step::Set { slot, value: Some(code) } => {
            session.running.diagnostics.clear();
            let to = &program.slots[*slot as usize];
            let quick = alone::integer(session, program, &frame.slots, *code);
            if let Some(value) = quick.and_then(|n| alone::fitting(n, &to.ty)) {
                frame.set(*slot, value);
                return Ok(Flow::Next);
            }
            raising(session, |s| {
                let (value, outcome) = or_null(storing(s, |s| value_stored(s, program, frame, *code, to)));
                frame.set(*slot, value);
                outcome.map(|()| Flow::Next)
            })
        }
        Step::Test { condition, otherwise } => {
            session.running.diagnostics.clear();
            let flow = |truth: bool| if truth { Flow::Next } else { Flow::To(*otherwise) };
            match alone::integer(session, program, &frame.slots, *condition) {
                Some(n) => Ok(flow(n.is_some_and(|n| n != 0))),
                None => raising(session, |s| is_true(s, program, frame, *condition).map(flow)),
            }
        }
        Step::Choose { index, places, otherwise } => raising(session, |s| {
            let chosen = match value_of_code(s, program, frame, *index)? {
                Value::Int(n) => usize::try_from(n).unwrap_or(0),
                Value::UInt(n) => usize::try_from(n).unwrap_or(0),
                _ => 0,
            };
            Ok(Flow::To(chosen.checked_sub(1).and_then(|n| places.get(n)).copied().unwrap_or(*otherwise)))
        }),
        Step::Jump(to) => Ok(Flow::To(*to)),
        Step::Run(number) => {
            frame.plain = false;
            run_inner(session, program, frame, *number, reply)?;
            Ok(Flow::Raised)
        }
        Step::Open(_) | Step::Fetch { .. } | Step::Close(_) => {
            frame.plain = false;
            run_cursor(session, program, frame, step)
        }
        Step::CloseAll(range) => {
            for cursor in &mut frame.cursors[range.start as usize..range.end as usize] {
                let held = cursor.take().map_or(0, |open| open.held);
                session.state.held.give(held);
            }
            Ok(Flow::Next)
        }
        Step::Return(code) => give_back(session, program, frame, *code),
        Step::HandlerEnd { exit, depth } => Ok(end_handler(session, frame, *exit, *depth)),
        Step::NoCase => Err(no_case(session)),
    }
}

/// Whether a condition is true.
fn is_true(session: &mut Session, program: &Arc<Program>, frame: &mut Frame, condition: u32) -> Result<bool> {
    let value = value_of_code(session, program, frame, condition)?;
    let mut conversion = convert::Context {
        mode: session.settings.exec.sql_mode,
        zone: &session.settings.exec.time_zone,
        today: session.settings.exec.today,
        strict: false,
        warnings: &mut session.running.diagnostics.warnings,
        stopped: gannet_exec::stopped,
        room: Room::FREE,
    };
    Ok(match &value {
        Value::Null => false,
        Value::Int(n) => *n != 0,
        other => convert::to_bool(other.as_ref(), &mut conversion)? == Some(true),
    })
}

/// A CASE without a match: what was raised before it is no longer in the diagnostics area.
fn no_case(session: &mut Session) -> SqlError {
    session.running.diagnostics.clear();
    sql_err!(SpCaseNotFound)
}

/// OPEN, FETCH, CLOSE: they clear the diagnostics area first, also where they fail.
fn run_cursor(session: &mut Session, program: &Arc<Program>, frame: &mut Frame, step: &Step) -> Result<Flow> {
    session.running.diagnostics.clear();
    let flow = match step {
        Step::Open(cursor) => open_rows(session, program, frame, *cursor)?,
        Step::Fetch { cursor, into } => fetch(session, program, frame, *cursor, into)?,
        Step::Close(cursor) => close_rows(session, frame, *cursor)?,
        _ => return Err(SqlError::internal("a step without a cursor")),
    };
    Ok(if session.running.diagnostics.warnings.is_empty() { flow } else { Flow::Raised })
}

/// RETURN.
fn give_back(session: &mut Session, program: &Arc<Program>, frame: &mut Frame, code: u32) -> Result<Flow> {
    // The statement that calls is told what RETURN raises, not what was raised before.
    drop(session.running.diagnostics.set_aside());
    session.running.diagnostics.cleared();
    let Some(to) = &program.returns else { return Err(SqlError::internal("RETURN outside of a function")) };
    storing(session, |s| value_stored(s, program, frame, code, to)).map(Flow::Return)
}

/// Runs a step that may raise something; the diagnostics area is cleared first.
fn raising(session: &mut Session, f: impl FnOnce(&mut Session) -> Result<Flow>) -> Result<Flow> {
    session.running.diagnostics.clear();
    let flow = f(session)?;
    Ok(match flow {
        flow if session.running.diagnostics.warnings.is_empty() => flow,
        Flow::Next => Flow::Raised,
        // A test that has warned goes where it goes, unless a handler takes the warning.
        Flow::To(to) => Flow::RaisedTo(to),
        flow => flow,
    })
}

/// The step's warnings and notes: the last one that has a handler is handled. An error that a statement only notes
/// (GET DIAGNOSTICS, CHECK TABLE) is none that a handler takes.
fn catch_warnings(session: &mut Session, program: &Program, frame: &mut Frame, place: Place) {
    let raised = usize::try_from(session.running.diagnostics.warnings.raised()).unwrap_or(usize::MAX);
    if raised == 0 {
        return;
    }
    let own = session.running.diagnostics.warnings.iter().rev().take(raised);
    let mut own = own.filter(|w| w.level != Level::Error);
    let found = own.find_map(|w| program.handler(place, &Raised::from(w)).map(|h| (h.place, w.clone())));
    if let Some((handler, warning)) = found {
        activate(session, program, frame, place, handler, warning);
    }
}

/// An error: the handler for it runs, or it is the program's.
fn catch(session: &mut Session, program: &Program, frame: &mut Frame, place: Place, error: SqlError) -> Result<()> {
    let error = session.final_error(error);
    let raised = Raised::from(&error);
    // Inside another statement there is nothing to go on with when its transaction is gone.
    let gone = session.is_inside() && !session.work.txn().is_active() && error.code() == ErrorCode::LockDeadlock;
    let handler = program.handler(place, &raised).filter(|_| !raised.is_fatal() && !gone).map(|h| h.place);
    let Some(handler) = handler else { return Err(error) };
    if session.server.registry.collects_of(&session.entry) {
        session.server.registry.handled(&session.entry, error.number(), session.state.running.clock.unix_us);
    }
    let condition = error.to_warning(Level::Error);
    session.running.diagnostics.warnings.push(condition.clone());
    activate(session, program, frame, place, handler, condition);
    Ok(())
}

fn activate(
    session: &mut Session,
    program: &Program,
    frame: &mut Frame,
    place: Place,
    handler: Place,
    raised: Warning,
) {
    let handled = session.running.diagnostics.stack(raised);
    frame.active.push(Active { resume: program.resume(place), handled });
    frame.at = handler;
}

fn end_handler(session: &mut Session, frame: &mut Frame, exit: Option<Place>, depth: u32) -> Flow {
    let Some(active) = frame.active.pop() else { return Flow::Next };
    session.running.diagnostics.unstack(&active.handled);
    let Some(end) = exit else { return Flow::To(active.resume) };
    while frame.active.len() > depth as usize {
        frame.active.pop();
        session.running.diagnostics.stacked.pop();
    }
    Flow::To(end)
}

/// Assigns a variable of the program whose statement runs.
pub(crate) fn assign_slot(session: &mut Session, names: &gannet_program::Names, slot: u32, value: Value) -> Result<()> {
    let (value, outcome) = or_null(converted(session, value, names.of(slot)));
    if let Some(place) = session.running.markers.get_mut(slot as usize) {
        *place = value;
    }
    outcome
}

fn run_inner(
    session: &mut Session,
    program: &Arc<Program>,
    frame: &mut Frame,
    number: u32,
    reply: &mut dyn Reply,
) -> Result<()> {
    let inner = &program.statements[number as usize];
    let account = InnerAccount::open(session);
    begin_inner(session, &inner.statement);
    let mut between = Between { to: reply, open: false };
    // What is prepared knows no variables of the program.
    let dynamic =
        matches!(inner.statement, Statement::Prepare { .. } | Statement::Execute { .. } | Statement::Deallocate(_));
    let outcome = if dynamic {
        session.perform(&inner.statement, &mut between)
    } else if let Statement::Set(items) = &inner.statement
        && !inner.values.is_empty()
    {
        alone::set_users(session, program, frame, (inner, items)).map(|()| Done::default())
    } else {
        in_program(session, program, frame, inner.scope, |s| {
            if kinds::of(&inner.statement).way == kinds::Way::Planned && s.is_planned_here(&inner.statement) {
                run_planned(s, program, number, inner, &mut between)
            } else {
                perform_inner(s, inner, &mut between)
            }
        })
    };
    let failed_within = between.open && outcome.is_err();
    let outcome = outcome.map_err(|e| session.final_error(e));
    let area = &mut session.running.diagnostics;
    if (outcome.is_err() || area.warnings.raised() > 0) && !kinds::of(&inner.statement).keeps_diagnostics {
        area.warnings.forget_kept();
    }
    end_inner(session, &outcome);
    let affected = outcome.as_ref().map_or(0, |done| if done.rows { 0 } else { done.affected });
    let warnings = session.running.diagnostics.warnings.raised();
    account.close(session, &program.figures, (outcome.is_err(), affected, warnings));
    if failed_within || outcome.as_ref().is_ok_and(|done| done.rows) {
        reply.end(&Ended { done: &Done::ROWS, status: session.status(), warnings, changes: &[] });
    }
    outcome.map(drop)
}

/// What a statement of a program takes, while it runs.
struct InnerAccount {
    began_ns: u64,
    locks_ns: u64,
    cpu_ns: u64,
    work: [u64; WORK.len()],
    /// Of the statement around.
    memory: Around,
    outer: Figures,
}

impl InnerAccount {
    fn open(session: &mut Session) -> InnerAccount {
        let cpu_ns = InnerAccount::cpu_ns(session);
        let counters = &session.entry.counters;
        InnerAccount {
            cpu_ns,
            began_ns: now_ns(),
            locks_ns: counters.get(Counter::LockWaitNs),
            work: WORK.map(|c| counters.get(c)),
            memory: session.entry.memory.within(),
            outer: std::mem::take(&mut session.running.figures),
        }
    }

    fn cpu_ns(session: &Session) -> u64 {
        if super::counting::measures_cpu(session) { super::counting::cpu_now(session) } else { 0 }
    }

    /// Adds it to the program's figures, and what was read and sent to those of the statement around.
    fn close(self, session: &mut Session, to: &gannet_program::Figures, outcome: (bool, u64, u64)) {
        let (error, rows_affected, warnings) = outcome;
        let own = std::mem::replace(&mut session.running.figures, self.outer);
        let cpu_ns = InnerAccount::cpu_ns(session).saturating_sub(self.cpu_ns);
        let counters = &session.entry.counters;
        let memory = session.entry.memory.end_within(self.memory);
        let added = || std::array::from_fn(|i| counters.get(WORK[i]).wrapping_sub(self.work[i]));
        let work = (own.works || memory > 0).then(|| Work { counters: added(), memory });
        let locks_ns = counters.get(Counter::LockWaitNs).wrapping_sub(self.locks_ns);
        let execution = Execution {
            latency_ns: now_ns().saturating_sub(self.began_ns),
            rows_sent: own.sent,
            rows_examined: own.examined,
            rows_affected,
            end_unix_us: 0,
            rare: Rare { error, no_index: own.no_index, locks_ns, cpu_ns, warnings, work }.if_any(),
        };
        to.statements.add_shared(&execution);
        session.executed.take().iter().for_each(|i| i.did(&execution, &session.server.registry.prepared));
        let outer = &mut session.running.figures;
        outer.sent += own.sent;
        outer.examined += own.examined;
        outer.no_index |= own.no_index;
        outer.works |= own.works;
    }
}

/// Runs a statement of a program that no plan is for. The binary log has the text of a definition.
fn perform_inner(session: &mut Session, inner: &Inner, reply: &mut dyn Reply) -> Result<Done> {
    if kinds::of(&inner.statement).logged != kinds::Logged::Text {
        return session.perform(&inner.statement, reply);
    }
    let around = session.own_text.replace(inner.text.as_bytes().into());
    let outcome = session.perform(&inner.statement, reply);
    session.own_text = around;
    outcome
}

/// A statement of a program begins.
fn begin_inner(session: &mut Session, statement: &Statement) {
    kinds::count_statement(statement);
    if kinds::of(statement).keeps_diagnostics {
        session.running.diagnostics.warnings.keep();
    } else {
        session.running.diagnostics.clear();
    }
    session.running.more = true;
    if !session.is_inside() {
        session.state.running.clock = Clock::now();
        session.work.watched.within_program();
    }
}

/// What functions say of the statement before.
fn end_inner(session: &mut Session, outcome: &Result<Done>) {
    let unseen = u64::from(outcome.is_err());
    session.state.running.before.ended(&mut session.running, unseen, outcome);
}

/// The key of the plan of a program's statement.
fn step_key(session: &Session, program: &Program, number: u32) -> PlanKey {
    // The first bit keeps these apart from the shapes of texts, whose hashes may be anything, as well as can be.
    let shape = 0xA5A5_u128 << 112 | u128::from(program.number) << 32 | u128::from(number);
    session.plan_key(shape, 0)
}

fn run_planned(
    session: &mut Session,
    program: &Arc<Program>,
    number: u32,
    inner: &Inner,
    reply: &mut dyn Reply,
) -> Result<Done> {
    let mut tries = 0;
    session.with_hinted(&inner.statement, |s| {
        loop {
            let outcome = run_planned_once(s, program, number, inner, reply);
            if outcome.as_ref().is_err_and(is_stale) && tries < MAX_REPLANS {
                tries += 1;
                continue;
            }
            return outcome;
        }
    })
}

/// The plan of a statement of a program, from the cache or made.
fn step_plan(session: &mut Session, program: &Arc<Program>, number: u32, inner: &Inner) -> Result<Arc<CachedPlan>> {
    session.state.renew_snapshot();
    let key = step_key(session, program, number);
    Ok(match cached::find_step_plan(session, &key) {
        Some(entry) => Arc::clone(&entry),
        None => {
            let values = session.running.markers.clone();
            let plan = session.make_plan(&inner.statement, (&[], &values), None)?;
            session.enter_plan(plan, key, inner.text.as_bytes(), &[], &inner.statement, &[])
        }
    })
}

fn run_planned_once(
    session: &mut Session,
    program: &Arc<Program>,
    number: u32,
    inner: &Inner,
    reply: &mut dyn Reply,
) -> Result<Done> {
    session.running.diagnostics.clear();
    let entry = step_plan(session, program, number, inner)?;
    let params = session.bind(&entry.plan, &[], b"", &session.running.markers)?;
    match &inner.into {
        Some(targets) if targets.iter().any(|t| matches!(t, IntoTarget::Local(_))) => {
            storing(session, |s| s.run_into_variables(&entry.plan, &entry.digest.locks, targets, &params))
        }
        Some(targets) => session.run_into_variables(&entry.plan, &entry.digest.locks, targets, &params),
        None => session.run_cached(&entry, &params, reply),
    }
}

fn open_rows(session: &mut Session, program: &Arc<Program>, frame: &mut Frame, cursor: u32) -> Result<Flow> {
    if frame.cursors[cursor as usize].is_some() {
        return Err(sql_err!(SpCursorAlreadyOpen));
    }
    let number = program.cursors[cursor as usize].statement;
    let inner = &program.statements[number as usize];
    begin_inner(session, &inner.statement);
    let mut tries = 0;
    let sink = in_program(session, program, frame, inner.scope, |s| {
        loop {
            match cursor_rows(s, program, number, inner) {
                Err(e) if is_stale(&e) && tries < MAX_REPLANS => tries += 1,
                outcome => return outcome,
            }
        }
    })?;
    if !session.state.hold(sink.bytes) {
        return Err(sql_err!(OutOfResources));
    }
    let open = OpenCursor { rows: sink.rows.into_iter(), width: sink.width, held: sink.bytes };
    frame.cursors[cursor as usize] = Some(open);
    Ok(Flow::Next)
}

fn cursor_rows(session: &mut Session, program: &Arc<Program>, number: u32, inner: &Inner) -> Result<CursorSink> {
    session.running.diagnostics.clear();
    let entry = step_plan(session, program, number, inner)?;
    let params = session.bind(&entry.plan, &[], b"", &session.running.markers)?;
    let mut sink = CursorSink { width: entry.plan.columns.len(), ..CursorSink::default() };
    session.execute(&entry.plan, &entry.digest.locks, &params, &mut sink)?;
    Ok(sink)
}

fn close_rows(session: &mut Session, frame: &mut Frame, cursor: u32) -> Result<Flow> {
    let open = frame.cursors[cursor as usize].take().ok_or_else(|| sql_err!(SpCursorNotOpen))?;
    session.state.held.give(open.held);
    Ok(Flow::Next)
}

fn fetch(session: &mut Session, program: &Program, frame: &mut Frame, cursor: u32, into: &[u32]) -> Result<Flow> {
    let open = frame.cursors[cursor as usize].as_mut().ok_or_else(|| sql_err!(SpCursorNotOpen))?;
    if open.width != into.len() {
        return Err(sql_err!(SpWrongNoOfFetchArgs));
    }
    let row = open.rows.next().ok_or_else(|| sql_err!(SpFetchNoData))?;
    for (slot, value) in into.iter().zip(row) {
        let to = &program.slots[*slot as usize];
        let (value, outcome) = or_null(converted(session, value, to));
        frame.slots[*slot as usize] = value;
        outcome?;
    }
    Ok(Flow::Next)
}

/// The bound of `max_sp_recursion_depth`.
pub(crate) fn recursion_limit(session: &Session) -> u64 {
    session.state.vars[Live::MaxSpRecursionDepth].as_u64()
}

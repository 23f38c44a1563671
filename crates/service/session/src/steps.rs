//! Runs the steps of stored programs.
//!
//! A [`Frame`] is a program that runs. While one of its statements runs, its variables are the statement's parameters
//! (`Running::markers`), and `Running::locals` says which names mean them.

use super::cached::CachedPlan;
use super::diagnostics::Handled;
use super::locks::is_stale;
use super::reply::{Done, Ended, Manner, Reply};
use super::running::{Clock, Figures, storing};
use super::{Charsets, Session, cached};
use gannet_base::Attached;
use gannet_core::kinds;
use gannet_core::vars::Live;
use gannet_exec::spill::Allowance;
use gannet_exec::{Cx, ResultSink, Rows, Shared};
use gannet_parser::ast::{IntoTarget, Statement};
use gannet_plan::plan::{Param, ResultColumn};
use gannet_plan::{Expr, Plan, PlanKey};
use gannet_program::{Code, Inner, Place, Program, Raised, Slot, Step};
use gannet_runtime::now_ns;
use gannet_telemetry::{Counter, Execution, WORK};
use gannet_types::convert::{self, StoreTarget};
use gannet_types::room::Room;
use gannet_types::{ErrorCode, Level, Result, SqlError, Value, Warning, Warnings, sql_err};
use std::sync::Arc;

/// How often a statement is planned again when its tables change between planning and locking.
const MAX_REPLANS: u32 = 10;

/// A program that runs.
pub(super) struct Frame {
    program: Arc<Program>,
    pub(super) slots: Vec<Value>,
    /// How many of them are OLD and NEW.
    pub(super) rows: usize,
    /// Those of NEW that were set to NULL.
    pub(super) nulled: Vec<u32>,
    at: Place,
    cursors: Vec<Option<OpenCursor>>,
    /// Handlers at work.
    active: Vec<Active>,
}

/// The rows of a cursor, and how many were fetched.
struct OpenCursor {
    rows: std::vec::IntoIter<Vec<Value>>,
    width: usize,
    held: usize,
}

/// A handler whose statement runs.
struct Active {
    /// Where CONTINUE goes on.
    resume: Place,
    /// The conditions that go with the handler.
    handled: Handled,
}

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

impl Frame {
    pub(super) fn new(program: Arc<Program>) -> Frame {
        let slots = vec![Value::Null; program.slots.len()];
        let cursors = program.cursors.iter().map(|_| None).collect();
        Frame { program, slots, rows: 0, nulled: Vec::new(), at: 0, cursors, active: Vec::new() }
    }

    fn set(&mut self, slot: u32, value: Value) {
        if value.is_null() && (slot as usize) < self.rows && !self.nulled.contains(&slot) {
            self.nulled.push(slot);
        }
        self.slots[slot as usize] = value;
    }
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

    /// Assigns what INTO names.
    pub(super) fn assign_target(&mut self, target: &IntoTarget, value: Value) -> Result<()> {
        match target {
            IntoTarget::User(name) => self.assign(name, value),
            IntoTarget::Local(name) => {
                let (names, slot) = self.slot_of(&name.text)?;
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
                frame.at = place + 1;
                catch_warnings(session, &program, frame, place);
            }
            Ok(Flow::To(to)) => go_to(frame, to)?,
            Ok(Flow::RaisedTo(to)) => {
                go_to(frame, to)?;
                catch_warnings(session, &program, frame, place);
            }
            Ok(Flow::Return(value)) => return Ok(Some(value)),
            Err(error) => catch(session, &program, frame, place, error)?,
        }
    }
}

/// Goes on elsewhere. Error 1317 on the way back, where a loop without an end can be stopped.
fn go_to(frame: &mut Frame, to: Place) -> Result<()> {
    if to <= frame.at {
        gannet_runtime::yield_if_due();
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
            let to = &program.slots[*slot as usize];
            raising(session, |s| {
                let (value, outcome) = or_null(storing(s, |s| value_stored(s, program, frame, *code, to)));
                frame.set(*slot, value);
                outcome.map(|()| Flow::Next)
            })
        }
        Step::Test { condition, otherwise } => raising(session, |s| {
            let value = value_of_code(s, program, frame, *condition)?;
            let mut conversion = convert::Context {
                mode: s.settings.exec.sql_mode,
                zone: &s.settings.exec.time_zone,
                today: s.settings.exec.today,
                strict: false,
                warnings: &mut s.running.diagnostics.warnings,
                stopped: gannet_exec::stopped,
                room: Room::FREE,
            };
            let truth = match &value {
                Value::Null => None,
                Value::Int(n) => Some(*n != 0),
                other => convert::to_bool(other.as_ref(), &mut conversion)?,
            };
            Ok(if truth == Some(true) { Flow::Next } else { Flow::To(*otherwise) })
        }),
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
            run_inner(session, program, frame, *number, reply)?;
            Ok(Flow::Raised)
        }
        Step::Open(_) | Step::Fetch { .. } | Step::Close(_) => run_cursor(session, program, frame, step),
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

/// Runs a step that clears the diagnostics area only if it raises something.
fn raising(session: &mut Session, f: impl FnOnce(&mut Session) -> Result<Flow>) -> Result<Flow> {
    let before = session.running.diagnostics.set_aside();
    let outcome = f(session);
    if outcome.is_ok() && session.running.diagnostics.warnings.is_empty() {
        session.running.diagnostics.warnings = before;
        return outcome;
    }
    session.running.diagnostics.cleared();
    match outcome {
        // A test that has warned goes where it goes, unless a handler takes the warning.
        Ok(Flow::Next) => Ok(Flow::Raised),
        Ok(Flow::To(to)) => Ok(Flow::RaisedTo(to)),
        outcome => outcome,
    }
}

/// The step's warnings: the last one that has a handler is handled.
fn catch_warnings(session: &mut Session, program: &Program, frame: &mut Frame, place: Place) {
    let raised = usize::try_from(session.running.diagnostics.warnings.raised()).unwrap_or(usize::MAX);
    if raised == 0 {
        return;
    }
    let mut own = session.running.diagnostics.warnings.iter().rev().take(raised);
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
    if session.server.registry.consumers.collect() {
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

/// The value of an expression of a program.
fn value_of_code(session: &mut Session, program: &Arc<Program>, frame: &mut Frame, code: u32) -> Result<Value> {
    let code = &program.exprs[code as usize];
    match planned_alone(session, program, frame, code)? {
        Some((plan, expr)) => value_alone(session, plan, expr, &frame.slots),
        None => in_program(session, program, frame, code.scope, |s| s.evaluate_by_query(&code.expr)),
    }
}

/// The same as a variable keeps it. A query fails when its value does not fit.
fn value_stored(
    session: &mut Session,
    program: &Arc<Program>,
    frame: &mut Frame,
    code: u32,
    to: &Slot,
) -> Result<Value> {
    let code = &program.exprs[code as usize];
    match planned_alone(session, program, frame, code)? {
        Some((plan, expr)) => {
            let value = value_alone(session, plan, expr, &frame.slots)?;
            converted(session, value, to)
        }
        None => in_program(session, program, frame, code.scope, |s| evaluate_stored(s, &code.expr, to)),
    }
}

/// The value of an expression as a variable of a program keeps it, within the statement: what functions have written is
/// undone when the value does not fit.
fn evaluate_stored(session: &mut Session, expr: &gannet_parser::ast::Expr, to: &Slot) -> Result<Value> {
    session.state.renew_snapshot();
    let (plan, params) = session.make_inner_plan(&Statement::Do(vec![expr.clone()]))?;
    let locks = session.plan_locks(&plan);
    let memory = statement_memory(session);
    let mut stored = Value::Null;
    session.execute_with(&plan, &locks, &params, |cx, buffers| {
        let mut sink = super::reply::RowsSink::default();
        let outcome = gannet_exec::run(cx, buffers, &mut sink)?;
        let value = sink.rows.into_iter().flatten().next().unwrap_or(Value::Null);
        stored = converted_by(cx.shared.settings, cx.warnings, memory, (value, to))?;
        Ok(outcome)
    })?;
    Ok(stored)
}

/// The plan of an expression that reads nothing but variables of the program.
fn planned_alone<'c>(
    session: &mut Session,
    program: &Arc<Program>,
    frame: &mut Frame,
    code: &'c Code,
) -> Result<Option<(&'c Plan, &'c Expr)>> {
    if code.plan.get().is_none() {
        compile_code(session, program, frame, code)?;
    }
    match code.plan.get() {
        Some(Some((mode, plan))) if *mode == session.settings.mode_key => match gannet_exec::only_value(plan) {
            Some(expr) => Ok(Some((plan, expr))),
            None => Err(SqlError::internal("an expression of a program without its value")),
        },
        _ => Ok(None),
    }
}

fn value_alone(session: &mut Session, plan: &Plan, expr: &Expr, slots: &[Value]) -> Result<Value> {
    if plan.uses.now {
        session.settings.begin(session.state.statement_time());
    }
    let local = |p: &Param| match p {
        Param::Local { slot, .. } => slots.get(*slot as usize).cloned().unwrap_or(Value::Null),
        Param::Marker { .. } | Param::Literal { .. } => Value::Null,
    };
    let params: smallvec::SmallVec<[Value; 4]> = plan.params.iter().map(local).collect();
    let shared = Shared::new(plan, &session.settings.exec, &params);
    let mut cx =
        Cx::new(&shared, session.work.txn_mut(), &mut session.state, &mut session.running.diagnostics.warnings);
    cx.strict = session.running.strict;
    gannet_exec::value_of(expr, &mut cx)
}

/// Plans an expression; keeps the plan with the program when it reads nothing but the program's variables.
fn compile_code(session: &mut Session, program: &Arc<Program>, frame: &mut Frame, code: &Code) -> Result<()> {
    let statement = Statement::Do(vec![code.expr.clone()]);
    let plan = in_program(session, program, frame, code.scope, |s| {
        s.state.renew_snapshot();
        s.make_plan(&statement, (&[], &[]), None)
    })?;
    let alone = gannet_exec::only_value(&plan).is_some()
        && !plan.uses.user_variables
        && !plan.uses.system_variables
        && !plan.uses.uncacheable
        && !plan.uses.programs
        && plan.params.iter().all(|p| matches!(p, Param::Local { .. }));
    let _ = code.plan.set(alone.then_some((session.settings.mode_key, plan)));
    Ok(())
}

/// Runs `f` with the program's variables as parameters.
fn in_program<R>(
    session: &mut Session,
    program: &Arc<Program>,
    frame: &mut Frame,
    scope: u32,
    f: impl FnOnce(&mut Session) -> R,
) -> R {
    let markers = std::mem::replace(&mut session.running.markers, std::mem::take(&mut frame.slots));
    let locals = session.running.locals.replace(program.names(scope));
    let result = f(session);
    session.running.locals = locals;
    frame.slots = std::mem::replace(&mut session.running.markers, markers);
    result
}

/// A value as a variable of a declared type keeps it. Errors of conversion where sql_mode is strict.
pub(crate) fn converted(session: &mut Session, value: Value, to: &Slot) -> Result<Value> {
    let memory = statement_memory(session);
    converted_by(&session.settings.exec, &mut session.running.diagnostics.warnings, memory, (value, to))
}

/// What a conversion may hold.
pub(crate) fn statement_memory(session: &Session) -> usize {
    usize::try_from(session.state.vars[Live::StatementMemory].as_u64()).unwrap_or(usize::MAX)
}

/// The same by a statement's settings.
pub(crate) fn converted_by(
    settings: &gannet_exec::Settings,
    warnings: &mut Warnings,
    memory: usize,
    (value, to): (Value, &Slot),
) -> Result<Value> {
    if value.is_null() {
        return Ok(value);
    }
    let allowance = Allowance::alone(memory);
    let mut conversion = convert::Context {
        mode: settings.sql_mode,
        zone: &settings.time_zone,
        today: settings.today,
        strict: settings.sql_mode.is_strict(),
        warnings,
        stopped: gannet_exec::stopped,
        room: Room::of(&allowance),
    };
    convert::store(value.as_ref(), &to.ty, StoreTarget { column: &to.name, row: 1 }, &mut conversion)
}

/// A variable whose value fails is NULL.
fn or_null(value: Result<Value>) -> (Value, Result<()>) {
    match value {
        Ok(value) => (value, Ok(())),
        Err(error) => (Value::Null, Err(error)),
    }
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
            outer: std::mem::take(&mut session.running.figures),
        }
    }

    fn cpu_ns(session: &Session) -> u64 {
        if gannet_telemetry::measures_cpu() { super::counting::cpu_now(session) } else { 0 }
    }

    /// Adds it to the program's figures, and what was read and sent to those of the statement around.
    fn close(self, session: &mut Session, to: &gannet_program::Figures, outcome: (bool, u64, u64)) {
        let (error, rows_affected, warnings) = outcome;
        let own = std::mem::replace(&mut session.running.figures, self.outer);
        let cpu_ns = InnerAccount::cpu_ns(session).saturating_sub(self.cpu_ns);
        let counters = &session.entry.counters;
        let work = own.works.then(|| std::array::from_fn(|i| counters.get(WORK[i]).wrapping_sub(self.work[i])));
        let execution = Execution {
            latency_ns: now_ns().saturating_sub(self.began_ns),
            error,
            locks_ns: counters.get(Counter::LockWaitNs).wrapping_sub(self.locks_ns),
            cpu_ns,
            warnings,
            rows_sent: own.sent,
            rows_examined: own.examined,
            rows_affected,
            no_index: own.no_index,
            work,
            end_unix_us: 0,
        };
        to.statement(&execution);
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
    // One that is planned clears it when it is known to use tables.
    let kind = kinds::of(statement);
    if kind.keeps_diagnostics || kind.way == kinds::Way::Planned || matches!(statement, Statement::Set(_)) {
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

/// As [`step_plan`]; empties the diagnostics area for a statement that uses tables, or cannot be planned.
fn cleared_plan(session: &mut Session, program: &Arc<Program>, number: u32, inner: &Inner) -> Result<Arc<CachedPlan>> {
    let kept = session.running.diagnostics.set_aside();
    let planned = step_plan(session, program, number, inner);
    if planned.as_ref().is_ok_and(|entry| entry.plan.tables.is_empty()) {
        let mut noted = std::mem::replace(&mut session.running.diagnostics.warnings, kept);
        session.running.diagnostics.warnings.keep();
        session.running.diagnostics.warnings.append(&mut noted);
    } else {
        session.running.diagnostics.cleared();
    }
    planned
}

fn run_planned_once(
    session: &mut Session,
    program: &Arc<Program>,
    number: u32,
    inner: &Inner,
    reply: &mut dyn Reply,
) -> Result<Done> {
    let entry = cleared_plan(session, program, number, inner)?;
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
    let entry = cleared_plan(session, program, number, inner)?;
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

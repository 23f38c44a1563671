//! Runs the steps of stored programs.
//!
//! A [`Frame`] is a program that runs. While one of its statements runs, its variables are the statement's parameters
//! (`Running::markers`), and `Running::locals` says which names mean them.

use super::diagnostics::Stacked;
use super::locks::is_stale;
use super::reply::{Done, Ended, Manner, Reply};
use super::running::Clock;
use super::{Charsets, Session};
use gannet_base::Attached;
use gannet_core::kinds;
use gannet_core::vars::Live;
use gannet_exec::spill::Allowance;
use gannet_exec::{Cx, ResultSink, Rows, Shared};
use gannet_parser::ast::{IntoTarget, Statement};
use gannet_plan::plan::{Param, ResultColumn};
use gannet_plan::{Expr, Plan, PlanKey};
use gannet_program::{Code, Inner, Place, Program, Raised, Slot, Step};
use gannet_types::convert::{self, StoreTarget};
use gannet_types::room::Room;
use gannet_types::{ErrorCode, Level, Result, SqlError, Value, Warning, sql_err};
use std::sync::Arc;

/// How often a statement is planned again when its tables change between planning and locking.
const MAX_REPLANS: u32 = 10;

/// A program that runs.
pub(super) struct Frame {
    program: Arc<Program>,
    pub(super) slots: Vec<Value>,
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
    /// How many conditions were in the area, which go with the handler if nothing has cleared it.
    conditions: usize,
    clears: u64,
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
        Frame { program, slots, at: 0, cursors, active: Vec::new() }
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
    /// Runs a program to its end. Gives what a function returns.
    pub(super) fn run_program(&mut self, frame: &mut Frame, reply: &mut dyn Reply) -> Result<Option<Value>> {
        let handlers = self.running.stacked.len();
        let outcome = self.run_steps(frame, reply);
        self.running.stacked.truncate(handlers);
        for cursor in frame.cursors.iter_mut().filter_map(Option::take) {
            self.state.held.give(cursor.held);
        }
        outcome
    }

    fn run_steps(&mut self, frame: &mut Frame, reply: &mut dyn Reply) -> Result<Option<Value>> {
        let program = frame.program.clone();
        loop {
            let place = frame.at;
            let Some(step) = program.steps.get(place as usize) else { return Ok(None) };
            match self.run_step(&program, frame, step, reply) {
                Ok(Flow::Next) => frame.at = place + 1,
                Ok(Flow::Raised) => {
                    frame.at = place + 1;
                    self.catch_warnings(&program, frame, place);
                }
                Ok(Flow::To(to)) => go_to(frame, to)?,
                Ok(Flow::RaisedTo(to)) => {
                    go_to(frame, to)?;
                    self.catch_warnings(&program, frame, place);
                }
                Ok(Flow::Return(value)) => return Ok(Some(value)),
                Err(error) => self.catch(&program, frame, place, error)?,
            }
        }
    }

    fn run_step(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        step: &Step,
        reply: &mut dyn Reply,
    ) -> Result<Flow> {
        match step {
            Step::Set { slot, value: None } => {
                frame.slots[*slot as usize] = Value::Null;
                Ok(Flow::Next)
            }
            Step::Set { slot, value: Some(code) } => {
                let to = &program.slots[*slot as usize];
                self.raising(|s| {
                    let value = s.value_of_code(program, frame, *code)?;
                    frame.slots[*slot as usize] = s.converted(value, to)?;
                    Ok(Flow::Next)
                })
            }
            Step::Test { condition, otherwise } => self.raising(|s| {
                let value = s.value_of_code(program, frame, *condition)?;
                let mut conversion = convert::Context {
                    mode: s.settings.sql_mode,
                    zone: &s.settings.time_zone,
                    today: s.settings.today,
                    strict: false,
                    warnings: &mut s.running.warnings,
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
            Step::Choose { index, places, otherwise } => self.raising(|s| {
                let chosen = match s.value_of_code(program, frame, *index)? {
                    Value::Int(n) => usize::try_from(n).unwrap_or(0),
                    Value::UInt(n) => usize::try_from(n).unwrap_or(0),
                    _ => 0,
                };
                Ok(Flow::To(chosen.checked_sub(1).and_then(|n| places.get(n)).copied().unwrap_or(*otherwise)))
            }),
            Step::Jump(to) => Ok(Flow::To(*to)),
            Step::Run(number) => {
                self.run_inner(program, frame, *number, reply)?;
                Ok(Flow::Raised)
            }
            Step::Open(cursor) => self.open_rows(program, frame, *cursor).map(|()| Flow::Raised),
            Step::Fetch { cursor, into } => self.raising(|s| s.fetch(program, frame, *cursor, into)),
            Step::Close(cursor) => self.close_rows(frame, *cursor),
            Step::CloseAll(range) => {
                for cursor in &mut frame.cursors[range.start as usize..range.end as usize] {
                    let held = cursor.take().map_or(0, |open| open.held);
                    self.state.held.give(held);
                }
                Ok(Flow::Next)
            }
            Step::Return(code) => self.raising(|s| {
                let value = s.value_of_code(program, frame, *code)?;
                let to = program.returns.as_ref();
                Ok(Flow::Return(to.map_or(Ok(Value::Null), |to| s.converted(value, to))?))
            }),
            Step::HandlerEnd { exit, depth } => Ok(self.end_handler(frame, *exit, *depth)),
            Step::NoCase => Err(sql_err!(SpCaseNotFound)),
        }
    }

    /// Runs a step that clears the diagnostics area only if it raises something.
    fn raising(&mut self, f: impl FnOnce(&mut Self) -> Result<Flow>) -> Result<Flow> {
        let fresh = self.running.warnings.like();
        let before = std::mem::replace(&mut self.running.warnings, fresh);
        let outcome = f(self);
        if outcome.is_ok() && self.running.warnings.is_empty() {
            self.running.warnings = before;
            return outcome;
        }
        self.running.clears += 1;
        match outcome {
            // A test that has warned goes where it goes, unless a handler takes the warning.
            Ok(Flow::Next) => Ok(Flow::Raised),
            Ok(Flow::To(to)) => Ok(Flow::RaisedTo(to)),
            outcome => outcome,
        }
    }

    // ---- handlers ----

    /// The step's warnings: the last one that has a handler is handled.
    fn catch_warnings(&mut self, program: &Program, frame: &mut Frame, place: Place) {
        let raised = usize::try_from(self.running.warnings.raised()).unwrap_or(usize::MAX);
        if raised == 0 {
            return;
        }
        let mut own = self.running.warnings.iter().rev().take(raised);
        let found = own.find_map(|w| program.handler(place, &Raised::from(w)).map(|h| (h.place, w.clone())));
        if let Some((handler, warning)) = found {
            self.activate(program, frame, place, handler, warning);
        }
    }

    /// An error: the handler for it runs, or it is the program's.
    fn catch(&mut self, program: &Program, frame: &mut Frame, place: Place, error: SqlError) -> Result<()> {
        let error = self.final_error(error);
        let raised = Raised::from(&error);
        // Inside another statement there is nothing to go on with when its transaction is gone.
        let gone = self.is_inside() && !self.work.txn().is_active() && error.code() == ErrorCode::LockDeadlock;
        let handler = program.handler(place, &raised).filter(|_| !raised.is_fatal() && !gone).map(|h| h.place);
        let Some(handler) = handler else { return Err(error) };
        let condition = error.to_warning(Level::Error);
        self.running.warnings.push(condition.clone());
        self.activate(program, frame, place, handler, condition);
        Ok(())
    }

    fn activate(&mut self, program: &Program, frame: &mut Frame, place: Place, handler: Place, raised: Warning) {
        let area = self.running.warnings.clone();
        let (conditions, clears) = (area.iter().count(), self.running.clears);
        self.running.stacked.push(Stacked { area, raised });
        frame.active.push(Active { resume: program.resume(place), conditions, clears });
        frame.at = handler;
    }

    fn end_handler(&mut self, frame: &mut Frame, exit: Option<Place>, depth: u32) -> Flow {
        let Some(active) = frame.active.pop() else { return Flow::Next };
        self.running.stacked.pop();
        if self.running.clears == active.clears {
            self.running.warnings.forget_first(active.conditions);
        }
        let Some(end) = exit else { return Flow::To(active.resume) };
        while frame.active.len() > depth as usize {
            frame.active.pop();
            self.running.stacked.pop();
        }
        Flow::To(end)
    }

    // ---- expressions ----

    /// The value of an expression of a program.
    fn value_of_code(&mut self, program: &Arc<Program>, frame: &mut Frame, code: u32) -> Result<Value> {
        let code = &program.exprs[code as usize];
        if code.plan.get().is_none() {
            self.compile_code(program, frame, code)?;
        }
        match code.plan.get() {
            Some(Some((mode, plan))) if *mode == self.mode_key => match gannet_exec::only_value(plan) {
                Some(expr) => self.value_alone(plan, expr, &frame.slots),
                None => Err(SqlError::internal("an expression of a program without its value")),
            },
            _ => self.in_program(program, frame, code.scope, |s| s.evaluate_by_query(&code.expr)),
        }
    }

    fn value_alone(&mut self, plan: &Plan, expr: &Expr, slots: &[Value]) -> Result<Value> {
        if plan.uses.now {
            self.start_settings();
        }
        let local = |p: &Param| match p {
            Param::Local { slot, .. } => slots.get(*slot as usize).cloned().unwrap_or(Value::Null),
            Param::Marker { .. } | Param::Literal { .. } => Value::Null,
        };
        let params: smallvec::SmallVec<[Value; 4]> = plan.params.iter().map(local).collect();
        let shared = Shared::new(plan, &self.settings, &params);
        let mut cx = Cx::new(&shared, self.work.txn_mut(), &mut self.state, &mut self.running.warnings);
        gannet_exec::value_of(expr, &mut cx)
    }

    /// Plans an expression; keeps the plan with the program when it reads nothing but the program's variables.
    fn compile_code(&mut self, program: &Arc<Program>, frame: &mut Frame, code: &Code) -> Result<()> {
        let statement = Statement::Do(vec![code.expr.clone()]);
        let plan = self.in_program(program, frame, code.scope, |s| {
            s.state.renew_snapshot();
            s.make_plan(&statement, (&[], &[]), None)
        })?;
        let alone = gannet_exec::only_value(&plan).is_some()
            && !plan.uses.user_variables
            && !plan.uses.system_variables
            && !plan.uses.uncacheable
            && !plan.uses.programs
            && plan.params.iter().all(|p| matches!(p, Param::Local { .. }));
        let _ = code.plan.set(alone.then_some((self.mode_key, plan)));
        Ok(())
    }

    /// Runs `f` with the program's variables as parameters.
    fn in_program<R>(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        scope: u32,
        f: impl FnOnce(&mut Self) -> R,
    ) -> R {
        let markers = std::mem::replace(&mut self.running.markers, std::mem::take(&mut frame.slots));
        let locals = self.running.locals.replace(program.names(scope));
        let result = f(self);
        self.running.locals = locals;
        frame.slots = std::mem::replace(&mut self.running.markers, markers);
        result
    }

    /// A value as a variable of a declared type keeps it. Errors of conversion where sql_mode is strict.
    pub(super) fn converted(&mut self, value: Value, to: &Slot) -> Result<Value> {
        if value.is_null() {
            return Ok(value);
        }
        let memory = self.state.vars[Live::StatementMemory].as_u64();
        let allowance = Allowance::alone(usize::try_from(memory).unwrap_or(usize::MAX));
        let mut conversion = convert::Context {
            mode: self.settings.sql_mode,
            zone: &self.settings.time_zone,
            today: self.settings.today,
            strict: self.settings.sql_mode.is_strict(),
            warnings: &mut self.running.warnings,
            stopped: gannet_exec::stopped,
            room: Room::of(&allowance),
        };
        convert::store(value.as_ref(), &to.ty, StoreTarget { column: &to.name, row: 1 }, &mut conversion)
    }

    /// Assigns a variable of the program whose statement runs.
    pub(super) fn assign_local(&mut self, name: &str, value: Value) -> Result<()> {
        let (names, slot) = self.slot_of(name)?;
        self.assign_slot(&names, slot, value)
    }

    /// The variable of a name. Error 1327.
    pub(super) fn slot_of(&self, name: &str) -> Result<(gannet_program::Names, u32)> {
        let undeclared = || sql_err!(SpUndeclaredVar, name);
        let names = self.running.locals.clone().ok_or_else(undeclared)?;
        let slot = names.slot(name).ok_or_else(undeclared)?;
        Ok((names, slot))
    }

    pub(super) fn assign_slot(&mut self, names: &gannet_program::Names, slot: u32, value: Value) -> Result<()> {
        let value = self.converted(value, names.of(slot))?;
        if let Some(place) = self.running.markers.get_mut(slot as usize) {
            *place = value;
        }
        Ok(())
    }

    /// Assigns what INTO names.
    pub(super) fn assign_target(&mut self, target: &IntoTarget, value: Value) -> Result<()> {
        match target {
            IntoTarget::User(name) => self.assign(name, value),
            IntoTarget::Local(name) => self.assign_local(&name.text, value),
        }
    }

    // ---- statements ----

    fn run_inner(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        number: u32,
        reply: &mut dyn Reply,
    ) -> Result<()> {
        let inner = &program.statements[number as usize];
        self.begin_inner(&inner.statement);
        let mut between = Between { to: reply, open: false };
        // What is prepared knows no variables of the program.
        let dynamic =
            matches!(inner.statement, Statement::Prepare { .. } | Statement::Execute { .. } | Statement::Deallocate(_));
        let outcome = if dynamic {
            self.perform(&inner.statement, &mut between)
        } else {
            self.in_program(program, frame, inner.scope, |s| {
                if kinds::of(&inner.statement).way == kinds::Way::Planned && s.is_planned_here(&inner.statement) {
                    s.run_planned(program, number, inner, &mut between)
                } else {
                    s.perform(&inner.statement, &mut between)
                }
            })
        };
        let failed_within = between.open && outcome.is_err();
        let outcome = outcome.map_err(|e| self.final_error(e));
        self.end_inner(&outcome);
        if failed_within || outcome.as_ref().is_ok_and(|done| done.rows) {
            let (status, warnings) = (self.status(), self.running.warnings.raised());
            reply.end(&Ended { done: &Done::ROWS, status, warnings, changes: &[] });
        }
        outcome.map(drop)
    }

    /// A statement of a program begins.
    fn begin_inner(&mut self, statement: &Statement) {
        kinds::count_statement(statement);
        if kinds::of(statement).keeps_diagnostics {
            self.running.warnings.keep();
        } else {
            self.running.warnings.clear();
            self.running.clears += 1;
        }
        self.running.more = true;
        if !self.is_inside() {
            self.state.running.clock = Clock::now();
        }
    }

    /// What functions say of the statement before.
    fn end_inner(&mut self, outcome: &Result<Done>) {
        let errors = u64::from(outcome.is_err());
        self.state.warning_count = self.running.warnings.total() + errors;
        self.state.error_count = self.running.warnings.errors() + errors;
        self.state.row_count = match outcome {
            Ok(done) if done.rows => -1,
            Ok(done) => i64::try_from(done.affected).unwrap_or(i64::MAX),
            Err(_) => -1,
        };
    }

    /// The key of the plan of a program's statement.
    fn step_key(&self, program: &Program, number: u32) -> PlanKey {
        // The first bit keeps these apart from the shapes of texts, whose hashes may be anything, as well as can be.
        let shape = 0xA5A5_u128 << 112 | u128::from(program.number) << 32 | u128::from(number);
        self.plan_key(shape, 0)
    }

    fn run_planned(
        &mut self,
        program: &Arc<Program>,
        number: u32,
        inner: &Inner,
        reply: &mut dyn Reply,
    ) -> Result<Done> {
        let mut tries = 0;
        self.with_hinted(&inner.statement, |s| {
            loop {
                let outcome = s.run_planned_once(program, number, inner, reply);
                if outcome.as_ref().is_err_and(is_stale) && tries < MAX_REPLANS {
                    tries += 1;
                    continue;
                }
                return outcome;
            }
        })
    }

    fn run_planned_once(
        &mut self,
        program: &Arc<Program>,
        number: u32,
        inner: &Inner,
        reply: &mut dyn Reply,
    ) -> Result<Done> {
        self.state.renew_snapshot();
        let key = self.step_key(program, number);
        let entry = match self.find_step_plan(&key) {
            Some(entry) => Arc::clone(&entry),
            None => {
                let values = self.running.markers.clone();
                let plan = self.make_plan(&inner.statement, (&[], &values), None)?;
                self.enter_plan(plan, key, inner.text.as_bytes(), &[], &inner.statement, &[])
            }
        };
        let params = self.bind(&entry.plan, &[], b"", &self.running.markers)?;
        match &inner.into {
            Some(targets) => self.run_into_variables(&entry.plan, &entry.digest.locks, targets, &params),
            None => self.run_cached(&entry, &params, reply),
        }
    }

    // ---- cursors ----

    fn open_rows(&mut self, program: &Arc<Program>, frame: &mut Frame, cursor: u32) -> Result<()> {
        if frame.cursors[cursor as usize].is_some() {
            return Err(sql_err!(SpCursorAlreadyOpen));
        }
        let number = program.cursors[cursor as usize].statement;
        let inner = &program.statements[number as usize];
        self.begin_inner(&inner.statement);
        let mut tries = 0;
        let sink = self.in_program(program, frame, inner.scope, |s| {
            loop {
                match s.cursor_rows(program, number, inner) {
                    Err(e) if is_stale(&e) && tries < MAX_REPLANS => tries += 1,
                    outcome => return outcome,
                }
            }
        })?;
        if !self.state.hold(sink.bytes) {
            return Err(sql_err!(OutOfResources));
        }
        let open = OpenCursor { rows: sink.rows.into_iter(), width: sink.width, held: sink.bytes };
        frame.cursors[cursor as usize] = Some(open);
        Ok(())
    }

    fn cursor_rows(&mut self, program: &Arc<Program>, number: u32, inner: &Inner) -> Result<CursorSink> {
        self.state.renew_snapshot();
        let key = self.step_key(program, number);
        let entry = match self.find_step_plan(&key) {
            Some(entry) => Arc::clone(&entry),
            None => {
                let values = self.running.markers.clone();
                let plan = self.make_plan(&inner.statement, (&[], &values), None)?;
                self.enter_plan(plan, key, inner.text.as_bytes(), &[], &inner.statement, &[])
            }
        };
        let params = self.bind(&entry.plan, &[], b"", &self.running.markers)?;
        let mut sink = CursorSink { width: entry.plan.columns.len(), ..CursorSink::default() };
        self.execute(&entry.plan, &entry.digest.locks, &params, &mut sink)?;
        Ok(sink)
    }

    fn close_rows(&mut self, frame: &mut Frame, cursor: u32) -> Result<Flow> {
        let open = frame.cursors[cursor as usize].take().ok_or_else(|| sql_err!(SpCursorNotOpen))?;
        self.state.held.give(open.held);
        self.running.warnings.clear();
        self.running.clears += 1;
        Ok(Flow::Next)
    }

    fn fetch(&mut self, program: &Program, frame: &mut Frame, cursor: u32, into: &[u32]) -> Result<Flow> {
        let open = frame.cursors[cursor as usize].as_mut().ok_or_else(|| sql_err!(SpCursorNotOpen))?;
        if open.width != into.len() {
            return Err(sql_err!(SpWrongNoOfFetchArgs));
        }
        let row = open.rows.next().ok_or_else(|| sql_err!(SpFetchNoData))?;
        for (slot, value) in into.iter().zip(row) {
            let to = &program.slots[*slot as usize];
            frame.slots[*slot as usize] = self.converted(value, to)?;
        }
        Ok(Flow::Next)
    }

    /// The bound of `max_sp_recursion_depth`.
    pub(super) fn recursion_limit(&self) -> u64 {
        self.state.vars[Live::MaxSpRecursionDepth].as_u64()
    }
}

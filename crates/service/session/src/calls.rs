//! Calls of stored programs: CALL, functions in expressions, triggers.
//!
//! A procedure runs on the session as it is. A function or trigger runs in the middle of a statement, whose executor
//! has the session's transaction and state in hand: these are moved into a session of their own
//! ([`prepare_inside`]) for the time of the call, and back.

use super::alone;
use super::compiled::{compiled, compiled_event, compiled_trigger};
use super::frame::Frame;
use super::light::{self, Light, Of};
use super::reply::{Done, Ended, Manner, Reply};
use super::running::storing;
use super::state::State;
use super::surroundings::{self, Around, Identity, become_account, become_again};
use super::{Charsets, Session, steps};
use gannet_base::Attached;
use gannet_core::accounts::Privilege;
use gannet_core::work::exchange;
use gannet_exec::Rows;
use gannet_exec::changes::RowWriter;
use gannet_parser::ast::{Expr, ObjectName, ParamMode};
use gannet_plan::Plan;
use gannet_plan::expr::Called;
use gannet_plan::plan::{Intent, PlanTable, ResultColumn};
use gannet_program::{Program, Step};
use gannet_schema::{Event, Made, Routine, RoutineKind, Table, Trigger};
use gannet_types::charset::Charset;
use gannet_types::{Collation, CollationId, Result, SqlError, SqlMode, Value, Warnings, sql_err};
use std::sync::Arc;

/// Calls that may be nested, whatever they are of.
const MAX_NESTED: usize = 512;

/// Where an OUT argument goes.
enum Out {
    /// It is no OUT argument.
    None,
    User(Box<str>),
    Local(u32),
    Marker(u32),
}

/// What a program's beginning has changed of the session, to be put back at its end.
struct Entered {
    /// sql_mode and character sets as they were.
    mode: SqlMode,
    client: Charset,
    connection: CollationId,
    around: Option<Around>,
    database: Option<Option<Arc<str>>>,
    identity: Option<Identity>,
}

/// Where the rows of functions and triggers would go: error 1415.
pub(super) struct Nowhere;

impl Reply for Nowhere {
    fn begin(&mut self, _: &[ResultColumn], _: Manner, _: Option<&Attached>) -> Result<()> {
        Err(sql_err!(SpNoRetset, "function"))
    }

    fn rows(&mut self, _: Rows<'_>, _: usize) -> Result<()> {
        Ok(())
    }

    fn row(&mut self, _: &[Value]) -> Result<()> {
        Ok(())
    }

    fn end(&mut self, _: &Ended<'_>) {}

    fn error(&mut self, _: &SqlError, _: &Charsets) {}
}

impl Session {
    /// It runs in the middle of another session's statement: a function's or trigger's.
    pub(crate) fn is_inside(&self) -> bool {
        self.inside
    }

    /// The statement is one of a program: `max_execution_time` does not hold for it, or does for the statement around.
    pub(crate) fn is_part(&self) -> bool {
        self.inside || self.running.locals.is_some()
    }
}

/// CALL.
pub(crate) fn call(session: &mut Session, name: &ObjectName, args: &[Expr], reply: &mut dyn Reply) -> Result<Done> {
    let schema = session.program_schema(name)?;
    session.state.renew_snapshot();
    let found = session.state.snapshot.routine(&schema, RoutineKind::Procedure, &name.name).cloned();
    session.require_routine(Privilege::Execute, &schema, &name.name, false)?;
    let Some(routine) = found else {
        return Err(sql_err!(SpDoesNotExist, "PROCEDURE", format_args!("{schema}.{}", name.name)));
    };
    let full = format!("{}.{}", routine.schema, routine.name);
    let program = compiled(&routine)?;
    if args.len() != program.params.len() {
        return Err(sql_err!(SpWrongNoOfArgs, "PROCEDURE", full, program.params.len(), args.len()));
    }
    if program.rows && session.is_inside() {
        let in_function = session.state.calls.iter().any(|r| r.kind == RoutineKind::Function);
        return Err(sql_err!(SpNoRetset, if in_function { "function" } else { "trigger" }));
    }
    if program.rows && !session.abilities.multi_results {
        return Err(sql_err!(SpBadselect, full));
    }
    let limit = steps::recursion_limit(session);
    let around = session.state.calls.iter().filter(|r| Arc::ptr_eq(r, &routine)).count() as u64;
    if around > limit {
        return Err(sql_err!(SpRecursionLimit, limit, routine.name));
    }
    check_nesting(session)?;
    let mut frame = Frame::new(program.clone());
    let outs = arguments(session, &program, args, &full, &mut frame)?;
    session.state.calls.push(routine.clone());
    let outcome = within(session, &routine.schema, &routine.made, !routine.invoker, |s| {
        as_program(s, |s| steps::run_program(s, &mut frame, reply))
    });
    session.state.calls.pop();
    outcome?;
    session.running.diagnostics.warnings.own();
    for ((out, value), slot) in outs.iter().zip(&frame.slots).zip(&program.slots) {
        give_out(session, out, value.clone())?;
        if let Out::Marker(n) = out {
            session.running.outs.push((*n, slot.name.clone(), slot.ty.clone()));
        }
    }
    let affected = u64::try_from(session.state.running.before.row_count).unwrap_or(0);
    Ok(Done { affected, insert_id: 0, ..Done::default() })
}

/// Error 1436 where calls are nested too deeply.
fn check_nesting(session: &Session) -> Result<()> {
    const RESERVE: usize = 3 * gannet_types::STACK_RESERVE;
    let left = gannet_runtime::remaining_stack();
    if left < RESERVE || session.state.calls.len() >= MAX_NESTED {
        return Err(sql_err!(StackOverrunNeedMore, RESERVE, left, RESERVE));
    }
    Ok(())
}

/// Evaluates the arguments of a CALL, all of them before anything runs. Error 1414.
fn arguments(
    session: &mut Session,
    program: &Program,
    args: &[Expr],
    full: &str,
    frame: &mut Frame,
) -> Result<Vec<Out>> {
    let mut outs = Vec::with_capacity(args.len());
    for (i, (arg, param)) in args.iter().zip(&program.params).enumerate() {
        let out = match (param.mode, arg) {
            (ParamMode::In, _) => Out::None,
            (_, Expr::UserVar(name)) => Out::User(name.text.clone()),
            (_, Expr::Param(n)) => Out::Marker(*n),
            (_, Expr::Column(column)) => {
                let names = session.running.locals.clone();
                let slot = match (&names, &column.qualifier) {
                    (Some(names), None) => names.slot(&column.column.text),
                    (Some(names), Some(q)) if q.schema.is_none() => {
                        let slot = names.row_slot(&q.name.text, &column.column.text)?;
                        slot.filter(|s| !names.is_old(*s))
                    }
                    _ => None,
                };
                Out::Local(slot.ok_or_else(|| sql_err!(SpNotVarArg, i + 1, full))?)
            }
            _ => return Err(sql_err!(SpNotVarArg, i + 1, full)),
        };
        if param.mode != ParamMode::Out {
            let value = storing(session, |s| s.evaluate(arg))?;
            frame.slots[i] = alone::converted(session, value, &program.slots[i])?;
        }
        outs.push(out);
    }
    Ok(outs)
}

fn give_out(session: &mut Session, out: &Out, value: Value) -> Result<()> {
    match out {
        Out::None => Ok(()),
        Out::User(name) => session.assign(name, value),
        Out::Marker(n) => {
            if let Some(place) = session.running.markers.get_mut(*n as usize) {
                *place = value;
            }
            Ok(())
        }
        Out::Local(slot) => match session.running.locals.clone() {
            Some(names) => steps::assign_slot(session, &names, *slot, value),
            None => Ok(()),
        },
    }
}

/// Runs a program as part of the running statement: its parameters, names and status bits are put aside.
fn as_program<R>(session: &mut Session, f: impl FnOnce(&mut Session) -> R) -> R {
    let markers = std::mem::take(&mut session.running.markers);
    let locals = session.running.locals.take();
    let stacked = std::mem::take(&mut session.running.diagnostics.stacked);
    let more = session.running.more;
    let clock = session.state.running.clock;
    let result = f(session);
    session.state.running.clock = clock;
    session.running.more = more;
    (session.running.markers, session.running.locals) = (markers, locals);
    session.running.diagnostics.stacked = stacked;
    result
}

/// Runs an event's body.
pub(crate) fn run_event(session: &mut Session, event: &Arc<Event>, reply: &mut dyn Reply) -> Result<()> {
    session.state.renew_snapshot();
    let program = compiled_event(event)?;
    let mut frame = Frame::new(program);
    let outcome = within(session, &event.schema, &event.made, true, |s| {
        s.require_on_schema(Privilege::Event.into(), &event.schema)?;
        as_program(s, |s| steps::run_program(s, &mut frame, reply))
    });
    outcome.map(drop)
}

/// Runs `f` with sql_mode, character sets, default database and, with `definer`, rights of a program.
fn within<R>(
    session: &mut Session,
    schema: &Arc<str>,
    made: &Made,
    definer: bool,
    f: impl FnOnce(&mut Session) -> Result<R>,
) -> Result<R> {
    let entered = enter(session, schema, made, definer)?;
    let outcome = f(session);
    leave_program(session, entered);
    outcome
}

fn enter(session: &mut Session, schema: &Arc<str>, made: &Made, definer: bool) -> Result<Entered> {
    let identity = if definer { become_account(session, &made.definer)? } else { None };
    let (mode, client, connection) =
        (session.settings.exec.sql_mode, session.settings.charsets.client, session.settings.charsets.connection);
    let database = (session.state.database.as_deref() != Some(&**schema)).then(|| session.state.database.clone());
    if database.is_some() {
        session.state.set_database(Some(schema.clone()));
    }
    let wanted = SqlMode::from_bits(made.sql_mode).unwrap_or_default();
    let around = surroundings::surround(session, (wanted, made.client.charset(), made.connection));
    Ok(Entered { mode, client, connection, around, database, identity })
}

fn leave_program(session: &mut Session, entered: Entered) {
    surroundings::unsurround(session, entered.around, (entered.mode, entered.client, entered.connection));
    if let Some(database) = entered.database {
        session.state.set_database(database);
    }
    become_again(session, entered.identity);
}

/// Runs `f` with the rights of a definer. Error 1449.
fn as_definer<R>(
    session: &mut Session,
    definer: &(Box<str>, Box<str>),
    f: impl FnOnce(&mut Session) -> Result<R>,
) -> Result<R> {
    let before = become_account(session, definer)?;
    let outcome = f(session);
    become_again(session, before);
    outcome
}

/// A plan that calls functions or fires triggers is about to run: a session for these is there when it is needed.
fn prepare_inside(session: &mut Session) {
    let mut inner = match session.state.inside.pop() {
        Some(inner) => inner,
        None => new_inside(session),
    };
    inner.settings = session.settings.clone();
    inner.settings.begin(session.state.statement_time());
    inner.light.clear();
    inner.work.nested_in(&session.work);
    inner.running.diagnostics.warnings = session.running.diagnostics.warnings.like();
    inner.running.figures = super::running::Figures::default();
    session.state.inside.push(inner);
}

/// The statement is one whose functions and triggers may not change its tables.
#[inline]
pub(crate) fn begin_using(session: &mut Session, plan: &Plan) {
    if plan.uses.programs {
        use_tables(session, plan);
    }
}

#[cold]
fn use_tables(session: &mut Session, plan: &Plan) {
    prepare_inside(session);
    let tables = plan.tables.iter().filter(|t| !t.table.temporary).map(|t| t.table.id).collect();
    session.state.using.push(tables);
}

/// It has ended. `programs`: the plan uses some.
#[inline]
pub(crate) fn end_using(session: &mut Session, programs: bool) {
    if !programs {
        return;
    }
    session.state.using.pop();
    if let Some(inner) = session.state.inside.last_mut() {
        inner.light.clear();
        let read = std::mem::take(&mut inner.running.figures);
        session.running.figures.examined += read.examined;
        session.running.figures.works |= read.works;
    }
    if std::mem::take(&mut session.state.changed_inside) {
        session.refresh();
        session.state.changed_inside = session.inside;
    }
}

/// Error 1442 for a table that a statement around this one uses, 1746 for any while a table is made.
pub(crate) fn refuse_used(session: &Session, plan: &Plan) -> Result<()> {
    let written =
        |t: &&PlanTable| matches!(t.intent, Intent::Insert | Intent::Replace | Intent::Update | Intent::Delete);
    for t in plan.tables.iter().filter(written) {
        if let Some(created) = &session.state.creating {
            return Err(sql_err!(CantUpdateTableInCreateTableSelect, t.table.name, created));
        }
        if session.state.using.iter().any(|tables| tables.contains(&t.table.id)) {
            return Err(sql_err!(CantUpdateUsedTableInSfOrTrg, t.table.name));
        }
    }
    Ok(())
}

#[cold]
fn new_inside(session: &Session) -> Box<Session> {
    let (server, plans, entry) = (session.server.clone(), session.plans.clone(), session.entry.clone());
    let opening = super::Opening::default();
    let mut inner = Box::new(Session::new(server, plans, entry, session.state.account.clone(), &opening));
    inner.inside = true;
    inner.ended = true;
    inner
}

/// Error 1370.
fn check_execute(session: &Session, routine: &Routine) -> Result<()> {
    let access = &session.state.access;
    if access.all || access.routine(&routine.schema, &routine.name, true).has(Privilege::Execute) {
        return Ok(());
    }
    let a = &session.state.account;
    let full = format_args!("{}.{}", routine.schema, routine.name);
    Err(sql_err!(ProcaccessDenied, "execute", a.user, session.state.host(), full))
}

/// A function's value.
fn run_function(session: &mut Session, routine: &Arc<Routine>, args: &[Value]) -> Result<Value> {
    check_execute(session, routine)?;
    if session.state.calls.iter().any(|r| Arc::ptr_eq(r, routine)) {
        return Err(sql_err!(SpNoRecursion));
    }
    check_nesting(session)?;
    let program = compiled(routine)?;
    let mut frame = Frame::new(program.clone());
    for (i, arg) in args.iter().enumerate() {
        frame.slots[i] = alone::converted(session, arg.clone(), &program.slots[i])?;
    }
    session.state.calls.push(routine.clone());
    let mut settings = Default::default();
    let outcome = within(session, &routine.schema, &routine.made, !routine.invoker, |s| {
        settings = (s.settings.exec.sql_mode, s.settings.mode_key);
        as_program(s, |s| steps::run_program(s, &mut frame, &mut Nowhere))
    });
    session.state.calls.pop();
    let value = outcome?.ok_or_else(|| sql_err!(SpNoreturnend, routine.name))?;
    if frame.plain {
        light::remember(session, Of::Function(routine.clone()), frame, settings);
    }
    Ok(value)
}

/// Fires a trigger. OLD and NEW are its first slots; NEW comes back as the trigger leaves it, with the columns that it
/// has set to NULL.
fn run_trigger(
    session: &mut Session,
    table: &Arc<Table>,
    trigger: &Arc<Trigger>,
    old: Option<&[Value]>,
    new: Option<&mut [Value]>,
) -> Result<Vec<u32>> {
    check_nesting(session)?;
    let program = compiled_trigger(table, trigger)?;
    let mut frame = Frame::new(program);
    let mut at = 0;
    if let Some(old) = old {
        frame.slots[..old.len()].clone_from_slice(old);
        at = old.len();
    }
    if let Some(new) = &new {
        frame.rows = at + new.len();
        frame.slots[at..at + new.len()].clone_from_slice(new);
    }
    let before = session.running.diagnostics.set_aside();
    let mut settings = Default::default();
    within(session, &table.schema, &trigger.made, true, |s| {
        settings = (s.settings.exec.sql_mode, s.settings.mode_key);
        let access = &s.state.access;
        if !access.all && !access.table(&table.schema, &table.name).has(Privilege::Trigger) {
            return Err(s.denied(Privilege::Trigger.into(), &table.name));
        }
        as_program(s, |s| steps::run_program(s, &mut frame, &mut Nowhere))
    })?;
    // What a trigger raised and did not fail of is told nobody.
    session.running.diagnostics.warnings = before;
    let mut nulled = Vec::new();
    if let Some(new) = new.filter(|_| !trigger.after) {
        new.clone_from_slice(&frame.slots[at..at + new.len()]);
        nulled.extend(frame.nulled.iter().map(|slot| slot - at as u32));
    }
    if frame.plain {
        frame.rows = frame.rows.max(old.map_or(0, <[Value]>::len));
        light::remember(session, Of::Trigger(trigger.clone()), frame, settings);
    }
    Ok(nulled)
}

/// What a trigger does depends on the row alone, and it does nothing else but refuse it: it has no handlers, its steps
/// compute, or are SIGNAL of an error.
fn is_of_row(session: &mut Session, table: &Arc<Table>, trigger: &Arc<Trigger>) -> Result<bool> {
    let program = compiled_trigger(table, trigger)?;
    let computes = |step: &Step| match step {
        Step::Set { .. } | Step::Test { .. } | Step::Choose { .. } | Step::Jump(_) | Step::NoCase => true,
        Step::CloseAll(range) => range.is_empty(),
        Step::Run(n) => program.statements[*n as usize].refuses(),
        _ => false,
    };
    if program.has_handlers() || !program.steps.iter().all(computes) {
        return Ok(false);
    }
    let mut frame = Frame::new(program.clone());
    let kept = session.running.diagnostics.set_aside();
    let outcome = within(session, &table.schema, &trigger.made, true, |s| {
        program.exprs.iter().try_fold(true, |all, code| Ok(all && alone::is_pure(s, &program, &mut frame, code)?))
    });
    session.running.diagnostics.warnings = kept;
    outcome
}

impl State {
    /// Runs `f` on a session of its own that has this state, the transaction and the rows for the binary log.
    fn inside<R>(
        &mut self,
        mut to: RowWriter<'_>,
        warnings: &mut Warnings,
        f: impl FnOnce(&mut Session) -> Result<R>,
    ) -> Result<R> {
        let Some(mut inner) = self.inside.pop() else {
            return Err(SqlError::internal("a program without a session to run in"));
        };
        std::mem::swap(&mut inner.state, self);
        exchange(&mut inner.work, &mut to);
        let s = &inner.state;
        let before = (s.last_insert_id, s.running.before, s.running.insert_id_given, s.running.over_tables);
        let outcome = f(&mut inner);
        let s = &mut inner.state;
        (s.last_insert_id, s.running.before, s.running.insert_id_given, s.running.over_tables) = before;
        exchange(&mut inner.work, &mut to);
        std::mem::swap(&mut inner.state, self);
        if !inner.running.diagnostics.warnings.is_empty() {
            warnings.append(&mut inner.running.diagnostics.set_aside());
        }
        self.inside.push(inner);
        outcome
    }

    /// Runs `f` with a program that is remembered. `None`: none is, or it meets what it may not.
    fn lightly<R>(
        &mut self,
        to: &mut RowWriter<'_>,
        warnings: &Warnings,
        is: impl Fn(&Light) -> bool,
        f: impl FnOnce(&mut Light, &mut light::Around<'_>) -> Option<R>,
    ) -> Option<R> {
        let mut inner = self.inside.pop()?;
        let found = inner.light.iter().position(is).filter(|at| inner.light[*at].may_run(&inner));
        let value = found.and_then(|at| {
            let Session { settings, light, .. } = &mut *inner;
            let settings = &mut settings.exec;
            let mut around = light::Around { settings, txn: to.txn, state: self, raised: warnings.like() };
            let value = f(&mut light[at], &mut around);
            if value.is_none() {
                light.swap_remove(at);
            }
            value
        });
        self.inside.push(inner);
        value
    }

    /// A function's value, for the executor.
    pub(super) fn call_function(
        &mut self,
        mut to: RowWriter<'_>,
        warnings: &mut Warnings,
        called: &Called,
        args: &[Value],
    ) -> Result<Value> {
        if called.view.is_none() && !self.calls.iter().any(|r| Arc::ptr_eq(r, &called.routine)) {
            let is = |light: &Light| light.is_function(&called.routine);
            if let Some(value) = self.lightly(&mut to, warnings, is, |light, around| light.value(args, around)) {
                return Ok(value);
            }
        }
        self.inside(to, warnings, |inner| match called.view.as_ref().and_then(|v| Some((v, v.view()?))) {
            None => run_function(inner, &called.routine, args),
            Some((table, view)) => as_definer(inner, &view.definer, |s| {
                // Whoever may use the view is not told what is wrong below it.
                let may = check_execute(s, &called.routine);
                may.map_err(|_| sql_err!(ViewInvalid, table.schema, table.name))?;
                run_function(s, &called.routine, args)
            }),
        })
    }

    /// See [`is_of_row`]; what goes wrong shows when the trigger fires.
    pub(super) fn is_of_row(
        &mut self,
        to: RowWriter<'_>,
        warnings: &mut Warnings,
        (table, trigger): (&Arc<Table>, &Arc<Trigger>),
    ) -> bool {
        self.inside(to, warnings, |inner| is_of_row(inner, table, trigger)).unwrap_or(false)
    }

    /// Fires a trigger, for the executor.
    pub(super) fn call_trigger(
        &mut self,
        mut to: RowWriter<'_>,
        warnings: &mut Warnings,
        (table, trigger): (&Arc<Table>, &Arc<Trigger>),
        old: Option<&[Value]>,
        mut new: Option<&mut [Value]>,
    ) -> Result<Vec<u32>> {
        let is = |light: &Light| light.is_trigger(trigger);
        let fired = self.lightly(&mut to, warnings, is, |light, around| light.fire(old, new.as_deref_mut(), around));
        if let Some(nulled) = fired {
            return Ok(nulled);
        }
        self.inside(to, warnings, |inner| run_trigger(inner, table, trigger, old, new))
    }
}

/// The collation that stands for a character set.
pub(super) fn collation_of(charset: Charset) -> CollationId {
    Collation::default_of(charset).id
}

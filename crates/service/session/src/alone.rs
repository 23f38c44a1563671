//! Expressions of stored programs: their plans are kept with the program where they read nothing but variables. What
//! variables keep of a value.

use super::Session;
use super::frame::{Frame, in_program};
use super::state::State;
use super::variables::type_of;
use gannet_base::sync::atomic::Ordering::Relaxed;
use gannet_core::vars::Live;
use gannet_exec::spill::Allowance;
use gannet_exec::{Cx, Session as _, Shared, simple};
use gannet_parser::ast::{SetItem, Statement};
use gannet_plan::plan::Param;
use gannet_plan::{Expr, ExprKind, Plan};
use gannet_program::{Alone, Code, Inner, Program, Slot};
use gannet_telemetry::{Counter, count};
use gannet_types::convert::{self, StoreTarget};
use gannet_types::room::Room;
use gannet_types::{Result, SqlError, SqlType, TypeId, Value, Warnings};
use std::sync::Arc;

/// Plans that a program keeps of its expressions: each takes a kilobyte and more, and a body may have a million.
const MOST_KEPT: usize = 10_000;

/// Where the plan of an expression is.
enum Planned<'c> {
    Kept(&'c Alone),
    /// Good for this once: it reads a user variable of which the type is not known yet, or enough are kept.
    Once(Box<Alone>),
    /// The expression reads more than variables.
    No,
}

/// The value of an expression of signed integers, `Some(None)` for NULL. `None`: it is another one, or raises
/// something.
#[inline]
pub(super) fn integer(session: &Session, program: &Program, slots: &[Value], code: u32) -> Option<Option<i64>> {
    let alone = program.exprs[code as usize].alone.get()?.as_ref()?;
    if alone.integers && alone.mode == session.settings.mode_key { integer_alone(alone, slots) } else { None }
}

#[inline]
pub(super) fn integer_alone(alone: &Alone, slots: &[Value]) -> Option<Option<i64>> {
    let expr = gannet_exec::only_value(&alone.plan)?;
    simple::integer(expr, &|n| match alone.plan.params.get(n as usize)? {
        Param::Local { slot, .. } => slots.get(*slot as usize),
        Param::Marker { .. } | Param::Literal { .. } => None,
    })
}

/// The integer as a variable keeps it. `None`: this needs a conversion.
#[inline]
pub(super) fn fitting(value: Option<i64>, ty: &SqlType) -> Option<Value> {
    let Some(n) = value else { return Some(Value::Null) };
    let fits = match ty.id {
        TypeId::BigInt => true,
        TypeId::Int => i32::try_from(n).is_ok(),
        TypeId::SmallInt => i16::try_from(n).is_ok(),
        TypeId::TinyInt => i8::try_from(n).is_ok(),
        _ => false,
    };
    (fits && !ty.unsigned).then_some(Value::Int(n))
}

/// The value of an expression of a program.
pub(super) fn value_of_code(
    session: &mut Session,
    program: &Arc<Program>,
    frame: &mut Frame,
    code: u32,
) -> Result<Value> {
    let code = &program.exprs[code as usize];
    match planned(session, program, frame, code)? {
        Planned::Kept(alone) => value_alone(session, alone, &frame.slots),
        Planned::Once(alone) => value_alone(session, &alone, &frame.slots),
        Planned::No => in_program(session, program, frame, code.scope, |s| s.evaluate_by_query(&code.expr)),
    }
}

/// The same as a variable keeps it. A query fails when its value does not fit.
pub(super) fn value_stored(
    session: &mut Session,
    program: &Arc<Program>,
    frame: &mut Frame,
    code: u32,
    to: &Slot,
) -> Result<Value> {
    let code = &program.exprs[code as usize];
    let value = match planned(session, program, frame, code)? {
        Planned::Kept(alone) => value_alone(session, alone, &frame.slots)?,
        Planned::Once(alone) => value_alone(session, &alone, &frame.slots)?,
        Planned::No => return in_program(session, program, frame, code.scope, |s| evaluate_stored(s, &code.expr, to)),
    };
    converted(session, value, to)
}

/// SET of user variables. They get their values when all are known.
pub(super) fn set_users(
    session: &mut Session,
    program: &Arc<Program>,
    frame: &mut Frame,
    (inner, items): (&Inner, &[SetItem]),
) -> Result<()> {
    count(Counter::ComSetOption);
    session.state.changed_inside |= session.is_inside();
    let mut assigned = smallvec::SmallVec::<[(&str, Value); 4]>::new();
    for (item, code) in items.iter().zip(&inner.values) {
        let SetItem::User { name, value } = item else { continue };
        let value = match super::set::simple_value(session, value)? {
            Some(value) => value,
            None => value_of_code(session, program, frame, *code)?,
        };
        assigned.push((&name.text, value));
    }
    for (name, value) in assigned {
        session.tracker.change();
        session.assign(name, value)?;
    }
    Ok(())
}

/// The value of an expression of a program as a variable keeps it, within the statement: what functions have written is
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
    session.running.figures.sent = 0;
    Ok(stored)
}

/// The plan of an expression.
fn planned<'c>(
    session: &mut Session,
    program: &Arc<Program>,
    frame: &mut Frame,
    code: &'c Code,
) -> Result<Planned<'c>> {
    if code.alone.get().is_none()
        && let Some(once) = compile_code(session, program, frame, code)?
    {
        frame.plain = false;
        return Ok(Planned::Once(once));
    }
    Ok(match code.alone.get() {
        Some(Some(alone)) if alone.mode == session.settings.mode_key && has_types(&session.state, alone) => {
            frame.plain &= alone.pure;
            Planned::Kept(alone)
        }
        _ => {
            frame.plain = false;
            Planned::No
        }
    })
}

/// An expression depends on variables of the program alone, and does nothing else.
pub(super) fn is_pure(session: &mut Session, program: &Arc<Program>, frame: &mut Frame, code: &Code) -> Result<bool> {
    Ok(match planned(session, program, frame, code)? {
        Planned::Kept(alone) => alone.pure && alone.users.is_empty(),
        Planned::Once(_) | Planned::No => false,
    })
}

/// The user variables have the types for which the plan was made.
pub(super) fn has_types(state: &State, alone: &Alone) -> bool {
    alone.users.iter().all(|(name, ty)| type_of(&state.user_variable(name)) == *ty)
}

fn value_alone(session: &mut Session, alone: &Alone, slots: &[Value]) -> Result<Value> {
    let plan = &alone.plan;
    if plan.uses.now {
        session.settings.begin(session.state.statement_time());
    }
    let params = parameters(plan, slots);
    let shared = Shared::new(plan, &session.settings.exec, &params);
    let mut cx =
        Cx::new(&shared, session.work.txn_mut(), &mut session.state, &mut session.running.diagnostics.warnings);
    cx.strict = session.running.strict;
    gannet_exec::value_of(value_expr(plan)?, &mut cx)
}

pub(super) fn value_expr(plan: &Plan) -> Result<&Expr> {
    gannet_exec::only_value(plan).ok_or_else(|| SqlError::internal("an expression of a program without its value"))
}

/// The variables that a plan reads.
pub(super) fn parameters(plan: &Plan, slots: &[Value]) -> smallvec::SmallVec<[Value; 4]> {
    let local = |p: &Param| match p {
        Param::Local { slot, .. } => slots.get(*slot as usize).cloned().unwrap_or(Value::Null),
        Param::Marker { .. } | Param::Literal { .. } => Value::Null,
    };
    plan.params.iter().map(local).collect()
}

/// Plans an expression; keeps the plan with the program when it reads nothing but variables. Gives it where that is so,
/// but a user variable has no type yet.
fn compile_code(
    session: &mut Session,
    program: &Arc<Program>,
    frame: &mut Frame,
    code: &Code,
) -> Result<Option<Box<Alone>>> {
    let statement = Statement::Do(vec![code.expr.clone()]);
    let plan = in_program(session, program, frame, code.scope, |s| {
        s.state.renew_snapshot();
        s.make_plan(&statement, (&[], &[]), None)
    })?;
    let alone = alone_of(session, plan);
    let once = |alone: &Alone| {
        alone.users.iter().any(|(_, ty)| ty.id == TypeId::Null) || program.kept.fetch_add(1, Relaxed) >= MOST_KEPT
    };
    match alone {
        Some(alone) if once(&alone) => Ok(Some(Box::new(alone))),
        alone => {
            let _ = code.alone.set(alone);
            Ok(None)
        }
    }
}

fn alone_of(session: &Session, plan: Plan) -> Option<Alone> {
    let expr = gannet_exec::only_value(&plan)?;
    let varies = plan.uses.system_variables || plan.uses.uncacheable || plan.uses.programs;
    if varies || !plan.params.iter().all(|p| matches!(p, Param::Local { .. })) {
        return None;
    }
    let mut users = Vec::new();
    if plan.uses.user_variables && !read_users(expr, &mut users) {
        return None;
    }
    let typed = |name: Arc<str>| {
        let ty = type_of(&session.state.user_variable(&name));
        (name, ty)
    };
    let (integers, pure) = (simple::is_of_integers(expr), simple::is_pure(expr));
    Some(Alone { mode: session.settings.mode_key, users: users.into_iter().map(typed).collect(), integers, pure, plan })
}

/// Collects the user variables that an expression reads; false where it assigns one.
fn read_users(expr: &Expr, to: &mut Vec<Arc<str>>) -> bool {
    match &expr.kind {
        ExprKind::SetUserVar(..) => return false,
        ExprKind::UserVar(name) => to.push(name.clone()),
        _ => {}
    }
    let mut reads = true;
    expr.for_each_child(|child| reads = reads && read_users(child, to));
    reads
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
    store: (Value, &Slot),
) -> Result<Value> {
    kept(settings, settings.sql_mode.is_strict(), warnings, memory, store)
}

/// What GET DIAGNOSTICS tells, as the variable keeps it: what does not fit is cut, in strict mode too, and nobody
/// is warned.
pub(crate) fn told(session: &mut Session, value: Value, to: &Slot) -> Result<Value> {
    let memory = statement_memory(session);
    let mut unheard = session.running.diagnostics.warnings.like();
    kept(&session.settings.exec, false, &mut unheard, memory, (value, to))
}

fn kept(
    settings: &gannet_exec::Settings,
    strict: bool,
    warnings: &mut Warnings,
    memory: usize,
    (value, to): (Value, &Slot),
) -> Result<Value> {
    let plain = match &value {
        Value::Null => Some(None),
        Value::Int(n) => Some(Some(*n)),
        _ => None,
    };
    if let Some(kept) = plain.and_then(|n| fitting(n, &to.ty)) {
        return Ok(kept);
    }
    let allowance = Allowance::alone(memory);
    let mut conversion = convert::Context {
        mode: settings.sql_mode,
        zone: &settings.time_zone,
        today: settings.today,
        strict,
        warnings,
        stopped: gannet_exec::stopped,
        room: Room::of(&allowance),
    };
    convert::store(value.as_ref(), &to.ty, StoreTarget { column: &to.name, row: 1 }, &mut conversion)
}

/// A variable whose value fails is NULL.
pub(super) fn or_null(value: Result<Value>) -> (Value, Result<()>) {
    match value {
        Ok(value) => (value, Ok(())),
        Err(error) => (Value::Null, Err(error)),
    }
}

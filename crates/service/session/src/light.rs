//! Functions and triggers that only compute, called for each row of a statement.
//!
//! A run of a program that set nothing but variables of its own, read nothing but these and user variables, and raised
//! nothing, is remembered until the statement ends ([`remember`]). The next runs go over its steps without a session of
//! their own ([`Light::run`]). Such a run has no effects, so one that meets anything else is dropped, and the program
//! runs from its beginning as ever.

use super::Session;
use super::alone::{self, converted_by, parameters, value_expr};
use super::frame::Frame;
use super::state::State;
use gannet_engine::Txn;
use gannet_exec::{Cx, Settings, Shared};
use gannet_plan::Plan;
use gannet_plan::plan::Param;
use gannet_program::{Alone, Program, Slot, Step};
use gannet_runtime::now_ns;
use gannet_schema::{Routine, Trigger};
use gannet_types::convert;
use gannet_types::room::Room;
use gannet_types::{SqlMode, Value, Warnings};
use std::sync::Arc;

/// Of so many runs one is timed, and stands for the others.
const TIMED: u64 = 16;

/// Ways back in a loop until others are let run.
const ROUNDS: u32 = 16;

/// What the program belongs to.
pub(super) enum Of {
    Function(Arc<Routine>),
    Trigger(Arc<Trigger>),
}

/// A program that only computes, under the settings of a statement.
pub(crate) struct Light {
    of: Of,
    program: Arc<Program>,
    /// sql_mode in it, and the hash of the settings that its plans are made for.
    mode: SqlMode,
    mode_key: u64,
    /// Version of the accounts for which its rights were checked.
    accounts: u64,
    memory: usize,
    /// Slots of OLD and NEW that its expressions read.
    reads: Box<[u32]>,
    slots: Vec<Value>,
    /// Slots of OLD and NEW, and those of them that a run has set.
    rows: usize,
    set: Vec<u32>,
    /// Runs that the program's figures do not have yet, and what the last one that was timed took.
    runs: u64,
    took_ns: u64,
}

/// What a run uses of the statement around.
pub(super) struct Around<'a> {
    pub(super) settings: &'a mut Settings,
    pub(super) txn: &'a mut Txn,
    pub(super) state: &'a mut State,
    /// What is raised goes here, and ends the run.
    pub(super) raised: Warnings,
}

/// The program of `of` has run to its end; `within`: sql_mode and hash of the settings in it.
pub(super) fn remember(session: &mut Session, of: Of, frame: Frame, within: (SqlMode, u64)) {
    if !frame.plain {
        return;
    }
    let program = frame.program;
    let rows = match &of {
        Of::Function(_) => 0,
        Of::Trigger(_) => frame.rows,
    };
    let mut reads = Vec::new();
    for alone in program.exprs.iter().filter_map(|code| code.alone.get()?.as_ref()) {
        for param in &alone.plan.params {
            if let Param::Local { slot, .. } = param
                && (*slot as usize) < rows
                && !reads.contains(slot)
            {
                reads.push(*slot);
            }
        }
    }
    session.light.retain(|known| !Arc::ptr_eq(&known.program, &program));
    session.light.push(Light {
        of,
        mode: within.0,
        mode_key: within.1,
        accounts: session.server.accounts.version(),
        memory: alone::statement_memory(session),
        reads: reads.into(),
        slots: frame.slots,
        rows,
        set: Vec::new(),
        runs: 0,
        took_ns: 0,
        program,
    });
}

/// Where a run goes on, or how it ends.
enum Flow {
    Next,
    To(u32),
    Return(Value),
}

impl Light {
    pub(super) fn is_function(&self, routine: &Arc<Routine>) -> bool {
        matches!(&self.of, Of::Function(own) if Arc::ptr_eq(own, routine))
    }

    pub(super) fn is_trigger(&self, trigger: &Arc<Trigger>) -> bool {
        matches!(&self.of, Of::Trigger(own) if Arc::ptr_eq(own, trigger))
    }

    /// Nobody's rights have changed since they were checked.
    pub(super) fn may_run(&self, session: &Session) -> bool {
        self.accounts == session.server.accounts.version()
    }

    /// A function's value. `None`: it has to be called.
    pub(super) fn value(&mut self, args: &[Value], around: &mut Around<'_>) -> Option<Value> {
        for (at, arg) in args.iter().enumerate() {
            self.slots[at] = self.kept(arg.clone(), &self.program.slots[at], around)?;
        }
        self.run(around)?
    }

    /// Fires a trigger; gives the columns that it has set to NULL. `None`: it has to be fired.
    pub(super) fn fire(
        &mut self,
        old: Option<&[Value]>,
        new: Option<&mut [Value]>,
        around: &mut Around<'_>,
    ) -> Option<Vec<u32>> {
        let width = old.map_or(0, <[Value]>::len);
        for slot in &self.reads {
            let at = *slot as usize;
            self.slots[at] = match (at.checked_sub(width), old, &new) {
                (None, Some(old), _) => old[at].clone(),
                (Some(at), _, Some(new)) => new[at].clone(),
                _ => return None,
            };
        }
        self.run(around)?;
        let mut nulled = Vec::new();
        if let Some(new) = new {
            for slot in self.set.drain(..) {
                let (at, value) = (slot as usize - width, self.slots[slot as usize].clone());
                if value.is_null() {
                    nulled.push(at as u32);
                }
                new[at] = value;
            }
        }
        Some(nulled)
    }

    /// `Some(None)`: the program has ended without a value.
    fn run(&mut self, around: &mut Around<'_>) -> Option<Option<Value>> {
        let began_ns = self.runs.is_multiple_of(TIMED).then(now_ns);
        let outer = std::mem::replace(&mut around.settings.sql_mode, self.mode);
        let outcome = self.steps(around);
        around.settings.sql_mode = outer;
        let value = outcome?;
        if let Some(began_ns) = began_ns {
            self.count();
            self.took_ns = now_ns().saturating_sub(began_ns);
        }
        self.runs += 1;
        Some(value)
    }

    fn steps(&mut self, around: &mut Around<'_>) -> Option<Option<Value>> {
        let program = self.program.clone();
        self.set.clear();
        let (mut at, mut rounds) = (0_u32, 0);
        loop {
            let Some(step) = program.steps.get(at as usize) else { return Some(None) };
            match self.step(&program, step, around)? {
                Flow::Next => at += 1,
                Flow::To(to) => {
                    if to <= at {
                        rounds += 1;
                        if rounds % ROUNDS == 0 {
                            gannet_runtime::yield_if_due();
                        }
                        if gannet_runtime::interrupted() {
                            return None;
                        }
                    }
                    at = to;
                }
                Flow::Return(value) => return Some(Some(value)),
            }
        }
    }

    fn step(&mut self, program: &Program, step: &Step, around: &mut Around<'_>) -> Option<Flow> {
        Some(match step {
            Step::Set { slot, value } => {
                let value = match value {
                    None => Value::Null,
                    Some(code) => self.stored(program, *code, &program.slots[*slot as usize], around)?,
                };
                if (*slot as usize) < self.rows && !self.set.contains(slot) {
                    self.set.push(*slot);
                }
                self.slots[*slot as usize] = value;
                Flow::Next
            }
            Step::Test { condition, otherwise } => {
                let alone = self.plan(program, *condition, around)?;
                let truth = match quick(alone, &self.slots) {
                    Some(n) => n.is_some_and(|n| n != 0),
                    None => self.is_true(alone, around)?,
                };
                if truth { Flow::Next } else { Flow::To(*otherwise) }
            }
            Step::Jump(to) => Flow::To(*to),
            Step::Return(code) => Flow::Return(self.stored(program, *code, program.returns.as_ref()?, around)?),
            Step::CloseAll(range) if range.is_empty() => Flow::Next,
            Step::Choose { .. }
            | Step::Run(_)
            | Step::Open(_)
            | Step::Fetch { .. }
            | Step::Close(_)
            | Step::CloseAll(_)
            | Step::HandlerEnd { .. }
            | Step::NoCase => return None,
        })
    }

    /// The plan of an expression that only computes.
    fn plan<'p>(&self, program: &'p Program, code: u32, around: &Around<'_>) -> Option<&'p Alone> {
        let alone = program.exprs[code as usize].alone.get()?.as_ref()?;
        (alone.pure && alone.mode == self.mode_key && alone::has_types(around.state, alone)).then_some(alone)
    }

    /// The value as a variable keeps it.
    fn stored(&self, program: &Program, code: u32, to: &Slot, around: &mut Around<'_>) -> Option<Value> {
        let alone = self.plan(program, code, around)?;
        if let Some(value) = quick(alone, &self.slots).and_then(|n| alone::fitting(n, &to.ty)) {
            return Some(value);
        }
        let value = evaluated(&alone.plan, &self.slots, self.mode.is_strict(), around)?;
        self.kept(value, to, around)
    }

    fn kept(&self, value: Value, to: &Slot, around: &mut Around<'_>) -> Option<Value> {
        let kept = converted_by(around.settings, &mut around.raised, self.memory, (value, to)).ok()?;
        (around.raised.total() == 0).then_some(kept)
    }

    fn is_true(&self, alone: &Alone, around: &mut Around<'_>) -> Option<bool> {
        let value = evaluated(&alone.plan, &self.slots, false, around)?;
        let mut conversion = convert::Context {
            mode: around.settings.sql_mode,
            zone: &around.settings.time_zone,
            today: around.settings.today,
            strict: false,
            warnings: &mut around.raised,
            stopped: gannet_exec::stopped,
            room: Room::FREE,
        };
        let truth = if value.is_null() { None } else { convert::to_bool(value.as_ref(), &mut conversion).ok()? };
        (around.raised.total() == 0).then_some(truth == Some(true))
    }

    /// Gives the program's figures the runs that they do not have.
    fn count(&mut self) {
        self.program.figures.runs.note_many(std::mem::take(&mut self.runs), self.took_ns);
    }
}

impl Drop for Light {
    fn drop(&mut self) {
        self.count();
    }
}

#[inline]
fn quick(alone: &Alone, slots: &[Value]) -> Option<Option<i64>> {
    if alone.integers { alone::integer_alone(alone, slots) } else { None }
}

fn evaluated(plan: &Plan, slots: &[Value], strict: bool, around: &mut Around<'_>) -> Option<Value> {
    let params = parameters(plan, slots);
    let shared = Shared::new(plan, around.settings, &params);
    let mut cx = Cx::new(&shared, around.txn, around.state, &mut around.raised);
    cx.strict = strict;
    let value = gannet_exec::value_of(value_expr(plan).ok()?, &mut cx).ok()?;
    (around.raised.total() == 0).then_some(value)
}

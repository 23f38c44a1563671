//! Work over long values. A worker serves many sessions by turns, and a function over a text of many megabytes takes
//! one turn: a regular expression, a digest or a compression cannot let others run in its middle. So it is computed
//! on a helper thread, and the worker goes on with other sessions meanwhile. Short values, nearly all, are computed
//! at once.

use crate::context::Cx;
use gannet_functions::{Call, EvalContext, FunctionDef};
use gannet_types::{Result, Value, ValueRef, room::Room, sql_err};

/// Values of so many bytes are long: most functions take a fraction of a millisecond for them, the slowest some.
pub(crate) const LONG: usize = 128 << 10;

/// Work over shorter values that is done at once, all together.
const SHARE: usize = 1 << 20;

/// Computes `f`, which processes about `bytes` bytes.
#[inline]
pub(crate) fn over<T: Send>(bytes: usize, f: impl FnOnce() -> T + Send) -> T {
    if bytes < LONG { f() } else { gannet_runtime::run_long(f) }
}

/// The same, given up when the statement is killed before it begins; what is found out then may not be the result.
#[cold]
pub(crate) fn aside<T: Send>(f: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let outcome =
        gannet_runtime::run_long(|| if gannet_runtime::interrupted() { Err(sql_err!(QueryInterrupted)) } else { f() });
    if gannet_runtime::interrupted() { Err(sql_err!(QueryInterrupted)) } else { outcome }
}

/// Bytes of all texts and documents.
#[inline]
fn bytes_of(values: &[Value]) -> usize {
    values.iter().map(Value::long_bytes).sum()
}

/// Evaluates a call.
#[inline]
pub(crate) fn call(def: &FunctionDef, call: Call<'_>, values: &[Value], cx: &mut Cx<'_, '_>) -> Result<Value> {
    let mut bytes = bytes_of(values);
    if let Some(makes) = def.makes {
        let most = usize::try_from(cx.shared.settings.max_allowed_packet).unwrap_or(usize::MAX);
        bytes = bytes.saturating_add(makes(values).min(most));
    }
    cx.worked(bytes)?;
    let mut context = cx.eval_context();
    // What acts on the session may wait, which a helper thread does not.
    if bytes < LONG || def.stability.varies() {
        let value = (def.eval)(&mut context, call, values)?;
        return if cx.states_grew() { cx.hold_states().map(|()| value) } else { Ok(value) };
    }
    let allowance = cx.allowance(bytes_of(values));
    let mut context = EvalContext { room: Room::of(&allowance), ..cx.eval_context() };
    let value = aside(|| (def.eval)(&mut context, call, values))?;
    cx.hold_states()?;
    cx.made(value.long_bytes());
    Ok(value)
}

/// Long arguments of calls: each is kept until the others of its call are there, and a call may stand in an argument of
/// another.
#[derive(Default)]
pub(crate) struct Arguments {
    bytes: usize,
    /// Those that are counted with the memory held: what is beyond one packet.
    held: usize,
}

impl Arguments {
    /// Bytes that are kept now.
    #[inline]
    pub(crate) fn kept(&self) -> usize {
        self.bytes
    }

    fn beyond(&self, packet: u64) -> usize {
        self.bytes.saturating_sub(usize::try_from(packet).unwrap_or(usize::MAX))
    }
}

#[cold]
fn keep_long(bytes: usize, cx: &mut Cx<'_, '_>) -> Result<()> {
    cx.arguments.bytes += bytes;
    let beyond = cx.arguments.beyond(cx.shared.settings.max_allowed_packet);
    let more = beyond.saturating_sub(cx.arguments.held);
    cx.arguments.held += more;
    cx.reserve(more)
}

#[cold]
fn drop_long(before: usize, cx: &mut Cx<'_, '_>) {
    cx.arguments.bytes = before;
    let beyond = cx.arguments.beyond(cx.shared.settings.max_allowed_packet);
    let less = cx.arguments.held.saturating_sub(beyond);
    cx.arguments.held -= less;
    cx.release(less);
}

impl Cx<'_, '_> {
    /// An argument is kept. Error 1038 as for [`Cx::reserve`].
    #[inline]
    pub(crate) fn keep_argument(&mut self, value: &Value) -> Result<()> {
        let bytes = value.long_bytes();
        if bytes < LONG { Ok(()) } else { keep_long(bytes, self) }
    }

    /// Arguments that were kept since `before` are not any more.
    #[inline]
    pub(crate) fn drop_arguments(&mut self, before: usize) {
        if self.arguments.bytes != before {
            drop_long(before, self);
        }
    }

    /// Runs `f`, which goes through a value of so many bytes, with what conversions need.
    #[inline]
    pub(crate) fn convert<T: Send>(
        &mut self,
        bytes: usize,
        f: impl FnOnce(&mut gannet_types::convert::Context<'_>) -> Result<T> + Send,
    ) -> Result<T> {
        self.worked(bytes)?;
        if bytes < LONG {
            return f(&mut self.eval_context().conversion());
        }
        let allowance = self.allowance(bytes);
        let mut context = EvalContext { room: Room::of(&allowance), ..self.eval_context() };
        let mut conversion = context.conversion();
        aside(|| f(&mut conversion))
    }

    /// Takes one row's arguments into an aggregate.
    #[inline]
    pub(crate) fn accumulate(&mut self, to: &mut dyn gannet_functions::Accumulator, args: &[Value]) -> Result<()> {
        let bytes = bytes_of(args);
        self.worked(bytes)?;
        if bytes < LONG {
            return to.add(&mut self.eval_context(), args);
        }
        let allowance = self.allowance(bytes);
        let mut context = EvalContext { room: Room::of(&allowance), ..self.eval_context() };
        aside(|| to.add(&mut context, args))
    }

    /// The value of an aggregate.
    pub(crate) fn accumulated(&mut self, of: &dyn gannet_functions::Accumulator) -> Result<Value> {
        let bytes = of.memory_bytes();
        self.worked(bytes)?;
        if bytes < LONG {
            return of.value(&mut self.eval_context());
        }
        let allowance = self.allowance(0);
        let mut context = EvalContext { room: Room::of(&allowance), ..self.eval_context() };
        aside(|| of.value(&mut context))
    }

    /// Takes note of work over so many bytes. Rows that are each too short to count are long together.
    #[inline]
    pub(crate) fn worked(&mut self, bytes: usize) -> Result<()> {
        self.worked += bytes;
        if self.worked < SHARE {
            return Ok(());
        }
        self.worked = 0;
        self.check_interrupt()
    }
}

/// Bytes that two texts or documents have both.
#[inline]
pub(crate) fn shorter(a: ValueRef<'_>, b: ValueRef<'_>) -> usize {
    match (a, b) {
        (ValueRef::Str(a, _) | ValueRef::Json(a), ValueRef::Str(b, _) | ValueRef::Json(b)) => a.len().min(b.len()),
        _ => 0,
    }
}

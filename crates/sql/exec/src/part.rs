//! A part of a plan, run in pieces by several tasks.
//!
//! Each task has a [`Cx`] of its own, without transaction and session: it reads by a
//! [`SnapshotReader`](gannet_engine::SnapshotReader), and evaluates only what [`stands_alone`]. Pieces are numbered in
//! the order in which one task alone would come to them. So are their results, their warnings, and their errors: the
//! statement gives what it would give by itself.

use crate::context::{Counts, Cx, MadeRow, Registers, Rest, Session, Shared};
use crate::refused::Refused;
use crate::spill::SessionSpace;
use gannet_base::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use gannet_functions::SessionInfo;
use gannet_plan::expr::{Expr, ExprKind};
use gannet_telemetry::{Counter, Wait, add};
use gannet_types::{Result, SqlError, Value, Warning, Warnings, sql_err};
use std::sync::Arc;

/// Whether an expression needs neither session nor transaction, nor the order in which rows come.
pub(crate) fn stands_alone(expr: &Expr) -> bool {
    let own = match &expr.kind {
        ExprKind::Literal(_)
        | ExprKind::Param(_)
        | ExprKind::Column(_)
        | ExprKind::Register(_)
        | ExprKind::And(_)
        | ExprKind::Or(_)
        | ExprKind::Not(_)
        | ExprKind::IsNull { .. }
        | ExprKind::Compare { .. }
        | ExprKind::Between { .. }
        | ExprKind::In { .. }
        | ExprKind::Case { .. }
        | ExprKind::Cast(_)
        | ExprKind::Row(_) => true,
        // What is constant in a statement may be the session's (DATABASE()) or not (NOW()): `Alone` tells.
        ExprKind::Call(def, _) => !def.stability.varies(),
        ExprKind::Routine(..)
        | ExprKind::Match(_)
        | ExprKind::OfElements(_)
        | ExprKind::Subquery(_)
        | ExprKind::UserVar(_)
        | ExprKind::SetUserVar(..)
        | ExprKind::SysVar { .. }
        | ExprKind::Default { .. } => false,
    };
    let mut alone = own;
    expr.for_each_child(|child| alone = alone && stands_alone(child));
    alone
}

/// What a piece has left.
pub(crate) struct Done<T> {
    pub(crate) value: T,
    pub(crate) warnings: Warnings,
    counts: Counts,
    /// It asked for the session.
    pub(crate) asked: bool,
}

/// What tasks take from that of the statement.
pub(crate) struct Origin<'a, 'p> {
    shared: &'a Shared<'a, 'p>,
    registers: Registers,
    empty: Warnings,
    space: Option<Arc<SessionSpace>>,
    strict: bool,
    ignore: bool,
    /// Bytes for each.
    memory: usize,
}

impl<'a, 'p> Origin<'a, 'p> {
    /// For so many tasks.
    pub(crate) fn of(cx: &Cx<'a, 'p>, tasks: usize) -> Origin<'a, 'p> {
        Origin {
            shared: cx.shared,
            registers: cx.registers.clone(),
            empty: cx.warnings.like(),
            space: cx.session.temp_space(),
            strict: cx.strict,
            ignore: cx.ignore,
            memory: cx.shared.settings.memory_limit / tasks,
        }
    }

    /// Runs `f` as one of them.
    pub(crate) fn task<T>(&self, f: impl FnOnce(&mut Cx<'_, 'p>) -> T) -> Done<T> {
        let mut session = Alone { space: self.space.clone(), asked: AtomicBool::new(false) };
        let mut warnings = self.empty.like();
        let mut cx = Cx::task(self.shared, &mut session, &mut warnings, self.registers.clone(), self.memory);
        (cx.strict, cx.ignore) = (self.strict, self.ignore);
        let value = f(&mut cx);
        let counts = cx.counts;
        drop(cx);
        let asked = session.asked.load(Relaxed);
        Done { value, warnings, counts, asked }
    }
}

/// Runs pieces `0..pieces` with so many tasks, of which the current one is the first; a task that has finished a piece
/// takes the next. Returns their values in order. `None`: one of them asked for the session, and nothing has happened.
///
/// An error is that of the first piece that has one, with the warnings up to there; error 1317 when the statement was
/// killed.
pub(crate) fn share_out<'p, T: Send>(
    tasks: usize,
    pieces: usize,
    cx: &mut Cx<'_, 'p>,
    run: impl Fn(usize, &mut Cx<'_, 'p>) -> Result<T> + Sync,
) -> Result<Option<Vec<T>>> {
    let tasks = tasks.min(pieces).max(1);
    let (shared, origin) = (cx.shared, Origin::of(cx, tasks));
    let told = shared.told();
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let piece = |number: usize| {
        let done = origin.task(|cx| run(number, cx));
        if done.value.is_err() || done.asked {
            stop.store(true, Relaxed);
        }
        done
    };
    let mut done: Vec<(usize, Done<Result<T>>)> = gannet_runtime::together(tasks, Wait::Parallel, |_| {
        let take = || Some(next.fetch_add(1, Relaxed)).filter(|n| *n < pieces && !stop.load(Relaxed));
        std::iter::from_fn(take).map(|n| (n, piece(n))).collect::<Vec<_>>()
    })
    .into_iter()
    .flatten()
    .collect();
    done.sort_unstable_by_key(|(number, _)| *number);
    add(Counter::ParallelTasks, tasks as u64 - 1);
    if gannet_runtime::interrupted() {
        return Err(sql_err!(QueryInterrupted));
    }
    if done.iter().any(|(_, d)| d.asked) {
        shared.forget(told);
        return Ok(None);
    }
    let mut values = Vec::with_capacity(pieces);
    for (_, mut done) in done {
        cx.warnings.append(&mut done.warnings);
        cx.counts.examined += done.counts.examined;
        cx.counts.no_index |= done.counts.no_index;
        values.push(done.value?);
    }
    if values.len() == pieces { Ok(Some(values)) } else { Err(SqlError::internal("a piece was not run")) }
}

/// In place of the session. It answers as if there were none, and notes that it was asked.
struct Alone {
    space: Option<Arc<SessionSpace>>,
    asked: AtomicBool,
}

impl Alone {
    fn asked<T>(&self, answer: T) -> T {
        self.asked.store(true, Relaxed);
        answer
    }

    fn refuse<T>(&self) -> Result<T> {
        self.asked(Err(SqlError::internal("one of several tasks asks for the session")))
    }
}

impl SessionInfo for Alone {
    fn database(&self) -> Option<&str> {
        self.asked(None)
    }

    fn connection_id(&self) -> u64 {
        self.asked(0)
    }

    fn user(&self) -> &str {
        self.asked("")
    }

    fn current_user(&self) -> &str {
        self.asked("")
    }

    fn version(&self) -> &str {
        self.asked("")
    }

    fn last_insert_id(&self) -> u64 {
        self.asked(0)
    }

    fn set_last_insert_id(&mut self, _: u64) {
        self.asked(());
    }

    fn found_rows(&self) -> u64 {
        self.asked(0)
    }

    fn row_count(&self) -> i64 {
        self.asked(0)
    }

    fn random(&mut self) -> u64 {
        self.asked(0)
    }

    fn seeded_number(&mut self) -> Option<f64> {
        self.asked(None)
    }

    fn sleep(&mut self, _: f64) -> bool {
        self.asked(true)
    }

    fn clock_us(&self) -> Option<i64> {
        self.asked(None)
    }

    fn interrupted(&self) -> bool {
        gannet_runtime::interrupted()
    }

    fn variable(&mut self, _: &str) -> Result<Value> {
        self.refuse()
    }

    fn server_function(&mut self, _: &'static str, _: &[Value]) -> Result<Value> {
        self.refuse()
    }
}

impl Session for Alone {
    fn user_variable(&self, _: &str) -> Value {
        self.asked(Value::Null)
    }

    fn set_user_variable(&mut self, _: &str, _: Value) -> Result<()> {
        self.refuse()
    }

    fn system_variable(&mut self, _: bool, _: &str) -> Result<Value> {
        self.refuse()
    }

    fn temp_space(&self) -> Option<Arc<SessionSpace>> {
        self.space.clone()
    }

    fn virtual_rows(
        &mut self,
        _: u32,
        _: &[(u32, Value)],
        _: &[u32],
        _: &mut Rest,
        _: &mut Rest,
        _: &mut dyn FnMut(MadeRow<'_>) -> Result<()>,
    ) -> Result<Vec<(u32, Warning)>> {
        self.refuse()
    }

    fn foreign_key_refused(&mut self, _: &Refused<'_>) {
        self.asked(());
    }
}

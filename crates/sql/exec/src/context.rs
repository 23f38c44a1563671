//! What an execution carries along: transaction, session, parameters, registers, diagnostics, memory bound.

use crate::Locks;
use crate::{
    batch::Batch,
    changes::{ChangeSink, RowWriter},
    error::from_engine,
    lookup::{Alternatives, Answer, InSet},
    refused::Refused,
    spill::{Allowance, Kept, Memory, SessionSpace},
};
use gannet_base::{hash::HashMap, sync::Mutex};
use gannet_engine::{Savepoint, Txn};
use gannet_functions::{CallStates, EvalContext, SessionInfo};
use gannet_plan::plan::Plan;
use gannet_schema::{Table, Trigger};
use gannet_types::room::Room;
use gannet_types::temporal::Locale;
use gannet_types::{
    CollationId, Date, ErrorCode, Level, Result, SqlError, SqlMode, TimeZone, Value, ValueRef, Warning, Warnings,
    sql_err,
};

/// A row of a virtual table, with all its columns.
#[derive(Clone, Copy)]
pub enum MadeRow<'a> {
    /// Made for this.
    Values(&'a [Value]),
    /// Of what is there anyway: nothing is allocated for it.
    Lent(&'a [ValueRef<'a>]),
}

/// What a virtual table that makes its rows piece by piece has left: the table's own.
pub type Rest = Option<Box<dyn std::any::Any>>;

/// The session as the executor sees it.
pub trait Session: SessionInfo {
    /// `@name`; NULL when it was never set.
    fn user_variable(&self, name: &str) -> Value;
    /// `@name := value`.
    fn set_user_variable(&mut self, name: &str, value: Value) -> Result<()>;
    /// `@@name` (`global`: `@@global.name`).
    fn system_variable(&mut self, global: bool, name: &str) -> Result<Value>;
    /// Takes the value of `SET insert_id`; 0: none.
    fn take_insert_id(&mut self) -> u64 {
        0
    }
    /// The words of a table of stopwords, `schema/table`.
    fn stopwords(&mut self, table: &str) -> Result<Vec<Box<str>>> {
        Err(SqlError::unsupported(format_args!("stopwords of {table}")))
    }
    /// Memory and disk that statements share; `None`: they may not spill.
    fn temp_space(&self) -> Option<std::sync::Arc<SessionSpace>>;
    /// The rows of a virtual table: each is passed to `emit` with all columns. `equals` are equalities (column,
    /// value) that the rows will be filtered by anyway; columns that are not in `wanted` are not read. The first call
    /// has no `rest`; while one leaves some, others give more rows. `lists` lasts as long as the execution: what
    /// several tables show is read once, and is of one moment. Gives what there is to say of rows, by their numbers in
    /// the call.
    fn virtual_rows(
        &mut self,
        table: u32,
        equals: &[(u32, Value)],
        wanted: &[u32],
        rest: &mut Rest,
        lists: &mut Rest,
        emit: &mut dyn FnMut(MadeRow<'_>) -> Result<()>,
    ) -> Result<Vec<(u32, Warning)>>;
    /// The value of a stored function, which is called by the rights of its view's definer, if it has one. `to`
    /// changes its rows. The default refuses with error 1235.
    fn function_value(
        &mut self,
        to: RowWriter<'_>,
        warnings: &mut Warnings,
        called: &gannet_plan::expr::Called,
        args: &[Value],
    ) -> Result<Value> {
        let _ = (to, warnings, args);
        Err(SqlError::unsupported(format_args!("the function {} here", called.routine.name)))
    }
    /// Fires a trigger for a row; BEFORE triggers may change `new`, and which of its columns they have set to NULL
    /// comes back. `to` changes its rows. The default refuses with error 1235.
    fn fire_trigger(
        &mut self,
        to: RowWriter<'_>,
        warnings: &mut Warnings,
        trigger: (&std::sync::Arc<Table>, &std::sync::Arc<Trigger>),
        old: Option<&[Value]>,
        new: Option<&mut [Value]>,
    ) -> Result<Vec<u32>> {
        let _ = (to, warnings, old, new);
        Err(SqlError::unsupported(format_args!("the trigger {} here", trigger.1.name)))
    }
    /// What a BEFORE trigger does depends on the row alone, and it does nothing else but change or refuse it.
    fn is_of_row(
        &mut self,
        to: RowWriter<'_>,
        warnings: &mut Warnings,
        trigger: (&std::sync::Arc<Table>, &std::sync::Arc<Trigger>),
    ) -> bool {
        let _ = (to, warnings, trigger);
        false
    }
    /// A foreign key refuses a row: SHOW ENGINE INNODB STATUS shows the last one.
    fn foreign_key_refused(&mut self, refused: &Refused<'_>);
}

/// What a statement takes from the session's variables, fixed when it starts.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `sql_mode`
    pub sql_mode: SqlMode,
    /// `default_collation_for_utf8mb4`
    pub utf8mb4: CollationId,
    /// `time_zone`
    pub time_zone: TimeZone,
    /// Start of the statement, microseconds since 1970 UTC.
    pub now_us: i64,
    /// The date of that in the session's time zone.
    pub today: Date,
    /// `div_precision_increment`
    pub div_precision_increment: u8,
    /// `group_concat_max_len`
    pub group_concat_max_len: u64,
    /// `max_allowed_packet`
    pub max_allowed_packet: u64,
    /// `default_week_format`
    pub default_week_format: u8,
    /// `lc_time_names`
    pub locale: &'static Locale,
    /// `auto_increment_increment`
    pub auto_increment_increment: u64,
    /// `auto_increment_offset`
    pub auto_increment_offset: u64,
    /// Bytes the statement's sorts, hash tables and kept rows may hold in memory before they go to disk.
    pub memory_limit: usize,
    /// `cte_max_recursion_depth`
    pub cte_max_recursion_depth: u64,
    /// `CLIENT_FOUND_ROWS`: UPDATE counts matched rows instead of changed ones.
    pub count_found_rows: bool,
    /// `foreign_key_checks`
    pub foreign_key_checks: bool,
    /// What reads lock.
    pub locks: Locks,
    /// Triggers fire: not where rows of a log are applied, which has the rows of triggers itself.
    pub triggers: bool,
    /// `gannet_parallel_workers`: tasks that a part of the statement may be shared out to; 1 = none but its own.
    pub parallel_workers: u64,
    /// `innodb_ddl_threads`: tasks that build indexes.
    pub ddl_threads: u64,
}

/// Counts of one execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Rows read from tables.
    pub examined: u64,
    /// Rows sent to the client.
    pub sent: u64,
    /// All entries of an index were to be read: no index helped.
    pub no_index: bool,
}

/// An operator in execution.
pub trait Operator<'p> {
    /// Starts from the beginning, with the registers as they are now.
    fn open(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()>;
    /// How many rows the next call has to return at most. For scans: a row that is not needed must not be locked, and
    /// need not be read. Other operators may return more.
    fn want(&mut self, _rows: u64) {}
    /// Goes past some of the rows that come next, without making them; how many, `rows` at most.
    fn skip(&mut self, rows: u64, cx: &mut Cx<'_, 'p>) -> Result<u64> {
        let _ = (rows, cx);
        Ok(0)
    }
    /// Takes a batch back that it has given, to make the next one of it: what is opened for each row of another
    /// operator would make one each time.
    fn recycle(&mut self, _batch: Batch) {}
    /// The next rows; `None` at the end. A batch may be empty.
    fn next(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>>;
}

/// A boxed operator over a plan that lives for `'p`.
pub type BoxedOperator<'p> = Box<dyn Operator<'p> + 'p>;

/// A subplan's operators and its last answer, which is good while the registers it depends on are unchanged.
#[derive(Default)]
pub(crate) struct SubqueryState<'p> {
    pub(crate) operator: Option<BoxedOperator<'p>>,
    pub(crate) answer: Option<Answer>,
}

/// The rows of a common table expression.
#[derive(Default)]
pub(crate) struct CteState {
    pub(crate) rows: Option<Kept>,
    /// Versions of the registers that the rows were computed for.
    pub(crate) versions: Vec<u64>,
    /// While the recursive part runs: the rows of the previous round.
    pub(crate) round: Option<Kept>,
}

/// What all tasks of an execution share: it does not change while they run.
pub struct Shared<'a, 'p> {
    /// The plan.
    pub plan: &'p Plan,
    /// Variables.
    pub settings: &'a Settings,
    /// Values of the plan's parameters.
    pub params: &'a [Value],
    /// What is told once, however many rows there are: of a constant, or of a column without a value.
    told: Mutex<Vec<(ErrorCode, Told)>>,
}

/// Of what something is told once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// A column, or a text.
    Name(Box<str>),
    /// A parameter of the plan.
    Param(u32),
    /// An expression, by its place in memory.
    At(usize),
}

/// Tasks on several workers use it at once.
const _: () = {
    const fn sync<T: Sync>() {}
    sync::<Shared<'static, 'static>>();
};

impl<'a, 'p> Shared<'a, 'p> {
    /// For a fresh execution.
    pub fn new(plan: &'p Plan, settings: &'a Settings, params: &'a [Value]) -> Self {
        Shared { plan, settings, params, told: Mutex::new(Vec::new()) }
    }

    /// The first time that the statement has something to tell of a constant or a column.
    pub(crate) fn tells_first(&self, code: ErrorCode, of: Told) -> bool {
        let (mut told, of) = (self.told.lock(), (code, of));
        let first = !told.contains(&of);
        if first {
            told.push(of);
        }
        first
    }

    /// How much was told.
    pub(crate) fn told(&self) -> usize {
        self.told.lock().len()
    }

    /// What was told since is not known.
    pub(crate) fn forget(&self, told: usize) {
        self.told.lock().truncate(told);
    }
}

/// What only the statement's own task has.
pub struct Own<'a, T>(Option<&'a mut T>);

impl<T> Own<'_, T> {
    /// An internal error in another task: it is not given parts of a plan that need this.
    #[inline]
    pub(crate) fn get(&mut self) -> Result<&mut T> {
        match &mut self.0 {
            Some(own) => Ok(own),
            None => Err(SqlError::internal("one of several tasks needs the transaction")),
        }
    }
}

/// One task of an execution; that of the statement itself, or one of several that run a part of its plan at once
/// (`part.rs`).
pub struct Cx<'a, 'p> {
    /// What all tasks share.
    pub shared: &'a Shared<'a, 'p>,
    /// The transaction.
    pub txn: Own<'a, Txn>,
    /// The session.
    pub session: &'a mut dyn Session,
    /// Diagnostics area.
    pub warnings: &'a mut Warnings,
    /// Counts.
    pub counts: Counts,
    /// SQL_CALC_FOUND_ROWS.
    pub found_rows: Option<u64>,
    /// Losing conversions are errors (DML in strict mode without IGNORE).
    pub strict: bool,
    /// Those of select lists alone: a SELECT that assigns variables of a program.
    pub strict_items: bool,
    /// IGNORE: errors about single rows and values are warnings.
    pub ignore: bool,
    /// The statement is one of a function or trigger: when it fails, the row that it was at is undone, and the rows
    /// before stay for the handler that goes on, as in MySQL. The statement around undoes all, if it fails.
    pub inner: bool,
    /// There: where the row begins that is being written.
    pub row: Option<Savepoint>,
    /// Is told of each row that the statement changes.
    pub changes: Option<&'a mut dyn ChangeSink>,
    /// EXPLAIN ANALYZE: operators are timed.
    pub(crate) profile: Option<Box<crate::profile::Profile>>,
    /// What virtual tables share.
    pub(crate) lists: Rest,
    pub(crate) registers: Registers,
    pub(crate) subqueries: Vec<SubqueryState<'p>>,
    pub(crate) ctes: Vec<CteState>,
    pub(crate) in_sets: Option<HashMap<usize, InSet>>,
    pub(crate) alternatives: Option<HashMap<usize, Alternatives>>,
    pub(crate) searches: Option<Box<crate::found::Searches>>,
    call_states: CallStates,
    states_held: usize,
    memory: Memory,
    /// Bytes of texts and documents in columns that were computed.
    pub(crate) computed: u64,
    /// Those of the present batch, and how many of them are counted with the memory held.
    computed_now: usize,
    computed_held: usize,
    /// Arguments that wait for their calls.
    pub(crate) arguments: crate::long::Arguments,
    /// Bytes that evaluations went through since others were last let run: see [`Cx::worked`].
    pub(crate) worked: usize,
}

/// Values that expressions see of the operators and queries around them.
#[derive(Clone)]
pub(crate) struct Registers {
    values: Vec<Value>,
    versions: Vec<u64>,
    version: u64,
}

impl<'a, 'p> Cx<'a, 'p> {
    /// The statement's own task.
    pub fn new(
        shared: &'a Shared<'a, 'p>,
        txn: &'a mut Txn,
        session: &'a mut dyn Session,
        warnings: &'a mut Warnings,
    ) -> Self {
        let n = shared.plan.registers as usize;
        let registers = Registers { values: (0..n).map(|_| Value::Null).collect(), versions: vec![0; n], version: 0 };
        Cx::with(shared, Own(Some(txn)), session, warnings, registers, shared.settings.memory_limit)
    }

    /// A task that has no transaction, and may hold so much memory.
    pub(crate) fn task(
        shared: &'a Shared<'a, 'p>,
        session: &'a mut dyn Session,
        warnings: &'a mut Warnings,
        registers: Registers,
        memory: usize,
    ) -> Self {
        Cx::with(shared, Own(None), session, warnings, registers, memory)
    }

    #[inline(always)]
    fn with(
        shared: &'a Shared<'a, 'p>,
        txn: Own<'a, Txn>,
        session: &'a mut dyn Session,
        warnings: &'a mut Warnings,
        registers: Registers,
        memory: usize,
    ) -> Self {
        Cx {
            shared,
            txn,
            session,
            warnings,
            counts: Counts::default(),
            found_rows: None,
            strict: false,
            strict_items: false,
            ignore: false,
            inner: false,
            row: None,
            changes: None,
            profile: None,
            lists: None,
            registers,
            subqueries: shared.plan.subplans.iter().map(|_| SubqueryState::default()).collect(),
            ctes: shared.plan.ctes.iter().map(|_| CteState::default()).collect(),
            in_sets: None,
            alternatives: None,
            searches: None,
            call_states: CallStates::default(),
            states_held: 0,
            memory: Memory::new(memory),
            computed: 0,
            computed_now: 0,
            computed_held: 0,
            arguments: Default::default(),
            worked: 0,
        }
    }

    /// Warns of a column without a value; INSERT does so once for each column, however many rows there are.
    pub(crate) fn warn_of_column(&mut self, code: ErrorCode, column: &str) {
        if self.shared.tells_first(code, Told::Name(column.into())) {
            self.warnings.push(Warning::new(Level::Warning, code, &[&column]));
        }
    }

    /// What changes rows for the statement itself.
    #[inline]
    pub(crate) fn row_writer(&mut self) -> Result<RowWriter<'_>> {
        self.writer(false)
    }

    /// A row is about to be written, with its index entries and the rows that follow it.
    #[inline]
    pub(crate) fn begin_row(&mut self) -> Result<Savepoint> {
        let start = self.txn.get()?.savepoint();
        if self.inner {
            self.row = Some(start);
        }
        Ok(start)
    }

    /// The row is written.
    #[inline]
    pub(crate) fn end_row(&mut self) {
        self.row = None;
    }

    /// The row is left as it was, and the statement goes on.
    pub(crate) fn undo_row(&mut self, start: Savepoint) -> Result<()> {
        self.end_row();
        self.txn.get()?.rollback_to(start).map_err(from_engine)
    }

    /// What changes rows that follow those of the statement by a foreign key.
    pub(crate) fn cascade_writer(&mut self) -> Result<RowWriter<'_>> {
        self.writer(true)
    }

    /// What a function or trigger of the statement runs with.
    pub(crate) fn program(&mut self) -> Result<(&mut dyn Session, RowWriter<'_>, &mut Warnings)> {
        let sink = self.changes.as_mut().map(|sink| &mut **sink as &mut dyn ChangeSink);
        let to = RowWriter { txn: self.txn.get()?, sink, cascade: false, linked: false };
        Ok((&mut *self.session, to, &mut *self.warnings))
    }

    #[inline]
    fn writer(&mut self, cascade: bool) -> Result<RowWriter<'_>> {
        let sink = self.changes.as_mut().map(|sink| &mut **sink as &mut dyn ChangeSink);
        let linked = self.shared.plan.tables.iter().any(|t| t.links.is_some());
        Ok(RowWriter { txn: self.txn.get()?, sink, cascade, linked })
    }

    /// What functions see.
    pub fn eval_context(&mut self) -> EvalContext<'_> {
        let settings = self.shared.settings;
        EvalContext {
            sql_mode: settings.sql_mode,
            time_zone: &settings.time_zone,
            now_us: settings.now_us,
            today: settings.today,
            div_precision_increment: settings.div_precision_increment,
            group_concat_max_len: settings.group_concat_max_len,
            max_allowed_packet: settings.max_allowed_packet,
            default_week_format: settings.default_week_format,
            locale: settings.locale,
            strict: self.strict,
            warnings: self.warnings,
            stopped,
            room: Room::FREE,
            states: &mut self.call_states,
            session: self.session,
        }
    }

    /// Error 1317 when the statement was killed; lets other fibers run when this one has had its share.
    #[inline]
    pub fn check_interrupt(&mut self) -> Result<()> {
        gannet_runtime::yield_if_due();
        if gannet_runtime::interrupted() { Err(sql_err!(QueryInterrupted)) } else { Ok(()) }
    }

    /// Error 1317 when the statement was killed: between rows, where one may take long.
    #[inline]
    pub(crate) fn check_killed(&self) -> Result<()> {
        if gannet_runtime::interrupted() { Err(sql_err!(QueryInterrupted)) } else { Ok(()) }
    }

    /// Puts a value into a register.
    pub(crate) fn set_register(&mut self, register: usize, value: Value) {
        // The version changes with the value only, so that what was computed for a value can be used again.
        let r = &mut self.registers;
        if r.values[register] != value || r.versions[register] == 0 {
            r.version += 1;
            r.versions[register] = r.version;
            r.values[register] = value;
        }
    }

    /// The value of a register.
    #[inline]
    pub(crate) fn register(&self, register: u32) -> &Value {
        &self.registers.values[register as usize]
    }

    /// Versions of registers: equal lists mean equal values.
    pub fn register_versions(&self, registers: &[u32]) -> Vec<u64> {
        registers.iter().map(|r| self.registers.versions[*r as usize]).collect()
    }

    /// Takes memory for what cannot go to disk. Error 1038 when the statement, or all together, hold far too much.
    pub fn reserve(&mut self, bytes: usize) -> Result<()> {
        self.hold(bytes);
        if self.memory.beyond() { Err(memory_exceeded()) } else { Ok(()) }
    }

    /// Takes memory for what can go to disk: [`Cx::over`] tells when it has to.
    #[inline]
    pub(crate) fn hold(&mut self, bytes: usize) {
        if self.memory.hold(bytes) {
            let session = &*self.session;
            self.memory.grant(|| session.temp_space());
        }
    }

    /// What one evaluation may take besides, over values of `beside` bytes that nothing else counts.
    pub(crate) fn allowance(&mut self, beside: usize) -> Allowance {
        let session = &*self.session;
        self.memory.allowance(beside, || session.temp_space())
    }

    /// Calls keep more than is counted.
    #[inline]
    pub(crate) fn states_grew(&self) -> bool {
        self.call_states.bytes() > self.states_held
    }

    /// Counts what calls keep with the memory held. Error 1038 as for [`Cx::reserve`].
    #[cold]
    pub(crate) fn hold_states(&mut self) -> Result<()> {
        let kept = self.call_states.bytes();
        let more = kept.saturating_sub(std::mem::replace(&mut self.states_held, kept));
        self.reserve(more)
    }

    /// Takes note of a long value that was computed.
    #[cold]
    pub(crate) fn made(&mut self, bytes: usize) {
        let session = &*self.session;
        self.memory.made(bytes, || session.temp_space());
    }

    /// Values of so many bytes are computed for a batch. Error 1038 as for [`Cx::reserve`].
    #[inline]
    pub(crate) fn computing(&mut self, bytes: usize) -> Result<()> {
        self.computed += bytes as u64;
        self.computed_now += bytes;
        if self.computed_now < self.computed_held + COMPUTED_FREELY { Ok(()) } else { self.hold_computed() }
    }

    #[cold]
    fn hold_computed(&mut self) -> Result<()> {
        let more = self.computed_now - self.computed_held;
        self.computed_held += more;
        self.reserve(more)
    }

    /// Begins to compute columns for another batch: those of the last batch were passed on, or their keeper counts
    /// them.
    #[inline]
    pub(crate) fn begin_computing(&mut self) {
        self.computed_now = 0;
        if self.computed_held > 0 {
            let held = std::mem::take(&mut self.computed_held);
            self.release(held);
        }
    }

    /// Bytes computed for the batch so far.
    #[inline]
    pub(crate) fn computed_now(&self) -> usize {
        self.computed_now
    }

    /// What was computed beyond so many bytes is not kept.
    #[inline]
    pub(crate) fn forget_computed(&mut self, before: usize) {
        self.computed_now = before;
        if self.computed_held > before {
            let held = self.computed_held - before;
            self.computed_held = before;
            self.release(held);
        }
    }

    /// True when an operator which holds `own` bytes has to put them on disk.
    #[inline]
    pub(crate) fn over(&self, own: usize) -> bool {
        self.memory.over(own)
    }

    /// Bytes that an operator which reads rows back may hold of them.
    pub(crate) fn share(&self) -> usize {
        self.memory.share()
    }

    /// Where temporary files go. Error 1038 for a session without such a place.
    pub(crate) fn temp_space(&self) -> Result<std::sync::Arc<SessionSpace>> {
        self.session.temp_space().ok_or_else(memory_exceeded)
    }

    /// Bytes of a list that lives for one row's cascade: bounded like the rest, given back with the statement.
    pub(crate) fn held(&mut self, bytes: usize) -> Result<()> {
        self.reserve(bytes)
    }

    /// Gives memory back.
    pub fn release(&mut self, bytes: usize) {
        self.memory.release(bytes);
    }
}

/// Bytes of a batch's computed values that need no memory of the statement's.
const COMPUTED_FREELY: usize = 32 << 20;

#[cold]
fn memory_exceeded() -> SqlError {
    sql_err!(OutOfSortmemory)
}

/// Whether the statement was killed; called where one value takes long. The connection that kills it may be on the
/// same worker, and runs here.
pub fn stopped() -> bool {
    gannet_runtime::yield_if_due();
    gannet_runtime::interrupted()
}

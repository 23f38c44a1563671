//! The shape of a declaration: what the binder and the executor know of a function.

use gannet_types::temporal::Locale;
use gannet_types::{
    CollationId, Date, Result, SqlMode, SqlType, TimeZone, Value, ValueRef, Warnings, collation::CollationSource,
    convert::Context, room::Room,
};
use std::{any::Any, collections::HashMap};

/// What the binder knows of an argument when it asks for the result type.
#[derive(Clone, Copy, Debug)]
pub struct ArgInfo<'a> {
    /// Type of the argument's values.
    pub ty: &'a SqlType,
    /// Its value, when it is constant at binding time.
    pub constant: Option<&'a Value>,
    /// Collation and coercibility, for deriving the result's.
    pub collation: CollationSource,
}

/// What result types depend on besides the arguments. All of it is part of the plan cache's key.
#[derive(Clone, Copy, Debug)]
pub struct RuleContext {
    /// SQL mode.
    pub sql_mode: SqlMode,
    /// `div_precision_increment`
    pub div_precision_increment: u8,
    /// `group_concat_max_len`, bytes.
    pub group_concat_max_len: u64,
    /// `collation_connection`: of text made from numbers and dates.
    pub collation: CollationId,
    /// `lc_time_names`: the language of names of months and days.
    pub locale: &'static Locale,
}

/// A call as the evaluation sees it: fixed at binding time, the same for every row.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The result's type, as the rule gave it.
    pub ty: &'a SqlType,
    /// The arguments' types.
    pub args: &'a [SqlType],
    /// Names the call within one execution, for [`CallStates`]; 0 keeps nothing.
    pub site: usize,
}

/// What calls keep from row to row of one execution: the generator of `RAND(seed)`, a compiled pattern. What is large
/// is kept up to a bound; beyond it, it is made anew for each row.
#[derive(Default)]
pub struct CallStates {
    kept: Option<HashMap<usize, (Box<dyn Any + Send>, usize)>>,
    bytes: usize,
}

/// Bytes that a statement's calls keep.
const MOST_KEPT: usize = 64 << 20;

impl CallStates {
    /// The state of a call, if it has one of this type.
    pub fn get<T: Any + Send>(&mut self, call: Call<'_>) -> Option<&mut T> {
        self.kept.as_mut()?.get_mut(&call.site)?.0.downcast_mut()
    }

    /// Bytes kept, by what was said of them.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Keeps a state for the next evaluation of the call. `bytes`: what it holds at most, besides a few words.
    pub fn set<T: Any + Send>(&mut self, call: Call<'_>, state: T, bytes: usize) {
        if call.site == 0 {
            return;
        }
        let kept = self.kept.get_or_insert_default();
        let before = kept.remove(&call.site).map_or(0, |(_, bytes)| bytes);
        self.bytes -= before;
        if bytes == 0 || self.bytes + bytes <= MOST_KEPT {
            self.bytes += bytes;
            kept.insert(call.site, (Box::new(state), bytes));
        }
    }
}

/// Gives the result's type, or refuses the arguments.
pub type TypeRule = fn(RuleContext, &[ArgInfo<'_>]) -> Result<SqlType>;

/// Computes one value. The arguments have the types the rule saw.
pub type Eval = fn(&mut EvalContext<'_>, Call<'_>, &[Value]) -> Result<Value>;

/// How many arguments a function takes. A wrong number is error 1582.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arity {
    /// At least.
    pub min: u8,
    /// At most; `None`: any number.
    pub max: Option<u8>,
}

impl Arity {
    /// True when a call with `n` arguments is well formed.
    pub fn accepts(self, n: usize) -> bool {
        n >= usize::from(self.min) && self.max.is_none_or(|max| n <= usize::from(max))
    }
}

/// What the optimizer may assume of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stability {
    /// The same arguments give the same value, always: may be folded when the plan is made.
    Pure,
    /// Constant during a statement, but not between statements (NOW, DATABASE, CONNECTION_ID).
    Statement,
    /// A new value at each evaluation, which no other expression sees (RAND, UUID).
    Volatile,
    /// Changes, or shows, what other expressions of the statement see or change: the order of evaluation tells (SLEEP,
    /// GET_LOCK, LAST_INSERT_ID).
    Effect,
}

impl Stability {
    /// One evaluation does not stand for another one in the same statement.
    pub fn varies(self) -> bool {
        match self {
            Stability::Pure | Stability::Statement => false,
            Stability::Volatile | Stability::Effect => true,
        }
    }
}

/// Operators for which the executor has loops over typed columns; others are evaluated value by value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kernel {
    /// None.
    General,
    /// `a + b`
    Add,
    /// `a - b`
    Subtract,
    /// `a * b`
    Multiply,
    /// `a % b`
    Remainder,
    /// The first argument that is not NULL; those behind it are not evaluated.
    FirstKnown,
    /// BENCHMARK: the second argument is evaluated as often as the first one says.
    Repeat,
}

/// A scalar function or operator.
#[derive(Debug)]
pub struct FunctionDef {
    /// Name as SQL calls it, upper case; operators have their symbol (`+`, `DIV`, `LIKE`).
    pub name: &'static str,
    /// Synonyms.
    pub aliases: &'static [&'static str],
    /// Number of arguments.
    pub arity: Arity,
    /// Result type.
    pub(crate) rule: TypeRule,
    /// Evaluation.
    pub eval: Eval,
    /// NULL for any NULL argument: the executor then does not call `eval`.
    pub null_propagates: bool,
    /// What may be assumed.
    pub stability: Stability,
    /// Typed loop in the executor.
    pub kernel: Kernel,
    /// Computes with all digits of DECIMAL arguments; others see them rounded to their types ([`Value::settle`]).
    pub keeps_digits: bool,
    /// Arguments that are numbers, a bit for each: there hexadecimal and bit literals are integers, and the texts of
    /// computed dates the dates' numbers.
    pub numbers: u32,
    /// Computes with the instants of TIMESTAMP columns; others see them as local times.
    pub takes_instants: bool,
    /// Arguments whose text the result's is made of, by position: they decide its coercibility.
    pub made_of: fn(usize) -> bool,
    /// Its text may have any characters, though it is not made of its arguments' text: names, documents.
    pub any_text: bool,
    /// Its text may have names of months and days, which are ASCII in English alone.
    pub names_dates: bool,
    /// Bytes of a result that may be far longer than the arguments, where they ask for that.
    pub makes: Option<fn(&[Value]) -> usize>,
    /// One line for the manual.
    pub doc: &'static str,
}

/// What is computed has the digits of its type, also where the rule gives it the type of a user variable.
fn computed(rule: TypeRule, cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
    rule(cx, args).map(|ty| SqlType { own_digits: false, ..ty })
}

impl PartialEq for FunctionDef {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

/// Aggregates for which the executor has loops over typed columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AggregateKernel {
    /// None: accumulated value by value.
    General,
    /// `COUNT(*)` and `COUNT(x)`
    Count,
    /// `SUM`
    Sum,
    /// `AVG`
    Avg,
    /// `MIN`
    Min,
    /// `MAX`
    Max,
}

/// An aggregate function.
#[derive(Debug)]
pub struct AggregateDef {
    /// Name, upper case.
    pub name: &'static str,
    /// Synonyms.
    pub aliases: &'static [&'static str],
    /// Number of arguments; `COUNT(*)` has none.
    pub arity: Arity,
    /// Result type.
    pub(crate) rule: TypeRule,
    /// A fresh accumulator.
    pub start: fn(Call<'_>) -> Box<dyn Accumulator>,
    /// Typed loop in the executor.
    pub kernel: AggregateKernel,
    /// One line for the manual.
    pub doc: &'static str,
}

impl PartialEq for AggregateDef {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

/// A part of a group, aggregated by itself.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    /// SUM, AVG: total and number of values.
    Sum(f64, u64),
    /// Variances: number of values, mean, sum of squared distances from it.
    Moments(f64, f64, f64),
    /// BIT_AND, BIT_OR, BIT_XOR.
    Bits(u64),
}

/// The state of one aggregate in one group.
pub trait Accumulator: Send + Sync {
    /// Takes one row's arguments.
    fn add(&mut self, cx: &mut EvalContext<'_>, args: &[Value]) -> Result<()>;
    /// Takes the one argument of a row, if that needs neither a conversion nor a warning, and cannot fail. False: it
    /// has not, and [`add`](Self::add) is to be called.
    fn take(&mut self, value: ValueRef<'_>) -> bool {
        let _ = value;
        false
    }
    /// Takes one row out again that was added. False: it cannot be done exactly, and nothing changed.
    fn remove(&mut self, cx: &mut EvalContext<'_>, args: &[Value]) -> Result<bool> {
        let _ = (cx, args);
        Ok(false)
    }
    /// What was added so far, if it can be joined with what another one took: sliding frames that cannot take rows out.
    fn part(&self) -> Option<Part> {
        None
    }
    /// Adds what another accumulator of the same kind took: its [`part`](Self::part).
    fn join(&mut self, part: Part) {
        let _ = part;
    }
    /// GROUP_CONCAT: how many rows its text is of, and whether the last of them is cut.
    fn written_rows(&self) -> (u64, bool) {
        (0, false)
    }
    /// The group's value. May be called several times (window frames).
    fn value(&self, cx: &mut EvalContext<'_>) -> Result<Value>;
    /// Bytes held, for the statement's memory bound.
    fn memory_bytes(&self) -> usize;
}

/// The session's side of an evaluation: what is in neither the arguments nor the statement's fixed facts.
pub trait SessionInfo: Send {
    /// `DATABASE()`.
    fn database(&self) -> Option<&str>;
    /// `CONNECTION_ID()`.
    fn connection_id(&self) -> u64;
    /// `USER()`: as the client gave it, `name@host`.
    fn user(&self) -> &str;
    /// `CURRENT_USER()`: the account that it was matched to, `name@host`.
    fn current_user(&self) -> &str;
    /// `VERSION()`.
    fn version(&self) -> &str;
    /// `LAST_INSERT_ID()`.
    fn last_insert_id(&self) -> u64;
    /// `LAST_INSERT_ID(n)`.
    fn set_last_insert_id(&mut self, value: u64);
    /// `FOUND_ROWS()`.
    fn found_rows(&self) -> u64;
    /// `ROW_COUNT()` of the statement before.
    fn row_count(&self) -> i64;
    /// 64 random bits.
    fn random(&mut self) -> u64;
    /// The next number of `RAND()`, where `rand_seed1` or `rand_seed2` was set.
    fn seeded_number(&mut self) -> Option<f64> {
        None
    }
    /// Waits; true when it was interrupted (KILL QUERY).
    fn sleep(&mut self, seconds: f64) -> bool;
    /// The wall clock, microseconds since 1970 UTC, for `SYSDATE()`. `None`: the statement's start serves.
    fn clock_us(&self) -> Option<i64> {
        None
    }
    /// The statement was killed or has run out of time: long evaluations ask now and then.
    fn interrupted(&self) -> bool {
        false
    }
    /// The session's value of a system variable. The default refuses with error 1193.
    fn variable(&mut self, name: &str) -> Result<Value> {
        Err(gannet_types::sql_err!(UnknownSystemVariable, name))
    }
    /// Sends a named request to the session: user-level locks and other functions which act on the server.
    /// The default refuses with error 1235.
    fn server_function(&mut self, name: &'static str, args: &[Value]) -> Result<Value> {
        let _ = args;
        Err(gannet_types::SqlError::unsupported(name))
    }
}

/// What an evaluation may look at and leave behind.
pub struct EvalContext<'a> {
    /// SQL mode of the statement.
    pub sql_mode: SqlMode,
    /// Time zone of the session.
    pub time_zone: &'a TimeZone,
    /// Start of the statement, microseconds since 1970 UTC (`NOW()`; fixed by `SET timestamp`).
    pub now_us: i64,
    /// The statement's date in the session's time zone.
    pub today: Date,
    /// `div_precision_increment`.
    pub div_precision_increment: u8,
    /// `group_concat_max_len`, bytes.
    pub group_concat_max_len: u64,
    /// `max_allowed_packet`, bytes: longer string results become NULL with warning 1301.
    pub max_allowed_packet: u64,
    /// `default_week_format`.
    pub default_week_format: u8,
    /// `lc_time_names`.
    pub locale: &'static Locale,
    /// Conversions that lose something are errors, not warnings (DML in strict mode).
    pub strict: bool,
    /// Diagnostics area.
    pub warnings: &'a mut Warnings,
    /// For what takes long over one value: whether the statement was killed.
    pub stopped: gannet_types::convert::Stopped,
    /// Memory for what is built of the arguments.
    pub room: Room<'a>,
    /// What calls keep between rows.
    pub states: &'a mut CallStates,
    /// The session.
    pub session: &'a mut dyn SessionInfo,
}

impl EvalContext<'_> {
    /// What conversions need.
    pub fn conversion(&mut self) -> Context<'_> {
        Context {
            mode: self.sql_mode,
            zone: self.time_zone,
            today: self.today,
            strict: self.strict,
            warnings: self.warnings,
            stopped: self.stopped,
            room: self.room,
        }
    }
}

impl AggregateDef {
    /// The result's type.
    pub fn result_type(&self, cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
        computed(self.rule, cx, args)
    }
}

impl FunctionDef {
    /// The result's type.
    pub fn result_type(&self, cx: RuleContext, args: &[ArgInfo<'_>]) -> Result<SqlType> {
        computed(self.rule, cx, args)
    }

    /// A pure function of `min..=max` arguments that is NULL for any NULL argument.
    pub const fn new(
        name: &'static str,
        min: u8,
        max: u8,
        rule: TypeRule,
        eval: Eval,
        doc: &'static str,
    ) -> FunctionDef {
        FunctionDef {
            name,
            aliases: &[],
            arity: Arity { min, max: Some(max) },
            rule,
            eval,
            null_propagates: true,
            stability: Stability::Pure,
            kernel: Kernel::General,
            keeps_digits: false,
            numbers: 0,
            takes_instants: false,
            made_of: |_| false,
            any_text: false,
            names_dates: false,
            makes: None,
            doc,
        }
    }

    /// See [`FunctionDef::makes`].
    pub const fn makes(mut self, bytes: fn(&[Value]) -> usize) -> FunctionDef {
        self.makes = Some(bytes);
        self
    }

    /// See [`FunctionDef::made_of`].
    pub const fn made_of(mut self, which: fn(usize) -> bool) -> FunctionDef {
        self.made_of = which;
        self
    }

    /// See [`FunctionDef::any_text`].
    pub const fn any_text(mut self) -> FunctionDef {
        self.any_text = true;
        self
    }

    /// See [`FunctionDef::names_dates`].
    pub const fn names_dates(mut self) -> FunctionDef {
        self.names_dates = true;
        self
    }

    /// Takes any number of arguments from its least one on.
    pub const fn variadic(mut self) -> FunctionDef {
        self.arity.max = None;
        self
    }

    /// Sees NULL arguments.
    pub const fn sees_null(mut self) -> FunctionDef {
        self.null_propagates = false;
        self
    }

    /// Has other names too.
    pub const fn also(mut self, aliases: &'static [&'static str]) -> FunctionDef {
        self.aliases = aliases;
        self
    }

    /// Is not pure.
    pub const fn is(mut self, stability: Stability) -> FunctionDef {
        self.stability = stability;
        self
    }

    /// Is arithmetic: see [`FunctionDef::keeps_digits`].
    pub const fn keeps_digits(mut self) -> FunctionDef {
        self.keeps_digits = true;
        self
    }

    /// See [`FunctionDef::takes_instants`].
    pub const fn takes_instants(mut self) -> FunctionDef {
        self.takes_instants = true;
        self
    }

    /// All of its arguments are numbers: see [`FunctionDef::numbers`].
    pub const fn takes_numbers(mut self) -> FunctionDef {
        self.numbers = u32::MAX;
        self
    }

    /// These of its arguments are numbers: see [`FunctionDef::numbers`].
    pub const fn numbers_at(mut self, places: &[u32]) -> FunctionDef {
        let mut i = 0;
        while i < places.len() {
            self.numbers |= 1 << places[i];
            i += 1;
        }
        self
    }

    /// The argument at this place is a number.
    pub fn takes_number_at(&self, place: usize) -> bool {
        self.numbers >> place.min(31) & 1 == 1
    }

    /// Has a typed loop.
    pub const fn kernel(mut self, kernel: Kernel) -> FunctionDef {
        self.kernel = kernel;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_calls_keep_is_bounded() {
        let bigint = SqlType::BIGINT;
        let call = |site| Call { ty: &bigint, args: &[], site };
        let mut states = CallStates::default();
        for site in 1..=100 {
            states.set(call(site), site, 1 << 20);
        }
        assert_eq!((states.bytes(), states.get::<usize>(call(64)).copied()), (MOST_KEPT, Some(64)));
        assert_eq!(states.get::<usize>(call(65)), None);
        // What is small is always kept, and what takes its place is counted once.
        states.set(call(66), 66usize, 0);
        states.set(call(1), 0usize, 1 << 19);
        assert_eq!(states.get::<usize>(call(66)).copied(), Some(66));
        assert_eq!(states.bytes(), MOST_KEPT - (1 << 19));
    }
}

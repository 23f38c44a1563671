//! The state of the running statement, which ends with it. A statement inside another has one of its own:
//! [`Session::nested`].

use super::Session;
use super::diagnostics::Diagnostics;
use super::reply::Done;
use gannet_runtime::{WallTime, now_ns};
use gannet_types::collation::LikePattern;
use gannet_types::{Result, Value};

/// When a statement began, read once; later times are that plus the time that has passed.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Monotonic.
    pub ns: u64,
    /// Microseconds since 1970.
    pub unix_us: u64,
    /// When it ended, monotonic; 0 = not yet.
    pub ended_ns: u64,
}

impl Clock {
    #[inline]
    pub fn now() -> Self {
        Clock { ns: now_ns(), unix_us: WallTime::now().micros(), ended_ns: 0 }
    }
}

/// The session's part of the running statement.
#[derive(Default)]
pub struct Running {
    /// Parameter values of the prepared statement that runs, when it is not planned as a whole: for the plans inside
    /// it.
    pub markers: Vec<Value>,
    /// What names mean in the statement, when it is one of a stored program: `markers` are then the program's
    /// variables.
    pub(crate) locals: Option<gannet_program::Names>,
    /// Parameters of a prepared CALL that got values: their places among `markers`, names and types.
    pub(crate) outs: Vec<(u32, Box<str>, gannet_types::SqlType)>,
    /// Another statement of the same text follows.
    pub more: bool,
    /// It dropped the default database.
    pub database_dropped: bool,
    /// It has read a whole table; known when it has ended.
    pub no_index: bool,
    /// SQL_CALC_FOUND_ROWS has counted.
    pub counted_rows: bool,
    /// `max_execution_time` stopped it.
    pub timed_out: bool,
    /// What is evaluated goes to a variable of a program, and sql_mode is strict: errors as of what goes to a column.
    pub(crate) strict: bool,
    /// ROW_COUNT() goes on to tell of the statement before.
    pub(crate) keeps_row_count: bool,
    pub diagnostics: Diagnostics,
    /// For the statistics.
    pub figures: Figures,
}

/// The part that functions see.
pub struct Seen {
    /// SHOW of one table: a virtual table asked for it shows the temporary one.
    pub shows_temporary: bool,
    /// It called LAST_INSERT_ID(n): the OK packet repeats n.
    pub insert_id_given: bool,
    /// It uses tables.
    pub over_tables: bool,
    /// SHOW ... LIKE of a virtual table with names and values: others need not be made.
    pub names: Option<Box<LikePattern>>,
    pub clock: Clock,
    /// Of the statement before.
    pub before: Before,
    /// Query attributes, which few statements have: name, and text or NULL.
    pub attributes: Option<Box<Attributes>>,
}

impl Seen {
    /// A row of this name is of use.
    pub fn wants(&self, name: &str) -> bool {
        self.names.as_ref().is_none_or(|names| names.matches(name.as_bytes()))
    }

    /// Of a statement that begins now.
    pub fn now() -> Self {
        Seen {
            shows_temporary: false,
            insert_id_given: false,
            over_tables: false,
            names: None,
            clock: Clock::now(),
            before: Before::default(),
            attributes: None,
        }
    }
}

/// Names and values of query attributes.
pub type Attributes = Vec<(Box<[u8]>, Value)>;

/// What functions and variables say of the statement before.
#[derive(Clone, Copy, Debug, Default)]
pub struct Before {
    /// `FOUND_ROWS()`
    pub found_rows: u64,
    /// `ROW_COUNT()`
    pub row_count: i64,
    /// `@@warning_count`
    pub warnings: u64,
    /// `@@error_count`
    pub errors: u64,
}

impl Before {
    /// A statement has ended. `unseen`: errors that are not in its diagnostics.
    pub(crate) fn ended(&mut self, running: &mut Running, unseen: u64, outcome: &Result<Done>) {
        let warnings = &running.diagnostics.warnings;
        (self.warnings, self.errors) = (warnings.total() + unseen, warnings.errors() + unseen);
        if std::mem::take(&mut running.keeps_row_count) && outcome.is_ok() {
            return;
        }
        self.row_count = match outcome {
            Ok(done) if done.rows => -1,
            Ok(done) => i64::try_from(done.affected).unwrap_or(i64::MAX),
            Err(_) => -1,
        };
    }
}

/// Figures of one execution, for the statistics.
#[derive(Debug, Default, Clone, Copy)]
pub struct Figures {
    pub sent: u64,
    /// Its rows go to variables or a file.
    pub into: bool,
    pub examined: u64,
    pub no_index: bool,
    /// Scans, sorts or temporary tables may have been counted.
    pub works: bool,
    /// The counter of its kind.
    pub kind: Option<gannet_telemetry::Counter>,
}

/// Runs `f`, whose values go to variables of a program.
pub(crate) fn storing<R>(session: &mut Session, f: impl FnOnce(&mut Session) -> R) -> R {
    let strict = session.settings.exec.sql_mode.is_strict();
    let before = std::mem::replace(&mut session.running.strict, strict);
    let result = f(session);
    session.running.strict = before;
    result
}

impl Session {
    /// Runs `f` as a statement inside the running one, with a clock, diagnostics, parameters and figures of its own.
    /// When it has ended, those of the outer statement are as before, and so is what the outer statement's functions
    /// say of the statement before it (FOUND_ROWS, ROW_COUNT).
    pub fn nested<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        let seen = Seen { before: self.state.running.before, ..Seen::now() };
        let running = Running { diagnostics: self.running.diagnostics.inside(), ..Running::default() };
        let outer = self.exchange((running, seen));
        let result = f(self);
        let (inner, _) = self.exchange(outer);
        // The outer statement has read what the inner one reads.
        self.running.figures.examined += inner.figures.examined;
        self.running.figures.works |= inner.figures.works;
        result
    }

    /// Puts another execution in the place of the running one.
    fn exchange(&mut self, (running, seen): (Running, Seen)) -> (Running, Seen) {
        (std::mem::replace(&mut self.running, running), std::mem::replace(&mut self.state.running, seen))
    }
}

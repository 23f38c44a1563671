//! The state of the running statement, which ends with it. A statement inside another has one of its own:
//! [`Session::nested`].

use super::Session;
use gannet_runtime::{WallTime, now_ns};
use gannet_types::collation::LikePattern;
use gannet_types::{Value, Warnings};

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
    /// Diagnostics areas of the handlers that are at work, innermost last.
    pub(crate) stacked: Vec<super::diagnostics::Stacked>,
    /// How often a statement of a program has cleared the diagnostics area.
    pub(crate) clears: u64,
    /// Parameters of a prepared CALL that got values: their places among `markers`, names and types.
    pub(crate) outs: Vec<(u32, Box<str>, gannet_types::SqlType)>,
    /// Another statement of the same text follows.
    pub more: bool,
    /// It dropped the default database.
    pub database_dropped: bool,
    /// SQL_CALC_FOUND_ROWS has counted.
    pub counted_rows: bool,
    /// `max_execution_time` stopped it.
    pub timed_out: bool,
    /// Diagnostics area.
    pub warnings: Warnings,
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
}

impl Seen {
    /// A row of this name is of use.
    pub fn wants(&self, name: &str) -> bool {
        self.names.as_ref().is_none_or(|names| names.matches(name.as_bytes()))
    }

    /// Of a statement that begins now.
    pub fn now() -> Self {
        Seen { shows_temporary: false, insert_id_given: false, over_tables: false, names: None, clock: Clock::now() }
    }
}

/// Figures of one execution, for the statistics.
#[derive(Debug, Default, Clone, Copy)]
pub struct Figures {
    pub sent: u64,
    pub examined: u64,
    pub affected: u64,
    pub no_index: bool,
    /// Scans, sorts or temporary tables may have been counted.
    pub works: bool,
    /// The counter of its kind.
    pub kind: Option<gannet_telemetry::Counter>,
}

impl Session {
    /// Runs `f` as a statement inside the running one, with a clock, diagnostics, parameters and figures of its own.
    /// When it has ended, those of the outer statement are as before, and so is what the outer statement's functions
    /// say of the statement before it (FOUND_ROWS, ROW_COUNT).
    pub fn nested<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        let warnings = self.running.warnings.like();
        let outer = std::mem::replace(&mut self.running, Running { warnings, ..Running::default() });
        let seen = std::mem::replace(&mut self.state.running, Seen::now());
        let s = &mut self.state;
        let attributes = std::mem::take(&mut s.query_attributes);
        let before = (s.found_rows, s.row_count, s.warning_count, s.error_count);
        let result = f(self);
        let inner = self.running.figures;
        (self.running, self.state.running) = (outer, seen);
        // The outer statement has read what the inner one reads.
        self.running.figures.examined += inner.examined;
        self.running.figures.works |= inner.works;
        let s = &mut self.state;
        s.query_attributes = attributes;
        (s.found_rows, s.row_count, s.warning_count, s.error_count) = before;
        result
    }
}

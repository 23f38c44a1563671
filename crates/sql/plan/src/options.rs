//! What planning depends on besides the statement and the catalog.

use crate::range::Limit;
use gannet_schema::Table;
use gannet_types::charset::Charset;
use gannet_types::temporal::Locale;
use gannet_types::{CollationId, SqlMode, SqlType, TimeZone, Value};

/// Options of [`crate::plan()`]. All of it that can differ between sessions is part of the plan cache's key.
#[derive(Clone)]
pub struct PlanOptions<'a> {
    /// UPDATE and DELETE with LIMIT through a view without a key of its table are told of, not refused
    /// (updatable_views_with_limit).
    pub limited_views: bool,
    /// Binds the expressions of tables; `None`: generated columns depend on nothing.
    pub bind_exprs: Option<crate::plan::BindExprs>,
    /// sql_mode.
    pub sql_mode: SqlMode,
    /// Default schema.
    pub database: Option<&'a str>,
    /// collation_connection: of string literals.
    pub collation: CollationId,
    /// character_set_client: bytes behind an introducer are in it.
    pub client: Charset,
    /// `default_collation_for_utf8mb4`: what that is where no collation is named.
    pub utf8mb4: CollationId,
    /// Types of the values bound to `?` markers; empty when they are not known yet (PREPARE): then they are inferred.
    pub markers: &'a [SqlType],
    /// Their values in the execution that is at hand, for estimates only; empty when there are none yet.
    pub values: &'a [Value],
    /// Which passes run.
    pub passes: Passes,
    /// Types of user and system variables.
    pub variables: Option<&'a dyn VariableTypes>,
    /// default_week_format, which the texts of views name.
    pub default_week_format: u8,
    /// div_precision_increment: baked into result types.
    pub div_precision_increment: u8,
    /// group_concat_max_len: the same.
    pub group_concat_max_len: u64,
    /// `lc_time_names`.
    pub locale: &'static Locale,
    /// Session time zone, for folding.
    pub time_zone: &'a TimeZone,
    /// The statement's text and its literal tokens, when the plan is to be shared by statements of the same shape: from
    /// the scan that gave the shape. Without it no literal becomes a parameter.
    pub source: Option<(&'a [u8], &'a [gannet_parser::digest::LiteralToken])>,
    /// `sql_auto_is_null`: LAST_INSERT_ID(), for `IS NULL` of an AUTO_INCREMENT column; 0 = the variable is off.
    pub generated: u64,
    /// Rows of a log are written: values may be given for generated columns, which are not computed then.
    pub logged_rows: bool,
    /// The variables of the stored program whose statement is planned.
    pub locals: Option<&'a dyn Locals>,
    /// Looks at the trees to estimate a range; without one, statistics alone decide.
    pub estimator: Option<&'a dyn RangeEstimator>,
    /// Called with the schema and name of every table before it is looked up: a session that may not know of the
    /// table must not learn of it from an error.
    pub on_table: Option<&'a dyn Fn(&str, &str)>,
    /// Deepest nesting of queries and expressions that is bound before error 1436.
    pub max_depth: u32,
    /// Bytes left of the native stack: planning recurses with the nesting of queries, and refuses before it runs out.
    pub remaining_stack: fn() -> usize,
    /// The statement was killed or has run out of time: planning stops with error 1317.
    pub stopped: fn() -> bool,
}

/// With less native stack than this planning goes no deeper: error 1436.
const STACK_RESERVE: usize = gannet_types::STACK_RESERVE;

impl PlanOptions<'_> {
    /// Error 1436 where the nesting, or the native stack, is exhausted.
    pub(crate) fn check_depth(&self, depth: u32) -> gannet_types::Result<()> {
        let left = (self.remaining_stack)();
        if depth < self.max_depth && left >= STACK_RESERVE {
            return Ok(());
        }
        Err(self.too_deep())
    }

    /// Error 1317 for a statement that was killed; called by loops over lists whose size a client chooses.
    pub(crate) fn check_stopped(&self) -> gannet_types::Result<()> {
        if (self.stopped)() { Err(gannet_types::sql_err!(QueryInterrupted)) } else { Ok(()) }
    }

    /// Error 1436.
    #[cold]
    pub(crate) fn too_deep(&self) -> gannet_types::SqlError {
        let left = (self.remaining_stack)();
        gannet_types::sql_err!(StackOverrunNeedMore, STACK_RESERVE, left, STACK_RESERVE)
    }
}

/// Types of variables. A plan that uses user variables ([`crate::plan::Uses::user_variables`]) is good only while these
/// types stay.
pub trait VariableTypes {
    /// Type of a user variable, if it is set.
    fn user(&self, name: &str) -> Option<SqlType>;
    /// Type of a system variable by lower-case name. Errors 1193 (unknown), 1238 (wrong scope).
    fn system(&self, name: &str, scope: gannet_parser::ast::VarScope) -> gannet_types::Result<SqlType>;
}

/// Variables that names in the statements of a stored program may mean.
pub trait Locals {
    /// What a name means; `row` is `OLD` or `NEW` where the name is qualified with it. Error 1363 for a row that there
    /// is not, 1054 for a column that it has not.
    fn find(&self, row: Option<&str>, name: &str) -> gannet_types::Result<Option<Local>>;
}

/// A variable of a stored program, or a column of OLD or NEW.
pub struct Local {
    /// Its place among the program's.
    pub slot: u32,
    /// Its declared type.
    pub ty: SqlType,
    /// What error 1690 calls it.
    pub name: Box<str>,
}

/// Looks into the trees of tables.
pub trait RangeEstimator {
    /// Rows of the table now, or `None` when it cannot say.
    fn table_rows(&self, table: &Table) -> Option<f64>;
    /// Entries of the index between two limits, from a descent to each, or `None` when it cannot say.
    fn rows(&self, table: &Table, index: usize, low: Limit<'_>, high: Limit<'_>) -> Option<f64>;
    /// `eq_range_index_dive_limit`: with as many equality ranges or more, statistics decide; 0: never.
    fn dive_limit(&self) -> usize;
}

/// Which optimizer passes run. All of them by default; tests switch them off one by one, results must not change.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Passes(pub u32);

macro_rules! passes {
    ($($bit:literal $name:ident $text:literal;)*) => {
        impl Passes {
            $(#[doc = $text] pub const $name: Passes = Passes(1 << $bit);)*
            /// Names, as `optimizer_switch`-like settings and traces write them.
            pub const NAMES: &'static [(Passes, &'static str)] = &[$((Passes::$name, $text)),*];
        }
    };
}

passes! {
    0 FOLD "constant_folding";
    1 DERIVED_MERGE "derived_merge";
    2 OUTER_TO_INNER "outer_join_simplification";
    3 EQUALITIES "equality_propagation";
    4 PUSHDOWN "predicate_pushdown";
    5 SEMIJOIN "semijoin";
    6 JOIN_ORDER "join_order";
    7 HASH_JOIN "hash_join";
    8 INDEX_ORDER "index_order";
    9 COVERING "covering_index";
    10 RANGES "range_access";
    11 INDEX_CONDITION "index_condition_pushdown";
    12 POINT_SELECT "point_select";
    13 MIN_MAX "min_max_index";
    14 STREAM_GROUP "stream_aggregation";
    15 FIRST_MATCH "firstmatch";
    16 MATERIALIZATION "materialization";
    17 LOOSE_SCAN "loosescan";
    18 WEEDOUT "duplicateweedout";
    19 INDEX_MERGE "index_merge";
    20 MERGE_UNION "index_merge_union";
    21 MERGE_SORT_UNION "index_merge_sort_union";
    22 MERGE_INTERSECT "index_merge_intersection";
    23 SKIP_SCAN "skip_scan";
    24 LOOSE_GROUP "loose_index_scan";
    25 PREFER_ORDER "prefer_ordering_index";
    26 HIDE_INVISIBLE "hide_invisible_indexes";
}

impl Passes {
    /// Every pass.
    pub const ALL: Passes = Passes(u32::MAX);

    /// The pass runs.
    pub fn has(self, pass: Passes) -> bool {
        self.0 & pass.0 != 0
    }

    /// All but one.
    pub fn without(self, pass: Passes) -> Passes {
        Passes(self.0 & !pass.0)
    }
}

impl<'a> PlanOptions<'a> {
    /// MySQL's defaults with the given database.
    pub fn new(database: Option<&'a str>) -> PlanOptions<'a> {
        PlanOptions {
            limited_views: true,
            bind_exprs: None,
            sql_mode: SqlMode::DEFAULT,
            database,
            collation: CollationId::DEFAULT,
            client: Charset::Utf8mb4,
            utf8mb4: CollationId::DEFAULT,
            markers: &[],
            values: &[],
            passes: Passes::ALL,
            variables: None,
            div_precision_increment: 4,
            default_week_format: 0,
            group_concat_max_len: 1024,
            locale: Locale::ENGLISH,
            time_zone: &TimeZone::UTC,
            source: None,
            generated: 0,
            logged_rows: false,
            locals: None,
            estimator: None,
            on_table: None,
            max_depth: 256,
            remaining_stack: || usize::MAX,
            stopped: gannet_types::convert::never,
        }
    }
}

//! Expressions.

use super::{DataType, Ident, ObjectName, OrderItem, Query, SourceText, Span, WindowRef};

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A literal.
    Literal(Literal),
    /// `?`: the n-th parameter of the statement, from 0.
    Param(u32),
    /// A column.
    Column(ColumnRef),
    /// `@name`; the name has its quotes removed.
    UserVar(Ident),
    /// `@@[scope.][prefix.]name`
    SysVar(Box<SysVar>),
    /// `@name := value`
    Assign {
        /// The user variable.
        var: Ident,
        /// What it becomes.
        value: Box<Expr>,
    },
    /// Prefix operator.
    Unary {
        /// The operator.
        op: UnaryOp,
        /// The operand.
        expr: Box<Expr>,
    },
    /// Infix operator.
    Binary {
        /// The operator.
        op: BinaryOp,
        /// Left operand.
        left: Box<Expr>,
        /// Right operand.
        right: Box<Expr>,
    },
    /// `a AND b AND ...` (two operands or more).
    And(Vec<Expr>),
    /// `a OR b OR ...` (two operands or more).
    Or(Vec<Expr>),
    /// `expr IS [NOT] NULL | TRUE | FALSE | UNKNOWN`
    Is {
        /// The operand.
        expr: Box<Expr>,
        /// What is asked.
        test: IsTest,
        /// `IS NOT`.
        negated: bool,
    },
    /// `expr [NOT] IN (list)`
    InList {
        /// Left operand.
        expr: Box<Expr>,
        /// The list, never empty.
        list: Vec<Expr>,
        /// `NOT IN`.
        negated: bool,
    },
    /// `expr [NOT] IN (query)`
    InSubquery {
        /// Left operand.
        expr: Box<Expr>,
        /// The subquery.
        query: Box<Query>,
        /// `NOT IN`.
        negated: bool,
    },
    /// `expr op ANY | SOME | ALL (query)`
    Quantified {
        /// Left operand.
        left: Box<Expr>,
        /// A comparison.
        op: BinaryOp,
        /// ALL; otherwise ANY.
        all: bool,
        /// The subquery.
        query: Box<Query>,
    },
    /// `EXISTS (query)`
    Exists(Box<Query>),
    /// Scalar or row subquery.
    Subquery(Box<Query>),
    /// `expr [NOT] BETWEEN low AND high`
    Between {
        /// The operand.
        expr: Box<Expr>,
        /// Lower bound.
        low: Box<Expr>,
        /// Upper bound.
        high: Box<Expr>,
        /// `NOT BETWEEN`.
        negated: bool,
    },
    /// `expr [NOT] LIKE pattern [ESCAPE escape]`
    Like {
        /// The operand.
        expr: Box<Expr>,
        /// The pattern.
        pattern: Box<Expr>,
        /// The escape character's expression.
        escape: Option<Box<Expr>>,
        /// `NOT LIKE`.
        negated: bool,
    },
    /// `expr [NOT] REGEXP pattern` (also RLIKE)
    Regexp {
        /// The operand.
        expr: Box<Expr>,
        /// The pattern.
        pattern: Box<Expr>,
        /// `NOT REGEXP`.
        negated: bool,
    },
    /// `expr MEMBER [OF] (array)`
    MemberOf {
        /// The element.
        expr: Box<Expr>,
        /// The JSON array.
        array: Box<Expr>,
    },
    /// `column -> 'path'`, `column ->> 'path'`
    JsonPath {
        /// The column.
        column: Box<ColumnRef>,
        /// The path text.
        path: Box<Literal>,
        /// `->>`.
        unquote: bool,
    },
    /// CASE.
    Case(Box<Case>),
    /// `CAST(expr AS type [ARRAY])`, `CONVERT(expr, type)`
    Cast(Box<Cast>),
    /// `CONVERT(expr USING charset)`
    ConvertUsing {
        /// The operand.
        expr: Box<Expr>,
        /// Name of the character set.
        charset: Ident,
    },
    /// `expr COLLATE collation`
    Collate {
        /// The operand.
        expr: Box<Expr>,
        /// Name of the collation.
        collation: Ident,
    },
    /// `(a, b)`, `ROW(a, b)`: two elements or more (one only for `ROW(a)`).
    Row(Vec<Expr>),
    /// A function call of regular form.
    Call(Box<Call>),
    /// An aggregate function, possibly over a window.
    Aggregate(Box<Aggregate>),
    /// A function that exists over windows only.
    Window(Box<WindowCall>),
    /// `date + INTERVAL n unit` and DATE_ADD, DATE_SUB, ADDDATE, SUBDATE with an interval.
    DateArith(Box<DateArith>),
    /// `EXTRACT(unit FROM expr)`
    Extract {
        /// The unit.
        unit: IntervalUnit,
        /// The operand.
        expr: Box<Expr>,
    },
    /// TRIM.
    Trim(Box<Trim>),
    /// `TIMESTAMPADD(unit, n, expr)` and `TIMESTAMPDIFF(unit, a, b)`
    TimestampFn {
        /// TIMESTAMPDIFF.
        diff: bool,
        /// The unit.
        unit: IntervalUnit,
        /// The two operands in the order written.
        args: Box<(Expr, Expr)>,
    },
    /// `GET_FORMAT(DATE | TIME | DATETIME, expr)`
    GetFormat {
        /// DATE, TIME or DATETIME.
        kind: TemporalKind,
        /// The region.
        expr: Box<Expr>,
    },
    /// `CHAR(n, ... [USING charset])`
    Char {
        /// Code points.
        args: Vec<Expr>,
        /// Name of the character set.
        charset: Option<Ident>,
    },
    /// `WEIGHT_STRING(expr [AS CHAR(n) | AS BINARY(n)])`, `WEIGHT_STRING(expr, bytes, weights, flags)`
    WeightString {
        /// The operand.
        expr: Box<Expr>,
        /// `(is BINARY, n)`.
        cast: Option<(bool, u64)>,
        /// Bytes of the result, weights counted, how both are filled up: a form that MySQL keeps for its tests.
        shape: Option<Box<[u64; 3]>>,
    },
    /// `MATCH (columns) AGAINST (expr modifier)`
    Match(Box<Match>),
    /// `JSON_VALUE(...)`
    JsonValue(Box<JsonValue>),
    /// `DEFAULT` as the value of an INSERT or UPDATE column.
    Default,
    /// `DEFAULT(column)`
    DefaultOf(ColumnRef),
    /// `VALUES(column)` in ON DUPLICATE KEY UPDATE
    ValuesOf(ColumnRef),
}

/// A literal as written.
#[derive(Clone, Debug, PartialEq)]
pub struct Literal {
    /// Its value.
    pub value: LiteralValue,
    /// Ordinal of the literal's first token in [`crate::digest::Scan::literals`]; set only by
    /// [`crate::parse_parameterised`], and never for NULL, TRUE and FALSE, which are part of the statement's shape.
    /// Two literals are equal whatever their ordinals.
    pub index: LiteralIndex,
    /// Where it stands.
    pub span: Span,
}

impl Literal {
    /// A literal that stands nowhere in a text.
    pub fn new(value: LiteralValue) -> Literal {
        Literal { value, index: LiteralIndex(None), span: Span::default() }
    }
}

/// Ordinal of an extracted literal; compares equal to every other one.
#[derive(Clone, Copy, Debug, Default)]
pub struct LiteralIndex(pub Option<u32>);

impl PartialEq for LiteralIndex {
    fn eq(&self, _: &LiteralIndex) -> bool {
        true
    }
}

/// Value of a literal.
#[derive(Clone, Debug, PartialEq)]
pub enum LiteralValue {
    /// NULL.
    Null,
    /// TRUE or FALSE.
    Bool(bool),
    /// An integer that fits 64 bits unsigned.
    Int(u64),
    /// A number with a point, or an integer of more than 64 bits: its digits as written.
    Decimal(Box<str>),
    /// A number with an exponent, as written.
    Float(Box<str>),
    /// A character string, escapes resolved, adjacent ones joined.
    String {
        /// Its bytes, in the introducer's or the connection's character set.
        bytes: Box<[u8]>,
        /// `_charset` introducer, without the underscore; `utf8mb3` for `N'..'`.
        charset: Option<Box<str>>,
    },
    /// `x'..'` or `0x..`.
    Hex {
        /// The bytes.
        bytes: Box<[u8]>,
        /// `_charset` introducer.
        charset: Option<Box<str>>,
    },
    /// `b'..'` or `0b..`.
    Bit {
        /// The bytes, most significant first.
        bytes: Box<[u8]>,
        /// `_charset` introducer.
        charset: Option<Box<str>>,
    },
    /// `DATE '..'`, `TIME '..'`, `TIMESTAMP '..'`, `{d '..'}` and so on. The text is not checked by the parser.
    Temporal {
        /// Which of them.
        kind: TemporalKind,
        /// The text between the quotes.
        text: Box<str>,
        /// In braces: what is no such value is a string.
        odbc: bool,
    },
}

/// Kind of a temporal literal, argument of GET_FORMAT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are MySQL's own words")]
pub enum TemporalKind {
    Date,
    Time,
    /// `TIMESTAMP '..'` in literals, DATETIME in GET_FORMAT.
    DateTime,
}

/// `[[schema.]table.]column`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnRef {
    /// Schema and table, if written.
    pub qualifier: Option<Box<ObjectName>>,
    /// The column.
    pub column: Ident,
}

impl ColumnRef {
    /// Span from the first to the last of its names.
    pub fn span(&self) -> Span {
        let start = match &self.qualifier {
            Some(q) => q.schema.as_ref().unwrap_or(&q.name).span.start,
            None => self.column.span.start,
        };
        Span { start, end: self.column.span.end }
    }
}

/// Scope written before a system variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VarScope {
    /// None written: session value if there is one, else global.
    Implicit,
    /// GLOBAL.
    Global,
    /// SESSION or LOCAL.
    Session,
    /// PERSIST.
    Persist,
    /// PERSIST_ONLY.
    PersistOnly,
}

/// `@@[scope.][prefix.]name`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SysVar {
    /// GLOBAL, SESSION, ...
    pub scope: VarScope,
    /// Key cache or component in front of the name.
    pub prefix: Option<Ident>,
    /// The variable.
    pub name: Ident,
}

/// Prefix operators. (`+expr` is the expression itself.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    /// `-`
    Neg,
    /// `~`
    BitNot,
    /// `NOT` and `!`
    Not,
    /// `BINARY expr`
    Binary,
}

/// Infix operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the operators'")]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    /// `/`
    Div,
    /// `DIV`
    IntDiv,
    /// `%` and `MOD`
    Mod,
    BitOr,
    BitAnd,
    BitXor,
    Shl,
    Shr,
    Eq,
    /// `<=>`
    NullSafeEq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Xor,
    /// `||` under PIPES_AS_CONCAT
    Concat,
    SoundsLike,
}

impl BinaryOp {
    /// Is it one of `= <=> <> < <= > >=`?
    pub fn is_comparison(self) -> bool {
        use BinaryOp::*;
        matches!(self, Eq | NullSafeEq | Ne | Lt | Le | Gt | Ge)
    }
}

/// Right side of IS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum IsTest {
    Null,
    True,
    False,
    Unknown,
}

/// `CASE [operand] WHEN .. THEN .. [ELSE ..] END`
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Operand compared with each WHEN.
    pub operand: Option<Expr>,
    /// WHEN and THEN, at least one.
    pub whens: Vec<(Expr, Expr)>,
    /// ELSE.
    pub otherwise: Option<Expr>,
}

/// `CAST(expr [AT TIME ZONE ..] AS type [ARRAY])`
#[derive(Clone, Debug, PartialEq)]
pub struct Cast {
    /// The operand.
    pub expr: Expr,
    /// `AT TIME ZONE [INTERVAL] '..'`
    pub at_time_zone: Option<Box<str>>,
    /// The type: only those CAST allows.
    pub to: CastType,
    /// `ARRAY` (multi-valued index).
    pub array: bool,
}

/// Target of a cast.
#[derive(Clone, Debug, PartialEq)]
pub enum CastType {
    /// SIGNED [INTEGER].
    Signed,
    /// UNSIGNED [INTEGER].
    Unsigned,
    /// Any other, as in column definitions: BINARY, CHAR, NCHAR, DATE, TIME, DATETIME, DECIMAL, DOUBLE, FLOAT, REAL,
    /// YEAR, JSON and the geometry types.
    Type(DataType),
}

impl CastType {
    /// Is a character set said?
    pub fn names_charset(&self) -> bool {
        matches!(self, CastType::Type(ty) if ty.charset.is_some() || ty.national)
    }
}

/// `name(args)`: resolved by the binder. Names of functions are equal whatever their case.
#[derive(Clone, Debug)]
pub struct Call {
    /// Qualifying schema (stored function).
    pub schema: Option<Ident>,
    /// The name as written.
    pub name: Ident,
    /// The arguments.
    pub args: Vec<Expr>,
    /// Aliases of arguments (loadable functions use them), one per argument, or empty if none has one.
    pub arg_names: Vec<Option<SourceText>>,
    /// Must name a stored or loadable function: it is spelled like a function which the lexer knows, but in quotes, or
    /// with white space in front of its parenthesis (without IGNORE_SPACE).
    pub not_builtin: bool,
    /// Whole call.
    pub span: Span,
}

impl PartialEq for Call {
    fn eq(&self, other: &Call) -> bool {
        self.schema == other.schema
            && self.name.text.eq_ignore_ascii_case(&other.name.text)
            && self.args == other.args
            && self.arg_names == other.arg_names
            && self.not_builtin == other.not_builtin
    }
}

/// Aggregate functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the functions'")]
pub enum AggregateFunc {
    Count,
    Sum,
    Avg,
    Min,
    Max,
    BitAnd,
    BitOr,
    BitXor,
    /// STD, STDDEV and STDDEV_POP
    StddevPop,
    StddevSamp,
    /// VARIANCE and VAR_POP
    VarPop,
    VarSamp,
    GroupConcat,
    JsonArrayAgg,
    JsonObjectAgg,
    StCollect,
}

/// An aggregate function call.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregate {
    /// Which.
    pub func: AggregateFunc,
    /// `DISTINCT`.
    pub distinct: bool,
    /// Its arguments; empty means `COUNT(*)`.
    pub args: Vec<Expr>,
    /// ORDER BY of GROUP_CONCAT.
    pub order_by: Vec<OrderItem>,
    /// SEPARATOR of GROUP_CONCAT.
    pub separator: Option<Box<[u8]>>,
    /// OVER.
    pub over: Option<WindowRef>,
    /// Whole call.
    pub span: Span,
}

/// Functions that need a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the functions'")]
pub enum WindowFunc {
    RowNumber,
    Rank,
    DenseRank,
    CumeDist,
    PercentRank,
    Ntile,
    Lead,
    Lag,
    FirstValue,
    LastValue,
    NthValue,
}

impl WindowFunc {
    /// The least and the greatest number of arguments.
    pub fn arguments(self) -> (usize, usize) {
        match self {
            WindowFunc::RowNumber
            | WindowFunc::Rank
            | WindowFunc::DenseRank
            | WindowFunc::CumeDist
            | WindowFunc::PercentRank => (0, 0),
            WindowFunc::Ntile | WindowFunc::FirstValue | WindowFunc::LastValue => (1, 1),
            WindowFunc::Lead | WindowFunc::Lag => (1, 3),
            WindowFunc::NthValue => (2, 2),
        }
    }
}

/// A window function call.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowCall {
    /// Which.
    pub func: WindowFunc,
    /// Its arguments.
    pub args: Vec<Expr>,
    /// `FROM LAST` of NTH_VALUE.
    pub from_last: bool,
    /// `IGNORE NULLS` (`Some(true)`) or `RESPECT NULLS` (`Some(false)`).
    pub ignore_nulls: Option<bool>,
    /// OVER.
    pub over: WindowRef,
    /// Whole call.
    pub span: Span,
}

/// `date ± INTERVAL amount unit`
#[derive(Clone, Debug, PartialEq)]
pub struct DateArith {
    /// The date.
    pub date: Expr,
    /// Subtract.
    pub subtract: bool,
    /// The amount.
    pub amount: Expr,
    /// The unit.
    pub unit: IntervalUnit,
}

/// Units of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the units'")]
pub enum IntervalUnit {
    Microsecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    SecondMicrosecond,
    MinuteMicrosecond,
    MinuteSecond,
    HourMicrosecond,
    HourSecond,
    HourMinute,
    DayMicrosecond,
    DaySecond,
    DayMinute,
    DayHour,
    YearMonth,
}

impl IntervalUnit {
    /// The word that stands for it, in small letters.
    pub fn name(self) -> &'static str {
        match self {
            Self::Microsecond => "microsecond",
            Self::Second => "second",
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Quarter => "quarter",
            Self::Year => "year",
            Self::SecondMicrosecond => "second_microsecond",
            Self::MinuteMicrosecond => "minute_microsecond",
            Self::MinuteSecond => "minute_second",
            Self::HourMicrosecond => "hour_microsecond",
            Self::HourSecond => "hour_second",
            Self::HourMinute => "hour_minute",
            Self::DayMicrosecond => "day_microsecond",
            Self::DaySecond => "day_second",
            Self::DayMinute => "day_minute",
            Self::DayHour => "day_hour",
            Self::YearMonth => "year_month",
        }
    }
}

/// `TRIM([BOTH | LEADING | TRAILING] [remove] FROM expr)`
#[derive(Clone, Debug, PartialEq)]
pub struct Trim {
    /// Which ends.
    pub side: TrimSide,
    /// What is removed; a space if absent.
    pub remove: Option<Expr>,
    /// The operand.
    pub expr: Expr,
}

/// Ends trimmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum TrimSide {
    /// Written or not.
    Both,
    Leading,
    Trailing,
}

/// `MATCH (columns) AGAINST (expr mode)`
#[derive(Clone, Debug, PartialEq)]
pub struct Match {
    /// The columns.
    pub columns: Vec<ColumnRef>,
    /// What is sought.
    pub against: Expr,
    /// `IN BOOLEAN MODE`.
    pub boolean: bool,
    /// `WITH QUERY EXPANSION`.
    pub expansion: bool,
}

/// `JSON_VALUE(doc, path [RETURNING type] [x ON EMPTY] [x ON ERROR])`
#[derive(Clone, Debug, PartialEq)]
pub struct JsonValue {
    /// The document.
    pub doc: Expr,
    /// The path.
    pub path: Expr,
    /// RETURNING.
    pub returning: Option<CastType>,
    /// ON EMPTY.
    pub on_empty: Option<JsonOn>,
    /// ON ERROR.
    pub on_error: Option<JsonOn>,
}

/// What happens ON EMPTY or ON ERROR.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum JsonOn {
    Error,
    Null,
    Default(Expr),
}

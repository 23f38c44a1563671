//! Bound expressions: what the executor evaluates.
//!
//! An expression belongs to one operator and reads that operator's input row ([`ExprKind::Column`]), the statement's
//! parameters ([`ExprKind::Param`]) and the register file ([`ExprKind::Register`]).
//!
//! **Registers** carry values into subtrees that run many times: a correlated subquery or the inner side of a nested
//! loop. The operator that drives the subtree evaluates the subtree's [`Bind`]s over its own row, stores the values,
//! and (re)opens the subtree. Register numbers are unique in a plan, so one flat `Vec<Value>` per execution serves
//! all levels.
//!
//! Truth: predicates are integers (0, 1) or NULL; a filter keeps a row when its predicate is neither 0 nor NULL.

use gannet_functions::{AggregateDef, FunctionDef};
use gannet_types::{SqlType, Value};
use std::sync::Arc;

/// A typed expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// The type of its values, as MySQL reports it in result metadata.
    pub ty: SqlType,
}

/// A stored function where an expression calls it.
#[derive(Clone, Debug)]
pub struct Called {
    /// The function.
    pub routine: Arc<gannet_schema::Routine>,
    /// The view in whose query it is called, by whose definer's rights; `None`: by the session's.
    pub view: Option<Arc<gannet_schema::Table>>,
}

impl PartialEq for Called {
    fn eq(&self, other: &Called) -> bool {
        let view = |c: &Called| c.view.as_ref().map(Arc::as_ptr);
        Arc::ptr_eq(&self.routine, &other.routine) && view(self) == view(other)
    }
}

/// The forms of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A value fixed by the plan. Its literal was pinned, or came out of constant folding.
    Literal(Value),
    /// Value number `n` of the execution's parameter list: literals lifted out of the text, then client parameters
    /// (see [`crate::plan::Plan::params`]).
    Param(u32),
    /// Column `n` of the operator's input row.
    Column(u32),
    /// A register, written by the [`Bind`]s of the driving operator or subquery.
    Register(u32),
    /// A stored function. Arguments are converted to its parameters' types when it is called.
    Routine(Called, Box<[Expr]>),
    /// A scalar function or operator. Arguments already have the types which the function's rule accepts; the
    /// expression's own type is the rule's result.
    Call(&'static FunctionDef, Box<[Expr]>),
    /// N-ary AND with three-valued logic; evaluation may stop at the first 0.
    And(Box<[Expr]>),
    /// N-ary OR; evaluation may stop at the first non-zero.
    Or(Box<[Expr]>),
    /// NOT with three-valued logic.
    Not(Box<Expr>),
    /// `IS [NOT] NULL`.
    IsNull {
        /// The operand.
        arg: Box<Expr>,
        /// IS NOT NULL.
        negated: bool,
    },
    /// A comparison. Operands keep their own types; `by` says in which domain they are compared.
    Compare {
        /// The operator.
        op: CompareOp,
        /// How to compare.
        by: Comparison,
        /// Left and right operand.
        args: Box<[Expr; 2]>,
    },
    /// `arg BETWEEN low AND high`, all three compared in one domain.
    Between {
        /// The domain.
        by: Comparison,
        /// NOT BETWEEN.
        negated: bool,
        /// Operand, low, high.
        args: Box<[Expr; 3]>,
    },
    /// `arg IN (list)`, list of scalar expressions.
    In {
        /// The domain.
        by: Comparison,
        /// NOT IN.
        negated: bool,
        /// The operand.
        arg: Box<Expr>,
        /// The list; when all are constant for the execution, `set` says that a hash or sorted set may be built once.
        list: Box<[Expr]>,
        /// All list members are constant for the whole execution.
        constant_list: bool,
    },
    /// CASE. With `operand`, each WHEN is compared to it by `by`; without, WHENs are predicates.
    Case {
        /// `CASE operand WHEN ...`.
        operand: Option<Box<Expr>>,
        /// Domain of the comparisons with the operand.
        by: Comparison,
        /// (WHEN, THEN) pairs.
        whens: Box<[(Expr, Expr)]>,
        /// ELSE; NULL when absent.
        otherwise: Option<Box<Expr>>,
    },
    /// Conversion of the argument to the expression's type by CAST's rules (warnings, no errors but those CAST gives).
    Cast(Box<Expr>),
    /// A subquery: plan `subplan` of [`crate::plan::Plan::subplans`].
    Subquery(Box<Subquery>),
    /// `@name`.
    UserVar(Arc<str>),
    /// `@name := value`.
    SetUserVar(Arc<str>, Box<Expr>),
    /// `@@[global.|session.]name`; resolved by the session when the statement starts, constant for its duration.
    SysVar {
        /// True for `@@global.`.
        global: bool,
        /// Lower case name.
        name: Arc<str>,
    },
    /// `DEFAULT(col)` or DEFAULT in a value list: the executor's default of column `column` of plan table `table`.
    Default {
        /// Index into [`crate::plan::Plan::tables`].
        table: u32,
        /// Column ordinal.
        column: u32,
    },
    /// `MATCH ... AGAINST`.
    Match(Box<Match>),
    /// MEMBER OF, JSON_CONTAINS, JSON_OVERLAPS of an array that a multi-valued index has.
    OfElements(Box<OfElements>),
    /// `(a, b, ...)`, only as operand of a row comparison with a subquery.
    Row(Box<[Expr]>),
}

/// The rank of a row in a full-text search; 0 of one that was not found, or of none.
#[derive(Clone, Debug, PartialEq)]
pub struct Match {
    /// Index into [`crate::plan::Plan::tables`].
    pub table: u32,
    /// The full-text index: position in `Table::indexes`. None: the text of each row tells, in boolean mode only.
    pub index: Option<u32>,
    /// How the query is read.
    pub mode: gannet_text::Mode,
    /// The query, the same for all rows; then the columns of the row's clustered key, or its hidden id; without an
    /// index the columns that are searched.
    pub args: Box<[Expr]>,
}

/// A condition on an array that a multi-valued index has, in WHERE: it is asked of the elements as the index has them,
/// and what is looked for is converted as they were (MySQL puts the index's CAST ... AS ... ARRAY in the place of the
/// array). What is looked for and cannot be an element leaves the condition as it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct OfElements {
    /// The condition as it was written: a call of two arguments.
    pub call: Expr,
    /// Which of them is the array.
    pub array: usize,
    /// The other one, as a document: an array of it for MEMBER OF.
    pub wanted: Expr,
    /// What the index converts elements to.
    pub ty: SqlType,
}

/// The comparison operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum CompareOp {
    /// `=`
    Eq,
    /// `<=>`: NULL equals NULL; never NULL.
    NullSafeEq,
    /// `<>`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

impl CompareOp {
    /// The operator with its operands exchanged: `a < b` is `b > a`.
    pub fn swapped(self) -> CompareOp {
        match self {
            CompareOp::Lt => CompareOp::Gt,
            CompareOp::Le => CompareOp::Ge,
            CompareOp::Gt => CompareOp::Lt,
            CompareOp::Ge => CompareOp::Le,
            same => same,
        }
    }

    /// The operator of the negated predicate (`NOT a < b` is `a >= b`, NULL stays NULL); none for `<=>`.
    pub fn negated(self) -> Option<CompareOp> {
        Some(match self {
            CompareOp::Eq => CompareOp::Ne,
            CompareOp::Ne => CompareOp::Eq,
            CompareOp::Lt => CompareOp::Ge,
            CompareOp::Le => CompareOp::Gt,
            CompareOp::Gt => CompareOp::Le,
            CompareOp::Ge => CompareOp::Lt,
            CompareOp::NullSafeEq => return None,
        })
    }

    /// As SQL writes it.
    pub fn symbol(self) -> &'static str {
        match self {
            CompareOp::Eq => "=",
            CompareOp::NullSafeEq => "<=>",
            CompareOp::Ne => "<>",
            CompareOp::Lt => "<",
            CompareOp::Le => "<=",
            CompareOp::Gt => ">",
            CompareOp::Ge => ">=",
        }
    }
}

/// The domain in which operands are compared (manual, "Type Conversion in Expression Evaluation").
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Comparison {
    /// Signed and unsigned integers, by value.
    Integer,
    /// Exact numbers.
    Decimal,
    /// As doubles: strings with numbers, anything with a float.
    Double,
    /// Character strings under a collation (bytes when it is `binary`).
    String(gannet_types::CollationId),
    /// As DATETIME; a DATE counts as midnight, strings and numbers are parsed.
    Datetime,
    /// As TIME.
    Time,
    /// JSON's order.
    Json,
}

/// What a subquery expression yields.
#[derive(Clone, Debug, PartialEq)]
pub struct Subquery {
    /// Index into the plan's subplans.
    pub subplan: u32,
    /// How its rows become a value.
    pub kind: SubqueryKind,
    /// Values to store before each run; empty for an uncorrelated subquery, which runs once per execution.
    pub binds: Box<[Bind]>,
}

/// How the rows of a subquery become a value.
#[derive(Clone, Debug, PartialEq)]
pub enum SubqueryKind {
    /// The only column of the only row; NULL without a row; error 1242 with more than one.
    Scalar,
    /// A column of the only row, as part of a row operand; NULL without a row; error 1242 with more than one.
    Column(u32),
    /// 1 when there is a row.
    Exists {
        /// NOT EXISTS.
        negated: bool,
    },
    /// `needle [NOT] IN (subquery)`: three-valued, per column compared in `by`.
    In {
        /// One expression a column, over the row of the expression's owner.
        needle: Box<[Expr]>,
        /// Domain for each column.
        by: Box<[Comparison]>,
        /// NOT IN.
        negated: bool,
    },
    /// `needle op ANY (subquery)` or ALL.
    Quantified {
        /// Compared value.
        needle: Box<Expr>,
        /// Domain.
        by: Comparison,
        /// Operator.
        op: CompareOp,
        /// ALL instead of ANY/SOME.
        all: bool,
    },
}

/// One register assignment.
#[derive(Clone, Debug, PartialEq)]
pub struct Bind {
    /// The register written.
    pub register: u32,
    /// Over the row of the operator (or expression owner) which drives the subtree.
    pub value: Expr,
}

/// One aggregate of an aggregation operator.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregate {
    /// The function.
    pub def: &'static AggregateDef,
    /// Arguments over the operator's input row; none for `COUNT(*)`.
    pub args: Box<[Expr]>,
    /// `DISTINCT`.
    pub distinct: bool,
    /// `GROUP_CONCAT(... ORDER BY ...)`.
    pub order: Box<[SortKey]>,
    /// `GROUP_CONCAT(... SEPARATOR ...)`.
    pub separator: Option<Box<str>>,
    /// Result type.
    pub ty: SqlType,
}

/// One key of a sort.
#[derive(Clone, Debug, PartialEq)]
pub struct SortKey {
    /// Over the operator's input row.
    pub expr: Expr,
    /// `DESC`. NULLs come first ascending, last descending.
    pub descending: bool,
}

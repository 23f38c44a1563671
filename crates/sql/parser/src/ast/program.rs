//! Stored programs: routines, triggers, events, and the statements of their bodies.

use super::{Account, DataType, Existence, Expr, Ident, IntervalUnit, ObjectName, Query, SourceText, Statement};

/// Procedure or function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum RoutineKind {
    Procedure,
    Function,
}

/// What a DROP of a stored program drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum ProgramKind {
    Procedure,
    Function,
    Trigger,
    Event,
}

/// Body of a stored program.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    /// Its text as written (kept for SHOW CREATE).
    pub text: SourceText,
    /// Its statement.
    pub statement: Box<Statement>,
}

/// CREATE PROCEDURE / FUNCTION.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateRoutine {
    /// Procedure or function.
    pub kind: RoutineKind,
    /// IF NOT EXISTS (and MariaDB's OR REPLACE).
    pub existence: Existence,
    /// DEFINER.
    pub definer: Option<Account>,
    /// The name.
    pub name: ObjectName,
    /// Its parameters.
    pub params: Vec<RoutineParam>,
    /// These as written.
    pub params_text: SourceText,
    /// RETURNS as written.
    pub returns_text: SourceText,
    /// RETURNS of a function, with its collation.
    pub returns: Option<(DataType, Option<Ident>)>,
    /// Characteristics.
    pub characteristics: Vec<Characteristic>,
    /// The body.
    pub body: Body,
}

/// Parameter of a routine.
#[derive(Clone, Debug, PartialEq)]
pub struct RoutineParam {
    /// IN, OUT, INOUT.
    pub mode: ParamMode,
    /// Its name.
    pub name: Ident,
    /// Its type.
    pub data_type: DataType,
    /// Its collation.
    pub collation: Option<Ident>,
}

/// Direction of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum ParamMode {
    In,
    Out,
    InOut,
}

/// Characteristic of a routine.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum Characteristic {
    Comment(Box<str>),
    /// The language's name, `SQL` usually.
    Language(Ident),
    Deterministic(bool),
    ContainsSql,
    NoSql,
    ReadsSqlData,
    ModifiesSqlData,
    SqlSecurityDefiner,
    SqlSecurityInvoker,
}

/// CREATE [AGGREGATE] FUNCTION name RETURNS type SONAME 'library'
#[derive(Clone, Debug, PartialEq)]
pub struct LoadableFunction {
    /// AGGREGATE.
    pub aggregate: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// The name.
    pub name: Ident,
    /// STRING, INTEGER, REAL or DECIMAL.
    pub returns: Ident,
    /// The library.
    pub library: Box<str>,
}

/// CREATE TRIGGER.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTrigger {
    /// IF NOT EXISTS (and MariaDB's OR REPLACE).
    pub existence: Existence,
    /// DEFINER.
    pub definer: Option<Account>,
    /// The name.
    pub name: ObjectName,
    /// AFTER; otherwise BEFORE.
    pub after: bool,
    /// INSERT, UPDATE, DELETE.
    pub event: TriggerEvent,
    /// The table.
    pub table: ObjectName,
    /// FOLLOWS (`true`) or PRECEDES another trigger.
    pub order: Option<(bool, Ident)>,
    /// The body.
    pub body: Body,
    /// Columns of OLD and NEW that it names: row and column.
    pub rows: Vec<(Ident, Ident)>,
}

/// What fires a trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum TriggerEvent {
    Insert,
    Update,
    Delete,
}

/// CREATE EVENT.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateEvent {
    /// IF NOT EXISTS (and MariaDB's OR REPLACE).
    pub existence: Existence,
    /// DEFINER.
    pub definer: Option<Account>,
    /// The name.
    pub name: ObjectName,
    /// When it runs.
    pub schedule: Schedule,
    /// ON COMPLETION PRESERVE (`Some(true)`) or NOT PRESERVE.
    pub preserve: Option<bool>,
    /// ENABLE or DISABLE.
    pub status: Option<EventStatus>,
    /// COMMENT.
    pub comment: Option<Box<str>>,
    /// The body.
    pub body: Body,
}

/// ALTER EVENT.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterEvent {
    /// DEFINER.
    pub definer: Option<Account>,
    /// The name.
    pub name: ObjectName,
    /// When it runs.
    pub schedule: Option<Schedule>,
    /// ON COMPLETION PRESERVE (`Some(true)`) or NOT PRESERVE.
    pub preserve: Option<bool>,
    /// RENAME TO.
    pub rename: Option<ObjectName>,
    /// ENABLE or DISABLE.
    pub status: Option<EventStatus>,
    /// COMMENT.
    pub comment: Option<Box<str>>,
    /// The body.
    pub body: Option<Body>,
}

/// Status of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum EventStatus {
    Enable,
    Disable,
    /// DISABLE ON REPLICA.
    DisableOnReplica,
}

/// When an event runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Schedule {
    /// `AT time`
    At(Expr),
    /// `EVERY n unit [STARTS ..] [ENDS ..]`
    Every {
        /// The amount.
        amount: Expr,
        /// The unit.
        unit: IntervalUnit,
        /// STARTS.
        starts: Option<Expr>,
        /// ENDS.
        ends: Option<Expr>,
    },
}

/// A statement that exists in the body of a stored program only.
#[derive(Clone, Debug, PartialEq)]
pub enum Compound {
    /// `[label:] BEGIN ... END [label]`
    Block {
        /// Its label.
        label: Option<Ident>,
        /// Declarations and statements, in the order written.
        statements: Vec<Statement>,
    },
    /// `DECLARE a, b type [DEFAULT expr]`
    DeclareVariable {
        /// The names.
        names: Vec<Ident>,
        /// The type.
        data_type: DataType,
        /// Its collation.
        collation: Option<Ident>,
        /// DEFAULT.
        default: Option<Expr>,
    },
    /// `DECLARE name CONDITION FOR value`
    DeclareCondition {
        /// The name.
        name: Ident,
        /// What it stands for.
        value: ConditionValue,
    },
    /// `DECLARE name CURSOR FOR query`
    DeclareCursor {
        /// The name.
        name: Ident,
        /// Its query.
        query: Box<Query>,
    },
    /// `DECLARE CONTINUE | EXIT | UNDO HANDLER FOR ... statement`
    DeclareHandler {
        /// What happens after the statement.
        action: HandlerKind,
        /// What it catches.
        conditions: Vec<ConditionValue>,
        /// What it does.
        statement: Statement,
    },
    /// `IF ... THEN ... ELSEIF ... ELSE ... END IF`
    If {
        /// Conditions and statements.
        branches: Vec<(Expr, Vec<Statement>)>,
        /// ELSE.
        otherwise: Option<Vec<Statement>>,
    },
    /// `CASE ... END CASE`
    Case {
        /// Operand compared with each WHEN.
        operand: Option<Expr>,
        /// WHEN and THEN.
        branches: Vec<(Expr, Vec<Statement>)>,
        /// ELSE.
        otherwise: Option<Vec<Statement>>,
    },
    /// `[label:] LOOP ... END LOOP`
    Loop {
        /// Its label.
        label: Option<Ident>,
        /// Its statements.
        statements: Vec<Statement>,
    },
    /// `[label:] WHILE cond DO ... END WHILE`
    While {
        /// Its label.
        label: Option<Ident>,
        /// The condition.
        condition: Expr,
        /// Its statements.
        statements: Vec<Statement>,
    },
    /// `[label:] REPEAT ... UNTIL cond END REPEAT`
    Repeat {
        /// Its label.
        label: Option<Ident>,
        /// Its statements.
        statements: Vec<Statement>,
        /// The condition.
        until: Expr,
    },
    /// `LEAVE label`
    Leave(Ident),
    /// `ITERATE label`
    Iterate(Ident),
    /// `RETURN expr`
    Return(Expr),
    /// `OPEN cursor`
    Open(Ident),
    /// `FETCH [[NEXT] FROM] cursor INTO ...`
    Fetch {
        /// The cursor.
        cursor: Ident,
        /// Where its columns go.
        into: Vec<Ident>,
    },
    /// `CLOSE cursor`
    Close(Ident),
}

/// After a handler's statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum HandlerKind {
    Continue,
    Exit,
    Undo,
}

/// A condition.
#[derive(Clone, Debug, PartialEq)]
pub enum ConditionValue {
    /// An error number.
    Code(u64),
    /// SQLSTATE [VALUE] '.....'
    SqlState(Box<str>),
    /// A declared condition.
    Named(Ident),
    /// SQLWARNING.
    SqlWarning,
    /// NOT FOUND.
    NotFound,
    /// SQLEXCEPTION.
    SqlException,
}

/// SIGNAL and RESIGNAL.
#[derive(Clone, Debug, PartialEq)]
pub struct Signal {
    /// RESIGNAL.
    pub resignal: bool,
    /// What is signalled; may be absent for RESIGNAL.
    pub condition: Option<ConditionValue>,
    /// SET item = value, ...
    pub items: Vec<(Ident, Expr)>,
}

/// GET DIAGNOSTICS.
#[derive(Clone, Debug, PartialEq)]
pub struct GetDiagnostics {
    /// STACKED; otherwise CURRENT.
    pub stacked: bool,
    /// CONDITION n; the statement's information if absent.
    pub condition: Option<Expr>,
    /// target = item
    pub items: Vec<(super::IntoTarget, Ident)>,
}

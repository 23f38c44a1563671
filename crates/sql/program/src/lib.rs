//! Stored programs: bodies compiled to flat steps, and the rules of their handlers. Pure: the session runs the steps.
//!
//! A [`Program`] is immutable and shared. Its variables are *slots*: parameters first (or the rows OLD and NEW of a
//! trigger), then everything that DECLARE names; a name in a statement is resolved by [`Names`], which the planner asks
//! through [`gannet_plan::options::Locals`], so that a variable is a parameter of the statement's plan.
//!
//! Steps are numbered from 0. A [`Step`] goes on with the next one unless it says otherwise. Each has two more things,
//! kept beside it: the handlers in reach ([`Program::handler`]), and where a CONTINUE handler returns to
//! ([`Program::resume`]), which for a condition of IF, CASE, WHILE and REPEAT is behind the construct.

#![warn(missing_docs)]

mod compile;
mod condition;
mod figures;
mod names;

pub use compile::{Source, compile};
pub use condition::{Condition, Raised};
pub use figures::{Figures, Timed};
pub use names::{Names, Rows, row_slot};

use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::AtomicUsize;
use gannet_parser::ast::{ConditionValue, Expr, IntoTarget, ParamMode, Query, Statement};
use gannet_plan::Plan;
use gannet_schema::{RoutineKind, TriggerEvent};
use gannet_types::SqlType;
use std::sync::{Arc, OnceLock};

/// What a program is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum Kind {
    Procedure,
    Function,
    Trigger,
    Event,
}

impl Kind {
    /// It runs inside another statement: it may neither commit nor return rows.
    pub fn is_inner(self) -> bool {
        match self {
            Kind::Function | Kind::Trigger => true,
            Kind::Procedure | Kind::Event => false,
        }
    }
}

/// A variable.
#[derive(Clone, Debug)]
pub struct Slot {
    /// Its name as declared.
    pub name: Box<str>,
    /// Its declared type.
    pub ty: SqlType,
}

/// Number of a step.
pub type Place = u32;

/// A step.
#[derive(Debug)]
pub enum Step {
    /// Assigns an expression's value; NULL without one.
    Set {
        /// The variable.
        slot: u32,
        /// The value.
        value: Option<u32>,
    },
    /// Goes to `otherwise` when the expression is not true.
    Test {
        /// The condition.
        condition: u32,
        /// Where to go.
        otherwise: Place,
    },
    /// Goes to the place whose number, from 1, is the expression's value.
    Choose {
        /// The number.
        index: u32,
        /// The places.
        places: Box<[Place]>,
        /// Where any other value goes.
        otherwise: Place,
    },
    /// Goes on elsewhere.
    Jump(Place),
    /// Runs a statement.
    Run(u32),
    /// Opens a cursor.
    Open(u32),
    /// Fetches the next row of a cursor.
    Fetch {
        /// The cursor.
        cursor: u32,
        /// Where its columns go.
        into: Box<[u32]>,
    },
    /// Closes a cursor.
    Close(u32),
    /// A block ends: its cursors, those with numbers in the range, are closed if they are open.
    CloseAll(std::ops::Range<u32>),
    /// Returns a function's value.
    Return(u32),
    /// The statement of a handler has ended.
    HandlerEnd {
        /// The end of the handler's block; `None`: CONTINUE.
        exit: Option<Place>,
        /// How many handlers are at work around that block.
        depth: u32,
    },
    /// No WHEN of a CASE fitted: error 1339.
    NoCase,
}

/// An expression of a program.
#[derive(Debug)]
pub struct Code {
    /// The expression.
    pub expr: Expr,
    /// What names mean in it.
    pub scope: u32,
    /// Its plan, when it reads nothing but variables; `Some(None)`: it reads more.
    pub alone: OnceLock<Option<Alone>>,
}

/// The plan of an expression that reads nothing but variables of the program and user variables.
#[derive(Debug)]
pub struct Alone {
    /// Hash of the session's settings under which it was made.
    pub mode: u64,
    /// The plan.
    pub plan: Plan,
    /// The user variables, and the types of the values that they had then.
    pub users: Box<[(Arc<str>, SqlType)]>,
    /// It computes with signed integers alone.
    pub integers: bool,
    /// It depends on nothing but these and variables of the program, and does nothing else.
    pub pure: bool,
}

/// A statement of a program.
#[derive(Debug)]
pub struct Inner {
    /// The statement.
    pub statement: Statement,
    /// What names mean in it.
    pub scope: u32,
    /// Of SELECT ... INTO variables: these. The statement is then without them.
    pub into: Option<Box<[IntoTarget]>>,
    /// Its text, as the server prints it.
    pub text: Box<str>,
    /// Of a SET of user variables alone: their values.
    pub values: Box<[u32]>,
}

/// A cursor.
#[derive(Debug)]
pub struct Cursor {
    /// Its name.
    pub name: Box<str>,
    /// Its query, as a statement of the program.
    pub statement: u32,
}

/// A parameter of a routine. Its slot has its position.
#[derive(Debug)]
pub struct Parameter {
    /// IN, OUT, INOUT.
    pub mode: ParamMode,
}

/// A handler.
#[derive(Debug)]
pub struct Handler {
    /// What it catches.
    pub conditions: Box<[Condition]>,
    /// Where its statement begins.
    pub place: Place,
}

/// The handlers of a block that are declared at some point in it.
#[derive(Debug)]
struct Reach {
    /// Those around the block; 0: none.
    outer: u32,
    /// Positions in the program's handlers, in the order of declaration.
    own: Vec<u32>,
}

/// What the statements of a program use, by name: the objects themselves may have the program.
#[derive(Debug, Default)]
pub struct Used {
    /// Tables.
    pub tables: Vec<UsedTable>,
    /// Functions and procedures: schema, kind, name.
    pub routines: Vec<(Arc<str>, RoutineKind, Arc<str>)>,
}

/// A table that a program uses.
#[derive(Debug)]
pub struct UsedTable {
    /// Its schema.
    pub schema: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// It may be written.
    pub write: bool,
    /// Which of its triggers may fire.
    pub fires: Vec<TriggerEvent>,
}

/// A compiled program.
#[derive(Debug)]
pub struct Program {
    /// Unlike that of every other program this process compiled: plans of its statements are known by it.
    pub number: u64,
    /// What it is.
    pub kind: Kind,
    /// Its variables.
    pub slots: Box<[Slot]>,
    /// Its parameters: the first slots.
    pub params: Box<[Parameter]>,
    /// The value of a function, named as messages name it.
    pub returns: Option<Slot>,
    /// The steps.
    pub steps: Box<[Step]>,
    /// Expressions.
    pub exprs: Box<[Code]>,
    /// Statements.
    pub statements: Box<[Inner]>,
    /// Cursors.
    pub cursors: Box<[Cursor]>,
    /// It sends rows to the client, or runs statements of which nobody knows whether they do.
    pub rows: bool,
    /// What its runs have taken.
    pub figures: Arc<Figures>,
    /// How many of its expressions keep a plan.
    pub kept: AtomicUsize,
    /// What its statements use, with the version of the dictionary that this is true of; the session's to fill.
    pub used: Mutex<Option<(u64, Arc<Used>)>>,
    names: Arc<names::Scopes>,
    handlers: Box<[Handler]>,
    reaches: Box<[Reach]>,
    /// By step: handlers in reach.
    reach: Box<[u32]>,
    resume: Box<[Place]>,
}

impl Inner {
    /// It is SIGNAL of an error.
    pub fn refuses(&self) -> bool {
        let Statement::Signal(signal) = &self.statement else { return false };
        let state = match &signal.condition {
            Some(ConditionValue::SqlState(state)) => &**state,
            _ => return false,
        };
        !signal.resignal && !state.starts_with("01")
    }
}

impl Program {
    /// It has handlers.
    pub fn has_handlers(&self) -> bool {
        !self.handlers.is_empty()
    }

    /// Where a CONTINUE handler returns to, when the step has raised a condition.
    pub fn resume(&self, place: Place) -> Place {
        self.resume[place as usize]
    }

    /// What names mean in a scope.
    pub fn names(&self, scope: u32) -> Names {
        Names { scopes: self.names.clone(), scope }
    }

    /// The handler that catches a condition raised by a step: the innermost block's first; in one block a number
    /// beats an SQLSTATE, which beats a class.
    pub fn handler(&self, place: Place, raised: &Raised) -> Option<&Handler> {
        let mut at = self.reach[place as usize];
        while let Some(reach) = self.reaches.get(at as usize).filter(|_| at != 0) {
            let own = reach.own.iter().map(|h| &self.handlers[*h as usize]);
            let fitting = own.filter_map(|h| h.conditions.iter().filter_map(|c| c.fits(raised)).max().map(|s| (s, h)));
            let best = fitting.fold(None, |best: Option<(u8, &Handler)>, (specific, h)| match best {
                Some((most, _)) if most >= specific => best,
                _ => Some((specific, h)),
            });
            if let Some((_, handler)) = best {
                return Some(handler);
            }
            at = reach.outer;
        }
        None
    }

    /// The query of a cursor.
    pub fn cursor_query(&self, cursor: u32) -> Option<(&Query, &Inner)> {
        let inner = &self.statements[self.cursors[cursor as usize].statement as usize];
        match &inner.statement {
            Statement::Query(query) => Some((query, inner)),
            _ => None,
        }
    }
}

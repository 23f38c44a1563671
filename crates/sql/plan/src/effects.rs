//! Which expressions can observe when, how often and in what order they are evaluated.
//!
//! MySQL evaluates a statement row by row: conditions, then the select list from left to right, then the next row.
//! Where no expression can observe the difference, operators process whole batches, and the optimizer moves, repeats
//! and leaves out evaluations. Three kinds can:
//!
//! - a function with another value each time (RAND, UUID) **varies**: it is evaluated once for each row that the other
//!   conditions let through, in its place;
//! - an assignment to a user variable, and a function with an effect (SLEEP, GET_LOCK, LAST_INSERT_ID(n)), is
//!   **ordered** besides: its operator gets one row at a time, and asks for the next one only when the operators above
//!   have dealt with the last;
//! - so is an expression that sees such effects: a variable that the statement assigns, LAST_INSERT_ID().
//!
//! A derived table or common table expression with ordered expressions is computed as a whole before its first row is
//! read.

use crate::expr::{Expr, ExprKind};
use gannet_functions::{FunctionDef, Stability};
use gannet_schema::{DataAccess, Routine};

/// What the expressions of a statement do that others of them see.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// User variables that it assigns, in lower case.
    variables: Vec<Box<str>>,
    /// LAST_INSERT_ID(n) is called.
    insert_id: bool,
    /// Another function with an effect is called.
    functions: bool,
}

impl Effects {
    pub(crate) fn note_assignment(&mut self, variable: &str) {
        self.variables.push(variable.to_lowercase().into());
    }

    pub(crate) fn note_call(&mut self, def: &FunctionDef, args: &[Expr]) {
        match (def.name, args.is_empty()) {
            (INSERT_ID, reads) => self.insert_id |= !reads,
            _ => self.functions |= def.stability == Stability::Effect,
        }
    }

    pub(crate) fn note_routine(&mut self, routine: &Routine) {
        self.functions |= has_effects(routine);
    }

    /// The statement has ordered expressions.
    pub(crate) fn any(&self) -> bool {
        self.insert_id || self.functions || !self.variables.is_empty()
    }

    /// An expression must not be evaluated twice for a row. LAST_INSERT_ID(n) may: the last value counts.
    pub(crate) fn once(&self) -> bool {
        self.functions || !self.variables.is_empty()
    }

    /// The form is ordered; its operands, and a subquery's plan, are the caller's to look at.
    pub(crate) fn ordered(&self, kind: &ExprKind) -> bool {
        match kind {
            ExprKind::SetUserVar(..) => true,
            ExprKind::UserVar(name) => self.assigns(name),
            ExprKind::Call(def, args) if def.name == INSERT_ID && args.is_empty() => self.insert_id,
            ExprKind::Call(def, _) => def.stability == Stability::Effect,
            ExprKind::Routine(called, _) => has_effects(&called.routine),
            _ => false,
        }
    }

    /// The form varies; as [`Effects::ordered`].
    pub(crate) fn varies(&self, kind: &ExprKind) -> bool {
        self.ordered(kind)
            || match kind {
                ExprKind::Call(def, _) => def.stability == Stability::Volatile,
                ExprKind::Routine(called, _) => !called.routine.deterministic,
                // What functions with effects assign is not said.
                ExprKind::UserVar(_) => self.functions,
                _ => false,
            }
    }

    fn assigns(&self, name: &str) -> bool {
        !self.variables.is_empty() && self.variables.contains(&name.to_lowercase().into_boxed_str())
    }
}

/// A stored function may have effects unless it says that it has none.
fn has_effects(routine: &Routine) -> bool {
    !routine.deterministic && !matches!(routine.access, DataAccess::No | DataAccess::Reads)
}

const INSERT_ID: &str = "LAST_INSERT_ID";

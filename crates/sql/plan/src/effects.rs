//! Which expressions can observe when, how often and in what order they are evaluated.
//!
//! MySQL evaluates a statement row by row: conditions, then the select list from left to right, then the next row.
//! Where no expression can observe the difference, operators process whole batches, and the optimizer moves, repeats
//! and leaves out evaluations. Three kinds can:
//!
//! - a function with another value each time (RAND, UUID) **varies**: it is evaluated once for each row that the other conditions let
//!   through, in its place;
//! - an assignment to a user variable, and a function with an effect (SLEEP, GET_LOCK, LAST_INSERT_ID(n)), is **ordered** besides: its
//!   operator gets one row at a time, and asks for the next one only when the operators above have dealt with the last;
//! - so is an expression that sees such effects: a variable that the statement assigns, LAST_INSERT_ID().
//!
//! A derived table or common table expression with ordered expressions is computed as a whole before its first row is
//! read.

use crate::expr::{Expr, ExprKind};
use crate::logical::{Arena, Query, RelKind};
use crate::optimize::Builder;
use crate::physical::{Op, Physical};
use crate::plan::{InsertSource, PlanKind};
use gannet_functions::{FunctionDef, Stability};

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

    /// The statement has ordered expressions.
    pub(crate) fn any(&self) -> bool {
        self.insert_id || self.functions || !self.variables.is_empty()
    }

    /// The form is ordered; its operands, and a subquery's plan, are the caller's to look at.
    pub(crate) fn ordered(&self, kind: &ExprKind) -> bool {
        match kind {
            ExprKind::SetUserVar(..) => true,
            ExprKind::UserVar(name) => self.assigns(name),
            ExprKind::Call(def, args) if def.name == INSERT_ID && args.is_empty() => self.insert_id,
            ExprKind::Call(def, _) => def.stability == Stability::Effect,
            _ => false,
        }
    }

    /// The form varies; as [`Effects::ordered`].
    pub(crate) fn varies(&self, kind: &ExprKind) -> bool {
        self.ordered(kind) || matches!(kind, ExprKind::Call(def, _) if def.stability == Stability::Volatile)
    }

    fn assigns(&self, name: &str) -> bool {
        !self.variables.is_empty() && self.variables.contains(&name.to_lowercase().into_boxed_str())
    }
}

const INSERT_ID: &str = "LAST_INSERT_ID";

impl Arena {
    /// The expression, or a subquery in it, varies.
    pub(crate) fn varies(&self, e: &Expr) -> bool {
        let possible = self.uses.non_deterministic || self.effects.any();
        possible && self.any(e, &|kind| self.effects.varies(kind))
    }

    /// The expression, or a subquery in it, is ordered.
    pub(crate) fn is_ordered(&self, e: &Expr) -> bool {
        self.effects.any() && self.any(e, &|kind| self.effects.ordered(kind))
    }

    /// Something in the query varies.
    pub(crate) fn query_varies(&self, query: &Query) -> bool {
        let possible = self.uses.non_deterministic || self.effects.any();
        possible && self.any_in_query(query, &|kind| self.effects.varies(kind))
    }

    /// Something in the query is ordered.
    pub(crate) fn query_is_ordered(&self, query: &Query) -> bool {
        self.effects.any() && self.any_in_query(query, &|kind| self.effects.ordered(kind))
    }

    fn any(&self, e: &Expr, test: &dyn Fn(&ExprKind) -> bool) -> bool {
        e.any(&mut |e| match &e.kind {
            ExprKind::Subquery(s) => {
                self.subqueries.get(s.subplan as usize).is_some_and(|sub| self.any_in_query(&sub.query, test))
            }
            kind => test(kind),
        })
    }

    fn any_in_query(&self, query: &Query, test: &dyn Fn(&ExprKind) -> bool) -> bool {
        let mut found = false;
        query.for_each_expr(&mut |e| found = found || self.any(e, test));
        // A recursive part names its own expression, whose parts are out of the arena while they are looked at.
        query.for_each_cte(&mut |number| {
            let cte = &self.ctes[number as usize];
            found = found || cte.recursive.is_none() && cte.base.iter().any(|q| self.any_in_query(q, test));
        });
        found
    }
}

impl RelKind {
    /// The query of a derived table.
    pub(crate) fn derived(&self) -> Option<&Query> {
        match self {
            RelKind::Derived(query) => Some(query),
            RelKind::Base(_) | RelKind::Cte(_) => None,
        }
    }
}

/// Makes the operators below ordered expressions of a plan deliver one row at a time.
pub(crate) fn one_by_one(kind: &mut PlanKind, builder: &mut Builder<'_>) {
    let effects = &builder.arena.effects;
    if !effects.any() {
        return;
    }
    let subplans: Vec<bool> = builder.subplans.iter().map(|s| s.ordered).collect();
    let ordered = |e: &Expr| {
        e.any(&mut |e| match &e.kind {
            ExprKind::Subquery(s) => subplans.get(s.subplan as usize).is_some_and(|ordered| *ordered),
            kind => effects.ordered(kind),
        })
    };
    for root in builder.subplans.iter_mut().map(|s| &mut s.root) {
        feed(root, &ordered);
    }
    for cte in &mut builder.ctes {
        cte.recursive.iter_mut().chain([&mut cte.base]).for_each(|root| feed(root, &ordered));
    }
    let assigned = |all: &[crate::plan::Assignment]| all.iter().filter_map(|a| a.value.as_ref()).any(ordered);
    let (root, above) = match kind {
        PlanKind::Query(root) => (root, false),
        PlanKind::PointSelect(_) => return,
        PlanKind::Insert(insert) => {
            let above = assigned(&insert.on_duplicate);
            match &mut insert.source {
                InsertSource::Query(root) => (root, above),
                InsertSource::Values(_) => return,
            }
        }
        PlanKind::Update(update) => {
            let above = update.targets.iter().any(|t| assigned(&t.assignments));
            feed(&mut update.input, &ordered);
            update.input.one_by_one |= above && !gives_one(&update.input);
            return;
        }
        PlanKind::Delete(delete) => return feed(&mut delete.input, &ordered),
    };
    feed(root, &ordered);
    root.one_by_one |= above && !gives_one(root);
}

/// Gives the operators with ordered expressions one row at a time.
fn feed(node: &mut Physical, ordered: &dyn Fn(&Expr) -> bool) {
    let mut own = false;
    node.for_each_expr(|e| own |= ordered(e));
    node.for_each_input_mut(|input| {
        feed(input, ordered);
        input.one_by_one |= own && !gives_one(input);
    });
}

/// The operator never has more than one row in a batch.
fn gives_one(node: &Physical) -> bool {
    node.one_by_one
        || match &node.op {
            Op::Values { rows, .. } => rows.len() <= 1,
            Op::Filter { input, .. } | Op::Project { input, .. } | Op::Limit { input, .. } => gives_one(input),
            _ => false,
        }
}

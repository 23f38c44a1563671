//! Walks over expressions and operator trees.

use crate::expr::{Expr, ExprKind, SubqueryKind};
use crate::physical::{Access, FrameBound, Hole, Op, Physical, Ranges};
use crate::plan::{InsertSource, Plan, PlanKind};
use std::sync::Arc;

impl Expr {
    /// Calls `f` for each direct operand. The binds and needles of a subquery count as operands, its plan does not.
    pub fn for_each_child<'e>(&'e self, mut f: impl FnMut(&'e Expr)) {
        match &self.kind {
            ExprKind::Literal(_)
            | ExprKind::Param(_)
            | ExprKind::Column(_)
            | ExprKind::Register(_)
            | ExprKind::UserVar(_)
            | ExprKind::SysVar { .. }
            | ExprKind::Default { .. } => {}
            ExprKind::Call(_, args)
            | ExprKind::Routine(_, args)
            | ExprKind::And(args)
            | ExprKind::Or(args)
            | ExprKind::Row(args) => {
                args.iter().for_each(f);
            }
            ExprKind::Not(arg) | ExprKind::IsNull { arg, .. } | ExprKind::Cast(arg) | ExprKind::SetUserVar(_, arg) => {
                f(arg);
            }
            ExprKind::Compare { args, .. } => args.iter().for_each(f),
            ExprKind::Between { args, .. } => args.iter().for_each(f),
            ExprKind::In { arg, list, .. } => {
                f(arg);
                list.iter().for_each(f);
            }
            ExprKind::Case { operand, whens, otherwise, .. } => {
                operand.iter().for_each(|e| f(e));
                whens.iter().for_each(|(when, then)| {
                    f(when);
                    f(then);
                });
                otherwise.iter().for_each(|e| f(e));
            }
            ExprKind::Subquery(subquery) => {
                match &subquery.kind {
                    SubqueryKind::In { needle, .. } => needle.iter().for_each(&mut f),
                    SubqueryKind::Quantified { needle, .. } => f(needle),
                    SubqueryKind::Scalar | SubqueryKind::Column(_) | SubqueryKind::Exists { .. } => {}
                }
                subquery.binds.iter().for_each(|b| f(&b.value));
            }
            ExprKind::Match(search) => search.args.iter().for_each(f),
            ExprKind::OfElements(test) => {
                f(&test.call);
                f(&test.wanted);
            }
        }
    }

    /// As [`Expr::for_each_child`], to change operands in place.
    pub fn for_each_child_mut(&mut self, mut f: impl FnMut(&mut Expr)) {
        match &mut self.kind {
            ExprKind::Literal(_)
            | ExprKind::Param(_)
            | ExprKind::Column(_)
            | ExprKind::Register(_)
            | ExprKind::UserVar(_)
            | ExprKind::SysVar { .. }
            | ExprKind::Default { .. } => {}
            ExprKind::Call(_, args)
            | ExprKind::Routine(_, args)
            | ExprKind::And(args)
            | ExprKind::Or(args)
            | ExprKind::Row(args) => {
                args.iter_mut().for_each(f);
            }
            ExprKind::Not(arg) | ExprKind::IsNull { arg, .. } | ExprKind::Cast(arg) | ExprKind::SetUserVar(_, arg) => {
                f(arg);
            }
            ExprKind::Compare { args, .. } => args.iter_mut().for_each(f),
            ExprKind::Between { args, .. } => args.iter_mut().for_each(f),
            ExprKind::In { arg, list, .. } => {
                f(arg);
                list.iter_mut().for_each(f);
            }
            ExprKind::Case { operand, whens, otherwise, .. } => {
                operand.iter_mut().for_each(|e| f(e));
                whens.iter_mut().for_each(|(when, then)| {
                    f(when);
                    f(then);
                });
                otherwise.iter_mut().for_each(|e| f(e));
            }
            ExprKind::Subquery(subquery) => {
                match &mut subquery.kind {
                    SubqueryKind::In { needle, .. } => needle.iter_mut().for_each(&mut f),
                    SubqueryKind::Quantified { needle, .. } => f(needle),
                    SubqueryKind::Scalar | SubqueryKind::Column(_) | SubqueryKind::Exists { .. } => {}
                }
                subquery.binds.iter_mut().for_each(|b| f(&mut b.value));
            }
            ExprKind::Match(search) => search.args.iter_mut().for_each(f),
            ExprKind::OfElements(test) => {
                f(&mut test.call);
                f(&mut test.wanted);
            }
        }
    }

    /// True when `f` holds for the expression or anything in it.
    pub fn any(&self, f: &mut impl FnMut(&Expr) -> bool) -> bool {
        if f(self) {
            return true;
        }
        let mut found = false;
        self.for_each_child(|e| found = found || e.any(f));
        found
    }

    /// Computing it once more, or less often, changes nothing. Of subqueries and user variables that is not said.
    pub fn is_steady(&self) -> bool {
        !self.any(&mut |e| match &e.kind {
            ExprKind::Subquery(_) | ExprKind::SetUserVar(..) | ExprKind::UserVar(_) => true,
            ExprKind::Call(def, _) => def.stability.varies(),
            ExprKind::Routine(called, _) => !called.routine.deterministic,
            _ => false,
        })
    }

    /// A text that is a literal, or was folded to one, or a parameter.
    pub fn is_text_given(&self) -> bool {
        self.ty.id.is_string() && matches!(self.kind, ExprKind::Literal(_) | ExprKind::Param(_))
    }

    /// The same value for every row of an execution: nothing but literals, parameters, functions that are constant
    /// during a statement, and system variables.
    pub fn is_execution_constant(&self) -> bool {
        !self.any(&mut |e| match &e.kind {
            ExprKind::Column(_)
            | ExprKind::Register(_)
            | ExprKind::Subquery(_)
            | ExprKind::UserVar(_)
            | ExprKind::SetUserVar(..)
            | ExprKind::Default { .. } => true,
            ExprKind::Call(def, _) => def.stability.varies(),
            ExprKind::Routine(called, _) => !called.routine.deterministic,
            _ => false,
        })
    }
}

impl Physical {
    /// Calls `f` for each input, in the order of execution.
    pub fn for_each_input<'p>(&'p self, mut f: impl FnMut(&'p Physical)) {
        match &self.op {
            Op::TableScan(_) | Op::Values { .. } | Op::CteScan { .. } | Op::JsonTable { .. } => {}
            Op::NestedLoop { outer, inner, .. } => {
                f(outer);
                f(inner);
            }
            Op::HashJoin { left, right, .. } => {
                f(left);
                f(right);
            }
            Op::Filter { input, .. }
            | Op::Project { input, .. }
            | Op::Sort { input, .. }
            | Op::Limit { input, .. }
            | Op::Aggregate { input, .. }
            | Op::Distinct { input, .. }
            | Op::Materialize { input, .. }
            | Op::Window { input, .. } => f(input),
            Op::SetOperation { inputs, .. } => inputs.iter().for_each(f),
        }
    }

    /// As [`Physical::for_each_input`], to change them.
    pub(crate) fn for_each_input_mut(&mut self, mut f: impl FnMut(&mut Physical)) {
        match &mut self.op {
            Op::TableScan(_) | Op::Values { .. } | Op::CteScan { .. } | Op::JsonTable { .. } => {}
            Op::NestedLoop { outer, inner, .. } => {
                f(outer);
                f(inner);
            }
            Op::HashJoin { left, right, .. } => {
                f(left);
                f(right);
            }
            Op::Filter { input, .. }
            | Op::Project { input, .. }
            | Op::Sort { input, .. }
            | Op::Limit { input, .. }
            | Op::Aggregate { input, .. }
            | Op::Distinct { input, .. }
            | Op::Materialize { input, .. }
            | Op::Window { input, .. } => f(input),
            Op::SetOperation { inputs, .. } => inputs.iter_mut().for_each(f),
        }
    }

    /// Calls `f` for each expression of this node (not of its inputs).
    pub fn for_each_expr<'p>(&'p self, mut f: impl FnMut(&'p Expr)) {
        match &self.op {
            Op::TableScan(scan) => {
                access_exprs(&scan.access, &mut f);
                for filter in scan.parts.iter().flat_map(|p| p.main.iter().chain(&p.sub)) {
                    filter.ranges.for_each_value(&mut f);
                }
                scan.filter.iter().chain(&scan.index_filter).for_each(f);
            }
            Op::Values { rows, .. } => rows.iter().flatten().for_each(f),
            Op::JsonTable { document, .. } => f(document),
            Op::NestedLoop { binds, on, .. } => {
                binds.iter().for_each(|b| f(&b.value));
                on.iter().for_each(f);
            }
            Op::HashJoin { keys, on, .. } => {
                keys.iter().for_each(|k| {
                    f(&k.left);
                    f(&k.right);
                });
                on.iter().for_each(f);
            }
            Op::Filter { predicate, .. } => f(predicate),
            Op::Project { exprs, .. } => exprs.iter().for_each(f),
            Op::Sort { keys, limit, .. } => {
                keys.iter().for_each(|k| f(&k.expr));
                limit.iter().for_each(|l| {
                    f(&l.limit);
                    l.offset.iter().for_each(&mut f);
                });
            }
            Op::Limit { limit, offset, .. } => limit.iter().chain(offset).for_each(f),
            Op::Aggregate { groups, carried, aggregates, .. } => {
                groups.iter().chain(carried).for_each(&mut f);
                for aggregate in aggregates {
                    aggregate.args.iter().for_each(&mut f);
                    aggregate.order.iter().for_each(|k| f(&k.expr));
                }
            }
            Op::Window { window, .. } => {
                window.partition.iter().for_each(&mut f);
                window.order.iter().for_each(|k| f(&k.expr));
                for bound in [&window.frame.start, &window.frame.end] {
                    if let FrameBound::Preceding(e) | FrameBound::Following(e) = bound {
                        f(e);
                    }
                }
                window.functions.iter().flat_map(|w| &w.args).for_each(f);
            }
            Op::Distinct { .. } | Op::SetOperation { .. } | Op::Materialize { .. } | Op::CteScan { .. } => {}
        }
    }
}

fn access_exprs<'p>(access: &'p Access, f: &mut impl FnMut(&'p Expr)) {
    match access {
        Access::Full => {}
        Access::Point { key } | Access::Ref { key } => key.iter().for_each(|k| f(&k.value)),
        Access::Ranges { ranges } => ranges.for_each_value(f),
        Access::Merge { parts, .. } => parts.iter().for_each(|p| access_exprs(&p.access, f)),
        Access::Skip(skip) => {
            access_exprs(&skip.outer, f);
            skip.inner.iter().for_each(|r| r.for_each_value(f));
        }
        Access::Virtual { equals } => equals.iter().for_each(|(_, e)| f(e)),
        Access::Search(search) => search.exprs().for_each(f),
        Access::Members(members) => members.exprs().for_each(f),
    }
}

fn count_expr(e: &Expr) -> usize {
    let mut n = 1;
    e.for_each_child(|c| n += count_expr(c));
    n
}

fn count_tree(p: &Physical) -> usize {
    let mut n = 2 + p.types.len();
    p.for_each_expr(|e| n += count_expr(e));
    p.for_each_input(|i| n += count_tree(i));
    n
}

impl Plan {
    /// Calls `f` with the root of each tree of operators: the statement's, those of subqueries and of common table
    /// expressions.
    pub fn for_each_tree<'p>(&'p self, f: &mut impl FnMut(&'p Physical)) {
        match &self.kind {
            PlanKind::Query(root) => f(root),
            PlanKind::PointSelect(point) => f(&point.query),
            PlanKind::Insert(insert) => {
                if let InsertSource::Query(root) = &insert.source {
                    f(root);
                }
            }
            PlanKind::Update(update) => f(&update.input),
            PlanKind::Delete(delete) => f(&delete.input),
        }
        self.subplans.iter().for_each(|s| f(&s.root));
        for cte in &self.ctes {
            f(&cte.base);
            cte.recursive.iter().for_each(&mut *f);
        }
    }
}

/// Nodes of a plan.
fn count(plan: &Plan) -> usize {
    let mut n = match &plan.kind {
        PlanKind::Query(root) => count_tree(root),
        PlanKind::PointSelect(point) => count_tree(&point.query) + point.key.len() + point.columns.len(),
        PlanKind::Insert(insert) => match &insert.source {
            InsertSource::Query(root) => count_tree(root),
            InsertSource::Values(rows) => rows.iter().flatten().flatten().map(count_expr).sum(),
        },
        PlanKind::Update(update) => count_tree(&update.input) + update.targets.len() * 4,
        PlanKind::Delete(delete) => count_tree(&delete.input),
    };
    n += plan.subplans.iter().map(|s| count_tree(&s.root)).sum::<usize>();
    n += plan.ctes.iter().map(|c| count_tree(&c.base) + c.recursive.as_ref().map_or(0, count_tree)).sum::<usize>();
    n
}

impl Plan {
    /// Bytes the plan takes, roughly: what the cache counts.
    pub fn bytes(&self) -> usize {
        let nodes = count(self);
        size_of::<Plan>() + nodes * 96 + self.columns.len() * 128 + self.tables.len() * 64
    }
}

impl Ranges {
    /// Calls `f` with each value.
    pub fn for_each_value<'r>(&'r self, f: &mut impl FnMut(&'r Expr)) {
        for product in self.0.iter() {
            product.parts.iter().flat_map(|p| p.iter()).for_each(|k| f(&k.value));
            if let Some(interval) = &product.last {
                interval.low.iter().chain(&interval.high).for_each(|b| f(&b.value));
                interval.like.iter().for_each(|l| f(&l.pattern));
                interval.holes.iter().flat_map(Hole::values).for_each(&mut *f);
            }
        }
    }

    /// As [`Ranges::for_each_value`], to change them.
    pub fn for_each_value_mut(&mut self, f: &mut impl FnMut(&mut Expr)) {
        for product in Arc::make_mut(&mut self.0) {
            for alternatives in &mut product.parts {
                Arc::make_mut(alternatives).iter_mut().for_each(|k| f(&mut k.value));
            }
            if let Some(interval) = &mut product.last {
                interval.low.iter_mut().chain(&mut interval.high).for_each(|b| f(&mut b.value));
                interval.like.iter_mut().for_each(|l| f(&mut l.pattern));
                for hole in &mut interval.holes {
                    std::iter::once(&mut hole.low).chain(&mut hole.high).for_each(|b| f(&mut b.value));
                }
            }
        }
    }
}

impl Access {
    /// Calls `f` with each value of a key; stops at the first error.
    pub fn for_each_value_mut_result<E>(&mut self, f: &mut impl FnMut(&mut Expr) -> Result<(), E>) -> Result<(), E> {
        let mut outcome = Ok(());
        let mut each = |e: &mut Expr| {
            if outcome.is_ok() {
                outcome = f(e);
            }
        };
        match self {
            Access::Full => {}
            Access::Point { key } | Access::Ref { key } => key.iter_mut().for_each(|k| each(&mut k.value)),
            Access::Ranges { ranges } => ranges.for_each_value_mut(&mut each),
            Access::Merge { parts, .. } => {
                for part in parts {
                    part.access.for_each_value_mut_result(f)?;
                }
            }
            Access::Skip(skip) => {
                skip.outer.for_each_value_mut_result(f)?;
                if let Some(inner) = &mut skip.inner {
                    inner.for_each_value_mut(&mut |e| {
                        if outcome.is_ok() {
                            outcome = f(e);
                        }
                    });
                }
            }
            Access::Virtual { equals } => equals.iter_mut().for_each(|(_, e)| each(e)),
            Access::Search(search) => search.exprs_mut().for_each(each),
            Access::Members(members) => members.exprs_mut().for_each(each),
        }
        outcome
    }
}

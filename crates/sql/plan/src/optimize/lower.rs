//! From logical expressions to those of operators: columns become slots of the operator's input row, or registers when
//! the row is another operator's.

use super::Optimizer;
use crate::expr::{Aggregate, Bind, Expr, ExprKind, SortKey};
use crate::logical::ColId;

impl Optimizer<'_> {
    /// The register of a column; the same one wherever it is read from.
    pub(super) fn register(&mut self, id: ColId) -> u32 {
        let next = self.registers.len() as u32;
        *self.registers.entry(id).or_insert(next)
    }

    /// The expression over a row of `columns`. Columns that the row does not have are noted as read from registers.
    pub(super) fn lower(&mut self, e: &Expr, columns: &[ColId]) -> Expr {
        let mut e = e.clone();
        self.lower_in(&mut e, columns);
        e
    }

    pub(super) fn lower_all(&mut self, all: &[Expr], columns: &[ColId]) -> Box<[Expr]> {
        all.iter().map(|e| self.lower(e, columns)).collect()
    }

    /// A conjunction over a row; `None` when there is nothing to check.
    pub(super) fn lower_and(&mut self, conjuncts: &[&Expr], columns: &[ColId]) -> Option<Expr> {
        let mut all: Vec<Expr> = conjuncts.iter().map(|e| self.lower(e, columns)).collect();
        match all.len() {
            0 => None,
            1 => all.pop(),
            _ => {
                let ty = all[0].ty.clone();
                Some(Expr { kind: ExprKind::And(all.into()), ty })
            }
        }
    }

    pub(super) fn lower_keys(&mut self, keys: &[SortKey], columns: &[ColId]) -> Box<[SortKey]> {
        keys.iter().map(|k| SortKey { expr: self.lower(&k.expr, columns), descending: k.descending }).collect()
    }

    pub(super) fn lower_aggregate(&mut self, a: &Aggregate, columns: &[ColId]) -> Aggregate {
        Aggregate { args: self.lower_all(&a.args, columns), order: self.lower_keys(&a.order, columns), ..a.clone() }
    }

    fn lower_in(&mut self, e: &mut Expr, columns: &[ColId]) {
        match &mut e.kind {
            ExprKind::Column(id) => {
                e.kind = match columns.iter().position(|c| c == id) {
                    Some(slot) => ExprKind::Column(slot as u32),
                    None => {
                        self.used.insert(*id);
                        ExprKind::Register(self.register(*id))
                    }
                };
            }
            ExprKind::Subquery(_) => {
                e.for_each_child_mut(|child| self.lower_in(child, columns));
                let ExprKind::Subquery(query) = &mut e.kind else { return };
                let free = self.arena.subqueries[query.subplan as usize].free.clone();
                query.binds = self.binds(&free, columns);
            }
            _ => e.for_each_child_mut(|child| self.lower_in(child, columns)),
        }
    }

    /// Assignments for those of the columns `wanted` which the row has; the others come from further out.
    pub(super) fn binds(&mut self, wanted: &[ColId], columns: &[ColId]) -> Box<[Bind]> {
        let mut binds = Vec::new();
        for id in wanted {
            match columns.iter().position(|c| c == id) {
                Some(slot) => {
                    let register = self.register(*id);
                    let value =
                        Expr { kind: ExprKind::Column(slot as u32), ty: self.arena.types[*id as usize].clone() };
                    binds.push(Bind { register, value });
                }
                None => {
                    self.used.insert(*id);
                }
            }
        }
        binds.into()
    }

    /// Runs `f` and gives the columns that it read through registers.
    pub(super) fn collect_used<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> (R, Vec<ColId>) {
        let before = std::mem::take(&mut self.used);
        let result = f(self);
        let used = std::mem::replace(&mut self.used, before);
        (result, used.into_iter().collect())
    }
}

//! What an OR over several relations says of fewer: conditions common to all its alternatives, and what each
//! alternative demands of one relation.

use crate::expr::{Expr, ExprKind};
use crate::logical::{Block, conjuncts};
use crate::make::and;
use crate::make::predicate;
use crate::optimize::build::Builder;
use crate::optimize::relset::RelSet;

/// Alternatives and their parts looked at: more cost more than they gain.
const MAX_ALTERNATIVES: usize = 64;

/// Conditions among which such ORs are looked at: what is found is compared with all of them.
const MAX_CONDITIONS: usize = 1000;

/// `(a AND b) OR (a AND c)` is `a AND (b OR c)`.
pub(super) fn factor(conditions: &mut Vec<Expr>) {
    if conditions.len() > MAX_CONDITIONS {
        return;
    }
    let mut i = 0;
    while i < conditions.len() {
        let Some(alternatives) = alternatives(&conditions[i]) else {
            i += 1;
            continue;
        };
        let (first, others) = (&alternatives[0], &alternatives[1..]);
        let everywhere = |e: &&Expr| e.is_steady() && others.iter().all(|a| a.contains(e));
        let common: Vec<Expr> = first.iter().filter(everywhere).cloned().collect();
        if common.is_empty() {
            i += 1;
            continue;
        }
        let rest: Vec<Vec<Expr>> = alternatives
            .into_iter()
            .map(|a| a.into_iter().filter(|e| !common.contains(e)).collect::<Vec<_>>())
            .collect();
        // An alternative that asks for nothing more is true where the others are.
        if rest.iter().any(Vec::is_empty) {
            conditions.remove(i);
        } else {
            conditions[i] = either(rest);
            i += 1;
        }
        let fresh: Vec<Expr> = common.into_iter().filter(|e| !conditions.contains(e)).collect();
        conditions.extend(fresh);
    }
}

impl Builder<'_> {
    /// For each relation on which every alternative of an OR puts a condition: their OR, so that it is read with it.
    pub(super) fn demands_of_ors(&self, block: &Block, conditions: &mut Vec<Expr>) {
        let mut implied = Vec::new();
        for e in conditions.iter().take(MAX_CONDITIONS) {
            let Some(alternatives) = alternatives(e) else { continue };
            let all = self.set_of(block, e);
            for rel in (0..block.rels.len()).map(RelSet::one).filter(|r| r.within(all) && *r != all) {
                let own = |a: &Vec<Expr>| -> Vec<Expr> {
                    a.iter().filter(|e| self.set_of(block, e) == rel && e.is_steady()).cloned().collect()
                };
                let of_rel: Vec<Vec<Expr>> = alternatives.iter().map(own).collect();
                if of_rel.iter().all(|a| !a.is_empty()) {
                    implied.push(either(of_rel));
                }
            }
        }
        implied.retain(|e| !conditions.contains(e));
        conditions.append(&mut implied);
    }
}

/// The alternatives of an OR as lists of what they demand.
fn alternatives(e: &Expr) -> Option<Vec<Vec<Expr>>> {
    let ExprKind::Or(args) = &e.kind else { return None };
    if args.len() < 2 || args.len() > MAX_ALTERNATIVES {
        return None;
    }
    let parts = |arg: &Expr| {
        let mut all = Vec::new();
        conjuncts(arg.clone(), &mut all);
        all
    };
    Some(args.iter().map(parts).collect())
}

fn either(alternatives: Vec<Vec<Expr>>) -> Expr {
    let mut all: Vec<Expr> = alternatives.into_iter().map(and).collect();
    all.dedup();
    let nullable = all.iter().any(|e| e.ty.nullable);
    match all.len() {
        1 => all.remove(0),
        _ => predicate(ExprKind::Or(all.into()), nullable),
    }
}

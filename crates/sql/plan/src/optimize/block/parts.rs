//! How many of a table's rows are in the parts that a statement reads, as far as its values are known: for estimates.

use super::BaseRel;
use crate::expr::{Expr, ExprKind};
use crate::fold;
use crate::optimize::build::Builder;
use crate::physical::{PartFilter, PartScan, Ranges};
use crate::plan::TableExprs;
use crate::prune::{Evaluate, number_of, placing, prune};
use gannet_types::{Result, SqlError, Value};

/// A relation with the rows of the parts that the statement reads.
pub(super) fn read(builder: &Builder<'_>, slot: u32, base: BaseRel) -> BaseRel {
    let rows = (base.rows * share(builder, slot, &base)).max(base.rows.min(1.0));
    BaseRel { rows, ..base }
}

/// The share of a table's rows that a statement reads, by the number of parts. Conditions that need other tables are
/// left out.
fn share(builder: &Builder<'_>, slot: u32, base: &BaseRel) -> f64 {
    let Some(parts) = &base.table.partitions else { return 1.0 };
    let alone = |s: &crate::optimize::sarg::Sarg| s.needs.is_empty();
    let mut own: Vec<usize> = base.sargs.iter().filter(|s| alone(s)).map(|s| s.condition).collect();
    own.extend(base.unions.iter().filter(|u| u.2.is_empty()).map(|u| u.0));
    let [main, sub] = base.part_filters(&own);
    let filters = |list: Vec<Ranges>| list.into_iter().map(|ranges| PartFilter { ranges }).collect();
    let scan = PartScan { merged: false, main: filters(main), sub: filters(sub) };
    let only = builder.arena.tables[slot as usize].only.clone();
    let exprs = TableExprs::bound(&base.table);
    let mut known = Known { builder, exprs: exprs.map(|e| &e.places) };
    match prune(&base.table, &scan, only.as_deref(), builder.options.time_zone, &mut known) {
        Ok(set) => set.count() as f64 / parts.len().max(1) as f64,
        Err(_) => 1.0,
    }
}

/// What the statement at hand tells.
struct Known<'a, 'b> {
    builder: &'a Builder<'b>,
    exprs: Option<&'a [Option<Expr>; 2]>,
}

impl<'p> Evaluate<'p> for Known<'_, '_> {
    fn value(&mut self, e: &'p Expr) -> Result<Value> {
        self.builder.seen(e).ok_or_else(|| SqlError::internal("a value that is not known"))
    }

    fn number(&mut self, which: usize, row: &[Value]) -> Result<Option<i128>> {
        let unknown = || SqlError::internal("an expression that is not computed");
        let expr = self.exprs.and_then(|e| e[which].as_ref()).ok_or_else(unknown)?;
        let value = computed(self.builder, expr, row).ok_or_else(unknown)?;
        Ok(number_of(&value))
    }

    fn knows(&self, filter: &PartFilter) -> bool {
        let mut known = true;
        filter.ranges.for_each_value(&mut |e| known &= self.builder.seen(e).is_some());
        known
    }

    fn expression(&self, which: usize) -> Option<&Expr> {
        self.exprs?[which].as_ref()
    }
}

/// The value of an expression over a row, as constants are folded.
fn computed(builder: &Builder<'_>, e: &Expr, row: &[Value]) -> Option<Value> {
    match &e.kind {
        ExprKind::Literal(value) => Some(value.clone()),
        ExprKind::Column(n) => row.get(*n as usize).map(placing),
        ExprKind::Call(def, args) => {
            let literal = |arg: &Expr| {
                let kind = ExprKind::Literal(computed(builder, arg, row)?);
                Some(Expr { kind, ty: arg.ty.clone() })
            };
            let args = args.iter().map(literal).collect::<Option<_>>()?;
            let folded = fold::call(Expr { kind: ExprKind::Call(def, args), ty: e.ty.clone() }, builder.options);
            fold::literal(&folded).cloned()
        }
        _ => None,
    }
}

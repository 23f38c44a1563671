//! How a plan finds its rows, counted as MySQL's `Select_%` status variables count it: by joins, once for each
//! execution.

use crate::physical::{Access, Op, Physical, TableScan};
use crate::plan::{Accesses, InsertSource, Plan, PlanKind};

impl Accesses {
    /// Of all parts of a plan. UPDATE and DELETE of one table are no joins.
    pub fn of(plan: &Plan) -> Accesses {
        let mut all = Accesses::default();
        match &plan.kind {
            PlanKind::Query(root) => all.visit(root, true),
            PlanKind::Insert(insert) => {
                if let InsertSource::Query(root) = &insert.source {
                    all.visit(root, true);
                }
            }
            PlanKind::Update(update) => all.visit(&update.input, true),
            PlanKind::Delete(delete) => all.visit(&delete.input, true),
            PlanKind::PointSelect(_) => {}
        }
        if matches!(plan.kind, PlanKind::Update(_) | PlanKind::Delete(_)) && !all.joins {
            all = Accesses { keeps_rows: all.keeps_rows, ..Accesses::default() };
        }
        plan.subplans.iter().for_each(|s| all.visit(&s.root, true));
        for cte in &plan.ctes {
            all.visit(&cte.base, true);
            cte.recursive.iter().for_each(|r| all.visit(r, true));
        }
        all
    }

    fn visit(&mut self, node: &Physical, first: bool) {
        match &node.op {
            Op::TableScan(scan) => self.table(scan, first),
            Op::CteScan { .. } => self.whole(first),
            Op::NestedLoop { outer, inner, .. } => {
                self.joins = true;
                self.visit(outer, first);
                self.visit(inner, false);
            }
            Op::HashJoin { left, right, .. } => {
                self.joins = true;
                self.visit(left, first);
                self.visit(right, false);
            }
            Op::Materialize { input, name, .. } => {
                let derived = name.is_some();
                if derived {
                    self.whole(first);
                }
                self.visit(input, first || derived);
            }
            Op::SetOperation { inputs, .. } => {
                self.keeps_rows = true;
                inputs.iter().for_each(|i| self.visit(i, true));
            }
            op => {
                self.keeps_rows |=
                    matches!(op, Op::Sort { .. } | Op::Aggregate { .. } | Op::Distinct { .. } | Op::Window { .. });
                node.for_each_input(|input| self.visit(input, first));
            }
        }
    }

    fn table(&mut self, scan: &TableScan, first: bool) {
        match (&scan.access, first) {
            (Access::Full | Access::Virtual { .. }, _) => self.whole(first),
            (Access::Ranges { .. } | Access::Skip(_) | Access::Merge { .. }, true) => self.range += 1,
            (Access::Ranges { .. } | Access::Skip(_) | Access::Merge { .. }, false) => self.full_range_join += 1,
            (Access::Members(members), first) if !members.single => {
                *(if first { &mut self.range } else { &mut self.full_range_join }) += 1;
            }
            (Access::Point { .. } | Access::Ref { .. } | Access::Search(_) | Access::Members(_), _) => {}
        }
    }

    fn whole(&mut self, first: bool) {
        *(if first { &mut self.scan } else { &mut self.full_join }) += 1;
    }
}

impl Physical {
    /// The first table of the join is read by ranges.
    pub fn starts_with_range(&self) -> bool {
        match &self.op {
            Op::TableScan(scan) => {
                matches!(scan.access, Access::Ranges { .. } | Access::Skip(_) | Access::Merge { .. })
                    || matches!(&scan.access, Access::Members(members) if !members.single)
            }
            Op::Materialize { .. } | Op::SetOperation { .. } => false,
            _ => {
                let mut first = None;
                self.for_each_input(|input| first = first.or(Some(input)));
                first.is_some_and(Physical::starts_with_range)
            }
        }
    }
}

//! Rows by elements of arrays, through a multi-valued index.

use super::{TreeScan, cut};
use crate::batch::Batch;
use crate::context::{Cx, Operator};
use crate::{codec, error::from_engine, eval};
use gannet_engine::{Cut, KeyRange};
use gannet_plan::physical::{Access, MembersAccess, TableScan};
use gannet_plan::range::{Bounds, encode_members};
use gannet_schema::Table;
use gannet_types::{Result, SqlType};

/// What a condition is read by that the index does not serve.
const EVERYTHING: &Access = &Access::Full;

pub(super) struct MembersScan<'p> {
    plan: &'p MembersAccess,
    scan: &'p TableScan,
    types: &'p [SqlType],
    part: Option<(u32, &'p Table)>,
    /// Walks the index.
    by_index: TreeScan<'p>,
    /// All rows, where the index does not tell.
    instead: Option<Box<TreeScan<'p>>>,
}

impl<'p> MembersScan<'p> {
    pub(super) fn new(scan: &'p TableScan, plan: &'p MembersAccess, types: &'p [SqlType]) -> Self {
        let by_index = TreeScan::new(scan, &scan.access, types);
        MembersScan { plan, scan, types, part: None, by_index, instead: None }
    }

    /// The scan of one part of the table.
    pub(super) fn of_part(self, part: (u32, &'p Table)) -> Self {
        MembersScan { part: Some(part), by_index: self.by_index.of_part(part), ..self }
    }

    /// Of rows that have all elements each has the rarest one.
    fn rarest(&self, table: &'p Table, bounds: &mut Bounds, cx: &mut Cx<'_, 'p>) -> Result<()> {
        let Some(index) = self.by_index.secondary(table).filter(|_| bounds.len() > 1) else { return Ok(()) };
        let txn = cx.txn.get()?;
        let tree = codec::index_tree(table, index, txn)?;
        let mut least = (u64::MAX, 0);
        for n in 0..bounds.len() {
            let (low, high) = bounds.get(n);
            let range = KeyRange::new(cut(low, Cut::Start), cut(high, Cut::End));
            let rows = txn.engine().estimate_rows(tree, range).map_err(from_engine)?.rows;
            least = least.min((rows, n));
        }
        bounds.keep(least.1);
        Ok(())
    }

    fn running(&mut self) -> &mut TreeScan<'p> {
        match &mut self.instead {
            Some(all) => all,
            None => &mut self.by_index,
        }
    }
}

impl<'p> Operator<'p> for MembersScan<'p> {
    fn open(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        self.instead = None;
        let table = self.by_index.table(cx);
        let (empty, zone) = (Batch::one_empty_row(), &cx.shared.settings.time_zone);
        let (mut bounds, index) = (std::mem::take(&mut self.by_index.bounds), self.scan.index.unwrap_or(0) as usize);
        let known = encode_members(table, index, self.plan, zone, &mut |e| eval::eval(e, &empty, 0, cx), &mut bounds)?;
        if !known {
            let mut all = TreeScan::new(self.scan, EVERYTHING, self.types);
            if let Some(part) = self.part {
                all = all.of_part(part);
            }
            all.open(cx)?;
            self.instead = Some(Box::new(all));
            return Ok(());
        }
        if self.plan.all {
            self.rarest(table, &mut bounds, cx)?;
        }
        self.by_index.open_ranges(bounds);
        Ok(())
    }

    fn want(&mut self, rows: u64) {
        self.running().want(rows);
    }

    fn recycle(&mut self, batch: Batch) {
        self.running().recycle(batch);
    }

    fn next(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        self.running().next(cx)
    }
}

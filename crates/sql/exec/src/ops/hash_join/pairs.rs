//! Joins by pairs of places: matches are pairs first, and columns are gathered once for all of them.

use super::{BULKY, HashJoin, Probing};
use crate::{
    batch::{BATCH_BYTES, BATCH_ROWS, Batch},
    context::Cx,
    numbered::NONE,
    vector,
};
use gannet_plan::physical::JoinKind;
use gannet_types::Result;
use std::collections::VecDeque;

/// Pairs of long rows that are made at once.
const FEW_PAIRS: usize = 16;
/// Rows of the left side, and their bytes, up to which the table may be built of them.
const FEW_ROWS: usize = 4096;
const FEW_BYTES: usize = 1 << 20;
/// The right side has to have so many times the rows of the left one, and so many more.
const TIMES: usize = 4;
const MORE: usize = BATCH_ROWS;

impl<'p> HashJoin<'p> {
    /// The join can be made of pairs: no row beyond [`BULKY`], so that what is gathered is bounded.
    pub(super) fn in_pairs(&self, probing: &Probing) -> bool {
        let small = |batch: &Batch| batch.memory_bytes() <= BULKY * batch.rows.max(1);
        let by_row = self.plan.on.is_some() && self.plan.kind != JoinKind::Inner;
        self.swapped
            || !by_row && !self.plan.keys.is_empty() && !probing.matched && !self.table.bulky && small(&probing.batch)
    }

    /// Joins left rows, up to a batch of results.
    pub(super) fn probe_pairs(&mut self, probing: &mut Probing, cx: &mut Cx<'_, 'p>) -> Result<Batch> {
        cx.check_interrupt()?;
        let (mut lefts, mut rights) = (Vec::with_capacity(BATCH_ROWS), Vec::with_capacity(BATCH_ROWS));
        let (batch, mut buffer) = (&probing.batch, std::mem::take(&mut self.buffer));
        // Long rows by the dozen.
        let most = if batch.memory_bytes() <= BULKY * batch.rows.max(1) { BATCH_ROWS } else { FEW_PAIRS };
        while probing.row < batch.rows && lefts.len() < most {
            let row = probing.row as u32;
            let mut known = true;
            let mut at = match std::mem::take(&mut probing.place) {
                0 => {
                    let key = self.find_key(self.swapped, batch, probing.row, &mut buffer, cx)?;
                    known = key.is_some();
                    key.map_or(NONE, |key| self.table.first(key))
                }
                place => place as u32 - 1,
            };
            match self.plan.kind {
                JoinKind::Inner => {}
                JoinKind::Left if at == NONE => {
                    lefts.push(row);
                    rights.push(NONE);
                }
                JoinKind::Left => {}
                JoinKind::Semi | JoinKind::Anti => {
                    // NOT IN: with a NULL on either side the answer is unknown, unless the set is empty.
                    let unknown = self.plan.null_aware && self.any && (self.null_key || !known);
                    let wanted = if self.plan.kind == JoinKind::Semi { at != NONE } else { at == NONE && !unknown };
                    if wanted {
                        lefts.push(row);
                    }
                    at = NONE;
                }
            }
            while at != NONE && lefts.len() < most {
                lefts.push(row);
                rights.push(at);
                at = self.table.places[at as usize].2;
            }
            if at != NONE {
                probing.place = at as usize + 1;
                break;
            }
            probing.row += 1;
        }
        self.buffer = buffer;
        let mut out = batch.gather(&lefts);
        if !matches!(self.plan.kind, JoinKind::Semi | JoinKind::Anti) {
            let types = if self.swapped { self.left_types } else { self.right_types };
            let built = types.iter().enumerate().map(|(n, ty)| self.table.gather(n, ty, &rights));
            let at = if self.swapped { 0 } else { out.columns.len() };
            out.columns.splice(at..at, built);
        }
        match self.plan.on {
            None => Ok(out),
            Some(on) => {
                let kept = vector::select(on, &out, cx)?;
                Ok(if kept.len() == out.rows { out } else { out.gather(&kept) })
            }
        }
    }

    /// The table may be built of the left side, if that has few rows.
    pub(super) fn may_swap(&self) -> bool {
        self.plan.kind == JoinKind::Inner && !self.plan.keys.is_empty() && !self.plan.keeps_order
    }

    /// Reads as much of both sides as it takes to see of which the table is to be built, and builds it.
    pub(super) fn decide(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        // Who needs few rows wants no more of the left side to be read, and locked, than these take.
        if self.hurried {
            self.right.open(cx)?;
            self.build_table(VecDeque::new(), cx)?;
            return self.left.open(cx);
        }
        self.left.open(cx)?;
        let (mut rows, mut bytes, mut ended) = (0, 0, false);
        while !ended && rows <= FEW_ROWS && bytes <= FEW_BYTES {
            cx.check_interrupt()?;
            match self.left.next(cx)? {
                Some(batch) => {
                    rows += batch.rows;
                    bytes += batch.memory_bytes();
                    self.ahead.push_back(batch);
                }
                None => ended = true,
            }
        }
        self.right.open(cx)?;
        let few = ended && rows <= FEW_ROWS && bytes <= FEW_BYTES.min(BULKY * rows.max(1));
        let (mut rights, mut more, mut bytes) = (VecDeque::new(), 0, 0);
        while few && more <= rows * TIMES + MORE && bytes <= BATCH_BYTES {
            cx.check_interrupt()?;
            let Some(batch) = self.right.next(cx)? else { return self.build_table(rights, cx) };
            more += batch.rows;
            bytes += batch.memory_bytes();
            rights.push_back(batch);
        }
        if !few {
            return self.build_table(rights, cx);
        }
        self.swapped = true;
        for batch in std::mem::replace(&mut self.ahead, rights) {
            self.insert(batch, cx)?;
        }
        Ok(())
    }
}

//! The lists of locks, waits and owners that introspection shows.

use std::collections::BTreeSet;

use gannet_base::sync::Arc;
use gannet_base::sync::atomic::Ordering::Relaxed;

use crate::info::{GapEnd, LockInfo, LockKind, Party, Standing, WaitInfo};
use crate::intervals::{OwnedCut, Side};
use crate::owner::{Owner, Target, Waiting};
use crate::queue::record_bytes;
use crate::table::LockTable;

fn end(cut: &OwnedCut) -> GapEnd {
    match cut {
        OwnedCut::At(key, side) => Some((key.to_vec(), *side == Side::After)),
        OwnedCut::Min | OwnedCut::Max => None,
    }
}

impl LockTable {
    /// All explicit record and gap locks, held and waited for, at most `most`. Reads one shard after another, so that
    /// the result is not the state of one moment.
    pub fn locks(&self, most: usize) -> Vec<LockInfo> {
        let mut out = Vec::new();
        for shard in self.all_shards() {
            for mut queue in shard.values() {
                loop {
                    let kind = |mode| LockKind::Record { tree: queue.tree.id(), key: queue.key.to_vec(), mode };
                    let info =
                        |o: &Arc<Owner>, mode, granted| LockInfo { party: Party::of(o), kind: kind(mode), granted };
                    out.extend(queue.holders().map(|h| info(&h.owner, h.mode, true)));
                    out.extend(queue.waiters().map(|(w, mode)| info(&w.wait.owner, mode, false)));
                    match queue.chained() {
                        Some(next) => queue = next,
                        None => break,
                    }
                }
                if out.len() >= most {
                    break;
                }
            }
        }
        for tree in self.trees() {
            if out.len() >= most {
                break;
            }
            let set = tree.gap_set.lock();
            out.extend(set.intervals().map(|(low, high, owner)| LockInfo {
                party: Party::of(owner),
                kind: LockKind::Gap { tree: tree.id(), low: end(low), high: end(high) },
                granted: true,
            }));
            drop(set);
            let set = tree.range_set.lock();
            out.extend(set.intervals().map(|(low, high, owner, mode)| LockInfo {
                party: Party::of(owner),
                kind: LockKind::Rows { tree: tree.id(), low: end(low), high: end(high), mode },
                granted: true,
            }));
            set.each_key(|owner, mode, key| {
                let kind = LockKind::Record { tree: tree.id(), key: key.to_vec(), mode };
                out.push(LockInfo { party: Party::of(owner), kind, granted: true });
                out.len() < most
            });
        }
        out.truncate(most);
        out
    }

    /// All owners that hold record or gap locks, or wait. The result is not the state of one moment.
    pub fn standings(&self) -> Vec<Standing> {
        let of = |owner: Arc<Owner>| {
            let (records, gap_trees, bytes) = {
                let held = owner.held.lock();
                let records = held.records.len() * record_bytes(16);
                let bytes = records + (held.gaps.len() + held.ranges.len()) * 256 + held.key_bytes;
                (held.records.len() + held.folded + held.keys, held.gaps.len(), bytes)
            };
            let wanted = |w: &Waiting| (LockKind::wanted(&w.target), w.since_ns);
            let waits = if owner.is_waiting() { owner.waiting.lock().as_ref().map(wanted) } else { None };
            let stands = records + gap_trees > 0 || waits.is_some();
            stands.then(|| Standing { party: Party::of(&owner), records, bytes, gap_trees, waits })
        };
        self.owners().into_iter().filter_map(of).collect()
    }

    /// All waits, with the owners that are waited for.
    pub fn waits(&self) -> Vec<WaitInfo> {
        let mut out = Vec::new();
        for owner in self.waiting() {
            let (target, since_ns) = match &*owner.waiting.lock() {
                Some(w) => (w.target.clone(), w.since_ns),
                None => continue,
            };
            let edges = self.graph.blockers(self, &owner);
            let in_front: BTreeSet<Party> = edges.iter().filter_map(|e| e.via.as_deref()).map(Party::of).collect();
            let holders = edges.iter().map(|e| Party::of(&e.to)).filter(|p| !in_front.contains(p));
            let mut blockers: Vec<Party> = in_front.iter().copied().chain(holders).collect();
            if let (Target::Trx { trx, .. }, true) = (&target, blockers.is_empty()) {
                let by_trx = |o: &Arc<Owner>| o.trx.load(Relaxed) == trx.get();
                blockers.extend(self.owners().into_iter().find(by_trx).map(|o| Party::of(&o)));
            }
            out.push(WaitInfo { party: Party::of(&owner), waits_for: LockKind::wanted(&target), since_ns, blockers });
        }
        out.sort_by_key(|w| w.since_ns);
        out
    }
}

//! Locks and waits as users see them: performance_schema.data_locks and data_lock_waits, SHOW ENGINE INNODB STATUS,
//! and which session blocks which.

use std::collections::BTreeSet;

use gannet_base::sync::Arc;
use gannet_base::sync::atomic::Ordering::Relaxed;
use gannet_base::{TreeId, TrxId};

use crate::intervals::{OwnedCut, Side};
use crate::owner::{Owner, Target};
use crate::record::record_bytes;
use crate::{LockTable, MdlMode, Mode};

/// An owner as introspection shows it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Party {
    /// The owner.
    pub owner: u64,
    /// The session's thread id; 0 for background work.
    pub thread: u64,
    /// Its transaction; zero when it has not written.
    pub trx: TrxId,
}

impl Party {
    pub(crate) fn of(owner: &Owner) -> Party {
        Party { owner: owner.id, thread: owner.thread.load(Relaxed), trx: TrxId(owner.trx.load(Relaxed)) }
    }
}

/// One end of an interval: the key, and whether the end lies after the key. `None`: the end of the key space.
pub type GapEnd = Option<(Vec<u8>, bool)>;

/// What is locked or waited for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LockKind {
    /// A record.
    Record {
        /// Its tree.
        tree: TreeId,
        /// Its key.
        key: Vec<u8>,
        /// Shared or exclusive.
        mode: Mode,
    },
    /// An interval between records.
    Gap {
        /// Its tree.
        tree: TreeId,
        /// Lower end.
        low: GapEnd,
        /// Upper end.
        high: GapEnd,
    },
    /// All rows in an interval.
    Rows {
        /// Their tree.
        tree: TreeId,
        /// Lower end.
        low: GapEnd,
        /// Upper end.
        high: GapEnd,
        /// Shared or exclusive.
        mode: Mode,
    },
    /// The place for a new record.
    Insert {
        /// Its tree.
        tree: TreeId,
        /// Its key.
        key: Vec<u8>,
    },
    /// The end of a transaction whose stamp is on a row.
    Transaction {
        /// That transaction.
        trx: TrxId,
        /// The row's tree and key, where they are known.
        row: Option<(TreeId, Vec<u8>)>,
    },
    /// A metadata lock.
    Metadata {
        /// The object.
        object: u64,
        /// Its name.
        name: String,
        /// The mode.
        mode: MdlMode,
    },
}

impl LockKind {
    pub(crate) fn wanted(target: &Target) -> LockKind {
        match target {
            Target::Record(w) => LockKind::Record { tree: w.tree.id(), key: w.key.to_vec(), mode: w.mode },
            Target::Insert { tree, key } => LockKind::Insert { tree: tree.id(), key: key.to_vec() },
            Target::Trx { trx, at } => {
                LockKind::Transaction { trx: *trx, row: at.as_ref().map(|(tree, key)| (*tree, key.to_vec())) }
            }
            Target::Mdl { object, mode } => {
                let (object, name) = object.describe();
                LockKind::Metadata { object, name: name.to_string(), mode: *mode }
            }
        }
    }
}

/// A lock that is held or waited for. Stamps in rows are not among these: only the engine knows them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LockInfo {
    /// The owner that holds the lock or waits for it.
    pub party: Party,
    /// What is locked.
    pub kind: LockKind,
    /// Whether the owner holds the lock or waits for it.
    pub granted: bool,
}

/// A wait.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaitInfo {
    /// The owner that waits.
    pub party: Party,
    /// What it waits for.
    pub waits_for: LockKind,
    /// When the wait began, in nanoseconds of the runtime's clock.
    pub since_ns: u64,
    /// The owners that hold the lock or wait in front. For a wait for a transaction: that transaction's owner, if it
    /// has one here.
    pub blockers: Vec<Party>,
}

/// What an owner holds and waits for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Standing {
    /// The owner.
    pub party: Party,
    /// How many rows it has locked.
    pub records: usize,
    /// About how much memory the locks take, in bytes.
    pub bytes: usize,
    /// How many trees it has locked gaps in.
    pub gap_trees: usize,
    /// What it waits for, and when that wait began, in nanoseconds of the runtime's clock.
    pub waits: Option<(LockKind, u64)>,
}

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
                    out.extend(queue.waiters().map(|(w, mode)| info(&w.owner, mode, false)));
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
            let wanted = |w: &crate::owner::Waiting| (LockKind::wanted(&w.target), w.since_ns);
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

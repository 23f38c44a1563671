//! Who waits for whom. Not kept: computed from the queues when a wait begins that might close a cycle.
//!
//! A cycle is closed by its last edge, so only the owner that begins to wait looks, and only if somebody may wait for it.
//! All begin to wait under one mutex; nobody who does not wait touches it. Edges go to the nearest conflicting
//! neighbours in a queue, so a search costs what it reaches, not the square of a queue's length.

use std::collections::{HashMap, HashSet};

use gannet_base::TrxId;
use gannet_base::sync::atomic::Ordering::Relaxed;
use gannet_base::sync::{Arc, Mutex};
use gannet_runtime::unix_micros;
use gannet_telemetry::{Counter, count};

use crate::info::{LockKind, Party};
use crate::owner::{Owner, Target};
use crate::table::LockTable;
use crate::{LockOwner, Mode};

/// One member of a deadlock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeadlockMember {
    /// Who.
    pub party: Party,
    /// What it waited for; the next member (after the last: the first) had it or was in front.
    pub waits_for: LockKind,
    /// Its weight.
    pub weight: u64,
    /// The one that was rolled back.
    pub victim: bool,
}

/// The last deadlock, for SHOW ENGINE INNODB STATUS.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Deadlock {
    /// When it was found: microseconds since 1970-01-01 UTC.
    pub unix_micros: u64,
    /// The cycle.
    pub members: Vec<DeadlockMember>,
}

/// To whom a wait leads, and with which mode that one stands in the queue.
pub(crate) struct Edge {
    pub(crate) to: Arc<Owner>,
    pub(crate) mode: Option<Mode>,
}

#[derive(Default)]
pub(crate) struct State {
    waiting: HashMap<u64, Arc<Owner>>,
    by_trx: HashMap<u64, Arc<Owner>>,
    last: Option<Deadlock>,
}

pub(crate) struct Graph(Mutex<State>);

/// A member of a path: the owner, its target, and the mode in which it stands in its predecessor's queue.
struct Step {
    owner: Arc<Owner>,
    target: Target,
    mode: Option<Mode>,
}

fn target_of(owner: &Owner) -> Option<Target> {
    if owner.is_waiting() { owner.waiting.lock().as_ref().map(|w| w.target.clone()) } else { None }
}

fn same_queue(a: &Target, b: &Target) -> bool {
    match (a, b) {
        (Target::Record { hash, tree, key, .. }, Target::Record { hash: h, tree: t, key: k, .. }) => {
            hash == h && Arc::ptr_eq(tree, t) && key == k
        }
        _ => false,
    }
}

impl Graph {
    pub(crate) fn new() -> Graph {
        Graph(Mutex::new(State::default()))
    }

    /// The owner has begun to wait: breaks the cycles this closes.
    pub(crate) fn enter(&self, table: &LockTable, me: &Arc<Owner>) {
        let mut state = self.0.lock();
        let trx = me.trx.load(Relaxed);
        state.waiting.insert(me.id, me.clone());
        if trx != 0 {
            state.by_trx.insert(trx, me.clone());
        }
        if !me.blocks.load(Relaxed) && !table.trx_waits.anyone_waits_for(TrxId(trx)) {
            return;
        }
        while me.is_waiting() {
            let Some(cycle) = state.cycle(table, me) else { return };
            let Some(victim) = cycle.iter().min_by_key(|s| s.owner.price(s.owner.id == me.id)).map(|s| s.owner.clone())
            else {
                return;
            };
            // Else it was granted or gave up meanwhile: look again.
            if victim.condemn() {
                count(Counter::InnodbDeadlocks);
                state.report(&cycle, &victim);
            }
        }
    }

    /// The owner's time is up. Under the lock, so that during a search a waiter may be granted but not vanish: the search
    /// would lose what lies behind it (INV-LOCK-5).
    pub(crate) fn give_up(&self, me: &Owner) {
        let _no_search = self.0.lock();
        me.give_up();
    }

    pub(crate) fn leave(&self, me: &Arc<Owner>) {
        let mut state = self.0.lock();
        state.waiting.remove(&me.id);
        state.by_trx.remove(&me.trx.load(Relaxed));
    }

    pub(crate) fn last_deadlock(&self) -> Option<Deadlock> {
        self.0.lock().last.clone()
    }

    /// All that wait now.
    pub(crate) fn waiting(&self) -> Vec<Arc<Owner>> {
        self.0.lock().waiting.values().cloned().collect()
    }

    /// Whom the owner waits for directly or through its nearest neighbours.
    pub(crate) fn blockers(&self, table: &LockTable, owner: &Arc<Owner>) -> Vec<Edge> {
        let state = self.0.lock();
        let mut out = Vec::new();
        if let Some(target) = target_of(owner) {
            state.blockers(table, owner, &target, &mut out);
        }
        out
    }
}

impl State {
    fn blockers(&self, table: &LockTable, owner: &Arc<Owner>, target: &Target, out: &mut Vec<Edge>) {
        match target {
            Target::Record { hash, tree, key, mode } => table.record_blockers(owner, *hash, tree, key, *mode, out),
            Target::Insert { tree, key } => tree.insert_blockers(owner, key, out),
            Target::Trx(trx) => {
                // One that does not wait ends the search: leave it out.
                let found = self.by_trx.get(&trx.get());
                out.extend(found.map(|o| Edge { to: o.clone(), mode: None }));
            }
            Target::Mdl { object, mode } => object.blockers(owner, *mode, out),
        }
    }

    /// A cycle through `me`, each member waiting for the next and the last for `me`.
    fn cycle(&self, table: &LockTable, me: &Arc<Owner>) -> Option<Vec<Step>> {
        let mut seen = HashSet::from([me.id]);
        // How each reached owner was reached: predecessor's index in `steps`.
        let mut steps = vec![(Step { owner: me.clone(), target: target_of(me)?, mode: None }, usize::MAX)];
        let mut stack = vec![0];
        let mut edges = Vec::new();
        while let Some(at) = stack.pop() {
            edges.clear();
            self.blockers(table, &steps[at].0.owner, &steps[at].0.target, &mut edges);
            for edge in edges.drain(..) {
                if Arc::ptr_eq(&edge.to, me) {
                    return Some(shorten(path(steps, at), edge.mode));
                }
                if !seen.insert(edge.to.id) {
                    continue;
                }
                if let Some(target) = target_of(&edge.to) {
                    steps.push((Step { owner: edge.to, target, mode: edge.mode }, at));
                    stack.push(steps.len() - 1);
                }
            }
        }
        None
    }

    fn report(&mut self, cycle: &[Step], victim: &Arc<Owner>) {
        let member = |s: &Step| DeadlockMember {
            party: Party::of(&s.owner),
            waits_for: LockKind::wanted(&s.target),
            weight: s.owner.weight.load(Relaxed),
            victim: Arc::ptr_eq(&s.owner, victim),
        };
        let members = cycle.iter().map(member).collect();
        self.last = Some(Deadlock { unix_micros: unix_micros(), members });
    }
}

/// The steps from the root to `at`.
fn path(steps: Vec<(Step, usize)>, at: usize) -> Vec<Step> {
    let mut keep = HashSet::new();
    let mut i = at;
    while i != usize::MAX {
        keep.insert(i);
        i = steps[i].1;
    }
    // A step is pushed after its predecessor.
    steps.into_iter().enumerate().filter(|(i, _)| keep.contains(i)).map(|(_, (step, _))| step).collect()
}

/// Leaves out those that only stand between two others of the same queue: rolling them back would not help.
fn shorten(mut cycle: Vec<Step>, closing: Option<Mode>) -> Vec<Step> {
    let wants = |t: &Target| if let Target::Record { mode, .. } = t { Some(*mode) } else { None };
    let mut i = 0;
    while i + 1 < cycle.len() {
        let (a, b) = (&cycle[i], &cycle[i + 1]);
        let next_mode = if i + 2 < cycle.len() { cycle[i + 2].mode } else { closing };
        // Two that raise their locks wait for each other, not each for itself.
        let pair = i == 0 && cycle.len() == 2;
        let direct = !pair
            && same_queue(&a.target, &b.target)
            && matches!((wants(&a.target), next_mode), (Some(a), Some(c)) if a.conflicts(c));
        if direct {
            cycle.remove(i + 1);
        } else {
            i += 1;
        }
    }
    cycle
}

impl LockTable {
    /// The last deadlock found.
    pub fn last_deadlock(&self) -> Option<Deadlock> {
        self.graph.last_deadlock()
    }
}

impl LockOwner {
    /// True while this owner waits for a lock.
    pub fn is_waiting(&self) -> bool {
        self.inner.is_waiting()
    }
}

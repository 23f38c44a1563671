//! The graph of waits. It is not stored: a search computes it from the queues when a wait begins that might close a
//! cycle.
//!
//! A cycle is closed by its last edge, so only the owner that begins to wait searches, and only if another owner may
//! wait for it. The search runs under one mutex, which an owner does not touch if it does not wait or holds nothing.
//! Edges lead from a queue to its holders. A search looks at the holders of a queue once, so it costs the number of
//! owners it reaches that hold something, not the length of a queue.

use std::collections::HashSet;

use gannet_base::TrxId;
use gannet_base::sync::Arc;
use gannet_base::sync::atomic::{
    Ordering::{Relaxed, Release, SeqCst},
    fence,
};
use gannet_runtime::WallTime;
use gannet_telemetry::{Counter, count};

use crate::deadlock::{Deadlock, DeadlockMember, Graph, State};
use crate::info::{LockKind, Party};
use crate::mdl::SeenObjects;
use crate::owner::{Edge, Owner, Pending, Target};
use crate::queue::SeenQueues;
use crate::table::LockTable;
use crate::{LockOwner, Mode};

/// What a search has looked at.
#[derive(Default)]
struct Seen {
    queues: SeenQueues,
    objects: SeenObjects,
}

/// The number of the transaction by which other waits name the owner; zero if it has not written.
#[must_use]
pub(crate) struct Entered(u64);

/// A member of a path: an owner's wait, and what it waits for.
struct Step {
    wait: Pending,
    target: Target,
}

impl Step {
    fn of(owner: &Arc<Owner>) -> Option<Step> {
        let wait = Pending::of(owner)?;
        Some(Step { target: owner.target()?, wait })
    }

    fn owner(&self) -> &Arc<Owner> {
        &self.wait.owner
    }
}

impl Graph {
    /// Called when the owner has begun to wait: breaks the cycles that this closes. Returns what [`Graph::leave`]
    /// needs.
    pub(crate) fn enter(&self, table: &LockTable, pending: &Pending) -> Entered {
        let me = &pending.owner;
        let trx = me.trx.load(Relaxed);
        // Another owner that begins to wait for this one sets `blocks`, then comes here and reads whether this owner
        // waits. This owner published that it waits, and now reads `blocks`. One of them sees the other.
        fence(SeqCst);
        let entered = Entered(trx);
        if trx != 0 || me.blocks.load(Relaxed) {
            self.search(table, me, trx);
        }
        me.entered.store(true, Release);
        entered
    }

    fn search(&self, table: &LockTable, me: &Arc<Owner>, trx: u64) {
        let mut state = self.0.lock();
        if trx != 0 {
            state.by_trx.insert(trx, me.clone());
        }
        if !me.blocks.load(Relaxed) && !table.trx_waits.anyone_waits_for(TrxId(trx)) {
            return;
        }
        while me.is_waiting() {
            count(Counter::LockDeadlockRounds);
            let Some(cycle) = state.cycle(table, me) else { return };
            // If each member still waits as it did when the search read it, then all of them waited at one moment.
            if !cycle.iter().all(|s| s.wait.lasts()) {
                count(Counter::LockDeadlockFalsePositives);
                continue;
            }
            let price = |s: &&Step| s.owner().price(s.owner().id == me.id);
            let Some(victim) = cycle.iter().min_by_key(price).map(|s| &s.wait) else { return };
            // If the victim was granted or gave up meanwhile, search again.
            if victim.condemn() {
                count(Counter::InnodbDeadlocks);
                state.report(table, &cycle, &victim.owner);
            }
        }
    }

    /// Whether the wait is part of a cycle that should have been broken.
    pub(crate) fn has_missed(&self, table: &LockTable, wait: &Pending) -> bool {
        let cycle = self.0.lock().cycle(table, &wait.owner);
        cycle.is_some_and(|steps| steps.iter().all(|s| s.wait.lasts()))
    }

    /// Called when the owner's time is up. The lock is held so that during a search a waiter may be granted but not
    /// vanish: the search would lose what lies behind it (INV-LOCK-5).
    pub(crate) fn give_up(&self, wait: &Pending) {
        let _no_search = self.0.lock();
        wait.give_up();
    }

    pub(crate) fn leave(&self, entered: Entered) {
        if entered.0 != 0 {
            self.0.lock().by_trx.remove(&entered.0);
        }
    }

    pub(crate) fn last_deadlock(&self) -> Option<Deadlock> {
        self.0.lock().last.clone()
    }

    /// The owners that the owner waits for.
    pub(crate) fn blockers(&self, table: &LockTable, owner: &Arc<Owner>) -> Vec<Edge> {
        let state = self.0.lock();
        let mut out = Vec::new();
        if let Some(step) = Step::of(owner) {
            state.blockers(table, (owner, &step.target), None, &mut Seen::default(), &mut out);
        }
        out
    }

    /// How many edges searches have followed so far.
    #[cfg(test)]
    pub(crate) fn steps(&self) -> u64 {
        self.0.lock().steps
    }
}

impl State {
    /// The owners that `owner` waits for. `me` is the owner that searches.
    fn blockers(
        &self,
        table: &LockTable,
        (owner, target): (&Arc<Owner>, &Target),
        me: Option<&Step>,
        seen: &mut Seen,
        out: &mut Vec<Edge>,
    ) {
        match target {
            Target::Record(wanted) => {
                let me = me.and_then(|m| match &m.target {
                    Target::Record(w) if w.mode == Mode::Exclusive && w.same_record(wanted) => {
                        Some((m.owner(), w.ticket))
                    }
                    _ => None,
                });
                table.record_blockers(owner, wanted, me, &mut seen.queues, out);
            }
            Target::Insert { tree, key } => tree.insert_blockers(owner, key, out),
            Target::Trx { trx, .. } => {
                // A transaction whose owner does not wait ends the path, so it adds no edge.
                let found = self.by_trx.get(&trx.get());
                out.extend(found.map(|o| Edge { to: o.clone(), via: None }));
            }
            Target::Mdl { object, mode } => {
                let here = |m: &&Step| matches!(&m.target, Target::Mdl { object: o, .. } if o == object);
                object.blockers((owner, *mode), me.filter(here).map(Step::owner), &mut seen.objects, out);
            }
        }
    }

    /// A cycle through `me`, each member waiting for the next and the last for `me`.
    fn cycle(&mut self, table: &LockTable, me: &Arc<Owner>) -> Option<Vec<Step>> {
        let mut seen = HashSet::from([me.id]);
        let mut looked_at = Seen::default();
        // By which step each owner was reached: the predecessor's index in `steps`.
        let mut steps = vec![(Step::of(me)?, usize::MAX)];
        let mut stack = vec![0];
        let mut edges = Vec::new();
        while let Some(at) = stack.pop() {
            let step = &steps[at].0;
            self.blockers(table, (step.owner(), &step.target), Some(&steps[0].0), &mut looked_at, &mut edges);
            self.steps += edges.len() as u64;
            let mut between: Option<usize> = None;
            for edge in edges.drain(..) {
                let closes = Arc::ptr_eq(&edge.to, me);
                if !closes && !seen.insert(edge.to.id) {
                    continue;
                }
                let mut from = at;
                if let Some(via) = edge.via {
                    from = match between {
                        Some(i) if Arc::ptr_eq(steps[i].0.owner(), &via) => i,
                        _ => {
                            let Some(step) = Step::of(&via) else { continue };
                            steps.push((step, at));
                            steps.len() - 1
                        }
                    };
                    between = Some(from);
                }
                if closes {
                    return Some(path(steps, from));
                }
                if let Some(step) = Step::of(&edge.to) {
                    steps.push((step, from));
                    stack.push(steps.len() - 1);
                }
            }
        }
        None
    }

    fn report(&mut self, table: &LockTable, cycle: &[Step], victim: &Arc<Owner>) {
        let said = |party: &Party| table.describe.get().map_or(Vec::new(), |describe| describe(party.thread));
        let member = |s: &Step| DeadlockMember {
            party: Party::of(s.owner()),
            session: said(&Party::of(s.owner())),
            waits_for: LockKind::wanted(&s.target),
            weight: s.owner().weight.load(Relaxed),
            victim: Arc::ptr_eq(s.owner(), victim),
        };
        let members = cycle.iter().map(member).collect();
        self.last = Some(Deadlock { unix_micros: WallTime::now().micros(), members });
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

impl LockTable {
    /// Sets the function that describes a session, by its thread id, when it is a member of a deadlock. The
    /// description is stored for SHOW ENGINE INNODB STATUS. The function is called with the graph's mutex held: it
    /// must not wait, and must not ask this table anything. Only the first function that is set counts.
    pub fn describe_sessions(&self, describe: impl Fn(u64) -> Vec<u8> + Send + Sync + 'static) {
        let _ = self.describe.set(Box::new(describe));
    }

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

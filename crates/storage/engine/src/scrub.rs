//! The scrubber: a task that reads all pages of the data file at a bounded pace and verifies them. So damage is found
//! while the double-write file, a backup or a replica can still help, and not only when a statement needs the row.
//! The scrubber waits while the checkpointer works without pauses.

use std::collections::BTreeMap;

use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{AtomicU64, Ordering::*};
use gannet_base::{Lsn, PageNo, TreeId};
use gannet_buffer::{Error, OnDisk, OnDiskBuf};
use gannet_page::raw::SYSTEM;
use gannet_runtime::{Unpark, Wait, interrupted, now_ns, park};

use crate::checkpoint::CheckpointFigures;
use crate::recovery::Recovery;
use crate::store::Store;
use crate::{Engine, EngineError};

const SECOND: u64 = 1_000_000_000;
/// Between two looks while there is nothing to do.
const IDLE_NS: u64 = SECOND / 2;
/// Pages between two pauses.
const BATCH: u64 = 8;

/// A page that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Damage {
    /// The tree that owns the page.
    pub tree: TreeId,
    /// Which page.
    pub page: PageNo,
    /// The LSN in its header.
    pub lsn: Lsn,
    /// What was seen.
    pub what: String,
}

impl Damage {
    /// That a read fails may pass.
    fn may_pass(&self) -> bool {
        self.what.starts_with("cannot be read")
    }
}

impl From<&Damage> for EngineError {
    fn from(d: &Damage) -> Self {
        EngineError::Corrupt { page: d.page, lsn: d.lsn, what: d.what.clone() }
    }
}

/// What the scrubber did since the start. Written by its task only, except for the pace.
#[derive(Default)]
pub(crate) struct Scrub {
    /// Pages a second, at most; 0: none.
    pub(crate) pace: AtomicU64,
    pub(crate) pages: AtomicU64,
    pub(crate) errors: AtomicU64,
    pub(crate) rewritten: AtomicU64,
    pub(crate) rounds: AtomicU64,
    damaged: Mutex<BTreeMap<PageNo, Damage>>,
}

impl Scrub {
    /// Nothing done yet.
    pub(crate) fn new(pace: u64) -> Self {
        Scrub { pace: AtomicU64::new(pace), ..Scrub::default() }
    }
}

/// Figures of the scrubber.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ScrubStatus {
    /// Pages verified.
    pub pages: u64,
    /// Of these, found damaged.
    pub errors: u64,
    /// Of the damaged ones, written again from the pool.
    pub rewritten: u64,
    /// Times it has come to the end of the data file.
    pub rounds: u64,
}

/// Works until the task is interrupted.
pub(crate) fn run(store: &Store, recovery: &Recovery, checkpoint: &CheckpointFigures) {
    let mut buf = OnDiskBuf::default();
    let mut next = PageNo::ZERO;
    let mut due = now_ns();
    while !interrupted() {
        let pace = store.scrub.pace.load(Relaxed);
        let pressed = checkpoint.pace.load(Relaxed) == u64::MAX;
        if pace == 0 || pressed || !recovery.redo_is_done() {
            due = now_ns() + IDLE_NS;
        } else {
            let batch = BATCH.min(pace);
            due = due.max(now_ns().saturating_sub(SECOND)) + batch * SECOND / pace;
            for _ in 0..batch {
                match store.pool.space().next_used(next) {
                    Some(Ok(page)) => {
                        look(store, page, &mut buf);
                        next = page.next();
                    }
                    Some(Err(page)) => next = page,
                    None => {
                        next = PageNo::ZERO;
                        store.scrub.rounds.fetch_add(1, Relaxed);
                        // A small store is not read over and over.
                        due = due.max(now_ns() + SECOND);
                        break;
                    }
                }
            }
        }
        while now_ns() < due {
            if park(Wait::Background, Some(due)) == Unpark::Interrupted {
                return;
            }
        }
    }
}

/// Verifies a page.
fn look(store: &Store, no: PageNo, buf: &mut OnDiskBuf) {
    let scrub = &store.scrub;
    let outcome = store.pool.verify_on_disk(no, buf);
    if let Ok(OnDisk::Nothing) = outcome {
        forget(store, no);
        return;
    }
    scrub.pages.fetch_add(1, Relaxed);
    let tree = store.pool.space().owner_of(no).unwrap_or(SYSTEM);
    match outcome {
        Ok(OnDisk::Rewritten(e)) => {
            scrub.errors.fetch_add(1, Relaxed);
            scrub.rewritten.fetch_add(1, Relaxed);
            store
                .events
                .warning(format_args!("scrubber: {e}, of tree {tree}; the pool has it and it is written again"));
        }
        Ok(_) => {
            if forget(store, no) {
                store.events.note(format_args!("scrubber: page {no} of tree {tree} is whole again"));
            }
        }
        Err(Error::Page(e)) => {
            scrub.errors.fetch_add(1, Relaxed);
            let damage = Damage { tree, page: e.page, lsn: e.lsn, what: e.what.into_owned() };
            let before = scrub.damaged.lock().insert(no, damage.clone());
            // Once, not in every round.
            if before.as_ref() != Some(&damage) {
                let end = if damage.may_pass() { "" } else { ", which is not used until that is repaired" };
                store.events.error(format_args!("scrubber: {}, of tree {tree}{end}", EngineError::from(&damage)));
            }
            judge(store, tree);
        }
        Err(e) => store.events.warning(format_args!("scrubber: page {no} is left out: {e}")),
    }
}

/// Forgets the damage of a page that is sound again or not used any more. Returns whether there was any.
fn forget(store: &Store, no: PageNo) -> bool {
    let before = store.scrub.damaged.lock().remove(&no);
    if let Some(damage) = &before {
        judge(store, damage.tree);
    }
    before.is_some()
}

/// Marks a tree with a damaged page as unusable: a statement that read around the page would act on a part of the
/// table.
fn judge(store: &Store, tree: TreeId) {
    let first = store.scrub.damaged.lock().values().find(|d| d.tree == tree && !d.may_pass()).cloned();
    store.trees.set_damage(tree, first);
}

impl Engine {
    /// How many pages a second the scrubber may verify; 0 stops it.
    pub fn set_scrub_pace(&self, pages_per_second: u64) {
        self.store.scrub.pace.store(pages_per_second, Relaxed);
    }

    /// What the scrubber has done since the start.
    pub fn scrub_status(&self) -> ScrubStatus {
        let scrub = &self.store.scrub;
        ScrubStatus {
            pages: scrub.pages.load(Relaxed),
            errors: scrub.errors.load(Relaxed),
            rewritten: scrub.rewritten.load(Relaxed),
            rounds: scrub.rounds.load(Relaxed),
        }
    }

    /// Pages the scrubber has found damaged in its last round. Their trees are not used: reading and writing them fails
    /// with the error of the first one, until the page is whole again or freed.
    pub fn damaged_pages(&self) -> Vec<Damage> {
        self.store.scrub.damaged.lock().values().cloned().collect()
    }
}

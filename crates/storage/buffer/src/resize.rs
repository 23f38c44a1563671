//! A pool that grows and shrinks while it is used.
//!
//! To grow: frames are opened, the table of resident pages gets more slots, then the budget rises.
//!
//! To shrink: the budget comes down in steps of a sixteenth, each when the frames in use fit into it, so that tasks
//! wait for frames no longer than in any full pool. Then no page is given a frame beyond the new limit any more; the
//! pages that have one move, each under its exclusive latch; and the memory beyond the limit is given back as a whole.
//!
//! All of it is done in short steps by one of the cleaners, so that a request returns at once and ends with the pool.

use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};
use gannet_base::{PAGE_SIZE, PageNo};
use gannet_runtime::{Wait, now_ns};

use crate::{ExclusiveGuard, Pool};

/// Slots of the table of resident pages that a step looks at for pages to be moved.
const SLOTS: usize = 4096;
/// Pages that a step moves: what another task of the worker may wait for.
const MOVES: usize = 32;

/// What the resizing is at.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ResizeStage {
    /// Nothing was asked for since the start.
    #[default]
    Idle,
    /// Asked for.
    Requested,
    /// The budget comes down, and pages are evicted.
    Withdrawing,
    /// Pages move out of the memory that will be given back.
    Moving,
    /// The size is what was asked for.
    Done,
    /// The system has not given the memory; the size is what it was.
    Failed,
}

/// Where the resizing is.
#[derive(Clone, Debug, Default)]
pub struct ResizeStatus {
    /// What it is at.
    pub stage: ResizeStage,
    /// Share of the stage that is done.
    pub percent: u8,
    /// Bytes before.
    pub from: u64,
    /// Bytes asked for.
    pub to: u64,
    /// Why it failed.
    pub error: Option<String>,
    /// When it was done or failed, as `now_ns` tells.
    pub ended_ns: u64,
    /// Pages that have moved to another frame since the start.
    pub moved: u64,
}

/// The resizing of a pool.
pub(crate) struct Resize {
    /// Frames that are asked for. Written under `state`.
    target: AtomicUsize,
    moved: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    stage: ResizeStage,
    from: usize,
    error: Option<String>,
    ended_ns: u64,
    /// The next slot to look at for pages to be moved, and frames that were to be left when that began.
    slot: usize,
    moves: u32,
}

impl Resize {
    pub(crate) fn new(budget: usize) -> Resize {
        Resize {
            target: AtomicUsize::new(budget),
            moved: AtomicU64::new(0),
            state: Mutex::new(State { from: budget, ..State::default() }),
        }
    }

    fn stage(&self) -> ResizeStage {
        self.state.lock().stage
    }

    fn enter(&self, stage: ResizeStage) {
        let mut state = self.state.lock();
        (state.stage, state.ended_ns) = (stage, now_ns());
    }
}

/// Frames that may be in use.
pub(crate) struct Budget(AtomicUsize);

impl Budget {
    pub(crate) fn new(frames: usize) -> Budget {
        Budget(AtomicUsize::new(frames))
    }

    /// Who sees a larger one sees the frames and slots that come with it.
    #[inline]
    pub(crate) fn get(&self) -> usize {
        self.0.load(Acquire)
    }

    fn set(&self, frames: usize) {
        self.0.store(frames, Release);
    }
}

/// Frames of a pool of so many bytes; it has some in any case.
pub(crate) fn frames_of(bytes: u64) -> usize {
    (bytes as usize / PAGE_SIZE).max(48)
}

/// Frames that there are for a budget: `create` may exceed it, and so may tasks that race, of which the pools of tests
/// have few.
pub(crate) fn frames_for(budget: usize) -> usize {
    budget + budget / 2 + if budget < 256 { 64 } else { 1024 }
}

/// Frames that may still be taken.
pub(crate) fn room(pool: &Pool) -> usize {
    (pool.budget.get() as i64 - pool.frames_in_use()).max(0) as usize
}

/// Asks for another size, which the cleaners bring about ([`Pool::start_cleaner`]). False: the last request is not
/// done yet, or there are no addresses for so many ([`most_bytes`]).
pub fn resize(pool: &Pool, bytes: u64) -> bool {
    let frames = frames_of(bytes);
    let mut state = pool.resize.state.lock();
    let busy = matches!(state.stage, ResizeStage::Requested | ResizeStage::Withdrawing | ResizeStage::Moving);
    if busy || frames_for(frames) > pool.arena.most() {
        return false;
    }
    *state = State { stage: ResizeStage::Requested, from: pool.budget.get(), ..State::default() };
    pool.resize.target.store(frames, Release);
    drop(state);
    pool.call_cleaner();
    true
}

/// The largest size that `Pool::resize` takes, in bytes.
pub fn most_bytes(pool: &Pool) -> u64 {
    // The inverse of `frames_for`, for pools that are not very small.
    ((pool.arena.most().saturating_sub(1024)) * 2 / 3 * PAGE_SIZE) as u64
}

/// Where the resizing is.
pub fn resized(pool: &Pool) -> ResizeStatus {
    let (target, budget, above) = (pool.resize.target.load(Acquire), pool.budget.get(), pool.arena.above());
    let state = pool.resize.state.lock();
    let percent = match state.stage {
        ResizeStage::Idle | ResizeStage::Requested | ResizeStage::Failed => 0,
        ResizeStage::Done => 100,
        ResizeStage::Withdrawing => state.from.saturating_sub(budget) * 100 / state.from.saturating_sub(target).max(1),
        ResizeStage::Moving => (state.moves.saturating_sub(above) as usize * 100) / state.moves.max(1) as usize,
    };
    ResizeStatus {
        stage: state.stage,
        percent: percent.min(100) as u8,
        from: (state.from * PAGE_SIZE) as u64,
        to: (target * PAGE_SIZE) as u64,
        error: state.error.clone(),
        ended_ns: state.ended_ns,
        moved: pool.resize.moved.load(Relaxed),
    }
}

/// Does some of what is to be done. True: there is more that need not wait for others. Called by one task.
pub(crate) fn step(pool: &Pool) -> bool {
    match pool.resize.stage() {
        ResizeStage::Requested if pool.resize.target.load(Acquire) >= pool.budget.get() => grow(pool),
        ResizeStage::Requested => pool.resize.enter(ResizeStage::Withdrawing),
        ResizeStage::Withdrawing => return withdraw(pool),
        ResizeStage::Moving => move_some(pool),
        ResizeStage::Idle | ResizeStage::Done | ResizeStage::Failed => return false,
    }
    true
}

fn grow(pool: &Pool) {
    let target = pool.resize.target.load(Acquire);
    if let Err(e) = pool.arena.grow(frames_for(target)) {
        pool.resize.state.lock().error = Some(e.to_string());
        return pool.resize.enter(ResizeStage::Failed);
    }
    // The slots before the pages that need them.
    pool.resident.resize(frames_for(target));
    pool.budget.set(target);
    pool.resize.enter(ResizeStage::Done);
    pool.feed_starved();
}

/// Lowers the budget as soon as what it is now is kept. True: it did.
fn withdraw(pool: &Pool) -> bool {
    let (target, budget) = (pool.resize.target.load(Acquire), pool.budget.get());
    if pool.frames_in_use() > budget as i64 {
        return false;
    }
    if budget > target {
        pool.budget.set(target.max(budget - (budget / 16).max(16).min(budget)));
        return true;
    }
    pool.resident.resize(frames_for(target));
    pool.arena.shrink(frames_for(target));
    let mut state = pool.resize.state.lock();
    (state.stage, state.slot, state.moves) = (ResizeStage::Moving, 0, pool.arena.above());
    true
}

/// Moves some of the pages that have a frame beyond the limit, and ends the resizing when there are none.
fn move_some(pool: &Pool) {
    if pool.arena.above() == 0 {
        pool.arena.give_back();
        // What is free below the limit is bounded by the new size, too.
        pool.arena.put(&[], room(pool));
        pool.resize.enter(ResizeStage::Done);
        return;
    }
    let limit = pool.arena.limit();
    let mut slot = pool.resize.state.lock().slot;
    let (mut seen, mut moved) = (0, 0);
    while seen < SLOTS && moved < MOVES {
        if let Some(no) = pool.resident.get(slot)
            && pool.arena.taken(no) >= limit
        {
            move_page(pool, no, limit);
            moved += 1;
        }
        slot = (slot + 1) % pool.resident.len();
        seen += 1;
    }
    // A page that was in transit is met again in the next round.
    pool.resize.state.lock().slot = slot;
}

fn move_page(pool: &Pool, no: PageNo, limit: u32) {
    match ExclusiveGuard::new(pool, no) {
        Ok(mut guard) => {
            if pool.arena.taken(no) >= limit {
                let frame = guard.move_frame();
                drop(guard);
                pool.arena.put(&[frame], room(pool));
                pool.resize.moved.fetch_add(1, Relaxed);
            }
        }
        Err(_) => {
            let word = pool.arena.state(no);
            if word.in_transit() {
                pool.gates.wait(no.0, Wait::PageRead, || word.in_transit());
            }
        }
    }
}

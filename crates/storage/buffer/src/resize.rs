//! A pool that grows and shrinks while it is used.
//!
//! To grow: frames are opened, the table of resident pages gets more slots, then the budget rises.
//!
//! To shrink: the budget comes down in steps of a sixteenth, each when the frames in use fit into it, so that tasks wait
//! for frames no longer than in any full pool. Then no page is given a frame beyond the new limit any more; the pages that
//! have one move, each under its exclusive latch; and the memory beyond the limit is given back as a whole.
//!
//! All of it is done in short steps by one of the cleaners, so that a request returns at once and ends with the pool.

use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};
use gannet_base::{PAGE_SIZE, PageNo};
use gannet_runtime::{Wait, now_ns};

use crate::pool::{frames_for, frames_of};
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

impl Pool {
    /// Asks for another size, which the cleaners bring about ([`Pool::start_cleaner`]). False: the last request is not
    /// done yet, or there are no addresses for so many ([`Pool::most_bytes`]).
    pub fn resize(&self, bytes: u64) -> bool {
        let frames = frames_of(bytes);
        let mut state = self.resize.state.lock();
        let busy = matches!(state.stage, ResizeStage::Requested | ResizeStage::Withdrawing | ResizeStage::Moving);
        if busy || frames_for(frames) > self.arena.most() {
            return false;
        }
        *state = State { stage: ResizeStage::Requested, from: self.budget(), ..State::default() };
        self.resize.target.store(frames, Release);
        drop(state);
        self.call_cleaner();
        true
    }

    /// The largest size that [`Pool::resize`] takes, in bytes.
    pub fn most_bytes(&self) -> u64 {
        // The inverse of `frames_for`, for pools that are not very small.
        ((self.arena.most().saturating_sub(1024)) * 2 / 3 * PAGE_SIZE) as u64
    }

    /// Where the resizing is.
    pub fn resized(&self) -> ResizeStatus {
        let (target, budget, above) = (self.resize.target.load(Acquire), self.budget(), self.arena.above());
        let state = self.resize.state.lock();
        let percent = match state.stage {
            ResizeStage::Idle | ResizeStage::Requested | ResizeStage::Failed => 0,
            ResizeStage::Done => 100,
            ResizeStage::Withdrawing => {
                state.from.saturating_sub(budget) * 100 / state.from.saturating_sub(target).max(1)
            }
            ResizeStage::Moving => (state.moves.saturating_sub(above) as usize * 100) / state.moves.max(1) as usize,
        };
        ResizeStatus {
            stage: state.stage,
            percent: percent.min(100) as u8,
            from: (state.from * PAGE_SIZE) as u64,
            to: (target * PAGE_SIZE) as u64,
            error: state.error.clone(),
            ended_ns: state.ended_ns,
            moved: self.resize.moved.load(Relaxed),
        }
    }

    /// Does some of what is to be done. True: there is more that need not wait for others. Called by one task.
    pub(crate) fn resize_step(&self) -> bool {
        match self.resize.stage() {
            ResizeStage::Requested if self.resize.target.load(Acquire) >= self.budget() => self.grow_frames(),
            ResizeStage::Requested => self.resize.enter(ResizeStage::Withdrawing),
            ResizeStage::Withdrawing => return self.withdraw(),
            ResizeStage::Moving => self.move_some(),
            ResizeStage::Idle | ResizeStage::Done | ResizeStage::Failed => return false,
        }
        true
    }

    fn grow_frames(&self) {
        let target = self.resize.target.load(Acquire);
        if let Err(e) = self.arena.grow(frames_for(target)) {
            self.resize.state.lock().error = Some(e.to_string());
            return self.resize.enter(ResizeStage::Failed);
        }
        // The slots before the pages that need them.
        self.resident.resize(frames_for(target));
        self.budget.store(target, Release);
        self.resize.enter(ResizeStage::Done);
        self.feed_starved();
    }

    /// Lowers the budget as soon as what it is now is kept. True: it did.
    fn withdraw(&self) -> bool {
        let (target, budget) = (self.resize.target.load(Acquire), self.budget());
        if self.frames_in_use() > budget as i64 {
            return false;
        }
        if budget > target {
            self.budget.store(target.max(budget - (budget / 16).max(16).min(budget)), Release);
            return true;
        }
        self.resident.resize(frames_for(target));
        self.arena.shrink(frames_for(target));
        let mut state = self.resize.state.lock();
        (state.stage, state.slot, state.moves) = (ResizeStage::Moving, 0, self.arena.above());
        true
    }

    /// Moves some of the pages that have a frame beyond the limit, and ends the resizing when there are none.
    fn move_some(&self) {
        if self.arena.above() == 0 {
            self.arena.give_back();
            // What is free below the limit is bounded by the new size, too.
            self.keep_frames(&[]);
            self.resize.enter(ResizeStage::Done);
            return;
        }
        let limit = self.arena.limit();
        let mut slot = self.resize.state.lock().slot;
        let (mut seen, mut moved) = (0, 0);
        while seen < SLOTS && moved < MOVES {
            if let Some(no) = self.resident.get(slot)
                && self.arena.taken(no) >= limit
            {
                self.move_page(no, limit);
                moved += 1;
            }
            slot = (slot + 1) % self.resident.len();
            seen += 1;
        }
        // A page that was in transit is met again in the next round.
        self.resize.state.lock().slot = slot;
    }

    fn move_page(&self, no: PageNo, limit: u32) {
        match ExclusiveGuard::new(self, no) {
            Ok(mut guard) => {
                if self.arena.taken(no) >= limit {
                    let frame = guard.move_frame();
                    drop(guard);
                    self.keep_frames(&[frame]);
                    self.resize.moved.fetch_add(1, Relaxed);
                }
            }
            Err(_) => {
                let word = self.arena.state(no);
                if word.in_transit() {
                    self.gates.wait(no.0, Wait::PageRead, || word.in_transit());
                }
            }
        }
    }
}

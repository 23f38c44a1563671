//! The state word of a page: optimistic readers, latches, loading and eviction, and what the checkpoint's sweep relies
//! on.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering::*};
use loom::thread;

use crate::memory::CELL;
use crate::ring::Ring;
use crate::state::{EVICTED, Miss, StateWord, TRANSIT, UNLOCKED, latch, version};
use crate::sync::{Backoff, check, sound_and_weakened};

const STATE: &str = "buffer/src/state.rs";

/// A page: its word, and content as words that are read while they may be written. `Relaxed` is what a volatile load
/// is.
#[derive(Default)]
struct Page {
    word: StateWord,
    content: [AtomicU64; 2],
}

impl Page {
    fn resident() -> Arc<Page> {
        let page = Page::default();
        let v = page.word.take_evicted(page.word.load(), TRANSIT).unwrap();
        page.word.end_transit(v, UNLOCKED);
        Arc::new(page)
    }

    fn write(&self, value: u64) {
        self.content.iter().for_each(|w| w.store(value, Relaxed));
    }

    /// The content, if the validation believes it.
    fn read(&self) -> Option<u64> {
        let seen = self.word.optimistic(true).ok()?;
        let [a, b] = [0, 1].map(|i: usize| self.content[i].load(Relaxed));
        self.word.validate(seen).then(|| {
            assert_eq!(a, b, "a torn read was believed");
            a
        })
    }
}

/// A writer changes the page twice, a reader reads.
fn readers() {
    let page = Page::resident();
    let writer = {
        let page = page.clone();
        thread::spawn(move || {
            for value in 1..=2 {
                let v = page.word.lock_exclusive().unwrap();
                page.write(value);
                page.word.unlock_exclusive(v, true);
            }
        })
    };
    let first = page.read();
    let second = page.read();
    assert!(first.is_none() || second.is_none() || first <= second, "{first:?} before {second:?}");
    writer.join().unwrap();
    assert_eq!(page.read(), Some(2));
}

/// The clock evicts the page, somebody loads it again, with other content; a reader reads.
fn comings_and_goings() {
    let page = Page::resident();
    page.write(7);
    let keeper = {
        let page = page.clone();
        thread::spawn(move || {
            page.word.pass();
            let s = page.word.load();
            if page.word.pass() && page.word.take_free(s) {
                page.write(0);
                page.word.end_transit(version(s), EVICTED);
                let s = page.word.load();
                assert_eq!(latch(s), EVICTED);
                if let Some(v) = page.word.take_evicted(s, TRANSIT) {
                    page.write(9);
                    page.word.end_transit(v, UNLOCKED);
                }
            }
        })
    };
    // loom keeps the last access to an atomic only: the keeper's own load before each of its stores hides from it that
    // the reader's first load might come later. Who yields is asked later too.
    thread::yield_now();
    if let Some(value) = page.read() {
        assert!(value == 7 || value == 9, "content of a page that is not there was believed: {value}");
    }
    keeper.join().unwrap();
}

/// The clock evicts the page, another page gets its frame, and the page comes back in another one; a reader reads, from
/// the frame that it finds after the version.
fn frames_that_move() {
    let page = Page::resident();
    page.write(7);
    let elsewhere = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
    let moved = Arc::new(AtomicU64::new(0));
    let keeper = {
        let (page, elsewhere, moved) = (page.clone(), elsewhere.clone(), moved.clone());
        thread::spawn(move || {
            page.word.pass();
            let s = page.word.load();
            if page.word.pass() && page.word.take_free(s) {
                page.word.end_transit(version(s), EVICTED);
                // The other page, in the frame that is free now.
                page.write(9);
                let s = page.word.load();
                if let Some(v) = page.word.take_evicted(s, TRANSIT) {
                    moved.store(1, Relaxed);
                    elsewhere.iter().for_each(|w| w.store(8, Relaxed));
                    page.word.end_transit(v, UNLOCKED);
                }
            }
        })
    };
    thread::yield_now();
    if let Ok(seen) = page.word.optimistic(true) {
        let frame = if moved.load(Relaxed) == 0 { &page.content } else { &*elsewhere };
        let [a, b] = [0, 1].map(|i: usize| frame[i].load(Relaxed));
        if page.word.validate(seen) {
            assert!(a == b && (a == 7 || a == 8), "content of another page was believed: {a} {b}");
        }
    }
    keeper.join().unwrap();
}

/// Readers that become writers: no change is lost.
fn upgrades() {
    let page = Page::resident();
    let work = |page: &Page| {
        let seen = page.word.optimistic(false).ok()?;
        let value = page.content[0].load(Relaxed);
        page.word.upgrade(seen, 0).then(|| {
            page.content[0].store(value + 1, Relaxed);
            page.word.unlock_exclusive(seen, true);
        })
    };
    let other = {
        let page = page.clone();
        thread::spawn(move || work(&page).is_some())
    };
    let mine = work(&page).is_some();
    let both = u64::from(mine) + u64::from(other.join().unwrap());
    assert!(both >= 1);
    assert_eq!(page.content[0].load(Relaxed), both, "a change was lost");
}

/// Shared and exclusive latches keep each other away from the content.
fn latches() {
    let page = Arc::new((StateWord::default(), UnsafeCell::new(())));
    let v = page.0.take_evicted(page.0.load(), TRANSIT).unwrap();
    page.0.end_transit(v, UNLOCKED);
    let other = {
        let page = page.clone();
        thread::spawn(move || {
            page.0.lock_shared().unwrap();
            page.1.with(|_| ());
            page.0.unlock_shared();
            let v = page.0.lock_exclusive().unwrap();
            page.1.with_mut(|_| ());
            page.0.unlock_exclusive(v, true);
        })
    };
    page.0.lock_shared().unwrap();
    page.1.with(|_| ());
    page.0.unlock_shared();
    match page.0.try_exclusive() {
        Ok(v) => {
            page.1.with_mut(|_| ());
            page.0.unlock_exclusive(v, true);
        }
        Err(miss) => assert_eq!(miss, Miss::Taken),
    }
    other.join().unwrap();
    assert_eq!(latch(page.0.load()), UNLOCKED);
}

/// The checkpoint's sweep: a change whose LSN is below the log's end as the sweep saw it is seen as dirty, though its
/// page is marked only after the reservation.
fn sweep() {
    let (ring, page) = (Arc::new(Ring::new(4096, 4096)), Page::resident());
    let dirty = Arc::new(AtomicU64::new(0));
    let writer = {
        let (ring, page, dirty) = (ring.clone(), page.clone(), dirty.clone());
        thread::spawn(move || {
            let v = page.word.lock_exclusive().unwrap();
            let start = ring.reserve(CELL);
            dirty.store(start + CELL, Release);
            page.word.unlock_exclusive(v, true);
        })
    };
    let from = ring.reserved();
    let mut backoff = Backoff::new();
    while page.word.is_exclusive() {
        backoff.wait();
    }
    let rec = dirty.load(Acquire);
    assert!(from < 4096 + CELL || rec == 4096 + CELL, "the sweep up to {from} passed over a change");
    writer.join().unwrap();
}

#[test]
fn optimistic_reads_are_whole() {
    sound_and_weakened(
        "page_state::optimistic_reads_are_whole",
        2,
        readers,
        &[
            (STATE, "fence(Acquire);", 0),
            (STATE, "fence(Release);", 0),
            (STATE, "self.0.load(Acquire)", 0),
            (STATE, "changed as u64, UNLOCKED), Release)", 0),
        ],
    );
}

#[test]
fn upgrades_lose_no_change() {
    println!("page, upgrades: {} executions", check(4, upgrades));
}

#[test]
fn pages_that_come_and_go_are_not_believed() {
    sound_and_weakened(
        "page_state::pages_that_come_and_go_are_not_believed",
        3,
        comings_and_goings,
        &[
            (STATE, "fence(Acquire);", 0),
            (STATE, "fence(Release);", 0),
            (STATE, "state(version + 1, as_latch), Release)", 0),
        ],
    );
}

#[test]
fn pages_that_move_are_not_taken_for_others() {
    sound_and_weakened(
        "page_state::pages_that_move_are_not_taken_for_others",
        3,
        frames_that_move,
        &[(STATE, "fence(Acquire);", 0), (STATE, "fence(Release);", 0)],
    );
}

#[test]
fn latches_exclude() {
    sound_and_weakened(
        "page_state::latches_exclude",
        2,
        latches,
        &[
            (STATE, "state(version(s), latch), Acquire, Relaxed)", 0),
            (STATE, "state(version(s), next), Acquire, Relaxed)", 0),
            (STATE, "self.0.fetch_sub(1, Release)", 0),
            (STATE, "changed as u64, UNLOCKED), Release)", 0),
        ],
    );
}

#[test]
fn the_sweep_passes_over_no_change() {
    sound_and_weakened(
        "page_state::the_sweep_passes_over_no_change",
        4,
        sweep,
        &[
            // (The reservation's own ordering is not needed: the fence of the latch stands before it.)
            ("log/src/ring.rs", "self.reserved.load(Acquire)", 0),
        ],
    );
}

//! The sequence lock: a reader sees all that one writer wrote together, or is told that it does not.

use crate::Sequence;
use crate::sync::atomic::{AtomicU64, Ordering::Relaxed};
use crate::sync::{Arc, sound_and_weakened};
use loom::thread;

const SEQUENCE: &str = "base/src/sequence.rs";

#[derive(Default)]
struct Pair {
    sequence: Sequence,
    first: AtomicU64,
    second: AtomicU64,
}

fn pair_is_read_whole() {
    let pair = Arc::new(Pair::default());
    let writer = {
        let pair = pair.clone();
        thread::spawn(move || {
            for n in 1..3 {
                pair.sequence.write(|| {
                    pair.first.store(n, Relaxed);
                    pair.second.store(n, Relaxed);
                });
            }
        })
    };
    let seen = pair.sequence.read(|| (pair.first.load(Relaxed), pair.second.load(Relaxed)));
    assert!(seen.is_none_or(|(first, second)| first == second), "{seen:?}");
    writer.join().unwrap();
    assert_eq!(pair.sequence.read(|| pair.second.load(Relaxed)), Some(2));
}

#[test]
fn a_pair_is_read_whole() {
    sound_and_weakened(
        "sequences::a_pair_is_read_whole",
        3,
        pair_is_read_whole,
        &[
            (SEQUENCE, "fence(Release);", 1),
            (SEQUENCE, "wrapping_add(2), Release);", 1),
            (SEQUENCE, "load(Acquire);", 1),
            (SEQUENCE, "fence(Acquire);", 1),
        ],
    );
}

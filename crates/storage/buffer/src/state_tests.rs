//! What waits for latches count.

use crate::state::{StateWord, TRANSIT, UNLOCKED};
use gannet_telemetry::{Counter, totals};
use std::sync::Arc;
use std::time::Duration;

fn counted() -> [u64; 6] {
    let (all, of) = (totals(), |c: Counter| c as usize);
    [
        of(Counter::LatchSharedWaits),
        of(Counter::LatchSharedTurns),
        of(Counter::LatchSharedYields),
        of(Counter::LatchExclusiveWaits),
        of(Counter::LatchExclusiveTurns),
        of(Counter::LatchExclusiveYields),
    ]
    .map(|at| all[at].1)
}

#[test]
fn who_waits_for_a_latch_is_counted_once_with_its_turns() {
    let word = Arc::new(StateWord::default());
    let version = word.take_evicted(word.load(), TRANSIT).unwrap();
    word.end_transit(version, UNLOCKED);
    let waits = |wait: fn(&StateWord)| {
        let (before, version) = (counted(), word.lock_exclusive().unwrap());
        let other = {
            let word = word.clone();
            std::thread::spawn(move || wait(&word))
        };
        std::thread::sleep(Duration::from_millis(50));
        word.unlock_exclusive(version, false);
        other.join().unwrap();
        let after = counted();
        std::array::from_fn(|i| after[i] - before[i])
    };
    // Others run beside, and may wait as well. The other thread has to come while the latch is held, and then waits: on
    // a busy machine not the first time.
    let waits = |which: usize, wait: fn(&StateWord)| -> [u64; 6] {
        let seen = (0..100).map(|_| waits(wait)).find(|seen: &[u64; 6]| seen[which] > 0);
        seen.expect("the other thread waits")
    };
    let [shared, turns, yields, ..] = waits(0, |word| {
        word.lock_shared().unwrap();
        word.unlock_shared();
    });
    assert!(shared >= 1 && turns > shared, "{shared} {turns}");
    // The latch was held for longer than a wait spins.
    assert!((1..=shared).contains(&yields), "{shared} {yields}");
    let [.., exclusive, turns, yields] = waits(3, |word| {
        let version = word.lock_exclusive().unwrap();
        word.unlock_exclusive(version, false);
    });
    assert!(exclusive >= 1 && turns > exclusive, "{exclusive} {turns}");
    assert!((1..=exclusive).contains(&yields), "{exclusive} {yields}");
}

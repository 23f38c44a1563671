//! When items were read last, and whether they have been since they were set: what `h` and `l` of `mg` ask for.
//! Nothing is noted until a client asks; then it is for an hour, in memory that is bounded.

use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};

const SHARDS: usize = 16;
/// Items of a shard. With more, it begins anew.
const MOST: usize = 4096;
/// Seconds for which a question counts, and after which another one is noted.
const ASKED_S: i64 = 3600;
const AGAIN_S: i64 = 60;

/// What is known of an item.
#[derive(Clone, Copy, Default)]
pub(crate) struct Known {
    /// It was read since it was set.
    pub(crate) hit: bool,
    /// When it was read, or set, seconds since 1970.
    pub(crate) at_s: i64,
}

#[derive(Default)]
pub(crate) struct Reads {
    /// Read by every get, written once a minute while clients ask.
    until_s: AtomicI64,
    shards: [Mutex<HashMap<u64, Known>>; SHARDS],
}

fn hash(table: u64, key: &[u8]) -> u64 {
    let mut hasher = foldhash::fast::FixedState::with_seed(0x7265_6164).build_hasher();
    hasher.write_u64(table);
    hasher.write(key);
    hasher.finish()
}

impl Reads {
    /// Whether what is read and set has to be noted.
    #[inline]
    pub(crate) fn are_wanted(&self, now_s: i64) -> bool {
        now_s < self.until_s.load(Relaxed)
    }

    /// A client asks for an item.
    pub(crate) fn ask(&self, table: u64, key: &[u8], now_s: i64) -> Option<Known> {
        if self.until_s.load(Relaxed) < now_s + ASKED_S - AGAIN_S {
            self.until_s.store(now_s + ASKED_S, Relaxed);
        }
        let at = hash(table, key);
        self.shards[at as usize % SHARDS].lock().get(&at).copied()
    }

    /// An item was read, or set anew (not `hit`).
    pub(crate) fn note(&self, table: u64, key: &[u8], known: Known) {
        let at = hash(table, key);
        let mut shard = self.shards[at as usize % SHARDS].lock();
        if shard.len() >= MOST && !shard.contains_key(&at) {
            shard.clear();
        }
        shard.insert(at, known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_are_noted_while_they_are_asked_for_and_bounded() {
        let reads = Reads::default();
        assert!(!reads.are_wanted(1000));
        assert!(reads.ask(1, b"k", 1000).is_none());
        assert!(reads.are_wanted(1000 + ASKED_S - 1) && !reads.are_wanted(1000 + ASKED_S));
        reads.note(1, b"k", Known { hit: true, at_s: 1001 });
        assert!(reads.ask(1, b"k", 1002).is_some_and(|known| known.hit && known.at_s == 1001));
        assert!(reads.ask(2, b"k", 1002).is_none());
        (0..200_000u32).for_each(|n| reads.note(1, &n.to_le_bytes(), Known::default()));
        assert!(reads.shards.iter().all(|shard| shard.lock().len() <= MOST));
    }
}

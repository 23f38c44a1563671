//! Which rows of a table change while something is made of all of them.

use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use gannet_base::{CachePadded, TrxId};
use std::collections::HashSet;

/// Writers on different processors seldom meet at a shard.
const SHARDS: usize = 16;

/// Bytes of keys that a log keeps, if its maker does not say otherwise.
const MOST_BYTES: usize = 64 << 20;

/// A key's share of the bound, besides its bytes.
const OVERHEAD: usize = 32;

/// The keys of the rows that transactions change, for one that builds an index beside them.
///
/// A writer notes each changed row before its transaction commits. What is noted says nothing of the change: the
/// builder compares the row at two snapshots. So nothing has to be taken back when a change is rolled back, and a key
/// may be noted often.
#[derive(Debug)]
pub struct RowLog {
    shards: [CachePadded<Mutex<Shard>>; SHARDS],
    bytes: AtomicUsize,
    most: usize,
}

#[derive(Default, Debug)]
struct Shard {
    keys: Vec<(TrxId, Box<[u8]>)>,
    /// Transactions some of whose keys were not kept.
    beyond: HashSet<TrxId>,
}

/// What a log gives.
#[derive(PartialEq, Eq, Debug)]
pub enum Touched {
    /// These rows, in the order of their keys.
    Rows(Vec<Box<[u8]>>),
    /// More than could be kept: any row.
    Any,
}

impl Default for RowLog {
    fn default() -> Self {
        RowLog::bounded(MOST_BYTES)
    }
}

impl RowLog {
    /// A log that keeps so many bytes of keys.
    pub fn bounded(most: usize) -> RowLog {
        RowLog { shards: Default::default(), bytes: AtomicUsize::new(0), most }
    }

    /// Transaction `trx`, which has not ended, has changed the row.
    #[cold]
    pub fn note(&self, trx: TrxId, key: &[u8]) {
        let bytes = key.len() + OVERHEAD;
        let kept = self.bytes.fetch_add(bytes, Relaxed) + bytes <= self.most;
        let mut shard = self.shards[gannet_base::slot::current() % SHARDS].lock();
        if kept {
            shard.keys.push((trx, key.into()));
        } else {
            shard.beyond.insert(trx);
            drop(shard);
            self.bytes.fetch_sub(bytes, Relaxed);
        }
    }

    /// Takes what transactions have noted that have ended; what the others have noted stays.
    pub fn take(&self, ended: impl Fn(TrxId) -> bool) -> Touched {
        let (mut keys, mut any) = (Vec::new(), false);
        for shard in &self.shards {
            let noted = std::mem::take(&mut *shard.lock());
            let (done, open): (Vec<_>, Vec<_>) = noted.keys.into_iter().partition(|(trx, _)| ended(*trx));
            let (over, beyond): (HashSet<_>, HashSet<_>) = noted.beyond.into_iter().partition(|trx| ended(*trx));
            any |= !over.is_empty();
            self.bytes.fetch_sub(done.iter().map(|(_, key)| key.len() + OVERHEAD).sum(), Relaxed);
            keys.extend(done.into_iter().map(|(_, key)| key));
            let mut shard = shard.lock();
            shard.keys.extend(open);
            shard.beyond.extend(beyond);
        }
        if any {
            return Touched::Any;
        }
        keys.sort_unstable();
        keys.dedup();
        Touched::Rows(keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(keys: &[&[u8]]) -> Touched {
        Touched::Rows(keys.iter().map(|k| (*k).into()).collect())
    }

    #[test]
    fn what_open_transactions_have_noted_stays() {
        let log = RowLog::default();
        for (trx, key) in [(1, b"b"), (2, b"c"), (1, b"a"), (1, b"b")] {
            log.note(TrxId(trx), key);
        }
        assert_eq!(log.take(|trx| trx == TrxId(1)), rows(&[b"a", b"b"]));
        assert_eq!(log.take(|trx| trx == TrxId(1)), rows(&[]));
        log.note(TrxId(3), b"d");
        assert_eq!(log.take(|_| true), rows(&[b"c", b"d"]));
        assert_eq!(log.bytes.load(Relaxed), 0);
    }

    #[test]
    fn beyond_the_bound_it_is_any_row() {
        let log = RowLog::bounded(3 * (OVERHEAD + 1));
        for trx in 1..=5 {
            log.note(TrxId(trx), b"k");
        }
        // Those that did not fit go on.
        assert_eq!(log.take(|trx| trx <= TrxId(3)), rows(&[b"k"]));
        log.note(TrxId(6), b"l");
        assert_eq!(log.take(|trx| trx != TrxId(5)), Touched::Any);
        assert_eq!(log.take(|_| true), Touched::Any);
        assert_eq!(log.take(|_| true), rows(&[]));
        assert_eq!(log.bytes.load(Relaxed), 0);
    }
}

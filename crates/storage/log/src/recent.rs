//! The last bytes that the writer has written, in memory for those who follow the log: they need not be read back, and
//! are what was appended, without a look at checksums.

use std::collections::VecDeque;

use gannet_base::sync::atomic::{
    AtomicUsize,
    Ordering::{Acquire, Relaxed},
};
use gannet_base::sync::{Arc, Mutex};

/// So many bytes are kept at most, if one write is not longer.
const KEPT: usize = 8 << 20;
/// Who reads when so many have gathered has time to get to them.
pub(crate) const MANY: u64 = KEPT as u64 / 4;
/// Memory is used again for a write of at least this part of it.
const LOOSE: usize = 4;

/// The newest stretch of this incarnation's log, without a gap; empty while nobody follows.
#[derive(Default)]
pub(crate) struct Recent {
    followers: AtomicUsize,
    writes: Mutex<Writes>,
}

#[derive(Default)]
struct Writes {
    /// Where each begins, and its bytes.
    list: VecDeque<(u64, Arc<Vec<u8>>)>,
    bytes: usize,
    /// The last that went, if nobody reads it: its memory is used again.
    spare: Option<Arc<Vec<u8>>>,
}

impl Recent {
    /// One more follows, until [`Recent::leave`].
    pub(crate) fn enter(&self) {
        self.followers.fetch_add(1, Relaxed);
    }

    pub(crate) fn leave(&self) {
        if self.followers.fetch_sub(1, Relaxed) == 1 {
            *self.writes.lock() = Writes::default();
        }
    }

    /// The writer has written these bytes of its ring.
    pub(crate) fn add(&self, at: u64, bytes: &[u8]) {
        if self.followers.load(Acquire) == 0 || bytes.is_empty() {
            return;
        }
        let mut new = self.writes.lock().spare.take().unwrap_or_default();
        match Arc::get_mut(&mut new) {
            Some(memory) if memory.capacity() <= LOOSE * bytes.len() => {
                memory.clear();
                memory.extend_from_slice(bytes);
            }
            _ => new = Arc::new(bytes.to_vec()),
        }
        // Memory is freed when the lock is.
        let mut old = Vec::new();
        let mut writes = self.writes.lock();
        if writes.list.back().is_some_and(|(start, last)| start + last.len() as u64 != at) {
            old.extend(std::mem::take(&mut *writes).list);
        }
        writes.list.push_back((at, new));
        writes.bytes += bytes.len();
        while writes.bytes > KEPT && writes.list.len() > 1 {
            let Some((_, first)) = writes.list.pop_front() else { break };
            writes.bytes -= first.len();
            old.extend(writes.spare.replace(first).map(|spare| (at, spare)));
        }
        drop(writes);
        drop(old);
    }

    /// The write that has `[from, from + n)`, and where it begins. `None`: none has all of it.
    pub(crate) fn holding(&self, from: u64, n: u64) -> Option<(u64, Arc<Vec<u8>>)> {
        let writes = self.writes.lock();
        let at = writes.list.partition_point(|(start, _)| *start <= from).checked_sub(1)?;
        let (start, bytes) = writes.list.get(at)?;
        (from + n <= start + bytes.len() as u64).then(|| (*start, bytes.clone()))
    }

    /// Copies the bytes from `from` on to the front of `out`: how many. 0: they are not here.
    pub(crate) fn copy(&self, from: u64, out: &mut [u8]) -> usize {
        let parts: Vec<(u64, Arc<Vec<u8>>)> = {
            let writes = self.writes.lock();
            let first = writes.list.partition_point(|(start, bytes)| start + bytes.len() as u64 <= from);
            let end = from + out.len() as u64;
            writes.list.range(first..).take_while(|(start, _)| *start < end).cloned().collect()
        };
        if parts.first().is_none_or(|(start, _)| *start > from) {
            return 0;
        }
        let mut done = 0;
        for (start, bytes) in parts {
            let skipped = (from + done as u64 - start) as usize;
            let n = (bytes.len() - skipped).min(out.len() - done);
            out[done..done + n].copy_from_slice(&bytes[skipped..skipped + n]);
            done += n;
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use super::{KEPT, Recent};

    fn bytes(at: u64, n: usize) -> Vec<u8> {
        (at..at + n as u64).map(|i| (i * 7 % 251) as u8).collect()
    }

    fn get(recent: &Recent, from: u64, n: usize) -> usize {
        let mut out = vec![0; n];
        let got = recent.copy(from, &mut out);
        assert!(out[..got] == bytes(from, got)[..], "other bytes from {from} on");
        got
    }

    #[test]
    fn the_newest_stretch_is_kept_while_somebody_follows() {
        let recent = Recent::default();
        recent.add(4096, &bytes(4096, 4096));
        assert_eq!(get(&recent, 4096, 4096), 0, "nobody followed");
        recent.enter();
        recent.add(8192, &bytes(8192, 4096));
        recent.add(12288, &bytes(12288, 8192));
        for (from, n, got) in
            [(4096, 8192, 0), (8192, 99, 99), (8192, 12288, 12288), (9000, 12288, 11480), (20479, 5, 1), (20480, 5, 0)]
        {
            assert_eq!(get(&recent, from, n), got, "{n} bytes from {from} on");
        }
        for (from, n, start) in [
            (8191, 1, None),
            (8192, 4096, Some(8192)),
            (12287, 1, Some(8192)),
            (12280, 16, None),
            (12288, 8192, Some(12288)),
            (20479, 1, Some(12288)),
            (20479, 2, None),
            (20480, 1, None),
        ] {
            let found = recent.holding(from, n);
            assert_eq!(found.as_ref().map(|(start, _)| *start), start, "{n} bytes from {from} on");
            assert!(found.is_none_or(|(start, held)| *held == bytes(start, held.len())));
        }
        // A gap ends it.
        recent.add(40960, &bytes(40960, 4096));
        assert_eq!((get(&recent, 12288, 4096), get(&recent, 40960, 8192)), (0, 4096));
        // So does the bound, but for the last write.
        recent.add(45056, &bytes(45056, KEPT + 1));
        assert_eq!((get(&recent, 40960, 4096), get(&recent, 45056, 2 * KEPT)), (0, KEPT + 1));
        recent.leave();
        assert_eq!(get(&recent, 45056, 1), 0);
    }
}

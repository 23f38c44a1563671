//! A log in memory and a redo source over it, for tests of this crate and of those above.

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};

use gannet_base::sync::atomic::{AtomicU64, Ordering::*};
use gannet_base::sync::{Backoff, Mutex, sched_point};
use gannet_base::{Lsn, PageNo, Reader};
use gannet_log::LogError;
use gannet_page::{Corrupt, PageBuf, PageOp, redo};

use crate::{RedoSource, Wal};

thread_local! {
    static UNSYNCED: Cell<bool> = const { Cell::new(false) };
}

/// A fault for the simulation to find, in debug builds: extents that are written past the pool are not synced.
pub fn leave_built_unsynced(planted: bool) {
    UNSYNCED.set(planted);
}

/// Whether that fault is planted.
pub(crate) fn built_unsynced() -> bool {
    cfg!(debug_assertions) && UNSYNCED.get()
}

/// Keeps every record. A record is durable when a caller has waited for it.
pub struct MemoryLog {
    records: Mutex<Vec<(Lsn, Vec<u8>)>>,
    /// LSNs given out whose records are not complete.
    open: Mutex<BTreeSet<Lsn>>,
    tail: AtomicU64,
    durable: AtomicU64,
}

impl Default for MemoryLog {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryLog {
    /// An empty log that begins at LSN 4096.
    pub fn new() -> Self {
        Self::starting_at(Lsn(4096))
    }

    /// An empty log that begins there.
    pub fn starting_at(lsn: Lsn) -> Self {
        MemoryLog {
            records: Mutex::new(Vec::new()),
            open: Mutex::new(BTreeSet::new()),
            tail: AtomicU64::new(lsn.0),
            durable: AtomicU64::new(lsn.0),
        }
    }

    /// All records: end LSN and payload.
    pub fn records(&self) -> Vec<(Lsn, Vec<u8>)> {
        self.records.lock().clone()
    }
}

impl Wal for MemoryLog {
    fn admit(&self) -> Result<(), LogError> {
        Ok(())
    }

    fn append(&self, payload: &[u8], at: &mut dyn FnMut(Lsn)) -> Lsn {
        let size = payload.len() as u64 + 8;
        let lsn = {
            let mut open = self.open.lock();
            let lsn = Lsn(self.tail.fetch_add(size, AcqRel) + size);
            open.insert(lsn);
            lsn
        };
        sched_point();
        at(lsn);
        sched_point();
        self.records.lock().push((lsn, payload.to_vec()));
        self.open.lock().remove(&lsn);
        lsn
    }

    fn append_behind(&self, consumers: &[&[u8]], payload: &[u8], at: &mut dyn FnMut(Lsn)) -> Lsn {
        // The consumers' records take their place in the log; nothing reads them back here.
        self.tail.fetch_add(consumers.iter().map(|p| p.len() as u64).sum::<u64>() + 8, AcqRel);
        self.append(payload, at)
    }

    fn tail_lsn(&self) -> Lsn {
        Lsn(self.tail.load(Acquire))
    }

    fn durable_lsn(&self) -> Lsn {
        Lsn(self.durable.load(Acquire))
    }

    fn wait_durable(&self, lsn: Lsn) -> Result<u64, LogError> {
        assert!(lsn <= self.tail_lsn(), "a page carries an LSN that the log never gave out");
        let mut backoff = Backoff::new();
        while self.open.lock().first().is_some_and(|open| *open <= lsn) {
            backoff.wait();
        }
        self.durable.fetch_max(lsn.0, AcqRel);
        Ok(0)
    }
}

/// Calls `each` for every change in a record's payload.
pub fn changes(payload: &[u8], mut each: impl FnMut(PageNo, PageOp<'_>)) {
    crate::mtr::decode_payload(payload, |no, op, _| {
        each(no, op);
        Ok(())
    })
    .expect("a payload written by an Mtr");
}

/// The changes of some records, by page.
pub struct MemoryRedo(Mutex<HashMap<PageNo, Vec<(Lsn, Vec<u8>)>>>);

impl MemoryRedo {
    /// Buckets the records that end above `from`.
    pub fn new(records: &[(Lsn, Vec<u8>)], from: Lsn) -> Self {
        let mut records: Vec<_> = records.iter().filter(|(lsn, _)| *lsn > from).collect();
        records.sort_by_key(|(lsn, _)| *lsn);
        let mut pages: HashMap<PageNo, Vec<(Lsn, Vec<u8>)>> = HashMap::new();
        for (lsn, payload) in records {
            changes(payload, |no, op| {
                let mut bytes = Vec::new();
                op.encode(&mut bytes);
                pages.entry(no).or_default().push((*lsn, bytes));
            });
        }
        MemoryRedo(Mutex::new(pages))
    }

    /// Pages with changes not applied yet, ascending.
    pub fn pages(&self) -> Vec<PageNo> {
        let mut pages: Vec<_> = self.0.lock().keys().copied().collect();
        pages.sort();
        pages
    }
}

impl RedoSource for MemoryRedo {
    fn pending(&self, page: PageNo) -> bool {
        self.0.lock().contains_key(&page)
    }

    fn apply(&self, page: PageNo, bytes: &mut PageBuf) -> Result<Option<Lsn>, Corrupt> {
        let Some(changes) = self.0.lock().remove(&page) else {
            return Ok(None);
        };
        let ops = changes.iter().map(|(lsn, op)| (*lsn, PageOp::decode(&mut Reader::new(op)).expect("encoded above")));
        redo(page, bytes, ops)
    }
}

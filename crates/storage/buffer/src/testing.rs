//! A log in memory, for tests of the layers above and below.

use gannet_base::Lsn;
use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{AtomicU64, Ordering::*};
use gannet_log::LogError;

use crate::Wal;

/// Keeps every record; all of it counts as durable at once, or when told.
#[derive(Default)]
pub struct MemoryLog {
    records: Mutex<Vec<(Lsn, Vec<u8>)>>,
    tail: AtomicU64,
}

impl MemoryLog {
    /// An empty log that begins at LSN 4096.
    pub fn new() -> Self {
        MemoryLog { records: Mutex::new(Vec::new()), tail: AtomicU64::new(4096) }
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
        let mut records = self.records.lock();
        let lsn = Lsn(self.tail.fetch_add(payload.len() as u64 + 8, AcqRel) + payload.len() as u64 + 8);
        at(lsn);
        records.push((lsn, payload.to_vec()));
        lsn
    }

    fn tail_lsn(&self) -> Lsn {
        Lsn(self.tail.load(Acquire))
    }

    fn durable_lsn(&self) -> Lsn {
        self.tail_lsn()
    }

    fn wait_durable(&self, _lsn: Lsn) -> Result<(), LogError> {
        Ok(())
    }
}

/// Calls `each` for every change in a record's payload.
pub fn changes(payload: &[u8], mut each: impl FnMut(gannet_base::PageNo, gannet_page::PageOp<'_>)) {
    crate::mtr::decode_payload(payload, |no, op| {
        each(no, op);
        Ok(())
    })
    .expect("a payload written by an Mtr");
}

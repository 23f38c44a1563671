//! What the pool needs of the log.

use gannet_base::Lsn;
use gannet_log::{Log, LogError, RecordKind};

/// The write-ahead log as seen from here. [`Log`] is the real one.
pub trait Wal: Send + Sync + 'static {
    /// The brake; may park. Called before any latch is taken for a change.
    fn admit(&self) -> Result<(), LogError>;
    /// Appends a mini-transaction's payload. `at` runs with the record's end between reservation and publication.
    /// Neither fails nor parks.
    fn append(&self, payload: &[u8], at: &mut dyn FnMut(Lsn)) -> Lsn;
    /// [`Wal::append`] right behind a record for the log's consumers: where this one is intact, that one is.
    fn append_behind(&self, consumers: &[&[u8]], payload: &[u8], at: &mut dyn FnMut(Lsn)) -> Lsn;
    /// End of what was reserved: every record appended before the call is below. An acquire load of what
    /// [`Wal::append`] advances with release.
    fn tail_lsn(&self) -> Lsn;
    /// All bytes below are on disk.
    fn durable_lsn(&self) -> Lsn;
    /// Waits until everything below `lsn` is on disk. Returns how often it parked.
    fn wait_durable(&self, lsn: Lsn) -> Result<u64, LogError>;
}

impl Wal for Log {
    #[inline]
    fn admit(&self) -> Result<(), LogError> {
        Log::admit(self)
    }

    #[inline]
    fn append(&self, payload: &[u8], at: &mut dyn FnMut(Lsn)) -> Lsn {
        self.append_with(RecordKind::Mtr, &[payload], at)
    }

    fn append_behind(&self, consumers: &[&[u8]], payload: &[u8], at: &mut dyn FnMut(Lsn)) -> Lsn {
        self.append_two_with((RecordKind::Payload, consumers), (RecordKind::Mtr, &[payload]), at)
    }

    fn tail_lsn(&self) -> Lsn {
        Log::tail_lsn(self)
    }

    fn durable_lsn(&self) -> Lsn {
        Log::durable_lsn(self)
    }

    fn wait_durable(&self, lsn: Lsn) -> Result<u64, LogError> {
        gannet_log::wait_durable_in(self, lsn)
    }
}

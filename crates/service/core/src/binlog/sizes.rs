//! What compression has saved: figures of the transactions in the files, since the start or
//! [`Binlog::forget_sizes`].

use super::Binlog;
use gannet_base::sync::Mutex;
use gannet_binlog::derive::Derived;
use gannet_types::gtid::Uuid;

/// A transaction's size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sized {
    /// Its GTID.
    pub gtid: (Uuid, u64),
    /// When it was committed: microseconds since 1970.
    pub committed_us: u64,
    /// Bytes in the file, without its first event.
    pub bytes: u64,
    /// Bytes before they were compressed.
    pub plain_bytes: u64,
}

/// Of all transactions that are compressed, or are not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// How many.
    pub count: u64,
    /// Bytes in the files, without their first events.
    pub bytes: u64,
    /// Bytes before they were compressed.
    pub plain_bytes: u64,
    /// The first and the last.
    pub first: Sized,
    #[expect(missing_docs, reason = "see `first`")]
    pub last: Sized,
}

/// Of those that are not compressed, and those that are.
#[derive(Default)]
pub(super) struct AllSizes(Mutex<[Option<Sizes>; 2]>);

impl AllSizes {
    /// A transaction is in the files.
    pub(super) fn add(&self, it: &Derived) {
        let gtid = (it.gtid.uuid, it.gtid.number);
        let last = Sized { gtid, committed_us: it.gtid.committed_us, bytes: it.size, plain_bytes: it.plain };
        let mut all = self.0.lock();
        let of = &mut all[usize::from(it.compressed)];
        let former = of.unwrap_or(Sizes { count: 0, bytes: 0, plain_bytes: 0, first: last, last });
        *of = Some(Sizes {
            count: former.count + 1,
            bytes: former.bytes + last.bytes,
            plain_bytes: former.plain_bytes + last.plain_bytes,
            last,
            ..former
        });
    }
}

impl Binlog {
    /// Of the transactions that are not compressed, and of those that are, if there are any.
    pub fn sizes(&self) -> [Option<Sizes>; 2] {
        *self.sizes.0.lock()
    }

    /// The figures begin anew.
    pub fn forget_sizes(&self) {
        *self.sizes.0.lock() = [None; 2];
    }
}

//! Active session history: a row for each second and each session that was running a statement in it.

use crate::registry::Activity;
use gannet_base::sync::Mutex;
use gannet_runtime::Wait;
use gannet_telemetry::DigestKey;
use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::sync::Arc;

/// What active sessions are divided into: on a processor, or waiting for something of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Runs, or is ready to.
    Cpu,
    /// For rows, tables, names.
    Lock,
    /// For the log: a commit to be durable, or room.
    Commit,
    /// For pages and files.
    Io,
    /// For latches, frames, the checkpoint, purge.
    Engine,
    /// For the client, in the middle of a statement.
    Network,
    /// SLEEP() and the like.
    User,
    /// Everything else.
    Other,
}

impl Class {
    pub const ALL: [Class; 8] =
        [Class::Cpu, Class::Lock, Class::Commit, Class::Io, Class::Engine, Class::Network, Class::User, Class::Other];

    /// Of a session that waits for this, or for nothing.
    pub fn of(wait: Option<Wait>) -> Class {
        let Some(wait) = wait else { return Class::Cpu };
        match wait {
            Wait::RowLock
            | Wait::MetadataLock
            | Wait::UserLock
            | Wait::TableLock
            | Wait::AutoIncrement
            | Wait::Dictionary => Class::Lock,
            Wait::LogFlush | Wait::LogBuffer | Wait::LogSpace => Class::Commit,
            Wait::PageRead
            | Wait::PageWrite
            | Wait::FileRead
            | Wait::FileWrite
            | Wait::FileSync
            | Wait::FileMeta
            | Wait::Recovery => Class::Io,
            Wait::PageLatch | Wait::BufferFree | Wait::Purge | Wait::Checkpoint | Wait::Snapshot | Wait::Throttle => {
                Class::Engine
            }
            Wait::ClientRead | Wait::ClientWrite => Class::Network,
            Wait::UserSleep => Class::User,
            _ => Class::Other,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Class::Cpu => "cpu",
            Class::Lock => "lock",
            Class::Commit => "commit",
            Class::Io => "io",
            Class::Engine => "engine",
            Class::Network => "network",
            Class::User => "user",
            Class::Other => "other",
        }
    }
}

/// A digest as it is shown.
#[derive(Debug, PartialEq, Eq)]
pub struct Shown {
    pub key: DigestKey,
    /// 64 hexadecimal digits.
    pub digest: String,
    /// Normalised text.
    pub text: String,
}

/// Whose session it is.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Whom {
    pub user: String,
    pub host: String,
    pub schema: Option<Arc<str>>,
}

/// A session that was active. There are many: what is long is shared, by one word each.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Milliseconds since 1970.
    pub unix_ms: u64,
    /// Sessions that this row stands for: 1, unless there were too many.
    pub weight: u32,
    pub session: u64,
    pub whom: Arc<Whom>,
    /// `None`: not known while the statement ran, or withheld.
    pub digest: Option<Arc<Shown>>,
    pub command: Activity,
    /// What it waited for, if it waited.
    pub wait: Option<Wait>,
    /// How long the statement had run.
    pub statement_ns: u64,
    /// Schema, table and index that it waited for: `app.orders.PRIMARY`.
    pub object: Option<Arc<String>>,
    /// The session that it waited for.
    pub blocker: Option<NonZeroU64>,
    /// The last of those that wait for one another: who holds all of them up.
    pub root: Option<NonZeroU64>,
}

impl Sample {
    pub fn class(&self) -> Class {
        Class::of(self.wait)
    }
}

/// Rows that are kept: about an hour of 64 active sessions, 16 MiB.
pub const MOST: usize = 230_400;
/// How long a row is kept.
const KEPT_MS: u64 = 3_600_000;

/// The rows, the oldest first.
#[derive(Default)]
pub struct ActiveHistory(Mutex<VecDeque<Sample>>);

impl ActiveHistory {
    /// Adds those of one moment, and forgets what is too old or too much.
    pub fn add(&self, unix_ms: u64, rows: Vec<Sample>) {
        let mut all = self.0.lock();
        let beyond = (all.len() + rows.len()).saturating_sub(MOST);
        let old = all.iter().take_while(|s| s.unix_ms + KEPT_MS < unix_ms).count();
        let gone = beyond.max(old).min(all.len());
        all.drain(..gone);
        let skipped = rows.len().saturating_sub(MOST);
        let wanted = all.len() + rows.len() - skipped;
        if wanted > all.capacity() {
            // No more than there will ever be.
            let capacity = wanted.max((all.capacity() * 2).min(MOST));
            let more = capacity - all.len();
            all.reserve_exact(more);
        }
        all.extend(rows.into_iter().skip(skipped));
    }

    /// Calls `each` for the rows from `from` on and before `to`, in milliseconds since 1970.
    pub fn each(&self, from: u64, to: u64, each: impl FnMut(&Sample)) {
        let all = self.0.lock();
        let begin = all.partition_point(|s| s.unix_ms < from);
        all.range(begin..).take_while(|s| s.unix_ms < to).for_each(each);
    }

    /// Those rows.
    pub fn between(&self, from: u64, to: u64) -> Vec<Sample> {
        let mut rows = Vec::new();
        self.each(from, to, |s| rows.push(s.clone()));
        rows
    }

    pub fn clear(&self) {
        self.0.lock().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(unix_ms: u64) -> Sample {
        Sample {
            unix_ms,
            weight: 1,
            session: unix_ms,
            whom: Arc::new(Whom { user: "u".into(), host: "h".into(), schema: None }),
            digest: None,
            command: Activity::Query,
            wait: None,
            statement_ns: 0,
            object: None,
            blocker: None,
            root: None,
        }
    }

    #[test]
    fn an_hour_is_kept_and_no_more_rows_than_fit() {
        let history = ActiveHistory::default();
        for second in 0..3605u64 {
            history.add(second * 1000, vec![sample(second * 1000)]);
        }
        let all = history.between(0, u64::MAX);
        assert_eq!((all.len(), all[0].unix_ms), (3601, 4000));
        assert_eq!(history.between(10_000, 12_000).len(), 2);
        history.add(3_605_000, (0..MOST + 5).map(|_| sample(3_605_000)).collect());
        assert_eq!(history.between(0, u64::MAX).len(), MOST);
        let bytes = history.0.lock().capacity() * size_of::<Sample>();
        assert!(bytes <= 16 << 20, "{bytes}");
        history.clear();
        assert!(history.between(0, u64::MAX).is_empty());
    }

    #[test]
    fn each_wait_has_a_class() {
        assert_eq!(Class::of(None), Class::Cpu);
        assert_eq!(Class::of(Some(Wait::RowLock)), Class::Lock);
        assert_eq!(Class::of(Some(Wait::LogFlush)), Class::Commit);
        assert_eq!(Class::of(Some(Wait::Background)), Class::Other);
        let names: std::collections::BTreeSet<_> = Class::ALL.iter().map(|c| c.name()).collect();
        assert_eq!(names.len(), Class::ALL.len());
    }
}

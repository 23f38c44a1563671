//! How many connections each account, user and host has and had, for performance_schema.
//!
//! Counted when a connection begins, when its client has logged in, and when it ends; no statement comes here. What
//! is kept is bounded: connections of further users or hosts are counted as lost.

use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What connections are counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum By {
    /// User and host.
    Account,
    /// User.
    User,
    /// Host.
    Host,
}

const ALL: [By; 3] = [By::Account, By::User, By::Host];

/// Accounts, users and hosts that are kept at most, each.
const MOST: usize = 10_000;
/// Characters of a name that are kept, as MySQL's columns have them.
const USER_CHARS: usize = 32;
const HOST_CHARS: usize = 255;

/// User and host. Neither: the server's own threads, and clients that have not logged in.
type Key = (Option<String>, Option<String>);

#[derive(Default)]
struct Tally {
    current: AtomicU64,
    total: AtomicU64,
}

#[derive(Default)]
struct Ledger {
    tallies: BTreeMap<Key, Arc<Tally>>,
    lost: u64,
}

/// All of them.
#[derive(Default)]
pub struct Tallies([Mutex<Ledger>; ALL.len()]);

/// Connections of one account, user or host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// `None`: not counted by it, or nobody.
    pub user: Option<String>,
    /// The same.
    pub host: Option<String>,
    /// Connections now.
    pub current: u64,
    /// Connections since the start or TRUNCATE.
    pub total: u64,
}

/// A connection that is counted until this is dropped.
pub struct Counted {
    tallies: [Option<Arc<Tally>>; ALL.len()],
    /// Nobody has logged in.
    nobody: bool,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.tallies.iter().flatten().for_each(|t| {
            t.current.fetch_sub(1, Relaxed);
        });
    }
}

impl Counted {
    /// The connection is counted as another's from here on. That nobody was logged in at first is forgotten.
    pub fn becomes(&mut self, other: Counted) {
        if self.nobody && !other.nobody {
            self.tallies.iter().flatten().for_each(|t| {
                t.total.fetch_sub(1, Relaxed);
            });
        }
        *self = other;
    }
}

fn first(name: &str, chars: usize) -> String {
    name.chars().take(chars).collect()
}

impl Tallies {
    fn ledger(&self, by: By) -> &Mutex<Ledger> {
        &self.0[by as usize]
    }

    /// A connection begins: that of a user from a host, or of nobody.
    pub fn count(&self, who: Option<(&str, &str)>) -> Counted {
        let user = || who.map(|(user, _)| first(user, USER_CHARS));
        let host = || who.map(|(_, host)| first(host, HOST_CHARS));
        let key = |by| match by {
            By::Account => (user(), host()),
            By::User => (user(), None),
            By::Host => (None, host()),
        };
        Counted { tallies: ALL.map(|by| self.ledger(by).lock().count(key(by))), nobody: who.is_none() }
    }

    /// By account, user or host, in order.
    pub fn all(&self, by: By) -> Vec<Counts> {
        let counts = |((user, host), t): (&Key, &Arc<Tally>)| Counts {
            user: user.clone(),
            host: host.clone(),
            current: t.current.load(Relaxed),
            total: t.total.load(Relaxed),
        };
        self.ledger(by).lock().tallies.iter().map(counts).collect()
    }

    /// Connections since the start that were not counted for want of room.
    pub fn lost(&self, by: By) -> u64 {
        self.ledger(by).lock().lost
    }

    /// Counts from the connections of now again, and forgets who has none.
    pub fn truncate(&self, by: By) {
        let mut ledger = self.ledger(by).lock();
        ledger.tallies.retain(|_, t| {
            let current = t.current.load(Relaxed);
            t.total.store(current, Relaxed);
            current > 0
        });
    }
}

impl Ledger {
    fn count(&mut self, key: Key) -> Option<Arc<Tally>> {
        if self.tallies.len() >= MOST && !self.tallies.contains_key(&key) {
            self.lost += 1;
            return None;
        }
        let tally = self.tallies.entry(key).or_default();
        tally.current.fetch_add(1, Relaxed);
        tally.total.fetch_add(1, Relaxed);
        Some(tally.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(t: &Tallies, by: By) -> Vec<(String, u64, u64)> {
        let name = |c: &Counts| [&c.user, &c.host].map(|n| n.clone().unwrap_or_else(|| "-".into())).join("@");
        t.all(by).iter().map(|c| (name(c), c.current, c.total)).collect()
    }

    #[test]
    fn connections_are_remembered() {
        let t = Tallies::default();
        let mut first = t.count(None);
        first.becomes(t.count(Some(("a", "h1"))));
        let second = t.count(Some(("a", "h2")));
        drop(t.count(Some(("b", "h1"))));
        // One that failed to log in.
        drop(t.count(None));
        let row = |name: &str, current, total| (name.to_string(), current, total);
        let accounts = [row("-@-", 0, 1), row("a@h1", 1, 1), row("a@h2", 1, 1), row("b@h1", 0, 1)];
        assert_eq!(shown(&t, By::Account), accounts);
        assert_eq!(shown(&t, By::User), [row("-@-", 0, 1), row("a@-", 2, 2), row("b@-", 0, 1)]);
        assert_eq!(shown(&t, By::Host), [row("-@-", 0, 1), row("-@h1", 1, 2), row("-@h2", 1, 1)]);
        t.truncate(By::Host);
        assert_eq!(shown(&t, By::Host), [row("-@h1", 1, 1), row("-@h2", 1, 1)]);
        assert_eq!(shown(&t, By::Account), accounts);
        // COM_CHANGE_USER is another connection of the new user.
        first.becomes(t.count(Some(("b", "h1"))));
        assert_eq!(shown(&t, By::User), [row("-@-", 0, 1), row("a@-", 1, 2), row("b@-", 1, 2)]);
        drop((first, second));
        ALL.iter().for_each(|by| t.truncate(*by));
        assert!(ALL.iter().all(|by| t.all(*by).is_empty()));
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let t = Tallies::default();
        let held: Vec<Counted> = (0..MOST).map(|i| t.count(Some(("u", &i.to_string())))).collect();
        let one_more = t.count(Some(("u", "beyond")));
        assert_eq!([By::Account, By::User, By::Host].map(|by| t.lost(by)), [1, 0, 1]);
        assert_eq!(shown(&t, By::User), [("u@-".to_string(), MOST as u64 + 1, MOST as u64 + 1)]);
        drop(held);
        t.truncate(By::Host);
        // It was not counted when it began, so that its end is not counted either.
        let other = t.count(Some(("u", "beyond")));
        drop(one_more);
        assert_eq!((shown(&t, By::Host), t.lost(By::Host)), (vec![("-@beyond".to_string(), 1, 1)], 1));
        drop(other);
        let long = t.count(Some((&"ä".repeat(99), &"h".repeat(999))));
        let user = shown(&t, By::User).pop().map(|(name, ..)| name.chars().count());
        assert_eq!(user, Some(USER_CHARS + 2));
        drop(long);
    }
}

//! What is remembered about logins: failures, and the use of limited resources. In memory: a restart forgets it, as in MySQL.

use super::account::{Account, Name, Policy};
use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use gannet_runtime::unix_micros;
use gannet_types::{Result, SqlError, sql_err};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

const HOUR_US: u64 = 3_600_000_000;
const DAY_US: u64 = 86_400_000_000;
/// Accounts and hosts that are remembered: a bound on memory.
const MAX_TRACKED: usize = 100_000;
/// Wrong passwords in a row after which answers are delayed.
const PATIENCE: u32 = 3;
/// The delay grows by this with each failure, up to [`MAX_DELAY_NS`].
const DELAY_NS: u64 = 250_000_000;
const MAX_DELAY_NS: u64 = 3_000_000_000;

#[derive(Default)]
struct Failures {
    count: u32,
    /// When the account was blocked, microseconds since 1970.
    blocked_us: Option<u64>,
}

/// Failures and uses.
#[derive(Default)]
pub struct Limits {
    failures: Mutex<HashMap<Name, Failures>>,
    hosts: Mutex<HashMap<IpAddr, u64>>,
    usage: Mutex<HashMap<Name, Arc<Usage>>>,
}

/// How much an account uses of what is limited.
#[derive(Default)]
pub struct Usage {
    /// Start of the hour that counts.
    since_us: AtomicU64,
    /// Queries, updates and connections in it; connections now.
    counts: [AtomicU32; 4],
}

/// Names of the limits in error 1226.
const NAMES: [&str; 4] = ["max_questions", "max_updates", "max_connections_per_hour", "max_user_connections"];

impl Usage {
    fn turn_hour(&self) {
        let now = unix_micros();
        if now.saturating_sub(self.since_us.load(Relaxed)) >= HOUR_US {
            self.since_us.store(now, Relaxed);
            self.counts[..3].iter().for_each(|c| c.store(0, Relaxed));
        }
    }

    /// Uses one of a resource (0 queries, 1 updates, 2 connections an hour, 3 connections).
    pub fn take(&self, account: &Account, resource: usize) -> Result<()> {
        self.turn_hour();
        let limit = account.policy.limits[resource];
        let used = self.counts[resource].fetch_add(1, Relaxed) + 1;
        if limit != 0 && used > limit {
            self.counts[resource].fetch_sub(1, Relaxed);
            return Err(sql_err!(UserLimitReached, account.user, NAMES[resource], limit));
        }
        Ok(())
    }

    /// A connection is over.
    pub fn disconnect(&self) {
        self.counts[3].fetch_sub(1, Relaxed);
    }

    /// Connections now.
    pub fn connections(&self) -> u32 {
        self.counts[3].load(Relaxed)
    }
}

impl Limits {
    /// The use of an account.
    pub fn usage(&self, account: &Account) -> Arc<Usage> {
        let mut usage = self.usage.lock();
        if usage.len() > MAX_TRACKED {
            usage.retain(|_, u| u.connections() > 0);
        }
        usage.entry(account.id()).or_default().clone()
    }

    /// FLUSH USER_RESOURCES.
    pub fn forget_usage(&self) {
        for u in self.usage.lock().values() {
            u.since_us.store(0, Relaxed);
            u.turn_hour();
        }
    }

    /// Error 3955 while FAILED_LOGIN_ATTEMPTS keeps the account closed.
    pub fn check_blocked(&self, account: &Account, host: &str) -> Result<()> {
        let p = &account.policy;
        if p.attempts == 0 || p.lock_days == 0 {
            return Ok(());
        }
        let mut failures = self.failures.lock();
        let Some(f) = failures.get_mut(&account.id()) else { return Ok(()) };
        let Some(since) = f.blocked_us else { return Ok(()) };
        let elapsed = unix_micros().saturating_sub(since) / DAY_US;
        let (days, remaining) = match u64::try_from(p.lock_days) {
            Ok(days) if elapsed >= days => {
                *f = Failures::default();
                return Ok(());
            }
            Ok(days) => (days.to_string(), (days - elapsed).to_string()),
            Err(_) => ("unlimited".to_string(), "unlimited".to_string()),
        };
        Err(sql_err!(AccountBlockedByPasswordLock, account.user, host, days, remaining, p.attempts))
    }

    /// A wrong password, for an account or (`None`) a name that nobody has: it takes as long. Returns how long the answer
    /// is to be held back, in nanoseconds.
    pub fn failed(&self, name: Name, account: Option<&Account>) -> u64 {
        let mut failures = self.failures.lock();
        if failures.len() > MAX_TRACKED {
            failures.retain(|_, f| f.blocked_us.is_some());
        }
        let f = failures.entry(name).or_default();
        f.count = f.count.saturating_add(1);
        let blocks = |p: &Policy| p.attempts != 0 && p.lock_days != 0 && f.count >= p.attempts.into();
        if account.is_some_and(|a| blocks(&a.policy)) && f.blocked_us.is_none() {
            f.blocked_us = Some(unix_micros());
        }
        (u64::from(f.count.saturating_sub(PATIENCE)) * DELAY_NS).min(MAX_DELAY_NS)
    }

    /// A right password, or ALTER USER ... ACCOUNT UNLOCK.
    pub fn forgive(&self, name: &Name) {
        self.failures.lock().remove(name);
    }

    /// FLUSH PRIVILEGES.
    pub fn forgive_all(&self) {
        self.failures.lock().clear();
    }

    /// Error 1129 for a host with too many broken handshakes in a row.
    pub fn check_host(&self, ip: IpAddr, max_errors: u64) -> std::result::Result<(), SqlError> {
        let count = self.hosts.lock().get(&ip).copied().unwrap_or(0);
        if count >= max_errors { Err(sql_err!(HostIsBlocked, ip)) } else { Ok(()) }
    }

    /// A handshake from a host broke off, or (`good`) came to its end.
    pub fn handshake(&self, ip: IpAddr, good: bool) {
        let mut hosts = self.hosts.lock();
        if good {
            hosts.remove(&ip);
        } else if hosts.len() < MAX_TRACKED || hosts.contains_key(&ip) {
            *hosts.entry(ip).or_default() += 1;
        }
    }

    /// FLUSH HOSTS.
    pub fn forget_hosts(&self) {
        self.hosts.lock().clear();
    }
}

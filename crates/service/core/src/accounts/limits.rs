//! State about logins: failures, and the use of limited resources. It is in memory: a restart forgets it, as in
//! MySQL.

use super::account::{Account, Name, Policy};
use super::hosts::Hosts;
use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use gannet_runtime::now_ns;
use gannet_types::{Result, SqlError, sql_err};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

const HOUR_NS: u64 = 3_600_000_000_000;
const DAY_NS: u64 = 24 * HOUR_NS;
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
    /// When the account was blocked, by the monotonic clock.
    blocked_ns: Option<u64>,
}

/// Failures and uses.
#[derive(Default)]
pub struct Limits {
    failures: Mutex<HashMap<Name, Failures>>,
    /// Where connections came from.
    pub hosts: Hosts,
    usage: Mutex<HashMap<Name, Arc<Usage>>>,
}

/// How much an account has used of its limited resources.
pub struct Usage {
    /// Start of the hour that counts, by the monotonic clock.
    since_ns: AtomicU64,
    /// Queries, updates and connections in it; connections now.
    counts: [AtomicU32; 4],
}

/// Names of the limits in error 1226.
const NAMES: [&str; 4] = ["max_questions", "max_updates", "max_connections_per_hour", "max_user_connections"];

impl Default for Usage {
    fn default() -> Self {
        Self { since_ns: AtomicU64::new(now_ns()), counts: Default::default() }
    }
}

impl Usage {
    fn turn_hour(&self) {
        let now = now_ns();
        if now.saturating_sub(self.since_ns.load(Relaxed)) >= HOUR_NS {
            self.begin_hour(now);
        }
    }

    fn begin_hour(&self, now: u64) {
        self.since_ns.store(now, Relaxed);
        self.counts[..3].iter().for_each(|c| c.store(0, Relaxed));
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
            u.begin_hour(now_ns());
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
        let Some(since) = f.blocked_ns else { return Ok(()) };
        let elapsed = now_ns().saturating_sub(since) / DAY_NS;
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

    /// Notes a wrong password, for an account or (`None`) a name without an account, which takes as long. Returns how
    /// long the answer is to be held back, in nanoseconds.
    pub fn failed(&self, name: Name, account: Option<&Account>) -> u64 {
        let mut failures = self.failures.lock();
        if failures.len() > MAX_TRACKED {
            failures.retain(|_, f| f.blocked_ns.is_some());
        }
        let f = failures.entry(name).or_default();
        f.count = f.count.saturating_add(1);
        let blocks = |p: &Policy| p.attempts != 0 && p.lock_days != 0 && f.count >= p.attempts.into();
        if account.is_some_and(|a| blocks(&a.policy)) && f.blocked_ns.is_none() {
            f.blocked_ns = Some(now_ns());
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

    /// A connection comes from there. Error 1129 for a host with too many broken handshakes in a row.
    pub fn check_host(&self, ip: IpAddr, max_errors: u64) -> std::result::Result<(), SqlError> {
        if self.hosts.comes(ip) >= max_errors { Err(sql_err!(HostIsBlocked, ip)) } else { Ok(()) }
    }

    /// A handshake from a host broke off, or (`good`) came to its end.
    pub fn handshake(&self, ip: IpAddr, good: bool) {
        self.hosts.handshake(ip, good);
    }

    /// FLUSH HOSTS.
    pub fn forget_hosts(&self) {
        self.hosts.forget();
    }
}

#[cfg(test)]
mod tests {
    use super::super::Privileges;
    use super::*;
    use gannet_runtime::sim::{Sim, set_wall_clock};
    use gannet_runtime::{WallTime, sleep};
    use gannet_wire::auth::{Plugin, Secret};
    use std::time::Duration;

    fn account(change: impl FnOnce(&mut Policy)) -> Account {
        let mut account = Account::new("u", "localhost", Secret::Empty(Plugin::Sha2), Privileges::NONE);
        change(&mut account.policy);
        account
    }

    fn pass(ns: u64) {
        let _ = sleep(Duration::from_nanos(ns));
    }

    /// Runs `test` for jumps of the wall clock by a year forward, an hour and two years back, and none.
    fn jumping(test: impl Fn(&dyn Fn()) + Copy + 'static) {
        for hours in [0, 365 * 24, -1, -2 * 365 * 24] {
            let us = hours * (HOUR_NS / 1000) as i64;
            Sim::new(1).run(move || test(&|| set_wall_clock(WallTime::now().micros().wrapping_add_signed(us))));
        }
    }

    #[test]
    fn hours_are_counted_whatever_the_wall_clock_shows() {
        jumping(|jump| {
            let (limits, a) = (Limits::default(), account(|p| p.limits[0] = 10));
            let usage = limits.usage(&a);
            let left = || (0..20).take_while(|_| usage.take(&a, 0).is_ok()).count();
            assert_eq!(left(), 10);
            pass(HOUR_NS / 2);
            jump();
            assert_eq!(left(), 0);
            pass(HOUR_NS / 2 + 1);
            assert_eq!(left(), 10);
            limits.forget_usage();
            assert_eq!(left(), 10);
        });
    }

    #[test]
    fn accounts_stay_blocked_for_their_days_whatever_the_wall_clock_shows() {
        jumping(|jump| {
            let (limits, a) = (Limits::default(), account(|p| (p.attempts, p.lock_days) = (2, 1)));
            let blocked = || limits.check_blocked(&a, "localhost").is_err();
            limits.failed(a.id(), Some(&a));
            assert!(!blocked());
            limits.failed(a.id(), Some(&a));
            assert!(blocked());
            pass(DAY_NS / 2);
            jump();
            assert!(blocked());
            pass(DAY_NS / 2);
            assert!(!blocked());
        });
    }
}

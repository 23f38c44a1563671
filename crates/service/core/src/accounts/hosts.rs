//! Addresses that connections came from, and how they failed: performance_schema's host_cache, and what blocks a host.

use gannet_base::sync::Mutex;
use gannet_runtime::WallTime;
use gannet_types::{ErrorCode, SqlError};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Why a connection was not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Failure {
    /// Its host is blocked, for `max_connect_errors`.
    Blocked,
    /// It broke the handshake off, or what it said made no sense.
    Handshake,
    /// A wrong name or password, or an account that may not be used so.
    Authentication,
    /// It cannot prove its password in the way that the account asks for.
    NoPlugin,
    /// The handshake of TLS.
    Tls,
    /// The account has no more connections, or not in this hour.
    UserConnections,
    UserConnectionsPerHour,
    /// The database that it asked for.
    Database,
    /// `init_connect` has failed.
    InitConnect,
    /// The server itself has no room, or ends.
    Local,
    Unknown,
}

const KINDS: usize = Failure::Unknown as usize + 1;

impl Failure {
    /// What the client was told.
    pub fn of(error: &SqlError) -> Failure {
        use ErrorCode::*;
        match error.code() {
            HostIsBlocked => Failure::Blocked,
            Handshake | MalformedPacket => Failure::Handshake,
            AccessDenied | AccountHasBeenLocked | AccountBlockedByPasswordLock | MustChangePasswordLogin => {
                Failure::Authentication
            }
            NotSupportedAuthMode => Failure::NoPlugin,
            UserLimitReached if error.message().contains("max_connections_per_hour") => Failure::UserConnectionsPerHour,
            UserLimitReached | TooManyUserConnections => Failure::UserConnections,
            BadDb | DbaccessDenied => Failure::Database,
            ConCount | ServerShutdown | ServerOfflineMode | OutOfResources => Failure::Local,
            _ => Failure::Unknown,
        }
    }
}

/// An address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// Handshakes that broke off since the last good one.
    pub broken_off: u64,
    /// By [`Failure`].
    pub failures: [u64; KINDS],
    /// Microseconds since 1970; 0: never.
    pub first_us: u64,
    pub last_us: u64,
    pub first_failed_us: u64,
    pub last_failed_us: u64,
}

impl Host {
    fn fails(&mut self, why: Failure, now_us: u64) {
        self.failures[why as usize] += 1;
        if self.first_failed_us == 0 {
            self.first_failed_us = now_us;
        }
        self.last_failed_us = now_us;
    }
}

/// All that are remembered.
#[derive(Default)]
pub struct Hosts(Mutex<BTreeMap<IpAddr, Host>>);

/// Addresses that are remembered: a bound on memory.
const MOST: usize = 20_000;

impl Hosts {
    fn change<T: Default>(&self, ip: IpAddr, change: impl FnOnce(&mut Host, u64) -> T) -> T {
        let now_us = WallTime::now().micros();
        let mut all = self.0.lock();
        if all.len() >= MOST && !all.contains_key(&ip) {
            // Those that may be blocked stay.
            all.retain(|_, host| host.broken_off > 0);
            if all.len() >= MOST {
                return T::default();
            }
        }
        let host = all.entry(ip).or_insert_with(|| Host { first_us: now_us, ..Host::default() });
        host.last_us = now_us;
        change(host, now_us)
    }

    /// A connection comes: how many handshakes before it have broken off.
    pub fn comes(&self, ip: IpAddr) -> u64 {
        self.change(ip, |host, _| host.broken_off)
    }

    /// A handshake broke off, or (`good`) came to its end.
    pub fn handshake(&self, ip: IpAddr, good: bool) {
        self.change(ip, |host, _| host.broken_off = if good { 0 } else { host.broken_off + 1 });
    }

    /// A connection was not let in.
    pub fn failed(&self, ip: IpAddr, why: Failure) {
        self.change(ip, |host, now_us| host.fails(why, now_us));
    }

    /// In order.
    pub fn all(&self) -> Vec<(IpAddr, Host)> {
        self.0.lock().iter().map(|(ip, host)| (*ip, *host)).collect()
    }

    /// FLUSH HOSTS.
    pub fn forget(&self) {
        self.0.lock().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_types::sql_err;

    #[test]
    fn failures_are_counted_by_address() {
        let hosts = Hosts::default();
        let ip: IpAddr = [192, 0, 2, 1].into();
        assert_eq!(hosts.comes(ip), 0);
        hosts.handshake(ip, false);
        hosts.failed(ip, Failure::Handshake);
        hosts.failed(ip, Failure::of(&sql_err!(AccessDenied, "u", "h", "YES")));
        assert_eq!(hosts.comes(ip), 1);
        let [(_, host)] = hosts.all()[..] else { panic!() };
        assert_eq!(
            (host.failures[Failure::Handshake as usize], host.failures[Failure::Authentication as usize]),
            (1, 1)
        );
        assert!(host.first_us <= host.first_failed_us && host.last_failed_us <= host.last_us);
        hosts.handshake(ip, true);
        assert_eq!((hosts.comes(ip), hosts.all()[0].1.failures), (0, host.failures));
        hosts.forget();
        assert!(hosts.all().is_empty());
    }
}

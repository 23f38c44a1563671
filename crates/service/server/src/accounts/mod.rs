//! Accounts: who may log in, from where, and with which global privileges.
//!
//! Stored by the catalog as one record an account, kept in memory as an immutable list which a change replaces.
//! Record, little-endian: `u8 version (2) · u8 plugin (1 native, 2 sha2) · u8 flags (bit 0: locked) · u128 privileges ·
//! u64 time of the password's change (seconds since 1970) · u16 length, authentication string`.

mod privileges;

pub use privileges::{GRANT_ORDER, PRIVILEGES, Privilege, Privileges, by_name, name as privilege_name};

use gannet_base::sync::RwLock;
use gannet_catalog::Catalog;
use gannet_engine::{EngineError, TxnOptions};
use gannet_types::{Result, SqlError, sql_err};
use gannet_wire::auth::{FastDigest, Plugin, Secret};
use gannet_wire::codec::Reader;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

/// One account.
#[derive(Debug)]
pub struct Account {
    /// User name; empty: anybody.
    pub user: String,
    /// Host pattern.
    pub host: String,
    /// Password, hashed.
    pub secret: Secret,
    /// Global privileges.
    pub privileges: Privileges,
    /// ACCOUNT LOCK.
    pub locked: bool,
    /// When the password was set, seconds since 1970.
    pub password_changed: u64,
    /// SHA256(SHA256(password)) after the first full login. A new password makes a new `Account`.
    fast: OnceLock<FastDigest>,
}

/// Where a client comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The UNIX socket, or loopback.
    Local(Option<IpAddr>),
    /// Elsewhere.
    Remote(IpAddr),
}

impl Origin {
    /// Host part of `USER()`.
    pub fn host(&self) -> String {
        match self {
            Origin::Local(_) => "localhost".into(),
            Origin::Remote(ip) => ip.to_string(),
        }
    }

    fn matches(&self, pattern: &str) -> bool {
        match self {
            Origin::Local(ip) => like(pattern, "localhost") || ip.is_some_and(|ip| host_matches(pattern, ip)),
            Origin::Remote(ip) => host_matches(pattern, *ip),
        }
    }
}

fn host_matches(pattern: &str, ip: IpAddr) -> bool {
    match pattern.split_once('/') {
        Some((net, mask)) => in_network(net, mask, ip).unwrap_or(false),
        None => like(pattern, &ip.to_string()),
    }
}

/// `a.b.c.d/mask` with a dotted mask or a number of bits.
fn in_network(net: &str, mask: &str, ip: IpAddr) -> Option<bool> {
    let (IpAddr::V4(ip), net) = (ip, net.parse::<std::net::Ipv4Addr>().ok()?) else { return Some(false) };
    let mask = match mask.parse::<std::net::Ipv4Addr>() {
        Ok(m) => u32::from(m),
        Err(_) => u32::MAX.checked_shl(32 - mask.parse::<u32>().ok().filter(|n| *n <= 32)?).unwrap_or(0),
    };
    Some(u32::from(ip) & mask == u32::from(net) & mask)
}

/// Host patterns: `%` any run, `_` any character; letters in any case.
fn like(pattern: &str, text: &str) -> bool {
    let (p, t) = (pattern.as_bytes(), text.as_bytes());
    let (mut i, mut j, mut star) = (0, 0, None);
    while j < t.len() {
        match p.get(i) {
            Some(b'%') => {
                star = Some((i, j));
                i += 1;
            }
            Some(c) if *c == b'_' || c.eq_ignore_ascii_case(&t[j]) => {
                i += 1;
                j += 1;
            }
            _ => match star {
                Some((si, sj)) => {
                    i = si + 1;
                    j = sj + 1;
                    star = Some((si, sj + 1));
                }
                None => return false,
            },
        }
    }
    p[i..].iter().all(|c| *c == b'%')
}

impl Account {
    /// A new account.
    pub fn new(user: &str, host: &str, secret: Secret, privileges: Privileges) -> Self {
        let password_changed = (gannet_runtime::unix_micros() / 1_000_000) as u64;
        Self {
            user: user.into(),
            host: host.to_ascii_lowercase(),
            secret,
            privileges,
            locked: false,
            password_changed,
            fast: OnceLock::new(),
        }
    }

    /// `user@host`.
    pub fn name(&self) -> String {
        format!("{}@{}", self.user, self.host)
    }

    /// SHA256(SHA256(password)), when a login left it.
    pub fn fast_digest(&self) -> Option<FastDigest> {
        self.fast.get().copied()
    }

    /// A full login succeeded.
    pub fn remember(&self, digest: FastDigest) {
        let _ = self.fast.set(digest);
    }

    /// The account with something changed.
    pub fn changed(&self, change: impl FnOnce(&mut Account)) -> Self {
        let mut it = Self {
            user: self.user.clone(),
            host: self.host.clone(),
            secret: self.secret.clone(),
            privileges: self.privileges,
            locked: self.locked,
            password_changed: self.password_changed,
            fast: self.fast.clone(),
        };
        change(&mut it);
        if it.secret != self.secret {
            it.fast = OnceLock::new();
            it.password_changed = (gannet_runtime::unix_micros() / 1_000_000) as u64;
        }
        it
    }

    /// No password, and not locked.
    pub fn is_open(&self) -> bool {
        matches!(self.secret, Secret::Empty(_)) && !self.locked
    }

    fn encode(&self) -> Vec<u8> {
        let auth = self.secret.to_authentication_string();
        let plugin = match self.secret.plugin() {
            Plugin::Native => 1,
            Plugin::Sha2 => 2,
        };
        let mut out = vec![2, plugin, u8::from(self.locked)];
        out.extend_from_slice(&self.privileges.bits().to_le_bytes());
        out.extend_from_slice(&self.password_changed.to_le_bytes());
        out.extend_from_slice(&(auth.len() as u16).to_le_bytes());
        out.extend_from_slice(&auth);
        out
    }

    fn decode(name: &str, bytes: &[u8]) -> Option<Self> {
        let (user, host) = name.rsplit_once('@')?;
        let mut r = Reader::new(bytes);
        // Version 1 had 64 bits of privileges.
        let version = r.u8().ok().filter(|v| matches!(v, 1 | 2))?;
        let plugin = match r.u8().ok()? {
            1 => Plugin::Native,
            2 => Plugin::Sha2,
            _ => return None,
        };
        let locked = r.u8().ok()? & 1 == 1;
        let low = u128::from(r.u64().ok()?);
        let high = if version == 1 { 0 } else { u128::from(r.u64().ok()?) };
        let mut privileges = Privileges::from_bits(high << 64 | low);
        if version == 1 && privileges.has(Privilege::Super) {
            privileges = privileges.with(Privileges::all_dynamic());
        }
        let password_changed = r.u64().ok()?;
        let len = r.u16().ok()?;
        let secret = Secret::from_authentication_string(plugin, r.bytes(len.into()).ok()?)?;
        Some(Self { locked, password_changed, ..Self::new(user, host, secret, privileges) })
    }

    /// Rank among accounts that match: exact hosts before patterns, longer before shorter; named users before anonymous.
    fn rank(&self) -> (usize, bool) {
        let wild = self.host.find(['%', '_']).unwrap_or(usize::MAX);
        (wild, !self.user.is_empty())
    }
}

/// All accounts, most specific first.
pub type AccountList = Arc<Vec<Arc<Account>>>;

/// The accounts of a server.
pub struct Accounts {
    list: RwLock<AccountList>,
}

impl Accounts {
    /// Loads them; a fresh server gets `root@localhost` without a password.
    pub fn load(catalog: &Catalog) -> Result<Self> {
        let mut txn = catalog.engine().begin(TxnOptions::default());
        let stored = catalog.accounts().all(&mut txn).map_err(engine)?;
        txn.commit().map_err(engine)?;
        let mut list = Vec::new();
        for (name, record) in stored {
            let damaged = || SqlError::internal(format_args!("the record of account '{name}' is damaged"));
            list.push(Arc::new(Account::decode(&name, &record).ok_or_else(damaged)?));
        }
        let it = Self { list: RwLock::new(Arc::new(Vec::new())) };
        if list.is_empty() {
            let root = Account::new("root", "localhost", Secret::Empty(Plugin::Sha2), Privileges::all());
            it.store(catalog, vec![Arc::new(root)], &[])?;
        } else {
            it.replace(list);
        }
        Ok(it)
    }

    /// The list now.
    pub fn list(&self) -> AccountList {
        self.list.read().clone()
    }

    fn replace(&self, mut list: Vec<Arc<Account>>) {
        list.sort_by(|a, b| b.rank().cmp(&a.rank()).then(a.user.cmp(&b.user)).then(a.host.cmp(&b.host)));
        *self.list.write() = Arc::new(list);
    }

    /// The account that a login as `user` from `origin` is matched to.
    pub fn find(&self, user: &str, origin: &Origin) -> Option<Arc<Account>> {
        let list = self.list();
        list.iter().find(|a| (a.user == user || a.user.is_empty()) && origin.matches(&a.host)).cloned()
    }

    /// The account with exactly this name.
    pub fn get(&self, user: &str, host: &str) -> Option<Arc<Account>> {
        self.list().iter().find(|a| a.user == user && a.host.eq_ignore_ascii_case(host)).cloned()
    }

    /// Writes and removes accounts in one transaction.
    pub fn store(&self, catalog: &Catalog, put: Vec<Arc<Account>>, remove: &[(String, String)]) -> Result<()> {
        for a in &put {
            // MySQL: 32 characters of user name, 255 of host.
            if a.user.chars().count() > 32 {
                return Err(sql_err!(WrongStringLength, a.user, "user name", 32));
            }
            if a.host.len() > 255 || a.user.contains('\0') || a.host.contains(['\0', '@']) {
                return Err(sql_err!(WrongStringLength, a.host, "host name", 255));
            }
        }
        let mut txn = catalog.engine().begin(TxnOptions::default());
        let stored = catalog.accounts();
        for (user, host) in remove {
            stored.remove(&mut txn, &format!("{user}@{host}")).map_err(engine)?;
        }
        for a in &put {
            stored.put(&mut txn, &a.name(), &a.encode()).map_err(engine)?;
        }
        txn.commit().map_err(engine)?;
        let mut list: Vec<Arc<Account>> = self.list().to_vec();
        let gone = |a: &Account| remove.iter().any(|(u, h)| *u == a.user && *h == a.host);
        list.retain(|a| !gone(a) && !put.iter().any(|p| p.user == a.user && p.host == a.host));
        list.extend(put);
        self.replace(list);
        Ok(())
    }

    /// An account without a password that is reachable when the server listens beyond loopback, if there is one.
    pub fn open_account(&self) -> Option<String> {
        self.list().iter().find(|a| a.is_open()).map(|a| format!("'{}'@'{}'", a.user, a.host))
    }
}

fn engine(e: EngineError) -> SqlError {
    gannet_exec::error::from_engine(e)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_match_as_in_mysql() {
        assert!(like("%", "") && like("%.example.com", "a.Example.com") && like("10._.%", "10.1.2.3"));
        assert!(!like("localhost", "localhos") && !like("10.%", "11.0.0.1"));
        let ip: IpAddr = "192.168.3.7".parse().unwrap();
        assert!(host_matches("192.168.0.0/255.255.0.0", ip) && host_matches("192.168.0.0/16", ip));
        assert!(!host_matches("192.168.0.0/24", ip) && !host_matches("x/y", ip));
        assert!(Origin::Local(None).matches("localhost") && !Origin::Remote(ip).matches("localhost"));
        let loopback = Origin::Local(Some("127.0.0.1".parse().unwrap()));
        assert!(loopback.matches("localhost") && loopback.matches("127.0.0.1"));
    }

    #[test]
    fn the_most_specific_account_wins() {
        let accounts = Accounts { list: RwLock::new(Arc::new(vec![])) };
        let make = |u: &str, h: &str| Arc::new(Account::new(u, h, Secret::Empty(Plugin::Sha2), Privileges::NONE));
        accounts.replace(vec![make("", "localhost"), make("bob", "%"), make("bob", "localhost"), make("bob", "10.%")]);
        assert_eq!(accounts.find("bob", &Origin::Local(None)).unwrap().host, "localhost");
        assert_eq!(accounts.find("bob", &Origin::Remote("10.0.0.1".parse().unwrap())).unwrap().host, "10.%");
        assert_eq!(accounts.find("bob", &Origin::Remote("11.0.0.1".parse().unwrap())).unwrap().host, "%");
        assert_eq!(accounts.find("eve", &Origin::Local(None)).unwrap().user, "");
        assert!(accounts.find("eve", &Origin::Remote("11.0.0.1".parse().unwrap())).is_none());
    }

    #[test]
    fn records_round_trip_and_survive_damage() {
        for secret in [Secret::Empty(Plugin::Native), Secret::from_password(Plugin::Sha2, b"x", [7; 20])] {
            let a = Account { locked: true, ..Account::new("u@v", "%", secret, Privileges::all()) };
            let bytes = a.encode();
            let b = Account::decode(&a.name(), &bytes).unwrap();
            assert_eq!(
                (&b.user, &b.host, &b.secret, b.privileges, b.locked),
                (&a.user, &a.host, &a.secret, a.privileges, true)
            );
            for cut in 0..bytes.len() {
                let _ = Account::decode("u@h", &bytes[..cut]);
            }
        }
    }
}

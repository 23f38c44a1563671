//! Accounts: which clients may log in, from where, and what they may do.
//!
//! | module | what |
//! |---|---|
//! | `account` | one account and its record in the dictionary |
//! | `privileges` | what there is to grant |
//! | `access` | what a session may do: its account and its active roles, merged |
//! | `limits` | failed logins, resource limits |
//! | `login` | what every login has in common |
//! | `origin` | hosts and their patterns |
//!
//! The catalog stores an account as one record each; in memory they are an immutable list, which a change replaces. A
//! change moves a version. Sessions compare the version once a statement, so that a grant or a revocation holds from
//! the next statement on.

mod access;
mod account;
pub mod hosts;
mod limits;
mod login;
mod origin;
mod privileges;

pub use access::Access;
pub use account::{
    Account, ColumnGrant, Grants, Name, Policy, Previous, ProxyGrant, Require, Restriction, RoleGrant, RoutineGrant,
    SchemaGrant, TableGrant,
};
pub use limits::{Limits, Usage};
pub use login::{Attempt, Way, authenticate, count_connection, nonce, stands_in_for};
pub use origin::Origin;
pub use privileges::{
    COLUMN_LEVEL, DB_ORDER, GRANT_ORDER, PRIVILEGES, Privilege, Privileges, ROUTINE_LEVEL, SCHEMA_LEVEL, TABLE_LEVEL,
    by_name, is_dynamic, name as privilege_name,
};

pub use gannet_wire::auth::{Plugin, Secret};

use gannet_base::sync::RwLock;
use gannet_base::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use gannet_catalog::{Catalog, Words};
use gannet_engine::{EngineError, TxnOptions};
use gannet_types::{Result, SqlError, sql_err};
use std::sync::Arc;

/// An entry of this name in the dictionary says that all accounts were dropped. No account has such a name.
const EMPTIED: &str = "none";

/// All accounts, most specific first.
pub type AccountList = Arc<Vec<Arc<Account>>>;

/// The accounts of a server.
pub struct Accounts {
    list: RwLock<AccountList>,
    /// `mandatory_roles`.
    mandatory: RwLock<Arc<Vec<Name>>>,
    version: AtomicU64,
    partial_revokes: AtomicBool,
    /// `--skip-grant-tables`: every client may do everything.
    skipped: AtomicBool,
    /// Failed logins and resource use.
    pub limits: Limits,
}

impl Accounts {
    fn empty() -> Self {
        Self {
            list: RwLock::new(Arc::new(Vec::new())),
            mandatory: RwLock::new(Arc::new(Vec::new())),
            version: AtomicU64::new(1),
            limits: Limits::default(),
            partial_revokes: AtomicBool::new(false),
            skipped: AtomicBool::new(false),
        }
    }

    /// Loads them; a fresh server gets `root@localhost` without a password.
    pub fn load(catalog: &Catalog) -> Result<Self> {
        let mut txn = catalog.engine().try_begin(TxnOptions::default()).map_err(engine)?;
        let stored = catalog.accounts().all(&mut txn).map_err(engine)?;
        txn.commit().map_err(engine)?;
        let mut list = Vec::new();
        // A server whose accounts were all dropped has been set up before: it gets no account without a password.
        let emptied = stored.iter().any(|(name, _)| name == EMPTIED);
        for (name, record) in stored.into_iter().filter(|(name, _)| name != EMPTIED) {
            let damaged = || SqlError::internal(format_args!("the record of account '{name}' is damaged"));
            list.push(Arc::new(Account::decode(&name, &record).ok_or_else(damaged)?));
        }
        let it = Self::empty();
        if list.is_empty() && !emptied {
            let mut root = Account::new("root", "localhost", Secret::Empty(Plugin::Sha2), Privileges::all());
            root.grants.grantable = Privileges::all_dynamic();
            root.grants.proxies.push(ProxyGrant::of_anybody());
            it.store(catalog, None, vec![Arc::new(root)], &[])?;
        } else {
            it.replace(list);
        }
        Ok(it)
    }

    /// Moves whenever an account or the mandatory roles change.
    #[inline]
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The list now.
    pub fn list(&self) -> AccountList {
        self.list.read().clone()
    }

    fn replace(&self, mut list: Vec<Arc<Account>>) {
        list.sort_by(|a, b| b.rank().cmp(&a.rank()).then(a.user.cmp(&b.user)).then(a.host.cmp(&b.host)));
        *self.list.write() = Arc::new(list);
        self.version.fetch_add(1, Ordering::AcqRel);
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

    /// `mandatory_roles` that exist.
    pub fn mandatory_roles(&self) -> Vec<Arc<Account>> {
        let names = self.mandatory.read().clone();
        names.iter().filter_map(|n| self.get(&n.user, &n.host)).collect()
    }

    /// True for a role of `mandatory_roles`.
    pub fn is_mandatory(&self, name: &Name) -> bool {
        self.mandatory.read().contains(name)
    }

    /// Sets `mandatory_roles`.
    pub fn set_mandatory(&self, roles: Vec<Name>) {
        *self.mandatory.write() = Arc::new(roles);
        self.version.fetch_add(1, Ordering::AcqRel);
    }

    /// There is a partial revoke.
    pub fn any_restricted(&self) -> bool {
        self.list().iter().any(|a| !a.grants.restrictions.is_empty())
    }

    /// `partial_revokes`: patterns of schemas are plain names then.
    pub fn partial_revokes(&self) -> bool {
        self.partial_revokes.load(Ordering::Acquire)
    }

    /// Sets `partial_revokes`. Error 3896: it cannot be turned off while there is a partial revoke.
    pub fn set_partial_revokes(&self, on: bool) -> Result<()> {
        if !on && self.any_restricted() {
            return Err(sql_err!(PartialRevokesExist));
        }
        self.partial_revokes.store(on, Ordering::Release);
        self.version.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    /// The roles that an account may make active: those granted to it, and the mandatory ones.
    pub fn roles_of(&self, account: &Account) -> Vec<Name> {
        let mut all: Vec<Name> = account.grants.roles.iter().map(|r| r.role.clone()).collect();
        for role in self.mandatory_roles() {
            let name = role.id();
            if !all.contains(&name) && name != account.id() {
                all.push(name);
            }
        }
        all.sort();
        all
    }

    /// An account and the accounts granted to it through `roles`, and through theirs.
    pub fn with_roles(&self, account: &Arc<Account>, roles: &[Name]) -> Vec<Arc<Account>> {
        let mut members = vec![account.clone()];
        let mut queue: Vec<Name> = roles.to_vec();
        while let Some(name) = queue.pop() {
            let known = members.iter().any(|m| m.is(&name));
            if let Some(role) = self.get(&name.user, &name.host).filter(|_| !known) {
                queue.extend(role.grants.roles.iter().map(|r| r.role.clone()));
                members.push(role);
            }
        }
        members
    }

    /// True when granting `role` to `to` would close a circle.
    pub fn would_loop(&self, role: &Name, to: &Name) -> bool {
        let Some(role) = self.get(&role.user, &role.host) else { return false };
        self.with_roles(&role, &role.grants.roles.iter().map(|r| r.role.clone()).collect::<Vec<_>>())
            .iter()
            .any(|m| m.is(to))
    }

    /// Writes and removes accounts in one transaction. Consumers of the log are told `words`, if there are any.
    pub fn store(
        &self,
        catalog: &Catalog,
        words: Option<&Words>,
        put: Vec<Arc<Account>>,
        remove: &[Name],
    ) -> Result<()> {
        for a in &put {
            // MySQL: 32 characters of user name, 255 of host.
            if a.user.chars().count() > 32 {
                return Err(sql_err!(WrongStringLength, a.user, "user name", 32));
            }
            if a.host.len() > 255 || a.user.contains('\0') || a.host.contains(['\0', '@']) {
                return Err(sql_err!(WrongStringLength, a.host, "host name", 255));
            }
        }
        let mut txn = catalog.engine().try_begin(TxnOptions::default()).map_err(engine)?;
        let stored = catalog.accounts();
        for name in remove {
            stored.remove(&mut txn, &name.to_string()).map_err(engine)?;
        }
        for a in &put {
            stored.put(&mut txn, &a.name(), &a.encode()).map_err(engine)?;
        }
        let mut list: Vec<Arc<Account>> = self.list().to_vec();
        list.retain(|a| !remove.iter().any(|n| a.is(n)) && !put.iter().any(|p| a.is(&p.id())));
        list.extend(put);
        if list.is_empty() {
            stored.put(&mut txn, EMPTIED, &[]).map_err(engine)?
        } else {
            _ = stored.remove(&mut txn, EMPTIED).map_err(engine)?;
        }
        stored.commit(&mut txn, words).map_err(engine)?;
        self.replace(list);
        Ok(())
    }

    /// `--skip-grant-tables`.
    pub fn skip(&self) {
        self.skipped.store(true, Ordering::Release);
    }

    /// Whether clients log in without a password.
    pub fn skipped(&self) -> bool {
        self.skipped.load(Ordering::Acquire)
    }

    /// FLUSH PRIVILEGES: accounts count again, and what logins left for the next ones is forgotten. Sessions that were
    /// let in without an account keep their rights.
    pub fn take_up(&self) {
        self.skipped.store(false, Ordering::Release);
        let mut list = self.list.write();
        if list.iter().any(|a| a.fast_digest().is_some()) {
            *list = Arc::new(list.iter().map(|a| Arc::new(a.without_digest())).collect());
            self.version.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// There is no account at all.
    pub fn is_empty(&self) -> bool {
        self.list().is_empty()
    }

    /// An account without a password that is reachable when the server listens beyond loopback, if there is one.
    pub fn open_account(&self) -> Option<String> {
        self.list().iter().find(|a| a.is_open()).map(|a| a.id().quoted())
    }
}

/// The names in `mandatory_roles`: `user[@host]` in a list, each part quoted or not.
pub fn parse_role_list(text: &str) -> Option<Vec<Name>> {
    let mut names = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (user, after) = word(rest)?;
        rest = after.trim_start();
        let mut host = "%".to_string();
        if let Some(after) = rest.strip_prefix('@') {
            let (h, after) = word(after.trim_start())?;
            host = h;
            rest = after.trim_start();
        }
        names.push(Name::new(&user, &host));
        rest = match rest.strip_prefix(',') {
            Some(more) => more.trim_start(),
            None if rest.is_empty() => rest,
            None => return None,
        };
    }
    Some(names)
}

fn word(text: &str) -> Option<(String, &str)> {
    let quote = text.chars().next()?;
    if matches!(quote, '`' | '\'' | '"') {
        let end = text[1..].find(quote)? + 1;
        return Some((text[1..end].into(), &text[end + 1..]));
    }
    let end = text.find(['@', ',']).unwrap_or(text.len());
    let name = text[..end].trim_end();
    (!name.is_empty()).then(|| (name.into(), &text[end..]))
}

fn engine(e: EngineError) -> SqlError {
    gannet_exec::error::from_engine(e)
}

#[cfg(test)]
mod tests {
    use super::origin::{host_matches, like};
    use super::*;
    use std::net::IpAddr;

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
        let accounts = Accounts::empty();
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
            let mut a = Account::new("u@v", "%", secret, Privileges::all());
            a.locked = true;
            let role = Name::new("r", "%");
            a.policy.limits = [1, 2, 3, 4];
            a.policy.require = Require::X509;
            a.policy.lifetime = Some(90);
            a.policy.previous = vec![Previous { at: 7, plugin: Plugin::Native, auth: b"*00".to_vec() }];
            a.grants.roles = vec![RoleGrant { role: role.clone(), admin: true }];
            a.grants.default_roles = vec![role];
            a.grants.schemas = vec![SchemaGrant { schema: "d%".into(), privileges: Privilege::Select.into() }];
            let column = ColumnGrant { column: "c".into(), privileges: Privilege::Update.into() };
            a.grants.tables = vec![TableGrant {
                schema: "d".into(),
                table: "t".into(),
                privileges: Privilege::Insert.into(),
                columns: vec![column],
                grantor: "root@localhost".into(),
                at: 9,
            }];
            let bytes = a.encode();
            let b = Account::decode(&a.name(), &bytes).unwrap();
            assert_eq!(
                (&b.user, &b.host, &b.secret, &b.grants, &b.policy, b.locked),
                (&a.user, &a.host, &a.secret, &a.grants, &a.policy, true)
            );
            for cut in 0..bytes.len() {
                let _ = Account::decode("u@h", &bytes[..cut]);
            }
        }
    }

    #[test]
    fn role_lists() {
        let names = parse_role_list("`r`@`%`, 'x'@localhost ,y").unwrap();
        assert_eq!(names, [Name::new("r", "%"), Name::new("x", "localhost"), Name::new("y", "%")]);
        assert_eq!(parse_role_list(" "), Some(vec![]));
        for bad in ["`r", "a,,b", "@x", "a@"] {
            assert!(parse_role_list(bad).is_none(), "{bad}");
        }
    }
}

//! One account.
//!
//! Record in the dictionary, little-endian; `text` is `u16 length, bytes`, a list is `u16 count` and its members:
//!
//! ```text
//! u8 version (5) · u8 plugin (1 native, 2 sha2, 3 sha256) · u8 flags (1 locked, 2 password expired) · u64 time of the password's change ·
//! text authentication string · u128 global privileges · u128 dynamic ones with GRANT OPTION ·
//! optional u16 (0xFFFF: default): lifetime, history, reuse days · u8 require current (0 no, 1 yes, 2 default) ·
//! u8 REQUIRE (0 none, 1 SSL, 2 X509, 3 attributes) · text cipher, issuer, subject · 4 x u32 limits · u16 attempts · i32 lock days ·
//! text attributes (a JSON object, or empty) ·
//! list of roles (text user, text host, u8 admin) · list of default roles (text, text) · list of schemas (text, u128) ·
//! list of tables (text schema, text table, u128, text grantor, u64 time, list of columns (text, u128)) ·
//! list of routines (text schema, text name, u8 function, u128) · list of earlier passwords (u64 time, u8 plugin, text) ·
//! text authentication string of the second password, or empty · list of accounts it may stand in for (text user, text host, u8 grant option,
//! text grantor, u64 time) · list of schemas without some of the global privileges (text, u128)
//! ```
//!
//! Version 4 ended before the last two lists. Version 3 had the comment alone in place of the attributes, and no second
//! password. Versions 1 and 2 had no more than plugin, `locked`, privileges (u64, u128), time and authentication
//! string.

use super::privileges::{Privilege, Privileges};
use gannet_types::json::{self, Json};
use gannet_types::{Result, sql_err};
use gannet_wire::auth::{FastDigest, Plugin, Secret};
use gannet_wire::codec::Reader;
use std::sync::OnceLock;

/// Name of an account or role.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Name {
    /// User; empty: any user.
    pub user: String,
    /// Host pattern, lower case.
    pub host: String,
}

impl Name {
    /// From its parts.
    pub fn new(user: &str, host: &str) -> Self {
        Self { user: user.into(), host: host.to_ascii_lowercase() }
    }

    /// `'user'@'host'`, as error messages quote it.
    pub fn quoted(&self) -> String {
        format!("'{}'@'{}'", self.user, self.host)
    }

    /// `` `user`@`host` ``, as SHOW GRANTS quotes it.
    pub fn ticked(&self) -> String {
        format!("`{}`@`{}`", self.user.replace('`', "``"), self.host.replace('`', "``"))
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}@{}", self.user, self.host)
    }
}

/// A role granted to an account.
#[derive(Clone, Debug, PartialEq)]
pub struct RoleGrant {
    /// Which.
    pub role: Name,
    /// WITH ADMIN OPTION.
    pub admin: bool,
}

/// Privileges on the schemas that a pattern matches.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemaGrant {
    /// `%` any run, `_` any character, `\\` quotes.
    pub schema: String,
    /// Which, GRANT OPTION included.
    pub privileges: Privileges,
}

/// Privileges on a table and on its columns.
#[derive(Clone, Debug, PartialEq)]
pub struct TableGrant {
    /// Its schema.
    pub schema: String,
    /// It.
    pub table: String,
    /// On the whole of it.
    pub privileges: Privileges,
    /// On columns.
    pub columns: Vec<ColumnGrant>,
    /// The account that granted last.
    pub grantor: String,
    /// When, seconds since 1970.
    pub at: u64,
}

/// Privileges on a column.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnGrant {
    /// It.
    pub column: String,
    /// Which.
    pub privileges: Privileges,
}

/// Privileges on a stored routine.
#[derive(Clone, Debug, PartialEq)]
pub struct RoutineGrant {
    /// Its schema.
    pub schema: String,
    /// It.
    pub name: String,
    /// A function, else a procedure.
    pub function: bool,
    /// Which.
    pub privileges: Privileges,
}

/// PROXY on another account.
#[derive(Clone, Debug, PartialEq)]
pub struct ProxyGrant {
    /// The account whose rights may be taken; both parts empty: any account.
    pub proxied: Name,
    /// WITH GRANT OPTION.
    pub option: bool,
    /// The account that granted last.
    pub grantor: String,
    /// When, seconds since 1970.
    pub at: u64,
}

impl ProxyGrant {
    /// What the server's first account has: PROXY on any account, WITH GRANT OPTION.
    pub fn of_anybody() -> Self {
        Self { proxied: Name::default(), option: true, grantor: "boot@".into(), at: now_s() }
    }
}

/// Global privileges that do not hold in a schema.
#[derive(Clone, Debug, PartialEq)]
pub struct Restriction {
    /// Its name.
    pub schema: String,
    /// Which.
    pub privileges: Privileges,
}

/// What an account may do.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Grants {
    /// Global privileges.
    pub global: Privileges,
    /// Dynamic ones among them that were granted WITH GRANT OPTION.
    pub grantable: Privileges,
    /// Roles, by name.
    pub roles: Vec<RoleGrant>,
    /// Those active after login, by name.
    pub default_roles: Vec<Name>,
    /// On schemas, most specific pattern first.
    pub schemas: Vec<SchemaGrant>,
    /// On tables, by name.
    pub tables: Vec<TableGrant>,
    /// On routines, by name.
    pub routines: Vec<RoutineGrant>,
    /// On accounts, in the order of the grants.
    pub proxies: Vec<ProxyGrant>,
    /// Partial revokes, by schema.
    pub restrictions: Vec<Restriction>,
}

/// A password used before.
#[derive(Clone, Debug, PartialEq)]
pub struct Previous {
    /// When it was set, seconds since 1970.
    pub at: u64,
    /// Its plugin.
    pub plugin: Plugin,
    /// Its authentication string.
    pub auth: Vec<u8>,
}

/// REQUIRE.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Require {
    /// Nothing.
    #[default]
    None,
    /// TLS.
    Ssl,
    /// TLS with a client certificate.
    X509,
    /// TLS with these properties, empty ones aside.
    Attributes {
        /// CIPHER.
        cipher: String,
        /// ISSUER.
        issuer: String,
        /// SUBJECT.
        subject: String,
    },
}

/// Rules about passwords, transports and resources.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Policy {
    /// PASSWORD EXPIRE.
    pub expired: bool,
    /// Days a password is good for; 0: for ever; `None`: `default_password_lifetime`.
    pub lifetime: Option<u16>,
    /// Passwords that may not come again; `None`: `password_history`.
    pub history: Option<u16>,
    /// Days in which they may not; `None`: `password_reuse_interval`.
    pub reuse_days: Option<u16>,
    /// A change must give the current one; `None`: `password_require_current`.
    pub require_current: Option<bool>,
    /// REQUIRE.
    pub require: Require,
    /// Queries, updates, connections an hour; connections at a time. 0: no limit.
    pub limits: [u32; 4],
    /// FAILED_LOGIN_ATTEMPTS.
    pub attempts: u16,
    /// PASSWORD_LOCK_TIME in days; -1: UNBOUNDED.
    pub lock_days: i32,
    /// ATTRIBUTE and COMMENT: text of a JSON object, or empty.
    pub attributes: String,
    /// Passwords used before, newest first.
    pub previous: Vec<Previous>,
}

impl Policy {
    /// ATTRIBUTE: members are merged, `null` takes one away. Errors 3982, 1470.
    pub fn merge_attributes(&mut self, patch: &str) -> Result<()> {
        let object = |text: &str| match json::parse(text.as_bytes()) {
            Ok(it @ Json::Object(_)) => Ok(it),
            _ => Err(sql_err!(InvalidUserAttributeJson)),
        };
        let old = if self.attributes.is_empty() { "{}" } else { self.attributes.as_str() };
        let merged = json::merge_patch(object(old)?, object(patch)?);
        let empty = matches!(&merged, Json::Object(o) if o.is_empty());
        let mut text = Vec::new();
        merged.write(&mut text);
        if text.len() > u16::MAX.into() {
            return Err(sql_err!(WrongStringLength, "ATTRIBUTE", "attribute", u16::MAX));
        }
        self.attributes = if empty { String::new() } else { String::from_utf8_lossy(&text).into_owned() };
        Ok(())
    }

    /// COMMENT: the attribute `comment`.
    pub fn set_comment(&mut self, comment: &str) -> Result<()> {
        if comment.is_empty() {
            return Ok(());
        }
        let mut quoted = Vec::new();
        json::write_quoted(comment, &mut quoted);
        self.merge_attributes(&format!("{{\"comment\": {}}}", String::from_utf8_lossy(&quoted)))
    }
}

/// One account.
#[derive(Debug, Clone)]
pub struct Account {
    /// User name; empty: any user.
    pub user: String,
    /// Host pattern.
    pub host: String,
    /// Password, hashed.
    pub secret: Secret,
    /// The password before, kept by RETAIN CURRENT PASSWORD: of the same plugin.
    pub second: Option<Secret>,
    /// ACCOUNT LOCK.
    pub locked: bool,
    /// When the password was set, seconds since 1970.
    pub password_changed: u64,
    /// What it may do.
    pub grants: Grants,
    /// Rules.
    pub policy: Policy,
    /// SHA256(SHA256(password)) after the first full login. A new password makes a new `Account`.
    fast: OnceLock<FastDigest>,
    /// The session has exactly these rights, whatever is stored: [`Account::unchecked`] and [`Account::kept`]. Never
    /// stored.
    unchecked: bool,
}

fn now_s() -> u64 {
    gannet_runtime::WallTime::now().seconds()
}

impl Account {
    /// A new account.
    pub fn new(user: &str, host: &str, secret: Secret, global: Privileges) -> Self {
        Self {
            user: user.into(),
            host: host.to_ascii_lowercase(),
            secret,
            second: None,
            locked: false,
            password_changed: now_s(),
            grants: Grants { global, ..Grants::default() },
            policy: Policy::default(),
            fast: OnceLock::new(),
            unchecked: false,
        }
    }

    /// The account of every client under `--skip-grant-tables`, by MySQL's name.
    pub fn unchecked() -> Self {
        Self::unchecked_as("skip-grants user", "skip-grants host")
    }

    /// What may do everything in the name of somebody, who need not be known here: of whom another server's log tells.
    pub fn unchecked_as(user: &str, host: &str) -> Self {
        Self { unchecked: true, ..Self::new(user, host, Secret::Empty(Plugin::Sha2), Privileges::all()) }
    }

    /// The account as it is, for the session that has deleted it from the grant tables itself. In MySQL such a change
    /// means nothing to open sessions' global privileges, and scripts go on to insert what they have saved; a session
    /// that lost its rights in the middle would leave the server without an administrator.
    pub fn kept(&self) -> Self {
        Self { unchecked: true, ..self.clone() }
    }

    /// The accounts say nothing about it.
    pub fn is_unchecked(&self) -> bool {
        self.unchecked
    }

    /// `user@host`.
    pub fn name(&self) -> String {
        format!("{}@{}", self.user, self.host)
    }

    /// Its name.
    pub fn id(&self) -> Name {
        Name { user: self.user.clone(), host: self.host.clone() }
    }

    /// It has this name.
    pub fn is(&self, name: &Name) -> bool {
        self.user == name.user && self.host.eq_ignore_ascii_case(&name.host)
    }

    /// SHA256(SHA256(password)), when a login left it.
    pub fn fast_digest(&self) -> Option<FastDigest> {
        self.fast.get().copied()
    }

    /// A full login succeeded.
    pub fn remember(&self, digest: FastDigest) {
        let _ = self.fast.set(digest);
    }

    /// The account before its first full login.
    pub(super) fn without_digest(&self) -> Self {
        Self { fast: OnceLock::new(), ..self.clone() }
    }

    /// The account with something changed.
    pub fn changed(&self, change: impl FnOnce(&mut Account)) -> Self {
        let mut it = self.clone();
        change(&mut it);
        if it.secret != self.secret {
            it.fast = OnceLock::new();
            it.password_changed = now_s();
        }
        it
    }

    /// No password, and not locked.
    pub fn is_open(&self) -> bool {
        matches!(self.secret, Secret::Empty(_)) && !self.locked
    }

    /// What error 1045 says of a session of the account: it came with a password.
    pub fn used_password(&self) -> &'static str {
        if matches!(self.secret, Secret::Empty(_)) { "NO" } else { "YES" }
    }

    /// The password has to be changed before anything else. `default_days`: `default_password_lifetime`.
    pub fn must_change_password(&self, default_days: u64) -> bool {
        let days = self.policy.lifetime.map_or(default_days, u64::from);
        self.policy.expired || days > 0 && now_s() >= self.password_changed + days * 86_400
    }

    /// Rank among accounts that match: exact hosts before patterns, longer before shorter; named users before
    /// anonymous.
    pub(super) fn rank(&self) -> (usize, bool) {
        let wild = self.host.find(['%', '_']).unwrap_or(usize::MAX);
        (wild, !self.user.is_empty())
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let flags = u8::from(self.locked) | u8::from(self.policy.expired) << 1;
        let mut w = Writer(vec![5, plugin_number(self.secret.plugin()), flags]);
        w.u64(self.password_changed);
        w.bytes(&self.secret.to_authentication_string());
        w.set(self.grants.global);
        w.set(self.grants.grantable);
        let p = &self.policy;
        for n in [p.lifetime, p.history, p.reuse_days] {
            w.u16(n.unwrap_or(u16::MAX));
        }
        w.0.push(p.require_current.map_or(2, u8::from));
        let (kind, texts) = match &p.require {
            Require::None => (0, ["", "", ""]),
            Require::Ssl => (1, ["", "", ""]),
            Require::X509 => (2, ["", "", ""]),
            Require::Attributes { cipher, issuer, subject } => (3, [&**cipher, issuer, subject]),
        };
        w.0.push(kind);
        texts.iter().for_each(|t| w.text(t));
        p.limits.iter().for_each(|n| w.0.extend_from_slice(&n.to_le_bytes()));
        w.u16(p.attempts);
        w.0.extend_from_slice(&p.lock_days.to_le_bytes());
        w.text(&p.attributes);
        let g = &self.grants;
        w.list(&g.roles, |w, r| {
            w.name(&r.role);
            w.0.push(r.admin.into());
        });
        w.list(&g.default_roles, Writer::name);
        w.list(&g.schemas, |w, s| {
            w.text(&s.schema);
            w.set(s.privileges);
        });
        w.list(&g.tables, |w, t| {
            w.text(&t.schema);
            w.text(&t.table);
            w.set(t.privileges);
            w.text(&t.grantor);
            w.u64(t.at);
            w.list(&t.columns, |w, c| {
                w.text(&c.column);
                w.set(c.privileges);
            });
        });
        w.list(&g.routines, |w, r| {
            w.text(&r.schema);
            w.text(&r.name);
            w.0.push(r.function.into());
            w.set(r.privileges);
        });
        w.list(&p.previous, |w, p| {
            w.u64(p.at);
            w.0.push(plugin_number(p.plugin));
            w.bytes(&p.auth);
        });
        w.bytes(&self.second.as_ref().map(Secret::to_authentication_string).unwrap_or_default());
        w.list(&g.proxies, |w, p| {
            w.name(&p.proxied);
            w.0.push(p.option.into());
            w.text(&p.grantor);
            w.u64(p.at);
        });
        w.list(&g.restrictions, |w, r| {
            w.text(&r.schema);
            w.set(r.privileges);
        });
        w.0
    }

    pub(super) fn decode(name: &str, record: &[u8]) -> Option<Self> {
        let (user, host) = name.rsplit_once('@')?;
        let mut r = Record(Reader::new(record));
        let version = r.u8().filter(|v| matches!(v, 1..=5))?;
        let plugin = plugin(r.u8()?)?;
        let flags = r.u8()?;
        if version < 3 {
            let low = u128::from(r.u64()?);
            let high = if version == 1 { 0 } else { u128::from(r.u64()?) };
            let mut global = Privileges::from_bits(high << 64 | low);
            if global.has(Privilege::Super) {
                global = global.with(Privileges::all_dynamic());
            }
            let password_changed = r.u64()?;
            let secret = Secret::from_authentication_string(plugin, &r.bytes()?)?;
            let mut it = Self { locked: flags & 1 == 1, password_changed, ..Self::new(user, host, secret, global) };
            it.grants.grantable = if global.has(Privilege::GrantOption) { global } else { Privileges::NONE };
            return Some(it);
        }
        let password_changed = r.u64()?;
        let secret = Secret::from_authentication_string(plugin, &r.bytes()?)?;
        let mut it = Self { locked: flags & 1 == 1, password_changed, ..Self::new(user, host, secret, r.set()?) };
        it.grants.grantable = r.set()?;
        it.policy = r.policy(flags & 2 == 2)?;
        it.grants.roles = r.list(|r| Some(RoleGrant { role: r.name()?, admin: r.u8()? == 1 }))?;
        it.grants.default_roles = r.list(Record::name)?;
        it.grants.schemas = r.list(|r| Some(SchemaGrant { schema: r.text()?, privileges: r.set()? }))?;
        it.grants.tables = r.list(|r| {
            Some(TableGrant {
                schema: r.text()?,
                table: r.text()?,
                privileges: r.set()?,
                grantor: r.text()?,
                at: r.u64()?,
                columns: r.list(|r| Some(ColumnGrant { column: r.text()?, privileges: r.set()? }))?,
            })
        })?;
        it.grants.routines = r.list(|r| {
            Some(RoutineGrant { schema: r.text()?, name: r.text()?, function: r.u8()? == 1, privileges: r.set()? })
        })?;
        it.policy.previous =
            r.list(|r| Some(Previous { at: r.u64()?, plugin: plugin_of(r.u8()?)?, auth: r.bytes()? }))?;
        if version == 3 {
            let comment = std::mem::take(&mut it.policy.attributes);
            it.policy.set_comment(&comment).ok()?;
            return Some(it);
        }
        let second = r.bytes()?;
        it.second = if second.is_empty() { None } else { Some(Secret::from_authentication_string(plugin, &second)?) };
        if version == 4 {
            // The server's first account may pass PROXY on.
            if it.is(&Name::new("root", "localhost")) && it.grants.global.contains(Privileges::all()) {
                it.grants.proxies.push(ProxyGrant::of_anybody());
            }
            return Some(it);
        }
        it.grants.proxies = r.list(|r| {
            Some(ProxyGrant { proxied: r.name()?, option: r.u8()? == 1, grantor: r.text()?, at: r.u64()? })
        })?;
        it.grants.restrictions = r.list(|r| Some(Restriction { schema: r.text()?, privileges: r.set()? }))?;
        Some(it)
    }
}

fn plugin_number(p: Plugin) -> u8 {
    match p {
        Plugin::Native => 1,
        Plugin::Sha2 => 2,
        Plugin::Sha256 => 3,
    }
}

fn plugin_of(n: u8) -> Option<Plugin> {
    plugin(n)
}

fn plugin(n: u8) -> Option<Plugin> {
    match n {
        1 => Some(Plugin::Native),
        2 => Some(Plugin::Sha2),
        3 => Some(Plugin::Sha256),
        _ => None,
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn u16(&mut self, n: u16) {
        self.0.extend_from_slice(&n.to_le_bytes());
    }
    fn u64(&mut self, n: u64) {
        self.0.extend_from_slice(&n.to_le_bytes());
    }
    fn set(&mut self, p: Privileges) {
        self.0.extend_from_slice(&p.bits().to_le_bytes());
    }
    fn bytes(&mut self, b: &[u8]) {
        // Names and hashes are far shorter; longer ones were refused when they were set.
        let b = &b[..b.len().min(u16::MAX.into())];
        self.u16(b.len() as u16);
        self.0.extend_from_slice(b);
    }
    fn text(&mut self, s: &str) {
        self.bytes(s.as_bytes());
    }
    fn name(&mut self, n: &Name) {
        self.text(&n.user);
        self.text(&n.host);
    }
    fn list<T>(&mut self, items: &[T], mut each: impl FnMut(&mut Self, &T)) {
        let items = &items[..items.len().min(u16::MAX.into())];
        self.u16(items.len() as u16);
        items.iter().for_each(|i| each(self, i));
    }
}

struct Record<'a>(Reader<'a>);

impl Record<'_> {
    fn u8(&mut self) -> Option<u8> {
        self.0.u8().ok()
    }
    fn u16(&mut self) -> Option<u16> {
        self.0.u16().ok()
    }
    fn u32(&mut self) -> Option<u32> {
        self.0.u32().ok()
    }
    fn u64(&mut self) -> Option<u64> {
        self.0.u64().ok()
    }
    fn set(&mut self) -> Option<Privileges> {
        let low = u128::from(self.u64()?);
        Some(Privileges::from_bits(u128::from(self.u64()?) << 64 | low))
    }
    fn bytes(&mut self) -> Option<Vec<u8>> {
        let n = self.u16()?;
        self.0.bytes(n.into()).ok().map(<[u8]>::to_vec)
    }
    fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?).ok()
    }
    fn name(&mut self) -> Option<Name> {
        Some(Name { user: self.text()?, host: self.text()? })
    }
    fn list<T>(&mut self, mut each: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let n = self.u16()?;
        (0..n).map(|_| each(self)).collect()
    }

    fn policy(&mut self, expired: bool) -> Option<Policy> {
        let mut optional = || self.u16().map(|n| Some(n).filter(|n| *n != u16::MAX));
        let (lifetime, history, reuse_days) = (optional()?, optional()?, optional()?);
        let require_current = match self.u8()? {
            2 => None,
            n => Some(n == 1),
        };
        let kind = self.u8()?;
        let (cipher, issuer, subject) = (self.text()?, self.text()?, self.text()?);
        let require = match kind {
            0 => Require::None,
            1 => Require::Ssl,
            2 => Require::X509,
            3 => Require::Attributes { cipher, issuer, subject },
            _ => return None,
        };
        let limits = [self.u32()?, self.u32()?, self.u32()?, self.u32()?];
        Some(Policy {
            expired,
            lifetime,
            history,
            reuse_days,
            require_current,
            require,
            limits,
            attempts: self.u16()?,
            lock_days: self.u32()? as i32,
            attributes: self.text()?,
            previous: Vec::new(),
        })
    }
}

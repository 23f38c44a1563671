//! What every login has in common, whatever the protocol: which account a client may use, what that account
//! requires, how guessing is slowed down.

use super::{Account, Name, Origin, Require, Usage};
use crate::Core;
use crate::vars::Live;
use gannet_types::{Result, sql_err};
use gannet_wire::auth::{AuthContext, FastDigest, NONCE, Plugin, RsaKey, Secret, Verdict, check_password};
use gannet_wire::tls::Agreed;
use std::sync::Arc;

/// Is the connection what the account requires?
fn is_enough(require: &Require, tls: Option<&Agreed>) -> bool {
    let client = tls.and_then(|t| t.client.as_ref());
    match require {
        Require::None => true,
        Require::Ssl => tls.is_some(),
        Require::X509 => client.is_some(),
        Require::Attributes { cipher, issuer, subject } => {
            let named = |wanted: &str, got: Option<&str>| wanted.is_empty() || got == Some(wanted);
            tls.is_some()
                && named(cipher, tls.map(|t| &*t.cipher))
                && named(issuer, client.map(|c| &*c.issuer))
                && named(subject, client.map(|c| &*c.subject))
        }
    }
}

/// How a client has come, and what it can do.
#[derive(Clone, Copy, Default)]
pub struct Way<'a> {
    /// How its connection is encrypted, if it is.
    pub tls: Option<&'a Agreed>,
    /// It can set a new password in place of one that has expired.
    pub renews: bool,
}

/// A login: who a client says it is, and the account that belongs to that.
pub struct Attempt {
    /// The name that it gives.
    pub user: String,
    /// Where it comes from.
    pub origin: Origin,
    account: Option<Arc<Account>>,
}

/// What the exchange may ask of the server.
struct Context<'a> {
    server: &'a Core,
    account: Option<&'a Account>,
}

impl AuthContext for Context<'_> {
    fn cached(&self) -> Option<FastDigest> {
        self.account.and_then(Account::fast_digest)
    }
    fn remember(&self, digest: FastDigest) {
        if let Some(a) = self.account {
            a.remember(digest);
        }
    }
    fn second(&self) -> Option<&Secret> {
        self.account.and_then(|a| a.second.as_ref())
    }
    fn rsa_key(&self) -> Option<&RsaKey> {
        self.server.rsa_key()
    }
}

impl Attempt {
    /// Looks the account up.
    pub fn new(server: &Core, user: String, origin: Origin) -> Self {
        let account = match server.accounts.skipped() {
            true => Some(Arc::new(Account::unchecked())),
            false => server.accounts.find(&user, &origin),
        };
        Self { user, origin, account }
    }

    /// What the client has to prove that it knows. A name without an account is asked for the same.
    pub fn secret(&self) -> Secret {
        self.account.as_ref().map_or(Secret::Nobody(Plugin::Sha2), |a| a.secret.clone())
    }

    /// What an exchange of packets asks of the server.
    pub fn context<'a>(&'a self, server: &'a Core) -> impl AuthContext + 'a {
        Context { server, account: self.account.as_deref() }
    }

    /// It has failed: counts that for the user, if there is an account. (Names that anybody can think of are not kept.)
    pub fn is_denied(&self, server: &Core, host: &str) {
        if self.account.is_some() {
            server.registry.ledger.denied(&(self.user.clone(), host.to_owned()));
        }
    }

    /// The account, when the verdict admits it. After a wrong password it is held back for a while, longer each time.
    /// Errors 1045, 1251, 1820, 3032, 3118, 3955.
    pub fn admitted(&self, server: &Core, verdict: Verdict, way: Way<'_>) -> Result<Arc<Account>> {
        let (user, host) = (&self.user, self.origin.host());
        let denied = |yes: bool| sql_err!(AccessDenied, user, host, if yes { "YES" } else { "NO" });
        let limits = &server.accounts.limits;
        if let Some(a) = &self.account {
            limits.check_blocked(a, &host)?;
        }
        match (verdict, &self.account) {
            (Verdict::Accepted, Some(a)) => {
                limits.forgive(&a.id());
                self.admit(server, a, way)?;
                Ok(a.clone())
            }
            (Verdict::Denied { password }, account) => {
                // Guessing is slow: the answer is held back, longer each time. So is guessing names.
                let name = account.as_ref().map_or_else(|| Name::new(user, &host), |a| a.id());
                let held = limits.failed(name, account.as_deref());
                let _ = gannet_runtime::sleep(std::time::Duration::from_nanos(held));
                if let Some(a) = account {
                    limits.check_blocked(a, &host)?;
                }
                Err(denied(password))
            }
            (Verdict::Unsupported, _) => Err(sql_err!(NotSupportedAuthMode)),
            _ => Err(denied(true)),
        }
    }

    /// What else an account asks for, once the password is right.
    fn admit(&self, server: &Core, a: &Account, way: Way<'_>) -> Result<()> {
        let (user, host) = (&self.user, self.origin.host());
        if a.locked {
            return Err(sql_err!(AccountHasBeenLocked, user, host));
        }
        if !is_enough(&a.policy.require, way.tls) {
            return Err(sql_err!(AccessDenied, user, host, "YES"));
        }
        let globals = &server.globals;
        if globals.get(Live::OfflineMode).as_bool() && !a.grants.global.may_administer_connections() {
            return Err(sql_err!(ServerOfflineMode));
        }
        let days = globals.get(Live::DefaultPasswordLifetime).as_u64();
        if a.must_change_password(days) && !way.renews && globals.get(Live::DisconnectOnExpiredPassword).as_bool() {
            return Err(sql_err!(MustChangePasswordLogin));
        }
        Ok(())
    }
}

/// The account whose rights a login takes in place of its own: the first it has PROXY on, where `check_proxy_users`
/// and the variable of its plugin allow that. It may be locked, because no client logs in to it.
pub fn stands_in_for(server: &Core, own: &Account) -> Option<Arc<Account>> {
    let allowed = |id: Live| server.globals.get(id).as_bool();
    let of_plugin = match own.secret.plugin() {
        Plugin::Native => Live::NativeProxyUsers,
        Plugin::Sha256 => Live::Sha256ProxyUsers,
        Plugin::Sha2 => return None,
    };
    if own.grants.proxies.is_empty() || !allowed(Live::CheckProxyUsers) || !allowed(of_plugin) {
        return None;
    }
    own.grants.proxies.iter().find_map(|p| server.accounts.get(&p.proxied.user, &p.proxied.host))
}

/// Logs a client in that sends its password, in whatever protocol: with the delays and locks of MySQL's handshake,
/// where guessing is slow and a name without an account takes as long as a wrong password. May wait. Returns the
/// account whose rights the client has. Whether a password may travel over an open transport at all is for the
/// protocol to say; error 3159 where `require_secure_transport` forbids it. `secure`: nobody can listen.
///
/// Errors of [`Attempt::admitted`]; 1129 for a host that is blocked.
pub fn authenticate(
    server: &Core,
    (user, password): (&str, &[u8]),
    origin: Origin,
    secure: bool,
    way: Way<'_>,
) -> Result<Arc<Account>> {
    if !secure && server.globals.get(Live::RequireSecureTransport).as_bool() {
        return Err(sql_err!(SecureTransportRequired));
    }
    if let Origin::Remote(ip) = origin {
        server.accounts.limits.check_host(ip, server.globals.get(Live::MaxConnectErrors).as_u64())?;
    }
    let attempt = Attempt::new(server, user.into(), origin);
    let verdict = match server.accounts.skipped() {
        true => Verdict::Accepted,
        // The hash is slow: it must not hold up the other clients of this worker.
        false => gannet_runtime::run_blocking(|| check_password(&attempt.secret(), password, &attempt.context(server))),
    };
    let own = attempt.admitted(server, verdict, way)?;
    Ok(stands_in_for(server, &own).unwrap_or(own))
}

/// A challenge: random bytes, none of them 0 or `$`.
pub fn nonce() -> [u8; NONCE] {
    let mut bytes = [0; NONCE];
    for chunk in bytes.chunks_mut(8) {
        chunk.copy_from_slice(&gannet_runtime::random_u64().to_le_bytes()[..chunk.len()]);
    }
    for b in &mut bytes {
        *b = *b % 90 + b'%';
    }
    bytes
}

/// Counts a connection that begins against the account's limits.
pub fn count_connection(server: &Core, account: &Account) -> Result<Option<Arc<Usage>>> {
    let most = server.globals.get(Live::MaxUserConnections).as_u64();
    if account.policy.limits == [0; 4] && most == 0 {
        return Ok(None);
    }
    let usage = server.accounts.limits.usage(account);
    usage.take(account, 2)?;
    usage.take(account, 3)?;
    if account.policy.limits[3] == 0 && most != 0 && u64::from(usage.connections()) > most {
        usage.disconnect();
        return Err(sql_err!(TooManyUserConnections, account.user));
    }
    Ok(Some(usage))
}

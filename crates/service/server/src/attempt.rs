//! One authentication: which account a client may use, and what that account requires.

use gannet_core::Core;
use gannet_core::accounts::{Account, Name, Origin, Require};
use gannet_core::vars::Live;
use gannet_types::{Result, sql_err};
use gannet_wire::auth::{AuthContext, Exchange, FastDigest, NONCE, Plugin, RsaKey, Secret, Verdict};
use gannet_wire::flags::cap;
use gannet_wire::frame::Writer;
use gannet_wire::handshake::{self};
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

/// One authentication: of a new connection or of COM_CHANGE_USER.
pub(crate) struct Attempt {
    pub(crate) hello: handshake::Login,
    pub(crate) origin: Origin,
    account: Option<Arc<Account>>,
    exchange: Exchange,
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
    /// Looks the user up and starts the exchange.
    pub(crate) fn start(
        server: &Core,
        hello: handshake::Login,
        origin: Origin,
        nonce: [u8; NONCE],
        secure: bool,
        w: &mut Writer<'_>,
    ) -> Result<(Self, Verdict)> {
        let user = String::from_utf8_lossy(&hello.user).into_owned();
        if server.accounts.skipped() {
            // No password is asked for: the authentication exchange runs on buffers of its own, which are never sent.
            let account = Some(Arc::new(Account::unchecked()));
            let (mut unseen, mut sequence) = (Vec::new(), 0);
            let ctx = Context { server, account: None };
            let mut w = Writer::new(&mut unseen, &mut sequence);
            let secret = Secret::Empty(Plugin::Sha2);
            let (exchange, _) = Exchange::start(nonce, secure, secret, hello.plugin(), false, b"", &ctx, &mut w);
            return Ok((Self { hello, origin, account, exchange }, Verdict::Accepted));
        }
        let account = server.accounts.find(&user, &origin);
        let secret = account.as_ref().map_or(Secret::Nobody(Plugin::Sha2), |a| a.secret.clone());
        let ctx = Context { server, account: account.as_deref() };
        let may_switch = hello.capabilities & cap::PLUGIN_AUTH != 0;
        let (exchange, verdict) =
            Exchange::start(nonce, secure, secret, hello.plugin(), may_switch, &hello.response, &ctx, w);
        Ok((Self { hello, origin, account, exchange }, verdict))
    }

    /// Takes the client's next packet.
    pub(crate) fn feed(&mut self, server: &Core, packet: &[u8], w: &mut Writer<'_>) -> Result<Verdict> {
        // Slow hashing and key generation must not hold up the other connections of this worker.
        let (exchange, account) = (&mut self.exchange, self.account.as_deref());
        gannet_runtime::run_blocking(|| exchange.feed(packet, &Context { server, account }, w))
            .map_err(|_| sql_err!(Handshake))
    }

    pub(crate) fn hello_user(&self) -> String {
        String::from_utf8_lossy(&self.hello.user).into_owned()
    }

    /// The account, when the verdict admits it.
    pub(crate) fn admitted(&self, server: &Core, verdict: Verdict, tls: Option<&Agreed>) -> Result<Arc<Account>> {
        let (user, host) = (self.hello_user(), self.origin.host());
        let denied = |yes: bool| sql_err!(AccessDenied, user, host, if yes { "YES" } else { "NO" });
        let limits = &server.accounts.limits;
        if let Some(a) = &self.account {
            limits.check_blocked(a, &host)?;
        }
        match (verdict, &self.account) {
            (Verdict::Accepted, Some(a)) => {
                limits.forgive(&a.id());
                self.admit(server, a, tls)?;
                Ok(a.clone())
            }
            (Verdict::Denied { password }, account) => {
                // Guessing is slow: the answer is held back, longer each time. So is guessing names.
                let name = account.as_ref().map_or_else(|| Name::new(&user, &host), |a| a.id());
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

    /// What else an account asks for, once the password is right. `tls`: how the transport is encrypted.
    fn admit(&self, server: &Core, a: &Account, tls: Option<&Agreed>) -> Result<()> {
        let (user, host) = (self.hello_user(), self.origin.host());
        if a.locked {
            return Err(sql_err!(AccountHasBeenLocked, user, host));
        }
        if !is_enough(&a.policy.require, tls) {
            return Err(sql_err!(AccessDenied, user, host, "YES"));
        }
        let globals = &server.globals;
        if globals.get(Live::OfflineMode).as_bool() && !a.grants.global.may_administer_connections() {
            return Err(sql_err!(ServerOfflineMode));
        }
        let knows = self.hello.capabilities & cap::CAN_HANDLE_EXPIRED_PASSWORDS != 0;
        let days = globals.get(Live::DefaultPasswordLifetime).as_u64();
        if a.must_change_password(days) && !knows && globals.get(Live::DisconnectOnExpiredPassword).as_bool() {
            return Err(sql_err!(MustChangePasswordLogin));
        }
        Ok(())
    }
}

/// The account whose rights a login takes in place of its own: the first it has PROXY on, where `check_proxy_users`
/// and the variable of its plugin allow that. It may be locked, because no client logs in to it.
pub(crate) fn stands_in_for(server: &Core, own: &Account) -> Option<Arc<Account>> {
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

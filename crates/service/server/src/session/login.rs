//! Logging in: from the greeting to a session, and COM_CHANGE_USER.

use super::Session;
use super::client::Client;
use crate::server::Plans;
use gannet_core::Core;
use gannet_core::accounts::{Account, Name, Origin, Require, Usage};
use gannet_core::registry::{Entry, Who};
use gannet_core::vars::Live;
use gannet_telemetry::{Counter, count};
use gannet_types::{Result, SqlError, sql_err};
use gannet_wire::auth::{AuthContext, Exchange, FastDigest, NONCE, Plugin, RsaKey, Secret, Verdict};
use gannet_wire::compress::Algorithm;
use gannet_wire::flags::{cap, status};
use gannet_wire::frame::Writer;
use gannet_wire::handshake::{self, ClientHello, Greeting, SERVER_CAPABILITIES};
use gannet_wire::reply;
use gannet_wire::tls::{Agreed, Tls};
use std::sync::Arc;

/// What comes after a packet of a client that logs in.
pub(crate) enum LoginStep {
    /// Wait for its next packet.
    More,
    /// TLS comes first.
    Encrypt(Box<Tls>),
    /// It is in; OK is written.
    Ready(Box<Client>),
    /// It is out; the caller writes the error.
    Refused(SqlError),
}

/// A login under way.
pub(crate) struct Login {
    server: Arc<Core>,
    plans: Arc<Plans>,
    origin: Origin,
    /// The transport cannot be overheard.
    secure: bool,
    /// The client has asked for TLS.
    tls: bool,
    nonce: [u8; NONCE],
    capabilities: u32,
    attempt: Option<Attempt>,
}

/// What this server can do, as it is set up.
fn offered(server: &Core) -> u32 {
    let list = server.globals.get(Live::ProtocolCompressionAlgorithms);
    let (compressed, _) = compression(list.as_str()).unwrap_or_default();
    SERVER_CAPABILITIES | compressed | if server.tls.acceptor().is_some() { cap::SSL } else { 0 }
}

/// What `protocol_compression_algorithms` allows: capability bits, and whether clients may do without. `None`: it names
/// something else, or nothing.
pub(crate) fn compression(list: &str) -> Option<(u32, bool)> {
    let (mut bits, mut plain) = (0, false);
    for name in list.split(',').map(|n| n.trim().to_ascii_lowercase()) {
        match name.as_str() {
            "zlib" => bits |= cap::COMPRESS,
            "zstd" => bits |= cap::ZSTD_COMPRESSION,
            "uncompressed" => plain = true,
            _ => return None,
        }
    }
    Some((bits, plain))
}

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

/// A challenge: random bytes, none of them 0 or `$`.
pub(crate) fn nonce() -> [u8; NONCE] {
    let mut bytes = [0; NONCE];
    for chunk in bytes.chunks_mut(8) {
        chunk.copy_from_slice(&gannet_runtime::random_u64().to_le_bytes()[..chunk.len()]);
    }
    for b in &mut bytes {
        *b = *b % 90 + b'%';
    }
    bytes
}

impl Login {
    /// Writes the greeting.
    pub(crate) fn greet(
        server: Arc<Core>,
        plans: Arc<Plans>,
        origin: Origin,
        secure: bool,
        id: u64,
        out: &mut Vec<u8>,
        sequence: &mut u8,
    ) -> Self {
        let nonce = nonce();
        let collation = server.default_collation();
        let greeting = Greeting {
            version: server.facts.version.clone(),
            connection_id: id as u32,
            nonce,
            capabilities: offered(&server),
            collation: collation.min(255) as u8,
            status: status::AUTOCOMMIT,
            plugin: Plugin::Sha2.name().into(),
        };
        greeting.write(&mut Writer::new(out, sequence));
        Self { server, plans, origin, secure, tls: false, nonce, capabilities: 0, attempt: None }
    }

    /// Those agreed with the client, once it has spoken.
    pub(crate) fn capabilities(&self) -> u32 {
        self.capabilities
    }

    /// SSLRequest: what the client says next is TLS.
    fn encrypt(&mut self) -> Result<LoginStep> {
        let tls = self.server.tls.acceptor().and_then(|a| a.accept().ok());
        let tls = tls.ok_or_else(|| sql_err!(Handshake))?;
        count(Counter::SslAccepts);
        (self.secure, self.tls) = (true, true);
        Ok(LoginStep::Encrypt(Box::new(tls)))
    }

    /// Takes a packet.
    pub(crate) fn feed(
        &mut self,
        packet: &[u8],
        entry: &Arc<Entry>,
        out: &mut Vec<u8>,
        sequence: &mut u8,
    ) -> LoginStep {
        match self.step(packet, entry, out, sequence) {
            Ok(step) => step,
            Err(error) => LoginStep::Refused(error),
        }
    }

    fn step(&mut self, packet: &[u8], entry: &Arc<Entry>, out: &mut Vec<u8>, sequence: &mut u8) -> Result<LoginStep> {
        let verdict = match &mut self.attempt {
            Some(attempt) => attempt.feed(&self.server, packet, &mut Writer::new(out, sequence))?,
            None => {
                let hello = match ClientHello::read(packet).map_err(|_| sql_err!(Handshake))? {
                    ClientHello::Login(l) => l,
                    ClientHello::TooOld => return Err(sql_err!(NotSupportedAuthMode)),
                    ClientHello::StartTls { .. } if self.tls => return Err(sql_err!(Handshake)),
                    ClientHello::StartTls { .. } => return self.encrypt(),
                };
                self.capabilities = hello.capabilities & offered(&self.server);
                if !self.secure && self.server.globals.get(Live::RequireSecureTransport).as_bool() {
                    return Err(sql_err!(SecureTransportRequired));
                }
                let list = self.server.globals.get(Live::ProtocolCompressionAlgorithms);
                let may_do_without = compression(list.as_str()).is_none_or(|(_, plain)| plain);
                if !may_do_without && Algorithm::agreed(self.capabilities).is_none() {
                    return Err(sql_err!(WrongCompressionAlgorithmClient, "uncompressed"));
                }
                let mut w = Writer::new(out, sequence);
                let (attempt, verdict) =
                    Attempt::start(&self.server, hello, self.origin.clone(), self.nonce, self.secure, &mut w)?;
                self.attempt = Some(attempt);
                verdict
            }
        };
        if verdict == Verdict::More {
            return Ok(LoginStep::More);
        }
        let Some(attempt) = self.attempt.take() else { return Err(sql_err!(Handshake)) };
        let own = attempt.admitted(&self.server, verdict, entry.tls.get())?;
        let account = stands_in_for(&self.server, &own).unwrap_or_else(|| own.clone());
        let (server, plans) = (self.server.clone(), self.plans.clone());
        let mut session = Session::open(server, plans, entry.clone(), account, &attempt.hello, self.capabilities)?;
        session.came_as(&own);
        entry.set_who(Who {
            user: attempt.hello_user(),
            host: entry.who().host,
            database: session.state.database.clone(),
        });
        session.note_login("Connect", matches!(self.origin, Origin::Local(None)));
        session.greeted();
        let ok = reply::Ok { status: session.status_flags(), ..reply::Ok::default() };
        reply::ok(&mut Writer::new(out, sequence), self.capabilities, &ok);
        Ok(LoginStep::Ready(Box::new(Client::new(session, self.nonce))))
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
            // Nobody is asked: the exchange is one of its own, which nobody sees.
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

/// The account that a login takes the rights of in place of its own: the first it has PROXY on, where `check_proxy_users` and the
/// variable of its plugin say so. It may be locked: nobody logs in to it.
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

/// Counts a connection that begins against the account's limits.
pub(crate) fn count_connection(server: &Core, account: &Account) -> Result<Option<Arc<Usage>>> {
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

//! Logging in: from the greeting to a session, and COM_CHANGE_USER.

use crate::attempt::Attempt;
use crate::client::{Client, opening};
use crate::wire;
use gannet_core::Core;
use gannet_core::accounts::{Origin, nonce, stands_in_for};
use gannet_core::registry::{Entry, Who};
use gannet_core::vars::Live;
use gannet_session::Sessions;
use gannet_telemetry::{Counter, count};
use gannet_types::{Result, SqlError, sql_err};
use gannet_wire::auth::{NONCE, Plugin, Verdict};
use gannet_wire::compress::{self, Algorithm};
use gannet_wire::flags::{cap, status};
use gannet_wire::frame::Writer;
use gannet_wire::handshake::{ClientHello, Greeting, SERVER_CAPABILITIES};
use gannet_wire::reply;
use gannet_wire::tls::Tls;
use std::sync::Arc;

/// What follows a packet of a client that logs in.
pub(crate) enum LoginStep {
    /// Wait for its next packet.
    More,
    /// The client has asked for TLS, which is set up first.
    Encrypt(Box<Tls>),
    /// The client is logged in; OK is written.
    Ready(Box<Client>),
    /// It is out; the caller writes the error.
    Refused(SqlError),
}

/// A login under way.
pub(crate) struct Login {
    server: Arc<Core>,
    sessions: Arc<Sessions>,
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
    let (compressed, _) = compress::allowed(list.as_str()).unwrap_or_default();
    SERVER_CAPABILITIES | compressed | if server.tls.acceptor().is_some() { cap::SSL } else { 0 }
}

impl Login {
    /// Writes the greeting.
    pub(crate) fn greet(
        sessions: Arc<Sessions>,
        origin: Origin,
        secure: bool,
        id: u64,
        out: &mut Vec<u8>,
        sequence: &mut u8,
    ) -> Self {
        let (server, nonce) = (sessions.core().clone(), nonce());
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
        Self { server, sessions, origin, secure, tls: false, nonce, capabilities: 0, attempt: None }
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
                let may_do_without = compress::allowed(list.as_str()).is_none_or(|(_, plain)| plain);
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
        let denied = |_: &_| attempt.login.is_denied(&self.server, entry.host());
        let own = attempt.admitted(&self.server, verdict, entry.tls.get()).inspect_err(denied)?;
        let account = stands_in_for(&self.server, &own).unwrap_or_else(|| own.clone());
        let opening = opening(&attempt.hello, self.capabilities);
        let mut session = self.sessions.open(entry.clone(), account, &opening)?;
        session.came_as(&own);
        let who = Who { user: attempt.hello_user(), host: entry.who().host, database: session.state.database.clone() };
        self.server.registry.known_as(entry, who);
        session.note_login("Connect", matches!(self.origin, Origin::Local(None)));
        session.greeted();
        let status = wire::word(session.status());
        let ok = reply::Ok { status, ..reply::Ok::default() };
        reply::ok(&mut Writer::new(out, sequence), self.capabilities, &ok);
        Ok(LoginStep::Ready(Box::new(Client::new(session, self.nonce, self.capabilities))))
    }
}

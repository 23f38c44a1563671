//! A connection: packets in, replies out, from the greeting to the end.

use crate::client::{Client, LOGIN_PACKET};
use crate::exchange::frame_error;
use crate::login::{Login, LoginStep};
use crate::transport;
use gannet_core::Core;
use gannet_core::accounts::Origin;
use gannet_core::accounts::hosts::Failure;
use gannet_core::registry::{Activity, Entry};
use gannet_core::statement_log::{Argument, Sender};
use gannet_core::tls::{Handshake, shake_hands};
use gannet_core::vars::Live;
use gannet_runtime::{Conn, Factory, Interrupt, Next, Panicked, Peer, Ready, Service, TaskContext, Waker, now_ns};
use gannet_session::Sessions;
use gannet_session::text::in_log;
use gannet_telemetry::{Counter, add, count, note_connections, sub};
use gannet_types::{ErrorCode, SqlError, sql_err};
use gannet_wire::compress::Algorithm;
use gannet_wire::frame::{self, Decoder, Fed, Writer};
use gannet_wire::reply;
use gannet_wire::tls::Tls;
use std::sync::Arc;

/// Makes a [`Connection`] for each client.
pub(crate) struct Connections {
    pub(crate) sessions: Arc<Sessions>,
}

impl Factory for Connections {
    fn connect(&self, peer: &Peer, context: &TaskContext) -> Option<Box<dyn Service>> {
        Some(Box::new(Connection::new(self.sessions.clone(), peer, context)))
    }
}

/// Bytes of replies that are collected while further commands are there already.
const MOST_REPLIES: usize = 64 * 1024;

/// How long the last packet of a connection may take.
const LAST_WORDS_NS: u64 = 1_000_000_000;

/// A client's connection.
pub(crate) struct Connection {
    server: Arc<Core>,
    sessions: Arc<Sessions>,
    entry: Arc<Entry>,
    decoder: Decoder,
    sequence: u8,
    phase: Phase,
    started_ns: u64,
    /// Part of a packet has arrived: the client has `net_read_timeout` for the rest.
    partial: bool,
    /// The client knows why its connection ends.
    told: bool,
    /// Bytes of a long packet that count with the memory of statements while the rest is on its way.
    held: usize,
    /// Requests are moved here, so that the connection's buffer is free while they are served.
    request: Vec<u8>,
}

enum Phase {
    /// Nothing sent yet.
    Greet,
    /// Greeting sent, or deep in an authentication exchange.
    Login(Box<Login>),
    /// The client has asked for TLS: its handshake is under way.
    Encrypt(Box<Tls>, Box<Login>),
    Ready(Box<Client>),
    /// Refused before the greeting.
    Refuse(SqlError),
    Over,
}

impl Connection {
    pub(crate) fn new(sessions: Arc<Sessions>, peer: &Peer, context: &TaskContext) -> Self {
        let server = sessions.core().clone();
        let origin = origin(peer);
        let host = match peer {
            Peer::Tcp { peer, .. } if matches!(origin, Origin::Local(_)) => format!("localhost:{}", peer.port()),
            Peer::Tcp { peer, .. } => peer.to_string(),
            Peer::Unix { .. } => "localhost".into(),
        };
        let address = match peer {
            Peer::Tcp { peer, .. } => peer.ip().to_canonical().to_string(),
            Peer::Unix { .. } => String::new(),
        };
        let (entry, connected) = server.registry.enter(context.clone(), host, address);
        count(Counter::Connections);
        add(Counter::ThreadsConnected, 1);
        note_connections(connected as u64, gannet_runtime::WallTime::now().micros());
        // One connection more than the limit is let in for administrators; login decides.
        let limit = server.globals.get(Live::MaxConnections).as_u64() as usize;
        let waiting = most_waiting(&server, limit);
        if connected > waiting {
            server.registry.make_room(waiting);
        }
        let most = server.globals.get(Live::MaxConnectErrors).as_u64();
        let blocked = match origin {
            Origin::Remote(ip) => server.accounts.limits.check_host(ip, most).err(),
            Origin::Local(_) => None,
        };
        let remote = match origin {
            Origin::Remote(ip) => Some(ip),
            Origin::Local(_) => None,
        };
        let failed = |why| remote.iter().for_each(|ip| server.accounts.limits.hosts.failed(*ip, why));
        let phase = if let Some(error) = blocked {
            failed(Failure::Blocked);
            Phase::Refuse(error)
        } else if server.registry.inside() > limit {
            count(Counter::ConnectionErrorsMaxConnections);
            failed(Failure::Local);
            Phase::Refuse(sql_err!(ConCount))
        } else if server.shutting_down() {
            Phase::Refuse(sql_err!(ServerShutdown))
        } else {
            Phase::Greet
        };
        Self {
            server,
            sessions,
            entry,
            decoder: Decoder::new(LOGIN_PACKET),
            sequence: 0,
            phase,
            started_ns: now_ns(),
            partial: false,
            told: false,
            held: 0,
            request: Vec::new(),
        }
    }

    fn connect_timeout_s(&self) -> u64 {
        self.server.globals.get(Live::ConnectTimeout).as_u64()
    }

    fn deadline(&self, conn: &mut Conn) {
        let seconds = match &self.phase {
            Phase::Ready(client) => client.session.net_read_timeout_s(),
            _ => return conn.set_deadline(Some(self.started_ns + self.connect_timeout_s() * 1_000_000_000)),
        };
        conn.set_deadline(Some(now_ns() + seconds * 1_000_000_000));
    }

    /// Moves the next whole request into `self.request`. `None`: not there yet.
    fn next_request(&mut self, conn: &mut Conn) -> Result<bool, SqlError> {
        if conn.buffered().is_empty() {
            return Ok(false);
        }
        loop {
            match self.decoder.feed(conn.buffered(), &mut self.sequence).map_err(frame_error)? {
                Fed::InPlace { payload, consumed } => {
                    self.request.clear();
                    self.request.extend_from_slice(&conn.buffered()[payload]);
                    conn.consume(consumed);
                    return Ok(true);
                }
                Fed::Assembled { consumed } => {
                    conn.consume(consumed);
                    self.request = self.decoder.take_assembled();
                    self.give_back();
                    return Ok(true);
                }
                Fed::Partial { consumed: 0, .. } => return Ok(false),
                Fed::Partial { consumed, .. } => {
                    // Inside a long packet: stay until it is whole, within net_read_timeout between two arrivals.
                    conn.consume(consumed);
                    self.hold(conn.buffered().len())?;
                    self.deadline(conn);
                    match conn.fill() {
                        Ok(0) => return Err(sql_err!(NetRead)),
                        Ok(_) => {}
                        Err(e) if e.kind() == std::io::ErrorKind::TimedOut => return Err(sql_err!(NetReadInterrupted)),
                        Err(_) => return Err(sql_err!(NetRead)),
                    }
                }
            }
        }
    }

    /// Takes memory for what has arrived of a long packet; `buffered` bytes of it, or behind it, are still in the
    /// buffer. Error 1041: all sessions together hold too much.
    fn hold(&mut self, buffered: usize) -> Result<(), SqlError> {
        let Phase::Ready(client) = &mut self.phase else { return Ok(()) };
        let more = (self.decoder.assembled().len() + buffered).saturating_sub(self.held);
        if more > 0 && !client.session.state.held.take(more, usize::MAX) {
            return Err(sql_err!(OutOfResources));
        }
        self.held += more;
        Ok(())
    }

    /// The packet is there: from now on it counts as what its statement makes of it.
    fn give_back(&mut self) {
        let held = std::mem::take(&mut self.held);
        if let Phase::Ready(client) = &mut self.phase {
            client.session.state.held.give(held);
        }
    }

    fn one(&mut self, conn: &mut Conn) -> Next {
        match &mut self.phase {
            Phase::Ready(client) => {
                let request = std::mem::take(&mut self.request);
                let next = client.command(&request, conn, &mut self.sequence);
                self.request = request;
                if !matches!(next, Next::Later(_)) {
                    self.replied(conn);
                }
                next
            }
            Phase::Login(login) => {
                self.server.registry.speaks(&self.entry);
                let step = login.feed(&self.request, &self.entry, conn.out(), &mut self.sequence);
                self.stepped(step, conn)
            }
            _ => Next::Close,
        }
    }

    /// A command's reply is written.
    fn replied(&mut self, conn: &mut Conn) {
        // Each command starts a new exchange.
        self.sequence = 0;
        if let Phase::Ready(client) = &self.phase
            && conn.may_wait()
        {
            // The deadline of an earlier one must not end this reply's way.
            conn.set_deadline(Some(now_ns() + client.session.write_timeout_ns()));
        }
    }

    fn stepped(&mut self, step: LoginStep, conn: &mut Conn) -> Next {
        match step {
            LoginStep::More => Next::Idle,
            LoginStep::Encrypt(tls) => {
                self.phase = match std::mem::replace(&mut self.phase, Phase::Greet) {
                    Phase::Login(login) => Phase::Encrypt(tls, login),
                    other => other,
                };
                Next::Idle
            }
            LoginStep::Ready(client) => {
                self.note_handshake(conn, true);
                self.decoder.set_limit(client.session.max_packet());
                if let Some(algorithm) = Algorithm::agreed(client.capabilities()) {
                    // OK itself is not compressed.
                    if conn.flush().is_err() {
                        return Next::Close;
                    }
                    let _ = self.entry.compression.set(algorithm);
                    self.decoder.set_lenient(true);
                    transport::compress(conn, algorithm, client.session.max_packet());
                }
                self.phase = Phase::Ready(client);
                self.sequence = 0;
                self.entry.idle(now_ns());
                Next::Idle
            }
            LoginStep::Refused(error) => {
                if error.code() == ErrorCode::Handshake {
                    self.note_handshake(conn, false);
                }
                self.note_failure(conn, Failure::of(&error));
                self.say(conn, &error);
                if self.server.logs.general() {
                    let (now, id) = (gannet_runtime::WallTime::now().micros(), self.entry.id);
                    let who = self.entry.who();
                    let (user, host, address) = (&*who.user, self.entry.host(), &*self.entry.address);
                    let sender = Sender { id, user, host, address, ..Sender::default() };
                    self.server.logs.write_general(now, &sender, "Connect", Argument::Words(error.message()));
                }
                count(Counter::AbortedConnects);
                Next::Close
            }
        }
    }

    /// Feeds the client's bytes to its TLS handshake. At the end of it, TLS is put around the connection. `false`:
    /// there is nothing to read yet, or never will be.
    fn shake_hands(&mut self, conn: &mut Conn) -> Result<bool, Next> {
        if !matches!(self.phase, Phase::Encrypt(..)) {
            return Ok(true);
        }
        let Phase::Encrypt(tls, login) = std::mem::replace(&mut self.phase, Phase::Greet) else { return Ok(true) };
        match shake_hands(tls, conn) {
            Handshake::GoesOn(tls) => {
                self.phase = Phase::Encrypt(tls, login);
                Ok(false)
            }
            Handshake::Done(agreed) => {
                count(Counter::SslFinishedAccepts);
                if agreed.resumed {
                    count(Counter::SslSessionsReused);
                }
                let _ = self.entry.tls.set(agreed);
                self.phase = Phase::Login(login);
                Ok(true)
            }
            Handshake::Failed => {
                self.note_handshake(conn, false);
                self.note_failure(conn, Failure::Tls);
                count(Counter::AbortedConnects);
                Err(Next::Close)
            }
        }
    }

    /// The connection ends because its client was silent for too long. (That it vanished just then cannot be told
    /// apart, and does no harm.)
    fn timed_out(&self, conn: &Conn) -> bool {
        const SLACK_NS: u64 = 50_000_000;
        let (activity, since_ns) = self.entry.activity();
        let silent_ns = now_ns().saturating_sub(since_ns);
        let due_ns = u64::from(self.idle_timeout_s()).saturating_mul(1_000_000_000);
        activity == Activity::Sleep
            && !self.told
            && conn.context().pending().is_none()
            && silent_ns + SLACK_NS >= due_ns
    }

    /// Ends the connection's registration. Idempotent.
    fn leave(&mut self) {
        if !matches!(std::mem::replace(&mut self.phase, Phase::Over), Phase::Over) {
            self.server.registry.leave(self.entry.id);
            sub(Counter::ThreadsConnected, 1);
        }
    }

    /// `max_connect_errors` counts handshakes that break off.
    fn note_handshake(&self, conn: &Conn, good: bool) {
        if let Origin::Remote(ip) = origin(conn.peer()) {
            self.server.accounts.limits.handshake(ip, good);
        }
    }

    fn note_failure(&self, conn: &Conn, why: Failure) {
        if let Origin::Remote(ip) = origin(conn.peer()) {
            self.server.accounts.limits.hosts.failed(ip, why);
        }
    }

    /// Writes an error outside any command.
    fn say(&mut self, conn: &mut Conn, error: &SqlError) {
        let capabilities = match &self.phase {
            Phase::Ready(client) => client.capabilities(),
            Phase::Login(login) => login.capabilities(),
            _ => 0,
        };
        self.told = true;
        // A deadline of the exchange before must not keep the client from hearing it.
        conn.set_deadline(Some(now_ns() + LAST_WORDS_NS));
        let mut w = Writer::new(conn.out(), &mut self.sequence);
        reply::err(&mut w, capabilities, error.number(), &error.sqlstate(), error.message());
    }
}

/// Connections that may wait for their clients to log in. They have descriptors, or threads, beside those of `limit`
/// sessions.
fn most_waiting(server: &Core, limit: usize) -> usize {
    const LEAST: usize = 32;
    const MOST: usize = 4096;
    let spare = match server.globals.get(Live::ThreadHandling).as_str() {
        "one-thread-per-connection" => gannet_runtime::ListenerOptions::default().max_threads,
        _ => server.globals.get(Live::OpenFilesLimit).as_u64() as usize,
    };
    limit.min(MOST).min(spare.saturating_sub(limit)).max(LEAST)
}

impl Drop for Connection {
    /// A listener that finds no thread for a connection drops it without calling `closed`; it must not count for ever.
    fn drop(&mut self) {
        self.leave();
    }
}

fn origin(peer: &Peer) -> Origin {
    match peer {
        Peer::Unix { .. } => Origin::Local(None),
        Peer::Tcp { peer, .. } => {
            let ip = peer.ip().to_canonical();
            if ip.is_loopback() { Origin::Local(Some(ip)) } else { Origin::Remote(ip) }
        }
    }
}

/// What the log says of a panic: the connection, the place, and the statement without its literals, which may be
/// passwords.
fn panic_line(id: u64, panic: &Panicked<'_>, statement: &[u8], mode: gannet_parser::LexMode) -> String {
    format!("Connection {id} is closed: {panic}; {}", in_log(statement, mode))
}

impl Service for Connection {
    fn ready(&mut self, buffered: &[u8]) -> Ready {
        match &self.phase {
            Phase::Greet | Phase::Refuse(_) => return Ready::Serve,
            Phase::Over => return Ready::Close,
            Phase::Login(_) | Phase::Encrypt(..)
                if now_ns() - self.started_ns > self.connect_timeout_s() * 1_000_000_000 =>
            {
                count(Counter::AbortedConnects);
                return Ready::Close;
            }
            Phase::Encrypt(..) => return if buffered.is_empty() { Ready::NeedMore } else { Ready::Serve },
            _ => {}
        }
        self.partial = !buffered.is_empty();
        let Ok((len, _)) = frame::header(buffered) else { return Ready::NeedMore };
        if len <= frame::IN_PLACE && buffered.len() < frame::HEADER + len {
            return Ready::NeedMore;
        }
        if let Phase::Ready(client) = &self.phase {
            client.session.prefetch();
        }
        Ready::Serve
    }

    fn serve(&mut self, conn: &mut Conn) -> Next {
        self.partial = false;
        if let Phase::Refuse(error) = &self.phase {
            let error = error.clone();
            self.say(conn, &error);
            return Next::Close;
        }
        if matches!(self.phase, Phase::Greet) {
            self.deadline(conn);
            let login = Login::greet(
                self.sessions.clone(),
                origin(conn.peer()),
                matches!(conn.peer(), Peer::Unix { .. }),
                self.entry.id,
                conn.out(),
                &mut self.sequence,
            );
            self.phase = Phase::Login(Box::new(login));
        }
        loop {
            match self.shake_hands(conn) {
                Ok(true) => {}
                Ok(false) => return Next::Idle,
                Err(next) => return next,
            }
            match self.next_request(conn) {
                Ok(true) => {}
                Ok(false) => return Next::Idle,
                Err(error) => {
                    count(Counter::AbortedClients);
                    self.entry.is_lost();
                    if error.code() != ErrorCode::NetRead {
                        self.say(conn, &error);
                    }
                    return Next::Close;
                }
            }
            let next = self.one(conn);
            // Replies to many commands at once are sent before they are many.
            if next == Next::Idle && conn.out().len() > MOST_REPLIES && conn.flush().is_err() {
                return Next::Close;
            }
            // An idle connection keeps no large buffer.
            if self.request.capacity() > 4096 && conn.buffered().is_empty() {
                self.request = Vec::new();
            }
            if next != Next::Idle {
                return next;
            }
        }
    }

    fn hasten(&mut self) {
        if let Phase::Ready(client) = &self.phase {
            gannet_session::later::hasten(&client.session);
        }
    }

    fn resume(&mut self, conn: &mut Conn, waker: &Waker) -> Option<Next> {
        let Phase::Ready(client) = &mut self.phase else { return Some(Next::Close) };
        let next = client.resume(conn, &mut self.sequence, waker)?;
        self.replied(conn);
        Some(next)
    }

    fn closed(&mut self, conn: &mut Conn) {
        if matches!(self.phase, Phase::Login(_) | Phase::Encrypt(..)) {
            // Who was told why has not broken it off: a wrong password is none of `max_connect_errors`.
            if !self.told {
                self.note_handshake(conn, false);
                count(Counter::AbortedConnectsPreauth);
                self.note_failure(conn, Failure::Handshake);
            }
        }
        if matches!(self.phase, Phase::Greet | Phase::Login(_))
            && conn.context().pending() == Some(Interrupt::Connection)
        {
            // It had to make room for others.
            count(Counter::ConnectionErrorsMaxConnections);
            self.say(conn, &sql_err!(ConCount));
        }
        if let Phase::Ready(client) = &mut self.phase {
            let mut farewell = client.session.farewell(conn);
            if farewell.is_none() && self.timed_out(conn) {
                farewell =
                    Some(if self.partial { sql_err!(NetReadInterrupted) } else { sql_err!(ClientInteractionTimeout) });
                count(Counter::AbortedClients);
                self.entry.is_lost();
            }
            if let Some(error) = farewell {
                self.say(conn, &error);
            }
            if let Phase::Ready(client) = &mut self.phase {
                client.end();
            }
        }
        self.leave();
    }

    fn panicked(&mut self, panic: &Panicked<'_>) {
        let text = self.entry.info().unwrap_or_default();
        let mode = match &self.phase {
            Phase::Ready(client) => gannet_session::text::lex_mode(client.session.settings.exec.sql_mode),
            _ => gannet_session::text::lex_mode(gannet_types::SqlMode::DEFAULT),
        };
        self.server.log.error(panic_line(self.entry.id, panic, text.bytes(), mode));
    }

    fn idle_timeout_s(&self) -> u32 {
        let seconds = match &self.phase {
            Phase::Ready(client) if self.partial => client.session.net_read_timeout_s(),
            Phase::Ready(client) => client.session.idle_timeout_s(),
            _ => self.connect_timeout_s(),
        };
        u32::try_from(seconds).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_types::SqlMode;

    #[test]
    fn a_panic_is_logged_without_literals() {
        let panic = Panicked { doing: "serving a connection", place: "src/a.rs:1:2", what: "index out of bounds" };
        let mode = gannet_session::text::lex_mode(SqlMode::DEFAULT);
        let line = panic_line(7, &panic, b"CREATE USER u IDENTIFIED BY 'secret' COMMENT 'x'", mode);
        let head = "Connection 7 is closed: a panic while serving a connection, at src/a.rs:1:2: index out of bounds; its statement: ";
        assert!(line.starts_with(head), "{line}");
        assert!(line.contains("IDENTIFIED BY ?") && !line.contains("secret"), "{line}");
        let digest = gannet_functions::sha256_hex("CREATE SYSTEM_USER `u` IDENTIFIED BY ? COMMENT ?".as_bytes());
        assert!(line.ends_with(&format!("(digest {digest})")), "{line}");
        // A text that ends inside of a literal, and none at all.
        for text in [&b"SET PASSWORD = 'secret"[..], b"SELECT \"secret", b"SELECT x'secret", b""] {
            let line = panic_line(7, &panic, text, mode);
            assert!(line.starts_with(head) && !line.contains("secret"), "{line}");
        }
    }
}

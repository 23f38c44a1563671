//! A connection: bytes in, answers out. All whole requests that are there are served in one turn. Their changes are
//! committed one by one, and their answers are held until the log has all of them.

use crate::Shared;
use crate::client::Client;
use crate::login::{self, Login};
use crate::seen::Seen;
use crate::{meta, text};
use gannet_core::accounts::{Usage, count_connection};
use gannet_core::registry::{Entry, Who};
use gannet_core::tls::{Handshake, shake_hands};
use gannet_core::vars::Live;
use gannet_exec::spill::{Held, SessionSpace};
use gannet_runtime::{Conn, Factory, Next, Panicked, Peer, Ready, Service, TaskContext, Wait, Waker, now_ns};
use gannet_telemetry::{Counter, add, count, sub};
use gannet_types::{Result, SqlError};
use gannet_wire::memcached::parse::{Parser, Step};
use gannet_wire::tls::Tls;
use std::sync::Arc;

/// Bytes of answers that are collected while further requests are there already.
const MOST_ANSWERS: usize = 64 << 10;
/// Bytes of a request that has not come as a whole which are not accounted for.
const SMALL: usize = 16 << 10;
/// Commands that are served without a look at the clock, while they are small.
const SMALL_ONES: u32 = 8;
/// The first byte of every request of the binary protocol, which is not served.
const BINARY: u8 = 0x80;

/// Makes a [`Connection`] for each client.
pub(crate) struct Connections {
    pub(crate) shared: Arc<Shared>,
    /// Clients speak TLS.
    pub(crate) tls: bool,
}

impl Factory for Connections {
    fn connect(&self, peer: &Peer, context: &TaskContext) -> Option<Box<dyn Service>> {
        let shared = self.shared.clone();
        let tls = match self.tls {
            true => Some(shared.core.tls.acceptor()?.accept().ok()?),
            false => None,
        };
        Some(Box::new(Connection::new(shared, tls, peer, context)))
    }
}

impl Connections {
    /// A connection without TLS.
    pub(crate) fn open(&self, peer: &Peer, context: &TaskContext) -> Box<dyn Service> {
        Box::new(Connection::new(self.shared.clone(), None, peer, context))
    }
}

enum Phase {
    /// The handshake of TLS is under way.
    Encrypt(Box<Tls>),
    /// The client has to log in.
    Login,
    Ready,
    /// There are too many.
    Refuse,
}

struct Connection {
    entry: Arc<Entry>,
    client: Client,
    parser: Parser,
    phase: Phase,
    /// A login needs so many bytes.
    need: usize,
    /// Answers that wait for the log.
    answers: Vec<u8>,
    /// Memory of a request of which a part has come.
    held: Held,
    usage: Option<Arc<Usage>>,
    seen: Seen,
    /// The client said `quit`, or something after which there is no more.
    closes: bool,
    over: bool,
}

impl Connection {
    fn new(shared: Arc<Shared>, tls: Option<Tls>, peer: &Peer, context: &TaskContext) -> Connection {
        let core = shared.core.clone();
        let entry = core.registry.enter_own(context.clone(), "memcached", "");
        let host = match peer {
            Peer::Tcp { peer, .. } => peer.to_string(),
            Peer::Unix { .. } => "localhost".into(),
        };
        core.registry.known_as(&entry, Who { user: "memcached".into(), host, database: None });
        count(Counter::MemcachedTotalConnections);
        add(Counter::MemcachedCurrConnections, 1);
        let most = core.globals.get(Live::MemcachedMaxConnections).as_u64();
        let phase = match tls {
            _ if shared.enter() > most => {
                count(Counter::MemcachedRejectedConnections);
                Phase::Refuse
            }
            Some(tls) => Phase::Encrypt(Box::new(tls)),
            None if shared.logs_in() => Phase::Login,
            None => Phase::Ready,
        };
        let space = Arc::new(SessionSpace::new(core.temp.clone(), entry.memory.clone()));
        Connection {
            client: Client::new(shared, entry.id, space.clone()),
            held: Held::new(space),
            entry,
            parser: Parser::default(),
            phase,
            need: 0,
            answers: Vec::new(),
            usage: None,
            seen: Seen::default(),
            closes: false,
            over: false,
        }
    }

    /// Feeds the client's bytes to its TLS handshake. `false`: there is nothing to serve yet.
    fn shake_hands(&mut self, conn: &mut Conn) -> std::result::Result<bool, Next> {
        if !matches!(self.phase, Phase::Encrypt(_)) {
            return Ok(true);
        }
        let next = if self.client.shared.logs_in() { Phase::Login } else { Phase::Ready };
        let Phase::Encrypt(tls) = std::mem::replace(&mut self.phase, next) else { return Ok(true) };
        match shake_hands(tls, conn) {
            Handshake::GoesOn(tls) => {
                self.phase = Phase::Encrypt(tls);
                Ok(false)
            }
            Handshake::Done(agreed) => {
                let _ = self.entry.tls.set(agreed);
                Ok(true)
            }
            Handshake::Failed => Err(Next::Close),
        }
    }

    /// The client logs in. `false`: it has to go on with that.
    fn log_in(&mut self, conn: &mut Conn) -> bool {
        while matches!(self.phase, Phase::Login) {
            let mut out = std::mem::take(conn.out());
            let login = login::feed(&mut self.client, conn.buffered(), conn.peer(), self.entry.tls.get(), &mut out);
            *conn.out() = out;
            match login {
                Login::More(need) => {
                    self.need = need;
                    return false;
                }
                Login::Done(used, inside) => {
                    self.need = 0;
                    conn.consume(used);
                    if inside && let Err(e) = self.comes_in() {
                        text::told(&e, conn.out());
                        self.closes = true;
                        return false;
                    }
                    if !inside && conn.buffered().is_empty() {
                        return false;
                    }
                }
                Login::Close => {
                    self.closes = true;
                    return false;
                }
            }
        }
        true
    }

    /// Errors 1203, 1226: the account has too many connections.
    fn comes_in(&mut self) -> Result<()> {
        let Some(account) = &self.client.account else { return Err(SqlError::internal("a login without an account")) };
        let core = &self.client.shared.core;
        self.usage = count_connection(core, account)?;
        let host = self.entry.who().host;
        core.registry.known_as(&self.entry, Who { user: account.user.to_string(), host, database: None });
        self.phase = Phase::Ready;
        Ok(())
    }

    /// Serves what is there, up to a bound on the answers. Returns how many bytes it used, and whether there may be
    /// more.
    fn some(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> (usize, bool) {
        let most = self.client.shared.settings.item_size_max();
        let (mut at, mut small) = (0, 0);
        while !self.closes {
            if out.len() > MOST_ANSWERS {
                return (at, true);
            }
            match self.parser.next(&bytes[at..], most) {
                Step::More => {
                    self.hold(out);
                    break;
                }
                Step::Command { command, used } => {
                    self.seen.begin(&self.entry, &command);
                    let mark = out.len();
                    match command.is_meta() {
                        true => meta::serve(&mut self.client, &command, out),
                        false => text::serve(&mut self.client, &command, out),
                    }
                    self.seen.end(&self.client.shared, &self.entry, (&out[mark..], self.client.now.us));
                    at += used;
                }
                Step::Refused { answer, used } => {
                    if !answer.is_empty() {
                        text::line(out, answer);
                    }
                    at += used;
                }
                Step::Close { answer } => {
                    if !answer.is_empty() {
                        text::line(out, answer);
                    }
                    self.closes = true;
                }
            }
            // To look at the clock costs as much as a good part of a small command.
            small += 1;
            if small == SMALL_ONES || out.len() > SMALL || at > SMALL {
                small = 0;
                gannet_runtime::yield_if_due();
            }
        }
        (at, false)
    }

    /// Takes memory for a request of which a part has come; without it the request is dropped.
    fn hold(&mut self, out: &mut Vec<u8>) {
        let need = self.parser.needed();
        if need <= SMALL {
            return self.held.give(self.held.bytes());
        }
        let more = need.saturating_sub(self.held.bytes());
        if more > 0 && !self.held.take(more, usize::MAX) {
            text::line(out, "SERVER_ERROR out of memory storing object");
            self.closes = !self.parser.give_up();
        }
    }

    /// The log has failed: nobody knows what became of the changes.
    fn lost(&mut self, out: &mut Vec<u8>, e: &SqlError) {
        out.clear();
        text::told(e, out);
        self.closes = true;
    }

    fn next(&self) -> Next {
        if self.closes { Next::Close } else { Next::Idle }
    }

    fn leave(&mut self) {
        if !std::mem::replace(&mut self.over, true) {
            self.client.shared.core.registry.leave(self.entry.id);
            self.client.shared.leave();
            sub(Counter::MemcachedCurrConnections, 1);
            if let Some(usage) = self.usage.take() {
                usage.disconnect();
            }
        }
    }
}

impl Service for Connection {
    fn ready(&mut self, buffered: &[u8]) -> Ready {
        match &self.phase {
            Phase::Refuse => Ready::Serve,
            Phase::Encrypt(_) if !buffered.is_empty() => Ready::Serve,
            Phase::Login if buffered.len() >= self.need.max(1) => Ready::Serve,
            Phase::Ready if buffered.first() == Some(&BINARY) && self.parser.is_between() => {
                self.client.shared.tell_of_binary();
                Ready::Close
            }
            Phase::Ready if self.parser.may_serve(buffered.len()) => Ready::Serve,
            _ => Ready::NeedMore,
        }
    }

    fn serve(&mut self, conn: &mut Conn) -> Next {
        if matches!(self.phase, Phase::Refuse) {
            text::line(conn.out(), "ERROR Too many open connections");
            return Next::Close;
        }
        match self.shake_hands(conn) {
            Ok(true) => {}
            Ok(false) => return Next::Idle,
            Err(next) => return next,
        }
        if !self.log_in(conn) {
            return self.next();
        }
        self.seen.begin_turn();
        self.client.begin_turn();
        loop {
            let mut out = std::mem::take(conn.out());
            let (used, more) = self.some(conn.buffered(), &mut out);
            add(Counter::MemcachedBytesRead, used as u64);
            add(Counter::MemcachedBytesWritten, out.len() as u64);
            conn.consume(used);
            self.client.end_turn();
            if !more && !self.client.pending.is_zero() {
                self.answers = out;
                return Next::Later(Wait::LogFlush);
            }
            if let Err(e) = self.client.wait() {
                self.lost(&mut out, &e);
            }
            *conn.out() = out;
            if !more || self.closes {
                break;
            }
            if conn.flush().is_err() {
                return Next::Close;
            }
        }
        self.entry.idle(now_ns());
        self.next()
    }

    fn resume(&mut self, conn: &mut Conn, waker: &Waker) -> Option<Next> {
        match self.client.poll(waker) {
            Ok(false) => return None,
            Ok(true) => {}
            Err(e) => {
                let mut answers = std::mem::take(&mut self.answers);
                self.lost(&mut answers, &e);
                self.answers = answers;
            }
        }
        conn.out().append(&mut self.answers);
        self.answers = Vec::new();
        self.entry.idle(now_ns());
        Some(self.next())
    }

    fn closed(&mut self, _: &mut Conn) {
        self.leave();
    }

    fn panicked(&mut self, panic: &Panicked<'_>) {
        self.client.shared.core.log.error(format_args!("connection {} is closed: {panic}", self.entry.id));
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.leave();
    }
}

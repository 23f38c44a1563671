//! A connection of a browser: TLS where it is wanted, then one request after the other.

use crate::http::{MOST_BODY, MOST_HEAD, Parsed, Request, Response, parse};
use crate::site::{Client, Site};
use gannet_base::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use gannet_core::accounts::Origin;
use gannet_core::tls::{Handshake, shake_hands};
use gannet_runtime::{Conn, Next, Peer, Ready, Service, TaskContext, now_ns};
use gannet_wire::tls::Tls;
use std::sync::Arc;

/// Connections at a time; further ones are closed.
const MOST_CONNECTIONS: usize = 64;
/// How long a request may take to arrive, and a response to be taken.
const PATIENCE_NS: u64 = 10_000_000_000;
/// Seconds that a connection without a request is kept.
const IDLE_S: u32 = 60;

/// Makes a service of each connection.
pub struct Factory {
    site: Arc<Site>,
    open: Arc<AtomicUsize>,
}

impl Factory {
    pub fn new(site: Arc<Site>) -> Factory {
        Factory { site, open: Arc::default() }
    }
}

impl gannet_runtime::Factory for Factory {
    fn connect(&self, peer: &Peer, _: &TaskContext) -> Option<Box<dyn Service>> {
        let Peer::Tcp { peer, .. } = peer else { return None };
        let place = Place::take(&self.open)?;
        let tls = match (self.site.encrypted(), self.site.core().tls.acceptor()) {
            (false, _) => None,
            (true, Some(acceptor)) => Some(Box::new(acceptor.accept().ok()?)),
            (true, None) => return None,
        };
        let ip = peer.ip().to_canonical();
        let origin = if ip.is_loopback() { Origin::Local(Some(ip)) } else { Origin::Remote(ip) };
        let client = Client { origin, tls: None };
        Some(Box::new(Connection { site: self.site.clone(), _place: place, tls, client, begun_ns: Some(now_ns()) }))
    }
}

/// A place among the connections.
struct Place(Arc<AtomicUsize>);

impl Place {
    fn take(open: &Arc<AtomicUsize>) -> Option<Place> {
        let fits = |n: usize| (n < MOST_CONNECTIONS).then_some(n + 1);
        open.fetch_update(Relaxed, Relaxed, fits).ok().map(|_| Place(open.clone()))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

struct Connection {
    site: Arc<Site>,
    _place: Place,
    /// The handshake that is under way.
    tls: Option<Box<Tls>>,
    client: Client,
    /// When the request began that is not yet whole; or the connection, before its first.
    begun_ns: Option<u64>,
}

impl Connection {
    /// Feeds the client's bytes to the handshake. `Ok(false)`: it goes on.
    fn shake_hands(&mut self, conn: &mut Conn) -> Result<bool, ()> {
        let Some(tls) = self.tls.take() else { return Ok(true) };
        match shake_hands(tls, conn) {
            Handshake::GoesOn(tls) => {
                self.tls = Some(tls);
                Ok(false)
            }
            Handshake::Done(agreed) => {
                self.client.tls = Some(agreed);
                Ok(true)
            }
            Handshake::Failed => Err(()),
        }
    }

    /// What is to be said to a request. `false`: nothing follows.
    fn answer(&mut self, request: &Request, out: &mut Vec<u8>) -> bool {
        let response = self.site.answer(request, &self.client);
        response.write(request.keeps, request.method == "HEAD", out);
        request.keeps
    }
}

impl Service for Connection {
    fn ready(&mut self, buffered: &[u8]) -> Ready {
        if buffered.is_empty() {
            return Ready::NeedMore;
        }
        let begun = *self.begun_ns.get_or_insert_with(now_ns);
        if now_ns().saturating_sub(begun) > PATIENCE_NS {
            return Ready::Close;
        }
        if self.tls.is_some() {
            return Ready::Serve;
        }
        match parse(buffered) {
            Parsed::Part if buffered.len() > MOST_HEAD + MOST_BODY => Ready::Close,
            Parsed::Part => Ready::NeedMore,
            Parsed::Whole(..) | Parsed::Bad(_) => Ready::Serve,
        }
    }

    fn serve(&mut self, conn: &mut Conn) -> Next {
        conn.set_deadline(Some(now_ns() + PATIENCE_NS));
        match self.shake_hands(conn) {
            Err(()) => return Next::Close,
            Ok(false) => return Next::Idle,
            Ok(true) => {}
        }
        loop {
            match parse(conn.buffered()) {
                Parsed::Part => return Next::Idle,
                Parsed::Bad(status) => {
                    let mut out = Vec::new();
                    Response::error(status, "this is no request that the console takes").write(false, false, &mut out);
                    conn.out().extend_from_slice(&out);
                    return Next::Close;
                }
                Parsed::Whole(request, length) => {
                    conn.consume(length);
                    let mut out = Vec::new();
                    let goes_on = self.answer(&request, &mut out);
                    conn.out().extend_from_slice(&out);
                    self.begun_ns = None;
                    // A deadline of one response is not that of the next.
                    conn.set_deadline(Some(now_ns() + PATIENCE_NS));
                    if conn.flush().is_err() || !goes_on {
                        return Next::Close;
                    }
                }
            }
        }
    }

    fn idle_timeout_s(&self) -> u32 {
        // A request that stalls is not waited for as long as the next one.
        if self.begun_ns.is_some() { (PATIENCE_NS / 1_000_000_000) as u32 } else { IDLE_S }
    }
}

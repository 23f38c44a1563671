//! memcached's login of the text protocol: until it has been done, `set KEY FLAGS EXPTIME SIZE` with a value of two
//! words, user and password, is all that is served.

use crate::client::Client;
use crate::text::line;
use gannet_core::accounts::{Origin, Way, authenticate};
use gannet_runtime::Peer;
use gannet_telemetry::{Counter, count};
use gannet_wire::memcached::parse::{self, words};
use gannet_wire::tls::Agreed;

/// The longest value with a user and a password.
const MOST: usize = 16 << 10;

/// What became of a client's bytes.
pub(crate) enum Login {
    /// So many are needed.
    More(usize),
    /// So many were used; whether the client is in.
    Done(usize, bool),
    /// There is no more.
    Close,
}

/// Where a client comes from, for accounts.
pub(crate) fn origin(peer: &Peer) -> Origin {
    match peer {
        Peer::Unix { .. } => Origin::Local(None),
        Peer::Tcp { peer, .. } => {
            let ip = peer.ip().to_canonical();
            if ip.is_loopback() { Origin::Local(Some(ip)) } else { Origin::Remote(ip) }
        }
    }
}

/// Looks at the first request of a client. May wait: guessing is slow.
pub(crate) fn feed(client: &mut Client, bytes: &[u8], peer: &Peer, tls: Option<&Agreed>, out: &mut Vec<u8>) -> Login {
    let Some(end) = memchr::memchr(b'\n', bytes) else {
        return if bytes.len() > parse::LINE_BYTES { Login::Close } else { Login::More(bytes.len() + 1) };
    };
    let first = bytes[..end].strip_suffix(b"\r").unwrap_or(&bytes[..end]);
    let mut parts = words(first);
    let size = match (parts.next(), parts.nth(3).and_then(gannet_wire::memcached::unsigned)) {
        (Some(b"set"), Some(size)) => size as usize,
        _ => {
            line(out, "CLIENT_ERROR unauthenticated");
            return Login::Done(end + 1, false);
        }
    };
    if size > MOST {
        line(out, "CLIENT_ERROR authentication token too large");
        return Login::Close;
    }
    let whole = end + 1 + size + 2;
    let Some(value) = bytes.get(end + 1..whole) else { return Login::More(whole) };
    let Some(value) = value.strip_suffix(b"\r\n") else {
        line(out, "CLIENT_ERROR bad command line termination");
        return Login::Done(whole, false);
    };
    let mut parts = words(value);
    let (Some(user), Some(password)) = (parts.next(), parts.next()) else {
        line(out, "CLIENT_ERROR bad authentication token format");
        return Login::Done(whole, false);
    };
    count(Counter::MemcachedAuthCmds);
    let secure = tls.is_some() || matches!(peer, Peer::Unix { .. });
    let user = String::from_utf8_lossy(user);
    let core = client.shared.core.clone();
    match authenticate(&core, (&user, password), origin(peer), secure, Way { tls, renews: false }) {
        Ok(account) => {
            client.account = Some(account);
            line(out, "STORED");
            Login::Done(whole, true)
        }
        Err(_) => {
            count(Counter::MemcachedAuthErrors);
            line(out, "CLIENT_ERROR authentication failure");
            Login::Done(whole, false)
        }
    }
}

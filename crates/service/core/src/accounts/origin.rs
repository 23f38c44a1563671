//! Where clients come from, and the patterns that accounts match them with.

use crate::names;
use std::net::IpAddr;

/// Where a client comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The UNIX socket, or loopback.
    Local(Option<IpAddr>),
    /// Elsewhere.
    Remote(IpAddr),
}

impl Origin {
    /// Host part of `USER()`.
    pub fn host(&self) -> String {
        match self {
            Origin::Local(_) => "localhost".into(),
            Origin::Remote(ip) => ip.to_string(),
        }
    }

    pub(super) fn matches(&self, pattern: &str) -> bool {
        match self {
            Origin::Local(ip) => like(pattern, "localhost") || ip.is_some_and(|ip| host_matches(pattern, ip)),
            Origin::Remote(ip) => host_matches(pattern, *ip),
        }
    }
}

pub(super) fn host_matches(pattern: &str, ip: IpAddr) -> bool {
    match pattern.split_once('/') {
        Some((net, mask)) => in_network(net, mask, ip).unwrap_or(false),
        None => like(pattern, &ip.to_string()),
    }
}

/// `a.b.c.d/mask` with a dotted mask or a number of bits.
fn in_network(net: &str, mask: &str, ip: IpAddr) -> Option<bool> {
    let (IpAddr::V4(ip), net) = (ip, net.parse::<std::net::Ipv4Addr>().ok()?) else { return Some(false) };
    let mask = match mask.parse::<std::net::Ipv4Addr>() {
        Ok(m) => u32::from(m),
        Err(_) => u32::MAX.checked_shl(32 - mask.parse::<u32>().ok().filter(|n| *n <= 32)?).unwrap_or(0),
    };
    Some(u32::from(ip) & mask == u32::from(net) & mask)
}

/// Host patterns: `%` any run, `_` any character; letters in any case.
pub(super) fn like(pattern: &str, text: &str) -> bool {
    names::like_exactly(&pattern.to_ascii_lowercase(), &text.to_ascii_lowercase(), false)
}

//! Authentication: three plugins and the exchange that drives them.
//!
//! The exchange is the same whether a user exists or not: an unknown one is given [`Secret::Nobody`], which asks for
//! the same packets, does the same hashing and then refuses. Comparisons of secrets take the same time wherever they
//! differ.

mod crypt;
mod native;
mod rsa_key;
mod sha2;

pub use native::{NativeHash, native_hash, native_response};
pub use rsa_key::{RsaKey, encrypt_password, is_public_key, token};
pub use sha2::{FastDigest, Sha2Hash, fast_digest, sha2_response};

use crate::codec::{Malformed, put_nul_bytes};
use crate::frame::Writer;

/// Bytes of a challenge.
pub const NONCE: usize = 20;

/// An authentication plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Plugin {
    /// `mysql_native_password`.
    Native,
    /// `caching_sha2_password`.
    Sha2,
    /// `sha256_password`: each login sends the password, over a secure transport or encrypted.
    Sha256,
}

impl Plugin {
    /// MySQL's name of the plugin.
    pub fn name(self) -> &'static str {
        match self {
            Plugin::Native => "mysql_native_password",
            Plugin::Sha2 => "caching_sha2_password",
            Plugin::Sha256 => "sha256_password",
        }
    }

    /// The plugin with this name.
    pub fn by_name(name: &[u8]) -> Option<Self> {
        [Plugin::Native, Plugin::Sha2, Plugin::Sha256]
            .into_iter()
            .find(|p| p.name().as_bytes().eq_ignore_ascii_case(name))
    }
}

/// What an account keeps in place of a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Secret {
    /// No password.
    Empty(Plugin),
    /// SHA1(SHA1(password)).
    Native(NativeHash),
    /// Salted, 5000 rounds and up.
    Sha2(Box<Sha2Hash>),
    /// The same, for [`Plugin::Sha256`].
    Sha256(Box<Sha2Hash>),
    /// There is no such account, or it may not log in: every exchange ends refused.
    Nobody(Plugin),
}

impl Secret {
    /// The plugin that checks this secret.
    pub fn plugin(&self) -> Plugin {
        match self {
            Secret::Empty(p) | Secret::Nobody(p) => *p,
            Secret::Native(_) => Plugin::Native,
            Secret::Sha2(_) => Plugin::Sha2,
            Secret::Sha256(_) => Plugin::Sha256,
        }
    }

    /// A secret from a clear-text password. `salt`: random bytes, for all but [`Plugin::Native`].
    pub fn from_password(plugin: Plugin, password: &[u8], salt: [u8; NONCE]) -> Self {
        match plugin {
            _ if password.is_empty() => Secret::Empty(plugin),
            Plugin::Native => Secret::Native(native_hash(password)),
            Plugin::Sha2 => Secret::Sha2(Box::new(Sha2Hash::new(password, salt))),
            Plugin::Sha256 => Secret::Sha256(Box::new(Sha2Hash::new(password, salt))),
        }
    }

    /// True for the account's clear-text password. Takes as long as the hash prescribes.
    pub fn verify(&self, password: &[u8]) -> bool {
        match self {
            Secret::Empty(_) => password.is_empty(),
            Secret::Native(h) => native_hash(password) == *h,
            Secret::Sha2(h) | Secret::Sha256(h) => h.check(password),
            Secret::Nobody(_) => false,
        }
    }

    /// The form in `mysql.user.authentication_string`.
    pub fn to_authentication_string(&self) -> Vec<u8> {
        match self {
            Secret::Empty(_) | Secret::Nobody(_) => Vec::new(),
            Secret::Native(h) => h.to_string().into_bytes(),
            Secret::Sha2(h) => h.to_bytes(),
            Secret::Sha256(h) => h.to_crypt_bytes(),
        }
    }

    /// Reads the form in `mysql.user.authentication_string`, as `IDENTIFIED WITH ... AS '...'` gives it.
    pub fn from_authentication_string(plugin: Plugin, s: &[u8]) -> Option<Self> {
        match plugin {
            _ if s.is_empty() => Some(Secret::Empty(plugin)),
            Plugin::Native => NativeHash::parse(s).map(Secret::Native),
            Plugin::Sha2 => Sha2Hash::parse(s).map(|h| Secret::Sha2(Box::new(h))),
            Plugin::Sha256 => Sha2Hash::parse_crypt(s).map(|h| Secret::Sha256(Box::new(h))),
        }
    }
}

/// What an exchange needs from the server.
pub trait AuthContext {
    /// SHA256(SHA256(password)) of this account, when an earlier full exchange left it.
    fn cached(&self) -> Option<FastDigest>;
    /// A full exchange succeeded: keep this for the fast path.
    fn remember(&self, digest: FastDigest);
    /// A second password which is as good, of the same plugin; its logins take the full exchange.
    fn second(&self) -> Option<&Secret> {
        None
    }
    /// The key that clients encrypt passwords with when the transport is not secure.
    fn rsa_key(&self) -> Option<&RsaKey>;
}

/// Checks a clear-text password where there is no exchange. A secret that nobody has takes the time of a check.
pub fn check_password(secret: &Secret, password: &[u8], ctx: &dyn AuthContext) -> Verdict {
    let denied = Verdict::Denied { password: !password.is_empty() };
    let second = |p: &[u8]| ctx.second().is_some_and(|s| s.verify(p));
    let good = match secret {
        Secret::Empty(_) => return if password.is_empty() { Verdict::Accepted } else { denied },
        _ if password.is_empty() => false,
        Secret::Nobody(_) => Sha2Hash::burn(password),
        Secret::Native(_) | Secret::Sha256(_) => secret.verify(password) || second(password),
        Secret::Sha2(hash) => {
            let digest = fast_digest(password);
            let known = ctx.cached().is_some_and(|known| same_secret(&known, &digest));
            let first = known || hash.check(password);
            if first && !known {
                ctx.remember(digest);
            }
            first || second(password)
        }
    };
    if good { Verdict::Accepted } else { denied }
}

/// How an exchange stands after a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// A packet was written; feed the client's answer.
    More,
    /// The password is right. The caller writes OK.
    Accepted,
    /// The caller writes error 1045; `password` says whether one was used.
    Denied {
        /// For `(using password: YES|NO)`.
        password: bool,
    },
    /// The client knows no plugin that this account needs: error 1251.
    Unsupported,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Waits for the answer to an auth switch.
    Switched,
    /// Waits for the clear or encrypted password (full exchange of `caching_sha2_password`), or for the wish to see the
    /// key.
    Password,
    /// Sent the RSA key; waits for the encrypted password.
    Encrypted,
    Over,
}

/// Packet tag of AuthSwitchRequest.
const SWITCH: u8 = 0xFE;
/// Packet tag of AuthMoreData.
pub(crate) const MORE_DATA: u8 = 0x01;
/// `caching_sha2_password`: the fast path succeeded.
pub(crate) const FAST_OK: u8 = 3;
/// `caching_sha2_password`: send the password.
pub(crate) const FULL: u8 = 4;
/// `sha256_password`: the client asks for the RSA key.
pub(crate) const SHA256_REQUEST_KEY: u8 = 1;
/// `caching_sha2_password`: the client asks for the RSA key.
pub(crate) const REQUEST_KEY: u8 = 2;

/// One authentication, from the first response on.
#[derive(Debug)]
pub struct Exchange {
    nonce: [u8; NONCE],
    /// The transport cannot be overheard (UNIX socket, TLS): clear passwords may travel.
    secure: bool,
    secret: Secret,
    state: State,
}

impl Exchange {
    /// Starts with the response that came in the login packet. `plugin`: what made it, `None` when unknown here;
    /// `may_switch`: the client has PLUGIN_AUTH.
    pub fn start(
        nonce: [u8; NONCE],
        secure: bool,
        secret: Secret,
        plugin: Option<Plugin>,
        may_switch: bool,
        response: &[u8],
        ctx: &dyn AuthContext,
        out: &mut Writer<'_>,
    ) -> (Self, Verdict) {
        let want = secret.plugin();
        let mut it = Self { nonce, secure, secret, state: State::Over };
        let empty = matches!(it.secret, Secret::Empty(_));
        // Without a password on either side there is nothing to prove, whatever the plugin. A plugin that is not ours
        // is switched away from all the same: libmariadb's `dummy_fallback_auth`, which it names when it cannot load
        // another, waits for that. Its built-in plugin is the native one.
        if empty && plugin.is_some() && is_empty_response(response) {
            return (it, Verdict::Accepted);
        }
        let want = if empty && plugin.is_none() { Plugin::Native } else { want };
        // A plugin that is not the greeting's has no challenge before a switch: a MariaDB that connects as a replica
        // names the native one and waits for that.
        let waits = may_switch && want != Plugin::Sha2 && is_empty_response(response);
        if plugin == Some(want) && !waits {
            let verdict = it.respond(response, ctx, out);
            return (it, verdict);
        }
        if !may_switch {
            return (it, Verdict::Unsupported);
        }
        let mark = out.begin();
        let b = out.buf();
        b.push(SWITCH);
        put_nul_bytes(b, want.name().as_bytes());
        b.extend_from_slice(&nonce);
        b.push(0);
        out.end(mark);
        it.state = State::Switched;
        (it, Verdict::More)
    }

    /// Takes the client's next packet.
    pub fn feed(&mut self, payload: &[u8], ctx: &dyn AuthContext, out: &mut Writer<'_>) -> Result<Verdict, Malformed> {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Switched => Ok(self.respond(payload, ctx, out)),
            State::Password if self.secure => {
                let clear = payload.strip_suffix(&[0]).unwrap_or(payload);
                Ok(self.check_clear(clear, ctx))
            }
            State::Password if payload == [REQUEST_KEY] => Ok(self.show_key(ctx, out)),
            State::Password | State::Encrypted => Ok(self.check_encrypted(payload, ctx)),
            State::Over => Err(Malformed),
        }
    }

    fn show_key(&mut self, ctx: &dyn AuthContext, out: &mut Writer<'_>) -> Verdict {
        let Some(key) = ctx.rsa_key() else { return Verdict::Denied { password: true } };
        let mark = out.begin();
        out.buf().push(MORE_DATA);
        out.buf().extend_from_slice(key.public_pem().as_bytes());
        out.end(mark);
        self.state = State::Encrypted;
        Verdict::More
    }

    fn check_encrypted(&self, payload: &[u8], ctx: &dyn AuthContext) -> Verdict {
        match ctx.rsa_key().and_then(|key| key.decrypt_password(payload, &self.nonce)) {
            Some(clear) => self.check_clear(&clear, ctx),
            None => Verdict::Denied { password: true },
        }
    }

    fn respond(&mut self, response: &[u8], ctx: &dyn AuthContext, out: &mut Writer<'_>) -> Verdict {
        if is_empty_response(response) {
            return match self.secret {
                Secret::Empty(_) => Verdict::Accepted,
                _ => Verdict::Denied { password: false },
            };
        }
        let ok = match &self.secret {
            Secret::Native(hash) => {
                let second = matches!(ctx.second(), Some(Secret::Native(h)) if h.check(response, &self.nonce));
                hash.check(response, &self.nonce) || second
            }
            Secret::Sha256(_) | Secret::Nobody(Plugin::Sha256) => {
                return match response {
                    clear if self.secure => self.check_clear(clear.strip_suffix(&[0]).unwrap_or(clear), ctx),
                    [SHA256_REQUEST_KEY] => self.show_key(ctx, out),
                    encrypted => self.check_encrypted(encrypted, ctx),
                };
            }
            Secret::Empty(_) | Secret::Nobody(Plugin::Native) => false,
            Secret::Sha2(_) | Secret::Nobody(Plugin::Sha2) => {
                let known = matches!(self.secret, Secret::Sha2(_));
                let fast = known && ctx.cached().is_some_and(|digest| sha2::check_fast(&digest, response, &self.nonce));
                let mark = out.begin();
                out.buf().extend_from_slice(&[MORE_DATA, if fast { FAST_OK } else { FULL }]);
                out.end(mark);
                if !fast {
                    self.state = State::Password;
                    return Verdict::More;
                }
                true
            }
        };
        if ok { Verdict::Accepted } else { Verdict::Denied { password: true } }
    }

    fn check_clear(&self, clear: &[u8], ctx: &dyn AuthContext) -> Verdict {
        let ok = match &self.secret {
            Secret::Sha2(hash) | Secret::Sha256(hash) => hash.check(clear),
            _ => Sha2Hash::burn(clear),
        };
        if !ok {
            return match ctx.second() {
                Some(Secret::Sha2(second) | Secret::Sha256(second)) if second.check(clear) => Verdict::Accepted,
                _ => Verdict::Denied { password: !clear.is_empty() },
            };
        }
        if matches!(self.secret, Secret::Sha2(_)) {
            ctx.remember(fast_digest(clear));
        }
        Verdict::Accepted
    }
}

/// libmysql sends one NUL for an empty password with `caching_sha2_password`, nothing with the native plugin.
fn is_empty_response(response: &[u8]) -> bool {
    matches!(response, [] | [0])
}

/// Equality in a time that depends on the lengths alone.
pub(crate) fn same_secret(a: &[u8], b: &[u8]) -> bool {
    let differ = a.iter().zip(b).fold(0u8, |acc, (x, y)| std::hint::black_box(acc | (x ^ y)));
    a.len() == b.len() && differ == 0
}

#[cfg(test)]
mod tests;

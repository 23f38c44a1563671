//! One authentication by packets, on top of what all logins have in common.

use gannet_core::Core;
use gannet_core::accounts::{self, Account, Origin, Way};
use gannet_types::{Result, sql_err};
use gannet_wire::auth::{Exchange, NONCE, Plugin, Secret, Verdict};
use gannet_wire::flags::cap;
use gannet_wire::frame::Writer;
use gannet_wire::handshake;
use gannet_wire::tls::Agreed;
use std::sync::Arc;

/// One authentication: of a new connection or of COM_CHANGE_USER.
pub(crate) struct Attempt {
    pub(crate) hello: handshake::Login,
    pub(crate) login: accounts::Attempt,
    exchange: Exchange,
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
        let login = accounts::Attempt::new(server, String::from_utf8_lossy(&hello.user).into_owned(), origin);
        let ctx = login.context(server);
        if server.accounts.skipped() {
            // No password is asked for: the authentication exchange runs on buffers of its own, which are never sent.
            let (mut unseen, mut sequence) = (Vec::new(), 0);
            let mut w = Writer::new(&mut unseen, &mut sequence);
            let secret = Secret::Empty(Plugin::Sha2);
            let (exchange, _) = Exchange::start(nonce, secure, secret, hello.plugin(), false, b"", &ctx, &mut w);
            drop(ctx);
            return Ok((Self { hello, login, exchange }, Verdict::Accepted));
        }
        let may_switch = hello.capabilities & cap::PLUGIN_AUTH != 0;
        let (exchange, verdict) =
            Exchange::start(nonce, secure, login.secret(), hello.plugin(), may_switch, &hello.response, &ctx, w);
        drop(ctx);
        Ok((Self { hello, login, exchange }, verdict))
    }

    /// Takes the client's next packet.
    pub(crate) fn feed(&mut self, server: &Core, packet: &[u8], w: &mut Writer<'_>) -> Result<Verdict> {
        // Slow hashing and key generation must not hold up the other connections of this worker.
        let (exchange, login) = (&mut self.exchange, &self.login);
        gannet_runtime::run_blocking(|| exchange.feed(packet, &login.context(server), w))
            .map_err(|_| sql_err!(Handshake))
    }

    pub(crate) fn hello_user(&self) -> String {
        self.login.user.clone()
    }

    /// The account, when the verdict admits it. `tls`: how the transport is encrypted.
    pub(crate) fn admitted(&self, server: &Core, verdict: Verdict, tls: Option<&Agreed>) -> Result<Arc<Account>> {
        let renews = self.hello.capabilities & cap::CAN_HANDLE_EXPIRED_PASSWORDS != 0;
        self.login.admitted(server, verdict, Way { tls, renews })
    }
}

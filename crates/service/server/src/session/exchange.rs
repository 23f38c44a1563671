//! A client's connection in the middle of a command, and the encoded definitions that are kept for it.

use gannet_runtime::Conn;
use gannet_wire::frame::Writer;
use std::sync::OnceLock;

/// Encoded column definitions of one plan, for the commonest kinds of client.
#[derive(Debug, Default)]
pub(crate) struct HeaderCache(pub(super) [OnceLock<Box<[u8]>>; 4]);

/// A client's connection in the middle of a command.
pub(crate) struct Exchange<'a> {
    pub(crate) conn: &'a mut Conn,
    pub(crate) sequence: &'a mut u8,
}

impl Exchange<'_> {
    pub(crate) fn writer(&mut self) -> Writer<'_> {
        Writer::new(self.conn.out(), self.sequence)
    }
}

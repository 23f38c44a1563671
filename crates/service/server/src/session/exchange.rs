//! A client's connection in the middle of a command, and the encoded definitions that are kept for it.

use gannet_runtime::Conn;
use gannet_wire::frame::Writer;
use gannet_wire::value::Format;
use std::sync::OnceLock;

/// What the results of one plan have in common.
#[derive(Debug, Default)]
pub(crate) struct HeaderCache {
    /// Encoded column definitions, for the commonest kinds of client.
    pub(super) encoded: [OnceLock<Box<[u8]>>; 4],
    /// How the columns' values are written, and whether one of them may be long.
    pub(super) formats: OnceLock<(Box<[Format]>, bool)>,
}

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

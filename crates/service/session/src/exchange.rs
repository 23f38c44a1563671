//! A client's connection in the middle of a command, and the encoded definitions that are kept for it.

use gannet_runtime::{Conn, now_ns};
use gannet_telemetry::{Counter, add};
use gannet_types::{Result, SqlError, sql_err};
use gannet_wire::frame::{Decoder, Fed, FrameError, Writer};
use gannet_wire::value::Format;
use std::sync::OnceLock;

/// What the results of one plan have in common.
#[derive(Debug, Default)]
pub struct HeaderCache {
    /// Encoded column definitions, for the commonest kinds of client.
    pub(super) encoded: [OnceLock<Box<[u8]>>; 4],
    /// How the columns' values are written, and whether one of them may be long.
    pub(super) formats: OnceLock<(Box<[Format]>, bool)>,
}

/// A client's connection in the middle of a command.
pub struct Exchange<'a> {
    pub conn: &'a mut Conn,
    pub sequence: &'a mut u8,
}

impl Exchange<'_> {
    pub fn writer(&mut self) -> Writer<'_> {
        Writer::new(self.conn.out(), self.sequence)
    }
}

/// What reads packets of at most `limit` bytes. `lenient`: their sequence numbers are taken as they come.
pub fn packets(limit: usize, lenient: bool) -> Decoder {
    let mut decoder = Decoder::new(limit);
    decoder.set_lenient(lenient);
    decoder
}

/// Sends what is due and reads the client's next packet in the middle of an exchange; error 1153 when it is longer than `decoder`
/// allows. After error 1317 the exchange may go on, with the same decoder: it has what has come of the packet.
pub fn read_packet(client: &mut Exchange<'_>, timeout_s: u64, decoder: &mut Decoder) -> Result<Vec<u8>> {
    let lost = |e: std::io::Error| match e.kind() {
        std::io::ErrorKind::TimedOut => sql_err!(NetReadInterrupted),
        std::io::ErrorKind::Interrupted => sql_err!(QueryInterrupted),
        _ => sql_err!(NetRead),
    };
    add(Counter::BytesSent, client.conn.out().len() as u64);
    client.conn.flush().map_err(lost)?;
    loop {
        // It limits the time between two arrivals, not that of a long packet.
        client.conn.set_deadline(Some(now_ns() + timeout_s * 1_000_000_000));
        match decoder.feed(client.conn.buffered(), client.sequence).map_err(frame_error)? {
            Fed::InPlace { payload, consumed } => {
                let packet = client.conn.buffered()[payload].to_vec();
                client.conn.consume(consumed);
                return Ok(packet);
            }
            Fed::Assembled { consumed } => {
                client.conn.consume(consumed);
                return Ok(decoder.take_assembled());
            }
            Fed::Partial { consumed, .. } => {
                client.conn.consume(consumed);
                if client.conn.fill().map_err(lost)? == 0 {
                    return Err(sql_err!(NetRead));
                }
            }
        }
    }
}

pub fn frame_error(e: FrameError) -> SqlError {
    match e {
        FrameError::OutOfOrder { .. } => sql_err!(NetPacketsOutOfOrder),
        FrameError::TooLarge => sql_err!(NetPacketTooLarge),
    }
}

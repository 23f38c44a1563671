//! TLS and compression as transports of a connection.

use gannet_runtime::{Conn, Transport};
use gannet_types::sql_err;
use gannet_wire::compress::{Algorithm, Compressed, Fault};
use gannet_wire::flags::cap;
use gannet_wire::frame::Writer;
use gannet_wire::reply;
use std::io;

/// Headers of packets, and the next command, beside a packet of the greatest length allowed.
const SLACK: usize = 64 << 10;

/// A longer packet is compressed or decompressed on a helper thread, because the worker has other sessions.
const LONG: usize = 128 << 10;

fn aside<T: Send>(bytes: usize, f: impl FnOnce() -> T + Send) -> T {
    if bytes < LONG { f() } else { gannet_runtime::run_long(f) }
}

/// Compresses a connection from now on, above its encryption.
pub(crate) fn compress(conn: &mut Conn, algorithm: Algorithm, max_packet: usize) {
    let (below, kept) = conn.take_transport();
    let mut codec = Compressed::new(algorithm, max_packet.saturating_add(SLACK));
    codec.receive(&kept);
    conn.set_transport(Box::new(Compression { codec, below, fault: None }), Vec::new());
}

/// Compressed packets, over the socket or what is below.
struct Compression {
    codec: Compressed,
    below: Option<Box<dyn Transport>>,
    /// What the client did wrong, to be told when the connection closes.
    fault: Option<Fault>,
}

impl Transport for Compression {
    fn receive(&mut self, raw: &[u8], _: &mut Vec<u8>) -> io::Result<()> {
        match &mut self.below {
            None => self.codec.receive(raw),
            Some(below) => {
                let mut plain = Vec::new();
                below.receive(raw, &mut plain)?;
                self.codec.receive(&plain);
            }
        }
        Ok(())
    }

    fn more(&mut self, input: &mut Vec<u8>) -> io::Result<bool> {
        let codec = &mut self.codec;
        aside(codec.announced(), || codec.next(input)).map_err(|fault| {
            self.fault = Some(fault);
            io::ErrorKind::InvalidData.into()
        })
    }

    fn send(&mut self, plain: &[u8], wire: &mut Vec<u8>) -> io::Result<()> {
        let codec = &mut self.codec;
        let mut compress = |to: &mut Vec<u8>| aside(plain.len(), || codec.send(plain, to));
        match &mut self.below {
            None => compress(wire),
            Some(below) => {
                let mut compressed = Vec::new();
                compress(&mut compressed);
                below.send(&compressed, wire)?;
            }
        }
        Ok(())
    }

    fn close(&mut self, wire: &mut Vec<u8>) {
        if let Some(fault) = self.fault.take() {
            let error = match fault {
                Fault::OutOfOrder => sql_err!(NetPacketsOutOfOrder),
                Fault::TooLarge => sql_err!(NetPacketTooLarge),
                Fault::Damaged => sql_err!(NetUncompress),
            };
            let (mut out, mut sequence) = (Vec::new(), 1);
            let mut w = Writer::new(&mut out, &mut sequence);
            reply::err(&mut w, cap::PROTOCOL_41, error.number(), &error.sqlstate(), error.message());
            let _ = self.send(&out, wire);
        }
        if let Some(below) = &mut self.below {
            below.close(wire);
        }
    }
}

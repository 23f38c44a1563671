//! A client's connection in the middle of a command, and the encoded definitions that are kept for it.

use gannet_base::Attached;
use gannet_exec::file::Input;
use gannet_runtime::{Conn, now_ns};
use gannet_session::reply::{ClientFile, Reading};
use gannet_telemetry::{Counter, add};
use gannet_types::{CollationId, ErrorCode, Result, SqlError, sql_err};
use gannet_wire::frame::{Decoder, Fed, FrameError, Writer};
use gannet_wire::value::Format;
use std::convert::Infallible;
use std::sync::OnceLock;

/// What the results of one plan have in common.
#[derive(Debug, Default)]
pub(crate) struct HeaderCache {
    /// Encoded column definitions, for the commonest kinds of client, and the collation that they tell of texts.
    pub(crate) encoded: [OnceLock<(CollationId, Box<[u8]>)>; 4],
    /// How the columns' values are written, and whether one of them may be long.
    pub(crate) formats: OnceLock<(Box<[Format]>, bool)>,
}

impl HeaderCache {
    /// The one in a place beside a plan.
    #[inline]
    pub(crate) fn at(place: &Attached) -> &HeaderCache {
        let Ok(cache) = place.get_or_try_init(|| Ok::<_, Infallible>(HeaderCache::default()));
        cache
    }
}

/// A client's connection in the middle of a command.
pub(crate) struct Exchange<'a> {
    pub conn: &'a mut Conn,
    pub sequence: &'a mut u8,
}

impl Exchange<'_> {
    pub fn writer(&mut self) -> Writer<'_> {
        Writer::new(self.conn.out(), self.sequence)
    }
}

/// A file that the client sends (LOAD DATA LOCAL), packet by packet when it is asked:
///
/// ```text
/// server  0xFB file name              → client
/// client  bytes of the file, packets  → server
/// client  empty packet: the end       → server
/// server  OK or error                 → client
/// ```
///
/// A client that cannot open its file sends the end at once. After an error the rest of the file is read and thrown
/// away, so that the connection stays usable. A name is the client's business: it is bound by its own rules about
/// what it sends.
pub(crate) struct Upload<'a> {
    client: Exchange<'a>,
    timeout_s: u64,
    decoder: Decoder,
    over: bool,
    lost: bool,
}

impl<'a> Upload<'a> {
    pub(crate) fn new(client: Exchange<'a>, reading: Reading, compressed: bool) -> Self {
        let decoder = packets(reading.max_packet, compressed);
        Upload { client, timeout_s: reading.timeout_s, decoder, over: false, lost: false }
    }
}

impl Input for Upload<'_> {
    fn read(&mut self, buffer: &mut Vec<u8>) -> Result<bool> {
        if self.over {
            return Ok(false);
        }
        match read_packet(&mut self.client, self.timeout_s, &mut self.decoder) {
            Ok(packet) => {
                self.over = packet.is_empty();
                buffer.extend_from_slice(&packet);
                Ok(!self.over)
            }
            // The statement was killed. The client goes on sending; `drain` takes that.
            Err(e) if e.code() == ErrorCode::QueryInterrupted => Err(e),
            Err(e) => {
                (self.over, self.lost) = (true, true);
                Err(e)
            }
        }
    }
}

impl ClientFile for Upload<'_> {
    fn ask(&mut self, name: &[u8]) {
        let mut request = vec![0xFB];
        request.extend_from_slice(name);
        self.client.writer().packet(&request);
    }

    /// The statement is over by then: nothing is left that KILL QUERY could stop.
    fn drain(&mut self) -> bool {
        self.client.conn.end_statement();
        let mut rest = Vec::new();
        while matches!(self.read(&mut rest), Ok(true)) {
            rest.clear();
        }
        !self.lost
    }
}

/// What reads packets of at most `limit` bytes. `lenient`: their sequence numbers are taken as they come.
pub(crate) fn packets(limit: usize, lenient: bool) -> Decoder {
    let mut decoder = Decoder::new(limit);
    decoder.set_lenient(lenient);
    decoder
}

/// Sends what is due and reads the client's next packet in the middle of an exchange; error 1153 when it is longer
/// than `decoder` allows. After error 1317 the exchange may go on, with the same decoder: it has what has come of
/// the packet.
pub(crate) fn read_packet(client: &mut Exchange<'_>, timeout_s: u64, decoder: &mut Decoder) -> Result<Vec<u8>> {
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

pub(crate) fn frame_error(e: FrameError) -> SqlError {
    match e {
        FrameError::OutOfOrder { .. } => sql_err!(NetPacketsOutOfOrder),
        FrameError::TooLarge => sql_err!(NetPacketTooLarge),
    }
}

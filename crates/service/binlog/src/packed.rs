//! Transactions that are compressed (`binlog_transaction_compression`): one event whose body has all of them.
//!
//! ```text
//! ..  fields: number (lenenc), length of the value (lenenc), value (lenenc)
//!       1  bytes of compressed events
//!       2  how they are compressed: 0 zstd, 255 not at all
//!       3  bytes of the events
//!       0  the last one, without length and value
//! ..  the events, without checksums: their positions are those behind them in the transaction
//! ```
//!
//! Source: MySQL 8.4 Source Code Documentation, `Transaction_payload_event`.

use crate::event::{Checksum, Event, HEADER, Header};
use crate::format::{lenenc, put_lenenc};
use gannet_base::{DecodeError, Reader};
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::io::Read;

/// Numbers of the fields.
mod field {
    pub(super) const END: u64 = 0;
    pub(super) const SIZE: u64 = 1;
    pub(super) const COMPRESSION: u64 = 2;
    pub(super) const UNCOMPRESSED: u64 = 3;
}

/// The numbers of zstd and of no compression.
const ZSTD: u64 = 0;
const NONE: u64 = 255;
/// The window of a frame may have so many bytes: that of zstd's highest level.
const WINDOW: u64 = 128 << 20;
/// And these whatever the size of the events is said to be, as encoders may announce more than they have.
const LEAST_WINDOW: u64 = 8 << 20;

/// The body of such an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packed<'a> {
    /// They are compressed.
    pub compressed: bool,
    /// Bytes of the events.
    pub size: u64,
    /// The events.
    bytes: &'a [u8],
}

/// Compresses events.
pub fn compress(events: &[u8]) -> Vec<u8> {
    compress_to_vec(events, CompressionLevel::Fastest)
}

impl<'a> Packed<'a> {
    /// Of `size` bytes of events, which [`compress`] has made smaller.
    pub fn new(size: u64, bytes: &'a [u8]) -> Packed<'a> {
        Packed { compressed: true, size, bytes }
    }

    /// `ZSTD` or `NONE`.
    pub fn compression(&self) -> &'static str {
        if self.compressed { "ZSTD" } else { "NONE" }
    }

    /// Appends it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut put = |number: u64, value: u64| {
            let mut bytes = Vec::with_capacity(9);
            put_lenenc(value, &mut bytes);
            put_lenenc(number, out);
            put_lenenc(bytes.len() as u64, out);
            out.extend_from_slice(&bytes);
        };
        put(field::COMPRESSION, if self.compressed { ZSTD } else { NONE });
        put(field::UNCOMPRESSED, self.size);
        put(field::SIZE, self.bytes.len() as u64);
        put_lenenc(field::END, out);
        out.extend_from_slice(self.bytes);
    }

    /// From an event's body. Fields of other numbers are passed over.
    pub fn decode(body: &'a [u8]) -> Result<Packed<'a>, DecodeError> {
        let mut r = Reader::new(body);
        let (mut compression, mut uncompressed, mut size) = (None, None, None);
        loop {
            let number = lenenc(&mut r)?;
            if number == field::END {
                break;
            }
            let length =
                usize::try_from(lenenc(&mut r)?).map_err(|_| r.invalid("field of a compressed transaction"))?;
            let mut value = Reader::new(r.bytes(length)?);
            let place = match number {
                field::SIZE => &mut size,
                field::COMPRESSION => &mut compression,
                field::UNCOMPRESSED => &mut uncompressed,
                _ => continue,
            };
            *place = Some(lenenc(&mut value)?);
        }
        let bytes = r.rest();
        if size != Some(bytes.len() as u64) {
            return Err(r.invalid("size of a compressed transaction"));
        }
        match (compression, uncompressed) {
            (Some(ZSTD), Some(size)) => Ok(Packed { compressed: true, size, bytes }),
            (Some(NONE), None) => Ok(Packed { compressed: false, size: bytes.len() as u64, bytes }),
            (Some(NONE), Some(size)) if size == bytes.len() as u64 => Ok(Packed { compressed: false, size, bytes }),
            _ => Err(r.invalid("compression of a transaction")),
        }
    }

    /// Its events, one after the other. What it takes in memory is one of them, and the window of the compression.
    pub fn events(&self) -> Events<'a> {
        let window = self.size.clamp(LEAST_WINDOW, WINDOW);
        let source = if self.compressed { Source::Zstd(None, self.bytes) } else { Source::Plain(self.bytes) };
        Events { source, window, left: self.size, event: Vec::new() }
    }
}

enum Source<'a> {
    Plain(&'a [u8]),
    /// The frame that is read, and what lies behind it.
    Zstd(Option<Box<StreamingDecoder<&'a [u8], FrameDecoder>>>, &'a [u8]),
}

/// Events of a compressed transaction.
pub struct Events<'a> {
    source: Source<'a>,
    window: u64,
    /// Bytes of events that have to come.
    left: u64,
    event: Vec<u8>,
}

fn damaged() -> DecodeError {
    DecodeError::Invalid { at: 0, what: "compressed transaction" }
}

impl Events<'_> {
    /// The next one; `None` behind the last. More or fewer bytes of events than were said are an error.
    pub fn next_event(&mut self) -> Result<Option<Event<'_>>, DecodeError> {
        if self.left == 0 {
            return if self.is_at_end()? { Ok(None) } else { Err(damaged()) };
        }
        self.event.clear();
        self.take(HEADER)?;
        let size = Header::decode(&self.event)?.size as usize;
        self.take(size - HEADER)?;
        Event::first(&self.event, Checksum::None)
    }

    /// Reads `n` more bytes of the event. Memory grows with what is there, not with what is said.
    fn take(&mut self, n: usize) -> Result<(), DecodeError> {
        self.left = self.left.checked_sub(n as u64).ok_or_else(damaged)?;
        let end = self.event.len() + n;
        while self.event.len() < end {
            let want = (end - self.event.len()) as u64;
            let got = self.read(want)?;
            if got == 0 && !self.next_frame()? {
                return Err(DecodeError::Short { at: self.event.len(), need: want as usize });
            }
        }
        Ok(())
    }

    /// Appends at most `want` bytes of what is open.
    fn read(&mut self, want: u64) -> Result<usize, DecodeError> {
        match &mut self.source {
            Source::Plain(rest) => {
                let (now, then) = rest.split_at(rest.len().min(want as usize));
                self.event.extend_from_slice(now);
                *rest = then;
                Ok(now.len())
            }
            Source::Zstd(None, _) => Ok(0),
            Source::Zstd(Some(frame), _) => frame.take(want).read_to_end(&mut self.event).map_err(|_| damaged()),
        }
    }

    /// Opens what lies behind the frame that was read; false: there is nothing.
    fn next_frame(&mut self) -> Result<bool, DecodeError> {
        let Source::Zstd(frame, rest) = &mut self.source else { return Ok(false) };
        if let Some(read) = frame.take() {
            *rest = read.into_inner();
        }
        if rest.is_empty() {
            return Ok(false);
        }
        let opened = StreamingDecoder::new_with_max_window_size(*rest, self.window).map_err(|_| damaged())?;
        *frame = Some(Box::new(opened));
        Ok(true)
    }

    fn is_at_end(&mut self) -> Result<bool, DecodeError> {
        self.event.clear();
        loop {
            if self.read(1)? > 0 {
                return Ok(false);
            }
            if !self.next_frame()? {
                return Ok(true);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Appender, kind};

    fn transaction() -> Vec<u8> {
        let mut out = Vec::new();
        let mut appender = Appender { server_id: 1, checksum: Checksum::None, position: 0 };
        for n in 0..3u8 {
            appender.event(&mut out, 7, kind::ROWS_QUERY, 0, |o| o.extend_from_slice(&[n; 3000]));
        }
        out
    }

    fn bodies(packed: Packed<'_>) -> Result<Vec<Vec<u8>>, DecodeError> {
        let (mut events, mut found) = (packed.events(), Vec::new());
        while let Some(event) = events.next_event()? {
            found.push(event.body.to_vec());
        }
        Ok(found)
    }

    #[test]
    fn there_and_back() {
        let plain = transaction();
        let packed = compress(&plain);
        assert!(packed.len() * 10 < plain.len(), "{} of {}", packed.len(), plain.len());
        let mut body = Vec::new();
        Packed::new(plain.len() as u64, &packed).encode(&mut body);
        let read = Packed::decode(&body).unwrap();
        assert_eq!((read.compression(), read.size), ("ZSTD", plain.len() as u64));
        let want: Vec<Vec<u8>> = (0..3).map(|n| vec![n; 3000]).collect();
        assert_eq!(bodies(read), Ok(want.clone()));
        // What is not compressed, and frames one after the other, are read as well.
        assert_eq!(bodies(Packed { compressed: false, size: plain.len() as u64, bytes: &plain }), Ok(want.clone()));
        let (front, back) = plain.split_at(4000);
        let frames = [compress(front), compress(back)].concat();
        assert_eq!(bodies(Packed::new(plain.len() as u64, &frames)), Ok(want));
    }

    #[test]
    fn lies_are_found() {
        let plain = transaction();
        let packed = compress(&plain);
        let real = plain.len() as u64;
        // One byte too few: the last event is beyond. One too many: nothing is there.
        assert_eq!(bodies(Packed::new(real - 1, &packed)), Err(damaged()));
        let short = bodies(Packed::new(real + 1, &packed)).unwrap_err();
        assert!(matches!(short, DecodeError::Short { .. } | DecodeError::Invalid { .. }), "{short:?}");
        assert_eq!(bodies(Packed::new(3019, &packed)), Err(damaged()));
        assert!(matches!(bodies(Packed::new(real, &packed[..packed.len() / 2])), Err(DecodeError::Invalid { .. })));
        assert!(matches!(bodies(Packed::new(u64::MAX, b"")), Err(DecodeError::Short { .. })));
        // An event that says it is larger than all.
        let mut huge = plain.clone();
        huge[9..13].copy_from_slice(&(1u32 << 30).to_le_bytes());
        assert_eq!(bodies(Packed::new(real, &compress(&huge))), Err(damaged()));
        let head = |fields: &[u8]| Packed::decode(fields).map(drop);
        let size = Err(DecodeError::Invalid { at: 7, what: "size of a compressed transaction" });
        assert_eq!(head(&[2, 1, 0, 1, 1, 9, 0]), size);
        let unknown = Err(DecodeError::Invalid { at: 10, what: "compression of a transaction" });
        assert_eq!(head(&[2, 1, 7, 3, 1, 0, 1, 1, 0, 0]), unknown);
        assert!(matches!(head(&[2, 1]), Err(DecodeError::Short { .. })));
        // A field of another number is passed over.
        assert_eq!(head(&[2, 3, 0xFC, 255, 0, 9, 2, 1, 1, 1, 1, 0, 0]), Ok(()));
    }
}

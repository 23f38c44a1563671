//! Packets: `u24 length, u8 sequence, payload`, little-endian.
//!
//! A payload of 16 MiB - 1 bytes or more travels in several packets: full ones (length `0xFFFFFF`) and a last one that
//! is shorter, possibly empty. The sequence number counts packets of both directions from 0 at each command.

use crate::codec::Malformed;

/// Bytes of a packet header.
pub const HEADER: usize = 4;
/// Largest payload of one packet; a packet of this size is continued by the next.
pub const MAX_PAYLOAD: usize = 0xFF_FFFF;
/// Packets up to this size are read in place; of longer ones the part that arrived is moved into [`Decoder`]'s buffer,
/// so that the connection's own input buffer stays small.
pub const IN_PLACE: usize = 64 * 1024;

/// Why the stream of packets cannot go on. Each ends the connection after the error is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameError {
    /// Sequence number is not the next one: error 1156.
    OutOfOrder {
        /// What was due.
        expected: u8,
        /// What came.
        got: u8,
    },
    /// More than `max_allowed_packet`: error 1153.
    TooLarge,
}

/// What [`Decoder::feed`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fed {
    /// Take `consumed` bytes off the input; come back when at least `want` bytes are there.
    Partial {
        /// Bytes of the input that are done with.
        consumed: usize,
        /// Bytes (after that) that the next call needs to make progress; never more than [`IN_PLACE`] + 4.
        want: usize,
    },
    /// A whole payload lies in the input at `payload`; take `consumed` bytes off the input when done with it.
    InPlace {
        /// The payload's place in the input.
        payload: std::ops::Range<usize>,
        /// Bytes of the input that are done with.
        consumed: usize,
    },
    /// A whole payload is in [`Decoder::assembled`].
    Assembled {
        /// Bytes of the input that are done with.
        consumed: usize,
    },
}

/// Cuts a byte stream into payloads. One for each direction that is read.
#[derive(Debug)]
pub struct Decoder {
    /// Longest payload, in bytes.
    limit: usize,
    big: Vec<u8>,
    /// Bytes of the current packet still to come, when it is being moved into `big`.
    left: usize,
    /// The packet being moved, or the one before, is full: another follows.
    more: bool,
    /// `big` holds a payload that was handed out.
    delivered: bool,
    /// Sequence numbers are taken as they come.
    lenient: bool,
}

impl Decoder {
    /// A decoder which takes payloads up to `max_allowed_packet` bytes.
    pub fn new(max_allowed_packet: usize) -> Self {
        Self { limit: max_allowed_packet, big: Vec::new(), left: 0, more: false, delivered: false, lenient: false }
    }

    /// Takes sequence numbers as they come: inside compressed packets, which have their own, clients count in ways of
    /// their own.
    pub fn set_lenient(&mut self, lenient: bool) {
        self.lenient = lenient;
    }

    /// Changes the limit, from the next payload on.
    pub fn set_limit(&mut self, max_allowed_packet: usize) {
        self.limit = max_allowed_packet;
    }

    /// The payload that [`Fed::Assembled`] announced; valid until the next call of `feed`.
    pub fn assembled(&self) -> &[u8] {
        &self.big
    }

    /// Takes the assembled payload out, to keep it over further reads.
    pub fn take_assembled(&mut self) -> Vec<u8> {
        self.delivered = false;
        std::mem::take(&mut self.big)
    }

    /// Looks at the unread `input`. `sequence` is the number due next; it moves on with every packet read.
    pub fn feed(&mut self, input: &[u8], sequence: &mut u8) -> Result<Fed, FrameError> {
        if self.delivered {
            self.delivered = false;
            // A single huge statement must not pin its memory for the life of the connection.
            if self.big.capacity() > 4 * IN_PLACE {
                self.big = Vec::new();
            }
            self.big.clear();
        }
        let mut at = 0;
        loop {
            if self.left > 0 {
                let n = self.left.min(input.len() - at);
                self.big.extend_from_slice(&input[at..at + n]);
                at += n;
                self.left -= n;
                if self.left > 0 {
                    return Ok(Fed::Partial { consumed: at, want: self.left.min(IN_PLACE) });
                }
                if !self.more {
                    self.delivered = true;
                    return Ok(Fed::Assembled { consumed: at });
                }
            }
            let Some(header) = input[at..].first_chunk::<HEADER>() else {
                return Ok(Fed::Partial { consumed: at, want: HEADER });
            };
            let len = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
            if header[3] != *sequence {
                if self.lenient {
                    *sequence = header[3];
                    continue;
                }
                return Err(FrameError::OutOfOrder { expected: *sequence, got: header[3] });
            }
            if self.big.len() + len > self.limit {
                return Err(FrameError::TooLarge);
            }
            let body = at + HEADER;
            if !self.more && len <= IN_PLACE {
                if input.len() < body + len {
                    return Ok(Fed::Partial { consumed: at, want: HEADER + len });
                }
                *sequence = sequence.wrapping_add(1);
                return Ok(Fed::InPlace { payload: body..body + len, consumed: body + len });
            }
            *sequence = sequence.wrapping_add(1);
            at = body;
            self.left = len;
            self.more = len == MAX_PAYLOAD;
            if len == 0 {
                self.delivered = true;
                return Ok(Fed::Assembled { consumed: at });
            }
        }
    }
}

/// Writes packets behind what `out` holds already.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
    sequence: &'a mut u8,
}

/// Where an open packet starts in the output.
#[derive(Debug, Clone, Copy)]
#[must_use]
pub struct Mark(usize);

impl<'a> Writer<'a> {
    /// A writer that appends to `out`, numbering from `sequence`.
    #[inline]
    pub fn new(out: &'a mut Vec<u8>, sequence: &'a mut u8) -> Self {
        Self { out, sequence }
    }

    /// Opens a packet; its payload is then appended to [`buf`](Self::buf).
    #[inline]
    pub fn begin(&mut self) -> Mark {
        let at = self.out.len();
        self.out.extend_from_slice(&[0; HEADER]);
        Mark(at)
    }

    /// The output buffer, to append payload to.
    #[inline]
    pub fn buf(&mut self) -> &mut Vec<u8> {
        self.out
    }

    /// Closes the packet opened at `mark`: writes the header; splits a payload of 16 MiB - 1 or more.
    #[inline]
    pub fn end(&mut self, mark: Mark) {
        let len = self.out.len() - mark.0 - HEADER;
        if len < MAX_PAYLOAD {
            let le = (len as u32).to_le_bytes();
            self.out[mark.0..mark.0 + HEADER].copy_from_slice(&[le[0], le[1], le[2], *self.sequence]);
            *self.sequence = self.sequence.wrapping_add(1);
        } else {
            self.split(mark.0, len);
        }
    }

    /// Writes the header of the next packet of a payload that is written piece by piece, `left` bytes of which are
    /// still to come, and says how many of them belong to this packet. One that is filled up is followed by another,
    /// which may be empty.
    pub fn announce(&mut self, left: usize) -> usize {
        let len = left.min(MAX_PAYLOAD);
        let le = (len as u32).to_le_bytes();
        self.out.extend_from_slice(&[le[0], le[1], le[2], *self.sequence]);
        *self.sequence = self.sequence.wrapping_add(1);
        len
    }

    /// Drops the packet opened at `mark`, with its payload.
    pub fn cancel(&mut self, mark: Mark) {
        self.out.truncate(mark.0);
    }

    #[cold]
    fn split(&mut self, start: usize, len: usize) {
        let pieces = len / MAX_PAYLOAD + 1;
        let old_end = self.out.len();
        self.out.resize(old_end + (pieces - 1) * HEADER, 0);
        // From the last piece to the first, so that no byte is overwritten before it is moved.
        for i in (0..pieces).rev() {
            let from = start + HEADER + i * MAX_PAYLOAD;
            let n = MAX_PAYLOAD.min(len - i * MAX_PAYLOAD);
            let to = from + i * HEADER;
            self.out.copy_within(from..from + n, to);
            let le = (n as u32).to_le_bytes();
            let seq = self.sequence.wrapping_add(i as u8);
            self.out[to - HEADER..to].copy_from_slice(&[le[0], le[1], le[2], seq]);
        }
        *self.sequence = self.sequence.wrapping_add(pieces as u8);
    }

    /// Writes one whole payload as a packet.
    #[inline]
    pub fn packet(&mut self, payload: &[u8]) {
        let mark = self.begin();
        self.out.extend_from_slice(payload);
        self.end(mark);
    }
}

/// Length and sequence of a header; for blocking readers.
pub fn header(bytes: &[u8]) -> Result<(usize, u8), Malformed> {
    let h = bytes.first_chunk::<HEADER>().ok_or(Malformed)?;
    Ok((u32::from_le_bytes([h[0], h[1], h[2], 0]) as usize, h[3]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(payload: &[u8], seq: &mut u8) -> Vec<u8> {
        let mut out = Vec::new();
        Writer::new(&mut out, seq).packet(payload);
        out
    }

    /// Feeds `stream` in pieces of `step` bytes, as a socket would, and returns all payloads.
    fn decode(stream: &[u8], step: usize, limit: usize) -> Result<Vec<Vec<u8>>, FrameError> {
        let mut d = Decoder::new(limit);
        let (mut buf, mut got, mut seq, mut at) = (Vec::new(), Vec::new(), 0, 0);
        while at < stream.len() || !buf.is_empty() {
            let n = step.min(stream.len() - at);
            buf.extend_from_slice(&stream[at..at + n]);
            at += n;
            loop {
                match d.feed(&buf, &mut seq)? {
                    Fed::Partial { consumed, want } => {
                        buf.drain(..consumed);
                        assert!(want > buf.len(), "no progress would be possible");
                        break;
                    }
                    Fed::InPlace { payload, consumed } => {
                        got.push(buf[payload].to_vec());
                        buf.drain(..consumed);
                    }
                    Fed::Assembled { consumed } => {
                        got.push(d.assembled().to_vec());
                        buf.drain(..consumed);
                    }
                }
            }
            assert!(buf.len() <= IN_PLACE + HEADER + step);
            if at == stream.len() {
                break;
            }
        }
        Ok(got)
    }

    #[test]
    fn packets_round_trip_at_every_size_border() {
        for len in [0, 1, 100, IN_PLACE, IN_PLACE + 1, MAX_PAYLOAD - 1, MAX_PAYLOAD, MAX_PAYLOAD + 1, 2 * MAX_PAYLOAD] {
            let payload: Vec<u8> = (0..len).map(|i| (i * 7 + i / 251) as u8).collect();
            let mut seq = 0;
            let mut stream = encode(&payload, &mut seq);
            assert_eq!(usize::from(seq), len / MAX_PAYLOAD + 1);
            stream.extend(encode(b"next", &mut seq));
            let got = decode(&stream, 70_001, usize::MAX).unwrap();
            assert_eq!(got.len(), 2, "{len}");
            assert!(got[0] == payload && got[1] == b"next", "{len}");
        }
    }

    #[test]
    fn small_steps_give_the_same() {
        let (mut seq, mut stream) = (0, Vec::new());
        for len in [0, 5, 300, 70_000, 3] {
            stream.extend(encode(&vec![b'a'; len], &mut seq));
        }
        let lens: Vec<usize> = decode(&stream, 1, 1 << 20).unwrap().iter().map(Vec::len).collect();
        assert_eq!(lens, [0, 5, 300, 70_000, 3]);
    }

    #[test]
    fn sequence_and_size_are_checked_before_anything_is_kept() {
        let mut d = Decoder::new(1000);
        let mut seq = 0;
        assert_eq!(d.feed(&[1, 0, 0, 5, 3], &mut seq), Err(FrameError::OutOfOrder { expected: 0, got: 5 }));
        assert_eq!(d.feed(&[0xFF, 0xFF, 0xFF, 0], &mut seq), Err(FrameError::TooLarge));
        // A promise alone takes no memory.
        let mut d = Decoder::new(1 << 30);
        assert_eq!(d.feed(&[0xFE, 0xFF, 0xFF, 0], &mut seq).unwrap(), Fed::Partial { consumed: 4, want: IN_PLACE });
        assert!(d.big.capacity() < 1024);
    }
}

//! Compressed packets: `u24 length, u8 sequence, u24 uncompressed length, payload`, little-endian.
//!
//! The stream of ordinary packets is cut anywhere into such packets; uncompressed length 0 means that the payload is
//! plain, as it is for short ones. The sequence counts compressed packets of both directions from 0 at each command.
//! Both sides start it after the OK packet of the login.

use crate::flags::cap;
use crate::frame::MAX_PAYLOAD;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use ruzstd::decoding::FrameDecoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::cell::RefCell;

/// Bytes of a compressed packet's header.
pub const HEADER: usize = 7;
/// Shorter payloads travel as they are, as in MySQL.
const MIN_LENGTH: usize = 50;
/// Longest piece compressed at once, as in MySQL: there are clients that take an ordinary packet from two compressed
/// ones at most. What does not get shorter travels plain, so it always fits.
const PIECE: usize = MAX_PAYLOAD;

/// What `protocol_compression_algorithms` allows: capability bits, and whether clients may do without. `None`: it names
/// something else, or nothing.
pub fn allowed(list: &str) -> Option<(u32, bool)> {
    let (mut bits, mut plain) = (0, false);
    for name in list.split(',').map(|n| n.trim().to_ascii_lowercase()) {
        match name.as_str() {
            "zlib" => bits |= cap::COMPRESS,
            "zstd" => bits |= cap::ZSTD_COMPRESSION,
            "uncompressed" => plain = true,
            _ => return None,
        }
    }
    Some((bits, plain))
}

/// How packets are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// RFC 1950.
    Zlib,
    /// RFC 8878.
    Zstd,
}

impl Algorithm {
    /// Its name in `protocol_compression_algorithms`.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Zlib => "zlib",
            Algorithm::Zstd => "zstd",
        }
    }

    /// `Compression_level`: what MySQL's server uses. The encoder of zstd here has one level, about its first.
    pub fn level(self) -> u32 {
        match self {
            Algorithm::Zlib => 6,
            Algorithm::Zstd => 1,
        }
    }

    /// What both sides take: zlib before zstd, as MySQL's client and server choose. `None`: packets travel as they are.
    pub fn agreed(capabilities: u32) -> Option<Self> {
        match capabilities {
            c if c & cap::COMPRESS != 0 => Some(Algorithm::Zlib),
            c if c & cap::ZSTD_COMPRESSION != 0 => Some(Algorithm::Zstd),
            _ => None,
        }
    }
}

/// Why a compressed stream cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Sequence number is not the next one: error 1156.
    OutOfOrder,
    /// A packet would become longer than is allowed: error 1153.
    TooLarge,
    /// It is not what it says: error 1157.
    Damaged,
}

/// Both directions of one end of a connection.
#[derive(Debug)]
pub struct Compressed {
    algorithm: Algorithm,
    /// Longest packet that is uncompressed to.
    limit: usize,
    /// Number of the next packet.
    sequence: u8,
    /// Received and not yet uncompressed.
    raw: Vec<u8>,
}

thread_local! {
    /// Their tables are large, and no state is kept from packet to packet.
    static ZLIB: RefCell<(Compress, Decompress)> =
        RefCell::new((Compress::new(Compression::new(6), true), Decompress::new(true)));
}

impl Compressed {
    /// `limit`: longest packet to uncompress, in bytes (never more than 16 MiB - 1).
    pub fn new(algorithm: Algorithm, limit: usize) -> Self {
        Self { algorithm, limit: limit.min(MAX_PAYLOAD), sequence: 0, raw: Vec::new() }
    }

    /// The algorithm.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Keeps bytes that arrived.
    pub fn receive(&mut self, raw: &[u8]) {
        self.raw.extend_from_slice(raw);
    }

    /// Bytes that the next packet says it has when it is uncompressed; 0 when it is not there as a whole, or travels
    /// plain.
    pub fn announced(&self) -> usize {
        match self.raw.first_chunk::<HEADER>() {
            Some([a, b, c, _, d, e, f]) if self.raw.len() >= HEADER + u32::from_le_bytes([*a, *b, *c, 0]) as usize => {
                u32::from_le_bytes([*d, *e, *f, 0]) as usize
            }
            _ => 0,
        }
    }

    /// Appends the contents of the next packet to `plain`; `false` when it is not there as a whole. One packet only, so
    /// that no more is uncompressed than somebody waits for.
    pub fn next(&mut self, plain: &mut Vec<u8>) -> Result<bool, Fault> {
        let Some(h) = self.raw.first_chunk::<HEADER>() else { return Ok(false) };
        let length = u32::from_le_bytes([h[0], h[1], h[2], 0]) as usize;
        let uncompressed = u32::from_le_bytes([h[4], h[5], h[6], 0]) as usize;
        // A command starts at 0, wherever the one before ended.
        if h[3] != self.sequence && h[3] != 0 {
            return Err(Fault::OutOfOrder);
        }
        if uncompressed > self.limit || uncompressed == 0 && length > self.limit {
            return Err(Fault::TooLarge);
        }
        let sequence = h[3];
        let Some(payload) = self.raw.get(HEADER..HEADER + length) else { return Ok(false) };
        match (uncompressed, self.algorithm) {
            (0, _) => plain.extend_from_slice(payload),
            (n, Algorithm::Zlib) => inflate(payload, n, plain)?,
            (n, Algorithm::Zstd) => unzstd(payload, n, plain)?,
        }
        self.sequence = sequence.wrapping_add(1);
        self.raw.drain(..HEADER + length);
        if self.raw.is_empty() && self.raw.capacity() > 64 << 10 {
            self.raw = Vec::new();
        }
        Ok(true)
    }

    /// The next packet begins a command: the client's side.
    pub fn restart(&mut self) {
        self.sequence = 0;
    }

    /// Appends `plain` as compressed packets.
    pub fn send(&mut self, plain: &[u8], wire: &mut Vec<u8>) {
        for piece in plain.chunks(PIECE) {
            let start = wire.len();
            wire.extend_from_slice(&[0; HEADER]);
            let mut uncompressed = piece.len();
            let shorter = piece.len() >= MIN_LENGTH && {
                match self.algorithm {
                    Algorithm::Zlib => deflate(piece, wire),
                    Algorithm::Zstd => wire.extend(compress_to_vec(piece, CompressionLevel::Fastest)),
                }
                wire.len() - start - HEADER < piece.len()
            };
            if !shorter {
                wire.truncate(start + HEADER);
                wire.extend_from_slice(piece);
                uncompressed = 0;
            }
            let length = (wire.len() - start - HEADER) as u32;
            wire[start..start + 3].copy_from_slice(&length.to_le_bytes()[..3]);
            wire[start + 3] = self.sequence;
            wire[start + 4..start + HEADER].copy_from_slice(&(uncompressed as u32).to_le_bytes()[..3]);
            self.sequence = self.sequence.wrapping_add(1);
        }
    }
}

/// Bytes that output grows by: promises alone take no memory.
const STEP: usize = 64 << 10;

fn inflate(payload: &[u8], length: usize, plain: &mut Vec<u8>) -> Result<(), Fault> {
    ZLIB.with_borrow_mut(|(_, z)| {
        z.reset(true);
        let end = plain.len() + length;
        loop {
            let (taken, had) = (z.total_in() as usize, plain.len());
            plain.resize(end.min(had + STEP), 0);
            let rest = payload.get(taken..).unwrap_or_default();
            let before = z.total_out();
            let status = z.decompress(rest, &mut plain[had..], FlushDecompress::None).map_err(|_| Fault::Damaged)?;
            let got = (z.total_out() - before) as usize;
            plain.truncate(had + got);
            match status {
                Status::StreamEnd if plain.len() == end && z.total_in() as usize == payload.len() => return Ok(()),
                Status::StreamEnd => return Err(Fault::Damaged),
                // It wants more than there is, or has more than it said.
                _ if got == 0 && z.total_in() as usize == taken => return Err(Fault::Damaged),
                _ => {}
            }
        }
    })
}

fn deflate(plain: &[u8], wire: &mut Vec<u8>) {
    ZLIB.with_borrow_mut(|(z, _)| {
        z.reset();
        loop {
            wire.reserve((plain.len() / 2).max(256));
            let rest = plain.get(z.total_in() as usize..).unwrap_or_default();
            match z.compress_vec(rest, wire, FlushCompress::Finish) {
                Ok(Status::StreamEnd) | Err(_) => return,
                Ok(_) => {}
            }
        }
    });
}

fn unzstd(payload: &[u8], length: usize, plain: &mut Vec<u8>) -> Result<(), Fault> {
    let had = plain.len();
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size((length as u64).max(8 << 20));
    plain.resize(had + length, 0);
    let got = decoder.decode_all(payload, &mut plain[had..]);
    plain.truncate(had + length);
    match got {
        Ok(n) if n == length => Ok(()),
        _ => Err(Fault::Damaged),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOMB: usize = 1 << 20;
    const BOTH: [Algorithm; 2] = [Algorithm::Zlib, Algorithm::Zstd];

    fn mixed(len: usize) -> Vec<u8> {
        let mut x = 7u32;
        let noise = |i: usize, x: &mut u32| {
            *x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if (i / 1000).is_multiple_of(3) { (*x >> 24) as u8 } else { b'a' + (i / 100 % 5) as u8 }
        };
        (0..len).map(|i| noise(i, &mut x)).collect()
    }

    #[test]
    fn streams_round_trip_in_pieces() {
        for algorithm in BOTH {
            for len in [1, 49, 50, 51, 5000, (1 << 20) + 5] {
                let (mut a, mut b) = (Compressed::new(algorithm, usize::MAX), Compressed::new(algorithm, usize::MAX));
                let (text, mut wire, mut got) = (mixed(len), Vec::new(), Vec::new());
                a.send(&text, &mut wire);
                assert!(len < 5000 || wire.len() < len * 3 / 4, "{algorithm:?} {len} {}", wire.len());
                for piece in wire.chunks(70_001) {
                    b.receive(piece);
                    while b.next(&mut got).unwrap() {}
                }
                assert!(got == text, "{algorithm:?} {len}");
                // The other direction goes on counting.
                wire.clear();
                b.send(b"x", &mut wire);
                a.receive(&wire);
                assert_eq!((wire[3], a.next(&mut got)), (len.div_ceil(PIECE) as u8, Ok(true)));
            }
        }
    }

    #[test]
    fn bombs_and_lies_are_refused() {
        for algorithm in BOTH {
            let mut wire = Vec::new();
            Compressed::new(algorithm, 0).send(&vec![0; BOMB], &mut wire);
            assert!(wire.len() < BOMB / 100, "{}", wire.len());
            let mut plain = Vec::new();
            let mut take = |wire: &[u8], limit| {
                let mut c = Compressed::new(algorithm, limit);
                c.receive(wire);
                plain.clear();
                let got = c.next(&mut plain);
                (got, plain.len())
            };
            assert_eq!(take(&wire, BOMB), (Ok(true), BOMB));
            // Said to be long: refused before anything is uncompressed.
            assert_eq!(take(&wire, BOMB - 1), (Err(Fault::TooLarge), 0));
            // Said to be shorter, or longer, than it is.
            for lie in [1000, BOMB - 1, BOMB + 1] {
                let mut wire = wire.clone();
                wire[4..7].copy_from_slice(&(lie as u32).to_le_bytes()[..3]);
                let (got, len) = take(&wire, 2 * BOMB);
                assert_eq!(got, Err(Fault::Damaged), "{algorithm:?} {lie}");
                assert!(len <= lie);
            }
            let mut wrong = wire.clone();
            wrong[3] = 9;
            assert_eq!(take(&wrong, BOMB).0, Err(Fault::OutOfOrder));
            wrong = wire.clone();
            let middle = wrong.len() / 2;
            wrong[middle..].fill(0xFF);
            assert_eq!(take(&wrong, BOMB).0, Err(Fault::Damaged));
            // Plain, and too long.
            assert_eq!(take(&[0xFF, 0xFF, 0xFF, 0, 0, 0, 0], BOMB).0, Err(Fault::TooLarge));
        }
    }
}

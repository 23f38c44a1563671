//! The bytes of the log, little-endian.
//!
//! **Logical log**: a stream of records, each starting at a multiple of 8. An LSN is a position in this stream, padding
//! included. A record:
//!
//! ```text
//! 0  u32  payload length (24 bits) | kind << 24      never zero: kinds start at 1
//! 4  u32  crc32c(epoch u64, start LSN u64, the u32 above, payload, zeros up to a multiple of 8)
//! 8  ...  payload, then zeros up to a multiple of 8
//! ```
//!
//! The checksum covers epoch and position, so bytes that a former incarnation or a former lap of the segment left there
//! do not validate: two positions (or epochs) that differ within 32 neighbouring bits give different checksums for
//! certain, CRC-32 detects every burst up to its width.
//!
//! An incarnation's first record is [`RecordKind::EpochStart`], at the first block boundary at or after the end of the
//! intact log; it names that end, so a reader steps over the torn rest of the block.
//!
//! **Segment file** `NNNNNNNN.log`: a header block of 4 KiB, then `body_bytes` of the logical log from `start_lsn` on
//! (both multiples of 4 KiB). The file's number means nothing: recycling rewrites the header.
//!
//! ```text
//! 0   8 bytes  "GNTLOG\r\n"
//! 8   u32      format version
//! 12  u32      crc32c of bytes 16..64
//! 16  u64      store id
//! 24  u64      start LSN; 0 in a segment not in use
//! 32  u64      body bytes
//! 40  u64      epoch of the incarnation that put it to use
//! 48  u32      format version again, where the checksum covers it; 0 in headers of builds that did not write it: it is 1
//! 52  12 bytes zero
//! 64  ...      zero up to 4096
//! ```
//!
//! Durable order: a segment's header is synced with its first body blocks, before anything in them is acknowledged; a
//! header is overwritten only after the control file's checkpoint has passed the segment's end durably.

use gannet_base::{Lsn, Reader, Writer, crc32c};

/// Records start at multiples of this.
pub(crate) const ALIGN: u64 = 8;
/// What is written and synced ends at multiples of this.
pub(crate) const BLOCK: u64 = 4096;
/// Size of a record's header.
pub(crate) const HEADER: usize = 8;
/// Size of a segment's header block.
pub(crate) const SEGMENT_HEADER: u64 = BLOCK;
/// Format version of segment files.
pub(crate) const VERSION: u32 = 1;

const MAGIC: [u8; 8] = *b"GNTLOG\r\n";
const LEN_BITS: u32 = 24;
/// End of what a segment's header says.
const CHECKED_TO: usize = 64;

/// Longest payload of one record in bytes (sum of its parts). Longer is a caller's error.
pub const MAX_PAYLOAD: usize = 1 << 20;
const _: () = assert!(MAX_PAYLOAD < 1 << LEN_BITS);

/// The first LSN of a new store. Zero is free to mean 'none'.
pub const FIRST_LSN: Lsn = Lsn(BLOCK);

/// What a record's payload is. Append-only list: numbers are never reused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum RecordKind {
    /// Fills a flush unit up to its block's end. Readers never hand it out. The payload, where there is room, begins
    /// with a `u64`: all of the log below this LSN was on disk before the unit was written (zero: not said).
    Pad = 1,
    /// First record of an incarnation of the server. Readers never hand it out.
    EpochStart = 2,
    /// A mini-transaction: `(page number, op)` pairs.
    Mtr = 3,
    /// What consumers of the log get of a transaction. Recovery passes over it.
    Payload = 4,
}

impl RecordKind {
    pub(crate) fn from_u8(v: u8) -> Option<RecordKind> {
        match v {
            1 => Some(RecordKind::Pad),
            2 => Some(RecordKind::EpochStart),
            3 => Some(RecordKind::Mtr),
            4 => Some(RecordKind::Payload),
            _ => None,
        }
    }
}

/// Bytes a record with that payload takes.
#[inline]
pub const fn record_bytes(payload: usize) -> u64 {
    (HEADER as u64 + payload as u64).next_multiple_of(ALIGN)
}

/// The first block boundary at or after `lsn`.
#[inline]
pub(crate) const fn block_up(lsn: u64) -> u64 {
    lsn.next_multiple_of(BLOCK)
}

/// The last block boundary at or before `lsn`.
#[inline]
pub(crate) const fn block_down(lsn: u64) -> u64 {
    lsn / BLOCK * BLOCK
}

/// First word of a record's header.
#[inline]
pub(crate) const fn word(kind: RecordKind, len: usize) -> u32 {
    (kind as u32) << LEN_BITS | len as u32
}

/// Kind (as a number) and payload length of a header's first word.
#[inline]
pub(crate) const fn unword(word: u32) -> (u8, usize) {
    ((word >> LEN_BITS) as u8, (word & ((1 << LEN_BITS) - 1)) as usize)
}

/// Checksum of all that precedes the payload: continue with the payload and its padding.
#[inline]
pub(crate) fn checksum_seed(epoch: u64, start: u64, word: u32) -> u32 {
    let mut seed = [0; 20];
    seed[..8].copy_from_slice(&epoch.to_le_bytes());
    seed[8..16].copy_from_slice(&start.to_le_bytes());
    seed[16..].copy_from_slice(&word.to_le_bytes());
    crc32c(0, &seed)
}

/// The whole checksum; `body` is payload with padding.
#[inline]
pub(crate) fn checksum(epoch: u64, start: u64, word: u32, body: &[u8]) -> u32 {
    crc32c(checksum_seed(epoch, start, word), body)
}

/// Payload of [`RecordKind::EpochStart`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EpochStart {
    pub(crate) store: u64,
    pub(crate) epoch: u64,
    pub(crate) prev_epoch: u64,
    pub(crate) prev_end: u64,
}

impl EpochStart {
    pub(crate) const BYTES: usize = 32;

    pub(crate) fn encode(&self) -> [u8; Self::BYTES] {
        let mut out = Vec::with_capacity(Self::BYTES);
        Writer::new(&mut out).u64(self.store).u64(self.epoch).u64(self.prev_epoch).u64(self.prev_end);
        let mut bytes = [0; Self::BYTES];
        bytes.copy_from_slice(&out);
        bytes
    }

    /// Whether that incarnation goes on from where one of `epoch` ended.
    pub(crate) fn follows(&self, store: u64, epoch: u64, end: u64) -> bool {
        self.store == store && self.prev_end == end && self.prev_epoch == epoch && self.epoch > epoch
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<EpochStart> {
        let mut r = Reader::new(bytes);
        let found = EpochStart {
            store: r.u64().ok()?,
            epoch: r.u64().ok()?,
            prev_epoch: r.u64().ok()?,
            prev_end: r.u64().ok()?,
        };
        r.finish().ok()?;
        Some(found)
    }
}

/// A segment's header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SegmentHeader {
    pub(crate) store: u64,
    /// 0: prepared (its blocks are initialised) but not in use.
    pub(crate) start: u64,
    pub(crate) body_bytes: u64,
    pub(crate) epoch: u64,
}

/// What a header block holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HeaderBlock {
    Valid(SegmentHeader),
    /// Only zeros: allocated, never used.
    Blank,
    /// Damaged, torn or foreign.
    Bad(&'static str),
    /// Written by a newer version of the software.
    Newer(u32),
}

impl SegmentHeader {
    pub(crate) fn encode(&self, block: &mut [u8]) {
        let mut out = Vec::with_capacity(64);
        Writer::new(&mut out)
            .u64(self.store)
            .u64(self.start)
            .u64(self.body_bytes)
            .u64(self.epoch)
            .u32(VERSION)
            .u32(0)
            .u64(0);
        block.fill(0);
        block[..8].copy_from_slice(&MAGIC);
        block[8..12].copy_from_slice(&VERSION.to_le_bytes());
        block[12..16].copy_from_slice(&crc32c(0, &out).to_le_bytes());
        block[16..64].copy_from_slice(&out);
    }

    pub(crate) fn decode(block: &[u8]) -> HeaderBlock {
        if block.len() as u64 != SEGMENT_HEADER {
            return HeaderBlock::Bad("the file is shorter than its header");
        }
        if block.iter().all(|&b| b == 0) {
            return HeaderBlock::Blank;
        }
        match Self::decode_exactly(block) {
            HeaderBlock::Bad(why) => Self::corrected(block).map_or(HeaderBlock::Bad(why), HeaderBlock::Valid),
            exact => exact,
        }
    }

    /// With one bit flipped there is one header only that it can have been: the checksum tells headers apart that
    /// differ in so few bits.
    fn corrected(block: &[u8]) -> Option<SegmentHeader> {
        let mut head = block[..CHECKED_TO].to_vec();
        (0..CHECKED_TO * 8).find_map(|bit| {
            head[bit / 8] ^= 1 << (bit % 8);
            let decoded = Self::decode_exactly(&head);
            head[bit / 8] ^= 1 << (bit % 8);
            if let HeaderBlock::Valid(header) = decoded { Some(header) } else { None }
        })
    }

    fn decode_exactly(block: &[u8]) -> HeaderBlock {
        if block[..8] != MAGIC {
            return HeaderBlock::Bad("not a log segment");
        }
        let word = |at: usize| u32::from_le_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]]);
        if word(12) != crc32c(0, &block[16..CHECKED_TO]) {
            return HeaderBlock::Bad("the header's checksum is wrong");
        }
        // The word at 8 is not covered: it is for people.
        let version = word(48).max(1);
        if version > VERSION {
            return HeaderBlock::Newer(version);
        }
        let mut r = Reader::new(&block[16..CHECKED_TO]);
        let (Ok(store), Ok(start), Ok(body_bytes), Ok(epoch)) = (r.u64(), r.u64(), r.u64(), r.u64()) else {
            return HeaderBlock::Bad("the header is short");
        };
        let sane = start % BLOCK == 0 && body_bytes % BLOCK == 0 && body_bytes > 0 && body_bytes <= 1 << 40;
        if !sane || start > u64::MAX / 2 {
            return HeaderBlock::Bad("the header's numbers make no sense");
        }
        HeaderBlock::Valid(SegmentHeader { store, start, body_bytes, epoch })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_numbers_are_fixed() {
        assert_eq!((record_bytes(0), record_bytes(1), record_bytes(8), record_bytes(9)), (8, 16, 16, 24));
        assert_eq!(unword(word(RecordKind::Mtr, 12345)), (3, 12345));
        for kind in [RecordKind::Pad, RecordKind::EpochStart, RecordKind::Mtr, RecordKind::Payload] {
            assert_eq!(RecordKind::from_u8(kind as u8), Some(kind));
        }
        assert_eq!(RecordKind::from_u8(0), None);
        assert_eq!((block_up(4095), block_up(4096), block_down(4097)), (4096, 4096, 4096));
    }

    #[test]
    fn segment_header_round_trip_and_every_flip() {
        let header = SegmentHeader { store: 7, start: 8192, body_bytes: 1 << 20, epoch: 3 };
        let mut block = vec![0; BLOCK as usize];
        assert_eq!(SegmentHeader::decode(&block), HeaderBlock::Blank);
        header.encode(&mut block);
        assert_eq!(SegmentHeader::decode(&block), HeaderBlock::Valid(header));
        let sum = |block: &mut [u8]| {
            let crc = crc32c(0, &block[16..CHECKED_TO]);
            block[12..16].copy_from_slice(&crc.to_le_bytes());
        };
        // As builds wrote it that did not repeat the version.
        let mut old = block.clone();
        old[48..52].fill(0);
        sum(&mut old);
        for block in [&block, &old] {
            for bit in 0..block.len() * 8 {
                let mut flipped = block.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(SegmentHeader::decode(&flipped), HeaderBlock::Valid(header), "bit {bit}");
                if bit < CHECKED_TO * 8 && !(8 * 8..12 * 8).contains(&bit) {
                    let other = (bit + 77) % (CHECKED_TO * 8);
                    flipped[other / 8] ^= 1 << (other % 8);
                    let decoded = SegmentHeader::decode(&flipped);
                    assert!(matches!(decoded, HeaderBlock::Bad(_) | HeaderBlock::Valid(_)), "bits {bit}, {other}");
                    if let HeaderBlock::Valid(found) = decoded {
                        assert_eq!(found, header, "bits {bit}, {other}");
                    }
                }
            }
        }
        block[48] = 9;
        sum(&mut block);
        assert_eq!(SegmentHeader::decode(&block), HeaderBlock::Newer(9));
        assert!(matches!(SegmentHeader::decode(&block[..100]), HeaderBlock::Bad(_)));
    }

    #[test]
    fn epoch_start_round_trip() {
        let e = EpochStart { store: 1, epoch: 2, prev_epoch: 3, prev_end: 4 };
        assert_eq!(EpochStart::decode(&e.encode()), Some(e));
        assert_eq!(EpochStart::decode(&e.encode()[..31]), None);
        assert_eq!(EpochStart::decode(&[0; 33]), None);
    }
}

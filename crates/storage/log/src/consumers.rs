//! The file `consumers` beside the segments: the names that follow the log, and from where on the log is kept for
//! each. Little-endian.
//!
//! Two slots of 4 KiB are written in turn, with a sync each time: a torn write damages one of them at most, and the
//! other slot holds the state before. A store without the file has no consumers. Neither has a store whose file
//! cannot be read; the server logs this as an error, and a consumer then finds that its name is new. A slot:
//!
//! ```text
//! 0    8 bytes  "GNTCNS\r\n"
//! 8    u32      format version
//! 12   u32      crc32c of bytes 16..4096
//! 16   u64      sequence: the valid slot with the greater one counts
//! 24   u64      store id
//! 32   u32      consumers, 32 at most
//! 36   u32      zero
//! 40   ...      104 bytes for each, then zeros up to 4096
//! ```
//!
//! A consumer:
//!
//! ```text
//! 0    u8       length of the name in bytes, 1 to 64
//! 1    u8       beyond its bound: 1 writers are braked, 2 it is cut off
//! 2    u8       1: it was cut off
//! 3    5 bytes  zero
//! 8    64 bytes name in UTF-8, then zeros
//! 72   u64      the log is kept from this LSN on
//! 80   u64      epoch in force there
//! 88   u64      all commits up to this LSN are dealt with
//! 96   u64      its bound in bytes
//! ```
//!
//! INV-LOG-5: a consumer's position in the file is durable before a segment is recycled because of it; and the log up
//! to a position is durable before the file has it, as after a crash other records may lie there.

use std::path::Path;

use gannet_base::{Lsn, Reader, Writer, crc32c};
use gannet_runtime::{AlignedBuf, File, OpenOptions, fs};

use crate::LogError;

const MAGIC: [u8; 8] = *b"GNTCNS\r\n";
const VERSION: u32 = 1;
const SLOT: usize = 4096;
const ENTRY: usize = 104;
const FILE: &str = "consumers";
/// Longest name in bytes.
pub(crate) const MAX_NAME: usize = 64;
/// So many consumers at most.
pub(crate) const MAX_CONSUMERS: usize = 32;
const _: () = assert!(40 + MAX_CONSUMERS * ENTRY <= SLOT);

/// The least bound, in bytes.
pub const MIN_BOUND: u64 = 1 << 20;
/// What happens when a consumer holds back more than its bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Beyond {
    /// Writers are slowed down from three quarters of the bound on, and wait at the bound.
    Brake,
    /// The consumer loses its place: an error in the server's log, and for the consumer.
    CutOff,
}

/// How much of the log a consumer may hold back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hold {
    /// Bytes between what it has dealt with and the log's end; raised to [`MIN_BOUND`] if less.
    pub bound_bytes: u64,
    /// What happens beyond.
    pub beyond: Beyond,
}

/// A consumer's position in the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Position {
    /// It has to read from here on, a record boundary: what it has yet to deal with may have begun before other things
    /// that it has dealt with.
    pub from: Lsn,
    /// Epoch in force there.
    pub epoch: u64,
    /// All that ends at or below this LSN is dealt with.
    pub done: Lsn,
}

/// A consumer as the file has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Kept {
    pub(crate) name: String,
    pub(crate) position: Position,
    pub(crate) hold: Hold,
    pub(crate) cut_off: bool,
}

fn encode(sequence: u64, store: u64, all: &[Kept], slot: &mut [u8]) {
    let mut out = Vec::with_capacity(SLOT);
    Writer::new(&mut out).u64(sequence).u64(store).u32(all.len() as u32).u32(0);
    for one in all {
        let beyond = match one.hold.beyond {
            Beyond::Brake => 1,
            Beyond::CutOff => 2,
        };
        let from = out.len();
        out.extend([one.name.len() as u8, beyond, u8::from(one.cut_off), 0, 0, 0, 0, 0]);
        out.extend(one.name.as_bytes());
        out.resize(from + 8 + MAX_NAME, 0);
        let at = one.position;
        Writer::new(&mut out).u64(at.from.0).u64(at.epoch).u64(at.done.0).u64(one.hold.bound_bytes);
    }
    out.resize(SLOT - 16, 0);
    slot[..8].copy_from_slice(&MAGIC);
    slot[8..12].copy_from_slice(&VERSION.to_le_bytes());
    slot[12..16].copy_from_slice(&crc32c(0, &out).to_le_bytes());
    slot[16..].copy_from_slice(&out);
}

/// What one slot holds.
#[derive(PartialEq, Debug)]
enum Slot {
    Valid(u64, Vec<Kept>),
    Bad,
    Newer(u32),
}

fn decode(slot: &[u8], store: u64) -> Slot {
    let Some(checked) = slot.get(16..).filter(|_| slot.len() == SLOT && slot[..8] == MAGIC) else { return Slot::Bad };
    let word = |at: usize| u32::from_le_bytes([slot[at], slot[at + 1], slot[at + 2], slot[at + 3]]);
    // The version is not covered by the checksum: another one is believed only where the rest is whole.
    if word(12) != crc32c(0, checked) {
        return Slot::Bad;
    }
    if word(8) > VERSION {
        return Slot::Newer(word(8));
    }
    let mut r = Reader::new(checked);
    let parsed = (|| {
        let (sequence, of, count, _) = (r.u64()?, r.u64()?, r.u32()?, r.u32()?);
        if of != store || count as usize > MAX_CONSUMERS {
            return Err(r.invalid("header"));
        }
        let mut all = Vec::with_capacity(count as usize);
        for _ in 0..count {
            let [len, beyond, cut_off, ..] = r.array::<8>()?;
            let name = r.array::<MAX_NAME>()?;
            let name = name.get(..len as usize).and_then(|n| std::str::from_utf8(n).ok()).filter(|n| !n.is_empty());
            let Some(name) = name else { return Err(r.invalid("name")) };
            let beyond = match beyond {
                1 => Beyond::Brake,
                2 => Beyond::CutOff,
                _ => return Err(r.invalid("policy")),
            };
            let position = Position { from: Lsn(r.u64()?), epoch: r.u64()?, done: Lsn(r.u64()?) };
            let hold = Hold { bound_bytes: r.u64()?, beyond };
            all.push(Kept { name: name.to_owned(), position, hold, cut_off: cut_off != 0 });
        }
        Ok((sequence, all))
    })();
    parsed.map_or(Slot::Bad, |(sequence, all)| Slot::Valid(sequence, all))
}

/// Reads the file: its greatest sequence and the consumers. `Ok(None)`: there is none.
pub(crate) fn load(dir: &Path, store: u64) -> Result<Option<(u64, Vec<Kept>)>, LogError> {
    let path = dir.join(FILE);
    if !fs::exists(&path).map_err(LogError::io("look for", &path))? {
        return Ok(None);
    }
    let file = File::open(&path, &OpenOptions::read()).map_err(LogError::io("open", &path))?;
    let mut bytes = AlignedBuf::zeroed(2 * SLOT);
    let n = file.read_at(&mut bytes, 0).map_err(LogError::io("read", &path))?;
    bytes[n..].fill(0);
    let mut best = None;
    for slot in [decode(&bytes[..SLOT], store), decode(&bytes[SLOT..], store)] {
        match slot {
            Slot::Newer(version) => return Err(LogError::NewerFormat { path, version }),
            Slot::Valid(sequence, all) if best.as_ref().is_none_or(|(s, _)| *s < sequence) => {
                best = Some((sequence, all));
            }
            Slot::Valid(..) | Slot::Bad => {}
        }
    }
    // Only zeros: the file's creation was cut short, and no caller was told that there is a consumer.
    if best.is_none() && bytes.iter().any(|b| *b != 0) {
        let what =
            "both slots of the file of consumers are damaged: it is not known which consumers the log has".to_owned();
        return Err(LogError::Corrupt { path, what });
    }
    Ok(best)
}

/// Writes the slot of `sequence`, durably.
pub(crate) fn store(dir: &Path, store: u64, sequence: u64, all: &[Kept]) -> Result<(), LogError> {
    let path = dir.join(FILE);
    let is_new = !fs::exists(&path).map_err(LogError::io("look for", &path))?;
    let how = OpenOptions::read_write().create().direct();
    let file = File::open(&path, &how).map_err(LogError::io("open", &path))?;
    let mut slot = AlignedBuf::zeroed(SLOT);
    encode(sequence, store, all, &mut slot);
    file.write_at(&slot, sequence % 2 * SLOT as u64).map_err(LogError::io("write", &path))?;
    file.sync_all().map_err(LogError::io("sync", &path))?;
    if is_new {
        fs::sync_dir(dir).map_err(LogError::io("sync", dir))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(name: &str, at: u64) -> Kept {
        let position = Position { from: Lsn(at), epoch: 3, done: Lsn(at + 8) };
        Kept {
            name: name.to_owned(),
            position,
            hold: Hold { bound_bytes: 1 << 30, beyond: Beyond::Brake },
            cut_off: at == 7,
        }
    }

    #[test]
    fn slot_round_trip_and_every_flip() {
        let name = "n".repeat(MAX_NAME);
        let all: Vec<_> = (0..MAX_CONSUMERS as u64).map(|n| kept(&name[n as usize..], n)).collect();
        let mut slot = vec![0; SLOT];
        assert_eq!(decode(&slot, 5), Slot::Bad);
        encode(9, 5, &all, &mut slot);
        assert_eq!(decode(&slot, 5), Slot::Valid(9, all));
        assert_eq!(decode(&slot, 6), Slot::Bad);
        for bit in 0..SLOT * 8 {
            slot[bit / 8] ^= 1 << (bit % 8);
            let version = (8 * 8..12 * 8).contains(&bit);
            match decode(&slot, 5) {
                Slot::Bad => assert!(!version, "bit {bit}"),
                Slot::Newer(_) | Slot::Valid(..) => assert!(version, "bit {bit}"),
            }
            slot[bit / 8] ^= 1 << (bit % 8);
        }
        for n in 0..SLOT {
            assert_eq!(decode(&slot[..n], 5), Slot::Bad);
        }
        let sum = |slot: &mut [u8]| {
            let crc = crc32c(0, &slot[16..]);
            slot[12..16].copy_from_slice(&crc.to_le_bytes());
        };
        // Bytes that make no sense under a checksum that is right.
        for (at, byte) in [(32, 33), (40, 0), (40, 65), (41, 3), (48, 0xFF)] {
            let mut wrong = slot.clone();
            wrong[at] = byte;
            sum(&mut wrong);
            assert_eq!(decode(&wrong, 5), Slot::Bad, "byte {at}");
        }
        slot[8] = 2;
        assert_eq!(decode(&slot, 5), Slot::Newer(2));
    }
}

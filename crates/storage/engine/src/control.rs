//! The control file: where recovery begins. And the lock against a second server.
//!
//! `control` has two slots of 4 KiB at offsets 0 and 4096, written in turn: a torn write spoils one of them at most,
//! and the other is the one before. A slot, little-endian:
//!
//! ```text
//! 0    8 bytes  "GNTCTL\r\n"
//! 8    u32      format version of the store
//! 12   u32      crc32c of bytes 16..128
//! 16   u64      sequence: the valid slot with the greater one counts
//! 24   16 bytes store id
//! 40   u64      state: 1 being created, 2 open (or crashed), 3 closed: everything is written back
//! 48   u64      checkpoint: every change below this LSN is in the data file
//! 56   u64      epoch in force at the checkpoint
//! 64   u64      greatest epoch used by any incarnation
//! 72   u64      next transaction id, at least
//! 80   u64      when the store was created, microseconds since 1970
//! 88   u32      format version again, where the checksum covers it; 0 in slots of builds that did not write it
//! 92   36 bytes zero
//! 128  ...      zero up to 4096
//! ```
//!
//! The version that counts is the one at 88. In a slot without it (formats 1 and 2 only) the word at 8 says 1, or else
//! it is 2.
//!
//! INV-CTL-1: an epoch is durable in both slots before the log's first record of that epoch is written. The store's
//! existence is durable in both slots before a client is told of the store. So with one slot damaged neither is
//! forgotten. INV-CTL-2: a checkpoint is durable in both slots before a log segment below it is used again: either slot
//! alone opens the store.

use std::path::Path;

use gannet_base::sync::Mutex;
use gannet_base::{Lsn, Reader, TrxId, Writer, crc32c};
use gannet_runtime::{AlignedBuf, File, OpenOptions, fs};

use crate::{EngineError, Result};

/// Format version of stores that this build writes and reads. 2: short entries of index trees.
pub(crate) const FORMAT_VERSION: u32 = 2;

const MAGIC: [u8; 8] = *b"GNTCTL\r\n";
const SLOT: usize = 4096;
const CHECKED: std::ops::Range<usize> = 16..128;
const FILE: &str = "control";
const LOCK_FILE: &str = "lock";

/// Whether the store is whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// Its creation was not finished: no client was told that it exists.
    Creating = 1,
    /// In use, or its server ended without closing it.
    Open = 2,
    /// Closed in good order.
    Closed = 3,
}

/// What the control file says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ControlData {
    pub(crate) store_id: [u8; 16],
    pub(crate) state: State,
    pub(crate) checkpoint: Lsn,
    /// Epoch in force at the checkpoint.
    pub(crate) checkpoint_epoch: u64,
    /// Greatest epoch ever used.
    pub(crate) epoch: u64,
    pub(crate) next_trx: TrxId,
    pub(crate) created_us: u64,
}

impl ControlData {
    /// The store's identity as log segments carry it.
    pub(crate) fn log_store(&self) -> u64 {
        let mut head = [0; 8];
        head.copy_from_slice(&self.store_id[..8]);
        u64::from_le_bytes(head)
    }
}

/// What one slot holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Slot {
    Valid(u64, ControlData),
    Bad,
    Other(u32),
}

/// What was found of a control file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// No file.
    Missing,
    /// At least one valid slot.
    Valid {
        data: ControlData,
        sequence: u64,
        /// The other slot is damaged: a write was torn.
        one_bad: bool,
    },
    /// A file without a valid slot.
    Bad,
    /// Written by a version with another format.
    Other(u32),
}

fn encode(sequence: u64, data: &ControlData, slot: &mut [u8]) {
    let mut out = Vec::with_capacity(CHECKED.len());
    Writer::new(&mut out)
        .u64(sequence)
        .bytes(&data.store_id)
        .u64(data.state as u64)
        .u64(data.checkpoint.0)
        .u64(data.checkpoint_epoch)
        .u64(data.epoch)
        .u64(data.next_trx.0)
        .u64(data.created_us)
        .u32(FORMAT_VERSION);
    out.resize(CHECKED.len(), 0);
    slot.fill(0);
    slot[..8].copy_from_slice(&MAGIC);
    slot[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
    slot[12..16].copy_from_slice(&crc32c(0, &out).to_le_bytes());
    slot[CHECKED].copy_from_slice(&out);
}

fn decode(slot: &[u8]) -> Slot {
    let Some(checked) = slot.get(CHECKED) else { return Slot::Bad };
    if slot[..8] != MAGIC {
        return Slot::Bad;
    }
    let word = |at: usize| u32::from_le_bytes([slot[at], slot[at + 1], slot[at + 2], slot[at + 3]]);
    if word(12) != crc32c(0, checked) {
        return Slot::Bad;
    }
    let version = match (word(88), word(8)) {
        (0, 1) => 1,
        // No other format was ever written without the word that is checked: the one that is not is damaged.
        (0, _) => 2,
        (version, _) => version,
    };
    if version != FORMAT_VERSION {
        return Slot::Other(version);
    }
    let mut r = Reader::new(checked);
    let parsed = (|| {
        let sequence = r.u64()?;
        let store_id = r.array()?;
        let state = match r.u64()? {
            1 => State::Creating,
            2 => State::Open,
            3 => State::Closed,
            _ => return Err(r.invalid("state")),
        };
        let data = ControlData {
            store_id,
            state,
            checkpoint: Lsn(r.u64()?),
            checkpoint_epoch: r.u64()?,
            epoch: r.u64()?,
            next_trx: TrxId(r.u64()?),
            created_us: r.u64()?,
        };
        Ok((sequence, data))
    })();
    parsed.map_or(Slot::Bad, |(sequence, data)| Slot::Valid(sequence, data))
}

pub(crate) fn io(what: &str) -> impl FnOnce(std::io::Error) -> EngineError + '_ {
    move |e| match e.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => EngineError::DiskFull,
        _ => EngineError::Io(format!("cannot {what}: {e}")),
    }
}

/// Reads what there is; changes nothing.
pub(crate) fn inspect(dir: &Path) -> Result<Found> {
    let path = dir.join(FILE);
    if !fs::exists(&path).map_err(io("look for the control file"))? {
        return Ok(Found::Missing);
    }
    let file = File::open(&path, &OpenOptions::read()).map_err(io("open the control file"))?;
    let mut bytes = AlignedBuf::zeroed(2 * SLOT);
    let n = file.read_at(&mut bytes, 0).map_err(io("read the control file"))?;
    bytes[n..].fill(0);
    let slots = [decode(&bytes[..SLOT]), decode(&bytes[SLOT..])];
    let other = slots.iter().find_map(|s| if let Slot::Other(v) = s { Some(*v) } else { None });
    if let Some(version) = other {
        return Ok(Found::Other(version));
    }
    let best = slots.iter().filter_map(|s| if let Slot::Valid(n, d) = s { Some((*n, *d)) } else { None });
    Ok(match best.max_by_key(|(n, _)| *n) {
        Some((sequence, data)) => Found::Valid { data, sequence, one_bad: slots.contains(&Slot::Bad) },
        None => Found::Bad,
    })
}

/// The control file of an open store.
pub(crate) struct Control {
    file: File,
    /// Sequence and content of the newer slot, and the older one's checkpoint as far as it was written by this value.
    state: Mutex<(u64, ControlData, Lsn)>,
    /// One writer at a time; readers never hold it.
    writing: Mutex<bool>,
}

impl Control {
    /// Makes the file of a new store, state `Creating`, durably.
    pub(crate) fn create(dir: &Path, data: ControlData) -> Result<Control> {
        let path = dir.join(FILE);
        let file = File::open(&path, &OpenOptions::read_write().create().truncate().direct())
            .map_err(io("create the control file"))?;
        let control = Control { file, state: Mutex::new((0, data, Lsn::ZERO)), writing: Mutex::new(false) };
        // Both slots, so that none is ever missing.
        control.update(|_| ())?;
        control.update(|_| ())?;
        fs::sync_dir(dir).map_err(io("sync the data directory"))?;
        Ok(control)
    }

    /// Opens the file for writing after [`inspect`] found it valid.
    pub(crate) fn open(dir: &Path, sequence: u64, data: ControlData) -> Result<Control> {
        let file =
            File::open(dir.join(FILE), &OpenOptions::read_write().direct()).map_err(io("open the control file"))?;
        Ok(Control { file, state: Mutex::new((sequence, data, Lsn::ZERO)), writing: Mutex::new(false) })
    }

    /// What it says now.
    #[cfg(test)]
    pub(crate) fn data(&self) -> ControlData {
        self.state.lock().1
    }

    /// The newest checkpoint, and the one that both slots hold: no log below the second is ever needed.
    pub(crate) fn checkpoints(&self) -> (Lsn, Lsn) {
        let state = self.state.lock();
        (state.1.checkpoint, state.1.checkpoint.min(state.2))
    }

    /// [`Control::update`] in both slots.
    pub(crate) fn update_both(&self, change: impl Fn(&mut ControlData)) -> Result<()> {
        self.update(&change)?;
        self.update(change)
    }

    /// Changes it durably: writes the older slot and syncs. Called by one task at a time: open, checkpointer, close.
    pub(crate) fn update(&self, change: impl FnOnce(&mut ControlData)) -> Result<()> {
        let already = std::mem::replace(&mut *self.writing.lock(), true);
        gannet_base::check!(!already, "two tasks write the control file");
        let outcome = self.write(change);
        *self.writing.lock() = false;
        outcome
    }

    fn write(&self, change: impl FnOnce(&mut ControlData)) -> Result<()> {
        let (sequence, mut data, _) = *self.state.lock();
        let before = data.checkpoint;
        change(&mut data);
        let sequence = sequence + 1;
        let mut slot = AlignedBuf::zeroed(SLOT);
        encode(sequence, &data, &mut slot);
        self.file.write_at(&slot, sequence % 2 * SLOT as u64).map_err(io("write the control file"))?;
        self.file.sync_data().map_err(io("sync the control file"))?;
        *self.state.lock() = (sequence, data, before);
        Ok(())
    }
}

/// Keeps other servers out of the directory while it lives.
pub(crate) struct DirLock(#[expect(dead_code, reason = "held, not used")] File);

impl DirLock {
    /// Takes the lock, making the directory if need be.
    pub(crate) fn take(dir: &Path) -> Result<DirLock> {
        fs::create_dir_all(dir).map_err(io("create the data directory"))?;
        let file =
            File::open(dir.join(LOCK_FILE), &OpenOptions::read_write().create()).map_err(io("open the lock file"))?;
        if file.try_lock().map_err(io("lock the data directory"))? {
            Ok(DirLock(file))
        } else {
            Err(EngineError::DataDirInUse(dir.display().to_string()))
        }
    }
}

/// See [`crate::fuzzing::undo`].
pub(crate) fn fuzz(slot: &[u8]) {
    if let Slot::Valid(sequence, data) = decode(slot) {
        let mut again = vec![0; SLOT];
        encode(sequence, &data, &mut again);
        assert_eq!(decode(&again), Slot::Valid(sequence, data));
    }
}

/// What refusing to start says.
pub(crate) fn damaged(what: impl Into<String>) -> EngineError {
    EngineError::Damaged(what.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data() -> ControlData {
        ControlData {
            store_id: *b"0123456789abcdef",
            state: State::Open,
            checkpoint: Lsn(77),
            checkpoint_epoch: 3,
            epoch: 4,
            next_trx: TrxId(9),
            created_us: 5,
        }
    }

    #[test]
    fn slot_round_trip_and_every_flip() {
        let mut slot = vec![0; SLOT];
        assert_eq!(decode(&slot), Slot::Bad);
        encode(6, &data(), &mut slot);
        assert_eq!(decode(&slot), Slot::Valid(6, data()));
        let flip = |slot: &[u8], bit: usize| {
            let mut slot = slot.to_vec();
            slot[bit / 8] ^= 1 << (bit % 8);
            decode(&slot)
        };
        for bit in 0..SLOT * 8 {
            // What is not covered by the checksum says nothing.
            let spared = (8 * 8..12 * 8).contains(&bit) || bit >= 128 * 8;
            let expected = if spared { Slot::Valid(6, data()) } else { Slot::Bad };
            assert_eq!(flip(&slot, bit), expected, "bit {bit}");
        }
        // A slot of a build that wrote the version once only.
        let mut old = slot.clone();
        old[88..92].fill(0);
        let sum = |slot: &mut [u8]| {
            let crc = crc32c(0, &slot[CHECKED]);
            slot[12..16].copy_from_slice(&crc.to_le_bytes());
        };
        sum(&mut old);
        assert_eq!(decode(&old), Slot::Valid(6, data()));
        for bit in 8 * 8..12 * 8 {
            assert_eq!(flip(&old, bit), Slot::Valid(6, data()), "bit {bit}");
        }
        old[8] = 1;
        assert_eq!(decode(&old), Slot::Other(1));
        for version in [1, 3, 4] {
            slot[88] = version;
            sum(&mut slot);
            assert_eq!(decode(&slot), Slot::Other(version.into()));
        }
        for n in 0..130 {
            let _ = decode(&slot[..n]);
        }
    }

    #[test]
    fn slots_in_turn_survive_a_torn_write() {
        let dir = std::env::temp_dir().join(format!("gannet-control-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        let _lock = DirLock::take(&dir).unwrap();
        assert!(matches!(DirLock::take(&dir), Err(EngineError::DataDirInUse(_))));
        assert_eq!(inspect(&dir).unwrap(), Found::Missing);
        let control = Control::create(&dir, data()).unwrap();
        for n in 0..5u64 {
            control.update(|d| d.checkpoint = Lsn(100 + n)).unwrap();
            let found = inspect(&dir).unwrap();
            let Found::Valid { data: now, sequence, one_bad: false } = found else { panic!("{found:?}") };
            assert_eq!((now, sequence), (control.data(), n + 3));
            assert_eq!(now.checkpoint, Lsn(100 + n));
            // The write of this slot is torn: the one before counts.
            let path = dir.join(FILE);
            let good = std::fs::read(&path).unwrap();
            let mut torn = good.clone();
            torn[(sequence % 2) as usize * SLOT + 50] ^= 1;
            std::fs::write(&path, &torn).unwrap();
            let found = inspect(&dir).unwrap();
            let Found::Valid { data: before, one_bad: true, .. } = found else { panic!("{found:?}") };
            assert_eq!(before.checkpoint, if n == 0 { Lsn(77) } else { Lsn(99 + n) });
            torn[50] ^= 1;
            torn[SLOT + 50] ^= 1;
            torn[(sequence % 2) as usize * SLOT + 51] ^= 1;
            std::fs::write(&path, &torn).unwrap();
            assert_eq!(inspect(&dir).unwrap(), Found::Bad);
            std::fs::write(&path, &good[..SLOT / 2]).unwrap();
            let _ = inspect(&dir).unwrap();
            std::fs::write(&path, &good).unwrap();
        }
        let again = Control::open(&dir, 7, control.data()).unwrap();
        again.update(|d| d.state = State::Closed).unwrap();
        assert!(matches!(inspect(&dir).unwrap(), Found::Valid { data: ControlData { state: State::Closed, .. }, .. }));
        drop(_lock);
        drop(DirLock::take(&dir).unwrap());
        let _ = std::fs::remove_dir_all(&dir);
    }
}

//! The double-write file: a page is written there and synced before it is overwritten in place, so that a torn page
//! always has a whole copy.
//!
//! Format of `double.gnt`: a fixed number of slots, each of 128 pages, nothing else. A copy is a whole sealed page;
//! it names itself by number and checksum. A slot's copies are overwritten only after the pages written in place from
//! them were synced. Hence at a start, for every page the copy with the greatest LSN is at least as new as the last
//! write in place that may have been torn.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::Path;

use gannet_base::sync::Mutex;
use gannet_base::{Lsn, PAGE_SIZE, PageNo};
use gannet_page::PageBuf;
use gannet_runtime::{AlignedBuf, File, OpenOptions, Wait, Waker, mask_interrupts, park, waker};
use gannet_telemetry::{Counter, count};

use crate::Error;
use crate::pool::{DATA_FILE, DOUBLE_FILE};

/// Slots in the file: batches that may be in flight.
const SLOTS: usize = 4;
/// Most pages of a batch: 2 MiB, so that its memory is one huge page where the system has them.
pub(crate) const MAX_BATCH: usize = 128;

/// One slot: its number and the memory its batch is assembled in.
pub(crate) struct Slot {
    pub(crate) number: usize,
    pub(crate) buf: AlignedBuf,
}

pub(crate) struct DoubleWrite {
    file: File,
    free: Mutex<(Vec<Slot>, Vec<Waker>)>,
}

impl DoubleWrite {
    /// Opens the file. For a `fresh` store it is emptied: copies of pages of an older one must not be restored into it.
    pub(crate) fn open(path: &Path, direct: bool, fresh: bool) -> Result<DoubleWrite, Error> {
        let io = |what| move |e| Error::io(what, e);
        let mut how = OpenOptions::read_write().create();
        if direct {
            how = how.direct();
        }
        if fresh {
            how = how.truncate();
        }
        let file = File::open(path, &how).map_err(io("open the double-write file"))?;
        let len = (SLOTS * MAX_BATCH * PAGE_SIZE) as u64;
        if file.len().map_err(io("read the size of the double-write file"))? < len {
            file.allocate(0, len).map_err(io("allocate the double-write file"))?;
            file.sync_all().map_err(io("sync the double-write file"))?;
        }
        let slots = (0..SLOTS).map(|number| Slot { number, buf: AlignedBuf::zeroed(MAX_BATCH * PAGE_SIZE) }).collect();
        Ok(DoubleWrite { file, free: Mutex::new((slots, Vec::new())) })
    }

    /// A free slot; waits for one.
    pub(crate) fn acquire(&self) -> Slot {
        let _mask = mask_interrupts();
        loop {
            {
                let mut free = self.free.lock();
                if let Some(slot) = free.0.pop() {
                    return slot;
                }
                free.1.push(waker());
            }
            count(Counter::DblwrFlushWaitEvents);
            let _ = park(Wait::PageWrite, None);
        }
    }

    pub(crate) fn release(&self, slot: Slot) {
        let woken = {
            let mut free = self.free.lock();
            free.0.push(slot);
            std::mem::take(&mut free.1)
        };
        woken.iter().for_each(Waker::wake);
    }

    /// Writes the slot's first `pages` pages to the file and syncs it.
    pub(crate) fn write(&self, slot: &Slot, pages: usize) -> std::io::Result<()> {
        let offset = (slot.number * MAX_BATCH * PAGE_SIZE) as u64;
        self.file.write_at(&slot.buf[..pages * PAGE_SIZE], offset)?;
        count(Counter::InnodbDblwrWrites);
        gannet_telemetry::add(Counter::InnodbDblwrPagesWritten, pages as u64);
        Ok(())
    }

    pub(crate) fn sync(&self) -> std::io::Result<()> {
        count(Counter::InnodbDataFsyncs);
        self.file.sync_data()
    }
}

/// What [`repair`] did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Repair {
    /// Whole copies found in the double-write file.
    pub copies: usize,
    /// Pages whose write in place was torn or lost, now restored.
    pub restored: usize,
}

/// Restores torn and lost writes in place from the double-write file. To be called before the pool is opened; does
/// nothing where there is no store.
///
/// Only copies newer than the checkpoint count: a write that may have been torn had a change behind it. An older copy
/// may be outdated, and the redo that would bring it up to date is not read: a page that is damaged then stays damaged.
pub fn repair(dir: &Path, checkpoint: Lsn) -> Result<Repair, Error> {
    let io = |what| move |e| Error::io(what, e);
    let (data, double) = (dir.join(DATA_FILE), dir.join(DOUBLE_FILE));
    let mut done = Repair::default();
    let exists = |p| gannet_runtime::fs::exists(p).map_err(io("look for the store's files"));
    if !exists(&data)? || !exists(&double)? {
        return Ok(done);
    }
    let double = File::open(&double, &OpenOptions::read()).map_err(io("open the double-write file"))?;
    let data = File::open(&data, &OpenOptions::read_write()).map_err(io("open the data file"))?;
    let mut newest: HashMap<PageNo, (Lsn, u64)> = HashMap::new();
    let mut copy = PageBuf::boxed();
    let pages = double.len().map_err(io("read the size of the double-write file"))? / PAGE_SIZE as u64;
    for i in 0..pages {
        double.read_exact_at(&mut copy.0, i * PAGE_SIZE as u64).map_err(io("read the double-write file"))?;
        let no = copy.page_no();
        if copy.type_byte() != 0 && copy.lsn() > checkpoint && copy.verify(no).is_ok() {
            done.copies += 1;
            let best = newest.entry(no).or_insert((copy.lsn(), i));
            if copy.lsn() > best.0 {
                *best = (copy.lsn(), i);
            }
        }
    }
    let file_pages = data.len().map_err(io("read the size of the data file"))? / PAGE_SIZE as u64;
    let mut place = PageBuf::boxed();
    for (no, (lsn, i)) in newest {
        if no.0 >= file_pages {
            continue;
        }
        let n = data.read_at(&mut place.0, no.offset()).map_err(io("read the data file"))?;
        place.0[n..].fill(0);
        if place.verify(no).is_ok() && place.lsn() >= lsn {
            continue;
        }
        double.read_exact_at(&mut copy.0, i * PAGE_SIZE as u64).map_err(io("read the double-write file"))?;
        match data.write_at(&copy.0, no.offset()) {
            // A hole, and no room to fill it: freed, and its blocks given back. Pages in use have theirs.
            Err(e) if e.kind() == ErrorKind::StorageFull && place.is_blank() => continue,
            written => written.map_err(io("restore a torn page"))?,
        }
        done.restored += 1;
        count(Counter::PageFaultsRepaired);
    }
    data.sync_data().map_err(io("sync the data file"))?;
    Ok(done)
}

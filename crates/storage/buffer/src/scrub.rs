//! Verifying pages where they lie on disk, past the pool and beside its work: for the background scrubber.

use gannet_base::sync::atomic::Ordering::*;
use gannet_base::{Lsn, PAGE_SIZE, PageNo};
use gannet_page::{PageBuf, PageBytes};
use gannet_runtime::AlignedBuf;

use crate::error::corrupt;
use crate::pool::is_pinned;
use crate::{Error, ExclusiveGuard, Pool};

/// What [`Pool::verify_on_disk`] has found.
#[derive(Clone, Debug)]
pub enum OnDisk {
    /// The page is not in use, or is still to be written.
    Nothing,
    /// As it should be.
    Sound,
    /// Damaged, but the pool has the page: it is written again.
    Rewritten(Error),
}

/// Where pages are read to.
pub struct OnDiskBuf {
    read: AlignedBuf,
    page: Box<PageBuf>,
}

impl Default for OnDiskBuf {
    fn default() -> Self {
        OnDiskBuf { read: AlignedBuf::zeroed(PAGE_SIZE), page: PageBuf::boxed() }
    }
}

/// Reads of a page that must show the same damage before it is believed: a page may be written meanwhile.
const LOOKS: u32 = 3;

impl Pool {
    /// Reads page `no` of the data file and verifies it: checksum, number, an LSN that the durable log has. Damage is
    /// an error that names the page. Costs no frame. Not before all redo is applied; no latch may be held.
    pub fn verify_on_disk(&self, no: PageNo, buf: &mut OnDiskBuf) -> Result<OnDisk, Error> {
        let mut damage: Option<(Error, u32)> = None;
        let mut looks = 0;
        while looks < LOOKS {
            if no.0 >= self.space.file_pages() || !(is_pinned(no) || self.space.is_used(no)) {
                return Ok(OnDisk::Nothing);
            }
            self.wait_not_writing(no);
            let error = match self.look(no, buf) {
                Ok(seen) => return Ok(seen),
                Err(error) => error,
            };
            // The same bytes again: it was not just being written. (A page that cannot be read has none.)
            let print = gannet_base::crc32c(0, &buf.page.0);
            looks = if damage.as_ref().is_none_or(|(_, before)| *before == print) { looks + 1 } else { 1 };
            damage = Some((error, print));
        }
        let Some((error, _)) = damage else { return Ok(OnDisk::Sound) };
        // INV-BUF-1: under the exclusive latch no other task changes the frame.
        match ExclusiveGuard::new(self, no) {
            // It will be written for the first time, or is to be written anyway.
            Ok(_) if self.rec_lsn(no).load(Acquire) != 0 => Ok(OnDisk::Nothing),
            Ok(page) => {
                self.set_dirty(no, page.lsn());
                Ok(OnDisk::Rewritten(error))
            }
            Err(_) => Err(error),
        }
    }

    fn look(&self, no: PageNo, buf: &mut OnDiskBuf) -> Result<OnDisk, Error> {
        let before = self.clean_lsn(no);
        let outcome = self.file.read_at(&mut buf.read, no.offset());
        let n = *outcome.as_ref().unwrap_or(&0);
        let (read, buf) = (&buf.read, &mut *buf.page);
        buf.0[..n].copy_from_slice(&read[..n]);
        buf.0[n..].fill(0);
        if let Err(e) = outcome {
            return Err(Error::page(no, Lsn::ZERO, format!("cannot be read: {e}")));
        }
        buf.verify(no).map_err(|c| corrupt(no, buf.lsn(), c))?;
        if buf.lsn() > self.wal.durable_lsn() {
            return Err(Error::page(no, buf.lsn(), "its LSN is beyond the end of the log"));
        }
        // Where the pool has the page clean, the disk has the same.
        if let Some(lsn) = before
            && buf.lsn() < lsn
            && self.clean_lsn(no) == before
        {
            return Err(Error::page(
                no,
                buf.lsn(),
                format!("an older state of the page, it was written with LSN {lsn}"),
            ));
        }
        Ok(if buf.type_byte() == 0 { OnDisk::Nothing } else { OnDisk::Sound })
    }

    /// The LSN of a page that is resident and clean.
    fn clean_lsn(&self, no: PageNo) -> Option<Lsn> {
        // Without a word to the clock, which would take it for use.
        let page = self.optimistic_scan(no).ok()?;
        let clean = self.rec_lsn(no).load(Acquire) == 0 && page.u8_at(4) != 0;
        let lsn = Lsn(page.u64_at(8));
        page.validate().ok()?;
        clean.then_some(lsn)
    }
}

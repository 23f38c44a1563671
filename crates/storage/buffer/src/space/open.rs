//! Opening the space of a data file: the file header, the space maps, and blocks of extents that are free.

use std::ops::Range;

use gannet_base::sync::atomic::Ordering::*;
use gannet_base::{Lsn, PAGE_SIZE, PageNo};
use gannet_page::raw::{EXTENT_PAGES, FileHeader, REGION_EXTENTS, REGION_PAGES, SYSTEM, extent};
use gannet_page::{HEADER_SIZE, PageOp, PageType};
use gannet_runtime::{AlignedBuf, now_ns};

use super::EXTENT_BYTES;
use crate::pool::NEVER_WRITTEN;
use crate::{Error, Mtr, PageRef, Pool, Priority};

/// How many extents' unused pages become holes in one step. A task that needs space waits for so long.
const PUNCHED_AT_ONCE: usize = 256;

impl Pool {
    /// Writes the space map of a new region; of region 0 also the file header.
    pub(super) fn format_region(&self, region: u64) -> Result<(), Error> {
        self.run(|| {
            let mut mtr = self.mtr()?;
            let map = mtr.create(PageNo(region * REGION_PAGES + 1))?;
            let header = if region == 0 { Some(mtr.create(PageNo(0))?) } else { None };
            mtr.apply(map, &PageOp::Format { ty: PageType::SpaceMap, owner: SYSTEM });
            mtr.apply(map, &PageOp::SetExtent { index: 0, owner: SYSTEM, used: u64::MAX });
            if let Some(header) = header {
                self.fill_header(&mut mtr, header);
            }
            mtr.commit();
            Ok(())
        })
    }

    fn fill_header(&self, mtr: &mut Mtr<'_>, header: PageRef) {
        mtr.apply(header, &PageOp::Format { ty: PageType::FileHeader, owner: SYSTEM });
        let bytes = FileHeader { store_id: self.store_id() }.encode();
        mtr.apply(header, &PageOp::Overwrite { at: HEADER_SIZE as u16, bytes: &bytes });
    }

    /// Writes the file header anew.
    fn format_header(&self) -> Result<(), Error> {
        self.run(|| {
            let mut mtr = self.mtr()?;
            let header = mtr.create(PageNo(0))?;
            self.fill_header(&mut mtr, header);
            mtr.commit();
            Ok(())
        })
    }

    /// Whether page 0 on disk, which is damaged, is this store's file header except for one byte. The header holds
    /// nothing that the control file does not hold, and never changes.
    fn header_is_ours(&self, lsn: Lsn) -> Result<bool, Error> {
        let mut seen = AlignedBuf::zeroed(PAGE_SIZE);
        self.file.read_exact_at(&mut seen, 0).map_err(|e| Error::io("read the data file", e))?;
        let ours = FileHeader { store_id: self.store_id() }.page(lsn);
        // Not the checksum, and the LSN has been taken over.
        let differ = (4..PAGE_SIZE).filter(|&at| seen[at] != ours.0[at]).count();
        Ok(differ <= 1)
    }

    /// Reads the space maps, or makes those of a new file.
    pub(crate) fn space_open(&self) -> Result<(), Error> {
        let io = |what| move |e| Error::io(what, e);
        let len = self.file.len().map_err(io("read the size of the data file"))?;
        let extents = len / EXTENT_BYTES;
        if extents * EXTENT_PAGES > self.arena.pages() {
            return Err(Error::Full);
        }
        let existing = self.has_redo();
        if extents == 0 && existing {
            return Err(Error::page(PageNo(0), Lsn::ZERO, format!("the data file has {len} bytes only")));
        }
        if extents == 0 {
            self.space.inner.lock().wants_ready = true;
            return self.grow();
        }
        self.space.pages.store(extents * EXTENT_PAGES, Release);
        let never_written = |no| match self.load(no, Priority::Normal) {
            Err(Error::Page(e)) if e.what == NEVER_WRITTEN => Ok(true),
            other => other.map(|()| false),
        };
        let blank = match never_written(PageNo(0)) {
            Err(Error::Page(e)) if self.header_is_ours(e.lsn)? => {
                self.format_header()?;
                false
            }
            other => other?,
        };
        if blank {
            // The file was made, and nothing that came after it reached the log.
            if existing || !never_written(PageNo(1))? {
                return Err(Error::page(PageNo(0), Lsn::ZERO, "the data file has lost its header"));
            }
            self.format_region(0)?;
        }
        {
            let header = self.run(|| {
                let page = self.shared(PageNo(0))?;
                FileHeader::decode(&page).map_err(|c| crate::error::corrupt(PageNo(0), page.lsn(), c).into())
            })?;
            if header.store_id != self.store_id() {
                return Err(Error::page(PageNo(0), Lsn::ZERO, "the data file belongs to another store"));
            }
        }
        for region in 0..extents.div_ceil(REGION_EXTENTS) {
            let no = PageNo(region * REGION_PAGES + 1);
            if never_written(no)? {
                // The file had grown and the new region's map never reached the log: nothing in it was ever used.
                self.format_region(region)?;
            }
            self.run(|| {
                let map = self.shared(no)?;
                let mut inner = self.space.inner.lock();
                let there = REGION_EXTENTS.min(extents - region * REGION_EXTENTS);
                for index in 0..there {
                    inner.add(region * REGION_EXTENTS + index, extent(&*map, index));
                }
                // The file's length is durable before what is behind the old one is used.
                if (there..REGION_EXTENTS).any(|index| !extent(&*map, index).owner.is_zero()) {
                    let what = format!("the data file has been cut to {len} bytes; pages behind are in use");
                    return Err(Error::page(no, map.lsn(), what).into());
                }
                Ok(())
            })?;
        }
        self.space.inner.lock().punch_due = existing.then_some(0);
        Ok(())
    }

    /// At a start it is not known which unused pages have blocks in the file: free extents that were kept ready,
    /// extents whose freeing became durable just before a crash, and the rest of extents of which little is used.
    /// When no redo is left that could write to these pages, they are made holes, once.
    pub(super) fn punch_unknown(&self) {
        let is_due = |due: &mut u64| *due <= now_ns();
        if self.redo_is_active() || self.space.inner.lock().punch_due.take_if(is_due).is_none() {
            return;
        }
        let all: Vec<u64> = {
            let inner = self.space.inner.lock();
            (0..inner.extents.len() as u64).filter(|&e| inner.unallocated(e).is_some()).collect()
        };
        for some in all.chunks(PUNCHED_AT_ONCE) {
            self.alone(|| {
                // What was allocated meanwhile is none any more, and nothing is now.
                let mut runs: Vec<Range<u64>> = Vec::new();
                let inner = self.space.inner.lock();
                for pages in some.iter().filter_map(|&e| inner.unallocated(e)) {
                    match runs.last_mut().filter(|run| run.end == pages.start) {
                        Some(run) => run.end = pages.end,
                        None => runs.push(pages),
                    }
                }
                drop(inner);
                for run in runs {
                    self.discard(PageNo(run.start), run.end - run.start);
                    self.punch(run);
                }
            });
        }
    }
}

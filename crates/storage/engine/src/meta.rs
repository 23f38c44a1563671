//! The engine's own pages at fixed places.
//!
//! Page 2, from byte 32: `u64` root of the tree table, `u64` number of undo streams, 16 bytes zero; from byte 64: 32
//! numbers of `u64` for the layers above ([`Engine::meta`](crate::Engine::meta)).
//!
//! Pages 3 to 63: the directory of undo streams, 16 bytes each from byte 32 (see
//! [`undo::stream`](crate::undo::stream)), made as needed.

use gannet_base::{PAGE_SIZE, PageNo};
use gannet_buffer::{META_PAGES, PageBytes, Pool};
use gannet_page::{HEADER_SIZE, PageOp, PageType};

use crate::Result;

pub(crate) const PAGE: PageNo = PageNo(META_PAGES.start);
/// Offset of the tree table's root.
pub(crate) const TREE_TABLE: u16 = 32;
/// Offset of the number of streams.
pub(crate) const STREAM_COUNT: u16 = 40;
/// Numbers for the layers above.
pub(crate) const SLOTS: usize = 32;

const SLOT_SIZE: usize = 16;
pub(crate) const STREAMS_PER_PAGE: u64 = ((PAGE_SIZE - HEADER_SIZE) / SLOT_SIZE) as u64;

/// Page and offset of a stream's directory entry.
pub(crate) fn stream_slot(id: u64) -> Option<(PageNo, u16)> {
    let page = META_PAGES.start + 1 + id / STREAMS_PER_PAGE;
    let at = HEADER_SIZE as u64 + id % STREAMS_PER_PAGE * SLOT_SIZE as u64;
    META_PAGES.contains(&page).then_some((PageNo(page), at as u16))
}

/// Offset of a number for the layers above.
pub(crate) fn number(slot: usize) -> Option<u16> {
    (slot < SLOTS).then_some(64 + 8 * slot as u16)
}

/// Reads a number in a meta page.
pub(crate) fn read_u64(pool: &Pool, page: PageNo, at: usize) -> Result<u64> {
    Ok(pool.read(page, |g| Ok(g.u64_at(at)))?)
}

/// Writes a number of the first meta page in a mini-transaction of its own.
pub(crate) fn write_u64(pool: &Pool, at: u16, value: u64) -> Result<gannet_base::Lsn> {
    Ok(pool.run(|| {
        let mut mtr = pool.mtr()?;
        let page = mtr.latch(PAGE)?;
        mtr.apply(page, &PageOp::Overwrite { at, bytes: &value.to_le_bytes() });
        Ok(mtr.commit())
    })?)
}

/// Makes the first meta page of a new store.
pub(crate) fn create(pool: &Pool) -> Result<()> {
    Ok(pool.run(|| {
        let mut mtr = pool.mtr()?;
        let page = mtr.create(PAGE)?;
        mtr.apply(page, &PageOp::Format { ty: PageType::Meta, owner: gannet_page::raw::SYSTEM });
        mtr.commit();
        Ok(())
    })?)
}

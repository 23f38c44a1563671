//! Pages that are not tree nodes. All offsets are from the page's start, little-endian.
//!
//! **Overflow page**: `32 u64` next page (0 = last) · `40 u16` length · `42..48` zero · `48` bytes of the value.
//!
//! **Undo page**: `32 u64` previous page · `40 u64` next page · `48 u64` stream · `56 u16` free offset · `58..64` zero
//! · `64` records, whose formats belong to `engine`. Bytes from the free offset on mean nothing.
//!
//! **Space map page** of region `r` (page `r * 65280 + 1`): from 32, for each of the 1020 extents `u64` owner (0 =
//! free), `u64` used pages (bit `i` = page `i` of the extent). The rest is zero.
//!
//! **File header page** (page 0): from 32 the fields of [`FileHeader`].
//!
//! **Meta page**: from 32 the engine's own bytes.

use gannet_base::Reader;
use gannet_base::{Lsn, PAGE_SIZE, PageNo, TreeId};

use crate::{Corrupt, HEADER_SIZE, PageBuf, PageBytes, PageType};

/// Pages of an extent.
pub const EXTENT_PAGES: u64 = 64;
/// Extents of a region.
pub const REGION_EXTENTS: u64 = 1020;
/// Pages of a region.
pub const REGION_PAGES: u64 = EXTENT_PAGES * REGION_EXTENTS;

const NEXT: usize = 32;
const LENGTH: usize = 40;
/// Offset of the value's bytes in an overflow page.
pub const OVERFLOW_DATA: usize = 48;
/// Bytes of a value that one overflow page holds.
pub const OVERFLOW_SPACE: usize = PAGE_SIZE - OVERFLOW_DATA;

const UNDO_PREV: usize = 32;
const UNDO_NEXT: usize = 40;
const UNDO_STREAM: usize = 48;
const UNDO_FREE: usize = 56;
/// Offset of the first record in an undo page.
pub const UNDO_DATA: usize = 64;
/// Bytes for records in an undo page.
pub const UNDO_SPACE: usize = PAGE_SIZE - UNDO_DATA;

const EXTENT_SIZE: usize = 16;
const _: () = assert!(HEADER_SIZE + EXTENT_SIZE * REGION_EXTENTS as usize <= PAGE_SIZE);
/// The space maps' and other pages of the file itself belong to this owner.
pub const SYSTEM: TreeId = TreeId(1);

fn expect(page: &PageBuf, ty: PageType, what: &'static str) -> Result<(), Corrupt> {
    if page.type_byte() == ty as u8 { Ok(()) } else { Err(Corrupt::new(what)) }
}

pub(crate) fn format_overflow(
    page: &mut PageBuf,
    no: PageNo,
    owner: TreeId,
    next: PageNo,
    bytes: &[u8],
) -> Result<(), Corrupt> {
    if bytes.len() > OVERFLOW_SPACE {
        return Err(Corrupt::new("too many bytes for an overflow page"));
    }
    page.format(PageType::Overflow, no, owner);
    page.put_u64(NEXT, next.0);
    page.put_u16(LENGTH, bytes.len());
    page.0[OVERFLOW_DATA..OVERFLOW_DATA + bytes.len()].copy_from_slice(bytes);
    Ok(())
}

/// Makes a page that no log record describes a link of an overflow chain: what
/// [`PageOp::FormatOverflow`](crate::PageOp) does.
pub fn build_overflow(
    page: &mut PageBuf,
    no: PageNo,
    owner: TreeId,
    next: PageNo,
    bytes: &[u8],
) -> Result<(), Corrupt> {
    format_overflow(page, no, owner, next, bytes)
}

/// An overflow page's next page and how many bytes it holds (clamped).
pub fn overflow<P: PageBytes + ?Sized>(page: &P) -> Result<(PageNo, usize), Corrupt> {
    if page.u8_at(crate::header::TYPE) != PageType::Overflow as u8 {
        return Err(Corrupt::new("page is not an overflow page"));
    }
    Ok((PageNo(page.u64_at(NEXT)), (page.u16_at(LENGTH) as usize).min(OVERFLOW_SPACE)))
}

/// An undo page's own header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UndoHeader {
    /// The page before it in the stream, 0 = none.
    pub prev: PageNo,
    /// The page after it in the stream, 0 = none.
    pub next: PageNo,
    /// The stream it belongs to.
    pub stream: u64,
    /// Where the next record goes (clamped to the page).
    pub free: usize,
}

impl UndoHeader {
    /// Bytes that can still be appended.
    pub fn room(&self) -> usize {
        PAGE_SIZE - self.free
    }
}

/// Reads an undo page's header.
pub fn undo_header<P: PageBytes + ?Sized>(page: &P) -> Result<UndoHeader, Corrupt> {
    if page.u8_at(crate::header::TYPE) != PageType::Undo as u8 {
        return Err(Corrupt::new("page is not an undo page"));
    }
    let free = (page.u16_at(UNDO_FREE) as usize).clamp(UNDO_DATA, PAGE_SIZE);
    Ok(UndoHeader {
        prev: PageNo(page.u64_at(UNDO_PREV)),
        next: PageNo(page.u64_at(UNDO_NEXT)),
        stream: page.u64_at(UNDO_STREAM),
        free,
    })
}

pub(crate) fn format_undo(page: &mut PageBuf, no: PageNo, owner: TreeId, stream: u64, prev: PageNo, next: PageNo) {
    page.format(PageType::Undo, no, owner);
    page.put_u64(UNDO_PREV, prev.0);
    page.put_u64(UNDO_NEXT, next.0);
    page.put_u64(UNDO_STREAM, stream);
    page.put_u16(UNDO_FREE, UNDO_DATA);
}

pub(crate) fn append(page: &mut PageBuf, at: usize, bytes: &[u8]) -> Result<(), Corrupt> {
    let undo = undo_header(page)?;
    if undo.free != at || page.u16_at(UNDO_FREE) as usize != at {
        return Err(Corrupt::new("append at an offset which is not the undo page's free one"));
    }
    if bytes.len() > undo.room() {
        return Err(Corrupt::new("no room in the undo page"));
    }
    page.0[at..at + bytes.len()].copy_from_slice(bytes);
    page.put_u16(UNDO_FREE, at + bytes.len());
    Ok(())
}

pub(crate) fn overwrite(page: &mut PageBuf, at: usize, bytes: &[u8]) -> Result<(), Corrupt> {
    let (from, to) = match page.page_type() {
        Some(PageType::Undo) => (UNDO_DATA, undo_header(page)?.free),
        Some(PageType::Meta | PageType::FileHeader) => (HEADER_SIZE, PAGE_SIZE),
        _ => return Err(Corrupt::new("this page type cannot be overwritten")),
    };
    if at < from || at + bytes.len() > to {
        return Err(Corrupt::new("overwrite outside of the page's content"));
    }
    page.0[at..at + bytes.len()].copy_from_slice(bytes);
    Ok(())
}

pub(crate) fn set_links(page: &mut PageBuf, prev: PageNo, next: PageNo) -> Result<(), Corrupt> {
    expect(page, PageType::Undo, "page is not an undo page")?;
    page.put_u64(UNDO_PREV, prev.0);
    page.put_u64(UNDO_NEXT, next.0);
    Ok(())
}

pub(crate) fn truncate(page: &mut PageBuf, free: usize) -> Result<(), Corrupt> {
    let undo = undo_header(page)?;
    if free < UNDO_DATA || free > undo.free {
        return Err(Corrupt::new("undo page cannot be truncated to more than it has"));
    }
    page.put_u16(UNDO_FREE, free);
    Ok(())
}

/// One extent's entry in a space map.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Extent {
    /// The tree that has the extent, 0 = free.
    pub owner: TreeId,
    /// Bit `i` is set when page `i` of the extent is in use.
    pub used: u64,
}

/// Entry `index` of a space map page.
pub fn extent<P: PageBytes + ?Sized>(page: &P, index: u64) -> Extent {
    let at = HEADER_SIZE + EXTENT_SIZE * index.min(REGION_EXTENTS - 1) as usize;
    Extent { owner: TreeId(page.u64_at(at)), used: page.u64_at(at + 8) }
}

pub(crate) fn set_extent(page: &mut PageBuf, index: usize, owner: TreeId, used: u64) -> Result<(), Corrupt> {
    expect(page, PageType::SpaceMap, "page is not a space map")?;
    if index as u64 >= REGION_EXTENTS || (owner.is_zero() && used != 0) {
        return Err(Corrupt::new("impossible extent in a space map operation"));
    }
    let at = HEADER_SIZE + EXTENT_SIZE * index;
    page.put_u64(at, owner.0);
    page.put_u64(at + 8, used);
    Ok(())
}

/// The space map page which has page `no`'s extent, and the extent's index in it.
pub const fn map_of(no: PageNo) -> (PageNo, u64) {
    let region = no.0 / REGION_PAGES;
    (PageNo(region * REGION_PAGES + 1), no.0 % REGION_PAGES / EXTENT_PAGES)
}

const MAGIC: [u8; 8] = *b"GANNETDB";
/// Format version that this code writes and reads.
pub const FORMAT_VERSION: u32 = 2;

/// Content of page 0: `32` magic "GANNETDB" · `40 u32` format version · `44 u32` page size · `48` 16 bytes identifying
/// the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileHeader {
    /// The store's random identity; the log and control files carry the same.
    pub store_id: [u8; 16],
}

impl FileHeader {
    /// The bytes for an `Overwrite` at [`HEADER_SIZE`] of a formatted file header page.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut w = gannet_base::Writer::new(&mut out);
        w.bytes(&MAGIC).u32(FORMAT_VERSION).u32(PAGE_SIZE as u32).bytes(&self.store_id);
        out
    }

    /// The whole page of that LSN, but for its checksum.
    pub fn page(&self, lsn: Lsn) -> Box<PageBuf> {
        let mut page = PageBuf::boxed();
        page.format(PageType::FileHeader, PageNo::ZERO, SYSTEM);
        let bytes = self.encode();
        page.0[HEADER_SIZE..HEADER_SIZE + bytes.len()].copy_from_slice(&bytes);
        page.set_lsn(lsn);
        page
    }

    /// Reads the header from page 0.
    pub fn decode(page: &PageBuf) -> Result<FileHeader, Corrupt> {
        expect(page, PageType::FileHeader, "page 0 is not a file header")?;
        let mut r = Reader::new(&page.0[HEADER_SIZE..]);
        if r.array::<8>()? != MAGIC {
            return Err(Corrupt::new("this is not a Gannet data file"));
        }
        if r.u32()? != FORMAT_VERSION {
            return Err(Corrupt::new("the data file has a format version this program does not know"));
        }
        if r.u32()? != PAGE_SIZE as u32 {
            return Err(Corrupt::new("the data file has another page size"));
        }
        Ok(FileHeader { store_id: r.array()? })
    }
}

//! The common page header, little-endian:
//!
//! | offset | type | what |
//! |---|---|---|
//! | 0 | u32 | CRC-32C of bytes 4.., computed when the page is written, checked when it is read; stale in memory |
//! | 4 | u8 | page type ([`PageType`]) |
//! | 5 | u8 | flags, zero |
//! | 6 | u16 | zero |
//! | 8 | u64 | LSN of the last record that changed the page |
//! | 16 | u64 | the page's own number |
//! | 24 | u64 | owner: the tree it belongs to |
//!
//! A page of zeros only has never been written: it is *blank* and valid.

use gannet_base::{Lsn, PAGE_SIZE, PageNo, TreeId, crc32c};

use crate::Corrupt;

/// Bytes of the common header.
pub const HEADER_SIZE: usize = 32;
pub(crate) const CRC: usize = 0;
pub(crate) const TYPE: usize = 4;
pub(crate) const FLAGS: usize = 5;
pub(crate) const LSN: usize = 8;
pub(crate) const PAGE_NO: usize = 16;
pub(crate) const OWNER: usize = 24;

/// What a page holds. Append-only: the numbers are on disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum PageType {
    /// Never written: all bytes are zero.
    Blank = 0,
    /// Page 0 of the file.
    FileHeader = 1,
    /// Owners and free pages of a region's extents.
    SpaceMap = 2,
    /// A node of a B+tree.
    Node = 3,
    /// Part of a long value.
    Overflow = 4,
    /// Undo records of a stream.
    Undo = 5,
    /// Directories of the engine.
    Meta = 6,
    /// Freed; its content means nothing.
    Free = 7,
}

impl PageType {
    /// The type with this number.
    pub const fn from_u8(v: u8) -> Option<PageType> {
        Some(match v {
            0 => PageType::Blank,
            1 => PageType::FileHeader,
            2 => PageType::SpaceMap,
            3 => PageType::Node,
            4 => PageType::Overflow,
            5 => PageType::Undo,
            6 => PageType::Meta,
            7 => PageType::Free,
            _ => return None,
        })
    }
}

/// The bytes of one page, aligned for word access.
#[derive(Clone)]
#[repr(C, align(16))]
pub struct PageBuf(pub [u8; PAGE_SIZE]);

const _: () = assert!(size_of::<PageBuf>() == PAGE_SIZE);

/// [`PageBuf::seal`] for a page in a batch of pages.
///
/// # Panics
/// When `page` is not a page long.
pub fn seal(page: &mut [u8]) {
    assert_eq!(page.len(), PAGE_SIZE);
    let crc = crc32c(0, &page[TYPE..]);
    page[CRC..CRC + 4].copy_from_slice(&crc.to_le_bytes());
}

/// [`PageBuf::set_lsn`] for a page in a batch of pages.
///
/// # Panics
/// When `page` is not a page long.
pub fn stamp(page: &mut [u8], lsn: Lsn) {
    assert_eq!(page.len(), PAGE_SIZE);
    page[LSN..LSN + 8].copy_from_slice(&lsn.0.to_le_bytes());
}

impl PageBuf {
    /// A blank page on the heap.
    pub fn boxed() -> Box<PageBuf> {
        Box::new(PageBuf([0; PAGE_SIZE]))
    }

    /// The page's bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8; PAGE_SIZE] {
        &self.0
    }

    #[inline]
    pub(crate) fn put<const N: usize>(&mut self, at: usize, v: [u8; N]) {
        self.0[at..at + N].copy_from_slice(&v);
    }

    #[inline]
    pub(crate) fn put_u16(&mut self, at: usize, v: usize) {
        debug_assert!(v <= u16::MAX as usize);
        self.put(at, (v as u16).to_le_bytes());
    }

    #[inline]
    pub(crate) fn put_u64(&mut self, at: usize, v: u64) {
        self.put(at, v.to_le_bytes());
    }

    fn get<const N: usize>(&self, at: usize) -> [u8; N] {
        *self.0[at..].first_chunk::<N>().expect("offset is a constant inside the page")
    }

    /// The page type's number; see [`PageBuf::page_type`].
    pub fn type_byte(&self) -> u8 {
        self.0[TYPE]
    }

    /// What the page holds, `None` for an unknown type.
    pub fn page_type(&self) -> Option<PageType> {
        PageType::from_u8(self.0[TYPE])
    }

    /// LSN of the last record that changed the page; zero when blank.
    #[inline]
    pub fn lsn(&self) -> Lsn {
        Lsn(u64::from_le_bytes(self.get(LSN)))
    }

    /// Stamps the page. For the mini-transaction and for redo only.
    #[inline]
    pub fn set_lsn(&mut self, lsn: Lsn) {
        self.put_u64(LSN, lsn.0);
    }

    /// The page's own number.
    pub fn page_no(&self) -> PageNo {
        PageNo(u64::from_le_bytes(self.get(PAGE_NO)))
    }

    /// Gives the page its number: of pages that are made before their place is known.
    pub fn set_page_no(&mut self, no: PageNo) {
        self.put_u64(PAGE_NO, no.0);
    }

    /// The tree the page belongs to.
    pub fn owner(&self) -> TreeId {
        TreeId(u64::from_le_bytes(self.get(OWNER)))
    }

    /// True when the page was never written.
    pub fn is_blank(&self) -> bool {
        self.0[TYPE] == 0 && self.0.iter().all(|&b| b == 0)
    }

    /// Zeroes everything and writes the header of a new page.
    pub(crate) fn format(&mut self, ty: PageType, no: PageNo, owner: TreeId) {
        self.0.fill(0);
        self.0[TYPE] = ty as u8;
        self.put_u64(PAGE_NO, no.0);
        self.put_u64(OWNER, owner.0);
    }

    /// Computes the checksum and stores it: the last step before the page is written to disk.
    pub fn seal(&mut self) {
        seal(&mut self.0);
    }

    /// Whether the stored checksum is that of the bytes. A blank page is right.
    pub fn checksum_ok(&self) -> bool {
        u32::from_le_bytes(self.get(CRC)) == crc32c(0, &self.0[TYPE..]) || self.is_blank()
    }

    /// What must hold for a page read from disk: checksum, number, type. Blank pages pass.
    pub fn verify(&self, no: PageNo) -> Result<(), Corrupt> {
        if self.is_blank() {
            return Ok(());
        }
        if !self.checksum_ok() {
            return Err(Corrupt::new("page checksum does not match"));
        }
        if self.page_no() != no {
            return Err(Corrupt::new("page carries another page's number"));
        }
        match self.page_type() {
            None | Some(PageType::Blank) => Err(Corrupt::new("unknown page type")),
            Some(_) if self.0[FLAGS] != 0 || self.0[6] != 0 || self.0[7] != 0 => {
                Err(Corrupt::new("reserved header bytes are not zero"))
            }
            Some(_) => Ok(()),
        }
    }
}

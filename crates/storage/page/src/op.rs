//! Page operations: the alphabet of changes. The log carries `(page number, operation)` pairs; [`apply`] is the one
//! function that changes a page, forward and in redo, so both give the same bytes.
//!
//! Encoding: one kind byte (append-only list), then the fields in order: page positions, lengths, page numbers and
//! owners as varints, a bitmap as `u64`, byte strings preceded by their length as a varint.

use gannet_base::{PAGE_SIZE, PageNo, TreeId};
use gannet_base::{Reader, Writer};

use crate::{Corrupt, PageBuf, PageType, edit, raw};

/// One change of one page. See the module [`crate::node`] and [`crate::raw`] for the formats they act on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PageOp<'a> {
    /// Makes the page a node holding `entries` (each: suffix length, value length as varints, suffix, value), in key
    /// order.
    FormatNode { owner: TreeId, level: u8, leftmost: PageNo, prefix: &'a [u8], entries: &'a [u8] },
    /// Node: a new entry before slot `pos`.
    Insert { pos: u16, suffix: &'a [u8], value: &'a [u8] },
    /// Node: takes out the entry at `pos`.
    Remove { pos: u16 },
    /// Node: in the value at `pos`, replaces `cut` bytes from `at` by `bytes`.
    Splice { pos: u16, at: u16, cut: u16, bytes: &'a [u8] },
    /// Node: keeps the first `keep` entries, changes the common prefix, compacts.
    Rebuild { keep: u16, prefix: &'a [u8] },
    /// Inner node: the first separator goes, its child becomes the leftmost one.
    DropLeftmost,
    /// Marks the page as free.
    Free,
    /// Makes the page a link of an overflow chain.
    FormatOverflow { owner: TreeId, next: PageNo, bytes: &'a [u8] },
    /// Space map: sets owner and used pages of an extent of the region.
    SetExtent { index: u16, owner: TreeId, used: u64 },
    /// Makes the page an empty undo page.
    FormatUndo { owner: TreeId, stream: u64, prev: PageNo, next: PageNo },
    /// Undo: adds `bytes` at the free offset, which must be `at`.
    Append { at: u16, bytes: &'a [u8] },
    /// Undo, meta, file header: overwrites bytes from `at`. In undo pages, appended ones only.
    Overwrite { at: u16, bytes: &'a [u8] },
    /// Undo: sets both neighbours in the stream.
    SetLinks { prev: PageNo, next: PageNo },
    /// Undo: sets the free offset back to `free`.
    Truncate { free: u16 },
    /// Makes the page an empty file header, space map or meta page.
    Format { ty: PageType, owner: TreeId },
}

const FORMAT_NODE: u8 = 1;
const INSERT: u8 = 2;
const REMOVE: u8 = 3;
const SPLICE: u8 = 4;
const REBUILD: u8 = 5;
const DROP_LEFTMOST: u8 = 6;
const FREE: u8 = 7;
const FORMAT_OVERFLOW: u8 = 8;
const SET_EXTENT: u8 = 9;
const FORMAT_UNDO: u8 = 10;
const APPEND: u8 = 11;
const OVERWRITE: u8 = 12;
const SET_LINKS: u8 = 13;
const TRUNCATE: u8 = 14;
const FORMAT: u8 = 15;

impl<'a> PageOp<'a> {
    /// Whether the operation gives the whole page a new content, whatever was there. Redo on a blank page starts with
    /// one.
    pub fn is_full(&self) -> bool {
        matches!(
            self,
            PageOp::FormatNode { .. }
                | PageOp::FormatOverflow { .. }
                | PageOp::FormatUndo { .. }
                | PageOp::Format { .. }
                | PageOp::Free
        )
    }

    /// Appends the encoding to `out`.
    #[inline]
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut w = Writer::new(out);
        match *self {
            PageOp::Insert { pos, suffix, value } => {
                w.u8(INSERT).varint(pos as u64).prefixed(suffix).prefixed(value);
            }
            PageOp::Splice { pos, at, cut, bytes } => {
                w.u8(SPLICE).varint(pos as u64).varint(at as u64).varint(cut as u64).prefixed(bytes);
            }
            PageOp::Append { at, bytes } => {
                w.u8(APPEND).varint(at as u64).prefixed(bytes);
            }
            PageOp::Overwrite { at, bytes } => {
                w.u8(OVERWRITE).varint(at as u64).prefixed(bytes);
            }
            PageOp::Remove { pos } => {
                w.u8(REMOVE).varint(pos as u64);
            }
            PageOp::FormatNode { owner, level, leftmost, prefix, entries } => {
                w.u8(FORMAT_NODE).varint(owner.0).u8(level).varint(leftmost.0).prefixed(prefix).prefixed(entries);
            }
            PageOp::Rebuild { keep, prefix } => {
                w.u8(REBUILD).varint(keep as u64).prefixed(prefix);
            }
            PageOp::DropLeftmost => {
                w.u8(DROP_LEFTMOST);
            }
            PageOp::Free => {
                w.u8(FREE);
            }
            PageOp::FormatOverflow { owner, next, bytes } => {
                w.u8(FORMAT_OVERFLOW).varint(owner.0).varint(next.0).prefixed(bytes);
            }
            PageOp::SetExtent { index, owner, used } => {
                w.u8(SET_EXTENT).varint(index as u64).varint(owner.0).u64(used);
            }
            PageOp::FormatUndo { owner, stream, prev, next } => {
                w.u8(FORMAT_UNDO).varint(owner.0).varint(stream).varint(prev.0).varint(next.0);
            }
            PageOp::SetLinks { prev, next } => {
                w.u8(SET_LINKS).varint(prev.0).varint(next.0);
            }
            PageOp::Truncate { free } => {
                w.u8(TRUNCATE).varint(free as u64);
            }
            PageOp::Format { ty, owner } => {
                w.u8(FORMAT).u8(ty as u8).varint(owner.0);
            }
        }
    }

    /// Decodes one operation. Never panics; what it gives may still not fit the page, which [`apply`] finds out.
    pub fn decode(r: &mut Reader<'a>) -> Result<PageOp<'a>, Corrupt> {
        fn small(r: &mut Reader<'_>) -> Result<u16, Corrupt> {
            u16::try_from(r.varint()?).map_err(|_| Corrupt::new("position in a page is too large"))
        }
        fn page(r: &mut Reader<'_>) -> Result<PageNo, Corrupt> {
            Ok(PageNo(r.varint()?))
        }
        fn tree(r: &mut Reader<'_>) -> Result<TreeId, Corrupt> {
            Ok(TreeId(r.varint()?))
        }
        let bytes = |r: &mut Reader<'a>| r.prefixed(2 * PAGE_SIZE);
        Ok(match r.u8()? {
            FORMAT_NODE => PageOp::FormatNode {
                owner: tree(r)?,
                level: r.u8()?,
                leftmost: page(r)?,
                prefix: bytes(r)?,
                entries: bytes(r)?,
            },
            INSERT => PageOp::Insert { pos: small(r)?, suffix: bytes(r)?, value: bytes(r)? },
            REMOVE => PageOp::Remove { pos: small(r)? },
            SPLICE => PageOp::Splice { pos: small(r)?, at: small(r)?, cut: small(r)?, bytes: bytes(r)? },
            REBUILD => PageOp::Rebuild { keep: small(r)?, prefix: bytes(r)? },
            DROP_LEFTMOST => PageOp::DropLeftmost,
            FREE => PageOp::Free,
            FORMAT_OVERFLOW => PageOp::FormatOverflow { owner: tree(r)?, next: page(r)?, bytes: bytes(r)? },
            SET_EXTENT => PageOp::SetExtent { index: small(r)?, owner: tree(r)?, used: r.u64()? },
            FORMAT_UNDO => PageOp::FormatUndo { owner: tree(r)?, stream: r.varint()?, prev: page(r)?, next: page(r)? },
            APPEND => PageOp::Append { at: small(r)?, bytes: bytes(r)? },
            OVERWRITE => PageOp::Overwrite { at: small(r)?, bytes: bytes(r)? },
            SET_LINKS => PageOp::SetLinks { prev: page(r)?, next: page(r)? },
            TRUNCATE => PageOp::Truncate { free: small(r)? },
            FORMAT => PageOp::Format {
                ty: PageType::from_u8(r.u8()?).ok_or(Corrupt::new("unknown page type in an operation"))?,
                owner: tree(r)?,
            },
            _ => return Err(Corrupt::new("unknown page operation")),
        })
    }
}

/// Changes page `no`. All checks come before the first change: after an error the page is as it was.
/// The LSN is not stamped here; a full operation sets it to zero.
pub fn apply(no: PageNo, op: &PageOp<'_>, page: &mut PageBuf) -> Result<(), Corrupt> {
    apply_and_tell(no, op, page).map(drop)
}

/// [`apply`]. Returns whether the entries of a node were moved together to make room.
pub fn apply_and_tell(no: PageNo, op: &PageOp<'_>, page: &mut PageBuf) -> Result<bool, Corrupt> {
    match *op {
        PageOp::Insert { pos, suffix, value } => return edit::insert(page, pos as usize, suffix, value),
        PageOp::Splice { pos, at, cut, bytes } => {
            return edit::splice(page, pos as usize, at as usize, cut as usize, bytes);
        }
        _ => {}
    }
    apply_other(no, op, page).map(|()| false)
}

fn apply_other(no: PageNo, op: &PageOp<'_>, page: &mut PageBuf) -> Result<(), Corrupt> {
    match *op {
        PageOp::Insert { .. } | PageOp::Splice { .. } => Err(Corrupt::new("an operation is taken for another")),
        PageOp::FormatNode { owner, level, leftmost, prefix, entries } => {
            edit::format(page, no, owner, level, leftmost, prefix, entries)
        }
        PageOp::Remove { pos } => edit::remove(page, pos as usize),
        PageOp::Rebuild { keep, prefix } => edit::rebuild(page, keep as usize, prefix),
        PageOp::DropLeftmost => edit::drop_leftmost(page),
        PageOp::Free => {
            page.format(PageType::Free, no, TreeId::ZERO);
            Ok(())
        }
        PageOp::FormatOverflow { owner, next, bytes } => raw::format_overflow(page, no, owner, next, bytes),
        PageOp::SetExtent { index, owner, used } => raw::set_extent(page, index as usize, owner, used),
        PageOp::FormatUndo { owner, stream, prev, next } => {
            raw::format_undo(page, no, owner, stream, prev, next);
            Ok(())
        }
        PageOp::Append { at, bytes } => raw::append(page, at as usize, bytes),
        PageOp::Overwrite { at, bytes } => raw::overwrite(page, at as usize, bytes),
        PageOp::SetLinks { prev, next } => raw::set_links(page, prev, next),
        PageOp::Truncate { free } => raw::truncate(page, free as usize),
        PageOp::Format { ty: ty @ (PageType::FileHeader | PageType::SpaceMap | PageType::Meta), owner } => {
            page.format(ty, no, owner);
            Ok(())
        }
        PageOp::Format { .. } => Err(Corrupt::new("this page type cannot be formatted empty")),
    }
}

//! The caller's buffer for one row.

use gannet_base::{PageNo, TrxId};

use crate::undo::record::UndoPtr;

/// Bytes before the row in an entry of a row tree: writer, undo pointer, flags.
pub(crate) const ROW_HEADER: usize = 17;

/// Flags in an entry's header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct RowFlags(pub(crate) u8);

impl RowFlags {
    /// The row is deleted; its bytes stay until purge.
    pub(crate) const DELETED: u8 = 1;
    /// The row's tail is in an overflow chain.
    pub(crate) const OVERFLOW: u8 = 2;

    pub(crate) fn deleted(self) -> bool {
        self.0 & Self::DELETED != 0
    }

    pub(crate) fn overflow(self) -> bool {
        self.0 & Self::OVERFLOW != 0
    }
}

/// Names the version of a row that a read returned; see [`Txn::update_if`](crate::Txn::update_if).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RowStamp {
    /// The transaction that wrote the version.
    pub writer: TrxId,
    /// Its undo record: makes the stamp unique among versions of one writer.
    pub(crate) undo: u64,
}

/// Buffer for one row, reused between reads: the row's bytes land in it once.
#[derive(Default, Debug)]
pub struct RowBuf {
    /// The entry as it lies in the leaf: header, then the row.
    pub(crate) entry: Vec<u8>,
}

impl RowBuf {
    /// Empty.
    pub const fn new() -> Self {
        RowBuf { entry: Vec::new() }
    }

    /// With room for rows of `bytes` bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        RowBuf { entry: Vec::with_capacity(bytes + ROW_HEADER) }
    }

    /// The row of the last successful read; empty otherwise.
    #[inline]
    pub fn row(&self) -> &[u8] {
        self.entry.get(ROW_HEADER..).unwrap_or(&[])
    }

    /// The version that was read.
    pub fn stamp(&self) -> RowStamp {
        match self.entry.first_chunk::<16>() {
            None => RowStamp::default(),
            Some(h) => RowStamp {
                writer: TrxId(u64::from_le_bytes([h[0], h[1], h[2], h[3], h[4], h[5], h[6], h[7]])),
                undo: u64::from_le_bytes([h[8], h[9], h[10], h[11], h[12], h[13], h[14], h[15]]),
            },
        }
    }
}

/// The header of an entry in a row tree: `u64` writer, `u64` undo pointer, `u8` flags. The row follows; with the
/// overflow flag `u64` first page of the chain and `u32` bytes in the chain, then the row's head.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RowHeader {
    pub(crate) writer: TrxId,
    pub(crate) undo: UndoPtr,
    pub(crate) flags: RowFlags,
}

/// Bytes of the reference to an overflow chain, after the header.
pub(crate) const CHAIN_REF: usize = 12;

impl RowHeader {
    #[inline]
    pub(crate) fn decode(entry: &[u8]) -> Option<RowHeader> {
        let h = entry.first_chunk::<ROW_HEADER>()?;
        let word = |at: usize| {
            u64::from_le_bytes([h[at], h[at + 1], h[at + 2], h[at + 3], h[at + 4], h[at + 5], h[at + 6], h[at + 7]])
        };
        Some(RowHeader { writer: TrxId(word(0)), undo: UndoPtr(word(8)), flags: RowFlags(h[16]) })
    }

    pub(crate) fn encode(self) -> [u8; ROW_HEADER] {
        let mut out = [0; ROW_HEADER];
        out[..8].copy_from_slice(&self.writer.0.to_le_bytes());
        out[8..16].copy_from_slice(&self.undo.0.to_le_bytes());
        out[16] = self.flags.0;
        out
    }
}

/// First page and length of an entry's overflow chain.
pub(crate) fn chain_of(entry: &[u8]) -> Option<(PageNo, usize)> {
    let header = RowHeader::decode(entry)?;
    if !header.flags.overflow() {
        return None;
    }
    let reference = entry[ROW_HEADER..].first_chunk::<CHAIN_REF>()?;
    let (page, len) = reference.split_at(8);
    let page = u64::from_le_bytes(page.try_into().ok()?);
    Some((PageNo(page), u32::from_le_bytes(len.try_into().ok()?) as usize))
}

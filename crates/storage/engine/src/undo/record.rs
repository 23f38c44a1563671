//! Undo pages and records, byte by byte, little-endian.
//!
//! The page's own header is `page::raw`'s; records follow one another from [`FIRST`] to the page's free offset.
//!
//! Record: `u16 length` (of the whole record), `u8 kind`, `u8 flags`, then
//!
//! | kind | what follows |
//! |---|---|
//! | 1 begin | u64 transaction. Flags: 0 active, 1 committed, 2 rolled back, 3 prepared |
//! | 2 row insert | common, key |
//! | 3 row modify | common, u64 older writer, u64 older undo pointer, u8 older row flags, u64 first page of the older version's overflow chain if this change ended its use (else 0), u16 key length, key, difference to the older version |
//! | 4 index insert | common, entry's key (stamp included) |
//! | 5 index delete | common, entry's key |
//! | 6 index revive | common, u16 key length, entry's key, carried bytes before |
//! | 7 create tree | common, u8 kind |
//! | 8 drop tree | common, u8 kind |
//! | 10 chain | common, u64 first page, u16 pages: part of an overflow chain of a new version |
//! | 11 row delete | as row modify; the newer version is a deleted one |
//! | 12 build | common, u64 first page of a chain that a rollback frees (else 0): a tree that was empty |
//! | 9 continue | u64 transaction: the first record of a page to which a transaction goes on |
//!
//! common: `u64 tree`, `u64 pointer to this transaction's previous record` (0 = none). Flag 1 of these: done (undone by
//! rollback, or dealt with by purge); it makes repeating harmless. Kinds are an append-only list.
//!
//! An undo pointer is `page << 24 | offset << 8 | kind`; 0 = none.

use gannet_base::{DecodeError, Reader, Writer};
use gannet_base::{PAGE_SIZE, PageNo, TreeId, TrxId};

use crate::row::RowFlags;

/// Where records begin.
pub(crate) const FIRST: usize = gannet_page::raw::UNDO_DATA;
/// Offset of the flags in a record.
pub(crate) const FLAGS_AT: usize = 3;
/// Longest record.
pub(crate) const MAX_RECORD: usize = PAGE_SIZE - FIRST;

/// State of a transaction as its begin record says.
pub(crate) const ACTIVE: u8 = 0;
pub(crate) const COMMITTED: u8 = 1;
pub(crate) const ROLLED_BACK: u8 = 2;
/// Active, and to be found as such after a crash: the caller of [`crate::Txn::prepare`] decides its end.
pub(crate) const PREPARED: u8 = 3;

/// Record flag: nothing is left to do for it.
pub(crate) const DONE: u8 = 1;

pub(crate) const BEGIN: u8 = 1;
pub(crate) const ROW_INSERT: u8 = 2;
pub(crate) const ROW_MODIFY: u8 = 3;
pub(crate) const INDEX_INSERT: u8 = 4;
pub(crate) const INDEX_DELETE: u8 = 5;
pub(crate) const INDEX_REVIVE: u8 = 6;
pub(crate) const CREATE_TREE: u8 = 7;
pub(crate) const DROP_TREE: u8 = 8;
pub(crate) const CONTINUE: u8 = 9;
pub(crate) const CHAIN: u8 = 10;
pub(crate) const ROW_DELETE: u8 = 11;
pub(crate) const BUILD: u8 = 12;

/// A record of this kind is a row's.
pub(crate) fn is_of_row(kind: u8) -> bool {
    matches!(kind, ROW_INSERT | ROW_MODIFY | ROW_DELETE)
}

/// Offset of the ended chain's page in a row modify or delete record: purge moves it along while it frees the chain.
pub(crate) const ENDED_CHAIN_AT: usize = 37;
/// Offset of the chain's page in a build record.
pub(crate) const BUILD_CHAIN_AT: usize = 20;

/// What a row of a filled tree has for an older version: none, and no record.
pub(crate) const NO_VERSION: UndoPtr = UndoPtr(ROW_INSERT as u64);

/// Where an undo record lies.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct UndoPtr(pub(crate) u64);

impl UndoPtr {
    pub(crate) const NONE: UndoPtr = UndoPtr(0);

    pub(crate) fn new(page: PageNo, offset: usize, kind: u8) -> Self {
        UndoPtr(page.0 << 24 | (offset as u64) << 8 | u64::from(kind))
    }

    pub(crate) fn page(self) -> PageNo {
        PageNo(self.0 >> 24)
    }

    pub(crate) fn offset(self) -> usize {
        (self.0 >> 8) as u16 as usize
    }

    pub(crate) fn kind(self) -> u8 {
        self.0 as u8
    }

    pub(crate) fn is_none(self) -> bool {
        self.0 == 0
    }
}

/// What a record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body<'a> {
    Begin { trx: TrxId },
    Continue { trx: TrxId },
    RowInsert { key: &'a [u8] },
    RowModify { older: OlderRow, ended_chain: PageNo, key: &'a [u8], diff: &'a [u8] },
    RowDelete { older: OlderRow, ended_chain: PageNo, key: &'a [u8] },
    Chain { first: PageNo, pages: u16 },
    IndexInsert { key: &'a [u8] },
    IndexDelete { key: &'a [u8] },
    IndexRevive { key: &'a [u8], carried: &'a [u8] },
    CreateTree { kind: u8 },
    DropTree { kind: u8 },
    Build { chain: PageNo },
}

/// Header of the version before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OlderRow {
    pub(crate) writer: TrxId,
    pub(crate) undo: UndoPtr,
    pub(crate) flags: RowFlags,
}

/// A record, decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    pub(crate) len: usize,
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    /// Zero in a begin record.
    pub(crate) tree: TreeId,
    pub(crate) prev: UndoPtr,
    pub(crate) body: Body<'a>,
}

impl Record<'_> {
    pub(crate) fn is_done(&self) -> bool {
        self.flags & DONE != 0 && self.kind != BEGIN && self.kind != CONTINUE
    }
}

impl Body<'_> {
    pub(crate) fn kind(&self) -> u8 {
        match self {
            Body::Begin { .. } => BEGIN,
            Body::Continue { .. } => CONTINUE,
            Body::RowInsert { .. } => ROW_INSERT,
            Body::RowModify { .. } => ROW_MODIFY,
            Body::RowDelete { .. } => ROW_DELETE,
            Body::Chain { .. } => CHAIN,
            Body::IndexInsert { .. } => INDEX_INSERT,
            Body::IndexDelete { .. } => INDEX_DELETE,
            Body::IndexRevive { .. } => INDEX_REVIVE,
            Body::CreateTree { .. } => CREATE_TREE,
            Body::DropTree { .. } => DROP_TREE,
            Body::Build { .. } => BUILD,
        }
    }

    /// Appends the record to `out`. `tree` and `prev` are ignored in a begin record.
    pub(crate) fn encode(&self, tree: TreeId, prev: UndoPtr, out: &mut Vec<u8>) {
        let start = out.len();
        let mut w = Writer::new(out);
        w.u16(0).u8(self.kind()).u8(0);
        if !matches!(self, Body::Begin { .. } | Body::Continue { .. }) {
            w.u64(tree.0).u64(prev.0);
        }
        match *self {
            Body::Begin { trx } | Body::Continue { trx } => drop(w.u64(trx.0)),
            Body::RowInsert { key } | Body::IndexInsert { key } | Body::IndexDelete { key } => drop(w.bytes(key)),
            Body::RowModify { older, ended_chain, key, diff } => {
                w.u64(older.writer.0).u64(older.undo.0).u8(older.flags.0).u64(ended_chain.0);
                w.u16(key.len() as u16).bytes(key).bytes(diff);
            }
            Body::RowDelete { older, ended_chain, key } => {
                w.u64(older.writer.0).u64(older.undo.0).u8(older.flags.0).u64(ended_chain.0);
                w.u16(key.len() as u16).bytes(key);
            }
            Body::Chain { first, pages } => drop(w.u64(first.0).u16(pages)),
            Body::IndexRevive { key, carried } => drop(w.u16(key.len() as u16).bytes(key).bytes(carried)),
            Body::CreateTree { kind } | Body::DropTree { kind } => drop(w.u8(kind)),
            Body::Build { chain } => drop(w.u64(chain.0)),
        }
        let len = out.len() - start;
        gannet_base::check!(len <= MAX_RECORD, "undo record of {len} bytes");
        out[start..start + 2].copy_from_slice(&(len as u16).to_le_bytes());
    }
}

/// Decodes the record at `offset` of a private copy of a page that ends at the page's free offset; `None` where there
/// are no more.
pub(crate) fn decode_at(page: &[u8], offset: usize) -> Result<Option<Record<'_>>, DecodeError> {
    match page.get(offset..) {
        Some(bytes) if !bytes.is_empty() => decode(bytes).map(Some),
        _ => Ok(None),
    }
}

/// Decodes the record at the beginning of `bytes`.
pub(crate) fn decode(bytes: &[u8]) -> Result<Record<'_>, DecodeError> {
    let mut r = Reader::new(bytes);
    let len = usize::from(r.u16()?);
    if len < 4 || len > bytes.len() {
        return Err(r.invalid("undo record length"));
    }
    let mut r = Reader::new(&bytes[..len]);
    r.u16()?;
    let (kind, flags) = (r.u8()?, r.u8()?);
    if kind == BEGIN || kind == CONTINUE {
        let trx = TrxId(r.u64()?);
        let body = if kind == BEGIN { Body::Begin { trx } } else { Body::Continue { trx } };
        return Ok(Record { len, kind, flags, tree: TreeId(0), prev: UndoPtr::NONE, body });
    }
    let (tree, prev) = (TreeId(r.u64()?), UndoPtr(r.u64()?));
    let body = match kind {
        ROW_INSERT => Body::RowInsert { key: r.rest() },
        ROW_MODIFY | ROW_DELETE => {
            let (writer, undo) = (TrxId(r.u64()?), UndoPtr(r.u64()?));
            let older = OlderRow { writer, undo, flags: RowFlags(r.u8()?) };
            let ended_chain = PageNo(r.u64()?);
            let key_len = usize::from(r.u16()?);
            let key = r.bytes(key_len)?;
            match kind {
                ROW_MODIFY => Body::RowModify { older, ended_chain, key, diff: r.rest() },
                _ => Body::RowDelete { older, ended_chain, key },
            }
        }
        CHAIN => Body::Chain { first: PageNo(r.u64()?), pages: r.u16()? },
        INDEX_INSERT => Body::IndexInsert { key: r.rest() },
        INDEX_DELETE => Body::IndexDelete { key: r.rest() },
        INDEX_REVIVE => {
            let key_len = usize::from(r.u16()?);
            Body::IndexRevive { key: r.bytes(key_len)?, carried: r.rest() }
        }
        CREATE_TREE => Body::CreateTree { kind: r.u8()? },
        DROP_TREE => Body::DropTree { kind: r.u8()? },
        BUILD => Body::Build { chain: PageNo(r.u64()?) },
        _ => return Err(r.invalid("undo record kind")),
    };
    Ok(Record { len, kind, flags, tree, prev, body })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Vec<Body<'static>> {
        let older = OlderRow { writer: TrxId(9), undo: UndoPtr::new(PageNo(77), 120, ROW_MODIFY), flags: RowFlags(3) };
        vec![
            Body::Begin { trx: TrxId(7) },
            Body::RowInsert { key: b"key" },
            Body::RowModify { older, ended_chain: PageNo(8), key: b"key", diff: b"diff" },
            Body::RowDelete { older, ended_chain: PageNo(0), key: b"key" },
            Body::Chain { first: PageNo(5), pages: 3 },
            Body::IndexInsert { key: b"abc12345678" },
            Body::IndexDelete { key: b"abc12345678" },
            Body::IndexRevive { key: b"abc12345678", carried: b"c" },
            Body::CreateTree { kind: 1 },
            Body::DropTree { kind: 0 },
            Body::Build { chain: PageNo(6) },
            Body::Continue { trx: TrxId(8) },
        ]
    }

    #[test]
    fn pointers_hold_their_parts() {
        let p = UndoPtr::new(PageNo((1 << 40) - 1), 16383, 255);
        assert_eq!((p.page(), p.offset(), p.kind()), (PageNo((1 << 40) - 1), 16383, 255));
    }

    #[test]
    fn ended_chain_is_where_it_is_said_to_be() {
        let older = OlderRow { writer: TrxId(1), undo: UndoPtr(2), flags: RowFlags(3) };
        let mut out = Vec::new();
        Body::RowDelete { older, ended_chain: PageNo(0x1122), key: b"k" }.encode(TreeId(4), UndoPtr(5), &mut out);
        assert_eq!(out[ENDED_CHAIN_AT..ENDED_CHAIN_AT + 8], 0x1122u64.to_le_bytes());
        out.clear();
        Body::Build { chain: PageNo(0x3344) }.encode(TreeId(4), UndoPtr(5), &mut out);
        assert_eq!(out[BUILD_CHAIN_AT..BUILD_CHAIN_AT + 8], 0x3344u64.to_le_bytes());
    }

    #[test]
    fn records_round_trip_and_are_walked() {
        let mut page = vec![0; FIRST];
        for body in samples() {
            body.encode(TreeId(5), UndoPtr(1234), &mut page);
        }
        let (mut at, mut seen) = (FIRST, Vec::new());
        while let Some(r) = decode_at(&page, at).unwrap() {
            assert!(r.kind == BEGIN || r.kind == CONTINUE || (r.tree, r.prev) == (TreeId(5), UndoPtr(1234)));
            assert_eq!(r.kind, r.body.kind());
            seen.push(r.body);
            at += r.len;
        }
        assert_eq!(seen, samples());
    }

    #[test]
    fn damage_is_refused_not_followed() {
        let mut page = vec![0; FIRST];
        for body in samples() {
            body.encode(TreeId(5), UndoPtr(1234), &mut page);
        }
        for i in FIRST..page.len() {
            for v in [0u8, 1, 0x7f, 0xff] {
                let mut bad = page.clone();
                bad[i] = v;
                let mut at = FIRST;
                while let Ok(Some(r)) = decode_at(&bad, at) {
                    at += r.len;
                }
            }
        }
        assert!(decode_at(&page, 70_000).unwrap().is_none());
    }
}

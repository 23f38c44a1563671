//! Every size, offset and limit of the page formats, as text: changing one shows in review.

use gannet_base::{Lsn, PageNo, TreeId};
use gannet_page::node::{LENGTH, LONG, MAX_ENTRY, MAX_SLOTS, SLOT, SLOTS, SPACE};
use gannet_page::raw::{
    EXTENT_PAGES, FORMAT_VERSION, FileHeader, OVERFLOW_DATA, OVERFLOW_SPACE, REGION_EXTENTS, REGION_PAGES, UNDO_DATA,
    UNDO_SPACE, map_of,
};
use gannet_page::{HEADER_SIZE, MAX_KEY, PAGE_SIZE, PageBuf, PageOp, PageType, apply};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// The first `n` bytes of a page after some operations, sealed.
fn page(n: usize, ops: &[PageOp<'_>]) -> String {
    let mut p = PageBuf::boxed();
    for op in ops {
        apply(PageNo(0x0102), op, &mut p).unwrap();
    }
    p.set_lsn(Lsn(0x0a0b0c));
    p.seal();
    format!("{} .. {}", hex(&p.0[..n]), hex(&p.0[PAGE_SIZE - 16..]))
}

#[test]
fn sizes_and_limits() {
    let text = format!(
        "page {PAGE_SIZE} header {HEADER_SIZE} version {FORMAT_VERSION}\n\
         node slots@{SLOTS} slot {SLOT} length {LENGTH} from {LONG} space {SPACE} max_slots {MAX_SLOTS} max_key {MAX_KEY} max_entry {MAX_ENTRY}\n\
         overflow data@{OVERFLOW_DATA} space {OVERFLOW_SPACE}\n\
         undo data@{UNDO_DATA} space {UNDO_SPACE}\n\
         extent {EXTENT_PAGES} region {REGION_EXTENTS} extents {REGION_PAGES} pages map_of(65280) {:?}\n\
         types {:?}",
        map_of(PageNo(REGION_PAGES)),
        (0..=8).map(PageType::from_u8).collect::<Vec<_>>(),
    );
    assert_eq!(
        text,
        "page 16384 header 32 version 2\n\
         node slots@64 slot 8 length 2 from 31 space 16320 max_slots 2040 max_key 7168 max_entry 8150\n\
         overflow data@48 space 16336\n\
         undo data@64 space 16320\n\
         extent 64 region 1020 extents 65280 pages map_of(65280) (page 65281, 0)\n\
         types [Some(Blank), Some(FileHeader), Some(SpaceMap), Some(Node), Some(Overflow), Some(Undo), Some(Meta), Some(Free), None]"
    );
}

#[test]
fn pages_byte_by_byte() {
    let t = TreeId(0x11);
    let format = PageOp::FormatNode { owner: t, level: 0, leftmost: PageNo(0), prefix: b"pre", entries: &[] };
    let node = [
        format,
        PageOp::Insert { pos: 0, suffix: b"banana", value: b"yellow" },
        PageOp::Insert { pos: 0, suffix: b"ap", value: b"red" },
        PageOp::Insert { pos: 2, suffix: b"cherry", value: &[7; 31] },
    ];
    let inner = [
        PageOp::FormatNode { owner: t, level: 1, leftmost: PageNo(5), prefix: &[], entries: &[] },
        PageOp::Insert { pos: 0, suffix: b"m", value: &6u64.to_le_bytes() },
    ];
    let overflow = [PageOp::FormatOverflow { owner: t, next: PageNo(9), bytes: b"tail" }];
    let undo = [
        PageOp::FormatUndo { owner: t, stream: 3, prev: PageNo(7), next: PageNo(0) },
        PageOp::Append { at: 64, bytes: b"rec" },
    ];
    let map = [
        PageOp::Format { ty: PageType::SpaceMap, owner: TreeId(1) },
        PageOp::SetExtent { index: 1, owner: t, used: 0b101 },
    ];
    let header = FileHeader { store_id: [0xab; 16] }.encode();
    let file =
        [PageOp::Format { ty: PageType::FileHeader, owner: TreeId(1) }, PageOp::Overwrite { at: 32, bytes: &header }];
    let text =
        [page(80, &node), page(72, &inner), page(52, &overflow), page(67, &undo), page(64, &map), page(64, &file)];
    let expected = include_str!("pages.snapshot");
    assert_eq!(text.join("\n"), expected.trim_end(), "the bytes of a page format have changed");
}

/// The log's alphabet: kinds and fields of every operation.
#[test]
fn operations_byte_by_byte() {
    let t = TreeId(0x11);
    let ops = [
        PageOp::FormatNode { owner: t, level: 1, leftmost: PageNo(300), prefix: b"p", entries: b"e" },
        PageOp::Insert { pos: 300, suffix: b"s", value: b"v" },
        PageOp::Remove { pos: 7 },
        PageOp::Splice { pos: 1, at: 2, cut: 3, bytes: b"b" },
        PageOp::Rebuild { keep: 4, prefix: b"p" },
        PageOp::DropLeftmost,
        PageOp::Free,
        PageOp::FormatOverflow { owner: t, next: PageNo(9), bytes: b"b" },
        PageOp::SetExtent { index: 5, owner: t, used: 6 },
        PageOp::FormatUndo { owner: t, stream: 1, prev: PageNo(2), next: PageNo(3) },
        PageOp::Append { at: 64, bytes: b"b" },
        PageOp::Overwrite { at: 64, bytes: b"b" },
        PageOp::SetLinks { prev: PageNo(1), next: PageNo(2) },
        PageOp::Truncate { free: 64 },
        PageOp::Format { ty: PageType::Meta, owner: t },
    ];
    let text: Vec<String> = ops
        .iter()
        .map(|op| {
            let mut out = Vec::new();
            op.encode(&mut out);
            assert_eq!(PageOp::decode(&mut gannet_base::Reader::new(&out)).as_ref(), Ok(op));
            hex(&out)
        })
        .collect();
    assert_eq!(
        text.join(" "),
        "011101ac0201700165 02ac0201730176 0307 040102030162 05040170 06 07 0811090162 \
         0905110600000000000000 0a11010203 0b400162 0c400162 0d0102 0e40 0f0611"
    );
}

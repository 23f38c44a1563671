//! Entry points for fuzzing: any bytes in, no panic out. The `cargo fuzz` targets in `fuzz/` and `cargo xtask fuzz`
//! call them.

use gannet_base::Reader;

use crate::{Node, PAGE_SIZE, PageBuf, PageBytes, PageNo, PageOp, apply, check, raw};

const NO: PageNo = PageNo(77);

/// Reads a page by words only, as a racing reader does.
struct Words<'a>(&'a PageBuf);

impl PageBytes for Words<'_> {
    fn word(&self, i: usize) -> u64 {
        self.0.word(i)
    }
}

/// A page (the first [`PAGE_SIZE`] bytes, zeros where there are fewer), read in every way this crate offers; then
/// operations from the bytes behind it. An operation that is refused must leave the page as it was.
pub fn page(data: &[u8]) {
    let (head, ops) = data.split_at(data.len().min(PAGE_SIZE));
    let mut page = PageBuf::boxed();
    page.0[..head.len()].copy_from_slice(head);
    let _ = page.verify(NO);
    read_all(&page);
    operations(&mut page, ops);
}

/// Operations as the log carries them, applied to a blank page.
pub fn operations_on_blank(data: &[u8]) {
    operations(&mut PageBuf::boxed(), data);
}

fn operations(page: &mut PageBuf, ops: &[u8]) {
    let mut r = Reader::new(ops);
    let mut before = page.clone();
    while !r.is_empty() {
        let Ok(op) = PageOp::decode(&mut r) else { break };
        let mut encoded = Vec::new();
        op.encode(&mut encoded);
        assert_eq!(PageOp::decode(&mut Reader::new(&encoded)), Ok(op), "what is encoded decodes to the same");
        match apply(NO, &op, page) {
            Ok(()) => {
                read_all(page);
                before.0.copy_from_slice(&page.0);
            }
            Err(_) => assert!(before.0 == page.0, "a refused operation changed the page"),
        }
    }
}

fn read_all(page: &PageBuf) {
    let _ = check(page);
    read_node(Node(page));
    read_node(Node(&Words(page)));
    let _ = raw::overflow(page);
    if let Ok(undo) = raw::undo_header(page) {
        assert!(undo.free <= PAGE_SIZE && undo.room() <= PAGE_SIZE);
    }
    for index in [0, 1, raw::REGION_EXTENTS - 1, raw::REGION_EXTENTS, u64::MAX] {
        let _ = raw::extent(page, index);
    }
    let _ = raw::FileHeader::decode(page);
}

fn read_node<P: PageBytes + ?Sized>(node: Node<'_, P>) {
    let (count, mut out) = (node.count(), Vec::new());
    for i in (0..count.min(64)).chain([count, usize::MAX / 2]) {
        let _ = (node.entry(i), node.child(i));
        out.clear();
        node.key_to(i, &mut out);
        let (place, _) = node.search(&out);
        assert!(place <= count, "a place behind the last one");
        assert!(node.child_index(&out) <= count);
        node.value_to(i, &mut out);
        assert!(out.len() <= 3 * PAGE_SIZE, "an entry is longer than a page");
    }
    let _ = (node.is_node(), node.owner(), node.page_no(), node.level(), node.prefix(), node.free_space());
    let _ = (node.used_space(), node.insert_run());
    out.clear();
    node.encode_entries(0..count.min(64), node.prefix_len().min(3), &mut out);
}

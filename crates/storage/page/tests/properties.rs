//! Pages against a model, and against damage: nothing panics, an error changes nothing.

use gannet_base::{Lsn, PAGE_SIZE, PageNo, Reader, TreeId};
use gannet_page::node::{MAX_ENTRY, common_prefix, common_suffix, encode_entry, entry_space, head, separator};
use gannet_page::{Corrupt, Node, PageBuf, PageBytes, PageOp, PageType, apply, check, redo};

const STEPS: u64 = if cfg!(miri) { 60 } else { 2000 };
const NO: PageNo = PageNo(77);

struct Rng(u64);
impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    fn below(&mut self, n: u64) -> usize {
        (self.next() % n.max(1)) as usize
    }
    fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.next() as u8 & 3).collect()
    }
}

/// Reads a page by words only, as a racing reader does.
struct Words<'a>(&'a PageBuf);
impl PageBytes for Words<'_> {
    fn word(&self, i: usize) -> u64 {
        self.0.word(i)
    }
}

fn leaf(prefix: &[u8]) -> Box<PageBuf> {
    let mut p = PageBuf::boxed();
    let op = PageOp::FormatNode { owner: TreeId(5), level: 0, leftmost: PageNo(0), prefix, entries: &[] };
    apply(NO, &op, &mut p).unwrap();
    p
}

/// Applies through the encoding, as redo does, to a copy too: both must give the same bytes.
fn both(p: &mut PageBuf, op: &PageOp<'_>) -> Result<(), gannet_page::Corrupt> {
    let before = p.clone();
    let mut bytes = Vec::new();
    op.encode(&mut bytes);
    let mut r = Reader::new(&bytes);
    let decoded = PageOp::decode(&mut r).unwrap();
    assert!(r.is_empty());
    let mut copy = before.clone();
    let outcome = apply(NO, op, p);
    assert_eq!(apply(NO, &decoded, &mut copy), outcome);
    assert!(copy.0 == p.0);
    if outcome.is_err() {
        assert!(before.0 == p.0, "an error changed the page");
    }
    outcome
}

#[test]
fn node_against_a_model() {
    for seed in 0..if cfg!(miri) { 1 } else { 6 } {
        let mut rng = Rng(seed);
        let prefix = rng.bytes(seed as usize * 3);
        let mut p = leaf(&prefix);
        let mut model: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        let longest = [8, 40, 3000][seed as usize % 3];
        for _ in 0..STEPS {
            let n = rng.below(longest);
            let suffix = rng.bytes(n);
            let key = [&prefix[..], &suffix].concat();
            let expect = model.binary_search_by(|(k, _)| k.cmp(&key));
            assert_eq!(Node(&*p).search(&key), (expect.unwrap_or_else(|i| i), expect.is_ok()));
            assert_eq!(Node(&Words(&p)).search(&key), Node(&*p).search(&key));
            assert_eq!(Node(&Words(&p)).search_new(&key), Node(&*p).search(&key));
            if let Some(below) = expect.unwrap_or_else(|i| i).checked_sub(1) {
                let before = [0, below / 2, below].map(|pos| Node(&Words(&p)).search_behind(pos, &key));
                assert_eq!(before, [Node(&*p).search(&key); 3]);
            }
            match (rng.below(10), expect) {
                (0..5, Err(pos)) => {
                    let n = rng.below(longest);
                    let value = rng.bytes(n);
                    let fits = entry_space(suffix.len(), value.len()) <= Node(&*p).free_space();
                    let op = PageOp::Insert { pos: pos as u16, suffix: &suffix, value: &value };
                    assert_eq!(both(&mut p, &op).is_ok(), fits);
                    if fits {
                        model.insert(pos, (key, value));
                    }
                }
                (5..8, _) if !model.is_empty() => {
                    let pos = rng.below(model.len() as u64);
                    let old = &model[pos].1;
                    let at = rng.below(old.len() as u64 + 1);
                    let cut = rng.below((old.len() - at) as u64 + 1);
                    let n = rng.below(longest);
                    let bytes = rng.bytes(n);
                    let op = PageOp::Splice { pos: pos as u16, at: at as u16, cut: cut as u16, bytes: &bytes };
                    let suffix = model[pos].0.len() - prefix.len();
                    let (size, now) =
                        (entry_space(suffix, old.len() - cut + bytes.len()), entry_space(suffix, old.len()));
                    let fits = size <= now + Node(&*p).free_space();
                    assert_eq!(both(&mut p, &op).is_ok(), fits);
                    if fits {
                        model[pos].1.splice(at..at + cut, bytes);
                    }
                }
                (8, _) if !model.is_empty() => {
                    // To fewer entries and back to the same prefix, or a shorter one, if that fits.
                    let keep = model.len() - rng.below(2);
                    let len = prefix.len().saturating_sub(rng.below(2));
                    let mut copy = p.clone();
                    if both(&mut copy, &PageOp::Rebuild { keep: keep as u16, prefix: &prefix[..len] }).is_ok() {
                        check(&copy).unwrap();
                        let keys: Vec<_> = (0..keep).map(|i| Node(&*copy).key(i)).collect();
                        assert!(keys.iter().eq(model[..keep].iter().map(|(k, _)| k)));
                        assert_eq!(Node(&*copy).prefix_bytes(), &prefix[..len]);
                    }
                }
                (_, Ok(pos)) => {
                    both(&mut p, &PageOp::Remove { pos: pos as u16 }).unwrap();
                    model.remove(pos);
                }
                _ => {}
            }
            check(&p).unwrap();
            let node = Node(&*p);
            assert_eq!(node.count(), model.len());
            for (i, (k, v)) in model.iter().enumerate() {
                if cfg!(miri) || rng.below(8) == 0 {
                    assert_eq!((node.key(i), node.value_bytes(i)), (k.clone(), &v[..]));
                    assert_eq!((Node(&Words(&p)).key(i), Node(&Words(&p)).value(i)), (k.clone(), v.clone()));
                }
            }
        }
    }
}

#[test]
fn full_format_equals_inserts() {
    let mut rng = Rng(3);
    let mut p = leaf(b"ab");
    let mut entries = Vec::new();
    for i in 0..20u16 {
        let value = rng.bytes(30);
        encode_entry(&i.to_be_bytes(), &value, &mut entries);
        apply(NO, &PageOp::Insert { pos: i, suffix: &i.to_be_bytes(), value: &value }, &mut p).unwrap();
    }
    let mut again = Vec::new();
    Node(&*p).encode_entries(0..20, 2, &mut again);
    assert_eq!(again, entries);
    let mut whole = PageBuf::boxed();
    let op = PageOp::FormatNode { owner: TreeId(5), level: 0, leftmost: PageNo(0), prefix: b"ab", entries: &entries };
    both(&mut whole, &op).unwrap();
    check(&whole).unwrap();
    assert!((0..20).all(|i| Node(&*whole).key(i) == Node(&*p).key(i)));
}

#[test]
fn two_largest_entries_fit() {
    let mut p = leaf(&[]);
    let value = vec![1; MAX_ENTRY - 7168];
    apply(NO, &PageOp::Insert { pos: 0, suffix: &[1; 7168], value: &value }, &mut p).unwrap();
    apply(NO, &PageOp::Insert { pos: 1, suffix: &[2; 7168], value: &value }, &mut p).unwrap();
    check(&p).unwrap();
}

#[test]
fn what_two_texts_have_in_common() {
    for length in 0..40 {
        let a: Vec<u8> = (0..length).collect();
        let prefix = |a: &[u8], b: &[u8]| a.iter().zip(b).take_while(|(x, y)| x == y).count();
        let check = |b: &[u8]| {
            assert_eq!(common_prefix(&a, b), prefix(&a, b), "{a:?} {b:?}");
            let turned = |of: &[u8]| of.iter().rev().copied().collect::<Vec<u8>>();
            assert_eq!(common_suffix(&a, b), prefix(&turned(&a), &turned(b)), "{a:?} {b:?}");
        };
        check(&a);
        for at in 0..a.len() {
            let mut b = a.clone();
            b[at] ^= 0x80;
            check(&b);
            check(&a[..at]);
            check(&a[at..]);
            b.insert(at, 7);
            check(&b);
        }
    }
}

#[test]
fn heads_and_separators() {
    assert_eq!(head(b"abcdef"), 0x6162_6364);
    assert_eq!(head(b"ab"), 0x6162_0000);
    assert_eq!(separator(b"abc", b"abd"), b"abd");
    assert_eq!(separator(b"abc", b"b"), b"b");
    assert_eq!(separator(b"ab", b"abcdef"), b"abc");
    assert_eq!(separator(b"", b"x"), b"x");
}

/// Some pages of each kind.
fn samples() -> Vec<Box<PageBuf>> {
    let mut rng = Rng(1);
    let mut node = leaf(b"pp");
    for i in 0..60u16 {
        let n = rng.below(80);
        let op = PageOp::Insert { pos: i, suffix: &i.to_be_bytes(), value: &rng.bytes(n) };
        apply(NO, &op, &mut node).unwrap();
    }
    for i in (0..30).rev() {
        apply(NO, &PageOp::Remove { pos: i * 2 }, &mut node).unwrap();
    }
    let make = |ops: &[PageOp<'_>]| {
        let mut p = PageBuf::boxed();
        ops.iter().for_each(|op| apply(NO, op, &mut p).unwrap());
        p
    };
    let t = TreeId(5);
    let inner = make(&[
        PageOp::FormatNode { owner: t, level: 2, leftmost: PageNo(5), prefix: b"q", entries: &[] },
        PageOp::Insert { pos: 0, suffix: b"m", value: &6u64.to_le_bytes() },
        PageOp::Insert { pos: 1, suffix: b"n", value: &7u64.to_le_bytes() },
    ]);
    let undo = make(&[
        PageOp::FormatUndo { owner: t, stream: 3, prev: PageNo(7), next: PageNo(0) },
        PageOp::Append { at: 64, bytes: b"rec" },
    ]);
    let map = make(&[PageOp::Format { ty: PageType::SpaceMap, owner: t }]);
    let overflow = make(&[PageOp::FormatOverflow { owner: t, next: PageNo(9), bytes: b"tail" }]);
    vec![node, inner, undo, map, overflow, PageBuf::boxed()]
}

fn some_op<'a>(rng: &mut Rng, bytes: &'a [u8]) -> PageOp<'a> {
    let small = |rng: &mut Rng| if rng.below(4) == 0 { rng.next() as u16 } else { rng.below(70) as u16 };
    let cut = &bytes[..rng.below(bytes.len() as u64)];
    match rng.below(10) {
        0 => PageOp::Insert { pos: small(rng), suffix: cut, value: &bytes[..8] },
        1 => PageOp::Remove { pos: small(rng) },
        2 => PageOp::Splice { pos: small(rng), at: small(rng), cut: small(rng), bytes: cut },
        3 => PageOp::Rebuild { keep: small(rng), prefix: b"pp" },
        4 => PageOp::DropLeftmost,
        5 => PageOp::SetExtent { index: small(rng), owner: TreeId(rng.next() & 1), used: rng.next() },
        6 => PageOp::Append { at: [64, 67, small(rng)][rng.below(3)], bytes: cut },
        7 => PageOp::Overwrite { at: small(rng), bytes: cut },
        8 => PageOp::Truncate { free: small(rng) },
        _ => PageOp::FormatNode {
            owner: TreeId(5),
            level: rng.below(40) as u8,
            leftmost: PageNo(rng.next() & 1),
            prefix: b"",
            entries: cut,
        },
    }
}

#[test]
fn damaged_pages_and_wild_operations() {
    let mut rng = Rng(11);
    let bytes: Vec<u8> = (0..20_000u32).map(|i| (i * 31) as u8).collect();
    let rounds = if cfg!(miri) { 30 } else { 30_000 };
    let samples = samples();
    for round in 0..rounds {
        let mut p = samples[round % samples.len()].clone();
        // Damage mostly where the structure is.
        for _ in 0..rng.below(6) {
            let at = if rng.below(2) == 0 { 32 + rng.below(600) } else { rng.below(PAGE_SIZE as u64) };
            p.0[at] = rng.next() as u8;
        }
        let sound = check(&p).is_ok();
        for _ in 0..3 {
            let op = some_op(&mut rng, &bytes);
            let before = p.clone();
            let outcome = apply(NO, &op, &mut p);
            if outcome.is_err() {
                assert!(before.0 == p.0, "{op:?} failed and changed the page");
            }
        }
        // Readers of damaged pages stay inside.
        let node = Node(&*p);
        let (mut k, mut v) = (Vec::new(), Vec::new());
        for i in 0..node.count().min(100) {
            node.key_to(i, &mut k);
            node.value_to(i, &mut v);
            let _ = (node.suffix_bytes(i), node.value_bytes(i), node.child(i));
        }
        let _ = (node.search(b"pp\0\x05"), Node(&Words(&p)).search(b"pp\0\x05"), node.child_index(b""), sound);
        let _ =
            (gannet_page::raw::undo_header(&*p), gannet_page::raw::overflow(&*p), gannet_page::raw::extent(&*p, 9999));
    }
}

#[test]
fn decoding_arbitrary_bytes() {
    let mut rng = Rng(12);
    for _ in 0..if cfg!(miri) { 100 } else { 60_000 } {
        let n = rng.below(40);
        let mut bytes: Vec<u8> = (0..n).map(|_| rng.next() as u8).collect();
        if let Some(b) = bytes.first_mut() {
            *b %= 17;
        }
        let mut r = Reader::new(&bytes);
        while let Ok(op) = PageOp::decode(&mut r) {
            let mut p = leaf(b"");
            if rng.below(50) == 0 {
                let _ = apply(NO, &op, &mut p);
            }
        }
    }
}

#[test]
fn every_single_byte_of_damage_is_found_by_the_checksum() {
    let mut p = samples().remove(0);
    p.set_lsn(Lsn(9));
    p.seal();
    p.verify(NO).unwrap();
    assert_eq!(p.verify(PageNo(78)), Err(Corrupt::new("page carries another page's number")));
    for at in (0..PAGE_SIZE).step_by(if cfg!(miri) { 4001 } else { 13 }) {
        p.0[at] ^= 0x10;
        assert_eq!(p.verify(NO), Err(Corrupt::new("page checksum does not match")), "byte {at}");
        p.0[at] ^= 0x10;
    }
    PageBuf::boxed().verify(NO).unwrap();
}

/// The table in `redo`'s documentation, row by row.
#[test]
fn redo_table() {
    let format = |at: u64, p: &'static [u8]| {
        (Lsn(at), PageOp::FormatNode { owner: TreeId(5), level: 0, leftmost: PageNo(0), prefix: p, entries: &[] })
    };
    let insert = |at: u64| (Lsn(at), PageOp::Insert { pos: 0, suffix: b"k", value: b"v" });
    let mut p = PageBuf::boxed();
    assert_eq!(redo(NO, &mut p, [insert(10), insert(20)]), Ok(None), "blank: not full, skipped");
    assert!(p.is_blank());
    assert_eq!(redo(NO, &mut p, [insert(10), format(30, b""), insert(30), insert(40)]).unwrap(), Some(Lsn(30)));
    assert_eq!((p.lsn(), Node(&*p).count()), (Lsn(40), 2));
    let before = p.clone();
    assert_eq!(redo(NO, &mut p, [insert(30), insert(40)]), Ok(None), "the page has them");
    assert!(before.0 == p.0);
    assert_eq!(redo(NO, &mut p, [insert(40), (Lsn(50), PageOp::Remove { pos: 1 })]), Ok(Some(Lsn(50))));
    assert_eq!((p.lsn(), Node(&*p).count()), (Lsn(50), 1));
    assert_eq!(
        redo(NO, &mut p, [(Lsn(60), PageOp::Remove { pos: 9 })]),
        Err(Corrupt::new("slot number beyond the node's count"))
    );
    // What does not fit is of a content that the log does not have, and that has gone: a full one says what the page is.
    let mut gone = before.clone();
    let after_free = redo(NO, &mut gone, [(Lsn(60), PageOp::Free), insert(60), format(70, b"x"), insert(71)]);
    assert_eq!(after_free, Ok(Some(Lsn(60))));
    assert_eq!((gone.lsn(), Node(&*gone).count()), (Lsn(71), 1));
    // A tree, then one that was built past the log, whose pages were freed and given back, then a third one.
    let built = [format(10, b""), insert(11), (Lsn(20), PageOp::Remove { pos: 9 }), insert(21)];
    let mut third = PageBuf::boxed();
    redo(NO, &mut third, built.into_iter().chain([format(70, b"x"), insert(71)])).unwrap();
    assert_eq!((third.lsn(), Node(&*third).count()), (Lsn(71), 1));
    let misfit = redo(NO, &mut before.clone(), [(Lsn(60), PageOp::Free), insert(60)]);
    assert_eq!(misfit, Err(Corrupt::new("page is not a tree node")));
    let mut p = before;
    // The page was freed with its extent, unwritten, and its space used again: what it had in between is not on disk.
    let stale = [(Lsn(60), PageOp::Remove { pos: 9 }), insert(61), format(70, b"x"), insert(71)];
    let mut new = p.clone();
    assert_eq!(redo(NO, &mut new, stale), Ok(Some(Lsn(60))));
    let mut fresh = PageBuf::boxed();
    redo(NO, &mut fresh, [format(70, b"x"), insert(71)]).unwrap();
    assert!(new.0 == fresh.0);
    assert_eq!(redo(NO, &mut p, [(Lsn(60), PageOp::Free), format(70, b"x")]), Ok(Some(Lsn(60))));
    assert_eq!((p.lsn(), p.page_type()), (Lsn(70), Some(PageType::Node)));
}

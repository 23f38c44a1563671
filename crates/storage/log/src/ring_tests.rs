//! Unit tests of [`crate::ring`]; beside it, because the model checker compiles that file with other atomics.

use gannet_base::sync::Backoff;

use crate::format::{self, RecordKind};
use crate::ring::Ring;

fn append(ring: &Ring, payload: &[u8]) -> (u64, u64) {
    let bytes = format::record_bytes(payload.len());
    let start = ring.reserve(bytes);
    let mut backoff = Backoff::new();
    while !ring.has_room(start + bytes) {
        backoff.wait();
    }
    let (a, b) = payload.split_at(payload.len() / 3);
    ring.fill(start, 1, RecordKind::Mtr, payload.len(), &[a, b], || ());
    (start, start + bytes)
}

#[test]
fn a_refused_walk_leaves_the_right_with_its_holder() {
    let ring = Ring::new(4096, 4096);
    let walk = ring.try_walk().unwrap();
    assert!(ring.try_walk().is_none());
    assert!(ring.try_walk().is_none(), "the first refusal has given the right back");
    drop(walk);
    assert!(ring.try_walk().is_some());
}

#[test]
fn walk_stops_at_the_first_unpublished_record() {
    let ring = Ring::new(4096, 4096);
    let (_, first_end) = append(&ring, b"first");
    let hole = ring.reserve(format::record_bytes(4));
    let (_, end) = append(&ring, b"third");
    assert_eq!(ring.try_walk().unwrap().advance(), first_end);
    ring.fill(hole, 1, RecordKind::Mtr, 4, &[b"hole"], || ());
    let walk = ring.try_walk().unwrap();
    assert!(ring.try_walk().is_none());
    assert_eq!(walk.advance(), end);
    drop(walk);
    // SAFETY: this test is the only writer and `end` is complete.
    let pieces = unsafe { ring.published(4096, first_end) };
    assert_eq!(&pieces[0][8..13], b"first");
    // SAFETY: as above; `pieces` is not used any more.
    unsafe { ring.free(end) };
    assert_eq!(ring.try_walk().unwrap().advance(), end);
    assert_eq!(ring.reserve_padding(), (end, 8192));
    assert_eq!(ring.reserve_padding(), (8192, 8192));
}

#[test]
fn threads_append_and_one_drains() {
    const THREADS: u64 = 3;
    const EACH: u64 = if cfg!(miri) { 50 } else { 20_000 };
    let ring = Ring::new(8192, 4096);
    let mut seen = vec![0u64; THREADS as usize];
    std::thread::scope(|s| {
        for t in 0..THREADS {
            let ring = &ring;
            s.spawn(move || {
                for i in 0..EACH {
                    let mut payload = vec![(t + i) as u8; 16 + ((t * 31 + i * 7) % 300) as usize];
                    payload[..8].copy_from_slice(&t.to_le_bytes());
                    payload[8..16].copy_from_slice(&i.to_le_bytes());
                    append(ring, &payload);
                }
            });
        }
        let mut read = 4096;
        while seen.iter().sum::<u64>() < THREADS * EACH {
            let complete = ring.try_walk().unwrap().advance();
            // SAFETY: this thread is the only writer.
            let pieces = unsafe { ring.published(read, complete) };
            let bytes = pieces.concat();
            let mut at = 0usize;
            while at < bytes.len() {
                let word = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
                let crc = u32::from_le_bytes(bytes[at + 4..at + 8].try_into().unwrap());
                let len = format::unword(word).1;
                let size = format::record_bytes(len) as usize;
                let body = &bytes[at + 8..at + size];
                assert_eq!(crc, format::checksum(1, read + at as u64, word, body));
                let (t, i) = (body[0] as usize, u64::from_le_bytes(body[8..16].try_into().unwrap()));
                assert_eq!(seen[t], i, "records of one thread come in order");
                assert!(body[16..len].iter().all(|&b| b == (t as u64 + i) as u8));
                seen[t] += 1;
                at += size;
            }
            read = complete;
            // SAFETY: as above; the pieces were copied.
            unsafe { ring.free(complete) };
            if at == 0 {
                std::thread::yield_now();
            }
        }
    });
}

//! What the tree costs in memory: `cargo run --release -p gannet-btree --example measure`.
#![allow(clippy::unwrap_used, reason = "a measuring program")]

use std::sync::Arc;
use std::time::Instant;

use gannet_btree::Tree;
use gannet_buffer::testing::MemoryLog;
use gannet_buffer::{Pool, PoolOptions};

fn time(what: &str, n: u64, mut f: impl FnMut(u64)) {
    let start = Instant::now();
    (0..n).for_each(&mut f);
    let ns = start.elapsed().as_nanos() as f64 / n as f64;
    println!("{what:40} {ns:8.0} ns");
}

fn scramble(i: u64) -> u64 {
    i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20
}

fn main() {
    let dir = std::env::temp_dir().join(format!("gannet-measure-{}", std::process::id()));
    let options = PoolOptions {
        dir: dir.clone(),
        pool_bytes: 1 << 30,
        most_pool_bytes: 1 << 30,
        max_data_bytes: 64 << 30,
        direct_io: false,
        store_id: [0; 16],
    };
    let pool = Pool::open(&options, Arc::new(MemoryLog::new()), None).unwrap();
    let tree = Tree::create(&pool).unwrap();
    let row = [7u8; 190];
    let n = if std::env::args().len() > 1 { 100_000 } else { 1_000_000 };
    time("insert, ascending", n, |i| {
        tree.put(&i.to_be_bytes(), &row).unwrap();
    });
    println!("{:?}", tree.stats().unwrap());
    let mut out = Vec::with_capacity(4096);
    if std::env::args().nth(1).as_deref() == Some("hot") {
        time("lookup, random of 1000", 20_000_000, |i| {
            out.clear();
            assert!(tree.lookup(&(scramble(i) % 1000).to_be_bytes(), &mut out).unwrap());
        });
        return;
    }
    let ranges = |tree: &Tree, i: u64| {
        let from = scramble(i) % (n - 200);
        let mut cursor = tree.cursor();
        cursor.set_range(Some(&from.to_be_bytes()), Some(&(from + 10).to_be_bytes()));
        let mut rows = 0;
        while cursor.next().unwrap() {
            rows += cursor.value().len();
        }
        assert_eq!(rows, 1_900);
    };
    // So many ranges only, for counting instructions: the difference of two runs.
    if let Some(times) = std::env::args().nth(1).and_then(|n| n.parse::<u64>().ok()) {
        (0..times).for_each(|i| ranges(&tree, i));
        return;
    }
    time("range of 10 by a cursor of its own", 200_000, |i| ranges(&tree, i));
    for hot in [1000, 100_000, n] {
        time(&format!("lookup, random of {hot}"), 2_000_000, |i| {
            out.clear();
            assert!(tree.lookup(&(scramble(i) % hot).to_be_bytes(), &mut out).unwrap());
        });
    }
    let mut row2 = row;
    time("update in place, random of 100000", 500_000, |i| {
        row2[(i % 190) as usize] = i as u8;
        tree.put(&(scramble(i) % 100_000).to_be_bytes(), &row2).unwrap();
    });
    let mut cursor = tree.cursor();
    time("range of 100, per row", 2_000_000 / 100, |i| {
        let from = scramble(i) % (n - 200);
        cursor.set_range(Some(&from.to_be_bytes()), Some(&(from + 100).to_be_bytes()));
        let mut rows = 0;
        while cursor.next().unwrap() {
            rows += cursor.value().len();
        }
        assert_eq!(rows, 19_000);
    });
    cursor.set_range(None, None);
    let start = Instant::now();
    let mut rows = 0u64;
    while cursor.next().unwrap() {
        rows += 1;
    }
    println!("{:40} {:8.0} ns", "full scan, per row", start.elapsed().as_nanos() as f64 / rows as f64);
    let secondary = Tree::create(&pool).unwrap();
    time("insert, random 24-byte keys", 500_000, |i| {
        let mut k = [0u8; 24];
        k[..8].copy_from_slice(&scramble(i * 7 + 1).to_be_bytes());
        k[8..16].copy_from_slice(&i.to_be_bytes());
        secondary.put(&k, &[0; 8]).unwrap();
    });
    println!("{:?}", secondary.stats().unwrap());
    time("lookup, random 24-byte keys", 1_000_000, |i| {
        let i = i % 500_000;
        let mut k = [0u8; 24];
        k[..8].copy_from_slice(&scramble(i * 7 + 1).to_be_bytes());
        k[8..16].copy_from_slice(&i.to_be_bytes());
        out.clear();
        assert!(secondary.lookup(&k, &mut out).unwrap());
    });
    drop(pool);
    std::fs::remove_dir_all(dir).unwrap();
}

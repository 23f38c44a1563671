//! What the engine does while nobody does anything. Alone in its process, whose counters it reads.

mod common;
use std::time::{Duration, Instant};

use common::{TempDir, create, key, open};
use gannet_engine::{TreeKind, TxnOptions};
use gannet_telemetry::{Counter, total};

#[test]
fn pages_are_looked_through_only_when_something_was_written() {
    let dir = TempDir::new();
    let engine = open(&dir);
    let tree = create(&engine, TreeKind::Row);
    let scans = || total(Counter::FlushBatchNumScan);
    for round in 0..2u64 {
        let before = scans();
        let mut t = engine.begin(TxnOptions::default());
        t.insert(&tree, &key(round), b"value").unwrap();
        t.commit().unwrap();
        let begin = Instant::now();
        // All is written back, and the scans come to their end.
        loop {
            let seen = scans();
            std::thread::sleep(Duration::from_millis(1500));
            let status = engine.status();
            if scans() == seen && seen > before && status.pool_dirty == 0 {
                break;
            }
            assert!(begin.elapsed() < Duration::from_secs(60), "{} scans, {} dirty", scans(), status.pool_dirty);
        }
    }
}

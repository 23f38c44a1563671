//! A store in a directory of its own, and a small random generator.
#![allow(dead_code, unreachable_pub, reason = "each test program uses a part")]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gannet_buffer::testing::MemoryLog;
use gannet_buffer::{Pool, PoolOptions};

/// A directory that goes away with the value.
pub struct Dir(pub PathBuf);

impl Dir {
    pub fn new() -> Dir {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("gannet-btree-{}-{n}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Dir(path)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub struct Store {
    pub pool: Arc<Pool>,
    pub log: Arc<MemoryLog>,
    pub dir: Dir,
}

impl Drop for Store {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.pool.stop_cleaner();
        }
    }
}

pub fn options(dir: &Dir, frames: u64) -> PoolOptions {
    PoolOptions {
        dir: dir.0.clone(),
        pool_bytes: frames * 16384,
        most_pool_bytes: 8192 * 16384,
        max_data_bytes: 1 << 30,
        direct_io: false,
        store_id: [7; 16],
    }
}

pub fn store(frames: u64) -> Store {
    let dir = Dir::new();
    let log = Arc::new(MemoryLog::new());
    let pool = Pool::open(&options(&dir, frames), log.clone(), None).unwrap();
    Store { pool, log, dir }
}

/// SplitMix64.
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

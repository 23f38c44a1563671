//! Stands in for the log's `memory`: cells instead of bytes, which find out when two threads use one without an order
//! between them. All records of a model are a cell long.

use std::sync::atomic::{AtomicU64 as Plain, Ordering::Relaxed as Now};

use gannet_base::sync::atomic::{AtomicU64, Ordering::Relaxed};
use loom::cell::UnsafeCell;

/// Bytes of a cell.
pub(crate) const CELL: u64 = 2048;

struct Cell {
    header: AtomicU64,
    payload: UnsafeCell<()>,
    /// What the payload says: outside of the model.
    says: Plain,
}

pub(crate) struct Memory(Vec<Cell>);

impl Memory {
    pub(crate) fn new(size: usize) -> Memory {
        let cell = || Cell { header: AtomicU64::new(0), payload: UnsafeCell::new(()), says: Plain::new(0) };
        Memory((0..size as u64 / CELL).map(|_| cell()).collect())
    }

    pub(crate) fn size(&self) -> u64 {
        self.0.len() as u64 * CELL
    }

    fn cell(&self, lsn: u64) -> &Cell {
        &self.0[(lsn / CELL) as usize % self.0.len()]
    }

    fn cells(&self, from: u64, to: u64) -> impl Iterator<Item = &Cell> {
        (from..to).step_by(CELL as usize).map(|lsn| self.cell(lsn))
    }

    pub(crate) fn word(&self, lsn: u64) -> &AtomicU64 {
        assert_eq!(lsn % CELL, 0);
        &self.cell(lsn).header
    }

    pub(crate) fn copy_in(&self, lsn: u64, bytes: &[u8]) {
        let cell = self.cell(lsn);
        cell.payload.with_mut(|_| ());
        assert_eq!(cell.says.swap(u64::from(bytes[0]), Now), 0, "not a free byte");
    }

    /// One byte a record: the first of its payload. (A few bytes are leaked: the real ones lie in the ring.)
    pub(crate) fn pieces(&self, from: u64, to: u64) -> [&[u8]; 2] {
        let says = |cell: &Cell| cell.payload.with(|_| cell.says.load(Now)) as u8;
        [self.cells(from, to).map(says).collect::<Vec<u8>>().leak(), &[]]
    }

    pub(crate) fn zero(&self, from: u64, to: u64) {
        for cell in self.cells(from, to) {
            cell.payload.with_mut(|_| cell.says.store(0, Now));
            cell.header.store(0, Relaxed);
        }
    }
}

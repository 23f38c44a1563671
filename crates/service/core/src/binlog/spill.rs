//! The rows of a transaction that are too many for memory: a file beside the binary log's, which the commit names and
//! the exporter removes when it has taken over what is in it.

use super::Binlog;
use super::files::Names;
use gannet_base::sync::atomic::Ordering::Relaxed;
use gannet_binlog::group::{Spill, SpilledTo};
use gannet_runtime::{File, OpenOptions, fs};
use std::io;

/// Such a file, until a commit names it.
#[derive(Debug)]
pub(crate) struct SpillFile {
    file: File,
    names: Names,
    number: u64,
    len: u64,
    kept: bool,
}

impl Binlog {
    /// A new file.
    pub(crate) fn spill(&self) -> io::Result<Box<dyn Spill>> {
        let number = self.next_spill.fetch_add(1, Relaxed);
        let names = self.names.clone();
        let file = File::open(names.spilled(number), &OpenOptions::read_write().create())?;
        file.set_len(0)?;
        Ok(Box::new(SpillFile { file, names, number, len: 0, kept: false }))
    }
}

impl Spill for SpillFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_at(bytes, self.len)?;
        self.len += bytes.len() as u64;
        Ok(())
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.file.set_len(len)?;
        self.len = len;
        Ok(())
    }

    fn byte(&mut self, at: u64) -> io::Result<u8> {
        let mut byte = [0];
        self.file.read_exact_at(&mut byte, at)?;
        Ok(byte[0])
    }

    fn overwrite(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_at(bytes, at)
    }

    fn seal(&mut self) -> io::Result<SpilledTo> {
        self.file.sync_all()?;
        self.names.sync_dir()?;
        Ok(SpilledTo { number: self.number, bytes: self.len })
    }

    fn keep(&mut self) {
        self.kept = true;
    }
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        if !self.kept && !std::thread::panicking() {
            // What stays is removed at the next start.
            let _removed = fs::remove_file(self.names.spilled(self.number));
        }
    }
}

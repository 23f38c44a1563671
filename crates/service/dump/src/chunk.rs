//! Files of rows: written in compressed blocks, with an index of their length and a checksum of their content.

use crate::fault::{Fault, Outcome};
use gannet_base::crc32c;
use gannet_runtime::fs::{Readers, plain_file};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::io::Write;
use std::path::{Path, PathBuf};

/// How files are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// By gzip.
    Gzip,
    /// By zstd, at about its first level.
    Zstd,
}

impl Compression {
    /// What follows `tsv` in a file's name.
    pub(crate) fn extension(self) -> &'static str {
        match self {
            Compression::None => "",
            Compression::Gzip => ".gz",
            Compression::Zstd => ".zst",
        }
    }

    /// The name in MySQL Shell's descriptions.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Compression::None => "none",
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
        }
    }

    /// The compression of that name.
    pub fn named(name: &str) -> Option<Compression> {
        [Compression::None, Compression::Gzip, Compression::Zstd].into_iter().find(|c| c.name() == name)
    }
}

/// Plain bytes of a compressed block. Each block is a frame (zstd) or member (gzip) of its own, and the decoders read
/// them as one stream.
const BLOCK: usize = 1 << 20;

/// A file that is being written.
pub(crate) struct Writer {
    path: PathBuf,
    file: Box<dyn Write + Send>,
    compression: Compression,
    block: Vec<u8>,
    /// The index: the plain length at each block, in eight bytes, big-endian; the last is the length as a whole.
    index: Vec<u8>,
    written: Written,
}

/// What a file holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) rows: u64,
    /// Bytes before compression, and after it.
    pub(crate) plain: u64,
    pub(crate) stored: u64,
    /// CRC-32C of the plain bytes.
    pub(crate) crc: u32,
}

impl Writer {
    pub(crate) fn create(path: PathBuf, compression: Compression) -> Outcome<Writer> {
        let file =
            plain_file(Readers::Owner).write(true).truncate(true).open(&path).map_err(|e| Fault::file(&path, e))?;
        let (block, index) = (Vec::with_capacity(BLOCK + (64 << 10)), Vec::new());
        Ok(Writer { path, file: Box::new(file), compression, block, index, written: Written::default() })
    }

    /// Bytes that were put in.
    pub(crate) fn plain(&self) -> u64 {
        self.written.plain + self.block.len() as u64
    }

    /// Takes a row, which `put` appends to the buffer.
    pub(crate) fn row(&mut self, put: impl FnOnce(&mut Vec<u8>) -> Outcome<()>) -> Outcome<()> {
        put(&mut self.block)?;
        self.written.rows += 1;
        if self.block.len() >= BLOCK { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Outcome<()> {
        let block = &self.block;
        self.written.crc = crc32c(self.written.crc, block);
        self.written.plain += block.len() as u64;
        let packed;
        let stored = match self.compression {
            Compression::None => block,
            Compression::Zstd => {
                packed = compress_to_vec(block.as_slice(), CompressionLevel::Fastest);
                &packed
            }
            Compression::Gzip => {
                let mut z = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                packed = z.write_all(block).and_then(|()| z.finish()).map_err(|e| Fault::file(&self.path, e))?;
                &packed
            }
        };
        self.file.write_all(stored).map_err(|e| Fault::file(&self.path, e))?;
        self.written.stored += stored.len() as u64;
        self.index.extend_from_slice(&self.written.plain.to_be_bytes());
        self.block.clear();
        Ok(())
    }

    /// Writes what is left and the index, and sees both to the disk.
    pub(crate) fn finish(mut self) -> Outcome<Written> {
        if !self.block.is_empty() || self.index.is_empty() {
            self.flush()?;
        }
        let reopened = plain_file(Readers::Owner).write(true).open(&self.path);
        reopened.and_then(|file| file.sync_all()).map_err(|e| Fault::file(&self.path, e))?;
        write_file(&index_of(&self.path), &self.index)?;
        Ok(self.written)
    }
}

/// The path of a file's index.
pub(crate) fn index_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".idx");
    name.into()
}

/// Writes a file as a whole, to the disk.
pub(crate) fn write_file(path: &Path, content: &[u8]) -> Outcome<()> {
    let fault = |e| Fault::file(path, e);
    let mut file = plain_file(Readers::Owner).write(true).truncate(true).open(path).map_err(fault)?;
    file.write_all(content).and_then(|()| file.sync_all()).map_err(fault)
}

//! The files of the binary log: their names, the index, the exporter's state.
//!
//! `BASE.index` has the files' paths, oldest first, a line each. `BASE.state` says up to where they are durable, and
//! goes on from there after a crash; what lies behind is cut off and derived from the log again. Little-endian,
//! replaced by renaming:
//!
//! ```text
//! 0   8 bytes "GNTBIN\r\n"
//! 8   u32     version of this format: 3; 2 lacks the file's edges; 1 ends with the first set, which has no length
//! 12  u32     crc32c of all behind
//! 16  u64     commits up to this LSN are in the files
//! 24  u64     number of the last file; 0: there is none yet
//! 32  u64     its size
//! 40  u64     transactions in it
//! 48  u8      1: the last file ends with STOP
//! 49  u32, .. length, GTIDs in the files and before, as in PREVIOUS_GTIDS
//! ..  u32, .. length, those of them that were never in a file
//! ..  u32, .. length, the last file's first block, as far as it goes
//! ..  u32, .. length, what it has of its last block, when that is another one
//! ..  u64 ... numbers of this server that are reserved
//! ```
//!
//! A block is what a power cut may leave with other bytes than before or after, when any of it was being written: in
//! the first one a flag changes when the file ends, and behind the last byte it goes on. So a start writes both again.

use gannet_base::{DecodeError, Lsn, Reader, Writer, crc32c};
use gannet_binlog::event::{HEADER, MAGIC, kind};
use gannet_binlog::format::{FormatDescription, gtids, put_gtids};
use gannet_binlog::{Checksum, Event, Header};
use gannet_runtime::{File, OpenOptions, fs};
use gannet_types::gtid::GtidSet;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

const STATE: [u8; 8] = *b"GNTBIN\r\n";
const VERSION: u32 = 3;
/// Bytes that a disk may tear together: the largest sector.
pub(super) const BLOCK: u64 = 4096;
/// Longest first two events that are read at a start, in bytes: GTIDs of a million intervals.
const MAX_FRONT: usize = 32 << 20;

/// Where the files are.
#[derive(Clone, Debug)]
pub struct Names {
    dir: PathBuf,
    base: String,
}

impl Names {
    /// `--log-bin=base`: a path, whose last part is the files' name without an extension; relative to the data
    /// directory.
    pub fn new(datadir: &Path, base: &str) -> Names {
        let path = datadir.join(if base.is_empty() { "binlog" } else { base });
        let dir = path.parent().map_or_else(|| datadir.to_path_buf(), Path::to_path_buf);
        let base = path.file_stem().map_or("binlog".into(), |n| n.to_string_lossy().into_owned());
        Names { dir, base }
    }

    /// `log_bin_basename`
    pub fn basename(&self) -> PathBuf {
        self.dir.join(&self.base)
    }

    /// `log_bin_index`
    pub fn index(&self) -> PathBuf {
        self.dir.join(format!("{}.index", self.base))
    }

    fn state(&self) -> PathBuf {
        self.dir.join(format!("{}.state", self.base))
    }

    /// The name of a file.
    pub fn name(&self, number: u64) -> String {
        format!("{}.{number:06}", self.base)
    }

    /// The number in a file's name.
    pub fn number(&self, name: &str) -> Option<u64> {
        let digits = name.strip_prefix(&self.base)?.strip_prefix('.')?;
        digits.parse().ok().filter(|n| self.name(*n) == name)
    }

    /// The path of a file.
    pub fn path(&self, number: u64) -> PathBuf {
        self.dir.join(self.name(number))
    }

    /// The path of a file with rows that are no events yet.
    pub(super) fn spilled(&self, number: u64) -> PathBuf {
        self.dir.join(format!("{}.rows-{number}", self.base))
    }

    /// Such files, by their numbers.
    pub(super) fn all_spilled(&self) -> io::Result<Vec<u64>> {
        let number = |path: PathBuf| {
            let name = path.file_name()?.to_string_lossy().into_owned();
            name.strip_prefix(&self.base)?.strip_prefix(".rows-")?.parse().ok()
        };
        Ok(fs::read_dir(&self.dir)?.into_iter().filter_map(number).collect())
    }

    /// New files have their names durably.
    pub(super) fn sync_dir(&self) -> io::Result<()> {
        fs::sync_dir(&self.dir)
    }

    /// Makes the directory if need be.
    pub fn make_dir(&self) -> io::Result<()> {
        fs::create_dir_all(&self.dir)
    }

    /// Replaces a small file.
    fn replace(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let new = path.with_extension("new");
        let file = File::open(&new, &OpenOptions::read_write().create())?;
        file.set_len(0)?;
        file.write_at(content, 0)?;
        file.sync_all()?;
        drop(file);
        fs::rename(&new, path)?;
        fs::sync_dir(&self.dir)
    }

    /// Writes the index.
    pub fn store_index(&self, numbers: impl Iterator<Item = u64>) -> io::Result<()> {
        let mut text = String::new();
        for number in numbers {
            text.push_str(&self.path(number).to_string_lossy());
            text.push('\n');
        }
        self.replace(&self.index(), text.as_bytes())
    }

    /// The numbers in the index. A line that names no file of this log is damage.
    pub fn load_index(&self) -> io::Result<Vec<u64>> {
        let Some(bytes) = read(&self.index())? else { return Ok(Vec::new()) };
        let text = String::from_utf8_lossy(&bytes);
        let name = |line: &str| Path::new(line).file_name().map(|n| n.to_string_lossy().into_owned());
        let number = |line: &str| {
            let damaged = || {
                let what = format!("{} is damaged: {line:?} is no file of this log", self.index().display());
                io::Error::new(io::ErrorKind::InvalidData, what)
            };
            name(line).and_then(|name| self.number(&name)).ok_or_else(damaged)
        };
        text.lines().filter(|line| !line.trim().is_empty()).map(number).collect()
    }

    /// The numbers of the files that are there.
    pub(super) fn there(&self) -> io::Result<Vec<u64>> {
        let name = |path: &PathBuf| path.file_name().map(|n| n.to_string_lossy().into_owned());
        let files = fs::read_dir(&self.dir)?;
        Ok(files.iter().filter_map(|path| self.number(&name(path)?)).collect())
    }

    /// Writes the state.
    pub fn store_state(&self, state: &State) -> io::Result<()> {
        self.replace(&self.state(), &state.encode())
    }

    /// The state; `None` when there is none yet.
    pub fn load_state(&self) -> io::Result<Option<State>> {
        let Some(bytes) = read(&self.state())? else { return Ok(None) };
        let damaged = |e: DecodeError| {
            let what = format!("{} is damaged: {e}", self.state().display());
            io::Error::new(io::ErrorKind::InvalidData, what)
        };
        State::decode(&bytes).map(Some).map_err(damaged)
    }

    /// Removes the files whose number is not wanted, and those that a crash may have left.
    pub fn remove_others(&self, wanted: impl Fn(u64) -> bool) -> io::Result<()> {
        for path in fs::read_dir(&self.dir)? {
            let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
            if self.number(&name).is_some_and(|n| !wanted(n)) {
                fs::remove_file(&path)?;
            }
        }
        Ok(())
    }

    /// Seconds since 1970: when a file began; 0: somebody has removed it.
    pub fn begun(&self, number: u64) -> io::Result<u32> {
        let mut header = [0; 4];
        let file = match File::open(self.path(number), &OpenOptions::read()) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(0),
            file => file?,
        };
        file.read_exact_at(&mut header, MAGIC.len() as u64)?;
        Ok(u32::from_le_bytes(header))
    }

    /// What a file begins with: its writer's number, what its events end with, and the transactions before it.
    pub fn front(&self, number: u64) -> io::Result<Front> {
        let about = |e: io::Error| match e.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof => {
                io::Error::new(e.kind(), format!("{}: {e}", self.path(number).display()))
            }
            _ => e,
        };
        self.read_front(number).map_err(about)
    }

    fn read_front(&self, number: u64) -> io::Result<Front> {
        let path = self.path(number);
        let file = File::open(&path, &OpenOptions::read())?;
        let damaged = |what: &str| io::Error::new(io::ErrorKind::InvalidData, format!("{}: {what}", path.display()));
        let mut bytes = vec![0; MAGIC.len() + HEADER];
        let whole = |upto: usize, bytes: &mut Vec<u8>| {
            if upto > MAX_FRONT {
                return Err(damaged("its first events are too long"));
            }
            let from = bytes.len();
            bytes.resize(upto.max(from), 0);
            file.read_exact_at(&mut bytes[from..], from as u64)
        };
        file.read_exact_at(&mut bytes, 0)?;
        let size = |bytes: &[u8], at: usize| {
            Header::decode(bytes.get(at..).unwrap_or_default())
                .map(|h| h.size as usize)
                .map_err(|e| damaged(&e.to_string()))
        };
        if bytes[..4] != MAGIC {
            return Err(damaged("it is no binary log"));
        }
        let first = 4 + size(&bytes, 4)?;
        whole(first + HEADER, &mut bytes)?;
        let end = first + size(&bytes, first)?;
        whole(end, &mut bytes)?;
        let event = |at: usize, checksum| match Event::first(&bytes[at..], checksum) {
            Ok(Some(event)) => Ok(event),
            Ok(None) => Err(damaged("its first events are cut off")),
            Err(e) => Err(damaged(&e.to_string())),
        };
        let described = event(4, Checksum::Crc32)?;
        let description = FormatDescription::decode(described.body).map_err(|e| damaged(&e.to_string()))?;
        let before = event(first, description.checksum)?;
        if before.header.kind != kind::PREVIOUS_GTIDS {
            return Err(damaged("it does not say which transactions are before it"));
        }
        let previous = gtids(before.body).map_err(|e| damaged(&e.to_string()))?;
        Ok(Front {
            server_id: described.header.server_id,
            version: description.version,
            checksum: description.checksum,
            previous,
        })
    }
}

/// What a file begins with.
#[derive(Debug)]
pub struct Front {
    /// `server_id` of then.
    pub server_id: u32,
    /// `version` of then.
    pub version: String,
    /// What events end with.
    pub checksum: Checksum,
    /// Transactions in the files before.
    pub previous: GtidSet,
}

/// All of a file; `None` when it does not exist.
fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    if !fs::exists(path)? {
        return Ok(None);
    }
    let file = File::open(path, &OpenOptions::read())?;
    let mut bytes = vec![0; usize::try_from(file.len()?).unwrap_or(usize::MAX)];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(Some(bytes))
}

/// Up to where the files are durable.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct State {
    /// Commits up to here are in the files.
    pub lsn: Lsn,
    /// The last file; 0: none yet.
    pub number: u64,
    /// Its size.
    pub size: u64,
    /// Transactions in it.
    pub sequence: u64,
    /// It ends with STOP.
    pub stopped: bool,
    /// Transactions in the files and before.
    pub executed: GtidSet,
    /// Of these, they were never in a file: `SET GLOBAL gtid_purged` has said so.
    pub foreign: GtidSet,
    /// Numbers of this server that sessions have chosen for transactions to come.
    pub reserved: BTreeSet<u64>,
    /// The last file's first and last block, as far as they go.
    pub edges: Edges,
}

/// The bytes of a file that lie in blocks which are written again later.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Edges {
    front: Vec<u8>,
    /// Empty when the first block is the last one.
    tail: Vec<u8>,
}

impl Edges {
    /// Those of the same file when it has `size` bytes. A whole first block is known already: behind each checkpoint
    /// the memory lets go of it, and it would be read from the disk.
    pub fn later(&self, file: &File, size: u64) -> io::Result<Edges> {
        let read = |from: u64, to: u64| {
            let mut bytes = vec![0; to.saturating_sub(from) as usize];
            file.read_exact_at(&mut bytes, from)?;
            io::Result::Ok(bytes)
        };
        let front = if self.front.len() as u64 == BLOCK { self.front.clone() } else { read(0, size.min(BLOCK))? };
        let from = Edges::tail_at(size);
        Ok(Edges { front, tail: if from > 0 { read(from, size)? } else { Vec::new() } })
    }

    fn tail_at(size: u64) -> u64 {
        size.saturating_sub(1) / BLOCK * BLOCK
    }

    /// Writes what a power cut has torn. True: there was something. The front of a file that has `ended` is written no
    /// more, so other bytes there are damage, which is left to be seen.
    pub fn mend(&self, file: &File, size: u64, ended: bool) -> io::Result<bool> {
        let mut torn = false;
        for (bytes, at) in [(&self.front, 0), (&self.tail, Edges::tail_at(size))] {
            if at == 0 && ended {
                continue;
            }
            let mut there = vec![0; bytes.len()];
            file.read_exact_at(&mut there, at)?;
            if there != *bytes {
                file.write_at(bytes, at)?;
                torn = true;
            }
        }
        Ok(torn)
    }
}

impl State {
    fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        Writer::new(&mut body)
            .u64(self.lsn.get())
            .u64(self.number)
            .u64(self.size)
            .u64(self.sequence)
            .u8(u8::from(self.stopped));
        for set in [&self.executed, &self.foreign] {
            let mut bytes = Vec::new();
            put_gtids(set, &mut bytes);
            Writer::new(&mut body).u32(bytes.len() as u32).bytes(&bytes);
        }
        for edge in [&self.edges.front, &self.edges.tail] {
            Writer::new(&mut body).u32(edge.len() as u32).bytes(edge);
        }
        for number in &self.reserved {
            Writer::new(&mut body).u64(*number);
        }
        let mut out = STATE.to_vec();
        Writer::new(&mut out).u32(VERSION).u32(crc32c(0, &body)).bytes(&body);
        out
    }

    fn decode(bytes: &[u8]) -> Result<State, DecodeError> {
        let mut r = Reader::new(bytes);
        let (magic, version, sum) = (r.array::<8>()?, r.u32()?, r.u32()?);
        if magic != STATE
            || !matches!(version, 1 | 2 | VERSION)
            || crc32c(0, bytes.get(16..).unwrap_or_default()) != sum
        {
            return Err(r.invalid("state of the binary log"));
        }
        let mut it = State {
            lsn: Lsn(r.u64()?),
            number: r.u64()?,
            size: r.u64()?,
            sequence: r.u64()?,
            stopped: r.u8()? != 0,
            ..State::default()
        };
        if version == 1 {
            it.executed = gtids(r.rest())?;
            return Ok(it);
        }
        for set in [&mut it.executed, &mut it.foreign] {
            let length = r.u32()? as usize;
            *set = gtids(r.bytes(length)?)?;
        }
        for edge in [&mut it.edges.front, &mut it.edges.tail] {
            if version > 2 {
                let length = r.u32()? as usize;
                *edge = r.bytes(length)?.to_vec();
            }
        }
        while !r.is_empty() {
            it.reserved.insert(r.u64()?);
        }
        Ok(it)
    }
}

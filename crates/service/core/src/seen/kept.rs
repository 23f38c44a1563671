//! The minutes of the last eight days on disk, so that the past outlives a restart.
//!
//! In the directory `#history` of the data directory are files `1`, `2`, ...; each takes the minutes of a day.
//!
//! ```text
//!   file:    "GANNETH1", u64 hash of the names that the numbers in moments stand for
//!   minute:  u32 length, u32 CRC-32C, bytes of the moment                               little-endian
//! ```
//!
//! Nothing is synced: a crash costs the last minutes. What is cut off or damaged ends the reading of its file; a file
//! of a program with other names is removed.

use super::active::Class;
use super::moments::{Gauge, Moment};
use gannet_base::crc32c;
use gannet_runtime::Wait;
use gannet_runtime::fs::{Readers, create_dir_all, plain_file, read_dir, read_plain, remove_file};
use gannet_telemetry::Counter;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"GANNETH1";
const HEADER: u64 = 16;
/// How long a minute is kept, and how much all may take.
const KEPT_MS: u64 = 8 * DAY_MS;
const DAY_MS: u64 = 86_400_000;
const MOST_BYTES: u64 = 8 << 20;
/// A file takes no more.
const FILE_BYTES: u64 = 1 << 20;

struct OneFile {
    number: u64,
    bytes: u64,
    /// When its first and its last minute ended; 0: it has none.
    first_ms: u64,
    last_ms: u64,
}

/// The files.
pub(super) struct Kept {
    dir: PathBuf,
    files: VecDeque<OneFile>,
}

/// The names that numbers in moments stand for.
fn names() -> u64 {
    let counters = Counter::ALL.iter().map(|c| c.name());
    let waits = Wait::ALL.iter().map(|w| w.name());
    let others = Gauge::ALL.iter().map(|g| g.name()).chain(Class::ALL.iter().map(|c| c.name()));
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in counters.chain(waits).chain(others).flat_map(|name| name.bytes().chain([0])) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash
}

fn header() -> [u8; HEADER as usize] {
    let mut out = [0; HEADER as usize];
    out[..8].copy_from_slice(MAGIC);
    out[8..].copy_from_slice(&names().to_le_bytes());
    out
}

/// The moments of a file, and up to where they reach in it; `None`: it is not one of this program.
fn read(bytes: &[u8]) -> Option<(Vec<Moment>, u64)> {
    let mut rest = bytes.strip_prefix(&header())?;
    let mut moments = Vec::new();
    while let Some((head, body)) = rest.split_first_chunk::<8>() {
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| head[at + i]));
        let Some(moment) = body.get(..word(0) as usize) else { break };
        if crc32c(0, moment) != word(4) {
            break;
        }
        let Some(decoded) = Moment::decode(moment) else { break };
        moments.push(decoded);
        rest = &body[moment.len()..];
    }
    Some((moments, (bytes.len() - rest.len()) as u64))
}

impl Kept {
    /// Reads what is there.
    pub(super) fn open(datadir: &Path, now_ms: u64) -> (Kept, Vec<Moment>) {
        let dir = datadir.join("#history");
        let mut kept = Kept { dir, files: VecDeque::new() };
        let number = |path: PathBuf| path.file_name()?.to_str()?.parse::<u64>().ok();
        let mut numbers: Vec<u64> = read_dir(&kept.dir).into_iter().flatten().filter_map(number).collect();
        numbers.sort_unstable();
        let mut all = Vec::new();
        for number in numbers {
            let Ok(bytes) = read_plain(kept.path(number)) else { continue };
            let Some((moments, length)) = read(&bytes) else {
                // It says nothing to this program.
                let _ = remove_file(kept.path(number));
                continue;
            };
            let ends = [moments.first(), moments.last()].map(|m| m.map_or(0, |m| m.unix_ms));
            kept.files.push_back(OneFile { number, bytes: length, first_ms: ends[0], last_ms: ends[1] });
            all.extend(moments);
        }
        all.retain(|m| m.unix_ms + KEPT_MS > now_ms);
        all.sort_by_key(|m| m.unix_ms);
        (kept, all)
    }

    fn path(&self, number: u64) -> PathBuf {
        self.dir.join(number.to_string())
    }

    /// Adds a minute. After an error, a full disk perhaps, it is not kept; the next one is tried again.
    pub(super) fn add(&mut self, moment: &Moment) -> io::Result<()> {
        self.forget_old(moment.unix_ms);
        let bytes = moment.encode();
        let mut record = Vec::with_capacity(bytes.len() + 8);
        record.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        record.extend_from_slice(&crc32c(0, &bytes).to_le_bytes());
        record.extend_from_slice(&bytes);
        let fits = |f: &OneFile| f.bytes < FILE_BYTES && (f.first_ms == 0 || moment.unix_ms < f.first_ms + DAY_MS);
        if !self.files.back().is_some_and(fits) {
            let number = self.files.back().map_or(1, |f| f.number + 1);
            self.files.push_back(OneFile { number, bytes: 0, first_ms: 0, last_ms: 0 });
        }
        let written = self.append(&record);
        let Some(last) = self.files.back_mut() else { return written };
        if written.is_ok() {
            last.bytes = last.bytes.max(HEADER) + record.len() as u64;
            last.first_ms = if last.first_ms == 0 { moment.unix_ms } else { last.first_ms };
            last.last_ms = moment.unix_ms;
        }
        written
    }

    fn append(&self, record: &[u8]) -> io::Result<()> {
        let Some(last) = self.files.back() else { return Ok(()) };
        create_dir_all(&self.dir)?;
        let mut file = plain_file(Readers::Owner).append(true).open(self.path(last.number))?;
        // What a crash or a full disk has left half written goes.
        file.set_len(last.bytes)?;
        if last.bytes == 0 {
            file.write_all(&header())?;
        }
        file.write_all(record)
    }

    fn forget_old(&mut self, now_ms: u64) {
        let bytes = |files: &VecDeque<OneFile>| files.iter().map(|f| f.bytes).sum::<u64>();
        let old = |f: &OneFile| f.last_ms + KEPT_MS < now_ms;
        while self.files.len() > 1 && (bytes(&self.files) > MOST_BYTES || self.files.front().is_some_and(old)) {
            if let Some(gone) = self.files.pop_front() {
                let _ = remove_file(self.path(gone.number));
            }
        }
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        for file in std::mem::take(&mut self.files) {
            let _ = remove_file(self.path(file.number));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minute(n: u64) -> Moment {
        Moment { unix_ms: n * 60_000, span_ms: 60_000, counters: vec![(3, n)], ..Moment::default() }
    }

    fn directory(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("gannet-kept-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        dir
    }

    #[test]
    fn eight_days_outlive_a_restart() {
        let dir = directory("days");
        let (mut kept, none) = Kept::open(&dir, 0);
        assert!(none.is_empty());
        for n in 1..=13_000 {
            kept.add(&minute(n)).unwrap();
        }
        assert!(kept.files.len() <= 10, "{}", kept.files.len());
        let now = 13_000 * 60_000;
        let (mut kept, all) = Kept::open(&dir, now);
        assert_eq!((all.len(), all.last()), (11_520, Some(&minute(13_000))));
        // It goes on where it ended.
        let files = kept.files.len();
        kept.add(&minute(13_001)).unwrap();
        assert_eq!(kept.files.len(), files);
        assert_eq!(Kept::open(&dir, now).1.last(), Some(&minute(13_001)));
        kept.clear();
        assert!(Kept::open(&dir, now).1.is_empty());
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn what_is_damaged_is_left_out() {
        let dir = directory("damage");
        let (mut kept, _) = Kept::open(&dir, 0);
        (1..=3).for_each(|n| kept.add(&minute(n)).unwrap());
        let path = kept.path(1);
        let whole = std::fs::read(&path).unwrap();
        // Cut anywhere, the minutes before are read, and the next one follows them.
        for end in 16..whole.len() {
            std::fs::write(&path, &whole[..end]).unwrap();
            let (mut kept, all) = Kept::open(&dir, 0);
            assert!(all.len() < 3 && all.iter().zip(1..).all(|(m, n)| *m == minute(n)), "{end}");
            kept.add(&minute(9)).unwrap();
            let again = Kept::open(&dir, 0).1;
            assert_eq!((again.len(), again.last()), (all.len() + 1, Some(&minute(9))), "{end}");
        }
        let mut flipped = whole.clone();
        flipped[26] ^= 1;
        std::fs::write(&path, &flipped).unwrap();
        assert!(Kept::open(&dir, 0).1.len() < 3);
        // Another program's.
        flipped[9] ^= 1;
        std::fs::write(&path, &flipped).unwrap();
        assert!(Kept::open(&dir, 0).1.is_empty() && !path.exists());
        std::fs::remove_dir_all(dir).unwrap();
    }
}

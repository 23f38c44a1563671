//! A file for the changes that do not fit a round's memory, sorted by share. With it the log is read once, however
//! small the memory is.
//!
//! The file is written in *runs*: a run has what was gathered since the run before, share after share. A later round
//! reads its shares from all runs. A piece (of one share in one run): for each block `u32 length, bytes`. Nothing
//! depends on the file: it is not synced, a start deletes the one it finds, and where a piece is not as it was
//! written, the changes are read from the log.

use std::path::{Path, PathBuf};

use gannet_base::sync::Arc;
use gannet_base::{Reader, Writer, crc32c};
use gannet_runtime::{File, OpenOptions, fs};

use super::{Part, Share, Shares};
use crate::plant::{self, Fault, note, planted};

/// Bytes written at once.
const AT_ONCE: usize = 1 << 20;
/// Pieces read at once.
const PIECES: usize = 32;
/// The disk has at least as many times the room that changes may take.
const ROOM: u64 = 2;

/// A piece of a share.
#[derive(Clone, Copy, Default)]
struct Piece {
    at: u64,
    len: u32,
    crc: u32,
}

/// The changes of a round's later shares.
pub(crate) struct Spill {
    path: PathBuf,
    file: File,
    len: u64,
    shares: Arc<Shares>,
    /// Each with its first share; it has all behind.
    runs: Vec<(usize, Vec<Piece>)>,
    /// The next share to be read.
    next: usize,
}

/// The file in a store's directory.
pub(crate) fn path(dir: &Path) -> PathBuf {
    dir.join("redo.tmp")
}

/// Removes what an earlier incarnation left.
pub(crate) fn remove(dir: &Path) {
    // Without it nothing is lost, and with it nothing is wrong.
    let _ = fs::remove_file(path(dir));
}

impl Spill {
    /// `None`: there is no room, or no file.
    pub(super) fn create(dir: &Path, shares: Arc<Shares>, expected: u64) -> Option<Spill> {
        if fs::free_space(dir).ok()? / ROOM < expected {
            return None;
        }
        let path = path(dir);
        let file = File::open(&path, &OpenOptions::read_write().create().truncate()).ok()?;
        let next = shares.all();
        note(plant::Path::Spilled);
        Some(Spill { path, file, len: 0, shares, runs: Vec::new(), next })
    }

    /// Writes the changes of all shares from `first` on, and takes them out of `sorted`: what each sorter has. False
    /// when it cannot: then the file is of no use.
    pub(super) fn write(&mut self, first: usize, sorted: &mut [&mut Vec<Part>]) -> bool {
        let mut pieces = Vec::with_capacity(self.shares.all() - first);
        let mut bytes = Vec::with_capacity(AT_ONCE);
        let (mut at, begin) = (self.len, self.len);
        for share in first..self.shares.all() {
            let start = bytes.len();
            for parts in sorted.iter_mut() {
                let blocks = std::mem::take(&mut parts[share]).blocks;
                let lost = usize::from(planted(Fault::SpillLeavesOut));
                for block in blocks.iter().skip(lost) {
                    Writer::new(&mut bytes).u32(block.len() as u32).bytes(block);
                }
            }
            let piece = &bytes[start..];
            pieces.push(Piece { at: at + start as u64, len: piece.len() as u32, crc: crc32c(0, piece) });
            if bytes.len() >= AT_ONCE || share + 1 == self.shares.all() {
                if self.file.write_at(&bytes, at).is_err() {
                    return false;
                }
                at += bytes.len() as u64;
                bytes.clear();
            }
        }
        if at > begin {
            (self.len, self.next) = (at, self.next.min(first));
            self.runs.push((first, pieces));
        }
        true
    }

    fn pieces(&self, share: usize) -> impl Iterator<Item = Piece> {
        self.runs
            .iter()
            .filter_map(move |(first, pieces)| Some(pieces[share.checked_sub(*first)?]))
            .filter(|p| p.len > 0)
    }

    fn bytes_of(&self, share: usize) -> u64 {
        self.pieces(share).map(|p| u64::from(p.len)).sum()
    }

    /// Memory its tables take.
    pub(crate) fn bytes(&self) -> u64 {
        self.runs.iter().map(|r| (r.1.capacity() * size_of::<Piece>()) as u64).sum()
    }

    /// The next shares, which take at most `most` bytes, or one; what they have, unless that is too much or cannot be
    /// read. `None`: there are no more.
    pub(super) fn take(&mut self, most: u64) -> Option<(Shares, Option<Vec<Share>>)> {
        let (first, mut end, mut sum) = (self.next, self.next, 0);
        while end < self.shares.all() && (end == first || sum + self.bytes_of(end) <= most) {
            sum += self.bytes_of(end);
            end += 1;
        }
        if end == first {
            return None;
        }
        self.next = end;
        let read = if sum <= most { self.read(first, end) } else { None };
        Some((self.shares.part(first..end), read))
    }

    fn read(&self, first: usize, end: usize) -> Option<Vec<Share>> {
        let mut shares: Vec<Share> = (first..end).map(|_| Share::default()).collect();
        // As they lie in the file: the shares of one run side by side.
        let mut all: Vec<(usize, Piece)> =
            (first..end).flat_map(|share| self.pieces(share).map(move |p| (share - first, p))).collect();
        all.sort_unstable_by_key(|p| p.1.at);
        for some in all.chunks(PIECES) {
            let mut buffers: Vec<Vec<u8>> = some.iter().map(|(_, p)| vec![0; p.len as usize]).collect();
            let mut parts: Vec<(u64, &mut [u8])> =
                some.iter().zip(&mut buffers).map(|((_, p), b)| (p.at, &mut b[..])).collect();
            self.file.read_many(&mut parts).ok()?;
            for ((share, piece), bytes) in some.iter().zip(&buffers) {
                if crc32c(0, bytes) != piece.crc {
                    return None;
                }
                let mut r = Reader::new(bytes);
                while r.remaining() > 0 {
                    let len = r.u32().ok()? as usize;
                    shares[*share].add(r.bytes(len).ok()?.to_vec());
                }
            }
        }
        Some(shares)
    }

    /// Removes the file.
    pub(crate) fn end(self) {
        drop(self.file);
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::{EXTENT, Index, Weight};
    use super::*;

    /// Changes of each share: page, LSN, bytes.
    type Changes = BTreeMap<usize, Vec<(u64, u64, Vec<u8>)>>;

    fn push(parts: &mut [Part], all: &mut Changes, share: usize, page: u64, at: u64) {
        let op = vec![page as u8; 1 + (at % 300) as usize];
        parts[share].push(page, at, &op);
        all.entry(share).or_default().push((page, at, op));
    }

    fn read_back(first: usize, shares: Vec<Share>) -> Changes {
        let each = |(i, share): (usize, Share)| {
            let index = Index::new(share.blocks).unwrap();
            let mut changes = Vec::new();
            for (&page, range) in &index.pages {
                for p in &index.places[range.start as usize..range.end as usize] {
                    changes.push((
                        page,
                        p.lsn,
                        index.blocks[p.block as usize][p.at as usize..][..p.len as usize].to_vec(),
                    ));
                }
            }
            changes.sort();
            (first + i, changes)
        };
        shares.into_iter().enumerate().map(each).collect()
    }

    #[test]
    fn what_is_written_is_read_back_or_refused() {
        let dir = std::env::temp_dir().join(format!("gannet-spill-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let extents: Vec<_> = (0..6).map(|i| Weight { extent: 10 + 3 * i, bytes: 1000 }).collect();
        let shares = Arc::new(Shares::new(&extents));
        assert_eq!(shares.all(), 6);
        assert!(Spill::create(&dir, shares.clone(), u64::MAX / 2).is_none(), "the disk has room for that");
        let mut spill = Spill::create(&dir, shares.clone(), 1000).unwrap();
        let (mut all, mut at) = (Changes::new(), 0);
        let new = || (0..6).map(|_| Part::default()).collect::<Vec<_>>();
        let (mut a, mut b) = (new(), new());
        // The first shares stay in memory for a while.
        for first in [4, 4, 2, 1] {
            for i in 0..5000u64 {
                at += i % 7 + 1;
                let parts = if i % 3 == 0 { &mut a } else { &mut b };
                push(parts, &mut all, i as usize % 6, i / 6 % EXTENT, at);
            }
            assert!(spill.write(first, &mut [&mut a, &mut b]));
            assert!(a[first..].iter().all(|p| p.blocks.is_empty()) && !a[0].blocks.is_empty());
        }
        for changes in all.values_mut() {
            changes.sort();
        }
        let mut seen = Changes::new();
        let mut rounds = 0;
        while let Some((which, read)) = spill.take(1_500_000) {
            let first = (0..6).find(|&i| shares.bounds[i] == which.bounds[0]).unwrap();
            seen.append(&mut read_back(first, read.unwrap()));
            rounds += 1;
        }
        assert!(rounds > 1 && rounds < 5, "{rounds} rounds");
        all.remove(&0);
        assert_eq!(seen, all);
        // Too much for the memory, and damaged.
        spill.next = 1;
        assert!(matches!(spill.take(1000), Some((which, None)) if which.all() == 1));
        spill.next = 1;
        let piece = spill.pieces(2).next().unwrap();
        spill.file.write_at(&[0xff; 9], piece.at + 20).unwrap();
        assert!(matches!(spill.take(1_000_000_000), Some((_, None))));
        spill.next = 3;
        assert!(matches!(spill.take(1_000_000_000), Some((_, Some(_)))));
        let path = spill.path.clone();
        spill.end();
        assert!(!fs::exists(path).unwrap());
        fs::remove_dir_all(&dir).unwrap();
    }
}

//! A disk in memory that forgets: what was not synced may be lost, sector by sector, when the power is cut.
//!
//! What is assumed of a disk (and of the file system on it), and so what this one keeps to: a write of at most 512
//! bytes within a sector is atomic; writes before a completed sync of the file are durable; name changes happen in
//! order, and are durable after a sync of a directory; everything else may or may not survive.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use super::image::{Image, PAGE, SECTOR, ZEROS, sectors_of};
use super::io_pause;
use crate::time::splitmix;
use crate::{ALIGN, OpenOptions};

/// Every other sector of a page.
const ODD: u8 = 0b1010_1010;

#[derive(Clone, Default)]
struct Inode {
    /// What reads see.
    live: Image,
    /// What a power cut leaves for sure.
    durable: Image,
    /// Sectors in which they may differ: by page, a bit for each.
    dirty: BTreeMap<u64, u8>,
    /// Syncs begun, and the latest begun of those that are completed.
    syncs: u64,
    synced: u64,
    locked: bool,
    opens: u32,
}

impl Inode {
    fn mark(&mut self, offset: u64, len: u64) {
        for (page, inside, range) in Image::parts(offset, len as usize) {
            let (first, end) = (inside as u64 / SECTOR, (inside + range.len()) as u64);
            let mask = (u8::MAX << first) & (u8::MAX >> (PAGE / SECTOR - end.div_ceil(SECTOR)));
            *self.dirty.entry(page).or_default() |= mask;
        }
    }

    /// The same for a range that is about to become zeros: where nothing was ever written nothing changes.
    fn mark_existing(&mut self, offset: u64, end: u64) {
        let range = offset / PAGE..end.div_ceil(PAGE);
        let pages: BTreeSet<u64> =
            [&self.live, &self.durable].iter().flat_map(|i| i.pages.range(range.clone()).map(|(&p, _)| p)).collect();
        for page in pages {
            let start = (page * PAGE).max(offset);
            self.mark(start, ((page + 1) * PAGE).min(end) - start);
        }
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) {
        self.live.write(offset, bytes);
        self.live.len = self.live.len.max(offset + bytes.len() as u64);
        self.mark(offset, bytes.len() as u64);
    }

    fn power_cut(&mut self, seed: &mut u64, garbage: bool) {
        // What share of the unsynced sectors survives differs from crash to crash: all and none are likely enough.
        let keep_of_8 = splitmix(seed) % 9;
        let mut len = if self.live.len != self.durable.len && splitmix(seed) % 8 < keep_of_8 {
            self.live.len
        } else {
            self.durable.len
        };
        // In some crashes a few of the sectors being written are neither old nor new.
        let garbage_of_64 = if garbage && splitmix(seed).is_multiple_of(4) { splitmix(seed) % 8 } else { 0 };
        let before = self.durable.len;
        for (&page, &mask) in &self.dirty {
            let (mut kept, mut spoilt) = (0, 0);
            for (bit, sector) in (page * PAGE / SECTOR..).enumerate().take((PAGE / SECTOR) as usize) {
                let garbage = mask >> bit & 1 == 1 && splitmix(seed) % 64 < garbage_of_64;
                let keeps = mask >> bit & 1 == 1 && (garbage || splitmix(seed) % 8 < keep_of_8);
                if keeps && sector * SECTOR < self.live.len {
                    kept |= 1 << bit;
                    spoilt |= u8::from(garbage) << bit;
                    if self.live.len > before {
                        len = len.max(((sector + 1) * SECTOR).min(self.live.len));
                    }
                }
            }
            if kept != 0 {
                self.durable.take(self.live.pages.get(&page), page, kept);
            }
            if spoilt != 0
                && let Some(bytes) = self.durable.pages.get_mut(&page).map(Arc::make_mut)
            {
                let words = sectors_of(spoilt).flat_map(|range| range.step_by(8));
                words.for_each(|at| bytes[at..at + 8].copy_from_slice(&splitmix(seed).to_le_bytes()));
            }
        }
        self.durable.len = self.durable.len.max(len);
        self.durable.set_len(len);
        // Elsewhere they are the same.
        for page in self.dirty.keys() {
            match self.durable.pages.get(page) {
                Some(bytes) => drop(self.live.pages.insert(*page, bytes.clone())),
                None => drop(self.live.pages.remove(page)),
            }
        }
        self.live.len = self.live.len.max(len);
        self.live.set_len(len);
        self.dirty.clear();
        self.locked = false;
        self.opens = 0;
    }
}

#[derive(Clone)]
enum NameOp {
    Link(PathBuf, u64),
    Unlink(PathBuf),
    Rename(PathBuf, PathBuf),
    MakeDir(PathBuf),
    RemoveTree(PathBuf),
}

#[derive(Clone, Default)]
struct Names {
    files: BTreeMap<PathBuf, u64>,
    dirs: BTreeSet<PathBuf>,
}

impl Names {
    fn apply(&mut self, op: &NameOp) {
        match op {
            NameOp::Link(path, inode) => drop(self.files.insert(path.clone(), *inode)),
            NameOp::Unlink(path) => drop(self.files.remove(path)),
            NameOp::Rename(from, to) => {
                if let Some(inode) = self.files.remove(from) {
                    self.files.insert(to.clone(), inode);
                } else {
                    let moved: Vec<_> = self.files.keys().filter(|p| p.starts_with(from)).cloned().collect();
                    for p in moved {
                        let inode = self.files.remove(&p).unwrap_or_default();
                        self.files.insert(to.join(p.strip_prefix(from).unwrap_or(&p)), inode);
                    }
                    let moved: Vec<_> = self.dirs.iter().filter(|p| p.starts_with(from)).cloned().collect();
                    for p in moved {
                        self.dirs.remove(&p);
                        self.dirs.insert(to.join(p.strip_prefix(from).unwrap_or(&p)));
                    }
                }
            }
            NameOp::MakeDir(path) => drop(self.dirs.insert(path.clone())),
            NameOp::RemoveTree(path) => {
                self.files.retain(|p, _| !p.starts_with(path));
                self.dirs.retain(|p| !p.starts_with(path));
            }
        }
    }
}

#[derive(Clone, Default)]
struct State {
    inodes: BTreeMap<u64, Inode>,
    next_inode: u64,
    names: Names,
    durable_names: Names,
    /// Name changes since the last sync of a directory, in order.
    unsynced: Vec<NameOp>,
    synced_writes: u64,
    syncs: u64,
    /// Bytes that all files together may hold.
    capacity: Option<u64>,
    faults: Faults,
    lie: Option<Lie>,
}

/// What goes wrong on a simulated disk while it runs. Each number: one operation in so many, by chance; 0 = never.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Faults {
    /// Reads that fail.
    pub read_errors: u64,
    /// Writes that fail, having written nothing or a part.
    pub write_errors: u64,
    /// Syncs that fail. What was to be synced may be lost in a crash although it can be read until then, and a later
    /// sync, which succeeds, does not help.
    pub sync_errors: u64,
    /// Operations that take up to two seconds.
    pub late: u64,
    /// A power cut may leave garbage in sectors that were being written, where it otherwise leaves old or new bytes.
    pub garbage: bool,
}

/// A disk (or a server) that does not do what it says: for finding out whether a test would notice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Lie {
    /// Syncs of files whose path contains this do nothing.
    Syncs(&'static str),
    /// Writes to files whose path contains this are not kept.
    Writes(&'static str),
}

impl State {
    fn change(&mut self, op: NameOp) {
        self.names.apply(&op);
        self.unsynced.push(op);
    }

    /// What was removed takes no room.
    fn used(&self) -> u64 {
        let there = self.names.files.values().filter_map(|inode| self.inodes.get(inode));
        there.map(|i| i.live.pages.len() as u64 * PAGE).sum()
    }
}

/// A simulated disk. Clones are the same disk; it outlives the simulations that use it.
#[derive(Clone, Default)]
pub struct SimDisk(Arc<Mutex<State>>);

impl std::fmt::Debug for SimDisk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SimDisk({} files)", self.lock().names.files.len())
    }
}

/// Paths are kept without `.` and doubled separators; the root and all prefixes of a relative path exist.
fn clean(path: &Path) -> PathBuf {
    path.components().filter(|c| !matches!(c, Component::CurDir)).collect()
}

fn err(errno: i32) -> io::Error {
    io::Error::from_raw_os_error(errno)
}

fn dead() -> io::Error {
    err(libc::EIO)
}

impl SimDisk {
    /// An empty disk.
    pub fn new() -> SimDisk {
        SimDisk::default()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The power is cut: of what was not synced a random part remains, by `seed`. Simulations do it when they crash.
    pub fn crash(&self, seed: u64) {
        let mut seed = seed;
        let mut state = self.lock();
        let keep = splitmix(&mut seed) as usize % (state.unsynced.len() + 1);
        let ops = std::mem::take(&mut state.unsynced);
        let mut names = state.durable_names.clone();
        ops[..keep].iter().for_each(|op| names.apply(op));
        state.names = names.clone();
        state.durable_names = names;
        let named: BTreeSet<u64> = state.names.files.values().copied().collect();
        state.inodes.retain(|id, _| named.contains(id));
        let garbage = state.faults.garbage;
        state.inodes.values_mut().for_each(|inode| inode.power_cut(&mut seed, garbage));
    }

    /// Bounds the space of the disk: writes beyond fail as on a full disk. `None` lifts the bound.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.lock().capacity = bytes;
    }

    /// From now on operations fail, or come late, by chance.
    pub fn set_faults(&self, faults: Faults) {
        self.lock().faults = faults;
    }

    /// From now on the disk lies.
    pub fn set_lie(&self, lie: Option<Lie>) {
        self.lock().lie = lie;
    }

    /// What it lies about.
    pub fn lie(&self) -> Option<Lie> {
        self.lock().lie.clone()
    }

    /// A disk of its own with the same contents.
    pub fn copy(&self) -> SimDisk {
        SimDisk(Arc::new(Mutex::new(self.lock().clone())))
    }

    /// Whether a fault that happens once in `n(faults)` times happens now.
    fn strikes(&self, n: impl Fn(&Faults) -> u64) -> bool {
        let n = n(&self.lock().faults);
        n > 0 && crate::cx::kind() == crate::cx::Kind::Sim && super::random_u64().is_multiple_of(n)
    }

    /// Waits as long as an operation takes; false when the machine is gone.
    fn pause(&self, min: u64, max: u64) -> bool {
        let late = self.strikes(|f| f.late);
        io_pause(min, if late { 2_000_000 } else { max })
    }

    /// Bytes in use.
    pub fn used(&self) -> u64 {
        self.lock().used()
    }

    /// Completed syncs of files.
    pub fn syncs(&self) -> u64 {
        self.lock().syncs
    }

    /// Names of all files.
    pub fn files(&self) -> Vec<PathBuf> {
        self.lock().names.files.keys().cloned().collect()
    }

    /// Reads a file's bytes as they are now, without simulated time.
    pub fn peek(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        let state = self.lock();
        let inode = state.inodes.get(state.names.files.get(&clean(path.as_ref()))?)?;
        let mut bytes = vec![0; inode.live.len as usize];
        inode.live.read(0, &mut bytes);
        Some(bytes)
    }

    /// Changes bytes behind the server's back, durably: a damaged page. `false` when there is no such file.
    pub fn poke(&self, path: impl AsRef<Path>, offset: u64, bytes: &[u8]) -> bool {
        let mut state = self.lock();
        let Some(&inode) = state.names.files.get(&clean(path.as_ref())) else { return false };
        let Some(inode) = state.inodes.get_mut(&inode) else { return false };
        inode.live.write(offset, bytes);
        inode.durable.write(offset, bytes);
        for image in [&mut inode.live, &mut inode.durable] {
            image.len = image.len.max(offset + bytes.len() as u64);
        }
        true
    }

    /// Cuts a file behind the server's back, durably. `false` when there is none that is longer.
    pub fn cut(&self, path: impl AsRef<Path>, len: u64) -> bool {
        let mut state = self.lock();
        let Some(&inode) = state.names.files.get(&clean(path.as_ref())) else { return false };
        let Some(inode) = state.inodes.get_mut(&inode) else { return false };
        let longer = inode.live.len > len;
        for image in [&mut inode.live, &mut inode.durable] {
            image.set_len(image.len.min(len));
        }
        longer
    }

    pub(crate) fn open(&self, path: &Path, how: &OpenOptions) -> io::Result<SimFile> {
        if !io_pause(1, 20) {
            return Err(dead());
        }
        let path = clean(path);
        let mut state = self.lock();
        if state.names.dirs.contains(&path) {
            return Err(err(libc::EISDIR));
        }
        let id = match state.names.files.get(&path) {
            Some(_) if how.create_new => return Err(err(libc::EEXIST)),
            Some(&id) => id,
            None if !(how.create || how.create_new) => return Err(err(libc::ENOENT)),
            None => {
                if let Some(parent) = path.parent()
                    && !parent.as_os_str().is_empty()
                    && parent != Path::new("/")
                    && !state.names.dirs.contains(parent)
                {
                    return Err(err(libc::ENOENT));
                }
                let id = state.next_inode;
                state.next_inode += 1;
                state.inodes.insert(id, Inode::default());
                state.change(NameOp::Link(path, id));
                id
            }
        };
        let inode = state.inodes.get_mut(&id).ok_or_else(dead)?;
        inode.opens += 1;
        if how.truncate {
            inode.mark_existing(0, inode.live.len);
            inode.live.set_len(0);
        }
        Ok(SimFile { disk: self.clone(), inode: id, write: how.write, direct: how.direct, holds_lock: false.into() })
    }

    fn named(&self, f: impl FnOnce(&mut State) -> io::Result<()>) -> io::Result<()> {
        if io_pause(5, 50) { f(&mut self.lock()) } else { Err(dead()) }
    }

    pub(crate) fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        let path = clean(path);
        self.named(|state| {
            let mut all: Vec<_> = path.ancestors().filter(|p| !p.as_os_str().is_empty()).map(PathBuf::from).collect();
            all.reverse();
            for p in all {
                if state.names.files.contains_key(&p) {
                    return Err(err(libc::ENOTDIR));
                }
                if !state.names.dirs.contains(&p) {
                    state.change(NameOp::MakeDir(p));
                }
            }
            Ok(())
        })
    }

    pub(crate) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (from, to) = (clean(from), clean(to));
        self.named(|state| {
            if !state.names.files.contains_key(&from) && !state.names.dirs.contains(&from) {
                return Err(err(libc::ENOENT));
            }
            state.change(NameOp::Rename(from, to));
            Ok(())
        })
    }

    pub(crate) fn remove_file(&self, path: &Path) -> io::Result<()> {
        let path = clean(path);
        self.named(|state| {
            if !state.names.files.contains_key(&path) {
                return Err(err(libc::ENOENT));
            }
            state.change(NameOp::Unlink(path));
            Ok(())
        })
    }

    pub(crate) fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        let path = clean(path);
        self.named(|state| {
            if !state.names.dirs.contains(&path) {
                return Err(err(libc::ENOENT));
            }
            state.change(NameOp::RemoveTree(path));
            Ok(())
        })
    }

    pub(crate) fn read_dir(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        if !io_pause(1, 20) {
            return Err(dead());
        }
        let path = clean(path);
        let state = self.lock();
        if !state.names.dirs.contains(&path) {
            return Err(err(libc::ENOENT));
        }
        let all = state.names.files.keys().chain(&state.names.dirs);
        let mut found: Vec<_> = all.filter(|p| p.parent() == Some(&path)).cloned().collect();
        found.sort();
        Ok(found)
    }

    pub(crate) fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let path = clean(path);
        // The changes made before the call are durable after it.
        let count = self.lock().unsynced.len();
        if !io_pause(100, 2000) {
            return Err(dead());
        }
        let mut state = self.lock();
        if !state.names.dirs.contains(&path) {
            return Err(err(libc::ENOENT));
        }
        // Another sync may have taken some of them meanwhile: it took the front.
        let count = count.min(state.unsynced.len());
        let ops: Vec<_> = state.unsynced.drain(..count).collect();
        ops.iter().for_each(|op| state.durable_names.apply(op));
        Ok(())
    }

    pub(crate) fn exists(&self, path: &Path) -> bool {
        let (path, state) = (clean(path), self.lock());
        state.names.files.contains_key(&path) || state.names.dirs.contains(&path)
    }

    pub(crate) fn free_space(&self) -> u64 {
        let state = self.lock();
        state.capacity.unwrap_or(1 << 40).saturating_sub(state.used())
    }
}

/// An open file on a simulated disk.
pub(crate) struct SimFile {
    disk: SimDisk,
    inode: u64,
    write: bool,
    pub(crate) direct: bool,
    holds_lock: std::sync::atomic::AtomicBool,
}

impl std::fmt::Debug for SimFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SimFile({})", self.inode)
    }
}

impl Drop for SimFile {
    fn drop(&mut self) {
        let mut state = self.disk.lock();
        let unnamed = !state.names.files.values().chain(state.durable_names.files.values()).any(|&i| i == self.inode);
        if let Some(inode) = state.inodes.get_mut(&self.inode) {
            if self.holds_lock.load(std::sync::atomic::Ordering::Relaxed) {
                inode.locked = false;
            }
            inode.opens = inode.opens.saturating_sub(1);
            if inode.opens == 0 && unnamed {
                state.inodes.remove(&self.inode);
            }
        }
    }
}

impl SimFile {
    fn with<T>(&self, f: impl FnOnce(&mut Inode) -> io::Result<T>) -> io::Result<T> {
        f(self.disk.lock().inodes.get_mut(&self.inode).ok_or_else(dead)?)
    }

    /// Whether the disk tells such a lie about this file.
    fn lies(&self, kind: impl Fn(&Lie) -> bool) -> bool {
        let state = self.disk.lock();
        let Some(lie @ (Lie::Syncs(part) | Lie::Writes(part))) = &state.lie else { return false };
        kind(lie) && state.names.files.iter().any(|(p, &i)| i == self.inode && p.to_string_lossy().contains(part))
    }

    fn check_aligned(&self, address: usize, len: usize, offset: u64) -> io::Result<()> {
        let aligned = |v: u64| v.is_multiple_of(SECTOR);
        if self.direct && !(address.is_multiple_of(SECTOR as usize) && aligned(len as u64) && aligned(offset)) {
            debug_assert_eq!(ALIGN % SECTOR as usize, 0);
            return Err(err(libc::EINVAL));
        }
        Ok(())
    }

    /// Reads into `ptr`; gives the bytes read, less only at the end of the file.
    ///
    /// # Safety
    /// `ptr` must be valid for writes of `len` bytes until the call returns.
    pub(crate) unsafe fn read(&self, ptr: *mut u8, len: usize, offset: u64) -> io::Result<usize> {
        self.check_aligned(ptr as usize, len, offset)?;
        if !self.disk.pause(20, 200) || self.disk.strikes(|f| f.read_errors) {
            return Err(dead());
        }
        self.with(|inode| {
            let n = (inode.live.len.saturating_sub(offset)).min(len as u64) as usize;
            for (page, inside, range) in Image::parts(offset, n) {
                let from = inode.live.pages.get(&page);
                // SAFETY: the range is within `n`, which is at most `len`; no reference to the destination is made,
                // because it may be looked at by others.
                unsafe {
                    let to = ptr.add(range.start);
                    match from {
                        Some(p) => std::ptr::copy_nonoverlapping(p[inside..].as_ptr(), to, range.len()),
                        None => std::ptr::write_bytes(to, 0, range.len()),
                    }
                }
            }
            Ok(n)
        })
    }

    /// Writes all bytes from `ptr`.
    ///
    /// # Safety
    /// `ptr` must be valid for reads of `len` bytes until the call returns.
    pub(crate) unsafe fn write(&self, ptr: *const u8, len: usize, offset: u64) -> io::Result<()> {
        if !self.write {
            return Err(err(libc::EBADF));
        }
        self.check_aligned(ptr as usize, len, offset)?;
        // Half of the writes reach the (volatile) disk before the device reports them, half after: a crash in between
        // finds either.
        // SAFETY: by the contract; one thread runs the simulation, so nobody writes there until this copy is made.
        let bytes = unsafe { std::slice::from_raw_parts(ptr, len) }.to_vec();
        if self.lies(|lie| matches!(lie, Lie::Writes(_))) {
            return Ok(());
        }
        if self.disk.strikes(|f| f.write_errors) {
            let whole = bytes.len() / SECTOR as usize;
            let part = super::random_u64() as usize % (whole + 1) * SECTOR as usize;
            self.put(offset, &bytes[..part])?;
            return Err(dead());
        }
        let early = crate::cx::kind() == crate::cx::Kind::Sim && super::random_u64() & 1 == 0;
        if early {
            self.put(offset, &bytes)?;
        }
        if !self.disk.pause(10, 150) {
            return Err(dead());
        }
        if early { Ok(()) } else { self.put(offset, &bytes) }
    }

    fn put(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        {
            let state = self.disk.lock();
            if let Some(capacity) = state.capacity {
                let new = Image::parts(offset, bytes.len())
                    .filter(|(page, ..)| {
                        state.inodes.get(&self.inode).is_some_and(|i| !i.live.pages.contains_key(page))
                    })
                    .count() as u64;
                if state.used() + new * PAGE > capacity && new > 0 {
                    return Err(err(libc::ENOSPC));
                }
            }
        }
        self.with(|inode| {
            inode.write(offset, bytes);
            Ok(())
        })
    }

    pub(crate) fn sync(&self) -> io::Result<()> {
        if self.lies(|lie| matches!(lie, Lie::Syncs(_))) {
            return Ok(());
        }
        // What was written before the call is durable after it; later writes may or may not be.
        let (written, len, number) = self.with(|inode| {
            inode.syncs += 1;
            let page = |(&page, &mask): (&u64, &u8)| (page, mask, inode.live.pages.get(&page).cloned());
            Ok((inode.dirty.iter().map(page).collect::<Vec<_>>(), inode.live.len, inode.syncs))
        })?;
        if !self.disk.pause(100, 2000) {
            return Err(dead());
        }
        if self.disk.strikes(|f| f.sync_errors) {
            // The kernel takes what it could not write for clean.
            return self.with(|inode| {
                for (page, mask, _) in written {
                    if let Some(dirty) = inode.dirty.get_mut(&page) {
                        *dirty &= !mask | ODD;
                    }
                }
                inode.dirty.retain(|_, mask| *mask != 0);
                Err(dead())
            });
        }
        let mut state = self.disk.lock();
        state.syncs += 1;
        state.synced_writes += written.iter().map(|w| u64::from(w.1.count_ones())).sum::<u64>();
        let inode = state.inodes.get_mut(&self.inode).ok_or_else(dead)?;
        if inode.synced > number {
            // One that began later has it all, and newer.
            return Ok(());
        }
        inode.synced = number;
        for (page, mask, bytes) in written {
            inode.durable.take(bytes.as_ref(), page, mask);
            let live = inode.live.pages.get(&page);
            let same = match (live, &bytes) {
                (Some(live), Some(bytes)) if Arc::ptr_eq(live, bytes) => mask,
                _ => {
                    let (live, bytes) = (live.unwrap_or(&ZEROS), bytes.as_ref().unwrap_or(&ZEROS));
                    let same = |&(bit, ref range): &(u32, std::ops::Range<usize>)| {
                        mask >> bit & 1 == 1 && live[range.clone()] == bytes[range.clone()]
                    };
                    (0..).zip(sectors_of(u8::MAX)).filter(same).map(|(bit, _)| 1 << bit).sum()
                }
            };
            if let Some(dirty) = inode.dirty.get_mut(&page) {
                *dirty &= !same;
                if *dirty == 0 {
                    inode.dirty.remove(&page);
                }
            }
        }
        inode.durable.set_len(len);
        Ok(())
    }

    pub(crate) fn set_len(&self, len: u64) -> io::Result<()> {
        if !io_pause(5, 50) {
            return Err(dead());
        }
        self.with(|inode| {
            if len < inode.live.len {
                inode.mark_existing(len, inode.live.len);
            }
            inode.live.set_len(len);
            Ok(())
        })
    }

    pub(crate) fn allocate(&self, offset: u64, len: u64) -> io::Result<()> {
        let end = offset + len;
        {
            // Where space is short it is taken at once, else when it is written.
            let mut state = self.disk.lock();
            let used = state.used();
            if let Some(capacity) = state.capacity {
                let inode = state.inodes.get_mut(&self.inode).ok_or_else(dead)?;
                let new: Vec<u64> =
                    (offset / PAGE..end.div_ceil(PAGE)).filter(|p| !inode.live.pages.contains_key(p)).collect();
                if used + new.len() as u64 * PAGE > capacity {
                    return Err(err(libc::ENOSPC));
                }
                for page in new {
                    inode.live.pages.insert(page, ZEROS.clone());
                    inode.durable.pages.entry(page).or_insert_with(|| ZEROS.clone());
                }
            }
        }
        if self.len()? < end { self.set_len(end) } else { Ok(()) }
    }

    pub(crate) fn punch_hole(&self, offset: u64, len: u64) -> io::Result<bool> {
        if !io_pause(5, 50) {
            return Err(dead());
        }
        self.with(|inode| {
            let end = (offset + len).min(inode.live.len);
            inode.mark_existing(offset, end);
            let mut at = offset;
            while at < end {
                let n = (PAGE - at % PAGE).min(end - at);
                if n == PAGE {
                    inode.live.pages.remove(&(at / PAGE));
                } else if let Some(p) = inode.live.pages.get_mut(&(at / PAGE)) {
                    Arc::make_mut(p)[(at % PAGE) as usize..(at % PAGE + n) as usize].fill(0);
                }
                at += n;
            }
            Ok(true)
        })
    }

    pub(crate) fn len(&self) -> io::Result<u64> {
        self.with(|inode| Ok(inode.live.len))
    }

    pub(crate) fn try_lock(&self) -> io::Result<bool> {
        use std::sync::atomic::Ordering::Relaxed;
        self.with(|inode| {
            if inode.locked && !self.holds_lock.load(Relaxed) {
                return Ok(false);
            }
            inode.locked = true;
            self.holds_lock.store(true, Relaxed);
            Ok(true)
        })
    }
}

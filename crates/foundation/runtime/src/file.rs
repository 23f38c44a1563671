use std::fs as stdfs;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use crate::cx::simulated;
use crate::figures::{FileUse, Tally};
use crate::fs::Readers;
use crate::op::Op;
use crate::os::{perform, perform_many, run_blocking};
use crate::sim::{SimFile, current_disk};

/// How to open a [`File`]. Files are made for their owner alone, unless [`OpenOptions::readers`] says more.
#[derive(Clone, Copy, Default, Debug)]
pub struct OpenOptions {
    pub(crate) write: bool,
    pub(crate) create: bool,
    pub(crate) create_new: bool,
    pub(crate) truncate: bool,
    pub(crate) direct: bool,
    pub(crate) readers: Readers,
}

impl OpenOptions {
    /// For reading only.
    pub const fn read() -> Self {
        OpenOptions {
            write: false,
            create: false,
            create_new: false,
            truncate: false,
            direct: false,
            readers: Readers::Owner,
        }
    }

    /// For reading and writing.
    pub const fn read_write() -> Self {
        OpenOptions { write: true, ..Self::read() }
    }

    /// Make the file if it does not exist.
    pub const fn create(self) -> Self {
        OpenOptions { create: true, ..self }
    }

    /// Make the file; an error if it exists.
    pub const fn create_new(self) -> Self {
        OpenOptions { create_new: true, ..self }
    }

    /// Cut an existing file to nothing.
    pub const fn truncate(self) -> Self {
        OpenOptions { truncate: true, ..self }
    }

    /// Who may read the file, if it is made.
    pub const fn readers(self, readers: Readers) -> Self {
        OpenOptions { readers, ..self }
    }

    /// Past the kernel's page cache (O_DIRECT). Buffers, offsets and lengths must then be multiples of
    /// [`crate::ALIGN`]. Where the file system refuses, the file is opened without; [`File::is_direct`] tells.
    pub const fn direct(self) -> Self {
        OpenOptions { direct: true, ..self }
    }
}

/// An open file. Reads and writes name their offset; any number of tasks may use it at the same time.
///
/// On a fiber each operation parks the fiber (uninterruptibly: the kernel has the buffer) and the worker goes on.
#[derive(Debug)]
pub struct File(Backing);

#[derive(Debug)]
enum Backing {
    Os { file: stdfs::File, direct: bool, tally: Arc<Tally> },
    Sim(SimFile),
}

fn unexpected_end() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the file ends before the bytes asked for")
}

fn error(n: i32) -> io::Error {
    io::Error::from_raw_os_error(-n)
}

impl File {
    /// Opens a file.
    pub fn open(path: impl AsRef<Path>, how: &OpenOptions) -> io::Result<File> {
        let (path, how) = (path.as_ref(), *how);
        if simulated() {
            return Ok(File(Backing::Sim(current_disk().open(path, &how)?)));
        }
        let opened = move |file, direct| Ok(File(Backing::Os { file, direct, tally: Tally::of(path) }));
        run_blocking(move || {
            let open = |direct: bool| {
                stdfs::OpenOptions::new()
                    .read(true)
                    .write(how.write)
                    .create(how.create)
                    .create_new(how.create_new)
                    .truncate(how.truncate)
                    .mode(how.readers.mode())
                    .custom_flags(if direct { libc::O_DIRECT } else { 0 })
                    .open(path)
            };
            if how.direct {
                match open(true) {
                    Ok(file) => return opened(file, true),
                    // Refused by the file system; a file made by the refused open is not 'new' any more.
                    Err(e) if e.raw_os_error() == Some(libc::EINVAL) && how.create_new => {
                        let file = stdfs::OpenOptions::new().read(true).write(how.write).open(path)?;
                        return opened(file, false);
                    }
                    Err(e) if e.raw_os_error() == Some(libc::EINVAL) => {}
                    Err(e) => return Err(e),
                }
            }
            opened(open(false)?, false)
        })
    }

    /// The descriptor, when the file is a real one.
    fn real(&self) -> Result<RawFd, &SimFile> {
        match &self.0 {
            Backing::Os { file, .. } => Ok(file.as_raw_fd()),
            Backing::Sim(file) => Err(file),
        }
    }

    /// Runs an operation and counts it, on a real file.
    fn counted<R>(&self, what: FileUse, count: usize, bytes: usize, run: impl FnOnce() -> R) -> R {
        match &self.0 {
            Backing::Os { tally, .. } => tally.timed(what, count, bytes, run),
            Backing::Sim(_) => run(),
        }
    }

    /// True when the file is read and written past the page cache.
    pub fn is_direct(&self) -> bool {
        match &self.0 {
            Backing::Os { direct, .. } => *direct,
            Backing::Sim(file) => file.direct,
        }
    }

    /// Reads at `offset` until `buf` is full or the file ends; gives the bytes read.
    pub fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        // SAFETY: the buffer is exclusively borrowed until the call returns.
        unsafe { self.read_raw(buf.as_mut_ptr(), buf.len(), offset) }
    }

    /// Reads exactly `buf.len()` bytes at `offset`; an error of kind `UnexpectedEof` if the file ends before.
    pub fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        if self.read_at(buf, offset)? == buf.len() { Ok(()) } else { Err(unexpected_end()) }
    }

    /// Reads into memory that Rust references must not cover (frames that optimistic readers look at).
    ///
    /// # Safety
    /// `ptr` must be valid for writes of `len` bytes until the call returns.
    pub unsafe fn read_raw(&self, ptr: *mut u8, len: usize, offset: u64) -> io::Result<usize> {
        let fd = match self.real() {
            Ok(fd) => fd,
            // SAFETY: passed on.
            Err(file) => return unsafe { file.read(ptr, len, offset) },
        };
        let mut done = 0;
        while done < len {
            // SAFETY: `done < len`, so the pointer stays inside the caller's memory.
            let at = unsafe { ptr.add(done) };
            let part = (len - done).min(Op::MAX_LEN);
            let read = || perform(Op::Read { fd, ptr: at, len: part, offset: offset + done as u64 });
            match self.counted(FileUse::Read, 1, part, read)? {
                0 => break,
                n => done += n,
            }
            // A direct read that ends short of the block size is at the end of the file.
            if self.is_direct() && done % 512 != 0 {
                break;
            }
        }
        Ok(done)
    }

    /// Writes all of `buf` at `offset`.
    pub fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        // SAFETY: the buffer is borrowed until the call returns.
        unsafe { self.write_raw(buf.as_ptr(), buf.len(), offset) }
    }

    /// Writes from memory that Rust references must not cover.
    ///
    /// # Safety
    /// `ptr` must be valid for reads of `len` bytes until the call returns.
    pub unsafe fn write_raw(&self, ptr: *const u8, len: usize, offset: u64) -> io::Result<()> {
        let fd = match self.real() {
            Ok(fd) => fd,
            // SAFETY: passed on.
            Err(file) => return unsafe { file.write(ptr, len, offset) },
        };
        let mut done = 0;
        while done < len {
            // SAFETY: `done < len`, so the pointer stays inside the caller's memory.
            let at = unsafe { ptr.add(done) };
            let part = (len - done).min(Op::MAX_LEN);
            let write = || perform(Op::Write { fd, ptr: at, len: part, offset: offset + done as u64 });
            match self.counted(FileUse::Write, 1, part, write)? {
                0 => return Err(io::Error::from_raw_os_error(libc::ENOSPC)),
                n => done += n,
            }
        }
        Ok(())
    }

    /// Writes the buffers one after the other from `offset` on, in one operation where possible.
    pub fn write_vectored_at(&self, bufs: &[&[u8]], offset: u64) -> io::Result<()> {
        let mut offset = offset;
        let Ok(fd) = self.real() else {
            for b in bufs {
                self.write_at(b, offset)?;
                offset += b.len() as u64;
            }
            return Ok(());
        };
        for chunk in bufs.chunks(1024) {
            let iov: Vec<libc::iovec> =
                chunk.iter().map(|b| libc::iovec { iov_base: b.as_ptr() as *mut _, iov_len: b.len() }).collect();
            let total: usize = chunk.iter().map(|b| b.len()).sum();
            let write = || perform(Op::Writev { fd, iov: iov.as_ptr(), count: iov.len(), offset });
            let mut done = self.counted(FileUse::Write, 1, total, write)?;
            if done < total {
                // A short write: finish buffer by buffer.
                let mut start = 0;
                for b in chunk {
                    let skip = done.saturating_sub(start).min(b.len());
                    self.write_at(&b[skip..], offset + (start + skip) as u64)?;
                    start += b.len();
                }
                done = total;
            }
            offset += done as u64;
        }
        Ok(())
    }

    /// Writes each buffer at its own offset, many in flight at once. All are attempted; the first error is returned.
    pub fn write_many(&self, parts: &[(u64, &[u8])]) -> io::Result<()> {
        let Ok(fd) = self.real() else {
            let mut outcome = Ok(());
            for (offset, b) in parts {
                outcome = outcome.and(self.write_at(b, *offset));
            }
            return outcome;
        };
        let ops: Vec<Op> = parts
            .iter()
            .map(|(offset, b)| Op::Write { fd, ptr: b.as_ptr(), len: b.len().min(Op::MAX_LEN), offset: *offset })
            .collect();
        let mut results = Vec::with_capacity(ops.len());
        let bytes = parts.iter().map(|(_, b)| b.len()).sum();
        self.counted(FileUse::Write, ops.len(), bytes, || perform_many(&ops, &mut results));
        let mut outcome = Ok(());
        for ((offset, b), n) in parts.iter().zip(results) {
            let one = match n {
                n if n < 0 => Err(error(n)),
                n if (n as usize) < b.len() => self.write_at(&b[n as usize..], offset + n as u64),
                _ => Ok(()),
            };
            outcome = outcome.and(one);
        }
        outcome
    }

    /// Fills each buffer from its own offset, many in flight at once. All are attempted; the first error is returned
    /// (`UnexpectedEof` where the file ends before).
    pub fn read_many(&self, parts: &mut [(u64, &mut [u8])]) -> io::Result<()> {
        let mut parts: Vec<(&File, u64, &mut [u8])> = parts.iter_mut().map(|(at, b)| (self, *at, &mut **b)).collect();
        File::read_parts(&mut parts)
    }

    /// [`File::read_many`] from several files: file, offset and buffer of each part.
    pub fn read_parts(parts: &mut [(&File, u64, &mut [u8])]) -> io::Result<()> {
        let mut ops = Vec::with_capacity(parts.len());
        for (file, offset, b) in parts.iter_mut() {
            let Ok(fd) = file.real() else { break };
            ops.push(Op::Read { fd, ptr: b.as_mut_ptr(), len: b.len().min(Op::MAX_LEN), offset: *offset });
        }
        if ops.len() < parts.len() {
            // Simulated files.
            return parts.iter_mut().map(|(file, at, b)| file.read_exact_at(b, *at)).fold(Ok(()), Result::and);
        }
        let mut results = Vec::with_capacity(ops.len());
        let bytes = parts.iter().map(|(.., b)| b.len()).sum();
        // Of several files the first one's, as of one operation.
        match parts.first() {
            Some((file, ..)) => file.counted(FileUse::Read, ops.len(), bytes, || perform_many(&ops, &mut results)),
            None => return Ok(()),
        }
        let mut outcome = Ok(());
        for ((file, offset, b), n) in parts.iter_mut().zip(results) {
            let one = match n {
                n if n < 0 => Err(error(n)),
                n if (n as usize) < b.len() => file.read_exact_at(&mut b[n as usize..], *offset + n as u64),
                _ => Ok(()),
            };
            outcome = outcome.and(one);
        }
        outcome
    }

    /// Makes what was written durable, with the file's length (fdatasync). An error is final: see the engine's rules.
    pub fn sync_data(&self) -> io::Result<()> {
        match self.real() {
            Ok(fd) => self.counted(FileUse::Other, 1, 0, || perform(Op::Sync { fd, data_only: true })).map(drop),
            Err(file) => file.sync(),
        }
    }

    /// Makes data and all metadata durable (fsync).
    pub fn sync_all(&self) -> io::Result<()> {
        match self.real() {
            Ok(fd) => self.counted(FileUse::Other, 1, 0, || perform(Op::Sync { fd, data_only: false })).map(drop),
            Err(file) => file.sync(),
        }
    }

    /// Cuts or extends (with zeros) the file.
    pub fn set_len(&self, len: u64) -> io::Result<()> {
        match &self.0 {
            Backing::Os { file, tally, .. } => tally.timed(FileUse::Other, 1, 0, || run_blocking(|| file.set_len(len))),
            Backing::Sim(file) => file.set_len(len),
        }
    }

    /// Reserves space, extending the file if need be; what is new reads as zeros. Where the file system cannot reserve,
    /// the file is only extended.
    pub fn allocate(&self, offset: u64, len: u64) -> io::Result<()> {
        let fd = match self.real() {
            Ok(fd) => fd,
            Err(file) => return file.allocate(offset, len),
        };
        match self.counted(FileUse::Other, 1, 0, || perform(Op::Allocate { fd, mode: 0, offset, len })) {
            Err(e) if e.raw_os_error() == Some(libc::EOPNOTSUPP) => {
                if self.len()? < offset + len {
                    self.set_len(offset + len)
                } else {
                    Ok(())
                }
            }
            other => other.map(drop),
        }
    }

    /// Gives space back to the file system; the range reads as zeros, the length stays. `Ok(false)` where the file
    /// system cannot: the range is then unchanged.
    pub fn punch_hole(&self, offset: u64, len: u64) -> io::Result<bool> {
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        let fd = match self.real() {
            Ok(fd) => fd,
            Err(file) => return file.punch_hole(offset, len),
        };
        match self.counted(FileUse::Other, 1, 0, || perform(Op::Allocate { fd, mode, offset, len })) {
            Err(e) if e.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(false),
            other => other.map(|_| true),
        }
    }

    /// The system need not keep a range in memory any more. What is not synced stays there.
    pub fn forget(&self, offset: u64, len: u64) {
        let Ok(fd) = self.real() else { return };
        // SAFETY: a plain system call on a descriptor we own.
        unsafe { libc::posix_fadvise(fd, offset as libc::off_t, len as libc::off_t, libc::POSIX_FADV_DONTNEED) };
    }

    /// Length in bytes.
    pub fn len(&self) -> io::Result<u64> {
        match &self.0 {
            Backing::Os { file, .. } => Ok(file.metadata()?.len()),
            Backing::Sim(file) => file.len(),
        }
    }

    /// True when the file has no bytes.
    pub fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Takes the whole-file lock against other processes (and other opens in this one) without waiting. `false` when
    /// somebody has it. Held until the file is closed.
    pub fn try_lock(&self) -> io::Result<bool> {
        let fd = match self.real() {
            Ok(fd) => fd,
            Err(file) => return file.try_lock(),
        };
        // SAFETY: a plain system call on a descriptor we own.
        if unsafe { libc::flock(fd, libc::LOCK_EX | libc::LOCK_NB) } == 0 {
            return Ok(true);
        }
        let e = io::Error::last_os_error();
        if e.kind() == io::ErrorKind::WouldBlock { Ok(false) } else { Err(e) }
    }
}

//! System calls on files, as values: what a plain thread executes itself and a worker gives to its ring or to a helper
//! thread.

use std::io;
use std::os::fd::RawFd;

use io_uring::types::{Fd, FsyncFlags};
use io_uring::{opcode, squeue};

/// One operation on a file. Pointers must stay valid until the operation has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Read { fd: RawFd, ptr: *mut u8, len: usize, offset: u64 },
    Write { fd: RawFd, ptr: *const u8, len: usize, offset: u64 },
    Writev { fd: RawFd, iov: *const libc::iovec, count: usize, offset: u64 },
    Sync { fd: RawFd, data_only: bool },
    Allocate { fd: RawFd, mode: i32, offset: u64, len: u64 },
}

impl Op {
    /// Executes the operation on this thread: the result of the system call, or the negated error number.
    pub(crate) fn execute(&self) -> i32 {
        loop {
            // SAFETY: whoever made the operation vouches for its pointers; the file descriptor is only used, not owned.
            let n = unsafe {
                match *self {
                    Op::Read { fd, ptr, len, offset } => libc::pread(fd, ptr.cast(), len, offset as libc::off_t),
                    Op::Write { fd, ptr, len, offset } => libc::pwrite(fd, ptr.cast(), len, offset as libc::off_t),
                    Op::Writev { fd, iov, count, offset } => {
                        libc::pwritev(fd, iov, count as i32, offset as libc::off_t)
                    }
                    Op::Sync { fd, data_only: true } => libc::fdatasync(fd) as isize,
                    Op::Sync { fd, data_only: false } => libc::fsync(fd) as isize,
                    Op::Allocate { fd, mode, offset, len } => {
                        libc::fallocate(fd, mode, offset as libc::off_t, len as libc::off_t) as isize
                    }
                }
            };
            if n >= 0 {
                return n as i32;
            }
            let errno = io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
            if errno != libc::EINTR {
                return -errno;
            }
        }
    }

    /// The longest transfer one operation makes; longer ones are split.
    pub(crate) const MAX_LEN: usize = 1 << 30;
}

/// A file operation as the kernel takes it.
pub(crate) fn entry(op: &Op) -> squeue::Entry {
    match *op {
        Op::Read { fd, ptr, len, offset } => opcode::Read::new(Fd(fd), ptr, len as u32).offset(offset).build(),
        Op::Write { fd, ptr, len, offset } => opcode::Write::new(Fd(fd), ptr, len as u32).offset(offset).build(),
        Op::Writev { fd, iov, count, offset } => opcode::Writev::new(Fd(fd), iov, count as u32).offset(offset).build(),
        Op::Sync { fd, data_only } => {
            let flags = if data_only { FsyncFlags::DATASYNC } else { FsyncFlags::empty() };
            opcode::Fsync::new(Fd(fd)).flags(flags).build()
        }
        Op::Allocate { fd, mode, offset, len } => opcode::Fallocate::new(Fd(fd), len).offset(offset).mode(mode).build(),
    }
}

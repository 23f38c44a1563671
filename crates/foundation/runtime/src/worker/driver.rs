//! What a worker waits on: the kernel's rings, or epoll where those are refused.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use super::event::Event;
use super::ring::Ring;
use crate::op::Op;
use crate::serve::socket::word;

#[expect(clippy::large_enum_variant, reason = "one a worker")]
pub(crate) enum Driver {
    Ring(Ring),
    Epoll(Epoll),
}

pub(crate) fn new_eventfd() -> io::Result<OwnedFd> {
    // SAFETY: eventfd gives a new descriptor that nobody else owns, or -1.
    unsafe {
        let fd = libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK);
        if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(OwnedFd::from_raw_fd(fd)) }
    }
}

pub(crate) fn signal(fd: &OwnedFd) {
    let one = 1u64.to_ne_bytes();
    // SAFETY: eight valid bytes are written to an open eventfd.
    unsafe { libc::write(fd.as_raw_fd(), one.as_ptr().cast(), one.len()) };
}

impl Driver {
    /// Waits for events (at most `timeout` ns; `Some(0)` does not wait, `None` waits for ever) and appends them.
    pub(crate) fn wait(&self, timeout: Option<u64>, events: &mut Vec<Event>) {
        match self {
            Driver::Ring(r) => r.wait(timeout, events),
            Driver::Epoll(e) => e.wait(timeout, events),
        }
    }

    /// Events are there: seen without asking the kernel. Where only the kernel knows, `false`.
    pub(crate) fn is_due(&self) -> bool {
        match self {
            Driver::Ring(r) => r.is_due(),
            Driver::Epoll(_) => false,
        }
    }

    /// Starts a file operation.
    ///
    /// # Safety
    /// What the operation points to must stay valid until its event has come.
    pub(crate) unsafe fn start(&self, op: &Op, key: usize, shared: &std::sync::Arc<super::WorkerShared>) {
        match self {
            // SAFETY: passed on.
            Driver::Ring(r) => unsafe { r.start(op, key) },
            Driver::Epoll(_) => {
                struct Send_(Op);
                // SAFETY: the caller keeps what the pointers point to valid; they are used by one thread at a time.
                unsafe impl Send for Send_ {}
                let (op, shared) = (Send_(*op), shared.clone());
                crate::pool::BLOCKING.submit(Box::new(move || {
                    let op = op;
                    let result = op.0.execute();
                    shared.post(super::Message::OpDone { key, result });
                }));
            }
        }
    }
}

pub(crate) struct Epoll {
    fd: OwnedFd,
}

/// Key of the eventfd.
const MAIL: u64 = 0;

impl Epoll {
    pub(crate) fn new(mail: RawFd) -> io::Result<Epoll> {
        // SAFETY: epoll_create1 gives a new descriptor that nobody else owns, or -1.
        let fd = unsafe {
            let fd = libc::epoll_create1(libc::EPOLL_CLOEXEC);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(fd)
        };
        let epoll = Epoll { fd };
        epoll.add(mail, MAIL as usize)?;
        Ok(epoll)
    }

    /// Watches a descriptor, edge-triggered, until it is closed: for bytes to read.
    pub(crate) fn add(&self, fd: RawFd, key: usize) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, 0, fd, key)
    }

    /// Watches it for room to write, too: an event comes at once if there is room already. Not from the beginning on,
    /// for then each reply that its client reads would be an event.
    pub(crate) fn want_room(&self, fd: RawFd, key: usize) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, libc::EPOLLOUT, fd, key)
    }

    fn control(&self, how: i32, more: i32, fd: RawFd, key: usize) -> io::Result<()> {
        let events = (libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLET | more) as u32;
        let mut event = libc::epoll_event { events, u64: key as u64 };
        // SAFETY: both descriptors are open, `event` is valid for the call.
        let n = unsafe { libc::epoll_ctl(self.fd.as_raw_fd(), how, fd, &mut event) };
        if n < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    fn wait(&self, timeout: Option<u64>, events: &mut Vec<Event>) {
        // Not zeroed: three kilobytes a turn.
        let mut found = [const { std::mem::MaybeUninit::<libc::epoll_event>::uninit() }; 256];
        let ms = match timeout {
            None => -1,
            Some(ns) => ns.div_ceil(1_000_000).min(1 << 30) as i32,
        };
        let (fd, most, ms) = (word(self.fd.as_raw_fd()), word(found.len() as i32), word(ms));
        // SAFETY: `found` has room for the number of events given; no set of signals is.
        let n = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait,
                fd,
                found.as_mut_ptr(),
                most,
                ms,
                ptr::null::<libc::sigset_t>(),
                0_usize,
            )
        };
        for e in &found[..n.max(0) as usize] {
            // SAFETY: the call filled in the first `n`.
            let e = unsafe { e.assume_init_ref() };
            let (mask, key) = (e.events as i32, e.u64);
            events.push(if key == MAIL {
                Event::Mail
            } else {
                let hung = mask & (libc::EPOLLHUP | libc::EPOLLERR) != 0;
                Event::Ready {
                    key: key as usize,
                    readable: hung || mask & (libc::EPOLLIN | libc::EPOLLRDHUP) != 0,
                    ended: hung || mask & libc::EPOLLRDHUP != 0,
                    writable: hung || mask & libc::EPOLLOUT != 0,
                }
            });
        }
    }
}

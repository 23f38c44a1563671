//! One worker's io_uring, with its provided receive buffers.

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::types::{BufRingEntry, Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};

use super::event::{Event, RecvMode};
use crate::AlignedBuf;
use crate::op::{Op, entry};

// Kinds of requests, in the low bits of the user data; the rest is a pointer aligned to 16.
const MAIL: u64 = 0;
const OP: u64 = 1;
const RECV: u64 = 2;
const SEND: u64 = 3;
const IGNORE: u64 = 4;
const TAG: u64 = 15;

/// Receive buffers of a worker, shared by its connections: a buffer is in use only from the arrival of bytes until they
/// are copied, a moment later.
const BUFFERS: u16 = 256;
const BUFFER_SIZE: usize = 4096;
const GROUP: u16 = 0;

/// IORING_ENTER_GETEVENTS of io_uring_enter(2).
const GET_EVENTS: u32 = 1;

pub(crate) struct Ring {
    ring: RefCell<IoUring>,
    mail: RawFd,
    mail_buf: Box<Cell<u64>>,
    mail_armed: Cell<bool>,
    /// Completions taken to make room for submissions.
    early: RefCell<Vec<(u64, i32, u32)>>,
    buffers: BufRing,
    mode: RecvMode,
    /// The kernel can say nothing of requests that succeed.
    skips: bool,
}

impl Ring {
    /// Sets up a ring for the calling thread.
    pub(crate) fn new(mail: RawFd, mode: RecvMode) -> io::Result<Ring> {
        const ENTRIES: u32 = 1024;
        let build = |setup: fn(&mut io_uring::Builder)| {
            let mut b = IoUring::builder();
            b.setup_cqsize(4 * ENTRIES);
            setup(&mut b);
            b.build(ENTRIES)
        };
        // Completions are then run only when this thread asks for them, without interrupting it. Kernels that refuse
        // (before 6.1) may not know multishot reception either.
        let (ring, mode) = match build(|b| {
            b.setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag();
        }) {
            Ok(ring) => (ring, mode),
            Err(_) => (build(|_| {})?, RecvMode::Oneshot),
        };
        if !ring.params().is_feature_ext_arg() || !ring.params().is_feature_nodrop() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let buffers = BufRing::new();
        // SAFETY: the entries are page-aligned, of the size given, and live as long as the ring.
        unsafe { ring.submitter().register_buf_ring_with_flags(buffers.base() as u64, BUFFERS, GROUP, 0)? };
        for id in 0..BUFFERS {
            buffers.give_back(id);
        }
        let mail_buf = Box::new(Cell::new(0));
        Ok(Ring {
            skips: ring.params().is_feature_skip_cqe_on_success(),
            ring: RefCell::new(ring),
            mail,
            mail_buf,
            mail_armed: Cell::new(false),
            early: RefCell::default(),
            buffers,
            mode,
        })
    }

    fn push(&self, entry: squeue::Entry) {
        let mut ring = self.ring.borrow_mut();
        loop {
            // SAFETY: whoever makes the entry keeps what it points to valid until it completes.
            if unsafe { ring.submission().push(&entry) }.is_ok() {
                return;
            }
            // Full: hand over what is there. Errors are transient and ask to take completions first.
            if ring.submit().is_err() {
                self.early.borrow_mut().extend(ring.completion().map(|c| (c.user_data(), c.result(), c.flags())));
            }
        }
    }

    /// See [`super::driver::Driver::start`].
    ///
    /// # Safety
    /// What the operation points to must stay valid until its event has come.
    pub(crate) unsafe fn start(&self, op: &Op, key: usize) {
        self.push(entry(op).user_data(key as u64 | OP));
    }

    /// Starts reception on a socket.
    pub(crate) fn receive(&self, fd: RawFd, key: usize) {
        let entry = match self.mode {
            RecvMode::Multishot => opcode::RecvMulti::new(Fd(fd), GROUP).build(),
            RecvMode::Oneshot => opcode::Recv::new(Fd(fd), std::ptr::null_mut(), BUFFER_SIZE as u32)
                .buf_group(GROUP)
                .build()
                .flags(squeue::Flags::BUFFER_SELECT),
        };
        self.push(entry.user_data(key as u64 | RECV));
    }

    /// Asks to end the reception with this key; its last event comes with or without bytes.
    pub(crate) fn cancel_receive(&self, key: usize) {
        self.push(opcode::AsyncCancel::new(key as u64 | RECV).build().user_data(IGNORE));
    }

    /// Sends bytes. `quick`: without waiting for room, and an event comes only if less than all is sent; it comes with
    /// the events of the call of [`Ring::wait`] that hands the request over.
    ///
    /// # Safety
    /// `ptr` must be valid for `len` bytes until the event has come, or that call has returned without one.
    pub(crate) unsafe fn send(&self, fd: RawFd, ptr: *const u8, len: usize, key: usize, quick: bool) {
        let len = len.min(Op::MAX_LEN) as u32;
        // Of a request that may not wait the kernel tells an error, or how much of it is done, as soon as it has tried.
        let (how, flags) = match quick {
            true => (libc::MSG_DONTWAIT, squeue::Flags::SKIP_SUCCESS),
            false => (0, squeue::Flags::empty()),
        };
        let entry = opcode::Send::new(Fd(fd), ptr, len).flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL | how).build();
        self.push(entry.flags(flags).user_data(key as u64 | SEND));
    }

    /// So many bytes may be sent quickly.
    pub(crate) fn sends_quickly(&self, len: usize) -> bool {
        self.skips && len <= Op::MAX_LEN
    }

    /// Requests wait to be handed over.
    pub(crate) fn has_queued(&self) -> bool {
        !self.ring.borrow_mut().submission().is_empty()
    }

    /// Events are there, or will be when they are asked for: seen without a system call, where completions are run on
    /// demand.
    pub(crate) fn is_due(&self) -> bool {
        let mut ring = self.ring.borrow_mut();
        ring.submission().taskrun() || !ring.completion().is_empty()
    }

    /// The bytes of a provided buffer that an event named.
    pub(crate) fn buffer(&self, id: u16, len: usize) -> &[u8] {
        self.buffers.get(id, len)
    }

    /// Lets the kernel use the buffer again: its bytes are no longer needed.
    pub(crate) fn give_back(&self, id: u16) {
        self.buffers.give_back(id);
    }

    pub(crate) fn wait(&self, timeout: Option<u64>, events: &mut Vec<Event>) {
        if !self.mail_armed.replace(true) {
            // The box lives as long as the ring, and the ring is dropped before its memory.
            let entry = opcode::Read::new(Fd(self.mail), self.mail_buf.as_ptr().cast(), 8).build();
            self.push(entry.user_data(MAIL));
        }
        let early = self.early.take();
        let timeout = if early.is_empty() { timeout } else { Some(0) };
        let mut ring = self.ring.borrow_mut();
        // Errors: EINTR and EBUSY ask to look at the completions, ETIME is the timeout. None loses a request.
        let _ = match timeout {
            // With deferred completions only a call that asks for events runs them.
            Some(0) => {
                let queued = ring.submission().len() as u32;
                // SAFETY: no argument is passed, and all entries queued are valid (see `push`).
                unsafe { ring.submitter().enter::<libc::sigset_t>(queued, 0, GET_EVENTS, None) }
            }
            None => ring.submit_and_wait(1),
            Some(ns) => {
                let ts = Timespec::new().sec(ns / 1_000_000_000).nsec((ns % 1_000_000_000) as u32);
                ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&ts))
            }
        };
        let completions = ring.completion().map(|c| (c.user_data(), c.result(), c.flags()));
        for (data, result, flags) in early.into_iter().chain(completions) {
            let key = (data & !TAG) as usize;
            match data & TAG {
                MAIL => {
                    self.mail_armed.set(false);
                    events.push(Event::Mail);
                }
                OP => events.push(Event::Op { key, result }),
                RECV => events.push(Event::Received {
                    key,
                    result,
                    buffer: cqueue::buffer_select(flags),
                    more: cqueue::more(flags),
                }),
                SEND => events.push(Event::Sent { key, result }),
                _ => {}
            }
        }
    }
}

/// The ring of provided buffers: entries that the kernel takes from the head and we add at the tail.
struct BufRing {
    // Dropped after the io_uring (see the field order of `Ring`), which owns the registration.
    entries: AlignedBuf,
    data: AlignedBuf,
    tail: Cell<u16>,
}

impl BufRing {
    fn new() -> Self {
        BufRing {
            entries: AlignedBuf::zeroed(BUFFERS as usize * size_of::<BufRingEntry>()),
            data: AlignedBuf::zeroed(BUFFERS as usize * BUFFER_SIZE),
            tail: Cell::new(0),
        }
    }

    fn base(&self) -> *mut BufRingEntry {
        self.entries.raw().cast()
    }

    fn get(&self, id: u16, len: usize) -> &[u8] {
        assert!(id < BUFFERS && len <= BUFFER_SIZE);
        // SAFETY: inside the data; the kernel has filled this buffer and does not touch it before `give_back`, which
        // the worker calls after its last use of the slice.
        unsafe { std::slice::from_raw_parts(self.data.raw().add(id as usize * BUFFER_SIZE), len) }
    }

    fn give_back(&self, id: u16) {
        let tail = self.tail.get();
        // SAFETY: the index is below the number of entries; the kernel reads entries only below the published tail, and
        // this one lies at the tail: its owner gave it back. The tail is the reserved half-word of the first entry.
        unsafe {
            let entry = &mut *self.base().add((tail & (BUFFERS - 1)) as usize);
            entry.set_addr(self.data.raw() as u64 + id as u64 * BUFFER_SIZE as u64);
            entry.set_len(BUFFER_SIZE as u32);
            entry.set_bid(id);
            self.tail.set(tail.wrapping_add(1));
            let published = BufRingEntry::tail(self.base()).cast_mut();
            AtomicU16::from_ptr(published).store(tail.wrapping_add(1), Ordering::Release);
        }
    }
}

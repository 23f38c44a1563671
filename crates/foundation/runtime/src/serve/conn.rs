use std::cell::Cell;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

use super::socket;
use crate::sim::{self, SimPipe};
use crate::worker::{self, WorkerConn};
use crate::{Interrupt, TaskContext, Unpark, Wait, interrupted, now_ns};

/// Who is at the other end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Peer {
    /// A TCP client.
    Tcp {
        /// Its address.
        peer: SocketAddr,
        /// The address it connected to.
        local: SocketAddr,
    },
    /// A client on a UNIX socket, as the kernel knows it.
    Unix {
        /// User id; `u32::MAX` when unknown.
        uid: u32,
        /// Process id; 0 when unknown.
        pid: i32,
    },
}

/// What lies between a connection and its socket: encryption, compression. A state machine over bytes that never waits.
///
/// An error of any method ends the connection; what the transport still has to say then leaves with
/// [`Transport::close`].
pub trait Transport: Send {
    /// Takes all of `raw`, bytes off the socket, and appends what they say to `input`. It may keep some for
    /// [`Transport::more`].
    fn receive(&mut self, raw: &[u8], input: &mut Vec<u8>) -> io::Result<()>;

    /// Goes on with what was kept, because `input` holds no whole request: `false` when it takes more bytes.
    fn more(&mut self, input: &mut Vec<u8>) -> io::Result<bool> {
        let _ = input;
        Ok(false)
    }

    /// Appends what travels for `plain` to `wire`.
    fn send(&mut self, plain: &[u8], wire: &mut Vec<u8>) -> io::Result<()>;

    /// Appends the last bytes of the connection to `wire`.
    fn close(&mut self, wire: &mut Vec<u8>) {
        let _ = wire;
    }
}

/// Bytes received at once.
pub(super) const RECV_CHUNK: usize = 16 << 10;
/// Buffers that grew beyond this are given back when they are empty.
const KEEP_CAPACITY: usize = 64 << 10;

/// What connects a [`Conn`] to its socket.
pub(crate) enum Link {
    Worker(NonNull<WorkerConn>),
    Sim(SimPipe),
    Thread { fd: Arc<OwnedFd>, recv_timeout: Option<Duration> },
}

/// A thread that waits in the kernel for its client looks this often whether it was killed.
const SLICE: Duration = Duration::from_millis(100);

/// A thread that waits for its client or something else looks for the client this often.
const LOOK_NS: u64 = 2_000_000;

/// How long a thread may wait in the kernel now: an error when the deadline has passed or the task was interrupted.
fn next_slice(deadline: Option<u64>, whose: &Interruptible<'_>) -> io::Result<Duration> {
    if interrupted() && whose.ends() {
        return Err(io::ErrorKind::Interrupted.into());
    }
    match deadline.map(|d| d.saturating_sub(now_ns())) {
        Some(0) => Err(io::ErrorKind::TimedOut.into()),
        Some(left) => Ok(SLICE.min(Duration::from_nanos(left))),
        None => Ok(SLICE),
    }
}

/// What [`Interrupt::Query`] does to a wait for the client.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Statement {
    /// Nothing: no statement runs, and what is received or sent belongs to the connection. It is forgotten.
    None,
    /// It ends the wait.
    Runs,
    /// Nothing yet: the statement is in the middle of a packet. It is kept for later.
    InPacket,
}

/// What ends the waits of a connection.
#[derive(Clone, Copy)]
pub(crate) struct Interruptible<'a> {
    pub(crate) context: &'a TaskContext,
    pub(crate) statement: Statement,
    /// [`Interrupt::Query`] came and is kept.
    pub(crate) kept: &'a Cell<bool>,
}

impl Interruptible<'_> {
    /// The task is interrupted: does that end a wait for the client?
    pub(crate) fn ends(&self) -> bool {
        if self.statement == Statement::Runs || self.context.pending() != Some(Interrupt::Query) {
            return true;
        }
        self.context.clear(Interrupt::Query);
        self.kept.set(self.statement == Statement::InPacket);
        false
    }
}

/// A connection as the service sees it while it serves: received bytes, an output buffer, the peer.
pub struct Conn {
    pub(crate) input: Vec<u8>,
    pub(crate) pos: usize,
    pub(crate) out: Vec<u8>,
    pub(crate) deadline: Option<u64>,
    pub(crate) peer: Peer,
    pub(crate) context: TaskContext,
    pub(crate) link: Link,
    pub(crate) transport: Option<Box<dyn Transport>>,
    statement: Statement,
    kept: Cell<bool>,
    /// Output cannot go on: part of it is lost.
    broken: bool,
    /// As it travels, the rest of what a flush that was interrupted did not send. (A worker keeps what it sends
    /// itself.)
    unsent: Vec<u8>,
}

impl Conn {
    pub(crate) fn new(peer: Peer, context: TaskContext, link: Link) -> Conn {
        Conn {
            input: Vec::new(),
            pos: 0,
            out: Vec::new(),
            deadline: None,
            peer,
            context,
            link,
            transport: None,
            statement: Statement::None,
            kept: Cell::new(false),
            broken: false,
            unsent: Vec::new(),
        }
    }

    /// A statement begins: from now on [`Interrupt::Query`] ends waits for the client too. One that came before is
    /// forgotten.
    #[inline]
    pub fn begin_statement(&mut self) {
        self.context.clear(Interrupt::Query);
        self.statement = Statement::Runs;
    }

    /// The statement has ended: what is still to be sent of its reply, and what is received from now on, is not to be
    /// interrupted by [`Interrupt::Query`], which would break a packet off.
    #[inline]
    pub fn end_statement(&mut self) {
        self.statement = Statement::None;
    }

    pub(crate) fn interruptible(&self) -> Interruptible<'_> {
        Interruptible { context: &self.context, statement: self.statement, kept: &self.kept }
    }

    /// The connection's own waits, between requests.
    pub(crate) fn idle_wait(&self) -> Interruptible<'_> {
        Interruptible { statement: Statement::None, ..self.interruptible() }
    }

    /// Takes the transport away, to put another one around it, and the bytes not yet consumed.
    pub fn take_transport(&mut self) -> (Option<Box<dyn Transport>>, Vec<u8>) {
        let kept = self.input.split_off(self.pos);
        self.input.clear();
        self.pos = 0;
        (self.transport.take(), kept)
    }

    /// Puts a transport between this connection and its socket. `input`: what it has made of the bytes that were
    /// buffered. What is in the output buffer will go through it: flush before.
    pub fn set_transport(&mut self, transport: Box<dyn Transport>, input: Vec<u8>) {
        self.transport = Some(transport);
        self.input = input;
        self.pos = 0;
    }

    /// Keeps bytes that came off the socket.
    #[inline]
    pub(crate) fn receive(&mut self, raw: &[u8]) -> io::Result<()> {
        match &mut self.transport {
            None => self.input.extend_from_slice(raw),
            Some(t) => t.receive(raw, &mut self.input)?,
        }
        Ok(())
    }

    /// Lets the transport go on with what it has kept: `true` when there is more in `input`.
    #[inline]
    pub(crate) fn more(&mut self) -> io::Result<bool> {
        match &mut self.transport {
            None => Ok(false),
            Some(t) => t.more(&mut self.input),
        }
    }

    /// Makes what travels of the output buffer.
    #[inline]
    pub(crate) fn seal(&mut self) -> io::Result<()> {
        if let Some(t) = &mut self.transport {
            let mut wire = Vec::with_capacity(self.out.len() + 64);
            t.send(&self.out, &mut wire)?;
            self.out = wire;
        }
        Ok(())
    }

    /// As [`Conn::seal`], for the last bytes of the connection. What cannot be made is left out.
    pub(crate) fn seal_last(&mut self) {
        if self.transport.is_some() {
            if self.seal().is_err() {
                self.out.clear();
            }
            if let Some(mut t) = self.transport.take() {
                t.close(&mut self.out);
            }
        }
    }

    /// Bytes received and not consumed. They stay where they are until [`Conn::consume`] or [`Conn::fill`]: a request
    /// may be read in place while it is served, across parks.
    #[inline]
    pub fn buffered(&self) -> &[u8] {
        &self.input[self.pos..]
    }

    /// Forgets the first `n` buffered bytes (at most what is buffered).
    #[inline]
    pub fn consume(&mut self, n: usize) {
        self.pos = (self.pos + n).min(self.input.len());
        if self.pos == self.input.len() {
            self.input.clear();
            self.pos = 0;
            if self.input.capacity() > KEEP_CAPACITY {
                self.input = Vec::new();
            }
        }
    }

    /// Parks until more bytes have arrived and gives how many; 0 when the peer has closed.
    ///
    /// # Errors
    /// `TimedOut` after the deadline, `Interrupted` when the task is killed, else the socket's error.
    pub fn fill(&mut self) -> io::Result<usize> {
        if self.pos > 0 {
            self.input.drain(..self.pos);
            self.pos = 0;
        }
        let had = self.input.len();
        loop {
            if self.more()? {
                return Ok(self.input.len() - had);
            }
            let n = if self.transport.is_none() { self.fill_raw()? } else { self.fill_sealed()? };
            // Bytes of which the transport makes nothing yet are no bytes; none at all is the end.
            if n == 0 || self.input.len() > had {
                return Ok(n);
            }
        }
    }

    /// [`Conn::fill_raw`] through the transport: bytes that came off the socket.
    #[cold]
    fn fill_sealed(&mut self) -> io::Result<usize> {
        if let Link::Worker(c) = self.link {
            return worker::fill(c, self);
        }
        let plain = std::mem::take(&mut self.input);
        let filled = self.fill_raw();
        let raw = std::mem::replace(&mut self.input, plain);
        let n = filled?;
        self.receive(&raw)?;
        Ok(n)
    }

    fn fill_raw(&mut self) -> io::Result<usize> {
        match &mut self.link {
            Link::Worker(c) => worker::fill(*c, self),
            Link::Sim(pipe) => {
                let whose = Interruptible { context: &self.context, statement: self.statement, kept: &self.kept };
                sim::fill(pipe, &mut self.input, self.deadline, &whose)
            }
            Link::Thread { fd, recv_timeout, .. } => loop {
                let whose = Interruptible { context: &self.context, statement: self.statement, kept: &self.kept };
                let slice = next_slice(self.deadline, &whose)?;
                if *recv_timeout != Some(slice) {
                    socket::set_timeout(fd, libc::SO_RCVTIMEO, Some(slice))?;
                    *recv_timeout = Some(slice);
                }
                match socket::recv(fd, &mut self.input, RECV_CHUNK, 0) {
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                    other => return other,
                }
            },
        }
    }

    /// Takes the bytes that have arrived, without waiting, and gives how many. [`Conn::park`] ends when more do.
    ///
    /// # Errors
    /// `UnexpectedEof` when the peer has closed, else the socket's error.
    pub fn try_fill(&mut self) -> io::Result<usize> {
        let had = self.buffered().len();
        while self.more()? {}
        let taken = match &mut self.link {
            Link::Worker(c) => worker::try_fill(*c, self),
            Link::Sim(_) | Link::Thread { .. } => self.try_receive(),
        };
        match taken {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => Ok(self.buffered().len() - had),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(self.buffered().len() - had),
            Err(e) => Err(e),
        }
    }

    /// What is there on the socket; `WouldBlock` when nothing is.
    fn try_receive(&mut self) -> io::Result<usize> {
        let mut raw = Vec::new();
        let n = match &mut self.link {
            Link::Thread { fd, .. } => socket::recv(fd, &mut raw, RECV_CHUNK, libc::MSG_DONTWAIT)?,
            Link::Sim(pipe) if pipe.has_bytes() => {
                let whose = Interruptible { context: &self.context, statement: self.statement, kept: &self.kept };
                sim::fill(pipe, &mut raw, self.deadline, &whose)?
            }
            _ => return Err(io::ErrorKind::WouldBlock.into()),
        };
        self.receive(&raw)?;
        Ok(n)
    }

    /// Parks until bytes have arrived, the deadline has passed, or something else wakes the task; what it was is for
    /// the caller to see. A connection with a thread of its own looks every two milliseconds.
    ///
    /// # Errors
    /// `Interrupted` when the task is killed.
    pub fn park(&mut self, why: Wait) -> io::Result<()> {
        let parked = match &self.link {
            Link::Worker(c) => worker::await_any(*c, self, why),
            _ => {
                let soon = now_ns() + LOOK_NS;
                match crate::park(why, Some(self.deadline.map_or(soon, |d| d.min(soon)))) {
                    Unpark::Interrupted if self.interruptible().ends() => Err(io::ErrorKind::Interrupted.into()),
                    _ => Ok(()),
                }
            }
        };
        match parked {
            Err(e) if e.kind() == io::ErrorKind::TimedOut => Ok(()),
            other => other,
        }
    }

    /// The output buffer: append replies here. It leaves with [`Conn::flush`], and when [`super::Service::serve`]
    /// returns.
    #[inline]
    pub fn out(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// Sends the output buffer and empties it. Parks this task only, while the client is slow: on a worker at most what
    /// two flushes gave is on its way, and an error may be reported by the next call.
    ///
    /// # Errors
    /// `Interrupted` when killed: nothing is lost, and the next flush goes on. `TimedOut` after the deadline,
    /// `BrokenPipe` and the like when the peer is gone: the connection is of no use any more, and later flushes fail
    /// too.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.broken {
            self.out.clear();
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if self.out.is_empty() && self.unsent.is_empty() {
            return Ok(());
        }
        let outcome = match self.link {
            Link::Worker(c) => worker::flush(c, self),
            Link::Sim(_) | Link::Thread { .. } => self.flush_all(),
        };
        if let Err(e) = &outcome
            && e.kind() != io::ErrorKind::Interrupted
        {
            self.broken = true;
        }
        outcome
    }

    /// [`Conn::flush`] of a buffer that ends in the middle of a packet, which has to be sent whole:
    /// [`Interrupt::Query`] is seen only when it returns.
    pub fn flush_within_packet(&mut self) -> io::Result<()> {
        let before = std::mem::replace(&mut self.statement, Statement::InPacket);
        let outcome = self.flush();
        self.statement = before;
        if self.kept.take() {
            self.context.interrupt(Interrupt::Query);
        }
        outcome
    }

    /// [`Conn::flush`] where this task sends itself: nothing is on its way afterwards.
    fn flush_all(&mut self) -> io::Result<()> {
        self.send_unsent()?;
        self.seal()?;
        self.unsent = std::mem::take(&mut self.out);
        self.send_unsent()?;
        self.out = std::mem::take(&mut self.unsent);
        if self.out.capacity() > KEEP_CAPACITY {
            self.out = Vec::new();
        }
        Ok(())
    }

    fn send_unsent(&mut self) -> io::Result<()> {
        let whose = Interruptible { context: &self.context, statement: self.statement, kept: &self.kept };
        let mut done = 0;
        let outcome = loop {
            let rest = &self.unsent[done..];
            if rest.is_empty() {
                break Ok(());
            }
            let sent = match &self.link {
                Link::Worker(_) => Ok(rest.len()),
                Link::Sim(pipe) => sim::send(pipe, rest, self.deadline, &whose),
                Link::Thread { fd, .. } => match socket::send(fd, rest, libc::MSG_DONTWAIT) {
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => next_slice(self.deadline, &whose).map(|slice| {
                        socket::wait_writable(fd, slice);
                        0
                    }),
                    sent => sent,
                },
            };
            match sent {
                Ok(n) => done += n,
                Err(e) => break Err(e),
            }
        };
        self.unsent.drain(..done);
        outcome
    }

    /// Whether output may have to wait for the client: what was sent before is not out yet, or that is not known.
    #[inline]
    pub fn may_wait(&self) -> bool {
        match &self.link {
            Link::Worker(c) => worker::is_sending(*c),
            _ => true,
        }
    }

    /// Until when ([`now_ns`]) reads and writes of this connection may wait; `None` for ever. It stays until changed.
    pub fn set_deadline(&mut self, deadline: Option<u64>) {
        self.deadline = deadline;
    }

    /// Who is at the other end.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// The connection's context: what KILL uses, what the process list reads. When the peer disconnects while a request
    /// is served, it is interrupted with [`crate::Interrupt::PeerGone`].
    pub fn context(&self) -> &TaskContext {
        &self.context
    }
}

//! A simulated network: connections in memory, whose bytes arrive late and in pieces.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use gannet_telemetry::Wait;

use super::{io_pause, random_u64};
use crate::serve::{Conn, Interruptible, Link, Peer, Service};
use crate::task::{ContextInner, Route};
use crate::{Interrupt, TaskContext, Unpark, Waker, park, waker};

/// Bytes under way in one direction.
const CAPACITY: usize = 64 << 10;

#[derive(Default)]
struct Lane {
    bytes: VecDeque<u8>,
    closed: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl Lane {
    fn wake(&mut self) {
        self.reader.iter().chain(&self.writer).for_each(Waker::wake);
    }
}

#[derive(Default)]
struct Pipe {
    to_server: Lane,
    to_client: Lane,
}

/// One end's view of a simulated connection.
#[derive(Clone, Default)]
pub(crate) struct SimPipe(Arc<Mutex<Pipe>>);

impl SimPipe {
    fn lock(&self) -> MutexGuard<'_, Pipe> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn lane(pipe: &mut Pipe, to_server: bool) -> &mut Lane {
        if to_server { &mut pipe.to_server } else { &mut pipe.to_client }
    }

    /// The server has something to read, if only the end.
    pub(crate) fn has_bytes(&self) -> bool {
        let mut pipe = self.lock();
        let lane = Self::lane(&mut pipe, true);
        !lane.bytes.is_empty() || lane.closed
    }

    fn read(&self, to_server: bool, to: &mut Vec<u8>, deadline: Option<u64>, whose: Whose<'_>) -> io::Result<usize> {
        loop {
            {
                let mut pipe = self.lock();
                let lane = Self::lane(&mut pipe, to_server);
                if !lane.bytes.is_empty() {
                    // Any number of the bytes that are there: packets come in pieces.
                    let n = 1 + random_u64() as usize % lane.bytes.len();
                    to.extend(lane.bytes.drain(..n));
                    lane.wake();
                    return Ok(n);
                }
                if lane.closed {
                    return Ok(0);
                }
                lane.reader = Some(waker());
            }
            wait(Wait::ClientRead, deadline, whose)?;
        }
    }

    /// Takes some of `bytes`, and says how many.
    fn write(&self, to_server: bool, bytes: &[u8], deadline: Option<u64>, whose: Whose<'_>) -> io::Result<usize> {
        if !io_pause(5, 100) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        loop {
            {
                let mut pipe = self.lock();
                let lane = Self::lane(&mut pipe, to_server);
                if lane.closed {
                    return Err(io::ErrorKind::BrokenPipe.into());
                }
                let n = bytes.len().min(CAPACITY - lane.bytes.len());
                lane.bytes.extend(&bytes[..n]);
                if n > 0 {
                    lane.wake();
                    return Ok(n);
                }
                lane.writer = Some(waker());
            }
            wait(Wait::ClientWrite, deadline, whose)?;
        }
    }

    /// Nothing more comes in either direction; what is under way to the client still arrives.
    pub(crate) fn close(&self) {
        let mut pipe = self.lock();
        for lane in [true, false] {
            let lane = Self::lane(&mut pipe, lane);
            lane.closed = true;
            lane.wake();
        }
    }
}

/// What ends a wait of the server's end; the client's end belongs to a task that nobody interrupts.
type Whose<'a> = Option<&'a Interruptible<'a>>;

fn wait(why: Wait, deadline: Option<u64>, whose: Whose<'_>) -> io::Result<()> {
    loop {
        return match park(why, deadline) {
            Unpark::Woken => Ok(()),
            Unpark::TimedOut => Err(io::ErrorKind::TimedOut.into()),
            Unpark::Interrupted if whose.is_some_and(|w| !w.ends()) => continue,
            Unpark::Interrupted => Err(io::ErrorKind::Interrupted.into()),
        };
    }
}

pub(crate) fn fill(
    pipe: &SimPipe,
    to: &mut Vec<u8>,
    deadline: Option<u64>,
    whose: &Interruptible<'_>,
) -> io::Result<usize> {
    pipe.read(true, to, deadline, Some(whose))
}

pub(crate) fn send(
    pipe: &SimPipe,
    bytes: &[u8],
    deadline: Option<u64>,
    whose: &Interruptible<'_>,
) -> io::Result<usize> {
    pipe.write(false, bytes, deadline, Some(whose))
}

/// The client's end of a simulated connection. Dropping it is a client that vanishes.
pub struct SimClient {
    pipe: SimPipe,
    context: TaskContext,
    /// The server is not told of the end.
    silent: bool,
}

/// Connects to a service: it runs as a task of its own, in the current simulation.
pub fn connect(service: impl FnOnce(&Peer, &TaskContext) -> Box<dyn Service>) -> SimClient {
    let pipe = SimPipe::default();
    let peer = Peer::Unix { uid: 0, pid: 0 };
    let context = TaskContext(ContextInner::new(Route::none()));
    let service = service(&peer, &context);
    let conn = Conn::new(peer, context.clone(), Link::Sim(pipe.clone()));
    let p = pipe.clone();
    super::spawn_task("connection", context.0.clone(), move || {
        crate::serve::run_on_task(service, conn);
        p.close();
    });
    SimClient { pipe, context, silent: false }
}

impl SimClient {
    /// Sends bytes; waits while the server does not read.
    pub fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let n = self.pipe.write(true, rest, None, None)?;
            rest = &rest[n..];
        }
        Ok(())
    }

    /// Appends at least one byte that has arrived; 0 when the server has closed.
    pub fn read(&mut self, to: &mut Vec<u8>) -> io::Result<usize> {
        self.pipe.read(false, to, None, None)
    }

    /// When it is dropped the client is gone without a word, or the network between: the server's end stays open,
    /// nothing comes and nothing is taken any more. For the server that is a slow client, until a timeout of its own.
    pub fn set_silent(&mut self) {
        self.silent = true;
    }

    /// The connection's context.
    pub fn context(&self) -> &TaskContext {
        &self.context
    }
}

impl Drop for SimClient {
    fn drop(&mut self) {
        if self.silent {
            return;
        }
        self.pipe.close();
        self.context.interrupt(Interrupt::PeerGone);
    }
}

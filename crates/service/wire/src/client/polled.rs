//! A UNIX socket that is waited for as MySQL's client library does it.

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A stream whose reader sleeps in poll(2). One that slept in read(2) would be woken twice a request: Linux has one
/// queue of sleepers for a UNIX socket, and wakes it, too, when the server takes the request out of it, since there
/// is room for another one then; a sleeper in poll has said what it waits for.
pub(super) struct Polled {
    stream: UnixStream,
    /// The longest wait.
    patience: PollTimeout,
}

impl Polled {
    pub(super) fn new(stream: UnixStream, patience: Option<Duration>) -> Polled {
        let patience = patience.map_or(PollTimeout::NONE, |p| PollTimeout::try_from(p).unwrap_or(PollTimeout::MAX));
        Polled { stream, patience }
    }
}

impl Read for Polled {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let mut waited = [PollFd::new(self.stream.as_fd(), PollFlags::POLLIN)];
        if poll(&mut waited, self.patience)? == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.stream.read(to)
    }
}

impl Write for Polled {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

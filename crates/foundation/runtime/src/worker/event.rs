//! What a worker is told by the kernel, and how it asks for it.

/// What happened, as the worker's loop sees it. `key` is what the operation was started with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// Somebody wrote to the worker's eventfd.
    Mail,
    /// A file operation ended: byte count or negated error number.
    Op { key: usize, result: i32 },
    /// Bytes arrived in provided buffer `buffer`, or the peer closed (0), or an error. `more` if the reception goes on.
    Received { key: usize, result: i32, buffer: Option<u16>, more: bool },
    /// A send ended.
    Sent { key: usize, result: i32 },
    /// Epoll says that a socket can be read or written, or that its end can be read.
    Ready { key: usize, readable: bool, writable: bool, ended: bool },
}

/// How bytes are received on the ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecvMode {
    /// One request gives many completions.
    Multishot,
    /// One request for each reception.
    Oneshot,
}

/// How replies are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SendMode {
    /// By a system call of their own, at once.
    Direct,
    /// Through the ring, together with other requests.
    Ring,
}

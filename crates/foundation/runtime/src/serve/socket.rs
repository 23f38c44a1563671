//! Thin calls on sockets.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;
use std::time::Duration;

/// An argument of a system call. The calls of each request are made without the C library's own functions, which
/// mark the thread as one that may be cancelled for their time: nobody cancels threads here.
pub(crate) fn word(n: i32) -> libc::c_long {
    libc::c_long::from(n)
}

/// Sends without raising SIGPIPE; may send less.
pub(crate) fn send(fd: &OwnedFd, bytes: &[u8], flags: i32) -> io::Result<usize> {
    loop {
        let (fd, flags) = (word(fd.as_raw_fd()), word(flags | libc::MSG_NOSIGNAL));
        // SAFETY: the slice is valid for the length given, the descriptor is open while borrowed.
        let n = unsafe {
            libc::syscall(
                libc::SYS_sendto,
                fd,
                bytes.as_ptr(),
                bytes.len(),
                flags,
                ptr::null::<libc::sockaddr>(),
                0_usize,
            )
        };
        if n >= 0 {
            return Ok(n as usize);
        }
        let e = io::Error::last_os_error();
        if e.kind() != io::ErrorKind::Interrupted {
            return Err(e);
        }
    }
}

/// Appends what has arrived to `to`, at most `max` bytes; 0 when the peer has closed.
pub(crate) fn recv(fd: &OwnedFd, to: &mut Vec<u8>, max: usize, flags: i32) -> io::Result<usize> {
    to.reserve(max);
    loop {
        let (fd, flags, none) = (word(fd.as_raw_fd()), word(flags), ptr::null_mut::<libc::sockaddr>());
        // SAFETY: `max` spare bytes were reserved behind `len`; the kernel initialises the `n` that are added to it.
        let n = unsafe {
            let free = to.as_mut_ptr().add(to.len());
            let n = libc::syscall(libc::SYS_recvfrom, fd, free, max, flags, none, ptr::null_mut::<libc::socklen_t>());
            if n > 0 {
                to.set_len(to.len() + n as usize);
            }
            n
        };
        if n >= 0 {
            return Ok(n as usize);
        }
        let e = io::Error::last_os_error();
        if e.kind() != io::ErrorKind::Interrupted {
            return Err(e);
        }
    }
}

/// Waits until the socket takes bytes again, at most `timeout`.
pub(crate) fn wait_writable(fd: &OwnedFd, timeout: Duration) {
    let mut poll = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
    // SAFETY: one valid pollfd structure.
    unsafe { libc::poll(&mut poll, 1, timeout.as_millis().max(1) as i32) };
}

/// Sets SO_RCVTIMEO; `None` waits for ever.
pub(crate) fn set_timeout(fd: &OwnedFd, option: i32, timeout: Option<Duration>) -> io::Result<()> {
    let d = timeout.unwrap_or_default();
    let mut tv = libc::timeval { tv_sec: d.as_secs() as libc::time_t, tv_usec: d.subsec_micros() as libc::suseconds_t };
    if timeout.is_some() && tv.tv_sec == 0 && tv.tv_usec == 0 {
        tv.tv_usec = 1;
    }
    set_option(fd, libc::SOL_SOCKET, option, &tv)
}

/// Sends small packets at once.
pub(crate) fn set_nodelay(fd: &OwnedFd) -> io::Result<()> {
    set_option(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, &1i32)
}

fn set_option<T>(fd: &OwnedFd, level: i32, option: i32, value: &T) -> io::Result<()> {
    // SAFETY: `value` is valid for its size for the duration of the call.
    let n = unsafe {
        libc::setsockopt(fd.as_raw_fd(), level, option, (&raw const *value).cast(), size_of::<T>() as libc::socklen_t)
    };
    if n == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Ends reception: a blocked or later recv returns 0. Sending still works.
pub(crate) fn shutdown_read(fd: i32) {
    // SAFETY: a plain system call; the caller keeps the descriptor open.
    unsafe { libc::shutdown(fd, libc::SHUT_RD) };
}

/// User and process at the other end of a UNIX socket.
pub(crate) fn peer_credentials(fd: &OwnedFd) -> Option<libc::ucred> {
    let mut cred = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
    let mut len = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: `cred` and `len` are valid places of the sizes given.
    let n = unsafe {
        libc::getsockopt(fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, (&raw mut cred).cast(), &mut len)
    };
    (n == 0).then_some(cred)
}

/// Ends both directions.
pub(crate) fn shutdown(fd: i32) {
    // SAFETY: a plain system call; the caller keeps the descriptor open.
    unsafe { libc::shutdown(fd, libc::SHUT_RDWR) };
}

/// Calls on the socket no longer wait.
pub(crate) fn set_nonblocking(fd: i32) {
    // SAFETY: plain system calls; the caller keeps the descriptor open.
    unsafe { libc::fcntl(fd, libc::F_SETFL, libc::fcntl(fd, libc::F_GETFL) | libc::O_NONBLOCK) };
}

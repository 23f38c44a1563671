//! Thin calls on sockets.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
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

/// Connects a plain blocking socket, from an address of this machine if one is given, in so long at most.
pub fn connect_from(from: Option<IpAddr>, to: SocketAddr, timeout: Option<Duration>) -> io::Result<TcpStream> {
    let Some(from) = from else {
        return match timeout {
            Some(timeout) => TcpStream::connect_timeout(&to, timeout),
            None => TcpStream::connect(to),
        };
    };
    let family = if from.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    // SAFETY: the call takes numbers alone.
    let fd = unsafe { libc::socket(family, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call above has opened it, and nobody else has it.
    let stream = TcpStream::from(unsafe { OwnedFd::from_raw_fd(fd) });
    named(&stream, libc::bind, SocketAddr::new(from, 0))?;
    // What bounds a write bounds connecting, too (socket(7)).
    stream.set_write_timeout(timeout)?;
    named(&stream, libc::connect, to)?;
    stream.set_write_timeout(None)?;
    Ok(stream)
}

/// One of the calls that give a socket an address.
type Naming = unsafe extern "C" fn(libc::c_int, *const libc::sockaddr, libc::socklen_t) -> libc::c_int;

fn named(stream: &TcpStream, call: Naming, address: SocketAddr) -> io::Result<()> {
    let fd = stream.as_raw_fd();
    let n = match address {
        SocketAddr::V4(v4) => {
            let it = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                sin_zero: [0; 8],
            };
            // SAFETY: the descriptor is open while borrowed; the address is of the size given.
            unsafe { call(fd, ptr::from_ref(&it).cast(), size_of_val(&it) as libc::socklen_t) }
        }
        SocketAddr::V6(v6) => {
            let it = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                sin6_scope_id: v6.scope_id(),
            };
            // SAFETY: as above.
            unsafe { call(fd, ptr::from_ref(&it).cast(), size_of_val(&it) as libc::socklen_t) }
        }
    };
    match n {
        0 => Ok(()),
        _ => match io::Error::last_os_error() {
            e if e.raw_os_error() == Some(libc::EINPROGRESS) => Err(io::ErrorKind::TimedOut.into()),
            e => Err(e),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The peer sees the address; one that is not of this machine is refused.
    #[test]
    fn a_connection_comes_from_the_address_that_is_given() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        let from = |ip: &str| connect_from(Some(ip.parse().unwrap()), to, Some(Duration::from_secs(5)));
        let ours = from("127.0.0.7").unwrap();
        let (_, peer) = listener.accept().unwrap();
        assert_eq!((peer.ip().to_string(), peer), ("127.0.0.7".to_owned(), ours.local_addr().unwrap()));
        assert_eq!(from("192.0.2.1").unwrap_err().kind(), io::ErrorKind::AddrNotAvailable);
        assert_eq!(from("::1").unwrap_err().raw_os_error(), Some(libc::EINVAL));
    }
}

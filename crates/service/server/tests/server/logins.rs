//! Logins that are slow, silent, many or of old clients.

use crate::common::{PATIENCE, Running, one, options, rows, run};
use gannet_core::Core;
use gannet_core::accounts::{Origin, Way, authenticate};
use gannet_server::vars::{Live, VarValue};
use gannet_wire::auth::{self, NONCE};
use gannet_wire::client::{Address, Connection, Options};
use gannet_wire::flags::{cap, com};
use gannet_wire::frame::Writer;
use gannet_wire::handshake::{Greeting, Login};
use std::io::{Read, Write};
use std::net::{IpAddr, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Both ways to serve connections, few sessions at a time.
fn servers() -> [Running; 2] {
    [
        Running::configured(|o| {
            o.set(Live::MaxConnections, VarValue::Int(8));
        }),
        Running::configured(|o| {
            o.set(Live::MaxConnections, VarValue::Int(8));
            o.set(Live::ThreadHandling, VarValue::text("one-thread-per-connection"));
        }),
    ]
}

fn address(r: &Running) -> std::net::SocketAddr {
    r.server().tcp().expect("networking")
}

#[test]
fn silent_clients_keep_nobody_out() {
    for r in servers() {
        let mut root = r.connect();
        run(&mut root, "CREATE USER u@localhost");
        run(&mut root, "SET GLOBAL connect_timeout = 100000");
        let mut silent: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(address(&r)).unwrap()).collect();
        let quiet: Vec<UnixStream> =
            (0..40).map(|_| UnixStream::connect(r.server().socket().unwrap()).unwrap()).collect();
        let user = Options { user: "u".into(), ..options() };
        let start = Instant::now();
        let over_tcp: Vec<Connection> = (0..4).map(|_| Connection::connect(&r.tcp(), &user).unwrap()).collect();
        let over_socket: Vec<Connection> = (0..3).map(|_| Connection::connect(&r.socket(), &user).unwrap()).collect();
        // The sessions are used up; one more is for administrators.
        assert_eq!(Connection::connect(&r.socket(), &user).unwrap_err().code(), Some(1040));
        let mut admin = Connection::connect(&r.tcp(), &options()).unwrap();
        assert_eq!(Connection::connect(&r.socket(), &options()).unwrap_err().code(), Some(1040));
        assert!(start.elapsed() < PATIENCE, "they wait for the silent ones: {:?}", start.elapsed());
        assert_eq!(one(&mut admin, "SELECT 1"), "1");
        // The oldest of the silent ones had to go; the last ones may still log in.
        let mut first = Vec::new();
        silent[0].set_read_timeout(Some(PATIENCE)).unwrap();
        silent[0].read_to_end(&mut first).unwrap();
        let silent_ones = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'unauthenticated user'";
        let mut waiting = || one(&mut admin, silent_ones).parse::<usize>().unwrap();
        // Each goes by itself, when its worker has time.
        while waiting() > 40 {
            assert!(start.elapsed() < PATIENCE, "{}", waiting());
        }
        assert!(waiting() > 0);
        // Those that end give their places back.
        drop((over_tcp, over_socket, silent, quiet));
        let until = Instant::now() + PATIENCE;
        while Connection::connect(&r.tcp(), &user).is_err() {
            assert!(Instant::now() < until);
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Clients that begin, by asking for TLS, with the start of its handshake or with that of a packet, and do not go on.
#[test]
fn begun_logins_keep_nobody_out() {
    let request = [&[32, 0, 0, 1][..], &(OLD | cap::SSL).to_le_bytes(), &[0; 28]].concat();
    // A record that says it has 16 KiB; one that is not there as a whole.
    let hello = [&request[..], &[0x16, 3, 1, 0x40, 0]].concat();
    for r in servers() {
        let mut root = r.connect();
        run(&mut root, "SET GLOBAL connect_timeout = 60");
        let begun = [&request[..], &hello, &[200, 0, 0, 1, 0]].map(|begin| {
            let open = |_| {
                let mut stream = TcpStream::connect(address(&r)).unwrap();
                // It may have to go already.
                let _ = stream.write_all(begin);
                stream
            };
            (0..100).map(open).collect::<Vec<TcpStream>>()
        });
        for _ in 0..20 {
            let mut c = Connection::connect(&r.tcp(), &options()).expect("there is room");
            assert_eq!(one(&mut c, "SELECT 1"), "1");
        }
        drop(begun);
    }
}

#[test]
fn a_crowd_of_logins_comes_in() {
    let r = Running::configured(|o| {
        o.set(Live::MaxConnections, VarValue::Int(100));
    });
    let barrier = std::sync::Barrier::new(100);
    std::thread::scope(|s| {
        for _ in 0..100 {
            s.spawn(|| {
                barrier.wait();
                let mut c = Connection::connect(&r.tcp(), &options()).unwrap();
                barrier.wait();
                assert_eq!(one(&mut c, "SELECT 1"), "1");
            });
        }
    });
}

/// An old client, which knows no plugins.
struct Old {
    stream: TcpStream,
    nonce: [u8; NONCE],
}

const OLD: u32 = cap::PROTOCOL_41 | cap::SECURE_CONNECTION;

impl Old {
    fn connect(r: &Running, user: &str, password: &str) -> (Old, Vec<u8>) {
        let stream = TcpStream::connect(address(r)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut old = Old { stream, nonce: [0; NONCE] };
        let greeting = old.receive();
        old.nonce = Greeting::read(&greeting).unwrap().nonce;
        let login = Login {
            capabilities: OLD,
            max_packet: 1 << 24,
            collation: 45,
            user: user.into(),
            response: response(password, &old.nonce),
            ..Login::default()
        };
        let (mut out, mut sequence) = (Vec::new(), 1);
        login.write(&mut Writer::new(&mut out, &mut sequence));
        old.stream.write_all(&out).unwrap();
        let reply = old.receive();
        (old, reply)
    }

    /// COM_CHANGE_USER, answering the greeting's nonce as such clients do.
    fn change_user(&mut self, user: &str, password: &str) -> Vec<u8> {
        let response = response(password, &self.nonce);
        let head = [com::CHANGE_USER];
        let body = [&head[..], user.as_bytes(), &[0, response.len() as u8], &response, &[0, 45, 0]].concat();
        self.ask(&body)
    }

    fn ask(&mut self, body: &[u8]) -> Vec<u8> {
        let (mut out, mut sequence) = (Vec::new(), 0);
        Writer::new(&mut out, &mut sequence).packet(body);
        self.stream.write_all(&out).unwrap();
        self.receive()
    }

    fn receive(&mut self) -> Vec<u8> {
        let mut head = [0; 4];
        self.stream.read_exact(&mut head).unwrap();
        let mut body = vec![0; u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize];
        self.stream.read_exact(&mut body).unwrap();
        body
    }
}

fn response(password: &str, nonce: &[u8; NONCE]) -> Vec<u8> {
    if password.is_empty() { Vec::new() } else { auth::native_response(password.as_bytes(), nonce) }
}

/// The number of an ERR packet; 0 of another.
fn code(reply: &[u8]) -> u16 {
    if reply[0] == 0xFF { u16::from_le_bytes([reply[1], reply[2]]) } else { 0 }
}

#[test]
fn old_clients_change_their_user() {
    let r = Running::start();
    let mut root = r.connect();
    run(&mut root, "CREATE USER a@localhost IDENTIFIED WITH mysql_native_password BY 'one'");
    run(&mut root, "CREATE USER b@localhost IDENTIFIED WITH mysql_native_password BY 'two'");
    run(&mut root, "CREATE USER c@localhost IDENTIFIED BY 'three'");
    run(&mut root, "CREATE USER e@localhost");
    let (mut old, reply) = Old::connect(&r, "a", "one");
    assert_eq!(code(&reply), 0);
    for (user, password) in [("b", "two"), ("a", "one"), ("a", "one"), ("e", ""), ("b", "two")] {
        assert_eq!(code(&old.change_user(user, password)), 0, "{user}");
        assert_eq!(code(&old.ask(&[com::PING])), 0);
    }
    // Each refusal ends the connection.
    for (user, password, error) in [("b", "one", 1045), ("nobody", "x", 1045), ("b", "", 1045), ("c", "three", 1251)] {
        let (mut old, reply) = Old::connect(&r, "a", "one");
        assert_eq!(code(&reply), 0);
        let refused = code(&old.change_user(user, password));
        assert!(refused == error || (user == "nobody" && refused == 1251), "{user}: {refused}");
        assert_eq!(old.stream.read(&mut [0; 1]).unwrap(), 0);
    }
}

/// What a service without the handshake's packets is told of a login: 0, or the number of the error.
fn log_in(core: &Arc<Core>, user: &'static str, password: &'static str, secure: bool) -> u16 {
    let core = core.clone();
    let task = gannet_runtime::spawn("login", move || {
        let way = Way::default();
        let login = authenticate(&core, (user, password.as_bytes()), Origin::Local(None), secure, way);
        login.map_or_else(|e| e.number(), |account| if account.user == user { 0 } else { u16::MAX })
    });
    task.join().unwrap()
}

#[test]
fn any_service_logs_clients_in_as_the_handshake_does() {
    let r = Running::start();
    let mut c = r.connect();
    for sql in [
        "CREATE USER sha2@localhost IDENTIFIED BY 'right'",
        "CREATE USER native@localhost IDENTIFIED WITH mysql_native_password BY 'right'",
        "CREATE USER sha256@localhost IDENTIFIED WITH sha256_password BY 'right'",
        "CREATE USER guarded@localhost IDENTIFIED BY 'right' FAILED_LOGIN_ATTEMPTS 2 PASSWORD_LOCK_TIME 1",
        "CREATE USER locked@localhost IDENTIFIED BY 'right' ACCOUNT LOCK",
        "CREATE USER tls@localhost IDENTIFIED BY 'right' REQUIRE SSL",
        "CREATE USER old@localhost IDENTIFIED BY 'right' PASSWORD EXPIRE",
        "CREATE USER open@localhost",
    ] {
        run(&mut c, sql);
    }
    let core = r.server().core();
    for user in ["sha2", "native", "sha256"] {
        // The second time there is a digest in memory.
        assert_eq!([(); 2].map(|()| log_in(core, user, "right", true)), [0, 0], "{user}");
        assert_eq!(["wrong", ""].map(|p| log_in(core, user, p, true)), [1045, 1045], "{user}");
    }
    let digest = |user: &str| core.accounts.get(user, "localhost").unwrap().fast_digest().is_some();
    assert!(digest("sha2"));
    run(&mut c, "FLUSH PRIVILEGES");
    assert!(!digest("sha2"));
    assert_eq!((log_in(core, "sha2", "right", true), digest("sha2")), (0, true));
    for (user, password, expected) in [
        ("open", "", 0),
        ("open", "some", 1045),
        ("nobody", "some", 1045),
        ("locked", "right", 3118),
        ("locked", "wrong", 1045),
        ("tls", "right", 1045),
        ("old", "right", 1862),
        ("guarded", "wrong", 1045),
        ("guarded", "wrong", 3955),
        ("guarded", "right", 3955),
    ] {
        assert_eq!(log_in(core, user, password, true), expected, "{user} {password}");
    }
    run(&mut c, "ALTER USER sha2@localhost IDENTIFIED BY 'new' RETAIN CURRENT PASSWORD");
    assert_eq!(["new", "right", "old"].map(|p| log_in(core, "sha2", p, true)), [0, 0, 1045]);
    // Whoever guesses waits longer each time, a name without an account among them.
    let start = Instant::now();
    (0..4).for_each(|_| assert_eq!(log_in(core, "nobody", "guess", true), 1045));
    assert!(start.elapsed() >= Duration::from_millis(500), "{:?}", start.elapsed());
    run(&mut c, "SET GLOBAL require_secure_transport = 1");
    assert_eq!([true, false].map(|secure| log_in(core, "open", "", secure)), [0, 3159]);
}

/// An address of this machine that is not its loopback, if it has one.
fn outward() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    // Nothing is sent.
    socket.connect("198.51.100.1:9").ok()?;
    socket.local_addr().ok().map(|at| at.ip()).filter(|ip| !ip.is_loopback() && !ip.is_unspecified())
}

#[test]
fn a_wrong_password_is_no_broken_handshake() {
    let Some(ip) = outward() else { return eprintln!("no network: nothing is tested") };
    // Beyond the loopback it goes when root has a password.
    static GUARDED: AtomicBool = AtomicBool::new(false);
    let mut r = Running::configured(|o| {
        let bind = if GUARDED.load(Relaxed) { "0.0.0.0" } else { "127.0.0.1" };
        o.set(Live::BindAddress, VarValue::text(bind));
        o.set(Live::MaxConnectErrors, VarValue::Int(2));
    });
    run(&mut r.connect(), "ALTER USER root@localhost IDENTIFIED BY 'secret'");
    GUARDED.store(true, Relaxed);
    r.restart();
    let mut root =
        Connection::connect(&r.socket(), &Options { password: "secret".into(), ..options() }).expect("root connects");
    run(&mut root, "CREATE USER u IDENTIFIED WITH mysql_native_password BY 'right'");
    let at = Address::Tcp(ip.to_string(), address(&r).port());
    let log_in = |password: &str| {
        let options = Options { user: "u".into(), password: password.into(), ..options() };
        Connection::connect(&at, &options).map(drop).map_err(|e| e.code().unwrap_or_default())
    };
    // Each connection is told of before the next one comes.
    let errors = "SELECT SUM_CONNECT_ERRORS, COUNT_AUTHENTICATION_ERRORS, COUNT_HANDSHAKE_ERRORS \
                  FROM performance_schema.host_cache";
    let mut wait = |expected: [&str; 3]| {
        let start = Instant::now();
        while rows(&mut root, errors) != [expected] {
            assert!(start.elapsed() < PATIENCE, "{:?}", rows(&mut root, errors));
        }
    };
    for n in ["1", "2", "3"] {
        assert_eq!(log_in("wrong"), Err(1045));
        wait(["0", n, "0"]);
    }
    for n in ["1", "2"] {
        drop(TcpStream::connect((ip, address(&r).port())).unwrap());
        wait([n, "3", n]);
    }
    assert_eq!(log_in("right"), Err(1129));
}

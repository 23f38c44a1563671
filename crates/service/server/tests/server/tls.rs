//! TLS: certificates made at the first start, the upgrade of a connection, what accounts and variables ask for.

use crate::common::{PATIENCE, Running, error, one, options, run, within};
use gannet_server::vars::{Live, VarValue};
use gannet_wire::client::{Address, Connection, Options, Tls};
use gannet_wire::tls::Identity;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

fn encrypted(tls: Tls) -> Options {
    Options { tls: Some(tls), ..options() }
}

fn any() -> Options {
    encrypted(Tls::default())
}

fn read(r: &Running, name: &str) -> Vec<u8> {
    std::fs::read(r.dir.join(name)).unwrap()
}

fn text(r: &Running, name: &str) -> String {
    String::from_utf8(read(r, name)).unwrap()
}

fn status(c: &mut Connection, name: &str) -> String {
    crate::common::rows(c, &format!("SHOW SESSION STATUS LIKE '{name}'")).remove(0).remove(1)
}

#[test]
fn connections_are_upgraded_over_tcp_and_socket() {
    let r = Running::start();
    let mode = |name: &str| std::fs::metadata(r.dir.join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("server-key.pem"), mode("ca-key.pem"), mode("client-key.pem")), (0o600, 0o600, 0o600));
    let verified = encrypted(Tls { ca: Some(read(&r, "ca.pem")), ..Tls::default() });
    for at in [r.tcp(), r.socket()] {
        let mut c = Connection::connect(&at, &verified).unwrap();
        assert_eq!(status(&mut c, "Ssl_version"), "TLSv1.3");
        assert!(status(&mut c, "Ssl_cipher").starts_with("TLS_"));
        assert!(status(&mut c, "Ssl_cipher_list").contains(":ECDHE-RSA-AES128-GCM-SHA256"));
        assert!(status(&mut c, "Ssl_server_not_after").ends_with(" GMT"));
        // Larger than a record, and than what is sent at once, in both directions.
        let long = "x".repeat(300_000);
        assert_eq!(one(&mut c, &format!("SELECT LENGTH('{long}')")), "300000");
        assert_eq!(one(&mut c, "SELECT REPEAT('y', 700000)").len(), 700_000);
    }
    let mut plain = Connection::connect(&r.tcp(), &options()).unwrap();
    assert_eq!(status(&mut plain, "Ssl_cipher"), "");
    let mut c = Connection::connect(&r.tcp(), &any()).unwrap();
    assert!(
        one(
            &mut c,
            "SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Ssl_finished_accepts'"
        )
        .parse::<u32>()
        .unwrap()
            >= 3
    );
    // Another server's authority does not vouch for this one.
    let other = Running::start();
    let e = Connection::connect(&r.tcp(), &encrypted(Tls { ca: Some(read(&other, "ca.pem")), ..Tls::default() }));
    assert_eq!(e.unwrap_err().to_string(), "TLS: invalid peer certificate: BadSignature");
}

#[test]
fn threads_of_their_own_serve_tls_too() {
    let r = Running::configured(|o| o.set(Live::ThreadHandling, VarValue::text("one-thread-per-connection")));
    let mut c = Connection::connect(&r.tcp(), &any()).unwrap();
    assert_eq!(status(&mut c, "Ssl_version"), "TLSv1.3");
    assert_eq!(one(&mut c, "SELECT REPEAT('y', 700000)").len(), 700_000);
}

#[test]
fn full_authentication_sends_the_password_through_the_tunnel() {
    let r = Running::start();
    run(&mut r.connect(), "CREATE USER u@localhost IDENTIFIED WITH caching_sha2_password BY 'secret'");
    let login = |password: &str| {
        Connection::connect(&r.tcp(), &Options { user: "u".into(), password: password.into(), ..any() })
    };
    assert_eq!(login("wrong").unwrap_err().code(), Some(1045));
    for _ in 0..2 {
        login("secret").unwrap();
    }
}

#[test]
fn accounts_and_variables_ask_for_it() {
    let r = Running::start();
    let mut root = r.connect();
    for (name, require) in [
        ("s", "SSL"),
        ("x", "X509"),
        ("subject", "SUBJECT '/CN=MySQL_Server_8.4.0_Auto_Generated_Client_Certificate'"),
        ("other", "SUBJECT '/CN=somebody else'"),
        ("issuer", "ISSUER '/CN=MySQL_Server_8.4.0_Auto_Generated_CA_Certificate'"),
        ("cipher", "CIPHER 'TLS_AES_128_GCM_SHA256'"),
    ] {
        run(&mut root, &format!("CREATE USER {name}@localhost REQUIRE {require}"));
    }
    let identity = Identity { certificate: text(&r, "client-cert.pem"), key: text(&r, "client-key.pem") };
    let own = Tls { identity: Some(identity), ..Tls::default() };
    let login = |user: &str, at: &Address, tls: Option<&Tls>| {
        let o = Options { user: user.into(), tls: tls.cloned(), ..options() };
        match Connection::connect(at, &o) {
            Ok(_) => 0,
            Err(e) => e.code().unwrap_or(1),
        }
    };
    let anonymous = Tls::default();
    let tcp = r.tcp();
    for (user, without, with, certified) in [
        ("s", 1045, 0, 0),
        ("x", 1045, 1045, 0),
        ("subject", 1045, 1045, 0),
        ("other", 1045, 1045, 1045),
        ("issuer", 1045, 1045, 0),
        ("cipher", 1045, 0, 0),
    ] {
        let got = [login(user, &tcp, None), login(user, &tcp, Some(&anonymous)), login(user, &tcp, Some(&own))];
        assert_eq!(got, [without, with, certified], "{user}");
    }
    // A certificate of an authority that is not ours does not even finish the handshake.
    let other = Running::start();
    let identity = Identity { certificate: text(&other, "client-cert.pem"), key: text(&other, "client-key.pem") };
    assert_ne!(login("root", &tcp, Some(&Tls { identity: Some(identity), ..Tls::default() })), 0);

    run(&mut root, "SET GLOBAL require_secure_transport = ON");
    assert_eq!(login("root", &tcp, None), 3159);
    assert_eq!((login("root", &tcp, Some(&anonymous)), login("root", &r.socket(), None)), (0, 0));
}

#[test]
fn certificates_are_read_anew_when_asked() {
    let r = Running::start();
    let mut c = r.connect();
    assert_eq!(one(&mut c, "SELECT @@ssl_cert"), "server-cert.pem");
    assert_eq!(error(&mut c, "SET GLOBAL tls_version = 'TLSv1.1'"), 1231);
    run(&mut c, "SET GLOBAL tls_version = 'TLSv1.2'");
    let version = |r: &Running| status(&mut Connection::connect(&r.tcp(), &any()).unwrap(), "Ssl_version");
    assert_eq!(version(&r), "TLSv1.3");
    run(&mut c, "ALTER INSTANCE RELOAD TLS");
    assert_eq!(version(&r), "TLSv1.2");
    run(&mut c, "SET GLOBAL ssl_key = 'nowhere.pem'");
    assert_eq!(error(&mut c, "ALTER INSTANCE RELOAD TLS"), 3888);
    assert_eq!(version(&r), "TLSv1.2");
    run(&mut c, "ALTER INSTANCE RELOAD TLS NO ROLLBACK ON ERROR");
    assert_eq!(Connection::connect(&r.tcp(), &any()).unwrap_err().code(), None);
    Connection::connect(&r.tcp(), &options()).unwrap();
    run(&mut c, "SET GLOBAL ssl_key = 'server-key.pem'");
    run(&mut c, "ALTER INSTANCE RELOAD TLS FOR CHANNEL mysql_main");
    assert_eq!(version(&r), "TLSv1.2");
    assert_eq!(error(&mut c, "ALTER INSTANCE ROTATE INNODB MASTER KEY"), 1235);
    run(&mut c, "CREATE USER nobody@localhost");
    let mut nobody = Connection::connect(&r.tcp(), &Options { user: "nobody".into(), ..options() }).unwrap();
    assert_eq!(error(&mut nobody, "ALTER INSTANCE RELOAD TLS"), 1227);
}

#[test]
fn files_survive_a_restart_and_can_be_off() {
    let mut r = Running::start();
    let before = read(&r, "server-cert.pem");
    r.restart();
    assert_eq!(read(&r, "server-cert.pem"), before);
    let off = Running::configured(|o| o.set(Live::TlsVersion, VarValue::text("")));
    assert!(!off.dir.join("ca.pem").exists());
    assert_eq!(Connection::connect(&off.tcp(), &any()).unwrap_err().code(), None);
    Connection::connect(&off.tcp(), &options()).unwrap();
}

/// The greeting's bytes, read off.
fn greeted(r: &Running) -> TcpStream {
    let Address::Tcp(host, port) = r.tcp() else { unreachable!() };
    let mut s = TcpStream::connect((host, port)).unwrap();
    s.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut head = [0; 4];
    s.read_exact(&mut head).unwrap();
    let mut body = vec![0; u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize];
    s.read_exact(&mut body).unwrap();
    s
}

/// SSLRequest of a client with the usual capabilities.
fn ssl_request() -> Vec<u8> {
    use gannet_wire::flags::cap;
    let capabilities = cap::PROTOCOL_41 | cap::SSL | cap::SECURE_CONNECTION | cap::PLUGIN_AUTH;
    let mut p = vec![32, 0, 0, 1];
    p.extend(capabilities.to_le_bytes());
    p.extend([0, 0, 0, 1, 255]);
    p.extend([0; 23]);
    p
}

#[test]
fn garbage_and_silence_in_the_handshake_end_the_connection() {
    let r = Running::configured(|o| o.set(Live::ConnectTimeout, VarValue::Int(2)));
    // Garbage, alone and in one piece with the request: an alert, then the end.
    for together in [true, false] {
        let mut s = greeted(&r);
        let (request, garbage) = (ssl_request(), b"this is no ClientHello at all".to_vec());
        if together {
            s.write_all(&[request, garbage].concat()).unwrap()
        } else {
            s.write_all(&request).unwrap();
            s.write_all(&garbage).unwrap();
        }
        let mut rest = Vec::new();
        s.read_to_end(&mut rest).unwrap();
        assert_eq!(rest.first(), Some(&0x15), "{rest:?}");
    }
    // Silence after the request, and in the middle of a record.
    for tail in [&[][..], &[0x16, 3, 1, 2, 0, 1, 0]] {
        within(Duration::from_secs(6), "a silent one is cut off", || {
            let started = Instant::now();
            let mut s = greeted(&r);
            s.write_all(&[&ssl_request()[..], tail].concat()).unwrap();
            let mut rest = Vec::new();
            let _ = s.read_to_end(&mut rest);
            let waited = started.elapsed();
            assert!(waited > Duration::from_secs(1), "{waited:?}");
            waited
        });
    }
    // The server is well.
    assert_eq!(one(&mut r.connect(), "SELECT 1"), "1");
}

//! How a replica connects: whom it trusts, what it encrypts with, under which key a password travels, from where.

use crate::common::{self, PATIENCE, Running, error, one, run};
use crate::replica::{Following, change, source, status, without_log};
use gannet_wire::client::{Address, Connection};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// An authority, a server's certificate for localhost and 127.0.0.1 of it, and two lists of what it has revoked: nothing,
/// and that certificate.
const CERTIFICATES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/server/certificates");

/// Asks the receiver to connect with these options: "", or the number and the text of what is wrong.
fn attempt(q: &mut Connection, options: &str) -> String {
    run(q, "STOP REPLICA");
    run(q, &format!("CHANGE REPLICATION SOURCE TO {options}"));
    run(q, "START REPLICA IO_THREAD");
    let until = Instant::now() + PATIENCE;
    loop {
        assert!(Instant::now() < until, "{options}: it neither connects nor fails");
        match (status(q, "Replica_IO_Running").as_str(), status(q, "Last_IO_Errno").as_str()) {
            ("Yes", _) => return String::new(),
            (_, "0") => std::thread::sleep(Duration::from_millis(10)),
            (_, number) => return format!("{number} {}", status(q, "Last_IO_Error")),
        }
    }
}

fn refused(q: &mut Connection, options: &str) -> u16 {
    run(q, "STOP REPLICA");
    error(q, &format!("CHANGE REPLICATION SOURCE TO {options}"))
}

/// The source has these certificates.
fn certified(s: &Running, c: &mut Connection, from: &Path, (certificate, key): (&str, &str)) {
    std::fs::copy(from.join(certificate), s.dir.join("server-cert.pem")).unwrap();
    std::fs::copy(from.join(key), s.dir.join("server-key.pem")).unwrap();
    run(c, "ALTER INSTANCE RELOAD TLS");
}

#[test]
fn the_source_proves_who_it_is() {
    let s = source();
    let mut c = s.connect();
    let following = Following::start(without_log);
    let mut q = following.r.connect();
    change(&mut q, &s, "SOURCE_AUTO_POSITION = 1, SOURCE_SSL = 1");
    let own = s.dir.join("ca.pem");
    let fixed = PathBuf::from(CERTIFICATES);
    let ca = fixed.join("ca.pem");
    let trusts =
        |ca: &Path, verify: u8| format!("SOURCE_SSL_CA = '{}', SOURCE_SSL_VERIFY_SERVER_CERT = {verify}", ca.display());

    assert_eq!(attempt(&mut q, "SOURCE_SSL = 1"), "");
    assert_eq!(attempt(&mut q, &trusts(&own, 1)), "");
    let untrusted = attempt(&mut q, &trusts(&ca, 0));
    assert!(untrusted.starts_with("2026 ") && untrusted.contains("SSL connection error: invalid peer"), "{untrusted}");
    let needs = attempt(&mut q, "SOURCE_SSL_CA = '', SOURCE_SSL_VERIFY_SERVER_CERT = 1");
    assert!(needs.starts_with("2026 ") && needs.contains("SOURCE_SSL_CAPATH"), "{needs}");

    // A certificate of this authority that is for somebody else: good without a name, and no other way.
    let other = std::path::Path::new(&s.dir).join("other");
    std::fs::create_dir(&other).unwrap();
    let made = gannet_wire::tls::certificate::make("Test", &["elsewhere.example"], now_s()).unwrap();
    for (name, text) in
        [("ca.pem", made.ca.certificate), ("cert.pem", made.server.certificate), ("key.pem", made.server.key)]
    {
        std::fs::write(other.join(name), text).unwrap();
    }
    certified(&s, &mut c, &other, ("cert.pem", "key.pem"));
    let ca_of_other = other.join("ca.pem");
    assert_eq!(attempt(&mut q, &trusts(&ca_of_other, 0)), "");
    let misnamed = attempt(&mut q, &trusts(&ca_of_other, 1));
    assert!(misnamed.starts_with("2026 ") && misnamed.contains("not valid for name"), "{misnamed}");

    // Another authority's, in a file beside others, and in a directory as OpenSSL has it.
    certified(&s, &mut c, &fixed, ("server.pem", "server-key.pem"));
    let both = s.dir.join("both.pem");
    std::fs::write(&both, [std::fs::read(&own).unwrap(), std::fs::read(&ca).unwrap()].concat()).unwrap();
    assert_eq!(attempt(&mut q, &trusts(&both, 1)), "");
    let hashed = s.dir.join("hashed");
    std::fs::create_dir(&hashed).unwrap();
    let path = format!("SOURCE_SSL_CA = '', SOURCE_SSL_CAPATH = '{}'", hashed.display());
    assert!(attempt(&mut q, &path).contains("openssl rehash"));
    std::fs::copy(&ca, hashed.join("f20e0b1e.0")).unwrap();
    assert_eq!(attempt(&mut q, &path), "");

    // What is revoked.
    let crl = |name: &str| format!("SOURCE_SSL_CRL = '{}'", fixed.join(name).display());
    assert_eq!(attempt(&mut q, &crl("none-revoked.pem")), "");
    let revoked = attempt(&mut q, &crl("revoked.pem"));
    assert!(revoked.starts_with("2026 ") && revoked.contains("evoked"), "{revoked}");
    let path = format!("SOURCE_SSL_CRL = '', SOURCE_SSL_CRLPATH = '{}'", hashed.display());
    assert!(attempt(&mut q, &path).contains("openssl rehash"));
    std::fs::copy(fixed.join("revoked.pem"), hashed.join("f20e0b1e.r0")).unwrap();
    assert!(attempt(&mut q, &path).contains("evoked"));
    let none = attempt(&mut q, &format!("SOURCE_SSL_CRLPATH = '', {}", crl("ca.pem")));
    assert!(none.contains("there is none in it"), "{none}");
    // A list of another authority says nothing of this certificate.
    certified(&s, &mut c, &other, ("cert.pem", "key.pem"));
    let unknown = attempt(
        &mut q,
        &format!(
            "{}, SOURCE_SSL_CAPATH = '', SOURCE_SSL_CRLPATH = '', {}",
            trusts(&ca_of_other, 0),
            crl("none-revoked.pem")
        ),
    );
    assert!(unknown.starts_with("2026 "), "{unknown}");
    let without = attempt(&mut q, "SOURCE_SSL_CA = ''");
    assert!(without.contains("SOURCE_SSL_CRLPATH need"), "{without}");
}

fn now_s() -> i64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() as i64
}

#[test]
fn versions_and_suites_are_chosen() {
    let s = source();
    let mut c = s.connect();
    let mut following = Following::start(without_log);
    let mut q = following.r.connect();
    change(&mut q, &s, "SOURCE_AUTO_POSITION = 1, SOURCE_SSL = 1");
    for (options, cipher) in [
        (
            "SOURCE_TLS_VERSION = 'TLSv1.2', SOURCE_SSL_CIPHER = 'ECDHE-ECDSA-AES256-GCM-SHA384'",
            "ECDHE-ECDSA-AES256-GCM-SHA384",
        ),
        ("SOURCE_SSL_CIPHER = 'AES128-SHA:ECDHE-ECDSA-AES128-GCM-SHA256'", "ECDHE-ECDSA-AES128-GCM-SHA256"),
        ("SOURCE_SSL_CIPHER = 'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256'", "ECDHE-ECDSA-CHACHA20-POLY1305"),
        (
            "SOURCE_TLS_VERSION = 'TLSv1.2,TLSv1.3', SOURCE_TLS_CIPHERSUITES = 'TLS_AES_256_GCM_SHA384'",
            "TLS_AES_256_GCM_SHA384",
        ),
        ("SOURCE_TLS_CIPHERSUITES = 'TLS_AES_128_GCM_SHA256'", "TLS_AES_128_GCM_SHA256"),
        ("SOURCE_TLS_CIPHERSUITES = 'TLS_CHACHA20_POLY1305_SHA256'", "TLS_CHACHA20_POLY1305_SHA256"),
        // None of TLS 1.3.
        ("SOURCE_TLS_CIPHERSUITES = ''", "ECDHE-ECDSA-CHACHA20-POLY1305"),
    ] {
        run(&mut c, "ALTER USER reader REQUIRE CIPHER 'another'");
        assert!(attempt(&mut q, options).starts_with("1045 "), "{options}");
        run(&mut c, &format!("ALTER USER reader REQUIRE CIPHER '{cipher}'"));
        assert_eq!(attempt(&mut q, options), "", "{options}");
    }
    for (options, why) in [
        ("SOURCE_TLS_VERSION = 'TLSv1.3'", "no usable cipher suites"),
        ("SOURCE_TLS_CIPHERSUITES = 'TLS_AES_128_CCM_SHA256'", "TLS_AES_128_CCM_SHA256 is not there"),
        ("SOURCE_TLS_CIPHERSUITES = '', SOURCE_SSL_CIPHER = 'AES128-SHA'", "none of the ciphers is there"),
    ] {
        let got = attempt(&mut q, options);
        assert!(got.starts_with("2026 ") && got.contains(why), "{options}: {got}");
    }
    for (options, number) in [
        ("SOURCE_TLS_VERSION = 'TLSv1.1'", 1235),
        ("SOURCE_TLS_VERSION = 'TLSv1.2,SSLv3'", 1235),
        ("SOURCE_TLS_VERSION = 'nonsense'", 1210),
        ("SOURCE_SSL_CIPHER = 'HIGH:!aNULL'", 1235),
    ] {
        assert_eq!(refused(&mut q, options), number, "{options}");
    }
    // All of it is kept, and shown.
    run(
        &mut q,
        "CHANGE REPLICATION SOURCE TO SOURCE_SSL_VERIFY_SERVER_CERT = 1, SOURCE_SSL_CA = 'a', SOURCE_SSL_CAPATH = 'b', \
         SOURCE_SSL_CERT = 'c', SOURCE_SSL_KEY = 'd', SOURCE_SSL_CRL = 'e', SOURCE_SSL_CRLPATH = 'f', SOURCE_SSL_CIPHER = \
         'g-h', SOURCE_TLS_VERSION = 'TLSv1.2', SOURCE_TLS_CIPHERSUITES = 'i', SOURCE_PUBLIC_KEY_PATH = 'j', SOURCE_BIND = \
         'k', SOURCE_COMPRESSION_ALGORITHMS = 'zstd', SOURCE_ZSTD_COMPRESSION_LEVEL = 22",
    );
    drop(q);
    following.restart();
    let mut q = following.r.connect();
    let columns = "SSL_ALLOWED, SSL_VERIFY_SERVER_CERTIFICATE, SSL_CA_FILE, SSL_CA_PATH, SSL_CERTIFICATE, SSL_KEY, \
                   SSL_CRL_FILE, SSL_CRL_PATH, SSL_CIPHER, TLS_VERSION, TLS_CIPHERSUITES, PUBLIC_KEY_PATH, \
                   NETWORK_INTERFACE, ZSTD_COMPRESSION_LEVEL";
    let shown =
        common::rows(&mut q, &format!("SELECT {columns} FROM performance_schema.replication_connection_configuration"));
    assert_eq!(shown[0].join(" "), "YES YES a b c d e f g-h TLSv1.2 i j k 22");
    let columns = "Enabled_ssl, Ssl_verify_server_cert, Ssl_ca, Ssl_capath, Ssl_cert, Ssl_key, Ssl_crl, Ssl_crlpath, \
                   Ssl_cipher, Tls_version, Tls_ciphersuites, Public_key_path, Bind, Master_zstd_compression_level";
    let kept = common::rows(&mut q, &format!("SELECT {columns} FROM mysql.slave_master_info"));
    assert_eq!(kept[0].join(" "), "1 1 a b c d e f g-h TLSv1.2 i j k 22");
    let columns = "Allowed Verify_Server_Cert CA_File CA_Path Cert Key Crl Crlpath Cipher";
    let shown: Vec<_> = columns.split(' ').map(|name| status(&mut q, &format!("Source_SSL_{name}"))).collect();
    assert_eq!(shown.join(" "), "Yes Yes a b c d e f g-h");
    let shown: Vec<_> =
        ["Source_TLS_Version", "Source_public_key_path", "Source_Bind"].map(|n| status(&mut q, n)).into();
    assert_eq!(shown.join(" "), "TLSv1.2 j k");
    run(&mut q, "CHANGE REPLICATION SOURCE TO SOURCE_TLS_CIPHERSUITES = NULL");
    let null = "SELECT TLS_CIPHERSUITES IS NULL FROM performance_schema.replication_connection_configuration";
    assert_eq!(one(&mut q, null), "1");
}

/// Where nothing is encrypted, a password travels under a key that is known, or that is asked for if that was said.
#[test]
fn a_password_travels_under_a_key() {
    let s = source();
    let mut c = s.connect();
    let following = Following::start(without_log);
    let mut q = following.r.connect();
    let key = s.server().core().rsa_key().unwrap().public_pem().to_owned();
    let (path, other) = (s.dir.join("public.pem"), s.dir.join("other.pem"));
    std::fs::write(&path, key).unwrap();
    std::fs::write(&other, gannet_wire::auth::RsaKey::generate().unwrap().public_pem()).unwrap();
    run(&mut c, "CREATE USER old IDENTIFIED WITH sha256_password BY 'secret'");
    run(&mut c, "GRANT REPLICATION SLAVE ON *.* TO old");
    change(&mut q, &s, "SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 0");
    let insecure =
        "Authentication plugin 'caching_sha2_password' reported error: Authentication requires secure connection.";
    let wrong = |number: &str| format!("{number} ");
    for (options, error, text) in [
        ("SOURCE_USER = 'reader'".to_owned(), wrong("2061"), insecure),
        (format!("SOURCE_PUBLIC_KEY_PATH = '{}'", other.display()), wrong("1045"), "Access denied"),
        // Another key than the one that is known is not taken, even where it would be asked for.
        ("GET_SOURCE_PUBLIC_KEY = 1".to_owned(), wrong("1045"), "Access denied"),
        ("SOURCE_PUBLIC_KEY_PATH = '/nowhere/key.pem'".to_owned(), wrong("2061"), "/nowhere/key.pem"),
        (format!("SOURCE_PUBLIC_KEY_PATH = '{CERTIFICATES}/ca.pem'"), wrong("2061"), "no RSA public key"),
        (format!("GET_SOURCE_PUBLIC_KEY = 0, SOURCE_PUBLIC_KEY_PATH = '{}'", path.display()), String::new(), ""),
        // The source remembers the login, and asks for less.
        ("SOURCE_PUBLIC_KEY_PATH = ''".to_owned(), String::new(), ""),
        // MySQL's client asks for this plugin's key, whatever is said.
        ("SOURCE_USER = 'old'".to_owned(), String::new(), ""),
        (format!("SOURCE_PUBLIC_KEY_PATH = '{}'", other.display()), wrong("1045"), "Access denied"),
        (format!("SOURCE_PUBLIC_KEY_PATH = '{}'", path.display()), String::new(), ""),
    ] {
        let got = attempt(&mut q, &options);
        assert!(got.starts_with(&error) && got.contains(text) && got.is_empty() == text.is_empty(), "{options}: {got}");
    }
    run(&mut c, "ALTER USER reader IDENTIFIED BY 'secret'");
    let got = attempt(&mut q, "SOURCE_USER = 'reader', SOURCE_PUBLIC_KEY_PATH = ''");
    assert!(got.starts_with("2061 "), "{got}");
    assert_eq!(attempt(&mut q, "GET_SOURCE_PUBLIC_KEY = 1"), "");
}

/// The source sees the address; what is not of this machine is an error, and tried again.
#[test]
fn a_connection_comes_from_where_it_is_bound() {
    let s = source();
    let following = Following::start(without_log);
    let mut q = following.r.connect();
    change(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    run(&mut q, &format!("CHANGE REPLICATION SOURCE TO SOURCE_BIND = '127.0.0.9', SOURCE_PORT = {port}"));
    run(&mut q, "START REPLICA IO_THREAD");
    let (_, peer) = listener.accept().unwrap();
    assert_eq!(peer.ip().to_string(), "127.0.0.9");
    drop(listener);
    let Address::Tcp(_, port) = s.tcp() else { panic!("TCP") };
    assert_eq!(attempt(&mut q, &format!("SOURCE_PORT = {port}, SOURCE_CONNECT_RETRY = 1")), "");
    for (bind, why) in [("192.0.2.1", "(99)"), ("::1", "does not reach it")] {
        let got = attempt(&mut q, &format!("SOURCE_BIND = '{bind}'"));
        assert!(got.starts_with("2003 ") && got.contains(why), "{bind}: {got}");
    }
    assert_eq!(attempt(&mut q, "SOURCE_BIND = 'localhost'"), "");
    assert_eq!(refused(&mut q, "NETWORK_NAMESPACE = 'x'"), 1235);
}

#[test]
fn compression_has_its_errors() {
    let following = Following::start(without_log);
    let mut q = following.r.connect();
    run(&mut q, "CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'h'");
    for (options, number) in [
        ("SOURCE_ZSTD_COMPRESSION_LEVEL = 0", 3921),
        ("SOURCE_ZSTD_COMPRESSION_LEVEL = 23", 3921),
        ("SOURCE_COMPRESSION_ALGORITHMS = ''", 3920),
        ("SOURCE_COMPRESSION_ALGORITHMS = 'zlib,lz4'", 3920),
        ("SOURCE_COMPRESSION_ALGORITHMS = 'zlib,zstd,zlib,zstd'", 3924),
    ] {
        assert_eq!(refused(&mut q, options), number, "{options}");
    }
    let long = format!("SOURCE_COMPRESSION_ALGORITHMS = '{}'", "zlib,".repeat(20));
    assert_eq!(refused(&mut q, &long), 4037);
    let e = q.query("CHANGE REPLICATION SOURCE TO SOURCE_ZSTD_COMPRESSION_LEVEL = 23").unwrap_err();
    assert!(e.to_string().ends_with("Invalid SOURCE_ZSTD_COMPRESSION_LEVEL 23 for channel ''."), "{e}");
}

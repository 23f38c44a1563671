//! The console of the real binary: what is refused, who may sign in, what Prometheus reads.

#[expect(dead_code, reason = "the other tests use more of it")]
mod common;

use common::{Dir, Server, one};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Sends bytes, and reads until the server closes: status, headers and body.
fn exchange(at: &str, request: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut reply = Vec::new();
    // A server that closes while it is sent more may reset the connection.
    let _ = stream.read_to_end(&mut reply);
    let reply = String::from_utf8_lossy(&reply).into_owned();
    (reply.get(9..12).and_then(|s| s.parse().ok()).unwrap_or(0), reply)
}

fn get(at: &str, path: &str, headers: &str) -> (u16, String) {
    exchange(at, &format!("GET {path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n{headers}\r\n"))
}

fn post(at: &str, path: &str, headers: &str, body: &str) -> (u16, String) {
    let length = body.len();
    let head = format!("POST {path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\nContent-Length: {length}\r\n");
    exchange(at, &format!("{head}{headers}\r\n{body}"))
}

const JSON: &str = "Content-Type: application/json\r\n";

/// What stands between two texts.
fn between<'t>(text: &'t str, begin: &str, end: &str) -> &'t str {
    text.split_once(begin).and_then(|(_, rest)| rest.split_once(end)).map_or("", |(found, _)| found)
}

#[test]
fn the_console_is_for_those_who_may_see() {
    let dir = Dir::new("console");
    let server = Server::try_start(&dir, "s", "", &["--gannet-console=127.0.0.1:0"]).unwrap();
    let mut db = server.connect();
    for sql in [
        "CREATE USER watch@localhost IDENTIFIED BY 'see'",
        "GRANT PROCESS ON *.* TO watch@localhost",
        "GRANT SELECT ON performance_schema.* TO watch@localhost",
        "CREATE USER blind@localhost IDENTIFIED BY 'see'",
    ] {
        db.query(sql).unwrap();
    }
    let at = &one(&mut db, "SELECT @@gannet_console");
    let (status, page) = get(at, "/", "");
    assert!(status == 200 && page.contains("Content-Security-Policy: default-src 'none'"), "{page}");

    // Other names, other pages, forms, too much, nonsense.
    let sign = |headers: &str, user: &str, password: &str| {
        post(at, "/api/sign-in", headers, &format!("{{\"user\":\"{user}\",\"password\":\"{password}\"}}"))
    };
    assert_eq!(exchange(at, "GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n").0, 421);
    assert_eq!(exchange(at, "GET / HTTP/1.1\r\nConnection: close\r\n\r\n").0, 421);
    assert_eq!(sign(&format!("{JSON}Origin: http://evil.example\r\n"), "watch", "see").0, 403);
    assert_eq!(sign(&format!("{JSON}Sec-Fetch-Site: cross-site\r\n"), "watch", "see").0, 403);
    assert_eq!(sign("Content-Type: application/x-www-form-urlencoded\r\n", "watch", "see").0, 415);
    assert_eq!(post(at, "/api/sign-in", JSON, "{}").0, 400);
    assert_eq!(get(at, "/", &format!("X: {}\r\n", "a".repeat(20_000))).0, 431);
    assert_eq!(exchange(at, "\x16\x03\x01\x02\x00\x01\x00").0, 400);
    for path in ["/api/series", "/api/top", "/api/nothing"] {
        assert_eq!(get(at, path, "").0, 401, "{path}");
    }
    assert_eq!(get(at, "/nothing", "").0, 404);

    // Accounts of the server, with the rights.
    let (status, reply) = sign(JSON, "watch", "wrong");
    assert!(status == 401 && reply.contains("Access denied for user 'watch'@'localhost'"), "{reply}");
    assert_eq!(sign(JSON, "blind", "see").0, 403);
    let (status, reply) = sign(&format!("{JSON}Origin: http://{at}\r\n"), "watch", "see");
    assert!(status == 200 && reply.contains("HttpOnly; SameSite=Strict"), "{reply}");
    let cookie = format!("Cookie: {}\r\n", between(&reply, "Set-Cookie: ", ";"));
    let proof = format!("X-Gannet-Proof: {}\r\n", between(&reply, "\"proof\":\"", "\""));
    for path in ["series", "heat", "top?by=user", "sessions", "locks", "digests", "engine", "model"] {
        let (status, reply) = get(at, &format!("/api/{path}"), &cookie);
        assert!(status == 200 && reply.contains("Cache-Control: no-store"), "{path}: {reply}");
    }
    assert_eq!(get(at, "/api/top?by=password", &cookie).0, 400);

    // A change wants the proof, and the right.
    let victim = format!("{{\"id\":\"{}\",\"what\":\"query\"}}", one(&mut db, "SELECT CONNECTION_ID()"));
    assert_eq!(post(at, "/api/kill", &format!("{JSON}{cookie}"), &victim).0, 403);
    let (status, reply) = post(at, "/api/kill", &format!("{JSON}{cookie}{proof}"), &victim);
    assert!(status == 403 && reply.contains("You are not owner of thread"), "{reply}");

    // For Prometheus: d2F0Y2g6c2Vl is watch:see.
    assert_eq!(get(at, "/metrics", "").0, 401);
    let (status, metrics) = get(at, "/metrics", "Authorization: Basic d2F0Y2g6c2Vl\r\n");
    assert!(status == 200 && metrics.contains("\nmysql_up 1\n"), "{metrics:.300}");
    // Another page asks for figures in vain, with whatever credentials; one of the server's own gets them.
    let own = |header: &str| format!("{header}\r\nAuthorization: Basic d2F0Y2g6c2Vl\r\n{cookie}");
    for foreign in ["Origin: http://evil.example", "Origin: null", "Sec-Fetch-Site: cross-site"] {
        assert_eq!(get(at, "/metrics", &own(foreign)).0, 403, "{foreign}");
        assert_eq!(get(at, "/api/series", &own(foreign)).0, 403, "{foreign}");
    }
    assert_eq!(get(at, "/metrics", &own("Sec-Fetch-Site: none")).0, 200);
    let mut names: Vec<&str> = metrics.lines().filter(|l| l.starts_with("# TYPE")).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all, "a metric is declared twice");

    // Without the right the door is closed at once.
    db.query("REVOKE PROCESS ON *.* FROM watch@localhost").unwrap();
    assert_eq!(get(at, "/api/series", &cookie).0, 401);
    server.stop();
}

#[test]
fn nothing_is_served_beyond_loopback_without_encryption() {
    let dir = Dir::new("console-open");
    let options = ["--gannet-console=0.0.0.0:0", "--tls-version="];
    let refused = Server::try_start(&dir, "s", "", &options).err().unwrap_or_default();
    assert!((refused + &dir.log()).contains("beyond loopback it needs TLS"));
}

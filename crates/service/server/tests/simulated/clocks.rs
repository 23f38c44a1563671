//! The wall clock is set forward and back while the server runs. What waits or lasts goes on as if nothing had
//! happened; what shows a date shows the new one.

use crate::{connect, texts, up};
use gannet_runtime::sim::{Sim, set_wall_clock};
use gannet_runtime::{WallTime, now_ns, sleep};
use gannet_server::Server;
use gannet_wire::client::Connection;
use std::time::Duration;

const HOUR: i64 = 3600;
const YEAR: i64 = 365 * 24 * HOUR;

fn log_in(server: &Server) -> Connection {
    let mut it = connect(server, u64::MAX, false).expect("root connects");
    texts(&mut it, "SET wait_timeout = 1000");
    it
}

/// Sets the wall clock forward or back.
fn jump(seconds: i64) {
    set_wall_clock(WallTime::now().micros().wrapping_add_signed(seconds * 1_000_000));
}

fn pass(seconds: u64) {
    let _ = sleep(Duration::from_secs(seconds));
}

/// A server whose wall clock jumps by so many seconds in the middle of what the test does.
fn jumping(test: impl Fn(&Server, i64) + Copy + 'static) {
    for by in [0, YEAR, -HOUR, -2 * YEAR] {
        Sim::new(1).run(move || {
            let server = up();
            test(&server, by);
            server.stop();
        });
    }
}

/// Seconds that `f` takes.
fn seconds<T>(f: impl FnOnce() -> T) -> (u64, T) {
    let start = now_ns();
    let value = f();
    ((now_ns() - start) / 1_000_000_000, value)
}

#[test]
fn ages_are_counted() {
    jumping(|server, by| {
        let mut idle = log_in(server);
        texts(&mut idle, "BEGIN");
        texts(&mut idle, "CREATE DATABASE a");
        texts(&mut idle, "CREATE TABLE a.t (a INT)");
        texts(&mut idle, "BEGIN");
        texts(&mut idle, "INSERT INTO a.t VALUES (1)");
        pass(5);
        jump(by);
        pass(5);
        let mut db = log_in(server);
        let ages = "SELECT time FROM information_schema.processlist WHERE command = 'Sleep'";
        assert_eq!(texts(&mut db, ages), [["10"]], "{by}");
        let ages = "SELECT time FROM performance_schema.processlist WHERE command = 'Sleep'";
        assert_eq!(texts(&mut db, ages), [["10"]], "{by}");
        // As the clock shows now.
        let age = "SELECT ABS(TIMESTAMPDIFF(SECOND, trx_started, NOW()) - 10) < 2 FROM information_schema.innodb_trx";
        assert_eq!(texts(&mut db, age), [["1"]], "{by}");
        let status = texts(&mut db, "SHOW ENGINE INNODB STATUS").concat().concat();
        assert!(status.contains("ACTIVE 10 sec"), "{by}: {status}");
    });
}

#[test]
fn idle_clients_are_told_at_their_time() {
    jumping(|server, by| {
        let mut db = log_in(server);
        texts(&mut db, "SET wait_timeout = 60");
        pass(30);
        jump(by);
        let (took, last) = seconds(|| db.receive());
        assert_eq!(last.expect_err("the connection ends").code(), Some(4031), "{by}");
        assert!((29..33).contains(&took), "{by}: {took}");
    });
}

/// Waits that the statement bounds, with a jump in their middle. (The thread that minds MAX_EXECUTION_TIME is not
/// simulated.)
#[test]
fn waits_take_their_time() {
    jumping(|server, by| {
        let mut holder = log_in(server);
        for sql in [
            "CREATE DATABASE w",
            "CREATE TABLE w.t (a INT PRIMARY KEY)",
            "INSERT INTO w.t VALUES (1)",
            "BEGIN",
            "DELETE FROM w.t",
            "DO GET_LOCK('l', 0)",
        ] {
            texts(&mut holder, sql);
        }
        for (sql, code) in [
            ("SELECT SLEEP(4)", None),
            ("DO GET_LOCK('l', 4)", None),
            ("INSERT INTO w.t VALUES (1)", Some(1205)),
            ("ALTER TABLE w.t ADD b INT", Some(1205)),
        ] {
            let mut db = log_in(server);
            texts(&mut db, "SET innodb_lock_wait_timeout = 4, lock_wait_timeout = 4");
            let jumps = gannet_runtime::spawn("clock", move || {
                pass(2);
                jump(by);
            });
            let (took, outcome) = seconds(|| db.query(sql).map(drop));
            jumps.join().unwrap();
            assert_eq!(outcome.err().and_then(|e| e.code()), code, "{by}: {sql}");
            assert!((3..6).contains(&took), "{by}: {sql} took {took} s");
        }
    });
}

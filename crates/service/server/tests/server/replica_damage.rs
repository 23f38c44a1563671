//! Relay logs whose bytes are other ones: what cannot be right is said, nothing panics or hangs, and what comes again
//! is applied once.

use crate::common::{self, PATIENCE, one, run};
use crate::relay::received;
use crate::replica::{Following, change, same, source, status, with_log, without_log};
use gannet_wire::client::Connection;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How many bytes are changed in this test; more by the environment.
fn rounds(usual: u64) -> u64 {
    std::env::var("DAMAGE").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

fn dice(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state >> 8
}

/// CRC-32 (IEEE).
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum, b| {
        (0..8).fold(sum ^ u32::from(*b), |sum, _| if sum & 1 == 1 { sum >> 1 ^ 0xEDB8_8320 } else { sum >> 1 })
    })
}

/// Where the events of a file begin that came from the source.
fn events(bytes: &[u8]) -> Vec<usize> {
    let (mut at, mut all, mut described) = (4, Vec::new(), 0);
    while at + 19 <= bytes.len() {
        if described == 2 {
            all.push(at);
        }
        described += usize::from(bytes[at + 4] == 15);
        at += u32::from_le_bytes(bytes[at + 9..at + 13].try_into().unwrap()) as usize;
    }
    all.push(bytes.len());
    all
}

/// Gives an event the length and the checksum that its bytes have.
pub(crate) fn closed(mut event: Vec<u8>) -> Vec<u8> {
    let size = event.len() as u32 + 4;
    event[9..13].copy_from_slice(&size.to_le_bytes());
    let sum = crc32(&event);
    event.extend_from_slice(&sum.to_le_bytes());
    event
}

/// The last relay log.
fn last_file(q: &mut Connection) -> PathBuf {
    let index = std::fs::read_to_string(one(q, "SELECT @@relay_log_index")).unwrap();
    PathBuf::from(index.lines().last().unwrap())
}

/// The applier has stopped, or has done all, or has had some time: it may wait for the end of a transaction.
fn ended(q: &mut Connection, patience: Duration) {
    let until = Instant::now() + patience;
    while status(q, "Replica_SQL_Running") == "Yes" && !status(q, "Replica_SQL_Running_State").contains("read all") {
        if Instant::now() > until {
            return;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Transactions of all kinds.
const STATEMENTS: [&str; 16] = [
    "CREATE DATABASE d",
    "CREATE TABLE d.t (a INT PRIMARY KEY, b VARCHAR(2000), c DECIMAL(20,5), e ENUM('x','y'), j JSON, f BIT(11), g \
     DATETIME(3), h BLOB, i SET('p','q'), k DOUBLE)",
    "INSERT INTO d.t VALUES (1, 'one', -12.5, 'y', '{\"a\": [1, 2.5, \"x\"]}', 5, '2026-01-02 03:04:05.678', 'blob', \
     'p,q', 1.5), (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
    "SET binlog_rows_query_log_events = ON",
    "UPDATE d.t SET b = REPEAT('z', 300), j = JSON_SET(j, '$.b', 7) WHERE a = 1",
    "SET binlog_transaction_compression = ON",
    "INSERT INTO d.t (a, b) VALUES (3, REPEAT('q', 2000)), (4, 'four')",
    "SET binlog_transaction_compression = OFF, binlog_row_image = MINIMAL",
    "UPDATE d.t SET k = 2 WHERE a = 3",
    "DELETE FROM d.t WHERE a = 2",
    "XA START 'b', 'c', 7",
    "INSERT INTO d.t (a) VALUES (9)",
    "XA END 'b', 'c', 7",
    "XA PREPARE 'b', 'c', 7",
    "XA COMMIT 'b', 'c', 7",
    "SET binlog_row_image = FULL",
];

/// Whatever is in an event whose length and checksum are right: an error, or it is applied.
#[test]
fn bytes_of_events_that_are_others() {
    let s = source();
    let mut c = s.connect();
    run(&mut c, "RESET BINARY LOGS AND GTIDS");
    STATEMENTS.iter().for_each(|sql| run(&mut c, sql));
    let mut state = std::env::var("SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(0x1234_5678_9ABC);
    for (configure, workers) in [(with_log as fn(&mut _), 0), (without_log, 4)] {
        let following = Following::start(configure);
        let mut q = following.r.connect();
        run(&mut q, &format!("SET GLOBAL replica_parallel_workers = {workers}"));
        let (mut wrong, rounds) = (0, rounds(25));
        for round in 0..rounds {
            change(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
            run(&mut q, "START REPLICA IO_THREAD");
            received(&mut c, &mut q);
            run(&mut q, "STOP REPLICA IO_THREAD");
            let file = last_file(&mut q);
            let bytes = std::fs::read(&file).unwrap();
            let begins = events(&bytes);
            let n = dice(&mut state) as usize % (begins.len() - 1);
            let mut event = bytes[begins[n]..begins[n + 1] - 4].to_vec();
            let at = dice(&mut state) as usize % event.len();
            let kind = event[4];
            let what = match dice(&mut state) % 8 {
                0 => {
                    event[4] = dice(&mut state) as u8 % 45;
                    format!("its kind is {}", event[4])
                }
                1 => {
                    event.truncate(19.max(at));
                    format!("{at} bytes of it")
                }
                2 => {
                    event.extend_from_slice(&dice(&mut state).to_le_bytes());
                    "more bytes".to_owned()
                }
                3 => {
                    let at = 19 + at % (event.len() - 18).max(1);
                    let end = (at + 8).min(event.len());
                    event[at.min(end)..end].fill(0xFF);
                    format!("0xFF from {at} on")
                }
                _ => {
                    event[at] = dice(&mut state) as u8;
                    format!("byte {at} is {}", event[at])
                }
            };
            let what = format!("round {round}, event {n} of kind {kind}: {what}");
            let changed = [&bytes[..begins[n]], &closed(event), &bytes[begins[n + 1]..]].concat();
            std::fs::write(&file, &changed[..changed.len().min(bytes.len())]).unwrap();
            if changed.len() < bytes.len() {
                let rest = vec![0; bytes.len() - changed.len()];
                std::fs::write(&file, [changed, rest].concat()).unwrap();
            }
            eprintln!("{what}");
            run(&mut q, "START REPLICA SQL_THREAD");
            ended(&mut q, Duration::from_secs(1));
            wrong += u64::from(status(&mut q, "Last_SQL_Errno") != "0");
            run(&mut q, "STOP REPLICA");
            run(&mut q, "RESET REPLICA ALL");
            for row in common::rows(&mut q, "XA RECOVER CONVERT XID") {
                let (gtrid, whole) = (row[1].parse::<usize>().unwrap() * 2, row[3].trim_start_matches("0x").to_owned());
                run(&mut q, &format!("XA ROLLBACK 0x{}, 0x{}, {}", &whole[..gtrid], &whole[gtrid..], row[0]));
            }
            run(&mut q, "DROP DATABASE IF EXISTS d");
            if configure as usize == with_log as fn(&mut _) as usize {
                run(&mut q, "RESET BINARY LOGS AND GTIDS");
            }
        }
        assert!(wrong > rounds / 4, "{wrong}");
    }
}

/// Each byte of an event is covered: one that is another stops the applier with 13121, between transactions, and the
/// next start has all of it once.
#[test]
fn each_class_of_bytes_is_noticed() {
    let s = source();
    let mut c = s.connect();
    STATEMENTS.iter().for_each(|sql| run(&mut c, sql));
    let following = Following::start(without_log);
    let mut q = following.r.connect();
    change(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
    run(&mut q, "START REPLICA");
    let sum = "SELECT COUNT(*), SUM(a), SUM(CRC32(b)) FROM d.t";
    same(&mut c, &mut q, sum);
    // The time, the kind, the server, the length, its end, flags, the body, the checksum; and the file's beginning.
    for (n, at) in [0i32, 4, 5, 9, 10, 12, 13, 17, 19, 25, -1, -4, -1000].into_iter().enumerate() {
        run(&mut q, "STOP REPLICA SQL_THREAD");
        run(&mut q, "FLUSH RELAY LOGS");
        run(&mut c, &format!("INSERT INTO d.t (a, b) VALUES ({0}, 'x'), ({0} + 1, 'y')", 1000 + 2 * n));
        run(&mut c, "UPDATE d.t SET k = k + 1");
        received(&mut c, &mut q);
        let file = last_file(&mut q);
        let mut bytes = std::fs::read(&file).unwrap();
        let begins = events(&bytes);
        // Rows of the first transaction.
        let (begin, end) = (begins[3], begins[4]);
        match at {
            -1000 => bytes[1] ^= 0x20,
            at if at < 0 => bytes[end - at.unsigned_abs() as usize] ^= 0x10,
            at => bytes[begin + at as usize] ^= 0x10,
        }
        std::fs::write(&file, bytes).unwrap();
        let before = one(&mut q, "SELECT COUNT(*) FROM d.t");
        run(&mut q, "START REPLICA SQL_THREAD");
        ended(&mut q, PATIENCE);
        assert_eq!(status(&mut q, "Last_SQL_Errno"), "13121", "byte {at}");
        let text = status(&mut q, "Last_SQL_Error");
        assert!(text.starts_with("Relay log read failure: Could not parse relay log event entry."), "{text}");
        assert_eq!(one(&mut q, "SELECT COUNT(*) FROM d.t"), before, "byte {at}");
        run(&mut q, "START REPLICA");
        same(&mut c, &mut q, sum);
        assert_eq!(status(&mut q, "Last_SQL_Errno"), "0");
    }
}

/// Kinds that are not known are passed over where they say so, and are an error elsewhere.
#[test]
fn kinds_that_nobody_knows() {
    let s = source();
    let mut c = s.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "CREATE TABLE d.t (a INT PRIMARY KEY, b INT)");
    run(&mut c, "SET binlog_rows_query_log_events = ON");
    for (configure, workers) in [(with_log as fn(&mut _), 0), (without_log, 4)] {
        let following = Following::start(configure);
        let mut q = following.r.connect();
        run(&mut q, &format!("SET GLOBAL replica_parallel_workers = {workers}"));
        change(&mut q, &s, "SOURCE_AUTO_POSITION = 1");
        run(&mut q, "START REPLICA");
        for (kind, ignorable, number) in [(200, true, "0"), (28, true, "0"), (200, false, "13121"), (26, false, "1593")]
        {
            same(&mut c, &mut q, "SELECT COUNT(*), SUM(a) FROM d.t");
            run(&mut q, "STOP REPLICA SQL_THREAD");
            run(&mut q, "FLUSH RELAY LOGS");
            let next = one(&mut c, "SELECT COALESCE(MAX(a), 0) + 1 FROM d.t");
            run(&mut c, &format!("INSERT INTO d.t VALUES ({next}, 1)"));
            received(&mut c, &mut q);
            let file = last_file(&mut q);
            let bytes = std::fs::read(&file).unwrap();
            let begins = events(&bytes);
            let at = begins.iter().position(|at| bytes[at + 4] == 29).unwrap();
            let mut event = bytes[begins[at]..begins[at + 1] - 4].to_vec();
            event[4] = kind;
            event[17] = if ignorable { 128 } else { 0 };
            let changed = [&bytes[..begins[at]], &closed(event), &bytes[begins[at + 1]..]].concat();
            std::fs::write(&file, changed).unwrap();
            run(&mut q, "START REPLICA SQL_THREAD");
            ended(&mut q, PATIENCE);
            assert_eq!(status(&mut q, "Last_SQL_Errno"), number, "{kind}");
            std::fs::write(&file, bytes).unwrap();
            run(&mut q, "START REPLICA SQL_THREAD");
        }
        same(&mut c, &mut q, "SELECT COUNT(*), SUM(a) FROM d.t");
    }
}

//! No evaluation holds a worker, however long its values are: other sessions of the worker get their answers, and KILL
//! QUERY ends it. Every function that is declared is called with long arguments.

use crate::common::{Running, one, options, rows, run, wait_for};
use gannet_server::vars::{Live, VarValue};
use gannet_wire::client::{Connection, Options};
use gannet_wire::flags::{cap, com};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What another session of the worker may wait: debug builds copy slowly, and the machine has more to do.
const BOUND: Duration = Duration::from_millis(if cfg!(debug_assertions) { 500 } else { 40 });
/// Between two questions. How late a thread wakes from it is how long one waits for a processor.
const PAUSE: Duration = Duration::from_millis(1);
/// So often a question and its answer wait for one: the client, the worker, and whoever the worker gives work to.
const TURNS: u32 = 4;
/// The whole sweep is repeated for those that were slow, so often: the machine may have done something else meanwhile.
const TRIES: usize = 8;

/// Long values, by name. Each is of some kind that functions take apart in ways of their own.
const VALUES: &[(&str, &str)] = &[
    ("letters", "REPEAT('aB', 1000000)"),
    ("accents", "REPEAT('äß', 500000)"),
    ("wide", "CONVERT(REPEAT('aé', 500000) USING utf16)"),
    ("numbers", "REPEAT('1', 2000000)"),
    ("list", "CONCAT('[', REPEAT('1,', 1000000), '1]')"),
    ("document", "CAST(CONCAT('{\"a\": [', REPEAT('\"x\", ', 300000), '1]}') AS JSON)"),
    ("markup", "CONCAT('<a>', REPEAT('<b>x</b>', 250000), '</a>')"),
    ("bytes", "REPEAT(x'00FF', 1000000)"),
];

/// One worker.
fn start() -> Running {
    let r = Running::configured(|o| {
        o.set(Live::Workers, VarValue::Int(1));
        o.set(Live::MaxAllowedPacket, VarValue::Int(64 << 20));
    });
    let mut c = r.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "CREATE TABLE d.t (id INT PRIMARY KEY, s LONGTEXT, j JSON)");
    r
}

fn victim(r: &Running) -> Connection {
    victim_with(r, 0)
}

fn victim_with(r: &Running, capabilities: u32) -> Connection {
    let o = Options { capabilities, ..options() };
    let mut c = Connection::connect(&r.socket(), &o).unwrap();
    run(&mut c, "SET group_concat_max_len = 67108864");
    for (name, value) in VALUES {
        run(&mut c, &format!("SET @{name} = {value}"));
    }
    c
}

/// Runs statements one after the other while another session of the worker asks all the time: for each the longest that
/// it waited, beyond what everybody waits on this machine.
fn waits(r: &Running, c: &mut Connection, statements: &[String]) -> BTreeMap<String, Duration> {
    let mut worst = BTreeMap::new();
    for sql in statements {
        let over = Arc::new(AtomicBool::new(false));
        let (o, mut other) = (over.clone(), r.connect());
        let asking = std::thread::spawn(move || {
            let (mut worst, mut late) = (Duration::ZERO, Duration::ZERO);
            while !o.load(Ordering::Relaxed) {
                let at = Instant::now();
                other.ping().unwrap();
                worst = worst.max(at.elapsed());
                let at = Instant::now();
                std::thread::sleep(PAUSE);
                late = late.max(at.elapsed().saturating_sub(PAUSE));
            }
            worst.saturating_sub(late * TURNS)
        });
        // An error is as good an answer as any.
        let _ = c.query(sql);
        over.store(true, Ordering::Relaxed);
        worst.insert(sql.clone(), asking.join().unwrap());
    }
    worst
}

/// None of the statements holds the worker.
fn none_holds(r: &Running, statements: Vec<String>) {
    none_of(r, victim(r), statements);
}

fn none_of(r: &Running, mut c: Connection, mut statements: Vec<String>) {
    let mut slow = BTreeMap::new();
    for _ in 0..TRIES {
        slow = waits(r, &mut c, &statements).into_iter().filter(|(_, worst)| *worst > BOUND).collect();
        statements = slow.keys().cloned().collect();
    }
    assert!(slow.is_empty(), "{slow:#?}");
}

/// Calls of a function with a long value in each place, and something short in the others.
fn calls(def: &gannet_functions::FunctionDef) -> Vec<String> {
    // Waiting is what these are for, and they are tested elsewhere; the others are operators.
    let waits = matches!(
        def.name,
        "SLEEP" | "BENCHMARK" | "GET_LOCK" | "SOURCE_POS_WAIT" | "MASTER_POS_WAIT" | "WAIT_FOR_EXECUTED_GTID_SET"
    );
    if waits || !def.name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_') {
        return Vec::new();
    }
    let most = def.arity.max.unwrap_or(def.arity.min.max(2)).min(4);
    let mut calls = Vec::new();
    for n in def.arity.min.max(1)..=most.max(def.arity.min).max(1) {
        for place in 0..n {
            // Some of the values for each place, others for the next.
            for (name, _) in VALUES.iter().cycle().skip(calls.len() + usize::from(place)).step_by(3).take(3) {
                let arg = |i: u8| match (i == place, def.name) {
                    (true, _) => format!("@{name}"),
                    (false, "JSON_CONTAINS_PATH" | "JSON_SEARCH") if i == 1 => "'all'".into(),
                    (false, n) if n.starts_with("JSON_") && i > 0 => "'$.a'".into(),
                    (false, n) if n.starts_with("JSON_") => "'[1]'".into(),
                    (false, "EXTRACTVALUE" | "UPDATEXML") if i > 0 => "'//b'".into(),
                    (false, _) if i % 2 == 1 => "'1'".into(),
                    (false, _) => "'x'".into(),
                };
                let args: Vec<String> = (0..n).map(arg).collect();
                calls.push(format!("DO {}({}) IS NULL", def.name, args.join(", ")));
            }
        }
    }
    calls
}

#[test]
fn no_function_holds_the_worker() {
    let r = start();
    let statements: Vec<String> = gannet_functions::functions().flat_map(calls).collect();
    assert!(statements.len() > 1000, "{}", statements.len());
    none_holds(&r, statements);
}

/// Everything else that goes through whole values.
const OTHERS: &[&str] = &[
    "DO @{v} = CONCAT(@{v}, '')",
    "DO @{v} < CONCAT(@{v}, 'x')",
    "DO @{v} LIKE '%no%such%'",
    "DO @{v} LIKE CONCAT('%', @{v})",
    "DO @{v} REGEXP 'no such'",
    "DO @{v} IN ('a', @{v}, 'b')",
    "DO @{v} BETWEEN 'a' AND @{v}",
    "DO CAST(@{v} AS CHAR CHARACTER SET latin1) IS NULL",
    "DO CAST(@{v} AS SIGNED), CAST(@{v} AS DECIMAL(65, 30)), CAST(@{v} AS DATETIME), CAST(@{v} AS DOUBLE)",
    "DO CAST(@{v} AS JSON) IS NULL",
    "DO CONVERT(@{v} USING utf16) IS NULL",
    "DO BINARY @{v} = @{v}",
    "DO CASE @{v} WHEN 'a' THEN 1 WHEN @{v} THEN 2 END",
    "DO (SELECT COUNT(*) FROM (SELECT @{v} s UNION SELECT @{v}) x)",
    "DO (SELECT COUNT(*) FROM (SELECT @{v} s UNION ALL SELECT @{v}) x GROUP BY s)",
    "DO (SELECT COUNT(DISTINCT s) FROM (SELECT @{v} s UNION ALL SELECT @{v}) x)",
    "DO (SELECT LENGTH(GROUP_CONCAT(s ORDER BY s DESC)) FROM (SELECT @{v} s UNION ALL SELECT CONCAT(@{v}, 'x')) x)",
    "DO (SELECT MAX(s) IS NULL FROM (SELECT @{v} s UNION ALL SELECT CONCAT(@{v}, 'x')) x)",
    "DO (SELECT JSON_LENGTH(JSON_ARRAYAGG(s)) FROM (SELECT @{v} s UNION ALL SELECT 1) x)",
    "SELECT * FROM (SELECT @{v} s UNION ALL SELECT CONCAT(@{v}, 'x')) x ORDER BY s LIMIT 1",
    "SELECT @{v}, @{v}, @{v}",
    "SELECT COUNT(*) FROM (SELECT @{v} s) x JOIN (SELECT @{v} s) y ON x.s = y.s",
    "SELECT LENGTH(FIRST_VALUE(s) OVER (ORDER BY s)) FROM (SELECT @{v} s UNION ALL SELECT CONCAT(@{v}, 'x')) x",
    "REPLACE INTO d.t VALUES (1, @{v}, NULL)",
    "REPLACE INTO d.t VALUES (2, NULL, JSON_OBJECT('a', CONVERT(@{v} USING utf8mb4)))",
    "SELECT * FROM d.t",
    "UPDATE d.t SET s = CONCAT(s, 'x') WHERE s = @{v}",
    "DELETE FROM d.t WHERE s LIKE '%x'",
];

#[test]
fn nothing_else_holds_the_worker() {
    let r = start();
    let of = |sql: &str| VALUES.iter().map(|(v, _)| sql.replace("{v}", v)).collect::<Vec<_>>();
    none_holds(&r, OTHERS.iter().flat_map(|sql| of(sql)).collect());
}

/// Neither does what is compressed for the client, or comes compressed from it.
#[test]
fn compression_does_not_hold_the_worker() {
    let r = start();
    for algorithm in [cap::COMPRESS, cap::ZSTD_COMPRESSION] {
        let text = "SELECT @letters, @bytes".to_owned();
        none_of(&r, victim_with(&r, algorithm), vec![text, format!("DO LENGTH('{}')", "ab".repeat(8_000_000))]);
    }
}

#[test]
fn constants_are_not_computed_by_the_planner() {
    let r = start();
    let ten = |x: &str| [x; 10].join(", ");
    let text = "REPEAT('a', 6000000)";
    none_holds(
        &r,
        vec![
            format!("DO {}", ten(&format!("LENGTH({text})"))),
            format!("DO {}", ten(&format!("SHA2({text}, 512)"))),
            format!("DO {}", ten(&format!("{text} = {text}"))),
            format!("EXPLAIN SELECT {}", ten(&format!("UPPER({text})"))),
            format!("SELECT {}", ten(text)),
        ],
    );
}

#[test]
fn a_kill_ends_what_is_computed() {
    let r = start();
    let long = "REPEAT('ab', 30000000)";
    for call in ["LENGTH(REPLACE({l}, 'b', 'cd'))", "SHA2({l}, 512)", "LENGTH(COMPRESS({l}))", "HEX(UPPER({l}))"] {
        let call = call.replace("{l}", long);
        let mut c = victim(&r);
        let id = one(&mut c, "SELECT CONNECTION_ID()");
        c.command(com::QUERY, format!("DO {}", [call.as_str(); 40].join(", ")).as_bytes()).unwrap();
        let mut killer = r.connect();
        let runs = format!("SELECT COMMAND <> 'Sleep' FROM information_schema.PROCESSLIST WHERE ID = {id}");
        wait_for("the statement", || one(&mut killer, &runs) == "1");
        std::thread::sleep(Duration::from_millis(100));
        let start = Instant::now();
        run(&mut killer, &format!("KILL QUERY {id}"));
        assert_eq!(c.receive().unwrap_err().code(), Some(1317), "{call}");
        let took = start.elapsed();
        let bound = Duration::from_secs(if cfg!(debug_assertions) { 30 } else { 2 });
        assert!(took < bound, "{call}: {took:?}");
        assert_eq!(rows(&mut c, "SELECT 1"), [["1"]]);
    }
}

//! Clients of memcached's protocol in the simulation: pipelines of changes, each client's of keys of its own and of a
//! counter that all share. After a power cut each client's keys are what some number of its unanswered changes, in
//! order, has made of what was answered; SQL sees the same.

use crate::{connect, number, rng, texts, up};
use gannet_engine::plant::{Fault, plant};
use gannet_memcache::Simulated;
use gannet_runtime::sim::{Faults, Sim, SimClient, SimDisk};
use gannet_server::Server;
use gannet_wire::client::Connection;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

const CLIENTS: u64 = 3;
const KEYS: u64 = 4;

type Items = BTreeMap<String, String>;

/// What a client's keys may be: first as answered, then after each change that was not.
#[derive(Default)]
struct Oracle {
    states: BTreeMap<u64, Vec<Items>>,
    /// Additions to the counter, answered and asked.
    told: u64,
    asked: u64,
    commands: u64,
}

struct Client {
    wire: SimClient,
    read: Vec<u8>,
}

impl Client {
    /// The next line; `None` when the connection has ended.
    fn line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.read.windows(2).position(|w| w == b"\r\n") {
                let line = String::from_utf8_lossy(&self.read[..end]).into_owned();
                self.read.drain(..end + 2);
                return Some(line);
            }
            self.wire.read(&mut self.read).ok().filter(|n| *n > 0)?;
        }
    }
}

/// A change of a client's keys: what is sent, what is answered, what the keys are then.
fn change(items: &Items, client: u64, rnd: &mut impl FnMut(u64) -> u64) -> (String, String, Items) {
    let (key, mut after) = (format!("{client}-{}", rnd(KEYS)), items.clone());
    let there = items.get(&key).cloned();
    let said = |done: bool, yes: &str, no: &str| if done { yes.to_string() } else { no.to_string() };
    let value = rnd(1000).to_string().repeat(1 + rnd(60) as usize);
    let (verb, answer) = match rnd(6) {
        0 => {
            after.remove(&key);
            return (format!("delete {key}\r\n"), said(there.is_some(), "DELETED", "NOT_FOUND"), after);
        }
        1 => {
            let number = there.as_ref().filter(|v| v.len() <= 20).and_then(|v| v.parse::<u64>().ok());
            let answer = match (&there, number) {
                (None, _) => "NOT_FOUND".into(),
                (_, None) => "CLIENT_ERROR cannot increment or decrement non-numeric value".into(),
                (_, Some(n)) => n.wrapping_add(7).to_string(),
            };
            if number.is_some() {
                after.insert(key.clone(), answer.clone());
            }
            return (format!("incr {key} 7\r\n"), answer, after);
        }
        2 => {
            if there.is_none() {
                after.insert(key.clone(), value.clone());
            }
            ("add", said(there.is_none(), "STORED", "NOT_STORED"))
        }
        3 => {
            if let Some(old) = &there {
                after.insert(key.clone(), format!("{old}{value}"));
            }
            ("append", said(there.is_some(), "STORED", "NOT_STORED"))
        }
        _ => {
            after.insert(key.clone(), value.clone());
            ("set", "STORED".into())
        }
    };
    (format!("{verb} {key} 0 0 {}\r\n{value}\r\n", value.len()), answer, after)
}

fn client(wire: SimClient, oracle: &Mutex<Oracle>, seed: u64, n: u64) {
    let mut rnd = rng(seed * 31 + n);
    let mut it = Client { wire, read: Vec::new() };
    for _ in 0..12 {
        let mut items = oracle.lock().unwrap().states[&n][0].clone();
        let (mut sent, mut answers) = (String::new(), Vec::new());
        for _ in 0..1 + rnd(5) {
            let (command, answer, after) = change(&items, n, &mut rnd);
            sent.push_str(&command);
            // What it has just written it reads in the same turn.
            if let Some((key, value)) = after.iter().next().filter(|_| rnd(3) == 0) {
                sent.push_str(&format!("get {key}\r\n"));
                answers.push((
                    vec![answer, format!("VALUE {key} 0 {}", value.len()), value.clone(), "END".into()],
                    after.clone(),
                ));
            } else {
                answers.push((vec![answer], after.clone()));
            }
            items = after;
        }
        {
            let mut o = oracle.lock().unwrap();
            o.commands += answers.len() as u64;
            o.asked += 1;
            let states = o.states.get_mut(&n).unwrap();
            states.extend(answers.iter().map(|(_, after)| after.clone()));
        }
        sent.push_str("ma counter N0 J1 q\r\nmn\r\n");
        if it.wire.write_all(sent.as_bytes()).is_err() {
            return;
        }
        for (lines, after) in answers {
            for line in lines {
                let Some(got) = it.line() else { return };
                assert_eq!(got, line, "client {n}: {sent}");
            }
            let mut o = oracle.lock().unwrap();
            let states = o.states.get_mut(&n).unwrap();
            states.remove(0);
            assert_eq!(states[0], after);
        }
        let Some(mut got) = it.line() else { return };
        if got == "HD" {
            // The counter was made, which is told to who is quiet, too.
            got = match it.line() {
                Some(line) => line,
                None => return,
            };
        }
        assert_eq!(got, "MN");
        oracle.lock().unwrap().told += 1;
    }
}

fn verify(db: &mut Connection, oracle: &Mutex<Oracle>) {
    let rows = texts(db, "SELECT CAST(c1 AS CHAR), CAST(c2 AS CHAR) FROM test.demo_test");
    let mut o = oracle.lock().unwrap();
    let mut found: BTreeMap<u64, Items> = (0..CLIENTS).map(|n| (n, Items::new())).collect();
    let mut counter = 0;
    for row in rows {
        match row[0].split_once('-') {
            Some((client, _)) => {
                drop(found.get_mut(&client.parse().unwrap()).unwrap().insert(row[0].clone(), row[1].clone()))
            }
            None => counter = row[1].parse().unwrap(),
        }
    }
    assert!((o.told..=o.asked).contains(&counter), "{counter} additions, {} to {} were made", o.told, o.asked);
    (o.told, o.asked) = (counter, counter);
    for (client, items) in found {
        let states = o.states.entry(client).or_insert_with(|| vec![Items::new()]);
        assert!(states.contains(&items), "client {client}: {items:?}, must be one of {states:?}");
        *states = vec![items];
    }
}

fn live(seed: u64, oracle: &Arc<Mutex<Oracle>>) {
    let server: Server = up();
    let memcached = Simulated::over(server.core(), server.sessions());
    // The first command makes the tables.
    let mut first = Client { wire: memcached.connect(), read: Vec::new() };
    first.wire.write_all(b"get nothing\r\n").unwrap();
    assert_eq!(first.line().as_deref(), Some("END"));
    let mut db = connect(&server, u64::MAX, false).expect("root connects");
    verify(&mut db, oracle);
    let tasks: Vec<_> = (0..CLIENTS)
        .map(|n| {
            let (wire, oracle) = (memcached.connect(), oracle.clone());
            gannet_runtime::spawn(&format!("client-{n}"), move || client(wire, &oracle, seed, n))
        })
        .collect();
    for task in tasks {
        task.join().unwrap();
    }
    drop(db);
    let mut db = connect(&server, u64::MAX, false).expect("root connects");
    verify(&mut db, oracle);
    drop((db, first));
    match seed.is_multiple_of(2) {
        true => server.stop(),
        false => gannet_runtime::sim::crash(),
    }
}

/// Three lives on one disk. Returns how many commands there were.
fn run(seed: u64) -> u64 {
    let disk = SimDisk::new();
    disk.set_faults(Faults { read_errors: 0, write_errors: 0, sync_errors: 0, late: 0, garbage: true });
    let oracle = Arc::new(Mutex::new(Oracle::default()));
    let mut rnd = rng(seed);
    for round in 0..3 {
        let seed = seed * 10 + round;
        let mut sim = Sim::new(seed).disk(&disk);
        if round < 2 {
            let most = [3_000, 12_000, 30_000][rnd(3) as usize];
            sim = sim.crash_after(rnd(most));
        }
        let o = oracle.clone();
        sim.run_outcome(move || live(seed, &o));
    }
    crate::check(seed, &disk);
    oracle.lock().unwrap().commands
}

#[test]
fn keys_are_not_lost() {
    let one = number("GANNET_SEED");
    let first = one.or(number("GANNET_FIRST_SEED")).unwrap_or(0);
    let seeds = one.map_or_else(|| number("GANNET_SEEDS").unwrap_or(3), |_| 1);
    let until = number("GANNET_SECONDS").map(|s| std::time::Instant::now() + std::time::Duration::from_secs(s));
    let mut commands = 0;
    for seed in first..first + seeds {
        if until.is_some_and(|until| std::time::Instant::now() > until) {
            break;
        }
        println!("replay: cargo xtask sim --workload keys --seed {seed}");
        commands += run(seed);
    }
    println!("{commands} changes by key; nothing lost");
    assert!(commands > 10, "the runs are too short: {commands}");
}

#[test]
fn answers_before_the_commit_is_durable_are_found() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    plant(Some(Fault::TellEarly));
    let found = (0..200).any(|seed| std::panic::catch_unwind(|| run(seed)).is_err());
    plant(None);
    std::panic::set_hook(hook);
    assert!(found);
}

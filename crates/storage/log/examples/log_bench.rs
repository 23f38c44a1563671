//! Measures the log: `log_bench DIR commit [threads|workers] N SECONDS [PAYLOAD]` and `log_bench DIR scan MEBIBYTES`.
//!
//! `commit`: N committers, each appending a record and waiting for it (policy 1), as plain threads or as fibers on two
//! workers. `scan`: fills a log and reads it back.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use gannet_base::Lsn;
use gannet_base::sync::Arc;
use gannet_log::{FIRST_LSN, FlushPolicy, Log, LogReader, Options, RecordKind, Start};
use gannet_runtime::{WorkerOptions, Workers};
use gannet_telemetry::{Counter, total};

fn open(dir: &str, capacity: u64) -> Arc<Log> {
    let _ = std::fs::remove_dir_all(dir);
    let options = Options { capacity, policy: FlushPolicy::Durable, ..Options::new(dir) };
    let start = Start { store: 1, checkpoint: FIRST_LSN, end: FIRST_LSN, epochs: vec![], epoch: 1 };
    Log::open(options, start).expect("a new log")
}

fn commit(log: Arc<Log>, workers: bool, n: usize, seconds: u64, payload: usize) {
    // Let the segments be prepared.
    std::thread::sleep(Duration::from_secs(2));
    let (stop, count, ns) =
        (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let names = [Counter::InnodbOsLogFsyncs, Counter::InnodbOsLogWritten, Counter::WorkerWakes, Counter::WorkerSleeps];
    let before = names.map(total);
    let start = Instant::now();
    let body = |log: Arc<Log>, stop: Arc<AtomicBool>, count: Arc<AtomicU64>, ns: Arc<AtomicU64>| {
        move || {
            let bytes = vec![7u8; payload];
            let (mut mine, mut waited) = (0, 0);
            while !stop.load(Relaxed) {
                log.admit().expect("room");
                let lsn = log.append(RecordKind::Mtr, &[&bytes]);
                let began = Instant::now();
                log.wait_commit(lsn).expect("durable");
                waited += began.elapsed().as_nanos() as u64;
                mine += 1;
            }
            count.fetch_add(mine, Relaxed);
            ns.fetch_add(waited, Relaxed);
        }
    };
    let l = log.clone();
    let end = stop.clone();
    let keeper = std::thread::spawn(move || {
        while !end.load(Relaxed) {
            std::thread::sleep(Duration::from_millis(20));
            l.set_checkpoint(l.durable_lsn());
        }
    });
    let make = || body(log.clone(), stop.clone(), count.clone(), ns.clone());
    if workers {
        let pool = Workers::start(WorkerOptions { count: 2, ..WorkerOptions::default() }).expect("workers");
        let tasks: Vec<_> = (0..n).map(|_| pool.run(make())).collect();
        std::thread::sleep(Duration::from_secs(seconds));
        stop.store(true, Relaxed);
        tasks.into_iter().for_each(|t| t.join().expect("a committer"));
    } else {
        let tasks: Vec<_> = (0..n).map(|_| std::thread::spawn(make())).collect();
        std::thread::sleep(Duration::from_secs(seconds));
        stop.store(true, Relaxed);
        tasks.into_iter().for_each(|t| t.join().expect("a committer"));
    }
    let elapsed = start.elapsed().as_secs_f64();
    keeper.join().expect("the keeper");
    let [syncs, bytes, wakes, sleeps] = std::array::from_fn(|i| (total(names[i]) - before[i]) as f64);
    let commits = count.load(Relaxed) as f64;
    println!(
        "{n:4} {}: {:8.0} commits/s {:7.0} syncs/s {:6.1} commits/sync {:6.2} MiB/s {:7.1} us/commit {:5.2} eventfd/sync {:5.2} sleeps/sync",
        if workers { "fibers " } else { "threads" },
        commits / elapsed,
        syncs / elapsed,
        commits / syncs.max(1.0),
        bytes / elapsed / 1048576.0,
        ns.load(Relaxed) as f64 / commits.max(1.0) / 1000.0,
        wakes / syncs.max(1.0),
        sleeps / syncs.max(1.0),
    );
}

fn scan(dir: &str, mib: u64) {
    let log = open(dir, (mib << 20) * 2);
    let body: Vec<u8> = (0..300u32).map(|i| i as u8).collect();
    let start = Instant::now();
    let mut last = Lsn::ZERO;
    while last.0 < mib << 20 {
        log.admit().expect("room");
        last = log.append(RecordKind::Mtr, &[&body]);
    }
    log.close().expect("closed");
    println!("append: {:.0} MiB/s", mib as f64 / start.elapsed().as_secs_f64());
    for _ in 0..3 {
        let start = Instant::now();
        let mut reader = LogReader::open(Path::new(dir), 1, FIRST_LSN, 1).expect("a log");
        let mut records = 0u64;
        while reader.next().expect("readable").is_some() {
            records += 1;
        }
        let s = start.elapsed().as_secs_f64();
        println!("scan: {:.0} MiB/s, {:.1} million records/s", mib as f64 / s, records as f64 / s / 1e6);
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, default: u64| args.get(i).and_then(|a| a.parse().ok()).unwrap_or(default);
    let Some(dir) = args.first() else {
        eprintln!("log_bench DIR commit threads|workers N SECONDS [PAYLOAD] | log_bench DIR scan MEBIBYTES");
        std::process::exit(2)
    };
    match args.get(1).map(String::as_str) {
        Some("scan") => scan(dir, number(2, 256)),
        _ => {
            let workers = args.get(2).is_some_and(|w| w == "workers");
            commit(open(dir, 256 << 20), workers, number(3, 64) as usize, number(4, 3), number(5, 300) as usize);
        }
    }
    let _ = std::fs::remove_dir_all(dir);
}

//! How long a store takes to open after a crash: run by hand on a copy of a killed server's data directory.
//!
//! `GANNET_STORE=DIR cargo test --profile sim -p gannet-engine --test restart -- --ignored --nocapture`; the store's
//! checkpoint stays where it is, so it can be measured again. `GANNET_INDEX=1` waits until the log is indexed before it
//! ends.

use std::time::{Duration, Instant};

use gannet_engine::*;

#[test]
#[ignore = "needs a store"]
fn time_to_open_and_to_all_redo() {
    let dir = std::env::var("GANNET_STORE").expect("GANNET_STORE names a data directory");
    let start = Instant::now();
    let mut options = EngineOptions::new(&dir);
    options.buffer_pool_bytes = 4 << 30;
    options.redo_capacity_bytes = 2800 << 20;
    options.flush_policy = FlushPolicy::WriteAtCommit;
    let engine = Engine::open(options).expect("the store opens");
    engine.hold_checkpoint(true);
    let opened = start.elapsed();
    let status = engine.recovery();
    let mut done = status;
    while done.percent < 100.0 {
        std::thread::sleep(Duration::from_millis(20));
        done = engine.recovery();
    }
    println!(
        "{} of at most {} bytes of log read, open after {:.2} s; all {} pages after {:.2} s",
        status.log_bytes,
        status.log_bytes_total,
        opened.as_secs_f64(),
        done.pages,
        start.elapsed().as_secs_f64()
    );
    if std::env::var_os("GANNET_INDEX").is_some() {
        let chunks = || {
            std::fs::read_dir(format!("{dir}/log")).map_or(0, |d| {
                d.filter(|f| f.as_ref().is_ok_and(|f| f.path().extension().is_some_and(|e| e == "idx"))).count()
            })
        };
        let (began, mut seen) = (Instant::now(), 0);
        loop {
            std::thread::sleep(Duration::from_secs(4));
            let now = chunks();
            println!("{now} chunks after {:.1} s", began.elapsed().as_secs_f64());
            if now == seen && now > 0 {
                break;
            }
            seen = now;
        }
    }
    // As a kill would end it.
    std::process::exit(0);
}

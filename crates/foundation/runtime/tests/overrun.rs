//! A stack that overflows ends the process, and not silently.

use std::process::Command;
use std::sync::{Arc, Weak};

use gannet_runtime::{LastWord, WorkerOptions, Workers, context, spawn};

const ASKED: &str = "GANNET_TEST_OVERFLOW";

struct Word;

impl LastWord for Word {
    fn last_word(&self, out: &mut [u8]) -> usize {
        let text = b"connection 7: SELECT ";
        out[..text.len()].copy_from_slice(text);
        text.len()
    }
}

#[expect(unconditional_recursion, reason = "that is the fault")]
fn overflow(n: u64) -> u64 {
    let pad = std::hint::black_box([n; 64]);
    overflow(n + 1) + pad[3]
}

fn run() -> u64 {
    let word = Arc::new(Word);
    let weak: Weak<Word> = Arc::downgrade(&word);
    context().set_last_word(weak);
    let n = overflow(0);
    drop(word);
    n
}

/// Does nothing, unless the other test runs it in a process of its own.
#[test]
fn overflows_when_asked() {
    match std::env::var(ASKED).as_deref() {
        Ok("fiber") => {
            let workers = Workers::start(WorkerOptions { count: 1, ..WorkerOptions::default() }).unwrap();
            let _ = workers.run(run).join();
        }
        Ok("thread") => drop(spawn("deep", run).join()),
        _ => {}
    }
}

#[test]
fn an_overflow_is_told() {
    for (what, thread) in [("fiber", "Thread worker-0, fiber 0x"), ("thread", "Thread deep, ")] {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "overflows_when_asked", "--nocapture"]).env(ASKED, what);
        let out = child.output().unwrap();
        let told = String::from_utf8_lossy(&out.stderr);
        assert!(!out.status.success(), "{told}");
        assert!(told.contains("a stack has overflowed"), "{told}");
        assert!(told.contains(thread) && told.contains("connection 7: SELECT "), "{told}");
    }
}

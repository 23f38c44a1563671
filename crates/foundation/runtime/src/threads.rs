//! The threads that the process has started for itself, so that others can see what there is.

use std::collections::BTreeMap;
use std::io;
use std::thread::{Builder, JoinHandle};

use gannet_base::sync::Mutex;

/// A thread that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadInfo {
    /// Its number: of threads that were started by [`start_thread`], in order from 1.
    pub id: u64,
    /// What it does.
    pub name: String,
    /// The system's number of it.
    pub os_id: u32,
}

#[derive(Default)]
struct Threads {
    last: u64,
    running: BTreeMap<u64, ThreadInfo>,
}

static THREADS: Mutex<Option<Threads>> = Mutex::new(None);

/// The threads that run, in the order of their start. Not those that serve one connection each.
pub fn threads() -> Vec<ThreadInfo> {
    THREADS.lock().iter().flat_map(|t| t.running.values().cloned()).collect()
}

/// Starts a thread that [`threads`] shows while it runs.
///
/// # Errors
/// The system's, when it refuses another thread.
pub fn start_thread(
    name: &str,
    stack_bytes: Option<usize>,
    f: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    let builder = Builder::new().name(name.into());
    let builder = match stack_bytes {
        Some(bytes) => builder.stack_size(bytes),
        None => builder,
    };
    let shown = name.to_owned();
    builder.spawn(move || {
        let _listed = Listed::new(shown);
        f();
    })
}

/// Takes the thread from the list when it ends, by a panic too.
struct Listed(u64);

impl Listed {
    fn new(name: String) -> Listed {
        let mut all = THREADS.lock();
        let all = all.get_or_insert_default();
        all.last += 1;
        let id = all.last;
        all.running.insert(id, ThreadInfo { id, name, os_id: os_thread() });
        Listed(id)
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        if let Some(all) = &mut *THREADS.lock() {
            all.running.remove(&self.0);
        }
    }
}

/// The system's number of the calling thread.
pub(crate) fn os_thread() -> u32 {
    // SAFETY: gettid has no conditions and cannot fail.
    let id = unsafe { libc::gettid() };
    id.unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn threads_are_listed_while_they_run() {
        let of = |name: &str| threads().into_iter().find(|t| t.name == name);
        let (tx, rx) = channel::<()>();
        let (up_tx, up) = channel();
        let thread = start_thread("a listed one", Some(64 << 10), move || {
            up_tx.send(os_thread()).unwrap();
            let _ = rx.recv();
        });
        let os_id = up.recv().unwrap();
        let seen = of("a listed one").unwrap();
        assert!(seen.os_id == os_id && os_id != os_thread() && seen.id > 0);
        drop(tx);
        thread.unwrap().join().unwrap();
        assert_eq!(of("a listed one"), None);
        let panics = start_thread("a second one", None, || panic!("on purpose")).unwrap();
        assert_eq!(*panics.join().unwrap_err().downcast::<&str>().unwrap(), "on purpose");
        assert_eq!(of("a second one"), None);
    }
}

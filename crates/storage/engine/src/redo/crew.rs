//! A few tasks that look through the log while another one reads it.

use std::collections::VecDeque;

use gannet_base::sync::Arc;
use gannet_log::Batch;
use gannet_runtime::{JoinHandle, Monitor, Wait, spawn};

use crate::{EngineError, Result};

/// Batches read and not looked through.
const BELT: usize = 4;

/// Batches on their way from the log's reader to the crew.
#[derive(Default)]
struct Belt {
    batches: VecDeque<Batch>,
    /// Bytes of log that are not looked through yet.
    bytes: u64,
    closed: bool,
    /// A batch could not be dealt with.
    failed: Option<EngineError>,
}

/// The tasks. Memory beyond the belt: a batch for each.
pub(super) struct Crew {
    belt: Arc<Monitor<Belt>>,
    tasks: Vec<JoinHandle<()>>,
}

impl Crew {
    /// `work` gets the number of the task and a batch.
    pub(super) fn new(
        name: &str,
        tasks: usize,
        work: impl Fn(usize, &Batch) -> Result<()> + Clone + Send + 'static,
    ) -> Crew {
        let belt: Arc<Monitor<Belt>> = Arc::default();
        let tasks = (0..tasks)
            .map(|i| {
                let (belt, work) = (belt.clone(), work.clone());
                spawn(&format!("{name}-{i}"), move || run(&belt, |batch| work(i, batch)))
            })
            .collect();
        Crew { belt, tasks }
    }

    /// Puts a batch on the belt when there is room.
    pub(super) fn give(&self, batch: Batch) -> Result<()> {
        let mut batch = Some(batch);
        self.belt.wait(Wait::Background, |b| match b.failed.clone() {
            Some(e) => Some(Err(e)),
            None if b.batches.len() >= BELT => None,
            None => batch.take().map(|batch| {
                b.bytes += batch.bytes();
                b.batches.push_back(batch);
                Ok(())
            }),
        })
    }

    /// Bytes of log that are not looked through yet.
    pub(super) fn bytes(&self) -> u64 {
        self.belt.change(|b| b.bytes)
    }

    /// Waits until all that was given is looked through.
    pub(super) fn idle(&self) -> Result<()> {
        self.belt.wait(Wait::Background, |b| match b.failed.clone() {
            Some(e) => Some(Err(e)),
            None => (b.bytes == 0).then_some(Ok(())),
        })
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.belt.change(|b| {
            b.closed = true;
            b.batches.clear();
        });
        if !std::thread::panicking() {
            for task in self.tasks.drain(..) {
                let _ = task.join();
            }
        }
    }
}

/// Tells the others when a task panics: they would wait for it.
struct Watch<'a>(&'a Monitor<Belt>);

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() && !gannet_runtime::sim::active() {
            let ended = || crate::control::damaged("a task that looks through the log ended by itself");
            self.0.change(|b| b.failed = b.failed.take().or_else(|| Some(ended())));
        }
    }
}

fn run(belt: &Monitor<Belt>, work: impl Fn(&Batch) -> Result<()>) {
    let _watch = Watch(belt);
    while let Some(batch) =
        belt.wait(Wait::Background, |b| b.batches.pop_front().map(Some).or_else(|| b.closed.then_some(None)))
    {
        let done = work(&batch);
        belt.change(|b| {
            b.bytes -= batch.bytes();
            b.failed = b.failed.take().or(done.err());
        });
    }
}

use gannet_base::sync::Mutex;
use gannet_telemetry::Wait;

use crate::{Waker, mask_interrupts, park, waker};

/// A value that tasks change and wait on: whoever waits looks again after each change. For a handful of tasks that hand
/// work to each other; every change wakes all that wait.
#[derive(Default)]
pub struct Monitor<T>(Mutex<Inner<T>>);

#[derive(Default)]
struct Inner<T> {
    value: T,
    waiting: Vec<Waker>,
}

impl<T> Monitor<T> {
    /// A monitor of `value`.
    pub fn new(value: T) -> Monitor<T> {
        Monitor(Mutex::new(Inner { value, waiting: Vec::new() }))
    }

    /// Changes the value and wakes who waits.
    pub fn change<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        let (out, waiting) = {
            let mut inner = self.0.lock();
            (f(&mut inner.value), std::mem::take(&mut inner.waiting))
        };
        waiting.iter().for_each(Waker::wake);
        out
    }

    /// Waits until `ready` gives something; it may take it out of the value. Not interruptible.
    pub fn wait<R>(&self, why: Wait, mut ready: impl FnMut(&mut T) -> Option<R>) -> R {
        let _mask = mask_interrupts();
        loop {
            let mut inner = self.0.lock();
            if let Some(found) = ready(&mut inner.value) {
                let waiting = std::mem::take(&mut inner.waiting);
                drop(inner);
                waiting.iter().for_each(Waker::wake);
                return found;
            }
            inner.waiting.push(waker());
            drop(inner);
            let _ = park(why, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::spawn;

    #[test]
    fn a_bounded_queue() {
        let queue = Arc::new(Monitor::new(Vec::new()));
        let q = queue.clone();
        let producer = spawn("producer", move || {
            for i in 0..1000 {
                q.wait(Wait::Background, |v: &mut Vec<i32>| (v.len() < 3).then(|| v.push(i)));
            }
        });
        let got: Vec<i32> =
            (0..1000).map(|_| queue.wait(Wait::Background, |v| (!v.is_empty()).then(|| v.remove(0)))).collect();
        producer.join().unwrap();
        assert_eq!(got, (0..1000).collect::<Vec<_>>());
        assert_eq!(queue.change(|v| v.len()), 0);
    }
}

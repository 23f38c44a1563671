//! Fibers on workers: parking, waking from everywhere, files, helpers.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use gannet_runtime::{
    AlignedBuf, File, Interrupt, IoMode, OpenOptions, Unpark, Wait, Waker, WorkerOptions, Workers, beside, now_ns,
    park, remaining_stack, run_blocking, sleep, spawn, spawn_beside, spawn_local, together, waker, workers_beside,
    yield_if_due, yield_now,
};

fn both(test: impl Fn(Workers)) {
    for io in [IoMode::Ring, IoMode::Epoll] {
        let workers = Workers::start(WorkerOptions { count: 2, io, ..WorkerOptions::default() }).unwrap();
        assert_eq!(workers.uses_ring(), io == IoMode::Ring);
        test(workers);
    }
}

fn temp(name: &str) -> std::path::PathBuf {
    let dir = std::env::temp_dir().join(format!("gannet-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    gannet_runtime::fs::create_dir_all(&dir).unwrap();
    dir
}

#[test]
fn wakes_between_fibers_and_threads_are_not_lost() {
    both(|workers| {
        // A ring of tasks, fibers and threads mixed, passes a token round.
        const TASKS: usize = 8;
        const ROUNDS: u64 = 2000;
        let turn = Arc::new(AtomicU64::new(0));
        let wakers: Arc<[std::sync::OnceLock<Waker>; TASKS]> = Arc::new(Default::default());
        let handles: Vec<_> = (0..TASKS)
            .map(|me| {
                let (turn, wakers) = (turn.clone(), wakers.clone());
                let run = move || {
                    assert!(wakers[me].set(waker()).is_ok());
                    while wakers.iter().any(|w| w.get().is_none()) {
                        yield_now();
                    }
                    for round in 0..ROUNDS {
                        while turn.load(SeqCst) != round * TASKS as u64 + me as u64 {
                            assert_eq!(park(Wait::Condition, Some(now_ns() + 20_000_000_000)), Unpark::Woken);
                        }
                        turn.fetch_add(1, SeqCst);
                        wakers[(me + 1) % TASKS].get().unwrap().wake();
                    }
                };
                if me % 4 == 3 { spawn("ring", run) } else { workers.run(run) }
            })
            .collect();
        handles.into_iter().for_each(|h| h.join().unwrap());
        assert_eq!(turn.load(SeqCst), ROUNDS * TASKS as u64);
    });
}

#[test]
fn timers_fire_in_order_and_races_with_wakes_are_harmless() {
    both(|workers| {
        let order = Arc::new(std::sync::Mutex::new(Vec::new()));
        let sleepers: Vec<_> = [1400u64, 20, 700]
            .map(|ms| {
                let order = order.clone();
                workers.run(move || {
                    assert_eq!(sleep(Duration::from_millis(ms)), Unpark::TimedOut);
                    order.lock().unwrap().push(ms);
                })
            })
            .into();
        sleepers.into_iter().for_each(|h| h.join().unwrap());
        // Far apart: on a busy machine the sleepers do not start at the same time.
        assert_eq!(*order.lock().unwrap(), [20, 700, 1400]);
        // Deadlines and wakes at about the same time: every park ends, for either reason.
        let (woken, timed) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (tx, rx) = std::sync::mpsc::channel();
        let (w, t) = (woken.clone(), timed.clone());
        let parker = workers.run(move || {
            tx.send(waker()).unwrap();
            for i in 0..2000u64 {
                match park(Wait::Condition, Some(now_ns() + i % 60 * 1000)) {
                    Unpark::Woken => w.fetch_add(1, SeqCst),
                    Unpark::TimedOut => t.fetch_add(1, SeqCst),
                    Unpark::Interrupted => unreachable!(),
                };
            }
        });
        let waker = rx.recv().unwrap();
        while !parker.is_finished() {
            waker.wake();
            std::thread::sleep(Duration::from_micros(20));
        }
        parker.join().unwrap();
        assert_eq!(woken.load(SeqCst) + timed.load(SeqCst), 2000);
    });
}

#[test]
fn interruption_reaches_a_parked_fiber() {
    both(|workers| {
        let h = workers.run(|| park(Wait::RowLock, None));
        while h.context().waiting().is_none() {
            std::thread::yield_now();
        }
        h.context().interrupt(Interrupt::Query);
        assert_eq!(h.join().unwrap(), Unpark::Interrupted);
    });
}

#[test]
fn panics_stay_in_the_fiber_and_deep_stacks_are_measured() {
    both(|workers| {
        let panic = workers.run(|| panic!("as asked")).join().unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"as asked"));
        let left = workers
            .run(|| {
                fn deep(n: u32) -> usize {
                    let pad = std::hint::black_box([n as u8; 512]);
                    let left = if remaining_stack() < 64 << 10 { remaining_stack() } else { deep(n + 1) };
                    std::hint::black_box(&pad);
                    left
                }
                deep(0)
            })
            .join()
            .unwrap();
        assert!(left < 64 << 10 && left > 32 << 10, "{left}");
        assert_eq!(workers.run(|| 5).join().unwrap(), 5);
    });
}

#[test]
fn helpers_and_local_tasks() {
    both(|workers| {
        let total = workers.run(|| {
            let text = String::from("borrowed by the helper thread");
            let n = run_blocking(|| text.len());
            let local: Vec<_> = (0..10).map(|i| spawn_local("local", move || i * 2)).collect();
            // Long work gives others their turn.
            let until = now_ns() + 5_000_000;
            while now_ns() < until {
                yield_if_due();
            }
            n + local.into_iter().map(|h| h.join().unwrap()).sum::<usize>()
        });
        assert_eq!(total.join().unwrap(), 29 + 90);
        let outcome = workers.run(|| run_blocking(|| panic!("on the helper"))).join();
        assert_eq!(*outcome.unwrap_err().downcast::<&str>().unwrap(), "on the helper");
    });
}

fn exercise(path: std::path::PathBuf, direct: bool) {
    let how = OpenOptions::read_write().create_new();
    let file = File::open(&path, &if direct { how.direct() } else { how }).unwrap();
    file.allocate(0, 1 << 20).unwrap();
    assert_eq!(file.len().unwrap(), 1 << 20);
    let mut pages: Vec<AlignedBuf> = (0..100).map(|_| AlignedBuf::zeroed(4096)).collect();
    pages.iter_mut().enumerate().for_each(|(i, p)| p.fill(i as u8 + 1));
    let parts: Vec<_> = pages.iter().enumerate().map(|(i, p)| (i as u64 * 8192, &p[..])).collect();
    file.write_many(&parts).unwrap();
    file.sync_data().unwrap();
    let mut back: Vec<AlignedBuf> = (0..100).map(|_| AlignedBuf::zeroed(4096)).collect();
    let mut parts: Vec<_> = back.iter_mut().enumerate().map(|(i, p)| (i as u64 * 8192, &mut p[..])).collect();
    file.read_many(&mut parts).unwrap();
    assert!(back.iter().zip(&pages).all(|(a, b)| a[..] == b[..]));
    file.write_vectored_at(&pages.iter().map(|p| &p[..]).collect::<Vec<_>>(), 0).unwrap();
    let mut all = AlignedBuf::zeroed(100 * 4096);
    file.read_exact_at(&mut all, 0).unwrap();
    assert!(all.chunks(4096).enumerate().all(|(i, c)| c.iter().all(|&b| b == i as u8 + 1)));
    if file.punch_hole(4096, 4096).unwrap() {
        file.read_exact_at(&mut all[..8192], 0).unwrap();
        assert!(all[4096..8192].iter().all(|&b| b == 0) && all[0] == 1);
    }
    file.set_len(8192).unwrap();
    assert_eq!(file.read_at(&mut all[..16384], 0).unwrap(), 8192, "short at the end of the file");
    assert_eq!(file.read_at(&mut all[..4096], 1 << 30).unwrap(), 0);
    let e = file.read_exact_at(&mut all[..4096], 8192).unwrap_err();
    assert_eq!(e.kind(), std::io::ErrorKind::UnexpectedEof);
    assert!(file.try_lock().unwrap());
    let again = File::open(&path, &OpenOptions::read()).unwrap();
    assert!(!again.try_lock().unwrap(), "locked by the other");
    drop(file);
    assert!(again.try_lock().unwrap());
    assert_eq!(again.write_at(b"no", 0).unwrap_err().raw_os_error(), Some(libc::EBADF), "opened for reading");
    gannet_runtime::fs::sync_dir(path.parent().unwrap()).unwrap();
    let to = path.with_extension("moved");
    gannet_runtime::fs::rename(&path, &to).unwrap();
    assert_eq!(gannet_runtime::fs::read_dir(path.parent().unwrap()).unwrap(), std::slice::from_ref(&to));
    gannet_runtime::fs::remove_file(&to).unwrap();
    assert!(!gannet_runtime::fs::exists(&to).unwrap());
}

#[test]
fn files_on_threads_and_fibers() {
    let dir = temp("files");
    for direct in [false, true] {
        exercise(dir.join("plain"), direct);
        both(|workers| {
            let path = dir.join("fiber");
            workers.run(move || exercise(path, direct)).join().unwrap();
        });
    }
    // Many fibers write at the same time.
    both(|workers| {
        let file = Arc::new(File::open(dir.join("many"), &OpenOptions::read_write().create()).unwrap());
        let writers: Vec<_> = (0..50u64)
            .map(|i| {
                let file = file.clone();
                workers.run(move || {
                    file.write_at(&[i as u8; 1000], i * 1000).unwrap();
                    file.sync_data().unwrap();
                    let mut b = [0; 1000];
                    file.read_exact_at(&mut b, i * 1000).unwrap();
                    assert!(b.iter().all(|&b| b == i as u8));
                })
            })
            .collect();
        writers.into_iter().for_each(|h| h.join().unwrap());
    });
    gannet_runtime::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn tasks_beside_run_on_the_other_workers() {
    both(|workers| {
        let thread = || std::thread::current().id();
        let threads = workers.run(move || {
            let beside: Vec<_> = (0..4).map(|turn| spawn_beside(turn, "beside", thread)).collect();
            let ran: Vec<_> = beside.into_iter().map(|task| task.join().unwrap()).collect();
            (thread(), ran)
        });
        let (own, ran) = threads.join().unwrap();
        // Two workers take turns, the own one first.
        assert!(ran[0] == own && ran[1] != own && ran[2] == own && ran[3] == ran[1]);
        // One that waits can be interrupted, and its task goes on.
        let task = workers.run(move || {
            let slow = spawn_beside(1, "slow", || sleep(Duration::from_millis(1500)) == Unpark::TimedOut);
            let seen = slow.wait(Wait::Parallel);
            (seen, slow.join().unwrap())
        });
        task.context().interrupt(Interrupt::Query);
        assert_eq!(task.join().unwrap(), (false, true));
    });
    assert_eq!(spawn("alone", || spawn_beside(3, "thread", || 5).join().unwrap()).join().unwrap(), 5);
}

#[test]
fn tasks_together_borrow_and_end_together() {
    both(|workers| {
        let sums = workers.run(|| {
            let numbers: Vec<u64> = (0..1000).collect();
            let next = AtomicU64::new(0);
            let sum = |_: usize| {
                let take = || numbers.get(next.fetch_add(1, SeqCst) as usize);
                std::iter::from_fn(take).inspect(|_| yield_now()).sum::<u64>()
            };
            let sums = together(4, Wait::Parallel, sum);
            assert_eq!((together(1, Wait::Parallel, |n| n), together(0, Wait::Parallel, |n| n)), (vec![0], vec![0]));
            sums
        });
        let sums = sums.join().unwrap();
        assert_eq!((sums.len(), sums.iter().sum::<u64>()), (4, 499_500));
        // The others end before a panic goes on, whoever has it.
        for panics in [0, 2] {
            let ended = Arc::new(AtomicU64::new(0));
            let e = ended.clone();
            let task = workers.run(move || {
                together(3, Wait::Parallel, |n| {
                    if n == panics {
                        std::panic::resume_unwind(Box::new(n));
                    }
                    let _ = sleep(Duration::from_millis(20));
                    e.fetch_add(1, SeqCst);
                })
            });
            assert_eq!(task.join().unwrap_err().downcast_ref(), Some(&panics));
            assert_eq!(ended.load(SeqCst), 2);
        }
        // An interruption is for all.
        let begun = Arc::new(AtomicU64::new(0));
        let b = begun.clone();
        let task = workers.run(move || {
            together(3, Wait::Parallel, |n| {
                b.fetch_add(1, SeqCst);
                n == 0 || sleep(Duration::from_secs(60)) == Unpark::Interrupted
            })
        });
        while begun.load(SeqCst) < 3 {
            std::thread::sleep(Duration::from_millis(1));
        }
        task.context().interrupt(Interrupt::Query);
        assert_eq!(task.join().unwrap(), [true; 3]);
    });
}

/// The current task may have what no other may touch, and has to tell the others to end.
#[test]
fn helpers_beside_a_task() {
    both(|workers| {
        let task = workers.run(|| {
            assert!(workers_beside() > 1);
            let (over, helped, own) = (AtomicU64::new(0), AtomicU64::new(0), Cell::new(0));
            let help = |n: usize| {
                while over.load(SeqCst) == 0 {
                    yield_now();
                }
                helped.fetch_add(n as u64 + 1, SeqCst);
            };
            let value = beside(3, Wait::Parallel, help, || {
                own.set(7);
                over.store(1, SeqCst);
                "done"
            });
            (value, helped.load(SeqCst), own.get())
        });
        assert_eq!(task.join().unwrap(), ("done", 6, 7));
    });
    assert_eq!((workers_beside(), beside(0, Wait::Parallel, |_| {}, || 5)), (1, 5));
}

/// A worker that has ended takes no task: the current one does it.
#[test]
fn tasks_beside_a_worker_that_has_ended_run_all_the_same() {
    both(|workers| {
        let begun = Arc::new(AtomicU64::new(0));
        let seen = begun.clone();
        let task = workers.run(move || {
            seen.store(1, SeqCst);
            // Interrupted when the workers are to end; the other one, which has nothing to do, ends before.
            while sleep(Duration::from_secs(10)) == Unpark::TimedOut {}
            let until = now_ns() + 200_000_000;
            while now_ns() < until {
                yield_now();
            }
            (0..4).map(|turn| spawn_beside(turn, "late", move || turn).join().unwrap()).sum::<usize>()
        });
        while begun.load(SeqCst) == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        task.context().interrupt(Interrupt::Shutdown);
        assert!(workers.shutdown(Duration::from_secs(10)));
        assert_eq!(task.join().unwrap(), 6);
    });
}

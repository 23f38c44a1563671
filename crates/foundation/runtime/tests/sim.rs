//! The simulated twin: determinism, exploration, time, the forgetful disk, the network.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use gannet_base::sync::atomic::{AtomicU64, Ordering::SeqCst};
use gannet_base::sync::{Mutex, sched_point, spin_hint};
use gannet_runtime::sim::{self, Sim, SimDisk};
use gannet_runtime::{
    Conn, File, Interrupt, Next, OpenOptions, Ready, Service, Unpark, Wait, WallTime, fs, now_ns, park, random_u64,
    sleep, slot, spawn, waker,
};

fn workload() -> u64 {
    let sum = Arc::new(AtomicU64::new(0));
    let file = Arc::new(File::open("data", &OpenOptions::read_write().create()).unwrap());
    let tasks: Vec<_> = (0..5u64)
        .map(|i| {
            let (sum, file) = (sum.clone(), file.clone());
            spawn("worker", move || {
                for k in 0..20u64 {
                    let _ = sleep(Duration::from_micros(random_u64() % 500));
                    file.write_at(&[i as u8; 100], (i * 20 + k) * 100).unwrap();
                    sched_point();
                    sum.fetch_add(random_u64() % 10, SeqCst);
                }
                file.sync_data().unwrap();
            })
        })
        .collect();
    tasks.into_iter().for_each(|t| t.join().unwrap());
    sum.load(SeqCst)
}

#[test]
fn same_seed_same_run() {
    let run = |seed| {
        let o = Sim::new(seed).run_outcome(workload);
        (o.value, o.trace, o.steps, o.elapsed_ns)
    };
    let first: Vec<_> = (0..10).map(run).collect();
    let again: Vec<_> = (0..10).map(run).collect();
    assert_eq!(first, again);
    assert!(first.windows(2).all(|w| w[0].1 != w[1].1), "other seeds, other runs");
    // On another thread, in another process state: the same.
    let elsewhere = std::thread::spawn(move || (0..10).map(run).collect::<Vec<_>>()).join().unwrap();
    assert_eq!(first, elsewhere);
}

#[test]
fn time_jumps() {
    let real = std::time::Instant::now();
    let (virtual_s, unix) = Sim::new(1).run(|| {
        let (t, u) = (now_ns(), WallTime::now().micros());
        assert_eq!(sleep(Duration::from_secs(86_400)), Unpark::TimedOut);
        ((now_ns() - t) / 1_000_000_000, (WallTime::now().micros() - u) / 1_000_000)
    });
    assert_eq!((virtual_s, unix), (86_400, 86_400));
    assert!(real.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_race_is_found() {
    // An unprotected read-modify-write with a scheduling point in it.
    let lost = |seed| {
        Sim::new(seed).run(|| {
            let n = Arc::new(AtomicU64::new(0));
            let tasks: Vec<_> = (0..2)
                .map(|_| {
                    let n = n.clone();
                    spawn("adder", move || {
                        for _ in 0..5 {
                            let v = n.load(SeqCst);
                            sched_point();
                            n.store(v + 1, SeqCst);
                        }
                    })
                })
                .collect();
            tasks.into_iter().for_each(|t| t.join().unwrap());
            n.load(SeqCst) != 10
        })
    };
    let found = (0..100).filter(|&seed| lost(seed)).count();
    assert!(found > 10 && found < 100, "{found} of 100 seeds show the race");
}

#[test]
fn locks_and_spins_do_not_hang() {
    for seed in 0..20 {
        let total = Sim::new(seed).run(|| {
            let m = Arc::new(Mutex::new(0u64));
            let latch = Arc::new(AtomicU64::new(0));
            let slots = Arc::new(Mutex::new(Vec::new()));
            let tasks: Vec<_> = (0..4)
                .map(|_| {
                    let (m, latch, slots) = (m.clone(), latch.clone(), slots.clone());
                    spawn("locker", move || {
                        slots.lock().push(slot());
                        for _ in 0..20 {
                            let mut v = m.lock();
                            let old = *v;
                            sched_point();
                            *v = old + 1;
                            drop(v);
                            while latch.compare_exchange(0, 1, SeqCst, SeqCst).is_err() {
                                spin_hint();
                            }
                            sched_point();
                            latch.store(0, SeqCst);
                        }
                    })
                })
                .collect();
            tasks.into_iter().for_each(|t| t.join().unwrap());
            let mut s = slots.lock().clone();
            s.sort();
            assert!(s.iter().all(|&s| s < 16));
            *m.lock()
        });
        assert_eq!(total, 80);
    }
}

#[test]
fn deadlocks_and_panics_are_reported_with_the_seed() {
    let text = |f: fn()| {
        let panic = catch_unwind(AssertUnwindSafe(|| Sim::new(77).run(f))).unwrap_err();
        panic.downcast_ref::<String>().cloned().unwrap_or_default()
    };
    let t = text(|| {
        let _t = spawn("other", || park(Wait::RowLock, None));
        let _ = park(Wait::LogFlush, None);
    });
    assert!(t.contains("deadlocked, seed 77") && t.contains("other: wait/lock/row"), "{t}");
    assert!(t.contains("main: wait/log/flush"), "{t}");
    let t = text(|| drop(spawn("bad", || panic!("background")).join()));
    assert!(t.contains("seed 77") && t.contains("background"), "{t}");
    let o = Sim::new(1).allow_panics().run_outcome(|| spawn("bad", || panic!("background")).join().is_err());
    assert_eq!((o.value, o.panics), (Some(true), vec!["background".to_owned()]));
    let t = catch_unwind(|| {
        Sim::new(3).max_steps(1000).run(|| {
            loop {
                spin_hint()
            }
        })
    })
    .unwrap_err();
    assert!(t.downcast_ref::<String>().unwrap().contains("too long"));
    // The thread is usable afterwards.
    assert_eq!(Sim::new(1).run(|| 1), 1);
    assert_eq!(park(Wait::Condition, Some(now_ns() + 1000)), Unpark::TimedOut);
}

#[test]
fn interruption_and_wakes() {
    Sim::new(5).run(|| {
        let t = spawn("victim", || park(Wait::RowLock, None));
        t.context().interrupt(Interrupt::Query);
        assert_eq!(t.join().unwrap(), Unpark::Interrupted);
        waker().wake();
        assert_eq!(park(Wait::Condition, None), Unpark::Woken);
    });
}

/// Appends numbered records of 8 bytes, syncing now and then; `acknowledged` is what was synced.
fn append(acknowledged: Arc<AtomicU64>) {
    fs::create_dir_all("dir").unwrap();
    let f = File::open("dir/log", &OpenOptions::read_write().create()).unwrap();
    fs::sync_dir("dir").unwrap();
    assert!(f.try_lock().unwrap());
    let start = f.len().unwrap() / 8;
    for i in start..start + 200 {
        f.write_at(&(i + 1).to_le_bytes(), i * 8).unwrap();
        if i % 3 == 0 {
            f.sync_data().unwrap();
            acknowledged.store(i + 1, SeqCst);
        }
    }
}

#[test]
fn crashes_keep_what_was_synced() {
    let (mut unsynced_kept, mut unsynced_lost) = (0, 0);
    for seed in 0..200u64 {
        let (disk, acknowledged) = (SimDisk::new(), Arc::new(AtomicU64::new(0)));
        let a = acknowledged.clone();
        let o = Sim::new(seed).disk(&disk).crash_after(1 + seed * 2).run_outcome(move || append(a));
        let kept = disk.peek("dir/log").unwrap_or_default();
        let acknowledged = acknowledged.load(SeqCst);
        for i in 0..acknowledged {
            let at = i as usize * 8;
            assert_eq!(kept[at..at + 8], (i + 1).to_le_bytes(), "seed {seed}");
        }
        if o.value.is_none() && acknowledged > 0 {
            if kept.len() as u64 / 8 > acknowledged { unsynced_kept += 1 } else { unsynced_lost += 1 }
        }
        // The disk is usable again, and the lock of the dead process is gone.
        if o.value.is_none() {
            let a = Arc::new(AtomicU64::new(0));
            Sim::new(seed).disk(&disk).run(move || append(a));
        }
    }
    assert!(unsynced_kept > 10 && unsynced_lost > 10, "{unsynced_kept} {unsynced_lost}");
}

#[test]
fn names_need_a_sync_of_their_directory() {
    let (mut with, mut without) = (0, 0);
    for seed in 0..60 {
        let disk = SimDisk::new();
        let o = Sim::new(seed).disk(&disk).run_outcome(|| {
            fs::create_dir_all("d").unwrap();
            let f = File::open("d/new.tmp", &OpenOptions::read_write().create_new()).unwrap();
            f.write_at(b"x", 0).unwrap();
            f.sync_data().unwrap();
            fs::sync_dir("d").unwrap();
            fs::rename("d/new.tmp", "d/new").unwrap();
            sim::crash()
        });
        assert!(o.value.is_none());
        match disk.files() {
            names if names == [std::path::PathBuf::from("d/new")] => with += 1,
            names if names == [std::path::PathBuf::from("d/new.tmp")] => without += 1,
            other => panic!("{other:?}"),
        }
        assert_eq!(disk.peek("d/new").or(disk.peek("d/new.tmp")).unwrap(), b"x");
    }
    assert!(with > 5 && without > 5);
}

#[test]
fn memory_of_a_crashed_run_is_freed() {
    struct Counted(Arc<AtomicU64>);
    impl Drop for Counted {
        fn drop(&mut self) {
            // Destructors of a crashed run may try to wait and to write: refused, but they end.
            let _ = sleep(Duration::from_millis(1));
            assert_eq!(File::open("x", &OpenOptions::read_write().create()).unwrap_err().raw_os_error(), Some(5));
            self.0.fetch_add(1, SeqCst);
        }
    }
    let drops = Arc::new(AtomicU64::new(0));
    let d = drops.clone();
    Sim::new(9).run_outcome(move || {
        let held = Arc::new(Mutex::new(()));
        for _ in 0..3 {
            let (d, held) = (d.clone(), held.clone());
            spawn("holder", move || {
                let _c = Counted(d);
                let _g = held.lock();
                sched_point();
                loop {
                    spin_hint();
                }
            });
        }
        let _ = sleep(Duration::from_millis(1));
        sim::crash()
    });
    assert!(drops.load(SeqCst) >= 1, "{}", drops.load(SeqCst));
}

#[test]
fn a_full_disk_and_damage() {
    let disk = SimDisk::new();
    disk.set_capacity(Some(8192));
    let d = disk.clone();
    Sim::new(1).disk(&disk).run(move || {
        let f = File::open("f", &OpenOptions::read_write().create().direct()).unwrap();
        assert!(f.is_direct());
        let page = gannet_runtime::AlignedBuf::zeroed(4096);
        f.write_at(&page, 0).unwrap();
        f.write_at(&page, 4096).unwrap();
        assert_eq!(f.write_at(&page, 8192).unwrap_err().raw_os_error(), Some(28));
        assert_eq!(f.write_at(&page[..100], 0).unwrap_err().raw_os_error(), Some(22), "not aligned");
        assert!(f.punch_hole(0, 4096).unwrap());
        f.write_at(&page, 8192).unwrap();
        assert!(d.poke("f", 4096, b"damaged"));
        let mut back = gannet_runtime::AlignedBuf::zeroed(4096);
        f.read_exact_at(&mut back, 4096).unwrap();
        assert_eq!(&back[..7], b"damaged");
        // A temporary file: gone from the names, usable until it is closed.
        fs::remove_file("f").unwrap();
        f.read_exact_at(&mut back, 4096).unwrap();
        assert!(!fs::exists("f").unwrap());
    });
    assert_eq!(disk.used(), 0);
}

struct Echo(Arc<AtomicU64>);

impl Service for Echo {
    fn ready(&mut self, buffered: &[u8]) -> Ready {
        if buffered.contains(&b'\n') { Ready::Serve } else { Ready::NeedMore }
    }

    fn serve(&mut self, conn: &mut Conn) -> Next {
        while let Some(end) = conn.buffered().iter().position(|&b| b == b'\n') {
            let line = conn.buffered()[..=end].to_vec();
            conn.consume(end + 1);
            conn.out().extend_from_slice(&line);
        }
        Next::Idle
    }

    fn closed(&mut self, _: &mut Conn) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn the_network_cuts_packets_and_loses_clients() {
    for seed in 0..20 {
        Sim::new(seed).max_steps(1_000_000).run(|| {
            let closed = Arc::new(AtomicU64::new(0));
            let c = closed.clone();
            let mut client = sim::connect(move |_, _| Box::new(Echo(c)));
            let big = "x".repeat(200_000);
            client.write_all(b"a\nb\nhal").unwrap();
            client.write_all(b"f\n").unwrap();
            let mut got = Vec::new();
            while got.len() < 9 {
                assert!(client.read(&mut got).unwrap() > 0);
            }
            assert_eq!(got, b"a\nb\nhalf\n");
            client.write_all(format!("{big}\n").as_bytes()).unwrap();
            got.clear();
            while got.len() < big.len() + 1 {
                assert!(client.read(&mut got).unwrap() > 0);
            }
            drop(client);
            let _ = sleep(Duration::from_secs(1));
            assert_eq!(closed.load(SeqCst), 1);
        });
    }
}

/// Two syncs of a file at once: the one that began first takes nothing back of what the other has made durable.
#[test]
fn overlapping_syncs_never_go_back() {
    for seed in 0..200 {
        let disk = SimDisk::new();
        Sim::new(seed).disk(&disk).run_outcome(|| {
            fs::create_dir_all("d").unwrap();
            let file = Arc::new(File::open("d/f", &OpenOptions::read_write().create()).unwrap());
            fs::sync_dir("d").unwrap();
            let first = file.clone();
            let first = spawn("first", move || {
                first.write_at(b"old", 0).unwrap();
                first.sync_all().unwrap();
            });
            let _ = sleep(Duration::from_micros(300));
            file.write_at(b"newer", 0).unwrap();
            file.sync_all().unwrap();
            first.join().unwrap();
            sim::crash()
        });
        assert_eq!(disk.peek("d/f").unwrap(), b"newer", "seed {seed}");
    }
}

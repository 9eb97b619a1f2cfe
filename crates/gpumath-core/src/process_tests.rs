//! Forks while locks are held, and while values are set.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Mutex, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use super::{PerProcess, SetOnce};

unsafe extern "C" {
    fn fork() -> c_int;
    fn waitpid(process: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn kill(process: c_int, signal: c_int) -> c_int;
    fn _exit(status: c_int) -> !;
}

const NO_HANG: c_int = 1;
const KILL: c_int = 9;

/// Runs `body` in a forked child, and returns what it returns. Fails if the child hangs.
fn in_child(body: impl FnOnce() -> u8) -> u8 {
    // SAFETY: the child calls only `body`, which takes locks of its own, and ends.
    let child = unsafe { fork() };
    assert!(child >= 0);
    if child == 0 {
        let answer = body();
        // SAFETY: ends the child at once, without the harness of the tests.
        unsafe { _exit(answer.into()) }
    }
    let end = Instant::now() + Duration::from_secs(20);
    let mut status = 0;
    // SAFETY: `status` is a live number.
    while unsafe { waitpid(child, &raw mut status, NO_HANG) } == 0 {
        if Instant::now() > end {
            // SAFETY: `child` is a child of this process that was not waited for.
            unsafe { kill(child, KILL) };
        }
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(status & 0x7f, 0, "the child hung or was killed");
    (status >> 8 & 0xff) as u8
}

#[test]
fn a_child_does_not_wait_for_a_lock_that_a_thread_of_its_parent_held() {
    static NUMBER: PerProcess<Mutex<u8>> = PerProcess::new();
    *NUMBER.lock() = 7;
    let ((locked, is_locked), (done, is_done)) = (channel(), channel());
    let holder = thread::spawn(move || {
        let guard = NUMBER.lock();
        locked.send(()).unwrap();
        is_done.recv().unwrap();
        *guard
    });
    is_locked.recv().unwrap();
    let first_value = in_child(|| {
        let first_value = *NUMBER.lock();
        *NUMBER.lock() = 50;
        // A child of the child is no different.
        let grandchild = in_child(|| {
            let before = *NUMBER.lock();
            *NUMBER.lock() += 1;
            before + *NUMBER.lock()
        });
        first_value + *NUMBER.lock() + grandchild
    });
    assert_eq!(first_value, 51);
    done.send(()).unwrap();
    assert_eq!(holder.join().unwrap(), 7, "the child changed the value of its parent");
}

#[test]
fn every_kind_of_lock_is_new_in_a_child() {
    static LOCK: PerProcess<RwLock<u8>> = PerProcess::new();
    let lock = || LOCK.get(RwLock::default);
    let reading = lock().read().unwrap();
    let written = in_child(|| {
        *lock().write().unwrap() = 3;
        *lock().read().unwrap()
    });
    assert_eq!((written, *reading), (3, 0));
}

#[test]
fn threads_that_set_a_value_at_the_same_time_agree() {
    for _ in 0..200 {
        let value = &SetOnce::new();
        let seen: Vec<u32> = thread::scope(|scope| {
            let threads: Vec<_> =
                (0..4).map(|number| scope.spawn(move || *value.get_or_init(|| number))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(seen, [*value.get().unwrap(); 4]);
    }
}

#[test]
fn a_value_that_is_set_is_there_in_a_child_and_is_dropped_once() {
    static DROPPED: AtomicU32 = AtomicU32::new(0);
    struct Counted(u8);
    impl Drop for Counted {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, Ordering::Relaxed);
        }
    }
    let value = SetOnce::new();
    assert!(value.get().is_none());
    assert_eq!(value.get_or_init(|| Counted(9)).0, 9);
    assert!(!value.set(Counted(8)));
    assert_eq!(value.get_or_init(|| Counted(7)).0, 9);
    assert_eq!(DROPPED.load(Ordering::Relaxed), 1, "that of 8");
    assert_eq!(in_child(|| value.get().map_or(0, |counted| counted.0)), 9);
    drop(value);
    assert_eq!(DROPPED.load(Ordering::Relaxed), 2);
}

//! Holds what exists once in a process, such that a forked child can use it.
//!
//! A fork copies the memory but only one thread. A lock that another thread held is locked for ever
//! in the child, and what it guards may be half written. So a child never touches the locks of its
//! parent: every lock of the whole process is in a [`PerProcess`], of which the child makes its
//! own. A value that never changes once it is set is a [`SetOnce`], which nothing has to wait for.
//! An extension module calls [`prepare_for_forks`] while it is imported.
//! `tools/process_locks.py` finds statics that are locks of another kind.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[cfg(unix)]
use gpumath_sys::fork;

/// Makes every later fork known to this module and to the loader of libraries. Without this call,
/// the first use does that, and children of forks that are under way then may hang.
pub fn prepare_for_forks() {
    fork::register_handlers();
}

/// A value of which each process makes its own, also a forked child, because threads do not survive
/// a fork and locks may have been held during it.
#[derive(Debug)]
pub struct PerProcess<T: 'static> {
    current: AtomicPtr<(u32, T)>,
}

impl<T: Send + Sync> PerProcess<T> {
    /// Creates the place for the value. Nothing is made yet.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "only statics hold it, and they need a const")]
    pub const fn new() -> Self {
        Self { current: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Returns this process's value, which the first call makes with `init`. A forked child leaves
    /// its parent's value alone.
    pub fn get(&'static self, init: fn() -> T) -> &'static T {
        let forks = fork::count();
        let mut seen = self.current.load(Ordering::Acquire);
        loop {
            // SAFETY: only pointers from `Box::into_raw` below are stored, and none is freed after
            // that.
            if let Some((owner, value)) = unsafe { seen.as_ref() }
                && *owner == forks
            {
                return value;
            }
            fork::register_handlers();
            let made = Box::into_raw(Box::new((forks, init())));
            match self.current.compare_exchange(seen, made, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => seen = made,
                Err(newer) => {
                    // SAFETY: `made` came from Box::into_raw just above and was not stored.
                    drop(unsafe { Box::from_raw(made) });
                    seen = newer;
                }
            }
        }
    }
}

impl<T: Send + Default> PerProcess<Mutex<T>> {
    /// Locks this process's value. In a forked child it starts with its default again.
    pub fn lock(&'static self) -> MutexGuard<'static, T> {
        self.get(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A value that is set once and then stays, also in forked children. Unlike `OnceLock`, nothing
/// ever waits for it: threads that set it at the same time all make a value, and the first counts.
#[derive(Debug)]
pub struct SetOnce<T> {
    value: AtomicPtr<T>,
    owns: PhantomData<T>,
}

impl<T: Send + Sync> SetOnce<T> {
    /// Creates it without a value.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "most are statics, which need a const")]
    pub const fn new() -> Self {
        Self { value: AtomicPtr::new(std::ptr::null_mut()), owns: PhantomData }
    }

    /// Returns the value, if there is one.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        // SAFETY: only pointers from `Box::into_raw` below are stored; they stay valid until
        // `self` is dropped.
        unsafe { self.value.load(Ordering::Acquire).as_ref() }
    }

    /// Sets the value, unless there is one already. Returns whether it did.
    pub fn set(&self, value: T) -> bool {
        self.get().is_none() && self.store(value).1
    }

    /// Returns the value. If there is none, `init` makes one.
    #[inline]
    pub fn get_or_init(&self, init: impl FnOnce() -> T) -> &T {
        self.get().unwrap_or_else(|| self.store(init()).0)
    }

    /// Like [`get_or_init`](Self::get_or_init), but an error of `init` leaves it without a value.
    #[inline]
    pub fn get_or_try_init<E>(&self, init: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        match self.get() {
            Some(value) => Ok(value),
            None => init().map(|value| self.store(value).0),
        }
    }

    /// Stores a value, unless there is one. Returns the value, and whether it is the new one.
    fn store(&self, value: T) -> (&T, bool) {
        let made = Box::into_raw(Box::new(value));
        let none = std::ptr::null_mut();
        match self.value.compare_exchange(none, made, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: `made` is stored now, and stays valid until `self` is dropped.
            Ok(_) => (unsafe { &*made }, true),
            Err(earlier) => {
                // SAFETY: `made` came from Box::into_raw just above and was not stored. `earlier`
                // is not null and stays valid until `self` is dropped.
                let earlier = unsafe {
                    drop(Box::from_raw(made));
                    &*earlier
                };
                (earlier, false)
            }
        }
    }
}

impl<T> Drop for SetOnce<T> {
    fn drop(&mut self) {
        let value = *self.value.get_mut();
        if !value.is_null() {
            // SAFETY: the pointer came from `Box::into_raw`, and nobody can use it any more.
            drop(unsafe { Box::from_raw(value) });
        }
    }
}

#[cfg(not(unix))]
mod fork {
    /// Without forks, there is one process.
    pub(super) fn count() -> u32 {
        0
    }

    pub(super) fn register_handlers() {}
}

#[cfg(all(test, unix))]
#[path = "process_tests.rs"]
mod tests;

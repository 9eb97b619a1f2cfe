//! What CPU transforms allocate, and what happens where they cannot.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failing unwrap is a failing test")]

use std::alloc::{GlobalAlloc, Layout as Block, System};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use gpumath_core::Error;
use gpumath_core::fft::cpu::CpuFft;
use gpumath_core::fft::{Direction, FftProblem, Precision, TransformKind};
use gpumath_core::operation::Engine;
use gpumath_core::tensor::Layout;

/// The system's memory, of which there is no more than a limit.
struct Limited;

/// Blocks of fewer bytes are always there: they hold no tables, and Rust's own library cannot do
/// without them.
const SMALL: usize = 4096;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);

// SAFETY: every call is passed on to the system's allocator, or fails.
unsafe impl GlobalAlloc for Limited {
    unsafe fn alloc(&self, block: Block) -> *mut u8 {
        let live = LIVE.fetch_add(block.size(), Ordering::SeqCst) + block.size();
        if block.size() >= SMALL && live > LIMIT.load(Ordering::SeqCst) {
            LIVE.fetch_sub(block.size(), Ordering::SeqCst);
            return std::ptr::null_mut();
        }
        PEAK.fetch_max(live, Ordering::SeqCst);
        // SAFETY: the caller guarantees the same.
        unsafe { System.alloc(block) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, block: Block) {
        LIVE.fetch_sub(block.size(), Ordering::SeqCst);
        // SAFETY: the caller guarantees the same.
        unsafe { System.dealloc(pointer, block) }
    }
}

#[global_allocator]
static MEMORY: Limited = Limited;

/// Keeps other tests out, which would be counted too.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn problem(kind: TransformKind, precision: Precision, points: usize) -> FftProblem {
    let half = points / 2 + 1;
    let (input, output) = match kind {
        TransformKind::C2C => (points, points),
        TransformKind::R2C => (points, half),
        TransformKind::C2R => (half, points),
    };
    let layout = |extent: usize| Layout::contiguous(&[extent as i64]);
    let axes = std::iter::once(0).collect();
    FftProblem::new(kind, precision, axes, layout(input), layout(output), false).unwrap()
}

/// Operands of a transform, with room for either precision.
struct Operands(Vec<u128>, Vec<u128>);

impl Operands {
    fn new(points: usize) -> Self {
        Self(vec![0; points + 1], vec![0; points + 1])
    }

    fn run(&mut self, problem: &FftProblem, fft: &CpuFft) -> gpumath_core::Result<()> {
        let direction = problem.kind.only_direction().unwrap_or(Direction::Forward);
        let (input, output) = (self.0.as_ptr() as usize, self.1.as_mut_ptr() as usize);
        // SAFETY: the operands have room for as many complex numbers of double precision.
        unsafe { fft.execute(input, output, direction, None) }
    }
}

const KINDS: [TransformKind; 3] = [TransformKind::C2C, TransformKind::R2C, TransformKind::C2R];

fn plan(problem: &FftProblem, threads: usize) -> gpumath_core::Result<CpuFft> {
    CpuFft::new(problem, NonZeroUsize::new(threads).unwrap(), None)
}

#[test]
fn plans_take_no_more_than_they_say() {
    let _alone = alone();
    let primes = [97, 131, 509, 1009, 2003, 4099, 8191, 16381, 16411, 65537, 262_147];
    let composites = [60, 1000, 1024, 3072, 7 * 1009, 100_000, 1 << 18, 8 * 8191, 59 * 61 * 67];
    for points in (1..300).step_by(7).chain(primes).chain(composites).chain([13 * 1021 * 9]) {
        for kind in KINDS {
            for precision in [Precision::Single, Precision::Double] {
                let problem = problem(kind, precision, points);
                let mut operands = Operands::new(points);
                // The work memory of this transform is kept for the next one.
                operands.run(&problem, &plan(&problem, 1).unwrap()).unwrap();
                let before = LIVE.load(Ordering::SeqCst);
                PEAK.store(before, Ordering::SeqCst);
                let fft = plan(&problem, 1).unwrap();
                operands.run(&problem, &fft).unwrap();
                let directions = if kind == TransformKind::C2C { 2 } else { 1 };
                let allowed = fft.host_memory() / directions + 4 * SMALL;
                let live = LIVE.load(Ordering::SeqCst) - before;
                let peak = PEAK.load(Ordering::SeqCst) - before;
                assert!(live <= allowed, "{live} of {allowed} bytes: {problem:?}");
                // The check before a plan is made lasts as long as the check.
                assert!(peak <= 2 * allowed + (points * 32), "{peak} of {allowed}: {problem:?}");
            }
        }
    }
}

#[test]
fn where_memory_is_short_there_is_an_error() {
    let _alone = alone();
    for points in [16_411, 1 << 16, 99_991, 3 * 65_537, 1009 * 16] {
        for kind in KINDS {
            let problem = problem(kind, Precision::Double, points);
            let mut operands = Operands::new(points);
            let (mut refused, mut done) = (0, 0);
            for threads in [1, 2] {
                for step in 0..24 {
                    let left = points * 16 * step;
                    LIMIT.store(LIVE.load(Ordering::SeqCst) + left, Ordering::SeqCst);
                    let result =
                        plan(&problem, threads).and_then(|fft| operands.run(&problem, &fft));
                    LIMIT.store(usize::MAX, Ordering::SeqCst);
                    match result {
                        Ok(()) => done += 1,
                        Err(Error::OutOfMemory(text)) => {
                            assert!(text.contains("bytes of host memory"), "{text}");
                            refused += 1;
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
            }
            assert!(refused > 0, "{problem:?}");
            assert!(done > 0 || points < 20_000, "{problem:?}");
        }
    }
}

#[test]
fn lengths_beyond_all_memory_are_refused_at_once() {
    let _alone = alone();
    for points in [1 << 46, (1 << 46) + 1, (1 << 45) + 59] {
        for kind in KINDS {
            let problem = problem(kind, Precision::Single, points);
            assert!(matches!(plan(&problem, 2), Err(Error::OutOfMemory(_))), "{problem:?}");
        }
    }
}

//! The threads that transforms start and use.

use std::fs;
use std::num::NonZeroUsize;
use std::thread;

use gpumath_core::fft::cpu::CpuFft;
use gpumath_core::fft::{Direction, FftProblem, Precision, TransformKind};
use gpumath_core::tensor::Layout;

use crate::reference::{Operand, Random, check, dims};

fn plan(threads: usize) -> impl Fn(&FftProblem) -> CpuFft {
    move |problem| CpuFft::new(problem, NonZeroUsize::new(threads).unwrap(), None).unwrap()
}

/// A transform that is large enough for several threads.
fn problem() -> FftProblem {
    let layout = Layout::contiguous(&[192, 360]);
    let axes = dims(&[0]);
    FftProblem::new(TransformKind::C2C, Precision::Double, axes, layout.clone(), layout, false)
        .unwrap()
}

/// Number of the helper threads of this process.
#[cfg(target_os = "linux")]
fn helper_count() -> usize {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    // A thread may end meanwhile.
    let names = tasks.filter_map(|task| fs::read_to_string(task.unwrap().path().join("comm")).ok());
    names.filter(|name| name.trim() == "gpumath-cpu").count()
}

#[test]
#[cfg(target_os = "linux")]
fn any_numbers_of_threads_share_one_pool() {
    let problem = problem();
    for threads in (2..=40).chain([64, 128, 1000]) {
        let mut input = Operand::new(&problem.input, Precision::Double, true);
        let mut output = Operand::new(&problem.output, Precision::Double, true);
        // SAFETY: the operands span their layouts.
        unsafe {
            plan(threads)(&problem)
                .execute(input.address(), output.address(), Direction::Forward, None)
                .unwrap();
        }
    }
    let helpers = (thread::available_parallelism().unwrap().get() - 1).max(1);
    assert_eq!(helper_count(), helpers, "one pool has a helper for each core but one");
}

#[test]
fn many_callers_with_more_threads_than_cores() {
    thread::scope(|scope| {
        for seed in 31..37 {
            scope.spawn(move || {
                for threads in [3, 128] {
                    check(&problem(), &mut Random::new(seed), plan(threads));
                }
            });
        }
    });
}

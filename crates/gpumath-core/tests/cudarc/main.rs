//! Operations on arrays of cudarc's, which allocates, copies and gives back all that is checked, so
//! that the tests share no code of the driver with what they test.
//!
//! Tests of products also run on a stand-in for the driver. All others need a CUDA device, and run
//! with `--include-ignored`.
#![cfg(feature = "cudarc")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed test panics")]
#![allow(clippy::many_single_char_names, reason = "m, n, k, a and b are the names of the field")]

mod host;
mod products;
#[path = "../support/random.rs"]
#[expect(dead_code, reason = "shared; these tests do not shuffle")]
mod random;
mod refusals;
mod stand_in;
mod transforms;

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};

use random::Random;

/// A new stream of the first device.
fn new_stream() -> Arc<CudaStream> {
    CudaContext::new(0).unwrap().new_stream().unwrap()
}

/// Other numbers in each run; a failed test says the seed.
fn random() -> Random {
    let seed = std::env::var("GPUMATH_TEST_SEED").map_or_else(
        |_| std::time::UNIX_EPOCH.elapsed().unwrap().subsec_nanos().into(),
        |seed| seed.parse().unwrap(),
    );
    eprintln!("GPUMATH_TEST_SEED={seed}");
    Random::new(seed)
}

fn numbers(count: usize, random: &mut Random) -> Vec<f64> {
    (0..count).map(|_| random.number()).collect()
}

/// The product of two matrices in C order, by definition.
fn product(a: &[f64], b: &[f64], [m, k, n]: [usize; 3]) -> Vec<f64> {
    let element = |i: usize, j: usize| (0..k).map(|l| a[i * k + l] * b[l * n + j]).sum();
    (0..m * n).map(|at| element(at / n, at % n)).collect()
}

#[track_caller]
fn assert_close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    let scale = expected.iter().fold(1.0_f64, |most, x| most.max(x.abs()));
    for (at, (x, y)) in found.iter().zip(expected).enumerate() {
        assert!((x - y).abs() <= tolerance * scale, "element {at} is {x} and not {y}");
    }
}

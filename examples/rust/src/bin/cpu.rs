//! A product and a transform of slices, on the CPU: `cargo run --release --bin cpu`.
#![expect(clippy::print_stdout, reason = "an example prints what it finds")]

use gpumath_core::Result;
use gpumath_core::fft::{Direction, Fft, FftArguments, FftRequest};
use gpumath_core::matmul::{Matmul, MatmulArguments, MatmulRequest};
use gpumath_core::operation::{Execution, Operand, compute};

fn main() -> Result<()> {
    let matrix = [1.0, 2.0, 3.0, 4.0];
    let matrix = Operand::of_slice(&matrix, [2, 2])?;
    let request = MatmulRequest::default();
    let square = compute::<Matmul, f64>(
        &request,
        &[&matrix, &matrix],
        MatmulArguments::default(),
        Execution::cpu(),
    )?;
    println!("square: {:?}", square.memory);

    // Two lines of 8 samples: a constant, and a wave with one period.
    let wave = |n: u8| (f64::from(n) * std::f64::consts::TAU / 8.0).cos();
    let signal: Vec<f64> = (0..8).map(|_| 1.0).chain((0..8).map(wave)).collect();
    let signal = Operand::of_slice(&signal, [2, 8])?;
    let request = FftRequest { axes: Some([1].as_slice().into()), ..FftRequest::default() };
    let forward = FftArguments { direction: Direction::Forward, factor: Some(1.0 / 8.0) };
    let spectrum = compute::<Fft, [f64; 2]>(&request, &[&signal], forward, Execution::cpu())?;
    for (name, line) in ["constant", "wave"].iter().zip(spectrum.memory.chunks(5)) {
        let sizes: Vec<String> =
            line.iter().map(|[re, im]| format!("{:.2}", re.hypot(*im))).collect();
        println!("{name}: {}", sizes.join(" "));
    }
    Ok(())
}

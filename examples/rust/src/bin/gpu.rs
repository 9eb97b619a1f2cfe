//! A transform and a product of arrays of cudarc's: `cargo run --release --bin gpu`.
#![expect(clippy::print_stdout, reason = "an example prints what it finds")]

use std::error::Error;

use cudarc::driver::{CudaContext, CudaSlice};
use gpumath_core::cudarc::{compute, read};
use gpumath_core::device;
use gpumath_core::fft::{Direction, Fft, FftArguments, FftRequest};
use gpumath_core::matmul::{Matmul, MatmulArguments, MatmulRequest};

fn main() -> Result<(), Box<dyn Error>> {
    // cudarc panics where there is no driver.
    if device::count()? == 0 {
        println!("there is no CUDA device");
        return Ok(());
    }
    let stream = CudaContext::new(0)?.new_stream()?;

    // 16 lines of 1024 samples become 16 lines of 513 complex numbers.
    let samples: Vec<f32> = (0..16 * 1024_u16).map(|n| f32::from(n % 64) / 64.0).collect();
    let memory: CudaSlice<f32> = stream.clone_htod(&samples)?;
    let signal = read(&memory, [16, 1024], &stream)?;
    let request = FftRequest { axes: Some([1].as_slice().into()), ..FftRequest::default() };
    let forward = FftArguments { direction: Direction::Forward, factor: None };
    let spectrum = compute::<Fft, [f32; 2]>(&request, &[&signal], forward, &stream)?;
    let numbers: Vec<[f32; 2]> = stream.clone_dtoh(&spectrum.memory)?;
    let mean = numbers[0][0] / 1024.0;
    println!("{:?}: the mean of the first line is {mean}", spectrum.layout.shape);

    // The product of the signal with its transpose: the same memory, with other strides.
    let mut transposed = signal.layout.clone();
    transposed.shape.reverse();
    transposed.strides.reverse();
    let columns = read(&memory, transposed, &stream)?;
    let request = MatmulRequest::default();
    let product = compute::<Matmul, f32>(
        &request,
        &[&signal, &columns],
        MatmulArguments::default(),
        &stream,
    )?;
    let energy = stream.clone_dtoh(&product.memory)?[0];
    println!("{:?}: the energy of the first line is {energy}", product.layout.shape);
    Ok(())
}

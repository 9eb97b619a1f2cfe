//! Products of matrices, on a device or its stand-in.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use gpumath_core::cudarc::{StreamAllocator, compute, execution, read, write};
use gpumath_core::matmul::{Matmul, MatmulArguments, MatmulPlan, MatmulRequest};
use gpumath_core::operation::{Execution, Workspace};
use gpumath_core::tensor::Layout;

use crate::{assert_close, new_stream, numbers, product, random};

const SIZES: [usize; 3] = [5, 7, 6];
const SHAPES: [[i64; 2]; 3] = [[5, 7], [7, 6], [5, 6]];

/// Operands on a stream, and their product.
struct Case {
    stream: Arc<CudaStream>,
    a: CudaSlice<f64>,
    b: CudaSlice<f64>,
    expected: Vec<f64>,
}

fn case() -> Case {
    let mut random = random();
    let (a, b) = (numbers(5 * 7, &mut random), numbers(7 * 6, &mut random));
    let (stream, expected) = (new_stream(), product(&a, &b, SIZES));
    let (a, b) = (stream.clone_htod(&a).unwrap(), stream.clone_htod(&b).unwrap());
    Case { stream, a, b, expected }
}

fn request() -> MatmulRequest {
    MatmulRequest::default()
}

#[test]
#[ignore = "needs a CUDA device"]
fn results_are_slices() {
    let Case { stream, a, b, expected } = case();
    let (a, b) = (read(&a, SHAPES[0], &stream).unwrap(), read(&b, SHAPES[1], &stream).unwrap());
    let c =
        compute::<Matmul, f64>(&request(), &[&a, &b], MatmulArguments::default(), &stream).unwrap();
    assert_eq!(c.layout, Layout::contiguous(&SHAPES[2]));
    assert!(Arc::ptr_eq(c.memory.stream(), &stream));
    assert_close(&stream.clone_dtoh(&c.memory).unwrap(), &expected, 1e-14);
}

#[test]
#[ignore = "needs a CUDA device"]
fn views_and_strides() {
    let mut random = random();
    let (a, b) = (numbers(5 * 7, &mut random), numbers(7 * 6, &mut random));
    let expected = product(&a, &b, SIZES);
    let stream = new_stream();
    // Behind three other numbers, and with columns in one piece.
    let shifted: Vec<f32> = [9.0; 3].into_iter().chain(a.iter().map(|&x| x as f32)).collect();
    let columns: Vec<f32> = (0..42).map(|at| b[at % 7 * 6 + at / 7] as f32).collect();
    let shifted = stream.clone_htod(&shifted).unwrap();
    let mut columns = stream.clone_htod(&columns).unwrap();
    let columns = columns.as_view_mut();
    let view = shifted.slice(3..);
    let a = read(&view, SHAPES[0], &stream).unwrap();
    let layout = Layout { shape: [7, 6].as_slice().into(), strides: [1, 7].as_slice().into() };
    let b = read(&columns, layout, &stream).unwrap();
    let c =
        compute::<Matmul, f32>(&request(), &[&a, &b], MatmulArguments::default(), &stream).unwrap();
    let c: Vec<f64> = stream.clone_dtoh(&c.memory).unwrap().into_iter().map(f64::from).collect();
    assert_close(&c, &expected, 1e-6);
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_plan_runs_twice_into_given_memory() {
    let Case { stream, a, b, expected } = case();
    let allocator = StreamAllocator::new(&stream).unwrap();
    let mut memory = stream.alloc_zeros::<f64>(2 * 30).unwrap();
    let mut workspace = Workspace::new();
    {
        let (a, b) = (read(&a, SHAPES[0], &stream).unwrap(), read(&b, SHAPES[1], &stream).unwrap());
        let place = execution(stream.context()).unwrap();
        let plan = MatmulPlan::of(&request(), &[&a, &b], place).unwrap();
        assert_eq!(plan.engine_name(), "cublaslt");
        let mut kept = Vec::new();
        for half in 0..2 {
            let mut view = memory.slice_mut(30 * half..30 * (half + 1));
            let out = write(&mut view, SHAPES[2], &stream).unwrap();
            plan.run(
                &[&a, &b],
                &[&out],
                MatmulArguments::default(),
                &mut workspace,
                Some(&allocator),
            )
            .unwrap();
            kept.push(workspace.address());
        }
        assert_eq!(kept[0], kept[1]);
        assert_eq!(kept[0] == 0, plan.workspace_size() == 0);
    }
    let expected = [expected.clone(), expected].concat();
    assert_close(&stream.clone_dtoh(&memory).unwrap(), &expected, 1e-14);
}

#[test]
#[ignore = "needs a CUDA device"]
fn streams_wait_for_each_other() {
    let Case { stream, a, b, expected } = case();
    let mut random = random();
    let d = numbers(6 * 6, &mut random);
    let expected = product(&expected, &d, [5, 6, 6]);
    let (second, third) =
        (stream.context().new_stream().unwrap(), stream.context().new_stream().unwrap());
    // `a` and `d` arrive on the first stream, and what they are copied over is there before.
    let nothing = stream.clone_htod(&vec![f64::NAN; 36]).unwrap();
    let mut arriving = stream.clone_dtod(&nothing.slice(..35)).unwrap();
    let mut square = stream.clone_dtod(&nothing).unwrap();
    let d = stream.clone_htod(&d).unwrap();
    stream.memcpy_dtod(&a, &mut arriving).unwrap();
    stream.memcpy_dtod(&d, &mut square).unwrap();
    let c = {
        let a = read(&arriving, SHAPES[0], &second).unwrap();
        let b = read(&b, SHAPES[1], &second).unwrap();
        compute::<Matmul, f64>(&request(), &[&a, &b], MatmulArguments::default(), &second)
            .unwrap()
            .memory
    };
    let e = {
        let c = read(&c, SHAPES[2], &third).unwrap();
        let square = read(&square, [6, 6], &third).unwrap();
        compute::<Matmul, f64>(&request(), &[&c, &square], MatmulArguments::default(), &third)
            .unwrap()
            .memory
    };
    // The first product and the operands are freed while the second may still run.
    drop((c, arriving, square, b));
    assert_close(&stream.clone_dtoh(&e).unwrap(), &expected, 1e-13);
}

#[test]
#[ignore = "needs a CUDA device"]
fn the_cpu_multiplies_memory_of_a_device() {
    let Case { stream, a, b, expected } = case();
    let mut memory = stream.alloc_zeros::<f64>(30).unwrap();
    {
        let (a, b) = (read(&a, SHAPES[0], &stream).unwrap(), read(&b, SHAPES[1], &stream).unwrap());
        let out = write(&mut memory, SHAPES[2], &stream).unwrap();
        let plan = MatmulPlan::of(&request(), &[&a, &b], Execution::cpu()).unwrap();
        assert_eq!(plan.engine_name(), "embedded");
        plan.run(&[&a, &b], &[&out], MatmulArguments::default(), &mut Workspace::new(), None)
            .unwrap();
    }
    assert_close(&stream.clone_dtoh(&memory).unwrap(), &expected, 1e-14);
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_result_without_elements() {
    let stream = new_stream();
    let nothing = stream.null::<f64>().unwrap();
    let b = stream.alloc_zeros::<f64>(6).unwrap();
    let (a, b) = (read(&nothing, [0, 2], &stream).unwrap(), read(&b, [2, 3], &stream).unwrap());
    let c =
        compute::<Matmul, f64>(&request(), &[&a, &b], MatmulArguments::default(), &stream).unwrap();
    assert_eq!((c.memory.len(), c.layout.shape.as_slice()), (0, [0, 3].as_slice()));
}

//! What is refused before any work is enqueued, on a device or its stand-in.

use gpumath_core::Error;
use gpumath_core::cudarc::{StreamAllocator, compute, execution, read, write};
use gpumath_core::matmul::{Matmul, MatmulArguments, MatmulPlan, MatmulRequest};
use gpumath_core::memory::BaseCUDAMemoryManager;
use gpumath_core::operation::{Operand, Workspace};
use gpumath_core::tensor::Layout;

use crate::new_stream;

#[track_caller]
fn text<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    let error = result.unwrap_err();
    assert!(matches!(error, Error::InvalidValue(_) | Error::InvalidType(_)), "{error:?}");
    error.to_string()
}

#[test]
#[ignore = "needs a CUDA device"]
fn layouts_that_leave_the_slice() {
    let stream = new_stream();
    let memory = stream.alloc_zeros::<f32>(12).unwrap();
    let back = Layout { shape: [3].as_slice().into(), strides: [-1].as_slice().into() };
    let far = Layout { shape: [2, 2].as_slice().into(), strides: [i64::MAX, 1].as_slice().into() };
    let torn = Layout { shape: [2, 2].as_slice().into(), strides: [1].as_slice().into() };
    for layout in [[3, 5].into(), [-1, 3].into(), back, far, torn] {
        assert!(text(read(&memory, layout, &stream)).contains("48 bytes"));
    }
    assert!(read(&memory, [3, 4], &stream).is_ok());
    assert!(text(read(&memory.slice(1..), [3, 4], &stream)).contains("44 bytes"));
}

#[test]
#[ignore = "needs a CUDA device"]
fn other_types_streams_and_shapes() {
    let (stream, other) = (new_stream(), new_stream());
    let mut memory = stream.alloc_zeros::<f32>(4).unwrap();
    let halves = stream.alloc_zeros::<f64>(4).unwrap();
    let out = write(&mut memory, [2, 2], &stream).unwrap();
    let halves = read(&halves, [2, 2], &stream).unwrap();
    let request = MatmulRequest::default();
    let wrong =
        compute::<Matmul, f64>(&request, &[&out, &out], MatmulArguments::default(), &stream);
    assert_eq!(text(wrong), "the result is of type float32, but float64 is asked for");
    let wrong =
        compute::<Matmul, f32>(&request, &[&out, &halves], MatmulArguments::default(), &stream);
    let wrong = text(wrong);
    assert!(
        wrong.contains("float32") && wrong.contains("float64") && wrong.contains("convert"),
        "{wrong}"
    );

    let plan = {
        let place = execution(stream.context()).unwrap();
        MatmulPlan::of(&request, &[&out, &out], place).unwrap()
    };
    let run = |inputs: &[&Operand<'_>], outputs: &[&Operand<'_>]| {
        text(plan.run(inputs, outputs, MatmulArguments::default(), &mut Workspace::new(), None))
    };
    assert!(run(&[&out, &out], &[&out]).contains("overlap in memory"));
    assert_eq!(run(&[&out, &out], &[]), "there is no memory for out");
    let missing = "1 operands are given, but the plan is for 2: a, b; give all of them";
    assert_eq!(run(&[&out], &[]), missing);
    let elsewhere = other.alloc_zeros::<f32>(4).unwrap();
    let elsewhere = read(&elsewhere, [2, 2], &other).unwrap();
    let mut result = stream.alloc_zeros::<f32>(4).unwrap();
    {
        let result = write(&mut result, [2, 2], &stream).unwrap();
        assert!(run(&[&out, &elsewhere], &[&result]).contains("different streams"));
    }
    let result = read(&result, [2, 2], &stream).unwrap();
    assert!(run(&[&out, &out], &[&result]).contains("out is read-only"));

    let allocator = StreamAllocator::new(&other).unwrap();
    let memory = allocator.memalloc(8, out.stream().unwrap());
    assert!(text(memory).contains("for another stream"));
}

#[test]
#[ignore = "needs a CUDA device"]
fn contexts_that_are_not_primary() {
    use cudarc::driver::CudaContext;
    let Ok(context) = CudaContext::new_non_primary(0, 0) else {
        panic!("the driver makes no other context");
    };
    assert!(text(execution(&context)).contains("use CudaContext::new"));
    let stream = context.new_stream().unwrap();
    assert!(text(StreamAllocator::new(&stream)).contains("use CudaContext::new"));
    let memory = stream.alloc_zeros::<f32>(4).unwrap();
    assert!(text(read(&memory, [4], &stream)).contains("use CudaContext::new"));
    let primary = new_stream();
    let slice = primary.alloc_zeros::<f32>(4).unwrap();
    assert!(text(read(&slice, [4], &stream)).contains("primary context"));
}

//! Operands in host memory, which need no device.

use gpumath_core::Error;
use gpumath_core::fft::{Direction, Fft, FftArguments, FftRequest};
use gpumath_core::matmul::{Matmul, MatmulArguments, MatmulPlan, MatmulRequest};
use gpumath_core::operation::{Execution, Operand, Workspace, compute};

use crate::{assert_close, numbers, product, random};

#[test]
fn products_of_slices() {
    let mut random = random();
    let (a, b) = (numbers(5 * 7, &mut random), numbers(7 * 6, &mut random));
    let expected = product(&a, &b, [5, 7, 6]);
    let a = Operand::of_slice(&a, [5, 7]).unwrap();
    let b = Operand::of_slice(&b, [7, 6]).unwrap();
    let request = MatmulRequest::default();
    let found =
        compute::<Matmul, f64>(&request, &[&a, &b], MatmulArguments::default(), Execution::cpu())
            .unwrap();
    assert_close(&found.memory, &expected, 1e-14);

    let mut memory = vec![f64::NAN; 30];
    {
        let out = Operand::of_slice_mut(&mut memory, [5, 6]).unwrap();
        let plan = MatmulPlan::of(&request, &[&a, &b], Execution::cpu()).unwrap();
        plan.run(&[&a, &b], &[&out], MatmulArguments::default(), &mut Workspace::new(), None)
            .unwrap();
        // A result must not be shared with an operand, nor be borrowed for reading.
        let wrong = plan
            .run(&[&a, &b], &[&b], MatmulArguments::default(), &mut Workspace::new(), None)
            .unwrap_err();
        assert!(wrong.to_string().contains("the plan was made for"), "{wrong}");
    }
    assert_close(&memory, &expected, 1e-14);
}

#[test]
fn a_transform_in_place() {
    let mut random = random();
    let values = numbers(2 * 3, &mut random);
    let mut memory: Vec<[f64; 2]> = values.chunks(2).map(|pair| [pair[0], pair[1]]).collect();
    let request = FftRequest { inplace: true, ..FftRequest::default() };
    let forward = FftArguments { direction: Direction::Forward, factor: None };
    {
        let read_only = Operand::of_slice(&memory, [3]).unwrap();
        let wrong = compute::<Fft, [f64; 2]>(&request, &[&read_only], forward, Execution::cpu());
        assert!(wrong.unwrap_err().to_string().contains("writable"));
    }
    let operand = Operand::of_slice_mut(&mut memory, [3]).unwrap();
    let plan = gpumath_core::fft::FftPlan::of(&request, &[&operand], Execution::cpu()).unwrap();
    plan.run(&[&operand], &[], forward, &mut Workspace::new(), None).unwrap();
    drop(operand);
    // The first element is the sum.
    assert_close(
        &memory[0],
        &[values[0] + values[2] + values[4], values[1] + values[3] + values[5]],
        1e-15,
    );
}

#[test]
fn layouts_that_leave_the_slice() {
    let values = [1.0_f32; 12];
    for shape in [[3, 5], [-1, 3], [1 << 62, 1 << 62]] {
        let wrong = Operand::of_slice(&values, shape).unwrap_err();
        assert!(
            matches!(&wrong, Error::InvalidValue(text) if text.contains("48 bytes")),
            "{wrong}"
        );
    }
    assert!(Operand::of_slice(&values[..0], [0, 7]).is_ok());
}

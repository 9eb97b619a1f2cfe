//! Epilogs that change the result of a product and nothing else: it is computed where it belongs,
//! and changed there.

use std::num::NonZeroUsize;

use super::elements::Elements;
use super::epilog::gelu;
use super::{Geometry, MatmulArguments, MatmulProblem, Matrix};
use crate::cpu_blas::Number;
use crate::error::Result;
use crate::matmul::epilog::Epilog;
use crate::matmul::problem::InputRole;
use crate::operation::Call;
use crate::parallel::parallel_for;

/// Elements that are worth a claim of a thread.
const AT_ONCE: usize = 1 << 13;

/// Whether an epilog adds a bias and applies a function, and writes nothing besides.
pub(super) const fn is_in_place(epilog: Epilog) -> bool {
    matches!(
        epilog,
        Epilog::Relu | Epilog::Gelu | Epilog::Bias | Epilog::ReluBias | Epilog::GeluBias
    )
}

/// Applies the epilog of a problem, whose result and bias are of a real type `T`.
///
/// # Safety
/// As for [`Engine::execute`](crate::operation::Engine::execute); the result has the sums.
pub(super) unsafe fn apply<T: Number + PartialOrd>(
    problem: &MatmulProblem,
    geometry: &Geometry,
    call: &Call<'_, MatmulArguments>,
    threads: NonZeroUsize,
) -> Result<()> {
    // NaN stays NaN.
    let relu = |x: T| if x < T::ZERO { T::ZERO } else { x };
    let gelu = |x: T| T::from_parts([gelu(x.parts()[0]), 0.0]);
    // SAFETY: the caller guarantees what the function requires.
    unsafe {
        match problem.epilog {
            Epilog::Relu | Epilog::ReluBias => change(problem, geometry, call, threads, relu),
            Epilog::Gelu | Epilog::GeluBias => change(problem, geometry, call, threads, gelu),
            _ => change(problem, geometry, call, threads, |x: T| x),
        }
    }
}

/// Adds the bias to all elements, and applies a function to them.
///
/// # Safety
/// As for [`apply`].
unsafe fn change<T: Number>(
    problem: &MatmulProblem,
    geometry: &Geometry,
    call: &Call<'_, MatmulArguments>,
    threads: NonZeroUsize,
    function: impl Fn(T) -> T + Copy + Sync,
) -> Result<()> {
    let dtype = problem.types.result;
    let elements = |matrix: Matrix, address: usize| Elements::of(geometry, matrix, address, dtype);
    let result = elements(Matrix::Result, call.outputs[0]);
    let bias = problem
        .input_index(InputRole::Bias)
        .map(|index| elements(Matrix::Vector, call.inputs[index]));
    let (rows, columns) = (geometry.rows as usize, geometry.columns as usize);
    // Lines are along the axis of neighbours.
    let [down, right] = geometry.strides(Matrix::Result);
    let by_columns = columns == 1 || rows > 1 && down.abs() < right.abs();
    let (length, count) = if by_columns { (rows, columns) } else { (columns, rows) };
    let step = if by_columns { down } else { right };
    let [bias_step, _] = geometry.strides(Matrix::Vector);
    let lines = count * geometry.batch.count();
    let at_once = (AT_ONCE / length.max(1)).max(1);
    parallel_for(threads, lines.div_ceil(at_once), |mut claimed| {
        for part in &mut claimed {
            for line in part * at_once..lines.min((part + 1) * at_once) {
                let (entry, line) = (line / count, line % count);
                let (row, column) = if by_columns { (0, line) } else { (line, 0) };
                let first = result.entry(entry).address(row, column) as *mut T;
                let bias = bias.map(|bias| bias.entry(entry).address(row, 0) as *const T);
                // SAFETY: the caller guarantees that the memory is valid, and one thread alone has
                // this line.
                unsafe {
                    match bias {
                        None => change_line(first, step, length, |_, x| function(x)),
                        Some(bias) if by_columns => change_line(first, step, length, |index, x| {
                            let bias = bias.offset(index as isize * bias_step as isize);
                            function(x + bias.read_unaligned())
                        }),
                        Some(bias) => {
                            let bias = bias.read_unaligned();
                            change_line(first, step, length, |_, x| function(x + bias));
                        }
                    }
                }
            }
        }
        Ok(())
    })
}

/// Changes the elements of a line.
///
/// # Safety
/// They may be read and written, by this thread alone.
unsafe fn change_line<T: Number>(
    first: *mut T,
    step: i64,
    length: usize,
    function: impl Fn(usize, T) -> T,
) {
    let change = |index: usize, step: isize| {
        // SAFETY: the caller guarantees it.
        unsafe {
            let at = first.offset(index as isize * step);
            at.write_unaligned(function(index, at.read_unaligned()));
        }
    };
    if step == 1 {
        // Neighbours become vectors.
        (0..length).for_each(|index| change(index, 1));
    } else {
        (0..length).for_each(|index| change(index, step as isize));
    }
}

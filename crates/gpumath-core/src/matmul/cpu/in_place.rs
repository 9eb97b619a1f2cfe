//! Epilogs that change the result of a product and nothing else: it is computed where it belongs,
//! and changed there.

#![expect(clippy::inline_always, reason = "vector code is compiled for the processor's features")]

use std::num::NonZeroUsize;

use pulp::{Arch, Simd, WithSimd};

use super::elements::Elements;
use super::vector_gelu::gelu;
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
                let bias = bias.map(|bias| (bias, if by_columns { bias_step as isize } else { 0 }));
                let line = Line { first, step: step as isize, length, bias, function };
                // SAFETY: the caller guarantees that the memory is valid, and one thread alone has
                // this line.
                unsafe { line.change() };
            }
        }
        Ok(())
    })
}

/// Elements that are changed at a time.
const BLOCK: usize = 64;

/// Elements that a bias is added to, and then a function applied.
struct Line<T, F> {
    first: *mut T,
    step: isize,
    length: usize,
    /// Its first element, and the step to the next.
    bias: Option<(*const T, isize)>,
    function: F,
}

impl<T: Number, F: Fn(T) -> T> Line<T, F> {
    /// Changes them, with all instructions that the processor has.
    ///
    /// # Safety
    /// They may be read and written, by this thread alone, and the bias read.
    unsafe fn change(self) {
        Arch::new().dispatch(self);
    }
}

impl<T: Number, F: Fn(T) -> T> WithSimd for Line<T, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let Self { first, step, length, bias, function } = self;
        for start in (0..length).step_by(BLOCK) {
            // The compiler makes vectors of elements in a place of their own.
            let mut block = [T::ZERO; BLOCK];
            let block = &mut block[..BLOCK.min(length - start)];
            // SAFETY: the caller of `change` guarantees the memory.
            unsafe {
                let first = first.offset(start as isize * step);
                read(block, first, step);
                if let Some((bias, step)) = bias {
                    let mut addends = [T::ZERO; BLOCK];
                    read(&mut addends[..block.len()], bias.offset(start as isize * step), step);
                    for (value, bias) in block.iter_mut().zip(addends) {
                        *value = *value + bias;
                    }
                }
                for value in &mut *block {
                    *value = function(*value);
                }
                write(block, first, step);
            }
        }
    }
}

/// Reads a block of elements that are `step` apart.
///
/// # Safety
/// They are in memory that is valid for reads.
#[inline(always)]
unsafe fn read<T: Number>(block: &mut [T], from: *const T, step: isize) {
    // SAFETY: the caller guarantees it.
    unsafe {
        if let (1, Ok(whole)) = (step, <&mut [T; BLOCK]>::try_from(&mut *block)) {
            *whole = from.cast::<[T; BLOCK]>().read_unaligned();
            return;
        }
        for (index, value) in block.iter_mut().enumerate() {
            *value = from.offset(index as isize * step).read_unaligned();
        }
    }
}

/// Writes a block, likewise.
///
/// # Safety
/// The elements are in memory that nothing else uses.
#[inline(always)]
unsafe fn write<T: Number>(block: &[T], to: *mut T, step: isize) {
    // SAFETY: the caller guarantees it.
    unsafe {
        if let (1, Ok(whole)) = (step, <&[T; BLOCK]>::try_from(block)) {
            to.cast::<[T; BLOCK]>().write_unaligned(*whole);
            return;
        }
        for (index, &value) in block.iter().enumerate() {
            to.offset(index as isize * step).write_unaligned(value);
        }
    }
}

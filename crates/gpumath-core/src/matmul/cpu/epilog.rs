//! From the sums of products to results: `alpha`, `beta`, and what an epilog does.

use std::num::NonZeroUsize;

use super::elements::{Elements, reader, writer};
use super::{Geometry, MatmulArguments, MatmulProblem, Matrix};
use crate::cpu_blas::Number;
use crate::error::Result;
use crate::matmul::epilog::{AuxKind, Epilog};
use crate::matmul::problem::{InputRole, OutputRole};
use crate::operation::Call;
use crate::parallel::parallel_for;
use crate::tensor::DType;

/// Rows that one thread takes at a time: a multiple of those that share a byte of bits.
const ROWS: usize = 64;

/// One pass over all elements of the results.
pub(super) struct EpilogPass<'a, T> {
    problem: &'a MatmulProblem,
    geometry: &'a Geometry,
    /// The sums of all batch entries, in C order.
    sums: &'a [T],
    call: &'a Call<'a, MatmulArguments>,
}

impl<'a, T: Number> EpilogPass<'a, T> {
    pub(super) fn new(
        problem: &'a MatmulProblem,
        geometry: &'a Geometry,
        sums: &'a [T],
        call: &'a Call<'a, MatmulArguments>,
    ) -> Self {
        Self { problem, geometry, sums, call }
    }

    /// Writes the results.
    ///
    /// # Safety
    /// As for [`Engine::execute`](crate::operation::Engine::execute).
    pub(super) unsafe fn run(&self, threads: NonZeroUsize) -> Result<()> {
        let parts = (self.geometry.rows as usize).div_ceil(ROWS).max(1);
        let entries = self.geometry.batch.count();
        parallel_for(threads, entries * parts, |mut claimed| {
            for part in &mut claimed {
                // SAFETY: the caller guarantees that the memory is valid, and one thread alone has
                // these rows.
                unsafe { self.write_rows(part / parts, part % parts * ROWS) };
            }
            Ok(())
        })?;
        if matches!(self.problem.epilog, Epilog::Bgrada | Epilog::Bgradb) {
            for entry in 0..entries {
                // SAFETY: likewise.
                unsafe { self.sum_factor(entry) };
            }
        }
        Ok(())
    }

    /// An operand or result of the call, of one batch entry; `None` if it is not there.
    fn elements(&self, matrix: Matrix, entry: usize) -> Option<(Elements<'a>, DType)> {
        let input = |role| self.problem.input_index(role).map(|index| self.call.inputs[index]);
        let output = |role| self.problem.output_index(role).map(|index| self.call.outputs[index]);
        let address = match matrix {
            Matrix::Vector => input(InputRole::Bias).or(output(OutputRole::Sums)),
            Matrix::Aux => input(InputRole::Aux).or(output(OutputRole::Aux)),
            Matrix::A => input(InputRole::A),
            Matrix::B => input(InputRole::B),
            Matrix::C => input(InputRole::C),
            Matrix::Result => output(OutputRole::Result),
        }?;
        let dtype = self.problem.matrix_dtypes()[matrix as usize]?;
        Some((Elements::of(self.geometry, matrix, address, dtype).entry(entry), dtype))
    }

    /// Writes some rows of one entry's results, from `top` on.
    ///
    /// # Safety
    /// As for [`Self::run`]; no other thread writes these rows.
    unsafe fn write_rows(&self, entry: usize, top: usize) {
        let (rows, columns) = (self.geometry.rows as usize, self.geometry.columns as usize);
        let MatmulArguments { alpha, beta } = self.call.arguments;
        let [alpha, beta] = [alpha, beta].map(T::from_parts);
        let epilog = self.problem.epilog;
        let Some((result, dtype)) = self.elements(Matrix::Result, entry) else { return };
        let write = writer(dtype);
        let addend = self.elements(Matrix::C, entry).filter(|_| beta != T::ZERO);
        let vector = self.elements(Matrix::Vector, entry);
        let aux = self.elements(Matrix::Aux, entry);
        for row in top..rows.min(top + ROWS) {
            let line = (entry * rows + row) * columns;
            let sums = &self.sums[line..line + columns];
            let mut total = 0.0;
            let bias = vector.filter(|_| epilog.has_bias()).map(|(bias, dtype)| {
                // SAFETY: the caller guarantees that the memory is valid.
                T::from_parts(unsafe { reader(dtype)(bias.address(row, 0)) })
            });
            for (column, &sum) in sums.iter().enumerate() {
                let mut value = alpha * sum;
                if let Some((addend, dtype)) = addend {
                    // SAFETY: the caller guarantees that the memory is valid.
                    let number = unsafe { reader(dtype)(addend.address(row, column)) };
                    value = value + beta * T::from_parts(number);
                }
                if let Some(bias) = bias {
                    value = value + bias;
                }
                // SAFETY: the caller guarantees that the memory is valid.
                value = unsafe { self.apply(value, aux, row, column) };
                total += value.parts()[0];
                // SAFETY: the caller guarantees that the memory is valid.
                unsafe { write(result.address(row, column), value.parts()) };
            }
            if let (true, Some((sums, dtype))) =
                (matches!(epilog, Epilog::DreluBgrad | Epilog::DgeluBgrad), vector)
            {
                // SAFETY: the caller guarantees that the memory is valid.
                unsafe { writer(dtype)(sums.address(row, 0), [total, 0.0]) };
            }
        }
    }

    /// Applies the epilog's function to one element, and reads or writes what it has besides.
    ///
    /// # Safety
    /// As for [`Self::write_rows`].
    unsafe fn apply(
        &self,
        value: T,
        aux: Option<(Elements<'_>, DType)>,
        row: usize,
        column: usize,
    ) -> T {
        let epilog = self.problem.epilog;
        let [real, _] = value.parts();
        // SAFETY: the caller guarantees that the memory is valid.
        unsafe {
            if let (Some(kind), Some((aux, dtype))) = (epilog.aux_output(), aux) {
                match kind {
                    AuxKind::ReluBits => write_bit(aux.address(row / 8, column), row, real > 0.0),
                    AuxKind::GeluArgument => {
                        writer(dtype)(aux.address(row, column), value.parts());
                    }
                }
            }
            if let (Some(kind), Some((aux, dtype))) = (epilog.aux_input(), aux) {
                return match kind {
                    AuxKind::ReluBits => {
                        let byte = *(aux.address(row / 8, column) as *const u8);
                        if byte >> (row % 8) & 1 == 1 { value } else { T::ZERO }
                    }
                    AuxKind::GeluArgument => {
                        let [argument, _] = reader(dtype)(aux.address(row, column));
                        T::from_parts([real * gelu_derivative(argument), 0.0])
                    }
                };
            }
        }
        match epilog {
            Epilog::Relu | Epilog::ReluAux | Epilog::ReluBias | Epilog::ReluAuxBias => {
                // NaN stays NaN.
                if real < 0.0 { T::ZERO } else { value }
            }
            Epilog::Gelu | Epilog::GeluAux | Epilog::GeluBias | Epilog::GeluAuxBias => {
                T::from_parts([gelu(real), 0.0])
            }
            _ => value,
        }
    }

    /// Sums up the rows of `a` or the columns of `b`, in double precision: there may be any number
    /// of elements in a sum. Epilogs are for real numbers.
    ///
    /// # Safety
    /// As for [`Self::run`].
    unsafe fn sum_factor(&self, entry: usize) {
        let is_left = self.problem.epilog == Epilog::Bgrada;
        let matrix = if is_left { Matrix::A } else { Matrix::B };
        let extent = if is_left { self.geometry.rows } else { self.geometry.columns };
        let (Some((factor, dtype)), Some((sums, sum_dtype))) =
            (self.elements(matrix, entry), self.elements(Matrix::Vector, entry))
        else {
            return;
        };
        let read = reader(dtype);
        for index in 0..extent as usize {
            let mut total = 0.0;
            for middle in 0..self.geometry.depth as usize {
                let (row, column) = if is_left { (index, middle) } else { (middle, index) };
                // SAFETY: the caller guarantees that the memory is valid.
                total += unsafe { read(factor.address(row, column)) }[0];
            }
            // SAFETY: likewise.
            unsafe { writer(sum_dtype)(sums.address(index, 0), [total, 0.0]) };
        }
    }
}

/// Sets or clears the bit for a row in its byte.
///
/// # Safety
/// The byte may be written, by this thread alone.
unsafe fn write_bit(byte: usize, row: usize, is_set: bool) {
    let (byte, bit) = (byte as *mut u8, 1 << (row % 8));
    // SAFETY: the caller guarantees it.
    unsafe {
        // The first row of a byte also clears the bits of rows that there are not.
        let before = if row.is_multiple_of(8) { 0 } else { *byte };
        *byte = if is_set { before | bit } else { before & !bit };
    }
}

/// The square root of 2/π, and the factor of the cube, of the approximation of GELU.
const SLOPE: f64 = 0.797_884_560_802_865_4;
const CUBE: f64 = 0.044_715;

/// Where exp(x) is less than what 1 has room for.
const SMALLEST: f64 = -40.0;

/// Returns GELU, by its approximation with tanh: x * (1 + tanh(y)) / 2 is x / (1 + exp(-2 * y)).
pub(super) fn gelu(x: f64) -> f64 {
    let exponent = -2.0 * SLOPE * (x + CUBE * x * x * x);
    // Large exponents take longer.
    if exponent < SMALLEST {
        x
    } else if exponent > -SMALLEST {
        0.0 * x
    } else {
        x / (1.0 + exponent.exp())
    }
}

/// Returns the derivative of [`gelu`].
fn gelu_derivative(x: f64) -> f64 {
    let tanh = (SLOPE * (x + CUBE * x * x * x)).tanh();
    let inner = SLOPE * (1.0 + 3.0 * CUBE * x * x);
    0.5 * (1.0 + tanh) + 0.5 * x * (1.0 - tanh * tanh) * inner
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_derivative_is_that_of_the_function() {
        for step in -40..=40 {
            let (x, h) = (f64::from(step) / 8.0, 1e-5);
            let slope = (gelu(x + h) - gelu(x - h)) / (2.0 * h);
            assert!((slope - gelu_derivative(x)).abs() < 1e-8, "{x}");
        }
    }
}

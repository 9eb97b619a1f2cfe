//! From what a user asks about one operand to a [`FftProblem`].

use super::callback::Callbacks;
use super::problem::{FftProblem, Precision, TransformKind};
use super::route::transform_order;
use crate::error::{Error, Result};
use crate::operation::{Execution, Request, check_output as check_memory};
use crate::tensor::{DType, Dims, Layout, TensorView};

/// Which memory order a new result gets. It has no gaps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResultLayout {
    /// The one that takes the least time. Where transforms are interleaved in the operand, or the
    /// halved axis is not the fastest, the transform axes become the fastest ones.
    #[default]
    Optimized,
    /// That of the operand.
    Natural,
}

/// The choices that a user makes about a transform; everything else follows from the operand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FftRequest {
    /// Kind of transform; `None` takes it from the operand: real means R2C, complex means C2C.
    pub kind: Option<TransformKind>,
    /// Transform axes, negative ones counting from the end; `None` means all.
    pub axes: Option<Dims>,
    /// Overwrite the operand.
    pub inplace: bool,
    /// Whether the operand may be used as work memory: what it holds afterwards does not matter.
    /// This saves a copy where C2R runs on a GPU.
    pub may_overwrite: bool,
    /// What to write the result to; `None` for new memory.
    pub output: Option<TensorView>,
    /// What happens to the elements on their way in and out.
    pub callbacks: Callbacks,
    /// The layout of new memory for the result.
    pub result_layout: ResultLayout,
    /// Whether a C2R result has an odd number of points along its last transform axis.
    pub odd_output_length: bool,
}

impl Request for FftRequest {
    type Problem = FftProblem;

    fn problem(&self, inputs: &[&TensorView], execution: Execution) -> Result<FftProblem> {
        let &[operand] = inputs else {
            return Err(Error::InvalidValue("a transform has one operand".into()));
        };
        let layout = &operand.layout;
        let dtype = operand.dtype;
        let Some(precision) = Precision::of(dtype) else {
            return Err(Error::InvalidValue(format!(
                "the operand's element type {dtype} is not supported; float16, float32, float64, \
                 complex32, complex64 and complex128 in the machine's byte order are: convert it \
                 first"
            )));
        };
        if layout.ndim() == 0 {
            return Err(Error::InvalidValue(
                "the operand has no dimensions; a Fourier transform needs at least one axis".into(),
            ));
        }
        let kind = self.kind.unwrap_or(if dtype.is_complex() {
            TransformKind::C2C
        } else {
            TransformKind::R2C
        });
        if dtype.is_complex() == (kind == TransformKind::R2C) {
            let (wanted, instead) = if kind == TransformKind::R2C {
                ("real", "fft or ifft")
            } else {
                ("complex", "rfft")
            };
            return Err(Error::InvalidValue(format!(
                "a {kind:?} transform needs a {wanted} operand, and this one is {dtype}; use \
                 {instead}, or convert it"
            )));
        }
        let axes = self.axes(layout.ndim())?;
        let mut shape = layout.shape.clone();
        if let Some(&last) = axes.last() {
            let extent = &mut shape[last as usize];
            match kind {
                TransformKind::C2C => {}
                TransformKind::R2C => *extent = *extent / 2 + 1,
                TransformKind::C2R => {
                    *extent = 2 * (*extent - 1) + i64::from(self.odd_output_length);
                }
            }
        }
        let inplace = self.inplace
            || self
                .output
                .as_ref()
                .is_some_and(|output| kind == TransformKind::C2C && is_same(output, operand));
        if let Some(output) = &self.output {
            let dtype =
                if kind == TransformKind::C2R { precision.real() } else { precision.complex() };
            check_output(output, operand, &shape, dtype, inplace)?;
        }
        if inplace && kind != TransformKind::C2C {
            return Err(Error::InvalidValue(format!(
                "inplace=True works for C2C only: a {kind:?} result has another type and size than \
                 its operand"
            )));
        }
        if inplace && !layout.is_injective() {
            return Err(Error::InvalidValue(format!(
                "inplace=True needs an operand whose elements do not overlap; its shape is {:?} \
                 and its strides {:?}",
                layout.shape.as_slice(),
                layout.strides.as_slice()
            )));
        }
        if inplace && operand.readonly {
            return Err(Error::InvalidValue(
                "inplace=True needs an operand that is writable".into(),
            ));
        }
        let output = if inplace {
            layout.clone()
        } else if let Some(output) = &self.output {
            output.layout.clone()
        } else {
            Layout::packed(&shape, &self.result_order(layout, &axes, kind))
        };
        let mut problem = FftProblem::new(kind, precision, axes, layout.clone(), output, inplace)?;
        problem.callbacks = self.callbacks.clone();
        // cuFFT may write between the elements too, where other arrays may be.
        problem.may_overwrite = self.may_overwrite
            && kind == TransformKind::C2R
            && !operand.readonly
            && layout.is_dense();
        let location = execution.location();
        let is_unaligned = |kind, view| problem.is_unaligned(kind, view, location);
        (problem.input_unaligned, problem.output_unaligned) = (
            is_unaligned(TransformKind::R2C, operand),
            self.output.as_ref().is_some_and(|output| is_unaligned(TransformKind::C2R, output)),
        );
        Ok(problem)
    }

    fn is_about_inputs_alone(&self) -> bool {
        self.output.is_none()
    }
}

impl FftRequest {
    /// Returns the memory order of a new result, slowest dimension first.
    fn result_order(&self, operand: &Layout, axes: &Dims, kind: TransformKind) -> Vec<usize> {
        let axes: Vec<usize> = axes.iter().map(|&axis| axis as usize).collect();
        let stride = |axis: &usize| operand.strides[*axis].unsigned_abs();
        let slowest = axes.iter().map(stride).max();
        let is_outside = |axis: &usize| !axes.contains(axis);
        let is_interleaved = (0..operand.ndim()).filter(is_outside).map(|axis| stride(&axis)).min()
            <= slowest
            && axes.len() < operand.ndim();
        let is_halved_slower =
            kind != TransformKind::C2C && axes.last().map(stride) > axes.iter().map(stride).min();
        if self.result_layout == ResultLayout::Optimized && (is_interleaved || is_halved_slower) {
            transform_order(&axes, kind, operand)
        } else {
            operand.memory_order()
        }
    }

    fn axes(&self, ndim: usize) -> Result<Dims> {
        let ndim = ndim as i64;
        let Some(axes) = &self.axes else { return Ok((0..ndim).collect()) };
        axes.iter()
            .map(|&axis| {
                if (-ndim..ndim).contains(&axis) {
                    Ok(axis.rem_euclid(ndim))
                } else {
                    Err(Error::InvalidValue(format!(
                        "axis {axis} is out of range for an operand with {ndim} dimensions; \
                         axes go from {} to {}",
                        -ndim,
                        ndim - 1
                    )))
                }
            })
            .collect()
    }
}

/// Whether both are the same elements in the same order.
fn is_same(output: &TensorView, operand: &TensorView) -> bool {
    output.ptr == operand.ptr
        && output.dtype == operand.dtype
        && output.layout.is_equivalent(&operand.layout)
}

fn check_output(
    output: &TensorView,
    operand: &TensorView,
    shape: &[i64],
    dtype: DType,
    inplace: bool,
) -> Result<()> {
    let layout = Layout::contiguous(shape);
    check_memory(output, &TensorView { dtype, layout, ..operand.clone() })?;
    let is_operand = is_same(output, operand);
    if inplace && !is_operand {
        return Err(Error::InvalidValue(
            "out is not the operand, which inplace=True overwrites; leave one of them out".into(),
        ));
    }
    if !is_operand && let Some(overlap) = output.overlap(operand).words() {
        return Err(Error::InvalidValue(format!(
            "out and the operand {overlap} in memory; give the operand itself, for C2C, or memory \
             of its own"
        )));
    }
    Ok(())
}

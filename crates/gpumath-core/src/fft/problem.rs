//! What is to be transformed, independent of the engine that does it.

use std::ops::Range;

use super::callback::Callbacks;
use crate::error::{Error, Result};
use crate::operation::{OperandSpec, Problem, alignment};
use crate::tensor::{DType, Dims, Layout, MemoryLocation, TensorView};

/// Which numbers go in and come out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TransformKind {
    /// Complex to complex.
    C2C,
    /// Real to Hermitian complex; the last axis shrinks to `n / 2 + 1`.
    R2C,
    /// Hermitian complex to real.
    C2R,
}

/// Width of one real number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Precision {
    /// 16 bits; cuFFT only, power-of-two extents.
    Half,
    /// 32 bits.
    Single,
    /// 64 bits.
    Double,
}

impl TransformKind {
    /// The only direction of transforms of this kind; `None` if they have both.
    #[must_use]
    pub const fn only_direction(self) -> Option<Direction> {
        match self {
            Self::C2C => None,
            Self::R2C => Some(Direction::Forward),
            Self::C2R => Some(Direction::Inverse),
        }
    }
}

/// Sign of the exponent. Neither direction scales its result by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// `exp(-2πi jk/n)`
    Forward,
    /// `exp(+2πi jk/n)`
    Inverse,
}

impl Direction {
    /// cuFFT's and FFTW's number for it.
    #[must_use]
    pub const fn sign(self) -> i32 {
        match self {
            Self::Forward => -1,
            Self::Inverse => 1,
        }
    }
}

/// Which results are divided by the number of points of the transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Norm {
    /// Those of inverse transforms.
    Backward,
    /// All, by the square root of that number.
    Ortho,
    /// Those of forward transforms.
    Forward,
}

/// A transform of one operand: kind, precision, layouts of both sides and the axes. It is the key
/// of the plan cache.
///
/// Invariants, kept by [`FftProblem::new`]: both layouts have the same number of dimensions and
/// agree on every extent but the last transform axis of R2C and C2R; axes are distinct, in range,
/// non-empty; transform extents are positive.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::struct_excessive_bools, reason = "each of them may be so whatever the others are")]
pub struct FftProblem {
    /// Kind of transform.
    pub kind: TransformKind,
    /// Precision of both sides.
    pub precision: Precision,
    /// Transform axes. For R2C and C2R the last one is the axis of `n / 2 + 1` complex numbers.
    pub axes: Dims,
    /// Layout of the input.
    pub input: Layout,
    /// Layout of the output.
    pub output: Layout,
    /// Whether output and input are the same memory (then their layouts are equal and the kind is
    /// C2C).
    pub inplace: bool,
    /// Whether cuFFT may overwrite the input, which it does for C2R.
    pub may_overwrite: bool,
    /// Whether a real input starts at an address that is no multiple of its complex type's size.
    /// cuFFT refuses such addresses, so its plan then works on a copy.
    pub input_unaligned: bool,
    /// The same for a real output.
    pub output_unaligned: bool,
    /// What happens to the elements on their way in and out; cuFFT only.
    pub callbacks: Callbacks,
}

impl FftProblem {
    /// Checks the invariants.
    pub fn new(
        kind: TransformKind,
        precision: Precision,
        axes: Dims,
        input: Layout,
        output: Layout,
        inplace: bool,
    ) -> Result<Self> {
        let problem = Self {
            kind,
            precision,
            axes,
            input,
            output,
            inplace,
            may_overwrite: false,
            input_unaligned: false,
            output_unaligned: false,
            callbacks: Callbacks::default(),
        };
        problem.check()?;
        Ok(problem)
    }

    fn check(&self) -> Result<()> {
        let ndim = self.input.ndim();
        if self.output.ndim() != ndim {
            return Err(Error::InvalidValue(format!(
                "the output has {} dimensions and the input {ndim}; they must be equal",
                self.output.ndim()
            )));
        }
        if self.axes.is_empty() {
            return Err(Error::InvalidValue("axes is empty; name at least one axis".into()));
        }
        for (position, &axis) in self.axes.iter().enumerate() {
            if axis < 0 || axis >= ndim as i64 {
                return Err(Error::InvalidValue(format!(
                    "axis {axis} is out of range for an operand with {ndim} dimensions"
                )));
            }
            if self.axes[..position].contains(&axis) {
                return Err(Error::InvalidValue(format!(
                    "axis {axis} is repeated in axes {:?}",
                    self.axes
                )));
            }
            let extent = self.extent(position);
            if extent < 1 {
                return Err(Error::InvalidValue(format!(
                    "axis {axis} would be transformed over {extent} points; a transform needs at \
                     least one"
                )));
            }
        }
        for axis in 0..ndim {
            let (input, output) = (self.input.shape[axis], self.output.shape[axis]);
            let is_halved = self.halved() == Some(axis);
            let (given, expected) = match self.kind {
                TransformKind::R2C if is_halved => (output, input / 2 + 1),
                TransformKind::C2R if is_halved => (input, output / 2 + 1),
                _ => (output, input),
            };
            if given != expected {
                return Err(Error::InvalidValue(format!(
                    "axis {axis} has {input} points in the input and {output} in the output; a \
                     {:?} transform needs {expected} instead of {given}",
                    self.kind
                )));
            }
        }
        if self.inplace && (self.kind != TransformKind::C2C || self.input != self.output) {
            return Err(Error::InvalidValue(
                "only a C2C transform with one layout for input and output can work in place"
                    .into(),
            ));
        }
        Ok(())
    }

    /// What a result is multiplied by; `None` where nothing is.
    #[must_use]
    pub fn factor(&self, norm: Option<Norm>, direction: Direction) -> Option<f64> {
        let points =
            (0..self.axes.len()).map(|position| self.extent(position) as f64).product::<f64>();
        match (norm?, direction) {
            (Norm::Ortho, _) => Some(points.sqrt().recip()),
            (Norm::Backward, Direction::Inverse) | (Norm::Forward, Direction::Forward) => {
                Some(points.recip())
            }
            (Norm::Backward, Direction::Forward) | (Norm::Forward, Direction::Inverse) => None,
        }
    }

    /// The transform axes as indices of dimensions.
    pub(super) fn dimensions(&self) -> Vec<usize> {
        self.axes.iter().map(|&axis| axis as usize).collect()
    }

    /// The dimension of which one side of R2C and C2R has about half.
    pub(super) fn halved(&self) -> Option<usize> {
        let last = self.axes.last().map(|&axis| axis as usize);
        last.filter(|_| self.kind != TransformKind::C2C)
    }

    /// Number of points of the transform along `axes[position]`.
    #[must_use]
    pub fn extent(&self, position: usize) -> i64 {
        let axis = self.axes[position] as usize;
        match self.kind {
            TransformKind::C2R => self.output.shape[axis],
            TransformKind::C2C | TransformKind::R2C => self.input.shape[axis],
        }
    }

    /// Returns the problem with zeros for strides that do not matter, so that problems with equal
    /// plans become equal.
    #[must_use]
    pub fn normalized(&self) -> Self {
        let layout = |layout: &Layout| {
            let empty = layout.is_empty();
            let axes = layout.shape.iter().zip(&layout.strides);
            let strides = axes.map(|(&extent, &step)| if empty || extent == 1 { 0 } else { step });
            Layout { shape: layout.shape.clone(), strides: strides.collect() }
        };
        Self { input: layout(&self.input), output: layout(&self.output), ..self.clone() }
    }

    /// Whether an engine at `location` would read or write this array at an address that cuFFT
    /// refuses for the real side of transforms of one kind.
    pub(super) fn is_unaligned(
        &self,
        kind: TransformKind,
        view: &TensorView,
        location: MemoryLocation,
    ) -> bool {
        self.kind == kind && alignment([view], location) < self.precision.complex().size()
    }

    /// The error for a memory layout that no cuFFT plan covers, with the copy that helps.
    pub(super) fn unsupported_layout(&self, reason: &str) -> Error {
        let transformed = self.dimensions();
        let mut permutation: Vec<usize> =
            (0..self.input.ndim()).filter(|axis| !transformed.contains(axis)).collect();
        let first = permutation.len();
        permutation.extend(&transformed);
        let axes: Vec<usize> = (first..permutation.len()).collect();
        Error::UnsupportedLayout {
            message: format!(
                "no cuFFT plan covers an operand of shape {:?} and strides {:?} transformed along \
                 axes {:?}: {reason}; copy it with its axes in the order {permutation:?}, \
                 transform that along {axes:?} and transpose the result back, or use \
                 execution=\"cpu\"",
                self.input.shape.as_slice(),
                self.input.strides.as_slice(),
                self.axes.as_slice(),
            ),
            permutation,
            axes,
        }
    }

    /// Element type of the input.
    #[must_use]
    pub fn input_dtype(&self) -> DType {
        self.precision.sides(self.kind)[0]
    }

    /// Element type of the output.
    #[must_use]
    pub fn output_dtype(&self) -> DType {
        self.precision.sides(self.kind)[1]
    }
}

impl Problem for FftProblem {
    fn input(&self, index: usize) -> Option<OperandSpec<'_>> {
        let (name, dtype, layout) = ("the operand", self.input_dtype(), &self.input);
        (index == 0).then_some(OperandSpec { name, dtype, layout })
    }

    fn output(&self, index: usize) -> Option<OperandSpec<'_>> {
        let (name, dtype, layout) = ("out", self.output_dtype(), &self.output);
        (index == 0).then_some(OperandSpec { name, dtype, layout })
    }

    fn overwritten_inputs(&self) -> Range<usize> {
        0..usize::from(self.inplace)
    }

    fn is_empty(&self) -> bool {
        self.input.is_empty()
    }

    fn fits_input(&self, _index: usize, view: &TensorView, location: MemoryLocation) -> bool {
        self.is_unaligned(TransformKind::R2C, view, location) == self.input_unaligned
    }

    fn fits_output(&self, _index: usize, view: &TensorView, location: MemoryLocation) -> bool {
        !self.is_unaligned(TransformKind::C2R, view, location) || self.output_unaligned
    }
}

impl Precision {
    /// The real element type.
    #[must_use]
    pub const fn real(self) -> DType {
        match self {
            Self::Half => DType::Float16,
            Self::Single => DType::Float32,
            Self::Double => DType::Float64,
        }
    }

    /// The complex element type.
    #[must_use]
    pub const fn complex(self) -> DType {
        match self {
            Self::Half => DType::Complex32,
            Self::Single => DType::Complex64,
            Self::Double => DType::Complex128,
        }
    }

    /// The element types of the input and of the output of transforms of one kind.
    #[must_use]
    pub const fn sides(self, kind: TransformKind) -> [DType; 2] {
        match kind {
            TransformKind::C2C => [self.complex(), self.complex()],
            TransformKind::R2C => [self.real(), self.complex()],
            TransformKind::C2R => [self.complex(), self.real()],
        }
    }

    /// The precision of an element type; `None` if no transform works on it.
    #[must_use]
    pub const fn of(dtype: DType) -> Option<Self> {
        match dtype {
            DType::Float16 | DType::Complex32 => Some(Self::Half),
            DType::Float32 | DType::Complex64 => Some(Self::Single),
            DType::Float64 | DType::Complex128 => Some(Self::Double),
            _ => None,
        }
    }
}

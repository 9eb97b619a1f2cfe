//! The kernels of `cosine.cu`: what comes before and after the Fourier transform of a cosine or
//! sine transform.

use std::ffi::CStr;

use super::{BLOCK, MAX_RANK, filled, launch};
use crate::device::{ContextGuard, StreamRef};
use crate::error::{Error, Result};
use crate::tensor::{BatchDim, BatchDims, Dims, Layout};

const PTX: &str = concat!(include_str!("generated/cosine.ptx"), "\0");

/// Elements that a thread computes at once.
const AT_ONCE: u64 = 4;

macro_rules! kernels_of {
    ($step:literal) => {
        [
            [concat!("cosine_", $step, "_float32\0"), concat!("cosine_", $step, "_float64\0")],
            [
                concat!("cosine_small_", $step, "_float32\0"),
                concat!("cosine_small_", $step, "_float64\0"),
            ],
        ]
    };
}

/// The kernels of each step, in the order of `CosineStep`: for arrays of any size and for small
/// ones, in single and double precision.
const STEPS: [[[&str; 2]; 2]; 10] = [
    kernels_of!("extend"),
    kernels_of!("take"),
    kernels_of!("fold2"),
    kernels_of!("turn2"),
    kernels_of!("turn3"),
    kernels_of!("unfold3"),
    kernels_of!("pack4"),
    kernels_of!("unpack4"),
    kernels_of!("fold4"),
    kernels_of!("turn4"),
];

/// What a step computes from one line, on a GPU as on the CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CosineLine {
    /// Which of [`STEPS`] it is.
    pub(crate) step: usize,
    /// Points of the cosine or sine transform.
    pub(crate) points: i64,
    pub(crate) is_sine: bool,
    /// Whether the Fourier transform is a complex one where a real one would do.
    pub(crate) is_whole: bool,
    /// Factors of the result, and of the first and last element of the operand or the result.
    pub(crate) scale: f64,
    pub(crate) first: f64,
    pub(crate) last: f64,
}

/// What the kernels compute.
#[derive(Debug)]
pub(crate) struct CosineCall {
    step: usize,
    argument: Argument,
}

/// The argument of the kernels.
#[derive(Debug)]
#[repr(C)]
struct Argument {
    count: u64,
    rank: i64,
    length: i64,
    points: i64,
    is_sine: i64,
    is_whole: i64,
    is_crossed: i64,
    stride: i64,
    to_stride: i64,
    scale: f64,
    first: f64,
    last: f64,
    reciprocal: f64,
    extents: [i64; MAX_RANK],
    factors: [u64; MAX_RANK],
    shifts: [i64; MAX_RANK],
    along: [i64; MAX_RANK],
    from: [i64; MAX_RANK],
    to: [i64; MAX_RANK],
}

/// A dimension of the elements that a step computes.
#[derive(Clone, Copy, Debug)]
struct StepDim {
    extent: i64,
    /// How far it leads along a line of the target.
    along: i64,
    /// Distances beside the lines, in the source and in the target; 0 along a line.
    from: i64,
    to: i64,
}

impl StepDim {
    fn beside(dim: &BatchDim<2>) -> Self {
        let &BatchDim { extent, strides: [from, to] } = dim;
        Self { extent, along: 0, from, to }
    }
}

/// Returns a factor and a shift, such that `(number * factor) >> shift` is the quotient of a number
/// below 2^31 and an extent below 2^31; for larger extents they do not matter.
fn divisor(extent: u64) -> (u64, i64) {
    let bits = u64::BITS - extent.saturating_sub(1).leading_zeros();
    let shift = 31 + bits.min(31);
    ((1_u64 << shift).div_ceil(extent.max(1)), i64::from(shift))
}

/// Neighbours of a line that neighbouring threads compute before they go on to another line, where
/// other neighbours follow each other in the source than in the target: 32 or 64 bytes.
const TOGETHER: i64 = 8;

impl CosineCall {
    /// Describes a step along an axis, the only one whose extents may differ.
    pub(crate) fn of(line: &CosineLine, to: &Layout, from: &Layout, axis: usize) -> Result<Self> {
        let beside = BatchDims::outside(&[axis], [from, to]);
        let (length, stride) = (to.shape[axis], to.strides[axis]);
        let dim = |extent, along| StepDim { extent, along, from: 0, to: 0 };
        let mut dims: Vec<StepDim> = beside.iter().map(StepDim::beside).collect();
        // Neighbours along different dimensions follow each other in the two arrays: threads that
        // go along one of them, and a few elements along the other, use the memory of both well.
        let crossed = dims.iter().enumerate().min_by_key(|(_, dim)| dim.from.abs());
        let crossed = crossed.map(|(place, &dim)| (place, dim)).filter(|(_, dim)| {
            (dim.from.abs() < from.strides[axis].abs()) != (dim.to.abs() < stride.abs())
        });
        if let Some((place, inner)) = crossed {
            dims.remove(place);
            let groups = (length + TOGETHER - 1) / TOGETHER;
            dims.extend([dim(groups, TOGETHER), inner, dim(TOGETHER, 1)]);
        } else {
            let place = dims.iter().position(|dim| dim.to.abs() < stride.abs());
            dims.insert(place.unwrap_or(dims.len()), dim(length, 1));
        }
        let of = |number: fn(&StepDim) -> i64| filled(&dims.iter().map(number).collect::<Dims>());
        let divisors = dims.iter().map(|dim| divisor(dim.extent.unsigned_abs()));
        let argument = Argument {
            count: dims.iter().map(|dim| dim.extent as u64).product(),
            rank: dims.len() as i64,
            length,
            points: line.points,
            is_sine: i64::from(line.is_sine),
            is_whole: i64::from(line.is_whole),
            is_crossed: i64::from(crossed.is_some()),
            stride: from.strides[axis],
            to_stride: stride,
            scale: line.scale,
            first: line.first,
            last: line.last,
            reciprocal: 0.5 / line.points as f64,
            extents: of(|dim| dim.extent)?,
            factors: filled(&divisors.clone().map(|(factor, _)| factor).collect::<Vec<_>>())?,
            shifts: filled(&divisors.map(|(_, shift)| shift).collect::<Vec<_>>())?,
            along: of(|dim| dim.along)?,
            from: of(|dim| dim.from)?,
            to: of(|dim| dim.to)?,
        };
        Ok(Self { step: line.step, argument })
    }
}

impl Argument {
    /// Whether all that the kernel counts fits into 32 bits.
    fn is_small(&self) -> bool {
        let dims = 0..self.rank as usize;
        let points = self.points.unsigned_abs().saturating_add(1);
        // A line of the source or of the target may have twice as many elements as points, and a
        // step counts up to nine times as far.
        let offset = |strides: &[i64], stride: i64| {
            let along = points.saturating_mul(2).saturating_mul(stride.unsigned_abs());
            dims.clone().fold(along, |sum, dim| {
                let last = self.extents[dim].unsigned_abs();
                sum.saturating_add(last.saturating_mul(strides[dim].unsigned_abs()))
            })
        };
        let most = [
            self.count,
            offset(&self.to, self.to_stride),
            offset(&self.from, self.stride),
            points.saturating_mul(9),
        ];
        most.iter().all(|&number| number < 1 << 31)
    }
}

/// Enqueues a step of a cosine or sine transform on `stream`, in the context of the stream's
/// device. The work can be captured into a graph.
///
/// # Safety
/// - As for [`super::copy`], with the layouts of `call`, whose real numbers are float64 if
///   `is_double`, else float32.
/// - The addresses are aligned to the elements.
pub(crate) unsafe fn compute_cosine_step(
    context: &ContextGuard,
    to: usize,
    from: usize,
    call: &CosineCall,
    is_double: bool,
    stream: StreamRef,
) -> Result<()> {
    let argument = &call.argument;
    let name = STEPS[call.step][usize::from(argument.is_small())][usize::from(is_double)];
    let name = CStr::from_bytes_with_nul(name.as_bytes())
        .map_err(|error| Error::InvalidState(error.to_string()))?;
    let parameters =
        [&raw const to as usize, &raw const from as usize, std::ptr::from_ref(argument) as usize];
    let blocks = argument.count.div_ceil(u64::from(BLOCK) * AT_ONCE);
    // SAFETY: the kernel takes two addresses and the argument of a step; the caller guarantees that
    // they fit the memory.
    unsafe { launch(context, (PTX, name), blocks, &parameters, stream) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The step before transforms of type II.
    fn fold(points: i64) -> CosineLine {
        let (is_sine, is_whole) = (false, false);
        CosineLine { step: 2, points, is_sine, is_whole, scale: 1.0, first: 1.0, last: 1.0 }
    }

    #[test]
    fn the_kernels_are_there_and_take_the_argument() {
        for name in STEPS.as_flattened().as_flattened() {
            let name = name.trim_end_matches('\0');
            let parameter = format!("{name}_param_2[{}]", size_of::<Argument>());
            assert!(PTX.contains(&parameter), "{parameter}");
        }
    }

    #[test]
    fn quotients_are_exact() {
        for extent in (1..70).chain([255, 256, 257, 46341, (1 << 30) + 1, (1 << 31) - 1]) {
            let (factor, shift) = divisor(extent);
            let near = |number: u64| number.saturating_sub(2)..number + 3;
            let multiples = (0..40).map(|k| (((1_u64 << 31) - 1) / extent).min(k) * extent);
            let last = ((1_u64 << 31) - 1) / extent * extent;
            for number in multiples.chain([last, 1 << 30, (1 << 31) - 3]).flat_map(near) {
                let number = number.min((1 << 31) - 1);
                assert_eq!((number * factor) >> shift, number / extent, "{number} / {extent}");
            }
        }
    }

    #[test]
    fn crossed_lines_are_computed_a_few_elements_at_a_time() {
        let layout = |shape: &[i64], strides: &[i64]| Layout {
            shape: shape.into(),
            strides: strides.into(),
        };
        let line = fold(20);
        let dims = |to: &[i64], from: &[i64]| {
            let shape = [3, 20, 5];
            let call = CosineCall::of(&line, &layout(&shape, to), &layout(&shape, from), 1);
            let call = call.unwrap().argument;
            let dims = 0..call.rank as usize;
            dims.map(|d| [call.extents[d], call.along[d], call.from[d], call.to[d]])
                .collect::<Vec<_>>()
        };
        let crossed = [[3, 0, 100, 100], [3, 8, 0, 0], [5, 0, 1, 20], [8, 1, 0, 0]];
        assert_eq!(dims(&[100, 1, 20], &[100, 5, 1]), crossed);
        let crossed = [[3, 0, 100, 100], [3, 8, 0, 0], [5, 0, 20, 1], [8, 1, 0, 0]];
        assert_eq!(dims(&[100, 5, 1], &[100, 1, 20]), crossed);
        assert_eq!(dims(&[100, 1, 20], &[100, 1, 20]), [[15, 0, 20, 20], [20, 1, 0, 0]]);
        let columns = [[3, 0, 100, 100], [20, 1, 0, 0], [5, 0, 1, 1]];
        assert_eq!(dims(&[100, 5, 1], &[100, 5, 1]), columns);
    }

    #[test]
    fn what_fits_into_32_bits_is_small() {
        let layout = |shape: &[i64], strides: &[i64]| Layout {
            shape: shape.into(),
            strides: strides.into(),
        };
        let is_small = |shape: &[i64], strides: &[i64]| {
            let points = shape[1];
            let line = fold(points);
            let (to, from) = (layout(shape, &[shape[1], 1]), layout(shape, strides));
            CosineCall::of(&line, &to, &from, 1).unwrap().argument.is_small()
        };
        assert!(is_small(&[1000, 1000], &[1000, 1]));
        assert!(is_small(&[1000, 1000], &[-1000, -1]));
        assert!(!is_small(&[3, 1 << 30], &[1 << 30, 1]));
        assert!(!is_small(&[1, 1 << 28], &[1 << 28, 1]));
        assert!(!is_small(&[1000, 1000], &[1 << 22, 1]));
        assert!(!is_small(&[1000, 1000], &[1, -(1 << 21)]));
    }
}

//! The argument of the kernels of `cosine.cu`.

use super::{MAX_RANK, filled};
use crate::error::Result;
use crate::tensor::{BatchDim, BatchDims, Dims, Layout};

/// What a step computes from one line, on a GPU as on the CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CosineLine {
    /// Which step it is, as `cosine.cu` numbers them.
    pub(crate) step: i64,
    /// Points of the cosine or sine transform.
    pub(crate) points: i64,
    pub(crate) is_sine: bool,
    /// Factors of the result, and of the first and last element of the operand or the result.
    pub(crate) scale: f64,
    pub(crate) first: f64,
    pub(crate) last: f64,
}

/// The argument of the kernels.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct CosineCall {
    count: u64,
    rank: i64,
    axis: i64,
    points: i64,
    step: i64,
    is_sine: i64,
    stride: i64,
    scale: f64,
    first: f64,
    last: f64,
    extents: [i64; MAX_RANK],
    from: [i64; MAX_RANK],
    to: [i64; MAX_RANK],
}

impl CosineCall {
    /// Describes a step along an axis, the only one whose extents may differ.
    pub(crate) fn of(line: &CosineLine, to: &Layout, from: &Layout, axis: usize) -> Result<Self> {
        let mut dims: Vec<BatchDim<2>> = BatchDims::outside(&[axis], [from, to]).to_vec();
        let along = BatchDim { extent: to.shape[axis], strides: [0, to.strides[axis]] };
        let place = dims.iter().position(|dim| dim.strides[1].abs() < along.strides[1].abs());
        let place = place.unwrap_or(dims.len());
        dims.insert(place, along);
        let of =
            |number: fn(&BatchDim<2>) -> i64| filled(&dims.iter().map(number).collect::<Dims>());
        Ok(Self {
            count: to.len() as u64,
            rank: dims.len() as i64,
            axis: place as i64,
            points: line.points,
            step: line.step,
            is_sine: i64::from(line.is_sine),
            stride: from.strides[axis],
            scale: line.scale,
            first: line.first,
            last: line.last,
            extents: of(|dim| dim.extent)?,
            from: of(|dim| dim.strides[0])?,
            to: of(|dim| dim.strides[1])?,
        })
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }
}

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
    reciprocal: f64,
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
            reciprocal: 0.5 / line.points as f64,
            extents: of(|dim| dim.extent)?,
            from: of(|dim| dim.strides[0])?,
            to: of(|dim| dim.strides[1])?,
        })
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Whether all that the kernel counts fits into 32 bits.
    pub(super) fn is_small(&self) -> bool {
        let dims = 0..self.rank as usize;
        let offset = |strides: &[i64]| {
            dims.clone().fold(0_u64, |sum, dim| {
                let last = self.extents[dim].unsigned_abs();
                sum.saturating_add(last.saturating_mul(strides[dim].unsigned_abs()))
            })
        };
        // A line of the source may have twice as many elements as points, and a step counts up to
        // nine times as far.
        let points = self.points.unsigned_abs().saturating_add(1);
        let along = points.saturating_mul(2).saturating_mul(self.stride.unsigned_abs());
        let most = [
            self.count,
            offset(&self.to),
            offset(&self.from).saturating_add(along),
            points.saturating_mul(9),
        ];
        most.iter().all(|&number| number < 1 << 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_into_32_bits_is_small() {
        let layout = |shape: &[i64], strides: &[i64]| Layout {
            shape: shape.into(),
            strides: strides.into(),
        };
        let is_small = |shape: &[i64], strides: &[i64]| {
            let points = shape[1];
            let line =
                CosineLine { step: 2, points, is_sine: false, scale: 1.0, first: 1.0, last: 1.0 };
            let (to, from) = (layout(shape, &[shape[1], 1]), layout(shape, strides));
            CosineCall::of(&line, &to, &from, 1).unwrap().is_small()
        };
        assert!(is_small(&[1000, 1000], &[1000, 1]));
        assert!(is_small(&[1000, 1000], &[-1000, -1]));
        assert!(!is_small(&[3, 1 << 30], &[1 << 30, 1]));
        assert!(!is_small(&[1, 1 << 28], &[1 << 28, 1]));
        assert!(!is_small(&[1000, 1000], &[1 << 22, 1]));
        assert!(!is_small(&[1000, 1000], &[1, -(1 << 21)]));
    }
}

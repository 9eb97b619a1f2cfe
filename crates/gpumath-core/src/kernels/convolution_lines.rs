//! The argument of the kernels of `convolution_lines.cu`.

use std::cmp::Reverse;
use std::ffi::CStr;

use smallvec::SmallVec;

use crate::tensor::{BatchDim, BatchDims, Layout};

/// Axes and dimensions at most.
const MAX_AXES: usize = 2;
const MAX_RANK: usize = 8;
/// Fewest lines, or images, of which a thread computes several, and how many these are.
const LEAST_LINES: i64 = 8;
const LINES_OF_THREAD: i64 = 4;
/// Positions below this are computed with 32 bits, also those that are beyond an end.
const MOST_POSITIONS: u64 = 1 << 30;
/// So many elements of the filter are taken at a time, at most.
const TAPS_AT_A_TIME: u64 = 4;
/// So many lines can be one part.
const LEAST_OF_PART: u64 = 16;

/// What the kernels take.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(super) struct LinesArgument {
    count: u32,
    apart: u32,
    wanted: u32,
    rank: i32,
    filter: usize,
    dims: [i32; MAX_AXES],
    taps: [i32; MAX_AXES],
    points: [i32; MAX_AXES],
    starts: [i32; MAX_AXES],
    from_steps: [i32; MAX_AXES],
    filter_steps: [i32; MAX_AXES],
    from_gap: i32,
    to_gap: i32,
    extents: [u32; MAX_RANK],
    from: [i32; MAX_RANK],
    filters: [i32; MAX_RANK],
    to: [i32; MAX_RANK],
}

impl LinesArgument {
    /// Returns how many threads there are.
    pub(super) fn count(&self) -> u64 {
        self.count.into()
    }
}

/// Sums of products for many lines or images with one filter, or for a small array.
#[derive(Debug)]
pub(crate) struct LinesCall {
    /// Without what depends on the number of lines.
    argument: LinesArgument,
    /// The dimension of the lines, with distances in the source, the filter and the result. If
    /// there are no lines, it has one entry.
    lines: BatchDim<3>,
    /// Threads for a line.
    threads: i64,
    /// So many parts are computed one after the other, such that 32 bits are enough for positions.
    parts: i64,
    /// From the first element of the source to the one that positions are counted from.
    shift: i64,
}

impl LinesCall {
    /// Describes the sums along `axes`, as `ConvolutionCall::of` does. The kernels do not take
    /// filters of several elements along each of three axes, nor positions of more than 32 bits.
    pub(super) fn of(
        [to, from, filter]: [&Layout; 3],
        filter_address: usize,
        axes: &[usize],
        starts: &[i64],
    ) -> Option<Self> {
        // An axis along which the filter has one element is like one that is not convolved.
        let mut summed: SmallVec<[usize; 6]> =
            axes.iter().copied().filter(|&axis| filter.shape[axis] > 1).collect();
        if summed.is_empty() {
            summed.extend(axes.iter().copied().max());
        }
        summed.sort_unstable();
        let unused = MAX_AXES.checked_sub(summed.len())?;
        let others = || (0..to.ndim()).filter(|dim| !summed.contains(dim));
        let step = |of: &Layout, dim: usize| if of.shape[dim] > 1 { of.strides[dim] } else { 0 };
        let merged = BatchDims::merged(others().map(|dim| BatchDim {
            extent: to.shape[dim],
            strides: [step(from, dim), step(filter, dim), to.strides[dim]],
        }));
        let mut argument = LinesArgument {
            filter: filter_address,
            dims: [-1; MAX_AXES],
            taps: [1; MAX_AXES],
            points: [1; MAX_AXES],
            ..LinesArgument::default()
        };
        let mut dims: SmallVec<[(BatchDim<3>, Option<usize>); MAX_RANK]> =
            merged.iter().map(|&dim| (dim, None)).collect();
        let mut positions = 0_u64;
        for (place, &axis) in summed.iter().enumerate() {
            let place = unused + place;
            let (points, taps) = (from.shape[axis], filter.shape[axis]);
            let (from_step, filter_step) = (from.strides[axis], filter.strides[axis]);
            let longest = from_step.unsigned_abs().max(filter_step.unsigned_abs()).max(1);
            let there = points.unsigned_abs() + taps.unsigned_abs() + TAPS_AT_A_TIME;
            positions = positions.saturating_add(there.saturating_mul(longest));
            argument.taps[place] = taps as i32;
            argument.points[place] = points as i32;
            argument.starts[place] = starts[axis] as i32;
            argument.from_steps[place] = from_step as i32;
            argument.filter_steps[place] = filter_step as i32;
            if to.shape[axis] > 1 {
                let strides = [0, 0, to.strides[axis]];
                dims.push((BatchDim { extent: to.shape[axis], strides }, Some(place)));
            }
        }
        dims.sort_by_key(|(dim, _)| Reverse(dim.strides[2].unsigned_abs()));
        // Neighbouring threads go along the fastest dimension.
        let lines = (0..dims.len().saturating_sub(1))
            .filter(|&at| {
                let (dim, place) = dims[at];
                place.is_none() && dim.strides[1] == 0 && dim.extent >= LEAST_LINES
            })
            .max_by_key(|&at| dims[at].0.extent)
            .map_or(BatchDim { extent: 1, strides: [0; 3] }, |at| dims.remove(at).0);
        if dims.len() >= MAX_RANK {
            return None;
        }
        let mut far = [0_u64; 3];
        argument.rank = dims.len() as i32 + 1;
        for (place, (dim, axis)) in (1..).zip(&dims) {
            for (far, stride) in far.iter_mut().zip(dim.strides) {
                *far = far.saturating_add(
                    dim.extent.unsigned_abs().saturating_mul(stride.unsigned_abs()),
                );
            }
            argument.extents[place] = dim.extent as u32;
            [argument.from[place], argument.filters[place], argument.to[place]] =
                dim.strides.map(|stride| stride as i32);
            if let Some(axis) = axis {
                argument.dims[*axis] = place as i32;
            }
        }
        // What was cast above has 32 bits if this fits.
        let positions = far.into_iter().fold(positions, u64::saturating_add);
        let threads: i64 = dims.iter().map(|(dim, _)| dim.extent).product();
        let of_line = lines.strides.map(i64::unsigned_abs).into_iter().max().unwrap_or_default();
        let of_line = of_line.max(threads.unsigned_abs()).max(1);
        let most = MOST_POSITIONS.checked_sub(positions)? / of_line;
        // The last ones that a thread computes may be beyond the end.
        let beyond = LINES_OF_THREAD.unsigned_abs() - 1;
        if most < (lines.extent.unsigned_abs() + beyond).min(LEAST_OF_PART) {
            return None;
        }
        argument.from[0] = lines.strides[0] as i32;
        argument.to[0] = lines.strides[2] as i32;
        let parts = lines.extent.unsigned_abs().div_ceil(most - beyond).cast_signed();
        let shift = others().map(|dim| starts[dim] * from.strides[dim]).sum();
        Some(Self { argument, lines, threads, parts, shift })
    }

    /// Whether a thread computes several lines.
    pub(super) fn has_lines(&self) -> bool {
        self.lines.extent >= LEAST_LINES
    }

    /// Returns the name of the kernel.
    pub(super) fn name(&self) -> &'static CStr {
        if self.has_lines() { c"convolve_lines" } else { c"convolve_each" }
    }

    /// Returns the parts, and where the result and the source of each begin, in elements.
    pub(super) fn parts(&self) -> impl Iterator<Item = (LinesArgument, [i64; 2])> {
        let of_thread = if self.has_lines() { LINES_OF_THREAD } else { 1 };
        let [from, _, to] = self.lines.strides;
        (0..self.parts).map(move |part| {
            let [first, end] = [part, part + 1].map(|part| self.lines.extent * part / self.parts);
            let apart = (end - first + of_thread - 1) / of_thread;
            let mut argument = self.argument.clone();
            argument.wanted = (end - first) as u32;
            argument.apart = apart as u32;
            argument.extents[0] = apart as u32;
            argument.from_gap = (apart * from) as i32;
            argument.to_gap = (apart * to) as i32;
            argument.count = (apart * self.threads) as u32;
            (argument, [first * to, first * from + self.shift])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(shape: &[i64], strides: &[i64]) -> Layout {
        Layout { shape: shape.into(), strides: strides.into() }
    }

    fn only_part(call: &LinesCall) -> (LinesArgument, [i64; 2]) {
        assert_eq!(call.parts().count(), 1);
        call.parts().next().unwrap()
    }

    #[test]
    fn a_thread_has_an_element_of_each_of_four_lines() {
        // The lines are along the second dimension. The first element of the source is skipped
        // along the fourth one, where the filter has one element.
        let to = layout(&[3, 5001, 31, 2], &[310_062, 62, 2, 1]);
        let from = layout(&[3, 5001, 31, 3], &[1, 3, 30_000, 900_000]);
        let filter = layout(&[3, 1, 7, 1], &[7, 7, 1, 1]);
        let call = LinesCall::of([&to, &from, &filter], 64, &[2, 3], &[0, 0, 3, 1]).unwrap();
        let (argument, firsts) = only_part(&call);
        assert_eq!((call.name(), firsts), (c"convolve_lines", [0, 900_000]));
        assert_eq!((argument.count, argument.wanted, argument.apart), (1251 * 186, 5001, 1251));
        assert_eq!((argument.rank, &argument.extents[..4]), (4, &[1251, 3, 31, 2][..]));
        assert_eq!((argument.dims, argument.taps), ([-1, 2], [1, 7]));
        assert_eq!((argument.points, argument.starts), ([1, 31], [0, 3]));
        assert_eq!((argument.from_steps, argument.filter_steps), ([0, 30_000], [0, 1]));
        assert_eq!(&argument.from[..4], [3, 1, 0, 900_000]);
        assert_eq!(&argument.filters[..4], [0, 7, 0, 0]);
        assert_eq!(&argument.to[..4], [62, 310_062, 2, 1]);
        assert_eq!((argument.from_gap, argument.to_gap), (1251 * 3, 1251 * 62));
    }

    #[test]
    fn images_of_all_dimensions_are_lines() {
        let (images, filter) = (Layout::from([4, 5, 28, 28]), Layout::from([1, 1, 3, 3]));
        let call = LinesCall::of([&images, &images, &filter], 64, &[2, 3], &[0, 0, 1, 1]).unwrap();
        let (argument, _) = only_part(&call);
        assert_eq!((argument.wanted, argument.rank, argument.dims), (20, 3, [1, 2]));
        // Those of one image are not apart from each other.
        let (image, filter) = (Layout::from([28, 28]), Layout::from([3, 3]));
        let call = LinesCall::of([&image, &image, &filter], 64, &[0, 1], &[1, 1]).unwrap();
        let (argument, _) = only_part(&call);
        assert_eq!((call.name(), call.has_lines()), (c"convolve_each", false));
        assert_eq!((argument.count, argument.wanted, argument.rank), (784, 1, 3));
        // Nor are lines with filters of their own, or columns.
        for (shape, filter, axis) in [([90, 9], [90, 3], 1), ([9, 90], [3, 1], 0)] {
            let [array, filter] = [shape, filter].map(Layout::from);
            let call = LinesCall::of([&array, &array, &filter], 64, &[axis], &[0, 0]).unwrap();
            assert!(!call.has_lines(), "{shape:?}");
        }
    }

    #[test]
    fn positions_have_32_bits() {
        let filter = Layout::from([1, 3]);
        let of = |array: &Layout| LinesCall::of([array, array, &filter], 64, &[1], &[0, 1]);
        let lines = 1 << 29;
        let call = of(&Layout::from([lines, 9])).unwrap();
        let mut next = 0;
        for (argument, [to, from]) in call.parts() {
            assert_eq!((to, from), (next * 9, next * 9));
            next += i64::from(argument.wanted);
            assert!(i64::from(argument.wanted) * 9 < 1 << 30);
            assert_eq!(i64::from(argument.to_gap), i64::from(argument.apart) * 9);
            // Each but the last line of a thread is there.
            assert!(3 * argument.apart <= argument.wanted);
        }
        assert_eq!((next, call.parts), (lines, 5));
        // Lines of 64 bits, or too far apart.
        assert!(of(&Layout::from([100, 1 << 30])).is_none());
        assert!(of(&layout(&[100, 9], &[1 << 40, 1])).is_none());
        assert!(of(&layout(&[100, 9], &[1, 1 << 40])).is_none());
        // Three axes.
        let (array, filter) = (Layout::from([9, 9, 9]), Layout::from([2, 2, 2]));
        assert!(LinesCall::of([&array, &array, &filter], 64, &[0, 1, 2], &[0; 3]).is_none());
        let filter = Layout::from([2, 1, 2]);
        assert!(LinesCall::of([&array, &array, &filter], 64, &[0, 1, 2], &[0; 3]).is_some());
    }
}

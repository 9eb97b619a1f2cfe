//! The kernels of `convolution.cu` and their argument, and which kernel computes sums of products.

use std::ffi::CStr;

use super::convolution_lines::LinesCall;
use super::{MAX_RANK, filled};
use crate::error::{Error, Result};
use crate::tensor::{DType, Dims, Layout};

/// Axes at most.
const MAX_AXES: usize = 4;
/// Elements of the shortest line along the result's fastest dimension of which a thread computes
/// several.
const SHORTEST_SPREAD: i64 = 64;
/// Most elements of a short filter of lines, and of a small one of images.
const SHORT_FILTER: i64 = 8;
const SMALL_FILTER: i64 = 25;
/// Sides of images, and neighbours of their elements, that are few: neither fills a kernel's
/// threads.
const SHORT_SIDE: i64 = 64;
const FEW_NEIGHBOURS: i64 = 32;
/// Threads below which a GPU is not busy, and most of them that share lines of the filter.
const BUSY_THREADS: u64 = 1 << 16;
const MOST_SHARERS: i64 = 16;
/// Strides below this keep the offsets of what such a thread loads in 32 bits.
const MAX_STEP: u64 = 1 << 27;

/// Returns the code of the kernels for elements of a type, if there are any.
pub(super) fn code(dtype: DType) -> Option<&'static str> {
    macro_rules! of {
        ($type:literal) => {
            Some(concat!(include_str!(concat!("generated/convolution_", $type, ".ptx")), "\0"))
        };
    }
    match dtype {
        DType::Float32 => of!("float32"),
        DType::Float64 => of!("float64"),
        DType::Complex64 => of!("complex64"),
        DType::Complex128 => of!("complex128"),
        DType::Int8 | DType::UInt8 => of!("int8"),
        DType::Int16 | DType::UInt16 => of!("int16"),
        DType::Int32 | DType::UInt32 => of!("int32"),
        DType::Int64 | DType::UInt64 => of!("int64"),
        _ => None,
    }
}

/// Which elements a thread computes along the last axis. An axis for which a later one is possible
/// is the better last axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Along {
    /// One.
    Single,
    /// Four that are a warp of 32 threads apart, where the axis is the result's fastest dimension
    /// and the result has one element along the other axes.
    Spread,
    /// Eight that are a warp apart, of a large result, where the filter is short.
    Short,
    /// Eight neighbours, where the axis is another dimension.
    Wide,
}

impl Along {
    /// Returns the name of the kernel.
    pub(super) fn name(self) -> &'static CStr {
        match self {
            Self::Single => c"convolve_single",
            Self::Spread => c"convolve_spread",
            Self::Short => c"convolve_short",
            Self::Wide => c"convolve_wide",
        }
    }

    /// Returns how many elements a thread computes, and how many threads they are apart.
    fn elements(self) -> (i64, i64) {
        match self {
            Self::Single => (1, 1),
            Self::Spread => (4, 32),
            Self::Short => (8, 32),
            Self::Wide => (8, 1),
        }
    }

    /// Returns how many threads there are along an axis of so many elements.
    fn threads(self, elements: i64) -> i64 {
        let (of_thread, apart) = self.elements();
        // So many threads compute a row of elements together.
        (elements + of_thread * apart - 1) / (of_thread * apart) * apart
    }

    /// Whether there are threads for a quarter more elements than a line has.
    fn computes_many_more(self, elements: i64) -> bool {
        4 * self.threads(elements) * self.elements().0 > 5 * elements
    }
}

/// Sums of products, as the kernel that takes the least time for them takes them.
#[derive(Debug)]
pub(crate) enum Sums {
    /// By a kernel of `convolution_lines.cu`.
    Lines(Box<LinesCall>),
    /// By a kernel of `convolution.cu`.
    Others(Box<ConvolutionCall>, Along),
}

impl Sums {
    /// Describes the sums along `axes` for elements of `dtype`, as [`ConvolutionCall::of`] does.
    pub(crate) fn of(
        dtype: DType,
        layouts: [&Layout; 3],
        filter_address: usize,
        axes: &[usize],
        starts: &[i64],
    ) -> Result<Self> {
        let [to, from, filter] = layouts;
        let (call, along) = ConvolutionCall::of(to, from, filter, filter_address, axes, starts)?;
        let lines = LinesCall::of(layouts, filter_address, axes, starts)
            .filter(|lines| call.takes_longer(along, lines.has_lines(), dtype));
        Ok(match lines {
            Some(lines) => Self::Lines(Box::new(lines)),
            None => Self::Others(Box::new(call), along),
        })
    }
}

/// The argument of the kernels.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct ConvolutionCall {
    count: u64,
    sharers: i64,
    rank: i64,
    filter: usize,
    wanted: i64,
    to_step: i64,
    dims: [i64; MAX_AXES],
    taps: [i64; MAX_AXES],
    points: [i64; MAX_AXES],
    starts: [i64; MAX_AXES],
    from_steps: [i64; MAX_AXES],
    filter_steps: [i64; MAX_AXES],
    extents: [i64; MAX_RANK],
    from: [i64; MAX_RANK],
    filters: [i64; MAX_RANK],
    to: [i64; MAX_RANK],
}

impl ConvolutionCall {
    /// Describes the sums along `axes`. Along these, the result begins with the elements `starts`
    /// of the full convolution; along the others, the source or the filter may have one element.
    /// The result is in C order. Also says which elements a thread computes.
    pub(crate) fn of(
        to: &Layout,
        from: &Layout,
        filter: &Layout,
        filter_address: usize,
        axes: &[usize],
        starts: &[i64],
    ) -> Result<(Self, Along)> {
        if axes.is_empty() || axes.len() > MAX_AXES {
            return Err(Error::InvalidValue(format!(
                "sums along {} axes were asked for; 1 to {MAX_AXES} are computed at once",
                axes.len()
            )));
        }
        let kept: Dims =
            (0..to.ndim()).filter(|&dim| to.shape[dim] > 1).map(|d| d as i64).collect();
        let (ordered, along) = ordered_axes(to, from, filter, axes);
        let last = ordered[ordered.len() - 1];
        let mut call = Self {
            count: 1,
            sharers: 1,
            rank: kept.len() as i64,
            filter: filter_address,
            wanted: to.shape[last],
            to_step: to.strides[last],
            dims: [-1; MAX_AXES],
            taps: [1; MAX_AXES],
            points: [1; MAX_AXES],
            starts: [0; MAX_AXES],
            from_steps: [0; MAX_AXES],
            filter_steps: [0; MAX_AXES],
            extents: [0; MAX_RANK],
            from: [0; MAX_RANK],
            filters: [0; MAX_RANK],
            to: [0; MAX_RANK],
        };
        let unused = MAX_AXES - ordered.len();
        for (place, &axis) in ordered.iter().enumerate() {
            let place = unused + place;
            let dim = kept.iter().position(|&dim| dim == axis as i64);
            call.dims[place] = dim.map_or(-1, |dim| dim as i64);
            call.taps[place] = filter.shape[axis];
            call.points[place] = from.shape[axis];
            call.starts[place] = starts[axis];
            call.from_steps[place] = from.strides[axis];
            call.filter_steps[place] = filter.strides[axis];
        }
        let of = |number: &dyn Fn(usize) -> i64| {
            filled(&kept.iter().map(|&dim| number(dim as usize)).collect::<Dims>())
        };
        let shared = |layout: &Layout, dim: usize| {
            let is_one = ordered.contains(&dim) || layout.shape[dim] == 1;
            if is_one { 0 } else { layout.strides[dim] }
        };
        let threads = |dim: usize| {
            let elements = to.shape[dim];
            if dim == last { along.threads(elements) } else { elements }
        };
        call.extents = of(&threads)?;
        call.from = of(&|dim| shared(from, dim))?;
        call.filters = of(&|dim| shared(filter, dim))?;
        call.to = of(&|dim| if dim == last { 0 } else { to.strides[dim] })?;
        call.count = kept.iter().map(|&dim| threads(dim as usize) as u64).product();
        let lines = call.taps[MAX_AXES - 2].min(MOST_SHARERS);
        while 2 * call.sharers <= lines && 2 * call.count() <= BUSY_THREADS {
            call.sharers *= 2;
        }
        Ok((call, along))
    }

    /// Returns how many threads there are.
    pub(super) fn count(&self) -> u64 {
        self.count * self.sharers.cast_unsigned()
    }

    /// Whether a kernel of `convolution_lines.cu` takes less time, for several lines of a thread or
    /// for one element. The limits are from times of an H200.
    fn takes_longer(&self, along: Along, has_lines: bool, dtype: DType) -> bool {
        let (taps, side) = (self.taps[MAX_AXES - 1], self.wanted);
        let elements = self.count * along.elements().0.cast_unsigned();
        let has_few_products = self.taps.iter().product::<i64>() <= SMALL_FILTER;
        let is_wide = dtype.size() > 8;
        match along {
            Along::Single => true,
            Along::Spread | Along::Short if has_lines && along.computes_many_more(side) => true,
            Along::Spread if has_lines => taps <= if is_wide { 64 } else { 32 },
            Along::Spread => elements <= 2 * BUSY_THREADS && taps <= 16,
            Along::Short => has_lines && (is_wide || taps <= SHORT_FILTER / 2),
            Along::Wide if has_lines => {
                let is_small = elements < 8 * BUSY_THREADS && has_few_products && !is_wide;
                side < SHORT_SIDE || self.to_step < FEW_NEIGHBOURS || is_small
            }
            Along::Wide => elements <= BUSY_THREADS / 2 && has_few_products,
        }
    }
}

/// Returns the axes such that a thread computes its elements along the last one, and which these
/// are.
fn ordered_axes(
    to: &Layout,
    from: &Layout,
    filter: &Layout,
    axes: &[usize],
) -> (Vec<usize>, Along) {
    let fastest = (0..to.ndim()).rfind(|&dim| to.shape[dim] > 1);
    let is_wide = |dim: usize| {
        Some(dim) != fastest && to.shape[dim] > 1 && from.strides[dim].unsigned_abs() < MAX_STEP
    };
    let along = |axis: usize| {
        if is_wide(axis) {
            Along::Wide
        } else if Some(axis) == fastest && to.shape[axis] >= SHORTEST_SPREAD {
            Along::Spread
        } else {
            Along::Single
        }
    };
    let mut ordered = axes.to_vec();
    ordered.sort_by_key(|&axis| (along(axis), filter.shape[axis]));
    let last = ordered[ordered.len() - 1];
    let elements = to.shape.iter().product::<i64>().cast_unsigned();
    let is_large = elements >= 8 * BUSY_THREADS;
    let has_others = axes.iter().any(|&axis| axis != last && to.shape[axis] > 1);
    let along = match along(last) {
        Along::Spread if has_others => Along::Single,
        Along::Spread if is_large && filter.shape[last] <= SHORT_FILTER => Along::Short,
        along => along,
    };
    (ordered, along)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(shape: &[i64], strides: &[i64]) -> Layout {
        Layout { shape: shape.into(), strides: strides.into() }
    }

    #[test]
    fn threads_go_along_the_axis_that_is_not_the_fastest() {
        let (to, from) = (layout(&[3, 20, 30], &[600, 30, 1]), layout(&[1, 22, 32], &[0, 32, 1]));
        let filter = layout(&[3, 3, 5], &[15, 5, 1]);
        let (call, along) =
            ConvolutionCall::of(&to, &from, &filter, 64, &[1, 2], &[0, 2, 4]).unwrap();
        assert_eq!(along, Along::Wide);
        assert_eq!((call.count, call.rank, call.wanted, call.to_step), (3 * 3 * 30, 3, 20, 30));
        assert_eq!((call.sharers, call.count()), (4, 4 * 3 * 3 * 30));
        assert_eq!(call.dims, [-1, -1, 2, 1]);
        assert_eq!((call.taps, call.points), ([1, 1, 5, 3], [1, 1, 32, 22]));
        assert_eq!((call.starts, call.from_steps), ([0, 0, 4, 2], [0, 0, 1, 32]));
        assert_eq!(call.filter_steps, [0, 0, 1, 5]);
        assert_eq!((&call.extents[..3], &call.to[..3]), (&[3, 3, 30][..], &[600, 0, 1][..]));
        assert_eq!((&call.from[..3], &call.filters[..3]), (&[0, 0, 0][..], &[15, 0, 0][..]));
    }

    #[test]
    fn a_short_line_is_computed_element_by_element() {
        let (to, from) = (layout(&[2, 50], &[50, 1]), layout(&[2, 50], &[50, 1]));
        let filter = layout(&[1, 7], &[7, 1]);
        let (call, along) = ConvolutionCall::of(&to, &from, &filter, 64, &[1], &[0, 3]).unwrap();
        assert_eq!(along, Along::Single);
        assert_eq!((call.count, call.dims, call.wanted), (100, [-1, -1, -1, 1], 50));
        let error = ConvolutionCall::of(&to, &from, &filter, 64, &[], &[0, 3]).unwrap_err();
        assert!(error.to_string().contains("sums along 0 axes"), "{error}");
    }

    #[test]
    fn elements_of_a_line_are_a_warp_apart() {
        let (to, from) = (layout(&[2, 300], &[300, 1]), layout(&[2, 300], &[600, 2]));
        let filter = layout(&[1, 7], &[7, 1]);
        let (call, along) = ConvolutionCall::of(&to, &from, &filter, 64, &[1], &[0, 3]).unwrap();
        assert_eq!(along, Along::Spread);
        // Three times 32 threads compute 128 elements each, and the last ones fewer.
        assert_eq!((call.count, call.extents[1], call.wanted), (2 * 96, 96, 300));
        assert_eq!((&call.to[..2], call.from_steps[3]), (&[300, 0][..], 2));
        // An axis of one element in the result, though its filter is longer, is not gone along.
        let (to, from) = (layout(&[1, 300], &[300, 1]), layout(&[9, 300], &[300, 1]));
        let filter = layout(&[9, 7], &[7, 1]);
        let (call, along) = ConvolutionCall::of(&to, &from, &filter, 64, &[0, 1], &[8, 3]).unwrap();
        assert_eq!((along, call.taps), (Along::Spread, [1, 1, 9, 7]));
        // Short lines of the filter are for 256 elements of 32 threads, if there are many of them.
        let (to, from) = (layout(&[2000, 500], &[500, 1]), layout(&[2000, 500], &[1000, 2]));
        let filter = layout(&[1, 7], &[7, 1]);
        let (call, along) = ConvolutionCall::of(&to, &from, &filter, 64, &[1], &[0, 3]).unwrap();
        assert_eq!((along, call.extents[1], call.sharers), (Along::Short, 64, 1));
        // Rows that are too far apart for offsets of 32 bits are not gone along, nor are their
        // elements spread.
        let (to, from) = (layout(&[2, 300], &[300, 1]), layout(&[2, 300], &[1 << 40, 1]));
        let filter = layout(&[2, 7], &[7, 1]);
        let (call, along) = ConvolutionCall::of(&to, &from, &filter, 64, &[0, 1], &[0, 3]).unwrap();
        assert_eq!((along, call.dims), (Along::Single, [-1, -1, 0, 1]));
    }

    /// Whether a kernel for lines is chosen, for operands in C order, the result as the operand.
    fn is_for_lines(dtype: DType, shape: &[i64], taps: &[i64]) -> bool {
        let axes: Vec<usize> = (0..taps.len()).filter(|&axis| taps[axis] > 1).collect();
        let [operand, filter] = [shape, taps].map(Layout::contiguous);
        let starts = vec![0; taps.len()];
        let layouts = [&operand, &operand, &filter];
        matches!(Sums::of(dtype, layouts, 64, &axes, &starts).unwrap(), Sums::Lines(_))
    }

    #[test]
    fn lines_and_small_arrays_have_kernels_of_their_own() {
        use DType::{Complex128, Float32};
        for (dtype, shape, taps, wanted) in [
            (Float32, &[5000, 31][..], &[1, 7][..], true),
            (Float32, &[100, 10_000], &[1, 17], true),
            (Float32, &[100, 10_000], &[1, 40], false),
            (Complex128, &[100, 10_000], &[1, 40], true),
            (Float32, &[100, 10_000], &[1, 8], false),
            (Float32, &[100, 10_000], &[1, 4], true),
            (Float32, &[4, 250_000], &[1, 4], false),
            // Lines that would leave many threads of others without an element.
            (Float32, &[5000, 140], &[1, 130], true),
            (Float32, &[100_000], &[5], true),
            (Float32, &[100_000], &[50], false),
            (Float32, &[40, 40], &[5, 5], true),
            (Float32, &[400, 400], &[5, 5], false),
            (Float32, &[999, 28, 28], &[1, 9, 9], true),
            (Float32, &[100, 64, 64], &[1, 3, 3], true),
            (Float32, &[100, 64, 64], &[1, 9, 9], false),
            (Complex128, &[100, 64, 64], &[1, 3, 3], false),
            (Float32, &[40, 512, 512], &[1, 3, 3], false),
            (Float32, &[800, 40, 40], &[1, 9, 9], true),
            (Float32, &[900, 200, 20], &[1, 9, 9], true),
            // Three axes.
            (Float32, &[20, 20, 20], &[2, 2, 2], false),
        ] {
            assert_eq!(is_for_lines(dtype, shape, taps), wanted, "{dtype} {shape:?} {taps:?}");
        }
    }
}

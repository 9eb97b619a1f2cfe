//! Convolutions in host memory, line by line.
//!
//! A line goes along one axis, and along the dimensions after it whose elements share the filter:
//! an image's colours. Products with elements beyond the ends of a line are products with zeros, of
//! a copy of the operand; the middle of long lines needs none. Many short lines of such a copy are
//! computed as one long line: the results that lie on the zeros between two lines are left out.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::ptr::with_exposed_provenance_mut;

use pulp::Arch;
use smallvec::{SmallVec, smallvec};

use super::host_lines::{LONGEST_VECTOR, Real, Strip, Term};
use crate::device::StreamRef;
use crate::error::Result;
use crate::memory::{ScratchBuffer, ScratchPieces, crop_or_pad, zeroed};
use crate::parallel::{ClaimedIndices, SyncPtr, parallel_for};
use crate::tensor::{DType, Dims, Layout, TensorView};

/// Real numbers of a line that are computed at a time; at its end up to twice as many.
const STRIP: usize = 1 << 12;

/// Real numbers from which on the middle of a line is read where it is.
const LEAST_IN_PLACE: i64 = 1 << 11;

/// Elements of a line up to which it is joined with the next ones: of real and of complex lines.
const SHORT_LINE: [i64; 2] = [48, 8];

/// Products for which a further thread is taken.
const PRODUCTS_OF_THREAD: usize = 1 << 19;

/// Convolves arrays in host memory, on up to so many threads.
///
/// # Safety
/// As for [`convolve`](super::convolve); the arguments are checked, and the result has elements.
pub(super) unsafe fn convolve(
    [to, from, filter]: [&TensorView; 3],
    axes: &[usize],
    starts: &[i64],
    threads: NonZeroUsize,
) -> Result<()> {
    let call = Call { axes, starts, threads };
    let arrays = [to, from, filter];
    // SAFETY: the caller guarantees the memory, and elements are so many numbers of the types.
    unsafe {
        match to.dtype {
            DType::Float32 => call.compute::<f32, 1>(arrays),
            DType::Float64 => call.compute::<f64, 1>(arrays),
            DType::Complex64 => call.compute::<f32, 2>(arrays),
            DType::Complex128 => call.compute::<f64, 2>(arrays),
            DType::Int8 => call.compute_integers::<i8>(arrays),
            DType::Int16 => call.compute_integers::<i16>(arrays),
            DType::Int32 => call.compute_integers::<i32>(arrays),
            DType::Int64 => call.compute_integers::<i64>(arrays),
            DType::UInt8 => call.compute_integers::<u8>(arrays),
            DType::UInt16 => call.compute_integers::<u16>(arrays),
            DType::UInt32 => call.compute_integers::<u32>(arrays),
            _ => call.compute_integers::<u64>(arrays),
        }
    }
}

/// What is asked for, beside the arrays.
pub(super) struct Call<'a> {
    pub(super) axes: &'a [usize],
    pub(super) starts: &'a [i64],
    threads: NonZeroUsize,
}

impl Call<'_> {
    /// Convolves arrays, the result first, then the operand and the filter.
    ///
    /// # Safety
    /// As for [`convolve`]; the elements are `PARTS` numbers each.
    pub(super) unsafe fn compute<R: Real, const PARTS: usize>(
        &self,
        arrays: [&TensorView; 3],
    ) -> Result<()> {
        let convolution = Convolution::of(arrays, self.axes, self.starts);
        // SAFETY: the caller guarantees the memory.
        unsafe { convolution.compute::<R, PARTS>(self.threads) }
    }
}

/// A dimension of the three arrays.
#[derive(Clone, Copy)]
struct Dimension {
    /// Elements of the result, of the operand and of the filter.
    wanted: i64,
    points: i64,
    taps: i64,
    /// First element of the full convolution that is wanted.
    start: i64,
    is_summed: bool,
}

impl Dimension {
    /// Whether each element of the result belongs to one of the operand, and all share the filter.
    fn shares_filter(&self) -> bool {
        self.taps == 1 && self.points == self.wanted
    }

    /// Returns the filter's elements that are multiplied for an element of the result.
    fn taps_of(&self, index: i64) -> Range<i64> {
        let last = index + self.start;
        (last - self.points + 1).max(0)..self.taps.min(last + 1)
    }
}

/// Three arrays whose dimensions are in the order in which they are computed.
struct Convolution {
    to: TensorView,
    from: TensorView,
    filter: TensorView,
    dimensions: SmallVec<[Dimension; 6]>,
    /// The dimension of the lines. Those after it are a part of the lines.
    line: usize,
}

impl Convolution {
    fn of([to, from, filter]: [&TensorView; 3], axes: &[usize], starts: &[i64]) -> Self {
        let ndim = starts.len();
        let dimension = |dim: usize| Dimension {
            wanted: to.layout.shape[dim],
            points: from.layout.shape[dim],
            taps: filter.layout.shape[dim],
            start: starts[dim],
            is_summed: axes.contains(&dim),
        };
        let mut order: SmallVec<[usize; 6]> = (0..ndim).collect();
        let beside = (0..ndim).rev().take_while(|&dim| dimension(dim).shares_filter()).count();
        let mut line = (ndim - beside).saturating_sub(1);
        if !axes.contains(&line) {
            // The longest lines become the last dimension.
            line = ndim - 1;
            if let Some(&longest) = axes.iter().max_by_key(|&&axis| to.layout.shape[axis]) {
                order.remove(longest);
                order.push(longest);
            }
        }
        let ordered = |view: &TensorView| {
            let of = |numbers: &Dims| order.iter().map(|&dim| numbers[dim]).collect();
            let layout =
                Layout { shape: of(&view.layout.shape), strides: of(&view.layout.strides) };
            TensorView { layout, ..view.clone() }
        };
        let dimensions = order.iter().map(|&dim| dimension(dim)).collect();
        Self { to: ordered(to), from: ordered(from), filter: ordered(filter), dimensions, line }
    }

    /// Returns how many elements each step along a line passes.
    fn beside(&self) -> usize {
        self.to.layout.shape[self.line + 1..].iter().product::<i64>() as usize
    }

    /// Returns how many threads are worth their start.
    fn fewer(&self, threads: NonZeroUsize) -> NonZeroUsize {
        let summed = self.dimensions.iter().filter(|dimension| dimension.is_summed);
        let taps: i64 = summed.map(|dimension| dimension.taps).product();
        let products = self.to.layout.len().saturating_mul(taps) as usize;
        threads.min(NonZeroUsize::MIN.saturating_add(products / PRODUCTS_OF_THREAD))
    }

    /// # Safety
    /// As for [`convolve`]; the elements are `PARTS` numbers each.
    unsafe fn compute<R: Real, const PARTS: usize>(&self, threads: NonZeroUsize) -> Result<()> {
        let Dimension { wanted, points, taps, start, .. } = self.dimensions[self.line];
        let mut reversed = self.filter.clone();
        reversed.remove_first(self.line, taps - 1);
        reversed.layout.shape[self.line] = taps;
        reversed.layout.strides[self.line] *= -1;
        let mut buffer = buffer_for::<R, PARTS>(&reversed.layout.shape)?;
        // SAFETY: the caller guarantees the filter, whose lines are read from their ends.
        let filter =
            unsafe { copy::<R, PARTS>(&reversed, &reversed.layout.shape, &[], &mut buffer)? };
        let is_finite = filter.numbers.iter().all(|number| number.is_finite());
        let work = Work::<R, PARTS> {
            convolution: self,
            filter: &filter,
            is_finite,
            threads: self.fewer(threads),
        };
        // The middle of the lines needs no elements beyond the ends of the operand's.
        let middle = (taps - 1 - start).clamp(0, wanted)..(points - start).clamp(0, wanted);
        let length = (middle.end - middle.start) * (self.beside() * PARTS) as i64;
        let (shape, strides) = (&self.from.layout.shape, &self.from.layout.strides);
        let are_neighbours =
            strides[self.line..] == Layout::contiguous(&shape[self.line..]).strides[..];
        // SAFETY: the caller guarantees the memory.
        unsafe {
            if !is_finite || !are_neighbours || length < LEAST_IN_PLACE {
                return work.compute_padded(0..wanted);
            }
            work.compute_padded(0..middle.start)?;
            work.compute_padded(middle.end..wanted)?;
            let mut source = self.from.clone();
            source.remove_first(self.line, middle.start + start - (taps - 1));
            work.compute_lines(source.ptr, strides, middle, 1)
        }
    }
}

/// A copy of an array, whose elements follow each other.
struct Copied<'a, R> {
    numbers: &'a mut [R],
    strides: Dims,
}

/// Takes a buffer for a copy of such a shape.
fn buffer_for<R: Real, const PARTS: usize>(shape: &[i64]) -> Result<ScratchBuffer> {
    let numbers = shape.iter().product::<i64>() as usize * PARTS;
    // A vector may be read of the last elements.
    ScratchBuffer::take(ScratchPieces::bytes::<R>(numbers) + LONGEST_VECTOR)
}

/// Copies an array, cropped or padded, into a buffer for the shape of the copy.
///
/// # Safety
/// The array can be read; its elements are `PARTS` numbers each.
unsafe fn copy<'a, R: Real, const PARTS: usize>(
    from: &TensorView,
    shape: &[i64],
    starts: &[i64],
    buffer: &'a mut ScratchBuffer,
) -> Result<Copied<'a, R>> {
    let layout = Layout::contiguous(shape);
    let numbers = buffer.pieces().next::<R>(layout.len() as usize * PARTS);
    let strides = layout.strides.clone();
    let ptr = numbers.as_mut_ptr().expose_provenance();
    let to = TensorView { ptr, layout, ..from.clone() };
    // SAFETY: the caller guarantees the array, and the buffer has room for the copy.
    unsafe { crop_or_pad(&to, from, starts, StreamRef::legacy_default(0))? };
    Ok(Copied { numbers, strides })
}

/// A convolution and what is prepared for it.
struct Work<'a, R, const PARTS: usize> {
    convolution: &'a Convolution,
    /// The filter with its lines reversed.
    filter: &'a Copied<'a, R>,
    /// Whether products with zeros are zeros.
    is_finite: bool,
    threads: NonZeroUsize,
}

impl<R: Real, const PARTS: usize> Work<'_, R, PARTS> {
    /// Computes a range of each line from a copy of the operand with zeros beyond its ends.
    ///
    /// # Safety
    /// As for [`Convolution::compute`].
    unsafe fn compute_padded(&self, range: Range<i64>) -> Result<()> {
        let Convolution { from, dimensions, line, .. } = self.convolution;
        if range.is_empty() {
            return Ok(());
        }
        let overlap = dimensions[*line].taps - 1;
        let mut shape = from.layout.shape.clone();
        let mut starts: Dims = smallvec![0; dimensions.len()];
        shape[*line] = range.end - range.start + overlap;
        starts[*line] = range.start + dimensions[*line].start - overlap;
        let mut buffer = buffer_for::<R, PARTS>(&shape)?;
        // SAFETY: the caller guarantees the memory.
        unsafe {
            let padded = copy::<R, PARTS>(from, &shape, &starts, &mut buffer)?;
            let source = padded.numbers.as_ptr().expose_provenance();
            if self.are_joined(&range) {
                let together = dimensions[*line - 1].wanted as usize;
                return self.compute_lines(source, &padded.strides, range, together);
            }
            self.compute_lines(source, &padded.strides, range, 1)
        }
    }

    /// Whether lines that follow each other in a padded copy are computed as one long line. A range
    /// of each line is wanted.
    fn are_joined(&self, range: &Range<i64>) -> bool {
        let Convolution { to, dimensions, line, .. } = self.convolution;
        let step = self.convolution.beside() as i64;
        let length = (range.end - range.start) * step;
        *line > 0
            && dimensions[*line - 1].shares_filter()
            && self.is_finite
            && to.layout.strides[*line] == step
            && length <= SHORT_LINE[PARTS - 1]
            && dimensions[*line].taps <= range.end - range.start
    }

    /// Computes a range of each line from such an operand: `source` is the address of what the
    /// first element of a filter's line is multiplied by for the first element of the range. So
    /// many lines, `together`, are computed as one long line.
    ///
    /// # Safety
    /// As for [`Convolution::compute`]; the operand can be read, at least a vector of it.
    unsafe fn compute_lines(
        &self,
        source: usize,
        strides: &[i64],
        range: Range<i64>,
        together: usize,
    ) -> Result<()> {
        let Convolution { to, dimensions, line, .. } = self.convolution;
        let lines: i64 = dimensions[..*line].iter().map(|dimension| dimension.wanted).product();
        let lines = lines as usize / together;
        let step = self.convolution.beside() * PARTS;
        let to_step = to.layout.strides[*line] as usize * PARTS;
        let Dimension { points, taps, start, .. } = dimensions[*line];
        let length = (range.end - range.start) as usize * step;
        let mut target = Target { length, padded: length, to_step, step, to_line: 0 };
        if together > 1 {
            target.padded = strides[*line - 1] as usize * PARTS;
            target.to_line = to.layout.strides[*line - 1] as usize * PARTS;
        }
        let count = (together - 1) * target.padded + length;
        let strips = (count / STRIP).max(1);
        let is_in_place = to_step == step && together == 1;
        let first_point = taps - 1 - start - range.start;
        let points = first_point.max(0) as usize..(first_point + points) as usize;
        let first = with_exposed_provenance_mut::<R>(to.ptr);
        let first = SyncPtr::new(first.wrapping_add(range.start as usize * to_step));
        let source = SyncPtr::new(with_exposed_provenance_mut::<R>(source));
        let work = |claimed: ClaimedIndices<'_>| {
            let room = if is_in_place { 0 } else { 2 * STRIP };
            let mut room = zeroed::<R>(room, "a convolution on the CPU")?;
            let mut line = Line { index: usize::MAX, to: 0, terms: Terms::new() };
            for index in claimed {
                let (index, at) = (index / strips * together, index % strips * STRIP);
                if line.index != index {
                    self.begin(&mut line, index, strides);
                }
                let to = first.get().wrapping_offset(line.to);
                let strip = Strip::<R, PARTS> {
                    to: if is_in_place { to.wrapping_add(at) } else { room.as_mut_ptr() },
                    count: if count - at < 2 * STRIP { count - at } else { STRIP },
                    from: source.get().wrapping_add(at),
                    taps: self.filter.numbers.as_ptr(),
                    taps_of_line: taps as usize,
                    step,
                    terms: &line.terms,
                };
                let count = strip.count;
                // SAFETY: the caller guarantees the operand, and the strip has its place in the
                // result, or in the room for two.
                unsafe {
                    if self.is_finite {
                        Arch::new().dispatch(strip);
                    } else {
                        strip.compute_exactly(at, &points);
                    }
                    if !is_in_place {
                        target.write(to, at, &room[..count]);
                    }
                }
            }
            Ok(())
        };
        parallel_for(self.threads, lines * strips, work)
    }

    /// Sets out what is added up for the line of an index.
    fn begin(&self, line: &mut Line, index: usize, strides: &[i64]) {
        let Convolution { to, from, filter, dimensions, line: last } = self.convolution;
        let (mut rest, mut place) = (index as i64, 0);
        let terms = &mut line.terms;
        terms.clear();
        terms.push(Term { from: 0, taps: 0 });
        for (dim, dimension) in dimensions[..*last].iter().enumerate().rev() {
            let at = rest % dimension.wanted;
            rest /= dimension.wanted;
            place += at * to.layout.strides[dim];
            let steps = [strides[dim], self.filter.strides[dim]].map(|step| step as isize);
            let moved = |term: Term, point: i64, tap: i64| Term {
                from: term.from + point as isize * steps[0] * PARTS as isize,
                taps: term.taps + tap as isize * steps[1] * PARTS as isize,
            };
            if dimension.is_summed {
                let (taps, before) = (dimension.taps_of(at), terms.len());
                for tap in taps.clone().rev() {
                    let point = at + dimension.start - tap;
                    for known in 0..before {
                        let term = moved(terms[known], point, tap);
                        // The first terms are replaced last.
                        if tap == taps.start {
                            terms[known] = term;
                        } else {
                            terms.push(term);
                        }
                    }
                }
            } else {
                // Where an array has one element, that is for all.
                let [point, tap] =
                    [from, filter].map(|view| if view.layout.shape[dim] == 1 { 0 } else { at });
                for term in &mut *terms {
                    *term = moved(*term, point, tap);
                }
            }
        }
        (line.index, line.to) = (index, place as isize * PARTS as isize);
    }
}

/// Where the results of a line belong, or of several lines that are computed as one. All numbers
/// count real numbers.
struct Target {
    /// How many results of a line are wanted.
    length: usize,
    /// The distance between the first results of two lines, as they are computed.
    padded: usize,
    /// How many results lie side by side in the array: one step along a line.
    step: usize,
    /// The distance between two steps in the array.
    to_step: usize,
    /// The distance between two lines in the array.
    to_line: usize,
}

impl Target {
    /// Writes results, from the one `at` on, to their places behind the first one's.
    ///
    /// # Safety
    /// The places are in memory that can be written.
    unsafe fn write<R: Real>(&self, to: *mut R, at: usize, mut results: &[R]) {
        let (mut line, mut place) = (at / self.padded, at % self.padded);
        while !results.is_empty() {
            let here = results.len().min(self.padded - place);
            let wanted = here.min(self.length.saturating_sub(place));
            let to = to.wrapping_add(line * self.to_line);
            // SAFETY: the caller guarantees the memory.
            unsafe {
                if self.to_step == self.step {
                    to.wrapping_add(place).copy_from_nonoverlapping(results.as_ptr(), wanted);
                } else {
                    for (index, &result) in results[..wanted].iter().enumerate() {
                        let (steps, rest) =
                            ((place + index) / self.step, (place + index) % self.step);
                        *to.wrapping_add(steps * self.to_step + rest) = result;
                    }
                }
            }
            results = &results[here..];
            (line, place) = (line + 1, 0);
        }
    }
}

type Terms = SmallVec<[Term; 32]>;

/// A line of the result.
struct Line {
    index: usize,
    /// Where it begins, in real numbers.
    to: isize,
    terms: Terms,
}

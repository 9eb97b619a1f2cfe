//! The arguments of the kernels of `epilog.cu` that add up lines.

use std::ffi::CStr;

use super::launch;
use crate::device::{ContextGuard, StreamRef};
use crate::error::Result;
use crate::tensor::{BatchDim, BatchDims, DType};

/// Threads of a block and of a warp.
pub(super) const THREADS: i64 = super::BLOCK as i64;
pub(super) const WARP: i64 = 32;
/// Blocks that fill a large GPU.
pub(super) const MANY_BLOCKS: i64 = 264;
/// Elements of a line that a thread adds up at a time.
const AT_ONCE: i64 = 4;
/// Neighbouring lines that are read together at least.
const SECTOR: i64 = 8;
/// Elements that a thread adds up at least, if a line is split among blocks.
const LONG_PART: i64 = 4 * AT_ONCE;

/// The argument of the kernels `sum_lines_…`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct LineArguments {
    tiles: i64,
    length: i64,
    count: i64,
    parts: i64,
    part_length: i64,
    line_tiles: i64,
    entries: i64,
    lanes: i64,
    is_along: i64,
    from: [i64; 4],
    to: [i64; 4],
}

/// Lines of elements, and a number for each line: the steps of both from line to line and those of
/// the batch.
#[derive(Clone, Debug)]
pub(crate) struct Lines {
    pub(crate) length: i64,
    pub(crate) count: i64,
    /// From one element of a line to the next.
    pub(crate) step: i64,
    pub(crate) strides: [i64; 2],
    pub(crate) batch: BatchDims<2>,
}

/// The kernels of `epilog.cu` for results of a type, and the names of those that add up whole
/// lines, parts of lines, and the sums of parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct SumKernels {
    pub(super) code: &'static str,
    whole: &'static CStr,
    parts: &'static CStr,
    sums_of_parts: &'static CStr,
    /// Bytes of the sum of a part.
    wide: usize,
}

impl SumKernels {
    /// `None` if there are no kernels for the type.
    pub(super) fn of(dtype: DType) -> Option<Self> {
        macro_rules! code {
            ($kind:literal) => {
                concat!(include_str!(concat!("generated/epilog_", $kind, ".ptx")), "\0")
            };
        }
        let (code, whole, parts, sums_of_parts, wide) = match dtype {
            DType::Float16 => (
                code!("float16"),
                c"sum_lines_float16_float16",
                c"sum_lines_float16_float32",
                c"sum_lines_float32_float16",
                4,
            ),
            DType::BFloat16 => (
                code!("bfloat16"),
                c"sum_lines_bfloat16_bfloat16",
                c"sum_lines_bfloat16_float32",
                c"sum_lines_float32_bfloat16",
                4,
            ),
            DType::Float32 => {
                let name = c"sum_lines_float32_float32";
                (code!("float32"), name, name, name, 4)
            }
            DType::Float64 => {
                let name = c"sum_lines_float64_float64";
                (code!("float64"), name, name, name, 8)
            }
            _ => return None,
        };
        Some(Self { code, whole, parts, sums_of_parts, wide })
    }
}

/// A kernel that adds up lines, and its argument.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineKernel {
    arguments: LineArguments,
    /// The code and the name.
    kernel: (&'static str, &'static CStr),
}

impl LineKernel {
    /// # Safety
    /// The addresses are those of the first number to write and of the first element, with the
    /// types and steps of the kernel, as [`LineSumsCall::enqueue`] asks for.
    pub(super) unsafe fn enqueue(
        &self,
        context: &ContextGuard,
        [to, from]: [usize; 2],
        stream: StreamRef,
    ) -> Result<()> {
        let arguments = &self.arguments;
        let parameters = [
            &raw const to as usize,
            &raw const from as usize,
            std::ptr::from_ref(arguments) as usize,
        ];
        // SAFETY: the kernel takes two addresses and this argument; the caller guarantees that they
        // fit the memory.
        unsafe { launch(context, self.kernel, arguments.tiles as u64, &parameters, stream) }
    }
}

/// What adds up the sums of parts of lines: those of one part lie beside each other in a workspace.
#[derive(Clone, Copy, Debug)]
pub(super) struct SumOfParts {
    pub(super) kernel: LineKernel,
    pub(super) workspace: usize,
}

impl SumOfParts {
    pub(super) fn of(
        kernels: &SumKernels,
        (parts, count): (i64, i64),
        extents: [i64; 2],
        to: [i64; 4],
    ) -> Option<Self> {
        let [faster, slower] = extents;
        let from = [count, 1, count * parts, count * parts * faster];
        let arguments = whole_lines((parts, count), from, to, extents)?;
        let workspace = counted([count, parts, faster, slower])? as usize * kernels.wide;
        Some(Self {
            kernel: LineKernel { arguments, kernel: (kernels.code, kernels.sums_of_parts) },
            workspace,
        })
    }
}

/// Sums of the elements of lines. Long lines are summed up in parts, whose sums another kernel adds
/// up: always in the same order.
#[derive(Clone, Debug)]
pub(crate) struct LineSumsCall {
    first: LineKernel,
    /// If there are parts, what adds up their sums.
    second: Option<SumOfParts>,
}

impl LineSumsCall {
    /// Describes the sums of such lines; `None` if there is no kernel for their type or batch.
    pub(crate) fn of(lines: &Lines, dtype: DType) -> Option<Self> {
        let kernels = SumKernels::of(dtype)?;
        let [faster, slower] = faster_and_slower(&lines.batch)?;
        let extents = [faster.extent, slower.extent];
        // Parts do not go to places of their own, unless lines are split.
        let [from_all, to_all] = [(0, lines.step), (1, 0)].map(|(matrix, step)| {
            [step, lines.strides[matrix], faster.strides[matrix], slower.strides[matrix]]
        });
        let mut first = whole_lines((lines.length, lines.count), from_all, to_all, extents)?;
        let longest = THREADS / first.lanes * LONG_PART;
        let parts = (MANY_BLOCKS / first.tiles).min(lines.length / longest);
        if parts < 2 {
            let first = LineKernel { arguments: first, kernel: (kernels.code, kernels.whole) };
            return Some(Self { first, second: None });
        }
        let part_length = (lines.length + parts - 1) / parts;
        let parts = (lines.length + part_length - 1) / part_length;
        let second = SumOfParts::of(&kernels, (parts, lines.count), extents, to_all)?;
        (first.parts, first.part_length) = (parts, part_length);
        first.to = second.kernel.arguments.from;
        first.tiles = counted([first.tiles, parts])?;
        let first = LineKernel { arguments: first, kernel: (kernels.code, kernels.parts) };
        Some(Self { first, second: Some(second) })
    }

    /// Bytes of memory for the sums of parts.
    pub(crate) fn workspace_size(&self) -> usize {
        self.second.as_ref().map_or(0, |second| second.workspace)
    }

    /// Enqueues the sums on `stream`, in the context of the stream's device. The work can be
    /// captured into a graph.
    ///
    /// # Safety
    /// - The addresses are those of the first number to write and of the first element, with the
    ///   type and steps of the call, in memory of the stream's device, and valid until the work is
    ///   done. They do not overlap.
    /// - So is the workspace, of [`Self::workspace_size`] bytes.
    pub(crate) unsafe fn enqueue(
        &self,
        context: &ContextGuard,
        [to, from]: [usize; 2],
        workspace: usize,
        stream: StreamRef,
    ) -> Result<()> {
        // SAFETY: the caller guarantees it for both kernels; the stream puts them in order.
        unsafe {
            match &self.second {
                None => self.first.enqueue(context, [to, from], stream),
                Some(second) => {
                    self.first.enqueue(context, [workspace, from], stream)?;
                    second.kernel.enqueue(context, [to, workspace], stream)
                }
            }
        }
    }
}

/// Describes sums of whole lines with these steps, and of a batch of these extents.
fn whole_lines(
    (length, count): (i64, i64),
    from: [i64; 4],
    to: [i64; 4],
    [faster, slower]: [i64; 2],
) -> Option<LineArguments> {
    let is_along = from[0].unsigned_abs() <= from[1].unsigned_abs() || count == 1;
    // A line has as many threads as have something to add up. Neighbouring lines are read together.
    let threads = power_of_two((length + AT_ONCE - 1) / AT_ONCE);
    let least = match counted([tiles_of(count, WARP), faster, slower])? {
        _ if is_along => 1,
        MANY_BLOCKS.. => WARP,
        _ => SECTOR,
    };
    let lanes = (THREADS / threads).max(least);
    let line_tiles = tiles_of(count, lanes);
    Some(LineArguments {
        tiles: counted([line_tiles, faster, slower])?,
        length,
        count,
        parts: 1,
        part_length: length,
        line_tiles,
        entries: faster,
        lanes,
        is_along: i64::from(is_along),
        from,
        to,
    })
}

/// The dimensions of a batch, the faster one first; `None` if there are more than two.
pub(super) fn faster_and_slower<const N: usize>(batch: &BatchDims<N>) -> Option<[BatchDim<N>; 2]> {
    let none = BatchDim { extent: 1, strides: [0; N] };
    match batch.iter().rev().copied().collect::<Vec<_>>()[..] {
        [] => Some([none; 2]),
        [faster] => Some([faster, none]),
        [faster, slower] => Some([faster, slower]),
        _ => None,
    }
}

/// The product of these numbers, if blocks can be counted by it.
pub(super) fn counted<const N: usize>(numbers: [i64; N]) -> Option<i64> {
    let count = numbers.into_iter().try_fold(1, i64::checked_mul)?;
    u32::try_from(count).ok().map(i64::from)
}

pub(super) fn tiles_of(extent: i64, tile: i64) -> i64 {
    (extent + tile - 1) / tile
}

/// The least power of two that is not less.
pub(super) fn power_of_two(number: i64) -> i64 {
    (number.clamp(1, THREADS) as u64).next_power_of_two() as i64
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

    use super::*;

    #[test]
    fn the_kernels_take_the_structure() {
        let size = size_of::<LineArguments>();
        let parameter = format!("sum_lines_float64_float64_param_2[{size}]");
        assert!(SumKernels::of(DType::Float64).unwrap().code.contains(&parameter), "{parameter}");
    }

    #[test]
    fn long_lines_are_summed_up_in_parts() {
        let sums = |length: i64, count: i64, [step, line_step]: [i64; 2]| {
            let (strides, batch) = ([line_step, 1], BatchDims::default());
            let lines = Lines { length, count, step, strides, batch };
            LineSumsCall::of(&lines, DType::Float16).unwrap()
        };
        for (call, parts) in [
            // As many blocks as fill a GPU, of one line each; or fewer with enough to do.
            (sums(1 << 20, 3, [1, 1 << 20]), 88),
            (sums(1 << 20, 1000, [1, 1 << 20]), 1),
            (sums(30_000, 3, [1, 30_000]), 7),
            (sums(4096, 3, [1, 4096]), 1),
            // Neighbouring lines together.
            (sums(1 << 20, 8, [8, 1]), 264),
            (sums(1 << 20, 1 << 14, [1 << 14, 1]), 1),
        ] {
            let first = call.first.arguments;
            assert_eq!(first.parts, parts);
            assert_eq!(call.second.is_some(), parts > 1);
            assert!(first.part_length * parts >= first.length);
            assert!(first.part_length * (parts - 1) < first.length);
            let partial = if parts > 1 { (parts * first.count) as usize * 4 } else { 0 };
            assert_eq!(call.workspace_size(), partial);
        }
        let none =
            Lines { length: 4, count: 4, step: 1, strides: [4, 1], batch: BatchDims::default() };
        assert!(LineSumsCall::of(&none, DType::Int8).is_none());
    }

    #[test]
    fn sums_of_parts_lie_beside_each_other() {
        let dim = |extent, strides| BatchDim { extent, strides };
        let batch = BatchDims::merged([dim(3, [700_000, 2]), dim(5, [90_000, 60])]);
        let lines = Lines { length: 30_000, count: 2, step: 1, strides: [40_000, 1], batch };
        let call = LineSumsCall::of(&lines, DType::Float64).unwrap();
        let first = call.first.arguments;
        let second = call.second.as_ref().unwrap().kernel.arguments;
        // The batch dimension that is faster in the result comes first.
        let (from, to) = ([1, 40_000, 700_000, 90_000], [0, 1, 2, 60]);
        assert_eq!((first.from, first.parts, first.entries), (from, 7, 3));
        assert_eq!(first.to, [2, 1, 2 * 7, 2 * 7 * 3]);
        assert_eq!((second.from, second.to, second.parts), (first.to, to, 1));
        assert_eq!((first.tiles, second.length, second.count), (2 * 7 * 15, 7, 2));
        assert_eq!(call.workspace_size(), 2 * 7 * 15 * 8);
        let short = Lines { length: 100, ..lines };
        let whole = LineSumsCall::of(&short, DType::Float64).unwrap().first.arguments;
        assert_eq!((whole.from, whole.to, whole.parts, whole.part_length), (from, to, 1, 100));
    }
}

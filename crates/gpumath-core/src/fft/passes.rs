//! Cuts a problem into passes: cuFFT plans that together transform any strided layout.
//!
//! One plan transforms up to three axes. In each buffer the strides of these axes have to nest
//! (each a multiple of the next), and the batch is one dimension with one stride. A problem that
//! does not fit into one plan becomes several passes: axes that do not nest are transformed one
//! group after the other, and batch dimensions that do not merge into one become calls, up to a
//! thousand of them. The rest, mainly negative or zero strides along a transform axis, is refused
//! with the copy that helps, because gpumath does not copy silently.
//!
//! Three quirks of cuFFT are met here:
//!
//! - It refuses real numbers that are not aligned like complex ones. Such slices go through a
//!   bounce buffer, and such an operand is copied to the workspace.
//! - It overwrites the input of a C2R transform, so that one always works on a copy.
//! - It writes to the padding between real rows that are as far apart as for a transform in place,
//!   which may be memory of others. Such rows get one call each (`is_padded`).

use super::problem::{FftProblem, TransformKind};
use crate::error::{Error, Result};
use crate::tensor::{BatchDim, BatchDims, Dims, Layout};

/// Calls of cuFFT in a pass at most. Above that, a transposing copy costs less.
const MAX_CALLS: i64 = 1024;
/// Axes of a plan at most.
const MAX_RANK: usize = 3;

/// What a buffer is to the problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BufferRole {
    /// The operand.
    Input,
    /// The result.
    Output,
    /// A copy of the operand.
    Scratch,
}

/// One side of a pass, in the terms of cuFFT's [advanced data layout].
///
/// [advanced data layout]: https://docs.nvidia.com/cuda/cufft/#advanced-data-layout
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Side {
    pub(crate) buffer: BufferRole,
    /// Extents of the memory that the transform is embedded in, slowest first (`inembed`,
    /// `onembed`).
    pub(crate) embed: Dims,
    /// Elements between neighbours along the fastest axis.
    pub(crate) stride: i64,
    /// Elements between transforms of the batch.
    pub(crate) distance: i64,
}

/// One plan of cuFFT, executed once for each pair of offsets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pass {
    pub(crate) kind: TransformKind,
    /// Transform extents, slowest first.
    pub(crate) extents: Dims,
    pub(crate) input: Side,
    pub(crate) output: Side,
    /// Transforms that one call does.
    pub(crate) batch: i64,
    /// Where each call starts in the input's and the output's buffer, in elements from index
    /// (0, …, 0).
    pub(crate) offsets: Vec<(i64, i64)>,
    /// Elements of a slice of the real side, if slices go through the bounce buffer because some
    /// are not aligned like complex numbers.
    pub(crate) bounce: Option<i64>,
    /// Whether the bounce buffer is filled from the output first. Other slices have elements in the
    /// gaps of this one, and copying the buffer back must not change them.
    pub(crate) keeps_gaps: bool,
}

/// The passes of a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Passes {
    /// Whether the operand is copied first: cuFFT overwrites the input of a C2R transform.
    pub(crate) scratch: bool,
    /// The passes in the order of execution.
    pub(crate) passes: Vec<Pass>,
}

impl Passes {
    /// Cuts `problem` into passes.
    pub(crate) fn of(problem: &FftProblem) -> Result<Self> {
        let cut = PassPlanner { problem };
        let scratch = problem.kind == TransformKind::C2R || problem.input_unaligned;
        if scratch && !problem.input.is_injective() {
            return Err(cut.unsupported(
                "its elements overlap, but this transform needs a copy of it to work on",
            ));
        }
        let passes = match problem.kind {
            TransformKind::C2C => cut.complex()?,
            TransformKind::R2C => cut.real_to_complex()?,
            TransformKind::C2R => cut.complex_to_real()?,
        };
        Ok(Self { scratch, passes })
    }

    /// Returns how many calls of cuFFT one execution makes.
    pub(crate) fn calls(&self) -> usize {
        self.passes.iter().map(|pass| pass.offsets.len()).sum()
    }
}

/// Plans the passes of one problem.
struct PassPlanner<'a> {
    problem: &'a FftProblem,
}

impl PassPlanner<'_> {
    fn complex(&self) -> Result<Vec<Pass>> {
        let mut axes = self.nontrivial(&self.problem.axes);
        if axes.is_empty() {
            // All axes have one point. One of them remains, because a transform of one point
            // copies.
            axes.extend(self.problem.axes.last().map(|&axis| axis as usize));
        }
        sort_by_memory(&mut axes, &self.problem.input);
        let mut passes = Vec::new();
        let mut from = BufferRole::Input;
        while !axes.is_empty() {
            let input = self.layout(from);
            let group = self.last_group(&axes, &[input, &self.problem.output], None)?;
            passes.push(self.pass(TransformKind::C2C, &group, from, BufferRole::Output)?);
            axes.truncate(axes.len() - group.len());
            from = BufferRole::Output;
        }
        Ok(passes)
    }

    fn real_to_complex(&self) -> Result<Vec<Pass>> {
        let from =
            if self.problem.input_unaligned { BufferRole::Scratch } else { BufferRole::Input };
        let (halved, mut others) = self.halved_and_others();
        sort_by_memory(&mut others, &self.problem.input);
        let group =
            self.last_group(&others, &[&self.problem.input, &self.problem.output], Some(halved))?;
        let mut passes = vec![self.pass(TransformKind::R2C, &group, from, BufferRole::Output)?];
        others.retain(|axis| !group.contains(axis));
        sort_by_memory(&mut others, &self.problem.output);
        while !others.is_empty() {
            let group = self.last_group(&others, &[&self.problem.output], None)?;
            passes.push(self.pass(
                TransformKind::C2C,
                &group,
                BufferRole::Output,
                BufferRole::Output,
            )?);
            others.truncate(others.len() - group.len());
        }
        Ok(passes)
    }

    fn complex_to_real(&self) -> Result<Vec<Pass>> {
        let (halved, mut others) = self.halved_and_others();
        sort_by_memory(&mut others, &self.problem.input);
        // For a result of one point the real part has to be taken last. cuFFT, given more axes at
        // once, takes it first, which differs if the operand is not exactly Hermitian.
        let together: &[usize] = if self.problem.output.shape[halved] == 1 { &[] } else { &others };
        let layouts = [&self.problem.input, &self.problem.output];
        let mut last = self.last_group(together, &layouts, Some(halved))?;
        let output = &self.problem.output;
        if let [.., outer, fastest] = *last.as_slice()
            && is_padded(output, fastest, output.strides[outer])
        {
            last = vec![halved];
        }
        others.retain(|axis| !last.contains(axis));
        let mut passes = Vec::new();
        while !others.is_empty() {
            let group = self.last_group(&others, &[&self.problem.input], None)?;
            passes.push(self.pass(
                TransformKind::C2C,
                &group,
                BufferRole::Scratch,
                BufferRole::Scratch,
            )?);
            others.truncate(others.len() - group.len());
        }
        passes.push(self.pass(
            TransformKind::C2R,
            &last,
            BufferRole::Scratch,
            BufferRole::Output,
        )?);
        Ok(passes)
    }

    /// Returns the last transform axis, and the others of more than one point.
    fn halved_and_others(&self) -> (usize, Vec<usize>) {
        let (halved, others) = self.problem.axes.split_last().unwrap_or((&0, &[]));
        (*halved as usize, self.nontrivial(others))
    }

    /// Returns the axes of more than one point.
    fn nontrivial(&self, axes: &[i64]) -> Vec<usize> {
        axes.iter()
            .map(|&axis| axis as usize)
            .filter(|&axis| self.problem.input.shape[axis] > 1)
            .collect()
    }

    /// Returns the layout of a buffer.
    fn layout(&self, buffer: BufferRole) -> &Layout {
        match buffer {
            BufferRole::Input | BufferRole::Scratch => &self.problem.input,
            BufferRole::Output => &self.problem.output,
        }
    }

    /// Returns the longest tail of `axes`, with `fastest` behind it, that one plan covers in all
    /// `layouts`.
    fn last_group(
        &self,
        axes: &[usize],
        layouts: &[&Layout],
        fastest: Option<usize>,
    ) -> Result<Vec<usize>> {
        let mut group: Vec<usize> = Vec::new();
        let mut candidates = axes.iter().rev().copied();
        let Some(first) = fastest.or_else(|| candidates.next()) else { return Ok(group) };
        for layout in layouts {
            if layout.shape[first] > 1 && layout.strides[first] <= 0 {
                // Only an output that the user gave has such strides.
                let whose = if std::ptr::eq(*layout, &raw const self.problem.output) {
                    "out's"
                } else {
                    "its"
                };
                return Err(self.unsupported(&format!(
                    "{whose} stride along axis {first} is {}, but cuFFT needs positive ones along \
                     transform axes",
                    layout.strides[first]
                )));
            }
        }
        group.push(first);
        for axis in candidates {
            let nests = layouts.iter().all(|layout| {
                let inner = group[0];
                let (stride, step) = (unit_stride(layout, inner), layout.strides[axis]);
                step > 0 && step % stride == 0 && step / stride >= layout.shape[inner]
            });
            if group.len() == MAX_RANK || !nests {
                break;
            }
            group.insert(0, axis);
        }
        Ok(group)
    }

    /// Plans the pass that transforms the axes of `group`.
    fn pass(
        &self,
        kind: TransformKind,
        group: &[usize],
        from: BufferRole,
        to: BufferRole,
    ) -> Result<Pass> {
        let (input, output) = (self.layout(from), self.layout(to));
        let batches = merged_batches(input, output, group);
        let steps = |batch: &Batch| batch.input > 0 && batch.output > 0;
        // The batch of a call is the longest dimension that cuFFT can step through.
        let longest = (0..batches.len())
            .filter(|&index| steps(&batches[index]))
            .max_by_key(|&index| batches[index].count);
        let slices = |own| {
            Slices::new(&batches, own).map_err(|calls| {
                self.unsupported(&format!(
                    "cuFFT would have to be called {calls} times, once for each slice that its \
                     batches do not reach"
                ))
            })
        };
        let mut cut = slices(longest)?;
        let (mut bounce, mut keeps_gaps) = (None, false);
        let output_unaligned = kind == TransformKind::C2R && self.problem.output_unaligned;
        if output_unaligned || cut.start_unaligned(kind) {
            // The batch is the fastest dimension instead, so that the slices are blocks of memory.
            cut = slices((0..batches.len()).rev().find(|&index| steps(&batches[index])))?;
            let real = if kind == TransformKind::C2R { output } else { input };
            let reach = |&axis: &usize| (real.shape[axis] - 1) * real.strides[axis];
            let reach = 1 + group.iter().map(reach).sum::<i64>();
            let elements = group.iter().map(|&axis| real.shape[axis]).product::<i64>();
            let span = |cut: &Slices| {
                let step =
                    if kind == TransformKind::C2R { cut.batch.output } else { cut.batch.input };
                reach + (cut.batch.count - 1) * step
            };
            let has_gaps = |cut: &Slices| {
                kind == TransformKind::C2R && span(cut) != elements * cut.batch.count
            };
            let is_dense = output.is_dense();
            if has_gaps(&cut) && !is_dense {
                // The memory between the numbers belongs to others, so each transform gets a call
                // of its own, which has no gaps if its numbers are dense.
                cut = slices(None)?;
            }
            let unaligned = output_unaligned || cut.start_unaligned(kind);
            keeps_gaps = unaligned && has_gaps(&cut);
            if keeps_gaps && !is_dense {
                return Err(self.problem.unsupported_layout(
                    "cuFFT would have to write real numbers with gaps between them that are not \
                     aligned like complex ones",
                ));
            }
            bounce = unaligned.then(|| span(&cut));
        }
        if let (TransformKind::C2R, None, &[fastest]) = (kind, bounce, group)
            && cut.batch.count > 1
            && is_padded(output, fastest, cut.batch.output)
        {
            cut = slices(None)?;
        }
        let extents =
            group
                .iter()
                .map(|&axis| {
                    if kind == TransformKind::C2R { output.shape[axis] } else { input.shape[axis] }
                })
                .collect();
        Ok(Pass {
            kind,
            extents,
            input: side(from, input, group, cut.batch.input),
            output: side(to, output, group, cut.batch.output),
            batch: cut.batch.count,
            offsets: cut.offsets,
            bounce,
            keeps_gaps,
        })
    }

    fn unsupported(&self, reason: &str) -> Error {
        self.problem.unsupported_layout(reason)
    }
}

/// Sorts axes, slowest first. The order of complex transforms does not matter for the result, so
/// memory decides.
fn sort_by_memory(axes: &mut [usize], layout: &Layout) {
    axes.sort_by_key(|&axis| std::cmp::Reverse(layout.strides[axis].abs()));
}

/// Returns the stride along an axis. For an axis of one element any stride will do, and 1 nests
/// with all others.
fn unit_stride(layout: &Layout, axis: usize) -> i64 {
    if layout.shape[axis] == 1 { 1 } else { layout.strides[axis] }
}

fn side(buffer: BufferRole, layout: &Layout, group: &[usize], step: i64) -> Side {
    let fastest = group[group.len() - 1];
    let mut embed: Dims = group.iter().map(|&axis| layout.shape[axis]).collect();
    for position in 1..group.len() {
        embed[position] =
            layout.strides[group[position - 1]] / unit_stride(layout, group[position]);
    }
    let stride = unit_stride(layout, fastest);
    // Without a batch the distance does not matter, but cuFFT refuses 0.
    let distance = if step == 0 { embed.iter().product::<i64>() * stride } else { step };
    Side { buffer, embed, stride, distance }
}

/// A dimension that is not transformed: its extent, and its strides in elements.
#[derive(Clone, Copy, Debug)]
struct Batch {
    count: i64,
    input: i64,
    output: i64,
}

/// Returns whether rows of a real output along an axis, `pitch` apart, are as far apart as for a
/// transform in place, where each row has room for its complex numbers. cuFFT then writes to all of
/// that room (seen with 12.0, up to 32 points), which may belong to others. A call for one row does
/// not.
fn is_padded(output: &Layout, fastest: usize, pitch: i64) -> bool {
    let (points, stride) = (output.shape[fastest], output.strides[fastest]);
    points > 1 && pitch == 2 * (points / 2 + 1) * stride
}

/// Returns the dimensions outside `group`, slowest first. Neighbours are merged where the strides
/// of both sides allow it.
fn merged_batches(input: &Layout, output: &Layout, group: &[usize]) -> Vec<Batch> {
    let dims = BatchDims::outside(group, [input, output]);
    let batch = |dim: &BatchDim<2>| {
        let [input, output] = dim.strides;
        Batch { count: dim.extent, input, output }
    };
    dims.iter().map(batch).collect()
}

/// The batch of one call of cuFFT, and where each call starts.
struct Slices {
    batch: Batch,
    offsets: Vec<(i64, i64)>,
}

impl Slices {
    /// Puts the dimension `own` of `batches` into each call; the others become calls. Fails with
    /// the number of calls if that is too large.
    fn new(batches: &[Batch], own: Option<usize>) -> std::result::Result<Self, i64> {
        let loops = || batches.iter().enumerate().filter(|&(index, _)| Some(index) != own);
        let calls = loops().map(|(_, step)| step.count).product::<i64>();
        if calls > MAX_CALLS {
            return Err(calls);
        }
        let mut offsets = vec![(0, 0)];
        for (_, step) in loops() {
            offsets = offsets
                .iter()
                .flat_map(|&(input, output)| {
                    (0..step.count).map(move |i| (input + i * step.input, output + i * step.output))
                })
                .collect();
        }
        let alone = Batch { count: 1, input: 0, output: 0 };
        Ok(Self { batch: own.map_or(alone, |index| batches[index]), offsets })
    }

    /// Returns whether the real side of some call does not start at an even number of elements, as
    /// complex numbers do.
    fn start_unaligned(&self, kind: TransformKind) -> bool {
        self.offsets.iter().any(|&(input, output)| match kind {
            TransformKind::C2C => false,
            TransformKind::R2C => input % 2 != 0,
            TransformKind::C2R => output % 2 != 0,
        })
    }
}

#[cfg(test)]
#[path = "passes_tests.rs"]
mod tests;

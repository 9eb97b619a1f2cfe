//! The route of a problem on one GPU, from the operand to the result: cuFFT plans and copies.
//!
//! cuFFT does not take every layout, and is slow at some that it takes. A copy by a kernel of
//! gpumath's own brings the operand or the result into another layout, in the workspace or in the
//! memory of the result. So there are a few ways for each group of axes: cuFFT on the strides as
//! they are; with a copy before it, after it, or both. The one with the least costs is taken
//! (`costs.rs`). Axes that do not fit into one plan are transformed one group after the other.
//!
//! Copies are also the answer to three quirks of cuFFT:
//!
//! - It refuses real numbers that are not aligned like complex ones.
//! - It may overwrite the input of a C2R transform, which the user may want to keep.
//! - It writes to the padding between real rows (see `passes.rs`), which may be memory of others.

use super::callback::Callbacks;
use super::costs::CostTable;
use super::passes::{BufferRole, MAX_RANK, Pass};
use super::problem::{FftProblem, Precision, TransformKind};
use crate::error::Result;
use crate::memory::ALIGNMENT;
use crate::tensor::{DType, Layout};

/// What one execution on a GPU does.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Route {
    /// The steps in the order of execution; none for an empty batch.
    pub(crate) steps: Vec<Step>,
    /// Bytes of the operand's copy in the workspace, and of the result's memory there; 0 without.
    pub(crate) staged: [usize; 2],
    /// What the steps cost, in the unit of `costs.rs`.
    pub(crate) cost: f64,
}

/// One step of a route.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// A call of cuFFT.
    Transform(Pass),
    /// A copy to a buffer of another layout.
    Copy(CopyStep),
}

/// A copy of elements of `size` bytes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CopyStep {
    pub(crate) from: (BufferRole, Layout),
    pub(crate) to: (BufferRole, Layout),
    pub(crate) size: usize,
}

/// A buffer on the route, and how its elements lie in it.
#[derive(Clone, Debug)]
struct Place {
    buffer: BufferRole,
    layout: Layout,
    /// Whether a callback counts the offsets of the elements here.
    has_callback: bool,
    /// Whether cuFFT can read or write here.
    is_usable: bool,
}

impl Route {
    /// Returns the route of least costs on a device; without one, on the GPU that was measured
    /// first. Fails if callbacks do not allow any.
    pub fn of(problem: &FftProblem, device: Option<i32>) -> Result<Self> {
        if problem.input.is_empty() {
            return Ok(Self::default());
        }
        Planner { problem, costs: CostTable::of_device(device) }.whole().ok_or_else(|| {
            let names = problem.callbacks.names().unwrap_or("no callback");
            problem.unsupported_layout(&format!(
                "{names} gets each element's offset in memory, but cuFFT would have to work on a \
                 copy in another layout, with other offsets"
            ))
        })
    }

    /// The calls of cuFFT, in the order of execution.
    pub fn passes(&self) -> impl Iterator<Item = &Pass> {
        self.steps.iter().filter_map(|step| match step {
            Step::Transform(pass) => Some(pass),
            Step::Copy(_) => None,
        })
    }

    /// Number of copies to another layout.
    #[must_use]
    pub fn copies(&self) -> usize {
        self.steps.len() - self.passes().count()
    }

    /// Returns the bytes of the whole workspace if the largest work area of the calls has
    /// `work_area` bytes.
    #[must_use]
    pub fn workspace_size(&self, work_area: usize) -> usize {
        self.workspace(work_area).1
    }

    /// Lays the workspace out, in this order: cuFFT's work area; the operand's copy; the result's
    /// memory. Returns where the last two begin, and the size.
    pub(crate) fn workspace(&self, work_area: usize) -> ([usize; 2], usize) {
        let mut end = work_area;
        let starts = self.staged.map(|size| {
            let start = if size > 0 { end.next_multiple_of(ALIGNMENT) } else { end };
            end = start + size;
            start
        });
        (starts, end)
    }

    fn then(mut self, next: Self) -> Self {
        self.steps.extend(next.steps);
        let [input, output] = next.staged;
        self.staged = [self.staged[0].max(input), self.staged[1].max(output)];
        Self { cost: self.cost + next.cost, ..self }
    }
}

/// Finds the route of one problem.
struct Planner<'a> {
    problem: &'a FftProblem,
    costs: &'static CostTable,
}

impl Planner<'_> {
    /// The cheapest way from the operand to the result.
    fn whole(&self) -> Option<Route> {
        let FftProblem { kind, callbacks: Callbacks { prolog, epilog }, .. } = self.problem;
        let input = Place {
            buffer: if self.problem.inplace { BufferRole::Output } else { BufferRole::Input },
            layout: self.problem.input.clone(),
            has_callback: prolog.is_some(),
            is_usable: (*kind != TransformKind::C2R || self.problem.may_overwrite)
                && !self.problem.input_unaligned,
        };
        let output = Place {
            buffer: BufferRole::Output,
            layout: self.problem.output.clone(),
            has_callback: epilog.is_some(),
            is_usable: !self.problem.output_unaligned,
        };
        let halved = self.problem.halved();
        let is_other = |&axis: &usize| Some(axis) != halved && self.problem.input.shape[axis] > 1;
        let mut others = self.problem.dimensions();
        others.retain(is_other);
        if others.is_empty() && halved.is_none() {
            // All axes have one point. One of them remains, because a transform of one point
            // copies.
            others.extend(self.problem.axes.last().map(|&axis| axis as usize));
        }
        others.sort_by_key(|&axis| std::cmp::Reverse(input.layout.strides[axis].abs()));
        let count = others.len() + usize::from(halved.is_some());
        let halved_points = halved.map(|_| self.problem.extent(self.problem.axes.len() - 1));
        // For a result of one point the real part has to be taken last. cuFFT, given more axes at
        // once, takes it first, which differs if the operand is not exactly Hermitian.
        let is_one = *kind == TransformKind::C2R && halved_points == Some(1);
        // For both axes of a large single transform of an odd length, cuFFT takes up to 1.8 times
        // as long at once; in small ones a second call takes longer.
        let is_single = self.problem.input.shape.iter().filter(|&&n| n > 1).count() == count;
        let is_odd = halved_points.is_some_and(|points| points % 2 == 1);
        let is_slow = is_odd && is_single && count == 2 && self.problem.output.len() >= 1 << 19;
        let most = if is_one || is_slow { 1 } else { MAX_RANK };
        let mut best: Option<Route> = None;
        for together in (1..=most.min(count)).rev() {
            let way = match *kind {
                TransformKind::C2R => self.halved_last(&others, halved?, together, &input, &output),
                _ => self.halved_first(&others, halved, together, &input, &output),
            };
            if let Some(way) = way
                && best.as_ref().is_none_or(|best| way.cost < best.cost)
            {
                best = Some(way);
            }
            // A copy and a transform at least are more than the one plan.
            if together == count && best.as_ref().is_some_and(|best| best.steps.len() == 1) {
                break;
            }
        }
        best
    }

    /// The cheapest way that transforms `together` axes first, the halved one among them, and then
    /// the others, in the memory of the result.
    fn halved_first(
        &self,
        others: &[usize],
        halved: Option<usize>,
        together: usize,
        input: &Place,
        output: &Place,
    ) -> Option<Route> {
        let (kind, c2c) = (self.problem.kind, TransformKind::C2C);
        let split = others.len() - (together - usize::from(halved.is_some()));
        let (mut rest, first) = others.split_at(split);
        let first: Vec<usize> = first.iter().copied().chain(halved).collect();
        let between = Place { has_callback: false, ..output.clone() };
        let to = if rest.is_empty() { output } else { &between };
        let mut way = self.one_group(kind, &first, input, to)?;
        while !rest.is_empty() {
            let (before, group) = rest.split_at(rest.len().saturating_sub(together));
            rest = before;
            let to = if rest.is_empty() { output } else { &between };
            way = way.then(self.one_group(c2c, group, &between, to)?);
        }
        Some(way)
    }

    /// The cheapest way that transforms `together` axes last, the halved one among them, and before
    /// them the others, in a copy of the operand.
    fn halved_last(
        &self,
        others: &[usize],
        halved: usize,
        together: usize,
        input: &Place,
        output: &Place,
    ) -> Option<Route> {
        let (mut rest, last) = others.split_at(others.len() - (together - 1));
        let last: Vec<usize> = last.iter().copied().chain([halved]).collect();
        if rest.is_empty() {
            return self.one_group(TransformKind::C2R, &last, input, output);
        }
        let staged = Place {
            buffer: BufferRole::StagedInput,
            layout: Layout::packed(
                &input.layout.shape,
                &transform_order(&last, TransformKind::C2R, &input.layout),
            ),
            has_callback: false,
            is_usable: true,
        };
        // What is left as it is needs no copy here: the result goes elsewhere.
        let mut from = &Place { is_usable: true, ..input.clone() };
        let mut way = Route::default();
        while !rest.is_empty() {
            let (before, group) = rest.split_at(rest.len().saturating_sub(MAX_RANK));
            rest = before;
            way = way.then(self.one_group(TransformKind::C2C, group, from, &staged)?);
            from = &staged;
        }
        Some(way.then(self.one_group(TransformKind::C2R, &last, &staged, output)?))
    }

    /// The cheapest way to transform axes that one plan can take together.
    fn one_group(
        &self,
        kind: TransformKind,
        axes: &[usize],
        input: &Place,
        output: &Place,
    ) -> Option<Route> {
        let is_direct = input.is_usable && output.is_usable;
        let direct = is_direct.then(|| self.way(kind, axes, [input, input, output, output]));
        let direct = direct.flatten();
        if direct.as_ref().is_some_and(|way| way.steps.iter().all(is_contiguous)) {
            // No way with a copy is faster than one call that reads and writes without gaps.
            return direct;
        }
        // A layout for one plan, with the other axes in the order of `like`. A callback counts
        // offsets in the layout that the user knows, so that one is kept.
        let staged = |buffer, side: &Place, like: &Place| {
            let layout = if side.has_callback {
                side.layout.clone()
            } else {
                let order = transform_order(axes, kind, &like.layout);
                Layout::packed(&side.layout.shape, &order)
            };
            Place { buffer, layout, is_usable: true, ..*side }
        };
        let (read, written) = (BufferRole::StagedInput, BufferRole::StagedOutput);
        let staged_output = staged(written, output, input);
        // Complex numbers are transformed in the memory that the copy is in.
        let is_c2c = kind == TransformKind::C2C;
        let copied = if is_c2c { output.clone() } else { staged(read, input, output) };
        let both = if is_c2c { staged_output.clone() } else { staged(read, input, input) };
        // No two elements of a copy are one, and the operand may have been copied already.
        let can_copy_in = input.buffer != read
            && !(input.has_callback && (is_c2c || !input.layout.is_injective()));
        let has_callback = input.has_callback || output.has_callback;
        let is_elsewhere = input.buffer != output.buffer;
        let with_copies = [
            (can_copy_in && (is_elsewhere || !is_c2c), &copied, output),
            (true, input, &staged_output),
            (if is_c2c { !has_callback } else { can_copy_in }, &both, &staged_output),
        ]
        .into_iter()
        .filter(|(is_possible, from, to)| *is_possible && from.is_usable && to.is_usable)
        .filter_map(|(_, from, to)| self.way(kind, axes, [input, from, to, output]));
        direct.into_iter().chain(with_copies).min_by(|a, b| a.cost.total_cmp(&b.cost))
    }

    /// The way from `input` by a copy to `from`, by cuFFT to `to`, by a copy to `output`. There is
    /// no copy where the buffer is the same.
    fn way(&self, kind: TransformKind, axes: &[usize], places: [&Place; 4]) -> Option<Route> {
        let [input, from, to, output] = places;
        let (source, target) = ((from.buffer, &from.layout), (to.buffer, &to.layout));
        let pass = Pass::new(kind, axes, source, target)?;
        let is_half = self.problem.precision == Precision::Half;
        let real = if kind == TransformKind::C2R { &pass.output } else { &pass.input };
        if is_half && kind != TransformKind::C2C && real.stride != 1 {
            // cuFFT transforms real numbers in half precision only if they are neighbours.
            return None;
        }
        let sizes = self.problem.precision.sides(kind).map(DType::size);
        let mut way = Route::default();
        if input.buffer != from.buffer {
            way = way.then(self.copy(input, from, sizes[0]));
        }
        let cost = self.costs.of_pass(&pass, self.problem.precision);
        let mut staged = [0, 0];
        for (place, size) in [(from, sizes[0]), (to, sizes[1])] {
            let bytes = (place.layout.offsets().1 + 1) as usize * size;
            match place.buffer {
                BufferRole::StagedInput => staged[0] = bytes,
                BufferRole::StagedOutput => staged[1] = bytes,
                BufferRole::Input | BufferRole::Output => {}
            }
        }
        way = way.then(Route { steps: vec![Step::Transform(pass)], cost, staged });
        if to.buffer != output.buffer {
            way = way.then(self.copy(to, output, sizes[1]));
        }
        Some(way)
    }

    /// The copy of one place to another.
    fn copy(&self, from: &Place, to: &Place, size: usize) -> Route {
        let (from, to) = ((from.buffer, from.layout.clone()), (to.buffer, to.layout.clone()));
        let cost = self.costs.of_copy(&to.1, &from.1, size);
        Route { steps: vec![Step::Copy(CopyStep { from, to, size })], cost, ..Route::default() }
    }
}

/// The order of dimensions, slowest first, in which one plan takes `axes`: these are the fastest,
/// with the halved one, which is their last, before all. Otherwise the order is that of `like`.
pub(super) fn transform_order(axes: &[usize], kind: TransformKind, like: &Layout) -> Vec<usize> {
    let halved = axes.last().filter(|_| kind != TransformKind::C2C);
    let mut order = like.memory_order();
    order.sort_by_key(|axis| if Some(axis) == halved { 2 } else { u8::from(axes.contains(axis)) });
    order
}

/// Whether a step is a call of cuFFT whose transforms follow each other without gaps on both sides.
fn is_contiguous(step: &Step) -> bool {
    matches!(step, Step::Transform(pass) if pass.input.is_packed && pass.output.is_packed)
}

#[cfg(test)]
#[path = "route_tests.rs"]
mod tests;

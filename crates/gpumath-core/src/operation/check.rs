//! Whether operands fit a plan.

use std::ops::Deref;

use smallvec::SmallVec;

use super::{OperandSpec, Operation, Plan, Problem};
use crate::error::{Error, Result};
use crate::tensor::{MemoryLocation, TensorView};

impl<O: Operation> Plan<O> {
    /// Returns where all these inputs are; `InvalidValue` if they are not in the same memory, or
    /// are where the plan cannot get them from.
    pub fn location_of(
        &self,
        inputs: &[impl Deref<Target = TensorView>],
    ) -> Result<MemoryLocation> {
        let location = inputs.first().map_or(MemoryLocation::Host, |first| first.device);
        let specs = self.problem().inputs().zip(inputs);
        for (spec, input) in specs {
            if input.device != location {
                return Err(Error::InvalidValue(format!(
                    "{} is {}, but other operands are {}; copy them to one place",
                    spec.name,
                    input.device.describe(),
                    location.describe()
                )));
            }
        }
        let execution = self.execution();
        // Operands are copied between host memory and one device, but not between devices.
        let is_copied = execution.devices().is_none()
            && (location == MemoryLocation::Host || execution.location() == MemoryLocation::Host);
        if is_copied || execution.reaches(location) {
            return Ok(location);
        }
        Err(Error::InvalidValue(format!(
            "the plan was made for operands {}, but these are {}; copy them, or make another plan",
            execution.location().describe(),
            location.describe()
        )))
    }

    /// Checks inputs, and the memory given for results, before an execution. `None` stands for
    /// memory that the caller allocates as the problem describes it.
    pub fn check<View: Deref<Target = TensorView>>(
        &self,
        inputs: &[View],
        outs: &[Option<View>],
    ) -> Result<()> {
        self.check_inputs(inputs)?;
        self.check_outs(inputs, outs)
    }

    /// Checks inputs before an execution.
    fn check_inputs(&self, inputs: &[impl Deref<Target = TensorView>]) -> Result<()> {
        let problem = self.problem();
        if inputs.len() != problem.inputs().count() {
            let names: Vec<&str> = problem.inputs().map(|spec| spec.name).collect();
            return Err(Error::InvalidValue(format!(
                "{} operands are given, but the plan is for {}: {}; give all of them",
                inputs.len(),
                names.len(),
                names.join(", ")
            )));
        }
        let location = self.location_of(inputs)?;
        let engine = self.execution().location();
        let overwritten = problem.overwritten_inputs();
        for (index, (spec, input)) in problem.inputs().zip(inputs).enumerate() {
            spec.check(input, location)?;
            if !problem.fits_input(index, input, engine) {
                return Err(misaligned(&spec, input));
            }
            if input.readonly && overwritten.contains(&index) {
                return Err(Error::InvalidValue(format!(
                    "{} is read-only, but would be overwritten",
                    spec.name
                )));
            }
        }
        Ok(())
    }

    /// Checks the memory given for results before an execution on inputs that were
    /// [checked](Self::check) before.
    pub fn check_outs<View: Deref<Target = TensorView>>(
        &self,
        inputs: &[View],
        outs: &[Option<View>],
    ) -> Result<()> {
        let problem = self.problem();
        let location = inputs.first().map_or(MemoryLocation::Host, |first| first.device);
        let engine = self.execution().location();
        for (index, (spec, out)) in problem.outputs().zip(outs).enumerate() {
            let Some(out) = out else { continue };
            spec.check(out, location)?;
            if !problem.fits_output(index, out, engine) {
                return Err(misaligned(&spec, out));
            }
            if out.readonly {
                return Err(Error::InvalidValue(format!(
                    "{} is read-only; give an array that is writable",
                    spec.name
                )));
            }
            if let Some(own) = problem.overwritten_input(index)
                && !problem.is_empty()
                && inputs.get(own).is_some_and(|input| out.ptr != input.ptr)
            {
                return Err(Error::InvalidValue(format!(
                    "this plan works in place, but {} is not the memory of {}; leave it out",
                    spec.name,
                    problem.input(own).map_or("its operand", |input| input.name)
                )));
            }
        }
        if problem.is_empty() {
            return Ok(());
        }
        self.check_apart(inputs, outs)
    }

    /// Returns `InvalidValue` if memory that a result is written to overlaps that of an input or of
    /// another result, but for the input that it overwrites.
    fn check_apart<View: Deref<Target = TensorView>>(
        &self,
        inputs: &[View],
        outs: &[Option<View>],
    ) -> Result<()> {
        let problem = self.problem();
        let overwritten = problem.overwritten_inputs();
        let is_read = |index: &usize| !overwritten.contains(index);
        let written = problem.outputs().enumerate().filter_map(|(index, spec)| {
            let own = problem.overwritten_input(index);
            match own.and_then(|own| inputs.get(own)) {
                Some(input) => Some((problem.input(own?)?.name, input)),
                None => Some((spec.name, outs.get(index)?.as_ref()?)),
            }
        });
        let written: SmallVec<[(&str, &View); 1]> = written.collect();
        let read = inputs.iter().enumerate().filter(|(index, _)| is_read(index));
        let spans = read.clone().map(|(_, view)| view.span()).collect();
        if are_apart(spans, written.iter().map(|(_, view)| view.span()).collect()) {
            return Ok(());
        }
        for (place, (name, view)) in written.iter().enumerate() {
            for (index, input) in read.clone() {
                if let Some(overlap) = view.overlap(input).words() {
                    return Err(Error::InvalidValue(format!(
                        "{name} and {} {overlap} in memory, but {name} is written while the other \
                         is read; give memory of its own",
                        problem.input(index).map_or("an operand", |spec| spec.name)
                    )));
                }
            }
            for (_, other) in &written[place + 1..] {
                if let Some(overlap) = view.overlap(other).words() {
                    return Err(Error::InvalidValue(format!(
                        "two of the arrays that are given for results {overlap} in memory; give \
                         each memory of its own"
                    )));
                }
            }
        }
        Ok(())
    }
}

impl OperandSpec<'_> {
    /// Returns `InvalidValue` unless `view` is of this type and layout, and at `location`.
    pub fn check(&self, view: &TensorView, location: MemoryLocation) -> Result<()> {
        if self.matches(view) && view.device == location {
            return Ok(());
        }
        Err(Error::InvalidValue(format!(
            "{} is of {}, but the plan was made for {}; copy it to that, or make another plan",
            self.name,
            view.describe(),
            self.view_at(0, location).describe()
        )))
    }
}

/// Lowest addresses and numbers of bytes.
type Spans = SmallVec<[(usize, usize); 4]>;

/// Whether no span that is written has a byte in common with another one. By the order of
/// addresses, so that long lists take little time.
fn are_apart(read: Spans, written: Spans) -> bool {
    let all = read.into_iter().map(|span| (span, false));
    let mut all: SmallVec<[((usize, usize), bool); 4]> =
        all.chain(written.into_iter().map(|span| (span, true))).collect();
    all.sort_unstable();
    let (mut read_to, mut written_to) = (0, 0);
    all.into_iter().filter(|&((_, size), _)| size > 0).all(|((low, size), is_written)| {
        let is_apart = low >= written_to && (!is_written || low >= read_to);
        let end = if is_written { &mut written_to } else { &mut read_to };
        *end = (*end).max(low + size);
        is_apart
    })
}

/// The error for an array whose address is aligned otherwise than the plan needs.
fn misaligned(spec: &OperandSpec<'_>, view: &TensorView) -> Error {
    Error::InvalidValue(format!(
        "{} is at the address {:#x}, but the plan was made for another alignment; make another \
         plan",
        spec.name, view.ptr
    ))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

    use std::num::NonZeroUsize;

    use super::*;
    use crate::operation::Execution;
    use crate::operation::toy::{Copying, Length};
    use crate::tensor::{DType, Layout};

    #[test]
    fn a_plan_takes_as_many_operands_as_it_has() {
        let threads = NonZeroUsize::MIN;
        let plan = Plan::<Copying>::cached(Length::new(3), Execution::Cpu { threads }).unwrap();
        let view = TensorView {
            ptr: 0x1000,
            dtype: DType::Float64,
            layout: Layout::contiguous(&[3]),
            device: MemoryLocation::Host,
            readonly: false,
        };
        for count in 0..3 {
            let views = vec![&view; count];
            assert_eq!(plan.accepts(&views), count == 1, "{count} operands");
            let checked = plan.check(&views, &[None]);
            assert_eq!(checked.is_ok(), count == 1, "{count} operands");
        }
        let refusal = plan.check(&[&view, &view], &[None]).unwrap_err().to_string();
        assert!(refusal.contains("2 operands are given, but the plan is for 1: the operand"));
    }

    #[test]
    fn spans_that_are_written_have_bytes_of_their_own() {
        let apart = |read: &[(usize, usize)], written: &[(usize, usize)]| {
            are_apart(read.iter().copied().collect(), written.iter().copied().collect())
        };
        assert!(apart(&[(10, 10), (15, 10), (10, 10)], &[(25, 5), (0, 10)]));
        assert!(apart(&[(10, 10)], &[(15, 0)]));
        assert!(!apart(&[(10, 10)], &[(19, 1)]));
        assert!(!apart(&[(10, 10)], &[(9, 2)]));
        assert!(!apart(&[(0, 1), (0, 100)], &[(50, 1)]));
        assert!(!apart(&[], &[(0, 10), (9, 1)]));
        assert!(!apart(&[(5, 1)], &[(0, 100)]));
    }
}

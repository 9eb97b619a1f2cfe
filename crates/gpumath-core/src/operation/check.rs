//! Whether operands fit a plan.

use std::ops::Deref;

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
        let location = self.location_of(inputs)?;
        let engine = self.execution().location();
        let overwritten = problem.overwritten_input();
        for (index, (spec, input)) in problem.inputs().zip(inputs).enumerate() {
            spec.check(input, location)?;
            if !problem.fits_input(index, input, engine) {
                return Err(misaligned(&spec, input));
            }
            if input.readonly && overwritten == Some(index) {
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
        let overwritten = problem.overwritten_input();
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
            let own = overwritten.filter(|_| index == 0);
            let inputs = problem.inputs().zip(inputs).enumerate();
            for (position, (other, input)) in inputs.filter(|_| !problem.is_empty()) {
                if own == Some(position) && out.ptr != input.ptr {
                    return Err(Error::InvalidValue(format!(
                        "this plan works in place, but {} is not the memory of {}; leave it out",
                        spec.name, other.name
                    )));
                }
                if own != Some(position)
                    && let Some(overlap) = out.overlap(input).words()
                {
                    return Err(Error::InvalidValue(format!(
                        "{} and {} {overlap} in memory, but this plan works out of place; give \
                         memory of its own",
                        spec.name, other.name
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

/// The error for an array whose address is aligned otherwise than the plan needs.
fn misaligned(spec: &OperandSpec<'_>, view: &TensorView) -> Error {
    Error::InvalidValue(format!(
        "{} is at the address {:#x}, but the plan was made for another alignment; make another \
         plan",
        spec.name, view.ptr
    ))
}

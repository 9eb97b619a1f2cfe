//! Which plans are equal, and how they are shown.

use std::hash::{Hash, Hasher};

use super::arguments::kind_name;
use super::plan::PyFftPlan;

/// Plans for the same problem in the same place are equal.
impl PartialEq for PyFftPlan {
    fn eq(&self, other: &Self) -> bool {
        self.plan.key() == other.plan.key()
    }
}

impl Eq for PyFftPlan {}

impl Hash for PyFftPlan {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.plan.key().hash(state);
    }
}

impl PyFftPlan {
    /// What Python shows of a plan.
    pub(super) fn describe(&self) -> String {
        let problem = self.plan.problem();
        format!(
            "FftPlan(kind={:?}, input_dtype={:?}, input_shape={:?}, axes={:?}, engine={:?})",
            kind_name(problem.kind),
            problem.input_dtype().name(),
            problem.input.shape.as_slice(),
            problem.axes.as_slice(),
            self.plan.engine_name()
        )
    }
}

//! Two operations on nothing but a length, for tests of the skeleton. Their plans say that they
//! take as many bytes as the length.

use super::{
    Call, Engine, Execution, OperandSpec, Operation, PlanCache, Problem, RecentPlans, Request,
};
use crate::device::ContextGuard;
use crate::error::Result;
use crate::tensor::{DType, Layout, TensorView};

/// A vector of float64 that becomes another one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Length(Layout);

impl Length {
    pub(super) fn new(length: i64) -> Self {
        Self(Layout::contiguous(&[length]))
    }
}

impl Problem for Length {
    fn input(&self, index: usize) -> Option<OperandSpec<'_>> {
        (index == 0).then_some(OperandSpec {
            name: "the operand",
            dtype: DType::Float64,
            layout: &self.0,
        })
    }

    fn output(&self, index: usize) -> Option<OperandSpec<'_>> {
        self.input(index)
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Any;

impl Request for Any {
    type Problem = Length;

    fn problem(&self, inputs: &[&TensorView], _execution: Execution) -> Result<Length> {
        Ok(Length(inputs[0].layout.clone()))
    }

    fn is_about_inputs_alone(&self) -> bool {
        true
    }
}

#[derive(Debug)]
pub(super) struct Times(f64, usize);

impl Engine for Times {
    type Arguments = ();

    fn name(&self) -> &'static str {
        "toy"
    }

    fn host_memory(&self) -> usize {
        self.1
    }

    unsafe fn execute(&self, _context: Option<&ContextGuard>, call: &Call<'_, ()>) -> Result<()> {
        let (from, to) = (call.inputs[0] as *const f64, call.outputs[0] as *mut f64);
        for index in 0..self.1 {
            // SAFETY: the caller vouches for as many elements as the problem has.
            unsafe { *to.add(index) = self.0 * *from.add(index) };
        }
        Ok(())
    }
}

macro_rules! operation {
    ($name:ident, $factor:literal) => {
        #[derive(Debug)]
        pub(super) struct $name;

        impl Operation for $name {
            type Request = Any;
            type Problem = Length;
            type Engine = Times;
            type Arguments = ();

            fn plan(problem: &Length, _execution: Execution) -> Result<Times> {
                Ok(Times($factor, problem.0.len() as usize))
            }

            fn plan_cache() -> &'static PlanCache<Self> {
                thread_local! {
                    static RECENT: RecentPlans<$name> = RecentPlans::default();
                }
                static PLANS: PlanCache<$name> = PlanCache::new(&RECENT);
                &PLANS
            }
        }
    };
}

operation!(Copying, 1.0);
operation!(Doubling, 2.0);

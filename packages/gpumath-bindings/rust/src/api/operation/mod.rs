//! Operations on arrays of any library: what lies between the arguments of a Python call and a
//! core [`Plan`](gpumath_core::operation::Plan).
//!
//! An operation adds a thin class for its plans and one for its stateful object. Everything else is
//! here: `operands` looks into arrays and checks them, `planning` finds or makes a plan,
//! `invocation` runs one, `streams` and `workspace` say on which stream and in which memory it
//! works, and `executor` repeats an invocation at the least cost.

pub(crate) mod arguments;
mod executor;
mod invocation;
mod operands;
pub(crate) mod plan_cache;
mod planning;
mod streams;
mod workspace;

pub(crate) use executor::{Executor, Prepared, Setting};
pub(crate) use invocation::Invocation;
pub(crate) use operands::{Input, Operands, address_of};
pub(crate) use planning::{Planning, find_or_plan};
pub(crate) use streams::{UserStream, WorkStreams};
pub(crate) use workspace::PyWorkspace;

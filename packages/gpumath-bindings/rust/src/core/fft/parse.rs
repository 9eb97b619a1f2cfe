//! The words and numbers that users choose with.

use std::num::NonZeroUsize;
use std::sync::OnceLock;

use gpumath_core::fft::{Direction, Execution, Norm, TransformKind};
use gpumath_core::tensor::MemoryLocation;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

pub(super) fn parse_direction(direction: i32) -> PyResult<Direction> {
    match direction {
        -1 => Ok(Direction::Forward),
        1 => Ok(Direction::Inverse),
        other => Err(PyValueError::new_err(format!(
            "direction is {other}; -1 (forward) and 1 (inverse) are allowed"
        ))),
    }
}

pub(crate) const fn kind_name(kind: TransformKind) -> &'static str {
    match kind {
        TransformKind::C2C => "C2C",
        TransformKind::R2C => "R2C",
        TransformKind::C2R => "C2R",
    }
}

pub(crate) fn parse_kind(kind: &str) -> PyResult<TransformKind> {
    Ok([TransformKind::C2C, TransformKind::R2C, TransformKind::C2R]
        [choice("kind", kind, ["C2C", "R2C", "C2R"])?])
}

pub(super) fn parse_norm(norm: &str) -> PyResult<Norm> {
    let norms = [Norm::Backward, Norm::Ortho, Norm::Forward];
    Ok(norms[choice("norm", norm, ["backward", "ortho", "forward"])?])
}

pub(super) fn parse_execution(
    execution: Option<&str>,
    operand: MemoryLocation,
    device_id: Option<i32>,
    num_threads: Option<usize>,
) -> PyResult<Execution> {
    let on_cuda = match execution {
        Some(name) => choice("execution", name, ["cpu", "cuda"])? == 1,
        None => operand != MemoryLocation::Host,
    };
    if on_cuda {
        let device = match (operand, device_id) {
            (MemoryLocation::Device(operand), Some(asked)) if operand != asked => {
                return Err(PyValueError::new_err(format!(
                    "the operand is on device {operand} and device_id is {asked}; copy it there, or leave device_id out"
                )));
            }
            (MemoryLocation::Device(operand), _) => operand,
            (MemoryLocation::Host, asked) => asked.unwrap_or(0),
        };
        return Ok(Execution::Cuda { device });
    }
    let threads = match num_threads {
        None => usable_cores(),
        Some(count) => NonZeroUsize::new(count).ok_or_else(|| {
            PyValueError::new_err("num_threads is 0; at least one thread is needed, None means one for each usable core")
        })?,
    };
    Ok(Execution::Cpu { threads })
}

/// Cores that this process may use, asked once: the answer costs a read of the control group's files.
pub(crate) fn usable_cores() -> NonZeroUsize {
    static CORES: OnceLock<NonZeroUsize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
}

/// Position of `value` among `allowed`.
pub(crate) fn choice<const N: usize>(
    name: &str,
    value: &str,
    allowed: [&str; N],
) -> PyResult<usize> {
    allowed.iter().position(|&candidate| candidate == value).ok_or_else(|| {
        PyValueError::new_err(format!("{name} is {value:?}; allowed are {}", allowed.join(", ")))
    })
}

//! The handle of a cuFFT Xt plan, and the calls that it takes.

use gpumath_sys::generated::cufft;

use super::cufft_xt_memory::{Descriptor, WorkArea};
use super::peer_access;
use super::problem::{Direction, FftProblem, Precision, TransformKind};
use crate::device::Devices;
use crate::error::{Error, Result};
use crate::status::call;

/// `CUFFT_COPY_DEVICE_TO_DEVICE`
const DEVICE_TO_DEVICE: i32 = 2;
/// Statuses with which cuFFT refuses what it cannot spread: `CUFFT_INVALID_VALUE`,
/// `CUFFT_INVALID_SIZE`, `CUFFT_NOT_SUPPORTED`
const REFUSALS: [i32; 3] = [4, 8, 16];

/// An owned `cufftHandle` of several devices. Dropping it destroys the plan, once no execution of
/// any plan runs.
#[derive(Debug)]
pub(super) struct CufftXtHandle {
    pub(super) plan: i32,
    pub(super) devices: Devices,
}

impl CufftXtHandle {
    /// Creates a plan that is not planned yet.
    pub(super) fn new(devices: Devices) -> Result<Self> {
        let mut plan = 0_i32;
        // SAFETY: cuFFT writes one handle to `plan`, a live `i32`.
        unsafe { call!(cufft::CREATE, &raw mut plan as usize) }?;
        Ok(Self { plan, devices })
    }

    /// Plans once, without work areas, and returns their sizes in bytes.
    pub(super) fn plan(&self, problem: &FftProblem, n: &[i32]) -> Result<Vec<usize>> {
        let (plan, mut ordinals) = (self.plan, self.devices.ordinals().to_vec());
        let describe = |_| {
            format!(
                "one {:?} of {n:?} points, {:?} precision, devices {:?}",
                problem.kind,
                problem.precision,
                self.devices.ordinals()
            )
        };
        let mut work_sizes = vec![0_usize; ordinals.len()];
        let (sizes, kind) = (work_sizes.as_mut_ptr() as usize, plan_type(problem));
        // SAFETY: `self` owns the plan, which is not planned yet. The array has as many ordinals as
        // are said, and cuFFT writes one size for each device to `work_sizes`.
        let planned = unsafe {
            call!(cufft::SET_AUTO_ALLOCATION, plan, 0)?;
            let gpus = ordinals.as_mut_ptr() as usize;
            call!(cufft::XT_SET_GPUS, plan, ordinals.len() as i32, gpus; describe)?;
            match *n {
                [x] => call!(cufft::MAKE_PLAN1D, plan, x, kind, 1, sizes; describe),
                [x, y] => call!(cufft::MAKE_PLAN2D, plan, x, y, kind, sizes; describe),
                [x, y, z] => call!(cufft::MAKE_PLAN3D, plan, x, y, z, kind, sizes; describe),
                _ => return Err(Error::InvalidValue(format!("{} axes at once", n.len()))),
            }
        };
        match planned {
            Err(Error::Status(status)) if REFUSALS.contains(&status.code) => {
                Err(Error::InvalidValue(format!(
                    "cuFFT does not plan this on several devices: {status}; give fewer devices, \
                     other lengths, or leave device_ids out"
                )))
            }
            planned => planned.map(|()| work_sizes),
        }
    }

    /// Allocates memory for the data on all devices.
    pub(super) fn allocate(&self, format: i32) -> Result<Descriptor> {
        let mut address = 0_usize;
        // SAFETY: `self` owns the plan, and cuFFT writes one address to `address`, a live `usize`.
        unsafe {
            call!(
                cufft::XT_MALLOC, self.plan, &raw mut address as usize, format;
                |_| "its parts of the data".to_owned()
            )
        }?;
        Ok(Descriptor { address, device: self.devices.first() })
    }

    /// Allocates work areas and sets the plan to them. They are the plan's until the result is
    /// dropped.
    pub(super) fn lend_work_areas(&self, sizes: &[usize]) -> Result<Vec<WorkArea>> {
        let areas: Vec<WorkArea> = self
            .devices
            .ordinals()
            .iter()
            .zip(sizes)
            .map(|(&ordinal, &size)| WorkArea::new(ordinal, size))
            .collect::<Result<_>>()?;
        let mut addresses: Vec<usize> = areas.iter().map(|area| area.address).collect();
        // SAFETY: `self` owns the plan, and `addresses` has one area of the right size for each
        // device.
        unsafe { call!(cufft::XT_SET_WORK_AREA, self.plan, addresses.as_mut_ptr() as usize) }?;
        Ok(areas)
    }

    /// Enqueues the transform of the parts in place, on streams of cuFFT's own.
    ///
    /// # Safety
    /// - `data` is a descriptor of this plan.
    /// - It and the work areas of the plan live until the devices have been synchronized with.
    pub(super) unsafe fn execute(
        &self,
        data: &Descriptor,
        direction: Direction,
        kind: TransformKind,
        precision: Precision,
    ) -> Result<()> {
        use TransformKind::{C2C, C2R, R2C};
        let (plan, at, sign) = (self.plan, data.address, direction.sign());
        let is_double = precision == Precision::Double;
        // SAFETY: `self` owns the plan, and the caller guarantees that the descriptor is one of it.
        unsafe {
            match (kind, is_double) {
                (C2C, false) => call!(cufft::XT_EXEC_DESCRIPTOR_C2C, plan, at, at, sign),
                (C2C, true) => call!(cufft::XT_EXEC_DESCRIPTOR_Z2Z, plan, at, at, sign),
                (R2C, false) => call!(cufft::XT_EXEC_DESCRIPTOR_R2C, plan, at, at),
                (R2C, true) => call!(cufft::XT_EXEC_DESCRIPTOR_D2Z, plan, at, at),
                (C2R, false) => call!(cufft::XT_EXEC_DESCRIPTOR_C2R, plan, at, at),
                (C2R, true) => call!(cufft::XT_EXEC_DESCRIPTOR_Z2D, plan, at, at),
            }
        }
    }

    /// Copies the data of one descriptor to another, in the order of that.
    ///
    /// # Safety
    /// Both are descriptors of this plan, which live until the devices have been synchronized with.
    pub(super) unsafe fn copy(&self, to: &Descriptor, from: &Descriptor) -> Result<()> {
        // SAFETY: `self` owns the plan, and the caller guarantees that the descriptors are of it.
        unsafe { call!(cufft::XT_MEMCPY, self.plan, to.address, from.address, DEVICE_TO_DEVICE) }
    }
}

/// Returns the `cufftType`.
const fn plan_type(problem: &FftProblem) -> i32 {
    match (problem.kind, problem.precision) {
        (TransformKind::C2C, Precision::Double) => 0x69,
        (TransformKind::R2C, Precision::Double) => 0x6a,
        (TransformKind::C2R, Precision::Double) => 0x6c,
        (TransformKind::C2C, _) => 0x29,
        (TransformKind::R2C, _) => 0x2a,
        (TransformKind::C2R, _) => 0x2c,
    }
}

impl Drop for CufftXtHandle {
    fn drop(&mut self) {
        peer_access::destroy_when_idle(self.plan, self.devices);
    }
}

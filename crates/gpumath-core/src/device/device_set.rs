//! A set of devices that work on one problem.

use gpumath_sys::generated::driver;

use super::context::{ContextGuard, primary_context};
use super::driver::count;
use crate::error::{Error, Result};
use crate::status::call;

/// The most devices that cuFFT takes.
const MAX: usize = 16;
/// `CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED`, `CUDA_ERROR_PEER_ACCESS_UNSUPPORTED`,
/// `CUDA_ERROR_TOO_MANY_PEERS`
const ENABLED_OR_IMPOSSIBLE: [i32; 3] = [704, 217, 711];

/// At least two distinct devices, in the order in which they get their parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Devices {
    ordinals: [i32; MAX],
    count: usize,
}

impl Devices {
    /// Makes a set of the devices with these ordinals, whether or not they exist.
    pub fn new(given: &[i32]) -> Result<Self> {
        let refuse = |what: &str| {
            Err(Error::InvalidValue(format!(
                "device_ids is {given:?}; {what}: give from 2 to {MAX} distinct ordinals of CUDA \
                 devices"
            )))
        };
        if given.len() < 2 || given.len() > MAX {
            return refuse(&format!("that is {} of them", given.len()));
        }
        let mut ordinals = [0; MAX];
        for (index, &ordinal) in given.iter().enumerate() {
            if ordinal < 0 {
                return refuse("ordinals count from 0");
            }
            if given[..index].contains(&ordinal) {
                return refuse(&format!("{ordinal} is repeated"));
            }
            ordinals[index] = ordinal;
        }
        Ok(Self { ordinals, count: given.len() })
    }

    /// Returns the ordinals.
    #[must_use]
    pub fn ordinals(&self) -> &[i32] {
        &self.ordinals[..self.count]
    }

    /// Returns the ordinal of the first device.
    #[must_use]
    pub const fn first(&self) -> i32 {
        self.ordinals[0]
    }

    /// Fails with `NoDevice` unless this process sees all devices of the set.
    pub fn check(&self) -> Result<()> {
        let seen = count()?;
        if self.ordinals().iter().all(|&ordinal| ordinal < seen) {
            return Ok(());
        }
        Err(Error::NoDevice(format!(
            "device_ids is {:?}, but this process sees {seen} CUDA device{}, numbered from 0 \
             (CUDA_VISIBLE_DEVICES hides devices too); give fewer, or leave device_ids out",
            self.ordinals(),
            if seen == 1 { "" } else { "s" }
        )))
    }

    /// Enables peer access from each device to the memory of each other, where the hardware allows
    /// it. cuFFT does so when it plans for several devices, and disables it when it destroys such a
    /// plan, also for the plans that remain.
    pub(crate) fn enable_peer_access(&self) -> Result<()> {
        for &from in self.ordinals() {
            let _context = ContextGuard::enter(from)?;
            for &to in self.ordinals().iter().filter(|&&to| to != from) {
                // SAFETY: `primary_context` never releases the context; 0 is the only value of the
                // flags.
                match unsafe { call!(driver::CTX_ENABLE_PEER_ACCESS, primary_context(to)?, 0) } {
                    Err(Error::Status(status)) if ENABLED_OR_IMPOSSIBLE.contains(&status.code) => {}
                    other => other?,
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

    use super::*;

    #[test]
    fn are_distinct_and_at_least_two() {
        let devices = Devices::new(&[3, 1]).unwrap();
        assert_eq!((devices.ordinals(), devices.first()), (&[3, 1][..], 3));
        assert_ne!(devices, Devices::new(&[1, 3]).unwrap());
        let too_many: Vec<i32> = (0..17).collect();
        for wrong in [&[][..], &[0], &[0, 1, 0], &[0, -1], &too_many] {
            assert!(matches!(Devices::new(wrong), Err(Error::InvalidValue(_))), "{wrong:?}");
        }
    }
}

//! Where an operation computes.

use std::num::NonZeroUsize;
use std::{slice, thread};

use crate::device::{Device, Devices};
use crate::error::Result;
use crate::process::SetOnce;
use crate::tensor::MemoryLocation;

/// Where an operation computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Execution {
    /// On the CPU.
    Cpu {
        /// Number of threads that compute at once, the calling one included.
        threads: NonZeroUsize,
    },
    /// On a CUDA device.
    Cuda {
        /// Ordinal of the device.
        device: i32,
    },
    /// On several CUDA devices. Operands are in host memory or on one of the devices.
    CudaMulti {
        /// The devices.
        devices: Devices,
    },
}

impl Execution {
    /// On the CPU, on every core that this process may use.
    #[must_use]
    pub fn cpu() -> Self {
        Self::Cpu { threads: usable_cores() }
    }

    /// Ordinal of the CUDA device, of the first one of several; `None` for the CPU.
    #[must_use]
    pub const fn device(self) -> Option<i32> {
        match self {
            Self::Cpu { .. } => None,
            Self::Cuda { device } => Some(device),
            Self::CudaMulti { devices } => Some(devices.first()),
        }
    }

    /// The devices if there are several.
    #[must_use]
    pub const fn devices(self) -> Option<Devices> {
        match self {
            Self::CudaMulti { devices } => Some(devices),
            Self::Cpu { .. } | Self::Cuda { .. } => None,
        }
    }

    /// Ordinals of all the CUDA devices.
    #[must_use]
    pub fn ordinals(&self) -> &[i32] {
        match self {
            Self::Cpu { .. } => &[],
            Self::Cuda { device } => slice::from_ref(device),
            Self::CudaMulti { devices } => devices.ordinals(),
        }
    }

    /// Returns `NoDevice` unless this process sees all the devices.
    pub(super) fn check_devices(self) -> Result<()> {
        match self {
            Self::Cpu { .. } => Ok(()),
            Self::Cuda { device } => Device::new(device).map(drop),
            Self::CudaMulti { devices } => devices.check(),
        }
    }

    /// Where an engine for it reads its operands: in host memory, or in that of its (first) device.
    #[must_use]
    pub fn location(self) -> MemoryLocation {
        self.device().map_or(MemoryLocation::Host, MemoryLocation::Device)
    }

    /// Whether an engine for it reads operands at `location` without a copy by the skeleton.
    #[must_use]
    pub fn reaches(&self, location: MemoryLocation) -> bool {
        match (self, location) {
            (Self::CudaMulti { .. }, MemoryLocation::Host) => true,
            (Self::CudaMulti { devices }, MemoryLocation::Device(device)) => {
                devices.ordinals().contains(&device)
            }
            _ => self.location() == location,
        }
    }
}

/// Returns the cores that this process may use. They are counted once, because that reads the
/// control group's files.
#[must_use]
pub fn usable_cores() -> NonZeroUsize {
    static CORES: SetOnce<NonZeroUsize> = SetOnce::new();
    *CORES.get_or_init(|| thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
}

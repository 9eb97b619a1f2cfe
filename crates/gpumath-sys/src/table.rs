//! One row per C function: its names, its range of CUDA releases, and the address found so far.

use std::fmt::{self, Display, Formatter};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A CUDA toolkit release, such as 12.9.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release {
    /// Major number.
    pub major: u16,
    /// Minor number.
    pub minor: u16,
    /// Patch number; 0 for toolkits, which are told apart by two numbers.
    pub patch: u16,
}

impl Release {
    /// A release of three numbers.
    #[must_use]
    pub const fn new(major: u16, minor: u16, patch: u16) -> Self {
        Self { major, minor, patch }
    }
}

impl Display for Release {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        if self.patch == 0 { Ok(()) } else { write!(f, ".{}", self.patch) }
    }
}

/// A complex number as C has it, real part first.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Complex<T> {
    /// Real part.
    pub re: T,
    /// Imaginary part.
    pub im: T,
}

impl Complex<f32> {
    /// The number whose 8 bytes these are.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self { re: f32::from_bits(bits as u32), im: f32::from_bits((bits >> 32) as u32) }
    }
}

/// A struct of integers and addresses that is passed by value; `T` is an array of its size and alignment.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Block<T>(pub T);

/// A function of a CUDA library, looked up when it is first called.
#[derive(Debug)]
pub struct Symbol {
    /// The library's module name, such as `"cufft"`.
    pub library: &'static str,
    /// The Python name, such as `"exec_c2c"`.
    pub name: &'static str,
    /// The name in the header, such as `"cufftExecC2C"`.
    pub c_name: &'static str,
    /// The name that the library exports; differs from `c_name` where the header maps it (`cuMemAlloc_v2`).
    pub symbol: &'static str,
    /// The first sampled toolkit release that has it.
    pub since: Release,
    /// The last sampled toolkit release that has it.
    pub until: Release,
    /// The library's own versions that have this signature: from, and before.
    pub versions: (Option<Release>, Option<Release>),
    address: AtomicUsize,
}

impl Symbol {
    /// A row whose address is not known yet.
    #[must_use]
    pub const fn new(
        library: &'static str,
        name: &'static str,
        c_name: &'static str,
        symbol: &'static str,
        since: Release,
        until: Release,
    ) -> Self {
        let (versions, address) = ((None, None), AtomicUsize::new(0));
        Self { library, name, c_name, symbol, since, until, versions, address }
    }

    /// Says which versions of the library have this signature, where another has the same symbol.
    #[must_use]
    pub const fn within(mut self, from: Option<Release>, before: Option<Release>) -> Self {
        self.versions = (from, before);
        self
    }

    /// The address, if it was looked up before.
    #[must_use]
    pub fn address(&self) -> Option<usize> {
        match self.address.load(Ordering::Acquire) {
            0 => None,
            address => Some(address),
        }
    }

    /// Remembers the address that the loader found.
    pub fn set_address(&self, address: usize) {
        self.address.store(address, Ordering::Release);
    }
}

/// A [`Symbol`] together with its exact C type.
#[derive(Debug)]
pub struct Function<F> {
    symbol: Symbol,
    signature: PhantomData<F>,
}

impl<F: Copy> Function<F> {
    /// Gives a row its C type. `F` must be an `unsafe extern "C" fn` of the declared signature.
    ///
    /// # Panics
    /// At compile time, if `F` is no function pointer.
    #[must_use]
    pub const fn new(symbol: Symbol) -> Self {
        assert!(size_of::<F>() == size_of::<usize>());
        Self { symbol, signature: PhantomData }
    }

    /// The row.
    #[must_use]
    pub const fn symbol(&self) -> &Symbol {
        &self.symbol
    }

    /// The callable at `address`.
    ///
    /// # Safety
    /// `address` must be the address of this very symbol in a loaded library.
    #[must_use]
    pub unsafe fn at(&self, address: usize) -> F {
        // SAFETY: `new` checked that F has the size of an address; the caller vouches for what is there.
        unsafe { std::mem::transmute_copy(&address) }
    }
}

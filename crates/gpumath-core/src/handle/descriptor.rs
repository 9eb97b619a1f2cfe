//! Objects of the CUDA libraries that describe something: layouts, operations, preferences.

use gpumath_sys::table::Function;

use crate::device::may_call_cuda_in_drop;
use crate::error::Result;
use crate::status::call;

/// Destroys an object of a library.
type Destroy = Function<unsafe extern "C" fn(usize) -> i32>;

/// Sets an attribute of an object: its number, and address and size of the value.
type SetAttribute = Function<unsafe extern "C" fn(usize, i32, usize, u64) -> i32>;

/// An object of a library that this object owns. Dropping it destroys the object, which does not
/// block.
#[derive(Debug)]
pub(crate) struct Descriptor {
    address: usize,
    destroy: &'static Destroy,
}

impl Descriptor {
    /// Owns the object that `create` makes, whose address it writes to the address that it gets.
    pub(crate) fn new(
        destroy: &'static Destroy,
        create: impl FnOnce(usize) -> Result<()>,
    ) -> Result<Self> {
        let mut address = 0_usize;
        create(&raw mut address as usize)?;
        Ok(Self { address, destroy })
    }

    /// What functions of the library take.
    pub(crate) fn get(&self) -> usize {
        self.address
    }

    /// Sets an attribute with the function of the library that does so.
    ///
    /// # Safety
    /// The attribute is one of such an object, and its type is `T`.
    pub(crate) unsafe fn set<T: Copy>(
        &self,
        function: &'static SetAttribute,
        attribute: i32,
        value: T,
    ) -> Result<()> {
        let (address, size) = (&raw const value as usize, size_of::<T>() as u64);
        // SAFETY: `self` owns the object, and the library reads the bytes of `value` during the
        // call. The caller guarantees that they are what the attribute takes.
        unsafe { call!(*function, self.address, attribute, address, size) }
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        if may_call_cuda_in_drop() {
            // A destructor cannot report the error, so it is ignored.
            // SAFETY: `self` owns the object, which is not used after this.
            let _ = unsafe { call!(*self.destroy, self.address) };
        }
    }
}

//! Calls through an address: what `generated/shapes.rs` is written in.

use crate::table::{ByValueStruct, Complex};

/// A C parameter that is read from a 64-bit slot.
pub(crate) trait FromSlot {
    /// Reads the value.
    ///
    /// # Safety
    /// - `slot` holds a value of this type as the documentation of the shapes says.
    unsafe fn from_slot(slot: u64) -> Self;
}

/// What a C function returns, as a 64-bit slot.
pub(crate) trait IntoSlot {
    /// Returns the slot.
    fn into_slot(self) -> u64;
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl FromSlot for $type {
            #[inline]
            unsafe fn from_slot(slot: u64) -> Self {
                slot as Self
            }
        }
    )*};
}
integers!(i8, u8, i16, i32, u64);

impl FromSlot for f32 {
    #[inline]
    unsafe fn from_slot(slot: u64) -> Self {
        Self::from_bits(slot as u32)
    }
}

impl FromSlot for f64 {
    #[inline]
    unsafe fn from_slot(slot: u64) -> Self {
        Self::from_bits(slot)
    }
}

impl FromSlot for Complex<f32> {
    #[inline]
    unsafe fn from_slot(slot: u64) -> Self {
        Self::from_bits(slot)
    }
}

impl FromSlot for Complex<f64> {
    #[inline]
    unsafe fn from_slot(slot: u64) -> Self {
        // SAFETY: the caller guarantees that the slot is the address of such a number.
        unsafe { (slot as *const Self).read_unaligned() }
    }
}

impl<T> FromSlot for ByValueStruct<T> {
    #[inline]
    unsafe fn from_slot(slot: u64) -> Self {
        // SAFETY: the caller guarantees that the slot is the address of such a struct.
        unsafe { (slot as *const Self).read_unaligned() }
    }
}

impl IntoSlot for () {
    #[inline]
    fn into_slot(self) -> u64 {
        0
    }
}

impl IntoSlot for i32 {
    #[inline]
    fn into_slot(self) -> u64 {
        self as u64
    }
}

impl IntoSlot for u64 {
    #[inline]
    fn into_slot(self) -> u64 {
        self
    }
}

impl IntoSlot for f32 {
    #[inline]
    fn into_slot(self) -> u64 {
        u64::from(self.to_bits())
    }
}

impl IntoSlot for f64 {
    #[inline]
    fn into_slot(self) -> u64 {
        self.to_bits()
    }
}

/// Defines a function for each shape: `name(parameters) -> result;`, in the letters of the name.
macro_rules! shapes {
    ($($name:ident($($parameter:ident)*) -> $result:ident;)*) => {$(
        /// Calls the function of this shape at `address`.
        ///
        /// # Safety
        /// - `address` is that of a C function of this very shape.
        /// - `slots` points to a slot for each letter, which holds an argument of its type.
        /// - The call itself is sound.
        #[must_use]
        #[allow(unused, reason = "a shape may have no parameters, and the last one moves on too")]
        pub unsafe fn $name(address: usize, slots: *const u64) -> u64 {
            let mut position = slots;
            // SAFETY: the caller guarantees the address, the slots and the call. The arguments of a
            // Rust call are evaluated from left to right.
            unsafe {
                let function: unsafe extern "C" fn($($parameter),*) -> $result =
                    std::mem::transmute(address);
                let result = function($({
                    let slot = *position;
                    position = position.add(1);
                    <$parameter as $crate::shape::FromSlot>::from_slot(slot)
                }),*);
                $crate::shape::IntoSlot::into_slot(result)
            }
        }
    )*};
}
pub(crate) use shapes;

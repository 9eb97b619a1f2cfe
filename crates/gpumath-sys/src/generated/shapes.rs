//! Calls through an address, one function for every ABI shape.
//!
//! The name is the shape: what is returned, then one letter a parameter. `i` is a 32-bit integer, `l` a 64-bit
//! integer or an address, `b` an unsigned and `c` a signed byte, `h` a 16-bit integer, `f` an `f32`, `d` an `f64`.
//!
//! Every argument lies in a 64-bit slot, in its low bits, and so does the value that is returned.

/// Calls the function of this shape at `address`.
///
/// # Safety
/// `address` must be that of a C function of this very shape, the slots must hold its
/// 0 arguments, and the call itself must be sound.
#[must_use]
pub unsafe fn i_(address: usize, _: *const u64) -> u64 {
    // SAFETY: the caller vouches for the address, the slots and the call.
    unsafe {
        let function: unsafe extern "C" fn() -> i32 = std::mem::transmute(address);
        function() as u64
    }
}

/// Calls the function of this shape at `address`.
///
/// # Safety
/// `address` must be that of a C function of this very shape, the slots must hold its
/// 1 arguments, and the call itself must be sound.
#[must_use]
pub unsafe fn i_i(address: usize, slots: *const u64) -> u64 {
    // SAFETY: the caller vouches for the address, the slots and the call.
    unsafe {
        let function: unsafe extern "C" fn(i32) -> i32 = std::mem::transmute(address);
        function(*slots as i32) as u64
    }
}

/// Calls the function of this shape at `address`.
///
/// # Safety
/// `address` must be that of a C function of this very shape, the slots must hold its
/// 2 arguments, and the call itself must be sound.
#[must_use]
pub unsafe fn i_ii(address: usize, slots: *const u64) -> u64 {
    // SAFETY: the caller vouches for the address, the slots and the call.
    unsafe {
        let function: unsafe extern "C" fn(i32, i32) -> i32 = std::mem::transmute(address);
        function(*slots as i32, *slots.add(1) as i32) as u64
    }
}

/// Calls the function of this shape at `address`.
///
/// # Safety
/// `address` must be that of a C function of this very shape, the slots must hold its
/// 6 arguments, and the call itself must be sound.
#[must_use]
pub unsafe fn i_iiiiil(address: usize, slots: *const u64) -> u64 {
    // SAFETY: the caller vouches for the address, the slots and the call.
    unsafe {
        let function: unsafe extern "C" fn(i32, i32, i32, i32, i32, u64) -> i32 =
            std::mem::transmute(address);
        function(
            *slots as i32,
            *slots.add(1) as i32,
            *slots.add(2) as i32,
            *slots.add(3) as i32,
            *slots.add(4) as i32,
            *slots.add(5),
        ) as u64
    }
}

/// Calls the function of this shape at `address`.
///
/// # Safety
/// `address` must be that of a C function of this very shape, the slots must hold its
/// 5 arguments, and the call itself must be sound.
#[must_use]
pub unsafe fn i_iiiil(address: usize, slots: *const u64) -> u64 {
    // SAFETY: the caller vouches for the address, the slots and the call.
    unsafe {
        let function: unsafe extern "C" fn(i32, i32, i32, i32, u64) -> i32 =
            std::mem::transmute(address);
        function(
            *slots as i32,
            *slots.add(1) as i32,
            *slots.add(2) as i32,
            *slots.add(3) as i32,
            *slots.add(4),
        ) as u64
    }
}

/// Calls the function of this shape at `address`.
///
/// # Safety
/// `address` must be that of a C function of this very shape, the slots must hold its
/// 4 arguments, and the call itself must be sound.
#[must_use]
pub unsafe fn i_iiil(address: usize, slots: *const u64) -> u64 {
    // SAFETY: the caller vouches for the address, the slots and the call.
    unsafe {
        let function: unsafe extern "C" fn(i32, i32, i32, u64) -> i32 =
            std::mem::transmute(address);
        function(*slots as i32, *slots.add(1) as i32, *slots.add(2) as i32, *slots.add(3)) as u64
    }
}

/// Calls the function of this shape at `address`.
///
/// # Safety
/// `address` must be that of a C function of this very shape, the slots must hold its
/// 3 arguments, and the call itself must be sound.
#[must_use]
pub unsafe fn i_iil(address: usize, slots: *const u64) -> u64 {
    // SAFETY: the caller vouches for the address, the slots and the call.
    unsafe {
        let function: unsafe extern "C" fn(i32, i32, u64) -> i32 = std::mem::transmute(address);
        function(*slots as i32, *slots.add(1) as i32, *slots.add(2)) as u64
    }
}

/// Calls the function of this shape at `address`.
///
/// # Safety
/// `address` must be that of a C function of this very shape, the slots must hold its
/// 12 arguments, and the call itself must be sound.
#[must_use]
pub unsafe fn i_iilliiliiiil(address: usize, slots: *const u64) -> u64 {
    // SAFETY: the caller vouches for the address, the slots and the call.
    unsafe {
        let function: unsafe extern "C" fn(
            i32,
            i32,
            u64,
            u64,
            i32,
            i32,
            u64,
            i32,
            i32,
            i32,
            i32,
            u64,
        ) -> i32 = std::mem::transmute(address);
        function(
            *slots as i32,
            *slots.add(1) as i32,
            *slots.add(2),
            *slots.add(3),
            *slots.add(4) as i32,
            *slots.add(5) as i32,
            *slots.add(6),
            *slots.add(7) as i32,
            *slots.add(8) as i32,
            *slots.add(9) as i32,
            *slots.add(10) as i32,
            *slots.add(11),
        ) as u64
    }
}

/// Calls the function of this shape at `address`.
///
/// # Safety
/// `address` must be that of a C function of this very shape, the slots must hold its
/// 14 arguments, and the call itself must be sound.
#[must_use]
pub unsafe fn i_iillllilllilli(address: usize, slots: *const u64) -> u64 {
    // SAFETY: the caller vouches for the address, the slots and the call.
    unsafe {
        let function: unsafe extern "C" fn(
            i32,
            i32,
            u64,
            u64,
            u64,
            u64,
            i32,
            u64,
            u64,
            u64,
            i32,
            u64,
            u64,
            i32,
        ) -> i32 = std::mem::transmute(address);
        function(
            *slots as i32,
            *slots.add(1) as i32,
            *slots.add(2),
            *slots.add(3),
            *slots.add(4),
            *slots.add(5),
            *slots.add(6) as i32,
            *slots.add(7),
            *slots.add(8),
            *slots.add(9),
            *slots.add(10) as i32,
            *slots.add(11),
            *slots.add(12),
            *slots.add(13) as i32,
        ) as u64
    }
}

/// Calls the function of this shape at `address`.
///
/// # Safety
/// `address` must be that of a C function of this very shape, the slots must hold its
/// 12 arguments, and the call itself must be sound.
#[must_use]
pub unsafe fn i_iilllllllill(address: usize, slots: *const u64) -> u64 {
    // SAFETY: the caller vouches for the address, the slots and the call.
    unsafe {
        let function: unsafe extern "C" fn(
            i32,
            i32,
            u64,
            u64,
            u64,
            u64,
            u64,
            u64,
            u64,
            i32,
            u64,
            u64,
        ) -> i32 = std::mem::transmute(address);
        function(
            *slots as i32,
            *slots.add(1) as i32,
            *slots.add(2),
            *slots.add(3),
            *slots.add(4),
            *slots.add(5),
            *slots.add(6),
            *slots.add(7),
            *slots.add(8),
            *slots.add(9) as i32,
            *slots.add(10),
            *slots.add(11),
        ) as u64
    }
}

/// Calls the function of this shape at `address`.
///
/// # Safety
/// `address` must be that of a C function of this very shape, the slots must hold its
/// 2 arguments, and the call itself must be sound.
#[must_use]
pub unsafe fn i_il(address: usize, slots: *const u64) -> u64 {
    // SAFETY: the caller vouches for the address, the slots and the call.
    unsafe {
        let function: unsafe extern "C" fn(i32, u64) -> i32 = std::mem::transmute(address);
        function(*slots as i32, *slots.add(1)) as u64
    }
}

/// Calls the function of this shape at `address`.
///
/// # Safety
/// `address` must be that of a C function of this very shape, the slots must hold its
/// 3 arguments, and the call itself must be sound.
#[must_use]
pub unsafe fn i_ili(address: usize, slots: *const u64) -> u64 {
    // SAFETY: the caller vouches for the address, the slots and the call.
    unsafe {
        let function: unsafe extern "C" fn(i32, u64, i32) -> i32 = std::mem::transmute(address);
        function(*slots as i32, *slots.add(1), *slots.add(2) as i32) as u64
    }
}

/// Calls the function of this shape at `address`.
///
/// # Safety
/// `address` must be that of a C function of this very shape, the slots must hold its
/// 3 arguments, and the call itself must be sound.
#[must_use]
pub unsafe fn i_ill(address: usize, slots: *const u64) -> u64 {
    // SAFETY: the caller vouches for the address, the slots and the call.
    unsafe {
        let function: unsafe extern "C" fn(i32, u64, u64) -> i32 = std::mem::transmute(address);
        function(*slots as i32, *slots.add(1), *slots.add(2)) as u64
    }
}

/// Calls the function of this shape at `address`.
///
/// # Safety
/// `address` must be that of a C function of this very shape, the slots must hold its
/// 4 arguments, and the call itself must be sound.
#[must_use]
pub unsafe fn i_illi(address: usize, slots: *const u64) -> u64 {
    // SAFETY: the caller vouches for the address, the slots and the call.
    unsafe {
        let function: unsafe extern "C" fn(i32, u64, u64, i32) -> i32 =
            std::mem::transmute(address);
        function(*slots as i32, *slots.add(1), *slots.add(2), *slots.add(3) as i32) as u64
    }
}

/// Calls the function of this shape at `address`.
///
/// # Safety
/// `address` must be that of a C function of this very shape, the slots must hold its
/// 11 arguments, and the call itself must be sound.
#[must_use]
pub unsafe fn i_illiiliiiil(address: usize, slots: *const u64) -> u64 {
    // SAFETY: the caller vouches for the address, the slots and the call.
    unsafe {
        let function: unsafe extern "C" fn(
            i32,
            u64,
            u64,
            i32,
            i32,
            u64,
            i32,
            i32,
            i32,
            i32,
            u64,
        ) -> i32 = std::mem::transmute(address);
        function(
            *slots as i32,
            *slots.add(1),
            *slots.add(2),
            *slots.add(3) as i32,
            *slots.add(4) as i32,
            *slots.add(5),
            *slots.add(6) as i32,
            *slots.add(7) as i32,
            *slots.add(8) as i32,
            *slots.add(9) as i32,
            *slots.add(10),
        ) as u64
    }
}

/// Calls the function of this shape at `address`.
///
/// # Safety
/// `address` must be that of a C function of this very shape, the slots must hold its
/// 6 arguments, and the call itself must be sound.
#[must_use]
pub unsafe fn i_illlil(address: usize, slots: *const u64) -> u64 {
    // SAFETY: the caller vouches for the address, the slots and the call.
    unsafe {
        let function: unsafe extern "C" fn(i32, u64, u64, u64, i32, u64) -> i32 =
            std::mem::transmute(address);
        function(
            *slots as i32,
            *slots.add(1),
            *slots.add(2),
            *slots.add(3),
            *slots.add(4) as i32,
            *slots.add(5),
        ) as u64
    }
}

/// Calls the function of this shape at `address`.
///
/// # Safety
/// `address` must be that of a C function of this very shape, the slots must hold its
/// 1 arguments, and the call itself must be sound.
#[must_use]
pub unsafe fn i_l(address: usize, slots: *const u64) -> u64 {
    // SAFETY: the caller vouches for the address, the slots and the call.
    unsafe {
        let function: unsafe extern "C" fn(u64) -> i32 = std::mem::transmute(address);
        function(*slots) as u64
    }
}

/// Calls the function of this shape at `address`.
///
/// # Safety
/// `address` must be that of a C function of this very shape, the slots must hold its
/// 4 arguments, and the call itself must be sound.
#[must_use]
pub unsafe fn i_lbll(address: usize, slots: *const u64) -> u64 {
    // SAFETY: the caller vouches for the address, the slots and the call.
    unsafe {
        let function: unsafe extern "C" fn(u64, u8, u64, u64) -> i32 = std::mem::transmute(address);
        function(*slots, *slots.add(1) as u8, *slots.add(2), *slots.add(3)) as u64
    }
}

/// Calls the function of this shape at `address`.
///
/// # Safety
/// `address` must be that of a C function of this very shape, the slots must hold its
/// 2 arguments, and the call itself must be sound.
#[must_use]
pub unsafe fn i_li(address: usize, slots: *const u64) -> u64 {
    // SAFETY: the caller vouches for the address, the slots and the call.
    unsafe {
        let function: unsafe extern "C" fn(u64, i32) -> i32 = std::mem::transmute(address);
        function(*slots, *slots.add(1) as i32) as u64
    }
}

/// Calls the function of this shape at `address`.
///
/// # Safety
/// `address` must be that of a C function of this very shape, the slots must hold its
/// 3 arguments, and the call itself must be sound.
#[must_use]
pub unsafe fn i_lii(address: usize, slots: *const u64) -> u64 {
    // SAFETY: the caller vouches for the address, the slots and the call.
    unsafe {
        let function: unsafe extern "C" fn(u64, i32, i32) -> i32 = std::mem::transmute(address);
        function(*slots, *slots.add(1) as i32, *slots.add(2) as i32) as u64
    }
}

/// Calls the function of this shape at `address`.
///
/// # Safety
/// `address` must be that of a C function of this very shape, the slots must hold its
/// 4 arguments, and the call itself must be sound.
#[must_use]
pub unsafe fn i_liii(address: usize, slots: *const u64) -> u64 {
    // SAFETY: the caller vouches for the address, the slots and the call.
    unsafe {
        let function: unsafe extern "C" fn(u64, i32, i32, i32) -> i32 =
            std::mem::transmute(address);
        function(*slots, *slots.add(1) as i32, *slots.add(2) as i32, *slots.add(3) as i32) as u64
    }
}

/// Calls the function of this shape at `address`.
///
/// # Safety
/// `address` must be that of a C function of this very shape, the slots must hold its
/// 5 arguments, and the call itself must be sound.
#[must_use]
pub unsafe fn i_liiii(address: usize, slots: *const u64) -> u64 {
    // SAFETY: the caller vouches for the address, the slots and the call.
    unsafe {
        let function: unsafe extern "C" fn(u64, i32, i32, i32, i32) -> i32 =
            std::mem::transmute(address);
        function(
            *slots,
            *slots.add(1) as i32,
            *slots.add(2) as i32,
            *slots.add(3) as i32,
            *slots.add(4) as i32,
        ) as u64
    }
}

/// Calls the function of this shape at `address`.
///
/// # Safety
/// `address` must be that of a C function of this very shape, the slots must hold its
/// 11 arguments, and the call itself must be sound.
#[must_use]
pub unsafe fn i_liiiiiiilll(address: usize, slots: *const u64) -> u64 {
    // SAFETY: the caller vouches for the address, the slots and the call.
    unsafe {
        let function: unsafe extern "C" fn(
            u64,
            i32,
            i32,
            i32,
            i32,
            i32,
            i32,
            i32,
            u64,
            u64,
            u64,
        ) -> i32 = std::mem::transmute(address);
        function(
            *slots,
            *slots.add(1) as i32,
            *slots.add(2) as i32,
            *slots.add(3) as i32,
            *slots.add(4) as i32,
            *slots.add(5) as i32,
            *slots.add(6) as i32,
            *slots.add(7) as i32,
            *slots.add(8),
            *slots.add(9),
            *slots.add(10),
        ) as u64
    }
}

/// Calls the function of this shape at `address`.
///
/// # Safety
/// `address` must be that of a C function of this very shape, the slots must hold its
/// 3 arguments, and the call itself must be sound.
#[must_use]
pub unsafe fn i_lil(address: usize, slots: *const u64) -> u64 {
    // SAFETY: the caller vouches for the address, the slots and the call.
    unsafe {
        let function: unsafe extern "C" fn(u64, i32, u64) -> i32 = std::mem::transmute(address);
        function(*slots, *slots.add(1) as i32, *slots.add(2)) as u64
    }
}

/// Calls the function of this shape at `address`.
///
/// # Safety
/// `address` must be that of a C function of this very shape, the slots must hold its
/// 11 arguments, and the call itself must be sound.
#[must_use]
pub unsafe fn i_lilliiliiii(address: usize, slots: *const u64) -> u64 {
    // SAFETY: the caller vouches for the address, the slots and the call.
    unsafe {
        let function: unsafe extern "C" fn(
            u64,
            i32,
            u64,
            u64,
            i32,
            i32,
            u64,
            i32,
            i32,
            i32,
            i32,
        ) -> i32 = std::mem::transmute(address);
        function(
            *slots,
            *slots.add(1) as i32,
            *slots.add(2),
            *slots.add(3),
            *slots.add(4) as i32,
            *slots.add(5) as i32,
            *slots.add(6),
            *slots.add(7) as i32,
            *slots.add(8) as i32,
            *slots.add(9) as i32,
            *slots.add(10) as i32,
        ) as u64
    }
}

/// Calls the function of this shape at `address`.
///
/// # Safety
/// `address` must be that of a C function of this very shape, the slots must hold its
/// 2 arguments, and the call itself must be sound.
#[must_use]
pub unsafe fn i_ll(address: usize, slots: *const u64) -> u64 {
    // SAFETY: the caller vouches for the address, the slots and the call.
    unsafe {
        let function: unsafe extern "C" fn(u64, u64) -> i32 = std::mem::transmute(address);
        function(*slots, *slots.add(1)) as u64
    }
}

/// Calls the function of this shape at `address`.
///
/// # Safety
/// `address` must be that of a C function of this very shape, the slots must hold its
/// 3 arguments, and the call itself must be sound.
#[must_use]
pub unsafe fn i_lli(address: usize, slots: *const u64) -> u64 {
    // SAFETY: the caller vouches for the address, the slots and the call.
    unsafe {
        let function: unsafe extern "C" fn(u64, u64, i32) -> i32 = std::mem::transmute(address);
        function(*slots, *slots.add(1), *slots.add(2) as i32) as u64
    }
}

/// Calls the function of this shape at `address`.
///
/// # Safety
/// `address` must be that of a C function of this very shape, the slots must hold its
/// 3 arguments, and the call itself must be sound.
#[must_use]
pub unsafe fn i_lll(address: usize, slots: *const u64) -> u64 {
    // SAFETY: the caller vouches for the address, the slots and the call.
    unsafe {
        let function: unsafe extern "C" fn(u64, u64, u64) -> i32 = std::mem::transmute(address);
        function(*slots, *slots.add(1), *slots.add(2)) as u64
    }
}

/// Calls the function of this shape at `address`.
///
/// # Safety
/// `address` must be that of a C function of this very shape, the slots must hold its
/// 4 arguments, and the call itself must be sound.
#[must_use]
pub unsafe fn i_llll(address: usize, slots: *const u64) -> u64 {
    // SAFETY: the caller vouches for the address, the slots and the call.
    unsafe {
        let function: unsafe extern "C" fn(u64, u64, u64, u64) -> i32 =
            std::mem::transmute(address);
        function(*slots, *slots.add(1), *slots.add(2), *slots.add(3)) as u64
    }
}

/// Calls the function of this shape at `address`.
///
/// # Safety
/// `address` must be that of a C function of this very shape, the slots must hold its
/// 6 arguments, and the call itself must be sound.
#[must_use]
pub unsafe fn i_llllll(address: usize, slots: *const u64) -> u64 {
    // SAFETY: the caller vouches for the address, the slots and the call.
    unsafe {
        let function: unsafe extern "C" fn(u64, u64, u64, u64, u64, u64) -> i32 =
            std::mem::transmute(address);
        function(*slots, *slots.add(1), *slots.add(2), *slots.add(3), *slots.add(4), *slots.add(5))
            as u64
    }
}

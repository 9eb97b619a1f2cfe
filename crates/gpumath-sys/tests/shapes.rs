//! Every kind of slot reaches C as its type, and comes back.

use std::cell::Cell;

use gpumath_sys::generated::{cufft, driver, shapes};

thread_local! {
    static SEEN: Cell<[u64; 11]> = const { Cell::new([0; 11]) };
}

extern "C" fn status(code: i32) -> i32 {
    code
}

extern "C" fn fill(address: u64, byte: u8, count: u64, stream: u64) -> i32 {
    SEEN.set([address, u64::from(byte), count, stream, 0, 0, 0, 0, 0, 0, 0]);
    0
}

#[allow(clippy::too_many_arguments, reason = "as in C")]
extern "C" fn launch(
    function: u64,
    gx: u32,
    gy: u32,
    gz: u32,
    bx: u32,
    by: u32,
    bz: u32,
    shared: u32,
    stream: u64,
    parameters: u64,
    extra: u64,
) -> i32 {
    let [gx, gy, gz, bx, by, bz, shared] = [gx, gy, gz, bx, by, bz, shared].map(u64::from);
    SEEN.set([function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra]);
    -7
}

#[test]
fn a_negative_status_keeps_its_sign() {
    for code in [0, 1, -1, i32::MIN, i32::MAX] {
        // What is above the 32 bits must not matter.
        let slots = [u64::from(code as u32) | 0xABCD << 32];
        // SAFETY: `status` has the shape `i_i`.
        let returned = unsafe { shapes::i_i(status as *const () as usize, slots.as_ptr()) };
        assert_eq!(returned as i32, code);
    }
}

#[test]
fn bytes_and_addresses_reach_c() {
    let slots = [u64::MAX, 0xFF5A, 1 << 40, 3];
    // SAFETY: `fill` has the shape `i_lbll`.
    let returned = unsafe { shapes::i_lbll(fill as *const () as usize, slots.as_ptr()) };
    assert_eq!(returned, 0);
    assert_eq!(SEEN.get()[..4], [u64::MAX, 0x5A, 1 << 40, 3]);
}

#[test]
fn arguments_beyond_the_registers_reach_c() {
    let slots = [1 << 60, 2, 3, 4, 5, 6, 7, u64::from(u32::MAX), 9 << 40, 10, 11];
    // SAFETY: `launch` has the shape `i_liiiiiiilll`.
    let returned = unsafe { shapes::i_liiiiiiilll(launch as *const () as usize, slots.as_ptr()) };
    assert_eq!(returned as i32, -7);
    assert_eq!(SEEN.get(), slots);
}

#[test]
fn rows_are_complete() {
    for symbols in [cufft::SYMBOLS, driver::SYMBOLS] {
        for symbol in symbols {
            assert!(symbol.since <= symbol.until, "{symbol:?}");
            assert!(symbol.address().is_none(), "{symbol:?}");
        }
        let mut names: Vec<_> = symbols.iter().map(|symbol| symbol.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), symbols.len());
        assert!(names.len() > 50);
    }
}

//! Every kind of slot reaches C as its type, and comes back.

use std::cell::Cell;

use gpumath_sys::generated::{MODULES, shapes};
use gpumath_sys::table::{ByValueStruct, Complex};

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

extern "C" fn compress_wide(
    handle: u64,
    rows: i32,
    descriptor: u64,
    values: u64,
    offsets: u64,
    counts: u64,
    total: u64,
    tolerance: Complex<f64>,
) -> i32 {
    let [re, im] = [tolerance.re, tolerance.im].map(f64::to_bits);
    SEEN.set([handle, rows as u64, descriptor, values, offsets, counts, total, re, im, 0, 0]);
    0
}

#[test]
fn complex_numbers_by_value_reach_c() {
    let tolerance = [1.5_f64, -0.0];
    let slots = [9, 8, 7, 6, 5, 4, 3, tolerance.as_ptr() as u64];
    // SAFETY: `compress_wide` has the shape `i_lilllllz`, and its number is alive.
    let returned =
        unsafe { shapes::i_lilllllz(compress_wide as *const () as usize, slots.as_ptr()) };
    assert_eq!(returned, 0);
    let [re, im] = tolerance.map(f64::to_bits);
    assert_eq!(SEEN.get(), [9, 8, 7, 6, 5, 4, 3, re, im, 0, 0]);
}

extern "C" fn compress(
    handle: u64,
    rows: i32,
    descriptor: u64,
    values: u64,
    offsets: u64,
    counts: u64,
    total: u64,
    tolerance: Complex<f32>,
) -> i32 {
    let [re, im] = [tolerance.re, tolerance.im].map(f32::to_bits).map(u64::from);
    SEEN.set([handle, rows as u64, descriptor, values, offsets, counts, total, re, im, 0, 0]);
    0
}

#[test]
fn single_precision_complex_numbers_by_value_reach_c() {
    let (re, im) = (0.25_f32.to_bits(), (-3.0_f32).to_bits());
    let slots = [9, 8, 7, 6, 5, 4, 3, u64::from(re) | u64::from(im) << 32];
    // SAFETY: `compress` has the shape `i_lilllllx`.
    let returned = unsafe { shapes::i_lilllllx(compress as *const () as usize, slots.as_ptr()) };
    assert_eq!(returned, 0);
    assert_eq!(SEEN.get(), [9, 8, 7, 6, 5, 4, 3, u64::from(re), u64::from(im), 0, 0]);
}

extern "C" fn advise(
    address: u64,
    count: u64,
    place: ByValueStruct<[u32; 2]>,
    advice: i32,
    end: u64,
) -> i32 {
    let ByValueStruct([kind, id]) = place;
    SEEN.set([address, count, u64::from(kind), u64::from(id), advice as u64, end, 0, 0, 0, 0, 0]);
    0
}

extern "C" fn open_memory(address: u64, handle: ByValueStruct<[u8; 64]>, flags: i32) -> i32 {
    let sum: u64 = handle.0.into_iter().map(u64::from).sum();
    SEEN.set([address, sum, flags as u64, u64::from(handle.0[63]), 0, 0, 0, 0, 0, 0, 0]);
    0
}

#[test]
fn structs_by_value_reach_c_from_any_address() {
    let bytes: Vec<u8> = (0..=64).collect();
    // Off by one, so that it is aligned to nothing.
    let slots = [1 << 40, bytes.as_ptr() as u64 + 1, 5];
    // SAFETY: `open_memory` has the shape `i_ls64a1i`, and its struct is alive.
    let returned = unsafe { shapes::i_ls64a1i(open_memory as *const () as usize, slots.as_ptr()) };
    assert_eq!(returned, 0);
    assert_eq!(SEEN.get()[..4], [1 << 40, 64 * 65 / 2, 5, 64]);

    let place = [2_u32, u32::MAX];
    let slots = [1, 2, place.as_ptr() as u64, 3, 4];
    // SAFETY: `advise` has the shape `i_lls8a4il`, and its struct is alive.
    let returned = unsafe { shapes::i_lls8a4il(advise as *const () as usize, slots.as_ptr()) };
    assert_eq!(returned, 0);
    assert_eq!(SEEN.get()[..6], [1, 2, 2, u64::from(u32::MAX), 3, 4]);
}

#[test]
fn rows_are_complete() {
    assert!(MODULES.len() >= 2);
    for (module, symbols) in MODULES {
        for symbol in *symbols {
            assert_eq!(symbol.library, *module);
            assert!(symbol.since <= symbol.until, "{symbol:?}");
            assert!(symbol.address().is_none(), "{symbol:?}");
        }
        let mut names: Vec<_> = symbols.iter().map(|symbol| symbol.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), symbols.len());
        assert!(!names.is_empty());
    }
}

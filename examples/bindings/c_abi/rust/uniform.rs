//! Uniform random numbers from cuRAND, in Rust: a library that calls cuRAND itself.
//!
//! Build it with one command (or: python examples/bindings/c_abi/run.py rust):
//!
//!     rustc --edition 2024 -O --crate-type cdylib uniform.rs -o uniform.so

mod gpumath;

use std::ffi::{CStr, c_char, c_int, c_ulonglong, c_void};
use std::sync::OnceLock;

type Generator = *mut c_void;

/// The functions of cuRAND, typed as in curand.h.
struct Curand {
    create: unsafe extern "C" fn(*mut Generator, c_int) -> c_int,
    set_seed: unsafe extern "C" fn(Generator, c_ulonglong) -> c_int,
    generate: unsafe extern "C" fn(Generator, *mut f64, usize) -> c_int,
    destroy: unsafe extern "C" fn(Generator) -> c_int,
}

const CURAND_RNG_PSEUDO_PHILOX4_32_10: c_int = 161;

static API: OnceLock<&'static gpumath::Api> = OnceLock::new();

impl Curand {
    fn new() -> Result<Self, String> {
        let api = API.get().ok_or("uniform_import was not called")?;
        let address = |name: &CStr| api.function(name);
        // SAFETY: each address is that of the C function with this name, and curand.h gives it the
        // field's type.
        unsafe {
            Ok(Self {
                create: std::mem::transmute(address(c"curand.curandCreateGeneratorHost")?),
                set_seed: std::mem::transmute(address(
                    c"curand.curandSetPseudoRandomGeneratorSeed",
                )?),
                generate: std::mem::transmute(address(c"curand.curandGenerateUniformDouble")?),
                destroy: std::mem::transmute(address(c"curand.curandDestroyGenerator")?),
            })
        }
    }

    fn fill(&self, seed: u64, values: &mut [f64]) -> Result<(), String> {
        let mut generator = std::ptr::null_mut();
        // SAFETY: cuRAND writes one generator to a live variable, and `values.len()` numbers to
        // `values`.
        unsafe {
            check((self.create)(&mut generator, CURAND_RNG_PSEUDO_PHILOX4_32_10))?;
            let seeded = check((self.set_seed)(generator, seed));
            let made = seeded.and_then(|()| {
                check((self.generate)(generator, values.as_mut_ptr(), values.len()))
            });
            check((self.destroy)(generator)).and(made)
        }
    }
}

fn check(status: c_int) -> Result<(), String> {
    if status == 0 { Ok(()) } else { Err(format!("cuRAND returned status {status}")) }
}

/// Stores the table of gpumath. Returns 1, or 0 with a Python exception set. The caller must hold
/// Python's interpreter lock.
#[unsafe(no_mangle)]
pub extern "C" fn uniform_import() -> c_int {
    // SAFETY: the caller holds the interpreter lock.
    let Some(api) = (unsafe { gpumath::Api::import() }) else { return 0 };
    API.get_or_init(|| api);
    1
}

/// Fills `values` with `count` doubles. `message` gets a text of at most `size` bytes, which is
/// empty on success.
///
/// # Safety
/// `values` must be valid for writes of `count` doubles, and `message` for writes of `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uniform_fill(
    seed: u64,
    values: *mut f64,
    count: usize,
    message: *mut c_char,
    size: usize,
) {
    // SAFETY: the caller guarantees that both pointers are valid for writes of these lengths.
    let (values, message) = unsafe {
        (
            std::slice::from_raw_parts_mut(values, count),
            std::slice::from_raw_parts_mut(message.cast::<u8>(), size),
        )
    };
    let result = Curand::new().and_then(|curand| curand.fill(seed, values));
    let text = result.err().unwrap_or_default();
    message.fill(0);
    let room = size.saturating_sub(1);
    for (byte, &letter) in message[..room].iter_mut().zip(text.as_bytes()) {
        *byte = letter;
    }
}

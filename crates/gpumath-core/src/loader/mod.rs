//! Where the CUDA libraries are (seed; the loader worker replaces this file).
use crate::error::{Error, Result};
use gpumath_sys::table::{Function, Symbol};

/// The callable for a table row, loading its library first if need be.
pub fn function<F: Copy>(function: &'static Function<F>) -> Result<F> {
    let address = address(function.symbol())?;
    // SAFETY: `address` looked this very symbol up.
    Ok(unsafe { function.at(address) })
}

/// The address for a table row, loading its library first if need be.
pub fn address(symbol: &'static Symbol) -> Result<usize> {
    symbol.address().ok_or_else(|| Error::InvalidState("the loader is not there yet".into()))
}

//! Tables of the functions of the CUDA libraries, whose addresses are looked up at the first use.
//!
//! This crate has the facts of each function (its names, its releases, and the C type of those that
//! `gpumath_core` calls itself) and the unsafe casts that turn an address into a call. It does not
//! decide which file is opened, because that is the task of `gpumath_core::loader`.

#[cfg(unix)]
mod damage;
pub mod dynlib;
#[cfg(unix)]
mod elf;
#[cfg(unix)]
pub mod fork;
pub mod generated;
#[cfg(unix)]
mod ld_cache;
mod shape;
pub mod table;

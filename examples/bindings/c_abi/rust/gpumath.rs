//! The C ABI of gpumath-bindings (`gpumath.h`) for Rust. Copy this file; it needs no crate.
#![allow(dead_code, reason = "a program needs only some of the functions")]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

/// The version of the C ABI that this file describes.
const ABI_VERSION: u32 = 1;

/// The table of functions: `gpumath_api` in the header, which documents them.
#[repr(C)]
pub struct Api {
    abi_version: u32,
    size: u32,
    pub function: unsafe extern "C" fn(*const c_char, *mut *mut c_void) -> c_int,
    pub has: unsafe extern "C" fn(*const c_char, *mut c_int) -> c_int,
    pub library_path: unsafe extern "C" fn(*const c_char, *mut *const c_char) -> c_int,
    pub library_version: unsafe extern "C" fn(*const c_char, *mut [c_int; 3]) -> c_int,
    pub last_error: unsafe extern "C" fn() -> *const c_char,
}

// The functions of Python's own C API that are needed. A program that uses PyO3 has them in
// `pyo3::ffi`.
unsafe extern "C" {
    static PyExc_ImportError: *mut c_void;
    fn PyImport_ImportModule(name: *const c_char) -> *mut c_void;
    fn PyObject_GetAttrString(object: *mut c_void, name: *const c_char) -> *mut c_void;
    fn PyCapsule_GetPointer(capsule: *mut c_void, name: *const c_char) -> *mut c_void;
    fn PyErr_Format(exception: *mut c_void, format: *const c_char, ...) -> *mut c_void;
    fn Py_DecRef(object: *mut c_void);
}

impl Api {
    /// Returns the table of the installed gpumath-bindings, or `None` with a Python exception set.
    ///
    /// # Safety
    /// The thread must hold Python's interpreter lock.
    pub unsafe fn import() -> Option<&'static Self> {
        // SAFETY: the caller holds the interpreter lock. The table is static, so it outlives the
        // capsule.
        unsafe {
            let module = PyImport_ImportModule(c"gpumath.bindings.core".as_ptr());
            if module.is_null() {
                return None;
            }
            let capsule = PyObject_GetAttrString(module, c"_C_API".as_ptr());
            Py_DecRef(module);
            if capsule.is_null() {
                return None;
            }
            let api = PyCapsule_GetPointer(capsule, c"gpumath.bindings.core._C_API".as_ptr());
            Py_DecRef(capsule);
            let api = api.cast::<Self>();
            if api.is_null() {
                return None;
            }
            // Read through the pointer, not a reference, because an older table is smaller than
            // `Self`.
            let (version, size) = ((*api).abi_version, (*api).size as usize);
            if version != ABI_VERSION || size < size_of::<Self>() {
                let text = c"built for version %u of gpumath's C ABI, %u bytes or more; the \
                             installed gpumath-bindings has version %u, %u bytes";
                let own = size_of::<Self>() as c_uint;
                let text = text.as_ptr();
                PyErr_Format(PyExc_ImportError, text, ABI_VERSION, own, version, size as c_uint);
                return None;
            }
            Some(&*api)
        }
    }

    /// Returns the address of a function, or the error message. Any thread may call it.
    pub fn function(&self, name: &CStr) -> Result<*mut c_void, String> {
        let mut address = std::ptr::null_mut();
        // SAFETY: the name is NUL-terminated, and the address is written to a live variable.
        let status = unsafe { (self.function)(name.as_ptr(), &mut address) };
        if status == 0 { Ok(address) } else { Err(self.last_error()) }
    }

    fn last_error(&self) -> String {
        // SAFETY: the text is valid until this thread's next failure.
        let text = unsafe { CStr::from_ptr((self.last_error)()) };
        text.to_string_lossy().into_owned()
    }
}

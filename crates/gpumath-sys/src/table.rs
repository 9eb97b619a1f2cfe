//! The row of a C function: its names, its releases, its C type, and its address once that is
//! known.

use std::fmt::{self, Display, Formatter};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A release of the CUDA toolkit, such as 12.9, or of a library that is no part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release {
    /// Major number.
    pub major: u16,
    /// Minor number.
    pub minor: u16,
    /// Patch number; 0 for toolkits, because two numbers tell them apart.
    pub patch: u16,
}

impl Release {
    /// Creates a release of three numbers.
    #[must_use]
    pub const fn new(major: u16, minor: u16, patch: u16) -> Self {
        Self { major, minor, patch }
    }

    /// Reads two or three numbers with dots between them, such as `12.9`.
    pub(crate) const fn parse(text: &str) -> Self {
        let (bytes, mut numbers, mut index, mut position) = (text.as_bytes(), [0; 3], 0, 0);
        while position < bytes.len() {
            if bytes[position] == b'.' {
                index += 1;
            } else {
                numbers[index] = 10 * numbers[index] + (bytes[position] - b'0') as u16;
            }
            position += 1;
        }
        Self::new(numbers[0], numbers[1], numbers[2])
    }
}

impl Display for Release {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        if self.patch == 0 { Ok(()) } else { write!(f, ".{}", self.patch) }
    }
}

/// A status of a library: its number, its name in the header, and what it usually means (empty if
/// the name says that).
pub type StatusRow = (i32, &'static str, &'static str);

/// A complex number with C's layout, the real part first.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Complex<T> {
    /// Real part.
    pub re: T,
    /// Imaginary part.
    pub im: T,
}

impl Complex<f32> {
    /// Creates a number from its bits. The real part is in the lower half.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self { re: f32::from_bits(bits as u32), im: f32::from_bits((bits >> 32) as u32) }
    }
}

/// A C struct that is passed by value and has no floating point members. `T` is an array of
/// integers with the struct's size and alignment.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ByValueStruct<T>(pub T);

/// The row of a function of a CUDA library. Its address is looked up when it is first called.
#[derive(Debug)]
pub struct Symbol {
    /// Name of the module that binds the function, such as `"cufft"`.
    pub library: &'static str,
    /// Python name, such as `"exec_c2c"`.
    pub name: &'static str,
    /// Name in the header, such as `"cufftExecC2C"`.
    pub c_name: &'static str,
    /// Name that the library exports; not `c_name` if the header maps that to another one, as it
    /// maps `cuMemAlloc` to `cuMemAlloc_v2`.
    pub symbol: &'static str,
    /// First release that has the function, of those whose headers codegen has read.
    pub since: Release,
    /// Last release that has the function, of those whose headers codegen has read.
    pub until: Release,
    /// The library's own versions that have this signature: the first one, and the first one after
    /// them that does not; `None` where there is no limit.
    pub versions: (Option<Release>, Option<Release>),
    /// Address in the open library; 0 until it is known.
    address: AtomicUsize,
}

impl Symbol {
    /// Creates a row whose address is not known yet.
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

    /// Restricts the row to versions of the library: from `from`, before `before`. This is for
    /// symbols whose signature has changed, because each signature has its own row.
    #[must_use]
    pub const fn within(mut self, from: Option<Release>, before: Option<Release>) -> Self {
        self.versions = (from, before);
        self
    }

    /// Returns the address, or `None` until [`set_address`](Self::set_address) was called.
    #[must_use]
    pub fn address(&self) -> Option<usize> {
        match self.address.load(Ordering::Acquire) {
            0 => None,
            address => Some(address),
        }
    }

    /// Stores the address that the loader found.
    pub fn set_address(&self, address: usize) {
        self.address.store(address, Ordering::Release);
    }
}

/// A [`Symbol`] with its exact C type `F`, an `unsafe extern "C" fn`. For a function that
/// `gpumath_core` does not call itself, `F` is [`Untyped`].
#[derive(Debug)]
pub struct Function<F> {
    symbol: Symbol,
    signature: PhantomData<F>,
}

/// In place of the C type of a function that is only called through its shape. `core_calls` in
/// `codegen/rules` lists the functions that have their C type.
#[derive(Clone, Copy, Debug)]
pub struct Untyped;

impl<F: Copy> Function<F> {
    /// Creates a row with its C type. `F` must be an `unsafe extern "C" fn` of the signature in the
    /// header, or [`Untyped`].
    #[must_use]
    pub const fn new(symbol: Symbol) -> Self {
        Self { symbol, signature: PhantomData }
    }

    /// Returns the row without its type.
    #[must_use]
    pub const fn symbol(&self) -> &Symbol {
        &self.symbol
    }

    /// Returns the callable at `address`. For an [`Untyped`] function this does not compile:
    ///
    /// ```compile_fail
    /// let function = &gpumath_sys::generated::cufft::ESTIMATE1D;
    /// // SAFETY: none, this is not compiled.
    /// let _ = unsafe { function.at(1) };
    /// ```
    ///
    /// # Safety
    /// - `address` is that of this function's own symbol in an open library.
    /// - The library stays open as long as the callable is used.
    #[must_use]
    pub unsafe fn at(&self, address: usize) -> F {
        const {
            assert!(size_of::<F>() == size_of::<usize>(), "add the function to `core_calls`");
        }
        // SAFETY: `F` has the size of an address. The caller guarantees that the function at
        // `address` is this one, and `F` is its type.
        unsafe { std::mem::transmute_copy(&address) }
    }
}

/// Defines the rows of a library, one line a function:
///
/// ```text
/// STATIC python_name cName "since" "until";
/// STATIC python_name cName = symbol "since" "until" within("from", "before") fn(i32) -> i32;
/// ```
///
/// The symbol is there where it is not the C name, `within` where the signature has changed under
/// one symbol (`""` is no limit), and the C type where `gpumath_core` calls the function.
macro_rules! symbols {
    ($library:literal; $(
        $row:ident $name:ident $c_name:ident $(= $symbol:ident)? $since:literal $until:literal
        $(within($from:literal, $before:literal))?
        $(fn($($parameter:ty),*) $(-> $result:ty)?)? ;
    )*) => {
        $(
            #[doc = concat!("`", stringify!($c_name), "`, ", $since, " to ", $until, ".")]
            pub static $row: $crate::table::Function<
                $crate::table::signature!($(fn($($parameter),*) $(-> $result)?)?)
            > = $crate::table::Function::new($crate::table::Symbol::new(
                $library,
                stringify!($name),
                stringify!($c_name),
                $crate::table::last([stringify!($c_name) $(, stringify!($symbol))?]),
                $crate::table::Release::parse($since),
                $crate::table::Release::parse($until),
            )$(.within($crate::table::limit($from), $crate::table::limit($before)))?);
        )*

        /// Every row.
        pub static SYMBOLS: &[&$crate::table::Symbol] = &[$($row.symbol()),*];
    };
}
pub(crate) use symbols;

/// The type of a function, or [`Untyped`] if there is none.
macro_rules! signature {
    () => { $crate::table::Untyped };
    (fn($($parameter:ty),*) $(-> $result:ty)?) => {
        unsafe extern "C" fn($($parameter),*) $(-> $result)?
    };
}
pub(crate) use signature;

/// Returns the last of some texts.
pub(crate) const fn last<const N: usize>(texts: [&'static str; N]) -> &'static str {
    texts[N - 1]
}

/// Reads a release; an empty text is no limit.
pub(crate) const fn limit(text: &str) -> Option<Release> {
    if text.is_empty() { None } else { Some(Release::parse(text)) }
}

//! What the generated tables are made of: the specs of the C functions.

use gpumath_core::process::SetOnce;
use gpumath_sys::table::Symbol;

/// A module of C functions, with what their documentation needs.
pub(crate) struct Library {
    /// Python name of the module.
    pub(crate) name: &'static str,
    /// Class of the exception for a status other than 0.
    pub(crate) error: &'static str,
    /// Whose releases the symbols name: `"CUDA"`, or the library.
    pub(crate) release_of: &'static str,
    /// Address of NVIDIA's documentation.
    pub(crate) docs: &'static str,
    /// The C types of all parameters.
    pub(crate) types: &'static [CType],
    /// The functions.
    pub(crate) functions: &'static [FunctionSpec],
    /// Whether the module has its functions already.
    pub(crate) filled: SetOnce<()>,
}

/// A C type.
pub(crate) struct CType {
    /// In C's spelling.
    pub(crate) text: &'static str,
    /// What passes it by value.
    pub(crate) value: Value,
    /// The Python enum that has its values; empty if there is none.
    pub(crate) python_enum: &'static str,
}

/// All that the call of a C function depends on: one row of the generated tables.
pub(crate) struct FunctionSpec {
    /// First line of the documentation.
    pub(crate) summary: &'static str,
    /// The library and the exported symbol of the C function.
    pub(crate) symbol: &'static Symbol,
    /// All C parameters, in C's order.
    pub(crate) parameters: &'static [Parameter],
    /// Number of parameters that Python passes.
    pub(crate) inputs: usize,
    /// The trampoline of its ABI shape: calls an address with one slot for each parameter.
    pub(crate) shape: unsafe fn(usize, *const u64) -> u64,
    /// What the C function returns.
    pub(crate) returns: Returns,
    /// Whether the GIL is kept, because the call is shorter than releasing it.
    pub(crate) keep_gil: bool,
}

/// A C parameter.
pub(crate) struct Parameter {
    /// Python name.
    pub(crate) name: &'static str,
    /// How Python and C exchange it.
    pub(crate) kind: ParameterKind,
    /// Whether 0 is refused, because the library would crash on it.
    pub(crate) not_null: bool,
    /// Index of its C type in [`Library::types`].
    pub(crate) c_type: u16,
}

impl Parameter {
    pub(super) fn is_output(&self) -> bool {
        matches!(self.kind, ParameterKind::Output(_))
    }
}

/// How Python and C exchange an argument.
#[derive(Clone, Copy)]
#[allow(dead_code, reason = "which of them occur depends on the libraries that are generated")]
pub(crate) enum ParameterKind {
    /// A number or an address, by value.
    Value(Value),
    /// An address, or a sequence of numbers, which are copied for the call.
    Sequence(Value, Length),
    /// An address, or a sequence of items that C takes by address: each an address, or a sequence
    /// of numbers, which are copied for the call.
    Nested(Value, Length),
    /// An address, or a sequence of `str` or `bytes`.
    Texts(Length),
    /// An address, or an object with a buffer: `bytes` are used in place, others are copied.
    Bytes(Length),
    /// An address, or an object with a writable buffer, to which C writes elements.
    Buffer(Value, Length),
    /// A struct of so many bytes, by value: its address, or an object with a buffer of that size.
    Struct(u16),
    /// `void **kernelParams` of a kernel launch: values and their types, or addresses.
    KernelParameters,
    /// `void **extra` of a kernel launch: addresses. It is the one argument that can be left out.
    KernelExtra,
    /// The callback for the library's log messages: a callable, a `logging.Logger` or an address.
    Logger,
    /// A `str`, as UTF-8 with a NUL at the end.
    Utf8,
    /// The same, or the address of such a text; 0 is none.
    Utf8OrAddress,
    /// Not an argument of the Python function: C writes the value, Python returns it.
    Output(Value),
}

impl ParameterKind {
    /// Returns what an array's length depends on; `None` if this is no array.
    pub(super) fn length(self) -> Option<Length> {
        match self {
            Self::Sequence(_, length)
            | Self::Nested(_, length)
            | Self::Texts(length)
            | Self::Bytes(length)
            | Self::Buffer(_, length) => Some(length),
            _ => None,
        }
    }
}

/// A C type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "which of them occur depends on the libraries that are generated")]
pub(crate) enum Value {
    /// `signed char`
    I8,
    /// `unsigned char`
    U8,
    /// `short`
    I16,
    /// `unsigned short`
    U16,
    /// `int`, and every enum
    I32,
    /// `unsigned int`
    U32,
    /// `long long`
    I64,
    /// `size_t`
    U64,
    /// Pointers, handles and `CUdeviceptr`
    Address,
    /// `float`
    F32,
    /// `double`
    F64,
    /// `cuComplex`
    C64,
    /// `cuDoubleComplex`
    C128,
    /// A NUL-terminated string that C returns
    Text,
}

/// How many elements of an array C reads or writes.
#[derive(Clone, Copy)]
pub(crate) enum Length {
    /// No argument says how many.
    Unknown,
    /// As many as the Python argument with this index says.
    Argument(u8),
}

/// What a C function returns.
#[derive(Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "which of them occur depends on the libraries that are generated")]
pub(crate) enum Returns {
    /// A status; other than 0 it becomes an exception.
    Status,
    /// A value for Python.
    Value(Value),
    /// Nothing.
    Void,
}

impl FunctionSpec {
    /// Returns the parameters that Python passes.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &'static Parameter> {
        self.parameters.iter().filter(|parameter| !parameter.is_output())
    }

    /// Returns the public name for messages, such as `exec_c2c`. A private function has a public
    /// one around it.
    pub(crate) fn display_name(&self) -> &'static str {
        self.symbol.name.trim_start_matches('_')
    }
}

/// Defines a library: its C types, `NAME = Value "C type" "Python enum"`, and its functions, with
/// the static of the symbol, the ABI shape, the summary, and for each parameter its name and type:
///
/// ```text
/// DESTROY i_i "Free a plan and what it holds on the GPU." (plan cufftHandle);
/// VERSION l_ keep_gil "Return the version." () -> Returns::Value(U64);
/// ```
///
/// A parameter has a kind behind it if it is not passed by value, such as `= Output(I32)`, and
/// `[not_null]` if 0 is refused.
macro_rules! library {
    (
        $module:ident $python:literal $error:literal $release_of:literal $docs:literal
        types { $($type:ident = $value:ident $text:literal $($enumeration:literal)?;)* }
        functions { $(
            $symbol:ident $shape:ident $($keep_gil:ident)? $summary:literal
            ($($name:ident $c_type:ident $([$not_null:ident])? $(= $kind:expr)?),*)
            $(-> $returns:expr)?;
        )* }
    ) => {
        use gpumath_sys::generated::{$module, shapes};

        #[allow(unused_imports, reason = "which of them occur depends on the library")]
        use $crate::call::specs::{
            CType, FunctionSpec, Length::*, Library, Parameter, ParameterKind::*, Returns,
            Value::*, any, inputs_of, last,
        };

        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "C's own names")]
        enum T { $($type),* }

        const TYPES: &[CType] = &[$(
            CType { text: $text, value: $value, python_enum: last(["" $(, $enumeration)?]) }
        ),*];

        /// The module, and every function of it.
        pub(crate) static LIBRARY: Library = Library {
            name: $python,
            error: $error,
            release_of: $release_of,
            docs: $docs,
            types: TYPES,
            functions: &[$({
                const PARAMETERS: &[Parameter] = &[$(Parameter {
                    name: stringify!($name),
                    kind: last([Value(TYPES[T::$c_type as usize].value) $(, $kind)?]),
                    not_null: any(&[$(stringify!($not_null))?]),
                    c_type: T::$c_type as u16,
                }),*];
                FunctionSpec {
                    summary: $summary,
                    symbol: $module::$symbol.symbol(),
                    parameters: PARAMETERS,
                    inputs: inputs_of(PARAMETERS),
                    shape: shapes::$shape,
                    returns: last([Returns::Status $(, $returns)?]),
                    keep_gil: any(&[$(stringify!($keep_gil))?]),
                }
            }),*],
            filled: gpumath_core::process::SetOnce::new(),
        };
    };
}
pub(crate) use library;

/// Returns the last of some values: a default, and perhaps what is given instead.
pub(crate) const fn last<T: Copy, const N: usize>(values: [T; N]) -> T {
    values[N - 1]
}

/// Returns whether a word is given.
pub(crate) const fn any(words: &[&str]) -> bool {
    !words.is_empty()
}

/// Returns how many of the parameters Python passes.
pub(crate) const fn inputs_of(parameters: &[Parameter]) -> usize {
    let (mut count, mut index) = (0, 0);
    while index < parameters.len() {
        if !matches!(parameters[index].kind, ParameterKind::Output(_)) {
            count += 1;
        }
        index += 1;
    }
    count
}

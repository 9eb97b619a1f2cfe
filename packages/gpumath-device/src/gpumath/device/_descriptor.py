"""Descriptors of libmathdx: operators go in, traits and LTO-IR come out."""

from __future__ import annotations

import json
import re
import weakref
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from gpumath.bindings import mathdx, nvrtc
from gpumath.bindings.mathdx import CommondxArchModifier, CommondxOption, LibMathDxError
from gpumath.device._architecture import ComputeCapability, ISAVersion
from gpumath.device._code_cache import cached

__all__ = [
    *("CompiledCode", "Descriptor", "compiled", "compiled_execute", "compiler_refusal"),
    *("explained", "produce_ltoir"),
]

Operators = Mapping[str, int | Sequence[int]]

_MODIFIERS = {"a": CommondxArchModifier.ARCH_SPECIFIC, "f": CommondxArchModifier.FAMILY_SPECIFIC}


class CompiledCode(NamedTuple):
    """LTO-IR, and the names of the functions in it."""

    symbols: tuple[str, ...]
    isa_version: ISAVersion
    ltoir: bytes


class Descriptor:
    """One descriptor of libmathdx, which is destroyed with this object.

    Parameters
    ----------
    library : {'cufftdx', 'cublasdx', 'cusolverdx', 'curanddx'}
        Library inside libmathdx, as the functions of the bindings begin.
    operators : mapping from str to int or sequence of int
        What is to be computed: values of the members of the library's ``…OperatorType``.
    """

    def __init__(self, library: str, operators: Operators) -> None:
        self.library = library
        self.handle: int = self._call("create_descriptor")
        weakref.finalize(self, self._function("destroy_descriptor"), self.handle)
        numbers = getattr(mathdx, f"{library.capitalize()}OperatorType")
        for name, value in operators.items():
            if isinstance(value, int):
                self._call("set_operator_int64", self.handle, numbers[name], value)
            else:
                values = list(value)
                self._call("set_operator_int64s", self.handle, numbers[name], len(values), values)

    def _function(self, name: str) -> Callable[..., Any]:
        function: Callable[..., Any] = getattr(mathdx, f"{self.library}_{name}")
        return function

    def _call(self, name: str, *arguments: Any) -> Any:
        return self._function(name)(*arguments)

    def _trait(self, name: str) -> int:
        return int(getattr(mathdx, f"{self.library.capitalize()}TraitType")[name])

    def finalize(self, code: int) -> None:
        """Compile the function ``execute`` into a code object."""
        self._call("finalize_code", code, self.handle)

    def integer(self, trait: str) -> int:
        """Return a trait that is a number."""
        return int(self._call("get_trait_int64", self.handle, self._trait(trait)))

    def integers(self, trait: str, count: int) -> tuple[int, ...]:
        """Return a trait that is ``count`` numbers."""
        values = array("q", [0] * count)
        self._call("get_trait_int64s", self.handle, self._trait(trait), count, values)
        return tuple(values)

    def text(self, trait: str) -> str:
        """Return a trait that is a text."""
        number = self._trait(trait)
        size = self._call("get_trait_str_size", self.handle, number)
        text = bytearray(size)
        self._call("get_trait_str", self.handle, number, size, text)
        return text[:-1].decode()

    def value_types(self, trait: str, count: int) -> tuple[int, ...]:
        """Return a trait that is ``count`` types of numbers, as ``CommondxValueType``."""
        values = array("i", [0] * count)
        self._call("get_trait_commondx_data_types", self.handle, self._trait(trait), count, values)
        return tuple(values)


def produce_ltoir(
    target: ComputeCapability, finalize: Callable[[int], None]
) -> tuple[ISAVersion, bytes]:
    """Compile: ``finalize`` gets a code object and fills it. No other Python code runs meanwhile.

    Other threads do run, because libmathdx is called without the GIL.
    """
    refusal = compiler_refusal(target)
    if refusal:
        raise ValueError(refusal)
    code = mathdx.commondx_create_code()
    try:
        architecture = [target.integer]
        if target.arch:
            architecture.append(_MODIFIERS[target.arch])
        option = CommondxOption.TARGET_SM
        mathdx.commondx_set_code_option_int64s(code, option, len(architecture), architecture)
        # The optimizer runs now, once, instead of whenever a kernel is linked.
        optimize = "-gen-opt-lto"
        mathdx.commondx_set_code_option_str(code, CommondxOption.EXTRA_NVRTC_ARGS, optimize)
        finalize(code)
        size = mathdx.commondx_get_code_ltoir_size(code)
        ltoir = bytearray(size)
        mathdx.commondx_get_code_ltoir(code, size, ltoir)
        isa = mathdx.commondx_get_code_option_int64(code, CommondxOption.CODE_ISA)
        return ISAVersion.from_integer(isa), bytes(ltoir)
    finally:
        mathdx.commondx_destroy_code(code)


def compiler_refusal(target: ComputeCapability) -> str | None:
    """Return why NVRTC cannot compile for these GPUs, or None if it can."""
    known = sorted(nvrtc.get_supported_archs())
    if 10 * target.major + target.minor in known:
        return None
    version = ".".join(map(str, nvrtc.version()))
    names = ", ".join(f"{number // 10}.{number % 10}" for number in known)
    return (
        f"NVRTC {version} compiles for the compute capabilities {names}, and not for {target}; "
        "CUDA 13 no longer has 7.0 and 7.2, and CUDA 12 does not have all newer ones"
    )


def compiled(
    kind: str,
    key: tuple[object, ...],
    target: ComputeCapability,
    compile_now: Callable[[], tuple[Sequence[str], ISAVersion, bytes]],
) -> CompiledCode:
    """Return code from the cache, or compile it now.

    Parameters
    ----------
    kind : str
        Kind of code, such as ``'fft'``.
    key : tuple
        All that describes the code but the target and the versions of the libraries.
    target : ComputeCapability
        GPUs that the code is for.
    compile_now : callable
        Returns the names of the functions, the version of the instruction set, and the LTO-IR.
    """

    def packed() -> bytes:
        symbols, isa, ltoir = compile_now()
        return json.dumps([list(symbols), isa]).encode() + b"\n" + ltoir

    head, _, ltoir = cached(kind, (*key, str(target)), packed).partition(b"\n")
    symbols, isa = json.loads(head)
    return CompiledCode(tuple(symbols), ISAVersion(*isa), ltoir)


def compiled_execute(
    library: str, operators: Operators, target: ComputeCapability, asked: object
) -> CompiledCode:
    """Return the code of the function ``execute`` that operators describe.

    Parameters
    ----------
    library, operators : str, mapping
        As for `Descriptor`.
    target : ComputeCapability
        GPUs that the code is for.
    asked : object
        What the user has described.
    """

    def compile_now() -> tuple[Sequence[str], ISAVersion, bytes]:
        with explained(repr(asked)):
            descriptor = Descriptor(library, operators)
            isa, ltoir = produce_ltoir(target, descriptor.finalize)
            return [descriptor.text("SYMBOL_NAME")], isa, ltoir

    return compiled(library, tuple(sorted(operators.items())), target, compile_now)


@contextmanager
def explained(asked: str) -> Iterator[None]:
    """Turn a refusal of libmathdx into a ValueError that says what was asked and why not.

    Parameters
    ----------
    asked : str
        What the user asked for.
    """
    try:
        yield
    except LibMathDxError as error:
        reason = _reason(_last_error()) or str(error)
        msg = f"libmathdx cannot compile {asked}: {reason}"
        raise ValueError(msg) from error


def _reason(log: str) -> str:
    """Return what the log of a compilation says, in short."""
    assertion = re.search(r'static assertion failed with "([^"]*)"', log)
    if assertion:
        return assertion[1]
    if "cannot open source file" in log:
        version = mathdx.get_version_ex()
        return (
            f"libmathdx {'.'.join(map(str, version))} does not work with NVRTC "
            f"{'.'.join(map(str, nvrtc.version()))}, some of whose headers have moved. "
            "To fix it: pip install --upgrade nvidia-libmathdx-cu13, "
            "or pip install 'nvidia-cuda-nvrtc<13.5'"
        )
    errors = [line for line in log.splitlines() if "error" in line]
    return "\n".join(errors[:3])


def _last_error() -> str:
    """Return what libmathdx has written about its last error, if it has."""
    with suppress(LibMathDxError):
        size = mathdx.commondx_get_last_error_str_size()
        text = bytearray(size)
        mathdx.commondx_get_last_error_str(size, text)
        return text.rstrip(b"\0").decode(errors="replace")
    return ""

"""A DLPack producer made by hand, which may break the rules, and counts calls of its deleter."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

_CODES = {"b": 6, "i": 0, "u": 1, "f": 2, "c": 5}


class Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Plain(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = (("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", _DELETER))


class Versioned(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", _DELETER),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    )


def _api(name: str, result: Any, *arguments: Any) -> Any:
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_new_capsule = _api(
    "PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
)
_name_of = _api("PyCapsule_GetName", ctypes.c_char_p, ctypes.py_object)
_content_of = _api("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
_rename = _api("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)

# What C still points to.
_ALIVE: list[object] = []


def new_capsule(address: int, name: bytes) -> Any:
    """A capsule without destructor."""
    _ALIVE.append(name)
    return _new_capsule(address, name, None)


def name_of(capsule: Any) -> bytes:
    """Name of a capsule."""
    name: bytes = _name_of(capsule)
    return name


def content_of(capsule: Any) -> Plain | Versioned:
    """Return the struct of a DLPack capsule, which stays its owner."""
    name = name_of(capsule)
    structure = Versioned if name == b"dltensor_versioned" else Plain
    return structure.from_address(_content_of(capsule, name))


def take(capsule: Any) -> Plain | Versioned:
    """Take the struct out of a DLPack capsule; the caller has to call its deleter."""
    content = content_of(capsule)
    used = b"used_" + name_of(capsule)
    _ALIVE.append(used)
    assert _rename(capsule, used) == 0
    return content


class Producer:
    """Lends the memory of a NumPy array; keywords replace what a good producer would write."""

    def __init__(
        self,
        values: np.ndarray,
        *,
        versioned: bool = True,
        version: tuple[int, int] = (1, 0),
        flags: int = 0,
        name: bytes | None = None,
        **fields: Any,
    ) -> None:
        self.values = values
        self.requests: list[dict[str, Any]] = []
        self.deleted = 0
        self.versioned = versioned
        self.version = version
        self.flags = flags
        self.name = name or (b"dltensor_versioned" if versioned else b"dltensor")
        self.fields = fields

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.fields.get("device_type", 1), self.fields.get("device_id", 0)

    def __dlpack__(self, **keywords: Any) -> Any:
        self.requests.append(keywords)
        values = self.values
        count = values.ndim
        tensor = {
            "data": values.ctypes.data,
            "device_type": 1,
            "device_id": 0,
            "ndim": count,
            "code": _CODES.get(values.dtype.kind, 3),
            "bits": 8 * values.itemsize,
            "lanes": 1,
            "shape": (ctypes.c_int64 * count)(*values.shape),
            "strides": (ctypes.c_int64 * count)(*(s // values.itemsize for s in values.strides)),
            "byte_offset": 0,
        } | self.fields
        deleter = _DELETER(self._delete)
        if self.versioned:
            managed: Any = Versioned(*self.version, None, deleter, self.flags)
        else:
            managed = Plain(deleter=deleter)
        for field, value in tensor.items():
            if field in ("shape", "strides"):
                value = ctypes.cast(value, ctypes.POINTER(ctypes.c_int64))
            setattr(managed.tensor, field, value)
        _ALIVE.append((managed, tensor, deleter, values))
        return new_capsule(ctypes.addressof(managed), self.name)

    def _delete(self, address: int) -> None:
        self.deleted += 1


class OldProducer(Producer):
    """One from before versions: it takes no max_version."""

    def __init__(self, values: np.ndarray, **keywords: Any) -> None:
        super().__init__(values, versioned=False, **keywords)

    def __dlpack__(self, *, stream: object = None) -> Any:
        return super().__dlpack__(stream=stream)


_FROM_OBJECT = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))
_CURRENT_STREAM = ctypes.PYFUNCTYPE(
    ctypes.c_int, ctypes.c_int, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p)
)


class _ExchangeTable(ctypes.Structure):
    """DLPackExchangeAPI."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("managed_from_object", _FROM_OBJECT),
        ("managed_to_object", ctypes.c_void_p),
        ("tensor_from_object", ctypes.c_void_p),
        ("current_stream", _CURRENT_STREAM),
    )


def exchange_class(
    *, major: int = 1, status: int = 0, stream: int = 0, has_function: bool = True
) -> type[Producer]:
    """A producer class that also offers the C exchange API."""

    def managed(producer: Producer, out: Any) -> int:
        producer.exchanged += 1  # type: ignore[attr-defined]  # of the class below
        out[0] = ctypes.addressof(content_of(Producer.__dlpack__(producer)))
        return status

    def current(device_type: int, device_id: int, out: Any) -> int:
        out[0] = stream
        return 0

    function = _FROM_OBJECT(managed) if has_function else _FROM_OBJECT()
    table = _ExchangeTable(major, 1, None, None, function, None, None, _CURRENT_STREAM(current))
    _ALIVE.append(table)

    class Exchanging(Producer):
        __dlpack_c_exchange_api__ = new_capsule(ctypes.addressof(table), b"dlpack_exchange_api")
        exchanged = 0

    return Exchanging

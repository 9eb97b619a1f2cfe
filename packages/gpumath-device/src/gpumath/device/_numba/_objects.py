"""Descriptors in kernels: their attributes are constants of the compiler."""

from __future__ import annotations

from typing import Any

from numba.cuda import types
from numba.cuda.cudaimpl import lower_constant
from numba.cuda.datamodel import models
from numba.cuda.extending import (
    infer_getattr,
    lower_getattr_generic,
    register_model,
)
from numba.cuda.typing.templates import AttributeTemplate
from numba.cuda.typing.typeof import typeof

__all__ = ["ObjectType", "callable_type", "constant_attributes", "lower_constant_attribute"]


class ObjectType(types.Type):
    """Type of one object. All of the object is in the type, so in a kernel it takes no memory.

    Parameters
    ----------
    value : object
        The object. ``value._key`` identifies it, and ``value._constants`` has the names of the
        attributes that kernels may read.
    """

    def __init__(self, value: Any) -> None:
        self.value = value
        super().__init__(name=f"{type(value).__name__}{value._key}")

    def __init_subclass__(cls) -> None:
        register_model(cls)(models.OpaqueModel)


@lower_constant(ObjectType)
def _lower_object(context: Any, builder: Any, numba_type: Any, value: Any) -> Any:
    del builder, numba_type, value
    return context.get_dummy_value()


def constant_attributes(numba_type: type[types.Type]) -> type[types.Type]:
    """Let kernels read the attributes in ``value._constants`` of the objects of a type."""

    @infer_getattr
    class _Attributes(AttributeTemplate):
        key = numba_type

        def generic_resolve(self, object_type: Any, name: str) -> Any:
            if name not in object_type.value._constants:
                return None
            return _constant_type(getattr(object_type.value, name))

    @lower_getattr_generic(numba_type)
    def _lower(context: Any, builder: Any, object_type: Any, value: Any, name: str) -> Any:
        del value
        return lower_constant_attribute(context, builder, getattr(object_type.value, name))

    return numba_type


def lower_constant_attribute(context: Any, builder: Any, constant: Any) -> Any:
    """Return the value that a kernel gets for an attribute which is known when it is compiled."""
    constant_type = _constant_type(constant)
    if isinstance(constant_type, types.NumberClass | types.NoneType):
        return context.get_dummy_value()
    return context.get_constant_generic(builder, constant_type, constant)


constant_attributes(ObjectType)


def _constant_type(value: Any) -> Any:
    # Literal integers, and tuples of them, can be the shape of an array in a kernel.
    if type(value) is tuple:
        return types.Tuple([_constant_type(part) for part in value])
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    return types.literal(value) if is_integer else typeof(value)


def callable_type(object_type: type[ObjectType], method: Any) -> type[ObjectType]:
    """Return a type of objects that kernels call as a function.

    Parameters
    ----------
    object_type : type
        Type of such objects without the call.
    method : template
        Method that is called instead, as `device_method` returns it.
    """

    class CallableType(types.Callable, object_type):  # type: ignore[misc, valid-type]  # it is one
        def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
            return types.BoundFunction(method, self).get_call_type(context, args, kws)

        def get_call_signatures(self) -> Any:
            return (), True

        def get_impl_key(self, typed: Any) -> Any:
            del typed
            return method.key

    return CallableType

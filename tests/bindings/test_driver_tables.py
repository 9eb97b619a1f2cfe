"""Names, enums and structs of `gpumath.bindings.driver`, against what the driver's manual says."""

from __future__ import annotations

import ctypes
import enum
import inspect
import pickle

import pytest

from gpumath.bindings import driver


def test_the_module_is_complete() -> None:
    functions = [value for value in vars(driver).values() if inspect.isbuiltin(value)]
    enums = [v for v in vars(driver).values() if isinstance(v, enum.EnumType)]
    assert len(functions) > 515
    assert len(enums) > 120
    for value in [*functions, *enums]:
        assert inspect.getdoc(value)
    for function in functions:
        inspect.signature(function)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("array3d_create", "p_allocate_array"),
        ("ctx_create", "ctx_create_params flags dev"),
        ("ctx_create_v2", "flags dev"),
        ("graph_add_kernel_node", "h_graph dependencies num_dependencies node_params"),
        ("graph_get_edges", "h_graph from_ to edge_data num_edges"),
        ("graph_get_edges_v1", "h_graph from_ to num_edges"),
        ("link_complete", "state"),
        ("mem_advise", "dev_ptr count advice location"),
        ("mem_advise_v1", "dev_ptr count advice device"),
        ("mem_alloc_pitch", "width_in_bytes height element_size_bytes"),
        ("memcpy2d", "p_copy"),
        ("memcpy_atoh", "dst_host src_array src_offset byte_count"),
        ("memset_d2d16", "dst_device dst_pitch us width height"),
        ("stream_get_capture_info", "h_stream"),
        ("tex_object_create", "p_res_desc p_tex_desc p_res_view_desc"),
    ],
)
def test_names_of_functions_and_parameters(name: str, parameters: str) -> None:
    assert [*inspect.signature(getattr(driver, name)).parameters] == parameters.split()


@pytest.mark.parametrize(
    ("member", "value"),
    [
        (driver.ArrayFormat.FLOAT, 0x20),
        (driver.CtxFlags.SCHED_BLOCKING_SYNC, 4),
        (driver.FuncCache.PREFER_EQUAL, 3),
        (driver.FunctionAttribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, 8),
        (driver.GraphNodeType.MEM_FREE, 11),
        (driver.JitInputType.PTX, 1),
        (driver.JitOption.ERROR_LOG_BUFFER, 5),
        (driver.JitTarget.COMPUTE_90, 90),
        (driver.LaunchAttributeID.CLUSTER_DIMENSION, 4),
        (driver.Limit.MALLOC_HEAP_SIZE, 2),
        (driver.MemAttachFlags.SINGLE, 4),
        (driver.MemoryType.UNIFIED, 4),
        (driver.ResourceType.PITCH2D, 3),
        (driver.SharedCarveout.DEFAULT, -1),
        (driver.StreamWaitValueFlags.FLUSH, 1 << 30),
        (driver.TensorMapSwizzle.SWIZZLE_128B, 3),
    ],
)
def test_values_of_enums(member: enum.IntEnum, value: int) -> None:
    assert member == value
    assert pickle.loads(pickle.dumps(member)) is member


def test_sets_of_bits_and_single_values_differ() -> None:
    assert issubclass(driver.MemAttachFlags, enum.IntFlag)
    assert isinstance(driver.CtxFlags.MAP_HOST | driver.CtxFlags.SCHED_SPIN, driver.CtxFlags)
    assert not issubclass(driver.Limit, enum.IntFlag)
    # The highest bit is negative in C; an IntFlag would lose it.
    dump = driver.CoredumpGenerationFlags
    assert dump.LOG_ONLY | dump.SKIP_ABORT == -(1 << 31) + 16


class _Copy2D(ctypes.Structure):
    _fields_ = (
        ("src_x_in_bytes", ctypes.c_size_t),
        ("src_y", ctypes.c_size_t),
        ("src_memory_type", ctypes.c_int),
        ("src_host", ctypes.c_void_p),
        ("src_device", ctypes.c_uint64),
        ("src_array", ctypes.c_void_p),
        ("src_pitch", ctypes.c_size_t),
        ("dst_x_in_bytes", ctypes.c_size_t),
        ("dst_y", ctypes.c_size_t),
        ("dst_memory_type", ctypes.c_int),
        ("dst_host", ctypes.c_void_p),
        ("dst_device", ctypes.c_uint64),
        ("dst_array", ctypes.c_void_p),
        ("dst_pitch", ctypes.c_size_t),
        ("width_in_bytes", ctypes.c_size_t),
        ("height", ctypes.c_size_t),
    )


class _Launch(ctypes.Structure):
    _fields_ = (
        *((f"{kind}_dim_{axis}", ctypes.c_uint) for kind in ("grid", "block") for axis in "xyz"),
        ("shared_mem_bytes", ctypes.c_uint),
        ("h_stream", ctypes.c_void_p),
        ("attrs", ctypes.c_void_p),
        ("num_attrs", ctypes.c_uint),
    )


class _Texture(ctypes.Structure):
    _fields_ = (
        ("address_mode", ctypes.c_int * 3),
        ("filter_mode", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("max_anisotropy", ctypes.c_uint),
        ("mipmap_filter_mode", ctypes.c_int),
        ("mipmap_level_bias", ctypes.c_float),
        ("min_mipmap_level_clamp", ctypes.c_float),
        ("max_mipmap_level_clamp", ctypes.c_float),
        ("border_color", ctypes.c_float * 4),
        ("reserved", ctypes.c_int * 12),
    )


@pytest.mark.parametrize(
    ("struct", "layout"),
    [
        (driver.Memcpy2D, _Copy2D),
        (driver.LaunchConfig, _Launch),
        (driver.TextureDesc, _Texture),
    ],
)
def test_fields_lie_where_c_has_them(
    struct: type[driver.Memcpy2D], layout: type[ctypes.Structure]
) -> None:
    ours = struct()
    assert ours.nbytes == ctypes.sizeof(layout)
    theirs = layout.from_address(ours.ptr)
    for number, (name, kind, *_) in enumerate(layout._fields_, 1):
        if issubclass(kind, ctypes.Array):
            setattr(ours, name, tuple(number + i for i in range(kind._length_)))
            assert list(getattr(theirs, name)) == [number + i for i in range(kind._length_)]
        else:
            setattr(ours, name, number)
            assert getattr(theirs, name) == number


def test_unions_lend_their_members() -> None:
    resource = driver.ResourceDesc()
    resource.res_type, resource.res_linear_dev_ptr = driver.ResourceType.LINEAR, 0x1234
    resource.res_linear_size_in_bytes = 99
    assert resource.res_pitch2d_dev_ptr == resource.res_array_h_array == 0x1234
    assert resource.res_pitch2d_width == 99
    place = driver.MemLocation()
    place.type, place.id = driver.MemLocationType.HOST_NUMA, -3
    assert bytes(place) == b"\x03\0\0\0\xfd\xff\xff\xff"
    assert driver.TensorMap().ptr % 64 == 0

"""The CUDA runtime in a process that sees no device."""

from __future__ import annotations

import ctypes
import inspect
from typing import Any

from gpumath.bindings import errors, runtime
from tests.programs.support.entry import main


def versions_are_those_of_the_library(file: str) -> Any:
    raw = ctypes.CDLL(file)
    version, driver = ctypes.c_int(), ctypes.c_int(-1)
    assert raw.cudaRuntimeGetVersion(ctypes.byref(version)) == 0
    assert raw.cudaDriverGetVersion(ctypes.byref(driver)) == 0
    return [version.value, driver.value]


def no_device_is_a_status() -> Any:
    result = []
    for call in (
        lambda: runtime.get_device_count(),
        lambda: runtime.malloc(64),
        lambda: runtime.stream_create(),
        lambda: runtime.memset3d(runtime.PitchedPtr(), 0, runtime.Extent()),
        lambda: runtime.launch_kernel(0, bytes(12), bytes(12), [], 0, 0),
        lambda: runtime.ipc_open_mem_handle(runtime.IpcMemHandle(), 1),
        lambda: runtime.device_get_attribute(runtime.DeviceAttr.WARP_SIZE, 0),
    ):
        try:
            call()
        except runtime.CUDARuntimeError as error:
            result.append([error.status, str(error)])
    result.append([runtime.peek_at_last_error(), runtime.get_last_error()])
    return result


def what_has_other_parameters_is_refused(names: list[str]) -> Any:
    result: dict[str, Any] = {}
    sizes = {"location": bytes(8)}
    for name in names:
        function = getattr(runtime, name)
        arguments = [sizes.get(p, 0) for p in inspect.signature(function).parameters]
        try:
            function(*arguments)
            result[name] = "success"
        except errors.FunctionNotFoundError as error:
            result[name] = f"absent from {error.path}"
        except runtime.CUDARuntimeError as error:
            result[name] = error.status
    return result


if __name__ == "__main__":
    main(globals())

"""What a user of gpumath-bindings writes; checked by mypy and pyright, never run."""

from typing import Literal, assert_type

import gpumath.bindings
from gpumath.bindings import core, cufft, driver, errors

assert_type(core.has("cufft.xt_exec"), bool)
assert_type([library.version for library in core.libraries()], list[str])
assert_type(core.Device(0).compute_capability, tuple[int, int])

stream = core.Stream(device_id=0)
event = stream.record()
event.synchronize()


def transform(operand: object, result: object) -> core.FftPlan:
    plan = core.FftPlan(operand, kind="C2C", execution="cpu")
    assert_type(plan.execution, Literal["cpu", "cuda"])
    plan.execute(operand, result, direction=-1)
    return plan


assert_type(cufft.get_version(), int)
handle = cufft.create()
try:
    assert_type(cufft.make_plan1d(handle, 1024, cufft.Type.C2C, 16), int)
    cufft.exec_c2c(handle, 0, 0, -1)
except errors.cuFFTError as error:
    assert_type(error.function, str)
finally:
    cufft.destroy(handle)
driver.init(0)

# The package alone has every module.
assert_type(gpumath.bindings.cusparse.get_version(handle), int)
assert_type(gpumath.bindings.core.Stream(), core.Stream)

# Mistakes that the checkers must find: an unused suppression is an error too.
cufft.get_version(1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
nothing = gpumath.bindings.nothing  # type: ignore[attr-defined]  # pyright: ignore
core.Device("0")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

"""Uses of the device after an error that ruins CUDA."""

from __future__ import annotations

from typing import Any

from gpumath.bindings import core, runtime
from gpumath.bindings import driver as cuda
from tests.helpers.device_uses import DeviceObjects, cpu_error, heard
from tests.programs.support.entry import main
from tests.programs.support.ordering import blocks, driver, seen

objects = DeviceObjects()
address, stream = objects.on_device.ptr, objects.stream


def every_use_names_the_first_error() -> Any:
    driver.driver_break(700)
    first = heard(stream.synchronize)
    driver.driver_break(719)
    return first, {name: heard(use) for name, use in objects.uses().items()}


def nothing_is_freed_and_nothing_is_said_afterwards() -> Any:
    global objects, stream
    driver.driver_break(700)
    heard(stream.synchronize)
    before = blocks(), driver.driver_plans()
    seen()
    del objects, stream
    core.plan_cache_clear()
    lines = seen()
    return lines, before, (blocks(), driver.driver_plans())


def the_cpu_still_computes() -> Any:
    driver.driver_break(700)
    heard(stream.synchronize)
    return cpu_error(), core.Device.count(), core.Device(0).id


def errors_that_the_bindings_report_count_too(status: int) -> Any:
    driver.driver_break(status)
    first = heard(runtime.device_synchronize), heard(lambda: cuda.stream_synchronize(70))
    driver.driver_break(0)
    return *first, heard(core.Stream), heard(lambda: cuda.stream_synchronize(70))


def other_errors_of_the_bindings_pass(status: int) -> Any:
    driver.driver_break(status)
    first = heard(lambda: cuda.stream_synchronize(70))
    driver.driver_break(0)
    return first, [heard(use) for use in objects.uses().values()]


def a_destroyed_primary_context_counts() -> Any:
    driver.driver_break(709)
    return heard(lambda: core.copy(address, address + 8, 8)), heard(core.Stream)


def a_library_that_failed_is_not_the_end() -> Any:
    plan = core.FftPlan(objects.values, axes=[1], execution="cuda")
    area = core.allocate(plan.workspace_size)

    def run() -> None:
        plan.execute(address, address + 256, workspace=area.device_ptr)

    driver.driver_break(719)
    first = heard(run)
    driver.driver_break(0)
    return first, heard(run)


if __name__ == "__main__":
    main(globals())

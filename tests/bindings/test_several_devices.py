"""Transforms on several devices: where the numbers go, and what is left of it.

The driver and cuFFT are stand-ins, whose transform of several devices only puts the numbers into
the order that cuFFT would.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers import ordering_driver

START = """
from gpumath import fft
from gpumath.bindings import errors

driver.driver_descriptors.restype = ctypes.c_int
left = lambda: (blocks(), driver.driver_descriptors())
rng = np.random.default_rng()

def values(shape, dtype):
    numbers = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        numbers = numbers + 1j * rng.standard_normal(shape)
    return numbers.astype(dtype)

def put(numbers, device):
    if device is None:
        return numbers
    array = core.Array(numbers.shape, numbers.dtype, device_id=device)
    ctypes.memmove(array.ptr, numbers.ctypes.data, numbers.nbytes)
    return array

def get(array):
    if isinstance(array, np.ndarray):
        return array
    numbers = np.empty(array.shape, array.dtype)
    ctypes.memmove(numbers.ctypes.data, array.ptr, numbers.nbytes)
    return numbers

def plan(operand, **keywords):
    return core.FftPlan(operand, device_ids=[0, 1], **keywords)

def is_same(result, numbers):
    return bool((get(result) == numbers).all())
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ordering_driver.build(tmp_path_factory.mktemp("driver"))


@pytest.mark.parametrize("device", [None, 0, 1])
@pytest.mark.parametrize("shape", [(128,), (33, 40), (32, 35, 37)])
def test_numbers_come_back_where_they_were(
    driver: Path, shape: tuple[int, ...], device: int | None
) -> None:
    code = f"""
{START}
shape, device, same = {shape}, {device}, []
half = (*shape[:-1], shape[-1] // 2 + 1)
for kind in ["C2C", "R2C", "C2R"][: 3 if len(shape) > 1 else 1]:
    for real, dtype in [("float32", "complex64"), ("float64", "complex128")]:
        points = half if kind == "C2R" else shape
        numbers = values(points, real if kind == "R2C" else dtype)
        operand = put(numbers, device)
        before = left()
        parity = "odd" if shape[-1] % 2 else "even"
        made = plan(operand, kind=kind, last_axis_parity=parity)
        for _ in range(2):
            direction = 1 if kind == "C2R" else -1
            result = get(made.run(operand, direction=direction))
            if kind == "R2C":
                result = result.view(real)[..., : shape[-1]]
            if kind == "C2R":
                numbers = numbers.view(real)[..., : shape[-1]]
            same.append(is_same(result, numbers))
            numbers = get(operand)
        same.append(left() == before)
        same.append(made.device_ids == (0, 1) and made.workspace_size > 1000)
result = same
"""
    same = ordering_driver.run(driver, code)
    assert same
    assert all(same)


@pytest.mark.parametrize("device", [None, 1])
def test_in_place_and_out(driver: Path, device: int | None) -> None:
    code = f"""
{START}
numbers = values((33, 40), "complex64")
operand, target = put(numbers, {device}), put(np.zeros_like(numbers), {device})
made = plan(operand, inplace=True)
first = made.run(operand) is operand and is_same(operand, numbers)
second = plan(operand, out=target).run(operand, target) is target
result = first, second, is_same(target, numbers)
"""
    assert ordering_driver.run(driver, code) == [True] * 3


def test_a_batch_is_shared_out(driver: Path) -> None:
    code = f"""
{START}
operand = values((5, 7), "complex64")
made = plan(operand, axes=[1])
seen()
made.run(operand)
steps, alone = seen(), plan(values((1, 128), "complex64"), axes=[1])
result = steps, left(), made.library_calls, alone.library_calls
"""
    steps, left, calls, alone = ordering_driver.run(driver, code)
    assert (left, calls, alone) == ([0, 0], 2, 1)
    streams = {step.rsplit(maxsplit=1)[1] for step in steps if step.startswith("copy on")}
    assert len(streams) == 2
    for stream in streams:
        order = [step.split(" on ")[0] for step in steps if step.endswith(stream)]
        assert order[:5] == ["allocate"] * 3 + ["copy"] * 2
        assert order[5].startswith("synchronize")
        assert order[6:] == ["free"] * 3
    # Both devices work before the first result is waited for.
    assert steps.index("transform") < len(steps) - 1 - steps[::-1].index("transform")
    results = [index for index, step in enumerate(steps) if step.startswith("copy on")][2:]
    assert results[0] > max(index for index, step in enumerate(steps) if step == "transform")


@pytest.mark.parametrize("device", [None, 0, 1])
def test_copies_between_devices_are_direct(driver: Path, device: int | None) -> None:
    code = f"""
{START}
operand = put(values((5, 7), "complex64"), {device})
made = plan(operand, axes=[1])
seen()
for _ in range(2):
    made.run(operand)
result = [step for step in seen() if step.startswith("open")], driver.driver_peers()
"""
    expected = [[], 0] if device is None else [[f"open to {1 - device}"], 1]
    assert ordering_driver.run(driver, code) == expected


def test_plans_are_cached_by_their_devices(driver: Path) -> None:
    code = f"""
{START}
operand, other = values((33, 40), "complex64"), put(values((33, 40), "complex64"), 1)
for devices in ([0, 1], [1, 0], [0, 1]):
    core.FftPlan(operand, device_ids=devices)
core.FftPlan(other, device_ids=[0, 1])
core.FftPlan(operand, execution="cuda")
info = core.plan_cache_info()
result = info.hits, info.misses
"""
    assert ordering_driver.run(driver, code) == [2, 3]


def test_the_current_context_is_the_same_afterwards(driver: Path) -> None:
    code = f"""
{START}
driver.cuCtxPushCurrent_v2.argtypes = [ctypes.c_size_t]
current, found = ctypes.c_size_t(), []
operand = values((33, 40), "complex64")
for context in (0, 4096, 4097, 77):
    if context:
        driver.cuCtxPushCurrent_v2(context)
    core.plan_cache_clear()
    plan(operand).run(operand)
    driver.cuCtxGetCurrent(ctypes.byref(current))
    found.append(current.value == context)
result = found
"""
    assert ordering_driver.run(driver, code) == [True] * 4


def test_errors_leave_nothing_behind(driver: Path) -> None:
    code = f"""
{START}
operands = [values((33, 40), "complex64"), values((5, 7), "complex64")]
plans = [plan(operands[0]), plan(operands[1], axes=[1])]
found = []
for made, operand in zip(plans, operands):
    made.run(operand)
    before = left()
    driver.driver_break(1)
    try:
        made.run(operand)
    except Exception as error:
        found.append(type(error).__name__)
    driver.driver_break(0)
    made.run(operand)
    found.append(left() == before)
del made, plans
core.plan_cache_clear()
result = found, driver.driver_plans()
"""
    found, plans = ordering_driver.run(driver, code)
    assert found == ["OutOfMemoryError", True, "CUDAError", True]
    assert plans == 0


def test_nothing_is_freed_when_the_interpreter_exits(driver: Path) -> None:
    process = ordering_driver.start(
        driver,
        f"""
{START}
operand = values((33, 40), "complex64")
kept = plan(operand)
kept.run(operand)
sys.stdout.write("done")
""",
    )
    assert (process.returncode, process.stdout) == (0, "done"), process.stderr


def test_what_is_refused(driver: Path) -> None:
    code = f"""
{START}
found = []
def refused(operand, **keywords):
    before = left(), driver.driver_plans()
    try:
        core.FftPlan(operand, **keywords)
    except Exception as error:
        found.append((type(error).__name__, str(error), (left(), driver.driver_plans()) == before))
fine = values((33, 40), "complex64")
refused(fine, device_ids=[0])
refused(fine, device_ids=[0, 0])
refused(fine, device_ids=[0, 2])
refused(fine, device_ids=[0, 1], device_id=0)
refused(fine, device_ids=[0, 1], execution="cpu")
refused(values((100,), "complex64"), device_ids=[0, 1])
refused(values((1024,), "float64"), device_ids=[0, 1])
refused(fine.T, device_ids=[0, 1])
refused(fine, axes=[0], device_ids=[0, 1])
refused(put(fine, 1), device_ids=[0, 2])
result = found
"""
    found = ordering_driver.run(driver, code)
    expected = [
        ("ValueError", "from 2 to 16 distinct"),
        ("ValueError", "0 is repeated"),
        ("NoDeviceError", "this process sees 2 CUDA devices"),
        ("ValueError", "neither device_id nor"),
        ("ValueError", "neither device_id nor"),
        ("ValueError", "power of two of at least 64"),
        ("ValueError", "complex numbers to complex numbers only"),
        ("UnsupportedLayoutError", "C-contiguous"),
        ("UnsupportedLayoutError", "last axes"),
        ("ValueError", "the operand is on device 1"),
    ]
    assert len(found) == len(expected)
    for (name, text, nothing_left), (wanted, part) in zip(found, expected, strict=True):
        assert name == wanted
        assert part in text
        assert nothing_left


def test_the_functions_the_object_and_the_log(driver: Path) -> None:
    code = f"""
{START}
import io, logging
text = io.StringIO()
logger = logging.getLogger("several")
logger.addHandler(logging.StreamHandler(text))
logger.setLevel(logging.INFO)
execution = fft.ExecutionCUDA(device_ids=[0, 1])
operand, same = values((33, 40), "complex64"), []
for one in (operand, put(operand, 1)):
    for kind in (execution, {{"name": "cuda", "device_ids": [1, 0]}}):
        result = fft.fft(one, execution=kind, options={{"logger": logger}})
        same.append(is_same(result, operand))
    with fft.FFT(one, execution=execution) as transform:
        transform.plan()
        same.append(is_same(transform.execute(), operand))
        transform.reset_operand(one)
        result = transform.execute(direction="inverse", stream=core.Stream(1))
        same.append(is_same(result, operand))
try:
    fft.fft(operand, execution=execution, options={{"memory_limit": 100}})
except errors.OutOfMemoryError as error:
    same.append("memory_limit=100" in str(error))
result = same, text.getvalue()
"""
    same, log = ordering_driver.run(driver, code)
    assert len(same) == 9
    assert all(same)
    assert "by cufft on the CUDA devices 0, 1" in log
    assert "spread over the CUDA devices (0, 1)" in log


def test_no_plan_is_destroyed_under_another_ones_transform(driver: Path) -> None:
    """With a plan, cuFFT takes the devices' access to each other from all plans."""
    code = f"""
{START}
import threading, time
numbers = values((33, 40), "complex64")
kept, other = plan(numbers, cached=False), plan(numbers, cached=False)
answers = []

def work():
    answers.append(is_same(kept.run(numbers), numbers))

driver.driver_slow(1)
thread = threading.Thread(target=work)
thread.start()
while not driver.driver_inside():
    time.sleep(0.001)
del other
inside, plans = driver.driver_inside(), [driver.driver_plans()]
thread.join()
driver.driver_slow(0)
work()
plans.append(driver.driver_plans())
del kept
plans.append(driver.driver_plans())
result = answers, inside, plans, driver.driver_peers(), left()
"""
    answers, inside, plans, peers, left = ordering_driver.run(driver, code)
    assert answers == [True, True]
    assert inside, "the deletion has waited"
    assert plans == [2, 1, 0]
    assert peers == 1
    assert left == [0, 0]


def test_a_forked_child_is_told(driver: Path) -> None:
    """Also while another thread transforms, whose locks the child finds taken."""
    code = f"""
{START}
import threading, time
numbers = values((33, 40), "complex64")
plans = [plan(numbers, cached=False) for _ in range(2)]
driver.driver_slow(1)
thread = threading.Thread(target=plans[0].run, args=(numbers,))
thread.start()
while not driver.driver_inside():
    time.sleep(0.001)
children = []
for one in plans:
    child = os.fork()
    if child == 0:
        try:
            one.run(numbers)
        except errors.InvalidStateError as error:
            os._exit(7 if "forked" in str(error) else 1)
        os._exit(2)
    children.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
thread.join()
result = children, is_same(plans[1].run(numbers), numbers)
"""
    assert ordering_driver.run(driver, code) == [[7, 7], True]

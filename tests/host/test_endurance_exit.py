"""The end of the interpreter, and forked children: nothing crashes, hangs, or is said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.helpers import ordering_driver
from tests.helpers.processes import assert_quiet, run_script

Run = Callable[..., "CompletedProcess[str]"]

ON_CPU = """
from gpumath import fft, memory
class Kept:
    def __init__(self):
        # Large enough for two threads.
        values = np.random.default_rng().standard_normal((64, 1000)).astype("complex64")
        self.arrays = [memory.empty(1000, "complex64", kind="host"), memory.from_dlpack(values)]
        self.capsules = [array.__dlpack__(max_version=(1, 0)) for array in self.arrays]
        self.near = fft.FFT(values, axes=[1], execution=fft.ExecutionCPU(num_threads=2))
        self.near.plan()
        self.results = [self.near.execute(), fft.fft(self.arrays[0])]
"""
ON_DEVICE = "from tests.helpers.device_uses import DeviceObjects as Kept"
MACHINES = ["cpu", "fake driver", pytest.param("gpu", marks=pytest.mark.gpu)]


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ordering_driver.build(tmp_path_factory.mktemp("driver"))


@pytest.fixture(params=MACHINES)
def run(request: pytest.FixtureRequest) -> Run:
    """Run a script in which `Kept()` makes objects: of the CPU, of a fake device, of a real one."""
    if request.param == "fake driver":
        driver = request.getfixturevalue("driver")
        return lambda code, first="": ordering_driver.start(driver, f"{ON_DEVICE}\n{code}", first)
    objects = ON_CPU if request.param == "cpu" else ON_DEVICE
    return lambda code, first="": run_script(f"{first}\n{objects}\n{code}")


WHERE = {
    "global": "kept = Kept()",
    "module": "sys.kept = Kept()",
    "builtins": "import builtins; builtins.kept = Kept()",
    "cycle": "gc.disable(); kept = Kept(); kept.itself = [kept]",
    "cycle through sys.modules": """
import types
module = types.ModuleType("kept")
module.itself, module.kept = module, Kept()
sys.modules["kept"] = module
""",
    "thread-local": """
import threading
local = threading.local()
local.kept = Kept()
""",
    "waiting thread": """
import threading
kept = Kept()
threading.Thread(target=threading.Event().wait, args=(), daemon=True).start()
""",
    "deleted late": """
class Late:
    def __init__(self):
        self.kept = Kept()
    def __del__(self):
        self.kept.near.free()
        self.kept.near.free()
        del self.kept
sys.late, late = Late(), Late()
import builtins
builtins.late = Late()
""",
    "weakly": """
import weakref
kept = Kept()
weakref.finalize(kept.arrays[0], kept.near.free)
""",
}
HOW = {
    "end": "",
    "sys.exit": "sys.exit(0)",
    "os._exit": "os._exit(0)",
    "exception": "raise SystemExit",
}


@pytest.mark.parametrize("where", WHERE.values(), ids=WHERE.keys())
def test_objects_that_are_there_at_the_end(run: Run, where: str) -> None:
    for how in HOW.values():
        assert_quiet(run(f"{where}\n{how}"))


HANDLER = """
import atexit
def handler():
    shape = tuple(kept.near.execute().shape)
    kept.near.free()
    vars(kept).clear()
    print(len(shape))
atexit.register(handler)
"""


@pytest.mark.parametrize("first", [True, False], ids=["before the import", "after the import"])
def test_handlers_at_exit(run: Run, first: bool) -> None:
    # Handlers registered before the import run after gpumath's own.
    if first:
        assert_quiet(run("kept = Kept()", HANDLER), "2\n")
    else:
        assert_quiet(run(f"kept = Kept()\n{HANDLER}"), "2\n")


WORK = {
    "transform": "own.near.execute()",
    "objects": "Kept()",
}


@pytest.mark.parametrize("work", WORK.values(), ids=WORK.keys())
def test_daemon_threads_at_work(run: Run, work: str) -> None:
    code = f"""
import threading, time
count = 0
def forever():
    global count
    own = Kept()
    while True:
        {work}
        count += 1
for _ in range(4):
    threading.Thread(target=forever, daemon=True).start()
while count < 8:
    time.sleep(0.001)
"""
    for _ in range(3):
        assert_quiet(run(code))


@pytest.mark.parametrize("call", ["mem_get_info()", "ctx_synchronize()"])
def test_daemon_threads_in_calls_of_the_bindings(driver: Path, call: str) -> None:
    # Some are in the C function while the interpreter shuts down, and come back from it then.
    code = f"""
import atexit, threading, time
from gpumath.bindings import driver as cuda
atexit.register(time.sleep, 0.01)
driver.driver_busy(100)
count = 0
def forever():
    global count
    while True:
        count += 1
        cuda.{call}
for _ in range(4):
    threading.Thread(target=forever, daemon=True).start()
while count < 4:
    time.sleep(0.001)
"""
    for _ in range(3):
        assert_quiet(ordering_driver.start(driver, code))


CHILD = """
import multiprocessing
kept = Kept()

def check():
    from tests.helpers.device_uses import cpu_error, heard
    assert cpu_error() < 1e-10
    if hasattr(kept, "uses"):
        for name, use in kept.uses().items():
            answer = heard(use)
            assert answer is not None, name
            assert answer[0] == "InvalidStateError", (name, answer)
            assert "before this process was forked" in answer[3], (name, answer)
            assert "spawn" in answer[3], (name, answer)
    else:
        kept.near.execute()
    kept.near.free()
    kept.near.free()
    if CLEARS:
        vars(kept).clear()
        gc.collect()

def wait(child):
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, status
"""
CHILDREN = {
    "os._exit": """
child = os.fork()
if child == 0:
    check()
    os._exit(0)
wait(child)
""",
    "sys.exit": """
child = os.fork()
if child == 0:
    check()
    sys.exit(0)
wait(child)
""",
    "multiprocessing": """
process = multiprocessing.get_context("fork").Process(target=check)
process.start()
process.join()
assert process.exitcode == 0, process.exitcode
""",
    "pool": """
with multiprocessing.get_context("fork").Pool(2) as pool:
    pool.apply(check)
    pool.close()
    pool.join()
""",
    "grandchild": """
child = os.fork()
if child == 0:
    grandchild = os.fork()
    if grandchild == 0:
        check()
        sys.exit(0)
    wait(grandchild)
    check()
    sys.exit(0)
wait(child)
""",
    "thread": """
import threading
def in_thread():
    child = os.fork()
    if child == 0:
        try:
            check()
        except BaseException as error:
            print(error, file=sys.stderr)
        os._exit(0)
    wait(child)
thread = threading.Thread(target=in_thread)
thread.start()
thread.join()
""",
}


@pytest.mark.parametrize("child", CHILDREN.values(), ids=CHILDREN.keys())
@pytest.mark.parametrize("clears", [True, False], ids=["freed in the child", "kept in the child"])
def test_forked_children(run: Run, child: str, clears: bool) -> None:
    # Afterwards the parent goes on as before.
    code = f"CLEARS = {clears}\n{CHILD}\n{child}\nkept.near.execute()\nprint('parent')"
    assert_quiet(run(code), "parent\n")


def test_a_child_forked_before_the_first_call_may_use_the_device(run: Run) -> None:
    code = """
child = os.fork()
kept = Kept()
kept.near.execute()
if child:
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, status
"""
    assert_quiet(run(code))


ORDERS = {
    "before": "import {library}\n{ours}\n{use}",
    "after": "{ours}\nimport {library}\n{use}",
    "between": "{ours}\nfirst = Kept()\nimport {library}\n{use}",
}
USE = {
    "torch": """
import torch
held = [torch.ones(8, 16, dtype=torch.complex64, device="cuda"), torch.cuda.Stream()]
""",
    "cupy": """
import cupy
held = [cupy.ones((8, 16), "complex64"), cupy.cuda.Stream(non_blocking=True)]
""",
}
USED = """
kept = Kept()
transform = fft.FFT(held[0], axes=[1])
transform.plan()
result = transform.execute(stream=held[1])
again = fft.fft(memory.from_dlpack(held[0]), axes=[1])
sys.kept = [kept, transform, result, again, held]
"""


@pytest.mark.gpu
@pytest.mark.parametrize("library", USE)
@pytest.mark.parametrize("order", ORDERS)
def test_other_libraries_at_the_end(library: str, order: str) -> None:
    pytest.importorskip(library, reason=f"{library} is not installed")
    ours = f"from gpumath import fft, memory\n{ON_DEVICE}"
    code = ORDERS[order].format(library=library, ours=ours, use=USE[library] + USED)
    for how in HOW.values():
        assert_quiet(run_script(f"{code}\n{how}"))

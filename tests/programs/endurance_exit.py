"""The end of the interpreter while objects, threads and handlers are there, and forked children.

What has to be there at the end is global: it is freed when the interpreter takes this module apart.
"""

from __future__ import annotations

import atexit
import builtins
import gc
import multiprocessing
import os
import sys
import threading
import time
import types
import weakref
from collections.abc import Callable
from typing import Any

from tests.programs.support.endings import end, import_objects
from tests.programs.support.entry import main

kept: Any


def in_a_global(make: Callable[[], Any]) -> None:
    global kept
    kept = make()


def in_a_module(make: Callable[[], Any]) -> None:
    sys.kept = make()  # type: ignore[attr-defined]  # which is what is tested


def in_builtins(make: Callable[[], Any]) -> None:
    builtins.kept = make()  # type: ignore[attr-defined]  # which is what is tested


def in_a_cycle(make: Callable[[], Any]) -> None:
    global kept
    gc.disable()
    kept = make()
    kept.itself = [kept]


def in_a_cycle_through_sys_modules(make: Callable[[], Any]) -> None:
    global module
    module = types.ModuleType("kept")
    vars(module).update(itself=module, kept=make())
    sys.modules["kept"] = module


def in_a_thread_local(make: Callable[[], Any]) -> None:
    global local
    local = threading.local()
    local.kept = make()


def beside_a_waiting_thread(make: Callable[[], Any]) -> None:
    global kept
    kept = make()
    threading.Thread(target=threading.Event().wait, args=(), daemon=True).start()


def deleted_late(make: Callable[[], Any]) -> None:
    class Late:
        def __init__(self) -> None:
            self.kept = make()

        def __del__(self) -> None:
            self.kept.near.free()
            self.kept.near.free()
            del self.kept

    global late
    sys.late, late = Late(), Late()  # type: ignore[attr-defined]  # which is what is tested
    builtins.late = Late()  # type: ignore[attr-defined]  # which is what is tested


def weakly(make: Callable[[], Any]) -> None:
    global kept
    kept = make()
    weakref.finalize(kept.arrays[0], kept.near.free)


WHERE: dict[str, Callable[[Callable[[], Any]], None]] = {
    "global": in_a_global,
    "module": in_a_module,
    "builtins": in_builtins,
    "cycle": in_a_cycle,
    "cycle through sys.modules": in_a_cycle_through_sys_modules,
    "thread-local": in_a_thread_local,
    "waiting thread": beside_a_waiting_thread,
    "deleted late": deleted_late,
    "weakly": weakly,
}


def objects_that_are_there_at_the_end(machine: str, where: str, how: str) -> None:
    WHERE[where](import_objects(machine))
    end(how)


def handler() -> None:
    shape = tuple(kept.near.execute().shape)
    kept.near.free()
    vars(kept).clear()
    print(len(shape))


def handlers_at_exit(machine: str, first: bool) -> None:
    """Register a handler before or after gpumath is imported, which registers its own."""
    global kept
    assert "gpumath" not in sys.modules
    if first:
        atexit.register(handler)
    kept = import_objects(machine)()
    if not first:
        atexit.register(handler)


def daemon_threads_at_work(machine: str, work: str) -> None:
    global count
    make = import_objects(machine)
    count = 0

    def forever() -> None:
        global count
        own = make()
        while True:
            if work == "transform":
                own.near.execute()
            else:
                make()
            count += 1

    for _ in range(4):
        threading.Thread(target=forever, daemon=True).start()
    while count < 8:
        time.sleep(0.001)


def daemon_threads_in_calls_of_the_bindings(call: str) -> None:
    from gpumath.bindings import driver as cuda
    from tests.programs.support.ordering import driver

    global count
    atexit.register(time.sleep, 0.01)
    driver.driver_busy(100)
    count = 0

    def forever() -> None:
        global count
        while True:
            count += 1
            getattr(cuda, call)()

    for _ in range(4):
        threading.Thread(target=forever, daemon=True).start()
    while count < 4:
        time.sleep(0.001)


def check() -> None:
    """Check in a forked child what `kept`, of its parent, can still be used for."""
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
    if clears:
        vars(kept).clear()
        gc.collect()


def wait(child: int) -> None:
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, status


def child_that_ends_by_os_exit() -> None:
    child = os.fork()
    if child == 0:
        check()
        os._exit(0)
    wait(child)


def child_that_ends_by_sys_exit() -> None:
    child = os.fork()
    if child == 0:
        check()
        sys.exit(0)
    wait(child)


def child_of_multiprocessing() -> None:
    process = multiprocessing.get_context("fork").Process(target=check)
    process.start()
    process.join()
    assert process.exitcode == 0, process.exitcode


def children_of_a_pool() -> None:
    with multiprocessing.get_context("fork").Pool(2) as pool:
        pool.apply(check)
        pool.close()
        pool.join()


def grandchild() -> None:
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


def child_of_a_thread() -> None:
    def in_thread() -> None:
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


CHILDREN: dict[str, Callable[[], None]] = {
    "os._exit": child_that_ends_by_os_exit,
    "sys.exit": child_that_ends_by_sys_exit,
    "multiprocessing": child_of_multiprocessing,
    "pool": children_of_a_pool,
    "grandchild": grandchild,
    "thread": child_of_a_thread,
}


def forked_children(machine: str, child: str, clears_: bool) -> None:
    global kept, clears
    clears = clears_
    kept = import_objects(machine)()
    CHILDREN[child]()
    # The parent goes on as before.
    kept.near.execute()
    print("parent")


def a_child_forked_before_the_first_call_may_use_the_device(machine: str) -> None:
    global kept
    make = import_objects(machine)
    child = os.fork()
    kept = make()
    kept.near.execute()
    if child:
        wait(child)


if __name__ == "__main__":
    main(globals())

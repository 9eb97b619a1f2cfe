"""The table behind gpumath.h, asked in processes of their own."""

from __future__ import annotations

import ctypes
import threading
from typing import Any

from gpumath.bindings import core
from tests.programs.support.c_abi_table import Table, Text, api, call, capsule_of, open_probe
from tests.programs.support.entry import main


def the_address_is_that_in_the_loaded_library(file: str) -> Any:
    names = b"cufft.get_version", b"cufft.cufftGetVersion", b"cufft.exec_c2c", b"cufft.cufftExecC2C"
    addresses = [ctypes.c_void_p() for _ in names]
    assert not any(call("function", *pair) for pair in zip(names, addresses, strict=True))
    raw = ctypes.CDLL(file)
    symbols = (raw.cufftGetVersion, raw.cufftExecC2C)
    expected = [ctypes.cast(symbol, ctypes.c_void_p).value for symbol in symbols]
    version = ctypes.c_int()
    get_version = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(addresses[0].value)
    assert get_version(ctypes.byref(version)) == 0
    return [[address.value for address in addresses], expected, version.value]


def path_and_version() -> Any:
    path, version = Text(), (ctypes.c_int * 3)()
    assert call("library_path", b"cufft", path) == 0
    assert call("library_version", b"cufft", version) == 0
    again = Text()
    assert call("library_path", b"cufft", again) == 0

    def address(text: Text) -> int | None:
        return ctypes.cast(text, ctypes.c_void_p).value

    return [path.value.decode(), ".".join(map(str, version)), address(path) == address(again)]


def has_agrees_with_python(names: list[str]) -> Any:
    found = ctypes.c_int()
    result = []
    for name in names:
        assert call("has", name.encode(), found) == 0
        result.append([found.value, core.has(name)])
    return result


def a_wrong_name_is_refused(name: str | None) -> Any:
    """Ask for a function; each character of the name is a byte."""
    asked = None if name is None else name.encode("latin-1")
    address = ctypes.c_void_p(1)
    return [call("function", asked, address), address.value, api.last_error().decode()]


def null_is_refused(entry: str) -> Any:
    before = api.last_error()
    statuses = [call(entry, name, None) for name in (b"cufft", b"cufft.exec_c2c", None)]
    return [before.decode(), statuses, api.last_error().decode()]


def an_absent_library_is_reported_with_the_fix() -> Any:
    address, path, version = ctypes.c_void_p(1), Text(b"x"), (ctypes.c_int * 3)()
    statuses = [
        call("function", b"cufft.exec_c2c", address),
        call("library_path", b"cufft", path),
        call("library_version", b"cufft", version),
    ]
    return [statuses, address.value, path.value, list(version), api.last_error().decode()]


def a_function_that_this_version_lacks_is_reported() -> Any:
    address = ctypes.c_void_p(1)
    status = call("function", b"cufft.cufftXtSetJITCallback", address)
    return [status, address.value, api.last_error().decode()]


def an_error_stays_until_the_next_one_on_its_thread() -> Any:
    found = ctypes.c_int()
    assert call("has", b"nothing", found) == 1
    mine = api.last_error()
    others = []

    def other() -> None:
        others.append(api.last_error().decode())
        call("has", b"something", found)
        others.append(api.last_error().decode())

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert call("has", b"cufft", found) == 0
    return [others, api.last_error() == mine]


def threads_without_the_interpreter_lock_find_the_same(library: str, names: list[str]) -> Any:
    probe = open_probe(library)
    # Python asks at the same time, with the lock where the search needs it.
    asking = [threading.Thread(target=core.has, args=("cufft.plan1d",)) for _ in range(4)]
    for thread in asking:
        thread.start()
    answers = probe.look_up(names, 8)
    for thread in asking:
        thread.join()
    address = ctypes.c_void_p()
    assert call("function", b"cufft.exec_c2c", address) == 0
    return [answers, address.value]


def the_first_question_may_come_when_python_is_gone(library: str) -> None:
    open_probe(library).at_exit("cufft")


def imported(library: str) -> str:
    """Import the probe, and return what that raises."""
    try:
        open_probe(library)
    except (ImportError, AttributeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    return "nothing"


def imported_with_a_changed_table(library: str, field: str, change: int) -> str:
    fake = Table.from_buffer_copy(api)
    setattr(fake, field, getattr(fake, field) + change)
    core._C_API = capsule_of(fake)
    return imported(library)


def imported_with_another_capsule(library: str) -> str:
    core._C_API = capsule_of(api, b"other")
    return imported(library)


def imported_without_a_capsule(library: str) -> str:
    del core._C_API
    return imported(library)


def header_and_table_agree(library: str) -> Any:
    probe = open_probe(library)
    return [api.abi_version, api.size, ctypes.sizeof(Table), probe.size_of_table()]


if __name__ == "__main__":
    main(globals())

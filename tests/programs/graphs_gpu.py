"""The first execution and the first scaling of a process, captured into a graph.

Nothing may be loaded or made at that time.
"""

from __future__ import annotations

import numpy as np

from gpumath import fft
from gpumath.bindings import core
from tests.helpers.captures import WAYS, Pair
from tests.helpers.cases import Case
from tests.helpers.elements import read, write
from tests.helpers.operands import Source
from tests.programs.support.entry import main


def the_first_execution_of_a_process(kind: str) -> None:
    pair, case = WAYS[-1], Case(kind, (5, 4099), (1,))
    operand, out, stream = pair.operand(case.values()), pair.operand(case.blank()), pair.stream()
    transform = fft.FFT(operand, **case.keywords)
    transform.plan()
    with pair.capture(stream) as captured:
        transform.execute(stream=stream, out=out)
    values = case.values()
    write(operand, values)
    captured.replay()
    case.check(read(out), values)
    print("replayed")


def the_first_scaling_of_a_process_is_captured(way: str) -> None:
    pair = Pair("driver", Source("gpumath", "device"))
    values = np.arange(32, dtype=np.complex64).reshape(4, 8)
    operand, out, stream = pair.operand(values), pair.operand(values), pair.stream()
    fft.fft(operand, axes=[1], out=out)
    plan = core.FftPlan(operand, [1], out=out)
    assert plan.workspace_size == 0
    with pair.capture(stream) as captured:
        if way == "plan":
            plan.execute(operand.ptr, out.ptr, stream=stream, norm="forward")
        else:
            fft.fft(operand, axes=[1], out=out, stream=stream, norm="forward")
    write(out, np.full_like(values, np.nan))
    captured.replay()
    assert np.allclose(read(out), np.fft.fft(values, axis=1, norm="forward"))


if __name__ == "__main__":
    main(globals())

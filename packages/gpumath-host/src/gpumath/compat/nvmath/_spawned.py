"""The main module of a process that multiprocessing spawns for a program of the runner.

multiprocessing imports what the parent's main module says that it is, under the name
``__mp_main__``: this module, which then becomes the program.
"""

import os

from gpumath.compat.nvmath._runner import PROGRAM, code_of, install

if __name__ == "__mp_main__":
    install()
    __file__ = os.environ[PROGRAM]
    exec(code_of(__file__), globals())

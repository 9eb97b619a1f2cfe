"""The main module of a process that multiprocessing spawns for a program of the runner.

multiprocessing imports what the parent's main module says that it is, under the name
``__mp_main__``: this module, which then becomes the program.
"""

import os

from gpumath.compat.nvmath._runner import PROGRAM, install, load

if __name__ == "__mp_main__":
    install()
    program = load(os.environ[PROGRAM])
    # Nor does multiprocessing itself import the main module of a package again.
    if not program.is_package:
        globals().update(program.names)
        exec(program.code, globals())

"""``python -m gpumath.compat.nvmath program.py`` runs an unmodified program of nvmath-python."""

import sys

from gpumath.compat.nvmath._runner import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

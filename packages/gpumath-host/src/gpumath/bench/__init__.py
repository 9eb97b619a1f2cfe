"""Measures gpumath on this machine, beside the libraries that are installed here.

``python -m gpumath.bench`` runs it, ``--help`` lists its options. The rows are those of the
documentation's page on performance.

Examples
--------
>>> from gpumath.bench.__main__ import main
>>> main(["--execution", "cpu", "--rows", "16×1024", "--rounds", "1"])  # doctest: +SKIP
0
"""

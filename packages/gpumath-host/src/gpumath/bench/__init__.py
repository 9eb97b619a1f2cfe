"""Measures gpumath on this machine, beside the libraries that are installed here.

``python -m gpumath.bench`` runs it, ``--help`` lists its options. It measures Fourier transforms of
many layouts, cosine transforms, convolutions, products of matrices, also with a structure or an
epilog, and the host time of small calls. The documentation's page on performance says which scripts
measure the rest.

Examples
--------
>>> from gpumath.bench.__main__ import main
>>> main(["--execution", "cpu", "--rows", "16×1024", "--rounds", "1"])  # doctest: +SKIP
0
"""

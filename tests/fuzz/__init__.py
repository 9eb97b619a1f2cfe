"""Random use, for as long as one likes: `nox -s fuzz -- 10m`.

Each module here has a function `attempt(seed)`, which tries one random thing and raises what is
wrong. Everything that it chooses follows from the seed. The runner, `__main__.py`, calls it with
one fresh seed after the other, in a process of its own, and says the seed of an attempt that
failed, crashed or hung. `test_slices.py` runs a short slice of each module.
"""

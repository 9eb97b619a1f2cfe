"""A sample of a package that builds on gpumath-bindings alone."""

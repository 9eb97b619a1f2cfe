"""Low-level bindings of the CUDA math libraries."""

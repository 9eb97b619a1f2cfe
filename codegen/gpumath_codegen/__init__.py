"""Generates the symbol tables, the rows of the bindings, the Python enums and the stubs."""

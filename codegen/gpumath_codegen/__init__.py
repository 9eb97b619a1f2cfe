"""Generator of the symbol tables, the binding rows, the Python enums and the stubs."""

"""What the modules of gpumath-host share: array libraries, streams, memory, execution, options.

Private: nothing here is part of the public interface except what a public module exports.
"""

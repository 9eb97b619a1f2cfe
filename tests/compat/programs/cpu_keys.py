"""A cache of planned transforms under their keys."""

import numpy as np
import nvmath


class Cache(dict):
    """Plans of earlier calls."""

    def fft(self, a, **keywords):
        key = nvmath.fft.FFT.create_key(a, **keywords)
        transform = self.get(key)
        if transform is None:
            transform = self[key] = nvmath.fft.FFT(a, **keywords)
            transform.plan()
            assert transform.get_key() == key
        else:
            transform.reset_operand(a)
        return transform.execute()

    def free(self):
        while self:
            self.popitem()[1].free()


rng = np.random.default_rng()
cache = Cache()
for shape in ((4, 32), (4, 32), (2, 32), (4, 32)):
    a = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    assert np.allclose(cache.fft(a, axes=[1]), np.fft.fft(a))
assert len(cache) == 2
described = nvmath.fft.FFT.create_key_from_metadata((4, 32), "complex128", "cpu", axes=[1])
assert described in cache
assert hash(described) == hash(nvmath.fft.FFT.create_key(np.ones((4, 32), complex), axes=[1]))
assert nvmath.fft.estimate_workspace_size(described) == 0
cache.free()

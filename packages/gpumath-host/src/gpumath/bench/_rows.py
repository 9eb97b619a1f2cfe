"""What is measured: transforms of many layouts, convolutions, products of matrices, small calls."""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    *("CPU_ROWS", "GPU_ROWS", "Convolution", "Cosine", "Epilog", "Fft", "HostTime", "Matmul"),
    *("Product", "Row", "Structured"),
]


class Fft(NamedTuple):
    """A transform of an operand of this shape."""

    shape: tuple[int, ...]
    axes: tuple[int, ...]
    kind: str = "C2C"
    dtype: str = "complex64"
    view: str = ""  # "slice": every second element along the last axis

    @property
    def name(self) -> str:
        """How the row is called in tables; single precision is not named."""
        shape = "×".join(map(str, self.shape))
        kind = "" if self.kind == "C2C" else f"{self.kind} "
        dtype = "" if self.dtype in ("complex64", "float32") else f" {self.dtype}"
        axes = ", ".join(map(str, self.axes)) + ("," if len(self.axes) == 1 else "")
        return f"{kind}{shape}{dtype}{' every second' if self.view else ''}, ({axes})"

    @property
    def operands(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the operands in memory."""
        return ((*self.shape[:-1], self.shape[-1] * (2 if self.view else 1)),)


class Matmul(NamedTuple):
    """The product of an m × k and a k × n matrix."""

    m: int
    k: int
    n: int
    dtype: str = "float32"

    @property
    def name(self) -> str:
        """How the row is called in tables."""
        return f"matmul {self.m}×{self.k} · {self.k}×{self.n} {self.dtype}"

    @property
    def operands(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the operands in memory."""
        return (self.m, self.k), (self.k, self.n)


class Structured(NamedTuple):
    """The product of a square matrix with a structure and a matrix of ``width`` columns."""

    structure: str  # "symmetric", "triangular" or "diagonal"
    side: int
    width: int
    dtype: str = "float32"

    @property
    def name(self) -> str:
        """How the row is called in tables."""
        product = f"{self.side}×{self.side} · {self.side}×{self.width}"
        return f"{self.structure} {product} {self.dtype}"

    @property
    def operands(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the operands in memory; a diagonal matrix is its diagonal."""
        first = (self.side,) if self.structure == "diagonal" else (self.side, self.side)
        return first, (self.side, self.width)


class Epilog(NamedTuple):
    """The product of an m × k and a k × n matrix, a bias for each row, and an activation."""

    epilog: str  # "RELU_BIAS" or "GELU_BIAS"
    m: int
    k: int
    n: int
    dtype: str = "float32"

    @property
    def name(self) -> str:
        """How the row is called in tables."""
        return f"{self.epilog} {self.m}×{self.k} · {self.k}×{self.n} {self.dtype}"

    @property
    def operands(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the matrices and the bias in memory."""
        return (self.m, self.k), (self.k, self.n), (self.m, 1)


class Cosine(NamedTuple):
    """A cosine or sine transform along one axis of an operand of this shape."""

    shape: tuple[int, ...]
    axis: int
    kind: int = 2
    function: str = "dct"
    dtype: str = "float32"

    @property
    def name(self) -> str:
        """How the row is called in tables."""
        shape = "×".join(map(str, self.shape))
        return f"{self.function} {self.kind} {shape} {self.dtype}, ({self.axis},)"

    @property
    def operands(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the operands in memory."""
        return (self.shape,)


class Convolution(NamedTuple):
    """The full convolution of two arrays of these shapes."""

    first: tuple[int, ...]
    second: tuple[int, ...]
    dtype: str = "float32"

    @property
    def name(self) -> str:
        """How the row is called in tables."""
        first, second = ("×".join(map(str, shape)) for shape in self.operands)
        return f"convolve {first} with {second} {self.dtype}"

    @property
    def operands(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the operands in memory."""
        return self.first, self.second


class HostTime(NamedTuple):
    """A call of a function with operands so small that the call itself takes the time.

    An operand of ``fft`` is a line, because the libraries differ in which axes they transform.
    """

    function: str  # "fft" or "matmul"
    operands: tuple[tuple[int, ...], ...]
    dtype: str

    @property
    def name(self) -> str:
        """How the row is called in tables."""
        shapes = " · ".join("×".join(map(str, shape)) for shape in self.operands)
        return f"host time of {self.function} {shapes} {self.dtype}"


Product = Matmul | Structured | Epilog
Row = Fft | Product | Cosine | Convolution | HostTime

GPU_ROWS: tuple[Row, ...] = (
    Fft((256, 4096, 64), (1,)),
    Fft((32, 512, 512, 16), (1, 2)),
    Fft((32, 512, 512, 3), (1, 2)),
    Fft((32, 16, 512, 512), (2, 3)),
    Fft((128, 128, 4096), (0, 1)),
    Fft((4096, 4096, 3), (0, 1)),
    Fft((8192, 8192), (0,)),
    Fft((8192, 8192), (1,)),
    Fft((8192, 8192), (0, 1)),
    Fft((1 << 24, 2), (0,)),
    Fft((1 << 20, 64), (0,)),
    Fft((4096, 16), (0,)),
    Fft((64, 1 << 19), (0,)),
    Fft((1000, 60000), (0,)),
    Fft((1009, 60000), (0,)),
    Fft((300, 500, 400), (1,)),
    Fft((256, 256, 256), (0, 2)),
    Fft((256, 256, 256), (0, 1)),
    Fft((256, 256, 256), (1,)),
    Fft((512, 512, 512), (0, 1, 2)),
    Fft((16, 64, 64, 64, 4), (1, 2, 3)),
    Fft((24, 24, 24, 24, 24), (1, 2, 3, 4)),
    Fft((64, 1 << 20), (1,)),
    Fft((16, 1000003), (1,)),
    Fft((16, 1024), (1,)),
    Fft((4, 7, 9, 11), (1, 2)),
    Fft((2048, 8192), (1,), view="slice"),
    Fft((8192, 4096), (0,), view="slice"),
    Fft((256, 4096, 64), (1,), "C2C", "complex128"),
    Fft((8192, 4096), (0,), "C2C", "complex128"),
    Fft((128, 128, 2048), (0, 1), "C2C", "complex128"),
    Fft((256, 4096, 64), (1,), "C2C", "complex32"),
    Fft((8192, 8192), (0,), "C2C", "complex32"),
    Fft((32, 512, 512, 16), (1, 2), "R2C", "float32"),
    Fft((8192, 8192), (0,), "R2C", "float32"),
    Fft((64, 1 << 20), (1,), "R2C", "float32"),
    Fft((256, 4096, 64), (1,), "R2C", "float32"),
    Fft((1001, 30000), (0,), "R2C", "float32"),
    Fft((8192, 4096), (0,), "R2C", "float64"),
    Fft((256, 4096, 64), (1,), "R2C", "float16"),
    Fft((32, 512, 257, 16), (1, 2), "C2R", "complex64"),
    Fft((4097, 8192), (0,), "C2R", "complex64"),
    Fft((64, (1 << 19) + 1), (1,), "C2R", "complex64"),
    Fft((256, 2049, 64), (1,), "C2R", "complex64"),
    Fft((32, 512, 257), (1, 2), "C2R", "complex128"),
    Matmul(4096, 4096, 4096),
    Matmul(16384, 64, 16384),
    Matmul(64, 16384, 64),
    Matmul(4096, 4096, 4096, "float64"),
    Structured("symmetric", 4096, 4096),
    Structured("triangular", 4096, 4096),
    Structured("diagonal", 8192, 8192),
    Structured("symmetric", 4096, 64, "float64"),
    Epilog("RELU_BIAS", 4096, 4096, 4096, "float16"),
    Epilog("GELU_BIAS", 4096, 4096, 4096, "float16"),
    Epilog("RELU_BIAS", 8192, 1024, 1024),
    Cosine((8192, 8192), 1),
    Cosine((8192, 8192), 0, 3),
    Cosine((1 << 20, 16), 1),
    Cosine((64, 100_003), 1, dtype="float64"),
    Convolution((4096, 4096), (7, 7)),
    Convolution((2048, 2048), (301, 301)),
    Convolution((1 << 24,), (1000,)),
    Convolution((256, 256, 256), (5, 5, 5)),
    Convolution((1024, 1024), (64, 64), "complex128"),
    HostTime("fft", ((1024,),), "complex64"),
    HostTime("matmul", ((64, 64), (64, 64)), "float32"),
)

CPU_ROWS: tuple[Row, ...] = (
    Fft((64, 1024, 64), (1,)),
    Fft((8, 128, 128, 16), (1, 2)),
    Fft((8, 128, 128, 3), (1, 2)),
    Fft((8, 16, 128, 128), (2, 3)),
    Fft((64, 64, 1024), (0, 1)),
    Fft((1024, 1024, 3), (0, 1)),
    Fft((2048, 2048), (0,)),
    Fft((2048, 2048), (1,)),
    Fft((2048, 2048), (0, 1)),
    Fft((1 << 21, 2), (0,)),
    Fft((1 << 16, 64), (0,)),
    Fft((1000, 4000), (0,)),
    Fft((1009, 4000), (0,)),
    Fft((100, 250, 160), (1,)),
    Fft((128, 128, 128), (0, 2)),
    Fft((128, 128, 128), (0, 1, 2)),
    Fft((16, 1 << 18), (1,)),
    Fft((16, 1024), (1,)),
    Fft((4, 7, 9, 11), (1, 2)),
    Fft((64, 1024, 64), (1,), "C2C", "complex128"),
    Fft((2048, 1024), (0,), "C2C", "complex128"),
    Fft((8, 256, 256, 16), (1, 2), "R2C", "float32"),
    Fft((2048, 2048), (0,), "R2C", "float32"),
    Fft((64, 1024, 64), (1,), "R2C", "float32"),
    Fft((2048, 1024), (0,), "R2C", "float64"),
    Fft((8, 256, 129, 16), (1, 2), "C2R", "complex64"),
    Fft((1025, 2048), (0,), "C2R", "complex64"),
    Fft((64, 513, 64), (1,), "C2R", "complex64"),
    Matmul(1024, 1024, 1024),
    Matmul(4096, 32, 4096),
    Matmul(1024, 1024, 1024, "float64"),
    Structured("symmetric", 1024, 1024),
    Structured("triangular", 1024, 1024),
    Structured("diagonal", 2048, 2048),
    Structured("symmetric", 1024, 32, "float64"),
    Epilog("RELU_BIAS", 1024, 1024, 1024),
    Epilog("GELU_BIAS", 1024, 1024, 1024),
    Cosine((2048, 1024), 1),
    Cosine((2048, 1024), 0, 3),
    Cosine((100_000, 8), 1),
    Cosine((16, 10_007), 1, 4, "dst", "float64"),
    Convolution((512, 512), (3, 3)),
    Convolution((512, 512), (31, 31)),
    Convolution((1_000_000,), (5,)),
    Convolution((1_000_000,), (1000,)),
    Convolution((64, 64, 64), (5, 5, 5)),
    Convolution((256, 256), (15, 15), "complex128"),
    HostTime("fft", ((64,),), "complex64"),
    HostTime("matmul", ((8, 8), (8, 8)), "float32"),
)

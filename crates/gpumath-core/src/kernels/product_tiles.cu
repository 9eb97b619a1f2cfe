// Products of two matrices, in tiles; a part of product.cu.

// A matrix of 16 x 64 elements as a block loads it from wherever it lies: neighbouring threads go
// along the dimension whose elements are closer together.
template <typename Element>
struct Panel {
    enum { WIDTH = 16, DEPTH = 64, PITCH = WIDTH + 1, COUNT = WIDTH * DEPTH / THREADS };
    int width, depth;
    int width_step, depth_step;
    Element elements[COUNT];

    __device__ Panel(Integer across, Integer along) {
        const int thread = static_cast<int>(threadIdx.x);
        // A stride of 0 leads to no neighbour.
        const bool is_along = along != 0 && (across == 0 || llabs(along) < llabs(across));
        width = is_along ? thread / DEPTH : thread % WIDTH;
        depth = is_along ? thread % DEPTH : thread / WIDTH;
        width_step = is_along ? THREADS / DEPTH : 0;
        depth_step = is_along ? 0 : THREADS / WIDTH;
    }

    // Loads elements, and zeros beyond those that there are.
    __device__ void load(const Element* from, Integer across, Integer along, Integer wide,
                         Integer deep) {
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            const Integer w = width + i * width_step, d = depth + i * depth_step;
            elements[i] = w < wide && d < deep ? from[w * across + d * along] : Element();
        }
    }

    template <typename Sum>
    __device__ void put(Sum* to, bool is_conjugated) const {
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            const int w = width + i * width_step, d = depth + i * depth_step;
            to[d * PITCH + w] = widened(elements[i], is_conjugated);
        }
    }
};

// Small matrices: a block computes 16 x 16 elements. Each of four groups of 64 threads adds up a
// quarter of the products, and each of these threads 2 x 2 elements, 8 apart.
template <typename Sum, typename Element, typename Result>
__device__ void multiply_small(const Matrices<Element, Result>& matrices, const Product& product) {
    typedef Panel<Element> Part;
    enum { EDGE = Part::WIDTH, GROUP = 64, GROUPS = THREADS / GROUP, HALF = EDGE / 2 };
    __shared__ Sum shared[2 * Part::DEPTH * Part::PITCH];
    Sum *const a_panel = shared, *const b_panel = shared + Part::DEPTH * Part::PITCH;
    const int thread = static_cast<int>(threadIdx.x), group = thread / GROUP;
    const int row = thread % GROUP / HALF, column = thread % HALF;
    Part a(product.a[0], product.a[1]), b(product.b[1], product.b[0]);
#pragma unroll 1
    for (Integer index = blockIdx.x; index < product.tiles; index += gridDim.x) {
        const Tile<Element, Result> tile(index, matrices, product);
        const Integer first_row = tile.row * EDGE, first_column = tile.column * EDGE;
        const Element* a_from = tile.a + first_row * product.a[0];
        const Element* b_from = tile.b + first_column * product.b[1];
        const Integer rows = product.rows - first_row, columns = product.columns - first_column;
        Sum sums[2][2] = {};
        a.load(a_from, product.a[0], product.a[1], rows, product.depth);
        b.load(b_from, product.b[1], product.b[0], columns, product.depth);
#pragma unroll 1
        for (Integer start = 0; start < product.depth; start += Part::DEPTH) {
            a.put(a_panel, product.is_conjugated_a != 0);
            b.put(b_panel, product.is_conjugated_b != 0);
            __syncthreads();
            const Integer next = start + Part::DEPTH;
            if (next < product.depth) {
                const Integer deep = product.depth - next;
                a.load(a_from + next * product.a[1], product.a[0], product.a[1], rows, deep);
                b.load(b_from + next * product.b[0], product.b[1], product.b[0], columns, deep);
            }
            // Beyond the depth there are zeros.
            const int deep = static_cast<int>(min(product.depth - start, Integer(Part::DEPTH)));
            const int steps = (deep + GROUPS - 1) / GROUPS;
#pragma unroll 4
            for (int i = 0; i < steps; ++i) {
                const int at = (group * steps + i) * Part::PITCH;
                const Sum x[2] = {a_panel[at + row], a_panel[at + row + HALF]};
                const Sum y[2] = {b_panel[at + column], b_panel[at + column + HALF]};
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    add_product(sums[j / 2][j % 2], x[j / 2], y[j % 2]);
                }
            }
            __syncthreads();
        }
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const int at = (row + j / 2 * HALF) * EDGE + column + j % 2 * HALF;
            shared[group * EDGE * EDGE + at] = sums[j / 2][j % 2];
        }
        __syncthreads();
        Sum sum = shared[thread];
#pragma unroll
        for (int other = 1; other < GROUPS; ++other) {
            add(sum, shared[other * EDGE * EDGE + thread]);
        }
        __syncthreads();
        const Integer i = thread / EDGE, j = thread % EDGE;
        if (i < rows && j < columns) {
            const Integer row = first_row + i, column = first_column + j;
            tile.store(tile.c + row * product.c[0] + column * product.c[1], row, column, sum,
                       product);
        }
    }
}

// Matrices of small depth: a block computes 128 rows, or 64 of two bytes an element, of as many
// columns as 16 threads store at once, 16 bytes each.
template <typename Sum, typename Element, typename Result>
__device__ void multiply_thin(const Matrices<Element, Result>& matrices, const Product& product) {
    enum { DEPTH = 8, EDGE = 16, WIDE = Pack<Result>::COUNT, TALL = WIDE == 8 ? 4 : 8 };
    enum { ROWS = EDGE * TALL, COLUMNS = EDGE * WIDE };
    __shared__ alignas(16) Sum a_panel[DEPTH][ROWS + 4];
    __shared__ alignas(16) Sum b_panel[DEPTH][COLUMNS + 4];
    const int thread = static_cast<int>(threadIdx.x);
    const int row = thread / EDGE * TALL, column = thread % EDGE * WIDE;
    const bool a_by_rows = product.a[1] != 0 && llabs(product.a[1]) < llabs(product.a[0]);
    const bool b_by_rows = product.b[1] != 0 && llabs(product.b[1]) <= llabs(product.b[0]);
#pragma unroll 1
    for (Integer index = blockIdx.x; index < product.tiles; index += gridDim.x) {
        const Tile<Element, Result> tile(index, matrices, product);
        const Integer first_row = tile.row * ROWS, first_column = tile.column * COLUMNS;
        Sum sums[TALL][WIDE] = {};
#pragma unroll 1
        for (Integer start = 0; start < product.depth; start += DEPTH) {
            const int deep = static_cast<int>(min(product.depth - start, Integer(DEPTH)));
#pragma unroll
            for (int i = 0; i < ROWS * DEPTH / THREADS; ++i) {
                const int at = thread + i * THREADS;
                const int r = a_by_rows ? at / DEPTH : at % ROWS;
                const int d = a_by_rows ? at % DEPTH : at / ROWS;
                if (d < deep && first_row + r < product.rows) {
                    const Element* from =
                        tile.a + (first_row + r) * product.a[0] + (start + d) * product.a[1];
                    a_panel[d][r] = widened(*from, product.is_conjugated_a != 0);
                }
            }
#pragma unroll
            for (int i = 0; i < (COLUMNS * DEPTH + THREADS - 1) / THREADS; ++i) {
                const int at = thread + i * THREADS;
                const int j = b_by_rows ? at % COLUMNS : at / DEPTH;
                const int d = b_by_rows ? at / COLUMNS : at % DEPTH;
                if (d < deep && j < COLUMNS && first_column + j < product.columns) {
                    const Element* from =
                        tile.b + (first_column + j) * product.b[1] + (start + d) * product.b[0];
                    b_panel[d][j] = widened(*from, product.is_conjugated_b != 0);
                }
            }
            __syncthreads();
#pragma unroll 1
            for (int d = 0; d < deep; ++d) {
                Sum x[TALL], y[WIDE];
#pragma unroll
                for (int i = 0; i < TALL; ++i) {
                    x[i] = a_panel[d][row + i];
                }
#pragma unroll
                for (int j = 0; j < WIDE; ++j) {
                    y[j] = b_panel[d][column + j];
                }
#pragma unroll
                for (int i = 0; i < TALL; ++i) {
#pragma unroll
                    for (int j = 0; j < WIDE; ++j) {
                        add_product(sums[i][j], x[i], y[j]);
                    }
                }
            }
            __syncthreads();
        }
        const Integer columns = product.columns - first_column - column;
        Result* at = tile.c + (first_row + row) * product.c[0] +
                     (first_column + column) * product.c[1];
#pragma unroll
        for (int i = 0; i < TALL; ++i) {
            if (first_row + row + i < product.rows) {
                Pack<Result> pack;
#pragma unroll
                for (int j = 0; j < WIDE; ++j) {
                    narrow(scaled(sums[i][j], product), pack.elements[j]);
                }
                if (product.is_packed_c != 0 && columns >= WIDE) {
                    Word word;
                    memcpy(&word, &pack, sizeof(word));
                    *reinterpret_cast<Word*>(at) = word;
                } else {
#pragma unroll
                    for (int j = 0; j < WIDE; ++j) {
                        if (j < columns) {
                            at[j * product.c[1]] = pack.elements[j];
                        }
                    }
                }
            }
            at += product.c[0];
        }
    }
}

#define BLOCKS_small(Sum) 1
#define BLOCKS_thin(Sum) (sizeof(Sum) == 4 ? 4 : 2)

KERNEL(small, TYPE)
#if !HAS_EPILOG
KERNEL(thin, TYPE)
#endif

// Copies of arrays of any strides to memory without gaps.
// `nox -s kernels` compiles them to generated/copy_flat.ptx.

// Threads of a block, and words that each of them copies at a time: all are loaded before the first
// one is stored.
enum { THREADS = 256, WORDS = 2 };

enum { MAX_RANK = 4 };

// The elements of the target follow each other, dimension 0 being the fastest one. The structure
// has a counterpart in flat_copy.rs.
struct FlatCopy {
    unsigned elements, rank;
    struct Dim {
        unsigned extent;
        // Stride of the source.
        int from;
    } dims[MAX_RANK];
};

// Returns where a line of the source begins: the elements along dimension 0.
__device__ int start_of(unsigned line, const FlatCopy& copy) {
    int start = 0;
#pragma unroll 1
    for (unsigned dim = 1; dim < copy.rank; ++dim) {
        unsigned index = line;
        if (dim + 1 < copy.rank) {
            const unsigned rest = line / copy.dims[dim].extent;
            index = line - rest * copy.dims[dim].extent;
            line = rest;
        }
        start += static_cast<int>(index) * copy.dims[dim].from;
    }
    return start;
}

// Returns the word that begins with an element: elements are loaded one by one, because they are
// apart in the source, or lines begin where a word cannot be loaded.
template <typename Element, typename Word>
__device__ Word gathered(const Element* from, unsigned element, const FlatCopy& copy) {
    enum { COUNT = sizeof(Word) / sizeof(Element) };
    union {
        Element elements[COUNT];
        Word word;
    } found = {};
    const unsigned extent = copy.dims[0].extent;
    unsigned line = element / extent, index = element - line * extent;
    const Element* source = from + start_of(line, copy);
#pragma unroll
    for (unsigned number = 0; number < COUNT; ++number, ++index) {
        if (index == extent) {
            index = 0;
            source = from + start_of(++line, copy);
        }
        if (element + number < copy.elements) {
            found.elements[number] = source[static_cast<int>(index) * copy.dims[0].from];
        }
    }
    return found.word;
}

// Beyond the last element, the rest of a word is zero.
template <typename Element, typename Word>
__device__ void copy(Word* to, const Element* from, const FlatCopy& copy) {
    enum { COUNT = sizeof(Word) / sizeof(Element) };
    const unsigned words = copy.elements / COUNT + (copy.elements % COUNT != 0);
    for (unsigned first = blockIdx.x * (THREADS * WORDS) + threadIdx.x; first < words;
         first += gridDim.x * (THREADS * WORDS)) {
        Word found[WORDS];
#pragma unroll
        for (unsigned number = 0; number < WORDS; ++number) {
            const unsigned word = first + number * THREADS;
            if (word < words) {
                found[number] = gathered<Element, Word>(from, word * COUNT, copy);
            }
        }
#pragma unroll
        for (unsigned number = 0; number < WORDS; ++number) {
            const unsigned word = first + number * THREADS;
            if (word < words) {
                to[word] = found[number];
            }
        }
    }
}

#define COPY(size, Element, Word)                                                             \
    extern "C" __global__ void __launch_bounds__(THREADS)                                     \
        copy_flat_##size(Word* to, const Element* from, FlatCopy arguments) {                 \
        copy<Element, Word>(to, from, arguments);                                             \
    }

COPY(1, unsigned char, unsigned int)
COPY(2, unsigned short, uint2)
COPY(4, unsigned int, uint4)
COPY(8, uint2, uint4)

// Copies of small elements that are turned; a part of copy.cu.

// Elements of fewer than 4 bytes that are turned: a square of as many words as each has elements,
// whose words follow each other along dimension 0 in the source and along dimension 1 in the
// target. A thread exchanges rows and columns of the square.
struct Square2 {
    typedef unsigned int Word;
    typedef uint2 Unit;
    enum { COUNT = 2 };

    __device__ static Unit load(const Word* from, Integer across) {
        const Word one = from[0], two = from[across];
        return {__byte_perm(one, two, 0x5410), __byte_perm(one, two, 0x7632)};
    }

    __device__ static void store(Word* to, Unit unit, Integer across) {
        to[0] = unit.x;
        to[across] = unit.y;
    }
};

struct Square1 {
    typedef unsigned int Word;
    typedef uint4 Unit;
    enum { COUNT = 4 };

    __device__ static Unit load(const Word* from, Integer across) {
        const Word one = from[0], two = from[across], three = from[2 * across];
        const Word four = from[3 * across];
        // The first and the last two elements of two words, in turns.
        const Word low = __byte_perm(one, two, 0x5140), high = __byte_perm(one, two, 0x7362);
        const Word next_low = __byte_perm(three, four, 0x5140);
        const Word next_high = __byte_perm(three, four, 0x7362);
        return {__byte_perm(low, next_low, 0x5410), __byte_perm(low, next_low, 0x7632),
                __byte_perm(high, next_high, 0x5410), __byte_perm(high, next_high, 0x7632)};
    }

    __device__ static void store(Word* to, Unit unit, Integer across) {
        to[0] = unit.x;
        to[across] = unit.y;
        to[2 * across] = unit.z;
        to[3 * across] = unit.w;
    }
};

COPY(square_1, Square1)
COPY(square_2, Square2)

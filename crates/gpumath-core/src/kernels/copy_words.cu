// Copies by words; a part of copy.cu.

// What a thread copies at once, of type `Unit`: a word of memory.
template <typename Memory>
struct Single {
    typedef Memory Word;
    typedef Memory Unit;
    enum { COUNT = 1 };

    __device__ static Unit load(const Word* from, Integer) { return *from; }

    __device__ static void store(Word* to, Unit unit, Integer) { *to = unit; }
};

COPY(1, Single<unsigned char>)
COPY(2, Single<unsigned short>)
COPY(4, Single<unsigned int>)
COPY(8, Single<uint2>)
COPY(16, Single<uint4>)

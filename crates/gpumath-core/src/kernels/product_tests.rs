use super::*;
use crate::tensor::BatchDim;

fn product(
    dtype: DType,
    [rows, columns, depth]: [i64; 3],
    strides: [[i64; 2]; 3],
) -> StridedProduct {
    let result = if dtype == DType::Int8 { DType::Int32 } else { dtype };
    StridedProduct {
        dtype,
        result,
        rows,
        columns,
        depth,
        strides: [strides[0], strides[1], strides[2], [0; 2]],
        conjugate: [true, false],
        batch: BatchDims::merged([]),
        has_bias: false,
        function: Function::Identity,
        alignment: 16,
    }
}

fn call(extents: [i64; 3], strides: [[i64; 2]; 3]) -> ProductCall {
    ProductCall::of(&product(DType::Float32, extents, strides)).unwrap()
}

#[test]
fn matrices_are_computed_by_tiles() {
    let small = call([64, 40, 64], [[64, 1], [40, 1], [40, 1]]);
    assert_eq!((small.way, small.is_transposed), (Way::Small, false));
    assert_eq!((small.arguments.row_tiles, small.arguments.column_tiles), (4, 3));
    // The result is in Fortran order.
    let turned = call([64, 40, 64], [[64, 1], [40, 1], [1, 64]]);
    assert!(turned.is_transposed);
    assert_eq!((turned.arguments.rows, turned.arguments.a), (40, [1, 40, 0, 0]));
    assert_eq!((turned.arguments.b, turned.arguments.c), ([1, 64, 0, 0], [64, 1, 0, 0]));
    assert_eq!(turned.arguments.is_conjugated, [0, 1]);
    let thin = call([8192, 4096, 8], [[8, 1], [4096, 1], [4096, 1]]);
    assert_eq!((thin.way, thin.arguments.is_packed), (Way::Thin, [0, 0, 1]));
    assert_eq!((thin.arguments.row_tiles, thin.arguments.column_tiles), (64, 64));
}

#[test]
fn vectors_are_multiplied_along_what_is_fast() {
    let rows = call([8192, 1, 4096], [[4096, 1], [1, 0], [1, 0]]);
    assert_eq!((rows.way, rows.arguments.lanes), (Way::Rows, 8));
    assert_eq!(rows.arguments.is_packed, [1, 1, 0]);
    let few = call([64, 1, 4096], [[4096, 1], [1, 0], [1, 0]]);
    assert_eq!((few.way, few.arguments.lanes), (Way::Rows, 1));
    let short = call([8192, 1, 8], [[8, 1], [1, 0], [1, 0]]);
    assert_eq!((short.way, short.arguments.lanes), (Way::Rows, 128));
    let row = call([1, 1000, 4096], [[0, 1], [1000, 1], [0, 1]]);
    assert_eq!((row.way, row.is_transposed), (Way::Columns, true));
    assert_eq!((row.arguments.lanes, row.arguments.is_packed), (2, [1, 0, 0]));
    let number = call([1, 1, 500], [[0, 1], [1, 0], [0, 0]]);
    assert_eq!((number.way, number.arguments.lanes), (Way::Rows, 1));
    let outer = call([4096, 1, 1], [[1, 0], [0, 0], [1, 0]]);
    assert_eq!((outer.way, outer.arguments.lanes), (Way::Columns, 256));
}

#[test]
fn a_few_vectors_share_the_matrix() {
    let rows = call([8192, 4, 4096], [[4096, 1], [4, 1], [4, 1]]);
    assert_eq!((rows.way, rows.is_transposed, rows.arguments.lanes), (Way::FewRows, false, 8));
    assert_eq!((rows.arguments.row_tiles, rows.arguments.is_packed), (256, [1, 0, 0]));
    let columns = call([8, 4096, 1000], [[1000, 1], [4096, 1], [4096, 1]]);
    assert_eq!((columns.way, columns.is_transposed), (Way::FewColumns, true));
    assert_eq!((columns.arguments.rows, columns.arguments.columns), (4096, 8));
    assert_eq!((columns.arguments.lanes, columns.arguments.row_tiles), (4, 256));
    assert_eq!(call([8, 40, 4096], [[4096, 1], [40, 1], [40, 1]]).way, Way::Small);
    let halves = product(DType::Float16, [8, 4096, 1000], [[1000, 1], [4096, 1], [4096, 1]]);
    assert_eq!(ProductCall::of(&halves).unwrap().way, Way::Small);
}

#[test]
fn entries_between_rows_are_rows() {
    let mut turned = product(DType::Float32, [1, 64, 8192], [[0, 1], [256, 4], [0, 1]]);
    turned.batch = BatchDims::merged([BatchDim { extent: 4, strides: [0, 1, 64, 0] }]);
    let joined = ProductCall::of(&turned).unwrap();
    assert_eq!(
        (joined.way, joined.arguments.rows, joined.arguments.tiles),
        (Way::Columns, 256, 64)
    );
    assert_eq!((joined.arguments.a, joined.arguments.c[0]), ([1, 256, 0, 0], 1));
    assert_eq!((joined.arguments.joined, joined.arguments.entries), ([4, 64], 1));
    // Each entry has a vector of its own.
    turned.batch = BatchDims::merged([BatchDim { extent: 4, strides: [8192, 1, 64, 0] }]);
    assert_eq!(ProductCall::of(&turned).unwrap().arguments.joined, [1, 0]);
}

#[test]
fn a_bias_is_turned_with_the_result() {
    let mut added = product(DType::Float32, [64, 40, 64], [[64, 1], [40, 1], [1, 64]]);
    (added.has_bias, added.strides[3]) = (true, [1, 0]);
    let turned = ProductCall::of(&added).unwrap();
    assert!(turned.is_transposed);
    assert_eq!((turned.arguments.bias, turned.arguments.function), ([0, 1, 0, 0], 0));
    // Entries of a batch have rows of their own, whose bias differs.
    let mut apart = product(DType::Float32, [1, 64, 8192], [[0, 1], [256, 4], [0, 1]]);
    (apart.has_bias, apart.function) = (true, Function::Relu);
    apart.batch = BatchDims::merged([BatchDim { extent: 4, strides: [0, 1, 64, 1] }]);
    let apart = ProductCall::of(&apart).unwrap();
    assert_eq!((apart.arguments.joined, apart.arguments.entries), ([1, 0], 4));
    assert_eq!((apart.arguments.bias, apart.arguments.function), ([0, 0, 1, 0], 1));
    // Thin matrices have kernels without.
    let mut thin = product(DType::Float32, [8192, 4096, 8], [[8, 1], [4096, 1], [4096, 1]]);
    thin.function = Function::Gelu;
    assert!(ProductCall::of(&thin).is_none());
}

#[test]
fn it_is_first_where_it_was_faster() {
    let first = |extents, strides, copied| call(extents, strides).is_faster(copied, false);
    let by_rows = |[rows, columns, depth]: [i64; 3]| {
        let one = |stride: i64, extent: i64| if extent == 1 { 0 } else { stride };
        [
            [one(depth, rows), one(1, depth)],
            [one(columns, depth), one(1, columns)],
            [one(columns, rows), one(1, columns)],
        ]
    };
    for (extents, without, with_copies) in [
        ([64, 64, 64], true, true),
        ([64, 64, 384], true, true),
        ([64, 64, 385], false, true),
        ([64, 64, 641], false, false),
        ([300, 300, 64], false, true),
        ([300, 300, 321], false, false),
        ([400, 400, 64], false, false),
        ([64, 64, 4096], false, false),
        ([8192, 8192, 1], true, true),
        ([4096, 6144, 8], false, false),
        ([4096, 6136, 8], false, true),
        ([8192, 8192, 9], false, false),
        ([1, 1, 8192], true, true),
        ([1, 1, 1 << 30], false, false),
        ([64, 1, 8192], true, true),
        ([8192, 1, 8192], false, false),
        ([1, 8192, 64], false, true),
    ] {
        let found = [0, 4096].map(|copied| first(extents, by_rows(extents), copied));
        assert_eq!(found, [without, with_copies], "{extents:?}");
    }
    // A copy of the matrix takes longer than one of the vector.
    assert!(first([8192, 1, 8192], by_rows([8192, 1, 8192]), 1 << 28));
    // Halves and a vector that is one number.
    let halves = |rows| product(DType::BFloat16, [rows, 1, 64], [[64, 1], [0, 0], [1, 0]]);
    let is_faster = |rows| ProductCall::of(&halves(rows)).unwrap().is_faster(1, false);
    assert!(is_faster(2048) && !is_faster(4096));
    // Halves, with lines of an even and of an odd number of elements.
    let halves = |step| product(DType::BFloat16, [64, 64, 200], [[step, 1], [64, 1], [64, 1]]);
    let is_faster = |step| ProductCall::of(&halves(step)).unwrap().is_faster(0, false);
    assert_eq!([200, 201].map(is_faster), [false, true]);
    // Long sums in a batch that a library makes one product of, and in another one.
    for (entry, is_faster) in [(0, false), (1000 * 64, true)] {
        let mut batch = product(DType::Float32, [64, 64, 1000], [[4000, 4], [64, 1], [64, 1]]);
        let strides = [1, entry, 64 * 64, 0];
        batch.batch = BatchDims::merged([BatchDim { extent: 4, strides }]);
        assert_eq!(ProductCall::of(&batch).unwrap().is_faster(1, false), is_faster, "{entry}");
        batch.has_bias = true;
        assert!(ProductCall::of(&batch).unwrap().is_faster(1, false), "{entry}");
    }
    // Long sums in a batch.
    for columns in [8, 16] {
        let by_rows = [[4096, 1], [columns, 1], [columns, 1]];
        let mut batch = product(DType::Float32, [64, columns, 4096], by_rows);
        let steps = [64 * 4096, columns * 4096, 64 * columns, 0];
        batch.batch = BatchDims::merged([BatchDim { extent: 4, strides: steps }]);
        let call = ProductCall::of(&batch).unwrap();
        assert!(call.is_faster(0, false) && !call.is_faster(0, true));
    }
    // Longer sums of halves in a batch, with lines of an even and of an odd number of elements.
    for (step, copied, longest) in [(64, 0, 32), (65, 0, 880), (64, 1, 880)] {
        for (depth, is_faster) in [(longest, true), (longest + 1, false)] {
            let steps = [[8 * depth, 1], [step, 1], [64, 1]];
            let mut batch = product(DType::BFloat16, [64, 64, depth], steps);
            let strides = [512 * depth, step * depth, 64 * 64, 0];
            batch.batch = BatchDims::merged([BatchDim { extent: 4, strides }]);
            let call = ProductCall::of(&batch).unwrap();
            assert_eq!(call.is_faster(copied, false), is_faster, "{step} {copied} {depth}");
        }
    }
    // Few vectors, beside matrices that fill a GPU and others, without tensor cores and with them.
    for (extents, are_faster) in [
        ([4, 8192, 1000], [true, false]),
        ([4, 4096, 4096], [true, false]),
        ([4096, 4, 1000], [true, true]),
        ([1000, 8, 8192], [false, false]),
        ([64, 8, 8192], [false, false]),
        ([1000, 8, 64], [true, true]),
    ] {
        let found = [false, true].map(|has| call(extents, by_rows(extents)).is_faster(0, has));
        assert_eq!(found, are_faster, "{extents:?}");
    }
}

/// A batch of four products of a matrix of `rows` × `depth`, one for all or one for each, and of a
/// few vectors that take turns in memory, which a library would have to copy.
fn few_of_a_batch(
    dtype: DType,
    [rows, few, depth]: [i64; 3],
    is_shared: bool,
    by_rows: bool,
) -> ProductCall {
    let a = if by_rows { [depth, 1] } else { [1, rows] };
    let strides = [a, [4 * few, 4], [few, 1]];
    let mut batch = product(dtype, [rows, few, depth], strides);
    let step = if is_shared { 0 } else { rows * depth };
    batch.batch = BatchDims::merged([BatchDim { extent: 4, strides: [step, 1, rows * few, 0] }]);
    ProductCall::of(&batch).unwrap()
}

#[test]
fn a_few_vectors_beside_copies() {
    use DType::{Complex64, Complex128, Float32, Float64};
    let extents = [1024, 4, 2048];
    let vectors = 4 * 4 * 2048 * 16;
    for (dtype, is_shared, expected) in [
        // One matrix for all entries would be read four times.
        (Float64, true, false),
        (Float64, false, true),
        (Float32, true, true),
        (Complex64, true, true),
    ] {
        let call = few_of_a_batch(dtype, extents, is_shared, false);
        assert_eq!(call.way, Way::FewColumns, "{dtype}");
        assert_eq!(call.is_faster(vectors, false), expected, "{dtype} {is_shared}");
    }
    // A library copies the matrix, too; complex128 takes too long if it is read again.
    for (dtype, is_shared, expected) in
        [(Complex128, true, false), (Complex128, false, true), (Float64, true, true)]
    {
        let copied = if is_shared { 1 } else { 4 } * 1024 * 2048 * dtype.size();
        let call = few_of_a_batch(dtype, extents, is_shared, false);
        assert_eq!(call.is_faster(copied, false), expected, "{dtype} {is_shared}");
    }
    for dtype in [Complex64, Float64, Float32] {
        let call = few_of_a_batch(dtype, [1024, 8, 2048], true, false);
        assert!(!call.is_faster(1024 * 2048 * dtype.size(), false), "{dtype}");
    }
    // Up to eight vectors, which each block of a few rows reads again.
    for (dtype, depth, has_tensor_cores, expected) in [
        (Float64, 2000, false, true),
        (Float64, 3000, false, false),
        (Float32, 3000, false, true),
        (Float32, 3000, true, false),
    ] {
        let extents = [128, 8, depth];
        let call = few_of_a_batch(dtype, extents, false, true);
        assert_eq!(call.way, Way::FewRows);
        let copied = 4 * 128 * depth as usize * dtype.size();
        assert_eq!(call.is_faster(copied, has_tensor_cores), expected, "{dtype} {depth}");
    }
}

/// A matrix and a vector, whose elements follow each other along rows or along columns.
#[test]
fn a_matrix_and_a_vector_without_copies() {
    use DType::{Complex64, Complex128, Float16, Float64};
    for (dtype, [rows, depth], by_rows, expected) in [
        (Float64, [4096, 255], false, true),
        (Float64, [4096, 256], false, false),
        (Float64, [500, 2048], false, true),
        // Columns whose elements are loaded in words, and others.
        (Float64, [500, 127], false, false),
        (Float64, [501, 127], false, true),
        (Float64, [501, 15], false, false),
        (Float64, [500, 16], true, true),
        (Complex64, [4096, 255], false, true),
        (Complex64, [600, 512], false, false),
        (Complex128, [4096, 63], false, true),
        (Complex128, [4096, 65], false, false),
        (Complex128, [100, 5120], true, true),
        (Complex128, [100, 5121], true, false),
        (Float16, [100, 511], true, false),
        (Float16, [100, 512], true, true),
    ] {
        let a = if by_rows { [depth, 1] } else { [1, rows] };
        let call = ProductCall::of(&product(dtype, [rows, 1, depth], [a, [1, 0], [1, 0]])).unwrap();
        assert_eq!(call.way, if by_rows { Way::Rows } else { Way::Columns });
        assert_eq!(call.is_faster(0, false), expected, "{dtype} {rows} {depth} {by_rows}");
    }
}

/// A vector whose elements are far apart beside a matrix of long rows.
#[test]
fn scattered_vectors() {
    let is_faster = |rows, depth, step| {
        let strides = [[depth, 1], [step, 0], [1, 0]];
        call([rows, 1, depth], strides).is_faster(0, false)
    };
    assert!(is_faster(64, 4096, 7) && !is_faster(64, 4096, 8));
    assert!(is_faster(64, 4095, 17) && is_faster(7, 4096, 17) && !is_faster(8, 4096, 17));
    // Beside the copy of a matrix that a library needs, more of them.
    let turned = |rows| call([rows, 1, 4096], [[8 * 4096, 2], [17, 0], [1, 0]]);
    let copied = |rows: i64| rows as usize * 4096 * 4;
    assert!(
        turned(127).is_faster(copied(127), false) && !turned(128).is_faster(copied(128), false)
    );
}

#[test]
fn there_are_kernels_for_some_types_and_batches() {
    let strides = [[8, 1], [8, 1], [8, 1]];
    let mut mixed = product(DType::Float16, [8, 8, 8], strides);
    mixed.result = DType::Float32;
    assert!(ProductCall::of(&mixed).is_none());
    let mut shifted = product(DType::Complex64, [8, 8, 8], strides);
    assert!(ProductCall::of(&shifted).is_some());
    shifted.alignment = 4;
    assert!(ProductCall::of(&shifted).is_none());
    let mut batch = product(DType::Int8, [8, 8, 8], strides);
    let dim = |extent: i64, strides: [i64; 4]| BatchDim { extent, strides };
    batch.batch = BatchDims::merged([dim(3, [64, 0, 320, 0]), dim(5, [0, 64, 64, 0])]);
    let call = ProductCall::of(&batch).unwrap();
    assert_eq!((call.arguments.tiles, call.arguments.entries), (15, 5));
    assert_eq!(call.arguments.c, [8, 1, 64, 320]);
    let three = [dim(3, [64, 0, 960, 0]), dim(5, [0, 64, 192, 0]), dim(3, [64, 0, 64, 0])];
    batch.batch = BatchDims::merged(three);
    assert!(ProductCall::of(&batch).is_none());
}

#[test]
fn the_kernels_take_the_structure() {
    for dtype in [
        DType::Float16,
        DType::BFloat16,
        DType::Float32,
        DType::Float64,
        DType::Complex64,
        DType::Complex128,
        DType::Int8,
    ] {
        let strides = [[8, 1], [8, 1], [8, 1]];
        let mut call = ProductCall::of(&product(dtype, [8, 8, 8], strides)).unwrap();
        let mut ways = vec![(Way::Small, 8), (Way::Thin, 8), (Way::Rows, 8), (Way::Columns, 8)];
        if dtype.size() >= 4 {
            let few = [Way::FewRows, Way::FewColumns];
            ways.extend(few.iter().flat_map(|&way| [(way, 4), (way, 8)]));
        }
        let with_epilogs = ways
            .clone()
            .into_iter()
            .filter(|&(way, _)| way != Way::Thin && dtype != DType::Int8 && !dtype.is_complex());
        let with_epilogs: Vec<_> =
            with_epilogs.map(|(way, columns)| (way, columns, true)).collect();
        let plain = ways.into_iter().map(|(way, columns)| (way, columns, false));
        for (way, columns, has_epilog) in plain.chain(with_epilogs) {
            call.way = way;
            call.arguments.columns = columns;
            call.has_epilog = has_epilog;
            let (ptx, name) = call.kernel();
            let size = ProductCall::ARGUMENTS_SIZE;
            let parameter = format!("{}_param_4[{size}]", name.to_str().unwrap());
            assert!(ptx.contains(&parameter), "{parameter}");
        }
    }
}

//! Products that several threads share.

use pulp::Arch;

use super::*;

/// Returns small integers, whose products are exact.
pub(super) fn numbers<T: Number>(count: usize, seed: usize) -> Vec<T> {
    let number = |index: usize| ((index + seed) * 7919 % 17) as f64 - 8.0;
    (0..count).map(|index| T::from_parts([number(index), number(index + 5)])).collect()
}

/// Returns the sets of instructions that this processor has.
pub(super) fn instruction_sets() -> Vec<Arch> {
    let mut sets = vec![Arch::Scalar, Arch::new()];
    #[cfg(target_arch = "x86_64")]
    sets.extend(pulp::x86::V3::try_new().map(Arch::V3));
    sets
}

fn factor(layout: &Layout) -> Factor<'_> {
    Factor { layout, structure: Structure::General, is_conjugated: false }
}

#[test]
fn threads_share_products_of_any_extents() {
    for [rows, columns, depth] in [
        [257, 131, 300],
        [64, 5000, 2],
        [9, 33, 4000],
        [1, 900, 600],
        [700, 900, 1],
        [37, 1, 9000],
        [501, 17, 403],
        [5, 7, 5003],
        [1, 1, 300_007],
        [16, 12, 20_011],
    ] {
        // Small integers, whose products are exact.
        let numbers = |count: usize, factor: usize| -> Vec<f64> {
            (0..count).map(|index| (index * factor % 17) as f64 - 8.0).collect()
        };
        let (a, b) = (numbers(rows * depth, 7919), numbers(depth * columns, 6007));
        let mut expected = vec![0.0; rows * columns];
        for (row, expected) in expected.chunks_exact_mut(columns).enumerate() {
            for (left, right) in a[row * depth..].iter().zip(b.chunks_exact(columns)) {
                expected.iter_mut().zip(right).for_each(|(sum, right)| *sum += left * right);
            }
        }
        let layout = |rows: usize, columns: usize| Layout::from([rows as i64, columns as i64]);
        let mut layouts = [layout(rows, depth), layout(depth, columns), layout(rows, columns)];
        // The same left factor in C order, then in Fortran order.
        let turned: Vec<f64> =
            (0..a.len()).map(|index| a[index % rows * depth + index / rows]).collect();
        let cases = [1, 2, 3, 7, 16, 61].map(|count| NonZeroUsize::new(count).unwrap());
        for (threads, is_turned) in cases.into_iter().flat_map(|one| [(one, false), (one, true)]) {
            let a = if is_turned { &turned } else { &a };
            let strides = if is_turned { [1, rows as i64] } else { [depth as i64, 1] };
            layouts[0].strides = strides.into_iter().collect();
            let factors = [factor(&layouts[0]), factor(&layouts[1])];
            let products = CpuProducts::new([(factors, None, &layouts[2])], threads).unwrap();
            let mut found = vec![f64::NAN; rows * columns];
            let terms = Terms {
                a: a.as_ptr() as usize,
                b: b.as_ptr() as usize,
                c: 0,
                out: found.as_mut_ptr() as usize,
                alpha: 1.0,
                beta: 0.0,
            };
            // SAFETY: the vectors have these extents.
            unsafe { products.multiply(|_| terms) }.unwrap();
            assert_eq!(found, expected, "{rows} × {depth} × {columns} on {threads}, {is_turned}");
        }
    }
}

#[test]
fn threads_share_sums_only_where_blocks_are_too_few() {
    for ([rows, columns, depth], threads, expected) in [
        ([1, 1, 300_007], 16, true),
        ([1, 1, 50_000], 2, true),
        ([1, 1, 47_000], 2, false),
        ([12, 1, 20_000], 2, true),
        ([64, 64, 100_000], 16, true),
        ([64, 64, 2048], 16, false),
        ([64, 64, 1024], 16, false),
        ([700, 1, 100_000], 16, false),
        ([1, 4096, 4096], 2, true),
        ([1, 4096, 4096], 16, false),
        ([1, 4096, 8192], 16, true),
        ([1, 100_000, 4096], 2, false),
    ] {
        let layout = |rows: i64, columns: i64| Layout::from([rows, columns]);
        let (a, b, out) = (layout(rows, depth), layout(depth, columns), layout(rows, columns));
        let threads = NonZeroUsize::new(threads).unwrap();
        let products = CpuProducts::new([([factor(&a), factor(&b)], None, &out)], threads).unwrap();
        assert_eq!(products.long_sums.is_some(), expected, "{rows} × {depth} × {columns}");
    }
}

#[test]
fn threads_share_long_sums_of_a_batch() {
    let (entries, rows, columns, depth) = (3, 4, 5, 30_011);
    let numbers = |count: usize, factor: usize| -> Vec<f64> {
        (0..count).map(|index| (index * factor % 17) as f64 - 8.0).collect()
    };
    let (a, b) = (numbers(entries * rows * depth, 7919), numbers(depth * columns, 6007));
    let c = numbers(entries * rows, 31);
    let layout = |strides: [i64; 3], columns: usize, rows: usize| Layout {
        shape: [entries, rows, columns].map(|extent| extent as i64).into_iter().collect(),
        strides: strides.into_iter().collect(),
    };
    let d = depth as i64;
    // One right factor for all; a column for each addend; results with gaps, in Fortran order.
    let left = layout([4 * d, d, 1], depth, rows);
    let right = layout([0, 5, 1], columns, depth);
    let addend = layout([4, 1, 0], columns, rows);
    let out = layout([100, 2, 11], columns, rows);
    for (threads, beta) in [(1, 3.0), (2, 0.0), (7, 3.0), (16, 3.0), (16, 0.0)] {
        let threads = NonZeroUsize::new(threads).unwrap();
        let factors = [factor(&left), factor(&right)];
        let products = CpuProducts::new([(factors, Some(&addend), &out)], threads).unwrap();
        assert_eq!(products.long_sums.is_some(), threads.get() > entries);
        let mut found = vec![f64::NAN; 300];
        let terms = Terms {
            a: a.as_ptr() as usize,
            b: b.as_ptr() as usize,
            c: c.as_ptr() as usize,
            out: found.as_mut_ptr() as usize,
            alpha: -2.0,
            beta,
        };
        // SAFETY: the vectors have these extents.
        unsafe { products.multiply(|_| terms) }.unwrap();
        let (mut numbers, mut expected) = (Vec::new(), Vec::new());
        for (entry, row, column) in (0..entries * rows * columns)
            .map(|index| (index / columns / rows, index / columns % rows, index % columns))
        {
            let line = &a[(entry * rows + row) * depth..][..depth];
            let sum: f64 =
                line.iter().zip(b[column..].iter().step_by(columns)).map(|(a, b)| a * b).sum();
            numbers.push(found[entry * 100 + row * 2 + column * 11]);
            expected.push(-2.0 * sum + beta * c[entry * rows + row]);
        }
        assert_eq!(numbers, expected);
        assert_eq!(found.iter().filter(|number| number.is_nan()).count(), 300 - 60);
    }
}

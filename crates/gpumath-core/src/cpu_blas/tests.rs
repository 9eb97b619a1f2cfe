//! Products that several threads share.

use super::*;

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

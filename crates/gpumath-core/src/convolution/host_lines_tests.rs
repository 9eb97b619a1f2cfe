//! Strips of results on every set of instructions that the processor has.

use std::fmt::Debug;

use pulp::Arch;

use super::*;

/// Returns the sets of instructions that this processor has.
fn instruction_sets() -> Vec<Arch> {
    let mut sets = vec![Arch::Scalar, Arch::new()];
    #[cfg(target_arch = "x86_64")]
    sets.extend(pulp::x86::V3::try_new().map(Arch::V3));
    sets
}

/// Returns small integers, whose products and sums are exact.
fn numbers<R: Real>(of: fn(i32) -> R, count: usize, seed: usize) -> Vec<R> {
    (0..count).map(|index| of(((index + seed) * 7919 % 17) as i32 - 8)).collect()
}

/// Compares strips with sums of single products. `of` converts an integer, and `wrong` is a number
/// that no result may depend on.
fn check<R: Real + PartialEq + Debug, const PARTS: usize>(of: fn(i32) -> R, wrong: R) {
    let longest = LONGEST_VECTOR / size_of::<R>();
    let cases = [(1, 1, 1), (1, 5, 1), (3, 1, 2), (2, 3, 3), (4, 4, 1)];
    for (lines, taps_of_line, elements) in cases {
        let step = elements * PARTS;
        let taps = numbers(of, lines * taps_of_line * PARTS, 5);
        // Up to more than two times as many vectors as are computed at a time.
        for count in (PARTS..71).chain([127, 128, 129, 130, 255, 256, 258, 300]) {
            if count % PARTS != 0 {
                continue;
            }
            // The operand's lines follow each other. Vectors may be read beyond the last one.
            let length = count + (taps_of_line - 1) * step;
            let mut operand = numbers(of, lines * length, 2);
            operand.resize(
                (lines - 1) * length + (taps_of_line - 1) * step + count.max(longest),
                wrong,
            );
            // The strip's operand is the last line, and the other ones are before it.
            let last = lines - 1;
            let terms: Vec<Term> = (0..lines)
                .map(|line| Term {
                    from: -((line * length) as isize),
                    taps: (line * taps_of_line * PARTS) as isize,
                })
                .collect();
            let mut expected = vec![wrong; count + longest];
            for place in (0..count).step_by(PARTS) {
                let mut sums = [R::ZERO; 2];
                for (line, tap) in
                    (0..lines).flat_map(|line| (0..taps_of_line).map(move |tap| (line, tap)))
                {
                    let x = &operand[(last - line) * length + place + tap * step..][..PARTS];
                    let h = &taps[(line * taps_of_line + tap) * PARTS..][..PARTS];
                    if PARTS == 1 {
                        sums[0] = sums[0] + x[0] * h[0];
                    } else {
                        sums[0] = sums[0] + x[0] * h[0] - x[1] * h[1];
                        sums[1] = sums[1] + x[0] * h[1] + x[1] * h[0];
                    }
                }
                expected[place..place + PARTS].copy_from_slice(&sums[..PARTS]);
            }
            for instructions in instruction_sets() {
                let mut found = vec![wrong; count + longest];
                instructions.dispatch(Strip::<R, PARTS> {
                    to: found.as_mut_ptr(),
                    count,
                    from: operand.as_ptr().wrapping_add(last * length),
                    taps: taps.as_ptr(),
                    taps_of_line,
                    step,
                    terms: &terms,
                });
                // What is beyond the results is not written.
                assert_eq!(
                    found, expected,
                    "{count} numbers of {PARTS} parts, {lines} × {taps_of_line} taps, steps of \
                     {step}, {instructions:?}"
                );
            }
        }
    }
}

#[test]
fn every_set_of_instructions_adds_up_real_products() {
    check::<f32, 1>(|number| number as f32, 1e30);
    check::<f64, 1>(f64::from, 1e300);
}

#[test]
fn every_set_of_instructions_adds_up_complex_products() {
    check::<f32, 2>(|number| number as f32, 1e30);
    check::<f64, 2>(f64::from, 1e300);
}

#[test]
fn sums_of_integers_wrap_around() {
    // Large odd factors make every product wrap around.
    let of = |number: i32| Wrapping(i64::from(number) as u64) * Wrapping(0x9e37_79b9_7f4a_7c15);
    check::<Wrapping<u64>, 1>(of, Wrapping(u64::MAX / 3));
}

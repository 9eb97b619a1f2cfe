use super::*;

/// A plan that is never executed.
fn spread(kind: TransformKind, extents: &[usize], last: usize, count: i32) -> CufftXtPlan {
    let ordinals: Vec<i32> = (0..count).collect();
    #[allow(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]
    let devices = Devices::new(&ordinals).unwrap();
    CufftXtPlan {
        handle: CufftXtHandle { plan: -1, devices },
        kind,
        precision: Precision::Single,
        extents: extents.to_vec(),
        last,
        work_sizes: vec![100; ordinals.len()],
        device_memory: 0,
        streams: Vec::new(),
        turn: Mutex::new(()),
    }
}

/// How often each byte of the whole array is in a part, and that the parts hold no more.
fn covered(spread: &CufftXtPlan, format: i32, size: usize) -> Vec<u8> {
    let mut times = vec![0_u8; size];
    for index in 0..spread.work_sizes.len() {
        let copy = spread.part_copy(index, format);
        for row in 0..copy.rows {
            let start = copy.offset + row * copy.pitch;
            times[start..start + copy.width].iter_mut().for_each(|count| *count += 1);
        }
        assert!(copy.part_pitch >= copy.width);
        assert!(spread.part_size_in(index, format) <= spread.part_size(index));
    }
    times
}

#[test]
fn the_first_ones_get_one_more() {
    let shares =
        |total, parts| (0..parts).map(|index| partition(total, parts, index)).collect::<Vec<_>>();
    assert_eq!(shares(7, 3), [(0, 3), (3, 2), (5, 2)]);
    assert_eq!(shares(2, 2), [(0, 1), (1, 1)]);
}

#[test]
fn parts_cover_the_array_once() {
    for count in 2..=5 {
        for extents in [&[64, 35][..], &[33, 40, 6], &[128]] {
            let size = extents.iter().product::<usize>() * 8;
            let plan = spread(TransformKind::C2C, extents, extents[extents.len() - 1], count);
            assert!(covered(&plan, NATURAL, size).iter().all(|&times| times == 1));
            if extents.len() > 1 {
                assert!(covered(&plan, SHUFFLED, size).iter().all(|&times| times == 1));
            }
        }
        for kind in [TransformKind::R2C, TransformKind::C2R] {
            // 9 real numbers, 5 complex ones.
            let plan = spread(kind, &[33, 40, 5], 9, count);
            assert!(covered(&plan, NATURAL, 33 * 40 * 9 * 4).iter().all(|&times| times == 1));
            assert!(covered(&plan, SHUFFLED, 33 * 40 * 5 * 8).iter().all(|&times| times == 1));
        }
    }
}

#[test]
fn real_rows_are_as_far_apart_as_complex_ones() {
    let plan = spread(TransformKind::R2C, &[33, 40, 5], 9, 2);
    let natural =
        PartCopy { offset: 17 * 40 * 36, pitch: 36, part_pitch: 40, width: 36, rows: 640 };
    assert_eq!(plan.part_copy(1, NATURAL), natural);
    let shuffled = PartCopy { offset: 800, pitch: 1600, part_pitch: 800, width: 800, rows: 33 };
    assert_eq!(plan.part_copy(1, SHUFFLED), shuffled);
    assert_eq!(plan.workspace_size(), 17 * 40 * 40 + 100);
}

#[test]
fn one_axis_takes_a_second_descriptor() {
    let plan = spread(TransformKind::C2C, &[128], 128, 2);
    let half = PartCopy { offset: 512, pitch: 512, part_pitch: 512, width: 512, rows: 1 };
    assert_eq!(plan.part_copy(1, NATURAL), half);
    assert_eq!(plan.workspace_size(), 2 * 512 + 100);
}

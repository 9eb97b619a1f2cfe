//! Which lines are laid out as a grid, and as which.

use std::num::NonZeroUsize;

use super::Scalar;
use super::short_lines::MAX_POINTS;
use crate::lane_fft::{LaneLines, RealToHalf, largest_prime_factor};

/// Columns, or rows, that a thread works on together: their equal points fill two cache lines, or
/// four in double precision.
pub(super) const TILE_WIDTH: usize = 16;

/// Points of the shortest line for which several passes over memory are worth while.
const MIN_POINTS: usize = 1 << 14;

/// rustfft makes one convolution of a line if its length is little more than the product of its
/// prime factors above [`ROUGH`]. From so many points on, a padded grid takes less time, for real
/// lines too.
pub(super) const LONG_CONVOLUTION: usize = 1 << 19;
const ROUGH: usize = 100;
/// A length is little more than one of its factors if it is at most so many times the factor.
const NEARLY: usize = 8;

/// A line of an odd number of real points takes half of the time of a complex line, as a whole, if
/// it has a small prime factor (`lane_fft::odd_line`). A line without one below this number does so
/// as a grid only.
const NO_FACTOR_BELOW: usize = 61;
/// Points from which on a grid takes less time than `odd_line`, and the fewest rows with which.
const REAL_POINTS: usize = 1 << 17;
const REAL_ROWS: usize = 16;

/// Most columns for each row: longer rows have tables, and a pass, that are too large for a cache.
const MAX_ASPECT: usize = 64;

/// The grid that a long line is laid out as.
#[derive(Clone, Copy, Debug)]
pub(super) struct GridShape {
    /// Points of the line: rows times columns, or fewer where the grid is padded.
    pub(super) points: usize,
    /// The first points that a padded grid reads and writes; where it is not padded, all.
    pub(super) read: usize,
    pub(super) written: usize,
    pub(super) rows: usize,
    pub(super) columns: usize,
}

impl GridShape {
    /// Returns the grid for `lines` lines of `points`, or `None` if rustfft transforms whole lines
    /// faster. Beyond [`MAX_POINTS`] there is always one.
    pub(super) fn new(points: usize, lines: usize, threads: NonZeroUsize) -> Option<Self> {
        if points < MIN_POINTS {
            return None;
        }
        if is_convolution(points) {
            return Some(Self::padded(points, [points; 2]));
        }
        let is_too_long = points > MAX_POINTS;
        if !is_too_long && (largest_prime_factor(points) > 31 || lines >= threads.get()) {
            return None;
        }
        let rows = largest_rows(points, 1, |_| true)?;
        let columns = points / rows;
        let aspect = if is_too_long { MAX_ASPECT } else { 8 };
        if columns <= MAX_POINTS && columns <= rows.saturating_mul(aspect) {
            return Some(Self::of(rows, columns));
        }
        is_too_long.then(|| Self::padded(points, [points; 2]))
    }

    /// Likewise, for lines of an odd number of real points, whose grid is one of real numbers if it
    /// is not padded. The numbers behind the first half of their transforms are conjugates of that
    /// half, so a padded grid needs only one half.
    pub(super) fn of_odd_real<T: Scalar>(
        points: usize,
        is_forward: bool,
        lines: usize,
        threads: NonZeroUsize,
    ) -> Option<Self> {
        let (is_too_long, is_convolution) = (points > MAX_POINTS, is_convolution(points));
        let is_long = is_too_long || is_convolution && points >= LONG_CONVOLUTION;
        let is_shared = lines < threads.get() && points >= MIN_POINTS;
        let is_halved_otherwise = !is_faster_as_grid(points);
        if is_halved_otherwise && !is_shared && !is_long && points < REAL_POINTS {
            return None;
        }
        // In place of a convolution, fewer rows will do, but each thread should have one.
        let least = if is_convolution { (2 * threads.get() - 1).min(REAL_ROWS) } else { REAL_ROWS };
        let least = least.max(3);
        let fits = |rows| RealToHalf::<T>::for_lines(rows, points / rows).is_some();
        let rows = largest_rows(points, least, fits);
        let takes_any = !is_halved_otherwise || is_too_long && !is_convolution;
        let rows =
            if takes_any { rows.or_else(|| largest_rows(points, 3, |_| true)) } else { rows };
        if let Some(rows) = rows.filter(|rows| points / rows <= MAX_POINTS) {
            return Some(Self::of(rows, points / rows));
        }
        let half = points / 2 + 1;
        let parts = if is_forward { [points, half] } else { [half, points] };
        (is_long || is_shared && is_convolution).then(|| Self::padded(points, parts))
    }

    /// Returns a grid that is not padded.
    fn of(rows: usize, columns: usize) -> Self {
        let points = rows * columns;
        Self { points, read: points, written: points, rows, columns }
    }

    /// Returns the smallest grid for a convolution from so many points to so many, whose sides have
    /// fast transforms and are near each other.
    fn padded(points: usize, [read, written]: [usize; 2]) -> Self {
        let least = read + written - 1;
        let low = (least / 2).isqrt();
        let sides: Vec<usize> =
            (low..=4 * low + TILE_WIDTH).filter(|side| is_fast(*side)).collect();
        let grids = sides.iter().filter_map(|&rows| {
            let columns = *sides.iter().find(|&&columns| rows * columns >= least)?;
            (columns <= 2 * rows).then_some((rows, columns))
        });
        // There is always one: the lines here are long enough for a fast side near any length.
        let (rows, columns) =
            grids.min_by_key(|(rows, columns)| rows * columns).unwrap_or_else(|| {
                let side = least.isqrt().next_power_of_two();
                (side, side)
            });
        Self { points, read, written, rows, columns }
    }

    /// Whether the grid has more points than the line.
    pub(super) fn is_padded(self) -> bool {
        self.rows * self.columns != self.points
    }
}

/// Whether a line of an odd number of real points takes less time as a grid, even if it is short.
/// The answer is no for prime numbers, which have no grid.
pub(crate) fn is_faster_as_grid(points: usize) -> bool {
    points > NO_FACTOR_BELOW
        && (2..NO_FACTOR_BELOW).all(|factor| !points.is_multiple_of(factor))
        && largest_prime_factor(points) < points
}

/// Whether rustfft makes one convolution of a line of so many points, or a padded grid should be.
fn is_convolution(points: usize) -> bool {
    let largest = largest_prime_factor(points);
    let is_rough = points >= LONG_CONVOLUTION && points / rough_part(points) <= NEARLY;
    largest > 1000 && points / largest <= NEARLY || is_rough
}

/// Returns the largest number of rows, of at least `least` and no more than the columns, that has
/// the property.
fn largest_rows(
    points: usize,
    least: usize,
    mut has_property: impl FnMut(usize) -> bool,
) -> Option<usize> {
    (least..=points.isqrt()).rev().find(|&rows| points.is_multiple_of(rows) && has_property(rows))
}

/// Returns the product of all prime factors above [`ROUGH`].
fn rough_part(points: usize) -> usize {
    (2..=ROUGH).fold(points, without)
}

/// Divides a number by a factor as often as it can be.
fn without(mut number: usize, factor: usize) -> usize {
    while number.is_multiple_of(factor) {
        number /= factor;
    }
    number
}

/// Whether a side of a padded grid is a multiple of a tile and has no prime factor above 5.
fn is_fast(side: usize) -> bool {
    [2, 3, 5].into_iter().fold(side, without) == 1 && side.is_multiple_of(TILE_WIDTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_without_small_factors_are_padded() {
        let is_padded = |points: usize| {
            GridShape::new(points, 1, NonZeroUsize::MIN).is_some_and(GridShape::is_padded)
        };
        assert_eq!(rough_part(8 * 97 * 101 * 101 * 103), 101 * 101 * 103);
        assert!(is_padded(131 * 137 * 139) && is_padded(8 * 1009 * 1013));
        assert!(!is_padded(9 * 1009 * 1013), "rustfft cuts it into factors");
        assert!(!is_padded(97 * 89 * 83) && !is_padded(107 * 109 * 11));
        assert!(is_padded(8 * 10_007) && !is_padded(8 * 1511), "a large prime factor");
    }

    #[test]
    fn odd_real_lines_have_a_grid_of_real_numbers_where_rows_suit_lanes() {
        let shape = |points: usize, lines: usize, threads: usize| {
            let threads = NonZeroUsize::new(threads).unwrap();
            GridShape::of_odd_real::<f32>(points, true, lines, threads)
        };
        let sides = |points, lines, threads| {
            let shape = shape(points, lines, threads)?;
            (!shape.is_padded()).then_some([shape.rows, shape.columns])
        };
        assert_eq!(sides(101 * 103 * 107, 1, 1), Some([107, 101 * 103]));
        assert_eq!(sides(3 * 5 * 5 * 7 * 463, 1, 1), Some([175, 1389]), "463 is not for lanes");
        assert_eq!(sides(73 * 97, 9, 1), Some([73, 97]), "nothing else halves it");
        assert_eq!(sides(5 * 216_379, 1, 1), Some([5, 216_379]));
        assert!(shape(5 * 216_379, 1, 16).is_some_and(GridShape::is_padded), "too few rows");
        assert!(shape(1_000_003, 1, 1).is_some_and(GridShape::is_padded), "a prime number");
        let short = 9 * 25 * 49;
        assert_eq!([sides(short, 1, 1), sides(5 * short, 8, 8)], [None; 2]);
        assert_eq!(sides(5 * short, 1, 8), Some([225, 245]), "threads share it");
    }

    #[test]
    fn long_lines_have_a_grid_with_short_sides() {
        let mut points = MAX_POINTS + 1;
        while points < 1 << 40 {
            let grid = GridShape::new(points, 1000, NonZeroUsize::MIN);
            let odd = GridShape::of_odd_real::<f64>(points | 1, true, 1000, NonZeroUsize::MIN);
            assert!([grid, odd].into_iter().all(|grid| grid.is_some_and(|grid| {
                let GridShape { read, written, rows, columns, .. } = grid;
                let is_large_enough = !grid.is_padded() || rows * columns >= read + written - 1;
                is_large_enough && columns.max(rows) <= MAX_POINTS
            })));
            assert!(grid.is_some_and(|grid| grid.columns <= MAX_ASPECT * grid.rows));
            points += points / 3 + 1;
        }
    }
}

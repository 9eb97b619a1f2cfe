//! How a product is cut into blocks, which threads claim.

/// As many multiplications as storing an element of a result takes as long as, as reading one of a
/// factor, and as going on to another line of a matrix, which is elsewhere in memory.
const WORK_OF_STORING: usize = 16;
const WORK_OF_READING: usize = 16;
const WORK_OF_A_LINE: usize = 2048;

/// By how many multiplications threads are late that are woken, or kept waiting by other programs.
const LATE: f64 = (1 << 24) as f64;

/// The parts, downwards and to the right, into which a thread's share may be cut.
const PARTS: [[usize; 2]; 6] = [[1, 1], [2, 1], [1, 2], [4, 1], [2, 2], [1, 4]];

/// Rows or columns that a kernel computes at once: blocks end at a multiple of it.
const TILE: usize = 16;

/// Returns about how long a product takes, in multiplications, if nothing is read twice.
pub(super) fn work([rows, columns, depth]: [usize; 3]) -> usize {
    let stored = rows.saturating_mul(columns).saturating_mul(depth.saturating_add(WORK_OF_STORING));
    let read = rows.saturating_add(columns).saturating_mul(depth).saturating_mul(WORK_OF_READING);
    stored.saturating_add(read)
}

/// The blocks of one product. Those of a share follow each other, because they read the same parts
/// of the factors: one thread computes them, as long as no other is free.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cut {
    /// Rows and columns of a block.
    pub(super) block: [usize; 2],
    /// Blocks of a share, downwards and to the right.
    parts: [usize; 2],
    /// Shares, downwards and to the right.
    shares: [usize; 2],
}

impl Cut {
    /// Number of blocks. Some may begin where the result has ended.
    pub(super) fn blocks(&self) -> usize {
        self.parts.iter().chain(&self.shares).product()
    }

    /// First row and first column of a block.
    pub(super) fn start(&self, number: usize) -> [usize; 2] {
        // Divisions would take as long as a tiny product.
        if number == 0 {
            return [0; 2];
        }
        let parts = self.parts[0] * self.parts[1];
        let place = |number: usize, across: usize| [number / across, number % across];
        let share = place(number / parts, self.shares[1]);
        let part = place(number % parts, self.parts[1]);
        [0, 1].map(|axis| (share[axis] * self.parts[axis] + part[axis]) * self.block[axis])
    }
}

/// A product that is to be cut.
#[derive(Clone, Copy, Debug)]
pub(super) struct Uncut {
    /// Extents of the product: rows, columns and depth.
    pub(super) shape: [usize; 3],
    /// Whether the lines of `a`, of `b` and of the result are their columns.
    pub(super) has_columns: [bool; 3],
    /// Most rows and columns of a block.
    pub(super) most: [usize; 2],
    /// Whether rows and columns may be cut, or the longer side only.
    pub(super) are_both_cut: bool,
}

impl Uncut {
    /// Cuts the product for so many threads, such that they take the least time.
    pub(super) fn cut(&self, threads: usize) -> Cut {
        let [rows, columns, _] = self.shape;
        let short_side = usize::from(rows >= columns);
        let mut best = (f64::INFINITY, Cut::default());
        for down in 1..=threads {
            let shares = [down, threads / down];
            for parts in &PARTS[..if threads == 1 { 1 } else { PARTS.len() }] {
                if !self.are_both_cut && shares[short_side] * parts[short_side] > 1 {
                    continue;
                }
                let cut = self.cut_into(shares, *parts);
                let time = self.time(&cut, threads);
                if time < best.0 {
                    best = (time, cut);
                }
            }
        }
        best.1
    }

    /// Cuts into so many shares, and each of them into so many parts or more.
    fn cut_into(&self, shares: [usize; 2], parts: [usize; 2]) -> Cut {
        let mut cut = Cut::default();
        for axis in [0, 1] {
            let extent = self.shape[axis];
            let share = extent.div_ceil(shares[axis]);
            let block = share.div_ceil(parts[axis]).next_multiple_of(TILE).min(self.most[axis]);
            cut.block[axis] = block;
            cut.parts[axis] = share.div_ceil(block);
            cut.shares[axis] = extent.div_ceil(cut.parts[axis] * block);
        }
        cut
    }

    /// Returns about how long the threads take, in multiplications. At the end they wait for half a
    /// block of one of them, and for those that were late: at most for their blocks.
    fn time(&self, cut: &Cut, threads: usize) -> f64 {
        let [rows, columns] = [0, 1].map(|axis| cut.block[axis].min(self.shape[axis]));
        let depth = self.shape[2];
        let matrices = [[rows, depth], [depth, columns], [rows, columns]];
        let lines =
            matrices.into_iter().zip(self.has_columns).map(|([down, right], has_columns)| {
                // Short lines, which follow each other in memory, are not begun one by one.
                (if has_columns { right } else { down }).min((down * right).div_ceil(TILE))
            });
        let lines: usize = lines.sum();
        let one = work([rows, columns, depth]) as f64 + (lines * WORK_OF_A_LINE) as f64;
        let blocks = [0, 1].map(|axis| self.shape[axis].div_ceil(cut.block[axis]));
        let turns = (blocks[0] * blocks[1]).div_ceil(threads);
        one * (turns as f64 + 0.5) + LATE.min(1.5 * one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_the_whole_product() {
        for [rows, columns, depth] in
            [[1, 1, 1], [1000, 1000, 7], [64, 1000, 1000], [1, 5000, 3], [3001, 17, 40], [99, 2, 9]]
        {
            for threads in [1, 2, 3, 7, 16, 61] {
                for are_both_cut in [true, false] {
                    let most = [256, 1024];
                    let shape = [rows, columns, depth];
                    let uncut = Uncut { shape, has_columns: [false; 3], most, are_both_cut };
                    let cut = uncut.cut(threads);
                    assert!(cut.block[0] <= most[0] && cut.block[1] <= most[1], "{cut:?}");
                    let mut counts = vec![0; rows * columns];
                    for number in 0..cut.blocks() {
                        let [top, left] = cut.start(number);
                        for row in top..rows.min(top + cut.block[0]) {
                            for column in left..columns.min(left + cut.block[1]) {
                                counts[row * columns + column] += 1;
                            }
                        }
                    }
                    assert!(counts.iter().all(|&count| count == 1), "{shape:?} {threads} {cut:?}");
                }
            }
        }
    }
}

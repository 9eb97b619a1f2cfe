//! Small products that are computed together.

/// How many products of the same extents there are, and elements from each to the next in `a`, `b`
/// and `out`.
#[derive(Clone, Copy)]
pub(super) struct Run {
    pub(super) count: usize,
    pub(super) steps: [isize; 3],
}

impl Run {
    pub(super) const ONE: Self = Self { count: 1, steps: [0; 3] };

    /// Returns the run of the transposed products.
    pub(super) fn transposed(self) -> Self {
        let [a, b, out] = self.steps;
        Self { steps: [b, a, out], ..self }
    }
}

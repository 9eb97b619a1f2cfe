//! The sets of instructions that a processor may have, and how wide the vectors are that they are
//! used with.

use std::marker::PhantomData;

use pulp::{Arch, WithSimd};

use super::vectors::{CountLanes, Lane};

/// A set of instructions, with vectors of one width.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Instructions {
    /// With the widest vectors of the set.
    Widest(Arch),
    /// With vectors of half that width, for a few lines.
    #[cfg(target_arch = "x86_64")]
    Halved(pulp::x86::V3_128b),
}

impl Instructions {
    /// Runs an operation with these instructions.
    #[inline(always)]
    pub(crate) fn dispatch<Op: WithSimd>(self, operation: Op) -> Op::Output {
        match self {
            Self::Widest(arch) => arch.dispatch(operation),
            #[cfg(target_arch = "x86_64")]
            Self::Halved(simd) => simd.0.vectorize(InHalves { simd, operation }),
        }
    }

    /// Returns whether wider vectors exist.
    pub(super) fn is_halved(self) -> bool {
        !matches!(self, Self::Widest(_))
    }

    /// Returns whether the processor has no instructions with wider vectors.
    pub(super) fn are_widest<T: Lane>(self) -> bool {
        self.lanes::<T>() == Self::Widest(Arch::new()).lanes::<T>()
    }

    /// Returns how many numbers a vector has.
    pub(super) fn lanes<T: Lane>(self) -> usize {
        self.dispatch(CountLanes::<T>(PhantomData))
    }
}

/// An operation with vectors of half the width. The method of [`pulp::Simd`] that does this would
/// run it with the whole width.
#[cfg(target_arch = "x86_64")]
struct InHalves<Op> {
    simd: pulp::x86::V3_128b,
    operation: Op,
}

#[cfg(target_arch = "x86_64")]
impl<Op: WithSimd> pulp::NullaryFnOnce for InHalves<Op> {
    type Output = Op::Output;

    #[inline(always)]
    fn call(self) -> Op::Output {
        self.operation.with_simd(self.simd)
    }
}

/// Returns whether vectors of these instructions are the widest ones that processors have.
pub(super) fn has_64_byte_vectors<T: Lane>(arch: Arch) -> bool {
    arch.dispatch(CountLanes::<T>(PhantomData)) * size_of::<T>() == 64
}

/// Returns the processor's sets of instructions with their widest vectors, the best one first.
pub(super) fn sets_of_instructions() -> Vec<Arch> {
    let sets = std::iter::once(Arch::new());
    #[cfg(target_arch = "x86_64")]
    let sets = sets.chain(pulp::x86::V3::try_new().map(Arch::V3));
    sets.collect()
}

/// Returns the same sets, and vectors of half the width.
pub(super) fn all_instructions() -> Vec<Instructions> {
    let sets = sets_of_instructions().into_iter().map(Instructions::Widest);
    #[cfg(target_arch = "x86_64")]
    let sets =
        sets.chain(pulp::x86::V3::try_new().map(|v3| Instructions::Halved(pulp::x86::V3_128b(v3))));
    sets.collect()
}

/// Returns the instructions whose vectors have lanes in the order in which they suit so many lines:
/// first those whose vectors the lines fill the fewest times. Of vectors that are filled equally
/// often, narrow ones have fewer empty lanes.
pub(super) fn instructions_for<T: Lane>(lines: usize) -> impl Iterator<Item = Instructions> {
    let mut sets = all_instructions();
    sets.retain(|set| {
        let count = set.lanes::<T>();
        // Vectors of half the width are for lines that leave half of the others empty. Two lanes of
        // them gain nothing.
        if set.is_halved() { count > 2 && lines <= count } else { count > 1 }
    });
    sets.sort_by_key(|set| (lines.div_ceil(set.lanes::<T>()), set.lanes::<T>()));
    sets.into_iter()
}

/// Returns the best set of instructions whose widest vectors have so many lanes at most, and the
/// lanes.
pub(super) fn arch_of_at_most<T: Lane>(lanes: usize) -> Option<(Arch, usize)> {
    let counted = sets_of_instructions()
        .into_iter()
        .map(|arch| (arch, arch.dispatch(CountLanes::<T>(PhantomData))));
    counted.filter(|(_, count)| *count > 1).find(|(_, count)| *count <= lanes)
}

//! What the steps of a route cost, by a table that was measured on a GPU.
//!
//! Costs are bytes: as many as a plain copy in device memory reads and writes in the time of the
//! step. The ratios between steps differ between GPUs: where the memory is slow beside the
//! multiprocessors, a copy takes longer, and a transform that uses the memory badly does not. So
//! there are tables of several GPUs. `benchmarks/core/cufft_costs.py` measures and writes one.

use std::cmp;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::callback::largest_factor_is_at_most;
use super::measured_costs::TABLES;
use super::passes::{Pass, Side};
use super::problem::{Precision, TransformKind};
use crate::device::Device;
use crate::tensor::Layout;

/// The cost of one kernel more: what a copy moves in two microseconds.
const LAUNCH_COST: f64 = 8e6;

/// Bytes that the memory moves at least for one element.
const SECTOR: i64 = 32;

/// Which table each device goes by, counted from 1; 0 where no plan asked before. The driver may
/// take a millisecond to say how fast a clock is, which is longer than a plan takes.
static CHOSEN: [AtomicUsize; 64] = [const { AtomicUsize::new(0) }; 64];

/// What steps cost on one GPU.
#[derive(Debug)]
pub(super) struct CostTable {
    /// Bytes that its memory moves, at best, in a cycle of one multiprocessor.
    pub(super) bytes_per_cycle: f64,
    /// By the bytes of an element: the cost of a copy along one dimension of both arrays, and of
    /// one along two dimensions.
    pub(super) copies: &'static [(usize, [f32; 2])],
    pub(super) passes: &'static [PassCosts],
}

/// The measured costs of transforms of one size, per byte that they read and write.
#[derive(Debug)]
pub(super) struct PassCosts {
    kind: TransformKind,
    /// Bytes of a real number.
    size: i64,
    /// Number of axes.
    rank: usize,
    /// Whether cuFFT transforms the length by small factors, and real numbers in pairs.
    is_smooth: bool,
    /// Binary logarithm of the number of points of a transform.
    points: f64,
    /// Binary logarithm of the number of transforms.
    batch: f64,
    /// The costs where the transforms follow each other on both sides; where they are interleaved
    /// in the input; in the output; in both.
    costs: [f32; 4],
}

impl PassCosts {
    /// `kind` comes with the bytes of a real number, `points` with the number of transforms.
    pub(super) const fn new(
        (kind, size): (TransformKind, i64),
        rank: usize,
        is_smooth: bool,
        (points, batch): (i32, i32),
        costs: [f32; 4],
    ) -> Self {
        Self { kind, size, rank, is_smooth, points: points as f64, batch: batch as f64, costs }
    }
}

impl CostTable {
    /// Returns the table of the GPU that is most like a device; of the first one without a device
    /// that can be asked.
    pub(super) fn of_device(device: Option<i32>) -> &'static Self {
        let chosen = device.and_then(|device| CHOSEN.get(usize::try_from(device).ok()?));
        let number = chosen.map_or(0, |chosen| chosen.load(Ordering::Relaxed));
        if let Some(&table) = number.checked_sub(1).and_then(|index| TABLES.get(index)) {
            return table;
        }
        let found = device.and_then(|device| Device::new(device).ok()?.bytes_per_cycle().ok());
        let index = found.map_or(0, Self::nearest);
        if let (Some(chosen), Some(_)) = (chosen, found) {
            chosen.store(index + 1, Ordering::Relaxed);
        }
        TABLES[index]
    }

    /// Returns the index of the table of the GPU that is most like one with so fast a memory.
    pub(super) fn nearest(bytes_per_cycle: f64) -> usize {
        let difference =
            |index: &usize| (TABLES[*index].bytes_per_cycle / bytes_per_cycle).ln().abs();
        (0..TABLES.len()).min_by(|a, b| difference(a).total_cmp(&difference(b))).unwrap_or(0)
    }

    /// Returns the cost of a call of cuFFT.
    pub(super) fn of_pass(&self, pass: &Pass, precision: Precision) -> f64 {
        let sides = precision.sides(pass.kind).map(|dtype| dtype.size() as i64);
        let points = pass.extents.iter().product::<i64>();
        let (mut input, mut output) = (points, points);
        if let Some(&halved) = pass.extents.last() {
            match pass.kind {
                TransformKind::C2C => {}
                TransformKind::R2C => output = points / halved * (halved / 2 + 1),
                TransformKind::C2R => input = points / halved * (halved / 2 + 1),
            }
        }
        let bytes = |side: &Side, elements: i64, size: i64| {
            // Interleaved transforms are in the table. Other gaps are read along.
            let gaps = if is_interleaved(side, pass) { 1 } else { side.stride.min(SECTOR / size) };
            (elements * pass.batch * size * gaps.max(1)) as f64
        };
        let column = usize::from(is_interleaved(&pass.input, pass))
            + 2 * usize::from(is_interleaved(&pass.output, pass));
        let is_smooth = pass.extents.iter().all(|&extent| largest_factor_is_at_most(100, extent))
            && (pass.kind == TransformKind::C2C || pass.extents.last().is_none_or(|n| n % 2 == 0));
        let log2 = |number: i64| (number.max(1) as f64).log2();
        let (log_points, log_batch) = (log2(points), log2(pass.batch));
        let size = precision.real().size() as i64;
        let distance = |row: &PassCosts| {
            let is_other = (row.size != size, row.is_smooth != is_smooth);
            (is_other, (log_points - row.points).abs(), (log_batch - row.batch).abs())
        };
        let cost = self
            .passes
            .iter()
            .filter(|row| row.kind == pass.kind && row.rank == pass.extents.len())
            .map(|row| (distance(row), f64::from(row.costs[column])))
            .min_by(|(a, _), (b, _)| a.partial_cmp(b).unwrap_or(cmp::Ordering::Equal))
            .map_or(1.0, |(_, cost)| cost);
        LAUNCH_COST
            + cost * (bytes(&pass.input, input, sides[0]) + bytes(&pass.output, output, sides[1]))
    }

    /// Returns the cost of a copy of elements of `size` bytes.
    pub(super) fn of_copy(&self, to: &Layout, from: &Layout, size: usize) -> f64 {
        let fastest = |layout: &Layout| {
            (0..layout.ndim()).filter(|&axis| layout.shape[axis] > 1).min_by_key(|&axis| {
                let stride = layout.strides[axis].unsigned_abs();
                if stride == 0 { u64::MAX } else { stride }
            })
        };
        let is_turned = fastest(to) != fastest(from);
        let row = self.copies.iter().find(|&&(bytes, _)| bytes == size);
        let cost = row.map_or(1.0, |(_, costs)| f64::from(costs[usize::from(is_turned)]));
        LAUNCH_COST + cost * (2 * to.len() * size as i64) as f64
    }
}

/// Whether neighbours in memory belong to different transforms.
fn is_interleaved(side: &Side, pass: &Pass) -> bool {
    pass.batch > 1 && side.distance < side.stride
}

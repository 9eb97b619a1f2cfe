//! The factors before and after the Fourier transform of lines of which two are the parts of a
//! complex one.

use std::f64::consts::{FRAC_1_SQRT_2, PI};
use std::ops::Mul;

use rustfft::num_complex::Complex;

use crate::fft::cpu::lines::{Scalar, exp_i};

/// The factors of a type and a length.
pub(super) struct Turns<T> {
    /// Not of type I, and of type IV only of an even length.
    pub(super) first: Vec<Complex<T>>,
    /// Only of type IV of an even length; doubled.
    pub(super) last: Vec<Complex<T>>,
    /// Only of type IV of an odd length: the element for each place.
    pub(super) eighths: Vec<Eighth>,
    /// Only of type IV of an odd length, for each element below the middle: the factors of a sum of
    /// two numbers and of their turned difference, and those for its mirror image.
    pub(super) of_eighths: Vec<[T; 4]>,
}

/// Elements of a line for places that follow each other: every fourth one.
#[derive(Clone, Copy, Debug)]
pub(super) struct EighthRun {
    first: Eighth,
    pub(super) count: usize,
}

/// An element of a line of an odd length before a transform of type IV.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Eighth {
    pub(super) element: usize,
    pub(super) is_negative: bool,
    /// Whether the elements for the next places come before this one in the line.
    pub(super) is_backward: bool,
}

impl<T: Scalar> Turns<T> {
    pub(super) fn new(kind: u8, points: usize, is_sine: bool) -> Self {
        let half = points / 2;
        let turn = |count: usize, angle: &dyn Fn(f64) -> f64| -> Vec<Complex<T>> {
            (0..count).map(|j| exp_i(-PI * angle(j as f64))).collect()
        };
        let mut turns = Self {
            first: Vec::new(),
            last: Vec::new(),
            eighths: Vec::new(),
            of_eighths: Vec::new(),
        };
        match kind {
            2 | 3 => turns.first = turn(half + 1, &|k| k / (2 * points) as f64),
            4 if points.is_multiple_of(2) => {
                turns.first = turn(half, &|j| (4.0 * j + 1.0) / (4 * points) as f64);
                turns.last = turn(half, &|j| j / points as f64);
                for value in &mut turns.last {
                    *value = *value + *value;
                }
            }
            4 => {
                turns.eighths = (0..points).map(|place| eighth_of(place, points)).collect();
                turns.of_eighths = (0..half).map(|k| eighth_turns_of(k, points, is_sine)).collect();
            }
            _ => {}
        }
        turns
    }
}

impl EighthRun {
    /// Returns the elements for all places of a line of an odd length: one run for each quarter of
    /// the circle that the places pass.
    pub(super) fn all_of(points: usize) -> Vec<Self> {
        let mut runs = Vec::new();
        let mut place = 0;
        while place < points {
            let left = 2 * points - (points + 8 * place) % (2 * points);
            let count = left.div_ceil(8).min(points - place);
            runs.push(Self { first: eighth_of(place, points), count });
            place += count;
        }
        runs
    }

    /// Returns the element for a place of the run, and whether its sign changes.
    pub(super) fn element(&self, at: usize) -> (usize, bool) {
        let Eighth { element, is_negative, is_backward } = self.first;
        (if is_backward { element - 4 * at } else { element + 4 * at }, is_negative)
    }

    /// Copies the elements of a line to their places.
    pub(super) fn copy<T: Scalar, E: Copy + Mul<T, Output = E>>(
        runs: &[Self],
        line: &[E],
        mut places: &mut [E],
    ) {
        for &Self { first, count } in runs {
            let (piece, rest) = places.split_at_mut(count);
            places = rest;
            let sign = if first.is_negative { -T::one() } else { T::one() };
            if first.is_backward {
                let elements = line[..=first.element].iter().rev().step_by(4);
                piece.iter_mut().zip(elements).for_each(|(to, &from)| *to = from * sign);
            } else {
                let elements = line[first.element..].iter().step_by(4);
                piece.iter_mut().zip(elements).for_each(|(to, &from)| *to = from * sign);
            }
        }
    }
}

/// Returns the element for a place: every eighth element of the line that goes on at its ends as
/// the cosines do.
fn eighth_of(place: usize, points: usize) -> Eighth {
    let at = (points + 8 * place) % (8 * points);
    // The quarters of a circle: forward, then backward and forward with the other sign.
    let (quarter, within) = (at / (2 * points), at % (2 * points));
    let is_backward = quarter % 2 == 1;
    let near = if is_backward { 2 * points - within } else { within };
    Eighth { element: (near - 1) / 2, is_negative: matches!(quarter, 1 | 2), is_backward }
}

/// Returns the factors of the real and of the imaginary part of the number that gives element `k`
/// of the result of a type IV of an odd length: those of an odd eighth of a circle.
pub(super) fn eighth_turn(k: usize, is_sine: bool) -> [f64; 2] {
    let root = FRAC_1_SQRT_2;
    let odd = if is_sine { -root } else { root };
    ([[root, root], [-odd, odd], [-root, -root], [odd, -odd]])[k % 4]
}

/// Returns the factors for element `k`, and those for its mirror image, which comes from the
/// conjugate.
pub(super) fn eighth_turns_of<T: Scalar>(k: usize, points: usize, is_sine: bool) -> [T; 4] {
    let [real, imaginary] = eighth_turn(k, is_sine);
    let mirrored = eighth_turn(points + 3 - k % 4, is_sine);
    [real, imaginary, mirrored[0], -mirrored[1]]
        .map(|value| T::from_f64(value).unwrap_or_else(T::zero))
}

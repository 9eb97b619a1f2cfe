//! Loops over lines that a compiler turns into vector instructions: what comes before and after the
//! Fourier transform of a complex line, and how two real lines become its parts and are taken from
//! it.
//!
//! Each loop is a function of its own, since the compiler knows only of arguments that they do not
//! overlap.

use rustfft::num_complex::Complex;

use crate::fft::cpu::lines::Scalar;

/// Numbers below which choosing among the instruction sets takes longer than they save.
const SHORT: usize = 8;

/// Defines a function, and the same for processors with AVX2, which it calls where there is AVX2
/// and the first argument is not short.
macro_rules! pass {
    (
        $(#[$about:meta])*
        $name:ident($first:ident: $type:ty $(, $other:ident: $types:ty)*) $body:block
    ) => {
        $(#[$about])*
        pub(super) fn $name<T: Scalar>($first: $type $(, $other: $types)*) {
            #[cfg(target_arch = "x86_64")]
            if $first.len() >= SHORT && std::arch::is_x86_feature_detected!("avx2") {
                #[target_feature(enable = "avx2")]
                fn with_avx2<T: Scalar>($first: $type $(, $other: $types)*) $body
                // SAFETY: the processor has AVX2, as was checked above.
                unsafe { with_avx2($first $(, $other)*) };
                return;
            }
            $body
        }
    };
}

pass! {
    /// Makes two real lines the parts of a complex one.
    join(line: &mut [Complex<T>], a: &[T], b: &[T]) {
        for ((to, a), b) in line.iter_mut().zip(a).zip(b) {
            *to = Complex::new(*a, *b);
        }
    }
}

pass! {
    /// Like [`join`], with the last elements first.
    join_reversed(line: &mut [Complex<T>], a: &[T], b: &[T]) {
        let count = line.len();
        let (a, b) = (&a[..count], &b[..count]);
        for (at, to) in line.iter_mut().enumerate() {
            *to = Complex::new(a[count - 1 - at], b[count - 1 - at]);
        }
    }
}

pass! {
    /// Writes the parts of a complex line, multiplied by a factor.
    split(line: &[Complex<T>], a: &mut [T], b: &mut [T], factor: T) {
        for ((from, a), b) in line.iter().zip(a).zip(b) {
            *a = from.re * factor;
            *b = from.im * factor;
        }
    }
}

pass! {
    /// Like [`split`], with the last elements first.
    split_reversed(line: &[Complex<T>], a: &mut [T], b: &mut [T], factor: T) {
        let count = line.len();
        let (a, b) = (&mut a[..count], &mut b[..count]);
        for at in 0..count {
            let from = line[count - 1 - at];
            a[at] = from.re * factor;
            b[at] = from.im * factor;
        }
    }
}

pass! {
    /// Makes the even elements of two real lines the parts of `even`, and the odd ones those of
    /// `odd`, with the last ones first and multiplied by a factor.
    fold(even: &mut [Complex<T>], odd: &mut [Complex<T>], a: &[T], b: &[T], odd_factor: T) {
        let half = odd.len();
        if let Some(last) = even.get_mut(half) {
            *last = Complex::new(a[2 * half], b[2 * half]);
        }
        let (even, a, b) = (&mut even[..half], &a[..2 * half], &b[..2 * half]);
        for at in 0..half {
            even[at] = Complex::new(a[2 * at], b[2 * at]);
            let (a, b) = (a[2 * at + 1] * odd_factor, b[2 * at + 1] * odd_factor);
            odd[half - 1 - at] = Complex::new(a, b);
        }
    }
}

pass! {
    /// Does the opposite of [`fold`], with a factor for the even elements too.
    unfold(
        even: &[Complex<T>],
        odd: &[Complex<T>],
        a: &mut [T],
        b: &mut [T],
        factor: T,
        odd_factor: T
    ) {
        let half = odd.len();
        if let Some(last) = even.get(half) {
            a[2 * half] = last.re * factor;
            b[2 * half] = last.im * factor;
        }
        let (even, a, b) = (&even[..half], &mut a[..2 * half], &mut b[..2 * half]);
        for at in 0..half {
            let (even, odd) = (even[at], odd[half - 1 - at]);
            a[2 * at] = even.re * factor;
            b[2 * at] = even.im * factor;
            a[2 * at + 1] = odd.re * odd_factor;
            b[2 * at + 1] = odd.im * odd_factor;
        }
    }
}

pass! {
    /// Writes the numbers of `from` to `to`, the last one first, multiplied by a factor.
    mirror(from: &[Complex<T>], to: &mut [Complex<T>], factor: T) {
        let count = from.len();
        let to = &mut to[..count];
        for at in 0..count {
            to[at] = from[count - 1 - at] * factor;
        }
    }
}

pass! {
    /// Multiplies by a factor.
    scale(line: &mut [Complex<T>], factor: T) {
        for value in line {
            *value = *value * factor;
        }
    }
}

pass! {
    /// Multiplies by i.
    multiply_by_i(line: &mut [Complex<T>]) {
        for value in line {
            *value = Complex::new(-value.im, value.re);
        }
    }
}

pass! {
    /// Turns numbers and their mirror images before a transform of type III. The first number of
    /// `high` belongs to the last one of `low`.
    turn3(low: &mut [Complex<T>], high: &mut [Complex<T>], turns: &[Complex<T>]) {
        let count = low.len();
        let (high, turns) = (&mut high[..count], &turns[..count]);
        for at in 0..count {
            let (turn, a, b) = (turns[at], low[at], high[count - 1 - at]);
            let (sum, difference) = (
                Complex::new(a.re - b.im, a.im + b.re),
                Complex::new(a.re + b.im, a.im - b.re),
            );
            // The conjugate of the turn times the one, and the turn times the other.
            low[at] = Complex::new(
                turn.re * difference.re + turn.im * difference.im,
                turn.re * difference.im - turn.im * difference.re,
            );
            high[count - 1 - at] = Complex::new(
                turn.re * sum.re - turn.im * sum.im,
                turn.re * sum.im + turn.im * sum.re,
            );
        }
    }
}

pass! {
    /// Turns numbers and their mirror images after a transform of type II, in the order of
    /// [`turn3`].
    turn2(low: &mut [Complex<T>], high: &mut [Complex<T>], turns: &[Complex<T>]) {
        let count = low.len();
        let (high, turns) = (&mut high[..count], &turns[..count]);
        for at in 0..count {
            let (turn, a, b) = (turns[at], low[at], high[count - 1 - at]);
            let sum = Complex::new(a.re + b.re, a.im + b.im);
            let turned = Complex::new(b.im - a.im, a.re - b.re);
            low[at] = Complex::new(
                sum.re * turn.re + turned.re * turn.im,
                sum.im * turn.re + turned.im * turn.im,
            );
            high[count - 1 - at] = Complex::new(
                turned.re * turn.re - sum.re * turn.im,
                turned.im * turn.re - sum.im * turn.im,
            );
        }
    }
}

pass! {
    /// Makes lines of the real parts and of the imaginary parts of the pairs of a transform of type
    /// IV, and turns them.
    pack4(ahead: &mut [Complex<T>], behind: &mut [Complex<T>], turns: &[Complex<T>]) {
        let count = ahead.len();
        let (behind, turns) = (&mut behind[..count], &turns[..count]);
        for at in 0..count {
            let (turn, a, b) = (turns[at], ahead[at], behind[at]);
            ahead[at] =
                Complex::new(a.re * turn.re - b.re * turn.im, a.re * turn.im + b.re * turn.re);
            behind[at] =
                Complex::new(a.im * turn.re - b.im * turn.im, a.im * turn.im + b.im * turn.re);
        }
    }
}

pass! {
    /// Turns the lines of [`pack4`], conjugates them and makes pairs of them.
    unpack4(ahead: &mut [Complex<T>], behind: &mut [Complex<T>], turns: &[Complex<T>]) {
        let count = ahead.len();
        let (behind, turns) = (&mut behind[..count], &turns[..count]);
        for at in 0..count {
            let (turn, a, b) = (turns[at], ahead[at], behind[at]);
            ahead[at] =
                Complex::new(a.re * turn.re - a.im * turn.im, b.re * turn.re - b.im * turn.im);
            behind[at] = Complex::new(
                -(a.re * turn.im + a.im * turn.re),
                -(b.re * turn.im + b.im * turn.re),
            );
        }
    }
}

pass! {
    /// Turns the spectra of both parts of a line by odd eighths of a circle, and takes their real
    /// parts. An element of `low` and its mirror image in `high` come from the same two numbers.
    turn_by_eighths(
        low: &mut [Complex<T>],
        high: &mut [Complex<T>],
        spectrum: &[Complex<T>],
        turns: &[[T; 4]]
    ) {
        let count = low.len();
        let (high, turns) = (&mut high[..count], &turns[..count]);
        let spectrum = &spectrum[..2 * count];
        for at in 0..count {
            let (a, b) = (spectrum[2 * at], spectrum[2 * count - 1 - 2 * at]);
            let turn = turns[at];
            let (sum, turned) = (
                Complex::new(a.re + b.re, a.im + b.im),
                Complex::new(a.im - b.im, b.re - a.re),
            );
            low[at] = Complex::new(
                sum.re * turn[0] + turned.re * turn[1],
                sum.im * turn[0] + turned.im * turn[1],
            );
            high[count - 1 - at] = Complex::new(
                sum.re * turn[2] + turned.re * turn[3],
                sum.im * turn[2] + turned.im * turn[3],
            );
        }
    }
}

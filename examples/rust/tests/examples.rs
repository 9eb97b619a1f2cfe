//! The examples say what they should.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use std::process::Command;

fn lines(program: &str) -> Vec<String> {
    let output = Command::new(program).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn slices_on_the_cpu() {
    let expected = [
        "square: [7.0, 10.0, 15.0, 22.0]",
        "constant: 1.00 0.00 0.00 0.00 0.00",
        "wave: 0.00 0.50 0.00 0.00 0.00",
    ];
    assert_eq!(lines(env!("CARGO_BIN_EXE_cpu")), expected);
}

/// The mean of 0/64 … 63/64, and 1024 times the mean of their squares.
#[test]
fn arrays_of_cudarc() {
    let lines = lines(env!("CARGO_BIN_EXE_gpu"));
    if lines == ["there is no CUDA device"] {
        eprintln!("skipped: there is no CUDA device");
        return;
    }
    let number = |line: &str| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap();
    assert!(lines[0].starts_with("[16, 513]") && lines[1].starts_with("[16, 16]"), "{lines:?}");
    assert!((number(&lines[0]) - 0.492_187_5).abs() < 1e-6);
    assert!((number(&lines[1]) - 333.375).abs() < 1e-3);
}

//! Finds the table row of a function by its name, as users write it.

use gpumath_sys::table::Symbol;

use crate::error::{Error, Result};
use crate::loader::{catalog, messages, open};

/// Returns the row of `"cufft.exec_c2c"`, `"cufft.cufftExecC2C"` or `"driver.cuMemAlloc_v2"`.
///
/// A name that stands for different functions in different CUDA releases is an error, because the
/// caller would call one function with the arguments of another.
pub(super) fn symbol(name: &str) -> Result<&'static Symbol> {
    match symbols(name)?.as_slice() {
        [row] => Ok(row),
        several => {
            let names: Vec<String> = several.iter().map(|row| describe(row)).collect();
            Err(Error::InvalidValue(format!(
                "{name} is not the same function in every CUDA release; ask for one of {}",
                names.join(", ")
            )))
        }
    }
}

/// Returns the rows that a name stands for, at least one. After the module and a dot comes the
/// Python name, the C name or the exported symbol.
pub(super) fn symbols(name: &str) -> Result<Vec<&'static Symbol>> {
    let Some((module, function)) = name.split_once('.') else {
        return Err(Error::InvalidValue(format!(
            "'{name}' names no function; write its module first, as in 'cufft.exec_c2c'"
        )));
    };
    catalog::find(module).ok_or_else(|| messages::unknown_library(module))?;
    let found = find(function, catalog::symbols_of(module));
    if found.is_empty() {
        return Err(Error::InvalidValue(format!("{module} has no function '{function}'")));
    }
    Ok(found)
}

/// Returns the rows of a function: those with this Python name, else those with this C name or
/// symbol, else those that a Python function of this name calls.
fn find(function: &str, rows: &[&'static Symbol]) -> Vec<&'static Symbol> {
    let all = |is: &dyn Fn(&Symbol) -> bool| -> Vec<&'static Symbol> {
        rows.iter().filter(|row| is(row)).copied().collect()
    };
    let ways: [&dyn Fn(&Symbol) -> bool; 3] = [
        &|row| row.name == function,
        &|row| row.c_name == function || row.symbol == function,
        &|row| is_facade_of(function, row.name),
    ];
    ways.into_iter().map(all).find(|found| !found.is_empty()).unwrap_or_default()
}

/// Returns whether the Python function `function` is a facade of `row`. Such a facade calls
/// whichever row the library has: `sp_mv_op_create_descr` stands for `_sp_mv_op_create_descr` and
/// `_sp_mv_op_create_descr_12_7`.
fn is_facade_of(function: &str, row: &str) -> bool {
    let rest = row.strip_prefix('_').and_then(|row| row.strip_prefix(function));
    rest.is_some_and(|rest| {
        let version = rest.strip_prefix('_').unwrap_or_default();
        rest.is_empty() || version.starts_with(|first: char| first.is_ascii_digit())
    })
}

/// Returns a row as text for messages: `driver.ctx_create (CUDA 13.0 to 13.5)`.
fn describe(row: &Symbol) -> String {
    format!("{}.{} ({})", row.library, row.name, open::versions_text(row))
}

#[cfg(test)]
mod tests {
    use gpumath_sys::table::Release;

    use super::*;

    const fn row(
        name: &'static str,
        c_name: &'static str,
        symbol: &'static str,
        since: u16,
    ) -> Symbol {
        let (since, until) = (Release::new(since, 0, 0), Release::new(13, 5, 0));
        Symbol::new("toy", name, c_name, symbol, since, until)
    }

    static OPEN: Symbol = row("open", "toyOpen", "toyOpen_v2", 12);
    static SPIN: Symbol = row("spin", "toySpin", "toySpin_v2", 13);
    static OLD_SPIN: Symbol = row("spin_v1", "toySpin", "toySpin", 12);
    static STOP: Symbol = row("_stop", "toyStop", "toyStop", 13);
    static OLD_STOP: Symbol = row("_stop_12_7", "toyStop", "toyStop", 12);
    static STOP_ALL: Symbol = row("_stop_all", "toyStopAll", "toyStopAll", 12);
    static ROWS: &[&Symbol] = &[&OPEN, &SPIN, &OLD_SPIN, &STOP, &OLD_STOP, &STOP_ALL];

    fn found(function: &str) -> Vec<&'static str> {
        find(function, ROWS).iter().map(|row| row.name).collect()
    }

    #[test]
    fn every_name_of_a_function_leads_to_it() {
        for name in ["open", "toyOpen", "toyOpen_v2"] {
            assert_eq!(found(name), ["open"]);
        }
        assert_eq!(found("spin"), ["spin"]);
        assert_eq!(found("toySpin_v2"), ["spin"]);
        assert_eq!(found("stop_all"), ["_stop_all"]);
        assert_eq!(found("_stop_12_7"), ["_stop_12_7"]);
    }

    #[test]
    fn a_name_may_stand_for_several_functions() {
        assert_eq!(found("toySpin"), ["spin", "spin_v1"]);
        assert_eq!(found("stop"), ["_stop", "_stop_12_7"]);
        assert_eq!(describe(&OLD_SPIN), "toy.spin_v1 (CUDA 12.0 to 13.5)");
    }

    #[test]
    fn what_nothing_is_called_is_an_error() {
        for name in ["", "cufft", "cufft.", "cufft.cufftExec", "nothing.open", "cufft.driver.init"]
        {
            assert!(matches!(symbol(name), Err(Error::InvalidValue(_))), "{name}");
        }
    }
}

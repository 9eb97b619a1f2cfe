//! From the name of a function, as people write it, to its row.

use gpumath_sys::table::Symbol;

use crate::error::{Error, Result};
use crate::loader::{catalog, explain, open};

/// The row of `"cufft.exec_c2c"`, `"cufft.cufftExecC2C"` or `"driver.cuMemAlloc_v2"`.
///
/// After the module's name comes the Python name, the C name or the exported symbol. A C name that
/// stands for different functions in different CUDA releases is refused: the address of the wrong
/// one would be called with the arguments of another.
pub(super) fn symbol(name: &str) -> Result<&'static Symbol> {
    let Some((module, function)) = name.split_once('.') else {
        return Err(Error::InvalidValue(format!(
            "'{name}' names no function; write its module first, as in 'cufft.exec_c2c'"
        )));
    };
    catalog::find(module).ok_or_else(|| explain::unknown_library(module))?;
    find(module, function, catalog::symbols_of(module))
}

fn find(module: &str, function: &str, rows: &'static [&'static Symbol]) -> Result<&'static Symbol> {
    if let Some(row) = rows.iter().find(|row| row.name == function) {
        return Ok(row);
    }
    let in_c = |row: &&&Symbol| row.c_name == function || row.symbol == function;
    let found: Vec<&'static Symbol> = rows.iter().filter(in_c).copied().collect();
    match found.as_slice() {
        [] => Err(Error::InvalidValue(format!("{module} has no function '{function}'"))),
        [row] => Ok(row),
        several => {
            let names: Vec<String> = several.iter().map(|row| described(row)).collect();
            Err(Error::InvalidValue(format!(
                "{function} is not the same function in every CUDA release; ask for one of {}",
                names.join(", ")
            )))
        }
    }
}

/// `driver.ctx_create (CUDA 13.0 to 13.5)`
fn described(row: &Symbol) -> String {
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
    static ROWS: &[&Symbol] = &[&OPEN, &SPIN, &OLD_SPIN];

    fn found(function: &str) -> &'static str {
        find("toy", function, ROWS).unwrap().name
    }

    #[test]
    fn every_name_of_a_function_leads_to_it() {
        assert_eq!(["open", "toyOpen", "toyOpen_v2"].map(found), ["open"; 3]);
        assert_eq!(["spin", "toySpin_v2", "spin_v1"].map(found), ["spin", "spin", "spin_v1"]);
    }

    #[test]
    fn a_c_name_of_two_functions_is_refused_with_both() {
        let text = find("toy", "toySpin", ROWS).unwrap_err().to_string();
        assert!(text.ends_with(
            "ask for one of toy.spin (CUDA 13.0 to 13.5), toy.spin_v1 (CUDA 12.0 to 13.5)"
        ));
    }

    #[test]
    fn what_nothing_is_called_is_an_error() {
        for name in ["", "cufft", "cufft.", "cufft.cufftExec", "nothing.open", "cufft.driver.init"]
        {
            assert!(matches!(symbol(name), Err(Error::InvalidValue(_))), "{name}");
        }
    }
}

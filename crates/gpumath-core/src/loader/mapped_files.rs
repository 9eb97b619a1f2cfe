//! Lists the files that this process has mapped. Outside Linux, the list is empty.

use std::path::PathBuf;

/// A file that is mapped into this process, and the addresses from `start` to before `end`.
struct Mapping {
    start: usize,
    end: usize,
    path: PathBuf,
}

/// Returns the mapped files whose name passes `keep`, each once, in the order of their addresses.
#[must_use]
pub(super) fn matching(keep: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = Vec::new();
    for Mapping { path, .. } in mappings() {
        let name = path.file_name().and_then(|name| name.to_str());
        if name.is_some_and(&keep) && !files.contains(&path) {
            files.push(path);
        }
    }
    files
}

/// Returns the file from which the code or data at `address` was mapped.
#[must_use]
pub(super) fn file_at(address: usize) -> Option<PathBuf> {
    mappings().find(|m| (m.start..m.end).contains(&address)).map(|m| m.path)
}

#[cfg(target_os = "linux")]
fn mappings() -> impl Iterator<Item = Mapping> {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    let text = std::fs::read("/proc/self/maps").unwrap_or_default();
    let lines: Vec<Vec<u8>> = text.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    lines.into_iter().filter_map(|line| {
        // The line is "start-end perms offset device inode path", and no field has a '/' before the
        // path, which can contain spaces.
        let path = line.iter().position(|&byte| byte == b'/')?;
        let range = std::str::from_utf8(line.split(|&byte| byte == b' ').next()?).ok()?;
        let (start, end) = range.split_once('-')?;
        Some(Mapping {
            start: usize::from_str_radix(start, 16).ok()?,
            end: usize::from_str_radix(end, 16).ok()?,
            path: PathBuf::from(OsString::from_vec(line[path..].to_vec())),
        })
    })
}

#[cfg(not(target_os = "linux"))]
fn mappings() -> impl Iterator<Item = Mapping> {
    std::iter::empty()
}

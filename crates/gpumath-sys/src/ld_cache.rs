//! Reads `/etc/ld.so.cache`, the list of the system's libraries, which the dynamic loader searches.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const FILE: &str = "/etc/ld.so.cache";
const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
const HEADER_SIZE: usize = 48;
const ENTRY_SIZE: usize = 24;
/// Flags of a library for the GNU C library, of this machine's kind.
const FLAGS: u32 = if cfg!(target_arch = "aarch64") { 0x0a03 } else { 0x0303 };

/// Returns the file that the system's list has for a name.
pub(crate) fn find(name: &OsStr) -> Option<PathBuf> {
    find_in(&std::fs::read(FILE).ok()?, name.as_bytes())
}

fn find_in(cache: &[u8], name: &[u8]) -> Option<PathBuf> {
    // A list of an older format may come first.
    let start = cache.windows(MAGIC.len()).position(|window| window == MAGIC)?;
    let cache = cache.get(start..)?;
    let number = |bytes: &[u8], offset: usize| {
        bytes.get(offset..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
    };
    let text = |offset: u32| cache.get(offset as usize..)?.split(|&byte| byte == 0).next();
    let count = number(cache, MAGIC.len())? as usize;
    let entries = cache.get(HEADER_SIZE..)?.chunks_exact(ENTRY_SIZE).take(count);
    let path = |entry: &[u8]| {
        let is_named = number(entry, 0)? == FLAGS && text(number(entry, 4)?)? == name;
        is_named.then_some(text(number(entry, 8)?)?)
    };
    let found = entries.filter_map(path).map(|path| Path::new(OsStr::from_bytes(path)));
    found.into_iter().next().map(Path::to_path_buf)
}

#[cfg(test)]
mod tests {
    use super::{ENTRY_SIZE, FLAGS, HEADER_SIZE, MAGIC, find, find_in};
    use std::ffi::OsStr;
    use std::path::Path;

    #[test]
    fn the_entry_of_the_right_name_and_kind_is_found() {
        let entries = [(FLAGS, "liba.so.1", "/one/liba.so.1"), (3, "libb.so.1", "/i386/libb.so.1")];
        let entries = [entries[0], entries[1], (FLAGS, "libb.so.1", "/two/libb.so.1")];
        let mut cache = MAGIC.to_vec();
        cache.extend((entries.len() as u32).to_ne_bytes());
        cache.resize(HEADER_SIZE, 0);
        let mut texts = Vec::new();
        let first = HEADER_SIZE + entries.len() * ENTRY_SIZE;
        for (flags, name, path) in entries {
            cache.extend(flags.to_ne_bytes());
            for text in [name, path] {
                cache.extend(((first + texts.len()) as u32).to_ne_bytes());
                texts.extend(text.bytes().chain([0]));
            }
            cache.extend([0; 12]);
        }
        cache.extend(texts);
        for whole in [cache.clone(), [b"ld.so-1.7.0\0".to_vec(), cache.clone()].concat()] {
            let found = find_in(&whole, b"libb.so.1");
            assert_eq!(found.as_deref(), Some(Path::new("/two/libb.so.1")));
            assert_eq!(find_in(&whole, b"libb.so"), None);
        }
        for length in 0..cache.len() {
            // However it is cut, it is read within its bounds.
            let _ = find_in(&cache[..length], b"libb.so.1");
        }
    }

    #[test]
    fn the_list_of_this_system_is_read() {
        if !Path::new(super::FILE).exists() {
            return;
        }
        let file = find(OsStr::new("libc.so.6")).expect("every system of the GNU C library has it");
        assert!(file.is_absolute() && file.is_file(), "{}", file.display());
    }
}

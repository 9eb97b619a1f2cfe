//! Reads what the dynamic loader will use of an ELF file, without mapping it.
//!
//! Every number in a file may be wrong, so each is checked before it is used.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;

const MAGIC_64_BIT_LITTLE_ENDIAN: [u8; 6] = [0x7f, b'E', b'L', b'F', 2, 1];
const HEADER_SIZE: usize = 64;
const PROGRAM_HEADER_SIZE: usize = 56;
const DYNAMIC_ENTRY_SIZE: usize = 16;
/// Bytes of a dynamic section, and of a text in it, at most; real ones are far smaller.
const MAX_DYNAMIC_SIZE: u64 = 1 << 20;
const MAX_TEXT_SIZE: usize = 1 << 14;

/// Types of program headers: a range to map, and the dynamic section.
const LOAD: u32 = 1;
const DYNAMIC: u32 = 2;
/// Tags of entries in the dynamic section.
const NEEDED: u64 = 1;
const STRING_TABLE: u64 = 5;
const RPATH: u64 = 15;
const RUNPATH: u64 = 29;

/// The libraries that a file needs, and the folders where it wants them to be searched for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    /// Names of files.
    pub(crate) libraries: Vec<OsString>,
    /// Lists of folders with colons in between, and `$ORIGIN` for the file's own folder: those to
    /// search before `LD_LIBRARY_PATH`, and those for after it.
    pub(crate) rpath: Option<OsString>,
    pub(crate) runpath: Option<OsString>,
}

/// A range of the file that is mapped to addresses.
struct Segment {
    kind: u32,
    offset: u64,
    address: u64,
    size: u64,
}

/// Returns what a file needs, or an error if its headers promise more bytes than it has: to touch
/// what is mapped behind the end of a file kills the process.
///
/// A file that is no ELF file of this machine's kind needs nothing, as the dynamic loader refuses
/// it.
pub(crate) fn needs(file: &File) -> Result<Needs, String> {
    let size = file.metadata().map_err(|error| error.to_string())?.len();
    let mut header = [0_u8; HEADER_SIZE];
    if file.read_exact_at(&mut header, 0).is_err()
        || !header.starts_with(&MAGIC_64_BIT_LITTLE_ENDIAN)
    {
        return Ok(Needs::default());
    }
    let segments = segments(file, &header).ok_or_else(|| cut(size, None))?;
    let ends = segments.iter().filter(|segment| matches!(segment.kind, LOAD | DYNAMIC));
    let end = ends.map(|segment| segment.offset.saturating_add(segment.size)).max().unwrap_or(0);
    if end > size {
        return Err(cut(size, Some(end)));
    }
    Ok(dynamic_section(file, &segments).unwrap_or_default())
}

fn cut(size: u64, end: Option<u64>) -> String {
    let promised = end.map_or_else(String::new, |end| format!(" of at least {end}"));
    format!("the file is cut off: it has {size} bytes{promised}")
}

/// Reads the program headers; `None` if the file ends before them.
fn segments(file: &File, header: &[u8]) -> Option<Vec<Segment>> {
    let (offset, count) = (u64_at(header, 32)?, u16_at(header, 56)?);
    if usize::from(u16_at(header, 54)?) != PROGRAM_HEADER_SIZE {
        // The dynamic loader refuses other sizes.
        return Some(Vec::new());
    }
    let mut bytes = vec![0; usize::from(count) * PROGRAM_HEADER_SIZE];
    file.read_exact_at(&mut bytes, offset).ok()?;
    let segment = |header: &[u8]| {
        Some(Segment {
            kind: u32_at(header, 0)?,
            offset: u64_at(header, 8)?,
            address: u64_at(header, 16)?,
            size: u64_at(header, 32)?,
        })
    };
    bytes.chunks_exact(PROGRAM_HEADER_SIZE).map(segment).collect()
}

/// Reads the dynamic section; `None` if there is none, or it cannot be read.
fn dynamic_section(file: &File, segments: &[Segment]) -> Option<Needs> {
    let dynamic = segments.iter().find(|segment| segment.kind == DYNAMIC)?;
    let mut bytes = vec![0; usize::try_from(dynamic.size.min(MAX_DYNAMIC_SIZE)).ok()?];
    file.read_exact_at(&mut bytes, dynamic.offset).ok()?;
    let entry = |bytes: &[u8]| Some((u64_at(bytes, 0)?, u64_at(bytes, 8)?));
    let entries: Vec<(u64, u64)> =
        bytes.chunks_exact(DYNAMIC_ENTRY_SIZE).map_while(entry).collect();
    let table = entries.iter().find(|entry| entry.0 == STRING_TABLE)?.1;
    let holds_table = |segment: &&Segment| {
        segment.kind == LOAD && table.checked_sub(segment.address).is_some_and(|o| o < segment.size)
    };
    let segment = segments.iter().find(holds_table)?;
    let table_offset = segment.offset.checked_add(table - segment.address)?;
    let texts_of = |tag| {
        entries
            .iter()
            .filter(move |entry| entry.0 == tag)
            .filter_map(move |entry| text_at(file, table_offset.checked_add(entry.1)?))
    };
    Some(Needs {
        libraries: texts_of(NEEDED).collect(),
        rpath: texts_of(RPATH).next(),
        runpath: texts_of(RUNPATH).next(),
    })
}

/// Reads a text that ends in a zero.
fn text_at(file: &File, offset: u64) -> Option<OsString> {
    let mut bytes = vec![0; MAX_TEXT_SIZE];
    let read = file.read_at(&mut bytes, offset).ok()?;
    bytes.truncate(bytes.get(..read)?.iter().position(|&byte| byte == 0)?);
    Some(OsString::from_vec(bytes))
}

fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    bytes.get(offset..)?.first_chunk().map(|bytes| u16::from_le_bytes(*bytes))
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    bytes.get(offset..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    bytes.get(offset..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

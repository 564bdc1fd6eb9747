//! ZIP archives, written as a stream. This module writes the headers only; the caller supplies the bytes between them.
//! Files that are not compressed have sizes that are known in advance. Checksums are not, so they follow the bytes.
//! Past 4 GB or 65,535 entries the archive is Zip64. Compressed files have their sizes behind the bytes, too, and less
//! than 4 GB.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use model::{Timestamp, fold};
use time::OffsetDateTime;

/// Smallest size or offset that does not fit into 32 bits.
const LARGE: u64 = 0xffff_ffff;
/// Flags: `UTF8` for names in UTF-8, `FOLLOWS` for a checksum and sizes that follow the bytes.
const UTF8: u16 = 1 << 11;
const FOLLOWS: u16 = 1 << 3;
/// Number appended to the second of several equal names.
const FIRST: u32 = 2;
/// Longest path in an archive, in bytes. The format has 16 bits for the length; the margin leaves room for what
/// lengthens a path.
const MAX_PATH: usize = 60_000;
/// The ZIP versions that support Zip64, and compressed files.
const VERSION: u16 = 45;
const VERSION_OF_DEFLATE: u16 = 20;
/// The method of compressed files.
const DEFLATE: u16 = 8;

struct Listed {
    name: String,
    size: u64,
    /// The bytes in the archive, if they are compressed.
    packed: Option<u64>,
    crc: u32,
    offset: u64,
    time: (u16, u16),
    folder: bool,
}

/// Writer of the headers of one archive.
#[derive(Default)]
pub struct Headers {
    entries: Vec<Listed>,
    offset: u64,
}

impl Headers {
    /// The header that precedes the bytes of a file.
    pub fn file(&mut self, name: &str, size: u64, modified: Timestamp) -> Vec<u8> {
        self.begin(name.to_owned(), size, modified, false)
    }

    /// The header of a folder, which has no bytes.
    pub fn folder(&mut self, name: &str, modified: Timestamp) -> Vec<u8> {
        self.begin(format!("{name}/"), 0, modified, true)
    }

    /// The header that precedes the bytes of a compressed file.
    pub fn deflated(&mut self, name: &str, modified: Timestamp) -> Vec<u8> {
        let (name, time) = (name.to_owned(), dos(modified));
        let mut out = Vec::with_capacity(30 + name.len());
        put32(&mut out, 0x0403_4b50);
        put16(&mut out, VERSION_OF_DEFLATE);
        put16(&mut out, flags_of_deflated(&name));
        put16(&mut out, DEFLATE);
        put16(&mut out, time.0);
        put16(&mut out, time.1);
        // Checksum and both sizes follow the bytes.
        out.extend_from_slice(&[0; 12]);
        put16(&mut out, length(name.len()));
        put16(&mut out, 0);
        out.extend_from_slice(name.as_bytes());
        self.entries.push(Listed { name, size: 0, packed: Some(0), crc: 0, offset: self.offset, time, folder: false });
        self.offset += out.len() as u64;
        out
    }

    /// The data descriptor that follows the bytes of a compressed file. `packed` and `size` are their number and that
    /// of the file, both less than 4 GB.
    pub fn end_deflated(&mut self, crc: u32, packed: u64, size: u64) -> Vec<u8> {
        let mut out = Vec::with_capacity(16);
        put32(&mut out, 0x0807_4b50);
        put32(&mut out, crc);
        put32(&mut out, small(packed));
        put32(&mut out, small(size));
        if let Some(entry) = self.entries.last_mut() {
            (entry.crc, entry.packed, entry.size) = (crc, Some(packed), size);
        }
        self.offset += packed + out.len() as u64;
        out
    }

    fn begin(&mut self, name: String, size: u64, modified: Timestamp, folder: bool) -> Vec<u8> {
        let (large, time) = (size >= LARGE, dos(modified));
        let mut out = Vec::with_capacity(50 + name.len());
        put32(&mut out, 0x0403_4b50);
        put16(&mut out, VERSION);
        put16(&mut out, if folder { UTF8 } else { UTF8 | FOLLOWS });
        put16(&mut out, 0);
        put16(&mut out, time.0);
        put16(&mut out, time.1);
        put32(&mut out, 0);
        put32(&mut out, small(size));
        put32(&mut out, small(size));
        put16(&mut out, length(name.len()));
        put16(&mut out, if large { 20 } else { 0 });
        out.extend_from_slice(name.as_bytes());
        if large {
            put16(&mut out, 1);
            put16(&mut out, 16);
            put64(&mut out, size);
            put64(&mut out, size);
        }
        let bytes = if folder { 0 } else { size };
        self.entries.push(Listed { name, size: bytes, packed: None, crc: 0, offset: self.offset, time, folder });
        self.offset += out.len() as u64 + bytes;
        out
    }

    /// The data descriptor that follows the bytes of a file. `crc` is their checksum.
    pub fn end(&mut self, crc: u32) -> Vec<u8> {
        let mut out = Vec::with_capacity(24);
        let size = self.entries.last().map_or(0, |entry| entry.size);
        put32(&mut out, 0x0807_4b50);
        put32(&mut out, crc);
        for _ in 0..2 {
            if size >= LARGE { put64(&mut out, size) } else { put32(&mut out, small(size)) }
        }
        if let Some(entry) = self.entries.last_mut() {
            entry.crc = crc;
        }
        self.offset += out.len() as u64;
        out
    }

    /// The central directory at the end of the archive.
    pub fn finish(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for entry in &self.entries {
            directory_entry(&mut out, entry);
        }
        let (start, size, count) = (self.offset, out.len() as u64, self.entries.len() as u64);
        if start >= LARGE || count >= 0xffff {
            let end = start + size;
            put32(&mut out, 0x0606_4b50);
            put64(&mut out, 44);
            put16(&mut out, VERSION);
            put16(&mut out, VERSION);
            put32(&mut out, 0);
            put32(&mut out, 0);
            put64(&mut out, count);
            put64(&mut out, count);
            put64(&mut out, size);
            put64(&mut out, start);
            put32(&mut out, 0x0706_4b50);
            put32(&mut out, 0);
            put64(&mut out, end);
            put32(&mut out, 1);
        }
        put32(&mut out, 0x0605_4b50);
        put16(&mut out, 0);
        put16(&mut out, 0);
        put16(&mut out, u16::try_from(count).unwrap_or(u16::MAX));
        put16(&mut out, u16::try_from(count).unwrap_or(u16::MAX));
        put32(&mut out, small(size));
        put32(&mut out, small(start));
        put16(&mut out, 0);
        out
    }
}

fn directory_entry(out: &mut Vec<u8>, entry: &Listed) {
    let mut extra = Vec::new();
    if entry.size >= LARGE {
        put64(&mut extra, entry.size);
        put64(&mut extra, entry.size);
    }
    if entry.offset >= LARGE {
        put64(&mut extra, entry.offset);
    }
    put32(out, 0x0201_4b50);
    // Made on Unix, so that the attributes of each entry give its kind in the Unix form.
    put16(out, VERSION | (3 << 8));
    put16(out, if entry.packed.is_some() { VERSION_OF_DEFLATE } else { VERSION });
    put16(
        out,
        match entry.packed {
            Some(_) => flags_of_deflated(&entry.name),
            None if entry.folder => UTF8,
            None => UTF8 | FOLLOWS,
        },
    );
    put16(out, if entry.packed.is_some() { DEFLATE } else { 0 });
    put16(out, entry.time.0);
    put16(out, entry.time.1);
    put32(out, entry.crc);
    put32(out, small(entry.packed.unwrap_or(entry.size)));
    put32(out, small(entry.size));
    put16(out, length(entry.name.len()));
    put16(out, if extra.is_empty() { 0 } else { length(extra.len() + 4) });
    put16(out, 0);
    put16(out, 0);
    put16(out, 0);
    put32(out, if entry.folder { (0o40755 << 16) | 0x10 } else { 0o100_644 << 16 });
    put32(out, small(entry.offset));
    out.extend_from_slice(entry.name.as_bytes());
    if !extra.is_empty() {
        put16(out, 1);
        put16(out, length(extra.len()));
        out.extend_from_slice(&extra);
    }
}

/// Readers of office documents expect plain names without the mark for UTF-8.
fn flags_of_deflated(name: &str) -> u16 {
    if name.is_ascii() { FOLLOWS } else { UTF8 | FOLLOWS }
}

fn put16(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn put32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn put64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn small(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

fn length(value: usize) -> u16 {
    u16::try_from(value).unwrap_or(u16::MAX)
}

/// Time and date in the DOS format: resolution of two seconds, from 1980 on.
fn dos(at: Timestamp) -> (u16, u16) {
    let Ok(at) = OffsetDateTime::from_unix_timestamp(at.seconds()) else { return (0, 33) };
    let year = at.year();
    if !(1980..=2107).contains(&year) {
        return (0, 33);
    }
    let time = (u16::from(at.hour()) << 11) | (u16::from(at.minute()) << 5) | u16::from(at.second() / 2);
    let years = u16::try_from(year - 1980).unwrap_or(0);
    (time, (years << 9) | (u16::from(u8::from(at.month())) << 5) | u16::from(at.day()))
}

/// Names in one archive. Every system can unpack them, and none occurs twice. Each name maps to the number that the
/// next duplicate tries first, so that many duplicates cost no more than many different names.
#[derive(Default)]
pub struct Names(HashMap<String, u32>);

impl Names {
    /// Returns the path for an entry below `above`, which is empty or a path that this function returned. An entry that
    /// lies deeper than the format allows starts again at the top.
    pub fn give(&mut self, above: &str, name: &str) -> String {
        let name = portable(name);
        let above = if above.len() + name.len() > MAX_PATH { "" } else { above };
        let place = |name: &str| if above.is_empty() { name.to_owned() } else { format!("{above}/{name}") };
        let path = place(&name);
        let wanted = fold(&path);
        let Some(mut number) = self.0.get(&wanted).copied() else {
            self.0.insert(wanted, FIRST);
            return path;
        };
        let (stem, end) = match name.rsplit_once('.') {
            Some((stem, end)) if !stem.is_empty() => (stem, format!(".{end}")),
            _ => (name.as_str(), String::new()),
        };
        loop {
            let path = place(&format!("{stem} ({number}){end}"));
            number = number.saturating_add(1);
            if let Entry::Vacant(free) = self.0.entry(fold(&path)) {
                free.insert(FIRST);
                self.0.insert(wanted, number);
                return path;
            }
        }
    }
}

/// Replaces what Windows cannot store in a name.
fn portable(name: &str) -> String {
    const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "com", "lpt"];
    let mut name: String =
        name.chars().map(|c| if c.is_control() || "<>:\"/\\|?*".contains(c) { '_' } else { c }).collect();
    let stem = name.split('.').next().unwrap_or_default().to_lowercase();
    let device = DEVICES.iter().any(|device| {
        stem.strip_prefix(device).is_some_and(|rest| rest.is_empty() || (rest.len() == 1 && device.len() == 3))
    });
    if device || name.trim_matches(['.', ' ']).is_empty() {
        name.insert(0, '_');
    }
    name
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_portable_and_given_once() {
        let mut names = Names::default();
        assert_eq!(names.give("", "a:b?.txt"), "a_b_.txt");
        assert_eq!(names.give("", "A_B_.TXT"), "A_B_ (2).TXT");
        assert_eq!(names.give("a", "NUL.txt"), "a/_NUL.txt");
        assert_eq!(names.give("", ".."), "_..");
        assert_eq!(names.give("", "con"), "_con");
        assert_eq!(names.give("", "contract.pdf"), "contract.pdf");
    }

    #[test]
    fn ten_thousand_names_that_become_alike_are_given_at_once() {
        let (mut names, started) = (Names::default(), std::time::Instant::now());
        let given: HashSet<String> = (0..10_000_u32)
            .map(|n| {
                // Each number in binary, written with two characters that no name in an archive may contain.
                let name: String = (0..14).map(|bit| if n >> bit & 1 == 0 { ':' } else { '?' }).collect();
                names.give("", &format!("{name}.txt"))
            })
            .collect();
        assert_eq!(given.len(), 10_000);
        assert!(given.contains("______________ (10000).txt"));
        assert!(started.elapsed() < std::time::Duration::from_secs(2), "{:?}", started.elapsed());
        assert_eq!(names.give("", "A (2).TXT"), "A (2).TXT");
        assert_eq!((names.give("", "a.txt"), names.give("", "a.txt")), ("a.txt".to_owned(), "a (3).txt".to_owned()));
    }

    #[test]
    fn a_path_that_is_too_long_begins_anew() {
        let (mut names, mut above) = (Names::default(), String::new());
        let longest = "\u{10000}".repeat(model::MAX_NAME_CHARS);
        for _ in 0..model::MAX_DEPTH {
            above = names.give(&above, &longest);
            assert!(above.len() < usize::from(u16::MAX), "{}", above.len());
        }
        assert_eq!(names.give(&above, "a.txt"), format!("{above}/a.txt"));
        assert_eq!(above.split('/').count(), 128 - 2 * 58, "two times from the top");
    }

    #[test]
    fn times_are_those_of_dos() {
        let at = Timestamp::from_micros(1_700_000_000_000_000);
        assert_eq!(dos(at), ((22 << 11) | (13 << 5) | 10, (43 << 9) | (11 << 5) | 14));
        assert_eq!(dos(Timestamp::from_micros(0)), (0, 33));
    }

    #[test]
    fn large_archives_are_zip64() {
        let mut headers = Headers::default();
        let first = headers.file("a", 5 << 30, Timestamp::from_micros(0));
        assert_eq!(&first[18..22], &[0xff; 4]);
        assert_eq!(headers.end(7).len(), 24);
        headers.file("b", 1, Timestamp::from_micros(0));
        assert_eq!(headers.end(7).len(), 16);
        let end = headers.finish();
        assert!(end.windows(4).any(|four| four == [0x50, 0x4b, 6, 6]), "a Zip64 record");
        assert_eq!(&end[end.len() - 6..end.len() - 2], &[0xff; 4], "the offset is told there");
    }
}

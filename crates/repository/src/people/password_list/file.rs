//! Reads files of SHA-1 sums of passwords, sorted and one per line, such as those of "Have I Been Pwned".

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use model::{Code, Error, Result};

use super::coding::{Sum, part_of};

/// Maximum length of a line: a sum, a colon and a count.
const MAX_LINE: usize = 100;

/// A file of sums being read.
pub(super) struct SumFile {
    path: PathBuf,
    reader: BufReader<File>,
    line: u64,
    last: Option<Sum>,
    read: u64,
}

/// All sums of one part of the list.
pub(super) struct ListPart {
    pub(super) number: u64,
    pub(super) sums: Vec<Sum>,
}

impl SumFile {
    /// Opens a file without reading from it.
    ///
    /// # Errors
    /// `Invalid` when it cannot be opened.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|error| unreadable(path, error))?;
        Ok(Self { path: path.to_owned(), reader: BufReader::new(file), line: 0, last: None, read: 0 })
    }

    /// Returns the number of bytes read so far.
    pub(super) fn bytes_read(&self) -> u64 {
        self.read
    }

    /// Returns the next sum. Repeated sums are returned once.
    ///
    /// # Errors
    /// `Invalid` with the line number for a line that is not a sum or not in order, or when the file cannot be read.
    pub(super) fn next(&mut self) -> Result<Option<Sum>> {
        loop {
            let mut line = Vec::new();
            let mut limited = std::io::Read::take(&mut self.reader, MAX_LINE as u64 + 1);
            let length = limited.read_until(b'\n', &mut line).map_err(|error| unreadable(&self.path, error))?;
            if length == 0 {
                return Ok(None);
            }
            self.line += 1;
            self.read += length as u64;
            let text = line.trim_ascii();
            if text.is_empty() {
                continue;
            }
            let sum = parse(text).ok_or_else(|| self.wrong("is not a SHA-1 sum of 40 hexadecimal digits"))?;
            match &self.last {
                Some(last) if *last == sum => continue,
                Some(last) if *last > sum => {
                    return Err(self.wrong("comes before the one above it: sort the file first, with `sort FILE`"));
                }
                _ => {}
            }
            self.last = Some(sum);
            return Ok(Some(sum));
        }
    }

    /// Returns the sums of the next non-empty part. `first` is the part's first sum, which was read already; it is
    /// replaced by the first sum of the following part.
    ///
    /// # Errors
    /// Errors of [`next`](Self::next); `Invalid` when the part has more than `most` sums, which no list of passwords
    /// has.
    pub(super) fn part(&mut self, bits: u32, most: usize, first: &mut Option<Sum>) -> Result<Option<ListPart>> {
        let Some(sum) = first.take() else { return Ok(None) };
        let mut part = ListPart { number: part_of(&sum, bits), sums: vec![sum] };
        while let Some(sum) = self.next()? {
            if part_of(&sum, bits) != part.number {
                *first = Some(sum);
                break;
            }
            if part.sums.len() == most {
                return Err(self.wrong("is one of too many with the same beginning: these are not sums of passwords"));
            }
            part.sums.push(sum);
        }
        Ok(Some(part))
    }

    fn wrong(&self, what: &str) -> Error {
        Error::invalid(format!("line {} of {} {what}", self.line, self.path.display()))
            .with_code(Code::InvalidPasswordList)
    }
}

fn unreadable(path: &Path, error: std::io::Error) -> Error {
    Error::invalid(format!("the file {} cannot be read: {error}", path.display()))
        .with_code(Code::InvalidPasswordList)
        .with_source(error)
}

fn parse(text: &[u8]) -> Option<Sum> {
    let digits = text.split(|byte| *byte == b':').next()?;
    let mut sum: Sum = [0; 20];
    if digits.len() != 2 * sum.len() {
        return None;
    }
    for (byte, pair) in sum.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |at: usize| char::from(pair[at]).to_digit(16);
        *byte = (digit(0)? << 4 | digit(1)?) as u8;
    }
    Some(sum)
}

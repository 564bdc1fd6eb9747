//! Small images, such as logos and portraits, whose format and size are read from their first bytes. Nothing is
//! decoded.

use crate::{Code, Error, Result};

/// Limit on the bytes of a small image: 256 KiB.
pub const MAX_IMAGE_BYTES: usize = 256 << 10;
/// Limit on its width and height, in pixels. A small file can have billions of them, which every reader's browser would
/// draw.
const MAX_SIDE: u32 = 2_048;

/// A small image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmallImage {
    /// `image/png`, `image/jpeg` or `image/webp`.
    pub media_type: String,
    /// The file.
    pub bytes: Vec<u8>,
}

impl SmallImage {
    /// Checks a file that is to be a small image.
    ///
    /// # Errors
    /// `Invalid` with code `invalid_image`.
    pub fn new(bytes: Vec<u8>) -> Result<Self> {
        let refuse = |why: &'static str| {
            let text = format!("this picture cannot be used: {why}");
            Err(Error::invalid(text).with_code(Code::InvalidImage))
        };
        if bytes.len() > MAX_IMAGE_BYTES {
            return refuse("it is larger than 256 KiB");
        }
        match read(&bytes) {
            None => refuse("it is neither PNG nor JPEG nor WebP"),
            Some((_, width, height)) if width.max(height) > MAX_SIDE || width.min(height) == 0 => {
                refuse("it is not between 1 and 2,048 pixels wide and high")
            }
            Some((media_type, ..)) => Ok(Self { media_type: media_type.to_owned(), bytes }),
        }
    }
}

/// Returns media type, width and height.
fn read(bytes: &[u8]) -> Option<(&'static str, u32, u32)> {
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        let header = bytes.get(12..24)?.strip_prefix(b"IHDR")?;
        return Some(("image/png", big(header.get(..4)?), big(header.get(4..)?)));
    }
    if bytes.starts_with(b"\xff\xd8\xff") {
        let (width, height) = jpeg(bytes)?;
        return Some(("image/jpeg", width, height));
    }
    if bytes.starts_with(b"RIFF") && bytes.get(8..12)? == b"WEBP" {
        let (width, height) = webp(bytes)?;
        return Some(("image/webp", width, height));
    }
    None
}

fn big(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

fn little(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

/// Width and height in the frame header of a JPEG file.
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        let marker = *bytes.get(at + 1)?;
        if bytes[at] != 0xff {
            return None;
        }
        match marker {
            // Fill bytes.
            0xff => at += 1,
            // Start of a frame, except tables and extensions with similar numbers.
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                let frame = bytes.get(at + 5..at + 9)?;
                return Some((big(&frame[2..]), big(&frame[..2])));
            }
            // The picture itself, which no frame precedes.
            0xda | 0xd9 => return None,
            _ => at += 2 + usize::try_from(big(bytes.get(at + 2..at + 4)?)).ok()?,
        }
    }
}

/// Width and height in the first chunk of a WebP file.
fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    let (name, chunk) = (bytes.get(12..16)?, bytes.get(20..)?);
    match name {
        b"VP8X" => Some((little(chunk.get(4..7)?) + 1, little(chunk.get(7..10)?) + 1)),
        b"VP8 " => {
            let frame = chunk.get(3..10)?.strip_prefix(b"\x9d\x01\x2a")?;
            Some((little(&frame[..2]) & 0x3fff, little(&frame[2..]) & 0x3fff))
        }
        b"VP8L" => {
            let bits = little(chunk.get(..5)?.strip_prefix(b"\x2f")?);
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut file = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
        file.extend(width.to_be_bytes());
        file.extend(height.to_be_bytes());
        file
    }

    fn webp(name: &[u8; 4], chunk: &[u8]) -> Vec<u8> {
        [b"RIFF\0\0\0\0WEBP".as_slice(), name, b"\0\0\0\0", chunk].concat()
    }

    #[test]
    fn pictures_are_known_by_their_first_bytes() {
        let jpeg = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xff\xc2\x00\x11\x08\x01\x02\x03\x04".to_vec();
        let cases = [
            (png(640, 480), Some(("image/png", 640, 480))),
            (jpeg, Some(("image/jpeg", 0x304, 0x102))),
            (webp(b"VP8X", b"\0\0\0\0\x01\0\0\x02\0\0"), Some(("image/webp", 2, 3))),
            (webp(b"VP8 ", b"\0\0\0\x9d\x01\x2a\x10\0\x20\0"), Some(("image/webp", 16, 32))),
            (webp(b"VP8L", b"\x2f\x0f\xc0\x03\0"), Some(("image/webp", 16, 16))),
            (b"\xff\xd8\xff\xda\x00\x04".to_vec(), None),
            (b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>".to_vec(), None),
            (b"GIF89a".to_vec(), None),
            (b"".to_vec(), None),
        ];
        for (bytes, expected) in cases {
            assert_eq!(read(&bytes), expected, "{bytes:?}");
            // A file that ends early is none, and no shorter one makes the reader fail.
            for end in 0..bytes.len() {
                let _ = read(&bytes[..end]);
            }
        }
    }

    #[test]
    fn images_are_bounded() {
        let code = |bytes: Vec<u8>| SmallImage::new(bytes).map_err(|error| error.code());
        assert!(code(png(2_048, 1)).is_ok());
        for bad in [png(2_049, 1), png(1, 0), png(30_000, 30_000), b"x".to_vec()] {
            assert_eq!(code(bad), Err(Code::InvalidImage));
        }
        let mut large = png(9, 9);
        large.resize(MAX_IMAGE_BYTES, 0);
        assert!(code(large.clone()).is_ok());
        large.push(0);
        assert_eq!(code(large), Err(Code::InvalidImage));
    }
}

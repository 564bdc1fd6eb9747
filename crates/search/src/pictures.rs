//! Pictures made smaller, by the library `image`: BMP, GIF, JPEG, PNG, TIFF and WebP.

use std::io::Cursor;

use image::codecs::jpeg::JpegEncoder;
use image::{DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageReader, Limits};
use model::{Code, Error, Result};

use crate::extract::unreadable;

/// Limit on the pixels of a side.
const MAX_SIDE: u32 = 30_000;
/// Limit on the bytes that decoding takes.
const MAX_DECODED: u64 = 320 << 20;
/// Quality of JPEG pictures, of 100.
const QUALITY: u8 = 82;

/// Returns a picture with sides of at most `most` pixels, upright as its EXIF data say: as PNG if it has transparent
/// parts, as JPEG otherwise. Of several pictures in a file, it is the first.
///
/// # Errors
/// `Invalid` with code `not_readable` if the bytes are no picture of these formats; with code `too_large` for one that
/// is too large to be decoded.
pub fn shrink(bytes: &[u8], most: u32) -> Result<Vec<u8>> {
    let mut reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format().map_err(unreadable)?;
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    limits.max_alloc = Some(MAX_DECODED);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(refused)?;
    // Not every decoder looks at the limit, and the picture itself is not part of it.
    if decoder.total_bytes() > MAX_DECODED {
        return Err(too_large());
    }
    let orientation = decoder.orientation().map_err(refused)?;
    let mut picture = DynamicImage::from_decoder(decoder).map_err(refused)?;
    if picture.width() > most || picture.height() > most {
        picture = picture.thumbnail(most, most);
    }
    picture.apply_orientation(orientation);
    let mut out = Vec::new();
    let written = match picture.color().has_alpha() {
        true => picture.into_rgba8().write_to(&mut Cursor::new(&mut out), ImageFormat::Png),
        false => JpegEncoder::new_with_quality(&mut out, QUALITY).encode_image(&picture.into_rgb8()),
    };
    written.map_err(refused)?;
    Ok(out)
}

fn refused(error: ImageError) -> Error {
    match error {
        ImageError::Limits(_) => too_large(),
        error => unreadable(error),
    }
}

fn too_large() -> Error {
    Error::invalid("the picture is too large to be shown").with_code(Code::TooLarge)
}

#[cfg(test)]
mod tests {
    use image::{Rgb, RgbImage, Rgba, RgbaImage};

    use super::*;

    fn written(picture: &DynamicImage, format: ImageFormat) -> Vec<u8> {
        let mut out = Cursor::new(Vec::new());
        picture.write_to(&mut out, format).unwrap();
        out.into_inner()
    }

    fn read(bytes: &[u8]) -> (ImageFormat, u32, u32) {
        let format = image::guess_format(bytes).unwrap();
        let picture = image::load_from_memory(bytes).unwrap();
        (format, picture.width(), picture.height())
    }

    #[test]
    fn pictures_of_all_formats_become_small() {
        let plain = DynamicImage::ImageRgb8(RgbImage::from_pixel(800, 400, Rgb([200, 30, 30])));
        for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Tiff, ImageFormat::Bmp, ImageFormat::WebP] {
            let small = shrink(&written(&plain, format), 100).unwrap();
            assert_eq!(read(&small), (ImageFormat::Jpeg, 100, 50), "{format:?}");
        }
        let clear = DynamicImage::ImageRgba8(RgbaImage::from_pixel(300, 600, Rgba([0, 0, 0, 0])));
        for format in [ImageFormat::Png, ImageFormat::Gif] {
            assert_eq!(
                read(&shrink(&written(&clear, format), 100).unwrap()),
                (ImageFormat::Png, 50, 100),
                "{format:?}"
            );
        }
        // A small one is not made larger.
        assert_eq!(read(&shrink(&written(&plain, ImageFormat::Png), 5_000).unwrap()), (ImageFormat::Jpeg, 800, 400));
    }

    #[test]
    fn what_is_no_picture_or_a_huge_one_is_refused() {
        for bad in
            [&b""[..], b"GIF89a", b"\x89PNG\r\n\x1a\n", b"no picture", b"<svg xmlns='http://www.w3.org/2000/svg'/>"]
        {
            assert_eq!(shrink(bad, 100).unwrap_err().code(), "not_readable", "{bad:?}");
        }
        let plain = DynamicImage::ImageRgb8(RgbImage::new(20, 20));
        let mut huge = written(&plain, ImageFormat::Bmp);
        // The fields of width and height.
        huge[18..22].copy_from_slice(&25_000_i32.to_le_bytes());
        huge[22..26].copy_from_slice(&25_000_i32.to_le_bytes());
        assert!(matches!(shrink(&huge, 100).unwrap_err().code().as_str(), "too_large" | "not_readable"));
        let whole = written(&plain, ImageFormat::Png);
        for cut in 0..whole.len() {
            let _ = shrink(&whole[..cut], 10);
        }
    }
}

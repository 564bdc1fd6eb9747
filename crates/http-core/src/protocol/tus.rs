//! Header fields of tus 1.0, the protocol for resumable uploads: core, creation, creation-with-upload, termination,
//! checksum and expiration.

use axum::http::HeaderMap;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::{Code, Error, Result};

/// The only supported version.
pub const VERSION: &str = "1.0.0";
/// The supported extensions.
pub const EXTENSIONS: &str = "creation,creation-with-upload,termination,checksum,expiration";
/// The algorithms that `Upload-Checksum` may name.
pub const CHECKSUMS: &str = "sha1";
/// Media type of a part of an upload.
pub const PART: &str = "application/offset+octet-stream";
/// Longest `Upload-Metadata` field.
const MAX_METADATA: usize = 8192;

/// Refuses a request without `Tus-Resumable: 1.0.0`, with code `unsupported_version` (412).
pub fn check_version(headers: &HeaderMap) -> Result<()> {
    if headers.get("tus-resumable").is_some_and(|value| value == VERSION) {
        return Ok(());
    }
    Err(Error::invalid("this server supports tus 1.0.0; send Tus-Resumable: 1.0.0").with_code(Code::UnsupportedVersion))
}

/// The total size in bytes that a creation request announces.
pub fn upload_length(headers: &HeaderMap) -> Result<u64> {
    if headers.contains_key("upload-defer-length") {
        return Err(Error::invalid("the length of an upload must be known when it is created; send Upload-Length")
            .with_code(Code::LengthRequired));
    }
    number(headers, "upload-length")
}

/// The offset at which a part begins.
pub fn upload_offset(headers: &HeaderMap) -> Result<u64> {
    number(headers, "upload-offset")
}

fn number(headers: &HeaderMap, name: &str) -> Result<u64> {
    headers
        .get(name)
        .and_then(|value| value.to_str().ok())
        .filter(|text| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()))
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| Error::invalid(format!("{name} must be given as a number of bytes")))
}

/// The pairs of an `Upload-Metadata` field: key and decoded value. Keys are unique; a value may be empty.
pub fn metadata(headers: &HeaderMap) -> Result<Vec<(String, String)>> {
    let bad = |why: &str| Error::invalid(format!("Upload-Metadata cannot be read: {why}"));
    let Some(field) = headers.get("upload-metadata") else { return Ok(Vec::new()) };
    let text = field.to_str().map_err(|_| bad("it is not ASCII"))?;
    if text.len() > MAX_METADATA {
        return Err(bad("it is longer than 8192 bytes"));
    }
    let mut pairs: Vec<(String, String)> = Vec::new();
    for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        let (key, coded) = pair.split_once(' ').unwrap_or((pair, ""));
        let bytes = STANDARD.decode(coded.trim()).map_err(|_| bad("a value is not Base64"))?;
        let value = String::from_utf8(bytes).map_err(|_| bad("a value is not UTF-8"))?;
        if pairs.iter().any(|(known, _)| known == key) {
            return Err(bad("a key is given twice"));
        }
        pairs.push((key.to_owned(), value));
    }
    Ok(pairs)
}

/// The SHA-1 of the part that an `Upload-Checksum` field gives, if the field is present.
pub fn checksum(headers: &HeaderMap) -> Result<Option<[u8; 20]>> {
    let Some(field) = headers.get("upload-checksum") else { return Ok(None) };
    let text = field.to_str().unwrap_or_default();
    let digest = text
        .split_once(' ')
        .filter(|(algorithm, _)| algorithm.eq_ignore_ascii_case("sha1"))
        .and_then(|(_, coded)| STANDARD.decode(coded.trim()).ok())
        .and_then(|bytes| bytes.try_into().ok());
    match digest {
        Some(digest) => Ok(Some(digest)),
        None => Err(Error::invalid("Upload-Checksum must be \"sha1\" and the digest in Base64")
            .with_code(Code::UnsupportedChecksum)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(fields: &[(&'static str, &str)]) -> HeaderMap {
        fields.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn numbers_must_be_plain() {
        let offset = |text: &str| upload_offset(&headers(&[("upload-offset", text)])).ok();
        assert_eq!((offset("0"), offset("18446744073709551615")), (Some(0), Some(u64::MAX)));
        for bad in ["", "-1", "+1", "1.0", "18446744073709551616", "0x1"] {
            assert_eq!(offset(bad), None, "{bad}");
        }
        assert!(upload_length(&headers(&[])).is_err());
        let deferred = headers(&[("upload-defer-length", "1")]);
        assert_eq!(upload_length(&deferred).unwrap_err().code(), "length_required");
    }

    #[test]
    fn metadata_is_decoded_and_doubtful_pairs_are_refused() {
        let read = |text: &str| metadata(&headers(&[("upload-metadata", text)]));
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(read("filename w7wudHh0,private").unwrap(), [pair("filename", "ü.txt"), pair("private", "")]);
        assert!(metadata(&headers(&[])).unwrap().is_empty());
        for bad in ["filename !!", "a YQ==,a Yg==", "a /w=="] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn versions_and_checksums() {
        assert!(check_version(&headers(&[("tus-resumable", "1.0.0")])).is_ok());
        assert_eq!(check_version(&headers(&[])).unwrap_err().code(), "unsupported_version");
        let read = |text: &str| checksum(&headers(&[("upload-checksum", text)]));
        assert!(read("sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=").unwrap().is_some());
        assert!(read("md5 Kq5sNclPz7QV2+lfQIuc6R7oRu0=").is_err());
        assert!(read("sha1 AAAA").is_err());
        assert_eq!(checksum(&headers(&[])).unwrap(), None);
    }
}

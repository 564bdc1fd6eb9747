//! Entry points of the fuzz targets for object stores.

use model::Timestamp;

use super::names::{Names, stored_at};

/// Treats the input as the key of an object in a listing.
pub fn object_names(input: &[u8]) {
    let Ok(key) = std::str::from_utf8(input) else { return };
    for prefix in ["", "a/b"] {
        let names = Names::new(prefix);
        for key in [key.to_owned(), format!("{}{key}", names.blobs()), format!("{}{key}", names.all_data())] {
            if let Some((digest, size)) = names.parse_blob(&key) {
                assert_eq!(names.blob(&digest, size), key);
                assert!(key.starts_with(&names.of_digest(&digest)));
                assert!(key < names.behind(&digest));
            }
            if let Some(id) = names.parse_data(&key) {
                assert_eq!(names.data(&id), key);
            }
        }
    }
    if let Some((told, _)) = input.split_first_chunk::<8>() {
        let told = Timestamp::from_micros(i64::from_le_bytes(*told).clamp(-(1 << 60), 1 << 60));
        assert!(stored_at(told) <= Timestamp::now());
    }
}

//! Encryption ("sealing") of secrets in the configuration database with the farm's key, which is stored beside it: a
//! copy of the database alone reveals no secret.
//!
//! The key file is `farm.key` in the data directory, readable by its owner only: a line of 64 hexadecimal digits.
//! Sealed data begins with a format byte (1) and a nonce of 12 bytes. The cipher is AES-256-GCM, with the name of the
//! subject as additional data.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use model::{Error, Result};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

use crate::locations::data_directory::DataDirectory;

const FILE: &str = DataDirectory::KEY_FILE;
const FORMAT: u8 = 1;
pub(crate) const KEY: usize = 32;

/// Seals `plain` for the given subject. Creates the farm's key on first use. Blocks.
pub(crate) fn seal(directory: &DataDirectory, subject: &str, plain: &[u8]) -> Result<Vec<u8>> {
    seal_by(&key(directory, true)?, subject, plain)
}

/// Seals with the content of a given key file, such as one in a backup.
///
/// # Errors
/// `Unavailable` when the content is not a key.
pub(crate) fn seal_with(key_file: &[u8], subject: &str, plain: &[u8]) -> Result<Vec<u8>> {
    seal_by(&key_of(key_file)?, subject, plain)
}

/// Seals with a given key.
pub(crate) fn seal_by_key(key: &[u8; KEY], subject: &str, plain: &[u8]) -> Result<Vec<u8>> {
    seal_by(&usable(key, Path::new(FILE))?, subject, plain)
}

/// Opens data sealed by [`seal_by_key`] with the same key and subject; `None` for anything else.
pub(crate) fn open_by_key(key: &[u8; KEY], subject: &str, sealed: &[u8]) -> Option<Vec<u8>> {
    let path = Path::new(FILE);
    unseal(&usable(key, path).ok()?, path, subject, sealed).ok()
}

/// Returns a new key in hexadecimal.
pub(crate) fn new_key() -> Result<String> {
    let mut bytes = [0; KEY];
    random(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn seal_by(key: &LessSafeKey, subject: &str, plain: &[u8]) -> Result<Vec<u8>> {
    let mut nonce = [0; NONCE_LEN];
    random(&mut nonce)?;
    let mut body = plain.to_vec();
    key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(subject.as_bytes()), &mut body)
        .map_err(|_| Error::unavailable("the secret cannot be sealed: it is too long"))?;
    Ok([&[FORMAT], &nonce[..], &body].concat())
}

/// Opens data sealed by [`seal`] for the same subject. Blocks.
///
/// # Errors
/// `Unavailable` when the farm's key is missing or is a different one.
pub(crate) fn open(directory: &DataDirectory, subject: &str, sealed: &[u8]) -> Result<Vec<u8>> {
    unseal(&key(directory, false)?, &directory.key(), subject, sealed)
}

/// Opens with the content of a given key file, such as one in a backup.
///
/// # Errors
/// Those of [`open`].
pub(crate) fn open_with(key_file: &[u8], subject: &str, sealed: &[u8]) -> Result<Vec<u8>> {
    unseal(&key_of(key_file)?, Path::new(FILE), subject, sealed)
}

fn key_of(key_file: &[u8]) -> Result<LessSafeKey> {
    let path = Path::new(FILE);
    let bytes = std::str::from_utf8(key_file).ok().and_then(|text| decode(text.trim())).ok_or_else(|| garbled(path))?;
    usable(&bytes, path)
}

fn unseal(key: &LessSafeKey, path: &Path, subject: &str, sealed: &[u8]) -> Result<Vec<u8>> {
    let wrong = || {
        Error::unavailable(format!(
            "a secret in the configuration database cannot be opened with {}: put the farm's own key file there, or \
            set the \
             credentials of its stores again",
            path.display()
        ))
    };
    let (head, body) = sealed.split_at_checked(1 + NONCE_LEN).ok_or_else(wrong)?;
    let nonce = Nonce::try_assume_unique_for_key(&head[1..]).map_err(|_| wrong())?;
    if head[0] != FORMAT {
        return Err(wrong());
    }
    let mut body = body.to_vec();
    let plain = key.open_in_place(nonce, Aad::from(subject.as_bytes()), &mut body).map_err(|_| wrong())?;
    Ok(plain.to_vec())
}

fn usable(bytes: &[u8], path: &Path) -> Result<LessSafeKey> {
    UnboundKey::new(&AES_256_GCM, bytes).map(LessSafeKey::new).map_err(|_| garbled(path))
}

fn key(directory: &DataDirectory, create: bool) -> Result<LessSafeKey> {
    let path = directory.key();
    let bytes = match read(&path)? {
        Some(bytes) => bytes,
        None if create => {
            make(directory, &path)?;
            read(&path)?.ok_or_else(|| missing(&path))?
        }
        None => return Err(missing(&path)),
    };
    usable(&bytes, &path)
}

fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    let mut text = String::new();
    match fs::File::open(path).and_then(|file| file.take(1024).read_to_string(&mut text)) {
        Ok(_) => decode(text.trim()).map(Some).ok_or_else(|| garbled(path)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(broken("read", path, &error)),
    }
}

pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    if text.len() != 2 * KEY || !text.is_ascii() {
        return None;
    }
    (0..KEY).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()).collect()
}

/// Creates the key file atomically. Another thread or process may have created it first; its key is kept then.
fn make(directory: &DataDirectory, path: &Path) -> Result<()> {
    let text = new_key()?;
    let fresh = temporary(directory)?;
    let write = || {
        // A file that exists may be linked as the key already, and must never be written to.
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
        let linked = writeln!(file, "{text}").and_then(|()| file.sync_all()).and_then(|()| fs::hard_link(&fresh, path));
        fs::remove_file(&fresh)?;
        match linked {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
            _ => fs::File::open(directory.path())?.sync_all(),
        }
    };
    write().map_err(|error: std::io::Error| broken("written", path, &error))
}

/// Returns a name that no other thread or process uses.
fn temporary(directory: &DataDirectory) -> Result<PathBuf> {
    let mut bytes = [0; 8];
    random(&mut bytes)?;
    Ok(directory.join(format!("{FILE}.{:016x}", u64::from_le_bytes(bytes))))
}

fn random(bytes: &mut [u8]) -> Result<()> {
    getrandom::fill(bytes)
        .map_err(|error| Error::unavailable(format!("the system's random number generator failed: {error}")))
}

fn missing(path: &Path) -> Error {
    Error::unavailable(format!(
        "the farm's key {} is missing: put it back from a backup, or set the credentials of its stores again",
        path.display()
    ))
}

fn garbled(path: &Path) -> Error {
    Error::unavailable(format!("{} is not a farm's key: put it back from a backup", path.display()))
}

fn broken(what: &str, path: &Path, error: &std::io::Error) -> Error {
    Error::unavailable(format!("the farm's key {} cannot be {what}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_secret_comes_back_for_its_own_subject_only() {
        let scratch = tempfile::tempdir().unwrap();
        let place = DataDirectory::new(scratch.path());
        let sealed = seal(&place, "store 5", b"swordfish").unwrap();
        assert!(!sealed.windows(9).any(|window| window == b"swordfish"));
        assert_eq!(open(&place, "store 5", &sealed).unwrap(), b"swordfish");
        assert!(open(&place, "store 6", &sealed).is_err());
        let key_file = fs::read(place.key()).unwrap();
        assert_eq!(open_with(&key_file, "store 5", &sealed).unwrap(), b"swordfish");
        assert!(open_with(b"not a key", "store 5", &sealed).is_err());
        for at in 0..sealed.len() {
            let mut flipped = sealed.clone();
            flipped[at] ^= 1;
            assert!(open(&place, "store 5", &flipped).is_err(), "byte {at}");
        }
        let mode = fs::metadata(place.key()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1, "nothing is left beside the key");
    }

    #[test]
    fn a_key_that_was_linked_is_never_written_again() {
        let scratch = tempfile::tempdir().unwrap();
        let place = DataDirectory::new(scratch.path());
        let sealed = seal(&place, "store 5", b"swordfish").unwrap();
        // Another first use in this process has linked its key, and has not removed its temporary name yet.
        let path = place.key();
        fs::hard_link(&path, place.path().join(format!("{FILE}.{}", std::process::id()))).unwrap();
        make(&place, &path).unwrap();
        assert_eq!(open(&place, "store 5", &sealed).unwrap(), b"swordfish");
    }

    #[test]
    fn first_uses_at_the_same_time_agree_on_one_key() {
        for _ in 0..20 {
            let scratch = tempfile::tempdir().unwrap();
            let place = DataDirectory::new(scratch.path());
            let sealed: Vec<_> = std::thread::scope(|scope| {
                let uses: Vec<_> = (0..8).map(|_| scope.spawn(|| seal(&place, "store 5", b"swordfish"))).collect();
                uses.into_iter().map(|one| one.join().unwrap().unwrap()).collect()
            });
            for sealed in sealed {
                assert_eq!(open(&place, "store 5", &sealed).unwrap(), b"swordfish");
            }
            assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1, "nothing is left beside the key");
        }
    }

    #[test]
    fn a_missing_foreign_or_garbled_key_is_told() {
        let scratch = tempfile::tempdir().unwrap();
        let place = DataDirectory::new(scratch.path());
        let sealed = seal(&place, "store 5", b"swordfish").unwrap();
        let path = place.key();
        fs::write(&path, "0".repeat(64)).unwrap();
        assert!(open(&place, "store 5", &sealed).unwrap_err().message().contains("own key file"));
        fs::write(&path, "nonsense").unwrap();
        assert!(open(&place, "store 5", &sealed).unwrap_err().message().contains("not a farm's key"));
        fs::remove_file(&path).unwrap();
        assert!(open(&place, "store 5", &sealed).unwrap_err().message().contains("missing"));
    }

    #[test]
    fn a_secret_that_was_sealed_by_the_first_version_opens() {
        let scratch = tempfile::tempdir().unwrap();
        let place = DataDirectory::new(scratch.path());
        fs::write(place.key(), "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n").unwrap();
        assert_eq!(open(&place, "store 5", GOLDEN).unwrap(), b"swordfish");
    }

    const GOLDEN: &[u8] = &[
        1, 78, 141, 177, 78, 89, 87, 232, 139, 244, 36, 251, 247, 202, 255, 179, 121, 236, 237, 185, 63, 40, 212, 196,
        24, 25, 213, 171, 183, 67, 123, 113, 50, 42, 142, 204, 135, 46,
    ];
}

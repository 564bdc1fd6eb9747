//! The settings and secrets of a store, by name: their meaning and validation.

use std::collections::BTreeMap;

use blobs::{DirectoryOptions, ObjectKind, ObjectOptions, ObjectSecrets, ServerSideEncryption, StoreKey};
use model::{Code, Error, Result, StoreKind};

/// Default size of the local cache in bytes.
const CACHE: u64 = 1 << 30;
/// Limit on the retention of objects by a service: a hundred years.
const MAX_DAYS: u64 = 36_500;
/// Separator between encryption keys; the newest comes first.
const BETWEEN_KEYS: char = ',';
/// Name of the secret that holds the encryption keys.
pub(crate) const KEYS: &str = "encryption_keys";
pub(crate) const COMPRESSION: &str = "compression";

/// All settings, for messages.
const SETTINGS: [&str; 9] = [
    "endpoint",
    "region",
    "path_style",
    "allow_http",
    "ca_certificates",
    "server_side_encryption",
    COMPRESSION,
    "cache_bytes",
    "retention_days",
];
const SECRETS: [&str; 4] = ["key_id", "secret", "session_token", KEYS];

/// Returns the options of a directory store: those in the settings, and `usual` for the rest.
pub(crate) fn directory(settings: &Settings, given: &Settings, usual: DirectoryOptions) -> Result<DirectoryOptions> {
    let known = |name: &&String| ![COMPRESSION, KEYS].contains(&name.as_str());
    let unknown = settings.keys().find(|name| *name != COMPRESSION).or_else(|| given.keys().find(known));
    if let Some(name) = unknown {
        return Err(Error::invalid(format!(
            "a store of the kind directory has no setting \"{name}\"; there are the setting {COMPRESSION} and the \
            secret {KEYS}"
        )));
    }
    let (compression, encryption_keys) = (level(settings)?, keys(given)?);
    Ok(DirectoryOptions { compression, encryption_keys, ..usual })
}

/// Returns the options of an object store of this kind. Its location is a bucket, optionally followed by a slash and a
/// prefix.
pub(crate) fn options(kind: StoreKind, location: &str, settings: &Settings) -> Result<ObjectOptions> {
    let kind = match kind {
        StoreKind::S3 => ObjectKind::S3,
        StoreKind::Azure => ObjectKind::Azure,
        StoreKind::Gcs => ObjectKind::Gcs,
        StoreKind::Database | StoreKind::Directory => return Err(unknown_kind(kind.as_str())),
    };
    refuse_unknown(settings, &SETTINGS, "setting")?;
    let (bucket, prefix) = location.split_once('/').unwrap_or((location, ""));
    let text = |name: &str| settings.get(name).cloned();
    let endpoint = text("endpoint");
    let options = ObjectOptions {
        kind,
        bucket: bucket.to_owned(),
        prefix: prefix.trim_end_matches('/').to_owned(),
        region: text("region"),
        path_style: flag(settings, "path_style", true)?,
        // Traffic that stays on the same machine cannot be intercepted.
        allow_http: flag(settings, "allow_http", endpoint.as_deref().is_some_and(is_loopback))?,
        endpoint,
        ca_certificates: text("ca_certificates"),
        server_side_encryption: text("server_side_encryption").as_deref().map(encryption).transpose()?,
        compression: level(settings)?,
        ..ObjectOptions::default()
    };
    options.check()?;
    Ok(options)
}

/// Returns the error for a word that names no kind of store that can be added.
pub(crate) fn unknown_kind(word: &str) -> Error {
    Error::invalid(format!("there is no kind of BLOB store called \"{word}\"; there are: directory, s3, azure, gcs"))
}

/// Refuses a meaningless retention. Existing stores that were given one before stay usable.
pub(crate) fn check_retention(settings: &Settings) -> Result<()> {
    match number(settings, "retention_days")?.filter(|days| !(1..=MAX_DAYS).contains(days)) {
        Some(days) => Err(Error::invalid(format!(
            "retention_days is between 1 and {MAX_DAYS}, not {days}: leave it out where the service keeps objects for \
            good"
        ))),
        None => Ok(()),
    }
}

/// Returns the credentials and keys.
pub(crate) fn secrets(secrets: &Settings) -> Result<ObjectSecrets> {
    refuse_unknown(secrets, &SECRETS, "secret")?;
    let text = |name: &str| secrets.get(name).cloned();
    Ok(ObjectSecrets {
        key_id: text("key_id").unwrap_or_default(),
        secret: text("secret").unwrap_or_default(),
        session_token: text("session_token"),
        encryption_keys: keys(secrets)?,
    })
}

/// Returns the keys for encrypting BLOBs, newest first.
fn keys(secrets: &Settings) -> Result<Vec<StoreKey>> {
    let text = secrets.get(KEYS).map(String::as_str).unwrap_or_default();
    text.split(BETWEEN_KEYS).filter(|key| !key.is_empty()).map(StoreKey::from_hex).collect()
}

/// Returns the size limit of the local cache in bytes; 0 for no cache.
pub(crate) fn cache_bytes(settings: &Settings) -> Result<u64> {
    Ok(number(settings, "cache_bytes")?.unwrap_or(CACHE))
}

/// Returns the secret with a new key in front. The new key encrypts from now on; the others still decrypt.
pub(crate) fn with_new_key(keys: Option<&String>) -> Result<String> {
    let fresh = StoreKey::generate()?.to_hex();
    Ok(match keys.filter(|keys| !keys.is_empty()) {
        Some(old) => format!("{fresh}{BETWEEN_KEYS}{old}"),
        None => fresh,
    })
}

/// Refuses to remove keys: BLOBs may be encrypted with them, and there is no other copy of the keys.
pub(crate) fn require_keys_kept(name: &str, before: &Settings, after: &Settings) -> Result<()> {
    let after = keys(after)?;
    match keys(before)?.iter().find(|key| !after.contains(key)) {
        Some(key) => Err(Error::conflict(format!(
            "BLOBs in the store \"{name}\" may be encrypted with its key {}, which would be gone: put a new key in \
             front with `strongroom blobs stores rotate-key`, or move its BLOBs to a store without a key",
            key.identifier()
        ))
        .with_code(Code::StoreKeyNeeded)),
        None => Ok(()),
    }
}

fn refuse_unknown(given: &Settings, known: &[&str], what: &str) -> Result<()> {
    match given.keys().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(Error::invalid(format!("there is no {what} \"{name}\"; there are: {}", known.join(", ")))),
        None => Ok(()),
    }
}

fn flag(settings: &Settings, name: &str, usual: bool) -> Result<bool> {
    match settings.get(name).map(String::as_str) {
        None => Ok(usual),
        Some("true") => Ok(true),
        Some("false") => Ok(false),
        Some(other) => Err(Error::invalid(format!("{name} is true or false, not \"{other}\""))),
    }
}

fn number(settings: &Settings, name: &str) -> Result<Option<u64>> {
    let parse =
        |text: &String| text.parse().map_err(|_| Error::invalid(format!("{name} is a whole number, not \"{text}\"")));
    settings.get(name).map(parse).transpose()
}

/// Returns the zstd compression level.
fn level(settings: &Settings) -> Result<Option<i32>> {
    let Some(text) = settings.get(COMPRESSION) else { return Ok(None) };
    match text.parse() {
        Ok(level) if (1..=19).contains(&level) => Ok(Some(level)),
        _ => Err(Error::invalid(format!("compression is a level of zstd from 1 to 19, not \"{text}\""))),
    }
}

fn encryption(text: &str) -> Result<ServerSideEncryption> {
    match text.split_once(':') {
        None if text == "aes256" => Ok(ServerSideEncryption::Aes256),
        Some(("kms", key)) if !key.is_empty() => Ok(ServerSideEncryption::Kms(key.to_owned())),
        _ => Err(Error::invalid(format!("server_side_encryption is aes256 or kms:KEY, not \"{text}\""))),
    }
}

fn is_loopback(endpoint: &str) -> bool {
    let host = endpoint.strip_prefix("http://").unwrap_or_default().split(['/', ':']).next().unwrap_or_default();
    host == "localhost" || host.parse::<std::net::Ipv4Addr>().is_ok_and(|address| address.is_loopback())
}

/// Names and values of a provider's settings.
pub(crate) type Settings = BTreeMap<String, String>;

/// Returns the stored form of settings: a JSON object of strings.
pub(crate) fn settings_text(settings: &Settings) -> Result<String> {
    serde_json::to_string(settings).map_err(|error| Error::invalid("the settings cannot be stored").with_source(error))
}

pub(crate) fn settings_from(text: &[u8], name: &str) -> Result<Settings> {
    serde_json::from_slice(text).map_err(|error| {
        Error::unavailable(format!("the settings of the BLOB store \"{name}\" cannot be read")).with_source(error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> Settings {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn settings_become_options() {
        let given = map(&[("endpoint", "http://127.0.0.1:9000"), ("compression", "3"), ("path_style", "false")]);
        let options = options(StoreKind::S3, "bucket/a/b/", &given).unwrap();
        assert_eq!((options.bucket.as_str(), options.prefix.as_str()), ("bucket", "a/b"));
        assert_eq!((options.allow_http, options.compression, options.path_style), (true, Some(3), false));
    }

    #[test]
    fn what_means_nothing_is_refused_and_named() {
        let refused = |kind, location, pairs: &[(&str, &str)]| options(kind, location, &map(pairs)).unwrap_err();
        assert!(unknown_kind("ftp").message().contains("\"ftp\"; there are: directory, s3, azure, gcs"));
        for kind in [StoreKind::Database, StoreKind::Directory] {
            assert_eq!(refused(kind, "b", &[]).message(), unknown_kind(kind.as_str()).message());
        }
        assert!(refused(StoreKind::S3, "", &[]).message().contains("bucket"));
        assert!(refused(StoreKind::S3, "b", &[("endpint", "x")]).message().contains("endpint"));
        for level in ["zstd", "0", "20", "-3"] {
            assert!(
                refused(StoreKind::S3, "b", &[("compression", level)]).message().contains("from 1 to 19"),
                "{level}"
            );
        }
        for days in ["0", "36501", "99999999999"] {
            let said = check_retention(&map(&[("retention_days", days)])).unwrap_err();
            assert!(said.message().contains("between 1 and 36500"), "{days}: {said}");
        }
        assert!(check_retention(&map(&[("retention_days", "36500")])).is_ok());
        assert!(refused(StoreKind::S3, "b", &[("endpoint", "http://example.org")]).message().contains("not encrypted"));
        let disguised = refused(StoreKind::S3, "b", &[("endpoint", "http://127.0.0.1:x@example.org")]);
        assert!(disguised.message().contains("holds a credential"), "{disguised}");
        assert!(refused(StoreKind::S3, "b", &[("server_side_encryption", "rot13")]).message().contains("aes256"));
        assert!(secrets(&map(&[("encryption_keys", "short")])).is_err());
        assert!(secrets(&map(&[("password", "x")])).unwrap_err().message().contains("key_id"));
    }

    #[test]
    fn a_directory_knows_compression_and_keys_and_nothing_else() {
        let read = |settings: &[(&str, &str)], secrets: &[(&str, &str)]| {
            directory(&map(settings), &map(secrets), DirectoryOptions::default())
        };
        let key = with_new_key(None).unwrap();
        let options = read(&[("compression", "9")], &[(KEYS, &key)]).unwrap();
        assert_eq!((options.compression, options.encryption_keys[0].to_hex()), (Some(9), key.clone()));
        assert_eq!(read(&[], &[]).unwrap().compression, None);
        for (settings, secrets, named) in [
            (&[("endpoint", "x")][..], &[][..], "endpoint"),
            (&[("cache_bytes", "0")], &[], "cache_bytes"),
            (&[(KEYS, &key)], &[], KEYS),
            (&[], &[("key_id", "x")], "key_id"),
            (&[("compression", "20")], &[], "from 1 to 19"),
            (&[], &[(KEYS, "short")], "64 hexadecimal digits"),
        ] {
            let refused = read(settings, secrets).unwrap_err();
            assert!(refused.message().contains(named), "{named}: {refused}");
        }
    }

    #[test]
    fn a_new_key_goes_in_front_of_the_old_ones() {
        let first = with_new_key(None).unwrap();
        let both = with_new_key(Some(&first)).unwrap();
        let read = secrets(&map(&[(KEYS, &both)])).unwrap();
        assert_eq!(read.encryption_keys.len(), 2);
        assert_eq!(read.encryption_keys[1].to_hex(), first);
        let kept = |before: &str, after: &str| require_keys_kept("s", &map(&[(KEYS, before)]), &map(&[(KEYS, after)]));
        assert!(kept("", &first).is_ok());
        assert!(kept(&first, &both).is_ok());
        for after in ["", &with_new_key(None).unwrap()] {
            assert_eq!(kept(&both, after).unwrap_err().code(), "store_key_needed", "{after}");
        }
    }
}

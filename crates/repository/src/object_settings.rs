//! The settings and secrets of a store in object storage, as people name them: what each is called, what it means, and what is
//! refused.

use blobs::{ObjectKind, ObjectOptions, ObjectSecrets, ServerSideEncryption, StoreKey};
use model::{Error, Result};

use crate::provider::Settings;

/// Bytes of the local cache unless the settings say otherwise.
const CACHE: u64 = 1 << 30;
/// Separates encryption keys, the newest first.
const BETWEEN_KEYS: char = ',';
/// The secret that holds them.
pub(crate) const KEYS: &str = "encryption_keys";

/// Every setting, for messages.
const SETTINGS: [&str; 9] = [
    "endpoint",
    "region",
    "path_style",
    "allow_http",
    "ca_certificates",
    "server_side_encryption",
    "compression",
    "cache_bytes",
    "retention_days",
];
const SECRETS: [&str; 4] = ["key_id", "secret", "session_token", KEYS];

/// Options of a store of this kind; its place is a bucket, and perhaps a prefix behind a slash.
pub(crate) fn options(kind: &str, location: &str, settings: &Settings) -> Result<ObjectOptions> {
    let kind = match kind {
        "s3" => ObjectKind::S3,
        "azure" => ObjectKind::Azure,
        "gcs" => ObjectKind::Gcs,
        _ => {
            return Err(Error::invalid(format!(
                "there is no kind of BLOB store called \"{kind}\"; there are: directory, s3, azure, gcs"
            )));
        }
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
        // Nobody listens on the way to the same machine.
        allow_http: flag(settings, "allow_http", endpoint.as_deref().is_some_and(is_loopback))?,
        endpoint,
        ca_certificates: text("ca_certificates"),
        server_side_encryption: text("server_side_encryption").as_deref().map(encryption).transpose()?,
        compression: number(settings, "compression")?.map(|level| i32::try_from(level).unwrap_or(i32::MAX)),
        ..ObjectOptions::default()
    };
    options.check()?;
    Ok(options)
}

/// Credentials and keys.
pub(crate) fn secrets(secrets: &Settings) -> Result<ObjectSecrets> {
    refuse_unknown(secrets, &SECRETS, "secret")?;
    let text = |name: &str| secrets.get(name).cloned();
    let keys = text(KEYS).unwrap_or_default();
    Ok(ObjectSecrets {
        key_id: text("key_id").unwrap_or_default(),
        secret: text("secret").unwrap_or_default(),
        session_token: text("session_token"),
        encryption_keys: keys
            .split(BETWEEN_KEYS)
            .filter(|key| !key.is_empty())
            .map(StoreKey::from_hex)
            .collect::<Result<_>>()?,
    })
}

/// Bytes that the local cache may take; none when it is 0.
pub(crate) fn cache_bytes(settings: &Settings) -> Result<u64> {
    Ok(number(settings, "cache_bytes")?.unwrap_or(CACHE))
}

/// The secret with a new key in front: it encrypts from now on, the others still decrypt.
pub(crate) fn with_new_key(keys: Option<&String>) -> Result<String> {
    let fresh = StoreKey::generate()?.to_hex();
    Ok(match keys.filter(|keys| !keys.is_empty()) {
        Some(old) => format!("{fresh}{BETWEEN_KEYS}{old}"),
        None => fresh,
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> Settings {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn settings_become_options() {
        let given = map(&[("endpoint", "http://127.0.0.1:9000"), ("compression", "3"), ("path_style", "false")]);
        let options = options("s3", "bucket/a/b/", &given).unwrap();
        assert_eq!((options.bucket.as_str(), options.prefix.as_str()), ("bucket", "a/b"));
        assert_eq!((options.allow_http, options.compression, options.path_style), (true, Some(3), false));
    }

    #[test]
    fn what_means_nothing_is_refused_and_named() {
        let refused = |kind, location, pairs: &[(&str, &str)]| options(kind, location, &map(pairs)).unwrap_err();
        assert!(refused("ftp", "b", &[]).message().contains("directory, s3, azure, gcs"));
        assert!(refused("s3", "", &[]).message().contains("bucket"));
        assert!(refused("s3", "b", &[("endpint", "x")]).message().contains("endpint"));
        assert!(refused("s3", "b", &[("compression", "x")]).message().contains("compression"));
        assert!(refused("s3", "b", &[("endpoint", "http://example.org")]).message().contains("not encrypted"));
        assert!(refused("s3", "b", &[("server_side_encryption", "rot13")]).message().contains("aes256"));
        assert!(secrets(&map(&[("encryption_keys", "short")])).is_err());
        assert!(secrets(&map(&[("password", "x")])).unwrap_err().message().contains("key_id"));
    }

    #[test]
    fn a_new_key_goes_in_front_of_the_old_ones() {
        let first = with_new_key(None).unwrap();
        let both = with_new_key(Some(&first)).unwrap();
        let read = secrets(&map(&[(KEYS, &both)])).unwrap();
        assert_eq!(read.encryption_keys.len(), 2);
        assert_eq!(read.encryption_keys[1].to_hex(), first);
    }
}

//! Command-line arguments that name a backup destination (a directory or a bucket), and the key and credentials for it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use blobs::{ObjectOptions, ObjectSecrets};
use clap::Args;
use maintenance::BackupLocation;
use model::{Error, Id, Result};

/// Key and credentials for a backup destination.
#[derive(Args, Clone, Default)]
pub struct Access {
    /// File with the key or passphrase that encrypts all backups in the destination
    #[arg(long, value_name = "FILE", env = "STRONGROOM_BACKUP_KEY_FILE")]
    pub encrypt_with: Option<PathBuf>,
    /// Address of the S3 service for s3://BUCKET/PREFIX [default: Amazon's]
    #[arg(long, value_name = "URL", env = "STRONGROOM_BACKUP_S3_ENDPOINT")]
    s3_endpoint: Option<String>,
    /// Region of the bucket
    #[arg(long, value_name = "REGION", env = "STRONGROOM_BACKUP_S3_REGION")]
    s3_region: Option<String>,
    /// Access key ID for the bucket; the secret is read from STRONGROOM_BACKUP_S3_SECRET
    #[arg(long, value_name = "ID", env = "STRONGROOM_BACKUP_S3_KEY_ID")]
    s3_key_id: Option<String>,
}

impl Access {
    /// Parses a backup destination: `s3://BUCKET/PREFIX` or a directory.
    pub fn destination(&self, text: &str) -> Result<BackupLocation> {
        let Some(address) = text.strip_prefix("s3://") else {
            if let Some((scheme, _)) = text.split_once("://") {
                return Err(Error::invalid(format!(
                    "{scheme}:// is not supported as a backup destination: name a directory or s3://BUCKET/PREFIX"
                )));
            }
            return Ok(BackupLocation::Directory(PathBuf::from(text)));
        };
        let (bucket, prefix) = address.split_once('/').unwrap_or((address, ""));
        if bucket.is_empty() {
            return Err(Error::invalid("name the bucket: s3://BUCKET/PREFIX"));
        }
        let endpoint = self.s3_endpoint.clone();
        let options = ObjectOptions {
            allow_http: endpoint.as_ref().is_some_and(|endpoint| endpoint.starts_with("http://")),
            path_style: endpoint.is_some(),
            endpoint,
            bucket: bucket.to_owned(),
            prefix: prefix.trim_matches('/').to_owned(),
            region: self.s3_region.clone(),
            ..ObjectOptions::default()
        };
        let key_id = self.s3_key_id.clone().unwrap_or_default();
        let secret = std::env::var("STRONGROOM_BACKUP_S3_SECRET").unwrap_or_default();
        if key_id.is_empty() != secret.is_empty() {
            return Err(Error::invalid(match secret.is_empty() {
                true => {
                    "the access key for the bucket has no secret: put the secret into the environment variable \
                     STRONGROOM_BACKUP_S3_SECRET"
                }
                false => {
                    "STRONGROOM_BACKUP_S3_SECRET is set without an access key: name the key with --s3-key-id, or in \
                     the environment variable STRONGROOM_BACKUP_S3_KEY_ID"
                }
            }));
        }
        let secrets = ObjectSecrets { key_id, secret, ..ObjectSecrets::default() };
        Ok(BackupLocation::Objects(Box::new(options), Box::new(secrets)))
    }
}

/// The backup to restore.
#[derive(Args)]
pub struct ChosenBackup {
    /// Directory or s3://BUCKET/PREFIX that holds the farm's backups
    #[arg(value_name = "SOURCE")]
    pub source: String,
    #[command(flatten)]
    pub access: Access,
    /// ID of the backup; `strongroom backup list SOURCE` lists them [default: the latest]
    #[arg(long, value_name = "ID")]
    pub set: Option<Id>,
}

/// Parses `NAME=postgres://...` arguments, one for each database.
pub fn database_urls(given: &[String]) -> Result<BTreeMap<String, String>> {
    let read = |text: &String| {
        let (name, url) = text.split_once('=').ok_or_else(|| {
            Error::invalid("--database-url takes the name of a database and its new address: NAME=postgres://...")
        })?;
        Ok((name.to_owned(), url.to_owned()))
    };
    given.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_and_buckets_are_told_apart() {
        let place = |text: &str| Access::default().destination(text);
        assert!(matches!(place("backups").unwrap(), BackupLocation::Directory(path) if path.as_os_str() == "backups"));
        match place("s3://ours/farm/one/").unwrap() {
            BackupLocation::Objects(options, _) => {
                assert_eq!((&*options.bucket, &*options.prefix), ("ours", "farm/one"))
            }
            other => panic!("{other:?}"),
        }
        assert!(place("s3:///x").is_err());
        assert!(place("ftp://x/y").is_err());
    }
}

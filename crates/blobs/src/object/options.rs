//! The options of an object store: settings for the connection and for storing BLOBs, and the secrets, which are kept
//! apart.

use std::fmt;
use std::time::Duration;

use model::{Error, Result, StoreKind};
use serde::{Deserialize, Serialize};

use crate::coding::StoreKey;

/// Minimum of [`ObjectOptions::orphan_seconds`]. An upload of a large BLOB over a slow line takes hours, and compaction
/// must not remove its data meanwhile.
const MIN_ORPHAN_SECONDS: u64 = 24 * 3600;

/// The protocol of an object store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ObjectKind {
    /// Amazon S3 and compatible services. They must support `If-None-Match: *` on PUT and list in key order.
    #[default]
    S3,
    /// Azure Blob Storage.
    Azure,
    /// Google Cloud Storage.
    Gcs,
}

impl ObjectKind {
    /// The name of this kind of store: `s3`, `azure` or `gcs`.
    pub fn as_str(self) -> &'static str {
        StoreKind::from(self).as_str()
    }
}

impl From<ObjectKind> for StoreKind {
    fn from(kind: ObjectKind) -> Self {
        match kind {
            ObjectKind::S3 => Self::S3,
            ObjectKind::Azure => Self::Azure,
            ObjectKind::Gcs => Self::Gcs,
        }
    }
}

/// Server-side encryption requested from the service (S3 only).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ServerSideEncryption {
    /// `AES256`, with a key of the service.
    Aes256,
    /// `aws:kms` with this key.
    Kms(String),
}

/// Timeouts and retries of requests. Times are in seconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Timeouts {
    /// Timeout for connecting.
    pub connect_seconds: u64,
    /// Timeout without progress, while a body is sent or received and while a response is awaited. A whole message may
    /// take one more second for each 64 KiB of its body.
    pub answer_seconds: u64,
    /// Age up to which a request that failed transiently is retried, with growing backoff.
    pub retry_seconds: u64,
    /// Limit on retries of one request.
    pub retries: usize,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect_seconds: 5, answer_seconds: 15, retry_seconds: 60, retries: 5 }
    }
}

impl Timeouts {
    pub(super) fn connect(&self) -> Duration {
        Duration::from_secs(self.connect_seconds.max(1))
    }

    /// Returns the time limit for a message of this many bytes.
    pub(super) fn transfer(&self, bytes: u64) -> Duration {
        Duration::from_secs(self.answer_seconds.max(1).saturating_add(bytes >> 16))
    }
}

/// The location of an object store and the settings for storing BLOBs in it. Holds no secrets, so it may be kept and
/// shown as JSON. BLOBs written under one set of options are readable under any other, as long as the keys are given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ObjectOptions {
    /// The protocol.
    pub kind: ObjectKind,
    /// The endpoint's URL, such as `https://minio.example:9000`; `None` for the provider's own.
    pub endpoint: Option<String>,
    /// The bucket (Azure: container). It must exist.
    pub bucket: String,
    /// Prefix of all keys: letters, digits, `-`, `_`, `.` and `/`. May be empty.
    pub prefix: String,
    /// The region for which requests are signed (S3); `None` means `us-east-1`.
    pub region: Option<String>,
    /// Selects `https://host/bucket/key` (`true`) or `https://bucket.host/key` (S3 only).
    pub path_style: bool,
    /// Accepts an `http://` endpoint. The bytes are then protected only by the request's signature.
    pub allow_http: bool,
    /// Additional trusted certificate authorities, as PEM.
    pub ca_certificates: Option<String>,
    /// Encryption requested from the service.
    pub server_side_encryption: Option<ServerSideEncryption>,
    /// zstd level (1 to 19) for BLOBs that shrink by it; `None` disables compression.
    pub compression: Option<i32>,
    /// Size in bytes up to which a BLOB becomes one object and passes through memory as a whole. 64 KiB to 16 MiB.
    pub put_limit: u64,
    /// Approximate length in bytes of the parts in which larger BLOBs are sent, at least 5 MiB.
    pub part_bytes: u64,
    /// Number of parts of one upload in flight; each takes `part_bytes` of memory.
    pub parts_in_flight: usize,
    /// Age in seconds from which on compaction removes the remains of unfinished uploads. An upload that takes longer
    /// than half of it fails. At least a day.
    pub orphan_seconds: u64,
    /// Timeouts and retries.
    pub patience: Timeouts,
}

impl Default for ObjectOptions {
    fn default() -> Self {
        Self {
            kind: ObjectKind::S3,
            endpoint: None,
            bucket: String::new(),
            prefix: String::new(),
            region: None,
            path_style: true,
            allow_http: false,
            ca_certificates: None,
            server_side_encryption: None,
            compression: None,
            put_limit: 8 << 20,
            part_bytes: 8 << 20,
            parts_in_flight: 4,
            orphan_seconds: 7 * 24 * 3600,
            patience: Timeouts::default(),
        }
    }
}

impl ObjectOptions {
    /// Returns the address of a prefix of the bucket, such as `s3://bucket/prefix`. It does not name the service.
    pub fn address_of(&self, prefix: &str) -> String {
        format!("{}://{}/{prefix}", self.kind.as_str(), self.bucket)
    }

    /// Checks the options. Fails with `Invalid` and the reason when they cannot work.
    pub fn check(&self) -> Result<()> {
        let refuse = |why: String| Err(Error::invalid(why));
        if self.bucket.is_empty() || self.bucket.contains(['/', '?', '#']) || self.bucket.contains(char::is_whitespace)
        {
            return refuse(format!(
                "an object store needs the name of a bucket or container; {:?} is not one",
                self.bucket
            ));
        }
        let plain = |segment: &str| {
            let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            !segment.is_empty() && segment != "." && segment != ".." && segment.chars().all(fits)
        };
        if !self.prefix.is_empty() && !self.prefix.split('/').all(plain) || self.prefix.len() > 512 {
            let why =
                "consists of letters, digits, '-', '_' and '.', in parts separated by '/', without a '/' at either end";
            return refuse(format!("the prefix of an object store {why}, not {:?}", self.prefix));
        }
        if let Some(endpoint) = &self.endpoint {
            let known = endpoint.starts_with("https://") || endpoint.starts_with("http://");
            if !known {
                return refuse(format!("the endpoint {endpoint:?} must begin with https:// or http://"));
            }
            if endpoint.contains('@') {
                return refuse(
                    "the endpoint holds a credential: give it as the key and secret of the store".to_owned(),
                );
            }
            if endpoint.starts_with("http://") && !self.allow_http {
                return refuse(format!(
                    "the endpoint {endpoint} is not encrypted: use https, or allow http explicitly"
                ));
            }
        }
        if self.compression.is_some_and(|level| !(1..=19).contains(&level)) {
            return refuse("the level of compression is a number from 1 to 19".to_owned());
        }
        if !(64 << 10..=16 << 20).contains(&self.put_limit) {
            return refuse("the largest BLOB that becomes a single object has between 64 KiB and 16 MiB".to_owned());
        }
        if !(5 << 20..=1 << 30).contains(&self.part_bytes) || !(1..=64).contains(&self.parts_in_flight) {
            return refuse(
                "the parts of an upload have between 5 MiB and 1 GiB, and 1 to 64 of them are sent at once".to_owned(),
            );
        }
        if self.orphan_seconds < MIN_ORPHAN_SECONDS {
            return refuse(format!(
                "the remains of unfinished uploads stay for {} seconds, which is less than the {MIN_ORPHAN_SECONDS} \
                that \
                 running uploads need",
                self.orphan_seconds
            ));
        }
        Ok(())
    }
}

/// The secrets of an object store: kept apart from [`ObjectOptions`], encrypted, and printed as `***`.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ObjectSecrets {
    /// S3: access key id; Azure: account name; GCS: unused. If empty with S3, the machine's role is used.
    pub key_id: String,
    /// S3: secret access key; Azure: account key; GCS: the service account's JSON.
    pub secret: String,
    /// S3: session token of a temporary credential.
    pub session_token: Option<String>,
    /// Keys with which BLOBs are encrypted before they leave the server. The first one encrypts, all of them decrypt:
    /// to rotate, put a new one in front. When empty, BLOBs are not encrypted here.
    pub encryption_keys: Vec<StoreKey>,
}

impl fmt::Debug for ObjectSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hidden = |text: &str| if text.is_empty() { "" } else { "***" };
        f.debug_struct("ObjectSecrets")
            .field("key_id", &hidden(&self.key_id))
            .field("secret", &hidden(&self.secret))
            .field("session_token", &self.session_token.as_deref().map(hidden))
            .field("encryption_keys", &self.encryption_keys)
            .finish()
    }
}

//! How an object store is reached and what is done with BLOBs on the way: settings to keep, and secrets to keep apart.

use std::fmt;
use std::time::Duration;

use model::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::coding::StoreKey;

/// The interface that an object store speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ObjectKind {
    /// Amazon S3 and everything that speaks like it. Must know `If-None-Match: *` on PUT and list in the order of keys.
    #[default]
    S3,
    /// Azure Blob Storage.
    Azure,
    /// Google Cloud Storage.
    Gcs,
}

impl ObjectKind {
    /// The name of the kind of store: `s3`, `azure` or `gcs`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::S3 => "s3",
            Self::Azure => "azure",
            Self::Gcs => "gcs",
        }
    }
}

/// What the service itself is asked to encrypt with (S3 only).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ServerSideEncryption {
    /// `AES256`: a key of the service.
    Aes256,
    /// `aws:kms` with this key.
    Kms(String),
}

/// How long a request may take. Times in seconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Patience {
    /// Until a connection is there.
    pub connect_seconds: u64,
    /// Nothing may stand still for longer: no body that is sent or received, and no answer that is waited for. Each 64 KiB of body allow
    /// another second for the whole.
    pub answer_seconds: u64,
    /// A request that failed in a way that may pass is repeated, with growing pauses, while it is younger than this.
    pub retry_seconds: u64,
    /// How often it is repeated at most.
    pub retries: usize,
}

impl Default for Patience {
    fn default() -> Self {
        Self { connect_seconds: 5, answer_seconds: 15, retry_seconds: 60, retries: 5 }
    }
}

impl Patience {
    pub(super) fn connect(&self) -> Duration {
        Duration::from_secs(self.connect_seconds.max(1))
    }

    /// The bound for a message of this many bytes.
    pub(super) fn transfer(&self, bytes: u64) -> Duration {
        Duration::from_secs(self.answer_seconds.max(1).saturating_add(bytes >> 16))
    }
}

/// Where an object store is and how BLOBs are kept in it. Holds no secrets, so that it may be kept and shown as JSON. What is written with
/// one set of options is read with any other, as long as the keys are given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ObjectOptions {
    /// The interface.
    pub kind: ObjectKind,
    /// The address, such as `https://minio.example:9000`; absent for the provider's own.
    pub endpoint: Option<String>,
    /// The bucket (Azure: container). It must exist.
    pub bucket: String,
    /// What all keys begin with: letters, digits, `-`, `_`, `.` and `/`. May be empty.
    pub prefix: String,
    /// The region that requests are signed for (S3); `us-east-1` when absent.
    pub region: Option<String>,
    /// `https://host/bucket/key` (true) or `https://bucket.host/key` (S3 only).
    pub path_style: bool,
    /// Whether an `http://` endpoint is accepted. Nothing but the signature protects the bytes then.
    pub allow_http: bool,
    /// More certificate authorities to trust, as PEM.
    pub ca_certificates: Option<String>,
    /// What the service is asked to encrypt with.
    pub server_side_encryption: Option<ServerSideEncryption>,
    /// zstd level (1 to 19) for BLOBs that shrink by it; absent: nothing is compressed.
    pub compression: Option<i32>,
    /// BLOBs of up to this many bytes become one object and pass through memory as a whole. 64 KiB to 16 MiB.
    pub put_limit: u64,
    /// Larger ones are sent in parts of about this many bytes, at least 5 MiB.
    pub part_bytes: u64,
    /// Parts of one upload that are on their way at once; each takes that much memory.
    pub parts_in_flight: usize,
    /// What an upload left that was never finished is removed by compaction when it is older than this, in seconds. An upload that takes
    /// longer than half of it fails.
    pub orphan_seconds: u64,
    /// Bounds of time.
    pub patience: Patience,
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
            patience: Patience::default(),
        }
    }
}

impl ObjectOptions {
    /// `Invalid` with the reason when these options cannot work.
    pub fn check(&self) -> Result<()> {
        let refuse = |why: String| Err(Error::invalid(why));
        if self.bucket.is_empty() || self.bucket.contains(['/', '?', '#']) || self.bucket.contains(char::is_whitespace)
        {
            return refuse(format!("an object store needs the name of a bucket or container, not {:?}", self.bucket));
        }
        let plain = |segment: &str| {
            let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            !segment.is_empty() && segment != "." && segment != ".." && segment.chars().all(fits)
        };
        if !self.prefix.is_empty() && !self.prefix.split('/').all(plain) || self.prefix.len() > 512 {
            let why =
                "consists of letters, digits, '-', '_' and '.', in parts separated by '/', without one at either end";
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
            return refuse("BLOBs that become one object have between 64 KiB and 16 MiB".to_owned());
        }
        if !(5 << 20..=1 << 30).contains(&self.part_bytes) || !(1..=64).contains(&self.parts_in_flight) {
            return refuse("parts have between 5 MiB and 1 GiB, and 1 to 64 of them are on their way".to_owned());
        }
        Ok(())
    }
}

/// What nobody may see: kept apart from [`ObjectOptions`], encrypted, and printed as `***`.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ObjectSecrets {
    /// S3: access key id; Azure: account name; GCS: unused. Empty with S3: the role of the machine.
    pub key_id: String,
    /// S3: secret access key; Azure: account key; GCS: the service account's JSON.
    pub secret: String,
    /// S3: session token of a temporary credential.
    pub session_token: Option<String>,
    /// Keys that BLOBs are encrypted with before they leave. The first one encrypts, all of them decrypt: to rotate, put a new
    /// one in front. Empty: BLOBs are not encrypted here.
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

//! The requests that the provider makes, with their errors converted. This module treats keys as text and does not know
//! what is stored under them.

use std::ops::Range;
use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use model::{Code, Error, Result, Timestamp};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::list::{PaginatedListOptions, PaginatedListStore};
use object_store::multipart::{MultipartStore, PartId};
use object_store::path::Path;
use object_store::{
    BackoffConfig, ClientOptions, GetOptions, GetRange, ObjectStore, PutMode, PutOptions, PutPayload, RetryConfig,
    UpdateVersion,
};

use super::failure::{failed, is_absent, is_broken_connection, is_taken, is_unsupported};
use super::http::Connector;
use super::options::{ObjectKind, ObjectOptions, ObjectSecrets, ServerSideEncryption};

/// A bucket (or container) of a service.
#[derive(Clone)]
pub struct Bucket {
    objects: Arc<dyn ObjectStore>,
    parts: Arc<dyn MultipartStore>,
    lists: Arc<dyn PaginatedListStore>,
    /// The name of the bucket in messages.
    label: Arc<str>,
}

/// Metadata of an object, from a listing or a response.
#[derive(Clone, Debug)]
pub struct Listed {
    pub key: String,
    pub length: u64,
    pub modified: Timestamp,
}

/// The version of an object that was read, for replacing only that version.
pub struct ReadVersion(UpdateVersion);

/// A page of a listing, and the token for the next one.
pub struct Listing {
    pub objects: Vec<Listed>,
    pub next: Option<String>,
}

impl Bucket {
    pub fn new(options: &ObjectOptions, secrets: &ObjectSecrets) -> Result<Self> {
        options.check()?;
        let connector = Connector::new(options.ca_certificates.as_deref(), options.patience.clone())?;
        let mut label = format!("the {} bucket {}", options.kind.as_str(), options.bucket);
        if let Some(endpoint) = &options.endpoint {
            label.push_str(&format!(" at {endpoint}"));
        }
        let cannot = |error: object_store::Error| {
            let text = format!("{label} cannot be used with these settings and this credential: {error}");
            Error::invalid(text).with_source(error)
        };
        let (objects, parts, lists): (Arc<dyn ObjectStore>, Arc<dyn MultipartStore>, Arc<dyn PaginatedListStore>) =
            match options.kind {
                ObjectKind::S3 => {
                    let store =
                        Arc::new(s3(options, secrets, connector).and_then(AmazonS3Builder::build).map_err(cannot)?);
                    (store.clone(), store.clone(), store)
                }
                ObjectKind::Azure => {
                    let store = Arc::new(azure(options, secrets, connector).build().map_err(cannot)?);
                    (store.clone(), store.clone(), store)
                }
                ObjectKind::Gcs => {
                    let store = Arc::new(gcs(options, secrets, connector).build().map_err(cannot)?);
                    (store.clone(), store.clone(), store)
                }
            };
        Ok(Self { objects, parts, lists, label: label.into() })
    }

    /// The name of the bucket in messages.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Reads a whole object; `None` when the service reports that it is absent. Fails with `Corrupt` when it has more
    /// than `limit` bytes.
    #[boxed]
    pub async fn get(&self, key: &str, limit: u64) -> Result<Option<Bytes>> {
        Ok(self.get_versioned(key, limit).await?.map(|(bytes, _)| bytes))
    }

    /// Like [`Self::get`], with the version that was read.
    #[boxed]
    pub async fn get_versioned(&self, key: &str, limit: u64) -> Result<Option<(Bytes, ReadVersion)>> {
        let what = || format!("read {key}");
        let found = match self.objects.get_opts(&path(key)?, GetOptions::default()).await {
            Ok(found) => found,
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(failed(&what(), &self.label, error)),
        };
        let length = found.meta.size;
        if length > limit {
            let text =
                format!("{key} in {} has {length} bytes, more than this object can have: restore it", self.label);
            return Err(Error::corrupt(text));
        }
        let version = UpdateVersion { e_tag: found.meta.e_tag.clone(), version: found.meta.version.clone() };
        let bytes = found.bytes().await.map_err(|error| failed(&what(), &self.label, error))?;
        if bytes.len() as u64 != length {
            let text = format!("{} returned {} bytes of {key} instead of {length}; try again", self.label, bytes.len());
            return Err(Error::unavailable(text));
        }
        Ok(Some((bytes, ReadVersion(version))))
    }

    /// Reads exactly this range of an object; `None` when the service reports that it is absent. Fails with `Corrupt`
    /// when the object is shorter.
    #[boxed]
    pub async fn get_range(&self, key: &str, range: Range<u64>) -> Result<Option<Bytes>> {
        let want = range.end - range.start;
        if want == 0 {
            return Ok(Some(Bytes::new()));
        }
        let options = GetOptions { range: Some(GetRange::Bounded(range.clone())), ..Default::default() };
        let found = match self.objects.get_opts(&path(key)?, options).await {
            Ok(found) => found.bytes().await,
            Err(error) => Err(error),
        };
        match found {
            Ok(bytes) if bytes.len() as u64 == want => Ok(Some(bytes)),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) if !is_short(&error) => Err(failed(&format!("read {key}"), &self.label, error)),
            _ => {
                let text = format!("{key} in {} ends before byte {}: restore it", self.label, range.end);
                Err(Error::corrupt(text))
            }
        }
    }

    /// Reads the metadata of an object; `None` when the service reports that it is absent.
    #[boxed]
    pub async fn head(&self, key: &str) -> Result<Option<Listed>> {
        match self.objects.get_opts(&path(key)?, GetOptions { head: true, ..Default::default() }).await {
            Ok(found) => Ok(Some(listed(found.meta))),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(failed(&format!("look for {key}"), &self.label, error)),
        }
    }

    /// Creates an object. Returns `false` when one already exists.
    #[boxed]
    pub async fn create(&self, key: &str, pieces: &[Bytes]) -> Result<bool> {
        let mut again = true;
        loop {
            let options = PutOptions { mode: PutMode::Create, ..Default::default() };
            let error = match self.objects.put_opts(&path(key)?, payload(pieces), options).await {
                Ok(_) => return Ok(true),
                Err(error) if is_taken(&error) => return Ok(false),
                Err(error) => error,
            };
            // A service may refuse the request before it has read all bytes and close the connection, so that its
            // response is lost.
            if is_broken_connection(&error) {
                match self.head(key).await? {
                    Some(_) => return Ok(false),
                    None if again => {
                        again = false;
                        continue;
                    }
                    None => {}
                }
            }
            return Err(failed(&format!("store {key}"), &self.label, error));
        }
    }

    /// Stores an object; an existing one is replaced.
    #[boxed]
    pub async fn replace(&self, key: &str, pieces: &[Bytes]) -> Result<()> {
        let done = self.objects.put_opts(&path(key)?, payload(pieces), PutOptions::default()).await;
        done.map(drop).map_err(|error| failed(&format!("store {key}"), &self.label, error))
    }

    /// Replaces an object if it still has the version that was read. Returns `false` when it has another one, and when
    /// no response arrived, so that the outcome is unknown. A service without versions or such a condition replaces
    /// whatever is there.
    #[boxed]
    pub async fn replace_version(&self, key: &str, version: ReadVersion, pieces: &[Bytes]) -> Result<bool> {
        let ReadVersion(version) = version;
        if version.e_tag.is_none() && version.version.is_none() {
            return self.replace(key, pieces).await.map(|()| true);
        }
        let options = PutOptions { mode: PutMode::Update(version), ..Default::default() };
        match self.objects.put_opts(&path(key)?, payload(pieces), options).await {
            Ok(_) => Ok(true),
            Err(error) if is_taken(&error) || is_broken_connection(&error) => Ok(false),
            Err(error) if is_unsupported(&error) => self.replace(key, pieces).await.map(|()| true),
            Err(error) => Err(failed(&format!("store {key}"), &self.label, error)),
        }
    }

    /// Removes an object. An absent one is no error.
    #[boxed]
    pub async fn delete(&self, key: &str) -> Result<()> {
        let mut done = self.objects.delete_stream(stream::iter([Ok(path(key)?)]).boxed());
        match done.next().await {
            Some(Err(error)) if !is_absent(&error) => Err(failed(&format!("delete {key}"), &self.label, error)),
            _ => Ok(()),
        }
    }

    /// Lists about `limit` objects whose keys begin with `prefix` and sort after `after`, in key order. Fails when the
    /// service does not keep that order.
    #[boxed]
    pub async fn list(&self, prefix: &str, after: Option<&str>, limit: usize, next: Option<String>) -> Result<Listing> {
        let options = PaginatedListOptions {
            offset: after.map(str::to_owned),
            max_keys: Some(limit.clamp(1, 1000)),
            page_token: next,
            ..Default::default()
        };
        let found = self.lists.list_paginated(Some(prefix), options).await;
        let found = found.map_err(|error| failed(&format!("list {prefix}"), &self.label, error))?;
        let objects: Vec<_> = found.result.objects.into_iter().map(listed).collect();
        let rising = objects.windows(2).all(|pair| pair[0].key < pair[1].key);
        let inside = objects
            .iter()
            .all(|object| object.key.starts_with(prefix) && after.is_none_or(|after| object.key.as_str() > after));
        if !rising || !inside {
            let text = format!(
                "{} does not list {prefix} in the order of keys: it cannot be used as a BLOB store",
                self.label
            );
            return Err(Error::unavailable(text).with_code(Code::StoreOrder));
        }
        Ok(Listing { objects, next: found.page_token })
    }

    /// Begins a multipart upload and returns its identifier.
    #[boxed]
    pub async fn begin(&self, key: &str) -> Result<String> {
        let begun = self.parts.create_multipart(&path(key)?).await;
        begun.map_err(|error| failed(&format!("begin the upload of {key}"), &self.label, error))
    }

    /// Uploads a part; the first one has number 0.
    #[boxed]
    pub async fn part(&self, key: &str, upload: &String, number: usize, pieces: &[Bytes]) -> Result<PartId> {
        let done = self.parts.put_part(&path(key)?, upload, number, payload(pieces)).await;
        done.map_err(|error| failed(&format!("store part {number} of {key}"), &self.label, error))
    }

    /// Completes a multipart upload: assembles its parts.
    #[boxed]
    pub async fn complete(&self, key: &str, upload: &String, parts: Vec<PartId>) -> Result<()> {
        let done = self.parts.complete_multipart(&path(key)?, upload, parts).await;
        done.map(drop).map_err(|error| failed(&format!("complete {key}"), &self.label, error))
    }

    /// Aborts a multipart upload: discards its parts.
    #[boxed]
    pub async fn abort(&self, key: &str, upload: &String) -> Result<()> {
        let done = self.parts.abort_multipart(&path(key)?, upload).await;
        done.map_err(|error| failed(&format!("abort the upload of {key}"), &self.label, error))
    }
}

/// Returns whether the error means that a range lies beyond the end of its object.
fn is_short(error: &object_store::Error) -> bool {
    let text = error.to_string();
    text.contains("InvalidRange") || text.contains("416 Range Not Satisfiable") || text.contains("Requested ")
}

fn path(key: &str) -> Result<Path> {
    Path::parse(key).map_err(|e| Error::invalid(format!("{key:?} is not a valid key of an object")).with_source(e))
}

fn payload(pieces: &[Bytes]) -> PutPayload {
    pieces.iter().cloned().collect()
}

fn listed(meta: object_store::ObjectMeta) -> Listed {
    let modified = Timestamp::from_micros(meta.last_modified.timestamp_micros());
    Listed { key: meta.location.to_string(), length: meta.size, modified }
}

fn retry(options: &ObjectOptions) -> RetryConfig {
    let patience = &options.patience;
    let backoff = BackoffConfig {
        init_backoff: std::time::Duration::from_millis(100),
        max_backoff: std::time::Duration::from_secs(5),
        base: 2.0,
    };
    let retry_timeout = std::time::Duration::from_secs(patience.retry_seconds);
    RetryConfig { backoff, max_retries: patience.retries, retry_timeout }
}

fn client(options: &ObjectOptions) -> ClientOptions {
    ClientOptions::new().with_allow_http(options.allow_http)
}

fn s3(options: &ObjectOptions, secrets: &ObjectSecrets, connector: Connector) -> object_store::Result<AmazonS3Builder> {
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(&options.bucket)
        .with_region(options.region.as_deref().unwrap_or("us-east-1"))
        .with_virtual_hosted_style_request(!options.path_style)
        .with_client_options(client(options))
        .with_retry(retry(options))
        .with_http_connector(connector)
        .with_disable_bulk_delete(true)
        .with_disable_tagging(true);
    if let Some(endpoint) = &options.endpoint {
        builder = builder.with_endpoint(endpoint.trim_end_matches('/'));
    }
    if !secrets.key_id.is_empty() {
        builder = builder.with_access_key_id(&secrets.key_id).with_secret_access_key(&secrets.secret);
    }
    if let Some(token) = &secrets.session_token {
        builder = builder.with_token(token);
    }
    Ok(match &options.server_side_encryption {
        None => builder,
        Some(ServerSideEncryption::Aes256) => {
            // The key of this setting can be parsed from its name, but has no public path.
            let key: AmazonS3ConfigKey = "aws_server_side_encryption".parse()?;
            builder.with_config(key, "AES256")
        }
        Some(ServerSideEncryption::Kms(key)) => builder.with_sse_kms_encryption(key),
    })
}

fn azure(options: &ObjectOptions, secrets: &ObjectSecrets, connector: Connector) -> MicrosoftAzureBuilder {
    let builder = MicrosoftAzureBuilder::new()
        .with_account(&secrets.key_id)
        .with_access_key(&secrets.secret)
        .with_container_name(&options.bucket)
        .with_client_options(client(options))
        .with_retry(retry(options))
        .with_http_connector(connector)
        .with_disable_tagging(true);
    match &options.endpoint {
        Some(endpoint) => builder.with_endpoint(endpoint.trim_end_matches('/').to_owned()),
        None => builder,
    }
}

fn gcs(options: &ObjectOptions, secrets: &ObjectSecrets, connector: Connector) -> GoogleCloudStorageBuilder {
    let builder = GoogleCloudStorageBuilder::new()
        .with_bucket_name(&options.bucket)
        .with_service_account_key(&secrets.secret)
        .with_client_options(client(options))
        .with_retry(retry(options))
        .with_http_connector(connector);
    match &options.endpoint {
        Some(endpoint) => builder.with_base_url(endpoint.trim_end_matches('/')),
        None => builder,
    }
}

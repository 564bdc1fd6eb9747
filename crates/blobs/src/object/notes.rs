//! Small named objects beside the stores of a bucket, for notes that are not BLOBs. Each object exists as a whole or
//! not at all.

use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use model::{Result, Timestamp};

use super::bucket::Bucket;
use super::options::{ObjectOptions, ObjectSecrets};

/// The objects below a prefix of a bucket.
#[derive(Clone)]
pub struct NamedObjects {
    bucket: Bucket,
    root: String,
}

impl NamedObjects {
    /// Opens the objects below the prefix of `options`. No request is sent yet.
    pub fn open(options: &ObjectOptions, secrets: &ObjectSecrets) -> Result<Self> {
        let prefix = options.prefix.trim_matches('/');
        let root = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        Ok(Self { bucket: Bucket::new(options, secrets)?, root })
    }

    /// Reads an object; `None` when it is definitely absent. Fails with `Corrupt` when it is longer than `limit` bytes.
    #[boxed]
    pub async fn read(&self, name: &str, limit: u64) -> Result<Option<Bytes>> {
        self.bucket.get(&self.key(name), limit).await
    }

    /// Stores an object; an existing one is replaced.
    #[boxed]
    pub async fn write(&self, name: &str, content: Bytes) -> Result<()> {
        self.bucket.replace(&self.key(name), &[content]).await
    }

    /// Removes an object. An absent one is no error.
    #[boxed]
    pub async fn remove(&self, name: &str) -> Result<()> {
        self.bucket.delete(&self.key(name)).await
    }

    /// Returns the names that begin with `start`, in order.
    #[boxed]
    pub async fn list(&self, start: &str) -> Result<Vec<String>> {
        Ok(self.list_with_times(start).await?.into_iter().map(|(name, _)| name).collect())
    }

    /// Returns the names that begin with `start`, in order, each with the time of its last write by the service's
    /// clock. Services round this time down, to a second at most.
    #[boxed]
    pub async fn list_with_times(&self, start: &str) -> Result<Vec<(String, Timestamp)>> {
        let (prefix, mut next, mut names) = (self.key(start), None, Vec::new());
        loop {
            let page = self.bucket.list(&prefix, None, 1000, next).await?;
            for found in &page.objects {
                names.extend(found.key.strip_prefix(&self.root).map(|name| (name.to_owned(), found.modified)));
            }
            next = page.next;
            if next.is_none() {
                return Ok(names);
            }
        }
    }

    /// Returns the first `count` names, in order.
    #[boxed]
    pub async fn first(&self, count: usize) -> Result<Vec<String>> {
        let found = self.bucket.list(&self.root, None, count, None).await?.objects;
        Ok(found.iter().filter_map(|found| found.key.strip_prefix(&self.root)).map(str::to_owned).collect())
    }

    fn key(&self, name: &str) -> String {
        format!("{}{name}", self.root)
    }
}

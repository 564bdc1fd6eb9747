//! Leases on a backup location in a bucket.
//!
//! Each user of the location stores an object of its own, whose name shows whether the use is shared or exclusive, and
//! then lists the leases of others. If one of them conflicts, it removes its own object again. Since each process
//! stores first and lists afterwards, of two processes that conflict at least one sees the other. No process writes or
//! removes a valid lease of another, so that no conditional writes are needed, which not all services support. The
//! service must list an object as soon as it is stored.
//!
//! A lease ends when its object was not written again for [`TERM`]. All times that are compared with each other are
//! those of the service. The holder itself relies on its lease for [`RELIED`] only, by the time that passes on its own
//! machine. The difference covers requests that are under way. The clock of a virtual machine that is paused stands
//! still, so each renewal also compares its time at the service with that of the renewal before: if more than the term
//! lies between them, another process may have taken the location meanwhile, and the lease has lapsed.

use std::sync::Arc;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use blobs::NamedObjects;
use bytes::Bytes;
use model::{Error, Result, Timestamp};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use crate::backup::format::key::{hex, random};
use crate::backup::validity::{LeaseValidity, running_time};

/// Common prefix of the names of all leases.
pub(super) const LEASES: &str = "leases/";
/// Term of a lease. A lease that was not renewed for this long has expired.
const TERM: Duration = Duration::from_secs(300);
/// Time after a renewal for which the holder relies on its lease.
const RELIED: Duration = Duration::from_secs(150);
/// Time between two renewals, and the time until a renewal that failed is tried again.
const RENEWAL: Duration = Duration::from_secs(60);
const RENEWAL_RETRY: Duration = Duration::from_secs(5);
/// Limit on attempts to get a lease. Two processes that begin at the same time may refuse each other.
const ATTEMPTS: u32 = 3;

/// A lease on a bucket, renewed while it is held. After the holder is killed the lease expires.
pub(super) struct Lease {
    object: LeaseObject,
    pub validity: LeaseValidity,
    renewing: JoinHandle<()>,
}

/// The object of one holder.
#[derive(Clone)]
struct LeaseObject {
    objects: NamedObjects,
    name: String,
    /// Locked during each write, so that no write follows the removal.
    state: Arc<Mutex<ObjectState>>,
}

#[derive(Default)]
struct ObjectState {
    is_released: bool,
    /// Time of the last write that the service has listed, by its clock.
    written: Option<Timestamp>,
}

impl Lease {
    /// Takes a lease. Returns none when another process holds a conflicting one.
    #[boxed]
    pub async fn take(objects: &NamedObjects, place: &str, exclusive: bool) -> Result<Option<Self>> {
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                // sleep: processes that began at the same time wait for different times
                let [chance] = random::<1>()?;
                tokio::time::sleep(Duration::from_millis(100 + 4 * u64::from(chance))).await;
            }
            let object = LeaseObject::new(objects, exclusive)?;
            let sent = running_time();
            let outcome = object.claim(exclusive).await;
            if matches!(outcome, Ok(true)) {
                return Ok(Some(Self::hold(object, LeaseValidity::new(place, sent, RELIED))));
            }
            object.remove().await;
            outcome?;
        }
        Ok(None)
    }

    fn hold(object: LeaseObject, validity: LeaseValidity) -> Self {
        let renewing = tokio::spawn(renew(object.clone(), validity.clone()));
        Self { object, validity, renewing }
    }

    /// Renews the lease now, and tries again until it is renewed or lapses.
    ///
    /// # Errors
    /// `Unavailable` after the lease lapsed.
    #[boxed]
    pub async fn confirm(&self) -> Result<()> {
        while !renew_once(&self.object, &self.validity).await {
            self.validity.check()?;
            tokio::time::sleep(RENEWAL_RETRY).await;
        }
        self.validity.check()
    }

    /// Releases the lease, after a renewal that is under way has ended.
    #[boxed]
    pub async fn release(&self) {
        self.object.remove().await;
        self.renewing.abort();
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.renewing.abort();
    }
}

impl LeaseObject {
    fn new(objects: &NamedObjects, exclusive: bool) -> Result<Self> {
        let name = format!("{LEASES}{}.{}", hex(&random::<16>()?), if exclusive { "exclusive" } else { "shared" });
        Ok(Self { objects: objects.clone(), name, state: Arc::default() })
    }

    /// Stores the object. Returns whether no lease conflicts with it. Removes expired leases.
    async fn claim(&self, exclusive: bool) -> Result<bool> {
        let mut state = self.state.lock().await;
        self.write().await?;
        let found = self.objects.list_with_times(LEASES).await?;
        let Some((_, stored)) = found.iter().find(|(name, _)| *name == self.name) else {
            return Err(Error::unavailable(
                "the bucket of the backups does not list an object that was just stored: it cannot be used safely",
            ));
        };
        state.written = Some(*stored);
        let mut free = true;
        for (name, written) in found.iter().filter(|(name, _)| *name != self.name) {
            if is_expired(*written, *stored) {
                // Its holder was killed, or knows that the lease lapsed.
                self.objects.remove(name).await?;
            } else if exclusive || !name.ends_with(".shared") {
                free = false;
            }
        }
        Ok(free)
    }

    async fn write(&self) -> Result<()> {
        self.objects.write(&self.name, Bytes::from_static(b"{}\n")).await
    }

    /// Writes the object again. Returns whether the lease held from the write before until this one.
    async fn renew(&self) -> Result<bool> {
        let mut state = self.state.lock().await;
        if state.is_released {
            return Ok(true);
        }
        self.write().await?;
        let found = self.objects.list_with_times(LEASES).await?;
        let now = found.into_iter().find(|(name, _)| *name == self.name).map(|(_, written)| written);
        let before = std::mem::replace(&mut state.written, now);
        Ok(matches!((before, now), (Some(before), Some(now)) if now <= before.after(TERM)))
    }

    /// Removes the object. One that cannot be removed expires.
    async fn remove(&self) {
        let mut state = self.state.lock().await;
        state.is_released = true;
        if let Err(error) = self.objects.remove(&self.name).await {
            tracing::warn!(error = error.report(), "the lease on a backup destination could not be released");
        }
    }
}

/// Returns whether a lease has expired, given two times of the service, both rounded down to a second at most.
fn is_expired(written: Timestamp, now: Timestamp) -> bool {
    now > written.after(TERM + Duration::from_secs(1))
}

/// Renews a lease until it lapses.
async fn renew(object: LeaseObject, validity: LeaseValidity) {
    let mut pause = RENEWAL;
    while validity.check().is_ok() {
        tokio::time::sleep(pause).await;
        pause = if renew_once(&object, &validity).await { RENEWAL } else { RENEWAL_RETRY };
    }
}

/// Tries to renew a lease. Returns whether the service answered.
async fn renew_once(object: &LeaseObject, validity: &LeaseValidity) -> bool {
    let sent = running_time();
    match object.renew().await {
        Ok(true) => validity.extend(sent, RELIED),
        Ok(false) => validity.lapse(),
        Err(error) => {
            tracing::warn!(error = error.report(), "the lease on a backup destination could not be renewed");
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use blobs::testing::s3::S3Server;
    use tokio::task::JoinSet;

    use super::*;

    async fn take(objects: &NamedObjects, exclusive: bool) -> Option<Lease> {
        Lease::take(objects, "s3://blobs/backups", exclusive).await.unwrap()
    }

    /// Lets the leases in a bucket expire: their last write was this long ago.
    fn age(server: &S3Server, by: Duration) {
        for entry in std::fs::read_dir(server.bucket().join("backups/leases")).unwrap() {
            let file = std::fs::File::open(entry.unwrap().path()).unwrap();
            file.set_modified(std::time::SystemTime::now() - by).unwrap();
        }
    }

    #[tokio::test]
    async fn a_change_excludes_every_other_use() {
        let place = tempfile::tempdir().unwrap();
        let server = S3Server::start(place.path());
        let objects = NamedObjects::open(&server.options("backups"), &server.secrets()).unwrap();
        let (first, second) = (take(&objects, false).await.unwrap(), take(&objects, false).await.unwrap());
        assert!(take(&objects, true).await.is_none(), "a reader is there");
        first.release().await;
        assert!(take(&objects, true).await.is_none(), "another reader is there");
        second.release().await;
        let change = take(&objects, true).await.unwrap();
        assert!(take(&objects, true).await.is_none());
        assert!(take(&objects, false).await.is_none());
        change.release().await;
        assert!(change.object.renew().await.unwrap());
        assert_eq!(objects.list(LEASES).await.unwrap(), Vec::<String>::new(), "nothing is left, or written later");
    }

    #[tokio::test]
    async fn an_expired_lease_is_taken_over_by_one_process_only() {
        let place = tempfile::tempdir().unwrap();
        let server = S3Server::start(place.path());
        let objects = NamedObjects::open(&server.options("backups"), &server.secrets()).unwrap();
        let killed = take(&objects, true).await.unwrap();
        age(&server, TERM - Duration::from_secs(30));
        assert!(take(&objects, true).await.is_none());
        age(&server, TERM + Duration::from_secs(3));
        let mut racing = JoinSet::new();
        for _ in 0..6 {
            let objects = objects.clone();
            racing.spawn(async move { take(&objects, true).await });
        }
        let held: Vec<Lease> = racing.join_all().await.into_iter().flatten().collect();
        assert!(held.len() <= 1, "{} processes hold an exclusive lease", held.len());
        // The former holder releases its own lease only.
        killed.release().await;
        let left = objects.list(LEASES).await.unwrap();
        assert_eq!(left, held.iter().map(|lease| lease.object.name.clone()).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn a_holder_that_was_paused_longer_than_its_term_lapses_and_leaves_the_next_one_alone() {
        let place = tempfile::tempdir().unwrap();
        let server = S3Server::start(place.path());
        let objects = NamedObjects::open(&server.options("backups"), &server.secrets()).unwrap();
        let confirmed = take(&objects, true).await.unwrap();
        age(&server, TERM - Duration::from_secs(30));
        confirmed.confirm().await.unwrap();
        // The machine was paused, its clock too, and the object is as old as it was before.
        let past = Timestamp::now().before(TERM + Duration::from_secs(3));
        confirmed.object.state.lock().await.written = Some(past);
        age(&server, TERM + Duration::from_secs(3));
        let next = take(&objects, true).await.unwrap();
        assert!(confirmed.validity.check().is_ok(), "the paused holder does not know yet");
        let error = confirmed.confirm().await.unwrap_err();
        assert!(error.message().contains("lapsed"), "{error}");
        confirmed.release().await;
        assert_eq!(objects.list(LEASES).await.unwrap(), std::slice::from_ref(&next.object.name));
        next.confirm().await.unwrap();
    }

    #[tokio::test]
    async fn a_lease_whose_object_is_gone_is_not_taken_up_again() {
        let place = tempfile::tempdir().unwrap();
        let server = S3Server::start(place.path());
        let objects = NamedObjects::open(&server.options("backups"), &server.secrets()).unwrap();
        let lease = take(&objects, false).await.unwrap();
        lease.object.state.lock().await.written = None;
        lease.confirm().await.unwrap_err();
        lease.validity.check().unwrap_err();
    }
}

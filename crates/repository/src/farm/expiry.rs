//! Decides which data is old enough for permanent deletion, on a clock that may have been set ahead.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_recursion::async_recursion as boxed;
use database::Transaction;
use database::configuration::{event, farm};
use model::{Error, Result, Timestamp};

use crate::farm::clock::{ClockState, Moment, OBSERVATION_INTERVAL, look};
use crate::farm::repository::Repository;
use crate::session::caller::Session;
use crate::storage::handle::Storage;

impl Repository {
    /// Observes the clock periodically for as long as the repository is open. Otherwise a step back and forth between
    /// two queries would go unnoticed.
    pub(crate) fn keep_looking_at_the_clock(&self) {
        let inner = Arc::downgrade(&self.inner);
        tokio::spawn(async move {
            while let Some(inner) = inner.upgrade() {
                inner.looks.note(Instant::now(), Timestamp::now());
                drop(inner);
                tokio::time::sleep(OBSERVATION_INTERVAL).await;
            }
        });
    }

    /// Returns the time that decides what is old enough for permanent deletion: the clock's time less all forward steps
    /// that have not been accepted.
    #[boxed]
    pub async fn settled_now(&self) -> Result<Timestamp> {
        let noted = self.inner.configuration.write_vital(look).await?;
        self.inner.looks.note(Instant::now(), Timestamp::from_micros(noted.seen.clock));
        Ok(Timestamp::from_micros(noted.seen.clock.saturating_sub(noted.ahead)))
    }

    /// Returns the time before which everything is at least `age` old. For windows so short that tolerated clock steps
    /// matter, because those steps are not subtracted. The time lies two weeks further back until the process has run
    /// for `age`, and for the same period after each clock step.
    pub(crate) async fn old_enough(&self, age: Duration) -> Result<Timestamp> {
        let settled = self.settled_now().await?;
        Ok(self.inner.looks.cutoff_for_age((Instant::now(), Timestamp::now()), settled, age))
    }
}

impl Storage {
    /// Returns the time before which everything is at least `age` old. For windows so short that tolerated clock steps
    /// matter, because those steps are not subtracted. The time lies two weeks further back until the process has run
    /// for `age`, and for the same period after each clock step.
    #[boxed]
    pub async fn old_enough(&self, age: Duration) -> Result<Timestamp> {
        self.repository.old_enough(age).await
    }

    /// Returns the time that decides what is old enough for permanent deletion: the clock's time less all forward steps
    /// that have not been accepted.
    #[boxed]
    pub async fn settled_now(&self) -> Result<Timestamp> {
        self.repository.settled_now().await
    }
}

impl Session {
    /// Returns the unexplained forward steps of the clock.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator.
    #[boxed]
    pub async fn clock_ahead(&self) -> Result<Duration> {
        self.require_farm_administrator("look at the farm's clock")?;
        let noted = self.repository.inner.configuration.write_vital(look).await?;
        Ok(Duration::from_micros(noted.ahead.unsigned_abs()))
    }

    /// Accepts the clock as right. Deletions that were delayed by its steps then happen when they are due.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator.
    #[boxed]
    pub async fn accept_clock(&self) -> Result<()> {
        self.require_farm_administrator("accept the farm's clock")?;
        let actor = self.principal.id;
        let accept = move |transaction: &mut Transaction<'_>| {
            let noted = ClockState { seen: Moment::now(), ahead: 0 };
            let text = serde_json::to_string(&noted)
                .map_err(|error| Error::corrupt("a time cannot be written as text").with_source(error))?;
            farm::note_clock(transaction, &text)?;
            event::record(transaction, Timestamp::now(), actor, "clock.accept", "farm", "")
        };
        self.repository.inner.configuration.write_vital(accept).await
    }
}

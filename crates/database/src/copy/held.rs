//! A snapshot that stays open for many reads, and that a PostgreSQL server can export to other programs.

use std::any::Any;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use async_recursion::async_recursion as boxed;
use model::{Error, Result};
use tokio::sync::oneshot;

use crate::{Database, Engine, Reader, dialect};

type Answer = Result<Box<dyn Any + Send>>;
type Work = Box<dyn FnOnce(&mut Reader<'_>) -> Answer + Send>;

/// A snapshot of a database, unaffected by later writes. It ends when all clones are dropped. It occupies one of the
/// connections for long reads.
#[derive(Clone)]
pub struct OpenSnapshot {
    work: Arc<Sender<(Work, oneshot::Sender<Answer>)>>,
    name: String,
}

impl OpenSnapshot {
    /// Name under which other programs can open the snapshot (PostgreSQL); empty otherwise.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads from the snapshot. Reads run one after another.
    pub async fn read<T: Send + 'static>(
        &self,
        f: impl FnOnce(&mut Reader<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (answer, received) = oneshot::channel();
        let work: Work = Box::new(move |reader| f(reader).map(|value| Box::new(value) as Box<dyn Any + Send>));
        self.work.send((work, answer)).map_err(|_| lost())?;
        let value = received.await.map_err(|_| lost())??;
        value.downcast().map(|value| *value).map_err(|_| lost())
    }
}

fn lost() -> Error {
    Error::unavailable("the snapshot of the database was lost, most likely with the connection; try again")
}

impl Database {
    /// Takes a snapshot that stays open.
    #[boxed]
    pub async fn hold(&self) -> Result<OpenSnapshot> {
        let (work, waiting) = channel::<(Work, oneshot::Sender<Answer>)>();
        let (begun, started) = oneshot::channel();
        let engine = self.engine();
        let serve = move |reader: &mut Reader<'_>| {
            let name = match engine {
                Engine::Postgres => reader.find(dialect::EXPORT_SNAPSHOT, &[], |row| row.get::<String>(0))?,
                Engine::Sqlite => None,
            };
            if begun.send(name.unwrap_or_default()).is_err() {
                return Ok(());
            }
            while let Ok((work, answer)) = waiting.recv() {
                // Fails if the caller has stopped waiting.
                let _ = answer.send(work(reader));
            }
            Ok(())
        };
        let database = self.clone();
        let mut serving = tokio::spawn(async move { database.read_long(serve).await });
        tokio::select! {
            name = started => match name {
                Ok(name) => Ok(OpenSnapshot { work: Arc::new(work), name }),
                Err(_) => Err(serving.await.map_err(|_| lost())?.err().unwrap_or_else(lost)),
            },
            ended = &mut serving => Err(ended.map_err(|_| lost())?.err().unwrap_or_else(lost)),
        }
    }
}

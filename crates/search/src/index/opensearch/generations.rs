//! The indexes of one content database on the search server. An alias stands for the one in use. Others are being built
//! by full crawls, or were in use before.

use std::time::{SystemTime, UNIX_EPOCH};

use hyper::Method;
use model::{Error, Id, Result};
use serde_json::{Value, json};

use super::index::SharedIndex;
use super::limits::Limits;
use super::mapping;
use super::server::{BACKGROUND_TIMEOUT, SearchServer};
use super::stored_checkpoint::{StoredCheckpoint, checkpoint_path, write_alias};
use crate::index::entry::name_print;

/// Stands before the job in the names of indexes that full crawls build.
const BUILDING: &str = "building-";

/// The indexes of one content database on the search server.
#[derive(Clone, Debug)]
pub struct SharedGenerations {
    server: SearchServer,
    /// The alias for the index in use. The names of all indexes begin with it.
    alias: String,
}

impl SharedGenerations {
    /// Names the indexes of a content database of a farm, and of the restoration that made it of a backup. Asks the
    /// server nothing.
    pub fn new(server: SearchServer, farm: Id, restoration: Option<&str>, database: Id) -> Self {
        let restored = restoration.map(|name| format!("-{:x}", name_print(name))).unwrap_or_default();
        let alias = format!("{}-{}{restored}-{}", server.prefix(), farm.get(), database.get());
        Self { server, alias }
    }

    /// Returns the name of the index in use; `None` if there is none. Blocks.
    ///
    /// # Errors
    /// `Unavailable` if the server does not answer.
    pub fn current(&self) -> Result<Option<String>> {
        let known = self.ask(Method::GET, &format!("/_alias/{}", self.alias), None)?;
        Ok(known.and_then(|known| known.as_object()?.keys().next().cloned()))
    }

    /// The server.
    pub fn server(&self) -> &SearchServer {
        &self.server
    }

    /// Opens the index with a name; without one, whatever index is in use, now and later. Blocks.
    ///
    /// # Errors
    /// Those of [`SharedIndex::open`].
    pub(crate) fn open(&self, name: Option<&str>) -> Result<SharedIndex> {
        SharedIndex::open(&self.server, name.unwrap_or(&self.alias))
    }

    /// Creates an empty index, which is in use from now on, and returns its name. Blocks.
    ///
    /// # Errors
    /// `Unavailable` if the server does not answer.
    pub fn begin(&self) -> Result<String> {
        // Names of earlier indexes may still be in use.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros();
        let name = format!("{}-{now}", self.alias);
        self.create(&name)?;
        self.use_index(&name)?;
        Ok(name)
    }

    /// Returns the name of the index that a job builds, and creates it if it is missing. Blocks.
    ///
    /// # Errors
    /// `Unavailable` if the server does not answer.
    pub fn create_building(&self, job: Id) -> Result<String> {
        let name = self.building(job);
        if self.ask(Method::GET, &checkpoint_path(&name), None)?.is_none() {
            self.remove(&name)?;
            self.create(&name)?;
        }
        Ok(name)
    }

    /// Returns the jobs that have built a part of an index. Blocks.
    ///
    /// # Errors
    /// `Unavailable` if the server does not answer.
    pub fn builders(&self) -> Result<Vec<Id>> {
        let (names, current) = (self.names()?, self.current()?);
        let others = names.iter().filter(|name| Some(*name) != current.as_ref());
        Ok(others.filter_map(|name| self.built_by(name)).collect())
    }

    /// Takes the index that a job has built into use. Blocks.
    ///
    /// # Errors
    /// `Unavailable` if the job has built none, or the server does not answer.
    pub fn publish(&self, job: Id) -> Result<()> {
        self.use_index(&self.building(job))
    }

    /// Removes the index that a job has built, unless it is in use. Blocks.
    ///
    /// # Errors
    /// `Unavailable` if the server does not answer.
    pub fn discard(&self, job: Id) -> Result<()> {
        let name = self.building(job);
        if self.current()?.as_ref() == Some(&name) { Ok(()) } else { self.remove(&name) }
    }

    /// Removes everything except the index in use and what jobs are building. Blocks.
    ///
    /// # Errors
    /// `Unavailable` if the server does not answer.
    pub fn tidy(&self) -> Result<()> {
        let (names, current) = (self.names()?, self.current()?);
        let old = |name: &&String| Some(*name) != current.as_ref() && self.built_by(name).is_none();
        names.iter().filter(old).try_for_each(|name| self.remove(name))
    }

    /// Returns the size of the index in use in bytes, with its copies. Blocks.
    ///
    /// # Errors
    /// `Unavailable` if the server does not answer.
    pub fn size(&self) -> Result<u64> {
        let stats = self.ask(Method::GET, &format!("/{}/_stats/store", self.alias), None)?;
        Ok(stats.and_then(|stats| stats["_all"]["total"]["store"]["size_in_bytes"].as_u64()).unwrap_or_default())
    }

    fn building(&self, job: Id) -> String {
        format!("{}-{BUILDING}{}", self.alias, job.get())
    }

    fn built_by(&self, name: &str) -> Option<Id> {
        let rest = name.strip_prefix(&self.alias)?.strip_prefix('-')?;
        rest.strip_prefix(BUILDING)?.parse().ok().map(Id::new)
    }

    /// Returns the names of all indexes of the content database.
    fn names(&self) -> Result<Vec<String>> {
        let path = format!("/_alias/{}-*-write", self.alias);
        let known = self.ask(Method::GET, &path, None)?.unwrap_or_default();
        Ok(known.as_object().map(|known| known.keys().cloned().collect()).unwrap_or_default())
    }

    fn create(&self, name: &str) -> Result<()> {
        let aliases = [write_alias(name)];
        // The alias keeps a checkpoint from creating an index by accident.
        self.done(self.ask(Method::PUT, &format!("/{name}"), Some(mapping::index(&aliases)))?)?;
        let path = format!("{}?require_alias=true&op_type=create", checkpoint_path(&aliases[0]));
        self.ask(Method::PUT, &path, Some(StoredCheckpoint::first().fields()?))?;
        Ok(())
    }

    /// Has the alias stand for this index and for no other, in one step.
    fn use_index(&self, name: &str) -> Result<()> {
        // Where an index does not have the alias, there is nothing to remove.
        let actions = json!([
            {"remove": {"index": format!("{}-*", self.alias), "alias": self.alias}},
            {"add": {"index": name, "alias": self.alias}},
        ]);
        self.done(self.ask(Method::POST, "/_aliases", Some(json!({"actions": actions})))?)
    }

    fn ask(&self, method: Method, path: &str, body: Option<Value>) -> Result<Option<Value>> {
        self.server.ask(method, path, body, Limits::short(BACKGROUND_TIMEOUT))
    }

    fn remove(&self, name: &str) -> Result<()> {
        match self.ask(Method::DELETE, &format!("/{name}"), None)? {
            None => Ok(()),
            done => self.done(done),
        }
    }

    fn done(&self, answer: Option<Value>) -> Result<()> {
        if answer.is_some_and(|answer| answer["acknowledged"] == true) {
            return Ok(());
        }
        let address = self.server.address();
        Err(Error::unavailable(format!("the search server at {address} did not carry out a change of its indexes")))
    }
}

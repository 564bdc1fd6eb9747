//! A virtual user: its client, its memory, and the addresses that operations need.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use tokio::sync::OnceCell;

use crate::corpus::{Corpus, Document, SearchableTexts};
use crate::wire::address::{item_address, make_collection};
use crate::wire::{Client, Fault, Login, RequestBuilder, Target, TargetKind};

use super::share::Share;
use super::task_list::TaskList;

/// Limit on the uploaded documents, and on the added rows, that a user remembers.
const MAX_OWN: usize = 500;
/// Limit on the identifiers that the users of a crowd remember together.
const MAX_IDS: usize = 200_000;

/// State shared by the users of one thread on one server.
pub struct SharedUserState {
    /// Server that the users send requests to.
    pub target: Arc<Target>,
    /// Corpus on the target.
    pub corpus: Arc<Corpus>,
    /// Identifier of this run, unique among runs, that is part of the names it creates.
    pub run: String,
    /// Logins of the users who open pages; empty if all use the target's login.
    pub people: Arc<Vec<Login>>,
    /// Texts of the corpus that a search must find.
    pub searchable: SearchableTexts,
    /// Identifiers of corpus documents that have been looked up.
    ids: RefCell<HashMap<u64, Rc<str>>>,
    /// Lists that have been made, by path of the site.
    lists: RefCell<HashMap<String, Rc<OnceCell<Rc<TaskList>>>>>,
}

impl SharedUserState {
    /// Creates a crowd.
    pub fn new(
        target: Arc<Target>,
        corpus: Arc<Corpus>,
        run: String,
        people: Arc<Vec<Login>>,
        searchable: SearchableTexts,
    ) -> Rc<Self> {
        let (ids, lists) = (RefCell::default(), RefCell::default());
        Rc::new(Self { target, corpus, run, people, searchable, ids, lists })
    }
}

/// A virtual user.
pub struct User {
    /// State shared with other users.
    pub crowd: Rc<SharedUserState>,
    /// HTTP client, with the user's connection.
    pub client: Client,
    /// Source of the user's random choices.
    pub random: fastrand::Rng,
    /// Documents that the user uploaded: path and document.
    pub uploads: VecDeque<(String, Document)>,
    /// Identifiers of rows that the user added to its list.
    pub rows: VecDeque<String>,
    /// Page resources that the user already has.
    pub cached_resources: HashSet<String>,
    /// True if the user has a session.
    pub signed_in: bool,
    /// Page resources, for the operation that requests only resources.
    pub statics: Vec<String>,
    /// ETags of documents that the user has, by document number.
    pub tags: HashMap<u64, String>,
    /// Notes of operations for their next execution, each under a key of its own.
    pub notes_by_key: HashMap<&'static str, String>,
    /// Its number.
    pub number: u32,
    serial: u32,
    place_made: bool,
}

impl User {
    /// Creates the user with the given number.
    pub fn new(crowd: Rc<SharedUserState>, number: u32) -> Self {
        let client = Client::new(crowd.target.clone());
        let random = fastrand::Rng::with_seed(crowd.corpus.plan().seed ^ (u64::from(number) << 20) ^ fastrand::u64(..));
        let (own, seen) = (VecDeque::new(), HashSet::new());
        let (statics, tags) = (Vec::new(), HashMap::new());
        let notes = HashMap::new();
        let (signed_in, serial, place_made) = (false, 0, false);
        Self {
            crowd,
            client,
            random,
            uploads: own,
            rows: VecDeque::new(),
            cached_resources: seen,
            signed_in,
            statics,
            tags,
            notes_by_key: notes,
            number,
            serial,
            place_made,
        }
    }

    /// Turns the user into a new person: no connection, no session, no cached resources.
    pub fn reset(&mut self) {
        self.client.reset();
        self.cached_resources.clear();
        self.tags.clear();
        self.signed_in = false;
    }

    /// Returns the login of this user.
    pub fn login(&self) -> Option<Login> {
        let people = &self.crowd.people;
        let own = (!people.is_empty()).then(|| people[self.number as usize % people.len()].clone());
        own.or_else(|| self.crowd.target.login.clone())
    }

    /// Picks a random document of the corpus that fits a share of the mix.
    pub fn any_document(&mut self, share: &Share) -> Result<Document, Fault> {
        let found = self.crowd.corpus.any(&mut self.random, share.size);
        found.ok_or_else(|| Fault::content("the corpus has no document of this size"))
    }

    /// Creates a new document for an upload; returns its path and the document.
    pub fn new_document(&mut self, share: &Share) -> Result<(String, Document), Fault> {
        let like = self.any_document(share)?;
        self.serial += 1;
        let number = (1 << 62) | (u64::from(self.number) << 32) | u64::from(self.serial);
        let name = format!("{}-{} {}", self.number, self.serial, like.name);
        let path = format!("{}/{name}", self.own_folder());
        Ok((path, Document { number, name, ..like }))
    }

    /// Returns the note under a key; empty if there is none.
    pub fn note(&self, name: &str) -> &str {
        self.notes_by_key.get(name).map_or("", String::as_str)
    }

    /// Returns a number that this user has not used before.
    pub fn next_serial(&mut self) -> u32 {
        self.serial += 1;
        self.serial
    }

    /// Library of the user's own documents. The users are spread over all libraries.
    pub fn own_library(&self) -> String {
        let corpus = &self.crowd.corpus;
        corpus.library_path(self.number % corpus.libraries())
    }

    /// Folder of the user's own documents.
    pub fn own_folder(&self) -> String {
        format!("{}/Incoming {} {}", self.own_library(), self.crowd.run, self.number)
    }

    /// Creates the folder of the user's own documents on targets where an upload does not create it.
    pub async fn create_folder(&mut self) -> Result<(), Fault> {
        if self.place_made {
            return Ok(());
        }
        if self.crowd.target.kind == TargetKind::Webdav {
            let folder = self.own_folder();
            make_collection(&mut self.client, &folder).await?;
        }
        self.place_made = true;
        Ok(())
    }

    /// Remembers a document that the user uploaded.
    pub fn remember(&mut self, path: String, document: Document) {
        if self.uploads.len() >= MAX_OWN {
            self.uploads.pop_front();
        }
        self.uploads.push_back((path, document));
    }

    /// Remembers a row that the user added to its list.
    pub fn remember_row(&mut self, id: String) {
        if self.rows.len() >= MAX_OWN {
            self.rows.pop_front();
        }
        self.rows.push_back(id);
    }

    /// Returns the list in which the user works, and makes it if necessary. The users are spread over all sites. Users
    /// of one crowd wait for the one who makes it.
    pub async fn task_list(&mut self) -> Result<Rc<TaskList>, Fault> {
        let site = self.crowd.corpus.site_path(self.number);
        let list = self.crowd.lists.borrow_mut().entry(site.clone()).or_default().clone();
        let made =
            list.get_or_try_init(async || TaskList::make(&mut self.client, &site, &self.crowd.run).await.map(Rc::new));
        made.await.cloned()
    }

    /// Returns the identifier of a document of the corpus.
    pub async fn document_id(&mut self, document: &Document) -> Result<Rc<str>, Fault> {
        if let Some(id) = self.crowd.ids.borrow().get(&document.number) {
            return Ok(id.clone());
        }
        let path = self.crowd.corpus.path(document);
        let id: Rc<str> = self.id_at(&path).await?.into();
        let mut known = self.crowd.ids.borrow_mut();
        if known.len() < MAX_IDS {
            known.insert(document.number, id.clone());
        }
        Ok(id)
    }

    /// Returns the identifier of the item at a path.
    pub async fn id_at(&mut self, path: &str) -> Result<String, Fault> {
        let answer =
            self.client.send(RequestBuilder::get(item_address(&self.crowd.target, "", path))).await?.expect(&[200])?;
        let id = answer.json()?["id"].as_str().map(str::to_owned);
        id.ok_or_else(|| Fault::content(format!("{path} has no id")))
    }
}

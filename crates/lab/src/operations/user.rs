//! A virtual user: a client, what it remembers, and the addresses that operations need.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use crate::corpus::{Corpus, Document};
use crate::wire::address::{by_path, make_collection};
use crate::wire::{Ask, Client, Fault, Kind, Login, Target};

use super::share::Share;

/// Most documents that a user remembers to have uploaded.
const MOST_OWN: usize = 500;
/// Most identifiers that users remember together.
const MOST_IDS: usize = 200_000;

/// What the users of one thread share.
pub struct Crowd {
    /// Where they go.
    pub target: Arc<Target>,
    /// What lies there.
    pub corpus: Arc<Corpus>,
    /// A word that no other run uses in names.
    pub run: String,
    /// How those sign in who open pages; empty when all do with the login of the target.
    pub people: Arc<Vec<Login>>,
    /// Identifiers of documents of the corpus that were looked up already.
    ids: RefCell<HashMap<u64, Rc<str>>>,
}

impl Crowd {
    /// A crowd.
    pub fn new(target: Arc<Target>, corpus: Arc<Corpus>, run: String, people: Arc<Vec<Login>>) -> Rc<Self> {
        Rc::new(Self { target, corpus, run, people, ids: RefCell::default() })
    }
}

/// One virtual user.
pub struct User {
    /// What it shares with others.
    pub crowd: Rc<Crowd>,
    /// Its connection.
    pub client: Client,
    /// Its choices.
    pub random: fastrand::Rng,
    /// Documents that it uploaded: path and content.
    pub own: VecDeque<(String, Document)>,
    /// Resources of pages that it has already.
    pub seen: HashSet<String>,
    /// Whether it has a session.
    pub signed_in: bool,
    /// Resources of pages, for whoever asks for them alone.
    pub statics: Vec<String>,
    /// Entity tags of documents that it has.
    pub tags: HashMap<u64, String>,
    /// What operations remember for their next time, by a name of theirs.
    pub notes: HashMap<&'static str, String>,
    /// Its number.
    pub number: u32,
    serial: u32,
    place_made: bool,
}

impl User {
    /// The user of a number.
    pub fn new(crowd: Rc<Crowd>, number: u32) -> Self {
        let client = Client::new(crowd.target.clone());
        let random = fastrand::Rng::with_seed(crowd.corpus.plan().seed ^ (u64::from(number) << 20) ^ fastrand::u64(..));
        let (own, seen) = (VecDeque::new(), HashSet::new());
        let (statics, tags) = (Vec::new(), HashMap::new());
        let notes = HashMap::new();
        let (signed_in, serial, place_made) = (false, 0, false);
        Self { crowd, client, random, own, seen, signed_in, statics, tags, notes, number, serial, place_made }
    }

    /// Becomes a new person: no connection, no session, nothing seen.
    pub fn renew(&mut self) {
        self.client.forget();
        self.seen.clear();
        self.tags.clear();
        self.signed_in = false;
    }

    /// How this user signs in.
    pub fn login(&self) -> Option<Login> {
        let people = &self.crowd.people;
        let own = (!people.is_empty()).then(|| people[self.number as usize % people.len()].clone());
        own.or_else(|| self.crowd.target.login.clone())
    }

    /// Any document of the corpus that a part of the mix may take.
    pub fn any_document(&mut self, share: &Share) -> Result<Document, Fault> {
        let found = self.crowd.corpus.any(&mut self.random, share.size);
        found.ok_or_else(|| Fault::content("the corpus has no document of this size"))
    }

    /// A new document for an upload: its path and content.
    pub fn new_document(&mut self, share: &Share) -> Result<(String, Document), Fault> {
        let like = self.any_document(share)?;
        self.serial += 1;
        let number = (1 << 62) | (u64::from(self.number) << 32) | u64::from(self.serial);
        let name = format!("{}-{} {}", self.number, self.serial, like.name);
        let path = format!("{}/{name}", self.own_folder());
        Ok((path, Document { number, name, ..like }))
    }

    /// What an operation noted under a name; nothing when it did not.
    pub fn note(&self, name: &str) -> &str {
        self.notes.get(name).map_or("", String::as_str)
    }

    /// A number that this user has not used for anything before.
    pub fn next_serial(&mut self) -> u32 {
        self.serial += 1;
        self.serial
    }

    /// The library of the user's own documents: users are spread over all.
    pub fn own_library(&self) -> String {
        let corpus = &self.crowd.corpus;
        corpus.library_path(self.number % corpus.libraries())
    }

    /// The folder of the user's own documents.
    pub fn own_folder(&self) -> String {
        format!("{}/Incoming {} {}", self.own_library(), self.crowd.run, self.number)
    }

    /// Makes the folder of the user's own documents where uploading does not make it.
    pub async fn make_place(&mut self) -> Result<(), Fault> {
        if self.place_made {
            return Ok(());
        }
        if self.crowd.target.kind == Kind::Webdav {
            let folder = self.own_folder();
            make_collection(&mut self.client, &folder).await?;
        }
        self.place_made = true;
        Ok(())
    }

    /// Remembers a document that the user uploaded.
    pub fn remember(&mut self, path: String, document: Document) {
        if self.own.len() >= MOST_OWN {
            self.own.pop_front();
        }
        self.own.push_back((path, document));
    }

    /// The identifier of a document of the corpus.
    pub async fn id_of(&mut self, document: &Document) -> Result<Rc<str>, Fault> {
        if let Some(id) = self.crowd.ids.borrow().get(&document.number) {
            return Ok(id.clone());
        }
        let path = self.crowd.corpus.path(document);
        let id: Rc<str> = self.id_at(&path).await?.into();
        let mut known = self.crowd.ids.borrow_mut();
        if known.len() < MOST_IDS {
            known.insert(document.number, id.clone());
        }
        Ok(id)
    }

    /// The identifier of what lies at a path.
    pub async fn id_at(&mut self, path: &str) -> Result<String, Fault> {
        let answer = self.client.send(Ask::get(by_path(&self.crowd.target, "", path))).await?.expect(&[200])?;
        let id = answer.json()?["id"].as_str().map(str::to_owned);
        id.ok_or_else(|| Fault::content(format!("{path} has no id")))
    }
}

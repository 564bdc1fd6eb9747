//! A worker that makes all kinds of changes in its own folder and knows the expected result of each.
//!
//! It makes one change at a time. When the server is killed, at most one change has an unknown outcome, and the state
//! found afterwards is either completely the one before it or completely the one after it.

mod change;
mod create;
mod folders;

use reqwest::{Method, StatusCode};
use serde_json::json;

use super::world::{Document, FIXED, ModelState, ServerState, UNNAMED, parent, text};
use super::{Answer, Client, Random, bytes};

/// Maximum number of documents of a worker, of versions of each, and of folders.
const DOCUMENTS: usize = 8;
const VERSIONS: usize = 6;
const FOLDERS: usize = 3;

/// The site collection, and the column that workers fill in.
#[derive(Clone)]
pub struct WorkerContext {
    site: String,
    column: String,
}

/// A change that can be sent again with its idempotency key.
#[derive(Clone)]
struct Repeatable {
    path: String,
    key: String,
    seed: (u64, usize),
}

/// An unfinished upload in parts.
#[derive(Clone)]
struct Parts {
    location: String,
    place: String,
    seed: (u64, usize),
    acknowledged: usize,
}

/// A worker and its model.
pub struct Worker {
    ground: WorkerContext,
    home: String,
    /// Identifiers of the two permanent folders.
    fixed: [String; 2],
    made: u64,
    sizes: &'static [usize],
    world: ModelState,
    /// The state after the change in progress.
    next: Option<ModelState>,
    repeatable: Option<Repeatable>,
    /// The newest acknowledged change with an idempotency key, and the identifier of its document.
    answered: Option<(Repeatable, String)>,
    parts: Option<Parts>,
    found: Option<ServerState>,
}

/// The reason why a change was not made.
#[derive(Debug)]
pub enum Trouble {
    /// No response arrived: the outcome is unknown.
    NoResponse,
    /// The server refused it.
    Refusal(String),
    /// The server refused the change temporarily, since the same bytes are just being deleted. It can be retried.
    Retry,
}

impl From<reqwest::Error> for Trouble {
    fn from(_: reqwest::Error) -> Self {
        Self::NoResponse
    }
}

type Done = Result<(), Trouble>;

impl WorkerContext {
    /// Adds the column to the library Documents and sets the link rule of its site collection.
    pub async fn prepare(client: &Client) -> Self {
        let library =
            client.send(Method::GET, "/api/v1/items/by-path?path=Documents", Vec::new()).await.unwrap().json();
        let form = json!({ "name": "Note", "kind": "text" });
        let path = format!("/api/v1/items/{}/columns", text(&library["id"]));
        let column = client.send_json(Method::POST, &path, &form).await.unwrap();
        assert_eq!(column.status, StatusCode::CREATED, "{}", column.text());
        let site = text(&library["site_collection"]);
        let (path, rule) = (format!("/api/v1/site-collections/{site}/link-rule"), json!({ "most_days": 30 }));
        let ruled = client.send_json(Method::PUT, &path, &rule).await.unwrap();
        assert!(ruled.status.is_success(), "{}", ruled.text());
        Self { site, column: text(&column.json()["id"]) }
    }
}

impl Worker {
    /// Creates a worker with two empty folders.
    pub async fn new(client: &Client, ground: &WorkerContext, number: usize, sizes: &'static [usize]) -> Self {
        let home = format!("mixed/w{number}");
        let mut fixed = [String::new(), String::new()];
        for (folder, id) in FIXED.iter().zip(&mut fixed) {
            let path = format!("{home}/{folder}/first");
            assert!(client.put(&path, Vec::new()).await.unwrap().status.is_success());
            assert!(client.delete(&path).await.unwrap().status.is_success());
            let path = format!("/api/v1/items/by-path?path=Documents/{home}/{folder}");
            *id = text(&client.send(Method::GET, &path, Vec::new()).await.unwrap().json()["id"]);
        }
        let empty = format!("/api/v1/site-collections/{}/recycle-bin", ground.site);
        assert!(client.send(Method::DELETE, &empty, Vec::new()).await.unwrap().status.is_success());
        Self {
            ground: ground.clone(),
            home: format!("Documents/{home}"),
            fixed,
            made: 0,
            sizes,
            world: ModelState::default(),
            next: None,
            repeatable: None,
            answered: None,
            parts: None,
            found: None,
        }
    }

    /// Compares the worker's model with what a restarted server shows, and continues from there. `deeply` reads the
    /// bytes of all versions, not only of the newest.
    pub async fn verify(&mut self, client: &Client, deeply: bool) {
        self.finish_what_was_cut(client).await;
        let found =
            ServerState::read(client, &self.ground.site, &self.home, &self.ground.column, deeply).await.unwrap();
        let possible = self.next.take().into_iter().chain([self.world.clone()]);
        let Some(world) = possible.clone().find_map(|world| world.agrees(&found)) else {
            panic!("{}: possible {:#?}\nfound {found:#?}", self.home, possible.collect::<Vec<_>>());
        };
        self.world = world;
        self.found = Some(found);
    }

    /// Repeats a change that has an idempotency key, and continues an upload in parts. Each must have been applied
    /// exactly once in the end.
    async fn finish_what_was_cut(&mut self, client: &Client) {
        if let Some((answered, id)) = &self.answered {
            let again = self.send_repeatable(client, answered).await.unwrap();
            if again.status.is_success() {
                assert_eq!(&text(&again.json()["id"]), id, "{}: it was done twice", self.home);
            } else {
                // The version that it created, or the folder, may be gone. A duplicate is detected below.
                let (status, said) = (again.status, again.text());
                let is_gone = status == StatusCode::NOT_FOUND || said.contains("idempotency_key_reused");
                assert!(is_gone, "{}: an answered change, repeated: {status} {said}", self.home);
            }
        }
        if let Some(cut) = self.repeatable.take() {
            let answer = loop {
                let answer = self.send_repeatable(client, &cut).await.unwrap();
                if !is_for_a_moment(&answer) {
                    break answer;
                }
            };
            assert!(answer.status.is_success(), "{}: a repeated change: {}", self.home, answer.text());
            self.world = self.next.take().unwrap();
        }
        while let Some(parts) = self.parts.clone() {
            match self.go_on(client, parts, usize::MAX).await {
                Ok(()) | Err(Trouble::Retry) => {}
                Err(trouble) => panic!("{}: an upload in parts does not go on: {trouble:?}", self.home),
            }
        }
    }

    /// Makes one random change.
    pub async fn random_change(&mut self, client: &Client, random: &mut Random) -> Done {
        if self.parts.is_some() {
            let parts = self.parts.clone().unwrap();
            return self.go_on(client, parts, 1).await;
        }
        let free = self.pick(random, |document| !document.checked_out);
        let held = self.pick(random, |document| document.checked_out);
        let full = self.world.documents.len() >= DOCUMENTS;
        match (random.below(21), free, held) {
            (0, _, _) if !full => self.create(client, random).await,
            (1, _, _) if !full => self.create_by_webdav(client, random).await,
            (2, _, _) if !full => self.create_once(client, random).await,
            (3, _, _) if !full => self.begin_parts(client, random).await,
            (4, Some(id), _) => self.replace(client, random, id).await,
            (5, Some(id), _) => self.place_anew(client, random, id, change::Way::Rename).await,
            (6, Some(id), _) => self.place_anew(client, random, id, change::Way::Move).await,
            (7, Some(id), _) => self.place_anew(client, random, id, change::Way::WebDav).await,
            (8, Some(id), _) if !full => self.copy(client, random, id).await,
            (9, Some(id), _) => self.delete(client, random, id).await,
            (10, _, _) => self.bring_back(client, random).await,
            (11, _, _) => self.purge(client, random).await,
            (12, Some(id), _) => self.check_out(client, id).await,
            (13, _, Some(id)) => self.replace(client, random, id).await,
            (14, _, Some(id)) => self.end_check_out(client, random, id).await,
            (15, Some(id), _) => self.set_value(client, random, id).await,
            (16, Some(id), _) => self.change_versions(client, random, id).await,
            (17, Some(id), _) => self.share(client, random, id).await,
            (18, _, _) if self.world.folders.len() < FOLDERS => self.make_folder(client, random).await,
            (19, _, _) => self.place_folder_anew(client, random).await,
            (20, _, _) => self.delete_folder(client, random).await,
            _ => Ok(()),
        }
    }

    fn pick(&self, random: &mut Random, fits: impl Fn(&Document) -> bool) -> Option<String> {
        let ids: Vec<&String> =
            self.world.documents.iter().filter(|(_, document)| fits(document)).map(|(id, _)| id).collect();
        (!ids.is_empty()).then(|| ids[random.below(ids.len() as u64) as usize].clone())
    }

    fn content(&self, random: &mut Random) -> (u64, usize) {
        // Some contents occur repeatedly, from several workers at once.
        let seed = if random.below(4) == 0 { random.below(8) } else { random.next() };
        (seed, self.sizes[random.below(self.sizes.len() as u64) as usize])
    }

    /// An unused path for a document: identifier of the folder, and path.
    fn fresh_place(&mut self, random: &mut Random) -> (String, String) {
        self.made += 1;
        let fixed = FIXED.iter().map(|place| (*place).to_owned()).zip(self.fixed.iter());
        let made = self.world.folders.iter().map(|(id, place)| (place.clone(), id));
        let all: Vec<(String, &String)> = fixed.chain(made).collect();
        let (place, id) = &all[random.below(all.len() as u64) as usize];
        ((*id).clone(), format!("{place}/{}.bin", self.made))
    }

    /// An unused path in the same folder.
    fn fresh_name(&mut self, old: &str) -> String {
        self.made += 1;
        format!("{}/{}.bin", parent(old), self.made)
    }

    /// Requests a change that leads to `next`. The response completes the state.
    async fn change(
        &mut self,
        next: ModelState,
        answer: impl Future<Output = Result<Answer, reqwest::Error>>,
        complete: impl FnOnce(&mut ModelState, &Answer),
    ) -> Done {
        self.next = Some(next);
        let answer = answer.await?;
        let mut next = self.next.take().unwrap_or_default();
        if is_for_a_moment(&answer) {
            return Err(Trouble::Retry);
        }
        if !answer.status.is_success() {
            return Err(Trouble::Refusal(format!("{}: {} {}", self.home, answer.status, answer.text())));
        }
        complete(&mut next, &answer);
        self.world = next;
        Ok(())
    }

    fn with(&self, id: &str, change: impl FnOnce(&mut Document)) -> ModelState {
        let mut world = self.world.clone();
        change(world.documents.get_mut(id).unwrap());
        world
    }

    fn with_new(&self, place: &str, (seed, size): (u64, usize)) -> ModelState {
        let digest = blobs::digest_of(&bytes(seed, size)).to_string();
        let document = Document {
            place: place.to_owned(),
            versions: vec![digest.clone()],
            content: digest,
            ..Document::default()
        };
        let mut world = self.world.clone();
        world.documents.insert(UNNAMED.to_owned(), document);
        world
    }
}

/// Returns whether a response asks to retry, since a BLOB with the same bytes is just being deleted.
fn is_for_a_moment(answer: &Answer) -> bool {
    answer.status == StatusCode::SERVICE_UNAVAILABLE && answer.json()["code"] == "blob_being_deleted"
}

/// Gives the new document of a state the identifier in a response.
fn name_by(id: impl FnOnce(&Answer) -> String) -> impl FnOnce(&mut ModelState, &Answer) {
    move |world, answer| {
        let document = world.documents.remove(UNNAMED).unwrap();
        world.documents.insert(id(answer), document);
    }
}

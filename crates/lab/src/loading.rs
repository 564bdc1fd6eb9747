//! Loads a corpus onto a target through the target's own protocol, as fast as the target accepts it. A corpus that is
//! already present is recognised by its marker file and left unchanged.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::try_join_all;
use hyper::{Method, StatusCode};
use tokio::task::LocalSet;

use crate::corpus::{ANY_FINGERPRINT, Corpus, Loaded, NOTE};
use crate::error::{Error, Result};
use crate::thread::on_own_thread;
use crate::wire::{Client, Fault, FaultKind, RequestBody, RequestBuilder, Target, TargetKind, address};

/// Base timeout of one upload. One second is added for every `BYTES_A_SECOND` bytes.
const BASE_TIMEOUT: Duration = Duration::from_secs(60);
const BYTES_A_SECOND: u64 = 1_000_000;
/// Timeout for the first response of the target, and for the creation of each container.
const FIRST_RESPONSE_TIMEOUT: Duration = Duration::from_secs(20);
/// Limit on the attempts for one upload: uploads are retried if the server is busy or the connection breaks.
const ATTEMPTS: u32 = 4;

/// Loads a corpus onto a target. `sent` counts the documents sent so far.
///
/// # Errors
/// If the target cannot be reached or refuses, or if another corpus with the same seed is present.
pub async fn load(target: Arc<Target>, corpus: Arc<Corpus>, sent: Arc<AtomicU64>) -> Result<Loaded> {
    on_own_thread(move || async move { LocalSet::new().run_until(load_corpus(target, corpus, sent)).await }).await?
}

async fn load_corpus(target: Arc<Target>, corpus: Arc<Corpus>, sent: Arc<AtomicU64>) -> Result<Loaded> {
    let mut client = Client::new(target.clone());
    let note = format!("{}/{NOTE}", corpus.library_path(0));
    let look = RequestBuilder::get(address::content_address(&target, &note));
    let found = tokio::time::timeout(FIRST_RESPONSE_TIMEOUT, client.send(look)).await;
    let found = found.map_err(|_| Error::new(format!("{} does not answer", target.url)))?;
    let found = found.map_err(|fault| Error::new(fault.message))?;
    match found.status.as_u16() {
        200 if found.text() == corpus.fingerprint() => return Ok(Loaded::default()),
        200 if !found.text().starts_with(ANY_FINGERPRINT) => {
            return Err(Error::new(format!(
                "{} answers 200 with other content at the address of the corpus, so it may not be a server of this \
                 kind: see --kind and --root",
                target.url
            )));
        }
        200 => {
            return Err(Error::new(format!(
                "another corpus with the seed {} is on {}: give the plan another seed, or delete \"{}\" there",
                corpus.plan().seed,
                target.url,
                corpus.library_path(0)
            )));
        }
        404 | 409 => {}
        401 | 403 => {
            return Err(Error::new(format!("{} refuses these credentials: see --user and --password", target.url)));
        }
        _ => {
            let wrong =
                |fault| Error::new(format!("it cannot be determined whether {} has the corpus: {fault}", target.url));
            found.expect(&[]).map_err(wrong)?;
        }
    }
    let begun = Instant::now();
    let wrong = |fault: Fault| Error::new(format!("the corpus cannot be loaded: {fault}"));
    for (place, path) in containers(target.kind, &corpus) {
        with_timeout(&format!("\"{path}\""), create_container(&mut client, place, &path)).await.map_err(wrong)?;
    }
    let next = Rc::new(AtomicU64::new(0));
    let tasks = (0..corpus.plan().connections).map(|_| {
        let (target, corpus, next, sent) = (target.clone(), corpus.clone(), next.clone(), sent.clone());
        let task = tokio::task::spawn_local(async move { upload(target, &corpus, &next, &sent).await });
        async { task.await.map_err(|_| Error::new("an upload of the corpus ended early"))?.map_err(wrong) }
    });
    // The first failure ends all uploads.
    let bytes = try_join_all(tasks).await?.into_iter().sum();
    let body = RequestBody::Bytes(Bytes::from(corpus.fingerprint()));
    put(&mut client, &address::content_address(&target, &note), body).await.map_err(wrong)?;
    Ok(Loaded { documents: corpus.count(), bytes, seconds: begun.elapsed().as_secs_f64() })
}

/// Containers that must exist before documents can be uploaded.
#[derive(Clone, Copy)]
enum CorpusContainer {
    Site,
    Library,
    Folder,
}

/// Applies the timeout `FIRST` to a request. A timeout is a fault.
async fn with_timeout<T>(what: &str, work: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    let late = |_| {
        Fault::new(FaultKind::Timeout, format!("{what} was not answered within {} s", FIRST_RESPONSE_TIMEOUT.as_secs()))
    };
    tokio::time::timeout(FIRST_RESPONSE_TIMEOUT, work).await.map_err(late)?
}

/// Lists the paths of the sites and libraries to create, and of the folders on targets where an upload does not create
/// them.
fn containers(kind: TargetKind, corpus: &Corpus) -> Vec<(CorpusContainer, String)> {
    let mut places: Vec<_> = corpus.sites().into_iter().map(|name| (CorpusContainer::Site, name)).collect();
    for library in (0..corpus.libraries()).map(|library| corpus.library_path(library)) {
        places.push((CorpusContainer::Library, library.clone()));
        if kind == TargetKind::Webdav {
            let folders = (0..corpus.plan().folders).map(|folder| corpus.folder_name(folder));
            places.extend(folders.map(|name| (CorpusContainer::Folder, format!("{library}/{name}"))));
        }
    }
    places
}

async fn create_container(client: &mut Client, place: CorpusContainer, path: &str) -> Result<(), Fault> {
    let what = match (client.target().kind, place) {
        (TargetKind::Webdav, _) | (_, CorpusContainer::Folder) => return address::make_collection(client, path).await,
        (TargetKind::Strongroom, CorpusContainer::Site) => "sites",
        (TargetKind::Strongroom, CorpusContainer::Library) => "libraries",
    };
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    let above = address::item_address(client.target(), "", above);
    let above = client.send(RequestBuilder::get(above)).await?.expect(&[200])?.json()?;
    let above = above["id"].as_str().unwrap_or_default();
    let ask = RequestBuilder::new(Method::POST, format!("/api/v1/items/{above}/{what}"));
    client.send(ask.json(&serde_json::json!({ "name": name }))).await?.expect(&[201, 409]).map(drop)
}

async fn upload(target: Arc<Target>, corpus: &Corpus, next: &AtomicU64, sent: &AtomicU64) -> Result<u64, Fault> {
    let mut client = Client::new(target.clone());
    let mut bytes = 0;
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= corpus.count() {
            return Ok(bytes);
        }
        let document = corpus.document(number);
        let path = address::content_address(&target, &corpus.path(&document));
        put(&mut client, &path, RequestBody::document(corpus.content(&document, 0))).await?;
        bytes += document.size;
        sent.fetch_add(1, Ordering::Relaxed);
    }
}

/// Uploads one document, with retries for transient faults.
async fn put(client: &mut Client, path: &str, body: RequestBody) -> Result<(), Fault> {
    let mut attempt = 1;
    while let Err((fault, passes)) = put_once(client, path, body.clone()).await {
        if !passes || attempt >= ATTEMPTS {
            return Err(fault);
        }
        client.disconnect();
        tokio::time::sleep(Duration::from_millis(200) * attempt.pow(2)).await;
        attempt += 1;
    }
    Ok(())
}

/// Uploads one document. A fault is returned together with a flag that is true if the fault is transient.
async fn put_once(client: &mut Client, path: &str, body: RequestBody) -> Result<(), (Fault, bool)> {
    let patience = BASE_TIMEOUT + Duration::from_secs(body.length() / BYTES_A_SECOND);
    let ask = RequestBuilder::new(Method::PUT, path).body(body);
    match tokio::time::timeout(patience, client.send(ask)).await {
        Err(_) => {
            let late = format!("PUT {path} was not answered within {} s", patience.as_secs());
            Err((Fault::new(FaultKind::Timeout, late), false))
        }
        Ok(Err(fault)) => {
            let broken = matches!(fault.kind, FaultKind::Connect | FaultKind::Closed);
            Err((fault, broken))
        }
        Ok(Ok(answer)) => {
            let busy = answer.status == StatusCode::TOO_MANY_REQUESTS || answer.status.is_server_error();
            answer.expect(&[200, 201, 204]).map(drop).map_err(|fault| (fault, busy))
        }
    }
}

//! The acknowledgement oracle: a record, kept outside the server, of the changes that the server acknowledged, compared
//! with its content afterwards.
//!
//! Each path has one writer at a time, so its possible states are known: the last acknowledged one, or one of the
//! changes requested after it without a successful response.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use super::{Answer, Client, Random, bytes};

/// Timeout for changes of the load to be acknowledged.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Number of changes that the load makes at full speed beyond those waited for, and the delay before each further
/// change. This keeps the data of a test small enough for slow machines while the load continues.
const FULL_SPEED_CHANGES: u64 = 60;
const SLOW_INTERVAL: Duration = Duration::from_secs(1);

/// State of a path: seed and size of its bytes, or `None` if there is no document.
type State = Option<(u64, usize)>;

struct Entry {
    path: String,
    acknowledged: State,
    possible: Vec<State>,
}

/// The paths of a test, with the known and possible states of each.
pub struct Ledger {
    writers: Vec<Arc<Mutex<Vec<Entry>>>>,
    acknowledged: Arc<AtomicU64>,
    goal: Arc<AtomicU64>,
    refused: Arc<std::sync::Mutex<Vec<String>>>,
    distrust: Arc<AtomicBool>,
    sizes: &'static [usize],
}

impl Ledger {
    /// Creates a ledger for concurrent writers with a number of paths each. `sizes` are the document sizes.
    pub fn new(writers: usize, paths: usize, sizes: &'static [usize]) -> Self {
        let entry = |writer, path| Entry {
            path: format!("load/w{writer}/{path}.bin"),
            acknowledged: None,
            possible: Vec::new(),
        };
        let writer = |writer| Arc::new(Mutex::new((0..paths).map(|path| entry(writer, path)).collect()));
        let writers = (0..writers).map(writer).collect();
        Self {
            writers,
            acknowledged: Arc::default(),
            goal: Arc::default(),
            refused: Arc::default(),
            distrust: Arc::default(),
            sizes,
        }
    }

    /// Number of changes acknowledged so far.
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::Relaxed)
    }

    /// Waits until `more` further changes are acknowledged.
    pub async fn wait_for(&self, more: u64) {
        let (goal, deadline) = (self.acknowledged() + more, Instant::now() + TIMEOUT);
        self.goal.store(goal, Ordering::Relaxed);
        while self.acknowledged() < goal {
            assert!(Instant::now() < deadline, "the load stands still; refused so far: {:#?}", self.refused());
            // sleep: polled, since the counter changes without a notification
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Ignores all acknowledgements until the next start. In a real power cut no response is sent any more, but a file
    /// system that is being shut down may still report a successful flush.
    pub fn distrust(&self) {
        self.distrust.store(true, Ordering::SeqCst);
    }

    /// The error responses to changes since the last call: status and text.
    pub fn refused(&self) -> Vec<String> {
        std::mem::take(&mut self.refused.lock().unwrap())
    }

    /// Uploads, replaces and deletes documents with all writers concurrently until `stop` is set or the server is gone.
    pub fn load(&self, client: &Client, random: &mut Random, stop: &Arc<AtomicBool>) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        for writer in &self.writers {
            let (writer, client, stop) = (Arc::clone(writer), client.clone(), Arc::clone(stop));
            let (acknowledged, goal) = (Arc::clone(&self.acknowledged), Arc::clone(&self.goal));
            let refused = Arc::clone(&self.refused);
            let (sizes, mut random) = (self.sizes, Random::seeded(random.next()));
            let distrust = Arc::clone(&self.distrust);
            tasks.spawn(async move {
                let mut entries = writer.lock().await;
                while !stop.load(Ordering::Relaxed) {
                    if acknowledged.load(Ordering::Relaxed) > goal.load(Ordering::Relaxed) + FULL_SPEED_CHANGES {
                        // sleep: the pace of the load while no test waits for it
                        tokio::time::sleep(SLOW_INTERVAL).await;
                    }
                    let at = random.below(entries.len() as u64) as usize;
                    match change(&mut entries[at], &client, sizes, &mut random, &distrust).await {
                        Ok(None) => _ = acknowledged.fetch_add(1, Ordering::Relaxed),
                        Ok(Some(refusal)) => refused.lock().unwrap().push(refusal),
                        Err(_) => return,
                    }
                }
            });
        }
        tasks
    }

    /// Makes `count` changes in sequence.
    ///
    /// Continues after an error response, and returns early if the server is gone.
    pub async fn changes(&self, client: &Client, random: &mut Random, count: usize) {
        for _ in 0..count {
            let writer = random.below(self.writers.len() as u64) as usize;
            let mut entries = self.writers[writer].lock().await;
            let at = random.below(entries.len() as u64) as usize;
            match change(&mut entries[at], client, self.sizes, random, &self.distrust).await {
                Ok(None) => _ = self.acknowledged.fetch_add(1, Ordering::Relaxed),
                Ok(Some(refusal)) => self.refused.lock().unwrap().push(refusal),
                Err(_) => return,
            }
        }
    }

    /// Reads every path. Each must hold the acknowledged state, or completely the state of a later change without a
    /// successful response. On a restarted server the found state must be found from now on. On a server that is still
    /// running, a change with unknown outcome may also become visible later.
    pub async fn verify(&self, client: &Client, restarted: bool) {
        self.distrust.store(false, Ordering::SeqCst);
        for writer in &self.writers {
            for entry in writer.lock().await.iter_mut() {
                let answer = client.get(&entry.path).await.unwrap_or_else(|e| panic!("{}: no answer: {e}", entry.path));
                let found = entry.possible.iter().chain([&entry.acknowledged]).find(|state| holds(state, &answer));
                let Some(found) = found.copied() else {
                    let body = if answer.status.is_success() { String::new() } else { answer.text() };
                    panic!(
                        "{}: acknowledged {:?}, asked for {:?}, found {} with {} bytes {body}",
                        entry.path,
                        entry.acknowledged,
                        entry.possible,
                        answer.status,
                        answer.body.len()
                    );
                };
                if restarted {
                    entry.acknowledged = found;
                    entry.possible.clear();
                }
            }
        }
    }
}

fn holds(state: &State, answer: &Answer) -> bool {
    match *state {
        None => answer.status == StatusCode::NOT_FOUND,
        Some((seed, size)) => answer.status == StatusCode::OK && answer.body == bytes(seed, size),
    }
}

/// Requests one change of a path. Returns `None` if it was acknowledged, otherwise the error response. An error means
/// that no response arrived.
async fn change(
    entry: &mut Entry,
    client: &Client,
    sizes: &[usize],
    random: &mut Random,
    distrust: &AtomicBool,
) -> Result<Option<String>, reqwest::Error> {
    let exists = entry.acknowledged.is_some() && entry.possible.is_empty();
    let wanted = if exists && random.below(4) == 0 {
        None
    } else {
        // Some contents occur repeatedly, under several names and from several writers at once.
        let seed = if random.below(4) == 0 { random.below(8) } else { random.next() };
        Some((seed, sizes[random.below(sizes.len() as u64) as usize]))
    };
    entry.possible.push(wanted);
    let answer = match wanted {
        None => client.delete(&entry.path).await?,
        Some((seed, size)) => client.put(&entry.path, bytes(seed, size)).await?,
    };
    if answer.status.is_success() && distrust.load(Ordering::SeqCst) {
        return Ok(None);
    }
    if answer.status.is_success() {
        entry.acknowledged = wanted;
        entry.possible.clear();
        // An acknowledged change is visible to the next read.
        if random.below(8) == 0 {
            let read = client.get(&entry.path).await?;
            // A server that is being killed, or whose disk is gone, may refuse, but must not deliver anything else.
            assert!(
                holds(&wanted, &read) || read.status.is_server_error(),
                "{}: acknowledged {wanted:?}, then read {} with {} bytes",
                entry.path,
                read.status,
                read.body.len()
            );
        }
        return Ok(None);
    }
    Ok(Some(format!("{} {}: {}", entry.path, answer.status, answer.text())))
}

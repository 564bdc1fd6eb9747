//! The acknowledgement oracle: what the server said that it keeps, noted outside of it, and compared afterwards.
//!
//! Each path has one writer at a time, so that its possible states are known: the last acknowledged one, or one of the
//! changes that were asked for after it and never answered with success.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use super::{Answer, Client, Random, bytes};

/// How long the load may take to be acknowledged.
const PATIENCE: Duration = Duration::from_secs(60);
/// Changes that the load makes at full speed beyond those that somebody waits for, and what each takes after that: what a
/// test keeps stays of a size that slow machines can handle, while the load goes on.
const AHEAD: u64 = 60;
const PACE: Duration = Duration::from_secs(1);

/// What a path holds: bytes of a seed and a size, or nothing.
type State = Option<(u64, usize)>;

struct Entry {
    path: String,
    acknowledged: State,
    possible: Vec<State>,
}

/// The paths of a test with what is known of each.
pub struct Ledger {
    writers: Vec<Arc<Mutex<Vec<Entry>>>>,
    acknowledged: Arc<AtomicU64>,
    goal: Arc<AtomicU64>,
    refused: Arc<std::sync::Mutex<Vec<String>>>,
    distrust: Arc<AtomicBool>,
    sizes: &'static [usize],
}

impl Ledger {
    /// A ledger for so many concurrent writers with so many paths each; documents have one of the sizes.
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

    /// How many changes were acknowledged so far.
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::Relaxed)
    }

    /// Waits until so many more changes are acknowledged.
    pub async fn wait_for(&self, more: u64) {
        let (goal, deadline) = (self.acknowledged() + more, Instant::now() + PATIENCE);
        self.goal.store(goal, Ordering::Relaxed);
        while self.acknowledged() < goal {
            assert!(Instant::now() < deadline, "the load stands still; refused so far: {:#?}", self.refused());
            // sleep: the count is asked for, nothing tells of it
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// From now on until the next start nothing counts as acknowledged: where power is really cut, no answer comes out any
    /// more, but a file system that is being cut off may still tell a flush that it succeeded.
    pub fn distrust(&self) {
        self.distrust.store(true, Ordering::SeqCst);
    }

    /// The changes that were answered with an error since the last call: status and text.
    pub fn refused(&self) -> Vec<String> {
        std::mem::take(&mut self.refused.lock().unwrap())
    }

    /// Uploads, replaces and deletes with all writers at once until told to stop, or until the server is gone.
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
                    if acknowledged.load(Ordering::Relaxed) > goal.load(Ordering::Relaxed) + AHEAD {
                        // sleep: the pace of a load that nobody waits for
                        tokio::time::sleep(PACE).await;
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

    /// Does so many changes, one after the other.
    ///
    /// Goes on after an error answer; ends early when the server is gone.
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

    /// Reads every path: each holds what was acknowledged, or, whole, what was asked for after that and not answered with
    /// success. On a server that was started since, what is found is what must be found from now on; on one that still
    /// runs, a change whose outcome is unknown may also come to light later.
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

/// Asks for one change of a path: None when it was acknowledged, else the answer; an error when none came.
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
        // Some contents come again and again, under several names and from several writers at once.
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
        // What was acknowledged is seen by the next read.
        if random.below(8) == 0 {
            let read = client.get(&entry.path).await?;
            // A server that is being killed, or whose disk is gone, may refuse; it may not deliver anything else.
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

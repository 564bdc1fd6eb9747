//! Sends the load: threads with their own event loops, each with its share of the users. Knows no report.

mod pace;
mod worker;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::header::{HeaderName, SERVER};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use crate::corpus::Corpus;
use crate::error::{Error, Result};
use crate::measure::Flush;
use crate::operations::{self, Operation, Share};
use crate::plan::{Load, Model, Plan};
use crate::thread::{on_own_thread, spawn};
use crate::wire::{Ask, Client, Kind, Login, Target, address};

/// What a run needs.
#[derive(Clone)]
pub struct Setup {
    /// The plan.
    pub plan: Arc<Plan>,
    /// Where the load goes.
    pub target: Arc<Target>,
    /// Servers that should be equal to it, which take their parts of the users.
    pub twins: Vec<Arc<Target>>,
    /// What lies there.
    pub corpus: Arc<Corpus>,
    /// A word that no other run uses in names.
    pub run: String,
    /// How users sign in who open pages; empty when all do with the login of the target.
    pub people: Arc<Vec<Login>>,
    /// Which of how many generators this is, from 0: each has its share of the users or of the rate.
    pub part: (u32, u32),
}

impl Setup {
    /// All servers that load goes to.
    pub fn servers(&self) -> impl Iterator<Item = &Arc<Target>> {
        std::iter::once(&self.target).chain(&self.twins)
    }
}

/// How many users go to each of so many servers, and how many each of so many agents has, when all are there.
pub fn spread(load: &Load, threads: u32, servers: usize, agents: usize) -> (Vec<u32>, Vec<u32>) {
    let (mut of_servers, mut of_agents) = (vec![0; servers], vec![0; agents]);
    let each = (threads as usize / agents.max(1)).max(1);
    for number in 0..load.most_users().max(threads) {
        of_servers[(number / threads) as usize % servers] += 1;
        if let Some(of_agent) = of_agents.get_mut((number % threads) as usize / each) {
            *of_agent += 1;
        }
    }
    if load.model == Model::Open {
        // Arrivals are dealt out evenly, whoever takes them.
        of_agents.fill(1);
    }
    (of_servers, of_agents)
}

/// What the users of a run can do: parts of the mix that the target offers.
#[derive(Clone)]
pub struct Mix {
    /// Operation and its part of the plan, in the order of results.
    pub parts: Vec<(&'static Operation, Share)>,
    /// Parts of the plan that the target does not offer.
    pub missing: Vec<Missing>,
}

/// A part of a plan that a target does not offer.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, PartialEq)]
pub struct Missing {
    /// What it is called in reports.
    pub label: String,
    /// Its share of the whole mix, 0 to 1.
    pub share: f64,
    /// What the target lacks.
    pub needs: String,
}

impl Mix {
    /// What of a plan a target offers.
    ///
    /// # Errors
    /// When that is nothing.
    pub async fn new(plan: &Plan, target: &Arc<Target>) -> Result<Self> {
        let describes = describes(target).await?;
        let all: f64 = plan.mix.iter().map(|share| share.weight).sum();
        let (mut parts, mut missing) = (Vec::new(), Vec::new());
        for share in &plan.mix {
            let offered = operations::find(&share.operation).filter(|found| found.offered_by.contains(&target.kind));
            match offered {
                Some(operation) if operation.describes && !describes => missing.push(Missing {
                    label: share.label(),
                    share: share.weight / all,
                    needs: "PROPFIND".to_owned(),
                }),
                Some(operation) => parts.push((operation, share.clone())),
                None => missing.push(Missing {
                    label: share.label(),
                    share: share.weight / all,
                    needs: operations::not_built(&share.operation).unwrap_or("pages and REST of Strongroom").to_owned(),
                }),
            }
        }
        if parts.is_empty() {
            return Err(Error::new("the target offers nothing of what the plan does"));
        }
        Ok(Self { parts, missing })
    }
}

/// Longest time of an answer to a question about the target itself.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a target says of its version; nothing when it does not, or not at once.
pub async fn version(target: &Arc<Target>) -> String {
    const PATIENCE: Duration = Duration::from_secs(5);
    let target = target.clone();
    let asking = on_own_thread(move || async move {
        let mut client = Client::new(target.clone());
        let path = match target.kind {
            Kind::Strongroom => "/api/openapi.json".to_owned(),
            Kind::Webdav => address::content(&target, ""),
        };
        let answer = tokio::time::timeout(PATIENCE, client.send(Ask::get(path))).await.ok()?.ok()?;
        if target.kind == Kind::Strongroom {
            let described = answer.json().ok()?;
            return Some(format!("Strongroom {}", described["info"]["version"].as_str()?));
        }
        answer.headers.get(SERVER)?.to_str().ok().map(str::to_owned)
    });
    asking.await.ok().flatten().unwrap_or_default()
}

/// Whether a target says what its documents are: some take files by WebDAV and answer no PROPFIND.
async fn describes(target: &Arc<Target>) -> Result<bool> {
    /// A status that says that there is no such method.
    const NO_SUCH_METHOD: [u16; 3] = [400, 405, 501];
    if target.kind != Kind::Webdav {
        return Ok(true);
    }
    let target = target.clone();
    on_own_thread(move || async move {
        let path = address::content(&target, "");
        let ask = Ask::new(address::method("PROPFIND"), path).with(HeaderName::from_static("depth"), "0");
        let url = target.url.clone();
        let answer = tokio::time::timeout(PATIENCE, Client::new(target).send(ask)).await;
        let answer = answer.map_err(|_| Error::new(format!("{url} does not answer")))?;
        let answer = answer.map_err(|fault| Error::new(fault.message))?;
        Ok(!NO_SUCH_METHOD.contains(&answer.status.as_u16()))
    })
    .await?
}

/// A run that goes on.
pub struct Running {
    stop: Arc<AtomicBool>,
    threads: Vec<oneshot::Receiver<()>>,
}

impl Running {
    /// Lets no operation begin any more.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Waits until everything has ended, at most as long as one operation may take.
    pub async fn ended(self) {
        for thread in self.threads {
            // A thread that ended without a word has ended, too.
            let _ = thread.await;
        }
    }
}

/// Starts a run; what is measured goes to `to`.
///
/// # Errors
/// When threads cannot be started.
pub fn start(setup: &Setup, mix: &Mix, to: &UnboundedSender<Flush>) -> Result<Running> {
    raise_limit();
    let stop = Arc::new(AtomicBool::new(false));
    let threads = u32::try_from(setup.plan.load.threads).unwrap_or(1);
    let mut ends = Vec::new();
    let begin = std::time::Instant::now() + Duration::from_millis(20);
    for index in 0..threads {
        let (done, end) = oneshot::channel();
        let part = (setup.part.0 * threads + index, setup.part.1 * threads);
        let worker =
            worker::Worker { setup: setup.clone(), mix: mix.clone(), part, begin, stop: stop.clone(), to: to.clone() };
        spawn(&format!("lab-{index}"), move || worker.run(), done)?;
        ends.push(end);
    }
    Ok(Running { stop, threads: ends })
}

/// Each user has a connection: as many open files as the system allows.
fn raise_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where it may not be raised, connections fail later and say so.
    let _ = setrlimit(Resource::Nofile, limit);
}

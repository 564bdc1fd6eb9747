//! One thread of the generator with its users.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedSender;
use tokio::task::LocalSet;
use tokio::time::{sleep, sleep_until, timeout};

use super::mix::Mix;
use super::pace::{Arrivals, random_pause};
use super::setup::Setup;
use crate::measure::{Flush, Recorder};
use crate::operations::{Share, SharedUserState, User, Work};
use crate::plan::{LoadCurve, Model};
use crate::wire::{Fault, FaultKind, Target, WireCounts};

/// Interval at which a thread checks how late its timers are.
const TICK: Duration = Duration::from_millis(10);
/// Pause of a user after a failed connection attempt, so that an unreachable target is not retried in a tight loop.
const RECONNECT_DELAY: Duration = Duration::from_millis(100);

/// Input of a generator thread.
pub struct Worker {
    pub setup: Setup,
    pub mix: Mix,
    /// Index of this thread, and the number of threads on all machines.
    pub part: (u32, u32),
    pub begin: Instant,
    pub stop: Arc<AtomicBool>,
    pub to: UnboundedSender<Flush>,
}

/// State shared by the users of a thread.
struct WorkerState {
    mix: Mix,
    sum: f64,
    course: LoadCurve,
    begin: Instant,
    stop: Arc<AtomicBool>,
    recorder: RefCell<Recorder>,
    arrivals: Option<Arrivals>,
    setup: Setup,
    busy: Cell<u32>,
}

impl Worker {
    /// Runs the users of this thread until the course is over and the last operation has ended.
    pub async fn run(self) {
        let Self { setup, mix, part: (index, of), begin, stop, to } = self;
        let load = &setup.plan.load;
        let course = load.course();
        let open = load.model == Model::Open;
        let arrivals = open.then(|| Arrivals::new(course.clone().scaled(1.0 / f64::from(of))));
        let crowd = |target: &Arc<Target>| {
            let (corpus, run, people) = (setup.corpus.clone(), setup.run.clone(), setup.people.clone());
            SharedUserState::new(target.clone(), corpus, run, people, setup.searchable)
        };
        let crowds: Vec<Rc<SharedUserState>> = setup.servers().map(crowd).collect();
        let users = if open { load.most_users().max(of) } else { load.most_users() };
        let floor = Rc::new(WorkerState {
            sum: mix.parts.iter().map(|(_, share)| share.weight).sum(),
            recorder: RefCell::new(Recorder::new(mix.parts.len(), crowds.len())),
            mix,
            course,
            begin,
            stop,
            arrivals,
            setup: setup.clone(),
            busy: Cell::new(0),
        });
        let local = LocalSet::new();
        let tasks: Vec<_> = (index..users)
            .step_by(of as usize)
            .zip((0..crowds.len()).cycle())
            .map(|(number, server)| {
                local.spawn_local(run_user(User::new(crowds[server].clone(), number), server, floor.clone()))
            })
            .collect();
        let clock = local.spawn_local(tick(floor.clone(), to.clone()));
        local
            .run_until(async {
                for task in tasks {
                    // A user whose task failed has ended as well.
                    let _ = task.await;
                }
                let _ = clock.await;
            })
            .await;
        let last = floor.recorder.borrow_mut().flush(None, 0);
        // The receiver may be gone.
        let _ = to.send(last);
    }
}

impl WorkerState {
    fn now(&self) -> Duration {
        Instant::now().saturating_duration_since(self.begin)
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.now() >= self.course.lasts()
    }

    fn pick(&self, random: &mut fastrand::Rng) -> usize {
        let mut drawn = random.f64() * self.sum;
        for (at, (_, share)) in self.mix.parts.iter().enumerate() {
            drawn -= share.weight;
            if drawn < 0.0 {
                return at;
            }
        }
        self.mix.parts.len() - 1
    }

    /// Waits until a time of the course. Returns false if the run ends first.
    async fn wait(&self, until: Duration) -> bool {
        const SLICE: Duration = Duration::from_millis(500);
        while !self.is_over() {
            let left = until.saturating_sub(self.now());
            if left.is_zero() {
                return true;
            }
            if left <= SLICE {
                sleep_until((self.begin + until).into()).await;
            } else {
                // Sleeps in slices, because the run may be stopped meanwhile.
                sleep(SLICE).await;
            }
        }
        false
    }
}

/// Hands over the counts once a second. In between, measures how late the timers are.
async fn tick(floor: Rc<WorkerState>, to: UnboundedSender<Flush>) {
    sleep_until(floor.begin.into()).await;
    let last = floor.course.lasts().as_secs_f64().ceil() as u64;
    for second in 0..last {
        let until = (floor.begin + Duration::from_secs(second + 1)).min(floor.begin + floor.course.lasts());
        let mut next = Instant::now() + TICK;
        while next < until && !floor.stop.load(Ordering::Relaxed) {
            sleep_until(next.into()).await;
            let now = Instant::now();
            floor.recorder.borrow_mut().late(now.saturating_duration_since(next));
            next = now + TICK;
        }
        if floor.stop.load(Ordering::Relaxed) {
            return;
        }
        sleep_until(until.into()).await;
        let flush = floor.recorder.borrow_mut().flush(Some(second), floor.busy.get());
        if to.send(flush).is_err() {
            return;
        }
    }
}

/// Simulates one user on one of the servers.
async fn run_user(mut user: User, server: usize, floor: Rc<WorkerState>) {
    let load = floor.setup.plan.load.clone();
    let number = f64::from(user.number);
    // Random delay, so that the users do not all start at once.
    let spread = load.pace.unwrap_or(load.think).0;
    let mut next = spread.mul_f64(user.random.f64());
    sleep_until(floor.begin.into()).await;
    loop {
        let intended = if let Some(arrivals) = &floor.arrivals {
            arrivals.next()
        } else {
            floor.course.next_above(number, floor.now().max(next))
        };
        let Some(intended) = intended else { return };
        if load.fresh {
            user.reset();
        }
        let at = floor.pick(&mut user.random);
        let (operation, share) = &floor.mix.parts[at];
        let begun = Instant::now();
        // The operation is prepared during the pause, or shortly before its arrival is due.
        if intended.saturating_sub(floor.now()) > Duration::from_secs(2)
            && !floor.wait(intended - Duration::from_secs(1)).await
        {
            return;
        }
        let prepared = with_timeout(load.timeout.0, &mut user, operation.prepare, share).await;
        let early = floor.now() < intended;
        if !floor.wait(intended).await {
            return;
        }
        let now = floor.now();
        // A user who is ready in time starts when the timer fires. With arrivals or a pace, the time of a late user
        // counts from the intended start, because a real user would have been kept waiting since then.
        let paced = floor.arrivals.is_some() || load.pace.is_some();
        let start = if early || !paced { now } else { intended };
        let (outcome, wire) = match prepared {
            Err(fault) => (Err(fault), WireCounts::default()),
            Ok(()) => {
                let before = user.client.counted;
                floor.busy.set(floor.busy.get() + 1);
                let outcome = with_timeout(load.timeout.0, &mut user, operation.run, share).await;
                floor.busy.set(floor.busy.get() - 1);
                (outcome, difference(user.client.counted, before))
            }
        };
        let unreachable = matches!(&outcome, Err(fault) if fault.kind == FaultKind::Connect);
        let end = floor.now();
        floor.recorder.borrow_mut().ended(at, server, end.saturating_sub(start), outcome, wire);
        if unreachable {
            sleep(RECONNECT_DELAY).await;
        }
        next = match load.pace {
            Some(pace) => intended + random_pause(pace.0, &mut user.random),
            None if load.think.0.is_zero() => Duration::ZERO,
            None => end + random_pause(load.think.0, &mut user.random),
        };
        if begun.elapsed().is_zero() {
            tokio::task::yield_now().await;
        }
    }
}

type OperationStep = for<'a> fn(&'a mut User, &'a Share) -> Work<'a>;

async fn with_timeout(most: Duration, user: &mut User, step: OperationStep, share: &Share) -> Result<(), Fault> {
    match timeout(most, step(user, share)).await {
        Ok(outcome) => outcome,
        Err(_) => {
            user.client.disconnect();
            Err(Fault::new(
                FaultKind::Timeout,
                format!("{} took longer than {} s", share.operation, most.as_secs_f64()),
            ))
        }
    }
}

fn difference(after: WireCounts, before: WireCounts) -> WireCounts {
    WireCounts {
        requests: after.requests - before.requests,
        sent: after.sent - before.sent,
        received: after.received - before.received,
    }
}

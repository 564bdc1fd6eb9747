//! Supervises one child from start to end. The supervising thread starts the child and waits for its answer and its
//! end. It kills the child with its whole process group if necessary, and reaps it. The task and the user behind the
//! child are not known here.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, test_kill_process_group};

use super::usage;

/// Time that killed descendants of a child may take to disappear, and the polling interval.
const LEAVING: Duration = Duration::from_secs(1);
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// Interval between two looks at what a child uses in all.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// The command for a child, and its limits.
pub struct ChildCommand {
    pub program: PathBuf,
    pub words: Vec<OsString>,
    pub input: Input,
    /// Limit on the bytes of the answer.
    pub answer: usize,
    /// Time limit.
    pub time: Duration,
    /// The directory that the child and its descendants write to, and the limits on what they use in all.
    pub share: Option<Share>,
}

/// A directory, and limits on all processes that write to it.
pub struct Share {
    pub place: PathBuf,
    /// Limit on the bytes in the directory.
    pub disk: u64,
    /// Limit on the resident memory of all processes, in bytes.
    pub memory: u64,
}

/// Standard input of a child.
pub enum Input {
    /// An open file.
    File(File),
    /// A pipe that carries no data and closes when this process ends.
    Life,
}

/// The way in which a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildEnd {
    /// It ended by itself, successfully.
    Done,
    /// It exited with a failure, died from a signal, or its answer was too long.
    Failed,
    /// It was killed: at its deadline, by its limit on processor time, or because the caller stopped waiting.
    Killed,
}

impl ChildEnd {
    /// The label in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Killed => "killed",
        }
    }
}

/// The outcome of a child.
pub struct ChildOutcome {
    pub ended: ChildEnd,
    pub answer: Vec<u8>,
    /// Exit code or signal, for the log.
    pub status: String,
}

/// Runs a child. Kills it when the other end of the pipe `left` is closed.
pub fn supervise(mut order: ChildCommand, left: &OwnedFd) -> io::Result<ChildOutcome> {
    let mut command = Command::new(&order.program);
    command.args(&order.words).env_clear().current_dir("/").stdout(Stdio::piped()).stderr(Stdio::null());
    match std::mem::replace(&mut order.input, Input::Life) {
        Input::File(file) => command.stdin(file),
        Input::Life => command.stdin(Stdio::piped()),
    };
    let mut child = SupervisedChild { child: command.spawn()?, gone: false };
    let deadline = Instant::now() + order.time;
    let mut answer = Vec::new();
    let in_time = listen(&mut child.child, left, deadline, &order, &mut answer)?;
    let status = child.end()?;
    let ended = match (in_time, status.signal()) {
        (false, _) => ChildEnd::Killed,
        (true, Some(signal)) if signal == Signal::XCPU.as_raw() => ChildEnd::Killed,
        (true, None) if status.success() && answer.len() <= order.answer => ChildEnd::Done,
        _ => ChildEnd::Failed,
    };
    Ok(ChildOutcome { ended, answer, status: status.to_string() })
}

/// Reads the answer until the child has ended or used too much. Returns whether that was in time.
fn listen(
    child: &mut Child,
    left: &OwnedFd,
    deadline: Instant,
    order: &ChildCommand,
    answer: &mut Vec<u8>,
) -> io::Result<bool> {
    let over = pidfd_open(pid(child)?, PidfdFlags::empty())?;
    let mut said = child.stdout.take();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let rest = deadline.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            return Ok(false);
        }
        let rest = if order.share.is_some() { rest.min(LOOK_INTERVAL) } else { rest };
        let rest = Timespec { tv_sec: rest.as_secs().cast_signed(), tv_nsec: rest.subsec_nanos().into() };
        let mut sources = vec![PollFd::new(left, PollFlags::IN), PollFd::new(&over, PollFlags::IN)];
        sources.extend(said.as_ref().map(|said| PollFd::new(said, PollFlags::IN)));
        match poll(&mut sources, Some(&rest)) {
            Ok(0) => {
                let uses_too_much = order.share.as_ref().is_some_and(|share| is_exceeded(share, child.id()));
                if uses_too_much {
                    return Ok(true);
                }
                continue;
            }
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        let ready: Vec<bool> = sources.iter().map(|source| !source.revents().is_empty()).collect();
        if ready[0] {
            return Ok(false);
        }
        if let (Some(pipe), Some(true)) = (&mut said, ready.get(2)) {
            match pipe.read(&mut buffer)? {
                // End of the output. A descendant may hold the pipe open longer, so only the end of the child itself
                // counts.
                0 => said = None,
                count => answer.extend_from_slice(&buffer[..count]),
            }
            if answer.len() > order.answer {
                return Ok(true);
            }
        } else if ready[1] {
            return Ok(true);
        }
    }
}

/// Returns whether the processes of a group use more than their share.
fn is_exceeded(share: &Share, group: u32) -> bool {
    usage::bytes_below(&share.place, share.disk) > share.disk || usage::resident(group) > share.memory
}

fn pid(child: &Child) -> io::Result<Pid> {
    Pid::from_raw(child.id().cast_signed())
        .ok_or_else(|| io::Error::other("the child process has no process identifier"))
}

/// A child that is killed and reaped on every exit path.
struct SupervisedChild {
    child: Child,
    gone: bool,
}

impl SupervisedChild {
    /// Kills the child and everything that it started, and waits until they are gone. The process identifier stays
    /// valid until the child is reaped.
    fn end(&mut self) -> io::Result<ExitStatus> {
        let leader = pid(&self.child)?;
        // Fails if the child has not yet become a group leader.
        let _ = kill_process_group(leader, Signal::KILL);
        // The process may already have exited.
        let _ = self.child.kill();
        let status = self.child.wait()?;
        self.gone = true;
        // The descendants have been killed, and belong to the group until they are reaped.
        let patient = Instant::now() + LEAVING;
        let group = self.child.id();
        while test_kill_process_group(leader).is_ok() && usage::is_alive(group) && Instant::now() < patient {
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok(status)
    }
}

impl Drop for SupervisedChild {
    fn drop(&mut self) {
        if !self.gone {
            // The first error is the one that gets reported.
            let _ = self.end();
        }
    }
}

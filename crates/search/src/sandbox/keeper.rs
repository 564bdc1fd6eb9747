//! Keeps one child from its start to its end: the thread that starts it waits for its answer and its end, ends it with its whole group when it
//! has to, and takes note of its end. Knows neither what it does nor for whom.

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

/// How long those that a child started may take to leave, once they are killed, and how often that is looked at.
const LEAVING: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(2);

/// What to start.
pub struct Order {
    pub program: PathBuf,
    pub words: Vec<OsString>,
    pub input: Input,
    /// Most bytes of the answer.
    pub answer: usize,
    /// The most time.
    pub time: Duration,
}

/// What the child has for its standard input.
pub enum Input {
    /// A file that is open.
    File(File),
    /// A pipe that says nothing and ends when we do.
    Life,
}

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself and without a fault.
    Well,
    /// By itself with a fault, by a signal, or with too long an answer.
    Badly,
    /// It was ended at its deadline, by us or by its limit on processor time, or because nobody waits for it.
    TooLong,
}

impl Ended {
    /// The word of metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Well => "done",
            Self::Badly => "failed",
            Self::TooLong => "killed",
        }
    }
}

/// What came of a child.
pub struct Outcome {
    pub ended: Ended,
    pub answer: Vec<u8>,
    /// Exit code or signal, for the log.
    pub status: String,
}

/// Runs a child; ends it when the other end of `left` is closed.
pub fn keep(order: Order, left: &OwnedFd) -> io::Result<Outcome> {
    let mut command = Command::new(&order.program);
    command.args(&order.words).env_clear().current_dir("/").stdout(Stdio::piped()).stderr(Stdio::null());
    match order.input {
        Input::File(file) => command.stdin(file),
        Input::Life => command.stdin(Stdio::piped()),
    };
    let mut child = Kept { child: command.spawn()?, gone: false };
    let deadline = Instant::now() + order.time;
    let mut answer = Vec::new();
    let in_time = listen(&mut child.child, left, deadline, order.answer, &mut answer)?;
    let status = child.end()?;
    let ended = match (in_time, status.signal()) {
        (false, _) => Ended::TooLong,
        (true, Some(signal)) if signal == Signal::XCPU.as_raw() => Ended::TooLong,
        (true, None) if status.success() && answer.len() <= order.answer => Ended::Well,
        _ => Ended::Badly,
    };
    Ok(Outcome { ended, answer, status: status.to_string() })
}

/// Takes the answer until the child has ended; tells whether it ended in time.
fn listen(child: &mut Child, left: &OwnedFd, deadline: Instant, most: usize, answer: &mut Vec<u8>) -> io::Result<bool> {
    let over = pidfd_open(pid(child)?, PidfdFlags::empty())?;
    let mut said = child.stdout.take();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let rest = deadline.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            return Ok(false);
        }
        let rest = Timespec { tv_sec: rest.as_secs().cast_signed(), tv_nsec: rest.subsec_nanos().into() };
        let mut sources = vec![PollFd::new(left, PollFlags::IN), PollFd::new(&over, PollFlags::IN)];
        sources.extend(said.as_ref().map(|said| PollFd::new(said, PollFlags::IN)));
        match poll(&mut sources, Some(&rest)) {
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
                // What it left behind may hold the pipe; what counts is its own end.
                0 => said = None,
                count => answer.extend_from_slice(&buffer[..count]),
            }
            if answer.len() > most {
                return Ok(true);
            }
        } else if ready[1] {
            return Ok(true);
        }
    }
}

fn pid(child: &Child) -> io::Result<Pid> {
    Pid::from_raw(child.id().cast_signed()).ok_or_else(|| io::Error::other("a process without a number"))
}

/// A child that is not forgotten on any way out.
struct Kept {
    child: Child,
    gone: bool,
}

impl Kept {
    /// Ends it and all that it started, and waits until they are gone. Its number belongs to it until then.
    fn end(&mut self) -> io::Result<ExitStatus> {
        let leader = pid(&self.child)?;
        // It may not have got so far as to lead a group.
        let _ = kill_process_group(leader, Signal::KILL);
        // It may have ended by itself.
        let _ = self.child.kill();
        let status = self.child.wait()?;
        self.gone = true;
        // The others are told to end, and are of the group until they have.
        let patient = Instant::now() + LEAVING;
        while test_kill_process_group(leader).is_ok() && Instant::now() < patient {
            std::thread::sleep(LOOK);
        }
        Ok(status)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if !self.gone {
            // What went wrong first is told.
            let _ = self.end();
        }
    }
}

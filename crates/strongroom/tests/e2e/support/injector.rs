//! Injection of failures and delays into system calls of a running server.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::Server;

/// A running strace that is attached to a server and tampers with one kind of system call.
pub struct Injector {
    strace: Child,
    log: PathBuf,
}

impl Injector {
    /// Makes calls fail from now on, as selected by strace's `when` expression. With paths, only calls on these paths
    /// fail.
    pub fn attach(server: &Server, calls: &str, error: &str, when: &str, paths: &[PathBuf], log: &Path) -> Self {
        Self::with(server, calls, &format!("error={error}:when={when}"), paths, log)
    }

    /// Delays each call on these paths from now on.
    pub fn delay(server: &Server, calls: &str, time: Duration, paths: &[PathBuf], log: &Path) -> Self {
        Self::with(server, calls, &format!("delay_enter={}", time.as_micros()), paths, log)
    }

    fn with(server: &Server, calls: &str, fault: &str, paths: &[PathBuf], log: &Path) -> Self {
        let inject = format!("inject={calls}:{fault}");
        // A thread that is just starting a child process cannot be stopped before the child has started, and strace may
        // have stopped that child. Then it waits for ever, until it is killed and the kernel resumes both.
        for _ in 0..4 {
            let mut strace = Command::new("strace")
                .args(["-f", "-y", "-Y", "-e", &format!("trace={calls}"), "-e", &inject, "-o"])
                .arg(log)
                .args(["-p", &server.pid().to_string()])
                .args(paths.iter().flat_map(|path| [Path::new("-P"), path.as_path()]))
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap_or_else(|error| panic!("strace does not start: {error}"));
            let deadline = Instant::now() + Duration::from_secs(10);
            // All threads must be traced before the load starts, or a fault could be missed.
            while !all_traced(server.pid()) && Instant::now() < deadline {
                assert!(strace.try_wait().unwrap().is_none(), "strace may not trace the server {}", server.pid());
                // sleep: polled, since strace attaches without a notification
                std::thread::sleep(Duration::from_millis(2));
            }
            if all_traced(server.pid()) {
                return Self { strace, log: log.to_path_buf() };
            }
            strace.kill().unwrap();
            strace.wait().unwrap();
        }
        panic!("strace does not attach to the server {}", server.pid());
    }

    /// Detaches from the server and returns the calls that failed.
    pub fn detach(mut self) -> Vec<String> {
        let pid = rustix::process::Pid::from_raw(self.strace.id() as i32).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        // strace can wait forever for a thread that itself waits for a child stopped by strace. When strace is killed,
        // the kernel resumes both.
        let deadline = Instant::now() + Duration::from_secs(5);
        while self.strace.try_wait().unwrap().is_none() {
            if Instant::now() > deadline {
                self.strace.kill().unwrap();
                self.strace.wait().unwrap();
                break;
            }
            // sleep: polled, since a process exits without a notification
            std::thread::sleep(Duration::from_millis(2));
        }
        let text = std::fs::read_to_string(&self.log).unwrap();
        text.lines()
            .filter(|line| ["(INJECTED)", "(DELAYED)"].iter().any(|mark| line.contains(mark)))
            .map(str::to_owned)
            .collect()
    }
}

fn all_traced(pid: u32) -> bool {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    tasks.filter_map(Result::ok).all(|task| {
        let status = std::fs::read_to_string(task.path().join("status")).unwrap_or_default();
        !status.lines().any(|line| line == "TracerPid:\t0")
    })
}

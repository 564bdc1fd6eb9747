//! Makes system calls of a running server fail or wait.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::Server;

/// strace on a running server, which tampers with calls of one kind.
pub struct Injector {
    strace: Child,
    log: PathBuf,
}

impl Injector {
    /// Has calls fail, from now on, at the times that strace calls `when`; where paths are given, those on them alone.
    pub fn attach(server: &Server, calls: &str, error: &str, when: &str, paths: &[PathBuf], log: &Path) -> Self {
        Self::with(server, calls, &format!("error={error}:when={when}"), paths, log)
    }

    /// Has each call on these paths wait from now on, for so long before it is made.
    pub fn delay(server: &Server, calls: &str, time: Duration, paths: &[PathBuf], log: &Path) -> Self {
        Self::with(server, calls, &format!("delay_enter={}", time.as_micros()), paths, log)
    }

    fn with(server: &Server, calls: &str, fault: &str, paths: &[PathBuf], log: &Path) -> Self {
        let inject = format!("inject={calls}:{fault}");
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
        let status = format!("/proc/{}/status", server.pid());
        let deadline = Instant::now() + Duration::from_secs(20);
        // Every thread is traced before the load begins, or a fault could miss it.
        while !all_traced(server.pid()) {
            assert!(strace.try_wait().unwrap().is_none(), "strace may not trace the server ({status})");
            assert!(Instant::now() < deadline, "strace does not attach to the server ({status})");
            // sleep: attaching is asked for, nothing tells of it
            std::thread::sleep(Duration::from_millis(2));
        }
        Self { strace, log: log.to_path_buf() }
    }

    /// Lets the server go and returns the calls that were made to fail.
    pub fn detach(mut self) -> Vec<String> {
        let pid = rustix::process::Pid::from_raw(self.strace.id() as i32).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        // strace can wait for ever: for a thread that waits for a child which strace itself has stopped. When strace is
        // killed, the system lets both go on.
        let deadline = Instant::now() + Duration::from_secs(5);
        while self.strace.try_wait().unwrap().is_none() {
            if Instant::now() > deadline {
                self.strace.kill().unwrap();
                self.strace.wait().unwrap();
                break;
            }
            // sleep: the end of a process is asked for, nothing tells of it
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

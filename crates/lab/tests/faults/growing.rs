//! Memory of a server in a process of its own: this test program, started a second time.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};

use lab::{Problem as Found, RunOptions, RunResult};

use crate::server::{Misbehaviour, Server};
use crate::{plan, troubles, webdav};

/// Behaviour of the server. If this variable is set, the test below acts as a server.
const TROUBLE: &str = "LAB_TEST_TROUBLE";

struct Process {
    child: Child,
    url: String,
    /// Kept open: the test harness of the child reports a long-running test on its output, and ends if it cannot.
    _lines: Lines<BufReader<ChildStdout>>,
}

impl Process {
    fn start(trouble: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "growing::a_process_of_its_own", "--nocapture", "--ignored"]).env(TROUBLE, trouble);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let url = lines.find_map(|line| line.unwrap().strip_prefix("serving ").map(str::to_owned)).unwrap();
        Self { child, url, _lines: lines }
    }

    /// Returns the name of the process in the kernel.
    fn name(&self) -> String {
        let name = std::fs::read_to_string(format!("/proc/{}/comm", self.child.id())).unwrap();
        name.trim_end().to_owned()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[tokio::test]
#[ignore = "a server for the test below"]
async fn a_process_of_its_own() {
    let Ok(trouble) = std::env::var(TROUBLE) else { return };
    let server = Server::start(if trouble == "grows" { Misbehaviour::Grows } else { Misbehaviour::None }).await;
    server.begin();
    println!("\nserving {}", server.url());
    // Waits until the parent process kills this one, or has ended itself.
    tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new())).await.unwrap().unwrap();
}

async fn watched(trouble: &str) -> (String, RunResult) {
    let process = Process::start(trouble);
    let load = "users = 4\nthink = '20ms'\nwarmup = '2s'\nduration = '46s'";
    let monitor = format!("[[monitors]]\nkind = 'machine'\nprocesses = ['{}']\n", process.name());
    let wishes = RunOptions { target: Some(process.url.clone()), changes: webdav(), ..RunOptions::default() };
    let result = lab::run(&(plan(load) + &monitor), &wishes, |_| {}).await.unwrap();
    (process.child.id().to_string(), result)
}

/// Both processes are monitored by name, and have the same name. The finding names the growing one by its process ID.
#[tokio::test]
async fn a_process_that_keeps_what_it_should_let_go_is_named() {
    let ((growing, result), (steady, _)) = tokio::join!(watched("grows"), watched("nothing"));
    let growth: Vec<_> = result.findings.iter().filter(|finding| finding.trouble == Found::Growth).collect();
    let memory = |name: &&lab::Series| name.name.ends_with("memory, bytes");
    let seen: Vec<_> = result.monitors.iter().filter(memory).collect();
    assert_eq!(growth.len(), 1, "{:?} {seen:?}", troubles(&result));
    let text = &growth[0].text;
    assert!(text.contains(&format!(" {growing}: memory")), "{text}");
    assert!(!text.contains(&format!(" {steady}: memory")), "{text}");
}

//! Runs of the lab against a server that misbehaves in known ways. Each problem must be found and named, and a healthy
//! server must not be blamed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must fail, with the reason")]

mod agents;
mod growing;
mod hostile;
mod server;

use lab::{Event, PlanOverrides, Problem as Found, RunOptions, RunResult, TargetKind};
use server::{Misbehaviour, Server};

const PLAN: &str = r#"
name = "small"
thresholds = ["errors < 1%"]
[corpus]
folders = 2
files = [{ size = "2KB", count = 40 }]
[load]
LOAD
[[mix]]
operation = "download"
weight = 9
[[mix]]
operation = "upload"
weight = 1
"#;

fn webdav() -> PlanOverrides {
    PlanOverrides { kind: Some(TargetKind::Webdav), ..PlanOverrides::default() }
}

fn plan(load: &str) -> String {
    PLAN.replace("LOAD", load)
}

/// Limits on the runs of one test, and on the lateness of the generator's timers in milliseconds. If the timers were
/// later, this machine had no time for the run, and the run is repeated.
const RUNS: u32 = 5;
const LATE: f64 = 10.0;

async fn run(trouble: Misbehaviour, load: &str) -> RunResult {
    run_on(&[trouble], load).await
}

/// Runs the plan on several servers that should be equal.
async fn run_on(troubles: &[Misbehaviour], load: &str) -> RunResult {
    let mut runs = 0;
    loop {
        let mut servers = Vec::new();
        for trouble in troubles {
            servers.push(Server::start(*trouble).await);
        }
        let twins = servers[1..].iter().map(Server::url).collect();
        let wishes = RunOptions { target: Some(servers[0].url()), twins, changes: webdav(), ..RunOptions::default() };
        let begin = |event| {
            if matches!(event, Event::Begins(_)) {
                servers.iter().for_each(Server::begin);
            }
        };
        let result = lab::run(&plan(load), &wishes, begin).await.unwrap();
        runs += 1;
        if result.generator.lag < LATE || runs == RUNS {
            return result;
        }
        eprintln!("once more: timers were {:.1} ms late", result.generator.lag);
    }
}

fn troubles(result: &RunResult) -> Vec<Found> {
    result.findings.iter().map(|finding| finding.trouble).collect()
}

const STEADY: &str = "users = 8\nthink = '20ms'\nwarmup = '1s'\nduration = '14s'";

#[tokio::test]
async fn a_server_that_behaves_well_is_not_blamed() {
    let result = run(Misbehaviour::None, STEADY).await;
    assert_eq!(troubles(&result), [], "{:?}", result.findings);
    assert_eq!((result.total.failed, result.thresholds[0].passed), (0, true), "{:?}", result.faults);
    assert!(result.total.rate > 50.0, "{}", result.total.rate);
}

#[tokio::test]
async fn a_stall_is_found_with_its_time() {
    let result = run(Misbehaviour::Stops, STEADY).await;
    let stall = result.findings.iter().find(|finding| finding.trouble == Found::Stall).expect("a stall");
    let (from, to) = stall.seconds.unwrap();
    assert!((5..=7).contains(&from), "{stall:?}");
    assert!((7..=10).contains(&to), "{stall:?}");
    assert!(result.total.max > 1900.0, "{}", result.total.max);
}

#[tokio::test]
async fn an_open_load_does_not_forgive_a_stall() {
    let result =
        run(Misbehaviour::Stops, "model = 'open'\nrate = 200.0\nusers = 4\nwarmup = '1s'\nduration = '14s'").await;
    // The stall takes two of fourteen seconds: a seventh of the intended operations had to wait, on average for half of
    // the stall.
    assert!(result.total.p90 > 100.0, "{}", result.total.p90);
    assert!(result.total.p50 < 100.0, "{}", result.total.p50);
}

#[tokio::test]
async fn a_slow_path_is_found_with_its_share() {
    let result = run(Misbehaviour::SlowPath, STEADY).await;
    assert_eq!(troubles(&result), [Found::SlowPath], "{:?}", result.findings);
    assert_eq!(result.findings[0].operation.as_deref(), Some("download"));
}

#[tokio::test]
async fn a_decay_is_found_with_the_operation_that_brings_it() {
    let result = run(Misbehaviour::Leak, STEADY).await;
    assert_eq!(troubles(&result), [Found::Decay], "{:?}", result.findings);
    assert_eq!(result.findings[0].operation.as_deref(), Some("download"));
}

#[tokio::test]
async fn a_lock_is_found_by_raising_the_load() {
    let steps = "steps = [{ level = 4, for = '5s' }, { level = 16, for = '5s' }]";
    let result = run(Misbehaviour::Lock, steps).await;
    assert_eq!(troubles(&result), [Found::Scaling], "{:?}", result.findings);
}

#[tokio::test]
async fn a_twin_that_is_slower_is_found_and_equal_ones_are_not_blamed() {
    let result = run_on(&[Misbehaviour::None, Misbehaviour::Slow, Misbehaviour::None], STEADY).await;
    // Other effects of a busy machine on the run are ignored here.
    let unequal: Vec<_> = result.findings.iter().filter(|finding| finding.trouble == Found::Unequal).collect();
    assert_eq!(unequal.len(), 1, "{:?}", result.findings);
    assert!(!troubles(&result).contains(&Found::SlowPath), "{:?}", result.findings);
    assert!(unequal[0].text.contains(&format!("not: {}", result.servers[1].name)), "{}", unequal[0].text);
    assert_eq!(result.servers.iter().map(|server| server.users).collect::<Vec<_>>(), [3, 3, 2]);
    assert_eq!(result.servers.iter().map(|server| server.done).sum::<u64>(), in_time(&result));
    let page = lab::report::html(&result);
    assert!(page.contains("Servers"));
    assert!(page.contains(&result.servers[2].name));
    let equal = run_on(&[Misbehaviour::None, Misbehaviour::None], STEADY).await;
    assert!(!troubles(&equal).contains(&Found::Unequal), "{:?}", equal.findings);
}

/// Operations that succeeded within the counted seconds.
fn in_time(result: &RunResult) -> u64 {
    result.windows.iter().filter(|window| window.counted).map(|window| window.done).sum()
}

#[tokio::test]
async fn wrong_content_with_the_right_status_is_a_fault() {
    for trouble in [Misbehaviour::ErrorPage, Misbehaviour::Flips] {
        let result = run(trouble, "users = 4\nthink = '5ms'\nduration = '2s'").await;
        let faults = &result.faults;
        assert!(faults.iter().all(|fault| fault.operation == "download"), "{faults:?}");
        assert!((0.06..0.14).contains(&(result.total.errors() / 0.9)), "{}", result.total.errors());
        assert!(!result.passed());
        assert!(!result.thresholds[0].passed);
    }
}

#[tokio::test]
async fn a_target_that_closes_connections_is_counted_and_not_waited_for() {
    let result = run(Misbehaviour::Closes, "users = 4\nthink = '5ms'\nduration = '2s'").await;
    assert!(
        result.faults.iter().any(|fault| fault.first.contains("download") || fault.first.contains("GET")),
        "{:?}",
        result.faults
    );
    assert!(result.total.failed > 5, "{:?}", result.faults);
    assert!(result.total.done > 50, "{:?}", result.faults);
}

#[tokio::test]
async fn a_connection_that_was_not_used_may_be_closed_as_browsers_let_it() {
    let result = run(Misbehaviour::Closes, "users = 8\nthink = '2500ms'\nwarmup = '3s'\nduration = '9s'").await;
    assert!(result.total.done >= 20, "{:?}", result.faults);
    assert!(result.total.failed == 0, "{:?}", result.faults);
    assert!(result.total.requests > result.total.done, "none was asked again");
}

#[tokio::test]
async fn answers_that_never_end_are_given_up() {
    for trouble in [Misbehaviour::Drips, Misbehaviour::DripsHeads] {
        let started = std::time::Instant::now();
        let result = run(trouble, "users = 4\nfresh = true\ntimeout = '500ms'\nduration = '2s'").await;
        assert_eq!(result.total.done, 0);
        assert!(result.faults.iter().any(|fault| fault.first.contains("longer than 0.5 s")), "{:?}", result.faults);
        assert!(!result.valid);
        assert!(started.elapsed().as_secs() < 20);
    }
}

#[tokio::test]
async fn a_target_that_hangs_while_the_corpus_is_loaded_is_not_waited_for() {
    let server = Server::start(Misbehaviour::Hangs).await;
    let wishes = RunOptions { target: Some(server.url()), changes: webdav(), ..RunOptions::default() };
    let said = lab::run(&plan(STEADY), &wishes, |_| {}).await.map(drop).unwrap_err().to_string();
    assert!(said.contains("\"Lab 1-1\" was not answered within 20 s"), "{said}");
}

#[tokio::test]
async fn an_agent_that_says_nothing_is_lost_and_not_waited_for() {
    let server = Server::start(Misbehaviour::None).await;
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let agents = vec![silent.local_addr().unwrap().to_string()];
    let wishes = RunOptions { target: Some(server.url()), changes: webdav(), agents, ..RunOptions::default() };
    let said = lab::run(&plan(STEADY), &wishes, |_| {}).await.map(drop).unwrap_err().to_string();
    assert!(said.contains("no agent completed its part"), "{said}");
    assert!(said.contains("nothing arrived for 15 s"), "{said}");
}

#[test]
fn a_full_disk_is_said_and_leaves_no_half_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("small.json");
    std::fs::write(&path, "the result before").unwrap();
    // The file is written to a device that is always full.
    std::os::unix::fs::symlink("/dev/full", directory.path().join("small.part")).unwrap();
    let said = lab::report::write(&path, "another result").unwrap_err().to_string();
    assert!(said.contains("small.json"), "{said}");
    assert!(said.contains("No space left"), "{said}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "the result before");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "nothing else is left");
}

/// A jump of the wall clock changes the date of a report and nothing else: durations are measured with monotonic
/// clocks.
#[test]
fn nothing_is_measured_by_the_clock_on_the_wall() {
    fn sources(directory: &std::path::Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(directory).unwrap().map(Result::unwrap) {
            if entry.path().is_dir() {
                sources(&entry.path(), found);
            } else if std::fs::read_to_string(entry.path()).is_ok_and(|text| text.contains("SystemTime::now")) {
                found.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
    }
    let mut found = Vec::new();
    sources(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
    assert_eq!(found, ["run.rs"], "which writes down when the run began");
}

#[tokio::test]
async fn a_target_that_is_not_there_is_said_at_once() {
    // Nothing listens on a port that was just released.
    let port = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let wishes = RunOptions { target: Some(format!("http://127.0.0.1:{port}")), ..RunOptions::default() };
    let error = lab::run(&plan(STEADY), &wishes, |_| {}).await.unwrap_err().to_string();
    assert!(error.contains("no connection to http://127.0.0.1"), "{error}");
}

#[tokio::test]
async fn load_goes_only_where_the_plan_and_somebody_say_so() {
    let wishes =
        |confirmed| RunOptions { target: Some("http://192.0.2.1".to_owned()), confirmed, ..RunOptions::default() };
    let error = lab::run(&plan(STEADY), &wishes(true), |_| {}).await.unwrap_err().to_string();
    assert!(error.contains("does not name 192.0.2.1"), "{error}");
    let named = plan(STEADY).replace("[corpus]", "[target]\nhosts = ['192.0.2.1']\n[corpus]");
    let error = lab::run(&named, &wishes(false), |_| {}).await.unwrap_err().to_string();
    assert!(error.contains("--yes-this-is-mine"), "{error}");
    for (wrong, why) in [
        ("ftp://127.0.0.1", "must begin with http"),
        ("127.0.0.1", "must begin with http"),
        ("http://a:b@127.0.0.1", "--user"),
        ("http://127.0.0.1/dav", "--root"),
        ("http://127.0.0.1:99999", "65535"),
        ("http://[::1]:0", "65535"),
        ("http://127.0.0.1:", "65535"),
    ] {
        let wishes = RunOptions { target: Some(wrong.to_owned()), ..RunOptions::default() };
        let error = lab::run(&plan(STEADY), &wishes, |_| {}).await.unwrap_err().to_string();
        assert!(error.contains(why), "{wrong}: {error}");
    }
}

#[tokio::test]
async fn agents_together_do_what_one_does_and_one_that_is_lost_is_reported() {
    let server = Server::start(Misbehaviour::None).await;
    let token = "a word of agents";
    let mut agents = Vec::new();
    for _ in 0..2 {
        let (to, from) = tokio::sync::oneshot::channel();
        let listen = "127.0.0.1:0".parse().unwrap();
        let bound = move |address: std::net::SocketAddr| drop(to.send(address.to_string()));
        tokio::spawn(lab::agent::serve(listen, token.to_owned(), bound));
        agents.push(from.await.unwrap());
    }
    let text = plan("users = 8\nthink = '20ms'\nduration = '3s'") + "[[monitors]]\nkind = 'machine'\n";
    let mut wishes = RunOptions {
        target: Some(server.url()),
        changes: webdav(),
        agents: agents.clone(),
        agent_token: token.to_owned(),
        ..RunOptions::default()
    };
    let mut endings = 0;
    let together = lab::run(&text, &wishes, |event| endings += u32::from(matches!(event, Event::Ending)));
    let together = together.await.unwrap();
    assert_eq!(together.total.failed, 0, "{:?}", together.faults);
    assert_eq!(endings, 1);
    assert_eq!(together.generator.threads, 2);
    assert_eq!(together.agents.iter().map(|agent| agent.users).collect::<Vec<_>>(), [4, 4]);
    let machines = [String::new(), format!("{}: ", agents[0]), format!("{}: ", agents[1])];
    for name in machines.map(|place| format!("{place}machine: processors, %")) {
        let points =
            together.monitors.iter().find(|series| series.name == name).map_or(0, |series| series.points.len());
        assert!(points > 0, "{name} was not watched");
    }
    wishes.agents = Vec::new();
    let alone = lab::run(&text, &wishes, |_| {}).await.unwrap();
    let ratio = together.total.rate / alone.total.rate;
    assert!((0.7..1.4).contains(&ratio), "{} and {}", together.total.rate, alone.total.rate);

    wishes.agents = vec![agents[0].clone(), "127.0.0.1:1".to_owned()];
    let mut lost = Vec::new();
    let without = lab::run(&text, &wishes, |event| {
        if let Event::AgentLost(why) = event {
            lost.push(why);
        }
    });
    let without = without.await.unwrap();
    assert!(lost.len() == 1, "{lost:?}");
    assert!(lost[0].contains("127.0.0.1:1"), "{lost:?}");
    assert!(without.total.done > 0);
    assert!(!without.valid, "half of the load is not the plan's");
    let why = without.invalid_because.join("; ");
    assert!(why.contains("the agent 127.0.0.1:1 is lost after"), "{why}");
    wishes.stop_without_agent = true;
    let stopped = lab::run(&text, &wishes, |_| {}).await.unwrap();
    let why = stopped.invalid_because.join("; ");
    assert!(why.contains("it ended early: "), "{why}");
    assert!(why.contains("is lost"), "{why}");
}

#[tokio::test]
async fn what_cannot_be_watched_is_said_before_the_load() {
    let server = Server::start(Misbehaviour::None).await;
    let wishes = RunOptions { target: Some(server.url()), changes: webdav(), ..RunOptions::default() };
    let refused = async |monitor: &str| {
        let text = plan("users = 1\nduration = '2s'") + "[[monitors]]\n" + monitor;
        lab::run(&text, &wishes, |_| {}).await.map(drop).unwrap_err().to_string()
    };
    let said = refused("kind = 'machine'\non = ['127.0.0.1:1']").await;
    assert!(said.contains("the agent 127.0.0.1:1 cannot watch: no connection"), "{said}");
    let said = refused("kind = 'postgresql'\nconnection = 'host=127.0.0.1 port=1 dbname=main'").await;
    assert!(
        said.contains("port=1 dbname=main cannot be monitored") || said.contains("install PostgreSQL's client"),
        "{said}"
    );
    for told in ["postgresql://lab:secret@127.0.0.1/main", "host=127.0.0.1 password=secret"] {
        let said = refused(&format!("kind = 'postgresql'\nconnection = '{told}'")).await;
        assert!(said.contains("PGPASSWORD"), "{said}");
        assert!(!said.contains("secret"), "{said}");
    }
}

#[tokio::test]
async fn the_first_operations_are_measured_like_the_others() {
    let result = run(Misbehaviour::Slow, "users = 8\nduration = '2s'").await;
    let shortest = result.operations[0].latency.percentile(0.0);
    assert!(result.operations[0].label == "download", "{shortest}");
    assert!(shortest > 14.0, "{shortest}");
}

#[tokio::test]
async fn a_report_is_one_file_that_needs_nothing_else() {
    let result = run(Misbehaviour::None, "users = 2\nthink = '5ms'\nduration = '2s'").await;
    let directory = tempfile::tempdir().unwrap();
    let files = lab::report::save(&result, directory.path(), "small").unwrap();
    assert_eq!(files.len(), 3);
    let page = std::fs::read_to_string(directory.path().join("small.html")).unwrap();
    assert!(page.contains("uPlot"));
    assert!(!page.contains("src=\"http"));
    assert!(!page.contains("href=\"http"));
    let read = lab::report::read(&directory.path().join("small.json")).unwrap();
    assert_eq!(read.total.latency, result.total.latency);
    assert_eq!(read.windows, result.windows);
    let error = lab::report::read(&directory.path().join("small.md")).unwrap_err().to_string();
    assert!(error.contains("is not the result"), "{error}");
}

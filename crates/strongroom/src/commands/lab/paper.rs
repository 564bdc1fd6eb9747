//! `strongroom lab paper`: the same workload on a farm that keeps its documents in the database, and on one that keeps them
//! outside; each served by a process of its own from a scratch directory.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use clap::Args;
use lab::paper::{Paper as Described, Phase};
use model::{Error, Result};
use serde_json::json;

use super::failure::said;
use super::live::Live;
use super::run::file_name;
use crate::commands::output::show;

/// Documents smaller than this stay in the database, as in the papers.
const MINIMUM: &str = "1k";
/// How much lower the priority of its server is than that of the lab: 10 of 19.
const NICE: i32 = 10;
/// Characters of the password of a scratch farm.
const PASSWORD: usize = 32;

/// Which paper, how large.
#[derive(Args)]
pub struct Paper {
    /// rbs-2010, ebs-2007, rbs-2010-sp1, dms-2012 or web-tuning
    #[arg(value_name = "NAME")]
    name: String,
    /// The share of the paper's corpus; 0.001 of a terabyte is a gigabyte
    #[arg(long, default_value_t = 0.001)]
    scale: f64,
    /// Virtual users, instead of the paper's
    #[arg(long)]
    users: Option<u32>,
    /// Seconds that are counted in each phase, instead of the plans' own
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<u64>,
    /// Where the scratch farms are made; each needs room for the whole corpus. Removed at the end
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    /// Two empty PostgreSQL databases, which take the content of the farm with documents in the database and of the external one; SQLite
    /// when absent. Each is emptied again when its farm is done
    #[arg(long, value_name = "postgres://...,postgres://...", value_delimiter = ',')]
    postgresql: Vec<String>,
    /// Directory for the results
    #[arg(long, value_name = "DIR", default_value = "lab-results")]
    out: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Paper {
    /// Runs the command.
    pub async fn run(self) -> Result<ExitCode> {
        let paper = Described::find(&self.name).map_err(|error| said(&error))?;
        if !matches!(self.postgresql.len(), 0 | 2)
            || self.postgresql.first() == self.postgresql.last() && !self.postgresql.is_empty()
        {
            return Err(Error::invalid("--postgresql takes two databases, one for each farm: A,B"));
        }
        for database in &self.postgresql {
            check_empty(database)?;
        }
        lab::report::prepare(&self.out).map_err(|error| said(&error))?;
        let scratch = self.scratch.clone().unwrap_or_else(std::env::temp_dir);
        let scratch = Scratch::new(scratch.join(format!("strongroom-lab-{}", std::process::id())))?;
        let stop = lab::Stop::on_signals().map_err(|error| said(&error))?;
        let internal = Configuration { store: "database", postgresql: self.postgresql.first(), scratch: &scratch.0 };
        let internal = self.phases(&paper, &internal, &stop).await?;
        let external = Configuration { store: "files", postgresql: self.postgresql.last(), scratch: &scratch.0 };
        let external = self.phases(&paper, &external, &stop).await?;
        let text = paper.tables(self.scale, self.engine(), &internal, &external);
        let path = self.out.join(format!("{}{}.md", paper.name, self.ending()));
        lab::report::write(&path, &text).map_err(|error| said(&error))?;
        let valid = internal.iter().chain(&external).all(|phase| phase.result.valid);
        let results = |phases: &[Phase]| phases.iter().map(|phase| json!(phase.result)).collect::<Vec<_>>();
        let value = json!({
            "paper": paper.name,
            "valid": valid,
            "in_database": results(&internal),
            "external": results(&external),
            "tables": text,
        });
        show(self.json, &value, &format!("{text}\nwritten: {}\n", path.display()));
        Ok(if valid { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }

    fn engine(&self) -> &'static str {
        if self.postgresql.is_empty() { "SQLite" } else { "PostgreSQL" }
    }

    /// Results on the two engines lie beside each other.
    fn ending(&self) -> &'static str {
        if self.postgresql.is_empty() { "" } else { "-postgresql" }
    }

    /// All phases in one configuration.
    async fn phases(&self, paper: &Described, on: &Configuration<'_>, stop: &lab::Stop) -> Result<Vec<Phase>> {
        let mut phases = Vec::new();
        for phase in &paper.phases {
            phases.push(self.phase(phase, on, stop).await?);
            if stop.asked() {
                return Err(Error::unavailable(format!("interrupted: there are no tables of {}", paper.name)));
            }
        }
        Ok(phases)
    }

    /// A phase on a new farm, so that it neither finds what the one before it left nor needs the room for it.
    async fn phase(&self, phase: &str, on: &Configuration<'_>, stop: &lab::Stop) -> Result<Phase> {
        eprintln!("{phase}, documents in the store \"{}\"", on.store);
        let data = on.scratch.join(on.store);
        let mut server = Server::start(&data, on.postgresql)?;
        program(
            &data,
            &["blobs", "policy", "set", "--database", "main", "--active", on.store, "--minimum-size", MINIMUM],
        )?;
        let plan = lab::read_plan(phase).map_err(|error| said(&error))?;
        let changes = lab::Changes {
            scale: Some(self.scale),
            users: self.users,
            seconds: self.seconds,
            ..lab::Changes::default()
        };
        let wishes = lab::Wishes {
            target: Some(server.address.clone()),
            changes,
            login: Some(lab::Login { user: "admin".to_owned(), password: server.password.clone() }),
            label: Some(format!("{phase}-{}{}", on.store, self.ending())),
            stop: stop.clone(),
            ..lab::Wishes::default()
        };
        let mut live = Live::new(self.json);
        let result = lab::run(&plan, &wishes, |event| live.take(event)).await.map_err(|error| said(&error))?;
        live.end();
        if !stop.asked() {
            lab::report::save(&result, &self.out, &file_name(&result.label)).map_err(|error| said(&error))?;
        }
        server.stop();
        // Room that is kept back for a full disk is no content.
        let mut database = bytes_below(&data.join("databases"), &|name| !name.ends_with("-reserve"));
        if let Some(of) = on.postgresql {
            database = size_of(of)?;
            // All that is in it came from this farm: it was empty before.
            psql(of, "DROP SCHEMA public CASCADE; CREATE SCHEMA public")?;
        }
        let store = bytes_below(&data.join("blobs"), &|_| true);
        // The next farm is new and needs the room.
        let removed = std::fs::remove_dir_all(&data);
        removed.map_err(|e| Error::unavailable(format!("{} cannot be removed", data.display())).with_source(e))?;
        Ok(Phase { result, database, store })
    }
}

/// Where documents go: the store, and the database of PostgreSQL that takes the content, if one does.
struct Configuration<'a> {
    store: &'a str,
    postgresql: Option<&'a String>,
    scratch: &'a Path,
}

/// A scratch directory that is removed at the end, however it ends.
struct Scratch(PathBuf);

impl Scratch {
    fn new(path: PathBuf) -> Result<Self> {
        let made = std::fs::create_dir_all(&path);
        made.map_err(|e| Error::unavailable(format!("{} cannot be made", path.display())).with_source(e))?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is in the place for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A server of this program on a scratch farm.
struct Server {
    process: Child,
    address: String,
    password: String,
}

impl Server {
    fn start(data: &Path, postgresql: Option<&String>) -> Result<Self> {
        let password: String = std::iter::repeat_with(lab::random_letter).take(PASSWORD).collect();
        let failed = |e: std::io::Error| Error::unavailable("a server for the lab cannot be started").with_source(e);
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        if let Some(database) = postgresql {
            // Not as a word of the command: others can read those.
            command.env("STRONGROOM_DATABASE", database);
        }
        let mut process = command
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .env("STRONGROOM_ADMIN_PASSWORD", &password)
            .env("STRONGROOM_LOG", "error")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            // What interrupts the lab from a terminal is not for its server, which the lab ends itself.
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        // On one machine the generator comes first: what waits for a processor is then the server, as in the papers, and
        // not the clock that measures it. Where this is refused, the result says how late the generator's timers were.
        let _ = rustix::process::setpriority_process(pid(&process), NICE);
        let lines = process.stdout.take().map(|stdout| BufReader::new(stdout).lines());
        let greeting = lines.into_iter().flatten().map_while(std::io::Result::ok).find_map(|line| {
            let at = line.find("http://127.0.0.1:")?;
            Some(line[at..].split_whitespace().next()?.trim_end_matches('/').to_owned())
        });
        let mut server = Self { process, address: String::new(), password };
        match greeting {
            Some(address) => server.address = address,
            None => {
                return Err(Error::unavailable("the server for the lab ended at its start: see what it said above"));
            }
        }
        Ok(server)
    }

    /// Ends the server as a service manager does, so that it writes back what it holds.
    fn stop(&mut self) {
        if let Some(id) = pid(&self.process) {
            // A server that has ended already needs no signal.
            let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
        }
        let _ = self.process.wait();
    }
}

fn pid(process: &Child) -> Option<rustix::process::Pid> {
    i32::try_from(process.id()).ok().and_then(rustix::process::Pid::from_raw)
}

impl Drop for Server {
    fn drop(&mut self) {
        // Ended already, in most cases.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Runs a command of this program on a farm.
fn program(data: &Path, words: &[&str]) -> Result<()> {
    let failed = |e: std::io::Error| Error::unavailable("a command for the lab cannot be started").with_source(e);
    let command = std::env::current_exe().map_err(failed)?;
    let output =
        Command::new(command).args(words).arg("--data").arg(data).stdin(Stdio::null()).output().map_err(failed)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Error::unavailable(format!("{} on the scratch farm failed: {said}", words.join(" "))))
}

/// Refuses a database that holds something: a farm in it would be spoilt, and it is emptied at the end.
fn check_empty(database: &str) -> Result<()> {
    let held = psql(database, "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace")?;
    if held == "0" {
        return Ok(());
    }
    let name = psql(database, "SELECT current_database()")?;
    Err(Error::invalid(format!("the database {name} is not empty: --postgresql takes two that hold nothing")))
}

/// Bytes of a database of PostgreSQL, as it says itself; its log belongs to the whole server.
fn size_of(database: &str) -> Result<u64> {
    let size = psql(database, "SELECT pg_database_size(current_database())")?;
    size.parse().map_err(|_| Error::unavailable(format!("a database does not say how large it is: {size}")))
}

/// What a database answers to a command.
fn psql(database: &str, command: &str) -> Result<String> {
    let failed = |e: std::io::Error| {
        Error::unavailable("psql, which speaks to the databases, cannot be started: install PostgreSQL's client")
            .with_source(e)
    };
    let words = ["-X", "-q", "-A", "-t", "-w", "-v", "ON_ERROR_STOP=1", "-c", command, "-d", database];
    let output = Command::new("psql").args(words).stdin(Stdio::null()).output().map_err(failed)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Error::unavailable(format!("a database of --postgresql cannot be used: {said}")))
}

/// Bytes of the files below a directory whose names are wanted; what cannot be read counts nothing.
fn bytes_below(directory: &Path, wanted: &dyn Fn(&str) -> bool) -> u64 {
    let mut sum = 0;
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let Ok(found) = entry.metadata() else { continue };
        if found.is_dir() {
            sum += bytes_below(&entry.path(), wanted);
        } else if wanted(&entry.file_name().to_string_lossy()) {
            sum += found.len();
        }
    }
    sum
}

//! `strongroom lab paper`: runs the same workload on a farm that keeps its documents in the database and on one that
//! keeps them in an external BLOB store. Each farm is served by its own process from a scratch directory.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use clap::Args;
use lab::paper::{Paper as Described, Phase};
use model::{Error, Result};
use serde_json::json;

use super::failure::into_command_error;
use super::live::Live;
use super::run::file_name;
use crate::commands::output::show;
use crate::commands::size::whole;

/// Documents smaller than this stay in the database, as in the papers.
const MINIMUM: &str = "1k";
/// Nice value by which the server's priority is lowered below the lab's: 10 of 19.
const NICE: i32 = 10;
/// Password length of a scratch farm, in characters.
const PASSWORD: usize = 32;

/// Arguments of `strongroom lab paper`.
#[derive(Args)]
pub struct Paper {
    /// Paper: rbs-2010, ebs-2007, rbs-2010-sp1, dms-2012 or web-tuning
    #[arg(value_name = "NAME")]
    name: String,
    /// Fraction of the paper's corpus to use; 0.001 of a terabyte is a gigabyte
    #[arg(long, default_value_t = 0.001)]
    scale: f64,
    /// Number of virtual users [default: the paper's]
    #[arg(long, value_parser = whole::<u32>)]
    users: Option<u32>,
    /// Measured seconds in each phase [default: those of the plans]
    #[arg(long, value_name = "SECONDS", value_parser = whole::<u64>)]
    seconds: Option<u64>,
    /// Directory for the scratch farms, each of which needs space for the whole corpus; they are removed at the end
    /// [default: the system's directory for temporary files]
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    /// Two empty PostgreSQL databases for content: one for the farm with documents in the database, one for the farm
    /// with external BLOBs; both are emptied afterwards [default: SQLite]
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
        let paper = Described::find(&self.name).map_err(|error| into_command_error(&error))?;
        if !matches!(self.postgresql.len(), 0 | 2)
            || self.postgresql.first() == self.postgresql.last() && !self.postgresql.is_empty()
        {
            return Err(Error::invalid("--postgresql takes two databases, one for each farm: A,B"));
        }
        for database in &self.postgresql {
            check_empty(database)?;
        }
        lab::report::prepare(&self.out).map_err(|error| into_command_error(&error))?;
        let scratch = self.scratch.clone().unwrap_or_else(std::env::temp_dir);
        let scratch = Scratch::new(scratch.join(format!("strongroom-lab-{}", std::process::id())))?;
        let stop = lab::Stop::on_signals().map_err(|error| into_command_error(&error))?;
        let internal = Configuration { store: "database", postgresql: self.postgresql.first(), scratch: &scratch.0 };
        let internal = self.phases(&paper, &internal, &stop).await?;
        let external = Configuration { store: "files", postgresql: self.postgresql.last(), scratch: &scratch.0 };
        let external = self.phases(&paper, &external, &stop).await?;
        let text = paper.tables(self.scale, self.engine(), &internal, &external);
        let path = self.out.join(format!("{}{}.md", paper.name, self.file_suffix()));
        lab::report::write(&path, &text).map_err(|error| into_command_error(&error))?;
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

    /// File name suffix that keeps the results of the two engines apart in one directory.
    fn file_suffix(&self) -> &'static str {
        if self.postgresql.is_empty() { "" } else { "-postgresql" }
    }

    /// Runs all phases in one configuration.
    async fn phases(&self, paper: &Described, on: &Configuration<'_>, stop: &lab::Stop) -> Result<Vec<Phase>> {
        let mut phases = Vec::new();
        for phase in &paper.phases {
            phases.push(self.phase(phase, on, stop).await?);
            if stop.is_requested() {
                return Err(Error::unavailable(format!("interrupted: the tables of {} were not written", paper.name)));
            }
        }
        Ok(phases)
    }

    /// Runs a phase on a new farm, so that the phase neither sees data of the previous one nor needs disk space for it.
    async fn phase(&self, phase: &str, on: &Configuration<'_>, stop: &lab::Stop) -> Result<Phase> {
        eprintln!("{phase}, documents in the store \"{}\"", on.store);
        let data = on.scratch.join(on.store);
        let mut server = Server::start(&data, on.postgresql)?;
        program(
            &data,
            &["blobs", "policy", "set", "--database", "main", "--active", on.store, "--minimum-size", MINIMUM],
        )?;
        let plan = lab::read_plan(phase).map_err(|error| into_command_error(&error))?;
        let changes = lab::PlanOverrides {
            scale: Some(self.scale),
            users: self.users,
            seconds: self.seconds,
            ..lab::PlanOverrides::default()
        };
        let wishes = lab::RunOptions {
            target: Some(server.address.clone()),
            changes,
            login: Some(lab::Login { user: "admin".to_owned(), password: server.password.clone() }),
            label: Some(format!("{phase}-{}{}", on.store, self.file_suffix())),
            stop: stop.clone(),
            ..lab::RunOptions::default()
        };
        let mut live = Live::new(self.json);
        let result =
            lab::run(&plan, &wishes, |event| live.take(event)).await.map_err(|error| into_command_error(&error))?;
        live.end();
        if !stop.is_requested() {
            lab::report::save(&result, &self.out, &file_name(&result.label))
                .map_err(|error| into_command_error(&error))?;
        }
        server.stop();
        // Disk space reserved for the case of a full disk is not content.
        let mut database = bytes_below(&data.join("databases"), &|name| !name.ends_with("-reserve"));
        if let Some(of) = on.postgresql {
            database = size_of(of)?;
            // The database was empty before, so all its content came from this farm.
            psql(of, "DROP SCHEMA public CASCADE; CREATE SCHEMA public")?;
        }
        let store = bytes_below(&data.join("blobs"), &|_| true);
        // The next farm starts empty and needs the disk space.
        let removed = std::fs::remove_dir_all(&data);
        removed.map_err(|e| Error::unavailable(format!("{} cannot be removed", data.display())).with_source(e))?;
        Ok(Phase { result, database, store })
    }
}

/// Storage of the documents: the store, and the PostgreSQL database for content, if one is used.
struct Configuration<'a> {
    store: &'a str,
    postgresql: Option<&'a String>,
    scratch: &'a Path,
}

/// A scratch directory that is removed when the value is dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(path: PathBuf) -> Result<Self> {
        let made = std::fs::create_dir_all(&path);
        made.map_err(|e| Error::unavailable(format!("{} cannot be created", path.display())).with_source(e))?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // If the removal fails, the rest is left in the scratch location.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A server process of this program on a scratch farm.
struct Server {
    process: Child,
    address: String,
    password: String,
}

impl Server {
    fn start(data: &Path, postgresql: Option<&String>) -> Result<Self> {
        let password = lab::random_password(PASSWORD).map_err(|error| into_command_error(&error))?;
        let failed = |e: std::io::Error| Error::unavailable("a server for the lab cannot be started").with_source(e);
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        if let Some(database) = postgresql {
            // Passed in the environment, since other users can read command-line arguments.
            command.env("STRONGROOM_DATABASE", database);
        }
        let mut process = command
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .env("STRONGROOM_ADMIN_PASSWORD", &password)
            .env("STRONGROOM_LOG", "error")
            // All users of a plan share one account.
            .env("STRONGROOM_REQUESTS_PER_USER", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            // An interrupt from the terminal must not reach the server; the lab stops the server itself.
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        // On a single machine the load generator has priority. The server then waits for the processor, as in the
        // papers, and not the clock that measures it. If the system refuses this, the result still shows how late the
        // generator's timers were.
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
                return Err(Error::unavailable("the server for the lab ended while starting: see its messages above"));
            }
        }
        Ok(server)
    }

    /// Stops the server with SIGTERM, as a service manager does, so that it flushes its data.
    fn stop(&mut self) {
        if let Some(id) = pid(&self.process) {
            // The signal fails if the server has already exited; that is harmless.
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
        // In most cases the process has already exited.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Runs a command of this program on the farm in `data`.
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

/// Refuses a database that is not empty: the farm would damage its content, and the database is emptied at the end.
fn check_empty(database: &str) -> Result<()> {
    let held = psql(database, "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace")?;
    if held == "0" {
        return Ok(());
    }
    let name = psql(database, "SELECT current_database()")?;
    Err(Error::invalid(format!("the database {name} is not empty: --postgresql takes two empty databases")))
}

/// Size of a PostgreSQL database in bytes, as the server reports it. The WAL belongs to the whole server and does not
/// count.
fn size_of(database: &str) -> Result<u64> {
    let size = psql(database, "SELECT pg_database_size(current_database())")?;
    size.parse().map_err(|_| Error::unavailable(format!("the size of a database cannot be read: {size}")))
}

/// Runs an SQL command with `psql` and returns its output.
fn psql(database: &str, command: &str) -> Result<String> {
    let failed = |e: std::io::Error| {
        Error::unavailable("psql, which the lab needs for PostgreSQL, cannot be started: install PostgreSQL's client")
            .with_source(e)
    };
    let output = psql_command(database, command)?.output().map_err(failed)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Error::unavailable(format!("a database of --postgresql cannot be used: {said}")))
}

/// Prepares `psql`. The connection is passed in the environment, since other users can read command-line arguments.
fn psql_command(database: &str, command: &str) -> Result<Command> {
    let mut psql = Command::new("psql");
    psql.args(["-X", "-q", "-A", "-t", "-w", "-v", "ON_ERROR_STOP=1", "-c", command]).stdin(Stdio::null());
    psql.envs(database::client_environment(database)?);
    Ok(psql)
}

/// Total bytes of the files below a directory whose names satisfy `wanted`. Unreadable entries do not count.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_is_an_argument_of_psql() {
        let psql = psql_command("postgres://lab:s3cr%40t@db.example:5433/one", "SELECT 1").unwrap();
        let arguments: Vec<_> = psql.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
        assert!(arguments.iter().all(|word| !word.contains("s3cr") && !word.contains("db.example")), "{arguments:?}");
        let variable = |wanted: &str| {
            psql.get_envs().find(|(name, _)| *name == wanted).and_then(|(_, value)| value?.to_str()).unwrap_or_default()
        };
        let found = ["PGPASSWORD", "PGHOST", "PGPORT", "PGDATABASE"].map(variable);
        assert_eq!(found, ["s3cr@t", "db.example", "5433", "one"]);
    }
}

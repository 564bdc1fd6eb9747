//! The child's side of the sandbox: it sets its resource limits, drops what it does not need, and only then looks at
//! its input.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use model::{Code, Error, Result};
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, Signal, getrlimit, kill_current_process_group, nice, set_dumpable_behavior,
    set_parent_process_death_signal, setrlimit, setsid,
};
use serde::{Deserialize, Serialize};

use crate::extract::{self, Extract, Format, MAX_BYTES, MemberContent, extract};
use crate::pictures;
use crate::readers;
use crate::sheets::{self, wire};

use super::failure::{reader_failed, refused};
use super::missing_restriction::MissingRestriction;
use super::protocol::{self, READY};
use super::restrictions;

/// The hidden command of this program that children run.
pub const COMMAND: &str = "sandbox";
/// Subcommand: read a document from standard input.
pub const READ: &str = "read";
/// Subcommand: read a file of an archive or an attachment of a mail message.
pub const READ_MEMBER: &str = "read-member";
/// Subcommand: make a picture smaller.
pub const SHRINK: &str = "shrink";
/// Subcommand: read the cells of a workbook.
pub const READ_CELLS: &str = "read-cells";
/// Subcommand: read the texts of documents one after the other.
pub const READ_TEXTS: &str = "read-texts";
/// Subcommand: run another program in a directory.
pub const RUN: &str = "run";
/// Subcommand: become another program that only reads standard input and writes standard output.
pub const RUN_PIPED: &str = "run-piped";
/// Subcommand: report the restrictions that the system lacks.
pub const PROBE: &str = "probe";

/// Memory limit of a child that reads, and limit on the address space of any child.
const MEMORY: u64 = 256 << 20;
const ADDRESSES: u64 = 4 << 30;
/// Memory limit of a child that makes a picture smaller.
const PICTURE_MEMORY: u64 = 512 << 20;
/// First byte of an answer in bytes: they follow.
const DONE: u8 = 1;
/// First byte of an answer in bytes: the code and the reason of a refusal follow, separated by a line end.
const REFUSED: u8 = 2;
/// Limit in seconds on the processor time for reading a document. The signal to end arrives a second before.
const SECONDS: u64 = 6;
/// Limits on memory and processor time of a child that reads texts. The server ends one that takes too long for a
/// document; the limit on time ends one whose server is gone.
const TEXTS_MEMORY: u64 = 512 << 20;
const TEXTS_SECONDS: u64 = 150;
/// Memory, processor time and number of documents after which a child makes room for a new one.
const TEXTS_LARGE: u64 = 128 << 20;
const TEXTS_OLD: i64 = 60;
const TEXTS_MANY: usize = 1_000;
/// Limit on the open files of another program, and on the processes of its user while it starts further ones.
const FILES: u64 = 512;
const PROCESSES: u64 = 4_096;

/// Memory limit of each process of a program that runs in a directory.
const PROCESS_MEMORY: u64 = 2 << 30;
/// Search path of other programs.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Exit code with which LibreOffice asks to be restarted, as it does after it has created its profile.
const AGAIN: i32 = 81;
const MAX_STARTS: usize = 3;

/// The result that a reading child writes to standard output.
#[derive(Serialize, Deserialize)]
enum Answer {
    Read(Extract),
    /// The document cannot be read: the code, and the reason.
    Refused(String, String),
}

/// Executes a subcommand. Must be called before anything else in the program runs.
pub fn main(words: &[OsString]) -> ExitCode {
    let words: Vec<&OsString> = words.iter().collect();
    let number =
        |word: &OsString| word.to_string_lossy().parse().map_err(|_| io::Error::from(io::ErrorKind::InvalidInput));
    let done = match words.as_slice() {
        [task, format] if *task == READ => read(&format.to_string_lossy()),
        [task, format, at] if *task == READ_MEMBER => {
            number(at).and_then(|at| read_member(&format.to_string_lossy(), at))
        }
        [task, most] if *task == SHRINK => number(most).and_then(shrink),
        [task] if *task == READ_CELLS => read_cells(),
        [task] if *task == READ_TEXTS => read_texts(),
        [task] if *task == PROBE => probe(),
        [task, place, seconds, file, program, arguments @ ..] if *task == RUN => {
            let limits = number(seconds).and_then(|seconds| Ok((seconds, number(file)?)));
            limits.and_then(|limits| run(Path::new(place), limits, Path::new(program), arguments))
        }
        [task, seconds, memory, program, arguments @ ..] if *task == RUN_PIPED => {
            let limits = number(seconds).and_then(|seconds| Ok((seconds, number(memory)?)));
            limits.and_then(|limits| become_piped(limits, Path::new(program), arguments))
        }
        _ => Err(io::ErrorKind::InvalidInput.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("strongroom sandbox: {error}; only the server runs this command");
            ExitCode::from(2)
        }
    }
}

/// Parses the output of a child that read a document.
pub fn answer(bytes: &[u8]) -> Result<Result<Extract>> {
    match serde_json::from_slice(bytes) {
        Ok(Answer::Read(found)) => Ok(Ok(found)),
        Ok(Answer::Refused(code, why)) => Ok(Err(refused(&code, &why))),
        Err(error) => Err(Error::invalid("the program that reads documents returned no answer")
            .with_code(Code::ReaderFailed)
            .with_source(error)),
    }
}

/// Reads standard input, up to one byte more than a document may have.
fn read_input() -> io::Result<Vec<u8>> {
    let mut document = Vec::new();
    io::stdin().lock().take(MAX_BYTES + 1).read_to_end(&mut document)?;
    Ok(document)
}

fn read(format: &str) -> io::Result<()> {
    let format = Format::of(format).ok_or(io::ErrorKind::InvalidInput)?;
    confine_reader(MEMORY)?;
    let document = read_input()?;
    let read = match format {
        Format::Email => readers::message(&document),
        format => extract(format, &document),
    };
    let answer = match read {
        Ok(found) => Answer::Read(found),
        Err(error) => Answer::Refused(error.code().to_string(), error.message().to_owned()),
    };
    let mut out = io::stdout().lock();
    out.write_all(&serde_json::to_vec(&answer)?)?;
    out.flush()
}

fn read_member(format: &str, at: u64) -> io::Result<()> {
    let format = Format::of(format).ok_or(io::ErrorKind::InvalidInput)?;
    let at = usize::try_from(at).map_err(|_| io::ErrorKind::InvalidInput)?;
    confine_reader(MEMORY)?;
    let document = read_input()?;
    let found = match format {
        Format::Email => readers::attachment(&document, at),
        format => extract::member(format, &document, at),
    };
    match found {
        Ok(MemberContent { name, bytes }) => {
            let length = u16::try_from(name.len()).map_err(|_| io::ErrorKind::InvalidData)?;
            write_done(&[&length.to_be_bytes(), name.as_bytes(), &bytes])
        }
        Err(error) => write_refused(&error),
    }
}

/// Parses the answer of a child that read a member.
pub fn parse_member(answer: Vec<u8>) -> Result<MemberContent> {
    let mut bytes = parse_bytes(answer)?;
    let parts = bytes.split_first_chunk::<2>().and_then(|(length, rest)| {
        let name = rest.get(..usize::from(u16::from_be_bytes(*length)))?;
        String::from_utf8(name.to_vec()).ok()
    });
    let name = parts.ok_or_else(reader_failed)?;
    bytes.drain(..2 + name.len());
    Ok(MemberContent { name, bytes })
}

fn write_done(parts: &[&[u8]]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(&[DONE])?;
    parts.iter().try_for_each(|part| out.write_all(part))?;
    out.flush()
}

fn write_refused(error: &Error) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(&[REFUSED])?;
    out.write_all(format!("{}\n{}", error.code(), error.message()).as_bytes())?;
    out.flush()
}

/// Parses an answer in bytes.
pub fn parse_bytes(mut answer: Vec<u8>) -> Result<Vec<u8>> {
    match answer.split_first() {
        Some((&DONE, _)) => {
            answer.drain(..1);
            Ok(answer)
        }
        Some((&REFUSED, why)) => {
            let why = String::from_utf8_lossy(why);
            let (code, why) = why.split_once('\n').unwrap_or_default();
            Err(refused(code, why))
        }
        _ => Err(reader_failed()),
    }
}

fn shrink(most: u64) -> io::Result<()> {
    let most = u32::try_from(most).map_err(|_| io::ErrorKind::InvalidInput)?;
    confine_reader(PICTURE_MEMORY)?;
    let document = read_input()?;
    match pictures::shrink(&document, most) {
        Ok(picture) => write_done(&[&picture]),
        Err(error) => write_refused(&error),
    }
}

fn read_cells() -> io::Result<()> {
    confine_reader(MEMORY)?;
    let (workbook, sheet) = wire::receive(&mut io::stdin().lock())?;
    let read = sheets::read(&workbook, sheet.as_deref());
    let mut out = io::stdout().lock();
    out.write_all(&wire::answer(&read))?;
    out.flush()
}

/// Restricts a process that reads one document from standard input.
fn confine_reader(memory: u64) -> io::Result<()> {
    stand_alone()?;
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // A core dump must not expose the document's content.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    limit(Resource::Data, memory)?;
    limit(Resource::Cpu, SECONDS)?;
    limit(Resource::Fsize, 0)?;
    limit(Resource::Nproc, 0)?;
    // One more than are open already, because setting up the rules needs a descriptor.
    limit(Resource::Nofile, 4)?;
    restrictions::for_reading();
    Ok(())
}

/// Reads documents until standard input ends.
fn read_texts() -> io::Result<()> {
    stand_alone()?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    limit(Resource::Data, TEXTS_MEMORY)?;
    limit(Resource::Cpu, TEXTS_SECONDS)?;
    limit(Resource::Fsize, 0)?;
    limit(Resource::Nproc, 0)?;
    let mut memory = Memory::open()?;
    // One more than are open already, because setting up the rules needs a descriptor.
    limit(Resource::Nofile, 5)?;
    restrictions::for_reading();
    // The server notices the end of a child that panics. Nobody reads the message.
    std::panic::set_hook(Box::new(|_| {}));
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    output.write_all(&[READY])?;
    output.flush()?;
    let mut count = 0;
    while let Some((format, document)) = protocol::receive_document(&mut input)? {
        let read = readers::read(format, &document);
        drop(document);
        count += 1;
        let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime).tv_sec;
        let is_last = count >= TEXTS_MANY || used >= TEXTS_OLD || memory.resident()? >= TEXTS_LARGE;
        protocol::send_answer(&mut output, &read, is_last)?;
        if is_last {
            break;
        }
    }
    Ok(())
}

/// The kernel's account of this process's memory. It is opened before the process gives up the file system.
struct Memory {
    pages: File,
    page_size: u64,
}

impl Memory {
    fn open() -> io::Result<Self> {
        Ok(Self { pages: File::open("/proc/self/statm")?, page_size: rustix::param::page_size() as u64 })
    }

    /// Resident memory in bytes. The peak that `getrusage` reports is of no use, because it counts the memory of the
    /// server from which this process was forked.
    fn resident(&mut self) -> io::Result<u64> {
        let mut text = String::new();
        self.pages.seek(SeekFrom::Start(0))?;
        self.pages.read_to_string(&mut text)?;
        let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
        Ok(pages.ok_or(io::ErrorKind::InvalidData)? * self.page_size)
    }
}

fn probe() -> io::Result<()> {
    let lacks: Vec<&str> = restrictions::for_reading().into_iter().map(MissingRestriction::as_str).collect();
    io::stdout().write_all(lacks.join(" ").as_bytes())
}

/// Runs a program. Kills it with everything that it started when standard input reaches its end, which happens when the
/// server ends.
fn run(place: &Path, (seconds, file): (u64, u64), program: &Path, arguments: &[&OsString]) -> io::Result<()> {
    stand_alone()?;
    limit(Resource::Data, PROCESS_MEMORY)?;
    limit(Resource::Cpu, seconds)?;
    limit(Resource::Fsize, file)?;
    limit(Resource::Nofile, FILES)?;
    limit(Resource::Nproc, PROCESSES)?;
    restrictions::for_a_program(place, program);
    std::thread::spawn(|| {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        let _ = kill_current_process_group(Signal::KILL);
    });
    let mut command = Command::new(program);
    command.args(arguments).current_dir(place).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.env("PATH", PATH).env("HOME", place).env("TMPDIR", place).env("LC_ALL", "C.UTF-8");
    for _ in 0..MAX_STARTS {
        // The exit code is not trusted as a measure of success. The output file is what counts.
        if command.status()?.code() != Some(AGAIN) {
            break;
        }
    }
    Ok(())
}

/// Becomes a program that reads standard input and writes standard output. It is killed when the server ends.
fn become_piped((seconds, memory): (u64, u64), program: &Path, arguments: &[&OsString]) -> io::Result<()> {
    stand_alone()?;
    set_parent_process_death_signal(Some(Signal::KILL))?;
    limit(Resource::Data, memory)?;
    limit(Resource::Cpu, seconds)?;
    limit(Resource::Fsize, 0)?;
    limit(Resource::Nofile, FILES)?;
    restrictions::for_a_piped_program(program);
    let mut command = Command::new(program);
    // Threads are refused, so a program must not try to have some.
    command.args(arguments).env_clear().env("PATH", PATH).env("LC_ALL", "C.UTF-8").env("OMP_THREAD_LIMIT", "1");
    Err(command.exec())
}

/// Detaches the process from its surroundings: a session of its own, no inherited files, low priority, and the limits
/// that hold for every child.
fn stand_alone() -> io::Result<()> {
    // Fails only for the leader of a process group, which is detached already.
    let _ = setsid();
    // SAFETY: this process has just begun and uses no file that it opened. Systems before Linux 5.9 lack this call;
    // there the server's close-on-exec flags close the files.
    unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
    let _ = nice(10);
    // A system without memory ends this process before the server. Fails where there is no such file.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    limit(Resource::Core, 0)?;
    limit(Resource::As, ADDRESSES)
}

fn limit(resource: Resource, most: u64) -> io::Result<()> {
    // A lower limit that is already in force stays.
    let most = getrlimit(resource).maximum.map_or(most, |allowed| allowed.min(most));
    // For processor time the soft limit is one second lower. It sends a signal of its own, which shows why the process
    // ended; at the hard limit a second signal follows that cannot be caught.
    let current = if resource == Resource::Cpu { most.saturating_sub(1).max(1) } else { most };
    Ok(setrlimit(resource, Rlimit { current: Some(current), maximum: Some(most) })?)
}

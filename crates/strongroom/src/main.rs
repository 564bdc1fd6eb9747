//! The `strongroom` program: reads the configuration, opens the farm and wires the crates together. The subcommands are
//! in `commands`, one file each. Contains no rules of its own.

mod commands;
mod configuration;
mod descriptors;
mod listen;
mod logging;

use std::process::ExitCode;

use clap::Parser;

use commands::Command;
use rustix::fs::Mode;

/// Chosen because requests make many small allocations on several threads at once.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Milliseconds after which the allocator returns freed memory to the system. By default it keeps it for a second, and
/// a full crawl of 50,000 documents then holds 535 MB instead of 374, for no gain in speed.
const KEEPS_FREED_MEMORY: std::ffi::c_long = 10;

/// Number of the option `mi_option_purge_delay`, which the bindings do not name.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// Maximum number of characters shown of an error's cause. Some services respond with whole documents.
const MAX_CAUSE_CHARS: usize = 400;

/// Self-hosted document management with BLOBs outside the database
#[derive(Parser)]
#[command(name = "strongroom", version, about, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    // SAFETY: sets a number inside the allocator.
    unsafe { libmimalloc_sys::mi_option_set_default(PURGE_DELAY, KEEPS_FREED_MEMORY) };
    let arguments = Arguments::parse();
    if let Command::Sandbox(sandbox) = &arguments.command {
        return sandbox.run();
    }
    if arguments.command.creates_private_files() {
        rustix::process::umask(Mode::RWXG | Mode::RWXO);
    }
    let stands_back = arguments.command.runs_at_low_priority();
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(database::runtime_threads());
    runtime.enable_all().on_thread_start(move || {
        if stands_back {
            maintenance::lower_priority();
        }
    });
    let runtime = match runtime.build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("strongroom: the threads of the program cannot be started: {error}");
            return ExitCode::from(2);
        }
    };
    match runtime.block_on(commands::run(arguments.command)) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("strongroom: {error}");
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            if let Some(cause) = cause.filter(|cause| !error.message().contains(cause.as_str())) {
                let shown: String = cause.chars().take(MAX_CAUSE_CHARS).collect();
                eprintln!("  because: {shown}{}", if shown.len() < cause.len() { " ..." } else { "" });
            }
            ExitCode::from(2)
        }
    }
}

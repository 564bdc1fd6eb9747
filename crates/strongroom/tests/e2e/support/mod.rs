//! Support code for the end-to-end tests: server processes, clients, the acknowledgement oracle and scratch disks.

pub mod backups;
mod browser;
mod client;
mod damage;
mod disk;
mod errand;
mod injector;
mod ledger;
pub mod processes;
mod server;
mod signed_in;
mod watch;
pub mod wire;
mod worker;
mod world;

pub use browser::Browser;
pub use client::{Answer, Client, keep_no_versions};
pub use damage::{damage, file_with, recorded};
pub use disk::Disk;
pub use errand::BackgroundCommands;
pub use injector::Injector;
pub use ledger::Ledger;
pub use server::{Farm, PASSWORD, Refusal, Server, empty, files_below};
pub use signed_in::SignedIn;
pub use worker::{Trouble, Worker, WorkerContext};

/// Pseudo-random numbers from a seed that a failing test prints.
#[derive(Clone)]
pub struct Random(u64);

impl Random {
    /// Creates the sequence for a seed.
    pub fn seeded(seed: u64) -> Self {
        let mut random = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        random.next();
        random
    }

    /// Creates a sequence with a seed from the clock. The seed is printed, so that a failure can be reproduced.
    pub fn fresh() -> Self {
        let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let seed = clock.as_nanos() as u64;
        println!("seed {seed}");
        Self::seeded(seed)
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// The next number below a limit.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// Incompressible bytes, determined by a seed and a size.
pub fn bytes(seed: u64, size: usize) -> Vec<u8> {
    let mut random = Random::seeded(seed.wrapping_add(size as u64));
    let mut bytes = Vec::with_capacity(size + 8);
    while bytes.len() < size {
        bytes.extend_from_slice(&random.next().to_le_bytes());
    }
    bytes.truncate(size);
    bytes
}

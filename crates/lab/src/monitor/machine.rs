//! Figures of this machine from /proc: processors, memory, disks, network, retransmitted segments, and processes by
//! name. A system without /proc has no readings.

use std::collections::HashMap;
use std::time::Instant;

use super::series::{CPU, MEMORY, Reading};

/// Bytes per sector in /proc/diskstats.
const SECTOR: f64 = 512.0;
/// Clock ticks per second in /proc; the same on every current Linux.
const TICKS: f64 = 100.0;

/// Number of bytes to which the kernel cuts the name of a process.
const NAME_BYTES: usize = 15;

/// Figure that is the growth of one counter divided by the growth of another.
struct CounterShare {
    name: &'static str,
    part: &'static str,
    of: &'static str,
    by: f64,
}

/// Name prefix of counters that are used only to compute shares.
const HIDDEN: char = '+';
const AGAIN: &str = "network: TCP segments sent again, each second";

const SHARES: &[CounterShare] = &[
    CounterShare { name: "disks: one read, ms", part: "+read time", of: "+reads", by: 1.0 },
    CounterShare { name: "disks: one write, ms", part: "+write time", of: "+writes", by: 1.0 },
    CounterShare { name: "network: TCP segments sent again, %", part: AGAIN, of: "+segments", by: 100.0 },
];

/// Monitor of this machine, with the counters of the previous reading.
pub struct Machine {
    processes: Vec<String>,
    last: HashMap<String, f64>,
    looked: Instant,
    cores: f64,
}

impl Machine {
    /// Creates a monitor of the machine and of the processes with the given names.
    pub fn new(processes: Vec<String>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
        let mut new = Self { processes, last: HashMap::new(), looked: Instant::now(), cores };
        // Rates need a previous reading.
        new.read();
        new
    }

    /// Takes the current readings. Rates cover the time since the previous reading.
    pub fn read(&mut self) -> Vec<Reading> {
        let seconds = self.looked.elapsed().as_secs_f64();
        self.looked = Instant::now();
        let mut counters = Vec::new();
        let mut readings = Vec::new();
        processors(&mut counters, self.cores);
        disks(&mut counters);
        network(&mut counters);
        self.processes(&mut counters, &mut readings);
        memory(&mut readings);
        let mut steps: HashMap<String, f64> = HashMap::new();
        for (name, value) in counters {
            let before = self.last.insert(name.clone(), value);
            // A new process counts from the next reading on.
            if let Some(before) = before.filter(|before| *before <= value && seconds > 0.2) {
                steps.insert(name.clone(), value - before);
                if !name.starts_with(HIDDEN) {
                    readings.push((name, (value - before) / seconds));
                }
            }
        }
        for share in SHARES {
            if let (Some(part), Some(whole)) = (steps.get(share.part), steps.get(share.of))
                && *whole > 0.0
            {
                readings.push((share.name.to_owned(), part / whole * share.by));
            }
        }
        readings
    }

    fn processes(&self, counters: &mut Vec<Reading>, readings: &mut Vec<Reading>) {
        if self.processes.is_empty() {
            return;
        }
        let own = std::process::id().to_string();
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        for entry in entries {
            let id = entry.file_name().to_string_lossy().into_owned();
            if id == own || !id.bytes().all(|byte| byte.is_ascii_digit()) {
                continue;
            }
            let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
            let Some((name, rest)) = stat.split_once('(').and_then(|(_, rest)| rest.rsplit_once(')')) else { continue };
            let Some(name) = self.processes.iter().find(|wanted| is_named(name, wanted)) else { continue };
            let fields: Vec<f64> = rest.split_whitespace().map(|field| field.parse().unwrap_or_default()).collect();
            // After the name: state is field 3, user and system time are fields 14 and 15, resident pages field 24.
            let (Some(user), Some(system), Some(pages)) = (fields.get(11), fields.get(12), fields.get(21)) else {
                continue;
            };
            counters.push((format!("{name} {id}: processors, % of one"), (user + system) / TICKS * 100.0));
            readings.push((format!("{name} {id}: {MEMORY}"), pages * rustix::param::page_size() as f64));
        }
    }
}

/// Returns whether a process with this name, as the kernel cuts it, may have the wanted name.
fn is_named(name: &str, wanted: &str) -> bool {
    let wanted = wanted.as_bytes();
    name.as_bytes() == &wanted[..wanted.len().min(NAME_BYTES)]
}

fn lines(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

fn processors(counters: &mut Vec<Reading>, cores: f64) {
    let text = lines("/proc/stat");
    let fields: Vec<f64> = text
        .lines()
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .skip(1)
        .map(|field| field.parse().unwrap_or_default())
        .collect();
    if fields.len() < 8 {
        return;
    }
    let busy = fields[0] + fields[1] + fields[2] + fields[5] + fields[6] + fields[7];
    counters.push((CPU.to_owned(), busy / TICKS / cores * 100.0));
    counters.push(("machine: waiting for disks, %".to_owned(), fields[4] / TICKS / cores * 100.0));
}

fn memory(readings: &mut Vec<Reading>) {
    let text = lines("/proc/meminfo");
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<f64>().ok().map(|kilobytes| kilobytes * 1024.0)
    };
    if let (Some(all), Some(free)) = (value("MemTotal:"), value("MemAvailable:")) {
        readings.push(("machine: memory in use, bytes".to_owned(), all - free));
    }
}

fn disks(counters: &mut Vec<Reading>) {
    let (mut waited, mut read, mut written, mut any) = (0.0, 0.0, 0.0, false);
    let (mut reads, mut read_time, mut writes, mut write_time) = (0.0, 0.0, 0.0, 0.0);
    for line in lines("/proc/diskstats").lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(name) = words.get(2) else { continue };
        // Partitions and device mappings would count twice.
        if !std::path::Path::new("/sys/block").join(name).exists()
            || name.starts_with("loop")
            || name.starts_with("dm-")
        {
            continue;
        }
        let number = |at: usize| words.get(at).and_then(|word| word.parse::<f64>().ok()).unwrap_or_default();
        (reads, read_time) = (reads + number(3), read_time + number(6));
        (writes, write_time) = (writes + number(7), write_time + number(10));
        waited += number(6) + number(10);
        read += number(5) * SECTOR;
        written += number(9) * SECTOR;
        any = true;
    }
    if any {
        counters.push(("disks: operations each second".to_owned(), reads + writes));
        for (name, value) in
            [("+reads", reads), ("+read time", read_time), ("+writes", writes), ("+write time", write_time)]
        {
            counters.push((name.to_owned(), value));
        }
        counters.push(("disks: read, bytes each second".to_owned(), read));
        counters.push(("disks: written, bytes each second".to_owned(), written));
        counters.push(("disks: operations under way".to_owned(), waited / 1000.0));
    }
}

fn network(counters: &mut Vec<Reading>) {
    let (mut came, mut went) = (0.0, 0.0);
    for line in lines("/proc/net/dev").lines().skip(2) {
        let Some((_, rest)) = line.split_once(':') else { continue };
        let fields: Vec<f64> = rest.split_whitespace().map(|field| field.parse().unwrap_or_default()).collect();
        came += fields.first().copied().unwrap_or_default();
        went += fields.get(8).copied().unwrap_or_default();
    }
    counters.push(("network: received, bytes each second".to_owned(), came));
    counters.push(("network: sent, bytes each second".to_owned(), went));
    let text = lines("/proc/net/snmp");
    let mut tcp = text.lines().filter(|line| line.starts_with("Tcp:"));
    let (Some(names), Some(values)) = (tcp.next(), tcp.next()) else { return };
    for (wanted, name) in [("RetransSegs", AGAIN), ("OutSegs", "+segments")] {
        let found = names.split_whitespace().zip(values.split_whitespace()).find(|(name, _)| *name == wanted);
        if let Some(value) = found.and_then(|(_, value)| value.parse().ok()) {
            counters.push((name.to_owned(), value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_seen() {
        let mut machine = Machine::new(Vec::new());
        let names: Vec<String> = machine.read().into_iter().map(|(name, _)| name).collect();
        assert!(names.iter().any(|name| name.starts_with("machine: memory")), "{names:?}");
    }

    #[test]
    fn a_process_with_a_long_name_is_seen() {
        let place = tempfile::tempdir().unwrap();
        let program = place.path().join("sleeps-with-a-long-name");
        std::fs::copy("/bin/sleep", &program).unwrap();
        let mut process = loop {
            match std::process::Command::new(&program).arg("60").spawn() {
                // A process that another test starts at this moment still holds the copy open for writing.
                Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
                started => break started.unwrap(),
            }
        };
        let mut machine = Machine::new(vec!["sleeps-with-a-long-name".to_owned(), "sleeps".to_owned()]);
        let names: Vec<String> = machine.read().into_iter().map(|(name, _)| name).collect();
        process.kill().unwrap();
        process.wait().unwrap();
        assert!(names.contains(&format!("sleeps-with-a-long-name {}: {MEMORY}", process.id())), "{names:?}");
    }
}

//! End-to-end tests. Each runs the real binary as a separate process on a scratch directory and a free port.
//!
//! One file for each topic, all in one test program, so that they are linked once and run in parallel. The tests use
//! only the public interface: the command line, HTTP, and what an administrator may do to the files of a stopped
//! server.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must fail, with the reason")]

mod abandoned;
mod absent_parts;
mod addresses;
mod ambiguous;
mod answers;
mod backup;
mod backup_disks;
mod backup_holds;
mod backup_losses;
mod backup_places;
mod backup_troubles;
mod backup_unreadable;
mod backup_words;
mod base_backup;
mod bodies;
mod broken_answers;
mod clocks;
mod cloud;
mod copies;
mod crawls;
mod cut_short;
mod database_disk;
mod deep;
mod deletion;
mod descriptors;
mod drills;
mod edge;
mod encoded;
mod failing_reads;
mod faults;
mod full;
mod health;
mod identity;
mod kill;
mod losses;
mod metrics;
mod missing;
mod mixed;
mod mounted;
mod office;
mod older_states;
mod other_searches;
mod passwords;
mod poison;
mod power;
mod programs;
mod queries;
mod quoted_restore_commands;
mod readiness;
mod refusal_texts;
mod refusals;
mod repair;
mod restore_cut;
mod restore_leftovers;
mod restored_parts;
mod resumable;
mod sandbox;
mod saved_searches;
mod servers;
mod settings_check;
mod slow_streams;
mod storage;
mod store_directories;
mod store_removal;
mod streams;
mod support;
mod unreadable;
mod unresponsive_stores;
mod webdav;
mod words;

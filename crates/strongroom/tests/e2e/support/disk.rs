//! Scratch file systems: a small tmpfs, or an ext4 or xfs image on a loop device, that can be filled, made read-only or
//! shut down. Mounting needs root or sudo without a password; otherwise the test fails.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Runs a program as root. Panics with its output if it fails.
fn run(program: &str, words: &[&str]) {
    said_by(program, words);
}

fn said_by(program: &str, words: &[&str]) -> String {
    attempt(program, words).unwrap_or_else(|said| {
        panic!("{program} {words:?} failed; mounting scratch file systems needs root or sudo: {said}")
    })
}

fn attempt(program: &str, words: &[&str]) -> Result<String, String> {
    let mut command = if rustix::process::geteuid().is_root() {
        Command::new(program)
    } else {
        let mut command = Command::new("sudo");
        command.args(["-n", program]);
        command
    };
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let output = command.args(words).env("PATH", path).output().map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

/// A mounted scratch file system, unmounted when dropped.
pub struct Disk {
    scratch: TempDir,
    options: &'static str,
    image: bool,
}

impl Disk {
    /// A tmpfs of this many megabytes.
    pub fn tmpfs(megabytes: u32) -> Self {
        let disk = Self::prepare("", false);
        disk.mount_words(&["-t", "tmpfs", "-o", &format!("size={megabytes}m"), "tmpfs"]);
        disk
    }

    /// A file system in an image on a loop device: `ext4` or `xfs`, with mount options.
    pub fn image(kind: &str, megabytes: u64, options: &'static str) -> Self {
        let disk = Self::prepare(options, true);
        let image = disk.image_path();
        std::fs::File::create(&image).unwrap().set_len(megabytes << 20).unwrap();
        run(&format!("mkfs.{kind}"), &["-q", image.to_str().unwrap()]);
        disk.mount();
        disk
    }

    fn prepare(options: &'static str, image: bool) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        std::fs::create_dir(scratch.path().join("mount")).unwrap();
        Self { scratch, options, image }
    }

    fn image_path(&self) -> PathBuf {
        self.scratch.path().join("image")
    }

    fn mount_words(&self, words: &[&str]) {
        let place = self.path();
        let words: Vec<&str> = words.iter().copied().chain([place.to_str().unwrap()]).collect();
        run("mount", &words);
        run("chmod", &["777", place.to_str().unwrap()]);
    }

    /// Mounts the image again.
    pub fn mount(&self) {
        assert!(self.image, "a tmpfs does not outlive its mount");
        let options = if self.options.is_empty() { "loop".to_owned() } else { format!("loop,{}", self.options) };
        self.mount_words(&["-o", &options, self.image_path().to_str().unwrap()]);
    }

    /// The mount point.
    pub fn path(&self) -> PathBuf {
        self.scratch.path().join("mount")
    }

    /// Fills the rest of the disk, as another program would.
    pub fn take_the_rest(&self, name: &str) {
        let mut file = std::fs::File::create(self.path().join(name)).unwrap();
        while file.write_all(&[1; 512]).is_ok() {}
    }

    /// Remounts with other options, such as `ro` or `size=64m`.
    pub fn remount(&self, options: &str) {
        run("mount", &["-o", &format!("remount,{options}"), self.path().to_str().unwrap()]);
    }

    /// Cuts the power: nothing reaches the disk any more, and unflushed data is lost.
    pub fn cut_power(&self) {
        run("xfs_io", &["-x", "-c", "shutdown", self.path().to_str().unwrap()]);
    }

    /// Unmounts the file system, which must not be in use any more.
    pub fn unmount(&self) {
        run("umount", &[self.path().to_str().unwrap()]);
        let deadline = Instant::now() + Duration::from_secs(30);
        // The kernel releases a file system a moment after its last user. If it were mounted before that, it would be
        // the old one.
        while self.image && !said_by("losetup", &["-j", self.image_path().to_str().unwrap()]).is_empty() {
            assert!(Instant::now() < deadline, "something still uses {}", self.path().display());
            // sleep: polled, since a loop device is released without a notification
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Mounts this disk at a second mount point.
    pub fn bind(&self, place: &Path) -> Bound {
        run("mount", &["--bind", self.path().to_str().unwrap(), place.to_str().unwrap()]);
        Bound(place.to_path_buf())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // A failed test may still have open files on the disk. The mount ends when they are closed.
        let _ = attempt("umount", &["-l", self.path().to_str().unwrap_or_default()]);
    }
}

/// A second mount point of a disk, unmounted when dropped.
pub struct Bound(PathBuf);

impl Drop for Bound {
    fn drop(&mut self) {
        let _ = attempt("umount", &["-l", self.0.to_str().unwrap_or_default()]);
    }
}

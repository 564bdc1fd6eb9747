//! WebDAV with file managers and mounted drives: davfs2, `rclone mount` and GNOME's gio. Each creates, edits, renames,
//! copies and deletes documents, meets a conflict, and has a save interrupted.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use database::Engine;
use tempfile::TempDir;

use crate::support::{Client, Farm, PASSWORD, Server, bytes};
use crate::webdav::{rclone_command, run, versions};

/// Timeout for a client to upload a saved file.
const SENT: Duration = Duration::from_secs(60);

/// Returns whether programs can mount drives here. Containers often have no `/dev/fuse`.
pub fn can_mount() -> bool {
    let can = Path::new("/dev/fuse").exists();
    if !can {
        eprintln!("skipped: this machine has no /dev/fuse");
    }
    can
}

pub async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !holds().await {
        assert!(begun.elapsed() < SENT, "{what} did not come to be");
        tokio::time::sleep(Duration::from_millis(50)).await; // sleep: between two looks
    }
}

/// A mounted drive, unmounted when dropped.
pub struct Drive {
    scratch: TempDir,
    unmount: &'static [&'static str],
    program: Option<Child>,
}

impl Drive {
    fn new(unmount: &'static [&'static str]) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        std::fs::create_dir(scratch.path().join("drive")).unwrap();
        Self { scratch, unmount, program: None }
    }

    pub fn path(&self) -> PathBuf {
        self.scratch.path().join("drive")
    }

    fn is_mounted(&self) -> bool {
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
        mounts.contains(self.path().to_str().unwrap())
    }
}

impl Drop for Drive {
    fn drop(&mut self) {
        if self.is_mounted() {
            run(Command::new(self.unmount[0]).args(&self.unmount[1..]).arg(self.path()));
        }
        if let Some(program) = &mut self.program {
            let _ = program.wait();
        }
    }
}

/// Mounts the library with davfs2, which uploads a file when it is closed.
pub fn davfs(server: &Server) -> Drive {
    let drive = Drive::new(&["umount"]);
    let (secrets, settings) = (drive.scratch.path().join("secrets"), drive.scratch.path().join("settings"));
    let url = format!("{}/dav/Documents/", server.address);
    std::fs::write(&secrets, format!("{url} admin \"{PASSWORD}\"\n")).unwrap();
    std::fs::set_permissions(&secrets, std::fs::Permissions::from_mode(0o600)).unwrap();
    let text = format!("secrets {}\nask_auth 0\nuse_locks 1\ndelay_upload 0\n", secrets.display());
    std::fs::write(&settings, text).unwrap();
    let options = format!("conf={},uid=0", settings.display());
    let output = run(Command::new("mount.davfs").args(["-o", &options, &url]).arg(drive.path()));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    drive
}

async fn rclone_mount(server: &Server) -> Drive {
    let mut drive = Drive::new(&["fusermount3", "-u"]);
    let mut command = rclone_command(server);
    command.args(["mount", ":webdav:"]).arg(drive.path()).arg("--cache-dir").arg(drive.scratch.path().join("cache"));
    command.args(["--vfs-cache-mode", "writes", "--vfs-write-back", "0s", "--dir-cache-time", "0s"]);
    drive.program = Some(command.spawn().unwrap());
    until("the drive", async || drive.is_mounted()).await;
    drive
}

/// The sequence of operations that every drive must support.
async fn story(client: &Client, drive: &Path) {
    let has = async |path: &str, content: &[u8]| {
        until(path, async || {
            let answer = client.get(path).await.unwrap();
            answer.status.is_success() && answer.body == content
        })
        .await;
    };
    let write = |path: &str, content: &[u8]| std::fs::write(drive.join(path), content).unwrap();
    std::fs::create_dir(drive.join("a b")).unwrap();
    write("a b/100 % #1+é💾.txt", b"one");
    let encoded = "a%20b/100%20%25%20%231%2B%C3%A9%F0%9F%92%BE.txt";
    has(encoded, b"one").await;
    write("a b/100 % #1+é💾.txt", b"one and two");
    has(encoded, b"one and two").await;
    assert_eq!(versions(client, encoded).await.len(), 2, "each save is one version");
    write("large.bin", &bytes(7, 3_000_000));
    has("large.bin", &bytes(7, 3_000_000)).await;

    std::fs::rename(drive.join("a b/100 % #1+é💾.txt"), drive.join("renamed.txt")).unwrap();
    has("renamed.txt", b"one and two").await;
    assert_eq!(versions(client, "renamed.txt").await.len(), 2, "the history goes along");
    std::fs::copy(drive.join("renamed.txt"), drive.join("a b/copy.txt")).unwrap();
    has("a%20b/copy.txt", b"one and two").await;
    std::fs::rename(drive.join("a b"), drive.join("moved")).unwrap();
    has("moved/copy.txt", b"one and two").await;
    std::fs::remove_file(drive.join("moved/copy.txt")).unwrap();
    std::fs::remove_dir(drive.join("moved")).unwrap();
    until("the end of a folder", async || client.get("moved/copy.txt").await.unwrap().status.as_u16() == 404).await;

    // As editors save: to a temporary file, then renamed over the original.
    write("renamed.txt~", b"three");
    has("renamed.txt~", b"three").await;
    std::fs::rename(drive.join("renamed.txt~"), drive.join("renamed.txt")).unwrap();
    has("renamed.txt", b"three").await;
    assert_eq!(std::fs::read(drive.join("renamed.txt")).unwrap(), b"three");
    assert!(std::fs::read(drive.join("nothing.txt")).is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn davfs2_is_a_drive() {
    if !can_mount() {
        return;
    }
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let client = server.client(&farm.token());
    let drive = davfs(&server);
    story(&client, &drive.path()).await;

    // While a document is open for writing on the drive, other clients can read it but not change it.
    let mut open = std::fs::OpenOptions::new().append(true).open(drive.path().join("renamed.txt")).unwrap();
    open.write_all(b" and four").unwrap();
    assert_eq!(client.put("renamed.txt", b"another".to_vec()).await.unwrap().status.as_u16(), 423);
    assert_eq!(client.get("renamed.txt").await.unwrap().text(), "three");
    drop(open);
    until("the saved document", async || client.get("renamed.txt").await.unwrap().text() == "three and four").await;
    until("the end of the lock", async || {
        client.put("renamed.txt", b"mine".to_vec()).await.unwrap().status.is_success()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rclone_mount_is_a_drive() {
    if !can_mount() {
        return;
    }
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let client = server.client(&farm.token());
    let mut drive = rclone_mount(&server).await;
    story(&client, &drive.path()).await;

    // If the client is killed during a save, the previous version remains.
    let mut open = std::fs::OpenOptions::new().append(true).open(drive.path().join("renamed.txt")).unwrap();
    open.write_all(b" and four").unwrap();
    let mut program = drive.program.take().unwrap();
    program.kill().unwrap();
    program.wait().unwrap();
    drop(open);
    assert_eq!(client.get("renamed.txt").await.unwrap().text(), "three");
    assert!(client.put("renamed.txt", b"mine".to_vec()).await.unwrap().status.is_success(), "nothing is locked");
}

/// Runs a script in its own session with the library mounted at `$U`. Returns its output.
pub fn gio(place: &str, home: &Path, script: &str) -> String {
    let script = format!(
        "U=dav://{place}/dav/Documents\n\
         printf 'admin\\n{PASSWORD}\\n' | gio mount \"$U/\" >/dev/null 2>&1 || exit 9\n\
         set -e\n{script}"
    );
    let output = run(Command::new("dbus-run-session")
        .args(["--", "bash", "-c", &script])
        .env("HOME", home)
        .env("XDG_RUNTIME_DIR", home)
        .env("GVFS_DISABLE_FUSE", "1")
        .current_dir(home)
        .stdin(Stdio::null()));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}\n{said}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    said
}

#[tokio::test(flavor = "multi_thread")]
async fn gnome_files_works_in_a_library() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let client = server.client(&farm.token());
    let scratch = tempfile::tempdir().unwrap();
    let home = scratch.path();
    std::fs::write(home.join("local.txt"), "one").unwrap();
    let said = gio(
        server.host(),
        home,
        r#"gio mkdir "$U/folder"
           gio copy local.txt "$U/folder/100%25 %231.txt"
           printf two | gio save "$U/folder/100%25 %231.txt"
           gio cat "$U/folder/100%25 %231.txt"; echo
           gio rename "$U/folder/100%25 %231.txt" renamed.txt >/dev/null
           gio copy "$U/folder/renamed.txt" "$U/folder/copy.txt"
           gio move "$U/folder/copy.txt" "$U/folder/moved.txt"
           gio copy "$U/folder/renamed.txt" "$U/folder/gone.txt"
           gio remove "$U/folder/gone.txt"
           gio list -l "$U/folder""#,
    );
    assert!(said.starts_with("two\n"), "{said}");
    assert!(said.contains("renamed.txt"), "{said}");
    assert!(said.contains("moved.txt"), "{said}");
    assert!(!said.contains("gone.txt"), "{said}");
    assert_eq!(client.get("folder/moved.txt").await.unwrap().text(), "two");
    assert_eq!(client.get("folder/gone.txt").await.unwrap().status.as_u16(), 404);
    assert_eq!(versions(&client, "folder/renamed.txt").await, ["2.0", "1.0"]);

    // Another client saved first. The save based on the old content must not overwrite it silently.
    let said = gio(
        server.host(),
        home,
        r#"before=$(gio info -a etag::value "$U/folder/renamed.txt" | sed -n 's/.*etag::value: //p' | tr -d '"')
           printf three | gio save "$U/folder/renamed.txt"
           if printf four | gio save --etag="$before" "$U/folder/renamed.txt" 2>/dev/null
           then echo written; else echo refused; fi"#,
    );
    assert_eq!((said.trim(), client.get("folder/renamed.txt").await.unwrap().text().as_str()), ("refused", "three"));
}

//! Owns the single PostgreSQL server of a test process: Debian's package, with its own directory and default
//! durability, reached through a socket in that directory. It ends with the process, however that ends.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

/// Script that runs as the server's user. Its standard input is a pipe that the test process holds open, and which
/// closes however the process ends. `initdb` takes seconds, so its result is kept for later runs, in a directory that
/// only this user can write. The directory gets its final name only once it is complete.
const SUPERVISOR: &str = r#"
set -eu
# A shell that a signal ends skips its clean-up; one whose output nobody reads any more must reach it as well.
trap '' PIPE
trap 'exit 1' HUP INT TERM
bin=$1 version=$2 temp=$3
export LC_ALL=C.UTF-8
home=$temp/strongroom-postgres-$(id -un)
mkdir -p -m 700 "$home"
if [ -L "$home" ] || [ ! -O "$home" ]; then echo "$home belongs to another user; remove it" >&2; exit 1; fi
template=$home/template-$version-1
exec 9>"$home/lock"
flock 9
if [ ! -d "$template" ]; then
    partial=$(mktemp -d "$home/partial-XXXXXX")
    icu=
    if [ "${version%%.*}" -ge 15 ]; then icu='--locale-provider=icu --icu-locale=en'; fi
    "$bin/initdb" -D "$partial/data" -U postgres -A trust -E UTF8 --locale=C.UTF-8 $icu >&2
    mv -T "$partial/data" "$template"
    rmdir "$partial"
fi
exec 9>&-
directory=$(mktemp -d "$temp/strongroom-pg-XXXXXX")
server=
finish() { trap '' EXIT; [ -z "$server" ] || { kill -QUIT "$server" && wait "$server"; } || :; rm -rf "$directory"; }
trap finish EXIT
cp -a --reflink=auto "$template" "$directory/data"
"$bin/postgres" -D "$directory/data" -k "$directory" -c listen_addresses= -c max_connections=400 \
    >"$directory/log" 2>&1 </dev/null &
server=$!
until "$bin/pg_isready" -q -h "$directory"; do
    kill -0 "$server" || { cat "$directory/log" >&2; exit 1; }
    sleep 0.02
done
echo "$directory"
exec >&-
read -r _ || :
"#;

/// The PostgreSQL server of this process.
pub struct Server {
    directory: PathBuf,
    // Held, because the server stops when the pipe to its supervisor closes.
    _supervisor: Child,
}

impl Server {
    /// The address of one of the server's databases, for its superuser.
    pub fn address(&self, database: &str) -> String {
        let host = self.directory.display().to_string().replace('/', "%2F");
        format!("postgres://postgres@{host}:5432/{database}")
    }

    /// The socket on which the server listens.
    pub fn socket(&self) -> PathBuf {
        self.directory.join(".s.PGSQL.5432")
    }
}

/// The server of this process, started on first use.
pub fn postgres() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(start)
}

fn start() -> Server {
    let (bin, version) = newest_installed();
    let mut command = if is_root() {
        let mut command = Command::new("runuser");
        command.args(["-u", "postgres", "--", "sh"]);
        command
    } else {
        Command::new("sh")
    };
    command.args(["-c", SUPERVISOR, "postgres-supervisor"]).arg(&bin).arg(&version).arg(std::env::temp_dir());
    // A separate process group: an interrupt from the terminal must not reach the supervisor before the pipe closes.
    command.current_dir("/").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut supervisor = command.spawn().unwrap_or_else(|e| panic!("runuser or sh could not be started: {e}"));
    let mut line = String::new();
    BufReader::new(supervisor.stdout.take().unwrap()).read_line(&mut line).unwrap();
    if line.is_empty() {
        let mut reason = String::new();
        supervisor.stderr.take().unwrap().read_to_string(&mut reason).unwrap();
        panic!("PostgreSQL {version} from {} did not start:\n{reason}", bin.display());
    }
    Server { directory: PathBuf::from(line.trim_end()), _supervisor: supervisor }
}

/// Directory and version of the newest installed Debian package. Other installations on the path are ignored.
pub(super) fn newest_installed() -> (PathBuf, String) {
    let missing = "these tests need a PostgreSQL server; install it with: apt-get install postgresql";
    let entries = fs::read_dir("/usr/lib/postgresql").unwrap_or_else(|e| panic!("{missing} ({e})"));
    let mut found: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            Some((path.file_name()?.to_str()?.parse().ok()?, path.join("bin")))
        })
        .filter(|(_, bin)| bin.join("postgres").exists() && bin.join("initdb").exists())
        .collect();
    found.sort();
    let (_, bin) = found.pop().unwrap_or_else(|| panic!("{missing}"));
    let version = full_version(&bin);
    (bin, version)
}

/// Full version such as `15.18`, because a minor version may not be able to use the template of another one in every
/// respect.
fn full_version(bin: &Path) -> String {
    let output = Command::new(bin.join("postgres")).arg("--version").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_whitespace().nth(2).unwrap_or_else(|| panic!("no version in {text:?}")).to_owned()
}

fn is_root() -> bool {
    // The owner of this process's own entry in `/proc` is its effective user.
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").unwrap().uid() == 0
}

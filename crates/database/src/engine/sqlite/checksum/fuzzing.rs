//! Entry points for fuzzing the page checksums. Exists only when built with `--cfg fuzzing`.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rusqlite::OpenFlags;

use super::{MAGIC, NAME, RESERVED_AT, SUM, enable_for_new_file, register};

const PAGE: usize = 512;

type Rows = Vec<(i64, String, Vec<u8>)>;

struct Made {
    path: PathBuf,
    bytes: Vec<u8>,
    rows: Rows,
}

fn open(path: &Path, flags: OpenFlags) -> rusqlite::Result<rusqlite::Connection> {
    assert!(register());
    rusqlite::Connection::open_with_flags_and_vfs(path, flags, NAME)
}

fn read(path: &Path, order: &str) -> rusqlite::Result<Rows> {
    let raw = open(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut all = raw.prepare(&format!("SELECT id, name, content FROM thing {order}"))?;
    all.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?.collect()
}

/// A database of several pages with checksums.
fn made() -> &'static Made {
    static MADE: OnceLock<Made> = OnceLock::new();
    MADE.get_or_init(|| {
        let path = std::env::temp_dir().join(format!("strongroom-fuzz-pages-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let fill = || -> rusqlite::Result<()> {
            let raw = open(&path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
            enable_for_new_file(&raw);
            raw.execute_batch(&format!(
                "PRAGMA page_size = {PAGE}; CREATE TABLE thing (id INTEGER PRIMARY KEY, name TEXT, content BLOB);
                 CREATE INDEX thing_name ON thing (name);"
            ))?;
            for id in 1..40_i64 {
                let content = vec![id as u8; id as usize * 20];
                raw.execute("INSERT INTO thing VALUES (?, ?, ?)", (id, format!("name {}", 100 - id), content))?;
            }
            Ok(())
        };
        fill().expect("a scratch database");
        let bytes = std::fs::read(&path).expect("a scratch database");
        assert!(bytes.starts_with(MAGIC), "its pages have checksums");
        assert!(usize::from(bytes[RESERVED_AT]) == SUM, "its pages have checksums");
        let rows = read(&path, "ORDER BY id").expect("a scratch database");
        Made { path, bytes, rows }
    })
}

/// Applies changes to a database file, four bytes each: the position (three bytes) and the change. Reading must then
/// return what was written, or an error.
pub fn pages(input: &[u8]) {
    let made = made();
    let mut bytes = made.bytes.clone();
    for change in input.chunks_exact(4) {
        let at = u32::from_le_bytes([change[0], change[1], change[2], 0]) as usize % bytes.len();
        // The parts that declare the checksums are left alone, since without them nothing is verified. The checksums
        // themselves are left alone too, since changing them together with the data could produce any valid page.
        if at >= MAGIC.len() && at != RESERVED_AT && at % PAGE < PAGE - SUM {
            bytes[at] ^= change[3];
        }
    }
    std::fs::write(&made.path, &bytes).expect("a scratch database");
    let changed = bytes != made.bytes;
    for order in ["ORDER BY id", "INDEXED BY thing_name ORDER BY name DESC"] {
        match read(&made.path, order) {
            Ok(rows) => assert_eq!(rows, made.rows, "wrong rows were read as good ones"),
            Err(error) => assert!(changed, "{error}"),
        }
    }
}

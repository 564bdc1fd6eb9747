//! Embeds `migrations/{configuration,content}/{sqlite,postgres}/V<number>__<name>.sql`, so that a new file needs no
//! registration in the code.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=migrations");
    let root = env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?;
    let mut code = String::new();
    for schema in ["configuration", "content"] {
        for engine in ["sqlite", "postgres"] {
            let directory = Path::new(&root).join("migrations").join(schema).join(engine);
            let constant = format!("{schema}_{engine}").to_uppercase();
            let _ = writeln!(code, "const {constant}: &[Migration] = &[");
            for (version, name, path) in list(&directory)? {
                let _ =
                    writeln!(code, "Migration {{ version: {version}, name: {name:?}, sql: include_str!({path:?}) }},");
            }
            code.push_str("];\n");
        }
    }
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    fs::write(Path::new(&out).join("migrations.rs"), code)
}

fn list(directory: &Path) -> io::Result<Vec<(u32, String, String)>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(e),
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let stem = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".sql"));
        let parts = stem.and_then(|stem| stem.strip_prefix('V')).and_then(|rest| rest.split_once("__"));
        let (version, name) = parts
            .and_then(|(number, name)| Some((number.parse().ok()?, name.to_owned())))
            .ok_or_else(|| io::Error::other(format!("{} is not named like V1__name.sql", path.display())))?;
        found.push((version, name, path.display().to_string()));
    }
    found.sort();
    Ok(found)
}

//! The cycle test: no file refers, directly or indirectly, to a file that refers back to it. A crate can then be read
//! from the bottom up without meeting anything that was not introduced before.

use std::path::Path;

use crate::references::References;
use crate::root;

#[test]
fn no_files_refer_to_each_other_in_a_circle() {
    let mut faults = Vec::new();
    for entry in std::fs::read_dir(root().join("crates")).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        for circle in References::read(&path.join("src")).circles() {
            let files: Vec<String> = circle.iter().map(|file| file.display().to_string()).collect();
            faults.push(format!(
                "{name}: these files refer to each other in a circle: {}. Move what both need into a file below them",
                files.join(", ")
            ));
        }
    }
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn a_circle_is_found_through_re_exports_and_macros_and_not_through_tests() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("a written file");
    write("lib.rs", "mod low; mod high; mod tested; pub use high::climb;");
    write("low.rs", "pub struct Low; fn f() { println!(\"{}\", crate::climb()); }");
    write("high.rs", "use crate::low::Low; pub fn climb() -> u8 { let _ = Low; 1 }");
    write("tested.rs", "pub fn g() { crate::climb(); } #[cfg(test)] mod tests { fn h() { super::g() } }");
    let references = References::read(folder.path());
    assert_eq!(references.circles(), [[Path::new("low.rs"), Path::new("high.rs")]]);
}

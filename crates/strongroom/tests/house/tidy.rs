//! The tidiness test: length of files, a heading for each module, and left-over words.

use std::path::{Path, PathBuf};

use crate::root;

/// Maximum number of lines in a source file.
const MAX_FILE: usize = 500;
/// Maximum median of the source files' lengths, in lines.
const MEDIAN_FILE: usize = 200;

/// Maximum length of a line, in characters.
const MAX_LINE: usize = 120;

/// Left-overs, each with the advice to show. They are put together here so that this file does not contain them.
const LEFT_OVERS: &[(&str, &str)] = &[
    (concat!("TO", "DO"), "finish it or write an issue"),
    (concat!("FIX", "ME"), "fix it or write an issue"),
    (concat!("XX", "X "), "say what is meant"),
    (concat!("db", "g!("), "a left-over of debugging"),
    (concat!("/wo", "rk/"), "a path of one machine"),
    (concat!("/tmp/", "wt"), "a path of one machine"),
    (concat!("/tmp/", "target"), "a path of one machine"),
    (concat!("/ro", "ot/"), "a path of one machine"),
    (concat!("registry.", "npmjs"), "the address of a registry: leave it to the user's configuration"),
];

/// All hand-written files of the project, with their text.
fn sources() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a readable folder") {
            let entry = entry.expect("a readable entry");
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            if entry.file_type().expect("a type").is_dir() {
                let skipped = ["target", "node_modules", "vendor", "test-output", "strongroom-data", ".git"];
                if !skipped.contains(&name.as_str()) {
                    folders.push(path);
                }
            } else if !["Cargo.lock", ".git"].contains(&name.as_str()) {
                // A file that is not text, such as an icon or a golden store, is skipped.
                if let Ok(text) = std::fs::read_to_string(&path) {
                    found.push((path.strip_prefix(root()).expect("below the root").to_path_buf(), text));
                }
            }
        }
    }
    found.sort();
    found
}

fn is_rust(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "rs")
}

fn fail_with(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn files_are_short_enough_to_be_read() {
    let mut lengths = Vec::new();
    let mut faults = Vec::new();
    for (path, text) in sources().iter().filter(|(path, _)| is_rust(path)) {
        let lines = text.lines().count();
        lengths.push(lines);
        if lines > MAX_FILE {
            faults.push(format!("{}: {lines} lines; split it by topic (at most {MAX_FILE})", path.display()));
        }
    }
    lengths.sort_unstable();
    let median = lengths[lengths.len() / 2];
    if median > MEDIAN_FILE {
        faults.push(format!("half of the files are longer than {median} lines (at most {MEDIAN_FILE})"));
    }
    fail_with(&faults);
}

/// Returns the numbers of the lines that are too long for a window beside another one.
fn long_lines(path: &Path, text: &str) -> Vec<usize> {
    let is_prose = path.extension().is_some_and(|extension| extension == "md");
    let mut in_code = false;
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        in_code ^= is_prose && line.trim_start().starts_with("```");
        // A table and a block of code cannot be wrapped, and an address is one word.
        let is_free = is_prose && (in_code || line.starts_with(['|', ' ']) || !line.trim().contains(' '));
        if line.chars().count() > MAX_LINE && !is_free {
            found.push(number + 1);
        }
    }
    found
}

#[test]
fn lines_fit_beside_each_other() {
    // One line is one entry of the changelog, and reports of the lab are kept as they were printed.
    let is_free = |path: &Path| path.starts_with("changelog") || path.starts_with("docs/lab");
    let hand_written = |path: &Path| is_rust(path) || path.extension().is_some_and(|extension| extension == "md");
    let mut faults = Vec::new();
    for (path, text) in sources().iter().filter(|(path, _)| hand_written(path) && !is_free(path)) {
        let lines = long_lines(path, text);
        if !lines.is_empty() {
            faults.push(format!("{}: lines {lines:?} have more than {MAX_LINE} characters", path.display()));
        }
    }
    fail_with(&faults);
}

#[test]
fn every_module_says_what_it_owns() {
    let faults: Vec<String> = sources()
        .iter()
        .filter(|(path, text)| is_rust(path) && !text.trim_start().starts_with("//!"))
        .map(|(path, _)| {
            format!("{}: begins without `//!`: say what it owns and what it must not know", path.display())
        })
        .collect();
    fail_with(&faults);
}

#[test]
fn nothing_is_left_behind() {
    let mut faults = Vec::new();
    for (path, text) in sources() {
        for (number, line) in text.lines().enumerate() {
            for (word, why) in LEFT_OVERS {
                if line.contains(word) {
                    faults.push(format!("{}:{}: `{word}`: {why}", path.display(), number + 1));
                }
            }
        }
    }
    fail_with(&faults);
}

#[test]
fn tests_wait_for_conditions_and_are_never_skipped_silently() {
    let (ignored, sleep) = (concat!("#[ign", "ore]"), concat!("sle", "ep("));
    let mut faults = Vec::new();
    for (path, text) in sources().iter().filter(|(path, _)| is_rust(path)) {
        let mut in_tests = path.components().any(|part| part.as_os_str() == "tests");
        let mut before = "";
        for (number, line) in text.lines().enumerate() {
            in_tests |= line.trim_start().starts_with("#[cfg(test)]");
            if line.contains(ignored) {
                faults.push(format!("{}:{}: an ignored test without a reason", path.display(), number + 1));
            }
            let explained = [before, line].iter().any(|line| line.contains("// sleep:"));
            if in_tests && line.contains(sleep) && !explained {
                let hint = "wait for a condition, or say why not in a comment `// sleep: ...` beside it";
                faults.push(format!("{}:{}: a test sleeps: {hint}", path.display(), number + 1));
            }
            before = line;
        }
    }
    fail_with(&faults);
}

/// Tests in documentation are switched off (`doctest = false`), because cargo builds all crates once more for them.
#[test]
fn documentation_holds_no_tests() {
    let mut faults = Vec::new();
    for (path, text) in sources().iter().filter(|(path, _)| is_rust(path)) {
        let mut inside = false;
        for (number, line) in text.lines().enumerate() {
            let line = line.trim_start();
            let comment = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).unwrap_or_default();
            let Some(language) = comment.trim_start().strip_prefix("```") else { continue };
            inside = !inside;
            if inside && !["ignore", "text", "toml"].contains(&language) {
                let hint = "it would not run; write a test in a module, or name the block's language";
                faults.push(format!("{}:{}: a test in documentation: {hint}", path.display(), number + 1));
            }
        }
    }
    fail_with(&faults);
}

#[test]
fn documentation_names_only_files_that_exist() {
    let tops = ["crates/", "docs/", "bench/", "tests/", "changelog/", "./check", ".ci/"];
    let is_page = |path: &Path| path.extension().is_some_and(|extension| extension == "md");
    let mut faults = Vec::new();
    for (path, text) in sources().iter().filter(|(path, _)| is_page(path) && !path.starts_with("changelog")) {
        let names = text.split('`').skip(1).step_by(2).filter(|name| tops.iter().any(|top| name.starts_with(top)));
        for name in names.filter(|name| !name.contains(['{', '*', '<', ' ', '\n'])) {
            let file = name.split_once("::").map_or(name, |(file, _)| file).trim_end_matches(':');
            if !root().join(file).exists() {
                faults.push(format!("{} names `{name}`, which does not exist", path.display()));
            }
        }
    }
    assert!(root().join("ARCHITECTURE.md").exists(), "the map of the code is missing");
    fail_with(&faults);
}

#[test]
fn changelog_fragments_are_well_formed() {
    let folder = root().join("changelog/unreleased");
    let kinds = ["Added: ", "Changed: ", "Fixed: ", "Removed: ", "Security: "];
    let mut faults = Vec::new();
    for entry in std::fs::read_dir(&folder).expect("changelog/unreleased is readable") {
        let path = entry.expect("a readable entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue;
        }
        let stem = name.strip_suffix(".md").unwrap_or_default();
        let numbered = stem.chars().next().is_some_and(|first| first.is_ascii_digit());
        if !numbered || !stem.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-') {
            faults.push(format!("{name}: call it NUMBER-few-words.md"));
        }
        let text = std::fs::read_to_string(&path).expect("a readable fragment");
        let first = text.lines().next().unwrap_or_default();
        if !kinds.iter().any(|kind| first.starts_with(kind)) {
            faults.push(format!("{name}: the first line begins with one of {kinds:?}"));
        }
        if !text.trim_end().ends_with('.') {
            faults.push(format!("{name}: ends with a full sentence"));
        }
    }
    fail_with(&faults);
}

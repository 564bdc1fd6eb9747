//! The test that no protocol sees a store: the crates of HTTP reach databases and stores through methods of a
//! `Session`, and never through `Storage`, which is below all permissions and public for maintenance only.

use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

use crate::references::is_for_tests;
use crate::root;

/// The crates of HTTP.
const PROTOCOLS: &[&str] = &["http", "http-core", "rest", "ui", "webdav", "wopi"];
/// Types that protocols must not name.
const TYPES: &[&str] = &["Storage", "StorageDatabase"];
/// Method of a `Session` that protocols must not call.
const METHOD: &str = "storage";

/// Mentions of stores in the code of a file, without its tests.
#[derive(Default)]
struct StoreMentions(Vec<String>);

impl StoreMentions {
    fn of(source: &str) -> Vec<String> {
        let mut found = Self::default();
        found.visit_file(&syn::parse_file(source).expect("a source file"));
        found.0
    }

    fn note_tokens(&mut self, tokens: TokenStream) {
        let mut after_dot = false;
        for token in tokens {
            match &token {
                TokenTree::Ident(name) if after_dot && name == METHOD => self.0.push(format!(".{METHOD}()")),
                TokenTree::Ident(name) => self.visit_ident(name),
                TokenTree::Group(group) => self.note_tokens(group.stream()),
                _ => {}
            }
            after_dot = matches!(&token, TokenTree::Punct(mark) if mark.as_char() == '.');
        }
    }
}

impl<'a> Visit<'a> for StoreMentions {
    fn visit_ident(&mut self, name: &'a proc_macro2::Ident) {
        if TYPES.iter().any(|refused| name == refused) {
            self.0.push(name.to_string());
        }
    }

    fn visit_expr_method_call(&mut self, call: &'a syn::ExprMethodCall) {
        if call.method == METHOD {
            self.0.push(format!(".{METHOD}()"));
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, item: &'a syn::Macro) {
        self.note_tokens(item.tokens.clone());
    }

    fn visit_item_mod(&mut self, item: &'a syn::ItemMod) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_attribute(&mut self, _: &'a syn::Attribute) {}
}

/// Collects the source files in a folder, without tests.
pub fn add_sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        if path.file_stem().is_some_and(|name| name == "tests") {
            continue;
        }
        if path.is_dir() {
            add_sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn protocols_see_no_store() {
    let mut files = Vec::new();
    for package in PROTOCOLS {
        add_sources(&root().join("crates").join(package).join("src"), &mut files);
    }
    assert!(files.len() > 200, "only {} files of HTTP were found", files.len());
    let mut faults = Vec::new();
    for file in files {
        for mention in StoreMentions::of(&std::fs::read_to_string(&file).expect("a readable file")) {
            let file = file.strip_prefix(root()).unwrap_or(&file).display().to_string();
            faults.push(format!("{file}: `{mention}`: give `Session` a method that answers exactly what is needed"));
        }
    }
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn a_store_is_found_in_code_and_macros_and_not_in_tests_and_comments() {
    for source in [
        "use repository::Storage;",
        "use repository::{Session, StorageDatabase};",
        "fn f(at: &repository::Storage) {}",
        "async fn f(s: Session) -> R { s.storage().await?.databases() }",
        "fn f(s: Session) { assert!(s.storage().is_some()); }",
    ] {
        assert_eq!(StoreMentions::of(source).len(), 1, "{source}");
    }
    for source in [
        "/// Storage of the farm.\nmod storage; fn f() -> R { storage::routes() }",
        "#[cfg(test)] mod tests { use repository::Storage; }",
        "fn f() -> &'static str { \"Storage\" }",
    ] {
        assert!(StoreMentions::of(source).is_empty(), "{source}");
    }
}

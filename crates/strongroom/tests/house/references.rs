//! References between the files of a crate, read from the source.
//!
//! A re-export leads to the file that defines the item. Code for tests and benchmarks does not count. Macros count as
//! far as their arguments name paths.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

/// Maximum depth of nested re-exports that are followed.
const MAX_STEPS: usize = 12;

/// The files below a crate's `src`, and the references between them by index.
pub struct References {
    pub files: Vec<PathBuf>,
    pub arrows: BTreeSet<(usize, usize)>,
}

impl References {
    /// Reads the crate with its source in this directory.
    pub fn read(source: &Path) -> Self {
        let mut tree = ModuleTree { source: source.to_path_buf(), files: Vec::new(), modules: Vec::new() };
        let tops = ["lib.rs", "main.rs"].map(|name| source.join(name));
        let top = tops.iter().find(|path| path.exists()).expect("a crate has lib.rs or main.rs");
        tree.add_file(top, source, None);
        let mut arrows = BTreeSet::new();
        for (index, module) in tree.modules.iter().enumerate() {
            let paths = module.names.mentions.iter().chain(module.names.aliases.values());
            let targets = paths.filter_map(|path| tree.defining_file(index, path, 0));
            arrows.extend(targets.filter(|target| *target != module.file).map(|target| (module.file, target)));
        }
        Self { files: tree.files, arrows }
    }

    /// Sets of files that all refer to each other, directly or indirectly.
    pub fn circles(&self) -> Vec<Vec<&Path>> {
        let reached: Vec<BTreeSet<usize>> = (0..self.files.len()).map(|file| self.reached_from(file)).collect();
        let mut sorted = BTreeSet::new();
        let mut circles = Vec::new();
        for file in 0..self.files.len() {
            if sorted.contains(&file) || !reached[file].contains(&file) {
                continue;
            }
            let circle: Vec<usize> =
                reached[file].iter().copied().filter(|other| reached[*other].contains(&file)).collect();
            sorted.extend(circle.iter().copied());
            circles.push(circle.into_iter().map(|index| self.files[index].as_path()).collect());
        }
        circles
    }

    fn reached_from(&self, file: usize) -> BTreeSet<usize> {
        let (mut reached, mut left) = (BTreeSet::new(), vec![file]);
        while let Some(at) = left.pop() {
            for (_, to) in self.arrows.range((at, 0)..(at + 1, 0)) {
                if reached.insert(*to) {
                    left.push(*to);
                }
            }
        }
        reached
    }
}

struct ModuleTree {
    source: PathBuf,
    files: Vec<PathBuf>,
    modules: Vec<Module>,
}

struct Module {
    file: usize,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    items: BTreeSet<String>,
    names: ModuleNames,
}

/// Names that the code of a module refers to.
#[derive(Default)]
struct ModuleNames {
    /// Imported names, and their full paths.
    aliases: BTreeMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
    /// Paths in the code itself.
    mentions: BTreeSet<Vec<String>>,
}

impl ModuleTree {
    fn add_file(&mut self, path: &Path, folder: &Path, parent: Option<usize>) -> usize {
        let text = fs::read_to_string(path).expect("a source file that can be read");
        let parsed = syn::parse_file(&text).expect("source that compiles");
        self.files.push(path.strip_prefix(&self.source).expect("below the source").to_path_buf());
        self.add_module(&parsed.items, self.files.len() - 1, folder, parent)
    }

    fn add_module(&mut self, items: &[syn::Item], file: usize, folder: &Path, parent: Option<usize>) -> usize {
        let index = self.modules.len();
        let items_here = items.iter().filter_map(item_name).collect();
        let module =
            Module { file, parent, children: BTreeMap::new(), items: items_here, names: ModuleNames::of(items) };
        self.modules.push(module);
        for item in items {
            let syn::Item::Mod(inner) = item else { continue };
            if is_for_tests(&inner.attrs) {
                continue;
            }
            let name = inner.ident.to_string();
            let below = folder.join(&name);
            let child = match &inner.content {
                Some((_, items)) => self.add_module(items, file, &below, Some(index)),
                None => {
                    let (flat, deep) = (folder.join(format!("{name}.rs")), below.join("mod.rs"));
                    self.add_file(if flat.exists() { &flat } else { &deep }, &below, Some(index))
                }
            };
            self.modules[index].children.insert(name, child);
        }
        index
    }

    /// The file that defines the target of a path used in a module. `None` for modules themselves and for other crates.
    fn defining_file(&self, from: usize, path: &[String], steps: usize) -> Option<usize> {
        match path.first()?.as_str() {
            "crate" => self.follow(0, &path[1..], steps),
            "self" => self.follow(from, &path[1..], steps),
            "super" => {
                let (mut at, mut rest) = (self.modules[from].parent?, &path[1..]);
                while rest.first().is_some_and(|next| next == "super") {
                    (at, rest) = (self.modules[at].parent?, &rest[1..]);
                }
                self.follow(at, rest, steps)
            }
            _ => self.follow(from, path, steps),
        }
    }

    fn follow(&self, at: usize, path: &[String], steps: usize) -> Option<usize> {
        let (module, first) = (&self.modules[at], path.first()?);
        if steps > MAX_STEPS {
            return None;
        }
        if let Some(child) = module.children.get(first).filter(|_| path.len() > 1) {
            return self.follow(*child, &path[1..], steps + 1);
        }
        if module.items.contains(first) {
            return Some(module.file);
        }
        if let Some(meant) = module.names.aliases.get(first) {
            let is_other_crate = meant.len() == 1 && meant[0] == *first;
            let whole: Vec<String> = meant.iter().chain(&path[1..]).cloned().collect();
            return if is_other_crate { None } else { self.defining_file(at, &whole, steps + 1) };
        }
        module.names.globs.iter().find_map(|glob| {
            let whole: Vec<String> = glob.iter().chain(path).cloned().collect();
            self.defining_file(at, &whole, steps + 1)
        })
    }
}

impl ModuleNames {
    fn of(items: &[syn::Item]) -> Self {
        let mut names = Self::default();
        for item in items {
            match item {
                syn::Item::Use(import) if !is_for_tests(&import.attrs) => {
                    flatten(&import.tree, &mut Vec::new(), &mut names.aliases, &mut names.globs);
                }
                syn::Item::Use(_) | syn::Item::Mod(_) => {}
                other => names.visit_item(other),
            }
        }
        names
    }

    /// Records the paths in the arguments of a macro.
    fn note_tokens(&mut self, tokens: TokenStream) {
        let (mut path, mut colons) = (Vec::new(), 0);
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.mentions.insert(std::mem::take(&mut path));
                    }
                    path.push(ident.to_string());
                    colons = 0;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
                other => {
                    self.mentions.insert(std::mem::take(&mut path));
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.note_tokens(group.stream());
                    }
                }
            }
        }
        self.mentions.insert(path);
    }
}

impl<'a> Visit<'a> for ModuleNames {
    fn visit_path(&mut self, path: &'a syn::Path) {
        self.mentions.insert(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    fn visit_item_use(&mut self, import: &'a syn::ItemUse) {
        let mut local = Self::default();
        flatten(&import.tree, &mut Vec::new(), &mut local.aliases, &mut local.globs);
        self.mentions.extend(local.aliases.into_values());
    }

    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'a syn::ItemImpl) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_impl(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        if !is_for_tests(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_macro(&mut self, item: &'a syn::Macro) {
        self.note_tokens(item.tokens.clone());
        visit::visit_macro(self, item);
    }

    fn visit_attribute(&mut self, _: &'a syn::Attribute) {}
}

/// Returns whether an item exists only in tests.
pub fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let syn::Meta::List(list) = &attribute.meta else { return false };
        let condition = list.tokens.to_string();
        let mut words = condition.split(|letter: char| !letter.is_alphanumeric());
        list.path.is_ident("cfg") && words.any(|word| word == "test" || word == "testing")
    })
}

fn item_name(item: &syn::Item) -> Option<String> {
    Some(match item {
        syn::Item::Const(item) => item.ident.to_string(),
        syn::Item::Enum(item) => item.ident.to_string(),
        syn::Item::Fn(item) => item.sig.ident.to_string(),
        syn::Item::Macro(item) => item.ident.as_ref()?.to_string(),
        syn::Item::Static(item) => item.ident.to_string(),
        syn::Item::Struct(item) => item.ident.to_string(),
        syn::Item::Trait(item) => item.ident.to_string(),
        syn::Item::Type(item) => item.ident.to_string(),
        syn::Item::Union(item) => item.ident.to_string(),
        _ => return None,
    })
}

/// Splits an import into names with their paths, and globs.
fn flatten(
    tree: &syn::UseTree,
    before: &mut Vec<String>,
    aliases: &mut BTreeMap<String, Vec<String>>,
    globs: &mut Vec<Vec<String>>,
) {
    let mut add = |name: &syn::Ident, alias: &syn::Ident| {
        let mut path = before.clone();
        if name != "self" {
            path.push(name.to_string());
        }
        let is_named = alias != "self" && alias != "_";
        let known_as = if is_named { alias.to_string() } else { path.last().cloned().unwrap_or_default() };
        aliases.insert(known_as, path);
    };
    match tree {
        syn::UseTree::Name(name) => add(&name.ident, &name.ident),
        syn::UseTree::Rename(rename) => add(&rename.ident, &rename.rename),
        syn::UseTree::Glob(_) => globs.push(before.clone()),
        syn::UseTree::Path(path) => {
            before.push(path.ident.to_string());
            flatten(&path.tree, before, aliases, globs);
            before.pop();
        }
        syn::UseTree::Group(group) => {
            for tree in &group.items {
                flatten(tree, before, aliases, globs);
            }
        }
    }
}

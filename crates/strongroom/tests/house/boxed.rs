//! The test that public asynchronous functions return boxed futures, so that their bodies are compiled once
//! (`docs/decisions/0063-public-asynchronous-functions-are-boxed.md`).

use syn::visit::{self, Visit};
use syn::{Attribute, FnArg, GenericParam, Signature, TypeImplTrait, Visibility};

use crate::references::is_for_tests;
use crate::root;
use crate::stores::add_sources;

/// The crates whose functions others await.
const LIBRARIES: &[&str] = &["blobs", "database", "http-core", "maintenance", "repository"];

/// Names of the functions of a file that lack the attribute.
#[derive(Default)]
struct Unboxed(Vec<String>);

impl Unboxed {
    fn of(source: &str) -> Vec<String> {
        let mut found = Self::default();
        found.visit_file(&syn::parse_file(source).expect("a source file"));
        found.0
    }

    fn check(&mut self, visibility: &Visibility, signature: &Signature, attributes: &[Attribute]) {
        let is_public = matches!(visibility, Visibility::Public(_));
        let is_boxed = attributes.iter().any(|attribute| attribute.path().is_ident("boxed"));
        if is_public && signature.asyncness.is_some() && !is_boxed && can_be_boxed(signature) {
            self.0.push(signature.ident.to_string());
        }
    }
}

/// Returns whether the attribute handles a signature: no type parameters, and no receiver with a type of its own.
fn can_be_boxed(signature: &Signature) -> bool {
    let has_types = signature.generics.params.iter().any(|parameter| matches!(parameter, GenericParam::Type(_)));
    let is_plain = |argument: &FnArg| match argument {
        FnArg::Receiver(receiver) => receiver.colon_token.is_none(),
        FnArg::Typed(argument) => {
            let mut found = ImplTrait(false);
            found.visit_type(&argument.ty);
            !found.0
        }
    };
    !has_types && signature.inputs.iter().all(is_plain)
}

/// Whether a type has an `impl Trait` in it.
struct ImplTrait(bool);

impl<'a> Visit<'a> for ImplTrait {
    fn visit_type_impl_trait(&mut self, _: &'a TypeImplTrait) {
        self.0 = true;
    }
}

impl<'a> Visit<'a> for Unboxed {
    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        self.check(&item.vis, &item.sig, &item.attrs);
    }

    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        self.check(&item.vis, &item.sig, &item.attrs);
    }

    fn visit_item_mod(&mut self, item: &'a syn::ItemMod) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }
}

#[test]
fn public_asynchronous_functions_are_boxed() {
    let mut files = Vec::new();
    for package in LIBRARIES {
        add_sources(&root().join("crates").join(package).join("src"), &mut files);
    }
    let mut faults = Vec::new();
    for file in files {
        let path = file.strip_prefix(root()).unwrap_or(&file).display().to_string();
        if path.contains("/testing") || path.ends_with("fuzzing.rs") {
            continue;
        }
        for name in Unboxed::of(&std::fs::read_to_string(&file).expect("a readable file")) {
            faults.push(format!("{path}: `{name}`: write #[boxed] above it, or make it pub(crate)"));
        }
    }
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn an_unboxed_function_is_found_and_one_with_parameters_is_not() {
    assert_eq!(Unboxed::of("pub async fn f(a: &str) {}"), ["f"]);
    assert_eq!(Unboxed::of("impl A { /// Doc.\n pub async fn g(&self) {} }"), ["g"]);
    for source in [
        "pub fn f() {} async fn g() {} pub(crate) async fn h() {}",
        "#[boxed]\npub async fn f(a: &str) {}",
        "pub async fn f<T>(a: T) {}",
        "pub async fn f(a: &mut (impl Read + Unpin)) {}",
        "impl A { pub async fn g(self: &Arc<Self>) {} }",
        "#[cfg(test)] mod tests { pub async fn f() {} }",
    ] {
        assert_eq!(Unboxed::of(source), Vec::<String>::new(), "{source}");
    }
}

//! `strongroom site template`: sites and lists made from templates, and templates made of them.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use model::{Error, Name, NodePath, Result};
use repository::{
    MAX_TEMPLATE_BYTES, NewSite, Session, Target, Template, TemplateDraft, TemplateKind, TemplateOrigin,
    TemplateSummary,
};
use serde_json::{Value, json};

use super::output::{table, time};

#[derive(Subcommand)]
pub enum Action {
    /// List the templates of the farm, or those that can be used in a site
    List {
        /// Path of the site; / for the root site
        #[arg(long, value_name = "PATH")]
        site: Option<String>,
    },
    /// Save a template: of a site or list, or from a file
    Save {
        /// Path of the site or list, or a file that ends with .toml
        source: String,
        /// Name of the template: small letters, digits and hyphens [default: that in the file]
        #[arg(long)]
        name: Option<String>,
        /// Title [default: the name of the site or list]
        #[arg(long)]
        title: Option<String>,
        /// Take along the first 200 rows of each list and 50 pages of each library
        #[arg(long)]
        rows: bool,
        /// Save it only for the site collection of this site [default: for the whole farm]
        #[arg(long, value_name = "PATH")]
        site: Option<String>,
        /// Write it into this file instead of saving it
        #[arg(long, value_name = "FILE", conflicts_with = "site")]
        to: Option<PathBuf>,
    },
    /// Make a site or list from a template
    Apply {
        /// Name of the template, or a file that ends with .toml
        template: String,
        /// Path of the site above, and the name of the new site or list
        #[arg(value_name = "SITE/NAME")]
        path: String,
        /// Language of names and choices
        #[arg(long, value_name = "TAG", default_value = "en")]
        language: String,
        /// Users and groups for an entry of the template's ask; can be repeated
        #[arg(long = "ask", value_name = "ENTRY=LOGIN,...")]
        people: Vec<String>,
    },
    /// Delete a saved template
    Delete {
        /// Name of the template
        name: String,
        /// Site in the site collection that has it [default: the farm has it]
        #[arg(long, value_name = "PATH")]
        site: Option<String>,
    },
}

/// Runs `strongroom site template`.
pub async fn act(session: &Session, action: Action) -> Result<(Value, String)> {
    match action {
        Action::List { site } => {
            let site = site.as_deref().map(target).transpose()?;
            let templates = session.templates(site.as_ref()).await?;
            Ok((templates.iter().map(to_json).collect(), to_table(&templates)))
        }
        Action::Save { source, name, title, rows, site, to } => {
            let template = made_of(session, &source, name, title, rows).await?;
            if let Some(file) = to {
                fs::write(&file, template.write()).map_err(|error| {
                    Error::unavailable(format!("{} cannot be written: {error}", file.display())).with_source(error)
                })?;
                let text = format!("The template \"{}\" was written to {}.\n", template.name, file.display());
                return Ok((json!({ "name": template.name, "file": file }), text));
            }
            let site = site.as_deref().map(target).transpose()?;
            let saved = session.save_template(site.as_ref(), template).await?;
            let text = format!("The template \"{}\" was saved.\n", saved.name);
            Ok((to_json(&saved), text))
        }
        Action::Apply { template, path, language, people } => {
            let path = NodePath::parse(&path)?;
            let (above, name) = path.split_last().ok_or_else(|| {
                Error::invalid("name the new site or list together with the site above it, such as sales/Projects")
            })?;
            let site = Target::Path(above);
            let template = match file_of(&template) {
                Some(file) => read(file)?,
                None => session.template(Some(&site), &template).await?,
            };
            let made = apply(session, &site, name, &template, &language, &people).await?;
            let value = json!({ "id": made.id.to_string(), "path": made.path, "template": template.name });
            Ok((value, format!("\"{}\" was made from the template \"{}\".\n", made.path, template.name)))
        }
        Action::Delete { name, site } => {
            let site = site.as_deref().map(target).transpose()?;
            session.delete_template(site.as_ref(), &name).await?;
            Ok((json!({ "name": name }), format!("The template \"{name}\" was deleted.\n")))
        }
    }
}

async fn made_of(
    session: &Session,
    source: &str,
    name: Option<String>,
    title: Option<String>,
    with_rows: bool,
) -> Result<Template> {
    if let Some(file) = file_of(source) {
        if name.is_some() || title.is_some() || with_rows {
            return Err(Error::invalid("a file has its name, title and rows: leave --name, --title and --rows out"));
        }
        return read(file);
    }
    let name = name.ok_or_else(|| Error::invalid("give the template a name: --name project"))?;
    let draft = TemplateDraft { name, title: title.unwrap_or_default(), description: String::new(), with_rows };
    session.template_of(&target(source)?, draft).await
}

async fn apply(
    session: &Session,
    site: &Target,
    name: &Name,
    template: &Template,
    language: &str,
    asked: &[String],
) -> Result<repository::Item> {
    if template.kind == TemplateKind::List {
        if !asked.is_empty() {
            return Err(Error::invalid("a template for a list asks for nobody: leave --ask out"));
        }
        return session.create_list_from(site, Some(name), template, language).await;
    }
    let mut people = Vec::new();
    for entry in asked {
        let (entry, logins) = entry
            .split_once('=')
            .ok_or_else(|| Error::invalid(format!("{entry:?} is not of the form ENTRY=LOGIN,...")))?;
        let mut ids = Vec::new();
        for login in logins.split(',').map(str::trim).filter(|login| !login.is_empty()) {
            ids.push(session.find_principal(login).await?);
        }
        people.push((entry.to_owned(), ids));
    }
    session.create_site_from(site, name, template, NewSite { people, language: language.to_owned() }).await
}

/// Returns the file that a word names: one that ends with `.toml`.
fn file_of(word: &str) -> Option<&Path> {
    word.ends_with(".toml").then(|| Path::new(word))
}

fn read(file: &Path) -> Result<Template> {
    let unreadable = |error: std::io::Error| {
        Error::invalid(format!("{} cannot be read: {error}", file.display())).with_source(error)
    };
    if fs::metadata(file).map_err(unreadable)?.len() > MAX_TEMPLATE_BYTES as u64 {
        return Err(Error::invalid(format!("{} is larger than 1 MiB", file.display())));
    }
    Template::parse(&fs::read_to_string(file).map_err(unreadable)?)
}

fn target(path: &str) -> Result<Target> {
    Target::path(path.trim_matches('/'))
}

fn origin(template: &TemplateSummary) -> &'static str {
    match template.origin {
        TemplateOrigin::BuiltIn => "built-in",
        TemplateOrigin::Farm => "farm",
        TemplateOrigin::SiteCollection => "site-collection",
    }
}

fn to_json(template: &TemplateSummary) -> Value {
    json!({
        "name": template.name,
        "kind": template.kind.as_str(),
        "title": template.title.in_language("en"),
        "origin": origin(template),
        "changed_at": template.changed_at.map(time),
    })
}

fn to_table(templates: &[TemplateSummary]) -> String {
    let row = |template: &TemplateSummary| {
        let (kind, title) = (template.kind.as_str().to_owned(), template.title.in_language("en").to_owned());
        [template.name.clone(), kind, title, origin(template).to_owned()]
    };
    table(["NAME", "KIND", "TITLE", "FROM"], &templates.iter().map(row).collect::<Vec<_>>())
}

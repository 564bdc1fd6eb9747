//! Checks of a template beyond its form.

use std::collections::HashSet;

use model::{Accent, Result, fold};

use super::check_list;
use super::reason::invalid;
use super::rules::{at_most, check_line, distinct, is_template_name, short};
use super::template::{LinkTemplate, Template, TemplateKind};
use crate::look::links::{MAX_LABEL, MAX_LINKS, check_link};

/// Limit on the lists and libraries of a site.
pub(in crate::templates) const MAX_LISTS: usize = 50;
/// Limit on those whom the form asks for, and on their roles.
const MAX_ASKED: usize = 10;
const MAX_GRANTS: usize = 30;
/// Limit on the characters of a title.
const MAX_TITLE: usize = 255;
/// Limit on the characters of a description.
const MAX_DESCRIPTION: usize = 1_000;

impl Template {
    /// Checks everything that the form alone does not ensure.
    pub(super) fn check(&self) -> Result<()> {
        if !is_template_name(&self.name) {
            return Err(invalid(format!(
                "its name {:?} has other characters than small letters, digits and hyphens, or not 1 to 63 of them",
                short(&self.name)
            )));
        }
        check_line("its title", &self.title, MAX_TITLE, true)?;
        check_line("its description", &self.description, MAX_DESCRIPTION, false)?;
        match (self.kind, &self.list) {
            (TemplateKind::List, Some(list)) => {
                let is_of_site = !self.lists.is_empty() || !self.ask.is_empty() || !self.grants.is_empty();
                let has_look = !self.navigation.is_empty() || self.accent.is_some() || self.logo.is_some();
                if is_of_site || has_look {
                    return Err(invalid(
                        "a template for a list has none of lists, ask, grants, navigation, accent and logo".to_owned(),
                    ));
                }
                check_list::check_own(list)
            }
            (TemplateKind::List, None) => Err(invalid("it is for a list and has no table `list`".to_owned())),
            (TemplateKind::Site, Some(_)) => Err(invalid("it is for a site: write `lists`, not `list`".to_owned())),
            (TemplateKind::Site, None) => self.check_site(),
        }
    }

    fn check_site(&self) -> Result<()> {
        at_most("lists and libraries", self.lists.len(), MAX_LISTS)?;
        at_most("entries in ask", self.ask.len(), MAX_ASKED)?;
        at_most("grants", self.grants.len(), MAX_GRANTS)?;
        at_most("links", self.navigation.len(), MAX_LINKS)?;
        if let Some(accent) = &self.accent {
            Accent::parse(accent).map_err(|error| invalid(format!("accent {:?}: {error}", short(accent))))?;
        }
        for list in &self.lists {
            check_list::check(list)?;
        }
        check_list::check_lookups(&self.lists)?;
        let homes = self.lists.iter().flat_map(|list| &list.pages).filter(|page| page.home).count();
        if homes > 1 {
            return Err(invalid(format!("{homes} pages have home = true, and a site opens with one of them")));
        }
        distinct("list", self.lists.iter().map(|list| &list.name))?;
        for asked in &self.ask {
            check_line("an entry in ask", asked, MAX_LABEL, true)?;
        }
        distinct("entry in ask", self.ask.iter())?;
        let mut granted = HashSet::new();
        for grant in &self.grants {
            if !self.ask.iter().any(|asked| asked.key() == grant.to) {
                return Err(invalid(format!("a grant is to {:?}, who is not in ask", short(&grant.to))));
            }
            if grant.role.is_empty() || grant.role.chars().count() > MAX_TITLE {
                return Err(invalid("a role has 1 to 255 characters".to_owned()));
            }
            if !granted.insert((&grant.to, fold(&grant.role))) {
                return Err(invalid(format!("the role {:?} is granted to {:?} twice", short(&grant.role), grant.to)));
            }
        }
        self.navigation.iter().try_for_each(|link| self.check_navigation(link))
    }

    fn check_navigation(&self, link: &LinkTemplate) -> Result<()> {
        if let Some(label) = &link.label {
            check_line("the label of a link", label, MAX_LABEL, true)?;
        }
        match (&link.list, &link.link) {
            (Some(list), None) => match self.lists.iter().any(|known| known.name.key() == list) {
                true => Ok(()),
                false => Err(invalid(format!("the navigation leads to {:?}, which is no list of it", short(list)))),
            },
            (None, Some(address)) => {
                check_link(address).map_err(|why| invalid(format!("the link {:?}: {why}", short(address))))?;
                match link.label {
                    Some(_) => Ok(()),
                    None => Err(invalid(format!("the link {:?} has no label", short(address)))),
                }
            }
            _ => Err(invalid("a link of the navigation has either `list` or `link`".to_owned())),
        }
    }
}

//! The templates that are part of the program.

use std::sync::LazyLock;

use super::format::Template;

/// The files, sites first, in the order in which they are offered.
const FILES: [&str; 10] = [
    include_str!("../../../../templates/team.toml"),
    include_str!("../../../../templates/publishing.toml"),
    include_str!("../../../../templates/department.toml"),
    include_str!("../../../../templates/personal.toml"),
    include_str!("../../../../templates/tasks.toml"),
    include_str!("../../../../templates/contacts.toml"),
    include_str!("../../../../templates/announcements.toml"),
    include_str!("../../../../templates/issues.toml"),
    include_str!("../../../../templates/links.toml"),
    include_str!("../../../../templates/survey.toml"),
];

static BUILT_IN: LazyLock<Vec<Template>> =
    // A test reads them all, so none is missing.
    LazyLock::new(|| FILES.iter().filter_map(|text| Template::parse(text).ok()).collect());

/// Returns the built-in templates in the order in which they are offered.
pub fn built_in_templates() -> &'static [Template] {
    &BUILT_IN
}

/// Returns the built-in template with a name.
pub(super) fn built_in(name: &str) -> Option<&'static Template> {
    BUILT_IN.iter().find(|template| template.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_template_can_be_read() {
        for text in FILES {
            let template = Template::parse(text).unwrap();
            assert_eq!(built_in(&template.name), Some(&template));
            for text in [&template.title, &template.description] {
                assert_ne!(text.in_language("de"), "");
            }
            assert_eq!(Template::parse(&template.write()).unwrap(), template);
        }
        assert_eq!(built_in_templates().len(), FILES.len());
    }
}

//! Parsing of the XML bodies of requests.

use model::{Code, Error, Result};
use repository::{MAX_LOCK_OWNER, MAX_PROPERTY_CHARS};

use super::xml::{self, Element};

/// The name of a property.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PropertyName {
    /// Its namespace; empty for none.
    pub namespace: String,
    /// Local name.
    pub name: String,
}

/// Properties that a PROPFIND requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// `allprop`: all inexpensive properties, and the listed ones.
    All(Vec<PropertyName>),
    /// `propname`: only the names of the properties.
    Names,
    /// `prop`: the listed properties.
    Named(Vec<PropertyName>),
}

/// One step of a PROPPATCH.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Patch {
    /// Sets a property to this XML element.
    Set(PropertyName, String),
    /// Removes a property.
    Remove(PropertyName),
}

/// Body of a LOCK.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockInfo {
    /// True for an exclusive lock, which admits no other lock beside it.
    pub exclusive: bool,
    /// Owner as described by the client: XML.
    pub owner: String,
}

/// Body of a REPORT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Name of the report.
    pub name: PropertyName,
    /// Requested properties of each version.
    pub properties: Vec<PropertyName>,
}

impl PropertyName {
    /// Returns the name of an element.
    pub fn of(element: &Element) -> Self {
        Self { namespace: element.namespace.as_ref().to_owned(), name: element.name.clone() }
    }
}

impl Patch {
    /// Returns the affected property.
    pub fn name(&self) -> &PropertyName {
        match self {
            Self::Set(name, _) | Self::Remove(name) => name,
        }
    }
}

fn bad(why: &'static str) -> Error {
    Error::invalid(format!("the XML body cannot be used: {why}")).with_code(Code::InvalidXml)
}

/// Limit on properties of one request, because the response repeats each of them for every item.
const MAX_PROPERTIES: usize = 100;
/// Limit on steps of one PROPPATCH, whose response names each once. An item keeps fewer properties.
const MAX_STEPS: usize = 1_000;
/// Limit on bytes of all values in one PROPPATCH: the maximum size of an item's property characters.
const MAX_VALUES: usize = 4 * MAX_PROPERTY_CHARS;

/// Returns the names of the properties in an element.
///
/// # Errors
/// Invalid with code `invalid_xml` for more than 100.
pub fn names(prop: &Element) -> Result<Vec<PropertyName>> {
    if prop.elements().nth(MAX_PROPERTIES).is_some() {
        return Err(too_many(MAX_PROPERTIES));
    }
    Ok(prop.elements().map(PropertyName::of).collect())
}

fn too_many(most: usize) -> Error {
    Error::invalid(format!("a request of this kind names at most {most} properties")).with_code(Code::InvalidXml)
}

fn too_long() -> Error {
    Error::exhausted(format!("properties of more than {MAX_VALUES} bytes in total cannot be stored: set fewer"))
        .with_code(Code::TooManyProperties)
}

/// Parses the body of a PROPFIND. An empty one means `allprop`.
pub fn propfind(body: &[u8]) -> Result<Asked> {
    if body.is_empty() {
        return Ok(Asked::All(Vec::new()));
    }
    let root = xml::parse(body)?;
    if !root.is("propfind") {
        return Err(bad("it must be a DAV:propfind"));
    }
    if let Some(prop) = root.dav("prop") {
        return Ok(Asked::Named(names(prop)?));
    }
    if root.dav("propname").is_some() {
        return Ok(Asked::Names);
    }
    if root.dav("allprop").is_some() {
        return Ok(Asked::All(root.dav("include").map(names).transpose()?.unwrap_or_default()));
    }
    Err(bad("it must hold DAV:prop, DAV:propname or DAV:allprop"))
}

/// Parses the body of a PROPPATCH, in document order.
///
/// # Errors
/// Invalid with code `invalid_xml`; Exhausted with `too_many_properties` for values that exceed the limit of an item.
pub fn proppatch(body: &[u8]) -> Result<Vec<Patch>> {
    let root = xml::parse(body)?;
    if !root.is("propertyupdate") {
        return Err(bad("it must be a DAV:propertyupdate"));
    }
    let (mut patches, mut left) = (Vec::new(), MAX_VALUES);
    for step in root.elements() {
        let Some(prop) = step.dav("prop") else { continue };
        let language = [prop, step, &root].into_iter().find_map(Element::language);
        for element in prop.elements() {
            if patches.len() >= MAX_STEPS {
                return Err(too_many(MAX_STEPS));
            }
            if step.is("remove") {
                patches.push(Patch::Remove(PropertyName::of(element)));
            } else if step.is("set") {
                let mut element = element.clone();
                if let Some(language) = language {
                    element.set_language(language);
                }
                let value = element.written(left).ok_or_else(too_long)?;
                left -= value.len();
                patches.push(Patch::Set(PropertyName::of(&element), value));
            }
        }
    }
    if patches.is_empty() {
        return Err(bad("it sets and removes no property"));
    }
    Ok(patches)
}

fn owner_too_long() -> Error {
    Error::invalid(format!("the owner of a lock is described in at most {MAX_LOCK_OWNER} bytes"))
}

/// Parses the body of a LOCK. An empty one requests a refresh.
pub fn lock(body: &[u8]) -> Result<Option<LockInfo>> {
    if body.is_empty() {
        return Ok(None);
    }
    let root = xml::parse(body)?;
    if !root.is("lockinfo") {
        return Err(bad("it must be a DAV:lockinfo"));
    }
    if root.dav("locktype").is_none_or(|kind| kind.dav("write").is_none()) {
        return Err(bad("only locks of the type DAV:write are supported"));
    }
    let scope = root.dav("lockscope").ok_or_else(|| bad("it must hold a DAV:lockscope"))?;
    let exclusive = match (scope.dav("exclusive"), scope.dav("shared")) {
        (Some(_), None) => true,
        (None, Some(_)) => false,
        _ => return Err(bad("the scope of a lock is either DAV:exclusive or DAV:shared")),
    };
    let owner = root.dav("owner").map(|element| element.content_written(MAX_LOCK_OWNER).ok_or_else(owner_too_long));
    let owner = owner.transpose()?.unwrap_or_default();
    Ok(Some(LockInfo { exclusive, owner }))
}

/// Parses the body of a REPORT.
pub fn report(body: &[u8]) -> Result<Report> {
    let root = xml::parse(body)?;
    let properties = root.dav("prop").map(names).transpose()?.unwrap_or_default();
    Ok(Report { name: PropertyName::of(&root), properties })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dav(name: &str) -> PropertyName {
        PropertyName { namespace: "DAV:".into(), name: name.into() }
    }

    #[test]
    fn propfind_bodies() {
        assert_eq!(propfind(b"").unwrap(), Asked::All(vec![]));
        let read = |inner: &str| propfind(format!("<D:propfind xmlns:D='DAV:'>{inner}</D:propfind>").as_bytes());
        assert_eq!(read("<D:allprop/>").unwrap(), Asked::All(vec![]));
        let include = "<D:allprop/><D:include><D:quota-used-bytes/></D:include>";
        assert_eq!(read(include).unwrap(), Asked::All(vec![dav("quota-used-bytes")]));
        assert_eq!(read("<D:propname/>").unwrap(), Asked::Names);
        let these = Asked::Named(vec![dav("getetag"), PropertyName { namespace: "u".into(), name: "x".into() }]);
        assert_eq!(read("<D:prop><D:getetag/><x xmlns='u'/></D:prop>").unwrap(), these);
        assert!(read(&format!("<D:prop>{}</D:prop>", "<D:x/>".repeat(MAX_PROPERTIES))).is_ok());
        assert!(read(&format!("<D:prop>{}</D:prop>", "<D:x/>".repeat(MAX_PROPERTIES + 1))).is_err());
        assert!(read("").is_err());
        assert!(propfind(b"<propfind/>").is_err());
    }

    #[test]
    fn proppatch_keeps_order_and_language() {
        let body = b"<D:propertyupdate xmlns:D='DAV:' xml:lang='en'><D:remove><D:prop><D:a/></D:prop></D:remove>
            <D:set><D:prop xml:lang='de'><D:b>1</D:b></D:prop></D:set></D:propertyupdate>";
        let patches = proppatch(body).unwrap();
        assert_eq!(patches[0], Patch::Remove(dav("a")));
        let value = "<b xmlns=\"DAV:\" xml:lang=\"de\">1</b>".to_owned();
        assert_eq!(patches[1], Patch::Set(dav("b"), value));
        assert!(proppatch(b"<D:propertyupdate xmlns:D='DAV:'/>").is_err());
    }

    #[test]
    fn lock_bodies() {
        let read = |scope: &str| {
            let body = format!(
                "<D:lockinfo xmlns:D='DAV:'><D:lockscope>{scope}</D:lockscope><D:locktype><D:write/></D:locktype>
                <D:owner><D:href>me &amp; you</D:href></D:owner></D:lockinfo>"
            );
            lock(body.as_bytes())
        };
        let wish = read("<D:exclusive/>").unwrap().unwrap();
        assert!(wish.exclusive);
        assert_eq!(wish.owner, "<href xmlns=\"DAV:\">me &amp; you</href>");
        assert!(!read("<D:shared/>").unwrap().unwrap().exclusive);
        assert!(read("").is_err());
        assert!(read("<D:shared/><D:exclusive/>").is_err());
        assert_eq!(lock(b"").unwrap(), None);
    }
}

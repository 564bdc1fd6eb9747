//! The page of storage policies and their scopes.

use askama::Template;
use model::{Code, Error, NodeKind, NodePath, PolicyLevel, Result, TierBasis};
use repository::{NamedTier, StoragePolicy, Target};

use crate::frame::fault::PageResult;
use crate::frame::fields::Fields;
use crate::frame::flash::{Flash, done};
use crate::frame::form::{Field, Form};
use crate::frame::format::icon;
use crate::frame::page::{Page, html};
use crate::frame::visit::{SubmittedForm, Visit};
use crate::frame::{address, navigation, refuse};

/// URL of the page.
pub const HERE: &str = "/farm/policies";

/// A policy in readable form.
pub struct Described {
    /// URL of its form.
    pub href: String,
    /// Purpose or target.
    pub name: String,
    /// URL of the site or library; empty for a database.
    pub browse: String,
    /// Active store, minimum size, and media types.
    pub words: [Words; 3],
    /// Age-based tiers; empty when there are none.
    pub tiers: Vec<String>,
    /// True if the tiers are inherited.
    pub tiers_above: bool,
}

/// A setting of a policy in readable form.
pub struct Words {
    /// Subject.
    pub label: &'static str,
    /// Value of the setting.
    pub text: String,
    /// True if the value is inherited.
    pub above: bool,
}

/// Describes a policy.
pub fn describe(page: &Page, policy: &StoragePolicy) -> Described {
    let inherits = policy.level != PolicyLevel::Database;
    let target = if inherits { policy.target.to_string() } else { policy.name.clone() };
    let words = |label, text: String, own: bool| Words { label, text, above: inherits && !own };
    let types = match policy.types.is_empty() {
        true => page.s("policy.all-types").to_owned(),
        false => policy.types.join(", "),
    };
    let minimum = match policy.minimum_size {
        0 => page.s("policy.any-size").to_owned(),
        bytes => page.size(&bytes),
    };
    Described {
        href: format!("{HERE}/{}/{}", policy.level, http_core::protocol::segments::encode(&target)),
        name: if inherits { format!("/{}", policy.name) } else { policy.name.clone() },
        browse: if inherits { address::browse(&policy.name) } else { String::new() },
        words: [
            words(page.s("policy.store"), policy.active_store.clone(), policy.own.active_store.is_some()),
            words(page.s("policy.minimum"), minimum, policy.own.minimum_size.is_some()),
            words(page.s("policy.types"), types, policy.own.types.is_some()),
        ],
        tiers: policy.tiers.iter().map(|tier| tier_words(page, tier)).collect(),
        tiers_above: inherits && policy.own.tiers.is_none(),
    }
}

fn tier_words(page: &Page, tier: &NamedTier) -> String {
    let days = page.n("length.days", tier.days);
    match tier.basis {
        TierBasis::Age => page.f2("policy.tier-age", days, &tier.store),
        TierBasis::Access => page.f2("policy.tier-access", days, &tier.store),
    }
}

#[derive(Template)]
#[template(path = "policies.html")]
struct PoliciesPage<'a> {
    page: &'a Page,
    /// Sections of the page, each with its title and policies.
    parts: [(&'static str, Vec<Described>); 2],
}

/// Shows the list.
pub async fn list(mut visit: Visit) -> PageResult {
    navigation::fill_farm_side_bar(&mut visit.page, HERE)?;
    let page = &visit.page;
    let policies = visit.session.storage_policies().await?;
    let (databases, others): (Vec<_>, Vec<_>) =
        policies.iter().partition(|policy| policy.level == PolicyLevel::Database);
    let described = |policies: Vec<&StoragePolicy>| policies.into_iter().map(|policy| describe(page, policy)).collect();
    let parts = [(page.s("farm.databases"), described(databases)), (page.s("policy.others"), described(others))];
    Ok(html(&PoliciesPage { page, parts }))
}

fn place_form<'a>(page: &'a Page, place: &str) -> Form<'a> {
    Form {
        page,
        title: page.s("policy.new").into(),
        icon: icon("sliders"),
        action: format!("{HERE}/new"),
        fields: vec![Field::line("place", page.s("policy.place"), place).hint(page.s("policy.place-hint"))],
        submit: page.s("policy.choose").into(),
        danger: false,
        back: HERE.into(),
        fault: String::new(),
    }
}

/// Asks for the site collection or library of a new policy.
pub async fn ask_place(mut visit: Visit) -> PageResult {
    navigation::fill_farm_side_bar(&mut visit.page, HERE)?;
    Ok(html(&place_form(&visit.page, "")))
}

/// Redirects to the policy form of a site collection or library.
pub async fn find_place(sent: SubmittedForm) -> PageResult {
    let SubmittedForm { mut visit, fields } = sent;
    navigation::fill_farm_side_bar(&mut visit.page, HERE)?;
    match find(&visit, &fields).await {
        Ok(next) => Ok(done(&next, &Flash::new("toast.policy-place", fields.trimmed("place")))),
        Err(error) => refuse::show_form_again(place_form(&visit.page, &fields.text("place")), error),
    }
}

async fn find(visit: &Visit, fields: &Fields) -> Result<String> {
    let path = NodePath::parse(fields.trimmed("place").trim_matches('/'))?;
    let none = || {
        Error::invalid(format!("there is no site collection or library at \"/{path}\"")).with_code(Code::NoSuchPlace)
    };
    let item = visit.session.item(&Target::Path(path.clone())).await.map_err(|_| none())?;
    match item.kind {
        NodeKind::Library => Ok(format!("{HERE}/{}/{}", PolicyLevel::Library, item.id)),
        // A site collection and its root site have the same identifier.
        NodeKind::Site if item.id == item.collection_id => {
            Ok(format!("{HERE}/{}/{}", PolicyLevel::Collection, item.id))
        }
        _ => Err(none()),
    }
}

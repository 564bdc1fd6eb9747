//! The form of a storage policy.

use axum::extract::Path;
use model::{Error, PolicyLevel, Result, TierBasis};
use repository::{NamedTier, PolicyChange, PolicyTarget, StoragePolicy, Target};

use super::policies::HERE;
use super::stores;
use super::words::{parse_number, parse_size, some, typed_size};
use crate::frame::fault::PageResult;
use crate::frame::fields::Fields;
use crate::frame::flash::{Flash, done};
use crate::frame::form::{Choice, Field, Form, Input, TierRow};
use crate::frame::format::icon;
use crate::frame::page::html;
use crate::frame::visit::{SubmittedForm, Visit};
use crate::frame::{navigation, refuse};

/// Number of empty tier rows in the form, in addition to existing tiers.
const SPARE: usize = 2;
/// Input that stands for all types.
const ALL: &str = "*";

fn target(level: &str, which: &str) -> Result<PolicyTarget> {
    match PolicyLevel::parse(level).map_err(|_| Error::not_found("there is no such storage policy"))? {
        PolicyLevel::Database => Ok(PolicyTarget::Database(which.to_owned())),
        PolicyLevel::Collection => Ok(PolicyTarget::SiteCollectionId(which.parse()?)),
        PolicyLevel::Library => Ok(PolicyTarget::Library(Target::Id(which.parse()?))),
    }
}

/// Content of the form: the policy's own settings, or the user's input.
struct Typed {
    store: Option<String>,
    minimum: String,
    types: String,
    own_tiers: bool,
    tiers: Vec<(String, String, String)>,
}

impl Typed {
    fn of(policy: &StoragePolicy) -> Self {
        let own = &policy.own;
        let tier = |tier: &NamedTier| (tier.basis.as_str().to_owned(), tier.days.to_string(), tier.store.clone());
        let is_database = policy.level == PolicyLevel::Database;
        Self {
            store: own.active_store.clone(),
            minimum: own.minimum_size.map(typed_size).unwrap_or_default(),
            types: match own.types.as_deref() {
                Some([]) if !is_database => ALL.to_owned(),
                Some(types) => types.join(", "),
                None => String::new(),
            },
            own_tiers: own.tiers.is_some(),
            tiers: own.tiers.iter().flatten().map(tier).collect(),
        }
    }

    fn sent(fields: &Fields) -> Self {
        let list = |name: &'static str| fields.all(name).map(|text| text.trim().to_owned()).collect::<Vec<_>>();
        let rows = list("tier-basis").into_iter().zip(list("tier-days")).zip(list("tier-store"));
        let rows = rows.map(|((basis, days), store)| (basis, days, store)).take(16);
        Self {
            store: some(fields.trimmed("store")),
            minimum: fields.trimmed("minimum"),
            types: fields.trimmed("types"),
            own_tiers: fields.text("own-tiers") == "own",
            tiers: rows.filter(|(_, days, store)| !days.is_empty() || !store.is_empty()).collect(),
        }
    }

    fn read(&self, is_database: bool) -> Result<PolicyChange> {
        let types: Vec<String> = self.types.split([',', ' ']).filter_map(|word| some(word.trim().to_owned())).collect();
        let tiers = self.tiers.iter().map(|(basis, days, store)| {
            let days = parse_number(days)?.filter(|_| !store.is_empty()).ok_or_else(|| {
                Error::invalid("each tier needs a number of days and a store; leave both empty for none")
            })?;
            Ok(NamedTier { basis: TierBasis::parse(basis)?, days, store: store.clone() })
        });
        let tiers = tiers.collect::<Result<Vec<_>>>()?;
        Ok(PolicyChange {
            active_store: self.store.clone(),
            minimum_size: parse_size(&self.minimum)?,
            types: match types.as_slice() {
                [] => None,
                [all] if all == ALL => Some(Vec::new()),
                _ => Some(types),
            },
            tiers: (self.own_tiers || is_database && !tiers.is_empty()).then_some(tiers),
            reset: true,
        })
    }
}

async fn form<'a>(visit: &'a Visit, policy: &StoragePolicy, typed: &Typed) -> Result<Form<'a>> {
    let page = &visit.page;
    let is_database = policy.level == PolicyLevel::Database;
    let title = match policy.level {
        PolicyLevel::Database => page.f1("policy.of-database", &policy.name),
        PolicyLevel::Collection => page.f1("policy.of-site", format!("/{}", policy.name)),
        PolicyLevel::Library => page.f1("policy.of-library", format!("/{}", policy.name)),
    };
    let mut choices = Vec::new();
    if !is_database {
        // The effective store equals the inherited one only when the policy has none of its own.
        let above = match typed.store {
            None => page.f1("policy.as-above-now", &policy.active_store),
            Some(_) => page.s("policy.as-above").to_owned(),
        };
        choices.push(Choice::new("", above, typed.store.is_none()));
    }
    choices.extend(stores::active(&visit.session, typed.store.as_deref(), "").await?);
    let (minimum_hint, types_hint) = match is_database {
        true => (page.s("policy.minimum-hint"), page.s("policy.types-hint")),
        false => (page.s("policy.minimum-hint-above"), page.s("policy.types-hint-above")),
    };
    let mut fields = vec![
        Field::of("store", page.s("policy.store"), Input::Select(choices)),
        Field::line("minimum", page.s("policy.minimum"), &typed.minimum).hint(minimum_hint),
        Field::line("types", page.s("policy.types"), &typed.types).hint(types_hint),
    ];
    if !is_database {
        let own = vec![
            Choice::new("", page.s("policy.tiers-above"), !typed.own_tiers),
            Choice::new("own", page.s("policy.tiers-own"), typed.own_tiers),
        ];
        fields.push(Field::of("own-tiers", page.s("policy.tiers"), Input::Radio(own)));
    }
    let mut rows = Vec::new();
    let spare = (String::from("age"), String::new(), String::new());
    for (basis, days, store) in typed.tiers.iter().chain(std::iter::repeat_n(&spare, SPARE)) {
        let mut stores = vec![Choice::new("", page.s("policy.no-store"), store.is_empty())];
        stores.extend(stores::active(&visit.session, some(store.clone()).as_deref(), "").await?);
        rows.push(TierRow { by_access: basis == "access", days: days.clone(), stores });
    }
    fields.push(Field::of("tier", page.s("policy.tier-rows"), Input::Tiers(rows)).hint(page.s("policy.tiers-hint")));
    Ok(Form {
        page,
        title,
        icon: icon("sliders"),
        action: visit.page.here.split('?').next().unwrap_or_default().to_owned(),
        fields,
        submit: page.s("action.save").into(),
        danger: false,
        back: HERE.into(),
        fault: String::new(),
    })
}

/// The form.
pub async fn ask(mut visit: Visit, Path((level, which)): Path<(String, String)>) -> PageResult {
    navigation::fill_farm_side_bar(&mut visit.page, HERE)?;
    let policy = visit.session.storage_policy(&target(&level, &which)?).await?;
    Ok(html(&form(&visit, &policy, &Typed::of(&policy)).await?))
}

/// Saves the policy.
pub async fn save(Path((level, which)): Path<(String, String)>, sent: SubmittedForm) -> PageResult {
    let SubmittedForm { mut visit, fields } = sent;
    navigation::fill_farm_side_bar(&mut visit.page, HERE)?;
    let target = target(&level, &which)?;
    let is_database = matches!(target, PolicyTarget::Database(_));
    let typed = Typed::sent(&fields);
    let saved = match typed.read(is_database) {
        Ok(change) => visit.session.set_storage_policy(&target, change).await,
        Err(error) => Err(error),
    };
    match saved {
        Ok(policy) => {
            let name = if is_database { policy.name } else { format!("/{}", policy.name) };
            Ok(done(HERE, &Flash::new("toast.saved", name)))
        }
        Err(error) => {
            let policy = visit.session.storage_policy(&target).await?;
            refuse::show_form_again(form(&visit, &policy, &typed).await?, error)
        }
    }
}

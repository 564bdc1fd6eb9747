//! The mix of a run: as much of a plan's mix as a target offers. Sends no load.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::probe::describes;
use crate::error::{Error, Result};
use crate::operations::{self, Operation, Share};
use crate::plan::Plan;
use crate::wire::Target;

/// The work that users of a run can do: parts of the mix that the target offers.
#[derive(Clone)]
pub struct Mix {
    /// Operation and its part of the plan, in the order of results.
    pub parts: Vec<(&'static Operation, Share)>,
    /// Parts of the plan that the target does not offer.
    pub missing: Vec<MissingShare>,
}

/// A part of a plan that a target does not offer.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct MissingShare {
    /// What it is called in reports.
    pub label: String,
    /// Its share of the whole mix, 0 to 1.
    pub share: f64,
    /// What the target lacks.
    pub needs: String,
}

impl Mix {
    /// Asks what of a plan a target offers.
    ///
    /// # Errors
    /// When that is nothing.
    pub async fn new(plan: &Plan, target: &Arc<Target>) -> Result<Self> {
        let describes = describes(target).await?;
        let all: f64 = plan.mix.iter().map(|share| share.weight).sum();
        let (mut parts, mut missing) = (Vec::new(), Vec::new());
        for share in &plan.mix {
            let offered = operations::find(&share.operation).filter(|found| found.offered_by.contains(&target.kind));
            match offered {
                Some(operation) if operation.describes && !describes => missing.push(MissingShare {
                    label: share.label(),
                    share: share.weight / all,
                    needs: "PROPFIND".to_owned(),
                }),
                Some(operation) => parts.push((operation, share.clone())),
                None => missing.push(MissingShare {
                    label: share.label(),
                    share: share.weight / all,
                    needs: operations::not_built(&share.operation).unwrap_or("pages and REST of Strongroom").to_owned(),
                }),
            }
        }
        if parts.is_empty() {
            return Err(Error::new("the target offers nothing of what the plan does"));
        }
        Ok(Self { parts, missing })
    }
}

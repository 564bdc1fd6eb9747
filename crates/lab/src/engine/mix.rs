//! The mix of a run: the part of a plan's mix that a target offers. Sends no load.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::probe::describes;
use crate::error::{Error, Result};
use crate::operations::{self, Operation, Share};
use crate::plan::Plan;
use crate::wire::Target;

/// The operations that users of a run can perform: the shares of the mix that the target offers.
#[derive(Clone)]
pub struct Mix {
    /// Operations with their shares from the plan, in the order of the results.
    pub parts: Vec<(&'static Operation, Share)>,
    /// Shares of the mix that the target does not offer.
    pub missing: Vec<MissingShare>,
}

/// A share of a plan's mix that a target does not offer.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct MissingShare {
    /// Label in reports.
    pub label: String,
    /// Its share of the whole mix, 0 to 1.
    pub share: f64,
    /// Capability that the target lacks.
    pub needs: String,
}

impl Mix {
    /// Determines the part of a plan's mix that a target offers.
    ///
    /// # Errors
    /// If the target does not respond, or offers nothing of the mix.
    pub async fn new(plan: &Plan, target: &Arc<Target>) -> Result<Self> {
        let describes = describes(target).await?;
        let all: f64 = plan.mix.iter().map(|share| share.weight).sum();
        let (mut parts, mut missing) = (Vec::new(), Vec::new());
        for share in &plan.mix {
            let offered = operations::find(&share.operation).filter(|found| found.offered_by.contains(&target.kind));
            match offered {
                Some(operation) if operation.needs_propfind && !describes => missing.push(MissingShare {
                    label: share.label(),
                    share: share.weight / all,
                    needs: "PROPFIND".to_owned(),
                }),
                Some(operation) => parts.push((operation, share.clone())),
                None => missing.push(MissingShare {
                    label: share.label(),
                    share: share.weight / all,
                    needs: operations::missing_feature(&share.operation)
                        .unwrap_or("pages and REST of Strongroom")
                        .to_owned(),
                }),
            }
        }
        if parts.is_empty() {
            return Err(Error::new("the target offers none of the operations of the plan"));
        }
        Ok(Self { parts, missing })
    }
}

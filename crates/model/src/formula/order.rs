//! The order in which calculated columns are computed.

use std::collections::{HashMap, HashSet, VecDeque};

use super::checked::Formula;
use crate::{Code, Error, Id, Result};

/// Limit on the columns that a message lists.
const MAX_NAMED: usize = 10;

/// Returns the calculated columns in an order in which each comes after those that it reads.
///
/// # Errors
/// `Invalid` with code `invalid_formula` if columns read each other in a circle. [`Error::named`] has the identifiers
/// on the circle, each column before one that it reads, and the last one before the first.
pub fn order_of(formulas: &[(Id, &Formula)]) -> Result<Vec<Id>> {
    let mut calculated: HashSet<Id> = HashSet::new();
    let ids: Vec<Id> = formulas.iter().map(|(id, _)| *id).filter(|id| calculated.insert(*id)).collect();
    let reads: HashMap<Id, Vec<Id>> = formulas
        .iter()
        .map(|(id, formula)| (*id, formula.columns().into_iter().filter(|read| calculated.contains(read)).collect()))
        .collect();
    let mut readers: HashMap<Id, Vec<Id>> = HashMap::new();
    for (id, read) in &reads {
        for other in read {
            readers.entry(*other).or_default().push(*id);
        }
    }
    let mut waits: HashMap<Id, usize> = reads.iter().map(|(id, read)| (*id, read.len())).collect();
    let mut ready: VecDeque<Id> = ids.iter().copied().filter(|id| waits.get(id) == Some(&0)).collect();
    let mut order = Vec::with_capacity(ids.len());
    while let Some(id) = ready.pop_front() {
        order.push(id);
        let mut freed: Vec<Id> = Vec::new();
        for reader in readers.get(&id).into_iter().flatten() {
            if let Some(left) = waits.get_mut(reader) {
                *left -= 1;
                if *left == 0 {
                    freed.push(*reader);
                }
            }
        }
        // The order does not depend on that of a hash map.
        freed.sort_unstable();
        ready.extend(freed);
    }
    let done: HashSet<Id> = order.iter().copied().collect();
    match ids.iter().find(|id| !done.contains(id)) {
        None => Ok(order),
        Some(start) => Err(circle(*start, &reads, &done)),
    }
}

/// Returns the error for the circle to which a column leads that could not be computed.
fn circle(start: Id, reads: &HashMap<Id, Vec<Id>>, done: &HashSet<Id>) -> Error {
    let (mut path, mut at) = (Vec::new(), start);
    let mut places: HashMap<Id, usize> = HashMap::new();
    // Each such column reads another one, so the path comes back to a column on it.
    let begin = loop {
        if let Some(place) = places.insert(at, path.len()) {
            break place;
        }
        path.push(at);
        match reads.get(&at).and_then(|read| read.iter().find(|other| !done.contains(other))) {
            Some(next) => at = *next,
            None => break 0,
        }
    };
    let ids: Vec<String> = path.iter().skip(begin).map(Id::to_string).collect();
    let mut shown: Vec<String> = ids.iter().take(MAX_NAMED).map(|id| format!("[#{id}]")).collect();
    if ids.len() > MAX_NAMED {
        shown.push("...".to_owned());
    }
    let message = format!("calculated columns read each other in a circle: {}; change one of them", shown.join(", "));
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    Error::invalid(message).with_code(Code::InvalidFormula).naming(&ids)
}

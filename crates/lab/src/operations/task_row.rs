//! The rows of the lab's lists, which look like those of a list of tasks. Sends nothing.

use serde_json::{Value, json};

use crate::wire::Fault;

/// Name of the column of titles.
pub const TITLE: &str = "Title";
/// Name of the choice column.
pub const STATE: &str = "State";
/// Name of the date column.
pub const DUE: &str = "Due";
/// Name of the column of people.
pub const OWNER: &str = "Owner";
/// Name of the number column.
pub const EFFORT: &str = "Effort";

/// Options of the choice column.
pub const STATES: [&str; 4] = ["Open", "In progress", "Waiting", "Done"];
/// Number of rows that a list has before its users begin. These are never edited or deleted.
pub const FILLED: u32 = 200;

/// Effort of the filled rows is above this, that of rows of users at most this.
const LEAST_EFFORT: u32 = 40;
/// Days of a month that every month has.
const DAYS: u32 = 28;

/// The values of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRow {
    /// Title, unique in the list.
    pub title: String,
    /// Option of the choice column.
    pub state: &'static str,
    /// Day, such as `2030-01-31`.
    pub due: String,
    /// Number of hours.
    pub effort: u32,
}

impl TaskRow {
    /// Returns the filled row with this number, from 1 to [`FILLED`]. In descending order of their efforts the highest
    /// numbers come first, in descending order of their days the lowest. In both orders, rows of users come later.
    pub fn filled(number: u32) -> Self {
        let days = FILLED.saturating_sub(number);
        Self {
            title: format!("Task {number:03}: inspection of machine {}", number % 17),
            state: STATES[number as usize % STATES.len()],
            due: format!("2030-{:02}-{:02}", days / DAYS + 1, days % DAYS + 1),
            effort: LEAST_EFFORT + number,
        }
    }

    /// Returns a new row of a user.
    pub fn of_user(user: u32, serial: u32, random: &mut fastrand::Rng) -> Self {
        Self {
            title: format!("Task {user}-{serial} of a user"),
            state: STATES[random.usize(0..STATES.len())],
            due: format!("2029-{:02}-{:02}", random.u32(1..=12), random.u32(1..=DAYS)),
            effort: random.u32(1..=LEAST_EFFORT),
        }
    }

    /// Returns the values by name of their columns, for the REST API.
    pub fn values(&self, owner: &str) -> Value {
        json!({ TITLE: self.title, STATE: self.state, DUE: self.due, OWNER: owner, EFFORT: self.effort })
    }
}

/// Checks that a page shows the filled rows with these numbers in this order.
///
/// # Errors
/// If a row is missing, or in another place.
pub fn shows_in_order(page: &str, numbers: impl IntoIterator<Item = u32>) -> Result<(), Fault> {
    let mut rest = page;
    for number in numbers {
        let TaskRow { title, .. } = TaskRow::filled(number);
        let after = rest.split_once(&format!(">{title}<")).map(|(_, after)| after);
        rest = after.ok_or_else(|| Fault::content(format!("a list does not show \"{title}\" in its place")))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filled_rows_have_a_known_order_before_those_of_users() {
        let rows: Vec<TaskRow> = (1..=FILLED).map(TaskRow::filled).collect();
        assert!(rows.windows(2).all(|pair| pair[0].effort < pair[1].effort));
        assert!(rows.windows(2).all(|pair| pair[0].due > pair[1].due));
        let mut random = fastrand::Rng::with_seed(1);
        let of_user = TaskRow::of_user(1, 1, &mut random);
        assert!(rows.iter().all(|row| row.effort > of_user.effort && row.due > of_user.due));
    }

    #[test]
    fn a_page_with_another_order_is_a_fault() {
        let page: String = [3, 1, 2].map(|number| format!("<a>{}</a>", TaskRow::filled(number).title)).concat();
        assert!(shows_in_order(&page, [3, 1, 2]).is_ok());
        assert!(shows_in_order(&page, [3, 2]).is_ok());
        assert!(shows_in_order(&page, [1, 3]).is_err());
        assert!(shows_in_order(&page, [4]).is_err());
    }
}

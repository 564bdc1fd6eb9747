//! The access matrix: every operation by every kind of caller. A refused operation changes nothing, and no response
//! reveals hidden content.
//!
//! The routes come from the router itself; a route without a row fails the test. `rest.txt`, `pages.txt` and
//! `webdav.txt` list the requirements of each operation. The expected status of each column follows from the rights of
//! its caller.

mod canary;
mod case;
mod ground;
mod known;
mod pages;
mod parameters;
mod people;
mod sending;
mod swapped;
mod table;
mod webdav;

use std::collections::{BTreeMap, BTreeSet};

use super::access::case::Case;
use super::access::ground::Ground;
use super::access::people::Column;
use super::access::sending::{Opened, Protocol};
use super::access::table::{Row, plain};
use super::description::served;
use super::{Farm, Reply};

const REST: &str = "rest.txt";

/// Deviations found, grouped by row.
#[derive(Default)]
struct Faults {
    cells: usize,
    /// Columns by row, and by expected and actual status.
    statuses: BTreeMap<String, BTreeMap<(u16, u16), Vec<String>>>,
    others: Vec<String>,
}

impl Faults {
    fn judge(&mut self, row: &Row, column: &Column, expected: u16, status: u16, reply: &Reply) {
        self.cells += 1;
        let known = known::known_deviation(row, column);
        if known.is_some() && expected == status {
            self.others.push(format!("{} by {} is mended: take it out of known.rs", row.describe(), column.name));
        }
        if expected != status && known != Some(status) {
            let columns = self.statuses.entry(row.describe()).or_default().entry((expected, status)).or_default();
            columns.push(column.name.clone());
        }
        if let Some(told) =
            canary::leak_in(reply).filter(|_| !column.sees_all && !known::may_reveal_hidden(row, column))
        {
            self.others.push(format!("{} by {} {told}", row.describe(), column.name));
        }
    }

    fn report(mut self, what: &str) {
        self.others
            .extend(canary::leaked_lines().into_iter().map(|line| format!("the log tells of what is hidden: {line}")));
        println!("{what}: {} cells", self.cells);
        let mut text = String::new();
        for (row, statuses) in &self.statuses {
            text += &format!("{row}\n");
            for ((expected, status), columns) in statuses {
                text += &format!("    answers {status} instead of {expected} to {}\n", columns.join(", "));
            }
        }
        assert!(text.is_empty(), "\n{text}{}", self.others.join("\n"));
        assert!(self.others.is_empty(), "\n{text}{}", self.others.join("\n"));
    }
}

/// Sends every row of one part as every column. The rows are split among several tests, so that they run in parallel.
async fn run(door: Protocol, table: &'static str, part: usize, parts: usize) {
    let farm = Farm::with(|options| options.converter = Some("/bin/false".into())).await;
    let ground = Ground::create(&farm).await;
    let door = door.open(&farm, &ground.people).await;
    let (mut faults, mut n) = (Faults::default(), part * 1_000_000);
    for row in table::rows(table::read(table)).iter().skip(part).step_by(parts) {
        let columns: Vec<&Column> = ground.people.columns.iter().filter(|column| door.takes(column)).collect();
        // All refused and all reading requests share one case, because they must leave it unchanged.
        let is_quiet = |column: &&Column| row.only_reads() || door.expected(row, column) >= 400;
        let (quiet, loud): (Vec<&Column>, Vec<&Column>) = columns.into_iter().partition(is_quiet);
        n += 1;
        let mut case = Case::prepare(&farm, &ground, row, n).await;
        let mut before = case.state(&farm).await;
        for column in &quiet {
            let (status, reply) = door.ask(&farm, &case, row, column).await;
            faults.judge(row, column, door.expected(row, column), status, &reply);
            if status < 400 && !row.only_reads() {
                n += 1;
                case = Case::prepare(&farm, &ground, row, n).await;
                before = case.state(&farm).await;
            }
        }
        if case.state(&farm).await != before {
            n = find_change(&farm, &ground, &door, row, &quiet, n, &mut faults).await;
        }
        for column in loud {
            n += 1;
            let case = Case::prepare_for(&farm, &ground, row, n, column.is_local()).await;
            let (status, reply) = door.ask(&farm, &case, row, column).await;
            faults.judge(row, column, door.expected(row, column), status, &reply);
        }
    }
    faults.report(&format!("part {part} of {}", door.name()));
}

/// Repeats the requests, each on a new case, to find the one that changed something.
async fn find_change(
    farm: &Farm,
    ground: &Ground,
    door: &Opened,
    row: &Row,
    quiet: &[&Column],
    mut n: usize,
    faults: &mut Faults,
) -> usize {
    let mut found = Vec::new();
    for column in quiet {
        n += 1;
        let case = Case::prepare(farm, ground, row, n).await;
        let before = case.state(farm).await;
        door.ask(farm, &case, row, column).await;
        let after = case.state(farm).await;
        if let Some((was, is)) = before.lines().zip(after.lines()).find(|(was, is)| was != is) {
            found.push(format!("{}, which was refused or only looked, changed this:\n{was}\n{is}", column.name));
        }
    }
    found.truncate(2);
    faults.others.push(format!("{} changes something: {}", row.describe(), found.join("\n")));
    n
}

/// Compares the served routes with the rows of a table.
fn compare(served: &BTreeSet<(String, String)>, rows: &BTreeSet<(String, String)>) {
    assert_eq!(served.difference(rows).collect::<Vec<_>>(), Vec::<&(String, String)>::new(), "routes without a row");
    assert_eq!(rows.difference(served).collect::<Vec<_>>(), Vec::<&(String, String)>::new(), "rows without a route");
}

#[tokio::test]
async fn every_route_has_a_row() {
    let farm = Farm::new().await;
    let rows = table::rows(table::read(REST));
    compare(&served(&farm.router), &rows.iter().map(|row| (row.method.to_lowercase(), plain(row.route))).collect());
}

/// Routes that need no credentials answer every caller alike, whatever credentials the request carries, and reveal
/// nothing hidden.
#[tokio::test]
async fn open_routes_answer_everybody_alike() {
    let farm = Farm::new().await;
    let ground = Ground::create(&farm).await;
    let door = Protocol::Rest.open(&farm, &ground.people).await;
    let open = "GET /healthz | | 200\nGET /readyz | | 200\nGET /api/openapi.json | | 200\nGET /metrics | | 200\n\
        GET /favicon.ico | | 200\nGET /sign-in | | 200";
    let mut faults = Faults::default();
    for row in table::rows(open) {
        let case = Case::prepare(&farm, &ground, &row, 1).await;
        for column in &ground.people.columns {
            let (status, reply) = door.ask(&farm, &case, &row, column).await;
            // A caller with a session is redirected away from the sign-in page.
            let led_on = row.route == "/sign-in" && status == 303;
            faults.judge(&row, column, if led_on { status } else { row.status }, status, &reply);
        }
    }
    faults.report("open routes");
}

#[tokio::test]
async fn the_matrix_holds_first_part() {
    run(Protocol::Rest, REST, 0, 3).await;
}

#[tokio::test]
async fn the_matrix_holds_second_part() {
    run(Protocol::Rest, REST, 1, 3).await;
}

#[tokio::test]
async fn the_matrix_holds_third_part() {
    run(Protocol::Rest, REST, 2, 3).await;
}

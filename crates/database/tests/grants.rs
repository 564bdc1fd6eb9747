//! Server numbers and identifier ranges: concurrent requests of several processes never get the same ones.

#![expect(clippy::unwrap_used, reason = "a grant that fails fails the test")]

use database::configuration::farm;
use database::testing::fresh_database;
use database::{Database, Engine, Options, Schema};
use model::{Id, IdRange, Timestamp};

/// Number of concurrent processes, and the number of starts of each.
const PROCESSES: i64 = 4;
const STARTS: i64 = 12;
/// Milliseconds of identifiers in one request.
const LENGTH: i64 = 1_000;

/// The numbers of a process's starts, and the identifiers that it may have used.
#[derive(Default)]
struct Granted {
    servers: Vec<i64>,
    ranges: Vec<IdRange>,
}

/// Starts repeatedly, with a clock that jumps back and forth. Each start extends its range twice; every second one
/// returns the unused part.
async fn process(db: Database, offset: i64) -> Granted {
    let mut all = Granted::default();
    for start in 0..STARTS {
        let clock = 1_000_000 + offset * 700 + if start % 3 == 1 { -500_000 } else { start * 10 };
        let begin = move |transaction: &mut database::Transaction<'_>| {
            let server = farm::next_server(transaction)?;
            Ok((server, farm::grant_identifiers(transaction, None, clock, LENGTH)?))
        };
        let (server, mut mine) = db.write_vital(begin).await.unwrap();
        all.servers.push(server);
        for _ in 0..2 {
            let has = mine.clone();
            let more = move |transaction: &mut database::Transaction<'_>| {
                farm::grant_identifiers(transaction, Some(has.clone()), clock, LENGTH)
            };
            let next = db.write_vital(more).await.unwrap();
            assert!(next.end >= mine.end + LENGTH, "{mine:?}, then {next:?}");
            if next.start != mine.start {
                all.ranges.push(mine);
            }
            mine = next;
        }
        if start % 2 == 0 {
            let (has, unused) = (mine.clone(), mine.start + LENGTH / 2);
            let give_back = move |transaction: &mut database::Transaction<'_>| {
                farm::return_identifiers(transaction, &has.clone(), unused)
            };
            db.write_vital(give_back).await.unwrap();
            mine.end = unused;
        }
        all.ranges.push(mine);
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn no_two_starts_have_the_same_number_or_an_identifier_in_common() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        println!("on {}", engine.as_str());
        let place = fresh_database(engine).await;
        let first = Database::make(&place.location, Schema::Configuration, &Options::default()).await.unwrap();
        first.write(|transaction| farm::insert(transaction, Id::new(7), Timestamp::now())).await.unwrap();
        let mut processes = tokio::task::JoinSet::new();
        for number in 0..PROCESSES {
            let db = Database::open(&place.location, Schema::Configuration, &Options::default()).await.unwrap();
            processes.spawn(async move {
                let granted = process(db.clone(), number).await;
                db.close().await;
                granted
            });
        }
        let (mut servers, mut ranges) = (Vec::new(), Vec::new());
        for granted in processes.join_all().await {
            assert!(granted.servers.is_sorted(), "{:?}", granted.servers);
            servers.extend(granted.servers);
            ranges.extend(granted.ranges);
        }
        servers.sort_unstable();
        assert_eq!(servers, (1..=PROCESSES * STARTS).collect::<Vec<_>>());
        ranges.sort_unstable_by_key(|range| range.start);
        for pair in ranges.windows(2) {
            assert!(pair[0].end <= pair[1].start, "{:?} and {:?} were granted", pair[0], pair[1]);
        }
        first.close().await;
    }
}

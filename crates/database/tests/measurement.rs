//! Rounds of measurements: leases, what a change of permissions hides, and what is removed; on both engines.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::time::Duration;

use database::content::collection;
use database::content::measurement::{self, MeasuredRow};
use database::testing::each_engine;
use database::{Database, Schema, Transaction};
use model::{Id, Result, Timestamp};

const SITE: Id = Id::new(1);
const SCOPE: Id = Id::new(7);
const FOLDER: Id = Id::new(9);
const LEASE: Duration = Duration::from_secs(60);

fn row(bytes: i64) -> MeasuredRow {
    let changed_at = Timestamp::from_micros(5);
    MeasuredRow { node_id: FOLDER, scope_id: SCOPE, documents: 1, rows: 0, bytes, changed_at }
}

async fn write<T: Send + 'static>(
    database: &Database,
    change: impl FnMut(&mut Transaction<'_>) -> Result<T> + Send + 'static,
) -> T {
    database.write(change).await.unwrap()
}

async fn begin(database: &Database, now: Timestamp) -> Option<i64> {
    write(database, move |tx| measurement::begin(tx, SITE, now, now.after(LEASE))).await
}

async fn finish(database: &Database, round: i64) -> bool {
    write(database, move |tx| measurement::finish(tx, SITE, round, Timestamp::from_micros(3), 1)).await
}

#[tokio::test]
async fn rounds_take_turns_and_hide_what_changed_while_they_ran() {
    each_engine(Schema::Content, |database| async move {
        let now = Timestamp::from_micros(1_000_000);
        write(&database, move |tx| collection::insert(tx, SITE, "", now)).await;
        let due = |at: Timestamp| {
            let database = database.clone();
            let wanted = move |reader: &mut database::Reader<'_>| measurement::wanted(reader, at, at.after(LEASE), 10);
            async move { database.read(wanted).await.unwrap() }
        };
        let all = database.read(move |reader| measurement::due(reader, now, now, now.after(LEASE), 10)).await.unwrap();
        assert_eq!(all, [SITE]);
        assert!(due(now).await.is_empty());

        // One at a time, until the lease of the first is over.
        assert_eq!(begin(&database, now).await, Some(1));
        assert_eq!(begin(&database, now).await, None);
        assert!(due(now).await.is_empty());
        let later = now.after(LEASE * 2);
        assert_eq!(due(later).await, [SITE]);
        assert_eq!(begin(&database, later).await, Some(2));
        assert!(!write(&database, move |tx| measurement::keep(tx, SITE, 1, later)).await);
        assert!(!finish(&database, 1).await);
        for round in 1..3 {
            write(&database, move |tx| measurement::put(tx, SITE, round, &row(round))).await;
            write(&database, move |tx| measurement::put(tx, SITE, round, &row(10 * round))).await;
        }

        // The walk may have counted what is hidden by now.
        write(&database, |tx| measurement::scope_changed(tx, SITE, &[SITE, FOLDER], SCOPE)).await;
        assert!(finish(&database, 2).await);
        let look = |round: i64| {
            let database = database.clone();
            async move {
                let read = move |reader: &mut database::Reader<'_>| {
                    let rows = measurement::of_items(reader, SITE, round, &[FOLDER])?;
                    let hidden = measurement::hidden(reader, SITE, round, &[FOLDER])?;
                    Ok((rows.iter().map(|row| row.bytes).collect::<Vec<_>>(), hidden))
                };
                database.read(read).await.unwrap()
            }
        };
        assert_eq!(look(2).await, (vec![20], vec![(FOLDER, SCOPE)]));
        assert_eq!(look(1).await.0, [10]);
        assert_eq!(write(&database, |tx| measurement::remove_before(tx, SITE, 2, 10)).await, 1);
        assert!(look(1).await.0.is_empty());

        // A clock that was ahead gave a lease that no round has.
        let ahead = later.after(LEASE * 1000);
        assert_eq!(begin(&database, ahead).await, Some(3));
        assert_eq!(due(later).await, [SITE]);
        // That asked for another round, which began later.
        assert_eq!(due(later).await, [SITE]);
        assert_eq!(begin(&database, later).await, Some(4));
        write(&database, |tx| measurement::put(tx, SITE, 4, &row(30))).await;
        assert_eq!(look(2).await.1, [(FOLDER, SCOPE)]);
        assert!(finish(&database, 4).await);
        assert_eq!(look(4).await, (vec![30], vec![]));
        assert!(due(later).await.is_empty());
        // With the site collection all of it goes.
        write(&database, |tx| collection::delete(tx, SITE)).await;
        assert_eq!(look(4).await, (vec![], vec![]));
    })
    .await;
}

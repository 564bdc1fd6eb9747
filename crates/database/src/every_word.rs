//! Compares the closed sets of words in `model` with the schema of both engines, and stores and reads every word.
//!
//! The kinds of jobs and of BLOB stores have no constraint in the schema. A job's kind may come from a newer program.
//! The first schema knew two kinds of store, and the third dropped that constraint.

use std::path::Path;

use model::{
    BackupState, Digest, FaultState, Id, JobKind, JobState, LibrarySettings, Name, NodeKind, PolicyLevel, Preferences,
    ReclaimReason, ReclaimState, RecycleStage, RequestedState, StoreKind, StoreState, Theme, Timestamp, VersionNumber,
    Versioning,
};

use crate::configuration::account::{self, Account};
use crate::configuration::backup::{self, Ended};
use crate::configuration::farm::{self, StoreRow};
use crate::configuration::job;
use crate::configuration::policy::{self, PolicyRow};
use crate::content::deletion_queue::{self, ReclaimRow};
use crate::content::fault::{self, FaultRow};
use crate::content::library;
use crate::content::node::{self, NodeRow};
use crate::content::recycle::{self, RecycledRow};
use crate::testing::each_engine;
use crate::{Schema, Sql, Transaction, params};

const ACTOR: Id = Id::new(1);
const NOW: Timestamp = Timestamp::from_micros(1_000_000);

const SPOIL_JOB: Sql = Sql::new("UPDATE job SET wish = $1");
const SPOIL_STORE: Sql = Sql::new("UPDATE blob_store SET kind = $1");

/// Asserts that a migration of both engines allows these words and no others in a column.
fn allows<const N: usize>(migration: &str, column: &str, words: [&str; N]) {
    let clause = format!("CHECK ({column} IN ('{}'))", words.join("', '"));
    for engine in ["sqlite", "postgres"] {
        let (schema, file) = migration.split_once('/').unwrap();
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(schema).join(engine).join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(&clause), "{} has no {clause}", path.display());
    }
}

#[test]
fn the_schema_allows_the_words_of_the_model_and_no_others() {
    let (farm, storage) = ("configuration/V1__farm.sql", "configuration/V3__storage.sql");
    allows(farm, "theme", Theme::ALL.map(Theme::as_str));
    allows(storage, "state", StoreState::ALL.map(StoreState::as_str));
    allows(storage, "target_kind", PolicyLevel::ALL.map(PolicyLevel::as_str));
    allows(storage, "state", JobState::ALL.map(JobState::as_str));
    allows(storage, "wish", RequestedState::ALL.map(RequestedState::as_str));
    allows(storage, "state", BackupState::ALL.map(BackupState::as_str));
    let (content, storage) = ("content/V1__content.sql", "content/V3__storage.sql");
    allows(
        content,
        "versioning",
        [Versioning::None, Versioning::Major, Versioning::MajorMinor].map(Versioning::as_str),
    );
    allows(content, "stage", RecycleStage::ALL.map(RecycleStage::as_str));
    allows(storage, "reason", ReclaimReason::ALL.map(ReclaimReason::as_str));
    allows(storage, "state", ReclaimState::ALL.map(ReclaimState::as_str));
    allows(storage, "state", FaultState::ALL.map(FaultState::as_str));
}

#[tokio::test(flavor = "multi_thread")]
async fn words_of_the_configuration_are_stored_and_read() {
    each_engine(Schema::Configuration, |database| async move {
        let write = |transaction: &mut Transaction<'_>| {
            stores(transaction);
            jobs(transaction);
            policies(transaction);
            backups(transaction);
            themes(transaction);
            Ok(())
        };
        database.write(write).await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn words_of_content_are_stored_and_read() {
    each_engine(Schema::Content, |database| async move {
        let write = |transaction: &mut Transaction<'_>| {
            items(transaction);
            faults(transaction);
            unneeded_copies(transaction);
            recycled(transaction);
            Ok(())
        };
        database.write(write).await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_word_that_no_program_knows_is_corrupt_and_shown() {
    each_engine(Schema::Configuration, |database| async move {
        let write = |transaction: &mut Transaction<'_>| {
            stores(transaction);
            transaction.execute(SPOIL_STORE, &params!["punch-cards"]).map(drop)
        };
        database.write(write).await.unwrap();
        let error = database.read(farm::stores).await.unwrap_err();
        assert_eq!(error.kind(), model::ErrorKind::Corrupt);
        let expected =
            "(kind) of a stored row holds the unknown word \"punch-cards\" instead of the kind of a BLOB store";
        assert!(error.message().contains(expected), "{error}");
        let spoil = |transaction: &mut Transaction<'_>| {
            job::insert(transaction, Id::new(5), JobKind::Check, "{}", NOW, ACTOR)?;
            transaction.execute(SPOIL_JOB, &params!["sleep"]).map(drop)
        };
        assert_eq!(database.write(spoil).await.unwrap_err().code(), model::Code::CheckViolation);
    })
    .await;
}

fn stores(transaction: &mut Transaction<'_>) {
    let mut written = Vec::new();
    for kind in StoreKind::ALL {
        for state in StoreState::ALL {
            let row = StoreRow {
                id: Id::new(10 + written.len() as i64),
                name: format!("{kind} {state}"),
                kind,
                state: StoreState::Active,
                location: String::new(),
                settings: "{}".to_owned(),
                secret: None,
            };
            farm::insert_store(transaction, &row, NOW).unwrap();
            assert!(farm::set_store_state(transaction, row.id, state).unwrap());
            written.push(StoreRow { state, ..row });
        }
    }
    assert_eq!(farm::stores(transaction).unwrap(), written);
}

fn jobs(transaction: &mut Transaction<'_>) {
    let mut id = Id::new(100);
    let mut added = |transaction: &mut Transaction<'_>, kind: JobKind| {
        id = Id::new(id.get() + 1);
        job::insert(transaction, id, kind, "{}", NOW, ACTOR).unwrap();
        let row = job::find(transaction, id).unwrap().unwrap();
        assert_eq!((row.kind.as_str(), row.state, row.wish), (kind.as_str(), JobState::Waiting, RequestedState::Run));
        id
    };
    for kind in JobKind::ALL {
        added(transaction, kind);
    }
    for wish in RequestedState::ALL {
        let id = added(transaction, JobKind::Check);
        assert!(job::wish(transaction, id, wish).unwrap());
        assert_eq!(job::find(transaction, id).unwrap().unwrap().wish, wish);
    }
    for state in JobState::ALL {
        let (idle, ended) = (added(transaction, JobKind::Check), added(transaction, JobKind::Check));
        assert!(job::set_idle_state(transaction, idle, state, None).unwrap());
        assert!(job::claim(transaction, ended, ACTOR, NOW, NOW).unwrap());
        assert!(job::end(transaction, ended, ACTOR, state, "", "", None).unwrap());
        for id in [idle, ended] {
            assert_eq!(job::find(transaction, id).unwrap().unwrap().state, state);
        }
    }
}

fn policies(transaction: &mut Transaction<'_>) {
    let row = |(number, level): (i64, PolicyLevel)| PolicyRow {
        target_id: Id::new(200 + number),
        level,
        store_id: None,
        minimum_size: None,
        rules: String::new(),
    };
    let written: Vec<PolicyRow> = (0..).zip(PolicyLevel::ALL).map(row).collect();
    for row in &written {
        policy::put(transaction, row, NOW, ACTOR).unwrap();
    }
    assert_eq!(policy::list(transaction).unwrap(), written);
}

fn backups(transaction: &mut Transaction<'_>) {
    for (number, state) in (300..).zip(BackupState::ALL) {
        let id = Id::new(number);
        backup::insert(transaction, id, "", false, NOW).unwrap();
        assert_eq!(backup::find(transaction, id).unwrap().unwrap().state, BackupState::Running);
        let ended = Ended { state, bytes: 0, new_bytes: 0, message: String::new() };
        backup::end(transaction, id, &ended, NOW).unwrap();
        assert_eq!(backup::find(transaction, id).unwrap().unwrap().state, state);
        backup::remove(transaction, id).unwrap();
        assert_eq!(backup::find(transaction, id).unwrap().unwrap().state, BackupState::Removed);
    }
}

fn themes(transaction: &mut Transaction<'_>) {
    for (number, theme) in (400..).zip(Theme::ALL) {
        let preferences = Preferences::new("", theme, "").unwrap();
        let account = Account {
            id: Id::new(number),
            login: theme.to_string(),
            display_name: String::new(),
            email: String::new(),
            farm_administrator: false,
            disabled: false,
            deleted: false,
            preferences: preferences.clone(),
            created_at: NOW,
            signed_in_at: None,
        };
        account::insert(transaction, &account, None).unwrap();
        assert_eq!(account::find(transaction, account.id).unwrap().unwrap().preferences, preferences);
    }
}

fn items(transaction: &mut Transaction<'_>) {
    let site = NodeRow {
        id: Id::new(500),
        collection_id: Id::new(500),
        parent_id: Id::NONE,
        library_id: Id::NONE,
        scope_id: Id::new(500),
        kind: NodeKind::Site,
        name: String::new(),
        folded: String::new(),
        created_at: NOW,
        created_by: ACTOR,
        modified_at: NOW,
        modified_by: ACTOR,
        content_type_id: None,
        size: 0,
        media_type: String::new(),
        version_id: None,
        published_id: None,
        number: VersionNumber::new(0, 0),
        holder_id: None,
        held_at: None,
        working_id: None,
        title: None,
    };
    for (number, kind) in (501..).zip(NodeKind::ALL) {
        let name = Name::new(kind.as_str()).unwrap();
        let row = NodeRow::new(Id::new(number), &site, kind, &name, ACTOR, NOW);
        node::insert(transaction, &row).unwrap();
        assert_eq!(node::find(transaction, row.id).unwrap().unwrap().kind, kind);
        for versioning in [Versioning::None, Versioning::Major, Versioning::MajorMinor] {
            let settings = LibrarySettings { versioning, ..LibrarySettings::default() };
            library::put(transaction, row.id, &settings).unwrap();
            assert_eq!(library::find(transaction, row.id).unwrap(), Some(settings));
        }
    }
}

fn faults(transaction: &mut Transaction<'_>) {
    for state in FaultState::ALL {
        let digest = Digest::new([1; 32]);
        let row = FaultRow {
            store_id: ACTOR,
            digest,
            state,
            detail: String::new(),
            found_at: NOW,
            accepted_at: None,
            accepted_by: None,
        };
        fault::put(transaction, &row).unwrap();
        assert_eq!(fault::find(transaction, &digest).unwrap()[0].state, state);
    }
}

fn unneeded_copies(transaction: &mut Transaction<'_>) {
    for (number, reason) in (1..).zip(ReclaimReason::ALL) {
        for state in ReclaimState::ALL {
            let row =
                ReclaimRow { store_id: ACTOR, digest: Digest::new([number; 32]), size: 1, reason, state, since: NOW };
            match state {
                ReclaimState::Quarantined => assert!(deletion_queue::quarantine(transaction, &row).unwrap()),
                ReclaimState::Deleting => deletion_queue::begin(transaction, &row).unwrap(),
            }
            let due = deletion_queue::due(
                transaction,
                NOW.after(std::time::Duration::from_secs(1)),
                (Id::NONE, Vec::new()),
                9,
            );
            let last = due.unwrap().pop().unwrap();
            assert_eq!((last.reason, last.state), (reason, state));
        }
    }
    let totals = deletion_queue::totals(transaction).unwrap();
    assert!(totals.iter().map(|total| total.reason).eq(ReclaimReason::ALL));
}

fn recycled(transaction: &mut Transaction<'_>) {
    for (number, stage) in (600..).zip(RecycleStage::ALL) {
        for (offset, kind) in (0..).zip(NodeKind::ALL) {
            let entry = RecycledRow {
                id: Id::new(number + offset * 10),
                collection_id: ACTOR,
                node_id: ACTOR,
                parent_id: ACTOR,
                library_id: ACTOR,
                scope_id: ACTOR,
                kind,
                name: String::new(),
                path: String::new(),
                stage,
                size: 0,
                documents: 0,
                deleted_at: NOW,
                deleted_by: ACTOR,
            };
            recycle::insert(transaction, &entry).unwrap();
            let found = recycle::find(transaction, entry.id).unwrap().unwrap();
            assert_eq!((found.kind, found.stage), (kind, stage));
            recycle::to_site(transaction, entry.id).unwrap();
            assert_eq!(recycle::find(transaction, entry.id).unwrap().unwrap().stage, RecycleStage::Site);
        }
    }
}

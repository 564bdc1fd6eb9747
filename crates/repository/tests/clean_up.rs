//! What the hourly clean-up removes, and what it leaves, on both engines.

#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

mod support;

use std::time::Duration;

use model::ErrorKind;
use repository::Bin;
use support::{at, each_farm, put};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_deleted_long_ago_goes_for_good_and_gives_its_bytes_back() {
    each_farm(async |farm| {
        let session = farm.administrator().await;
        put(&session, "Documents/folder/one.txt", "one").await.unwrap();
        put(&session, "Documents/kept.txt", "kept").await.unwrap();
        let collection = session.item(&at("Documents")).await.unwrap().collection_id;
        session.delete(&at("Documents/folder")).await.unwrap();

        let day = Duration::from_secs(24 * 60 * 60);
        assert_eq!(session.clean_up(day).await.unwrap().recycled, 0);
        assert_eq!(session.recycled(collection, Bin::Site, None, 10).await.unwrap().items.len(), 1);
        assert_eq!(session.clean_up(Duration::ZERO).await.unwrap().recycled, 1);
        assert!(session.recycled(collection, Bin::Site, None, 10).await.unwrap().items.is_empty());
        let site = session.site_collection(collection).await.unwrap();
        assert_eq!((site.documents, site.used_bytes), (1, 4));
        assert_eq!(session.clean_up(Duration::ZERO).await.unwrap(), repository::CleanedUp::default());

        let (_, somebody) = farm.person("somebody").await;
        assert_eq!(somebody.clean_up(Duration::ZERO).await.unwrap_err().kind(), ErrorKind::Forbidden);
    })
    .await;
}

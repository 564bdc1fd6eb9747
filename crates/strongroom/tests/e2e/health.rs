//! Limits of the health rules.

use database::Engine;
use serde_json::Value;

use crate::support::backups::filled;

#[tokio::test(flavor = "multi_thread")]
async fn limits_of_the_health_rules_are_changed_and_hold_at_once() {
    let (farm, _server, _client) = filled(Engine::Sqlite, 2).await;
    let of = |limits: &Value, name: &str| {
        limits.as_array().unwrap().iter().find(|limit| limit["name"] == name).unwrap()["value"].as_u64()
    };
    let usual = farm.json(&["blobs", "health", "--limits"]);
    assert_eq!((of(&usual, "database_bytes"), of(&usual, "backup_hours")), (Some(200 << 30), Some(48)));
    let changed = farm.json(&["blobs", "health", "--limit", "database_bytes=1K", "--limit", "backup_hours=24"]);
    assert_eq!((of(&changed, "database_bytes"), of(&changed, "backup_hours")), (Some(1024), Some(24)));
    let found = farm.json_any_status(&["blobs", "health"]);
    assert!(
        found["findings"].as_array().unwrap().iter().any(|finding| finding["rule"] == "database-large"),
        "{found:#}"
    );
    for (wrong, said) in [
        ("free_percent=100", "1 to 99"),
        ("bytes=1", "database_bytes"),
        ("orphans=x", "is not a size"),
        ("orphans", "NAME=VALUE"),
    ] {
        let refused = farm.run(&["blobs", "health", "--limit", wrong]).unwrap_err();
        assert!(refused.output.contains(said), "{wrong}: {}", refused.output);
    }
    let back = farm.json(&["blobs", "health", "--limit", "database_bytes="]);
    assert_eq!((of(&back, "database_bytes"), of(&back, "backup_hours")), (Some(200 << 30), Some(24)));
}

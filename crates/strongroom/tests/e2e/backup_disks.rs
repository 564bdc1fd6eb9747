//! Backup disks that reject the data copied to them or return different data. The error must not claim that the
//! database is damaged.

use database::Engine;

use crate::support::Farm;
use crate::support::backups::{Place, filled};

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_of_the_disk_of_a_copy_is_not_told_as_one_of_the_database() {
    let place = Place::new();
    let (farm, server, _client) = filled(Engine::Sqlite, 3).await;
    assert!(server.stop().success());
    let destination = place.text("backups");
    let copy = place.text("backups/incoming/configuration.sqlite");
    for inject in [
        "pwrite64:error=EIO:when=3+",
        "read:error=EIO:when=1",
        // Corrupts the data read, so that it no longer begins with a database header.
        "read:poke_exit=@arg2=00ff00ff:when=1",
        "pread64:error=EIO:when=2+",
    ] {
        let calls = inject.split_once(':').unwrap().0;
        let mut failing = Farm::at(farm.data.clone());
        let (trace, inject) = (format!("trace={calls}"), format!("inject={inject}"));
        let log = place.text("strace");
        let words =
            ["strace", "-D", "-f", "-qq", "-e", "signal=none", "-e", &trace, "-e", &inject, "-P", &copy, "-o", &log];
        failing.command_prefix = words.map(str::to_owned).into();
        let refused = failing.run(&["backup", &destination]).unwrap_err().output;
        let seen = std::fs::read_to_string(&log).unwrap();
        assert!(seen.contains("(INJECTED"), "{inject}: {seen}");
        assert!(refused.contains(&copy), "{inject}: {refused}");
        assert!(refused.contains("is not affected"), "{inject}: {refused}");
        assert!(!refused.contains("damaged"), "{inject}: {refused}");
        assert!(!refused.contains("restore"), "{inject}: {refused}");
    }
    farm.json(&["backup", &destination]);
}

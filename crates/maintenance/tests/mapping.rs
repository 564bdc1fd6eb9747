//! Tests of owners and permissions of a tree, on both engines. The files belong to the user that runs the test.

#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

mod support;

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use model::{Id, Principal, Role};
use repository::{Session, Target};
use support::{each_farm, write};

fn at(path: &str) -> Target {
    Target::path(path).unwrap()
}

/// Sets an access list: everything for the owner, `bits` for user 4711, nothing for the group, with a mask of
/// everything.
fn allow(path: &Path, user: u32, bits: u16) {
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (tag, bits, number) in
        [(1, 7, u32::MAX), (2, bits, user), (4, 0, u32::MAX), (0x10, 7, u32::MAX), (0x20, 0, u32::MAX)]
    {
        list.extend(u16::to_le_bytes(tag));
        list.extend(bits.to_le_bytes());
        list.extend(number.to_le_bytes());
    }
    rustix::fs::setxattr(path, "system.posix_acl_access", &list, rustix::fs::XattrFlags::empty()).unwrap();
}

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

async fn own_grants(session: &Session, path: &str) -> Option<Vec<(Id, Id)>> {
    let item = session.item(&at(path)).await.unwrap();
    if !item.own_permissions {
        return None;
    }
    let granted = session.granted(&at(path)).await.unwrap();
    Some(granted.into_iter().map(|grant| (grant.principal, grant.role)).collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn owners_and_permissions_follow_the_mapping() {
    each_farm(async |farm| {
        let (ann, bob) = (farm.account("ann").await, farm.account("bob").await);
        let session = farm.administrator().await;
        let sales = session.create_group("Sales", "").await.unwrap().id;
        let source = tempfile::tempdir().unwrap();
        let root = source.path();
        for path in ["open/a.txt", "open/same/b.txt", "open/list/c.txt", "closed/d.txt"] {
            write(root, path, b"x");
        }
        mode(&root.join("open"), 0o755);
        mode(&root.join("open/same"), 0o755);
        mode(&root.join("closed"), 0o700);
        mode(&root.join("open/list"), 0o700);
        allow(&root.join("open/list"), 4711, 5);
        let status = std::fs::metadata(root).unwrap();
        let mapping = format!(
            "[users]\n{} = 'ann'\n4711 = 'bob'\n[groups]\n{} = 'Sales'\n[permissions]\nothers = 'Everyone'\n",
            status.uid(),
            status.gid(),
        );
        let (summary, faults) = farm.import_with(root, Some(&mapping), false).await.unwrap();
        assert!(faults.is_empty(), "{faults:?} {summary:?}");
        assert!(summary.unmapped_users.is_empty(), "{faults:?} {summary:?}");

        let item = session.item(&at("Documents/open/a.txt")).await.unwrap();
        assert_eq!((item.created_by, item.modified_by), (ann, ann));
        assert_eq!(session.item(&at("Documents/open")).await.unwrap().created_by, ann);

        let full = (session.principal().id, Role::FULL_CONTROL);
        let sorted = |mut grants: Vec<(Id, Id)>| {
            grants.sort_unstable();
            Some(grants)
        };
        let open = vec![full, (ann, Role::CONTRIBUTE), (sales, Role::READ), (Principal::EVERYONE, Role::READ)];
        assert_eq!(own_grants(&session, "Documents/open").await, sorted(open));
        assert_eq!(own_grants(&session, "Documents/open/same").await, None, "it grants what its parent grants");
        let list = vec![full, (ann, Role::CONTRIBUTE), (bob, Role::READ)];
        assert_eq!(own_grants(&session, "Documents/open/list").await, sorted(list));
        let closed = vec![full, (ann, Role::CONTRIBUTE)];
        assert_eq!(own_grants(&session, "Documents/closed").await, sorted(closed));
        assert_eq!(own_grants(&session, "Documents/closed/d.txt").await, None);

        // A second import does not undo changes made by an administrator.
        session.revoke(&at("Documents/closed"), ann, Role::CONTRIBUTE).await.unwrap();
        farm.import_with(root, Some(&mapping), false).await.unwrap();
        assert_eq!(own_grants(&session, "Documents/closed").await, Some(vec![full]));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_not_mapped_is_named_and_a_mapping_to_nobody_is_refused() {
    each_farm(async |farm| {
        let carl = farm.account("carl").await;
        let source = tempfile::tempdir().unwrap();
        write(source.path(), "folder/a.txt", b"x");
        let (summary, _) =
            farm.import_with(source.path(), Some("default_owner = 'carl'\n[permissions]\n"), false).await.unwrap();
        assert_eq!((summary.unmapped_users.len(), summary.unmapped_groups.len()), (1, 1));
        let session = farm.administrator().await;
        assert_eq!(session.item(&at("Documents/folder/a.txt")).await.unwrap().created_by, carl);

        for mapping in [
            "default_owner = 'nobody here'",
            "[users]\n1 = 'dora'",
            "[users]\nno-such-user-on-this-machine = 'carl'",
            "[groups]\n1 = 'No such group'",
            "[permissions.roles]\nrwx = 'No such role'",
        ] {
            let error = farm.import_with(source.path(), Some(mapping), false).await.unwrap_err();
            assert_eq!(error.kind(), model::ErrorKind::Invalid, "{mapping}: {error}");
        }
    })
    .await;
}

//! Tests of locks: who may end them and who sees their tokens; on both engines.

use crate::support::{at, each_farm, put, with_rights};
use model::{ErrorKind, Right, Role};
use repository::{DetailOptions, NewLock, Session, Target};

fn deep() -> NewLock {
    NewLock { exclusive: true, deep: true, owner: String::new(), seconds: 3_600 }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deep_lock_is_ended_only_with_the_right_where_it_lies() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        put(&admin, "Documents/f/own/a.txt", "a").await.unwrap();
        let (folder, child) = (at("Documents/f"), at("Documents/f/own"));
        let token = async |session: &Session, target: &Target| {
            session.locks(target).await.unwrap()[0].token().map(str::to_owned)
        };
        let below = [Right::View, Right::Edit, Right::Override];
        let (_, editor) = with_rights(&farm, "editor", "Documents/f/own", &below).await;
        let (reads, _) = with_rights(&farm, "reads", "Documents/f", &[Right::View]).await;
        let at_lock = [Right::View, Right::Override];
        let (breaker, _) = with_rights(&farm, "breaker", "Documents/f", &at_lock).await;
        for id in [reads, breaker] {
            admin.grant(&child, id, Role::DESIGN).await.unwrap();
        }
        let (reads, breaker) = (farm.session(reads).await, farm.session(breaker).await);
        let given = admin.lock(&folder, deep()).await.unwrap();
        // Override on the child alone: one of the two users may also open the folder, the other not.
        for session in [&editor, &reads] {
            assert_eq!(token(session, &child).await, None, "the token is the holder's secret");
            let details = session.details(&child, DetailOptions { locks: true, properties: false }).await.unwrap();
            assert_eq!((details.locks.len(), details.locks[0].token()), (1, None));
            let refused = session.unlock(&child, given.secret()).await.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Forbidden, "{refused}");
            assert_eq!(refused.lack().map(|lack| lack.right), Some(Right::Override), "{refused}");
            assert_eq!(session.break_locks(&child).await.unwrap_err().code(), "lock_not_found");
        }
        assert_eq!(token(&admin, &child).await.as_deref(), Some(given.secret()));
        // The same right where the lock lies ends it, also through the child.
        assert_eq!(token(&breaker, &child).await.as_deref(), Some(given.secret()));
        breaker.unlock(&child, given.secret()).await.unwrap();
        assert!(admin.locks(&child).await.unwrap().is_empty());
        // The holder needs no right where the lock lies.
        admin.lock(&folder, deep()).await.unwrap();
        let own = token(&admin, &child).await.unwrap();
        admin.unlock(&child, &own).await.unwrap();
    })
    .await;
}

//! Tests of the tokens in addresses for office programs.

use std::time::Duration;

use database::configuration::edit_token::{self, NewEditToken};
use model::{Authentication, Id, LibrarySettings, NodePath, Role, Timestamp, TokenScope};

use super::{Farm, NewTokenRequest, PASSWORD, client, code, on_each_engine};
use crate::people::edit_tokens::{ENDED_EDIT_TOKENS, MAX_EDIT_TOKENS};
use crate::{AccountChange, Destination, Repository, Session, Target, UploadOptions};

on_each_engine! {
    a_token_opens_its_document_and_nothing_else,
    a_token_ends_after_an_hour_without_use_and_after_a_day,
    what_ends_sessions_ends_tokens,
    a_token_ends_with_its_session,
    a_request_that_outlived_its_session_makes_no_token,
    tokens_in_use_stay,
    a_required_check_out_comes_first,
    only_who_may_edit_gets_a_token,
}

const HOUR: Duration = Duration::from_hours(1);

/// Stores a document and returns its identifier.
async fn document(session: &Session, name: &str) -> Id {
    let destination = Destination::Path(NodePath::parse(&format!("Documents/{name}")).unwrap());
    session.upload_bytes(&destination, UploadOptions::default(), "text".as_bytes().into()).await.unwrap().id
}

/// Returns a session of a new user who may edit everything.
async fn editor(farm: &Farm) -> Session {
    let login = format!("editor{}", farm.repository.next_id());
    let account = farm.account(&login).await;
    let admin = farm.administrator().await;
    admin.grant(&Target::path("").unwrap(), account.id, Role::CONTRIBUTE).await.unwrap();
    farm.caller(account.id).await
}

/// Returns whether a secret still stands for a user; `None` if it is not known at all.
async fn stands(repository: &Repository, secret: &str, at: Timestamp) -> Option<bool> {
    repository.edit_access_at(secret, at).await.unwrap().map(|access| access.caller.is_some())
}

async fn a_token_opens_its_document_and_nothing_else(farm: Farm) {
    let session = editor(&farm).await;
    let (one, other) = (document(&session, "one.docx").await, document(&session, "other.docx").await);
    let token = session.create_edit_token(&one.into()).await.unwrap();
    assert_eq!(token.name.as_str(), "one.docx");
    let access = farm.repository.edit_access(&token.secret).await.unwrap().unwrap();
    assert_eq!(access.document, one);
    let limited = farm.repository.as_caller(access.caller.unwrap().principal);
    assert_eq!(limited.principal().proof, Authentication::Token);
    assert!(!limited.principal().limits.scopes.has(TokenScope::Manage));
    limited
        .upload_bytes(&Destination::Document(one), UploadOptions::default(), "more".as_bytes().into())
        .await
        .unwrap();
    assert_eq!(code(limited.item(&other.into()).await), "not_found");
    assert_eq!(code(limited.create_edit_token(&one.into()).await), "token_scope");
    assert_eq!(code(limited.set_preferences(model::Preferences::default()).await), "token_scope");
    // The secret is none of another kind.
    assert_eq!(farm.repository.caller_from_session(&token.secret).await.unwrap(), None);
    assert_eq!(farm.repository.caller_from_token(&token.secret, super::HERE).await.unwrap(), None);
    for wrong in ["", "sre_", &token.secret[..67], &token.secret.replace("sre_", "srt_")] {
        assert!(farm.repository.edit_access(wrong).await.unwrap().is_none(), "{wrong}");
    }
    assert_eq!(farm.events("token.edit").await.len(), 1);
}

async fn a_token_ends_after_an_hour_without_use_and_after_a_day(farm: Farm) {
    let session = editor(&farm).await;
    let one = document(&session, "one.docx").await;
    let secret = session.create_edit_token(&one.into()).await.unwrap().secret;
    let now = Timestamp::now();
    let minute = Duration::from_secs(60);
    assert_eq!(stands(&farm.repository, &secret, now.after(HOUR - minute)).await, Some(true));
    // A use is written in the background.
    let until = std::time::Instant::now() + Duration::from_secs(20);
    while stands(&farm.repository, &secret, now.after(HOUR + 30 * minute)).await != Some(true) {
        assert!(std::time::Instant::now() < until, "the use was not stored");
        tokio::task::yield_now().await;
    }
    assert_eq!(stands(&farm.repository, &secret, now.after(25 * HOUR)).await, Some(false));
    // A clock that was ahead and is set back does not lengthen it.
    assert_eq!(stands(&farm.repository, &secret, now.before(HOUR)).await, Some(false));
    let purge = |at: Timestamp| {
        let limit = at.before(ENDED_EDIT_TOKENS);
        let write = move |tx: &mut database::Transaction| database::configuration::edit_token::purge(tx, limit);
        farm.repository.inner.configuration.write(write)
    };
    purge(now.after(24 * HOUR)).await.unwrap();
    assert_eq!(stands(&farm.repository, &secret, now.after(25 * HOUR)).await, Some(false));
    purge(now.after(ENDED_EDIT_TOKENS + 26 * HOUR)).await.unwrap();
    assert_eq!(stands(&farm.repository, &secret, now).await, None);
}

async fn what_ends_sessions_ends_tokens(farm: Farm) {
    let other_server = farm.another_server().await;
    for end in ["password", "sessions", "disabled"] {
        let session = editor(&farm).await;
        let me = session.principal().id;
        let one = document(&session, &format!("{end}.docx")).await;
        let secret = session.create_edit_token(&one.into()).await.unwrap().secret;
        for repository in [&farm.repository, &other_server] {
            assert_eq!(stands(repository, &secret, Timestamp::now()).await, Some(true));
        }
        let admin = farm.administrator().await;
        match end {
            "password" => admin.set_password(me, &format!("{PASSWORD} 2")).await.unwrap(),
            "sessions" => admin.end_all_web_sessions(me).await.unwrap(),
            _ => {
                let disabled = AccountChange { disabled: Some(true), ..AccountChange::default() };
                admin.update_account(me, disabled).await.map(drop).unwrap();
            }
        }
        if end == "disabled" {
            assert_eq!(stands(&farm.repository, &secret, Timestamp::now()).await, None);
            let enabled = AccountChange { disabled: Some(false), ..AccountChange::default() };
            admin.update_account(me, enabled).await.unwrap();
        }
        // What is left of the token names the document to those who sign in.
        for repository in [&farm.repository, &other_server] {
            assert_eq!(stands(repository, &secret, Timestamp::now()).await, Some(false), "{end}");
        }
    }
}

/// Signs a new user in who may edit everything. Returns the secret of the session, and the session.
async fn signed_in_editor(farm: &Farm) -> (String, Session) {
    let login = editor(farm).await.principal().login.clone();
    let signed_in = farm.repository.sign_in(&login, PASSWORD, &client("127.0.0.1")).await.unwrap();
    (signed_in.secret, farm.repository.as_caller(signed_in.principal))
}

async fn a_token_ends_with_its_session(farm: Farm) {
    for end in ["sign-out", "end of one session"] {
        let (secret, session) = signed_in_editor(&farm).await;
        let one = document(&session, &format!("{end}.docx")).await;
        let token = session.create_edit_token(&one.into()).await.unwrap().secret;
        let login = &session.principal().login;
        let other = farm.repository.sign_in(login, PASSWORD, &client("127.0.0.2")).await.unwrap();
        let other = farm.repository.as_caller(other.principal).create_edit_token(&one.into()).await.unwrap().secret;
        assert_eq!(stands(&farm.repository, &token, Timestamp::now()).await, Some(true));
        match session.principal().proof {
            Authentication::Session { id, .. } if end != "sign-out" => {
                session.end_web_session(session.principal().id, id).await.unwrap();
            }
            _ => farm.repository.sign_out(&secret).await.unwrap(),
        }
        assert_eq!(stands(&farm.repository, &token, Timestamp::now()).await, Some(false), "{end}");
        assert_eq!(stands(&farm.repository, &other, Timestamp::now()).await, Some(true), "{end}");
    }
}

async fn a_request_that_outlived_its_session_makes_no_token(farm: Farm) {
    let admin = farm.administrator().await;
    for end in ["sign-out", "password", "password of a request"] {
        let (secret, mut session) = signed_in_editor(&farm).await;
        let (me, login) = (session.principal().id, session.principal().login.clone());
        if end == "password of a request" {
            let caller = farm.repository.caller_from_password(&login, PASSWORD, &client("127.0.0.1")).await.unwrap();
            session = farm.repository.as_caller(caller.unwrap().principal);
        }
        let one = document(&session, &format!("{end}.docx")).await;
        match end {
            "sign-out" => farm.repository.sign_out(&secret).await.unwrap(),
            _ => admin.set_password(me, &format!("{PASSWORD} 2")).await.unwrap(),
        }
        assert_eq!(code(session.create_edit_token(&one.into()).await), "fresh_sign_in_needed", "{end}");
        let token = NewTokenRequest::from("late");
        assert_eq!(code(session.create_token(me, token).await), "fresh_sign_in_needed", "{end}");
        assert!(session.tokens(me).await.unwrap().is_empty());
    }
}

async fn tokens_in_use_stay(farm: Farm) {
    let session = editor(&farm).await;
    let (me, one) = (session.principal().id, document(&session, "one.docx").await);
    let first = session.create_edit_token(&one.into()).await.unwrap().secret;
    let made = Timestamp::now();
    let fill = |count: usize, used_at: Timestamp| {
        let tokens: Vec<Id> = (0..count).map(|_| farm.repository.next_id()).collect();
        let write = move |tx: &mut database::Transaction| {
            for token in &tokens {
                let new = NewEditToken { account: me, session: Id::NONE, token: *token, document: one, now: used_at };
                edit_token::insert(tx, &new, &token.get().to_be_bytes())?;
            }
            Ok(())
        };
        farm.repository.inner.configuration.write(write)
    };
    // Those that were not used for an hour make room.
    fill(MAX_EDIT_TOKENS, made.before(2 * HOUR)).await.unwrap();
    session.create_edit_token(&one.into()).await.unwrap();
    assert_eq!(stands(&farm.repository, &first, Timestamp::now()).await, Some(true));
    // Those that were do not.
    fill(MAX_EDIT_TOKENS, made).await.unwrap();
    assert_eq!(code(session.create_edit_token(&one.into()).await), "too_many_edit_tokens");
    assert_eq!(stands(&farm.repository, &first, Timestamp::now()).await, Some(true));
}

async fn a_required_check_out_comes_first(farm: Farm) {
    let session = editor(&farm).await;
    let one = document(&session, "one.docx").await;
    let admin = farm.administrator().await;
    let library = Target::path("Documents").unwrap();
    let settings = admin.library_settings(&library).await.unwrap();
    let demanding = LibrarySettings { require_checkout: true, ..settings };
    admin.change_library(&library, demanding).await.unwrap();
    assert_eq!(code(session.create_edit_token(&one.into()).await), "checkout_required");
    session.check_out(&one.into()).await.unwrap();
    session.create_edit_token(&one.into()).await.unwrap();
}

async fn only_who_may_edit_gets_a_token(farm: Farm) {
    let session = editor(&farm).await;
    let one = document(&session, "one.docx").await;
    assert_eq!(code(session.create_edit_token(&Target::path("Documents").unwrap()).await), "wrong_kind");
    let reader = farm.account("reader").await;
    let reader_session = farm.caller(reader.id).await;
    assert_eq!(code(reader_session.create_edit_token(&one.into()).await), "not_found");
    let admin = farm.administrator().await;
    admin.grant(&Target::path("").unwrap(), reader.id, Role::READ).await.unwrap();
    assert_eq!(code(farm.caller(reader.id).await.create_edit_token(&one.into()).await), "forbidden");
    session.check_out(&one.into()).await.unwrap();
    assert_eq!(code(admin.create_edit_token(&one.into()).await), "checked_out");
    session.create_edit_token(&one.into()).await.unwrap();
    let token = admin.create_token(session.principal().id, NewTokenRequest::from("mine")).await.unwrap();
    let by_token = farm.repository.caller_from_token(&token.secret, super::HERE).await.unwrap().unwrap();
    let by_token = farm.repository.as_caller(by_token.principal);
    assert_eq!(code(by_token.create_edit_token(&one.into()).await), "token_scope");
}

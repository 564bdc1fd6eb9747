//! `strongroom user`: accounts and their tokens. Works directly on the data directory, as the farm's administrator.

use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use model::{Error, Id, Result, Timestamp, TokenScope, TokenScopes};
use repository::{Account, AccountChange, NewAccount, NewTokenRequest, Session, Target, Token, generate_password};
use serde_json::{Value, json};

use super::farm;
use super::output::{line_from_stdin, show, table, time};
use super::size::whole;
use crate::configuration::CommonArguments;

/// Accounts read per page.
const PAGE: usize = 1_000;

/// Arguments of `strongroom user`.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    common: CommonArguments,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Create an account; its password is generated and printed once, unless --password-stdin reads it from the
    /// standard input
    Add {
        /// Login name
        login: String,
        /// Display name [default: the login]
        #[arg(long)]
        name: Option<String>,
        /// E-mail address
        #[arg(long, default_value = "", hide_default_value = true)]
        email: String,
        /// Make the user an administrator of the farm
        #[arg(long)]
        administrator: bool,
        #[command(flatten)]
        password: PasswordSource,
        /// Set no password; the user can use tokens only
        #[arg(long, conflicts_with = "password_stdin")]
        without_password: bool,
    },
    /// List all accounts
    List,
    /// Show one account
    Show {
        /// Login name
        login: String,
    },
    /// Change names, the e-mail address or administrator rights of an account
    Change {
        /// Login name
        login: String,
        /// New login name
        #[arg(long)]
        login_name: Option<String>,
        /// Display name
        #[arg(long)]
        name: Option<String>,
        /// E-mail address
        #[arg(long)]
        email: Option<String>,
        /// Grant or revoke administration of the farm
        #[arg(long, value_name = "true|false")]
        administrator: Option<bool>,
    },
    /// Disable an account: reject its credentials and end its sessions
    Disable {
        /// Login name
        login: String,
    },
    /// Re-enable a disabled or deleted account
    Enable {
        /// Login name
        login: String,
    },
    /// Delete an account; its name is kept on the user's past actions
    Delete {
        /// Login name
        login: String,
    },
    /// Set a new password and end all sessions; the password is generated and printed once, unless --password-stdin
    /// reads it from the standard input
    Password {
        /// Login name
        login: String,
        #[command(flatten)]
        password: PasswordSource,
    },
    /// Manage personal access tokens for programs
    Token {
        #[command(subcommand)]
        action: TokenAction,
    },
}

#[derive(Args)]
struct PasswordSource {
    /// Read the password from the first line of standard input
    #[arg(long)]
    password_stdin: bool,
}

#[derive(Subcommand)]
enum TokenAction {
    /// Create a token and print its secret once
    Create {
        /// Login name
        login: String,
        /// Name of the token
        name: String,
        /// Lifetime in days, 1 to 365 [default: the farm's limit, initially 365]
        #[arg(long, value_parser = token_days)]
        days: Option<u32>,
        /// Scope: read, write, manage or farm; may be repeated [default: all]
        #[arg(long = "scope", value_name = "SCOPE")]
        scopes: Vec<String>,
        /// Site, library or folder that the token is limited to; may be repeated [default: everywhere]
        #[arg(long = "place", value_name = "PATH")]
        places: Vec<String>,
        /// Network that the token may be used from, such as 10.0.0.0/24; may be repeated [default: everywhere]
        #[arg(long = "network", value_name = "NETWORK")]
        networks: Vec<String>,
    },
    /// Show or set the maximum lifetime of new tokens
    Longest {
        /// Days, 1 to 365
        #[arg(value_parser = whole::<u64>)]
        days: Option<u64>,
    },
    /// List the tokens of an account
    List {
        /// Login name
        login: String,
    },
    /// Revoke a token with immediate effect
    Revoke {
        /// Login name
        login: String,
        /// ID of the token, as shown by `list`
        id: String,
    },
}

fn token_days(text: &str) -> std::result::Result<u32, String> {
    let days = whole(text)?;
    if (1..=365).contains(&days) { Ok(days) } else { Err("a token is valid for 1 to 365 days".to_owned()) }
}

/// Runs `strongroom user`.
pub async fn run(arguments: Arguments) -> Result<ExitCode> {
    let (repository, session) = farm::open(&arguments.common).await?;
    let outcome = act(&session, arguments.action).await;
    repository.close().await;
    let (value, text) = outcome?;
    show(arguments.common.json, &value, &text);
    Ok(ExitCode::SUCCESS)
}

async fn act(session: &Session, action: Action) -> Result<(Value, String)> {
    match action {
        Action::Add { login, name, email, administrator, password, without_password } => {
            let password = if without_password { None } else { Some(password.read()?) };
            let new = NewAccount {
                login,
                display_name: name.unwrap_or_default(),
                email,
                password: password.as_ref().map(|password| password.text.clone()),
                farm_administrator: administrator,
            };
            let account = session.create_account(new).await?;
            Ok(with_password(&account, password.as_ref(), "was created"))
        }
        Action::List => list(session).await,
        Action::Show { login } => Ok(details(&session.account_by_login(&login).await?)),
        Action::Change { login, login_name, name, email, administrator } => {
            let change = AccountChange {
                login: login_name,
                display_name: name,
                email,
                farm_administrator: administrator,
                disabled: None,
            };
            update(session, &login, change).await
        }
        Action::Disable { login } => {
            update(session, &login, AccountChange { disabled: Some(true), ..AccountChange::default() }).await
        }
        Action::Enable { login } => {
            update(session, &login, AccountChange { disabled: Some(false), ..AccountChange::default() }).await
        }
        Action::Delete { login } => {
            let account = session.account_by_login(&login).await?;
            session.delete_account(account.id).await?;
            Ok(details(&session.account(account.id).await?))
        }
        Action::Password { login, password } => {
            let account = session.account_by_login(&login).await?;
            let password = password.read()?;
            session.set_password(account.id, &password.text).await?;
            Ok(with_password(&account, Some(&password), "has a new password"))
        }
        Action::Token { action } => token(session, action).await,
    }
}

/// A password, and whether it was generated and must be shown.
struct Password {
    text: String,
    generated: bool,
}

impl PasswordSource {
    fn read(&self) -> Result<Password> {
        let text = if self.password_stdin { line_from_stdin()? } else { generate_password()? };
        Ok(Password { text, generated: !self.password_stdin })
    }
}

fn with_password(account: &Account, password: Option<&Password>, done: &str) -> (Value, String) {
    let mut value = account_json(account);
    let mut text = format!("The account \"{}\" {done}.\n", account.login);
    if let Some(password) = password.filter(|password| password.generated) {
        value["password"] = json!(password.text);
        text.push_str(&format!("Password: {}\n(shown only now)\n", password.text));
    }
    (value, text)
}

async fn list(session: &Session) -> Result<(Value, String)> {
    let mut accounts: Vec<Account> = Vec::new();
    loop {
        let after = accounts.last().map(|account| account.login.clone()).unwrap_or_default();
        let page = session.accounts(&after, PAGE).await?;
        let last = page.len() < PAGE;
        accounts.extend(page);
        if last {
            break;
        }
    }
    let row = |account: &Account| {
        let signed_in = account.signed_in_at.map(time).unwrap_or_default();
        [account.login.clone(), account.display_name.clone(), standing(account).to_owned(), signed_in]
    };
    let rows: Vec<_> = accounts.iter().map(row).collect();
    let text = table(["LOGIN", "NAME", "STATUS", "LAST SIGN-IN"], &rows);
    Ok((accounts.iter().map(account_json).collect(), text))
}

async fn update(session: &Session, login: &str, change: AccountChange) -> Result<(Value, String)> {
    let account = session.account_by_login(login).await?;
    Ok(details(&session.update_account(account.id, change).await?))
}

async fn token(session: &Session, action: TokenAction) -> Result<(Value, String)> {
    match action {
        TokenAction::Create { login, name, days, scopes, places, networks } => {
            let account = session.account_by_login(&login).await?;
            let length = days.map(|days| Duration::from_secs(u64::from(days) * 24 * 60 * 60));
            let expires_at = length.map(|length| Timestamp::now().after(length));
            let scopes = match scopes.is_empty() {
                // The `farm` scope applies to the whole farm and cannot be limited to a path.
                true => TokenScope::ALL.into_iter().filter(|s| places.is_empty() || *s != TokenScope::Farm).collect(),
                false => scopes.iter().map(|word| TokenScope::parse(word)).collect::<Result<_>>()?,
            };
            let mut found = Vec::new();
            for path in &places {
                found.push(session.item(&Target::path(path)?).await?.id);
            }
            let networks = networks.iter().map(|text| text.parse()).collect::<Result<_>>()?;
            let wish = NewTokenRequest { name, expires_at, scopes, places: found, networks };
            let new = session.create_token(account.id, wish).await?;
            let mut value = token_json(&new.token);
            value["secret"] = json!(new.secret);
            Ok((value, format!("{}\n", new.secret)))
        }
        TokenAction::Longest { days } => {
            if let Some(days) = days {
                session.set_longest_token_days(days).await?;
            }
            let days = session.longest_token_days().await?;
            Ok((
                json!({ "days": days }),
                format!("Every new token expires after {} at the latest.\n", model::counted(days, "day")),
            ))
        }
        TokenAction::List { login } => {
            let account = session.account_by_login(&login).await?;
            let tokens = session.tokens(account.id).await?;
            let row = |token: &Token| {
                let end = token.expires_at.map_or_else(|| "never".to_owned(), time);
                let used = token.used_at.map_or_else(|| "never".to_owned(), time);
                let may = match (token.scopes, token.places.len()) {
                    (None, _) => "all (created before scopes existed)".to_owned(),
                    (Some(scopes), 0) => scope_words(scopes).join(","),
                    (Some(scopes), count) => {
                        format!("{} in {}", scope_words(scopes).join(","), model::counted(count as u64, "place"))
                    }
                };
                let from: String = token.networks.iter().map(|network| format!(" from {network}")).collect();
                [token.id.to_string(), token.name.clone(), may + &from, end, used]
            };
            let rows: Vec<_> = tokens.iter().map(row).collect();
            Ok((
                tokens.iter().map(token_json).collect(),
                table(["ID", "NAME", "SCOPES", "EXPIRES", "LAST USED"], &rows),
            ))
        }
        TokenAction::Revoke { login, id } => {
            let account = session.account_by_login(&login).await?;
            let id: Id =
                id.parse().map_err(|e: Error| Error::invalid("this is not the ID of a token").with_source(e))?;
            session.revoke_token(account.id, id).await?;
            let text = format!("The token {id} of \"{}\" was revoked.\n", account.login);
            Ok((json!({ "id": id.to_string(), "revoked": true }), text))
        }
    }
}

fn scope_words(scopes: TokenScopes) -> Vec<&'static str> {
    scopes.iter().map(TokenScope::as_str).collect()
}

fn standing(account: &Account) -> &'static str {
    match (account.deleted, account.disabled, account.farm_administrator) {
        (true, ..) => "deleted",
        (false, true, _) => "disabled",
        (false, false, true) => "administrator",
        (false, false, false) => "enabled",
    }
}

fn details(account: &Account) -> (Value, String) {
    let rows = [
        ["Login".to_owned(), account.login.clone()],
        ["Name".to_owned(), account.display_name.clone()],
        ["E-mail".to_owned(), account.email.clone()],
        ["Status".to_owned(), standing(account).to_owned()],
        ["Last sign-in".to_owned(), account.signed_in_at.map(time).unwrap_or_default()],
        ["Created".to_owned(), time(account.created_at)],
    ];
    (account_json(account), table(["Id", &account.id.to_string()], &rows))
}

fn account_json(account: &Account) -> Value {
    json!({
        "id": account.id.to_string(),
        "login": account.login,
        "name": account.display_name,
        "email": account.email,
        "administrator": account.farm_administrator,
        "disabled": account.disabled,
        "deleted": account.deleted,
        "created_at": time(account.created_at),
        "signed_in_at": account.signed_in_at.map(time),
    })
}

fn token_json(token: &Token) -> Value {
    json!({
        "id": token.id.to_string(),
        "name": token.name,
        "created_at": time(token.created_at),
        "expires_at": token.expires_at.map(time),
        "used_at": token.used_at.map(time),
        "scopes": scope_words(token.scopes.unwrap_or(TokenScopes::ALL)),
        "made_before_scopes": token.scopes.is_none(),
        "places": token.places.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "networks": token.networks.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

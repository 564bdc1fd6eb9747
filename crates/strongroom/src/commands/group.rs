//! `strongroom group`: groups and their members. Works directly on the data directory, as the farm's administrator.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use model::Result;
use repository::{Group, Member, Session};
use serde_json::{Value, json};

use super::farm;
use super::output::{show, table, time};
use crate::configuration::CommonArguments;

/// Groups or members read per page.
const PAGE: usize = 1_000;

/// Arguments of `strongroom group`.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    common: CommonArguments,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Create a group
    Add {
        /// Name, as shown in lists
        name: String,
        /// Description of the group's purpose
        #[arg(long, default_value = "", hide_default_value = true)]
        description: String,
    },
    /// List all groups
    List,
    /// Delete a group; its members lose the permissions that it gave them
    Remove {
        /// Name of the group
        name: String,
    },
    /// Add, remove or list members of a group
    Member {
        #[command(subcommand)]
        action: MemberAction,
    },
}

#[derive(Subcommand)]
enum MemberAction {
    /// Add users to a group
    Add {
        /// Name of the group
        group: String,
        /// Login names of the users
        #[arg(required = true)]
        logins: Vec<String>,
    },
    /// Remove users from a group
    Remove {
        /// Name of the group
        group: String,
        /// Login names of the users
        #[arg(required = true)]
        logins: Vec<String>,
    },
    /// List the members of a group
    List {
        /// Name of the group
        group: String,
    },
}

/// Runs `strongroom group`.
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
        Action::Add { name, description } => {
            let group = session.create_group(&name, &description).await?;
            Ok((group_json(&group), format!("The group \"{}\" was created.\n", group.name)))
        }
        Action::List => {
            let groups = groups(session).await?;
            let rows: Vec<_> = groups.iter().map(|group| [group.name.clone(), group.description.clone()]).collect();
            Ok((groups.iter().map(group_json).collect(), table(["NAME", "DESCRIPTION"], &rows)))
        }
        Action::Remove { name } => {
            let group = session.group_by_name(&name).await?;
            session.delete_group(group.id).await?;
            Ok((group_json(&group), format!("The group \"{}\" was deleted.\n", group.name)))
        }
        Action::Member { action: MemberAction::Add { group, logins } } => change(session, &group, &logins, true).await,
        Action::Member { action: MemberAction::Remove { group, logins } } => {
            change(session, &group, &logins, false).await
        }
        Action::Member { action: MemberAction::List { group } } => {
            let members = members(session, &session.group_by_name(&group).await?).await?;
            let rows: Vec<_> = members.iter().map(|m| [m.login.clone(), m.display_name.clone()]).collect();
            Ok((members.iter().map(member_json).collect(), table(["LOGIN", "NAME"], &rows)))
        }
    }
}

/// Adds users to a group or removes them. Looks up all users first, so that a wrong name changes nothing.
async fn change(session: &Session, group: &str, logins: &[String], add: bool) -> Result<(Value, String)> {
    let group = session.group_by_name(group).await?;
    let mut accounts = Vec::with_capacity(logins.len());
    for login in logins {
        accounts.push(session.account_by_login(login).await?);
    }
    let mut text = String::new();
    for account in &accounts {
        if add {
            session.add_member(group.id, account.id).await?;
        } else {
            session.remove_member(group.id, account.id).await?;
        }
        let word = if add { "a" } else { "no longer a" };
        text.push_str(&format!("\"{}\" is {word} member of the group \"{}\".\n", account.login, group.name));
    }
    let members = members(session, &group).await?;
    let mut value = group_json(&group);
    value["members"] = members.iter().map(member_json).collect();
    Ok((value, text))
}

async fn groups(session: &Session) -> Result<Vec<Group>> {
    let mut all: Vec<Group> = Vec::new();
    loop {
        let after = all.last().map(|group| group.name.clone()).unwrap_or_default();
        let page = session.groups(&after, PAGE).await?;
        let last = page.len() < PAGE;
        all.extend(page);
        if last {
            return Ok(all);
        }
    }
}

async fn members(session: &Session, group: &Group) -> Result<Vec<Member>> {
    let mut all: Vec<Member> = Vec::new();
    loop {
        let after = all.last().map(|member| member.login.clone()).unwrap_or_default();
        let page = session.members(group.id, &after, PAGE).await?;
        let last = page.len() < PAGE;
        all.extend(page);
        if last {
            return Ok(all);
        }
    }
}

fn group_json(group: &Group) -> Value {
    json!({
        "id": group.id.to_string(),
        "name": group.name,
        "description": group.description,
        "created_at": time(group.created_at),
    })
}

fn member_json(member: &Member) -> Value {
    json!({ "id": member.account.to_string(), "login": member.login, "name": member.display_name })
}

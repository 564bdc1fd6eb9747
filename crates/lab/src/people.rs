//! Accounts of virtual users who open pages. A server keeps a limited number of sessions per account, so a crowd needs
//! several accounts. They are created for one run and removed after it.

use std::sync::Arc;
use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::operations::ALL;
use crate::plan::Plan;
use crate::random::random_password;
use crate::stop::Stop;
use crate::thread::on_own_thread;
use crate::wire::{Client, Fault, FaultKind, Login, ReadResponse, RequestBuilder, Target, TargetKind, address};

/// Users per account: half of the 100 sessions that Strongroom keeps per account, so that a user who signs in again
/// ends no other user's session.
const USERS_OF_ONE: u32 = 50;
/// Role that is granted to the accounts on the corpus. The site manager needs it.
const ROLE: &str = "Full control";
/// Length of the passwords.
const PASSWORD: usize = 24;
/// Timeout for one request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);

/// The accounts of a run.
#[derive(Default)]
pub struct People {
    /// Logins of the accounts; empty if the target's login is enough for all users.
    pub logins: Arc<Vec<Login>>,
    made: Vec<MadeAccounts>,
}

/// Record of the accounts, group and grant that were created on one server, by identifier.
struct MadeAccounts {
    target: Arc<Target>,
    run: String,
    accounts: Vec<String>,
    group: Option<String>,
    /// Item and role of the group's grant.
    grant: Option<(String, String)>,
}

impl People {
    /// Creates as many accounts as the users of a plan need, on each of the servers.
    ///
    /// # Errors
    /// If a server refuses to create them, for example because the login is not that of a farm administrator.
    pub async fn create(plan: &Plan, servers: Vec<Arc<Target>>, run: &str, stop: &Stop) -> Result<Self> {
        let signs_in = |name: &str| ALL.iter().any(|operation| operation.name == name && operation.signs_in);
        let wanted = plan.load.most_users().div_ceil(USERS_OF_ONE);
        let needed = wanted > 1 && plan.mix.iter().any(|share| signs_in(&share.operation));
        if !needed || plan.target.kind != TargetKind::Strongroom || servers.iter().any(|target| target.login.is_none())
        {
            return Ok(Self::default());
        }
        let login = |number| Ok(Login { user: format!("lab-{run}-{number}"), password: random_password(PASSWORD)? });
        let logins: Arc<Vec<Login>> = Arc::new((0..wanted).map(login).collect::<Result<_>>()?);
        let mut people = Self { logins: logins.clone(), made: Vec::new() };
        for target in servers {
            let (made, logins, asked) = (MadeAccounts::empty(target, run), logins.clone(), stop.clone());
            let (made, outcome) = on_own_thread(move || made.create_accounts(logins, asked)).await?;
            people.made.push(made);
            if let Err(fault) = outcome {
                let left = people.remove(stop).await.join("; ");
                let left = if left.is_empty() { left } else { format!("; {left}") };
                if stop.is_requested() {
                    return Err(Error::new(format!("{}{left}", Stop::interrupted())));
                }
                return Err(Error::new(format!(
                    "{} users of pages need {wanted} accounts, because an account has at most 100 sessions, and the \
                     target does not create them ({fault}): give --user and --password of an administrator of the \
                     farm, or at most {USERS_OF_ONE} users{left}",
                    plan.load.most_users(),
                )));
            }
        }
        Ok(people)
    }

    /// Removes the accounts, unless the user interrupts a second time. Returns messages about everything that could not
    /// be removed.
    pub async fn remove(self, stop: &Stop) -> Vec<String> {
        let mut left = Vec::new();
        for made in self.made {
            let remains = made.leftover_message();
            let outcome = tokio::select! {
                removed = on_own_thread(move || made.remove()) => {
                    removed.and_then(|gone| gone.map_err(|fault| Error::new(fault.to_string())))
                }
                () = stop.second_request() => Err(Error::new("interrupted")),
            };
            left.extend(outcome.err().map(|why| format!("{remains} ({why}): delete them by hand")));
        }
        left
    }
}

impl MadeAccounts {
    fn empty(target: Arc<Target>, run: &str) -> Self {
        Self { target, run: run.to_owned(), accounts: Vec::new(), group: None, grant: None }
    }

    /// Returns the message for accounts that could not be removed.
    fn leftover_message(&self) -> String {
        let (url, run, accounts) = (&self.target.url, &self.run, self.accounts.len());
        format!("the group \"Lab {run}\" and {accounts} accounts lab-{run}-0 and so on are still on {url}")
    }

    /// Creates the accounts. Returns the record of what was created, even on failure.
    async fn create_accounts(mut self, logins: Arc<Vec<Login>>, stop: Stop) -> (Self, Result<(), Fault>) {
        let mut client = Client::new(self.target.clone());
        let outcome = self.make(&mut client, &logins, &stop).await;
        (self, outcome)
    }

    async fn make(&mut self, client: &mut Client, logins: &[Login], stop: &Stop) -> Result<(), Fault> {
        let name = format!("Lab {}", self.run);
        let named = json!({ "name": name, "description": "Made by the load lab for the time of a run" });
        let answer = ask(client, RequestBuilder::new(Method::POST, "/api/v1/groups").json(&named)).await?;
        if answer.status == 409 {
            // A twin in the same farm, which already has the accounts.
            return Ok(());
        }
        let group = id(&answer.expect(&[201])?.json()?)?;
        self.group = Some(group.clone());
        for login in logins {
            // Checked only between two requests, so that everything that was created is recorded.
            if stop.is_requested() {
                return Err(Fault::new(FaultKind::Closed, "interrupted"));
            }
            let account = json!({ "login": login.user, "password": login.password });
            let made = ask(client, RequestBuilder::new(Method::POST, "/api/v1/users").json(&account)).await?;
            let account = id(&made.expect(&[201])?.json()?)?;
            self.accounts.push(account.clone());
            let member = RequestBuilder::new(Method::PUT, format!("/api/v1/groups/{group}/members/{account}"));
            ask(client, member).await?.expect(&[204])?;
        }
        let place = ask(client, RequestBuilder::get(address::item_address(&self.target, "", "")))
            .await?
            .expect(&[200])?
            .json()?;
        let table = RequestBuilder::get(format!("/api/v1/items/{}/permissions", id(&place)?));
        let table = ask(client, table).await?.expect(&[200])?.json()?;
        // A grant on the item that the permissions are inherited from changes one row, however large the corpus is.
        let from = table["from"]
            .as_str()
            .map(str::to_owned)
            .ok_or_else(|| Fault::content("the permissions do not say which item they come from"))?;
        let roles = ask(client, RequestBuilder::get("/api/v1/roles")).await?.expect(&[200])?.json()?;
        let role = roles["items"].as_array().into_iter().flatten().find(|role| role["name"] == ROLE);
        let role = id(role.ok_or_else(|| Fault::content(format!("there is no role {ROLE}")))?)?;
        let granted = json!({ "principal": group, "role": role });
        let grant =
            RequestBuilder::new(Method::POST, format!("/api/v1/items/{from}/permissions/grants")).json(&granted);
        ask(client, grant).await?.expect(&[204])?;
        self.grant = Some((from, role));
        Ok(())
    }

    async fn remove(self) -> Result<(), Fault> {
        let mut client = Client::new(self.target.clone());
        let mut gone = Vec::new();
        if let (Some((item, role)), Some(group)) = (&self.grant, &self.group) {
            gone.push(format!("/api/v1/items/{item}/permissions/grants/{group}/{role}"));
        }
        gone.extend(self.group.iter().map(|group| format!("/api/v1/groups/{group}")));
        gone.extend(self.accounts.iter().map(|account| format!("/api/v1/users/{account}")));
        let mut outcome = Ok(());
        for path in gone {
            let answer = ask(&mut client, RequestBuilder::new(Method::DELETE, path.as_str())).await;
            let Err(fault) = answer.and_then(|answer| answer.expect(&[204, 404])) else { continue };
            client.disconnect();
            let silent = matches!(fault.kind, FaultKind::Connect | FaultKind::Timeout);
            outcome = outcome.and(Err(fault));
            if silent {
                break;
            }
        }
        outcome
    }
}

/// Sends one request, with a timeout.
async fn ask(client: &mut Client, ask: RequestBuilder) -> Result<ReadResponse, Fault> {
    let late = |_| Fault::new(FaultKind::Timeout, format!("no answer within {} s", REQUEST_TIMEOUT.as_secs()));
    tokio::time::timeout(REQUEST_TIMEOUT, client.send(ask)).await.map_err(late)?
}

fn id(value: &Value) -> Result<String, Fault> {
    value["id"].as_str().map(str::to_owned).ok_or_else(|| Fault::content("a response has no id"))
}

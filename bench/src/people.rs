//! Signs in users of a world and prepares them for measurement.

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::{client::Client, database::Database, site::Site};

/// Password of every seeded account.
const PASSWORD: &str = "demo-tidefeed";
/// Concurrent sign-ins. More would only wait for the same processors.
const AT_ONCE: usize = 4;
/// Mutations of one document.
const IN_ONE: usize = 40;
/// Time limit of every wait for workers.
const PATIENCE: Duration = Duration::from_mins(10);

/// A page as the table's rows read it.
pub const PAGE: &str = "query Page($first: Int!, $after: String) { timeline(first: $first, after: $after) { \
    edges { cursor node { id kind text createdAt media { kind url width height alt } \
    replyCount likeCount repostCount author { id handle name avatarUrl } } } \
    pageInfo { hasNextPage endCursor } } }";

/// A signed-in user.
#[derive(Debug, Clone)]
pub struct Person {
    /// The id in SQL.
    pub number: i64,
    /// The id in the API.
    pub id: String,
    pub token: String,
}

/// As [`read`] reads them: one a line.
pub fn written(people: &[Person]) -> String {
    let lines = people.iter().map(|Person { number, id, token }| format!("{number} {id} {token}"));
    lines.collect::<Vec<_>>().join("\n")
}

/// The people of a text that was [`written`].
pub fn read(text: &str) -> Result<Vec<Person>> {
    text.lines().map(of_line).collect()
}

fn of_line(line: &str) -> Result<Person> {
    let [number, id, token] = line.split(' ').collect::<Vec<_>>()[..] else { bail!("{line} is no person.") };
    Ok(Person { number: number.parse()?, id: id.to_owned(), token: token.to_owned() })
}

/// Signs these handles in.
pub async fn sign_in(site: &Site, handles: &[String]) -> Result<Vec<Person>> {
    stream::iter(handles).map(|handle| sign_in_one(site, handle)).buffered(AT_ONCE).try_collect().await
}

async fn sign_in_one(site: &Site, handle: &str) -> Result<Person> {
    let mut client = Client::to(site.address()).await?;
    let query = "mutation($input: SignInInput!) { signIn(input: $input) { token user { id } userErrors { code } } }";
    let variables = json!({ "input": { "handle": handle, "password": PASSWORD } });
    let answer = client.data(None, query, variables).await?;
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned).context("The sign-in returned no token.");
    let (token, id) = (text(&answer["signIn"]["token"])?, text(&answer["signIn"]["user"]["id"])?);
    let number = site.database().await?.number(&format!("SELECT id FROM users WHERE handle = '{handle}'")).await?;
    Ok(Person { number, id, token })
}

/// `count` handles of seeded people who follow between `least` and `most` authors, always the same ones.
pub async fn handles(database: &mut Database, following: (i64, i64), count: usize) -> Result<Vec<String>> {
    let (least, most) = following;
    let sql = format!(
        "SELECT u.handle FROM users u JOIN user_counts c ON c.user_id = u.id JOIN credentials p ON p.user_id = u.id \
         WHERE c.following BETWEEN {least} AND {most} AND u.handle <> 'demo' ORDER BY u.id LIMIT {count}"
    );
    let found = database.texts(&sql).await?;
    ensure!(found.len() == count, "{} people follow {least} to {most} authors, not {count}.", found.len());
    Ok(found)
}

/// The handle of the author whose followers are nearest to `followers`, and how many they are.
pub async fn author(database: &mut Database, followers: i64) -> Result<(String, i64)> {
    let from = format!(
        "FROM users u JOIN user_counts c ON c.user_id = u.id JOIN credentials p ON p.user_id = u.id \
         ORDER BY ABS(c.followers - {followers}), u.id LIMIT 1"
    );
    let handle = database.texts(&format!("SELECT u.handle {from}")).await?;
    let count = database.number(&format!("SELECT c.followers {from}")).await?;
    Ok((handle.into_iter().next().context("The world has no authors.")?, count))
}

/// Reads a first page as each of them, and waits until workers have filled their inboxes.
pub async fn make_active(site: &Site, people: &[Person]) -> Result<()> {
    let mut client = Client::to(site.address()).await?;
    let mut database = site.database().await?;
    let numbers: Vec<String> = people.iter().map(|person| person.number.to_string()).collect();
    let filled = format!(
        "SELECT COUNT(*) FROM inbox_states s WHERE s.user_id IN ({}) AND s.floor_time IS NOT NULL \
         AND (SELECT COUNT(*) FROM inboxes i WHERE i.user_id = s.user_id) >= 20",
        numbers.join(", ")
    );
    let deadline = Instant::now() + PATIENCE;
    while database.number(&filled).await? < i64::try_from(people.len())? {
        ensure!(Instant::now() < deadline, "The inboxes of {} people are not filled in time.", people.len());
        for person in people {
            client.data(Some(&person.token), PAGE, json!({ "first": 20 })).await?;
        }
        sleep(Duration::from_millis(200)).await;
    }
    Ok(())
}

/// Lets `person` follow the most followed authors, until they follow `count` besides themselves, or everybody; waits
/// for the inbox. Returns how many they follow.
pub async fn follow_many(site: &Site, person: &Person, count: usize) -> Result<usize> {
    let mut database = site.database().await?;
    let already = format!("SELECT author_id FROM follows WHERE follower_id = {}", person.number);
    let followed = database.numbers(&already).await?.len().saturating_sub(1);
    let strangers = format!(
        "SELECT user_id FROM user_counts WHERE user_id NOT IN ({already}) ORDER BY followers DESC, user_id LIMIT {}",
        count.saturating_sub(followed)
    );
    let strangers = database.numbers(&strangers).await?;
    let ids = global_ids(site, &strangers).await?;
    let mut client = Client::to(site.address()).await?;
    for some in ids.chunks(IN_ONE) {
        let fields: Vec<String> = some
            .iter()
            .enumerate()
            .map(|(at, id)| format!("f{at}: followUser(input: {{ userId: \"{id}\" }}) {{ userErrors {{ code }} }}"))
            .collect();
        client.data(Some(&person.token), &format!("mutation {{ {} }}", fields.join(" ")), json!({})).await?;
    }
    let open = format!("SELECT COUNT(*) FROM follows WHERE follower_id = {} AND mode <> 2", person.number);
    wait_for_none(&mut database, &open, "edges that are not covered").await?;
    Ok(followed + strangers.len())
}

/// Waits until the statement counts nothing.
pub async fn wait_for_none(database: &mut Database, sql: &str, what: &str) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let left = database.number(sql).await?;
        if left == 0 {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "{left} {what} are left.");
        sleep(Duration::from_millis(50)).await;
    }
}

/// The API's ids of these users.
pub async fn global_ids(site: &Site, numbers: &[i64]) -> Result<Vec<String>> {
    let list: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    if list.is_empty() {
        return Ok(Vec::new());
    }
    let sql = format!("SELECT handle FROM users WHERE id IN ({})", list.join(", "));
    let handles = site.database().await?.texts(&sql).await?;
    let mut client = Client::to(site.address()).await?;
    let mut ids = Vec::with_capacity(numbers.len());
    for some in handles.chunks(IN_ONE) {
        let fields = some.iter().enumerate().map(|(at, handle)| format!("f{at}: user(handle: \"{handle}\") {{ id }}"));
        let answer = client.data(None, &format!("{{ {} }}", fields.collect::<Vec<_>>().join(" ")), json!({})).await?;
        let found = answer.as_object().context("The answer has no users.")?.values();
        ids.extend(found.filter_map(|user| user["id"].as_str().map(str::to_owned)));
    }
    Ok(ids)
}

//! Faults after which another Redis is master of inboxes: a replica that is promoted without the last writes, two
//! masters at once, a slot that moves.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, ensure};
use redis::{Cmd, FromRedisValue, InfoDict, RedisResult, ServerErrorKind, cmd};
use tidefeed::rng::SharedRng;
use tokio::time::sleep;

use crate::binary::process::until;
use crate::clients::below;
use crate::deployment::{Deployment, RedisSetup};
use crate::faults::random_pause;
use crate::proxy::Proxy;
use crate::servers::{Server, connect_redis};

/// How long one key may take from master to master.
const MIGRATION_MS: u64 = 20_000;
/// The score of the member that names under which token an inbox was opened.
const TOKEN_SCORE: i64 = -3;
/// Digits of a row's member.
const ROW_DIGITS: usize = 20;

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MasterFault {
    /// The replica lacks rows that the master had acknowledged.
    Promoted,
    /// One node uses the promoted replica while another still reaches the former master.
    TwoMasters,
    /// A slot with inboxes goes to another master of the cluster, key by key.
    SlotMoved,
}

impl MasterFault {
    /// Those that can happen there.
    pub const fn of(setup: RedisSetup) -> &'static [Self] {
        match setup {
            RedisSetup::RedisInboxes => &[Self::Promoted, Self::TwoMasters],
            RedisSetup::ClusterInboxes => &[Self::SlotMoved],
            _ => &[],
        }
    }

    /// As the table names it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Promoted => "Redis replica promoted without the last writes",
            Self::TwoMasters => "two Redis masters",
            Self::SlotMoved => "Redis slot moved",
        }
    }
}

/// Lets one fault happen, from its beginning to its end. Fails unless the fault has met inboxes.
pub async fn inject(fault: MasterFault, deployment: &mut Deployment, rng: &SharedRng) -> Result<()> {
    match fault {
        MasterFault::Promoted => promote(deployment).await,
        MasterFault::TwoMasters => split(deployment, rng).await,
        MasterFault::SlotMoved => move_slot(deployment.redis_servers(), rng).await,
    }
}

async fn promote(deployment: &mut Deployment) -> Result<()> {
    let (master, replica) = deployment.redis_and_beside()?;
    let line = replicate(master, replica).await?;
    line.hold(true);
    until("the replica lacks rows that the master has", async || {
        let (there, here) = (inboxes(master).await?, inboxes(replica).await?);
        Ok(rows(&there).any(|(key, row)| here.get(key).is_none_or(|inbox| !inbox.contains_key(row))))
    })
    .await?;
    become_master(replica).await?;
    deployment.change_redis();
    Ok(())
}

/// Writes to either are lost to the other. It ends when an inbox was opened on the new master and the former one was
/// asked after that.
async fn split(deployment: &mut Deployment, rng: &SharedRng) -> Result<()> {
    let (master, replica) = deployment.redis_and_beside()?;
    let line = replicate(master, replica).await?;
    line.hold(below(rng, 2) == 0);
    become_master(replica).await?;
    let known = identities(&inboxes(replica).await?);
    let first = below(rng, deployment.nodes());
    deployment.redis_lines(0)[first].lead_to(replica.port());
    until("an inbox is opened on the new master", async || Ok(!identities(&inboxes(replica).await?).is_subset(&known)))
        .await?;
    let asked = scripts_run(master).await?;
    until("the former master is asked", async || Ok(scripts_run(master).await? > asked)).await?;
    sleep(random_pause(rng)).await;
    deployment.change_redis();
    Ok(())
}

/// Makes `replica` a copy of `master`, over a line of its own.
async fn replicate(master: &Server, replica: &Server) -> Result<Proxy> {
    let line = Proxy::before(master.port()).await?;
    // Else the master waits for more replicas first.
    ask::<()>(master, cmd("CONFIG").arg("SET").arg("repl-diskless-sync-delay").arg(0)).await?;
    ask::<()>(replica, cmd("REPLICAOF").arg("127.0.0.1").arg(line.port())).await?;
    until("the replica has what the master has", async || {
        let info: InfoDict = ask(replica, cmd("INFO").arg("replication")).await?;
        Ok(info.get::<String>("master_link_status").as_deref() == Some("up"))
    })
    .await?;
    Ok(line)
}

async fn become_master(replica: &Server) -> Result<()> {
    ask(replica, cmd("REPLICAOF").arg("NO").arg("ONE")).await
}

/// The clean way, as `redis-cli --cluster reshard` does it, while clients use what is moved. It ends when an inbox of
/// this slot was opened on its new master.
async fn move_slot(masters: &[Server], rng: &SharedRng) -> Result<()> {
    until_up(masters).await?;
    let mut found = None;
    until("an inbox lies in the cluster", async || {
        found = some_inbox(masters, rng).await?;
        Ok(found.is_some())
    })
    .await?;
    let (from, key) = found.context("an inbox")?;
    let to = (from + 1 + below(rng, masters.len() - 1)) % masters.len();
    let (from, to) = (&masters[from], &masters[to]);
    let slot: u16 = ask(from, cmd("CLUSTER").arg("KEYSLOT").arg(&key)).await?;
    let identity = identity(to, &key).await?;
    let (giver, taker): (String, String) =
        (ask(from, cmd("CLUSTER").arg("MYID")).await?, ask(to, cmd("CLUSTER").arg("MYID")).await?);
    set_slot(to, slot, ["IMPORTING", &giver]).await?;
    set_slot(from, slot, ["MIGRATING", &taker]).await?;
    sleep(random_pause(rng)).await;
    loop {
        let keys: Vec<String> = ask(from, cmd("CLUSTER").arg("GETKEYSINSLOT").arg(slot).arg(1)).await?;
        let Some(key) = keys.first() else { break };
        let mut migrate = cmd("MIGRATE");
        migrate.arg("127.0.0.1").arg(to.port()).arg(key).arg(0).arg(MIGRATION_MS);
        match ask::<String>(from, &migrate).await {
            // A key may expire in between.
            Ok(moved) => ensure!(["OK", "NOKEY"].contains(&moved.as_str()), "{key}: {moved}"),
            Err(error) if error.to_string().contains("CLUSTERDOWN") => until_up(masters).await?,
            Err(error) => return Err(error),
        }
        sleep(random_pause(rng) / 4).await;
    }
    for master in [to, from].into_iter().chain(masters) {
        set_slot(master, slot, ["NODE", &taker]).await?;
    }
    let tag = bucket_tag(&key).to_owned();
    until("an inbox of the slot is opened on its new master", async || {
        let of_slot = inboxes(to).await?.into_iter().filter(|(key, _)| bucket_tag(key) == tag).collect();
        Ok(identities(&of_slot).contains(&identity))
    })
    .await
}

/// Waits until each master counts the cluster as whole. For a while after one of them was away, it does not.
async fn until_up(masters: &[Server]) -> Result<()> {
    until("the cluster is up", async || {
        for master in masters {
            let info: InfoDict = ask(master, cmd("CLUSTER").arg("INFO")).await?;
            if info.get::<String>("cluster_state").as_deref() != Some("ok") {
                return Ok(false);
            }
        }
        Ok(true)
    })
    .await
}

async fn set_slot(master: &Server, slot: u16, state: [&str; 2]) -> Result<()> {
    ask(master, cmd("CLUSTER").arg("SETSLOT").arg(slot).arg(&state)).await
}

/// The master that holds some inbox, and its key.
async fn some_inbox(masters: &[Server], rng: &SharedRng) -> Result<Option<(usize, String)>> {
    let mut keys = Vec::new();
    for (index, master) in masters.iter().enumerate() {
        keys.extend(inboxes(master).await?.into_keys().map(|key| (index, key)));
    }
    Ok(if keys.is_empty() { None } else { Some(keys.swap_remove(below(rng, keys.len()))) })
}

/// What stands in braces in a key: it decides the slot.
fn bucket_tag(key: &str) -> &str {
    key.split(['{', '}']).nth(1).unwrap_or_default()
}

/// The members of an inbox, with their scores.
type Inbox = BTreeMap<String, i64>;

/// All that lie on this server, by key.
async fn inboxes(server: &Server) -> Result<BTreeMap<String, Inbox>> {
    let keys: Vec<String> = ask(server, cmd("KEYS").arg("*inbox1:{*}:*")).await?;
    let mut found = BTreeMap::new();
    for key in keys {
        let members: Vec<(String, i64)> = ask(server, cmd("ZRANGE").arg(&key).arg(0).arg(-1).arg("WITHSCORES")).await?;
        found.insert(key, members.into_iter().collect());
    }
    Ok(found)
}

fn rows(inboxes: &BTreeMap<String, Inbox>) -> impl Iterator<Item = (&String, &String)> {
    let rows = inboxes.iter().flat_map(|(key, inbox)| inbox.keys().map(move |member| (key, member)));
    rows.filter(|(_, member)| member.len() == ROW_DIGITS)
}

/// The identities under which these inboxes were opened.
fn identities(inboxes: &BTreeMap<String, Inbox>) -> BTreeSet<String> {
    let tokens = inboxes.values().flatten().filter(|(_, score)| **score == TOKEN_SCORE);
    tokens.filter_map(|(token, _)| Some(token.split_once(':')?.0.to_owned())).collect()
}

/// The identity under which this master opens inboxes beside the one with this key.
async fn identity(master: &Server, key: &str) -> Result<String> {
    let place = format!("{}/0", key.split(":{").next().unwrap_or_default());
    let namespace = place.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
    let info: InfoDict = ask(master, cmd("INFO").arg("replication")).await?;
    let id: String = info.get("master_replid").context("the id of a master's data")?;
    ask(master, cmd("EVAL").arg("return redis.sha1hex(ARGV[1])").arg(0).arg(format!("{id}:{namespace}"))).await
}

/// Scripts that the server has run.
async fn scripts_run(server: &Server) -> Result<u64> {
    let info: String = ask(server, cmd("INFO").arg("commandstats")).await?;
    let calls = info.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:calls=")?.split(',').next());
    Ok(calls.and_then(|calls| calls.parse().ok()).unwrap_or_default())
}

/// One command on a connection past the lines. A master that counts the cluster as down is asked again.
async fn ask<T: FromRedisValue>(server: &Server, command: &Cmd) -> Result<T> {
    let mut connection = connect_redis(&server.url()).await?;
    let mut answer = None;
    until("the cluster is up", async || {
        let asked: RedisResult<T> = command.query_async(&mut connection).await;
        let is_down = asked.as_ref().is_err_and(|error| error.kind() == ServerErrorKind::ClusterDown.into());
        answer = Some(asked);
        Ok(!is_down)
    })
    .await?;
    Ok(answer.context("an answer")??)
}

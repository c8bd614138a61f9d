//! In which order a read learns where the primary is, and brings a replica there. It knows no server and no statement,
//! so that the simulation runs it over models of both.

use std::time::Duration;

use tokio::time::Instant;

/// After this time a replica is asked again what it is.
const VOUCHED_FOR: Duration = Duration::from_secs(5);

/// Who knows where the primary is.
pub trait KnowsPrimary: Sync {
    /// A position of the primary's, and whose answer it is.
    type There: Send + Sync;

    /// Where the primary is, by a question that is sent after this call began; `None` if there is no answer.
    fn ask(&self) -> impl Future<Output = Option<Self::There>> + Send;
}

/// A connection to a replica, over which it is asked what it is and how far it has come.
pub trait FollowsPrimary: Send {
    /// See [`KnowsPrimary::There`].
    type There: Send + Sync;
    /// What the replica says of itself.
    type State: Send + Sync;
    /// Why it serves no read.
    type Missed: From<PrimaryAway> + Send;

    /// Over which of all connections the primary has given this answer. A primary that has changed, or has lost
    /// commits in a crash, has ended the former one.
    fn connection(there: &Self::There) -> u64;

    /// From whom the replica replicates, and what it has received and applied.
    fn state(&mut self) -> impl Future<Output = Result<Self::State, Self::Missed>> + Send;

    /// Fails unless what the replica shows are prefixes of this primary's commits. The primary was asked after the
    /// state was read: so everything in it that is the primary's is in the answer.
    fn judge(
        &mut self,
        state: &Self::State,
        there: &Self::There,
    ) -> impl Future<Output = Result<(), Self::Missed>> + Send;

    /// Waits until the replica has applied as much, within a bound of its own.
    fn wait(&mut self, there: &Self::There) -> impl Future<Output = Result<(), Self::Missed>> + Send;
}

/// The primary does not say where it is.
#[derive(Debug, thiserror::Error)]
#[error("the primary does not say where it is")]
pub struct PrimaryAway;

/// The connection to the primary for whose history a replica was found fit, and when that was.
#[derive(Clone, Copy, Debug, Default)]
pub struct Vouched(Option<(u64, Instant)>);

/// Brings the replica to where the primary is after this call began. Unless it was found fit lately, for the connection
/// over which the primary answers now, it proves itself first.
pub async fn catch_up<R: FollowsPrimary>(
    replica: &mut R,
    vouched: &mut Vouched,
    primary: &impl KnowsPrimary<There = R::There>,
) -> Result<(), R::Missed> {
    let is_vouched = vouched.0.is_some_and(|(_, since)| since.elapsed() < VOUCHED_FOR);
    let mut state = if is_vouched { None } else { Some(replica.state().await?) };
    let mut there = primary.ask().await.ok_or(PrimaryAway)?;
    let connection = R::connection(&there);
    if state.is_none() && vouched.0.is_none_or(|(before, _)| before != connection) {
        state = Some(replica.state().await?);
        there = primary.ask().await.ok_or(PrimaryAway)?;
    }
    if let Some(state) = state {
        replica.judge(&state, &there).await?;
        vouched.0 = Some((R::connection(&there), Instant::now()));
    }
    replica.wait(&there).await
}

//! Asks the configured servers for `tidefeed doctor`, without building a node.

use super::{AppError, redis_options};
use crate::{
    config::Config,
    store::{
        Queue as _,
        inspection::Finding,
        queue::Topic,
        redis::{self, Redis, RedisQueue},
    },
};

/// What each configured Redis server says of itself; `None` if none is configured.
pub async fn inspect_redis(config: &Config) -> Option<Vec<Finding>> {
    Some(redis::inspect(&redis_options(config)?).await)
}

/// How many visits wait to be dealt with on the configured Redis; `None` if none is configured.
pub async fn waiting_visits(config: &Config) -> Option<Result<u64, AppError>> {
    let options = redis_options(config)?;
    let depth = async {
        let redis = Redis::connect(options).await.map_err(AppError::Redis)?;
        RedisQueue::new(redis).depth(Topic::Visit).await.map_err(AppError::Store)
    };
    Some(depth.await)
}

//! Tests the JSON of contents that nodes remember: pages are the same with it and without it.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use tidefeed::{domain::account::service::Scopes, rng::SharedRng};

use super::{
    accounts::client::{server, service_key},
    server::ApiServer,
};
use crate::{
    harness::{self, CacheBackend, cases_by},
    servers::{Backend, on_each_backend},
};

/// Pages, by the fields after `timeline`. Nothing is remembered for a new document, so it shows what is true.
const PAGES: [&str; 5] = [
    "{ edges { cursor node { __typename id kind text createdAt media { url } replyCount likeCount repostCount
       bookmarkCount subjectId externalId url type attributes viewerHasLiked viewerHasBookmarked viewerIsAuthor
       author { id handle name bio avatarUrl createdAt viewerIsFollowing isViewer } } } }",
    "{ nodes { id likeCount viewerHasReposted repostOf { id likeCount type attributes author { name } } inReplyTo { id replyCount } } }",
    "{ edges { node { id likeCount } } edges { cursor node { author { name } likeCount } }
       nodes { id } nodes { author { handle } viewerHasLiked } all: nodes { text } }",
    "{ nodes { id likeCount @include(if: $with) viewerHasLiked @skip(if: $with) } }",
    "{ edges { node { id author { name followerCount viewerHasMuted } replies(first: 2) { nodes { text } } } } }",
];

struct Walk {
    server: ApiServer,
    rng: SharedRng,
    /// Of the product's service.
    key: String,
    /// Ids and tokens. Everyone follows everyone.
    users: Vec<(String, String)>,
    contents: Vec<String>,
    asked: usize,
}

impl Walk {
    async fn begin(backend: Backend) -> Result<Self> {
        let server = server(backend, CacheBackend::NoCache).await?;
        let mut users = Vec::new();
        for name in ["ann", "bob", "cyd"] {
            users.push(server.register(name).await?);
        }
        let (rng, key) = (SharedRng::from_seed(harness::seed()?), service_key(&server, Scopes::all()).await?);
        let walk = Self { server, rng, key, users, contents: Vec::new(), asked: 0 };
        for (_, token) in walk.users.clone() {
            for (other, _) in walk.users.clone() {
                walk.change(&token, "followUser", json!({ "userId": other })).await?;
            }
        }
        Ok(walk)
    }

    /// Runs `field` with `input`. An impossible change does nothing.
    async fn change(&self, token: &str, field: &str, input: Value) -> Result<()> {
        let kind = format!("{}{}Input", field[..1].to_uppercase(), &field[1..]);
        let query = format!("mutation($input: {kind}!) {{ {field}(input: $input) {{ userErrors {{ code }} }} }}");
        let answer = self.server.post(Some(token), &query, json!({ "input": input })).await?;
        ensure!(answer.get("errors").is_none(), "{field}: {answer:#}");
        Ok(())
    }

    async fn publish(&mut self, token: &str, input: Value) -> Result<()> {
        self.publish_as((Some(token), None), input).await
    }

    async fn publish_as(&mut self, credentials: (Option<&str>, Option<&str>), input: Value) -> Result<()> {
        self.server.app.clock.advance(1);
        let query =
            "mutation($input: PublishContentInput!) { publishContent(input: $input) { timelineEdge { node { id } } } }";
        let answer = self.server.post_as(credentials, query, json!({ "input": input })).await?;
        let id = answer["data"]["publishContent"]["timelineEdge"]["node"]["id"].as_str();
        self.contents.extend(id.map(str::to_owned));
        Ok(())
    }

    fn below(&self, most: usize) -> usize {
        self.rng.u32() as usize % most
    }

    async fn step(&mut self, number: usize) -> Result<()> {
        let (user, token) = self.users[self.below(self.users.len())].clone();
        let text = format!("words {number}");
        if self.contents.is_empty() {
            return self.publish(&token, json!({ "text": text })).await;
        }
        let content = self.contents[self.below(self.contents.len())].clone();
        let of_content = json!({ "contentId": content });
        match self.below(15) {
            14 => {
                let object =
                    json!({ "text": text, "externalId": text, "type": "run", "attributes": { "number": number } });
                let key = self.key.clone();
                self.publish_as((Some(&key), Some(&user)), object).await
            }
            0 => self.publish(&token, json!({ "text": text })).await,
            1 => self.publish(&token, json!({ "text": text, "replyTo": content })).await,
            2 => self.change(&token, "repostContent", of_content).await,
            3 => self.change(&token, "unrepostContent", of_content).await,
            4 => self.change(&token, "updateProfile", json!({ "name": text })).await,
            5 => self.change(&token, "deleteContent", of_content).await,
            6 => self.change(&token, "followUser", json!({ "userId": self.users[self.below(3)].0 })).await,
            13 => self.change(&token, "unfollowUser", json!({ "userId": self.users[self.below(3)].0 })).await,
            7 | 8 => self.change(&token, "bookmarkContent", of_content).await,
            9 => self.change(&token, "unlikeContent", of_content).await,
            10 => self.change(&token, "unbookmarkContent", of_content).await,
            _ => self.change(&token, "likeContent", of_content).await,
        }
    }

    /// Every user reads every page with a document that has been used before, and with one that has not.
    async fn compare(&mut self) -> Result<()> {
        for (user, token) in &self.users {
            for (number, fields) in PAGES.iter().enumerate() {
                for with in [true, false] {
                    let ask = async |name: String| {
                        let (declared, variables) = if fields.contains("$with") {
                            ("($with: Boolean!)", json!({ "with": with }))
                        } else {
                            ("", json!({}))
                        };
                        let query = format!("query {name}{declared} {{ timeline(first: 6) {fields} }}");
                        self.server.data(token, &query, variables).await
                    };
                    self.asked += 1;
                    let known = ask("Known".to_owned()).await?;
                    let fresh = ask(format!("Fresh{}", self.asked)).await?;
                    ensure!(known == fresh, "page {number} of {user}:\n{known:#}\nbut\n{fresh:#}");
                }
            }
        }
        Ok(())
    }
}

/// Selections in lines that end as clients of old end them.
const LINES: [&str; 4] = [
    "{timeline{\rnodes{id}\rnodes{text}}}",
    "{timeline{\ra:nodes{id}\rb:nodes{text}}}",
    "{timeline{\redges{cursor}\rnodes{id}}}",
    "{timeline{\r\na:nodes{id}\r\n\rb:nodes{text}\r}}",
];

on_each_backend! {
    on sqlite, mariadb in soak, mysql in soak;
    async fn selections_in_lines_that_end_with_a_carriage_return_are_kept_apart(backend: Backend) -> Result<()> {
        let mut walk = Walk::begin(backend).await?;
        let (_, token) = walk.users[0].clone();
        walk.publish(&token, json!({ "text": "words" })).await?;
        for _ in 0..3 {
            for query in LINES {
                let shown = walk.server.data(&token, query, json!({})).await?;
                let wanted = walk.server.data(&token, &query.replace('\r', " "), json!({})).await?;
                ensure!(shown == wanted, "{query:?}: {shown:#}\nbut\n{wanted:#}");
            }
        }
        Ok(())
    }

    async fn remembered_json_is_what_a_new_document_shows(backend: Backend) -> Result<()> {
        let mut walk = Walk::begin(backend).await?;
        for number in 0..cases_by(3) as usize {
            walk.step(number).await?;
            if number % 3 == 0 {
                walk.server.app.settle().await?;
            }
            walk.compare().await?;
        }
        Ok(())
    }
}

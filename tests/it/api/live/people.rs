//! The author and the readers of these tests, each connected to their own node.

use anyhow::Result;
use serde_json::{Value, json};

use crate::api::server::ApiServer;

/// A reader and an author whom they follow.
pub struct People {
    pub reader: String,
    pub author: String,
    author_id: String,
}

impl People {
    /// Registered, and following.
    pub async fn meet(server: &ApiServer) -> Result<Self> {
        let (_, reader) = server.register("reader").await?;
        let (author_id, author) = server.register("author").await?;
        let people = Self { reader, author, author_id };
        people.follow(server).await?;
        Ok(people)
    }

    /// `-` and the author's id, as the feed reports the removal of all their contents.
    pub fn all_of_author_gone(&self) -> String {
        format!("-{}", self.author_id)
    }

    pub async fn follow(&self, server: &ApiServer) -> Result<()> {
        let query = "mutation($id: ID!) { followUser(input: { userId: $id }) { userErrors { message } } }";
        server.data(&self.reader, query, json!({ "id": self.author_id })).await.map(drop)
    }

    pub async fn unfollow(&self, server: &ApiServer) -> Result<()> {
        let query = "mutation($id: ID!) { unfollowUser(input: { userId: $id }) { userErrors { message } } }";
        server.data(&self.reader, query, json!({ "id": self.author_id })).await.map(drop)
    }

    /// Publishes as the author, a millisecond after the previous content. Returns the content's id.
    pub async fn publish(&self, server: &ApiServer, text: &str) -> Result<Value> {
        server.app.clock.advance(1);
        let query = "mutation($text: String!) { publishContent(input: { text: $text }) {
            timelineEdge { node { id } } userErrors { message } } }";
        let mut published = server.data(&self.author, query, json!({ "text": text })).await?;
        Ok(published["publishContent"]["timelineEdge"]["node"]["id"].take())
    }

    pub async fn delete(&self, server: &ApiServer, content: &Value) -> Result<()> {
        let query = "mutation($id: ID!) { deleteContent(input: { contentId: $id }) { userErrors { message } } }";
        server.data(&self.author, query, json!({ "id": content })).await.map(drop)
    }

    /// The resume token of the reader's first page.
    pub async fn resume_token(&self, server: &ApiServer) -> Result<Value> {
        let mut page = server.data(&self.reader, "{ timeline(first: 20) { resumeToken } }", json!({})).await?;
        Ok(page["timeline"]["resumeToken"].take())
    }

    /// Texts of the reader's timeline, newest first.
    pub async fn timeline(&self, server: &ApiServer) -> Result<Vec<String>> {
        let page = server.data(&self.reader, "{ timeline(first: 100) { edges { node { text } } } }", json!({})).await?;
        let edges = page["timeline"]["edges"].as_array().cloned().unwrap_or_default();
        Ok(edges.iter().map(|edge| edge["node"]["text"].as_str().unwrap_or_default().to_owned()).collect())
    }
}

//! What a page says of a user or a content: what the API answers to a client without a token.

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Extensions, HeaderMap, HeaderName, HeaderValue, Request, StatusCode, header},
};
use serde::Deserialize;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::place::Place;
use crate::{
    api::graphql::ids,
    domain::Handle,
    store::{Accounts, Contents, StoreError},
};

const POST: &str = "query PublicPost($id: ID!) { content(id: $id) { ...Post repostOf { ...Post } kind } } \
    fragment Post on Content { id text createdAt media { kind url alt width height } author { handle name avatarUrl } }";
const PROFILE: &str = "query PublicProfile($handle: String!) { user(handle: $handle) { handle name bio avatarUrl } }";

/// The documents and their ids in a manifest.
pub(super) const DOCUMENTS: [(&str, &str); 2] = [("public-post", POST), ("public-profile", PROFILE)];

/// Most bytes of an answer: a text of any length fits.
const ANSWER_BYTES: usize = 1 << 20;
/// Characters of a post's text in a title.
const TITLE_CHARS: usize = 60;
/// Seconds to wait if the store is away and the API names no time.
const RETRY_AFTER: u16 = 5;

/// What is at a place.
#[derive(Debug)]
pub(super) enum Found {
    /// A user or a content.
    There(Facts),
    /// A page of the app that is about nobody, with its title.
    Itself(&'static str),
    /// Nothing, and there never was.
    Missing,
    /// A content or an account that has been deleted.
    Gone(Deleted),
    /// It cannot be told now: too much is asked for, or the store is away.
    Away { status: StatusCode, retry_after: HeaderValue },
}

/// What has been deleted.
#[derive(Debug, Clone, Copy)]
pub(super) enum Deleted {
    Post,
    Account,
}

impl Found {
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::There(_) | Self::Itself(_) => StatusCode::OK,
            Self::Missing => StatusCode::NOT_FOUND,
            Self::Gone(_) => StatusCode::GONE,
            Self::Away { status, .. } => *status,
        }
    }

    pub(super) fn retry_after(&self) -> Option<[(HeaderName, HeaderValue); 1]> {
        match self {
            Self::Away { retry_after, .. } => Some([(header::RETRY_AFTER, retry_after.clone())]),
            _ => None,
        }
    }

    /// For readers: what has happened, and what they can do.
    pub(super) fn explanation(&self) -> (&'static str, &'static str) {
        match self {
            Self::Gone(Deleted::Post) => ("This post has been deleted", "Nobody sees it any more."),
            Self::Gone(Deleted::Account) => {
                ("This account has been deleted", "What it published and whom it followed has gone with it.")
            }
            Self::Away { status: StatusCode::TOO_MANY_REQUESTS, .. } => {
                ("Too much is asked for from your network", "Wait a little, then load the page again.")
            }
            Self::Away { .. } => {
                ("This page cannot be shown now", "The service is busy or away. Load the page again in some seconds.")
            }
            Self::There(_) | Self::Itself(_) | Self::Missing => {
                ("There is no such page", "The address does not lead anywhere, or no longer.")
            }
        }
    }

    pub(super) fn facts(&self) -> Option<&Facts> {
        match self {
            Self::There(facts) => Some(facts),
            _ => None,
        }
    }
}

/// A user or a content.
#[derive(Debug)]
pub(super) enum Facts {
    Profile(Person),
    Post(Post),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Person {
    pub(super) handle: String,
    pub(super) name: String,
    #[serde(default)]
    pub(super) bio: String,
    pub(super) avatar_url: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Post {
    pub(super) id: String,
    pub(super) text: String,
    pub(super) created_at: String,
    media: Vec<Picture>,
    author: Option<Person>,
}

/// A picture or a video.
#[derive(Debug, Deserialize)]
pub(super) struct Picture {
    kind: String,
    pub(super) url: String,
    pub(super) alt: String,
    width: Option<u32>,
    height: Option<u32>,
}

impl Picture {
    /// Width and height in pixels, if they are known.
    pub(super) fn size(&self) -> Option<(u32, u32)> {
        self.width.zip(self.height)
    }
}

impl Facts {
    /// The content's id.
    pub(super) fn post_id(&self) -> Option<&str> {
        match self {
            Self::Profile(_) => None,
            Self::Post(post) => Some(&post.id),
        }
    }

    pub(super) fn author(&self) -> Option<&Person> {
        match self {
            Self::Profile(person) => Some(person),
            Self::Post(post) => post.author.as_ref(),
        }
    }

    /// The title as the app has it, without the name of the service.
    pub(super) fn title(&self) -> String {
        match self {
            Self::Profile(person) => format!("{} (@{})", person.name, person.handle),
            Self::Post(post) => {
                let by = post.author.as_ref().map_or("Thread", |author| &author.name);
                format!("{by}: {}", post.text.chars().take(TITLE_CHARS).collect::<String>())
            }
        }
    }

    /// What they say: a content's text, or a user's biography.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Profile(person) => &person.bio,
            Self::Post(post) => &post.text,
        }
    }

    /// A content's first picture.
    pub(super) fn picture(&self) -> Option<&Picture> {
        match self {
            Self::Profile(_) => None,
            Self::Post(post) => post.media.iter().find(|media| media.kind == "PICTURE"),
        }
    }
}

/// Asks the API in the name of the client that has opened a page.
pub(super) struct Asker<'a> {
    pub(super) api: Router,
    pub(super) contents: &'a dyn Contents,
    pub(super) accounts: &'a dyn Accounts,
    pub(super) headers: &'a HeaderMap,
    pub(super) extensions: &'a Extensions,
}

impl Asker<'_> {
    pub(super) async fn find(self, place: &Place) -> Found {
        let found = match place {
            Place::Home => Ok(Found::Itself("")),
            Place::Private(title) => Ok(Found::Itself(title)),
            Place::Profile { handle, .. } => self.profile(handle).await,
            Place::Post { id, .. } => match self.post(&ids::of_content(*id)).await {
                Ok(None) => Ok(absent(self.contents.was_published(*id).await, Deleted::Post)),
                found => found.map(|post| post.map_or(Found::Missing, |post| Found::There(Facts::Post(post)))),
            },
        };
        found.unwrap_or_else(|away| away)
    }

    async fn profile(&self, handle: &Handle) -> Result<Found, Found> {
        let person = self.ask(PROFILE, &json!({ "handle": handle.as_str() }), "user").await?;
        if let Some(person) = of(person) {
            return Ok(Found::There(Facts::Profile(person)));
        }
        Ok(absent(self.accounts.was_deleted(handle).await, Deleted::Account))
    }

    /// The content; of a repost, the original.
    async fn post(&self, id: &str) -> Result<Option<Post>, Found> {
        let mut content = self.ask(POST, &json!({ "id": id }), "content").await?;
        let is_repost = content["kind"] == "REPOST";
        Ok(of(if is_repost { content["repostOf"].take() } else { content }))
    }

    /// The field `root` of the answer; null where nobody may read anything.
    async fn ask(&self, query: &str, variables: &Value, root: &str) -> Result<Value, Found> {
        let unavailable = || away(StatusCode::SERVICE_UNAVAILABLE, None);
        let response = self.api.clone().oneshot(self.request(query, variables)).await;
        let response = response.map_err(|infallible| match infallible {})?;
        let (status, wait) = (response.status(), response.headers().get(header::RETRY_AFTER).cloned());
        if status != StatusCode::OK {
            let is_client = status == StatusCode::TOO_MANY_REQUESTS;
            return Err(away(if is_client { status } else { StatusCode::SERVICE_UNAVAILABLE }, wait));
        }
        let body = to_bytes(response.into_body(), ANSWER_BYTES).await.map_err(|_| unavailable())?;
        let mut answer: Value = serde_json::from_slice(&body).map_err(|_| unavailable())?;
        if answer.get("errors").is_some() { Err(unavailable()) } else { Ok(answer["data"][root].take()) }
    }

    /// A request of the same client: its address decides whose limits count.
    fn request(&self, query: &str, variables: &Value) -> Request<Body> {
        let body = json!({ "query": query, "variables": variables }).to_string();
        let mut request = Request::new(Body::from(body));
        *request.method_mut() = axum::http::Method::POST;
        *request.uri_mut() = axum::http::Uri::from_static("/graphql");
        *request.extensions_mut() = self.extensions.clone();
        let carried = ["x-forwarded-for", "user-agent", "x-request-id", "traceparent"];
        for (name, value) in self.headers.iter().filter(|(name, _)| carried.contains(&name.as_str())) {
            request.headers_mut().append(name, value.clone());
        }
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().insert(header::CONTENT_TYPE, json.clone());
        // Under this media type refusals have their status.
        let graphql = HeaderValue::from_static("application/graphql-response+json");
        request.headers_mut().insert(header::ACCEPT, graphql);
        request
    }
}

/// What is at a place where nobody may see anything. `was_there`: whether something was.
fn absent(was_there: Result<bool, StoreError>, deleted: Deleted) -> Found {
    let found = |was_there| if was_there { Found::Gone(deleted) } else { Found::Missing };
    was_there.map_or_else(|_| away(StatusCode::SERVICE_UNAVAILABLE, None), found)
}

fn away(status: StatusCode, retry_after: Option<HeaderValue>) -> Found {
    Found::Away { status, retry_after: retry_after.unwrap_or_else(|| HeaderValue::from(RETRY_AFTER)) }
}

fn of<T: for<'de> Deserialize<'de>>(value: Value) -> Option<T> {
    serde_json::from_value(value).ok()
}

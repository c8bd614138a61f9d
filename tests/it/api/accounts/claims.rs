//! Tests the profiles of users whom an external issuer signs in: what its claims make of them, at first and later.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use tidefeed::{accounts::issuer::ClaimNames, app::ExternalIssuer};

use super::{
    client::{register, try_sign_in, who},
    issuer::{but, claims, server, trusting},
    key_endpoint::{KeyEndpoint, Signer},
};
use crate::api::server::ApiServer;

/// A server whose profiles follow the claims of later tokens, with the issuer's signer and keys.
async fn following() -> Result<(Signer, KeyEndpoint, ApiServer)> {
    let signer = Signer::ed("only")?;
    let endpoint = KeyEndpoint::publishing(std::slice::from_ref(&signer)).await?;
    let once = trusting(&endpoint)?;
    let newer = ClaimNames { updated_at: Some("updated_at".to_owned()), ..once.claims.clone() };
    let server = server(ExternalIssuer { claims: newer, ..once }).await?;
    Ok((signer, endpoint, server))
}

#[tokio::test]
async fn a_new_identity_becomes_one_new_user() -> Result<()> {
    let signer = Signer::ed("only")?;
    let endpoint = KeyEndpoint::publishing(std::slice::from_ref(&signer)).await?;
    let server = server(trusting(&endpoint)?).await?;
    register(&server, "ann").await?;
    let token = |subject: &str, handle: &str| {
        let claims = but(claims(&server, subject), "preferred_username", json!(handle));
        signer.sign(&but(claims, "name", json!("Anna von Anderswo")))
    };
    let ann = token("1", "ann")?;
    let sights = futures_util::future::join_all((0..8).map(|_| who(&server, &ann))).await;
    let handles = sights.into_iter().collect::<Result<Vec<_>>>()?;
    ensure!(handles.iter().all(|handle| *handle == handles[0]), "{handles:?}");
    ensure!(handles[0].starts_with("ann_"), "the name is taken, and proves nothing: {}", handles[0]);
    ensure!(who(&server, &token("2", "Ben")?).await? == "ben");
    ensure!(who(&server, &token("3", "no handle at all")?).await?.starts_with("user_"));
    ensure!(who(&server, &token("1", "changed")?).await? == handles[0], "the subject decides, not the name");
    let shown = server.data(&ann, "{ viewer { name sessions { id } followingCount } }", json!({})).await?;
    ensure!(shown["viewer"]["name"] == "Anna von Anderswo" && shown["viewer"]["sessions"] == json!([]), "{shown:#}");
    server.data(&ann, "mutation { publishContent(input: { text: \"x\" }) { userErrors { code } } }", json!({})).await?;
    let read = server.data(&ann, "{ timeline { nodes { text } } }", json!({})).await?;
    ensure!(read["timeline"]["nodes"] == json!([{ "text": "x" }]), "they are a user as any other: {read:#}");
    let guess = try_sign_in(&server, &handles[0], "").await?;
    ensure!(guess["userErrors"][0]["code"] == "WRONG_CREDENTIALS", "no password signs them in: {guess:#}");
    Ok(())
}

#[tokio::test]
async fn a_profile_follows_newer_claims_where_it_should() -> Result<()> {
    let (signer, _endpoint, server) = following().await?;
    let (picture, other) = ("https://a.example/1.png", "https://a.example/2.png");
    register(&server, "bob").await?;
    let now = server.app.now_ms() / 1000;
    let said = |handle: &str, name: &str, picture: &str, updated_at: i64| {
        let claims = but(claims(&server, "1"), "preferred_username", json!(handle));
        let claims = but(but(claims, "name", json!(name)), "picture", json!(picture));
        signer.sign(&but(claims, "updated_at", json!(updated_at)))
    };
    let shown = async |token: &str| -> Result<Value> {
        Ok(server.data(token, "{ viewer { handle name avatarUrl } }", json!({})).await?["viewer"].take())
    };
    let profile = |handle: &str, name: &str, url: &str| json!({ "handle": handle, "name": name, "avatarUrl": url });
    let first = said("ann", "Ann", picture, now - 20)?;
    ensure!(shown(&first).await? == profile("ann", "Ann", picture), "a first sign-in takes them all");
    ensure!(shown(&said("anna", "Anna", other, now - 10)?).await? == profile("anna", "Anna", other), "newer ones");
    ensure!(shown(&first).await? == profile("anna", "Anna", other), "older ones change nothing");
    let taken = said("bob", "\n", "ftp://a.example", now - 5)?;
    ensure!(shown(&taken).await? == profile("anna", "Anna", other), "what is taken or invalid changes nothing");
    let own = "mutation { updateProfile(input: { name: \"My own\" }) { userErrors { code } } }";
    server.data(&taken, own, json!({})).await?;
    let ahead = said("anna", "Ahead", other, now + 86_400)?;
    for token in [&taken, &first] {
        server.app.clock.advance(10_000);
        ensure!(shown(token).await? == profile("anna", "My own", other), "and one's own change stays until newer ones");
    }
    ensure!(shown(&ahead).await? == profile("anna", "My own", other), "what is far ahead is not believed");
    Ok(())
}

#[tokio::test]
async fn open_attributes_are_a_claim_too() -> Result<()> {
    let (signer, _endpoint, server) = following().await?;
    let now = server.app.now_ms() / 1000;
    let shown = async |attributes: Value, updated_at: i64| -> Result<Value> {
        let claims = but(claims(&server, "ann"), "attributes", attributes);
        let token = signer.sign(&but(claims, "updated_at", json!(updated_at)))?;
        let asked = "{ viewer { handle attributes { key value } } }";
        let mut viewer = server.data(&token, asked, json!({})).await?["viewer"].take();
        ensure!(viewer["handle"] == "ann", "{viewer}");
        Ok(viewer["attributes"].take())
    };
    let of = |key: &str, value: &str| json!([{ "key": key, "value": value }]);
    ensure!(shown(json!({ "city": "Oslo", "none": null, "list": [1] }), now - 20).await? == of("city", "Oslo"));
    ensure!(shown(json!({ "age": 5 }), now - 10).await? == of("age", "5"), "newer ones replace them all");
    ensure!(shown(json!({ "city": "Rome" }), now - 15).await? == of("age", "5"), "older ones change nothing");
    ensure!(shown(json!({ "k": "x".repeat(9_999) }), now - 5).await? == of("age", "5"), "nor do invalid ones");
    ensure!(shown(Value::Null, now - 4).await? == of("age", "5"), "without the claim they stay");
    ensure!(shown(json!({}), now - 3).await? == json!([]), "an empty one removes them");
    Ok(())
}

//! The mutations that a line may name, and the documents that run them.

use std::collections::HashMap;

/// Each mutation, and what its result says of the payload.
const OPERATIONS: [(&str, &str); 24] = [
    ("publishContent", "timelineEdge { node { id } }"),
    ("deleteContent", "deletedContentId"),
    ("repostContent", "timelineEdge { node { id } }"),
    ("unrepostContent", "deletedContentId"),
    ("followUser", USER),
    ("unfollowUser", USER),
    ("muteUser", USER),
    ("unmuteUser", USER),
    ("hideFromFollower", USER),
    ("unhideFromFollower", USER),
    ("blockUser", USER),
    ("unblockUser", USER),
    ("likeContent", CONTENT),
    ("unlikeContent", CONTENT),
    ("bookmarkContent", CONTENT),
    ("unbookmarkContent", CONTENT),
    ("updateProfile", USER),
    ("changeHandle", USER),
    ("upsertUsers", "results { index outcome user { id } userErrors { code field message } }"),
    ("deactivateUser", USER),
    ("reactivateUser", USER),
    ("rebindExternalId", USER),
    ("deleteUser", "deletedUserId"),
    ("markTimelineRead", "readMarker"),
];
const USER: &str = "user { id }";
const CONTENT: &str = "content { id }";

/// The documents by the names of their mutations.
pub(super) fn documents() -> HashMap<&'static str, String> {
    OPERATIONS.iter().map(|(name, selection)| (*name, document(name, selection))).collect()
}

fn document(name: &str, selection: &str) -> String {
    let (first, rest) = name.split_at(1);
    let input = format!("{}{rest}Input", first.to_ascii_uppercase());
    format!(
        "mutation Bulk($input: {input}!) {{ {name}(input: $input) {{ {selection} clientMutationId \
         userErrors {{ code field message }} }} }}"
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::api::graphql::{schema_sdl, service_scope};

    /// Those of users alone, and those of which a line would be too much or too little.
    const OTHERS: [&str; 3] = ["publishContents", "issueToken", "deleteViewer"];

    #[test]
    fn every_mutation_that_a_scope_allows_is_listed() {
        let sdl = schema_sdl();
        let mutations = sdl.split("type Mutation {").nth(1).and_then(|it| it.split("\n}").next()).unwrap_or_default();
        let names = mutations.lines().filter_map(|line| line.trim().split_once('('));
        let names = names.map(|(name, _)| name).filter(|name| name.chars().all(char::is_alphanumeric));
        let allowed: BTreeSet<&str> =
            names.filter(|name| service_scope(name).is_some() && !OTHERS.contains(name)).collect();
        assert_eq!(OPERATIONS.map(|(name, _)| name).into_iter().collect::<BTreeSet<_>>(), allowed);
    }
}

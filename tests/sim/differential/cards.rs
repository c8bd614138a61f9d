//! Calls about what cards show: names, reactions, and the cards themselves.

use tidefeed::{
    app::Ports,
    domain::{ContentId, Reaction, UserId},
    store::{
        cards::{ContentParts, UserParts},
        profiles::ProfileEdit,
    },
};

use super::acts::{Drawer, in_any_order, outcome};

#[derive(Debug, Clone)]
pub enum Act {
    Rename(UserId, i64),
    React(UserId, ContentId, Reaction, bool, i64),
    Cards(Option<UserId>, Vec<ContentId>, ContentParts),
}

impl Act {
    pub fn draw(from: &mut Drawer<'_>) -> Self {
        match from.rng.below(10) {
            0..=1 => Self::Rename(from.user(), from.fresh()),
            2..=6 => {
                let reaction = from.rng.pick(&[Reaction::Like, Reaction::Bookmark]);
                Self::React(from.user(), from.content(), reaction, from.rng.chance(700_000), from.fresh())
            }
            _ => {
                let [counters, reactions, author] = [(); 3].map(|()| from.rng.chance(500_000));
                let author = author.then(UserParts::default);
                Self::Cards(from.viewer(), from.contents(), ContentParts { counters, reactions, author })
            }
        }
    }

    pub async fn answer(&self, ports: &Ports, now: i64) -> String {
        match self {
            Self::Rename(user, version) => {
                let edit = ProfileEdit { name: Some(format!("name{version}")), ..ProfileEdit::default() };
                outcome(ports.accounts.edit(*user, &edit, *version).await)
            }
            Self::React(user, content, reaction, true, version) => {
                outcome(ports.contents.react(*user, *content, *reaction, *version, now).await)
            }
            Self::React(user, content, reaction, false, version) => {
                outcome(ports.contents.take_back(*user, *content, *reaction, *version).await)
            }
            Self::Cards(viewer, ids, shown) => in_any_order(ports.contents.content_cards(*viewer, ids, *shown).await),
        }
    }
}

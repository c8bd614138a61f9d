//! A page of the viewer's timeline, in four steps: [`skeleton`], [`fold`], [`hydrate`], [`present`].
//!
//! Folding comes before hydration, because only the entries that stay are shown: what folding leaves out needs no card.

use std::sync::Arc;

use async_graphql::{Context, Object};

use super::{
    errors::Failure,
    hydration::{Hydration, PageCards},
    objects::{NewContentCount, PageArguments, Shown, TimelineConnection, TimelineFilter, connections},
    scalars::AnyInt,
    scope::{Answer, answer, hydration},
    selection::ContentSelection,
};
use crate::{
    domain::{
        PageRequest, PageSize, ResumePoint, UserId,
        limits::DEFAULT_COUNT,
        timeline::{cursor, folding::Folded, page::InvalidPage},
    },
    read::Skeleton,
};

/// How often one page is read at most. Contents disappear rarely, so the second read nearly always finds all of them.
const MAX_PAGE_READS: usize = 4;

/// The part of the root about the viewer's timeline.
#[derive(Clone, Copy, Default)]
pub struct TimelineQuery;

/// Queries.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the schema's fields take a reference")]
#[Object]
impl TimelineQuery {
    #[graphql(flatten)]
    fn timeline_pages(&self) -> TimelinePages {
        TimelinePages(*self)
    }

    /// The number of entries of the viewer's timeline that are newer than a cursor. Entries of the same subject, such
    /// as reposts of one content, count once. Exact, up to `max`. Null for anonymous viewers, with an UNAUTHENTICATED
    /// error.
    async fn new_content_count(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "A timeline's cursor; its own entry is not counted.")] after: String,
        #[graphql(desc = "Count up to this many, 1 to 999; 99 by default.")] max: Option<AnyInt>,
    ) -> Answer<NewContentCount> {
        answer(ctx, async {
            let hydration = hydration(ctx)?;
            let viewer = hydration.viewer()?;
            let after = cursor::decode(&after).map_err(InvalidPage::After)?;
            let max = PageSize::to_count(max.map_or(i64::from(DEFAULT_COUNT), |max| max.0))?;
            let counted = hydration.use_cases().reader.count_newer(viewer.id, after, max).await?;
            Ok(Some(NewContentCount::from(counted)))
        })
        .await
    }
}

connections! { entries: TimelinePages(TimelineQuery) {
    /// The "following" page of the viewer: exactly the merge of what the followed authors have published, newest first
    /// (publish time descending, then content id descending). Use `first` with `after` to read on into the past,
    /// `last` with `before` for what is newer than your top entry. 1 to 100 entries, 20 if neither is given. Null for
    /// anonymous viewers, with an UNAUTHENTICATED error.
    ///
    /// Leaves out contents of users whom the viewer mutes or blocks, and of users who hide from the viewer or block
    /// them; also reposts of such contents by others, and kinds that `filter` does not name.
    ///
    /// Reposts are folded within a page. The subject of a repost is its original; any other content is its own
    /// subject. A page reads on from its cursor until it has as many different subjects as the entries requested. It
    /// shows the newest entry of each subject and leaves out the older ones that it has read. The next page begins
    /// where the reading ended, so it may show an older entry of the same subject. A page has fewer entries only if
    /// the timeline ends, or if 400 entries have fewer subjects; `pageInfo` says whether it ends.
    timeline(filter) -> TimelineConnection;
} }

impl TimelineQuery {
    async fn timeline(
        self,
        ctx: &Context<'_>,
        arguments: PageArguments,
        filter: Option<TimelineFilter>,
    ) -> Result<Option<TimelineConnection>, Failure> {
        let hydration = hydration(ctx)?;
        let reader = hydration.viewer()?.id;
        let request = arguments.of_contents()?.of(TimelineFilter::kinds(filter)?);
        let selected = ctx.look_ahead();
        let contents = ContentSelection::of_connection(&selected);
        let can_resume = selected.field("resumeToken").exists() && request.kinds.is_all();
        page(&hydration, &AskedPage { reader, request, contents, can_resume }).await.map(Some)
    }
}

/// What is asked of a page.
struct AskedPage {
    reader: UserId,
    request: PageRequest,
    /// The selected parts of its contents; `None` if none are shown.
    contents: Option<ContentSelection>,
    /// Whether a resume token is asked for.
    can_resume: bool,
}

/// The page in its four steps. Reads it again if a content disappears between two of them, so that the page is as full
/// as it should be.
async fn page(hydration: &Arc<Hydration>, asked: &AskedPage) -> Result<TimelineConnection, Failure> {
    let mut reads = 1;
    loop {
        let skeleton = skeleton(hydration, asked).await?;
        let folded = fold(asked, &skeleton);
        let cards = hydrate(hydration, asked, &folded, &skeleton).await;
        let (connection, is_whole) = present(hydration, asked, &folded, &cards).await?;
        if is_whole || reads == MAX_PAGE_READS {
            return Ok(connection);
        }
        reads += 1;
    }
}

/// Step 1, which entries the page has: exact at one instant, and long enough to be folded. See
/// `TimelineReader::skeleton`.
async fn skeleton(hydration: &Hydration, asked: &AskedPage) -> Result<Skeleton, Failure> {
    let with_facts = asked.contents.is_some_and(ContentSelection::is_on_cards);
    Ok(hydration.use_cases().reader.skeleton(asked.reader, &asked.request, with_facts).await?)
}

/// Step 2, one entry for each subject, the newest. See `domain::timeline::folding`.
fn fold(asked: &AskedPage, skeleton: &Skeleton) -> Folded {
    skeleton.fold(&asked.request)
}

/// Step 3, what is shown of the entries: the cards that this node makes from memory (`read::cards`), and the others, in
/// one statement. Nothing is known of a content that has gone since.
async fn hydrate(hydration: &Hydration, asked: &AskedPage, folded: &Folded, skeleton: &Skeleton) -> PageCards {
    let Some(selection) = asked.contents else { return PageCards::default() };
    let remembered = hydration.use_cases().reader.cards(&folded.entries, &skeleton.facts);
    let suffices = |card: &_| hydration.suffices(card, selection);
    let remembered = remembered.into_iter().filter(suffices).map(|card| (card.content.id, Some(Arc::new(card))));
    let mut cards: PageCards = remembered.collect();
    let unread = folded.entries.iter().map(|entry| entry.content).filter(|id| !cards.contains_key(id)).collect();
    cards.extend(hydration.read_cards(unread, selection).await);
    hydration.share(&mut cards, selection).await;
    cards
}

/// Step 4, the page as clients see it, and whether all of its entries still have their contents. A content that was
/// shown before with the same selection and values is its JSON of then (`remembered_json`).
async fn present(
    hydration: &Arc<Hydration>,
    asked: &AskedPage,
    folded: &Folded,
    cards: &PageCards,
) -> Result<(TimelineConnection, bool), Failure> {
    let shown = Shown::of(hydration, folded, asked.contents, cards).await?;
    let is_whole = shown.is_whole();
    let token = asked.can_resume.then(|| ResumePoint::of_page(&asked.request, folded).encode());
    Ok((TimelineConnection::from(shown).with_token(token), is_whole))
}

//! Checks with EXPLAIN on every engine, over tables with statistics, that an index answers each hot statement.

mod cards;
mod extensions;

use anyhow::{Context as _, Result, ensure};
use tidefeed::{
    domain::{
        ContentKind, Direction, Entry, Floor, Kinds, PageRequest, PageSize, Position, Reaction, UserId,
        delivery::subtask::Range,
        search::{
            Look, Source, Span,
            people::{FoundUser, KeyPrefix},
            terms::terms_of,
        },
        timeline::{
            authors::TimelineAuthors,
            candidates::{CandidateLimits, Wanted},
            outside::{BucketToken, Fence, Generation, Header, NodeId, Revision, Slice, Window},
            stretch::Stretch,
        },
    },
    store::{
        outside_states::SideRead,
        sql::{HotPage, HotStatement},
    },
};

use crate::{
    servers::{Backend, on_each_backend},
    store::conformance::{World, content_id, rows::entry, user},
};

/// Authors that each reader follows.
pub(super) const AUTHORS: i64 = 500;
/// Contents, and rows of reader 1's inbox.
pub(super) const ROWS: i64 = 20_000;
/// An author with very many followers.
pub const STAR: i64 = 9_000;

/// Reader 1, from whom 5000 strangers hide, follows 500 authors, all of whom push to them, and has 20 000 rows above
/// the floor. 40 more readers follow the same authors. 5000 readers follow the star.
pub async fn fill(world: &World) -> Result<()> {
    world.hurry().await?;
    let contents: Vec<Entry> = (1..=ROWS).map(|id| entry(id, user(101 + id % AUTHORS), 1_000 + id / 2)).collect();
    world.put_contents(&contents).await?;
    world.fill_inbox(user(1), &contents).await?;
    let objects: Vec<String> = (1..=ROWS).step_by(2).map(|id| format!("({id}, 'object-{id}', 'post')")).collect();
    world.insert("content_objects", "content_id, external_id, type", &objects).await?;
    let readers =
        (1..=40).flat_map(|reader| (101..101 + AUTHORS).map(move |author| format!("({reader}, {author}, 2, 1, 1)")));
    let fans = (10_001..=15_000).map(|fan| format!("({fan}, {STAR}, 2, 1, 1)"));
    let edges: Vec<String> = readers.chain(fans).collect();
    world.insert("follows", "follower_id, author_id, mode, inc, followed_at", &edges).await?;
    let states: Vec<String> = (2..=40).chain(10_001..=15_000).map(|reader| format!("({reader}, 1, 1)")).collect();
    world.insert("inbox_states", "user_id, floor_time, floor_content", &states).await?;
    world.set_floor(user(1), Floor::At(contents[0].position())).await?;
    let likes = (10_001..=15_000).map(|fan| format!("(7, 1, {fan}, {})", 1_000 + fan / 3));
    let kept = (1..=5_000).map(|content| format!("({content}, 2, 1, {})", 1_000 + content / 3));
    let reactions: Vec<String> = likes.chain(kept).collect();
    world.insert("reactions", "content_id, kind, user_id, created_at", &reactions).await?;
    let in_flight: Vec<Entry> = (1..=20).map(|id| entry(ROWS + id, user(STAR), 500_000 + id)).collect();
    world.put_contents(&in_flight).await?;
    world.deliver(&in_flight).await?;
    let hidden = (1_000_000..1_005_000).map(|author| format!("(1, {author}, 2)"));
    let others = (2..=40).flat_map(|reader| (101..201).map(move |author| format!("({reader}, {author}, 1)")));
    let exclusions: Vec<String> = hidden.chain(others).collect();
    world.insert("exclusions", "reader_id, author_id, cause", &exclusions).await?;
    let terms = (1..=ROWS).flat_map(|id| {
        let words = ["common", if id % 2 == 0 { "even" } else { "odd" }];
        words.map(|word| format!("({}, {}, {id})", i64::from(terms_of(word)[0]), 1_000 + id / 2))
    });
    world.insert("search_terms", "term, publish_time, content_id", &terms.collect::<Vec<_>>()).await?;
    let names = (1..=ROWS).flat_map(|id| [format!("('ada{id:05}', {id})"), format!("('ada{id:05} common', {id})")]);
    world.insert("user_names", "folded, user_id", &names.collect::<Vec<_>>()).await?;
    let counts: Vec<String> = (1..=ROWS).map(|id| format!("({id}, {})", id % 97)).collect();
    world.insert("user_counts", "user_id, followers", &counts).await?;
    world.analyze().await
}

/// A plan: one line a table, in lower case.
pub async fn plan(world: &World, backend: Backend, statement: HotStatement) -> Result<Vec<String>> {
    let text = world.store.spell_out(statement);
    let explain = match backend {
        Backend::Sqlite => "EXPLAIN QUERY PLAN",
        Backend::MariaDb => "EXPLAIN",
        Backend::Mysql => "EXPLAIN FORMAT=TRADITIONAL",
    };
    let rows = world.texts(&format!("{explain} {text}")).await?;
    Ok(rows.iter().map(|row| row.join(" ").to_lowercase()).collect())
}

/// The only line of the plan that has all of these words.
pub fn line<'a>(plan: &'a [String], words: &[&str]) -> Result<&'a String> {
    plan.iter()
        .find(|line| words.iter().all(|word| line.contains(word)))
        .with_context(|| format!("{words:?} not in {plan:#?}"))
}

fn nothing_sorted(plan: &[String]) -> Result<()> {
    let sorts = |line: &&String| ["filesort", "temporary", "temp b-tree"].iter().any(|word| line.contains(word));
    ensure!(!plan.iter().any(|line| sorts(&line)), "something is sorted: {plan:#?}");
    Ok(())
}

pub(super) fn request(direction: Direction, bound: Option<i64>) -> Result<PageRequest> {
    let bound = bound.map(|id| Position::bound(1_000 + id / 2, id));
    Ok(PageRequest { direction, bound, ..PageRequest::newest(PageSize::try_new(20)?) })
}

/// Requests for pages at both ends and in the middle.
pub(super) fn requests() -> Result<Vec<PageRequest>> {
    use Direction::{Newer, Older};
    [(Older, None), (Older, Some(ROWS / 2)), (Older, Some(ROWS - 5)), (Newer, Some(ROWS / 2)), (Newer, Some(ROWS - 5))]
        .into_iter()
        .map(|(direction, bound)| request(direction, bound))
        .collect()
}

/// Kinds of content that do not exist in this world.
fn rare() -> Result<Kinds> {
    Ok(Kinds::try_new([ContentKind::Reply, ContentKind::Repost])?)
}

/// Deliveries read no edge but those of their targets, in order.
async fn targets_are_ranges(world: &World, backend: Backend, range: Range) -> Result<()> {
    let star = user(STAR);
    for (statement, may_sort, table) in [
        (HotStatement::FanOut(entry(1, star, 5), range), true, " f "),
        (HotStatement::Filling(star, range), false, " follows "),
        (HotStatement::Targets(star, range, 100), false, " follows "),
        (HotStatement::PushedReaders(star, range), false, " f "),
    ] {
        let plan = plan(world, backend, statement).await?;
        if !may_sort {
            nothing_sorted(&plan)?;
        }
        match backend {
            Backend::Sqlite => drop(line(
                &plan,
                &["covering index targets (author_id=? and mode=? and follower_id>? and follower_id<?)"],
            )?),
            Backend::MariaDb | Backend::Mysql => drop(line(&plan, &[table, " range ", " targets ", "using index"])?),
        }
    }
    Ok(())
}

/// Lists of users and of what one has reacted to are ranges of the index that orders them.
async fn lists_are_ranges(world: &World, backend: Backend) -> Result<()> {
    for request in requests()? {
        for (statement, index) in [
            (HotStatement::Followers(user(2), vec![user(STAR)], request), "followers_by_time"),
            (HotStatement::Following(user(2), vec![user(1)], request), "following_by_time"),
            (HotStatement::Likers(user(2), vec![content_id(7)], request), "reactions_of_content"),
            (HotStatement::ReactedTo(user(1), Reaction::Like, request), "reactions_of_user"),
            (HotStatement::ReactedTo(user(1), Reaction::Bookmark, request), "reactions_of_user"),
        ] {
            let list = plan(world, backend, statement).await?;
            nothing_sorted(&list)?;
            ensure!(list.iter().any(|line| line.contains(index)), "{index} is not used: {list:#?}");
        }
        let sides = if request.bound.is_some() { 2 } else { 1 };
        let (users, contents) = ([1, 2, STAR].map(user).to_vec(), [7, 8, 9].map(content_id).to_vec());
        let authors = [101, 102, STAR].map(user).to_vec();
        for (statement, index) in [
            (HotStatement::Followers(user(2), users.clone(), request), "followers_by_time"),
            (HotStatement::Following(user(2), users, request), "following_by_time"),
            (HotStatement::Likers(user(2), contents.clone(), request), "reactions_of_content"),
            (HotStatement::Outboxes(user(2), authors.clone(), request), " outbox "),
            (HotStatement::Outboxes(user(2), authors.clone(), request.of(rare()?)), " outbox "),
            (HotStatement::Media(user(2), authors, request), " media "),
            (HotStatement::Replies(user(2), contents, request), " replies "),
        ] {
            let lists = plan(world, backend, statement).await?;
            nothing_sorted(&lists)?;
            let ranges = lists.iter().filter(|line| line.contains(index)).count();
            ensure!(
                ranges >= 3 * sides,
                "{index} is used for {ranges} sides of {sides} for each of three lists: {lists:#?}"
            );
        }
    }
    Ok(())
}

/// Spans from the newest entry or from a bound, with an end or without.
pub(super) fn spans() -> [Span; 3] {
    let below = Some(Position::bound(1_000 + ROWS / 4, ROWS / 2));
    [Span { from: None, below: None }, Span { from: None, below }, Span { from: Some(2_000), below }]
}

/// A search step for both words, along one of them or along an author.
pub(super) fn look(along: Option<Source>) -> Look {
    let [common, even] = ["common", "even"].map(|word| terms_of(word)[0]);
    Look { along: along.unwrap_or(Source::Term(even)), having: vec![common], author: None }
}

/// A search reads one range, and looks up the rest by key.
async fn searches_are_ranges(world: &World, backend: Backend) -> Result<()> {
    for span in spans() {
        for along in [None, Some(Source::Author(user(101)))] {
            let found = plan(world, backend, HotStatement::Candidates(user(1), look(along), span)).await?;
            match backend {
                Backend::Sqlite => {
                    line(&found, &["search p0 using primary key (term=? and publish_time=? and content_id=?)"])?;
                    line(&found, &["search d using integer primary key (rowid=?)"])?;
                }
                Backend::MariaDb | Backend::Mysql => {
                    line(&found, &[" p0 ", " eq_ref ", " primary "])?;
                    line(&found, &[" d ", " eq_ref ", " primary "])?;
                }
            }
            let scans = |line: &&String| line.starts_with("scan search_terms") || line.starts_with("scan contents");
            ensure!(!found.iter().any(|line| scans(&line)), "{found:#?}");
        }
        let sources = [Source::Author(user(101)), look(None).along];
        let counts = plan(world, backend, HotStatement::Counts(sources.to_vec(), span)).await?;
        nothing_sorted(&counts.into_iter().filter(|line| !line.contains("union result")).collect::<Vec<_>>())?;
    }
    Ok(())
}

/// Names from the first one on, and from one in the middle.
fn names() -> Result<[HotStatement; 2]> {
    let (viewer, prefix) = (user(1), KeyPrefix::try_new("ada")?);
    let after = FoundUser { key: format!("ada{:05}", ROWS / 2), user: user(ROWS / 2) };
    Ok([None, Some(after)].map(|after| HotStatement::Named(viewer, prefix.clone(), after, 21)))
}

/// People are found in a range of names, and suggested along an index or from ranges of follows.
async fn people_are_ranges(world: &World, backend: Backend) -> Result<()> {
    for statement in names()? {
        let found = plan(world, backend, statement).await?;
        nothing_sorted(&found)?;
        match backend {
            Backend::Sqlite => {
                line(&found, &["search n using primary key (folded>? and folded<?)"])?;
                line(&found, &["search m using covering index user_names_of (user_id=? and folded>? and folded<?)"])?;
            }
            Backend::MariaDb | Backend::Mysql => {
                line(&found, &[" n ", " range ", " primary "])?;
                line(&found, &[" dependent subquery m ", " user_names_of "])?;
            }
        }
    }
    for viewer in [None, Some(user(1))] {
        let most = plan(world, backend, HotStatement::MostFollowed(viewer, 20)).await?;
        nothing_sorted(&most)?;
        line(&most, &["u ", "most_followed"])?;
    }
    let followed = [1, 2, 3].map(user).to_vec();
    let by_them = plan(world, backend, HotStatement::FollowedBy(user(1), followed, 20)).await?;
    ensure!(by_them.iter().filter(|line| line.contains("following_by_time")).count() >= 3, "{by_them:#?}");
    match backend {
        Backend::Sqlite => drop(line(&by_them, &["search u using integer primary key (rowid=?)"])?),
        Backend::MariaDb | Backend::Mysql => drop(line(&by_them, &[" u ", " eq_ref ", " primary "])?),
    }
    Ok(())
}

/// The page of remembered authors is a range of the inbox on each side of its bound, each row with its content by key.
/// The authors are three ranges. Recipients are a range of the author's targets, and a page's contents are probes.
async fn inboxes_outside_are_probes(world: &World, backend: Backend) -> Result<()> {
    let range = Range { after: 10_500, through: 11_500 };
    let recipients = plan(world, backend, HotStatement::OutsideRecipients(entry(1, user(STAR), 5), range)).await?;
    let header = Header {
        fence: Fence { token: BucketToken { node: NodeId::of([1; 20]), epoch: 1 }, generation: Generation(1) },
        revision: Revision(1),
        basis: None,
        floor: Position::OLDEST,
    };
    let slice = Slice { header, rows: (1..30).map(|id| Position::bound(1_000 + id / 2, id)).collect() };
    let newest = request(Direction::Older, None)?;
    let window = Window { direction: Direction::Older, bound: None, limit: 30 };
    let known = HotStatement::Page(user(1), newest, HotPage::Outside(SideRead { window, slice }));
    let known = plan(world, backend, known).await?;
    nothing_sorted(&known)?;
    match backend {
        Backend::Sqlite => {
            line(
                &recipients,
                &["covering index targets (author_id=? and mode=? and follower_id>? and follower_id<?)"],
            )?;
            line(&recipients, &["search b using integer primary key (rowid=?)"])?;
            line(&known, &["search c using integer primary key (rowid=?)"])?;
            line(&known, &["search k using integer primary key (rowid=?)"])?;
        }
        Backend::MariaDb | Backend::Mysql => {
            line(&recipients, &[" f ", " range ", " targets ", "using index"])?;
            line(&recipients, &[" b ", " eq_ref ", " primary "])?;
            line(&known, &[" c ", " range ", " primary "])?;
            line(&known, &[" k ", " eq_ref ", " primary "])?;
        }
    }
    Ok(())
}

async fn known_pages_are_ranges(world: &World, backend: Backend) -> Result<()> {
    let steady = Wanted { facts: true, reactions: false, original_authors: false };
    for (request, wanted) in requests()?.into_iter().flat_map(|request| [(request, Wanted::ALL), (request, steady)]) {
        let limits = CandidateLimits { ahead: request.need(), behind: 4 };
        let page =
            plan(world, backend, HotStatement::Page(user(1), request, HotPage::Candidates(limits, wanted, Vec::new())))
                .await?;
        // Without a bound the key's only condition is the reader.
        let is_bounded = request.bound.is_some();
        let sides = if is_bounded { 2 } else { 1 };
        let ranges = match backend {
            Backend::Sqlite => {
                line(&page, &["search c using integer primary key (rowid=?)"])?;
                line(&page, &["search k using integer primary key (rowid=?)"])?;
                let key = if is_bounded { "(user_id=? and publish_time" } else { "(user_id=?)" };
                page.iter().filter(move |line| line.contains("search i using primary key ") && line.contains(key))
            }
            .count(),
            Backend::MariaDb | Backend::Mysql => {
                line(&page, &[" c ", " eq_ref ", " primary "])?;
                line(&page, &[" k ", " eq_ref ", " primary "])?;
                page.iter()
                    .filter(|line| [" i ", " primary "].iter().all(|word| line.contains(word)))
                    .filter(|line| line.contains(" range ") || (!is_bounded && line.contains(" ref ")))
                    .count()
            }
        };
        ensure!(ranges == sides, "{ranges} ranges of the inbox for {sides} sides: {page:#?}");
        ensure!(!page.iter().any(|line| line.contains("temp b-tree") || line.contains("filesort")), "{page:#?}");
    }
    let authors = plan(world, backend, HotStatement::Reader(user(1))).await?;
    match backend {
        Backend::Sqlite => {
            line(&authors, &["search f using", "(follower_id=?"])?;
            line(&authors, &["search x using", "(reader_id=?"])?;
            line(&authors, &["search r using", "reactions_of_user", "(user_id=?"])?;
        }
        Backend::MariaDb | Backend::Mysql => {
            line(&authors, &[" f ", " ref "])?;
            line(&authors, &[" x ", " ref "])?;
            line(&authors, &[" r ", " ref ", " reactions_of_user "])?;
        }
    }
    ensure!(!authors.iter().any(|line| line.contains("scan f") || line.contains("scan x")), "{authors:#?}");
    Ok(())
}

/// Each author's outbox is read along its index, of the authors who are named as of all followed ones.
async fn pulled_authors_are_probes(world: &World, backend: Backend) -> Result<()> {
    let request = request(Direction::Older, None)?;
    let limits = CandidateLimits { ahead: request.need(), behind: 4 };
    let named: Vec<UserId> = (101..105).map(user).collect();
    for (page, is_named) in
        [(HotPage::Candidates(limits, Wanted::ALL, named.clone()), true), (HotPage::Definition, false)]
    {
        let pulled = plan(world, backend, HotStatement::Page(user(1), request, page)).await?;
        match backend {
            Backend::Sqlite => {
                line(&pulled, &["search w using covering index outbox (author_id=?"])?;
                if is_named {
                    line(&pulled, &["search e using", "(follower_id=? and author_id=?)"])?;
                } else {
                    line(&pulled, &["search y using covering index exclusions_by_reader (reader_id=?)"])?;
                }
            }
            Backend::MariaDb | Backend::Mysql => {
                line(&pulled, &[" w ", " ref ", " outbox ", "using index"])?;
                if is_named {
                    line(&pulled, &[" e ", " range ", " primary "])?;
                } else {
                    line(&pulled, &[" subquery y "])?;
                    ensure!(!pulled.iter().any(|line| line.contains("dependent subquery y ")), "{pulled:#?}");
                }
            }
        }
    }
    let versions = plan(world, backend, HotStatement::Page(user(1), request, HotPage::Versions(named))).await?;
    match backend {
        Backend::Sqlite => drop(line(&versions, &["search o using", "(rowid=?)"])?),
        Backend::MariaDb | Backend::Mysql => drop(line(&versions, &[" o ", " eq_ref ", " primary "])?),
    }
    Ok(())
}

/// A stretch is a range of the outbox index for each followed author, and the entry at its bound is a probe.
async fn stretches_are_ranges(world: &World, backend: Backend) -> Result<()> {
    let followed: Vec<_> = (101..101 + 100).map(|author| (user(author), true)).collect();
    let authors = TimelineAuthors::new(0, &followed, Vec::new());
    for request in requests()? {
        let end_ms = match request.direction {
            Direction::Older => request.bound.map_or(1_000 + ROWS / 2, Position::publish_time) - 100,
            Direction::Newer => request.bound.map_or(1_000, Position::publish_time) + 100,
        };
        let stretch = Stretch { end_ms, most_rows: 100, facts_end_ms: Some(end_ms) };
        let stretch = HotStatement::Page(user(1), request, HotPage::Stretch(stretch, authors.clone()));
        let page = plan(world, backend, stretch).await?;
        if backend == Backend::Sqlite {
            line(&page, &["search c using", "index outbox (author_id=? and publish_time"])?;
            ensure!(!page.iter().any(|line| line.starts_with("scan") || line.contains("b-tree")), "{page:#?}");
        } else {
            line(&page, &[" c ", " range ", " outbox "])?;
            ensure!(!page.iter().any(|line| line.contains("filesort")), "{page:#?}");
        }
    }
    Ok(())
}

on_each_backend! {
    async fn every_hot_statement_is_answered_by_its_index(backend: Backend) -> Result<()> {
        let world = World::on_own_tables(backend).await?;
        fill(&world).await?;
        pulled_authors_are_probes(&world, backend).await?;
        let range = Range { after: 10_500, through: 11_500 };
        known_pages_are_ranges(&world, backend).await?;
        inboxes_outside_are_probes(&world, backend).await?;
        stretches_are_ranges(&world, backend).await?;
        lists_are_ranges(&world, backend).await?;
        searches_are_ranges(&world, backend).await?;
        people_are_ranges(&world, backend).await?;
        cards::cards_are_probes(&world, backend).await?;
        extensions::extensions_are_ranges(&world, backend).await?;
        targets_are_ranges(&world, backend, range).await?;
        let authors = plan(&world, backend, HotStatement::PulledAuthors(vec![user(1), user(2)])).await?;
        nothing_sorted(&authors)?;
        match backend {
            Backend::Sqlite => line(&authors, &["covering index uncovered (follower_id=? and mode=?)"])?,
            Backend::MariaDb | Backend::Mysql => line(&authors, &[" f ", " range ", " uncovered ", "using index"])?,
        };
        let due = plan(&world, backend, HotStatement::Due(300_000, 400_000, 20)).await?;
        nothing_sorted(&due)?;
        let backlog = plan(&world, backend, HotStatement::Backlog(300_000)).await?;
        match backend {
            Backend::Sqlite => [due, backlog].iter().try_for_each(|plan| line(plan, &["look (look_at>?"]).map(drop))?,
            Backend::MariaDb | Backend::Mysql => {
                [due, backlog].iter().try_for_each(|plan| line(plan, &[" range ", " look "]).map(drop))?;
            }
        }
        let unseen = plan(&world, backend, HotStatement::Unseen(1, 2, 20)).await?;
        nothing_sorted(&unseen)?;
        match backend {
            Backend::Sqlite => line(&unseen, &["unseen (seen_while_on>? and seen_while_on<?)"])?,
            Backend::MariaDb | Backend::Mysql => line(&unseen, &[" range ", " unseen "])?,
        };
        Ok(())
    }
}

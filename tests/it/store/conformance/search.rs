//! [`SearchTerms`] and search: which terms find a content, who finds it, and how much a search costs.

use std::sync::Arc;

use anyhow::{Result, ensure};
use tidefeed::domain::search::terms::{Form, Phrase, Term, terms_of};
use tidefeed::domain::search::{Found, Search};
use tidefeed::domain::timeline::exclusion::ExclusionKind;
use tidefeed::domain::{Entry, PageSize, Position, content::Draft};
use tidefeed::read::Searcher;
use tidefeed::store::contents::{NewContent, Published};
use tidefeed::store::{Contents as _, Exclusions as _};

use super::rows::entry;
use super::{NOW, World, at_once, content, content_id, user};
use crate::servers::on_each_backend;

/// A content with this text, published `id` ms after [`NOW`].
pub fn saying(id: i64, author: i64, text: &str) -> NewContent {
    let new = content(id, author, NOW + id);
    NewContent { draft: Draft { text: text.to_owned(), ..new.draft }, ..new }
}

/// A search for this text, without an author and at any time.
pub fn words(text: &str) -> Result<Search> {
    Ok(Search::try_new(Some(text), None, None, None)?)
}

impl World {
    pub async fn say(&self, new: NewContent) -> Result<()> {
        let ended = self.store.publish(new).await?;
        ensure!(matches!(ended, Published::Created { .. }), "{ended:?}");
        Ok(())
    }

    pub async fn page_of(
        &self,
        viewer: Option<i64>,
        search: &Search,
        after: Option<Position>,
        size: i64,
    ) -> Result<Found> {
        let searcher = Searcher::new(Arc::new(self.store.clone()));
        Ok(searcher.page(viewer.map(user), search, after, PageSize::try_new(size)?).await?)
    }

    /// Ids of the newest hundred, which are all.
    pub async fn found(&self, viewer: Option<i64>, search: &Search) -> Result<Vec<i64>> {
        let page = self.page_of(viewer, search, None, 100).await?;
        ensure!(!page.has_older, "{page:?}");
        Ok(ids(&page.entries))
    }

    /// The number of the index's rows for a content.
    pub async fn terms_kept(&self, content: i64) -> Result<i64> {
        self.number(&format!("SELECT COUNT(*) FROM search_terms WHERE content_id = {content}")).await
    }

    /// Inserts rows of the index directly.
    async fn put_terms(&self, word: &str, entries: &[Entry]) -> Result<()> {
        self.put_rows(terms_of(word)[0], entries).await
    }

    pub async fn put_rows(&self, term: Term, entries: &[Entry]) -> Result<()> {
        let term = i64::from(term);
        let rows: Vec<String> =
            entries.iter().map(|it| format!("({term}, {}, {})", it.publish_time, it.content)).collect();
        self.insert("search_terms", "term, publish_time, content_id", &rows).await
    }
}

pub fn ids(entries: &[Entry]) -> Vec<i64> {
    entries.iter().map(|it| it.content.get()).collect()
}

on_each_backend! {
    async fn contents_are_found_by_words_and_by_parts_of_unspaced_text(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(2).await?;
        for (id, author, text) in [
            (1, 1, "Low tide at six. Café on the beach!"),
            (2, 2, "今天天气很好，我们去海边看潮汐。"),
            (3, 1, "TIDE tables 2026 🎉"),
            (4, 2, "潮 and tide, cafe\u{301}"),
            (5, 1, "ﾃﾚﾋﾞで海を見る 👍🏽"),
        ] {
            world.say(saying(id, author, text)).await?;
        }
        for (text, expected) in [
            ("tide", vec![4, 3, 1]),
            ("Tide TABLES", vec![3]),
            ("tid", vec![]),
            ("café", vec![4, 1]),
            ("🎉", vec![3]),
            ("👍", vec![5]),
            ("潮", vec![4, 2]),
            ("潮汐", vec![2]),
            ("汐潮", vec![]),
            ("海", vec![5, 2]),
            ("天气很好 潮汐", vec![2]),
            ("天好", vec![]),
            ("テレビ", vec![5]),
            ("潮 tide", vec![4]),
            ("beach tide low", vec![1]),
            ("beach tables", vec![]),
            ("missing", vec![]),
        ] {
            assert_eq!(world.found(None, &words(text)?).await?, expected, "{text}");
        }
        Ok(())
    }

    async fn text_author_and_time_are_combined(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(3).await?;
        for id in 1..=12 {
            world.say(saying(id, 1 + id % 3, if id % 2 == 0 { "even 潮汐" } else { "odd 潮汐" })).await?;
        }
        world.say(NewContent { draft: Draft::repost(content_id(6)), ..content(13, 1, NOW + 13) }).await?;
        let search = |text: Option<&str>, author: Option<i64>, from: Option<i64>, to: Option<i64>| {
            Search::try_new(text, author.map(user), from.map(|it| NOW + it), to.map(|it| NOW + it))
        };
        for (looked_for, expected) in [
            (search(Some("even"), Some(1), None, None)?, vec![12, 6]),
            (search(Some("even"), Some(9), None, None)?, vec![]),
            (search(Some("潮汐"), None, Some(4), Some(7))?, vec![6, 5, 4]),
            (search(Some("odd"), Some(2), Some(2), Some(8))?, vec![7]),
            (search(None, Some(1), None, Some(9))?, vec![6, 3]),
            (search(None, Some(1), None, None)?, vec![12, 9, 6, 3]),
            (search(None, Some(1), Some(10), None)?, vec![12]),
            (search(Some("潮"), None, Some(100), None)?, vec![]),
        ] {
            assert_eq!(world.found(None, &looked_for).await?, expected, "{looked_for:?}");
        }
        Ok(())
    }

    async fn a_term_is_not_believed_and_scattered_pairs_are_not_the_phrase(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(1).await?;
        world.say(saying(1, 1, "天气不错，气好")).await?;
        world.say(saying(2, 1, "quiet water")).await?;
        world.put_terms("tide", &[entry(2, user(1), NOW + 2)]).await?;
        assert!(world.found(None, &words("天气好")?).await?.is_empty());
        assert!(world.found(None, &words("tide")?).await?.is_empty(), "another word with the same term");
        assert_eq!(world.found(None, &words("water")?).await?, [2]);
        Ok(())
    }

    async fn pages_read_to_the_end_neither_skip_nor_repeat_while_others_publish(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(2).await?;
        for id in 1..=20 {
            world.say(saying(id, 1, "the tide")).await?;
        }
        let (mut met, mut after, mut next) = (Vec::new(), None, 100);
        loop {
            let page = world.page_of(None, &words("tide the")?, after, 3).await?;
            met.extend(ids(&page.entries));
            at_once((next..next + 4).map(|id| world.store.publish(saying(id, 1 + id % 2, "the tide goes on")))).await?;
            next += 4;
            after = page.end;
            if !page.has_older {
                break;
            }
            assert_eq!(page.entries.len(), 3);
        }
        assert_eq!(met, (1..=20).rev().collect::<Vec<_>>());
        Ok(())
    }

    async fn a_removed_content_is_gone_with_its_terms(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(2).await?;
        world.say(saying(1, 1, "潮汐 tide")).await?;
        world.say(saying(2, 1, &"潮汐来去".repeat(400))).await?;
        assert_eq!((world.terms_kept(1).await?, world.terms_kept(2).await?), (4, 8));
        world.store.remove(user(2), content_id(1), 90, NOW).await?;
        assert_eq!(world.found(None, &words("潮汐")?).await?, [2, 1], "somebody else removes nothing");
        world.store.remove(user(1), content_id(1), 91, NOW).await?;
        assert_eq!(world.found(None, &words("潮汐")?).await?, [2]);
        assert_eq!((world.terms_kept(1).await?, world.terms_kept(2).await?), (0, 8));
        world.put_terms("tide", &[entry(1, user(1), NOW + 1)]).await?;
        assert!(world.found(None, &words("tide")?).await?.is_empty(), "not even if a row were left");
        Ok(())
    }

    async fn contents_of_blocked_or_excluded_authors_are_not_found(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(6).await?;
        for author in 1..=6 {
            world.say(saying(author, author, "tide")).await?;
        }
        world.store.block(user(1), user(2), 1036, NOW).await?;
        world.store.block(user(3), user(1), 1037, NOW).await?;
        world.exclude(user(1), user(4), ExclusionKind::Muted).await?;
        world.exclude(user(1), user(5), ExclusionKind::Hidden).await?;
        let of = |author: i64| Search::try_new(Some("tide"), Some(user(author)), None, None);
        assert_eq!(world.found(Some(1), &words("tide")?).await?, [6, 1]);
        assert_eq!(world.found(None, &words("tide")?).await?, [6, 5, 4, 3, 2, 1]);
        for blocked in [2, 3] {
            assert!(world.found(Some(1), &of(blocked)?).await?.is_empty());
            assert!(world.found(Some(blocked), &of(1)?).await?.is_empty());
        }
        for kept_out in [4, 5] {
            assert_eq!(world.found(Some(1), &of(kept_out)?).await?, [kept_out], "as on the author's page");
        }
        Ok(())
    }

    async fn a_publish_costs_no_round_trip_more_for_a_text_of_usual_length(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(1).await?;
        world.say(saying(1, 1, "first")).await?;
        let mut costs = Vec::new();
        let han: String = (0x4E00..).filter_map(char::from_u32).take(5_000).collect();
        for (id, text) in [(2, "…"), (3, "Low tide at six."), (4, &han[..3 * 250]), (5, han.as_str())] {
            let before = world.store.statements();
            world.say(saying(id, 1, text)).await?;
            costs.push(world.store.statements() - before);
        }
        let without = costs[0];
        assert_eq!(
            costs,
            [without, without, without, without + 2],
            "a long text is left to the indexer"
        );
        assert_eq!(world.terms_kept(5).await?, 0);
        assert_eq!(world.found(None, &words(&han[3 * 4_900..])?).await?, [5]);
        Ok(())
    }

    async fn words_that_seldom_meet_are_found_together(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(1).await?;
        world.hurry().await?;
        world.say(saying(1, 1, "ebb and flood")).await?;
        let contents: Vec<Entry> = (2..1_402).map(|id| entry(id, user(1), NOW + id)).collect();
        world.put_contents(&contents).await?;
        for (word, of) in [("ebb", &contents[..700]), ("flood", &contents[700..])] {
            world.put_terms(word, of).await?;
        }
        assert_eq!(world.found(None, &words("flood ebb")?).await?, [1]);
        Ok(())
    }

    async fn a_page_looks_at_so_much_and_says_how_far_it_came(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(1).await?;
        world.hurry().await?;
        world.say(saying(1, 1, "天气不错，还是气好")).await?;
        world.say(saying(2, 1, "天气好")).await?;
        let contents: Vec<Entry> = (3..1_603).map(|id| entry(id, user(1), NOW + id)).collect();
        world.put_contents(&contents).await?;
        let pairs = Phrase::of("天气好").map(|phrase| phrase.terms(Form::Current).to_vec()).unwrap_or_default();
        for pair in pairs {
            world.put_rows(pair, &contents).await?;
        }
        let (mut pages, mut after, mut met) = (0, None, Vec::new());
        loop {
            let before = world.store.statements();
            let page = world.page_of(None, &words("天气好")?, after, 20).await?;
            assert!(world.store.statements() - before <= 10);
            (pages, after) = (pages + 1, page.end);
            met.extend(ids(&page.entries));
            if !page.has_older {
                break;
            }
            ensure!(pages < 10, "it never ends");
        }
        assert_eq!(met, [2]);
        assert!(pages > 1, "{pages}");
        Ok(())
    }
}

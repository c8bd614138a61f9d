//! [`SearchTerms`]: what the indexer writes and deletes after publishes, and that searches stay exact meanwhile.

use std::sync::Arc;

use anyhow::Result;
use tidefeed::domain::PageSize;
use tidefeed::domain::limits::{MAX_INDEXED_CONTENTS, MAX_INDEXED_TERMS, MAX_UNINDEXED, MAX_UNINDEXED_OF_AUTHOR};
use tidefeed::domain::search::Search;
use tidefeed::domain::search::terms::{Change, FORMER_FORM, terms_of};
use tidefeed::domain::timeline::exclusion::ExclusionKind;
use tidefeed::read::Searcher;
use tidefeed::store::contents::Published;
use tidefeed::store::{Contents as _, SearchTerms as _};

use super::rows::entry;
use super::search::{ids, saying, words};
use super::{NOW, World, at_once, content_id, user, version};
use crate::servers::on_each_backend;

impl World {
    /// Tables from before the index.
    async fn at_the_fifth_migration(backend: crate::servers::Backend) -> Result<Self> {
        let world = Self::without_tables(backend).await?;
        world.apply_migrations(5).await?;
        Ok(world)
    }

    /// Gives an indexed content the terms that the former rules gave it, and the index its former progress.
    async fn give_former_terms(&self, id: i64, text: &str) -> Result<()> {
        let Change { added, dropped } = Change::of(text);
        for term in added {
            self.run(&format!("DELETE FROM search_terms WHERE term = {} AND content_id = {id}", i64::from(term)))
                .await?;
        }
        for term in dropped {
            self.put_rows(term, &[entry(id, user(1), NOW + id)]).await?;
        }
        self.run("DELETE FROM search_progress").await?;
        let done = format!("INSERT INTO search_progress (form, through_id, is_done) VALUES ({FORMER_FORM}, 0, 1)");
        self.run(&done).await?;
        Ok(())
    }

    async fn put_texts(&self, texts: impl Iterator<Item = (i64, &'static str)>) -> Result<()> {
        let rows: Vec<String> = texts.map(|(id, text)| format!("({id}, 1, 1, '{text}', '[]', {})", NOW + id)).collect();
        self.insert("contents", "id, author_id, kind, text, media, publish_time", &rows).await
    }
}

/// A text of 1,200 different characters, the first of which is 丁. By the former rules another word stood in it.
fn long_text() -> String {
    let han: String = (0x4E00..).filter_map(char::from_u32).skip(1).take(1_200).collect();
    format!("{han} İ'b")
}

on_each_backend! {
    async fn contents_from_before_the_index_become_findable_and_a_crash_repeats_little(backend: Backend) -> Result<()> {
        let world = World::at_the_fifth_migration(backend).await?;
        let (many, half) = (i64::try_from(MAX_INDEXED_CONTENTS)? * 3 + 7, i64::try_from(MAX_INDEXED_CONTENTS)?);
        world.put_texts((1..=many).map(|id| (id, if id % 100 == 0 { "old 潮汐" } else { "old" }))).await?;
        world.run("UPDATE contents SET removed_at = 1 WHERE id = 200").await?;
        world.store.migrate().await?;
        let world = world.with_users(1).await?;
        assert!(world.found(None, &words("潮汐")?).await?.is_empty());
        let step = world.store.index_next().await?;
        assert_eq!((step.through, step.is_done), (half, false));
        assert_eq!(world.found(None, &words("潮汐")?).await?, [100], "what has been indexed is found, newer or older");
        world.say(saying(many + 1, 1, "new 潮汐")).await?;
        // Nodes that index at once continue where other nodes, even dead ones, stopped.
        let other = world.store.clone();
        loop {
            let steps = at_once([world.store.index_next(), other.index_next()]).await?;
            if steps.iter().all(|step| step.is_done) {
                break;
            }
        }
        assert_eq!(world.found(None, &words("潮汐")?).await?, [many + 1, 300, 100]);
        assert_eq!(
            world.number("SELECT COUNT(DISTINCT content_id) FROM search_terms").await?,
            many,
            "all but the removed one"
        );
        assert_eq!(world.store.index_next().await?.contents, 0);
        assert_eq!(world.terms_kept(200).await?, 0);
        world.store.remove(user(1), content_id(100), version(1), NOW).await?;
        assert_eq!(world.terms_kept(100).await?, 0, "what was indexed later goes with its content, too");
        Ok(())
    }

    async fn while_contents_are_indexed_anew_both_forms_are_searched(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(1).await?;
        let texts = ["İSTANBUL", "L'été", "plain", &long_text(), "so ▶️"];
        let many = i64::try_from(MAX_INDEXED_CONTENTS)? + 5;
        for id in 1..=many {
            let text = texts.get(usize::try_from(id)? - 1).copied().unwrap_or("İSTANBUL");
            world.say(saying(id, 1, text)).await?;
        }
        while !world.store.index_next().await?.is_done {}
        let istanbul: Vec<i64> = (6..=many).rev().chain([1]).collect();
        for id in 1..=many {
            let text = texts.get(usize::try_from(id)? - 1).copied().unwrap_or("İSTANBUL");
            world.give_former_terms(id, text).await?;
        }
        let searcher = Searcher::new(Arc::new(world.store.clone()));
        let found = async |text: &str| -> Result<Vec<i64>> {
            let (mut found, mut after) = (Vec::new(), None);
            loop {
                let page = searcher.page(None, &words(text)?, after, PageSize::try_new(40)?).await?;
                found.extend(ids(&page.entries));
                after = page.end;
                if !page.has_older {
                    return Ok(found);
                }
            }
        };
        assert_eq!(found("İstanbul").await?, istanbul, "as it was found before");
        assert_eq!((found("istanbul").await?, found("été").await?), (vec![], vec![]), "by the new rules alone");
        world.say(saying(many + 1, 1, "İstanbul")).await?;
        let all: Vec<i64> = std::iter::once(many + 1).chain(istanbul).collect();
        let (mut steps, mut is_done) = (0, false);
        while !is_done {
            is_done = world.store.index_next().await?.is_done;
            assert_eq!((found("İstanbul").await?, found("plain").await?), (all.clone(), vec![3]), "step {steps}");
            assert_eq!(found(&long_text()[..30]).await?, [4], "step {steps}");
            steps += 1;
        }
        assert!(steps > 1, "{steps}");
        for (text, expected) in [("istanbul", all), ("été", vec![2]), ("▶", vec![5])] {
            assert_eq!(found(text).await?, expected, "{text}");
        }
        let dropped = Change::of("İSTANBUL").dropped;
        let left = format!("SELECT COUNT(*) FROM search_terms WHERE term = {}", i64::from(dropped[0]));
        assert_eq!(world.number(&left).await?, 0, "the former terms are gone");
        Ok(())
    }

    async fn a_long_text_is_found_at_once_and_indexed_step_by_step(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(3).await?;
        let text = long_text();
        let terms = terms_of(&text).len();
        for id in [1, 2] {
            world.say(saying(id, id, &text)).await?;
        }
        world.say(saying(3, 1, "short 丁")).await?;
        world.exclude(user(3), user(2), ExclusionKind::Muted).await?;
        let (search, of) = (words(&text[30..60])?, Search::try_new(Some("丁"), Some(user(2)), None, None)?);
        let other = world.store.clone();
        let mut steps = 0;
        loop {
            assert_eq!(world.found(None, &search).await?, [2, 1], "step {steps}");
            assert_eq!(world.found(None, &words("丁")?).await?, [3, 2, 1], "step {steps}");
            assert_eq!((world.found(Some(3), &search).await?, world.found(None, &of).await?), (vec![1], vec![2]));
            assert_eq!(ids(&world.page_of(None, &search, None, 1).await?.entries), [2]);
            assert!(world.found(None, &words("missing 丁")?).await?.is_empty());
            let before = world.number("SELECT COUNT(*) FROM search_terms").await?;
            let step = at_once([world.store.index_next(), other.index_next()]).await?;
            let written = world.number("SELECT COUNT(*) FROM search_terms").await? - before;
            assert!(written <= 2 * i64::try_from(MAX_INDEXED_TERMS)?, "{written}");
            if step.iter().all(|step| step.is_done) {
                break;
            }
            steps += 1;
        }
        assert!(steps >= 2 * terms / (2 * MAX_INDEXED_TERMS), "{steps}");
        assert_eq!(world.terms_kept(1).await?, i64::try_from(terms)?);
        assert_eq!(world.number("SELECT COUNT(*) FROM search_tasks").await?, 0);
        Ok(())
    }

    async fn a_long_text_that_is_removed_is_gone_at_once(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(1).await?;
        let text = long_text();
        for id in 1..=3 {
            world.say(saying(id, 1, &text)).await?;
        }
        for _ in 0..3 {
            world.store.index_next().await?;
        }
        assert!((1..5_000).contains(&world.terms_kept(1).await?), "half of it is indexed");
        let before = world.store.statements();
        world.store.remove(user(1), content_id(1), 90, NOW).await?;
        assert!(world.store.statements() - before < 12, "it leaves the terms to the indexer");
        world.run("UPDATE contents SET text = '' WHERE id = 1").await?;
        assert_eq!(world.found(None, &words(&text[..30])?).await?, [3, 2]);
        while !world.store.index_next().await?.is_done {}
        world.store.remove(user(1), content_id(2), 91, NOW).await?;
        assert_eq!(world.found(None, &words(&text[..30])?).await?, [3]);
        while !world.store.index_next().await?.is_done {}
        assert_eq!((world.terms_kept(1).await?, world.terms_kept(2).await?), (0, 0));
        assert_eq!(world.terms_kept(3).await?, i64::try_from(terms_of(&text).len())?);
        Ok(())
    }

    async fn an_author_and_all_of_them_have_few_texts_that_wait(backend: Backend) -> Result<()> {
        let authors = i64::try_from(MAX_UNINDEXED / MAX_UNINDEXED_OF_AUTHOR)? + 1;
        let world = World::on(backend).await?.with_users(authors).await?;
        let (text, mut id) = (long_text(), 0);
        for author in 1..=authors {
            let room = if author == authors { 0 } else { MAX_UNINDEXED_OF_AUTHOR };
            for _ in 0..room {
                id += 1;
                world.say(saying(id, author, &text)).await?;
            }
            assert_eq!(world.store.publish(saying(900, author, &text)).await?, Published::TooManyUnindexed);
            id += 1;
            world.say(saying(id, author, "short")).await?;
        }
        assert_eq!(world.found(None, &words("short")?).await?.len(), usize::try_from(authors)?);
        assert_eq!(world.found(None, &words(&text[..30])?).await?.len(), MAX_UNINDEXED);
        let contents = world.number("SELECT contents FROM user_counts WHERE user_id = 1").await?;
        assert_eq!(contents, i64::try_from(MAX_UNINDEXED_OF_AUTHOR)? + 1, "what is refused changes nothing");
        Ok(())
    }
}

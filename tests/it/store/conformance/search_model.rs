//! Compares searches with the naive scan of the texts, in random worlds whose texts and searches consist of known
//! tokens.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use tidefeed::domain::search::Search;

use super::search::saying;
use super::{NOW, World, content_id, user};
use crate::servers::on_each_backend;

const AUTHORS: i64 = 3;

/// A word, an unspaced run, or a pictograph.
fn token() -> impl Strategy<Value = String> {
    prop_oneof!["[ab]{1,2}", "[潮汐天]{1,3}", "[かな]{1,2}", Just("🎉".to_owned()), Just("é".to_owned())]
}

fn tokens(most: usize) -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(token(), 1..=most)
}

/// The tokens as a person might type them: in other case, and composed differently.
fn written(tokens: &[String]) -> String {
    tokens.join("。 ").to_uppercase().replace('É', "e\u{301}")
}

fn is_run(token: &str) -> bool {
    token.starts_with(|c| "潮汐天かな".contains(c))
}

fn stands(wanted: &str, text: &[String]) -> bool {
    text.iter().any(|token| token == wanted || (is_run(wanted) && is_run(token) && token.contains(wanted)))
}

#[derive(Debug, Clone)]
struct Wanted {
    text: Option<Vec<String>>,
    author: Option<i64>,
    from: Option<i64>,
    to: Option<i64>,
    size: i64,
}

fn wanted() -> impl Strategy<Value = Wanted> {
    let author = prop::option::of(1..=AUTHORS);
    let (from, to) = (prop::option::of(1_i64..40), prop::option::of(41_i64..130));
    (prop::option::weighted(0.9, tokens(2)), author, from, to, 1_i64..12).prop_map(|(text, author, from, to, size)| {
        let author = if text.is_none() { author.or(Some(1)) } else { author };
        Wanted { text, author, from, to, size }
    })
}

on_each_backend! {
    async fn a_search_is_the_naive_scan_of_the_texts(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(AUTHORS).await?;
        world.hurry().await?;
        let mut runner = TestRunner::deterministic();
        let mut draw = |what: &BoxedStrategy<Wanted>| {
            what.new_tree(&mut runner).map(|it| it.current()).map_err(|why| anyhow!("{why}"))
        };
        let texts = prop::collection::vec(tokens(6), 120)
            .new_tree(&mut TestRunner::deterministic())
            .map_err(|why| anyhow!("{why}"))?
            .current();
        let texts: BTreeMap<i64, Vec<String>> = (1..).zip(texts).collect();
        for (id, text) in &texts {
            world.say(saying(*id, 1 + id % AUTHORS, &written(text))).await?;
        }
        let removed = [7, 30, 77];
        for id in removed {
            tidefeed::store::Contents::remove(&world.store, user(1 + id % AUTHORS), content_id(id), 9_000 + id, NOW)
                .await?;
        }
        let (strategy, mut hits) = (wanted().boxed(), 0);
        for _ in 0..150 {
            let wanted = draw(&strategy)?;
            let naive: Vec<i64> = texts
                .iter()
                .rev()
                .filter(|(id, text)| {
                    !removed.contains(*id)
                        && wanted.author.is_none_or(|author| author == 1 + **id % AUTHORS)
                        && wanted.from.is_none_or(|from| **id >= from)
                        && wanted.to.is_none_or(|to| **id < to)
                        && wanted.text.iter().flatten().all(|token| stands(token, text))
                })
                .map(|(id, _)| *id)
                .collect();
            let text = wanted.text.as_ref().map(|tokens| tokens.join(" "));
            let search = Search::try_new(
                text.as_deref(),
                wanted.author.map(user),
                wanted.from.map(|it| NOW + it),
                wanted.to.map(|it| NOW + it),
            )?;
            let (mut found, mut after) = (Vec::new(), None);
            loop {
                let page = world.page_of(None, &search, after, wanted.size).await?;
                found.extend(page.entries.iter().map(|it| it.content.get()));
                after = page.end;
                if !page.has_older {
                    break;
                }
                assert_eq!(page.entries.len(), usize::try_from(wanted.size)?, "{wanted:?}");
            }
            assert_eq!(found, naive, "{wanted:?}");
            hits += naive.len();
        }
        assert!(hits > 500, "{hits} hits show little");
        Ok(())
    }
}

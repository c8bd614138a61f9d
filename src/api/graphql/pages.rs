//! The loader for pages of lists. All pages that are requested together are read together.
//!
//! One key type covers all lists. So the lists of all entries of a page are read together, and so are their items.

use std::collections::HashMap;

use async_graphql::dataloader::Loader;

use super::{
    errors::{ApiError, Failure},
    loaders::LoaderContext,
};
use crate::read::lists::{PageOf, Paged, PagesRead};

impl Loader<PageOf> for LoaderContext {
    /// A failed statement fails only its own pages.
    type Value = Option<Result<Paged, ApiError>>;
    type Error = ApiError;

    async fn load(&self, keys: &[PageOf]) -> Result<HashMap<PageOf, Self::Value>, ApiError> {
        let viewer = self.viewer_dependence.viewer().map(|viewer| viewer.id);
        let read = self.services.use_cases.lists.pages(viewer, keys).await;
        Ok(read.into_iter().flat_map(answers).map(|(key, page)| (key, Some(page))).collect())
    }
}

/// A failure is logged once for all of its pages.
fn answers((keys, read): PagesRead) -> Vec<(PageOf, Result<Paged, ApiError>)> {
    match read {
        Ok(pages) => keys.into_iter().zip(pages.into_iter().map(Ok)).collect(),
        Err(error) => {
            let error = Failure::Store(error).into_api_error();
            keys.into_iter().map(|key| (key, Err(error.clone()))).collect()
        }
    }
}

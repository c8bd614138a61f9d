//! One source of values.

use figment::{
    Error, Metadata, Profile, Provider,
    value::{Dict, Map},
};

/// Values, and the name of where they are from: `default`, the path of a file, or a variable.
pub struct Source {
    pub name: String,
    pub values: Dict,
}

impl Provider for Source {
    fn metadata(&self) -> Metadata {
        Metadata::named(self.name.clone())
    }

    fn data(&self) -> Result<Map<Profile, Dict>, Error> {
        Ok(Map::from([(Profile::Default, self.values.clone())]))
    }
}

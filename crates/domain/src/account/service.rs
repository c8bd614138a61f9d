//! What another service may do here: the scopes of its key, and its name.

use std::{fmt, str::FromStr};

use crate::limits::MAX_SERVICE_NAME_CHARS;

/// One thing that a key may allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// To act as any user.
    ActAs,
    /// To read, and to move read markers.
    Read,
    /// To publish, repost, and delete contents.
    Contents,
    /// To follow, mute, hide and block, and to undo these.
    Follows,
    /// To like and bookmark, and to undo these.
    Reactions,
    /// To bring users, to change profiles, and to keep users out.
    Users,
    /// To sign users in.
    Tokens,
    /// To delete accounts.
    DeleteUsers,
    /// To load files.
    Import,
}

impl Scope {
    /// All scopes, in the order in which they are told.
    pub const ALL: [Self; 9] = [
        Self::ActAs,
        Self::Read,
        Self::Contents,
        Self::Follows,
        Self::Reactions,
        Self::Users,
        Self::Tokens,
        Self::DeleteUsers,
        Self::Import,
    ];

    /// The name on the command line, in the configuration and in the store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ActAs => "act_as",
            Self::Read => "read",
            Self::Contents => "contents",
            Self::Follows => "follows",
            Self::Reactions => "reactions",
            Self::Users => "users",
            Self::Tokens => "tokens",
            Self::DeleteUsers => "delete_users",
            Self::Import => "import",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.name() == name)
    }

    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of scopes. Its text is their names, joined by commas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Scopes(u16);

/// A text that names no scopes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidScopes {
    /// There is no such scope.
    #[error("there is no scope `{0}`; the scopes are {all}", all = Scopes::all())]
    Unknown(String),
    /// Nothing is named.
    #[error("a key needs at least one scope of {}", Scopes::all())]
    Empty,
}

impl Scopes {
    /// Every scope.
    pub fn all() -> Self {
        Scope::ALL.into_iter().collect()
    }

    /// Whether `scope` is among them.
    pub const fn contain(self, scope: Scope) -> bool {
        self.0 & scope.bit() != 0
    }

    /// These without `scope`.
    #[must_use]
    pub const fn without(self, scope: Scope) -> Self {
        Self(self.0 & !scope.bit())
    }

    /// The scopes in a stored text. Those of a later version allow nothing here.
    pub fn stored(text: &str) -> Self {
        text.split(',').filter_map(Scope::named).collect()
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<T: IntoIterator<Item = Scope>>(scopes: T) -> Self {
        Self(scopes.into_iter().fold(0, |bits, scope| bits | scope.bit()))
    }
}

impl FromStr for Scopes {
    type Err = InvalidScopes;

    fn from_str(text: &str) -> Result<Self, InvalidScopes> {
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        let scope = |name: &str| Scope::named(name).ok_or_else(|| InvalidScopes::Unknown(name.to_owned()));
        let scopes = names.map(scope).collect::<Result<Self, _>>()?;
        if scopes == Self::default() { Err(InvalidScopes::Empty) } else { Ok(scopes) }
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Scope::ALL.into_iter().filter(|scope| self.contain(*scope)).map(Scope::name);
        f.write_str(&names.collect::<Vec<_>>().join(","))
    }
}

/// The name of a service, which its keys share: 1 to [`MAX_SERVICE_NAME_CHARS`] of a to z, 0 to 9, `-`, `_` and `.`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ServiceName(String);

/// A text that is no name of a service.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a service has a name of 1 to {MAX_SERVICE_NAME_CHARS} characters of a to z, 0 to 9, `-`, `_` and `.`")]
pub struct InvalidServiceName;

impl ServiceName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ServiceName {
    type Err = InvalidServiceName;

    fn from_str(text: &str) -> Result<Self, InvalidServiceName> {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
        if text.is_empty() || text.len() > MAX_SERVICE_NAME_CHARS || !text.chars().all(fits) {
            return Err(InvalidServiceName);
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for ServiceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_written_as_they_are_read() {
        for scope in Scope::ALL {
            let scopes: Scopes = [scope].into_iter().collect();
            assert_eq!(scope.name().parse(), Ok(scopes));
            assert!(scopes.contain(scope) && !Scopes::all().without(scope).contain(scope));
        }
        assert_eq!(Scopes::all().to_string().parse(), Ok(Scopes::all()));
        assert_eq!("read, act_as,".parse::<Scopes>().map(|it| it.to_string()), Ok("act_as,read".to_owned()));
    }

    #[test]
    fn an_unknown_scope_is_refused_by_name_with_the_list() {
        let refused = "read,tweets".parse::<Scopes>().map_err(|error| error.to_string());
        assert!(refused.is_err_and(|it| it.contains("no scope `tweets`") && it.contains("act_as,read,contents")));
        assert_eq!(" , ".parse::<Scopes>(), Err(InvalidScopes::Empty));
        assert_eq!(Scopes::stored("read,of_a_later_version"), [Scope::Read].into_iter().collect());
    }

    #[test]
    fn a_service_has_a_plain_name() {
        assert_eq!("nightly-2.import".parse::<ServiceName>().map(|it| it.to_string()), Ok("nightly-2.import".into()));
        for bad in ["", "Nightly", "a b", "a\n", &"x".repeat(41)] {
            assert_eq!(bad.parse::<ServiceName>(), Err(InvalidServiceName), "{bad}");
        }
    }
}

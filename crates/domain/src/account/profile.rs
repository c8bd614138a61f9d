//! A user's public profile: handle, name, bio and avatar.

use std::fmt;

use crate::{
    ids::UserId,
    limits::{
        MAX_BIO_CHARS, MAX_HANDLE_CHARS, MAX_NAME_CHARS, MAX_PASSWORD_BYTES, MAX_URL_CHARS, MIN_HANDLE_CHARS,
        MIN_PASSWORD_CHARS,
    },
    text::{has_nul, is_presentable, is_web_url},
};

/// A user's unique name: a to z, 0 to 9 and `_`, lower case.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Handle(String);

impl Handle {
    /// Lowers the case, drops a leading `@`, and checks length and characters.
    pub fn try_new(raw: &str) -> Result<Self, InvalidProfile> {
        let handle = raw.trim().trim_start_matches('@').to_ascii_lowercase();
        if handle.chars().count() > MAX_HANDLE_CHARS {
            return Err(InvalidProfile::HandleTooLong);
        }
        if handle.len() >= MIN_HANDLE_CHARS && handle.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            Ok(Self(handle))
        } else {
            Err(InvalidProfile::Handle)
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What others see of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Identity.
    pub id: UserId,
    /// Unique name.
    pub handle: Handle,
    /// Display name.
    pub name: String,
    /// A short text; may be empty.
    pub bio: String,
    /// The URL of a picture.
    pub avatar_url: Option<String>,
    /// Milliseconds UTC.
    pub created_at: i64,
    /// Random, and drawn again at every change of the profile.
    pub version: i64,
}

impl Profile {
    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        let avatar = self.avatar_url.as_ref().map_or(0, String::len);
        size_of_val(self) + self.handle.as_str().len() + self.name.len() + self.bio.len() + avatar
    }
}

/// The counts on a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProfileCounts {
    /// Followers, without the user themselves.
    pub followers: i64,
    /// Followed authors, without the user themselves.
    pub following: i64,
    /// Contents, without the removed ones.
    pub contents: i64,
}

/// The checked input of a registration.
#[derive(Debug, Clone)]
pub struct Registration {
    /// Unique name.
    pub handle: Handle,
    /// Display name.
    pub name: String,
    /// A short text; may be empty.
    pub bio: String,
    /// The URL of a picture.
    pub avatar_url: Option<String>,
}

/// Why a profile is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidProfile {
    /// Too short, or other characters.
    #[error("a handle has {MIN_HANDLE_CHARS} to {MAX_HANDLE_CHARS} of the characters a to z, 0 to 9 and _")]
    Handle,
    /// Longer than [`MAX_HANDLE_CHARS`].
    #[error("a handle has at most {MAX_HANDLE_CHARS} characters")]
    HandleTooLong,
    /// Not [`is_presentable`].
    #[error(
        "a name has at least one visible character, and no line breaks, control characters or invisible characters"
    )]
    Name,
    /// Longer than [`MAX_NAME_CHARS`].
    #[error("a name has at most {MAX_NAME_CHARS} characters")]
    NameTooLong,
    /// With U+0000.
    #[error("a bio cannot have the character U+0000")]
    Bio,
    /// Longer than [`MAX_BIO_CHARS`].
    #[error("a bio has at most {MAX_BIO_CHARS} characters")]
    BioTooLong,
    /// Not http or https, or with spaces.
    #[error("an avatar is a link that starts with https:// or http:// and has no spaces")]
    Avatar,
    /// Longer than [`MAX_URL_CHARS`].
    #[error("an avatar's link has at most {MAX_URL_CHARS} characters")]
    AvatarTooLong,
    /// Shorter than [`MIN_PASSWORD_CHARS`].
    #[error("a password has at least {MIN_PASSWORD_CHARS} characters")]
    Password,
    /// Longer than [`MAX_PASSWORD_BYTES`].
    #[error("a password has at most {MAX_PASSWORD_BYTES} bytes")]
    PasswordTooLong,
}

impl InvalidProfile {
    /// The faulty field, as the API names it.
    pub const fn field(self) -> &'static str {
        match self {
            Self::Handle | Self::HandleTooLong => "handle",
            Self::Name | Self::NameTooLong => "name",
            Self::Bio | Self::BioTooLong => "bio",
            Self::Avatar | Self::AvatarTooLong => "avatarUrl",
            Self::Password | Self::PasswordTooLong => "password",
        }
    }

    /// Whether a shorter value might be accepted.
    pub const fn is_length(self) -> bool {
        match self {
            Self::HandleTooLong
            | Self::NameTooLong
            | Self::BioTooLong
            | Self::AvatarTooLong
            | Self::PasswordTooLong => true,
            Self::Handle | Self::Name | Self::Bio | Self::Avatar | Self::Password => false,
        }
    }
}

/// The fault of each invalid field of a registration, in input order; at least one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct InvalidRegistration(pub Vec<InvalidProfile>);

impl Registration {
    /// Checks all fields. Trims name and bio.
    pub fn try_new(
        handle: &str,
        name: &str,
        bio: &str,
        avatar_url: Option<String>,
    ) -> Result<Self, InvalidRegistration> {
        let (handle, name, bio) = (Handle::try_new(handle), check_name(name), check_bio(bio));
        match (handle, name, bio, avatar_url.map(check_avatar).transpose()) {
            (Ok(handle), Ok(name), Ok(bio), Ok(avatar_url)) => Ok(Self { handle, name, bio, avatar_url }),
            (handle, name, bio, avatar_url) => {
                let faults = [handle.err(), name.err(), bio.err(), avatar_url.err()];
                Err(InvalidRegistration(faults.into_iter().flatten().collect()))
            }
        }
    }
}

/// Checks and trims a display name.
pub fn check_name(name: &str) -> Result<String, InvalidProfile> {
    let name = name.trim();
    if name.chars().count() > MAX_NAME_CHARS {
        return Err(InvalidProfile::NameTooLong);
    }
    if is_presentable(name) { Ok(name.to_owned()) } else { Err(InvalidProfile::Name) }
}

/// Checks and trims a bio.
pub fn check_bio(bio: &str) -> Result<String, InvalidProfile> {
    let bio = bio.trim();
    if bio.chars().count() > MAX_BIO_CHARS {
        return Err(InvalidProfile::BioTooLong);
    }
    if has_nul(bio) { Err(InvalidProfile::Bio) } else { Ok(bio.to_owned()) }
}

/// Checks the URL of a picture.
pub fn check_avatar(url: String) -> Result<String, InvalidProfile> {
    if url.chars().count() > MAX_URL_CHARS {
        return Err(InvalidProfile::AvatarTooLong);
    }
    if is_web_url(&url) { Ok(url) } else { Err(InvalidProfile::Avatar) }
}

/// Checks a password's length. It may have any characters.
pub fn check_password(password: &str) -> Result<(), InvalidProfile> {
    if password.len() > MAX_PASSWORD_BYTES {
        return Err(InvalidProfile::PasswordTooLong);
    }
    if password.chars().count() < MIN_PASSWORD_CHARS { Err(InvalidProfile::Password) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;

    #[test]
    fn handles_are_lower_case_ascii() {
        assert_eq!(Handle::try_new(" @Ann_1 ").unwrap().as_str(), "ann_1");
        for bad in ["", "a", "äb", "a b", "a-b", "an\u{202e}n", "an\0n"] {
            assert_eq!(Handle::try_new(bad), Err(InvalidProfile::Handle), "{bad}");
        }
    }

    #[test]
    fn too_long_is_told_apart_from_ill_formed() {
        let long = |chars: usize| "x".repeat(chars);
        assert_eq!(Handle::try_new(&long(31)), Err(InvalidProfile::HandleTooLong));
        assert_eq!(check_name(&long(61)), Err(InvalidProfile::NameTooLong));
        assert_eq!(check_bio(&long(501)), Err(InvalidProfile::BioTooLong));
        assert_eq!(check_avatar(format!("https://a/{}", long(2_048))), Err(InvalidProfile::AvatarTooLong));
        assert_eq!(check_password(&long(1_025)), Err(InvalidProfile::PasswordTooLong));
        assert!(InvalidProfile::NameTooLong.is_length() && !InvalidProfile::Name.is_length());
    }

    #[test]
    fn a_name_is_seen_and_a_bio_has_no_nul() {
        for name in ["\u{200b}", "a\u{202e}b", "a\0b"] {
            assert_eq!(check_name(name), Err(InvalidProfile::Name), "{}", name.escape_unicode());
        }
        assert_eq!(check_bio("a\0b"), Err(InvalidProfile::Bio));
        assert!(check_bio("two\nlines").is_ok());
    }

    #[test]
    fn a_registration_names_every_field_at_fault() {
        let fields = |handle, name, bio, avatar: Option<&str>| {
            let refused = Registration::try_new(handle, name, bio, avatar.map(str::to_owned)).unwrap_err();
            refused.0.into_iter().map(InvalidProfile::field).collect::<Vec<_>>()
        };
        assert_eq!(fields("!", "Ann", "", None), ["handle"]);
        assert_eq!(fields("ann", "  ", "", None), ["name"]);
        assert_eq!(fields("ann", "Ann", "", Some("javascript:1")), ["avatarUrl"]);
        assert_eq!(fields("!", "", "\0", Some("")), ["handle", "name", "bio", "avatarUrl"]);
        assert_eq!(check_password("1234567").unwrap_err().field(), "password");
    }
}

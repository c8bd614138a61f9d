//! Takes JSON objects apart, member by member, so that every refusal can name the value at fault.
//!
//! Values stay text until they are asked for: numbers keep their form, and keys that occur twice are seen.

use std::{borrow::Cow, collections::HashSet, fmt};

use domain::account::external::ExternalId;
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::{error::Category, value::RawValue};

use crate::{
    fault::{Code, Fault},
    record::Patch,
    time,
};

/// The members of an object that were not taken yet.
pub struct Fields<'a> {
    path: Vec<String>,
    members: Vec<(Cow<'a, str>, &'a RawValue)>,
}

impl<'a> Fields<'a> {
    /// The members of the object `json`, whose path in the line is `path`. Refuses keys that occur twice.
    pub fn of(json: &'a str, path: Vec<String>) -> Result<Self, Fault> {
        let Members(members) = match serde_json::from_str(json) {
            Ok(members) => members,
            Err(error) if error.classify() == Category::Eof => {
                return Err(Fault::of_line(Code::Invalid, "the line ends in the middle of its JSON").below(&path));
            }
            Err(error) if error.classify() == Category::Syntax => {
                let what = format!("the line is not JSON from column {} on", error.column());
                return Err(Fault::of_line(Code::Invalid, &what).below(&path));
            }
            Err(_) => return Err(Fault::of_line(Code::Invalid, "this must be a JSON object").below(&path)),
        };
        let mut seen = HashSet::with_capacity(members.len());
        for (key, _) in &members {
            if !seen.insert(key) {
                return Err(Fault::at(&[key], Code::Invalid, "the key occurs twice").below(&path));
            }
        }
        Ok(Self { path, members })
    }

    /// The path to the member `name`.
    pub fn path_to(&self, name: &str) -> Vec<String> {
        self.path.iter().map(String::as_str).chain([name]).map(str::to_owned).collect()
    }

    /// A fault of the member `name`. `message` is a fragment.
    pub fn fault(&self, name: &str, code: Code, message: &str) -> Fault {
        self.fault_within(&[name], code, message)
    }

    /// A fault of the value at `steps`, seen from here. `message` is a fragment.
    pub fn fault_within(&self, steps: &[&str], code: Code, message: &str) -> Fault {
        Fault::at(steps, code, message).below(&self.path)
    }

    /// The member as it is written.
    pub fn raw(&mut self, name: &str) -> Patch<&'a str> {
        let Some(index) = self.members.iter().position(|(key, _)| key == name) else { return Patch::LeftOut };
        match self.members.swap_remove(index).1.get() {
            "null" => Patch::Null,
            json => Patch::Value(json),
        }
    }

    fn read<T: Deserialize<'a>>(&mut self, name: &str, expected: &str) -> Result<Patch<T>, Fault> {
        Ok(match self.raw(name) {
            Patch::LeftOut => Patch::LeftOut,
            Patch::Null => Patch::Null,
            Patch::Value(json) => {
                let read = serde_json::from_str(json);
                Patch::Value(read.map_err(|_| self.fault(name, Code::Invalid, expected))?)
            }
        })
    }

    /// A text.
    pub fn text(&mut self, name: &str) -> Result<Patch<String>, Fault> {
        self.read(name, "this must be a text, with no half of a surrogate pair")
    }

    /// A whole number of 32 bits; null is as left out.
    pub fn number(&mut self, name: &str) -> Result<Option<i32>, Fault> {
        self.read(name, "this must be a whole number").map(Patch::value)
    }

    /// A list; null is as left out. Returns each element as it is written.
    pub fn list(&mut self, name: &str) -> Result<Vec<&'a RawValue>, Fault> {
        self.read(name, "this must be a list").map(|list| list.value().unwrap_or_default())
    }

    /// An id of the product; null is as left out.
    pub fn id(&mut self, name: &str) -> Result<Option<ExternalId>, Fault> {
        let Some(text) = self.read::<String>(name, "this must be an id, which is a text")?.value() else {
            return Ok(None);
        };
        let id = ExternalId::try_new(&text).map_err(|it| self.fault(name, Code::Invalid, &it.to_string()))?;
        Ok(Some(id))
    }

    /// A time of 1970 or later, and not later than `latest`; null is as left out.
    pub fn time(&mut self, name: &str, latest: i64) -> Result<Option<i64>, Fault> {
        const FORM: &str = "this must be a time such as 2026-11-21T09:30:00.000Z, with its offset";
        let Some(text) = self.read::<String>(name, FORM)?.value() else { return Ok(None) };
        let at = time::parse(&text).ok_or_else(|| self.fault(name, Code::Invalid, FORM))?;
        if at > latest {
            let what = format!("the time lies in the future: it is after {}", time::rfc3339(latest));
            return Err(self.fault(name, Code::Invalid, &what));
        }
        if at < 0 { Err(self.fault(name, Code::Invalid, "the time lies before 1970")) } else { Ok(Some(at)) }
    }

    /// `value`, which must be there.
    pub fn needed<T>(&self, name: &str, value: Option<T>) -> Result<T, Fault> {
        value.ok_or_else(|| self.fault(name, Code::Invalid, "this must be there"))
    }

    /// All members that are left, as they are written.
    pub fn rest(self) -> impl Iterator<Item = (String, &'a RawValue)> {
        self.members.into_iter().map(|(key, value)| (key.into_owned(), value))
    }

    /// Refuses a member that nobody has taken: a misspelt one would be lost.
    pub fn end(self) -> Result<(), Fault> {
        match self.members.first() {
            Some((key, _)) => Err(self.fault(key, Code::Invalid, "there is no such field")),
            None => Ok(()),
        }
    }
}

/// Refuses any object in `json` that has a key twice, numbers beyond 64 bits, and halves of surrogate pairs.
pub fn check_distinct(json: &str) -> Result<(), String> {
    let mut twice = None;
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let read = Distinct(&mut twice).deserialize(&mut deserializer);
    match (read, twice) {
        (Ok(()), _) => Ok(()),
        (Err(_), Some(key)) => Err(format!("the key `{key}` occurs twice")),
        (Err(_), None) => Err("this has values too deep, too large a number, or half of a surrogate pair".to_owned()),
    }
}

struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

/// A key, which is a part of the line unless it has escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(Key(key)) = map.next_key()? {
                    members.push((key, map.next_value()?));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

/// Reads any value and keeps nothing but a key that occurs twice.
struct Distinct<'s>(&'s mut Option<String>);

impl<'de> DeserializeSeed<'de> for Distinct<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Distinct<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Distinct(&mut *self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if seen.contains(&key) {
                map.next_value::<IgnoredAny>()?;
                *self.0 = Some(key);
                return Err(A::Error::custom("a key twice"));
            }
            seen.insert(key);
            map.next_value_seed(Distinct(&mut *self.0))?;
        }
        Ok(())
    }
}

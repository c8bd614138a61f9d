//! Resolves an object with one allocation for all fields that are ready at their first poll, beside those that their
//! resolvers make.
//!
//! async-graphql boxes the future of each field before it polls any. This module polls a field in place and boxes it
//! only if another field is pending, too.

use std::{
    future::{Future, poll_fn},
    mem::take,
    pin::{Pin, pin},
    task::Poll,
};

use async_graphql::{
    ContainerType, ContextSelectionSet, Name, Positioned, ServerResult, Value,
    indexmap::{IndexMap, map::Entry},
    parser::types::{Field, Selection, SelectionSet},
    resolver_utils,
};
use futures_util::future::{try_join, try_join_all};

use crate::written;

/// As `async_graphql::resolver_utils::resolve_container`, for objects. All fields begin in document order and then run
/// concurrently.
pub fn resolve_container<'a, T: ContainerType>(
    ctx: &'a ContextSelectionSet<'a>,
    object: &'a T,
) -> Pin<Box<dyn Future<Output = ServerResult<Value>> + Send + 'a>> {
    Box::pin(async move {
        let mut fields = Vec::with_capacity(ctx.item.node.items.len());
        if !collect(ctx, &ctx.item.node, &object.introspection_type_name(), &mut fields) {
            return resolver_utils::resolve_container(ctx, object).await;
        }
        let values = values(ctx, object, &fields).await?;
        let mut shown = IndexMap::with_capacity(fields.len());
        for (field, value) in fields.into_iter().zip(values) {
            show(&mut shown, field.node.response_key().node.clone(), value);
        }
        Ok(Value::Object(shown))
    })
}

/// Collects the fields that `set` selects of an object of this type. False if only the library can do it: custom
/// directives and named fragments.
fn collect<'a>(
    ctx: &ContextSelectionSet<'a>,
    set: &'a SelectionSet,
    type_name: &str,
    fields: &mut Vec<&'a Positioned<Field>>,
) -> bool {
    set.items.iter().all(|selection| match &selection.node {
        Selection::Field(field) => {
            fields.push(field);
            field.node.directives.is_empty()
        }
        Selection::InlineFragment(inline) => {
            let condition = inline.node.type_condition.as_ref().map(|condition| condition.node.on.node.as_str());
            let implements = |condition: &str| {
                let interfaces = ctx.schema_env.registry.implements.get(type_name);
                interfaces.is_some_and(|interfaces| interfaces.contains(condition))
            };
            let applies = condition.is_none_or(|condition| condition == type_name || implements(condition));
            !applies || collect(ctx, &inline.node.selection_set.node, type_name, fields)
        }
        Selection::FragmentSpread(_) => false,
    })
}

/// The values of `fields`, in order.
async fn values<'a, T: ContainerType>(
    ctx: &'a ContextSelectionSet<'a>,
    object: &'a T,
    fields: &[&'a Positioned<Field>],
) -> ServerResult<Vec<Value>> {
    let mut values = Vec::with_capacity(fields.len());
    let (mut first, mut first_place, mut waiting) = (pin!(None), None, Vec::new());
    for (index, field) in fields.iter().enumerate() {
        let polled = if field.node.name.node == "__typename" {
            Poll::Ready(Ok(Value::String(object.introspection_type_name().into_owned())))
        } else if first_place.is_none() {
            first.set(Some(value(ctx, object, field)));
            let polled = poll_fn(|cx| Poll::Ready(first.as_mut().as_pin_mut().map(|it| it.poll(cx)))).await;
            polled.unwrap_or(Poll::Pending)
        } else {
            let mut boxed = Box::pin(value(ctx, object, field));
            let polled = poll_fn(|cx| Poll::Ready(boxed.as_mut().poll(cx))).await;
            if polled.is_pending() {
                waiting.push(async move { Ok((index, boxed.await?)) });
            }
            polled
        };
        match polled {
            Poll::Ready(value) => values.push(value?),
            Poll::Pending => {
                first_place.get_or_insert(index);
                values.push(Value::Null);
            }
        }
    }
    if let (Some(index), Some(first)) = (first_place, first.as_pin_mut()) {
        let mut joined = pin!(try_join(first, try_join_all(waiting)));
        // Everything was polled just now. Polling once more at each level would add up.
        let mut was_polled = true;
        let joined = poll_fn(|cx| if take(&mut was_polled) { Poll::Pending } else { joined.as_mut().poll(cx) });
        let (first, rest) = joined.await?;
        for (index, value) in rest.into_iter().chain([(index, first)]) {
            if let Some(slot) = values.get_mut(index) {
                *slot = value;
            }
        }
    }
    Ok(values)
}

async fn value<'a, T: ContainerType>(
    ctx: &'a ContextSelectionSet<'a>,
    object: &'a T,
    field: &'a Positioned<Field>,
) -> ServerResult<Value> {
    let ctx = ctx.with_field(field);
    Ok(object.resolve_field(&ctx).await?.unwrap_or_default())
}

/// Adds a field to an object. Fields with the same response key merge into one value.
fn show(object: &mut IndexMap<Name, Value>, name: Name, value: Value) {
    match object.entry(name) {
        Entry::Vacant(vacant) => {
            vacant.insert(value);
        }
        Entry::Occupied(mut known) => merge(known.get_mut(), value),
    }
}

/// Written values are read for this, into more memory than was counted for them; the cost limit bounds how many fields
/// an operation merges.
fn merge(known: &mut Value, value: Value) {
    if matches!((&*known, &value), (Value::Binary(known), Value::Binary(new)) if known == new) {
        return;
    }
    if let Value::Binary(json) = known {
        *known = written::read(json);
    }
    match (known, value) {
        (known, Value::Binary(json)) => merge(known, written::read(&json)),
        (Value::Object(known), Value::Object(new)) => {
            new.into_iter().for_each(|(name, value)| show(known, name, value));
        }
        (Value::List(known), Value::List(new)) => {
            known.iter_mut().zip(new).for_each(|(known, value)| merge(known, value));
        }
        _ => {}
    }
}

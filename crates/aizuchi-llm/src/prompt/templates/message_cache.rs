//! Renders messages with the macro of the built-in `parts.j2`, and caches the result in each
//! message: most messages of a prompt were in the previous one. The macro depends on nothing but
//! the message.

use minijinja::value::Value;
use minijinja::{Environment, Error, State};

use crate::prompt::tokens::CountedText;
use crate::prompt::view::MessageView;

/// The name of the original file next to [`CACHING_PARTS`].
const ORIGINAL_PARTS: &str = "original parts.j2";

/// Replaces `parts.j2`.
const CACHING_PARTS: &str = concat!(
    "{% from 'original parts.j2' import lines as original, notice %}",
    "{% macro lines(messages) %}{{ cached_messages(original, messages) }}{% endmacro %}",
);

/// The typical size of a message with its time and author, rounded up.
const TYPICAL_MESSAGE_BYTES: usize = 256;

/// Lets an environment cache the messages that its `parts.j2` renders. Only one environment may use
/// the cache.
pub fn install(environment: &mut Environment<'static>, parts: &'static str) -> Result<(), Error> {
    environment.add_function("cached_messages", render_messages);
    environment.add_template(ORIGINAL_PARTS, parts)?;
    environment.add_template("parts.j2", CACHING_PARTS)
}

fn render_messages(
    state: &mut State<'_, '_>,
    original: Value,
    messages: Value,
) -> Result<String, Error> {
    let mut text = String::with_capacity(messages.len().unwrap_or(0) * TYPICAL_MESSAGE_BYTES);
    for message in messages.try_iter()? {
        let cached =
            message.downcast_object_ref::<MessageView>().map(|rendered| &rendered.rendered);
        if let Some(rendered) = cached.and_then(|cached| cached.get()) {
            text.push_str(&rendered.text);
            continue;
        }
        let rendered = original.call(state, &[Value::from(vec![message.clone()])])?.to_string();
        text.push_str(&rendered);
        if let Some(cached) = cached {
            cached.get_or_init(|| CountedText::new(&rendered));
        }
    }
    Ok(text)
}

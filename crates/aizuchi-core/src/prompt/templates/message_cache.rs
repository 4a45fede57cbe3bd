//! Lines of talk, by the macro of the built-in `parts.j2`, but each of them only once: most of a prompt
//! is lines that stood in the one before. The macro knows nothing about a line but the line.

use minijinja::value::Value;
use minijinja::{Environment, Error, State};

use crate::prompt::tokens::CountedText;
use crate::prompt::view::MessageView;

/// What the file's own text is called beside [`KEEPING`].
const ORIGINAL_PARTS: &str = "parts.j2, as it is written";

/// Stands in for the file.
const CACHING_PARTS: &str = concat!(
    "{% from 'parts.j2, as it is written' import lines as written, notice %}",
    "{% macro lines(messages) %}{{ kept_lines(written, messages) }}{% endmacro %}",
);

/// Of a line with its time and name, and something to spare.
const TYPICAL_MESSAGE_BYTES: usize = 256;

/// Lets an environment keep the lines that its `parts.j2` prints. Nobody else may print them.
pub fn install(environment: &mut Environment<'static>, parts: &'static str) -> Result<(), Error> {
    environment.add_function("kept_lines", render_messages);
    environment.add_template(ORIGINAL_PARTS, parts)?;
    environment.add_template("parts.j2", CACHING_PARTS)
}

fn render_messages(
    state: &mut State<'_, '_>,
    written: Value,
    messages: Value,
) -> Result<String, Error> {
    let mut text = String::with_capacity(messages.len().unwrap_or(0) * TYPICAL_MESSAGE_BYTES);
    for message in messages.try_iter()? {
        let printed = message.downcast_object_ref::<MessageView>().map(|line| &line.rendered);
        if let Some(line) = printed.and_then(|printed| printed.get()) {
            text.push_str(&line.text);
            continue;
        }
        let line = written.call(state, &[Value::from(vec![message.clone()])])?.to_string();
        text.push_str(&line);
        if let Some(printed) = printed {
            printed.get_or_init(|| CountedText::new(&line));
        }
    }
    Ok(text)
}

//! The answer of a tool as text of limited length.

use aizuchi_agent::external_tools::ExternalAnswer;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

pub fn read(result: CallToolResult, most: usize) -> ExternalAnswer {
    let texts: Vec<String> = result.content.iter().filter_map(describe).collect();
    let structured = result.structured_content.filter(|_| texts.is_empty());
    let text = match structured {
        Some(structured) => structured.to_string(),
        None => texts.join("\n"),
    };
    let is_failure = result.is_error == Some(true);
    ExternalAnswer { is_failure, ..shorten(&text, most) }
}

/// The beginning of a text.
pub fn shorten(text: &str, most: usize) -> ExternalAnswer {
    let end = text.char_indices().nth(most).map(|(end, _)| end);
    let shown = &text[..end.unwrap_or(text.len())];
    ExternalAnswer { text: shown.to_owned(), is_cut: end.is_some(), is_failure: false }
}

/// The text of a content block. A block that is not text is represented by its kind.
fn describe(block: &ContentBlock) -> Option<String> {
    match block {
        ContentBlock::Text(text) => Some(text.text.clone()),
        ContentBlock::Image(image) => Some(format!("[{}]", image.mime_type)),
        ContentBlock::Audio(audio) => Some(format!("[{}]", audio.mime_type)),
        ContentBlock::ResourceLink(link) => Some(format!("{}: {}", link.name, link.uri)),
        ContentBlock::Resource(resource) => match &resource.resource {
            ResourceContents::TextResourceContents { text, .. } => Some(text.clone()),
            ResourceContents::BlobResourceContents { uri, .. } => Some(format!("[{uri}]")),
            // The protocol may add more kinds.
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_is_read_as_text() {
        let blocks = json!({ "content": [
            { "type": "text", "text": "roses" },
            { "type": "image", "data": "AAAA", "mimeType": "image/png" },
            { "type": "resource_link", "uri": "https://plants.example/1", "name": "one" },
            { "type": "resource", "resource": { "uri": "file:///a", "text": "thorns" } },
            { "type": "resource", "resource": { "uri": "file:///b", "blob": "AAAA" } },
        ] });
        let failed = json!({ "content": [{ "type": "text", "text": "no" }], "isError": true });
        let structured = json!({ "content": [], "structuredContent": { "height": 7 } });
        let both = json!({
            "content": [{ "type": "text", "text": "seven" }], "structuredContent": { "height": 7 },
        });
        for (result, most, text, is_cut, is_failure) in [
            (
                &blocks,
                100,
                "roses\n[image/png]\none: https://plants.example/1\nthorns\n[file:///b]",
                false,
                false,
            ),
            (&blocks, 3, "ros", true, false),
            (&failed, 100, "no", false, true),
            (&structured, 100, "{\"height\":7}", false, false),
            (&both, 5, "seven", false, false),
        ] {
            let result: CallToolResult = serde_json::from_value(result.clone()).unwrap();
            let expected = ExternalAnswer { text: text.to_owned(), is_cut, is_failure };
            assert_eq!(read(result, most), expected);
        }
    }
}

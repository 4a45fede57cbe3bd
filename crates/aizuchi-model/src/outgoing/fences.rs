//! Gives the marks of code blocks lines of their own. Chat users put them right around the code, and so do models. Slack
//! and Discord understand that, but CommonMark does not, by which a text is screened and rendered.

const FENCE: &str = "```";

/// Returns the text with each code block over several lines as CommonMark writes it.
pub fn normalize_fences(text: &str) -> String {
    let parts: Vec<&str> = text.split(FENCE).collect();
    if parts.iter().any(|part| part.starts_with('`')) {
        return text.to_owned();
    }
    let mut normal = parts[0].to_owned();
    for block in parts[1..].chunks(2) {
        let &[code, after] = block else {
            return normal + FENCE + &block.concat();
        };
        let line_break =
            |is_missing: bool| if is_missing && code.contains('\n') { "\n" } else { "" };
        let before_block = line_break(!is_line_start(&normal));
        let before_code = line_break(!is_language(first_line(code)));
        let after_code = line_break(!is_line_start(code));
        let after_block = line_break(!first_line(after).trim().is_empty());
        normal.push_str(&format!(
            "{before_block}{FENCE}{before_code}{code}{after_code}{FENCE}{after_block}{after}"
        ));
    }
    normal
}

/// Whether nothing is in the last line but marks of quotations and lists.
fn is_line_start(text: &str) -> bool {
    let line = text.rsplit('\n').next().unwrap_or_default();
    line.chars().all(|character| " \t>-*+.)0123456789".contains(character))
}

fn first_line(text: &str) -> &str {
    text.split('\n').next().unwrap_or_default()
}

/// Whether this may be the language of a code block.
fn is_language(info: &str) -> bool {
    info.trim_end()
        .chars()
        .all(|character| character.is_alphanumeric() || "_+-.#".contains(character))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_blocks_get_lines_of_their_own() {
        for (text, expected) in [
            ("so ```a b\nc``` then", "so \n```\na b\nc\n```\n then"),
            ("```sh\na```\n```{b\n}```", "```sh\na\n```\n```\n{b\n}\n```"),
            ("1. x ```\ny\n```", "1. x \n```\ny\n```"),
        ] {
            assert_eq!(normalize_fences(text), expected, "{text}");
        }
        for text in [
            "no code, `code` and ```code```",
            "```rust\nlet a = 1;\n```\nthen\n~~~\n```\n~~~",
            "> ```\n> a\n> ```\n- ```\n  b\n  ```",
            "````\n``` a\nb```\n````",
            "```a\nb",
        ] {
            assert_eq!(normalize_fences(text), text);
        }
    }
}

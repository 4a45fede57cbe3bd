//! What Slack writes between `<` and `>`, and its three entities, as people read them.

/// The text, and the ids of those who are mentioned, in their order.
pub fn read(text: &str, name: impl Fn(&str) -> Option<String>) -> (String, Vec<String>) {
    let (mut read, mut mentioned) = (String::new(), Vec::new());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('<') {
        read.push_str(before);
        let Some((inside, after)) =
            behind.split_once('>').filter(|(inside, _)| !inside.contains('<'))
        else {
            read.push('<');
            rest = behind;
            continue;
        };
        let (target, label) = match inside.split_once('|') {
            Some((target, label)) => (target, Some(label)),
            None => (inside, None),
        };
        read.push_str(&shown(target, label, &name));
        if let Some(user) = target.strip_prefix('@') {
            mentioned.push(user.to_owned());
        }
        rest = after;
    }
    read.push_str(rest);
    let read = read.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    (read, mentioned)
}

fn shown(target: &str, label: Option<&str>, name: impl Fn(&str) -> Option<String>) -> String {
    let label = label.filter(|label| !label.is_empty());
    match target.split_at_checked(1) {
        Some(("@", user)) => {
            let known = name(user).or(label.map(str::to_owned));
            format!("@{}", known.as_deref().unwrap_or(user))
        }
        Some(("#", channel)) => format!("#{}", label.unwrap_or(channel)),
        Some(("!", command)) => match label {
            Some(label) => label.to_owned(),
            None => format!("@{command}"),
        },
        Some(_) | None => {
            let bare = target.strip_prefix("mailto:").unwrap_or(target);
            match label.filter(|label| *label != bare && *label != target) {
                Some(label) => format!("{label} ({bare})"),
                None => bare.to_owned(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_as_people_see_it() {
        let name = |user: &str| (user == "U1").then(|| "mika".to_owned());
        for (text, expected) in [
            ("hello", "hello"),
            ("<@U1> and <@U2>", "@mika and @U2"),
            ("<@U3|ren>", "@ren"),
            ("<#C1|garden> <#C2>", "#garden #C2"),
            ("<https://a.example|a page>", "a page (https://a.example)"),
            (
                "<https://a.example> <mailto:a@b.example|a@b.example>",
                "https://a.example a@b.example",
            ),
            ("<!here> <!subteam^S1|@gardeners>", "@here @gardeners"),
            ("1 &lt; 2 &amp;amp; 3 > 2", "1 < 2 &amp; 3 > 2"),
            ("a < b <@U1>", "a < b @mika"),
            ("<>", ""),
            ("<", "<"),
            ("<ü|é>", "é (ü)"),
        ] {
            assert_eq!(read(text, name).0, expected, "{text}");
        }
        assert_eq!(read("<@U1> <@U2|x>", name).1, ["U1", "U2"]);
    }
}

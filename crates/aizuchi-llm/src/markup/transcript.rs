//! The form of the transcript in a prompt, which some models go on writing: `**time** name:` before each message.

/// Returns what the persona of this name says in an answer that may be written like a transcript.
pub fn own_words(text: &str, own_name: &str) -> String {
    let mut said = String::new();
    let (mut is_own, mut is_code) = (true, false);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        is_code ^= line.trim_start().starts_with("```");
        // What a line of the transcript replies or links to stands above it.
        let is_note = ["**(in reply to ", "**(links to "].iter().any(|it| line.starts_with(it))
            || ["への返信）**", "へのリンク）**"].iter().any(|it| line.trim_end().ends_with(it));
        if is_note && said.trim().is_empty() {
            continue;
        }
        let line = match read_head(line, own_name).filter(|_| !is_code) {
            Some(Head { is_own: true, is_exact, rest }) if is_exact || number == 0 => {
                is_own = true;
                rest
            }
            // Others speak for themselves.
            Some(Head { is_own: false, .. }) if !said.trim().is_empty() => break,
            Some(Head { is_own: false, .. }) => {
                is_own = false;
                continue;
            }
            Some(_) | None => line,
        };
        if is_own {
            said.push_str(line);
        }
    }
    said.trim().to_owned()
}

/// What stands before a message: its time and its speaker.
struct Head<'t> {
    /// Whether it is the persona that speaks.
    is_own: bool,
    /// Whether it tells the time as only the transcript does.
    is_exact: bool,
    /// The rest of the line.
    rest: &'t str,
}

fn read_head<'t>(line: &'t str, own_name: &str) -> Option<Head<'t>> {
    let is_mark = |it: char| " \\*_[]()".contains(it);
    let time = line.trim_start_matches(is_mark);
    let is_of_time = |it: char| it.is_ascii_digit() || "-/:. ".contains(it);
    let after = time.trim_start_matches(is_of_time);
    let is_dated = time[..time.len() - after.len()].contains(':');
    let after = if is_dated { after.trim_start_matches(is_mark) } else { time };
    // To the second.
    let time = &time[..time.len() - time.trim_start_matches(is_of_time).len()];
    let is_exact = time.matches(':').count() == 2 && time.matches('-').count() == 2;
    let is_exact = is_exact && line.trim_start_matches('\\').starts_with("**");
    let said = [own_name, "assistant"].into_iter().find_map(|own| {
        let name = after.get(..own.len()).filter(|name| name.eq_ignore_ascii_case(own))?;
        let after = after[name.len()..].trim_start_matches(['*', '_', ' ']);
        after.strip_prefix([':', '：'])
    });
    if let Some(said) = said {
        let rest = said.trim_start_matches(['*', '_']).trim_start_matches(' ');
        return Some(Head { is_own: true, is_exact, rest });
    }
    let is_own = after.trim().is_empty();
    let is_head = is_exact && line.trim_end().ends_with(if is_own { "**" } else { ":" });
    is_head.then_some(Head { is_own, is_exact, rest: "" })
}

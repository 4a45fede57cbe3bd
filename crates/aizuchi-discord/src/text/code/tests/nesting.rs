//! Texts as a hostile model may write them: addresses in and between what is code for some readers and not for others.

/// Marks that open on Discord and may close within code.
const OPENERS: [&str; 22] = [
    "**", "__", "~~", "_", "***", "||", "`", "``", "*", "```", "````", "[", "[label", "![", "<",
    "<a:/", ":", "\\", "¯\\_(ツ)_/¯", ":a_b:", "</a_b c_d:1>", "<@1>",
];
const CLOSERS: [&str; 16] = [
    "**",
    "__",
    "~~",
    "_",
    "***",
    "||",
    "`",
    "``",
    "*",
    "```",
    "](https://evil.example/m)",
    "]",
    ">",
    ")",
    "\\`",
    "\\",
];
const ADDRESSES: [&str; 18] = [
    "https://evil.example/a",
    "http://evil.example",
    "HTTPS://EVIL.example/_b_",
    "https:/evil.example/c",
    "https:\\/\\/evil.example",
    "https\\://evil.example",
    "<https://evil.example>",
    "<https:/evil.example>",
    "[x](https://evil.example)",
    "[x](https:\\/\\/evil.example)",
    "[x](<https:/evil.example>)",
    "evil.example/d",
    "//evil.example",
    "https&colon;//evil.example",
    "steam://evil.example",
    "https://https://evil.example",
    "https://known.example/a",
    "[`x`](https://evil.example \"t\")",
];
const LANGUAGES: [&str; 6] = ["", "sh", "c++ x", "rust", " ", "\\"];
const BLOCK_STARTS: [&str; 17] = [
    "> ", ">>> ", "- ", "* ", "1. ", "  - ", "   ", "# ", "#### ", "-# ", "    ", "<div>",
    "<!--\n", "<pre>\n", "<![CDATA[\n", "| a |\n|---|\n| ", "> - ",
];
const WORDS: [&str; 10] = ["a", "b c", "あ", "x_y", "2 * 3", "z.", "\t", "A_B", "-->", "</pre>"];

/// Small and even: each seed gives another text.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    }

    fn one<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

/// Returns the text of this seed.
pub fn nesting(seed: u64) -> String {
    let mut random = Random(seed);
    let mut text = String::new();
    for _ in 0..1 + random.below(3) {
        if random.below(3) > 0 {
            clean_crossing(&mut random, &mut text);
        } else {
            for _ in 0..1 + random.below(4) {
                block(&mut random, &mut text, 2);
            }
        }
    }
    if random.below(8) == 0 {
        // Long enough for several posts.
        let filler = "word ".repeat(150 + random.below(500));
        let at = random.below(text.len() + 1);
        let at = (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.insert_str(at, &filler);
    }
    if random.below(10) == 0 { text.replace('\n', "\r\n") } else { text }
}

/// An opener before code that holds its end, without anything that is odd in itself.
fn clean_crossing(random: &mut Random, text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push_str("\n\n");
    }
    if random.below(3) == 0 {
        text.push_str(
            random.one(&["> ", "- ", "1. ", "# ", "#### ", "-# ", "```\n```\n", "```\n\n```\n"]),
        );
    }
    let opener = random.one(&OPENERS);
    text.push_str(&format!(
        "{}{opener}{}",
        random.one(&["", "see ", "**so**, "]),
        random.one(&["", "a", "a b", " a"])
    ));
    let closer = if opener.starts_with('[') { "](https://evil.example/m)" } else { opener };
    if random.below(4) == 0 {
        text.push_str(&format!(" `{} {closer} https://evil.example/s`", random.one(&WORDS)));
    }
    text.push_str(random.one(&["\n", "\n\n", "\n\n"]));
    let indent = random.one(&["", "", "", "  ", "   "]);
    text.push_str(&format!("{indent}```{}\n", random.one(&["", "sh", "c++"])));
    for _ in 0..1 + random.below(3) {
        let end = if random.below(2) == 0 { closer } else { random.one(&CLOSERS) };
        let [before, after] = [0, 1].map(|_| random.one(&["", "x", " ", "a b ", "\n", "- "]));
        text.push_str(&format!("{indent}{before}{end}{after}{}\n", random.one(&ADDRESSES)));
    }
    text.push_str(&format!("{indent}```\n"));
    if random.below(3) == 0 {
        text.push_str(random.one(&[closer, "then.", "\n* a\n", "https://evil.example/e"]));
    }
}

fn block(random: &mut Random, text: &mut String, depth: usize) {
    match random.below(11) {
        0 | 1 => fence(random, text),
        2 => text.push_str(
            random.one(&["```\n```\n", "```\n\n```\n", "```\n \n```\n", "~~~\n~~~\n", "``````\n"]),
        ),
        3 => text.push_str(random.one(&OPENERS)),
        4 => text.push_str(random.one(&CLOSERS)),
        5 => text.push_str(random.one(&ADDRESSES)),
        6 => text.push_str(random.one(&BLOCK_STARTS)),
        7 if depth > 0 => crossing(random, text, depth),
        8 => code_span(random, text),
        9 => line(random, text),
        _ => text.push_str(random.one(&["\n", "\n\n", " ", "\n   ", "\n> ", "\n- "])),
    }
}

/// An opener before something that holds its end.
fn crossing(random: &mut Random, text: &mut String, depth: usize) {
    let opener = random.one(&OPENERS);
    text.push_str(opener);
    text.push_str(random.one(&["", "", " ", "a ", "\n", "a\n", "a\n\n"]));
    let start = text.len();
    block(random, text, depth - 1);
    let closer = if opener.starts_with('[') { "](https://evil.example/m)" } else { opener };
    let within = start + random.below(text.len() - start + 1);
    let within = (start..=within).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(start);
    text.insert_str(within, closer);
    if random.below(3) == 0 {
        block(random, text, depth - 1);
    }
}

fn fence(random: &mut Random, text: &mut String) {
    if !text.ends_with('\n') && random.below(4) > 0 {
        text.push('\n');
    }
    let indent = random.one(&["", "", "", "", "", "  ", "   ", "> ", "    "]);
    let mark = random.one(&["```", "```", "```", "```", "```", "~~~", "````"]);
    text.push_str(&format!("{indent}{mark}{}\n", random.one(&LANGUAGES)));
    for _ in 0..random.below(4) {
        text.push_str(indent);
        line(random, text);
        text.push('\n');
    }
    if random.below(8) > 0 {
        text.push_str(&format!("{indent}{mark}"));
    }
    text.push_str(random.one(&["\n", "\n", "\n\n", ""]));
}

fn code_span(random: &mut Random, text: &mut String) {
    let mark = random.one(&["`", "`", "`", "``", "```", "````"]);
    text.push_str(mark);
    line(random, text);
    text.push_str(mark);
}

fn line(random: &mut Random, text: &mut String) {
    for _ in 0..random.below(5) {
        text.push_str(match random.below(8) {
            0 => random.one(&OPENERS),
            1 => random.one(&CLOSERS),
            2..=4 => random.one(&ADDRESSES),
            _ => random.one(&WORDS),
        });
        text.push_str(random.one(&["", " ", " "]));
    }
}

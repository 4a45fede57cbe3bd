//! Writes answers of a hostile model and what is posted for each of them: a line of JSON with the answer and its posts. The
//! conversation holds only the URL `https://known.example/a`. Other projects' parsers read the posts (`scripts/peers`).

#[path = "../src/text/code/tests/nesting.rs"]
mod nesting;

use aizuchi_discord::text::write::{MAX_MESSAGE_LENGTH, MentionLookup, to_discord_markdown};
use aizuchi_model::outgoing;
use aizuchi_model::outgoing::secrets::SecretScanner;
use aizuchi_model::outgoing::urls::{CodeBlocks, KnownUrls};
use aizuchi_model::persona::Language;
use aizuchi_model::split::to_posts;
use serde_json::json;

const NESTINGS: u64 = 10_000;

fn main() {
    let mut known = KnownUrls::default();
    known.add("see https://known.example/a there");
    let (code, secrets) = (CodeBlocks::KeepUrls, SecretScanner::default());
    for seed in 0..NESTINGS {
        let answer = nesting::nesting(seed);
        let screened = outgoing::screen(&answer, &known, code, &secrets, Language::En);
        let posts = to_posts(&screened, &known, MAX_MESSAGE_LENGTH);
        let posts = posts.iter().map(|post| to_discord_markdown(post, &MentionLookup::empty()));
        println!("{}", json!({ "answer": answer, "posts": posts.collect::<Vec<_>>() }));
    }
}

//! The page of failures shows a failed memory update, to each role as far as it may know the place.

use reqwest::StatusCode;
use serde_json::json;
use sqlx::raw_sql;

use crate::console::harness::{ADMIN, OPERATOR, VIEWER, get, get_in, json_of, set_tokens};
use crate::generated::{GeneratedHistory, Place};
use crate::program::{Home, Program};

/// One memory update is in progress, and the last call for the other one succeeded.
const MENDED: &str = "
    UPDATE chores SET token = 1, due_ms = 5 WHERE channel = 'C0TEA' AND term = 'short_term';
    INSERT INTO attempts (decision, workspace, channel, verb, at_ms, model, prompt_hash, prompt_bytes, input_tokens,
            cached_tokens, output_tokens, latency_ms, result, price_micros, chore)
        SELECT 0, workspace, channel, 'remember', at_ms + 1000, model, '00ff', 4000, 0, 0, 0, 1200, 'kept', 0, chore
        FROM attempts WHERE chore IS NOT NULL;
    COMMIT";

async fn queue(program: &Program, token: &str, language: &str) -> String {
    let answer = get_in(program, Some(token), "/console/queue", language).await;
    assert_eq!(answer.status(), StatusCode::OK);
    answer.text().await.unwrap()
}

#[tokio::test]
async fn a_memory_that_is_not_made_is_seen_by_each_role() {
    let home = Home::new(1000.0);
    set_tokens(&home);
    assert_eq!(home.start().stop(), Some(0));
    let words: Vec<String> = (0..3).map(|number| format!("bean {number}")).collect();
    let history = GeneratedHistory {
        places: vec![
            Place::new("T0GARDEN", "C0TEA", "tearoom", "public"),
            Place::new("T0GARDEN", "C0ATTIC", "attic", "private"),
        ],
        public_words: words.clone(),
        private_words: words,
        messages: 60,
        decisions: 6,
    };
    history.write(&home).await;
    let program = home.start();
    for language in ["en", "ja"] {
        for token in [ADMIN, OPERATOR, VIEWER] {
            let shown = get_in(&program, Some(token), "/console/failures", language).await;
            let unmade = shown.text().await.unwrap();
            assert!(unmade.contains("the provider answers 429"), "{unmade}");
            assert!(unmade.contains(">#tearoom</a>"), "{unmade}");
            let private_name = if token == ADMIN { ">#attic</a>" } else { ">C0ATTIC</a>" };
            assert!(unmade.contains(private_name), "{unmade}");
        }
    }
    let health = json_of(get(&program, Some(VIEWER), "/api/health").await).await;
    let memories = health["memories"].as_array().unwrap();
    assert_eq!(memories.len(), 2, "{memories:?}");
    assert_eq!(memories[0]["term"], "short_term");
    assert_eq!(memories[0]["model"], "openai/small-1");
    assert!(memories.iter().all(|memory| memory["failing_since"].is_number()), "{memories:?}");

    let mut database = home.lock_database().await;
    raw_sql(MENDED).execute(&mut database).await.unwrap();
    let shown = queue(&program, OPERATOR, "en").await;
    assert!(shown.contains("will remember"), "{shown}");
    assert!(queue(&program, OPERATOR, "ja").await.contains("記憶する予定"));
    let health = json_of(get(&program, Some(VIEWER), "/api/health").await).await;
    let making = health["memories"].as_array().unwrap().iter();
    let making: Vec<_> = making.filter(|memory| memory["in_progress"] == true).collect();
    assert!(making.len() == 1 && making[0]["channel"] == json!("C0TEA"), "{making:?}");
    assert_eq!(program.stop(), Some(0));
}

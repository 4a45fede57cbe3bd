//! Every read of the API returns data of the workspace that it names. The reads are taken from the description, so that
//! a new one is included.

use reqwest::StatusCode;

use crate::console::harness::{ADMIN, get, json_of, set_tokens, slack_workspace};
use crate::program::Program;
use crate::slack::harness::SlackHarness;

/// Returns the address of each described `GET`, up to its workspace, with values for its required parameters.
async fn reads(program: &Program) -> Vec<String> {
    let description = json_of(get(program, Some(ADMIN), "/api/openapi.json").await).await;
    let mut reads = Vec::new();
    for (path, operations) in description["paths"].as_object().unwrap() {
        let Some(operation) = operations.get("get") else { continue };
        // It is the same for all of them.
        if path == "/api/configuration" {
            continue;
        }
        let parameters = operation["parameters"].as_array().unwrap();
        let query = parameters.iter().filter(|parameter| parameter["in"] == "query");
        let (mut address, mut takes_workspace) = (path.replace("{id}", "1") + "?", false);
        for parameter in query {
            let name = parameter["name"].as_str().unwrap();
            takes_workspace |= name == "workspace";
            if parameter["required"] == true {
                address += &format!("{name}=1&");
            }
        }
        assert!(takes_workspace, "{path} takes no workspace");
        reads.push(address + "workspace=");
    }
    reads
}

#[tokio::test]
async fn each_read_is_of_the_one_workspace_that_it_names() {
    let harness = SlackHarness::new().await;
    set_tokens(&harness);
    let program = harness.start().await;
    let workspace = slack_workspace(&program, Some(ADMIN)).await;
    let reads = reads(&program).await;
    assert!(reads.len() > 20, "{reads:?}");
    for read in &reads {
        let answer = get(&program, Some(ADMIN), &format!("{read}slack:T0")).await;
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{read}");
        let problem = json_of(answer).await;
        let sentence = "there is no workspace \"slack:T0\"; /api/workspaces lists them";
        assert_eq!(problem["error"], sentence, "{read}");
        // Two workspaces in a request are an error, and do not reveal another one.
        let twice = format!("{read}local&workspace={workspace}");
        let answer = get(&program, Some(ADMIN), &twice).await;
        assert_eq!(answer.status(), StatusCode::BAD_REQUEST, "{read}");
        assert_eq!(answer.headers()["aizuchi-refusal"], "unclear_query", "{read}");
    }
    assert_eq!(program.stop(), Some(0));
}

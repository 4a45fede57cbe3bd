//! A server that handles one request at a time: while it is busy with a call that has timed out, it gets no other
//! request.

use aizuchi_agent::external_tools::ExternalToolError;
use aizuchi_config::mcp::McpServerConfig;
use aizuchi_config::secret::Secret;
use aizuchi_config::values::BoundedInteger;
use futures_util::future::join;

use crate::mcp_servers::{POLL_INTERVAL, Running};

/// Waits on demand, and reports how often its tools were listed.
const PROGRAM: &str = r#"
import json, os, sys, time
lists = 0
def tool(name):
    hints = {"readOnlyHint": True}
    return {"name": name, "inputSchema": {"type": "object"}, "annotations": hints}
for line in sys.stdin:
    request = json.loads(line)
    method, params = request["method"], request.get("params", {})
    if "id" not in request:
        continue
    if method == "initialize":
        info = {"name": "shed", "version": "1"}
        version = params["protocolVersion"]
        result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    elif method == "tools/list":
        lists += 1
        result = {"tools": [tool("look"), tool("wait")]}
    else:
        if method == "tools/call" and params["name"] == "wait":
            open(os.environ["BEGUN"], "w").close()
            while not os.path.exists(os.environ["GO"]):
                time.sleep(0.01)
        result = {"content": [{"type": "text", "text": str(lists)}]}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"#;

#[tokio::test]
async fn a_busy_program_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (begun, go) = (folder.path().join("begun"), folder.path().join("go"));
    let server = McpServerConfig {
        command: Some("python3".to_owned()),
        args: vec!["-c".to_owned(), PROGRAM.to_owned()],
        env: [("BEGUN", &begun), ("GO", &go)]
            .map(|(name, path)| (name.to_owned(), Secret::new(path.to_str().unwrap())))
            .into(),
        timeout_seconds: BoundedInteger(30),
        ..McpServerConfig::default()
    };
    let running = Running::new("shed", server);
    running.until_offered(&["shed__look", "shed__wait"]).await;
    let before = running.call("shed__look").await;
    assert!(before.is_ok(), "{before:?}");

    let (waited, ()) = join(running.call("shed__wait"), async {
        while !begun.exists() {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        running.pass(30);
    })
    .await;
    assert_eq!(waited, Err(ExternalToolError::TimedOut));
    // Any task that would list its tools now gets to run before the next call.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    let (looked, ()) = join(running.call("shed__look"), async {
        std::fs::write(&go, "").unwrap();
    })
    .await;
    assert_eq!(looked, before);
    running.shutdown.cancel();
    running.task.await.unwrap().unwrap();
}

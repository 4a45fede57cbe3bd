//! The findings of `aizuchi check` about pictures.

use crate::command::aizuchi;
use crate::program::Home;

/// Returns the lines about pictures with these settings of agents. The model does not respond, which is a separate
/// line.
fn lines_about_pictures(agents: &str) -> Vec<String> {
    let home = Home::new(1.0);
    home.add(agents);
    let mut command = aizuchi();
    command.arg("--config").arg(home.config()).arg("check");
    let output = command.output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    let about = lines.lines().filter(|line| line.contains("pictures are not described"));
    about.map(str::to_owned).collect()
}

#[test]
fn a_model_that_gets_no_pictures_is_told_of() {
    let model =
        "{model_id: openai/m, client_args: {api_base: \"http://127.0.0.1:9/v1\", max_retries: 0}}";
    let expected = "ok    note      pictures are not described: agents.vision names the model that does, and `vision: {}` uses the \
                    model of agents.response";
    let told = lines_about_pictures(&format!("agents:\n  response: {model}\n"));
    assert_eq!(told, [expected]);
    for agents in [
        String::new(),
        format!("agents:\n  response: {model}\n  vision: {{}}\n"),
        format!("agents:\n  response: {{model_id: builtin}}\n  judgment: {model}\n"),
    ] {
        assert_eq!(lines_about_pictures(&agents), [""; 0], "{agents}");
    }
}

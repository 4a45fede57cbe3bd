//! The program's output for its operator: on startup, by `aizuchi check` and by `aizuchi why`.

use std::fmt::Display;

texts! {
    // On startup.
    /// `ask` is [`welcome_ask`] or empty; `places` is [`welcome_places`].
    welcome(name: &str, address: impl Display, ask: &str, mind: &str, accounts: &str, places: &str):
        "{name} is listening in the local room: http://{address}\n\n"
        "  Open the page in two tabs, give each a name, and talk.{ask} Write @{name} to get an answer "
        "right away.\n\n"
        "  model     {mind}{accounts}\n"
        "{places}\n\n"
        "Press Ctrl-C to stop."
        / "{name} がローカルルームで聞いています: http://{address}\n\n"
          "  ページを二つのタブで開き、タブごとに別の名前を入力して話してみてください。"
          "{ask}@{name} と書けばすぐに答えます。\n\n"
          "  モデル    {mind}{accounts}\n"
          "{places}\n\n"
          "Ctrl-C で終了します。";
    welcome_places(config: &str, database: &str):
        "  config    {config}\n"
        "  database  {database}"
        / "  設定      {config}\n"
          "  保存先    {database}";
    welcome_ask(wait: f64, name: &str):
        " Ask the room a question and wait\n"
        "  about {wait} s: {name} decides whether to join in."
        / "みんなに質問して\n"
          "  {wait} 秒ほど待つと、{name} が会話に加わるかどうかを決めます。";
    config_found(place: &str):
        "{place} (found in the current folder)" / "{place}（現在のフォルダーにあったもの）";
    config_of_variable(place: &str, variable: &str):
        "{place} (named by {variable})" / "{place}（{variable} で指定）";
    no_config: "no file; all settings are at their defaults" / "ファイルなし（すべて既定値）";
    on_one_server: ", on 1 server" / "（1 サーバー）";
    on_servers(servers: usize): ", on {servers} servers" / "（{servers} サーバー）";
    builtin_mind:
        "none: the built-in rules answer, without a language model"
        / "なし（内蔵のルールで動きます）";
    two_minds(response: &str, judgment: &str):
        "{response} answers, {judgment} decides when to speak"
        / "返答 {response}、話すかどうかの判断 {judgment}";

    // By `aizuchi why`.
    decision: "Decision" / "判断";
    covers: "Message" / "対象の発言";
    settled_when_heard: "Settled on arrival" / "受信時に適用されたルール";
    nothing_decided: "  nothing was decided about it" / "  これについての判断はありません";
    ended: "How it ended" / "結果";
    said: "Said" / "発言";
    page: "Page" / "ページ";
    call: "Model call" / "モデルの呼び出し";
    call_with_values(title: &str, values: &str): "{title} ({values})" / "{title}（{values}）";
    value_separator: "; " / "、";
    colon: ": " / "：";
}

//! The part of a report that is about what a reader can do next: the lines of a config, and commands.

texts! {
    // The lines of a config.
    /// Stands behind a line.
    unlimited: "no limit, where the defaults have one" / "既定では上限あり";
    /// Stands in place of what the page does not know.
    other_parts(parts: &str):
        "and the parts of the policy’s file: {parts}" / "方針のファイルの次の部分も：{parts}";
    /// Stands before them.
    block_of(policy: &str): "To use {policy}, put this into your config:" / "{policy} を使うには、設定ファイルにこう書きます：";
    block_of_default(policy: &str):
        "{policy} is the default settings, so your config needs no lines for it."
        / "{policy} は既定の設定なので、設定ファイルに書くものはありません。";
    /// In a report on what is posted without a model. What stands in backquotes is shown as code.
    block_without_model(policy: &str):
        "To use {policy} without a model, put this into your config (without `mode: companion` it speaks only when called; with a model that line changes nothing):"
        / "{policy} をモデルなしで使うには、設定ファイルにこう書きます（`mode: companion` がないと、呼ばれたときしか話しません。モデルを使う場合、この行があっても変わりません）：";
    block_alone_without_model:
        "To have it speak like this without a model, put this into your config (without `mode: companion` it speaks only when called; with a model that line changes nothing):"
        / "モデルなしでこのように話させるには、設定ファイルにこう書きます（`mode: companion` がないと、呼ばれたときしか話しません。モデルを使う場合、この行があっても変わりません）：";
    /// Of the only policy, which has no name that means anything.
    block: "The settings of this replay, to put into your config:" / "この再生の設定（設定ファイルに書く内容）：";

    // Commands.
    ask_model(most: &str, model: &str, estimate: &str):
        "See what a model would do: `aizuchi replay INPUT --judge model --max-cost {most} --report page.html` asks the model of your config, and says before the first "
        "call how many there are and what they cost (estimated with {model}, once: {estimate}; --max-cost {most} stops it there); give it the --policy options of this replay, too."
        / "モデルならどうするかを見る：`aizuchi replay INPUT --judge model --max-cost {most} --report page.html` が設定ファイルのモデルに尋ねます。最初の呼び出しの前に、"
          "回数と費用を表示して確認します（{model} の場合の見積もり、1 回分：{estimate}。--max-cost {most} に達すると止まります）。この再生の --policy も付けてください。";
    estimate_alone(period: &str, money: &str): "{money} for all {period}" / "{period}分で {money}";
    /// Of all policies of the page, and of the first one alone.
    estimate_of_all(policies: usize, period: &str, money: &str, policy: &str, alone: &str):
        "{money} for all {policies} policies and {period}; {alone} for {policy} only"
        / "{policies} つの方針すべて、{period}分で {money}（{policy} だけなら {alone}）";
    ask_model_unpriced:
        "See what a model would do: `aizuchi replay INPUT --judge model --report page.html` asks the model of your config, and says before the first call how many there "
        "are and what they cost; give it the --policy options of this replay, too."
        / "モデルならどうするかを見る：`aizuchi replay INPUT --judge model --report page.html` が設定ファイルのモデルに尋ねます。最初の呼び出しの前に、回数と費用を"
          "表示して確認します。この再生の --policy も付けてください。";
}

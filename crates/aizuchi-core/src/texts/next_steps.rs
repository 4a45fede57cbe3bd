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
        "{policy} is the default settings, so your config needs no lines for it. Without a model, `response.mode: companion` has to be set as well: the "
        "default there is `mention_only`."
        / "{policy} は既定の設定なので、設定ファイルに書くものはありません。モデルを使わない場合だけは `response.mode: companion` も必要です（既定は `mention_only`）。";
    /// Of the only policy, which has no name that means anything.
    block: "The settings of this replay, to put into your config:" / "この再生の設定（設定ファイルに書く内容）：";

    // Commands.
    ask_model(most: &str, model: &str, money: &str):
        "See what a model would do: `aizuchi replay INPUT --judge model --max-cost {most} --report page.html` asks the model of your config, and says before the first "
        "call how many there are and what they cost (with {model} an estimated {money} for all policies of this page, once; it ends at --max-cost); give it the --policy options of this replay, too."
        / "モデルならどうするかを見る：`aizuchi replay INPUT --judge model --max-cost {most} --report page.html` が設定ファイルのモデルに尋ねます。最初の呼び出しの前に、"
          "回数と費用を表示して確認します（{model} なら、このページの方針すべてで 1 回だけ、見積もりは {money}。--max-cost に達すると止まります）。この再生の --policy も付けてください。";
    ask_model_unpriced:
        "See what a model would do: `aizuchi replay INPUT --judge model --report page.html` asks the model of your config, and says before the first call how many there "
        "are and what they cost; give it the --policy options of this replay, too."
        / "モデルならどうするかを見る：`aizuchi replay INPUT --judge model --report page.html` が設定ファイルのモデルに尋ねます。最初の呼び出しの前に、回数と費用を"
          "表示して確認します。この再生の --policy も付けてください。";
}

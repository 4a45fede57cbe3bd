//! What stands in prompts besides the templates.

texts! {
    repair_request(problem: &str):
        "Your last answer could not be used: {problem}. Answer again with the JSON object alone."
        / "直前の回答は利用できませんでした（{problem}）。JSON オブジェクトだけで、"
          "もう一度回答してください。";
    /// In the middle of a message that is too long. The asterisks keep it from being forged.
    characters_left_out(count: usize):
        "**({count} characters left out)**"
        / "**（{count}文字を省略）**";

    tools_heading: "Tools" / "使えるツール";
    used_tools_heading: "Tools used so far" / "使ったツール";
    tool_results_heading: "What your tools have said" / "ツールの結果";
    no_more_tools:
        "You can use no more tools. Answer now, in words alone."
        / "これ以上ツールは使えません。いま、言葉だけで答えてください。";
}

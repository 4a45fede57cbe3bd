//! The tools of a reply as a model is told of them, and what they answer besides their results.

texts! {
    add_memo:
        "Keeps a new memo: something about people, plans or promises that will matter later. Look "
        "first whether there is one already."
        / "新しいメモを残します。人や予定、約束など、あとで必要になることを書きます。"
          "先に同じ内容のメモがないか確かめてください。";
    edit_memo:
        "Changes a memo. What is left out stays as it is; detail replaces the old detail."
        / "メモを書き換えます。省略した項目は変わりません。detail は前の内容と置き換わります。";
    remove_memo:
        "Throws a memo away that is no longer true or needed."
        / "正しくなくなったメモや、いらなくなったメモを削除します。";
    list_memo:
        "Lists memos on one line each, the most important first."
        / "メモを重要なものから順に一行ずつ一覧します。";
    get_memo:
        "Shows one memo with everything that is written in it."
        / "一つのメモを、詳細を含めてすべて表示します。";
    list_memo_tags:
        "Lists the tags that memos have, and how many have each."
        / "メモに付いているタグと、その件数を一覧します。";
    search_messages:
        "Searches what has been said here for words, also long ago."
        / "これまでの発言を、古いものも含めて言葉で検索します。";

    // Arguments.
    memo_name: "The memo's name." / "メモの名前。";
    memo_content: "What is to be kept, in a sentence or two." / "残す内容。一、二文で。";
    memo_priority:
        "From 1 (it hardly matters) to 5 (never forget)."
        / "1（低い）から 5（忘れてはいけない）。";
    memo_tags(most: usize):
        "At most {most} words to find it by."
        / "分類のための言葉。{most} つまで。";
    new_memo_name(longest: usize):
        "A name of its own, at most {longest} characters."
        / "ほかと重ならない名前。{longest} 文字まで。";
    memo_detail: "What is too long for the content." / "content に収まらない詳しい内容。";
    listed_tag: "Only memos with this tag." / "このタグの付いたメモだけ。";
    offset: "How many to pass over." / "先頭から飛ばす件数。";
    limit(most: usize): "At most {most}." / "最大 {most}。";
    search_query: "The words to look for." / "探す言葉。";

    // Answers.
    unknown_tool(tools: &str):
        "There is no tool of this name. There are: {tools}"
        / "その名前のツールはありません。使えるツール: {tools}";
    invalid_arguments(problem: &str):
        "The arguments cannot be used: {problem}"
        / "引数が正しくありません: {problem}";
    no_room:
        "It was done, but there is no room left for what came of it. Answer with what you have."
        / "実行しましたが、結果を載せる余地がありません。いまある情報で答えてください。";
    calls_left_out(count: usize, most: usize):
        "Further calls were left out: {count}. At most {most} are made at a time."
        / "一度に実行できるのは {most} 件までなので、残りの {count} 件は実行していません。";
    empty_query: "Give words to search for." / "検索クエリを入力してください";
    search_failed: "The search does not work right now." / "いまは検索できません。";
    found_in_prompt:
        "Everything that was found stands in the conversation above."
        / "見つかった発言は、すべて上の会話に含まれています。";
    nothing_found: "Nothing was found." / "検索結果が見つかりませんでした";
}

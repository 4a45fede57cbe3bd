//! The tools for replies: their descriptions for a model, and their messages besides results.

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
    web_search:
        "Searches the web for what is new, or what you do not know for certain. Name the address of "
        "what you use."
        / "ウェブを検索します。新しいことや確かでないことを調べるときに使います。"
          "使った情報の URL を答えに書いてください。";
    web_fetch:
        "Reads the page at an address from the conversation or from a search. Name the address if "
        "you use it."
        / "会話や検索結果にある URL のページを読みます。使ったときは、その URL を答えに書いてください。";
    be_quiet:
        "If the one who addresses you asks you to be quiet: stop says nothing here for a while, less "
        "speaks unasked less often. The answer is written for you."
        / "話しかけた人が静かにしてほしいと言っているときに使います。stop はしばらくここで何も話さず、less は自分から話す回数を減らします。"
          "返事は自動で書かれます。";

    schedule:
        "Plans something that you will say here later: a reminder, or a promise of yours. Without it, nothing that you announce for later will happen."
        / "あとでここで言うことを予定に入れます。リマインドや、自分の約束に使います。これを使わないと、「あとで」と言ったことは実行されません。";
    schedule_at:
        "When: a date and time as “2026-12-04 09:00” in the zone of the asker, or words such as “in 20 minutes”, “tomorrow at 9”."
        / "いつ。頼んだ人のタイムゾーンで「2026-12-04 09:00」のように書くか、「20分後」「明日の9時」のように書きます。";
    schedule_what: "What is to be said or done then, in one sentence." / "そのときに言うこと、することを一文で。";
    schedule_who: "Whom it is for." / "だれに向けたものか。";
    scheduled(moment: &str): "Planned for {moment}. Name that time in your answer." / "{moment} に予定しました。返事でその時刻を伝えてください。";
    not_scheduled: "Not planned: this is no single time to come. Name another one, or promise nothing." / "予定できませんでした。これから先の一つの時刻ではありません。別の時刻にするか、約束しないでください。";
    too_many_plans: "Not planned: there are too many plans already. Promise nothing." / "予定がすでに多すぎるため、入れられませんでした。約束しないでください。";

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
    web_query: "What to look for on the web." / "ウェブで調べる言葉。";
    page_address: "The address, exactly as it is written there." / "URL。書かれているとおりに。";

    // Answers.
    not_asked_for_quiet:
        "The one who addresses you did not ask for quiet in their own words."
        / "話しかけた人自身の言葉では、静かにするよう頼まれていません。";
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
    empty_query: "Give words to search for." / "検索する言葉を指定してください。";
    search_failed: "The search does not work right now." / "いまは検索できません。";
    found_in_prompt:
        "Everything that was found stands in the conversation above."
        / "見つかった発言は、すべて上の会話に含まれています。";
    tool_timed_out: "The tool did not answer in time." / "ツールが時間内に応答しませんでした。";
    tool_unavailable:
        "The tool cannot be reached right now. Answer with what you have."
        / "いまはこのツールを使えません。いまある情報で答えてください。";
    tool_called_before:
        "This was called with the same arguments for this answer already, so it was not done again. Use "
        "what came of it."
        / "この返信のために、同じ引数ですでに呼び出したので、もう一度は実行していません。その結果を使ってください。";
    tool_calls_used_up:
        "No further tool can be called for this answer. Answer with what you have."
        / "この返信のためにツールを呼び出せる回数を使い切りました。いまある情報で答えてください。";
    tool_said_nothing: "The tool has nothing to say to that." / "ツールの結果は空でした。";
    tool_failed: "The tool says that it failed:" / "ツールがエラーを返しました:";
    answer_cut: "(The rest is left out.)" / "（以下は省略しました）";
    nothing_found: "Nothing was found." / "検索結果が見つかりませんでした。";

    // Answers of the web tools.
    web_results(query: &str): "Found on the web for “{query}”:" / "「{query}」の検索結果:";
    web_search_failed:
        "The web search does not work right now."
        / "いまはウェブ検索を使えません。いまある情報で答えてください。";
    no_page_address:
        "This is no address of a page. Give one that begins with http:// or https://."
        / "無効な URL です。http:// または https:// で始まる URL を指定してください。";
    unknown_page_address:
        "This address is not read, because it stands neither in the conversation nor in what a search "
        "found. Use one from there, exactly as it is written."
        / "この URL は会話にも検索結果にもないので読めません。そこにある URL を、書かれているとおりに使ってください。";
    page_address_refused:
        "This address is not read: it leads into a private network, or names a port or a user."
        / "この URL は読めません。内部のネットワークにつながるか、ポートやユーザー名を含んでいます。";
    page_unencrypted:
        "This page is not read: its address leads from https to http, where others could change it on "
        "its way."
        / "このページは読めません。https から http に移るので、途中で書き換えられるおそれがあります。";
    secret_not_sent:
        "This holds a key or a token, so it was not sent."
        / "鍵やトークンが含まれているので、送りませんでした。";
    page_timed_out:
        "The page did not come in time." / "ページの取得がタイムアウトしました。";
    page_not_read: "The page could not be read." / "ページを取得できませんでした。";
    page_status(status: u16):
        "The page could not be read: its server answered with the status {status}."
        / "ページを取得できませんでした（ステータス {status}）。";
    page_not_text:
        "This is neither a page nor plain text nor JSON nor a PDF with text in it, so it cannot be read."
        / "HTML、テキスト、JSON、文字の入った PDF のどれでもないので読めません。";
    page_too_large: "The document is too large to be read." / "文書が大きすぎて読めません。";
    page_empty:
        "The page has no text that can be read without running its scripts."
        / "スクリプトを動かさずに読める文章がありません。";
    page_cut: "(The rest of the page is left out.)" / "（ページの続きは省略しました）";
    web_limit_of_reply:
        "Nothing more can be looked up on the web for this answer. Answer with what you have."
        / "この返信のためにウェブで調べられる回数を使い切りました。いまある情報で答えてください。";
    web_limit_of_person:
        "As much as is allowed was looked up on the web for this person in the last 24 hours. Answer "
        "with what you have."
        / "この人のためにウェブで調べられる 24 時間あたりの回数を使い切りました。いまある情報で答えてください。";
    web_limit_of_day:
        "As much as is allowed was looked up on the web in the last 24 hours. Answer with what you have."
        / "ウェブで調べられる 24 時間あたりの回数を使い切りました。いまある情報で答えてください。";
    /// Appended to an answer that names none of the pages that were read for it.
    sources(addresses: &str): "Sources: {addresses}" / "出典：{addresses}";
}

//! The meanings of the JSON API's fields. The English texts are the fields' doc comments, from which the OpenAPI
//! description is generated; the page for people also has them in Japanese.

use crate::persona::Language;

/// The English text, as in the field's doc comment, and the Japanese one; sorted by the English.
pub const MEANINGS: &[(&str, &str)] = &[
    (
        "Every setting, first the orders for a whole workspace and what the file sets.",
        "すべての項目。ワークスペース全体の設定と、ファイルで設定された項目が先。",
    ),
    ("How many failures to skip.", "読み飛ばす件数。"),
    (
        "How welcome the persona was, for each channel in which it chose to speak or not. The last hour is not rated yet.",
        "どれだけ歓迎されたか。話すか黙るかを自分で決めたことのあるチャンネルごと。直近の 1 時間はまだ含まない。",
    ),
    (
        "Identifies the database. It changes when the database is recreated or restored from a backup.",
        "データベースを表す ID。新しく作り直すか、バックアップから復元すると変わる。",
    ),
    (
        "Memories that are waiting to be made, each with the error if its newest model call failed.",
        "作られるのを待っている記憶。最後のモデル呼び出しに失敗したものは、そのエラーも。",
    ),
    (
        "Only messages after this one, by its id, or after this time in epoch seconds.",
        "この ID の発言、またはこの時刻（エポック秒）よりあとの発言だけを返す。",
    ),
    ("Only messages before this one, by its id.", "この ID の発言より前の発言だけを返す。"),
    ("Only orders of this kind; all if omitted.", "この種類の操作だけ。省略するとすべて。"),
    (
        "Only orders that apply in this channel, by its id, or in one of its threads.",
        "このチャンネル（ID で指定）か、そのスレッドで有効な指示だけを返す。",
    ),
    (
        "Only plans for this channel, by its id, and its threads.",
        "このチャンネル（ID で指定）と、そのスレッドの予定だけを返す。",
    ),
    (
        "Only this workspace, by its id; all workspaces if omitted.",
        "このワークスペースだけ（ID で指定）。省略するとすべて。",
    ),
    ("Required; `null` removes the mark.", "省略できない。`null` を指定すると評価を取り消す。"),
    (
        "Required; `null` restores the configured mode.",
        "省略できない。`null` を指定すると設定どおりのモードに戻す。",
    ),
    (
        "The `older` value of a page, to get the next older one.",
        "さらに古いページを読むときに指定する、いまのページの `older` の値。",
    ),
    (
        "The address of the model; null if it is the provider's own.",
        "モデルのアドレス。プロバイダーの既定のアドレスなら null。",
    ),
    (
        "The channels that could not be changed or, if an order is undone, that were changed since.",
        "変更できなかったチャンネル。取り消しでは、その後に変更されていたもの。",
    ),
    (
        "The channels that were changed. Those that had the value already are in neither list.",
        "変更されたチャンネル。すでにその値だったものは、どちらの一覧にもない。",
    ),
    ("The currency of all amounts.", "金額の通貨。"),
    ("The figures of each day, oldest first.", "日ごとの数値。古い順。"),
    ("The id of a channel.", "チャンネルの ID。"),
    (
        "The id of a channel; all channels if omitted.",
        "チャンネルの ID。省略するとすべてのチャンネル。",
    ),
    (
        "The id of a thread's first message; the whole channel if omitted.",
        "スレッドの最初の発言の ID。省略するとチャンネル全体。",
    ),
    (
        "The id of a workspace; the local room if omitted.",
        "ワークスペースの ID。省略するとローカルルーム。",
    ),
    (
        "The id of the local room, which is the default. No other workspace accepts this request.",
        "ローカルルームの ID。省略してもよい。ほかのワークスペースではこのリクエストを受け付けない。",
    ),
    (
        "The id of the local room, which is the default. No other workspace serves files.",
        "ローカルルームの ID。省略してもよい。ほかのワークスペースのファイルは取得できない。",
    ),
    (
        "The id of the message that the file was sent with.",
        "このファイルを付けて送られた発言の ID。",
    ),
    (
        "The id of the workspace to look in; all workspaces if omitted.",
        "対象を探すワークスペースの ID。省略するとすべて。",
    ),
    (
        "The ids of files that were uploaded for this message.",
        "この発言に付けるためにアップロードしておいたファイルの ID。",
    ),
    ("The ids of the channels.", "チャンネルの ID。"),
    (
        "The keys that have changed since the start, and take effect at the next one.",
        "起動後に変更され、次の起動で有効になる項目。",
    ),
    ("The keys whose new values are in effect.", "新しい値が有効になった項目。"),
    (
        "The maximum cost, in the currency of the prices. If omitted, the judge is not asked and the cost is estimated.",
        "費用の上限（料金表の通貨）。省略すると、判断役には尋ねず、費用の見積もりだけを返す。",
    ),
    (
        "The median delays of answers, for each channel with any answers.",
        "返事が来るまでの時間の中央値。返事のあったチャンネルごと。",
    ),
    ("The model that was asked now, or would be.", "今回尋ねた、または尋ねることになるモデル。"),
    ("The models that can be chosen.", "選べるモデル。"),
    ("The name of the file.", "ファイル名。"),
    (
        "The new verdict; null if the judge was not asked or its answer could not be used.",
        "今回の判断。尋ねなかった場合と、答えが使えなかった場合は null。",
    ),
    (
        "The number of an order whose text is replaced; it keeps its channel and thread.",
        "文を差し替える指示の番号。チャンネルとスレッドは変わらない。",
    ),
    (
        "The number of days within which it failed last: 1 to 30; 30 if omitted.",
        "この日数のうちに最後に失敗したもの。1 から 30。省略すると 30。",
    ),
    (
        "The number of days, including today: 1 to 90; 30 if omitted.",
        "今日を含む日数。1 から 90 まで。省略すると 30。",
    ),
    (
        "The number of decisions by outcome; `open` counts those that have not ended.",
        "結果ごとの判断の数。`open` はまだ終わっていないもの。",
    ),
    ("The number of marks of each kind.", "種類ごとの評価の数。"),
    (
        "The number of memories that were made from their messages.",
        "その人の発言から作られた記憶の数。",
    ),
    (
        "The number of posts and answers that failed for good and wait for an operator.",
        "最終的に失敗し、運用担当者の対応を待っている投稿や返事の数。",
    ),
    (
        "The number of the order in the journal, by which it is undone.",
        "記録での番号。取り消しに使う。",
    ),
    (
        "The number of the play. Events about the demo have it, too; a later play has a higher one.",
        "この上演の番号。デモのイベントにもあり、あとの上演ほど大きい。",
    ),
    ("The path of the config file; null if there is none.", "設定ファイルのパス。なければ null。"),
    ("The person's id.", "その人の ID。"),
    (
        "The platforms that refused their new secrets, and keep the old ones.",
        "新しい認証情報を拒否し、以前のものを使い続けるプラットフォーム。",
    ),
    (
        "The recorded verdict; null if the judge's answer could not be used.",
        "記録にある判断。判断役の答えが使えなかった場合は null。",
    ),
    (
        "The text of the message. It may be blank if there are files.",
        "発言の本文。ファイルがあれば空でもよい。",
    ),
    (
        "The text to post instead, if the choice is `edit`.",
        "`edit` を選んだ場合に、代わりに投稿する文。",
    ),
    (
        "The time zone in which days begin at midnight.",
        "一日の始まり（午前 0 時）を決めるタイムゾーン。",
    ),
    (
        "The tokens of the call; an estimate if the judge was not asked.",
        "呼び出しで使ったトークン数。尋ねなかった場合は見積もり。",
    ),
    (
        "The value of `before` for the next older page, if there is one.",
        "さらに古いものがある場合に、次に `before` に指定する値。",
    ),
    (
        "The value of `before` for the next older page, if there is one: a time in epoch milliseconds.",
        "さらに古いものがある場合に、次に `before` に指定する値（エポックミリ秒の時刻）。",
    ),
    ("The value of a setting.", "設定の値。"),
    (
        "The value, written as in the config; names of tools are separated by commas. Null clears the setting there.",
        "値（設定ファイルと同じ書き方）。ツールの名前はコンマで区切る。null を指定すると、ここでの設定を取り消す。",
    ),
    ("The version to restore: the `before` of a change.", "戻したい版。変更履歴の `before` の値。"),
    (
        "The visitor's role: `viewer`, `operator` or `admin`; null without a sign-in.",
        "閲覧している人の役割（`viewer`、`operator`、`admin`）。ログインしていなければ null。",
    ),
    (
        "Unanswered offers of the persona to speak by itself.",
        "自分から話してよいかという問いのうち、まだ返事のないもの。",
    ),
    (
        "What a budget in money does not count; absent if it counts everything.",
        "金額の予算に数えられないもの。すべて数えられるなら省かれる。",
    ),
    (
        "What costs most comes first, here and in the next two.",
        "費用の多い順。次の 2 つの一覧も同じ。",
    ),
    (
        "What was learned from decisions about proposals, for each channel with any.",
        "発言の案への判断からわかったこと。誰かが判断したことのあるチャンネルごと。",
    ),
    (
        "When a mute of the whole workspace ends; null if it is not muted.",
        "ワークスペース全体のミュートが終わる時刻。ミュートしていなければ null。",
    ),
    (
        "When the newest backup was made, by any process; null if none is known.",
        "最後にバックアップを作った時刻（どのプロセスが作ったものでもよい）。なければ null。",
    ),
    ("Where the database is, without credentials.", "データベースの場所（認証情報は除く）。"),
    (
        "Whether `talks` leaves out channels that the visitor may read: it has at most 50, except in the local room.",
        "閲覧している人が読めるチャンネルのうち、`talks` にないものがあるか（ローカルルームを除き、最大 50 個）。",
    ),
    (
        "Whether memories of less recently active threads are left out.",
        "しばらく動きのないスレッドの記憶を省いているか。",
    ),
    (
        "Whether to also return orders that are no longer in force.",
        "すでに効力のない指示も返すか。",
    ),
    (
        "Whether to also return the decisions about these messages.",
        "これらの発言についての判断も返すか。",
    ),
    (
        "Whether to give the order as a draft, which is not followed until it is kept.",
        "下書きとして追加するか。下書きには、採用されるまで従わない。",
    ),
    (
        "Why there is no new verdict, although the judge was asked.",
        "尋ねたのに今回の判断がない場合、その理由。",
    ),
    (
        "With `after`: the value of `after` for the next newer page, if there is one.",
        "`after` を指定し、さらに新しい発言がある場合に、次に `after` に指定する値。",
    ),
    (
        "With `channel`: only decisions that ended this way, are still `open`, or had a `superseded` attempt.",
        "`channel` を指定した場合、この結果で終わった判断だけを返す。`open` は未完了のもの、`superseded` は試みが取り消されたもの。",
    ),
    (
        "With `channel`: the `older` value of a page, to get the next older one.",
        "`channel` を指定した場合に使う。さらに古いページを読むときに指定する、いまのページの `older` の値。",
    ),
    (
        "With `channel`: the value of `before` for the next older page, if there is one.",
        "`channel` を指定し、さらに古いものがある場合に、次に `before` に指定する値。",
    ),
    (
        "With `decisions`: the decisions about these messages.",
        "`decisions` を指定した場合、これらの発言についての判断。",
    ),
    (
        "With `thread`: the first message of the thread; null if it is not known.",
        "`thread` を指定した場合、そのスレッドの最初の発言。見つからなければ null。",
    ),
    (
        "Without `after`: the value of `before` for the next older page, if there is one.",
        "`after` を指定せず、さらに古い発言がある場合に、次に `before` に指定する値。",
    ),
    (
        "`language`, `min_confidence`, `timing`, `announce`, `tools`, `memory`, `model` or `money_per_day`.",
        "`language`、`min_confidence`、`timing`、`announce`、`tools`、`memory`、`model`、`money_per_day` のどれか。",
    ),
    (
        "`mode observe`, `mode`, `mute 120`, `mute`, `unmute`, or `set` or `clear` with `min_confidence` or `money_per_day`.",
        "`mode observe`、`mode`、`mute 120`、`mute`、`unmute`、または `set` か `clear` に `min_confidence` か `money_per_day` を続けたもの。",
    ),
    (
        "`model`, `post`, `look_up` or `backfill`.",
        "`model`、`post`、`look_up`、`backfill` のどれか。",
    ),
];

/// Translates the meaning of a field, given in English.
pub fn meaning(language: Language, english: &str) -> &str {
    match language {
        Language::En => english,
        Language::Ja => MEANINGS
            .iter()
            .find(|(known, _)| *known == english)
            .map_or(english, |(_, japanese)| *japanese),
    }
}

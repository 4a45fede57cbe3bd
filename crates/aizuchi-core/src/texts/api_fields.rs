//! The meanings of the JSON API's fields. The English texts are the fields' doc comments, from which the OpenAPI
//! description is generated; the page for people also has them in Japanese.

use crate::persona::Language;

/// The English text, as in the field's doc comment, and the Japanese one; sorted by the English.
pub const MEANINGS: [(&str, &str); 67] = [
    ("Also return the decisions on these messages.", "これらの発言についての判断も返す。"),
    ("Also what is not in force any more.", "すでに効力のないものも含める。"),
    (
        "As the config would have it; names of tools with commas between them. Null: nothing is set there any more.",
        "設定ファイルと同じ書き方。道具の名前はコンマで区切る。null なら、ここでの指定をやめる。",
    ),
    ("For each channel in which somebody has decided.", "誰かが決めたことのあるチャンネルごと。"),
    ("How the file is called.", "ファイルの名前。"),
    (
        "How welcome the persona was, for each channel in which it chose to speak or not. The last hour is not rated yet.",
        "どれだけ歓迎されたか。話すか黙るかを自分で決めたことのあるチャンネルごと。直近の 1 時間はまだ含まない。",
    ),
    (
        "Identifies the database. It changes when the database is recreated or restored from a backup.",
        "データベースを表す ID。新しく作り直すか、バックアップから復元すると変わる。",
    ),
    (
        "If a thread was asked for: the message that it is under, or null.",
        "スレッドを指定した場合、そのもとの発言。なければ null。",
    ),
    (
        "If there are newer messages than these after a message or time: the value of `after` for them.",
        "ある発言や時刻よりあとを読み、まだ続きがある場合に、次に `after` に指定する値。",
    ),
    (
        "If there are older messages than these newest ones: the value of `before` for them.",
        "新しいほうから読み、さらに古い発言がある場合に、次に `before` に指定する値。",
    ),
    ("If they were asked for.", "求められた場合だけ返す。"),
    ("May be blank if there are files.", "ファイルがあれば空でもよい。"),
    (
        "Memories that are waiting to be made, each with the error if its newest model call failed.",
        "作られるのを待っている記憶。最後のモデル呼び出しに失敗したものは、そのエラーも。",
    ),
    ("Null if its answer could not be used.", "答えが使えなかった場合は null。"),
    (
        "Null if nothing was asked, or the answer could not be used.",
        "何も尋ねなかった場合と、答えが使えなかった場合は null。",
    ),
    (
        "Of a channel, if there are older ones: the value of `before` for them.",
        "チャンネルを指定し、さらに古いものがある場合に、次に `before` に指定する値。",
    ),
    (
        "Of a channel: only decisions that ended so, are `open`, or had an attempt that was `superseded`.",
        "チャンネルを指定した場合、その結果で終わった判断だけ。`open` は未完了のもの、`superseded` は試みが取り消されたもの。",
    ),
    (
        "Of a channel: the `older` of the page behind the one that is wanted.",
        "チャンネルを指定した場合に使う。一つ新しいページの `older` の値。",
    ),
    (
        "Of the call; if nothing was asked, an estimate.",
        "呼び出しで使った分。何も尋ねなかった場合は見積もり。",
    ),
    (
        "Only in this workspace, by its id. Without one it is all of them.",
        "このワークスペースの中だけ（ID で指定）。省略するとすべて。",
    ),
    (
        "Only of this workspace, by its id. Without one it is all of them.",
        "このワークスペースのものだけ（ID で指定）。省略するとすべて。",
    ),
    (
        "Only the local room has files; it is the default.",
        "ファイルがあるのはローカルルームだけ。省略してもローカルルームになる。",
    ),
    (
        "Only the local room takes this; it is the default.",
        "受け付けるのはローカルルームだけ。省略してもローカルルームになる。",
    ),
    (
        "Only this workspace, by its id. Without one it is all of them.",
        "このワークスペースだけ（ID で指定）。省略するとすべて。",
    ),
    (
        "Only what holds in this channel or one of its threads, by its id.",
        "このチャンネル（ID で指定）と、そのスレッドで有効なものだけ。",
    ),
    (
        "Required, because `null` has a meaning of its own: back to the configured mode.",
        "省略できない。`null` は「設定どおりのモードに戻す」という意味になる。",
    ),
    (
        "Required, because `null` has a meaning of its own: no mark.",
        "省略できない。`null` は「評価なし」という意味になる。",
    ),
    ("The `older` of the page behind the one that is wanted.", "一つ新しいページの `older` の値。"),
    ("The currency of all amounts.", "金額の通貨。"),
    ("The end of a mute of the whole workspace.", "ワークスペース全体のミュートが終わる時刻。"),
    ("The figures of each day, oldest first.", "日ごとの数値。古い順。"),
    ("The id of a channel.", "チャンネルの ID。"),
    ("The id of a message, or a time in epoch seconds.", "発言の ID、またはエポック秒の時刻。"),
    ("The id of a message.", "発言の ID。"),
    (
        "The id of a thread's first message. Without one it holds in the whole channel.",
        "スレッドの最初の発言の ID。なければチャンネル全体に効く。",
    ),
    (
        "The id of a thread's first message. Without one it is the channel.",
        "スレッドの最初の発言の ID。なければチャンネルを指す。",
    ),
    (
        "The id of a workspace. Without one it is the local room.",
        "ワークスペースの ID。省略するとローカルルーム。",
    ),
    (
        "The id of a workspace; the local room if omitted.",
        "ワークスペースの ID。省略するとローカルルーム。",
    ),
    ("The id of the message that was sent with it.", "このファイルを付けて送られた発言の ID。"),
    (
        "The ids of files that were uploaded for it.",
        "この発言に付けるために送っておいたファイルの ID。",
    ),
    (
        "The median delays of answers, for each channel with any answers.",
        "返事が来るまでの時間の中央値。返事のあったチャンネルごと。",
    ),
    ("The models that can be chosen.", "選べるモデル。"),
    (
        "The most that it may cost, in the currency of the prices. Without it nothing is asked, and the cost is told.",
        "費用の上限（料金表の通貨）。省略すると何も尋ねず、費用だけを返す。",
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
        "The number of posts and answers that failed for good and wait for an operator.",
        "最終的に失敗し、運用する人の対応を待っている投稿や返事の数。",
    ),
    (
        "The order whose text this one replaces; it keeps its channel.",
        "文を差し替える指示の番号。チャンネルは変わらない。",
    ),
    (
        "The time zone in which days begin at midnight.",
        "一日の始まり（午前 0 時）を決めるタイムゾーン。",
    ),
    (
        "The value of `before` for the page before, if there is one.",
        "さらに古いものがある場合に、次に `before` に指定する値。",
    ),
    (
        "The value of `before` for the page before, if there is one: a time in milliseconds.",
        "さらに古いものがある場合に、次に `before` に指定する値（ミリ秒の時刻）。",
    ),
    ("The version, which a change names as `before`.", "版。変更するときに `before` に指定する。"),
    (
        "The workspace that it must be of. Without one it may be of any.",
        "属しているはずのワークスペース。省略するとどれでもよい。",
    ),
    ("What is said instead, if the choice is `edit`.", "`edit` を選んだ場合に、代わりに話す文。"),
    (
        "What the visitor may do: `viewer`, `operator`, `admin`; null without a sign-in.",
        "閲覧している人の役割（`viewer`、`operator`、`admin`）。ログインしていなければ null。",
    ),
    (
        "When the newest backup was made, by any process; null if none is known.",
        "最後にバックアップを作った時刻（どのプロセスが作ったものでもよい）。なければ null。",
    ),
    (
        "Where it offers to speak by itself, and nobody has answered.",
        "自分から話してよいかを尋ね、まだ返事のない場所。",
    ),
    ("Where the database is, without credentials.", "データベースの場所（認証情報は除く）。"),
    (
        "Where the model is, if not at its provider's own address.",
        "モデルの場所。提供元のいつものアドレスなら指定しない。",
    ),
    (
        "Whether `talks` lacks channels that the visitor may read: those after the first fifty of another workspace.",
        "閲覧している人が読めるのに `talks` にないチャンネルがあるか（ほかのワークスペースの 51 番目以降）。",
    ),
    (
        "Whether it is a draft at first, which is followed once it is kept.",
        "まず下書きにするか。下書きには、採用されてから従う。",
    ),
    (
        "Whether memories of threads that were active less recently are left out.",
        "しばらく動きのないスレッドの記憶を省いているか。",
    ),
    ("Who was asked now, or would be.", "今回尋ねた、または尋ねることになるモデル。"),
    ("Why there is no verdict now.", "今回の判断がない理由。"),
    ("Without one it holds in all channels.", "省略するとすべてのチャンネルで有効。"),
    ("Without one it holds in the whole channel.", "省略するとチャンネル全体で有効。"),
    (
        "`language`, `min_confidence`, `timing`, `announce`, `tools`, `memory` or `model`.",
        "`language`、`min_confidence`、`timing`、`announce`、`tools`、`memory`、`model` のどれか。",
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

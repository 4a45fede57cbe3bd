//! Why pages and the JSON API refuse a request, and why the store refuses an order.

use crate::memo::{
    MAX_CONTENT_LENGTH, MAX_DETAIL_LENGTH, MAX_NAME_LENGTH, MAX_PER_USER, MAX_TAGS, MemoError,
};
use crate::persona::Language;

texts! {
    // Where a request comes from.
    other_site:
        "the room answers only pages of its own"
        / "このルームのページ以外からのリクエストは受け付けません";
    other_site_or_machine:
        "the room answers only pages of its own on this machine"
        / "このマシンで開いた、このルームのページからのリクエストだけを受け付けます";
    forwarded_without_token:
        "what a proxy forwards to the room needs http.token"
        / "プロキシを経由したリクエストには、http.token の設定が必要です";
    unknown_to_proxy:
        "http.proxy_sign_in gives no access to whoever the proxy says you are"
        / "プロキシが示した利用者には、http.proxy_sign_in でアクセスが許可されていません";
    not_from_proxy(header: &str):
        "nobody is signed in: only a proxy that http.trusted_proxies lists says who you are, in the header {header}, and "
        "this request came without"
        / "ログインしていません。http.trusted_proxies にあるプロキシがヘッダー {header} で利用者を示す必要がありますが、"
        "このリクエストにはありませんでした";

    // Tokens and links.
    token_needed:
        "this needs the token of http.token, as a bearer"
        / "http.token のトークンを Bearer として送ってください";
    wrong_token: "That token is wrong." / "トークンが違います。";
    too_many_tokens(seconds: u64):
        "Too many wrong tokens. Try again in {seconds} s."
        / "間違ったトークンが続きました。{seconds} 秒後にもう一度お試しください。";
    wrong_link:
        "This link no longer works: it works once, and for ten minutes. The command aizuchi console link makes another."
        / "このリンクは使えません。使えるのは 10 分以内に一度だけです。新しいリンクは、コマンド aizuchi console link で作れます。";

    // What a role may do and read.
    role_excluded(role: &str):
        "the role {role} does not reach this"
        / "役割 {role} では、ここは利用できません";
    out_of_reach:
        "this is about more than the places that your sign-in reaches"
        / "あなたのログインで利用できる範囲を超えています";
    no_orders: "your role gives no orders" / "あなたの役割では操作できません";
    sign_in_to_read:
        "what was said in other workspaces needs a sign-in: set http.token, or use the command aizuchi console link"
        / "ほかのワークスペースの発言を読むにはログインが必要です。http.token を設定するか、コマンド aizuchi console link を使ってください";
    channel_withheld:
        "your role does not read what was said in this channel"
        / "あなたの役割では、このチャンネルの発言は読めません";
    people_withheld:
        "the people of other workspaces are named to those who sign in"
        / "ほかのワークスペースの人の名前は、ログインした人にだけ表示します";
    orders_withheld:
        "your role does not read who ordered what"
        / "あなたの役割では、操作の記録を読めません";
    only_admin_chooses_models:
        "your role does not choose models"
        / "あなたの役割では、モデルを選べません";
    only_admin_regenerates:
        "only an admin regenerates a memory with private entries"
        / "非公開の項目がある記憶を作り直せるのは、管理者だけです";
    only_admin_forgets:
        "only an admin has a person forgotten" / "人のデータを消去できるのは、管理者だけです";
    only_admin_configures:
        "only an admin may see the configuration and have it read again"
        / "設定の一覧の閲覧と、設定ファイルの再読み込みができるのは、管理者だけです";
    unusable_config(why: &str):
        "the config cannot be used, so the settings stay as they are: {why}"
        / "設定ファイルに問題があるため、設定は変更されません：{why}";
    persona_stays:
        "that is the companion itself, which cannot be forgotten"
        / "このボット自身のデータは消去できません";
    not_confirmed:
        "the name that you typed is not this person's; nothing is forgotten"
        / "入力した名前がこの人の名前と一致しないため、消去しませんでした";
    only_admin_reverts:
        "only an admin goes back to a version with private entries"
        / "非公開の項目がある版に戻せるのは、管理者だけです";
    only_admin_reads_looks:
        "only an admin reads who read private channels"
        / "非公開チャンネルの閲覧記録を読めるのは、管理者だけです";

    // What does not exist.
    nothing_here: "there is nothing at this address" / "このアドレスには何もありません";
    wrong_method: "this address does not take that method" / "このアドレスでは、そのメソッドは使えません";
    no_file: "there is no such file" / "そのファイルはありません";
    unknown_workspace(id: &str):
        "there is no workspace {id:?}; /api/workspaces lists them"
        / "ワークスペース「{id}」はありません。/api/workspaces で一覧できます";
    unknown_channel(id: &str, workspace: &str):
        "there is no channel {id:?} in the workspace {workspace}"
        / "ワークスペース {workspace} にチャンネル「{id}」はありません";
    no_channel: "there is no such channel" / "そのチャンネルはありません";
    unknown_user(id: &str, workspace: &str):
        "there is no user {id:?} in the workspace {workspace}"
        / "ワークスペース {workspace} にユーザー「{id}」はいません";
    no_decision: "there is no such decision" / "その判断はありません";
    no_dead_letter: "there is no such dead letter" / "その「投稿できなかったもの」はありません";
    no_proposal: "there is no such proposal" / "その発言の案はありません";
    no_memory: "there is no such memory" / "その記憶はありません";
    no_memo: "there is no such memo" / "そのメモはありません";

    // What a request is missing.
    only_local:
        "only the local room can do this; other workspaces have their own apps"
        / "これができるのはローカルルームだけです。ほかのワークスペースでは、それぞれのアプリを使ってください";
    which_channel:
        "say which channel: /api/messages?channel=…"
        / "チャンネルを指定してください：/api/messages?channel=…";
    unreadable_id: "the message's id cannot be read" / "発言の ID を読み取れません";
    where_and_whose:
        "say where and whose it is: /api/messages/…?channel=…&user=…"
        / "どこの、誰の発言かを指定してください：/api/messages/…?channel=…&user=…";
    of_what:
        "say of what: /api/decisions?message=… or ?channel=…"
        / "何についての判断かを指定してください：/api/decisions?message=… または ?channel=…";
    after_or_before:
        "give `after` or `before`, not both"
        / "`after` と `before` は、どちらか一方だけを指定してください";
    revision_needed: "after is a revision, a number" / "after にはリビジョンの番号を指定してください";
    letter_number_needed:
        "before is the id of a dead letter, a number"
        / "before には「投稿できなかったもの」の ID（番号）を指定してください";
    change_number_needed: "before is the number of a change" / "before には変更の番号を指定してください";
    no_order_to_undo:
        "there is no order for several channels with this number"
        / "この番号の、複数のチャンネルへの操作はありません";
    order_number_needed:
        "before is the number of an order"
        / "before には操作の番号を指定してください";
    unclear_outcome: "the outcome cannot be understood" / "結果の指定を読み取れません";
    unclear_gate: "the gate cannot be understood" / "ルールの指定を読み取れません";
    unclear_time: "the time cannot be understood" / "日時の指定を読み取れません";
    unclear_query:
        "the query cannot be read; workspace is one id of /api/workspaces"
        / "クエリーを読み取れません。workspace には /api/workspaces にある ID をひとつだけ指定してください";
    time_needed:
        "before is a time in milliseconds, a number"
        / "before には時刻をミリ秒の数値で指定してください";
    unclear_before: "before cannot be understood" / "before の指定を読み取れません";
    incomplete_form: "the form lacks what it is about" / "フォームに、何についてのものかが書かれていません";
    no_channel_chosen:
        "no channel is chosen: tick some in the list, or choose all that match"
        / "チャンネルが選ばれていません。一覧で選ぶか、「該当する … 件すべて」を選んでください";
    not_sure(count: usize):
        "this changes all {count} channels that match, so tick “Yes, change all {count}” beside it as well"
        / "該当する {count} 件すべてを変更するには、隣の「{count} 件すべてを変更する」にもチェックを入れてください";
    value_needed(setting: &str):
        "a value for {setting} is missing, or is not one that it can have"
        / "{setting}の値がないか、使えない値です";
    malformed_order:
        "the order must be mute, unmute, stop, mode, opt-out, opt-in, retry, drop or mark, with a channel or a person where one is meant"
        / "操作は mute、unmute、stop、mode、opt-out、opt-in、retry、drop、mark のどれかにし、必要なものにはチャンネルや人を指定してください";

    // Bodies.
    message_too_large(limit: usize):
        "the message is larger than {limit} MB"
        / "発言が {limit} MB を超えています";
    body_too_large: "the request is too large" / "リクエストが大きすぎます";
    not_json:
        "send JSON, with the content type application/json"
        / "JSON を、Content-Type を application/json にして送ってください";
    /// `shape` is one of those below.
    send(shape: &str): "send {shape}" / "次の形で送ってください：{shape}";
    format_of_message:
        r#"{"channel": "…", "user": "…", "text": "…"} and, for a thread, "thread": "…""#
        / r#"{"channel": "…", "user": "…", "text": "…"}。スレッドでは "thread": "…" も"#;
    format_of_edit:
        r#"{"channel": "…", "user": "…", "text": "…"}"#
        / r#"{"channel": "…", "user": "…", "text": "…"}"#;
    format_of_reaction:
        r#"{"channel": "…", "message": "…", "user": "…", "emoji": "…"} and, to take it back, "remove": true"#
        / r#"{"channel": "…", "message": "…", "user": "…", "emoji": "…"}。外すときは "remove": true も"#;
    format_of_name: r#"{"name": "…"}"# / r#"{"name": "…"}"#;
    format_of_mute:
        r#"{"channel": "…", "minutes": 60}; without a channel: everywhere, without minutes: for good"#
        / r#"{"channel": "…", "minutes": 60}。channel がなければ全体、minutes がなければ解除するまで"#;
    format_of_unmute:
        r#"{"channel": "…"}; without a channel: everywhere"#
        / r#"{"channel": "…"}。channel がなければ全体"#;
    format_of_stop: r#"{"channel": "…"}"# / r#"{"channel": "…"}"#;
    format_of_mode:
        r#"{"channel": "…", "mode": "companion", "facilitator", "mention_only", "propose", "observe", "off" or null}"#
        / r#"{"channel": "…", "mode": "companion"、"facilitator"、"mention_only"、"propose"、"observe"、"off"、null のどれか}"#;
    format_of_opt_out:
        r#"{"user": "…"} and, to be listened to again, "undo": true"#
        / r#"{"user": "…"}。再び聞くようにするには "undo": true も"#;
    format_of_standing_order:
        r#"{"channel": "…", "text": "…"}, with "thread" if it is for one; without a channel: for all; or {"number": 2, "text": "…"} to change one; "draft": true for a draft"#
        / r#"{"channel": "…", "text": "…"}。スレッドへの指示には "thread" も。チャンネルがなければ全チャンネル。変えるときは {"number": 2, "text": "…"}。下書きにするには "draft": true も"#;
    format_of_channels:
        r#"{"channels": ["…"], "order": "mode observe"}; the orders are mode (as configured without one), mute 120 (minutes), mute, unmute, and set min_confidence or set money_per_day (with "value"), clear min_confidence, clear money_per_day"#
        / r#"{"channels": ["…"], "order": "mode observe"}。order は mode（モードがなければ設定のとおり）、mute 120（分数）、mute、unmute、set min_confidence と set money_per_day（"value" も）、clear min_confidence、clear money_per_day のどれか"#;
    format_of_setting:
        r#"{"channel": "…", "setting": "min_confidence", "value": "0.8"}, with "thread" if it is for one; without a channel: for all; null as the value takes it back. The settings are language (en, ja, auto), min_confidence (0 to 1), timing (human, plain), announce (on, off; not of threads, which nothing joins), memory (on, off), tools (on, off, or names), model (a name in models.named) and money_per_day (an amount; not of threads)"#
        / r#"{"channel": "…", "setting": "min_confidence", "value": "0.8"}。スレッドの設定には "thread" も。チャンネルがなければ全チャンネル。value が null なら元に戻す。setting は language（en、ja、auto）、min_confidence（0～1）、timing（human、plain）、announce（on、off。スレッドには参加がないので指定できない）、memory（on、off）、tools（on、off、名前）、model（models.named の名前）、money_per_day（金額。スレッドには指定できない）のどれか"#;
    format_of_memory_order:
        r#"{"scope": "channel", "channel": "…", "term": "long_term", "version": 7, "order": "remove", "entry": "…"}; the orders are edit (with "text"), pin, unpin, remove, restore, revert (with "to") and regenerate"#
        / r#"{"scope": "channel", "channel": "…", "term": "long_term", "version": 7, "order": "remove", "entry": "…"}。order は edit（"text" も）、pin、unpin、remove、restore、revert（"to" も）、regenerate のどれか"#;
    format_of_memo:
        r#"{"content": "…", "priority": 3, "tags": ["…"], "detail": null}"#
        / r#"{"content": "…", "priority": 3, "tags": ["…"], "detail": null}"#;
    format_of_revert:
        r#"{"to": 7}, the version that a change names as before"#
        / r#"{"to": 7}（変更の記録に「前の版」として示された番号）"#;
    format_of_proposal:
        r#"{"choice": "say", "edit" (with "text"), "not_now" or "never"}"#
        / r#"{"choice": "say"、"edit"（"text" も）、"not_now"、"never" のどれか}"#;
    format_of_trust:
        r#"{"choice": "by_itself" or "not_yet"}"#
        / r#"{"choice": "by_itself"、"not_yet" のどちらか}"#;
    format_of_call:
        r#"{"choice": "allow_once" or "refuse"}"#
        / r#"{"choice": "allow_once"、"refuse" のどちらか}"#;
    format_of_mark:
        r#"{"mark": "right", "should_have_spoken", "should_have_kept_silent" or null}"#
        / r#"{"mark": "right"、"should_have_spoken"、"should_have_kept_silent"、null のどれか}"#;
    format_of_judge:
        r#"{"cap": 0.10}, an amount from 0 to 5; without a cap nothing is asked, and the cost is told"#
        / r#"{"cap": 0.10}。cap は 0 から 5 の金額。なければ問い合わせず、費用だけを返します"#;
    format_of_choice:
        r#"{"kind": "builtin"}, {"kind": "local", "server": "…", "model": "…"} or {"kind": "hosted", "provider": "…", "model": "…"} or {"kind": "compatible", "api_base": "…", "model": "…"} and, unless it stands in the environment, "key": "…""#
        / r#"{"kind": "builtin"}、{"kind": "local", "server": "…", "model": "…"}、{"kind": "hosted", "provider": "…", "model": "…"}、{"kind": "compatible", "api_base": "…", "model": "…"} のどれか。キーが環境変数になければ "key": "…" も"#;

    // Memories and memos.
    entry_length(most: usize): "an entry has 1 to {most} letters" / "項目は 1〜{most} 文字にしてください";
    wrong_days(most: i64):
        "days must be a whole number from 1 to {most}"
        / "days には 1 から {most} までの整数を指定してください";
    detail_length(most: usize): "a detail has at most {most} letters" / "詳細は {most} 文字までです";
    standing_order_length(most: usize): "a standing order has 1 to {most} letters" / "指示は 1〜{most} 文字にしてください";
    entry_changed:
        "that entry or version is not there any more; look at the memory again"
        / "その項目または版はもうありません。記憶を開き直してください";
    several_users(name: &str):
        "several people are called {name:?}; give the id of one of them"
        / "「{name}」という人は複数います。ID で指定してください";

    // What the store refuses.
    dead_letter_gone:
        "there is no such dead letter any more, or what it was about is gone"
        / "その「投稿できなかったもの」はもうないか、対象がなくなっています";
    dead_letter_blocked:
        "something else is pending in that conversation; try again when it is done"
        / "その会話では別の処理が待っています。終わってからもう一度お試しください";
    dead_letter_incomplete:
        "the beginning of this answer was posted, and the text of the rest is gone, because a message behind it was edited, "
        "deleted or forgotten, or it is too old; drop it"
        / "この返答は途中まで投稿されましたが、元の発言が編集・削除・消去されたか古くなりすぎたため、続きの文面が残っていません。"
        "破棄してください";
    memory_changed:
        "that has changed in the meantime; look at it again"
        / "その間に変更されています。開き直して確認してください";
    not_decided:
        "there is no such decision, or it is still open"
        / "その判断はないか、まだ決まっていません";
    too_many_standing_orders(most: usize):
        "there are {most} standing orders there already; drop one first"
        / "そこには指示がすでに {most} 件あります。先にどれかを取り消してください";
    no_standing_order:
        "there is no standing order of this number in force"
        / "その番号の指示はありません";
    no_order_draft:
        "there is no draft of this number any more"
        / "その番号の下書きはもうありません";
    too_many_plans:
        "there are too many reminders already; cancel one first"
        / "リマインダーが多すぎます。先にどれかを取り消してください";
    no_plan:
        "there is no such reminder any more"
        / "そのリマインダーはもうありません";
    planned_by_config:
        "the setting `speaks_first` of the channel plans this; change it in the config"
        / "これはチャンネルの設定 `speaks_first` による予定です。設定ファイルで変えてください";
    proposal_gone:
        "there is no such proposal any more"
        / "その発言の案はもうありません";
    proposal_decided:
        "somebody has already decided about this proposal"
        / "この案についてはもう決まっています";
    proposal_lapsed:
        "it is too late for this proposal: its time is over, or what it was about has changed"
        / "この案はもう使えません。時間が過ぎたか、元の発言が変わっています";
    proposal_blocked:
        "something else is being considered or said in that conversation; try again in a moment"
        / "その会話では別の処理が進んでいます。少し待ってからもう一度お試しください";
    trust_offer_gone:
        "this is settled already, or what people decided since says otherwise"
        / "この質問にはすでに返事があったか、その後に案が断られるなどして、条件を満たさなくなりました";
    consent_gone:
        "there is no such call to allow"
        / "その呼び出しは、許可待ちの中にありません";
    consent_decided:
        "somebody has already decided about this call"
        / "この呼び出しについてはもう決まっています";
    consent_lapsed:
        "it is too late for this call: its time is over, or what it was about has changed"
        / "この呼び出しはもう許可できません。時間が過ぎたか、元の発言が変わっています";
    unstorable(why: &str): "{why}" / "この内容は保存できません（{why}）";
    store_unusable(error: &str):
        "{error}"
        / "いまはデータベースを使えません。しばらくしてからもう一度お試しください";

    // What cannot be done at the moment.
    too_many_streams:
        "there are too many event streams; close one, or try again later"
        / "イベントストリームが多すぎます。どれかを閉じるか、しばらくしてからもう一度お試しください";
    page_failed: "the page could not be made" / "ページを作れませんでした";
    session_failed: "the session could not be made" / "セッションを作れませんでした";
    shutting_down: "it is shutting down" / "終了処理中です";
    standing_by:
        "it stands by: another Aizuchi is active on the same database"
        / "待機中です。同じデータベースを別の Aizuchi が使っています";
    /// `why` is the platform's own message.
    not_connected(why: &str): "{why}" / "プラットフォームに接続していません（{why}）";
    steps_stalled(seconds: i64):
        "steps have been due for {seconds} s, and nothing is done"
        / "予定の時刻を {seconds} 秒過ぎても、処理が進んでいません";

    // Web hooks. Errors of a call are reported to the platform that made it.
    webhook_unused(platform: &str):
        "{platform}'s events do not come this way here"
        / "ここでは {platform} のイベントをこの方法では受け取りません";
    webhook_not_authentic(why: &str): "{why}" / "署名を確認できません（{why}）";
    webhook_malformed(why: &str): "{why}" / "内容を読み取れません（{why}）";
    webhook_not_kept(why: &str): "{why}" / "保存できませんでした（{why}）";
}

/// What is wrong with a memo that a user writes. Models read the English text, too.
pub fn memo(language: Language, error: MemoError) -> String {
    match language {
        Language::En => error.to_string(),
        Language::Ja => memo_in_japanese(error),
    }
}

fn memo_in_japanese(error: MemoError) -> String {
    match error {
        MemoError::EmptyName => "名前が空です".to_owned(),
        MemoError::NameTooLong => format!("名前は {MAX_NAME_LENGTH} 文字までです"),
        MemoError::InvalidName => "名前は、目に見える文字の 1 行にしてください".to_owned(),
        MemoError::InvalidPriority => "優先度は 1 から 5 にしてください".to_owned(),
        MemoError::EmptyContent => "内容が空です".to_owned(),
        MemoError::ContentTooLong => format!("内容は {MAX_CONTENT_LENGTH} 文字までです"),
        MemoError::DetailTooLong => format!("詳細は {MAX_DETAIL_LENGTH} 文字までです"),
        MemoError::TagTooLong => format!("タグは {MAX_NAME_LENGTH} 文字までです"),
        MemoError::TooMany => {
            format!("この人の発言によるメモが {MAX_PER_USER} 件あります。どれかを削除してください")
        }
        MemoError::TooManyTags => format!("タグは {MAX_TAGS} 個までです"),
        MemoError::NothingToChange => "変更する内容がありません".to_owned(),
        MemoError::ReadOnlyHere => {
            "公開の場で作られたメモなので、変更できるのはそこだけです。ここでは別の名前で作ってください"
                .to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memo_is_refused_in_both_languages() {
        let too_many = MemoError::TooManyTags;
        assert_eq!(memo(Language::En, too_many), "Maximum 3 tags allowed per memo");
        assert_eq!(memo(Language::Ja, too_many), "タグは 3 個までです");
    }

    #[test]
    fn a_long_sentence_is_one() {
        let sentence = not_from_proxy(Language::En, "X-Forwarded-User");
        assert!(
            sentence.ends_with("in the header X-Forwarded-User, and this request came without")
        );
        let sentence = dead_letter_incomplete(Language::En);
        assert!(sentence.contains("was edited, deleted or forgotten, or it is too old; drop it"));
    }
}

//! The console's page of orders, and of users who have opted out.

use crate::persona::Language;
use crate::texts::pick;

texts! {
    title: "Orders" / "操作の記録";
    /// What an order is.
    what: "Order" / "操作";
    journal: "Who ordered what" / "誰が何を操作したか";
    no_orders: "Nothing has been ordered yet." / "操作の記録はまだありません。";
    by: "By" / "操作者";
    concerns: "Where, or whom" / "対象";
    everywhere: "everywhere" / "すべてのチャンネル";
    until: "until" / "期限：";
    until_lifted: "until unmuted" / "解除するまで";
    /// What an order for several channels did.
    set_for(channels: &str): "Set for {channels}" / "{channels}に適用";
    semicolon: "; " / "、";
    already(count: usize): "{count} had it already" / "{count} 件は適用済み";
    unchanged(count: usize, names: &str, why: &str):
        "{count} not changed: {names} ({why})" / "{count} 件は変更なし：{names}（{why}）";
    download: "Download all as JSON lines" / "すべてを 1 行ずつの JSON でダウンロード";
    channel_gone: "not there any more" / "もうありません";
    changed_since: "changed since" / "その後に変更済み";
    undo: "Undo" / "元に戻す";
    undone(what: &str): "undid: {what}" / "取り消し：{what}";
    as_configured: "as configured" / "設定のとおり";
    forgotten: "(somebody who was forgotten)" / "（データを消去した人）";

    opted_out: "Who has opted out" / "オプトアウトした人";
    opted_out_explained:
        "What they write is in no prompt and no memory, and they get no answer."
        / "発言をプロンプトにも記憶にも使わず、返答もしません。";
    nobody_opted_out: "Nobody has opted out." / "オプトアウトした人はいません。";
    in_config(ids: &str):
        "The config names, for all workspaces: {ids}"
        / "設定ファイルで指定された人（全ワークスペース共通）：{ids}";
    person: "Person" / "メンバー";
    opt_in: "Listen again" / "発言を再び聞く";
    opt_out: "Opt out" / "オプトアウトにする";
    whom: "Name or id" / "名前または ID";
}

/// The kind of an order, by its name.
pub fn kind(language: Language, kind: &str) -> &str {
    match kind {
        "mute" => pick(language, "mute", "ミュート"),
        "unmute" => pick(language, "unmute", "ミュートを解除"),
        "mode" => pick(language, "mode", "モードを変更"),
        "opt_out" => pick(language, "opt out", "オプトアウト"),
        "opt_in" => pick(language, "opt in", "オプトイン"),
        "reset" => pick(language, "start over", "会話をリセット"),
        "forget" => pick(language, "forget a person", "人のデータを消去"),
        "retry_dead_letter" => {
            pick(language, "try again what could not be posted", "投稿できなかったものを再試行")
        }
        "drop_dead_letter" => {
            pick(language, "drop what could not be posted", "投稿できなかったものを破棄")
        }
        "forget_moments" => pick(
            language,
            "learn anew how welcome its words are",
            "発言が歓迎されるかの学習をやり直し",
        ),
        "choose_model" => pick(language, "choose a model", "モデルを選択"),
        "sign_in" => pick(language, "sign in", "ログイン"),
        "export" => pick(language, "export what is known of a person", "人のデータを書き出し"),
        "read_private" => pick(language, "read what is private", "非公開の内容を閲覧"),
        "reload" => pick(language, "reload the config", "設定ファイルを再読み込み"),
        "give_standing_order" => pick(language, "give a standing order", "指示を追加"),
        "change_standing_order" => pick(language, "change a standing order", "指示を変更"),
        "allow_call" => pick(language, "allow a call", "ツールの呼び出しを許可"),
        "refuse_call" => pick(language, "refuse a call", "ツールの呼び出しを拒否"),
        "drop_standing_order" => pick(language, "drop a standing order", "指示を取り消し"),
        "draft_standing_order" => pick(language, "draft a standing order", "指示を下書き"),
        "keep_standing_order" => pick(language, "keep a draft", "下書きを採用"),
        "drop_order_draft" => pick(language, "discard a draft", "下書きを破棄"),
        "change_channels" => pick(language, "change channels", "チャンネルをまとめて変更"),
        "change_setting" => pick(language, "change a setting", "設定を変更"),
        other => other,
    }
}

//! The console's page of channels.

use crate::persona::Language;
use crate::texts::counted;

texts! {
    title: "Channels" / "チャンネル";
    count(count: usize): "Channels: {count}" / "チャンネル：{count}";
    name: "Name" / "名前";
    only: "Only" / "絞り込み";
    sort: "Sort by" / "並べ替え";
    all: "all" / "すべて";
    private: "private" / "非公開";
    differs: "own settings" / "個別の設定あり";
    silent: "said nothing for a week" / "1 週間発言なし";
    muted: "muted" / "ミュート中";
    failing: "not caught up, or failing" / "未確認の発言あり・失敗";
    costly: "cost something today" / "今日費用が発生";
    choose(name: &str): "Choose {name}" / "{name} を選ぶ";
    chosen: "the chosen ones" / "選んだもの";
    matching(count: usize): "all {count} that match" / "該当する {count} 件すべて";
    chosen_count(count: &str): "{count} chosen" / "選択中：{count} 件";
    sure(count: usize): "Yes, change all {count}" / "{count} 件すべてを変更する";
    whom: "Channels" / "対象";
    change: "Change" / "変更";
    change_what: "choose …" / "選択…";
    mode(mode: &str): "Mode: {mode}" / "モード：{mode}";
    threshold: "Confidence to speak from: a value" / "必要な確信度：値を指定";
    configured_threshold: "Confidence to speak from: as configured" / "必要な確信度：設定のとおり";
    budget: "Budget for a day: an amount" / "1 日の予算：金額を指定";
    configured_budget: "Budget for a day: as configured" / "1 日の予算：設定のとおり";
    budget_value(currency: &str): "At most, in {currency}" / "上限（{currency}）";
    threshold_value: "From, 0 to 1" / "確信度（0～1）";
    choose_all(count: usize): "All {count} on this page" / "このページの {count} 件すべて";
    workspace_muted: "muted with its workspace" / "ワークスペースごとミュート中";
    apply: "Apply" / "適用";
    nothing: "No channel matches." / "該当するチャンネルはありません。";
    unread: "not caught up" / "未確認の発言あり";
    disconnected: "not connected" / "未接続";
    in_all(workspaces: usize): "{workspaces} workspaces" / "{workspaces} ワークスペース";
    in_workspaces(what: &str, workspaces: usize):
        "{what} in {workspaces} workspaces" / "{workspaces} ワークスペースの{what}";
}

/// So many channels in so many workspaces, of which there is one at least.
pub fn across(language: Language, channels: usize, workspaces: usize) -> String {
    let told = counted::channels(language, channels, &channels.to_string());
    match workspaces {
        1 => told,
        workspaces => in_workspaces(language, &told, workspaces),
    }
}

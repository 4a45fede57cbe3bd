//! The page of the config in force.

texts! {
    title: "Configuration" / "設定の一覧";
    explained:
        "Every setting in force, and where it comes from. Orders stand over the file. After a change in the file, have it read again: what needs a restart is marked."
        / "いま有効なすべての項目と、その出どころです。チャットやコンソールでの設定は、ファイルより優先されます。ファイルを変更したら再読み込みしてください。再起動が必要な項目には印があります。";
    reload: "Read the file again" / "ファイルを再読み込み";
    changed(keys: &str): "In force now: {keys}" / "有効になりました：{keys}";
    nothing_changed:
        "Nothing has changed that takes effect without a restart."
        / "再起動なしで有効になる変更はありません。";
    refused(platforms: &str):
        "New secrets were refused, and the old ones stay in use: {platforms}"
        / "新しい認証情報は拒否されました。以前のものを使い続けます：{platforms}";
    need_restart(keys: &str):
        "Changed in the file, and in force after a restart: {keys}"
        / "再起動後に有効になる変更：{keys}";
    key: "Setting" / "項目";
    value: "Value" / "値";
    source: "Comes from" / "出どころ";
    from_file(line: u64): "file, line {line}" / "ファイル、{line} 行目";
    from_environment(line: u64):
        "environment variable, named in line {line}" / "環境変数（{line} 行目で指定）";
    by_default: "default" / "既定値";
    ordered: "order for all channels of" / "全チャンネルの設定：";
    not_shown: "set, not shown here" / "設定済み（ここには表示しません）";
    restart: "needs a restart" / "再起動が必要";
    pending: "changed in the file, in force after a restart" / "ファイルで変更済み。再起動後に有効";
    differs(channels: usize):
        "Channels that differ ({channels}):" / "異なるチャンネル（{channels}）：";
    more(channels: usize): "and {channels} more" / "ほか {channels}";
    changed_settings: "Not at the default" / "既定値と違う項目";
    none_changed: "Every setting has its default." / "すべて既定値です。";
    at_default: "At the default" / "既定値の項目";
    without_section: "without a section" / "セクションなし";
    find: "Find a setting" / "項目を探す";
    found(settings: usize): "Settings found: {settings}" / "見つかった項目：{settings}";
    not_all(settings: usize):
        "{settings} more are not shown; search for them." / "ほかに {settings} 項目あります。検索してください。";
    change: "Change" / "変更";
    change_explained:
        "For all channels of a workspace, at once and without a restart. A single channel is changed on its own page; the mode of several, on the page of channels. On the command line: aizuchi set SETTING VALUE --workspace WORKSPACE"
        / "ワークスペースの全チャンネルで、再起動なしですぐに有効になります。チャンネルごとの設定はそのチャンネルのページで、複数のモードはチャンネルの一覧で変更できます。コマンドラインでは「aizuchi set」に項目と値、--workspace を付けます。";
}

//! The page of the config in force.

texts! {
    title: "Configuration" / "設定ファイル";
    explained:
        "What the config file sets. After a change in the file, have it read again: most rules take effect at once, and what needs a restart is named. Settings of a workspace or a channel that were made in the chat or on its page stay in force over the file."
        / "設定ファイルに書かれている内容です。ファイルを変更したら読み直してください。多くの項目はすぐに有効になり、再起動が必要なものはここに表示されます。チャットやチャンネルのページで行った設定は、ファイルより優先されます。";
    reload: "Read the file again" / "ファイルを読み直す";
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
    not_shown: "not shown here" / "ここには表示しません";
    only_defaults:
        "Nothing is set in a file: every setting has its default."
        / "ファイルでの設定はありません。すべて既定値です。";
    not_listed:
        "Not listed here: settings at their default, and what comes from the command line or from an environment variable that the file does not name. Commands, addresses, models and secrets are listed without their values."
        / "ここに載っていないもの：既定値のままの項目と、コマンドラインや、ファイルに書かれていない環境変数の値。コマンド、アドレス、モデル、認証情報は、値を表示しません。";
}

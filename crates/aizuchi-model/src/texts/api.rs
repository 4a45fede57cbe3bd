//! The description of the JSON API, and its page.

texts! {
    title: "API" / "API";
    description:
        "Reads and manages the workspaces, channels, messages, decisions, memories and orders of an Aizuchi "
        "installation. Times are epoch seconds unless a field says otherwise."
        / "Aizuchi のワークスペース、チャンネル、発言、判断、記憶、操作を読み書きする API です。"
          "時刻は、特に断りのないかぎりエポック秒です。";
    explained:
        "This API lets programs read and change what these pages show. Machine-readable description (OpenAPI 3.1):"
        / "ここで見られること、できることは、この API を通じてプログラムからも利用できます。機械可読な定義（OpenAPI 3.1）：";
    takes: "Parameters" / "パラメーター";
    answers(status: u16): "Response ({status})" / "レスポンス（{status}）";
    answers_nothing(status: u16): "Response ({status}): no body" / "レスポンス（{status}）：本文なし";
    field: "Field" / "項目";
    place: "In" / "場所";
    kind: "Type" / "型";
    meaning: "Description" / "説明";
    required: "required" / "必須";
    done: "Success." / "成功。";
    refused: "An error. The body gives the reason in a sentence." / "エラー。本文に理由を一文で示す。";
    refusal_name: "The name of the reason, which never changes." / "理由の名前（変わることはない）。";

    topic_messages: "Messages" / "発言";
    topic_channels: "Channels and people" / "チャンネルとメンバー";
    topic_orders: "Orders and settings" / "操作と設定";
    topic_ledger: "Decisions" / "判断";
    topic_memory: "Memory" / "記憶";
    topic_program: "The program" / "プログラム";

    list_messages: "Lists the messages of a channel or a thread." / "チャンネルまたはスレッドの発言の一覧を取得する。";
    post_message:
        "Sends a message to the local room. Idempotent if an id is given."
        / "ローカルルームに発言を送信する。ID を指定すると冪等。";
    edit_message:
        "Edits a message in the local room. Only its author can edit it."
        / "ローカルルームの発言を編集する。編集できるのは発言した本人だけ。";
    delete_message:
        "Deletes a message in the local room. Only its author can delete it."
        / "ローカルルームの発言を削除する。削除できるのは発言した本人だけ。";
    upload_file:
        "Uploads a file for a message in the local room. Send the message with the file’s id within an hour."
        / "ローカルルームの発言に付けるファイルをアップロードする。返された ID を付けて、1 時間以内に発言を送信する。";
    remove_file:
        "Removes an uploaded file that no message has been sent with. Idempotent."
        / "アップロードしたファイルのうち、まだ発言に付けていないものを削除する。冪等。";
    get_file:
        "Returns the content of a file in the local room. Pictures are served inline, everything else as a download."
        / "ローカルルームのファイルの内容を取得する。画像はそのまま表示でき、それ以外はダウンロードになる。";
    change_reaction:
        "Adds a reaction to a message in the local room, or removes one."
        / "ローカルルームの発言にリアクションを付ける、または外す。";
    list_workspaces: "Lists the workspaces." / "ワークスペースの一覧を取得する。";
    list_channels: "Lists the channels of a workspace." / "ワークスペースのチャンネルの一覧を取得する。";
    add_channel: "Adds a channel to the local room." / "ローカルルームにチャンネルを追加する。";
    list_people: "Lists the people of a workspace." / "ワークスペースのメンバーの一覧を取得する。";
    add_person: "Adds a person to the local room." / "ローカルルームにメンバーを追加する。";
    get_person:
        "Returns what is known of a person: where they write, and how many memories and memos came from it."
        / "その人についてわかっていること（発言した場所、記憶とメモの数）を取得する。";
    export_person:
        "Returns what is known of a person as a text for them, like `aizuchi export --user`."
        / "その人についてわかっていることを、本人に渡せる文書として取得する（`aizuchi export --user` と同じ）。";
    forget_person:
        "Begins to forget a person: their messages, and everything that is remembered of them. Nothing can undo it."
        / "その人のデータ（発言と、それに基づく記憶）の消去を始める。元には戻せない。";
    list_forgettings:
        "Lists the people who are forgotten, without their names, with the progress and what went."
        / "データの消去の進み具合と、消したものの数を取得する（名前は含まない）。";
    get_room:
        "Returns the initial content of a page: channels with their newest messages and decisions."
        / "ページが最初に表示する内容（チャンネル、最新の発言、判断）をまとめて取得する。";
    mute: "Mutes a channel or the whole workspace." / "チャンネルまたはワークスペース全体をミュートする。";
    unmute:
        "Unmutes a channel or the whole workspace."
        / "チャンネルまたはワークスペース全体のミュートを解除する。";
    stop:
        "Mutes a channel for an hour, without shortening a longer mute."
        / "チャンネルを 1 時間ミュートする。それより長いミュートは短くならない。";
    set_mode:
        "Sets the mode of a channel; null restores the configured mode."
        / "チャンネルのモードを設定する。null を指定すると設定どおりのモードに戻す。";
    opt_out:
        "Opts a user out of being listened to, or back in."
        / "人をオプトアウトにする（発言を聞かない）、または解除する。";
    list_standing_orders: "Lists the standing orders." / "指示の一覧を取得する。";
    give_standing_order: "Gives a standing order, or changes one." / "指示を追加または変更する。";
    keep_standing_order: "Puts the draft of a standing order into force." / "指示の下書きを採用する。";
    drop_standing_order: "Revokes a standing order." / "指示を取り消す。";
    list_plans: "Lists the pending reminders and other plans." / "予定しているリマインダーなどの一覧を取得する。";
    drop_plan: "Cancels a reminder or another plan." / "リマインダーなどの予定を取り消す。";
    list_settings:
        "Lists the settings in force in a channel or a thread, with the source of each."
        / "チャンネルまたはスレッドで有効な設定の一覧を、それぞれの由来とともに取得する。";
    change_setting:
        "Changes a setting of a workspace, a channel or a thread; null clears it."
        / "ワークスペース、チャンネル、スレッドの設定を変更する。null を指定すると取り消す。";
    order_in_channels:
        "Changes the mode, the mute or a setting of several channels at once."
        / "複数のチャンネルのモード、ミュート、設定をまとめて変更する。";
    undo_order:
        "Undoes a change of several channels, except where something was changed since."
        / "複数のチャンネルへの変更を元に戻す（その後に変更されたチャンネルを除く）。";
    list_orders:
        "Lists the journal of orders (who ordered what), newest first."
        / "操作の記録（誰が何を操作したか）を新しい順に取得する。";
    export_orders:
        "Returns the whole journal of orders and, for an admin, who has read private channels, newest first: a JSON object "
        "per line."
        / "操作の記録の全件と、管理者には非公開チャンネルの閲覧記録を、新しい順に 1 行 1 件の JSON で取得する。";
    list_opt_outs: "Lists the users who have opted out." / "オプトアウトした人の一覧を取得する。";
    list_decisions:
        "Lists the decisions about a message or in a channel."
        / "発言またはチャンネルについての判断の一覧を取得する。";
    mark_decision:
        "Marks a closed decision; null removes the mark."
        / "終わった判断を評価する。null を指定すると評価を取り消す。";
    judge_again:
        "Asks the judge again about the moment of a decision. Nothing is posted, and the ledger does not change. "
        "Without a cap, only estimates the cost."
        / "同じ場面について判断役にもう一度尋ねる（投稿はせず、判断の記録も変えない）。"
          "上限を省略すると、費用の見積もりだけを返す。";
    list_proposals:
        "Lists proposals (unasked posts that need approval) with the state of each."
        / "発言の案（自分から話す前に承認が必要なもの）の一覧を、それぞれの状態とともに取得する。";
    decide_proposal:
        "Approves a proposal, approves it with another text, or declines it. The first choice counts."
        / "発言の案をそのまま承認するか、文を変えて承認するか、断るかを決める。最初の選択が有効。";
    answer_trust:
        "Answers the persona’s offer to speak by itself in a channel, at or above the offered confidence. "
        "The first answer counts."
        / "提示された確信度以上のとき、チャンネルで自分から話してよいかというペルソナの問いに答える。最初の回答が有効。";
    list_calls:
        "Lists tool calls that need permission because they may change something, with the state of each."
        / "何かを変更する可能性があり、許可が必要なツール呼び出しの一覧を、それぞれの状態とともに取得する。";
    decide_call:
        "Allows a tool call once, or refuses it. The first choice counts."
        / "ツール呼び出しを一度だけ許可するか、拒否する。最初の選択が有効。";
    list_dead_letters:
        "Lists dead letters: posts that failed for good and wait for an operator."
        / "最終的に投稿できず、運用担当者の対応を待っているものの一覧を取得する。";
    retry_dead_letter:
        "Retries a dead letter by reopening its decision."
        / "投稿できなかったものを、判断をもう一度開いて再試行する。";
    drop_dead_letter: "Drops a dead letter and its text." / "投稿できなかったものを、文面ごと破棄する。";
    list_failures:
        "Lists what has failed within 30 days: model calls, posts, look-ups, and the reading of missed messages."
        / "30 日以内に失敗した、モデルの呼び出し、投稿、調べもの、不在中の発言の確認の一覧を取得する。";
    list_memories:
        "Lists the memories and memos of a workspace or a channel."
        / "ワークスペースまたはチャンネルの記憶とメモの一覧を取得する。";
    change_memory:
        "Edits, pins, removes or restores an entry of a memory, or regenerates or reverts the whole memory."
        / "記憶の項目を編集、固定、削除、復元する。記憶全体を作り直すことや、以前の版に戻すこともできる。";
    list_memory_changes:
        "Lists the changes of memories and memos, newest first."
        / "記憶とメモの変更履歴を新しい順に取得する。";
    change_memo: "Changes a memo." / "メモを変更する。";
    revert_memo:
        "Reverts a memo to its version before a change. Also restores a removed memo."
        / "メモを変更前の内容に戻す。削除したメモも元に戻せる。";
    remove_memo: "Removes a memo." / "メモを削除する。";
    get_status: "Returns the status of each workspace." / "各ワークスペースの状態を取得する。";
    get_health:
        "Returns the pending work, the health of each model, and the state of the database."
        / "待っている処理、各モデルの状態、データベースの状態を取得する。";
    get_spending:
        "Returns the tokens and money that a workspace has spent, and its limits."
        / "ワークスペースで使ったトークン数と費用、その上限を取得する。";
    get_figures:
        "Returns the figures of a workspace over the last days, in total and by day, channel and model."
        / "ワークスペースの直近の数値を、合計と、日・チャンネル・モデルごとの内訳で取得する。";
    list_private_reads:
        "Lists who has read private channels, newest first."
        / "非公開チャンネルの閲覧記録を新しい順に取得する。";
    get_models:
        "Returns the models in use, their problems, and the models that could be used."
        / "使用中のモデルとその問題、使用できるモデルを取得する。";
    choose_model:
        "Tests a model and, if it works, uses it from then on. Accepted only from the page on this machine."
        / "モデルを試し、使えれば以後それを使う。このマシンのページからのみ受け付ける。";
    look_for_models:
        "Searches for local model servers again. Accepted only from the page on this machine."
        / "ローカルのモデルサーバーを探し直す。このマシンのページからのみ受け付ける。";
    get_configuration:
        "Returns what the config file sets, without secrets, and which changes wait for a restart. For admins."
        / "設定ファイルの内容（認証情報を除く）と、再起動を待つ変更を取得する。管理者のみ。";
    reload:
        "Reads the config again, and applies what needs no restart. For admins."
        / "設定ファイルを再読み込みし、再起動の要らない変更を適用する。管理者のみ。";
    start_demo:
        "Starts the demo, unless it is running, and returns its channel."
        / "デモを開始し、そのチャンネルを返す。再生中ならそのまま続ける。";
    end_demo: "Ends the demo." / "デモを終了する。";
}

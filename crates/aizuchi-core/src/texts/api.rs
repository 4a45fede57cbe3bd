//! The description of the JSON API, and its page.

texts! {
    title: "API" / "API";
    description:
        "Workspaces, channels, messages, decisions, memories and orders of an Aizuchi. Times are epoch seconds."
        / "Aizuchi のワークスペース、チャンネル、発言、判断、記憶、操作。時刻はエポック秒です。";
    explained:
        "What these pages show and do, programs can read and do, too. A machine-readable description (OpenAPI 3.1):"
        / "ここで見られること、できることは、プログラムからも利用できます。機械可読な記述（OpenAPI 3.1）：";
    takes: "Takes" / "受け取るもの";
    answers(status: u16): "Answers with {status}" / "{status} で返すもの";
    answers_nothing(status: u16): "Answers with {status} and no body." / "{status} を返します（本文なし）。";
    field: "Field" / "項目";
    place: "In" / "場所";
    kind: "Type" / "型";
    meaning: "Meaning" / "意味";
    required: "required" / "必須";
    done: "Done." / "完了。";
    refused: "Why it was not done, in a sentence." / "実行できなかった理由。";
    refusal_name: "The reason’s name, which never changes." / "理由の名前（変わることはありません）。";

    topic_messages: "Messages" / "発言";
    topic_channels: "Channels and people" / "チャンネルと人";
    topic_orders: "What holds" / "操作";
    topic_ledger: "Why" / "判断";
    topic_memory: "Memory" / "記憶";
    topic_program: "The program" / "プログラム";

    list_messages: "Reads messages of a channel." / "チャンネルの発言を読む。";
    post_message:
        "Says something in the local room. Idempotent if an id is given."
        / "ローカルルームで発言する。ID を指定すると冪等。";
    edit_message: "Edits a message of one's own." / "自分の発言を編集する。";
    delete_message: "Deletes a message of one's own." / "自分の発言を削除する。";
    upload_file:
        "Uploads a file for a message of the local room, which is sent with its id within an hour."
        / "ローカルルームの発言に付けるファイルを送る。返された ID を付けて、一時間以内に発言する。";
    remove_file:
        "Removes an uploaded file that no message was sent with. Idempotent."
        / "送ったファイルのうち、まだ発言に付けていないものを取り消す。冪等。";
    get_file:
        "The content of a file of the local room. Pictures are shown; everything else is saved."
        / "ローカルルームのファイルの内容。画像は表示され、それ以外は保存される。";
    change_reaction: "Reacts to a message, or takes that back." / "リアクションを付ける、または外す。";
    list_workspaces: "Lists the workspaces." / "ワークスペースを一覧する。";
    list_channels: "Lists the channels of a workspace." / "ワークスペースのチャンネルを一覧する。";
    add_channel: "Adds a channel to the local room." / "ローカルルームにチャンネルを追加する。";
    list_people: "Lists the people of a workspace." / "ワークスペースの人を一覧する。";
    add_person: "Adds a person to the local room." / "ローカルルームに人を追加する。";
    get_room: "Reads all that a page shows at first." / "ページが最初に表示する内容をまとめて読む。";
    mute: "Mutes a channel, or everywhere." / "チャンネルまたは全体をミュートする。";
    unmute: "Ends a mute." / "ミュートを解除する。";
    stop: "Silences a channel for an hour." / "チャンネルで 1 時間発言しない。";
    set_mode: "Sets the mode of a channel; null: as configured." / "チャンネルのモードを変える。null で設定どおりに戻す。";
    opt_out: "Does not listen to a person, or does again." / "ある人の発言を聞かない、または再び聞く。";
    list_standing_orders: "Lists the standing orders." / "これから従う指示を一覧する。";
    give_standing_order: "Gives a standing order, or changes one." / "これから従う指示を追加または変更する。";
    keep_standing_order: "Puts the draft of a standing order in force." / "下書きの指示を採用する。";
    drop_standing_order: "Revokes a standing order." / "指示を取り消す。";
    list_settings: "Lists the settings that hold in a channel or a thread, and where each comes from." / "チャンネルやスレッドで効いている設定と、その由来を一覧する。";
    change_setting: "Changes a setting of a workspace, a channel or a thread; null takes it back." / "ワークスペース、チャンネル、スレッドの設定を変える。null で元に戻す。";
    list_orders: "Lists who ordered what." / "誰が何を操作したかを一覧する。";
    list_opt_outs: "Lists who has opted out." / "オプトアウトした人を一覧する。";
    list_decisions: "Reads the ledger of a message or a channel." / "発言またはチャンネルの判断の記録を読む。";
    mark_decision: "Marks a closed decision; null takes that back." / "判断を評価する。null で取り消す。";
    judge_again:
        "Asks the judge once more about the same moment, in shadow. Without a cap only the cost is told."
        / "同じ場面をもう一度判断させる（投稿・記録なし）。上限がなければ費用だけを返す。";
    list_proposals:
        "Lists what it would say unasked where somebody approves it first, and what became of it."
        / "承認を待っている発言の案と、その結果を一覧する。";
    decide_proposal:
        "Says it, says other words, or does not say it. The first choice counts."
        / "そのまま話すか、文を変えて話すか、話さないかを決める。最初に決めたものが有効。";
    answer_trust:
        "Answers whether it is to speak by itself in a channel from the offered confidence on. The first answer counts."
        / "提示された確信度以上のとき、チャンネルで自分から話してよいかを答える。最初の返事が有効。";
    list_calls:
        "Lists calls of tools that may change something, which somebody has to allow, and what became of them."
        / "何かを変更する可能性のあるツールの、許可が必要な呼び出しと、その結果を一覧する。";
    decide_call:
        "Allows a call, once, or refuses it. The first choice counts."
        / "呼び出しを一度だけ許可するか、許可しないかを決める。最初に決めたものが有効。";
    list_dead_letters: "Lists what could not be posted." / "投稿できなかったものを一覧する。";
    retry_dead_letter: "Opens the failed decision again." / "失敗した判断をもう一度開く。";
    drop_dead_letter: "Drops it with its text." / "文面ごと破棄する。";
    list_memories: "Reads what is remembered." / "記憶を読む。";
    change_memory:
        "Changes, pins or removes an entry, or a whole memory."
        / "記憶の項目を変更・固定・削除する。記憶全体の操作もできる。";
    list_memory_changes: "Reads who changed memories, and how." / "記憶の変更履歴を読む。";
    change_memo: "Changes a memo." / "メモを変更する。";
    revert_memo:
        "Makes a memo what it was before a change, also one that was removed."
        / "メモを変更前の内容に戻す。削除したメモも戻せる。";
    remove_memo: "Removes a memo." / "メモを削除する。";
    get_status: "Tells how every workspace stands." / "全ワークスペースの状態を読む。";
    get_health: "Tells what waits and which models fail." / "待っている処理とモデルの状態を読む。";
    get_spending: "Tells tokens, money and limits." / "トークン、費用、上限を読む。";
    get_figures: "Tells the figures of the last days." / "直近の日々の数値を読む。";
    list_private_reads: "Lists who read private channels." / "非公開チャンネルの閲覧記録を読む。";
    get_models: "Tells which models are used, and which could be." / "使っているモデルと使えるモデルを読む。";
    choose_model:
        "Tries a model and uses it from then on. Only from the page on this machine."
        / "モデルを試し、以後それを使う。このマシンのページからのみ。";
    look_for_models:
        "Looks for models again. Only from the page on this machine."
        / "モデルを探し直す。このマシンのページからのみ。";
    start_demo: "Plays the demo." / "デモを再生する。";
    end_demo: "Ends the demo." / "デモを終える。";
}

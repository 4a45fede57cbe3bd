//! The report's section on next steps: lines for a config, and commands.

texts! {
    // The lines of a config.
    /// Appended to a line.
    unlimited: "no limit, where the defaults have one" / "既定では上限あり";
    /// Replaces parts that the page does not know.
    other_parts(parts: &str):
        "and the parts of the policy’s file: {parts}" / "方針のファイルの次の部分も：{parts}";
    /// Precedes the lines.
    block_of(policy: &str): "To use {policy}, put this into your config:" / "{policy} を使うには、設定ファイルにこう書きます：";
    block_of_default(policy: &str):
        "{policy} is the default settings, so your config needs no lines for it."
        / "{policy} は既定の設定なので、設定ファイルに書くものはありません。";
    /// In a report on posts without a model. Text in backquotes is shown as code.
    block_without_model(policy: &str):
        "To use {policy} without a model, put this into your config (without `mode: companion` it speaks only when called; with a model that line changes nothing):"
        / "{policy} をモデルなしで使うには、設定ファイルにこう書きます（`mode: companion` がないと、呼ばれたときしか話しません。モデルを使う場合、この行があっても変わりません）：";
    block_alone_without_model:
        "To have it speak like this without a model, put this into your config (without `mode: companion` it speaks only when called; with a model that line changes nothing):"
        / "モデルなしでこのように話させるには、設定ファイルにこう書きます（`mode: companion` がないと、呼ばれたときしか話しません。モデルを使う場合、この行があっても変わりません）：";
    /// For the only policy, which has no meaningful name.
    block: "The settings of this replay, to put into your config:" / "この再生の設定（設定ファイルに書く内容）：";

    /// Appended to the sentence before some lines.
    restart: "Some of these lines hold only after a restart." / "再起動しないと有効にならない行があります。";

    // The introduction. Text in backquotes is shown as code.
    begin_without_model:
        "Not sure? Leave it at `mention_only`. If you write nothing into the config, Slack and Discord get `mention_only` without a model: then it says nothing unasked."
        / "迷うときは、`mention_only` のままにしてください。設定ファイルに何も書かなければ、モデルを使わない場合、Slack と Discord では `mention_only` になり、自分からは何も話しません。";
    /// The same where posts are listed.
    begin_with_posts:
        "Not sure? Leave it at `mention_only`, and read the posts below: if fewer than half of them would help your team, leave it so. If you write nothing into the config, Slack and Discord get `mention_only` without a model: then it says nothing unasked."
        / "迷うときは、`mention_only` のままにして、下の投稿を読んでください。チームの役に立ちそうなものが半分に満たなければ、そのままにします。設定ファイルに何も書かなければ、モデルを使わない場合、Slack と Discord では `mention_only` になり、自分からは何も話しません。";
    /// What it takes to see what a model would do.
    begin_ask(time: &str, money: &str, model: &str):
        "Asking a model what it would have done in {time} costs {money} with {model}, and sends messages of that time to its provider, with the names of their authors (the command is under “What you can do next”)."
        / "{time}について、モデルならどうしていたかを尋ねると、{model} で {money} かかり、その間の発言を、書いた人の名前つきで提供元に送ります（コマンドは「次にできること」にあります）。";
    begin_ask_unpriced:
        "Asking a model what it would have done sends messages to its provider, with the names of their authors (the command is under “What you can do next”)."
        / "モデルならどうしていたかを尋ねると、発言を、書いた人の名前つきで提供元に送ります（コマンドは「次にできること」にあります）。";
    last_days(days: &str): "the last {days} days" / "最後の {days} 日間";
    begin_with_model:
        "Not sure? Let it only listen first, then let it speak. If you write nothing into the config, it speaks unasked with a model, and without one, on Slack and Discord, only when called."
        / "迷うときは、まず聞くだけの設定で試し、そのあとで自分から話す設定にしてください。設定ファイルに何も書かなければ、モデルを使う場合は自分から話し、モデルを使わない場合、Slack と Discord では呼ばれたときだけ話します。";
    begin_policies:
        "Take the policy that you like best: its lines are below. Let it only listen first. A mixture, such as one policy’s wait with the limits of the defaults, is another policy than those of this page: write it into a file, and replay it first."
        / "最もよいと思う方針を選んでください（書く内容は下にあります）。まず聞くだけにするのがお勧めです。ある方針の待ち時間に既定の上限を組み合わせるなど、混ぜたものはこのページのどの方針とも違うので、ファイルに書いて先に再生してください。";
    place:
        "Where to write it: into `config.yaml` in the folder where you start Aizuchi, or into the file that you name with `--config`. `aizuchi check` says which file it is. If a section such as `response:` is there already, the lines go into it. "
        "Then let it read the file again: `systemctl reload aizuchi` if it runs as a service, else `kill -HUP` with the number of its process. A restart does the same, and some lines, such as those for a model, hold only after one."
        / "書くところ：Aizuchi を起動するフォルダーの `config.yaml`、または `--config` で指定したファイル。どのファイルかは `aizuchi check` でわかります。`response:` などの見出しがすでにあれば、その中に書きます。"
          "書いたら、サービスとして動かしているときは `systemctl reload aizuchi`、そうでなければ `kill -HUP`（とプロセス番号）で読み直させます。再起動しても同じです。モデルの行など、再起動しないと有効にならない行もあります。";

    // To listen.
    one_week: "a week" / "1 週間";
    many_weeks(weeks: &str): "{weeks} weeks" / "{weeks} 週間";
    /// `posts` in the whole time, and `pace` per week.
    observe(weeks: &str, posts: &str, pace: &str):
        "Only listen, for {weeks}: it posts nothing, not even when called, and you see what it would do. At the pace of this history that shows about {posts} ({pace} a week)."
        / "聞くだけ（{weeks}）：呼ばれても投稿はしません。レポートで、どうするつもりだったかがわかります。この履歴のペースなら、その間に見られる投稿は約 {posts}（週に {pace} 回）です。";
    observe_unknown:
        "Only listen, for a week: it posts nothing, not even when called, and you see what it would do."
        / "聞くだけ（1 週間）：呼ばれても投稿はしません。レポートで、どうするつもりだったかがわかります。";
    /// Where no model judges. It writes no texts meanwhile, so what it would post is not told from the rest.
    observe_moments(weeks: &str, moments: &str, posts: &str):
        "Only listen, for {weeks}: it posts nothing, not even when called, and its report shows when it would speak, but not what it would say. At the pace of this history these are about {moments}; without a model it would post at about {posts} of them, and at fewer as long as it has little to quote."
        / "聞くだけ（{weeks}）：呼ばれても投稿はしません。レポートでわかるのは、いつ話そうとするかだけで、何と言うかはわかりません。この履歴のペースなら、「話す場面」は約 {moments}、そのうちモデルなしで投稿するのは約 {posts} 回です。引用できる発言が少ないうちは、もっと少なくなります。";
    observe_no_posts(weeks: &str, moments: &str):
        "Only listen, for {weeks}: it posts nothing, not even when called, and its report shows when it would speak, but not what it would say. At the pace of this history these are about {moments}; without a model it would hardly post at any of them."
        / "聞くだけ（{weeks}）：呼ばれても投稿はしません。レポートでわかるのは、いつ話そうとするかだけで、何と言うかはわかりません。この履歴のペースなら、「話す場面」は約 {moments}ですが、モデルなしで投稿するものはほとんどありません。";
    observed: "After that, read what it would have done:" / "そのあと、どうするつもりだったかを次のコマンドで確かめます：";

    // Quieter settings.
    mention_only:
        "Only when called: it answers to its name, and posts nothing unasked."
        / "呼ばれたときだけ：名前で呼ばれれば答え、自分からは何も投稿しません。";
    mention_only_of(posts: &str):
        "Only when called: it answers to its name, and posts nothing unasked. It would post none of the {posts} of this replay."
        / "呼ばれたときだけ：名前で呼ばれれば答え、自分からは何も投稿しません。この再生の {posts}の投稿は、一つもしません。";
    /// Of the posts in the list of the page.
    cooldown(length: &str, left: &str, listed: &str):
        "Quieter: after a post it stays silent in that channel for {length}. Of the {listed} in the list of this page, about {left} would be left."
        / "静かにする：自分から投稿した後、そのチャンネルでは {length}控えます。このページの一覧にある投稿 {listed}のうち、残るのは約 {left} 回です。";
    /// Why it is this channel: its share of posts that would interrupt is smaller than elsewhere, beyond chance.
    calmest_channel(channel: &str, posts: &str, all: &str, wrong: &str):
        "Begin in one channel, {channel} ({posts} of the {all}): {wrong} of its posts would probably interrupt, a smaller share than elsewhere, by more than chance explains. "
        "Elsewhere it speaks only when called."
        / "一つのチャンネルから始める：{channel}（投稿 {all}のうち {posts} 回）。邪魔になりそうなものは {wrong} で、その割合は、偶然とはいえないほどほかより小さくなっています。"
          "ほかでは、呼ばれたときだけ話します。";
    /// Where the shares do not tell the channels apart.
    known_channel(channel: &str):
        "Begin in one channel that you know well; {channel} stands for it here. Elsewhere it speaks only when called."
        / "よく知っているチャンネル一つから始める（ここでは例として {channel}）。ほかでは、呼ばれたときだけ話します。";
    quieter_channel(channel: &str, left: &str, all: &str):
        "Quieter in {channel}, where it would have interrupted most often: there it speaks only when called. {left} of the {all} would be left."
        / "邪魔になりそうな回数が最も多い {channel} だけ静かにする：そこでは、呼ばれたときだけ話します。投稿 {all}のうち、残るのは {left} 回です。";
    speak(channel: &str):
        "Let it speak in one channel, {channel}. A week later run `aizuchi report --last 7d --html week.html` again."
        / "一つのチャンネル（{channel}）で話させる。一週間後にもう一度 `aizuchi report --last 7d --html week.html` を実行します。";

    /// A heading.
    others: "In the chat, and commands" / "チャットでの操作とコマンド";
    // In the chat.
    off(persona: &str):
        "To stop it at once, write `@{persona} stop` in a channel (an hour) or `@{persona} mute` (until `@{persona} unmute`). Everybody in the channel may. It then does not answer when called either. "
        "An admin can write `@{persona} mute everywhere`: on Slack an owner or admin of the workspace, on Discord the owner of the server or somebody whose role has Administrator or Manage Server."
        / "すぐに止めるには、チャンネルで `@{persona} ストップ`（1 時間）か `@{persona} ミュート`（`@{persona} ミュート解除` まで）と書きます。そこにいる人なら誰でもできます。その間は、呼ばれても答えません。"
          "管理者は `@{persona} どこでもミュート` も使えます。管理者とは、Slack ではワークスペースのオーナーか管理者、Discord ではサーバーの所有者か、「管理者」または「サーバー管理」の権限があるロールを持つ人です。";
    /// `modes` is a list of the modes, each with what it does.
    in_channel(persona: &str, modes: &str):
        "To change a single channel without the config, an admin writes `@{persona} mode observe` there. It holds at once. The modes: {modes}. `@{persona} mode default` undoes it."
        / "設定ファイルを使わずに一つのチャンネルだけ変えるには、管理者がそこで `@{persona} モード observe` と書きます。すぐに有効になります。モードの種類：{modes}。`@{persona} モード 標準` で元に戻ります。";
    mode(name: &str, what: &str): "`{name}` ({what})" / "`{name}`（{what}）";
    mode_off: "it stores nothing" / "何も保存しない";
    mode_observe: "it listens, and answers nothing" / "聞くだけで、何も答えない";
    mode_mention_only: "it answers when called" / "呼ばれたら答える";
    mode_propose:
        "what it would say unasked is posted only after somebody has approved it"
        / "自分から話す内容は、誰かが承認してから投稿する";
    mode_companion: "it speaks unasked" / "自分から話す";
    mode_facilitator: "it helps a discussion along" / "議論の進行を手伝う";

    // Commands. Each text precedes its command.
    ask_model(model: &str, estimate: &str):
        "See what a model would do. This asks the model of your config. Before the first call it says how many calls there are and what they cost. Estimated with {model}, once: {estimate}."
        / "モデルならどうするかを見る：設定ファイルのモデルに尋ねます。最初の呼び出しの前に、回数と費用を表示します。{model} の場合の見積もり、1 回分：{estimate}。";
    /// About the last days alone, from midnight UTC of a date on.
    ask_model_lately(from: &str, model: &str, money: &str):
        "See what a model would do in the last 30 days (since {from}). This asks the model of your config. Before the first call it says how many calls there are and what they cost. Estimated with {model} for this time: {money}."
        / "最後の 30 日（{from} 以降）について、モデルならどうするかを見る：設定ファイルのモデルに尋ねます。最初の呼び出しの前に、回数と費用を表示します。{model} の場合、この期間の見積もりは {money} です。";
    /// Follows the estimate.
    ask_limit(most: &str, margin: &str):
        "With `--max-cost {most}` it stops at {margin}. The estimate counts no thinking tokens; `--max-cost` does."
        / "`--max-cost {most}` を付けると、{margin}に達したところで止まります。思考（thinking）のトークンは見積もりに入っていませんが、`--max-cost` には数えます。";
    margin(times: &str): "{times} times the estimate" / "見積もりの {times} 倍";
    large_margin(times: &str): "more than {times} times the estimate" / "見積もりの {times} 倍を超える額";
    /// What everything would cost, and the limit for that.
    ask_everything(estimate: &str, all: &str):
        "Without `--from` it asks about everything: {estimate}, so `--max-cost {all}`."
        / "`--from` を外すと全体について尋ねます：{estimate}。その場合は `--max-cost {all}` とします。";
    price_of_policies(policies: usize, money: &str):
        "{money} for all {policies} policies" / "{policies} つの方針すべてで {money}";
    // How to set a model.
    set_model: "How to set a model" / "モデルの設定のしかた";
    model_with_key(key: &str):
        "Put these lines into the config (`PROVIDER/MODEL`; this one is an example), and the key into the environment or into the file `.env` beside the config, as `{key}=…`. Then run `aizuchi check`: it asks the model for one token, and names what is missing."
        / "次の行を設定ファイルに書きます（モデルは `提供元/モデル` の形で書きます。これは一例です）。API キーは、環境変数に設定するか、設定ファイルと同じフォルダーの `.env` に `{key}=…` と書きます。そのあと `aizuchi check` を実行すると、1 トークン分だけモデルを呼び出し、足りないものがあれば示します。";
    model_without_key:
        "Put these lines into the config (`PROVIDER/MODEL`). Then run `aizuchi check`: it asks the model for one token, and names what is missing."
        / "次の行を設定ファイルに書きます（モデルは `提供元/モデル` の形で書きます）。そのあと `aizuchi check` を実行すると、1 トークン分だけモデルを呼び出し、足りないものがあれば示します。";
    /// Of the mode in the lines.
    model_keeps_silent:
        "With the mode in the last two lines it does not speak unasked meanwhile. The command above does not look at that mode."
        / "最後の 2 行でモードを指定しているので、その間、自分からは話しません。上のコマンドは、このモードの影響を受けません。";
    /// Where the lines have no mode, since the command replays with that config.
    model_speaks:
        "These lines name no mode, because the command above replays with that config, so with its mode, too. If the config has no `response.mode`, it speaks unasked from the next restart on: to prevent that, set `mention_only` before you restart it."
        / "この行ではモードを指定していません。上のコマンドはその設定ファイルで再生し、そのモードの影響も受けるためです。設定ファイルに `response.mode` がなければ、次に再起動したときから自分から話します。そうさせたくない場合は、再起動の前に `mention_only` を設定してください。";
    model_needs_restart:
        "If it is running already, restart it after that. A reload does not change the model."
        / "すでに動かしている場合は、そのあと再起動してください。設定ファイルを読み直させるだけでは、モデルは変わりません。";
    estimate_alone(period: &str, money: &str): "{money} for all {period}" / "{period}分で {money}";
    /// The estimate for all policies of the page, and for the first one alone.
    estimate_of_all(policies: usize, period: &str, money: &str, policy: &str, alone: &str):
        "{money} for all {policies} policies and {period}; {alone} for {policy} only"
        / "{policies} つの方針すべて、{period}分で {money}（{policy} だけなら {alone}）";
    /// If the first policy is also measured with the default limits.
    estimate_of_policies(policies: usize, period: &str, money: &str):
        "{money} for all {policies} policies and {period}" / "{policies} つの方針すべて、{period}分で {money}";
    ask_model_unpriced:
        "See what a model would do. This asks the model of your config. Before the first call it says how many calls there are and what they cost."
        / "モデルならどうするかを見る：設定ファイルのモデルに尋ねます。最初の呼び出しの前に、回数と費用を表示します。";
    tune:
        "Let it look for settings that suit this history better. It prints lines for your config."
        / "この履歴にもっと合う設定を探させる：設定ファイルに書く内容を出力します。";
    compare:
        "Compare settings of your own. Write each into a file."
        / "自分の設定を比べる：それぞれをファイルに書きます。";
    placeholders:
        "Words in capitals, such as INPUT, stand for your own files: the history that this page was made from, and its settings."
        / "INPUT などの大文字の語は、皆さんのファイル（このページの元になった履歴と設定）に置き換えてください。";
}

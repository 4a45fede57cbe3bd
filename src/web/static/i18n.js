/** The page's words in English and Japanese. `{persona}` and the like are filled in by `say`. */

/** What the server tells the page about itself. */
export const settings = JSON.parse(document.getElementById("settings").textContent);

const ENGLISH = {
  channels: "Channels",
  people: "People",
  sidebar: "Channels and people",
  messages: "Messages",
  thread: "Thread",
  about: "About this room",
  keys: "Keyboard shortcuts",
  skip: "Skip to writing a message",
  close: "Close",
  close_thread: "Close the thread",
  cancel: "Cancel",
  save: "Save",
  send: "Send",
  mention: "Mention somebody",
  write_channel: "Write a message",
  write_thread: "Reply in this thread",
  hint: "Enter sends, Shift+Enter starts a new line, @ mentions, Ctrl+/ shows all keys",
  earlier: "Earlier messages",
  loading: "Loading…",
  try_again: "Try again",
  not_loaded: "These messages could not be loaded. {why}",
  newer: "New messages below",
  empty_channel: "Nothing has been said here yet.",
  you_are: "You are",
  you: "you",
  speak_as: "Speak as {name}",
  speaking_as: "You speak as {name}. Choose somebody else",
  now_you_are: "You now speak as {name}.",
  change_name: "Change",
  unread: "{count} unread",
  bot: "bot",
  edited_mark: "(edited)",
  deleted: "This message was deleted.",
  reply: "Reply in thread",
  replies_one: "1 reply",
  replies_many: "{count} replies",
  replies_new: "new",
  older_thread: "{user} replied in an older thread",
  today: "Today",
  yesterday: "Yesterday",
  reconnecting: "reconnecting…",

  line: "{user}, {time}: {text}",
  actions: "Actions",
  actions_for: "Actions for this message by {user}",
  edit: "Edit",
  edit_label: "Edit your message",
  edit_hint: "Enter saves, Esc cancels",
  delete: "Delete",
  delete_question: "Delete this message?",
  delete_why: "It disappears for everybody.",
  suggestions: "People to mention",
  suggestions_one: "1 name. Enter chooses it.",
  suggestions_many: "{count} names. The arrow keys move, Enter chooses.",
  announce_line: "{user}: {text}",
  announce_reply: "{user}, in a thread: {text}",
  announce_decision: "{persona}: {what}",

  add_channel: "Add a channel",
  add_channel_why: "Everyone in the room can read it and write there.",
  add_channel_label: "Name of the channel",
  add_person: "Add a person",
  add_person_why: "Then pick them in the list to speak as them in this tab.",
  add_person_label: "Name of the person",
  add: "Add",
  person_added: "{name} was added.",

  listening: "{persona} is listening",
  typing: "{persona} is typing…",
  considering: "{persona} decides in {wait}",
  considering_now: "{persona} is about to decide",
  judging: "{persona} is deciding whether to join in",
  waiting_to_reply: "{persona} answers in {wait}",
  waiting_to_reply_now: "{persona} is about to answer",
  thinking: "{persona} is thinking of an answer",
  writing: "{persona} is writing an answer",
  silent: "stayed silent",
  silent_because: "stayed silent: {why}",
  dropped: "let it be",
  dropped_because: "let it be: {why}",
  failed: "could not answer",
  failed_because: "could not answer: {why}",
  spoke: "spoke by its own choice",
  spoke_because: "spoke: {why}",
  details: "details",

  name_question: "What should we call you?",
  name_why: "Every tab can be somebody else. You can change the name later.",
  name_label: "Your name",
  name_save: "Enter the room",

  intro_who:
    "In this room are you, {persona} (a bot), and everyone else who opens this page. " +
    "{persona} listens and decides by itself when to speak. Often it stays silent, and says why.",
  intro_try: "Things to try:",
  intro_ask: "ask a question and wait about {wait}",
  intro_mention: "mention @{persona} for an answer at once",
  intro_two: "add a second person under People and let the two talk to each other",
  intro_wait: "Here it waits about {wait} before it decides; in a real workspace it would wait about {usual_wait}.",
  intro_builtin: "{persona} is using its built-in mind: a handful of rules, not a language model.",
  intro_model: "The model {mind} decides and answers for {persona} here, not the built-in rules.",
  fact_builtin: "Built-in mind: a handful of rules, not a language model.",
  fact_model: "Answers come from the model {mind}.",
  fact_wait: "Waits about {wait} here, about {usual_wait} in a real workspace.",
  seconds: "{count} s",
  minute: "1 minute",
  minutes: "{count} minutes",

  help_anywhere: "Anywhere",
  help_help: "show these keys",
  help_help_writing: "show these keys, while writing too",
  help_escape: "close what is open: a list, a dialog, the thread",
  help_writing: "While writing",
  help_send: "send",
  help_break: "start a new line",
  help_mention: "mention somebody; ↑ ↓ and Enter or Tab choose",
  help_edit_last: "in an empty field: edit your last message",
  help_to_lines: "go to the messages",
  help_lines: "On a message",
  help_walk: "previous, next message",
  help_ends: "first, last message",
  help_controls: "its buttons and links",
  help_thread: "open its thread",
  help_edit: "edit your own message",
  help_delete: "delete your own message",
  help_to_composer: "back to writing",

  unreachable: "The server could not be reached.",
  unanswered: "The server did not answer in time.",
  text_kept: "Your text is still here; please try again.",
  refused: "The server could not do that ({status}).",
};

const JAPANESE = {
  channels: "チャンネル",
  people: "メンバー",
  sidebar: "チャンネルとメンバー",
  messages: "メッセージ",
  thread: "スレッド",
  about: "この部屋について",
  keys: "キーボード操作",
  skip: "メッセージの入力欄へ移動",
  close: "閉じる",
  close_thread: "スレッドを閉じる",
  cancel: "キャンセル",
  save: "保存",
  send: "送信",
  mention: "メンションする",
  write_channel: "メッセージを書く",
  write_thread: "スレッドに返信する",
  hint: "Enter で送信、Shift+Enter で改行、@ でメンション、Ctrl+/ でキー一覧",
  earlier: "以前のメッセージ",
  loading: "読み込んでいます…",
  try_again: "もう一度読み込む",
  not_loaded: "メッセージを読み込めませんでした。{why}",
  newer: "新しいメッセージがあります",
  empty_channel: "まだ何も話されていません。",
  you_are: "あなた:",
  you: "あなた",
  speak_as: "{name} として話す",
  speaking_as: "{name} として話しています。ほかの人に切り替える",
  now_you_are: "これから {name} として話します。",
  change_name: "変更",
  unread: "未読 {count} 件",
  bot: "ボット",
  edited_mark: "（編集済み）",
  deleted: "このメッセージは削除されました。",
  reply: "スレッドで返信",
  replies_one: "返信 1 件",
  replies_many: "返信 {count} 件",
  replies_new: "新着",
  older_thread: "{user} さんが以前のスレッドに返信しました",
  today: "今日",
  yesterday: "昨日",
  reconnecting: "再接続しています…",

  line: "{user}、{time}、{text}",
  actions: "メッセージの操作",
  actions_for: "{user} さんのメッセージの操作",
  edit: "編集",
  edit_label: "メッセージを編集",
  edit_hint: "Enter で保存、Esc でキャンセル",
  delete: "削除",
  delete_question: "このメッセージを削除しますか？",
  delete_why: "全員の画面から消えます。",
  suggestions: "メンションの候補",
  suggestions_one: "候補 1 件。Enter で決定します。",
  suggestions_many: "候補 {count} 件。矢印キーで選び、Enter で決定します。",
  announce_line: "{user}、{text}",
  announce_reply: "スレッド内の {user}、{text}",
  announce_decision: "{persona}、{what}",

  add_channel: "チャンネルを追加",
  add_channel_why: "部屋にいる全員が読み書きできます。",
  add_channel_label: "チャンネル名",
  add_person: "メンバーを追加",
  add_person_why: "追加した人を一覧で選ぶと、このタブでその人として話せます。",
  add_person_label: "メンバーの名前",
  add: "追加",
  person_added: "{name} を追加しました。",

  listening: "{persona} は聞いています",
  typing: "{persona} が入力しています…",
  considering: "{persona} はあと {wait}で判断します",
  considering_now: "{persona} はまもなく判断します",
  judging: "{persona} は会話に加わるか考えています",
  waiting_to_reply: "{persona} はあと {wait}で答えます",
  waiting_to_reply_now: "{persona} はまもなく答えます",
  thinking: "{persona} は答えを考えています",
  writing: "{persona} は答えを書いています",
  silent: "黙っていました",
  silent_because: "黙っていました: {why}",
  dropped: "見送りました",
  dropped_because: "見送りました: {why}",
  failed: "答えられませんでした",
  failed_because: "答えられませんでした: {why}",
  spoke: "自分で決めて話しました",
  spoke_because: "話した理由: {why}",
  details: "詳しく",

  name_question: "お名前は？",
  name_why: "タブごとに別の人になれます。名前は後で変えられます。",
  name_label: "名前",
  name_save: "部屋に入る",

  intro_who:
    "この部屋には、あなたと {persona}（ボット）、そしてこのページを開いた人たちがいます。" +
    "{persona} は会話を聞いて、いつ話すかを自分で決めます。黙っていることも多く、その理由を示します。",
  intro_try: "試してみてください:",
  intro_ask: "質問を書いて {wait}ほど待つ",
  intro_mention: "@{persona} を付けて書くと、すぐに答えます",
  intro_two: "「メンバー」にもう一人追加して、二人で会話させる",
  intro_wait: "ここでは {wait}ほど待ってから判断します。実際のワークスペースでは {usual_wait}ほど待ちます。",
  intro_builtin: "今の {persona} は内蔵の頭脳で動いています。いくつかの規則だけで、言語モデルではありません。",
  intro_model: "ここでは内蔵の規則ではなく、モデル {mind} が {persona} として判断し、答えます。",
  fact_builtin: "内蔵の頭脳: いくつかの規則だけで、言語モデルではありません。",
  fact_model: "モデル {mind} が答えます。",
  fact_wait: "待ち時間はここでは約 {wait}、実際のワークスペースでは約 {usual_wait}です。",
  seconds: "{count} 秒",
  minute: "1 分",
  minutes: "{count} 分",

  help_anywhere: "どこでも",
  help_help: "キー一覧を開く",
  help_help_writing: "キー一覧を開く（入力中も）",
  help_escape: "開いているもの（候補、ダイアログ、スレッド）を閉じる",
  help_writing: "入力中",
  help_send: "送信",
  help_break: "改行",
  help_mention: "メンション。↑ ↓ で選び、Enter か Tab で決定",
  help_edit_last: "入力欄が空のとき、自分の最後のメッセージを編集",
  help_to_lines: "メッセージの一覧へ",
  help_lines: "メッセージの上",
  help_walk: "前・次のメッセージ",
  help_ends: "最初・最後のメッセージ",
  help_controls: "メッセージ内のボタンやリンクへ",
  help_thread: "スレッドを開く",
  help_edit: "自分のメッセージを編集",
  help_delete: "自分のメッセージを削除",
  help_to_composer: "入力欄に戻る",

  unreachable: "サーバーに接続できません。",
  unanswered: "サーバーから時間内に返事がありませんでした。",
  text_kept: "文章は残っています。もう一度お試しください。",
  refused: "サーバーが受け付けませんでした（{status}）。",
};

const WORDS = settings.language === "ja" ? JAPANESE : ENGLISH;

/**
 * The sentence for a key, with its `{places}` filled.
 * @param {string} key
 * @param {Object<string, string|number>} [values]
 */
export function say(key, values = {}) {
  const known = { persona: settings.persona, ...values };
  return WORDS[key].replace(/\{(\w+)\}/g, (place, name) => known[name] ?? place);
}

/**
 * "12 s" or "5 minutes".
 * @param {number} seconds
 */
export function sayDuration(seconds) {
  if (seconds < 60) return say("seconds", { count: Math.round(seconds) });
  const minutes = Math.round(seconds / 60);
  return say(minutes === 1 ? "minute" : "minutes", { count: minutes });
}

/** Fills the page's `data-text`, `data-label` and `data-placeholder` places, once, at the start. */
export function fillPage() {
  const values = {
    wait: sayDuration(settings.wait_seconds),
    usual_wait: sayDuration(settings.usual_wait_seconds),
    mind: settings.mind,
  };
  for (const element of document.querySelectorAll("[data-text]")) {
    element.textContent = say(element.dataset.text, values);
  }
  for (const element of document.querySelectorAll("[data-label]")) {
    const label = say(element.dataset.label, values);
    element.setAttribute("aria-label", label);
    if (element.localName === "button") element.title = label;
  }
  for (const element of document.querySelectorAll("[data-placeholder]")) {
    element.placeholder = say(element.dataset.placeholder, values);
  }
  for (const element of document.querySelectorAll("[data-only]")) {
    element.hidden = (element.dataset.only === "builtin") !== (settings.mind === "builtin");
  }
}

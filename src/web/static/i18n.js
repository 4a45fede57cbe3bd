/** The page's words in English and Japanese. `{persona}` and the like are filled in by `say`. */

/** What the server tells the page about itself. */
export const settings = JSON.parse(document.getElementById("settings").textContent);

const ENGLISH = {
  channels: "Channels",
  messages: "Messages",
  thread: "Thread",
  about: "About this room",
  close: "Close",
  close_thread: "Close the thread",
  send: "Send",
  mention: "Mention {persona}",
  write_channel: "Write a message",
  write_thread: "Reply in this thread",
  hint: "Enter sends, Shift+Enter starts a new line, @ and Tab mentions {persona}",
  earlier: "Earlier messages",
  newer: "New messages below",
  empty_channel: "Nothing has been said here yet.",
  you_are: "You are",
  change_name: "Change",
  unread: "{count} unread",
  bot: "bot",
  edited: "edited",
  deleted: "This message was deleted.",
  reply: "Reply in thread",
  replies_one: "1 reply",
  replies_many: "{count} replies",
  replies_new: "new",
  today: "Today",
  yesterday: "Yesterday",
  reconnecting: "reconnecting…",

  listening: "{persona} is listening",
  considering: "{persona}: considering in {seconds} s",
  considering_now: "{persona}: considering now",
  judging: "{persona}: deciding whether to join in",
  waiting_to_reply: "{persona}: will answer in {seconds} s",
  waiting_to_reply_now: "{persona}: about to answer",
  thinking: "{persona}: thinking",
  typing: "{persona}: typing…",
  silent: "stayed silent",
  silent_because: "stayed silent: {why}",
  failed: "could not answer",
  failed_because: "could not answer: {why}",
  spoke: "spoke: {why}",

  name_question: "What should we call you?",
  name_why: "Every tab can be somebody else. You can change the name later.",
  name_label: "Your name",
  name_save: "Enter the room",
  name_taken: "{persona} is already in the room. Please choose another name.",

  intro_who:
    "In this room are you, {persona} (a bot), and everyone else who opens this page. " +
    "{persona} listens and decides by itself when to speak. Often it stays silent, and says why.",
  intro_try: "Things to try:",
  intro_ask: "ask a question and wait about {wait}",
  intro_mention: "mention @{persona} for an answer at once",
  intro_tab: "open a second tab as somebody else and talk to each other",
  intro_wait: "Here it waits about {wait} before it decides; in a real workspace it would wait about {usual_wait}.",
  intro_builtin: "{persona} is using its built-in mind: a handful of rules, not a language model.",
  fact_builtin: "Built-in mind: a handful of rules, not a language model.",
  fact_wait: "Waits about {wait} here, about {usual_wait} in a real workspace.",
  seconds: "{count} s",
  minute: "1 minute",
  minutes: "{count} minutes",

  unreachable: "The server could not be reached. Your text is still here; please try again.",
  unanswered: "The server did not answer in time. Please check whether your message arrived before sending it again.",
  refused: "The server could not do that ({status}).",
};

const JAPANESE = {
  channels: "チャンネル",
  messages: "メッセージ",
  thread: "スレッド",
  about: "この部屋について",
  close: "閉じる",
  close_thread: "スレッドを閉じる",
  send: "送信",
  mention: "{persona} にメンションする",
  write_channel: "メッセージを書く",
  write_thread: "スレッドに返信する",
  hint: "Enter で送信、Shift+Enter で改行、@ と Tab で {persona} にメンション",
  earlier: "以前のメッセージ",
  newer: "新しいメッセージがあります",
  empty_channel: "まだ何も話されていません。",
  you_are: "あなた:",
  change_name: "変更",
  unread: "未読 {count} 件",
  bot: "ボット",
  edited: "編集済み",
  deleted: "このメッセージは削除されました。",
  reply: "スレッドで返信",
  replies_one: "返信 1 件",
  replies_many: "返信 {count} 件",
  replies_new: "新着",
  today: "今日",
  yesterday: "昨日",
  reconnecting: "再接続しています…",

  listening: "{persona} は聞いています",
  considering: "{persona}: あと {seconds} 秒で検討します",
  considering_now: "{persona}: まもなく検討します",
  judging: "{persona}: 会話に加わるか考えています",
  waiting_to_reply: "{persona}: あと {seconds} 秒で答えます",
  waiting_to_reply_now: "{persona}: まもなく答えます",
  thinking: "{persona}: 考えています",
  typing: "{persona}: 入力しています…",
  silent: "黙っていました",
  silent_because: "黙っていました: {why}",
  failed: "答えられませんでした",
  failed_because: "答えられませんでした: {why}",
  spoke: "話した理由: {why}",

  name_question: "お名前は？",
  name_why: "タブごとに別の人になれます。名前は後で変えられます。",
  name_label: "名前",
  name_save: "部屋に入る",
  name_taken: "{persona} はもう部屋にいます。別の名前にしてください。",

  intro_who:
    "この部屋には、あなたと {persona}（ボット）、そしてこのページを開いた人たちがいます。" +
    "{persona} は会話を聞いて、いつ話すかを自分で決めます。黙っていることも多く、その理由を示します。",
  intro_try: "試してみてください:",
  intro_ask: "質問を書いて {wait}ほど待つ",
  intro_mention: "@{persona} を付けて書くと、すぐに答えます",
  intro_tab: "もう一つタブを開き、別の人として会話する",
  intro_wait: "ここでは {wait}ほど待ってから決めます。実際のワークスペースでは {usual_wait}ほど待ちます。",
  intro_builtin: "今の {persona} は内蔵の頭脳で動いています。いくつかの規則だけで、言語モデルではありません。",
  fact_builtin: "内蔵の頭脳: いくつかの規則だけで、言語モデルではありません。",
  fact_wait: "待ち時間はここでは約 {wait}、実際のワークスペースでは約 {usual_wait}です。",
  seconds: "{count} 秒",
  minute: "1 分",
  minutes: "{count} 分",

  unreachable: "サーバーに接続できません。文章は残っています。もう一度お試しください。",
  unanswered: "サーバーから時間内に返事がありませんでした。届いているか確かめてから、送り直してください。",
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
    element.hidden = element.dataset.only !== settings.mind;
  }
}

/** How the persona takes part in the open channel: said at its head, changed in a dialog. An order holds at once. */

import { Refusal, fetchSpending, postOrder } from "./api.js";
import { openDialog } from "./dialogs.js";
import { build } from "./elements.js";
import { drawIntro } from "./intro.js";
import { say, settings } from "./i18n.js";
import { clock, dateTime } from "./time.js";

const MODES = ["companion", "facilitator", "mention_only", "propose", "observe", "off"];
const MUTES = { "mute-hour": 60, "mute-hours": 480, "mute-on": null };
const BUILTIN = "builtin";
const DAY_SECONDS = 86_400;
/** Whoever mutes without an end gets a far one. */
const FOR_GOOD_SECONDS = 100 * 365 * DAY_SECONDS;
const COUNT = new Intl.NumberFormat(settings.language);
const MONEY = new Intl.NumberFormat(settings.language, { maximumFractionDigits: 4 });

/** The button at the channel's head and the dialog behind it. */
export class Manner {
  #state;
  #open;
  #isStageEmpty;
  #button = document.getElementById("manner");
  #dialog = document.getElementById("manner-dialog");
  #error = this.#dialog.querySelector(".error");
  #print = "";

  /**
   * @param {import("./state.js").State} state
   * @param {() => string} open which channel is shown
   * @param {() => boolean} isStageEmpty whether it is the demo’s channel, and no demo is played
   */
  constructor(state, open, isStageEmpty) {
    this.#state = state;
    this.#open = open;
    this.#isStageEmpty = isStageEmpty;
    document.getElementById("modes").append(...MODES.map((mode) => this.#modeItem(mode)));
    this.#button.addEventListener("click", () => this.#show());
    for (const [id, minutes] of Object.entries(MUTES)) {
      this.#onClick(id, () => this.#order("mute", minutes === null ? {} : { minutes }));
    }
    this.#onClick("unmute", () => this.#unmute());
    this.#onClick("mode-reset", () => this.#order("mode", { mode: null }));
  }

  /** Cheap where nothing has changed: a mute ends by itself, so this is asked often. */
  draw() {
    const channel = this.#channel();
    const until = this.#mutedUntil(channel);
    const isStageEmpty = this.#isStageEmpty();
    const print = JSON.stringify([channel, until, isStageEmpty]);
    if (print === this.#print) return;
    this.#print = print;
    this.#button.hidden = channel.mode === undefined || isStageEmpty;
    if (this.#button.hidden) return;
    drawIntro(channel.mode);
    const state = until === null ? say(`mode_${channel.mode}`) : muted("here", until, this.#state);
    const label = say("manner_button", { state });
    this.#button.lastElementChild.textContent = state;
    this.#button.title = label;
    this.#button.setAttribute("aria-label", label);
    this.#button.dataset.muted = String(until !== null);
    this.#drawDialog(channel, until);
  }

  #drawDialog(channel, until) {
    document.getElementById("manner-title").textContent = say("manner", { channel: channel.name });
    for (const button of this.#dialog.querySelectorAll(".mode")) {
      button.setAttribute("aria-pressed", String(button.dataset.mode === channel.mode));
    }
    this.#hide("mode-reset", !channel.ordered);
    this.#hide("unmute", until === null);
    document.getElementById("mute-state").textContent = until === null ? say("mute_why") : muted("why", until, this.#state);
  }

  /** Whoever had the focus there is not left with none. */
  #hide(id, isHidden) {
    const button = document.getElementById(id);
    const isLeft = isHidden && button === document.activeElement;
    button.hidden = isHidden;
    if (isLeft) this.#dialog.querySelector(".mode[aria-pressed=true]").focus();
  }

  #show() {
    this.#say("");
    this.#drawSpending();
    openDialog(this.#dialog, null);
  }

  async #drawSpending() {
    const [table, reached] = [document.getElementById("spending"), document.getElementById("reached")];
    const channel = this.#channel();
    try {
      const { currency, workspace, channels } = await fetchSpending();
      const here = channels.find(({ id }) => id === channel.id) ?? workspace;
      const isFree = settings.mind === BUILTIN && settings.judge === BUILTIN && workspace.tokens_in_month === 0;
      table.hidden = isFree;
      table.replaceChildren(
        row("th", "", say("used_day"), say("used_month")),
        ...used(`#${channel.name}`, here, currency),
        ...used(say("used_everywhere"), workspace, currency),
      );
      const worst = ["hard", "soft", "within"].find((reach) => [here.reached, workspace.reached].includes(reach));
      const isLimited = [here, workspace].some(({ limits }) => Object.values(limits).some((limit) => limit !== null));
      if (worst === "within" && isFree) reached.textContent = say("reached_free");
      else reached.textContent = say(worst === "within" && !isLimited ? "reached_unlimited" : `reached_${worst}`);
      reached.dataset.reached = worst;
    } catch (problem) {
      if (!(problem instanceof Refusal)) throw problem;
      this.#say(problem.message);
    }
  }

  async #unmute() {
    if (this.#isAhead(this.#state.mutedUntil)) await this.#order("unmute", { channel: null });
    if (this.#isAhead(this.#channel().muted_until)) await this.#order("unmute", {});
  }

  /** The server's event brings the new state to every page; what it says is told here once it has come. */
  async #order(what, order) {
    this.#say("");
    try {
      await postOrder(what, { channel: this.#open(), ...order });
    } catch (problem) {
      if (!(problem instanceof Refusal)) throw problem;
      this.#say(problem.message);
    }
  }

  #say(sentence) {
    this.#error.textContent = sentence;
    this.#error.hidden = sentence === "";
  }

  #channel() {
    return this.#state.channels.find(({ id }) => id === this.#open()) ?? {};
  }

  /** The later of here and everywhere. */
  #mutedUntil(channel) {
    const ahead = [this.#state.mutedUntil, channel.muted_until].filter((until) => this.#isAhead(until));
    return ahead.length === 0 ? null : Math.max(...ahead);
  }

  #isAhead(until) {
    return typeof until === "number" && this.#state.secondsUntil(until) > 0;
  }

  #modeItem(mode) {
    const button = build("button", "mode");
    button.type = "button";
    button.dataset.testid = `mode-${mode}`;
    button.dataset.mode = mode;
    button.append(build("span", "mode-name", say(`mode_${mode}`)), build("span", "mode-why", say(`mode_${mode}_why`)));
    button.addEventListener("click", () => this.#order("mode", { mode }));
    const item = build("li");
    item.append(button);
    return item;
  }

  #onClick(id, act) {
    document.getElementById(id).addEventListener("click", act);
  }
}

function muted(what, until, state) {
  const seconds = state.secondsUntil(until);
  if (seconds > FOR_GOOD_SECONDS) return say(what === "here" ? "muted_here" : "muted_why");
  const time = seconds < DAY_SECONDS / 2 ? clock(until) : dateTime(until);
  return say(what === "here" ? "muted_here_until" : "muted_until_why", { time });
}

function used(where, { limits, ...spent }, currency) {
  const money = (amount, limit) => {
    // The cost is unknown if a model has no price.
    if (amount === null) return say("price_unknown");
    return `${of(amount, limit, MONEY)} ${currency}`;
  };
  return [
    row(
      "td",
      say("used_tokens", { where }),
      of(spent.tokens_in_day, limits.tokens_per_day, COUNT),
      COUNT.format(spent.tokens_in_month),
    ),
    row(
      "td",
      say("used_money", { where }),
      money(spent.price_in_day, limits.price_per_day),
      money(spent.price_in_month, limits.price_per_month),
    ),
  ];
}

function of(amount, limit, format) {
  const used = format.format(amount);
  return limit === null ? used : say("used_of", { used, limit: format.format(limit) });
}

function row(kind, ...cells) {
  const line = build("tr");
  line.append(...cells.map((cell, place) => build(place === 0 ? "th" : kind, "", cell)));
  return line;
}

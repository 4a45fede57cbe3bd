/** The open channel: a button in its header shows its mode, and a dialog changes its mute and shows what was used. */

import { ApiError, fetchSpending, postOrder } from "./api.js";
import { openDialog } from "./dialogs.js";
import { build } from "./elements.js";
import { settings, translate } from "./i18n.js";
import { drawIntro } from "./intro.js";
import { clock, dateTime } from "./time.js";

const MUTES = { "mute-hour": 60, "mute-hours": 480, "mute-on": null };
const BUILTIN = "builtin";
const DAY_SECONDS = 86_400;
/** An indefinite mute has an end that is further away than this. */
const INDEFINITE_SECONDS = 100 * 365 * DAY_SECONDS;
const COUNT = new Intl.NumberFormat(settings.language);
const MONEY = new Intl.NumberFormat(settings.language, { maximumFractionDigits: 4 });

/** The button in the channel's header, and its dialog. */
export class ChannelSettings {
  #state;
  #open;
  #isDemoIdle;
  #button = document.getElementById("channel-settings");
  #dialog = document.getElementById("channel-settings-dialog");
  #error = this.#dialog.querySelector(".error");
  #renderedKey = "";
  /** Settles when the orders given so far are answered. */
  #orders = Promise.resolve();

  /**
   * @param {import("./state.js").State} state
   * @param {() => string} open which channel is shown
   * @param {() => boolean} isDemoIdle whether it is the demo’s channel, and no demo is playing
   */
  constructor(state, open, isDemoIdle) {
    this.#state = state;
    this.#open = open;
    this.#isDemoIdle = isDemoIdle;
    this.#button.addEventListener("click", () => this.#show());
    for (const [id, minutes] of Object.entries(MUTES)) {
      this.#onClick(id, () => this.#order("mute", minutes === null ? {} : { minutes }));
    }
    this.#onClick("unmute", () => this.#unmute());
  }

  /** Called often, since a mute ends by itself; cheap if nothing has changed. */
  draw() {
    const channel = this.#channel();
    const until = this.#mutedUntil(channel);
    const isDemoIdle = this.#isDemoIdle();
    const key = JSON.stringify([channel, until, isDemoIdle]);
    if (key === this.#renderedKey) return;
    this.#renderedKey = key;
    this.#button.hidden = channel.mode === undefined || isDemoIdle;
    document.getElementById("proposals").hidden = channel.mode !== "propose";
    if (this.#button.hidden) return;
    drawIntro(channel.mode);
    const state = until === null ? translate(`mode_${channel.mode}`) : muteText("here", until, this.#state);
    const label = translate("channel_settings_button", { state });
    this.#button.lastElementChild.textContent = state;
    this.#button.title = label;
    this.#button.setAttribute("aria-label", label);
    this.#button.dataset.muted = String(until !== null);
    this.#drawDialog(channel, until);
  }

  #drawDialog(channel, until) {
    document.getElementById("channel-settings-title").textContent = translate("channel_settings", { channel: channel.name });
    document.getElementById("channel-console").href = `/console/channels/local/${encodeURIComponent(channel.id)}`;
    const unmute = document.getElementById("unmute");
    const hadFocus = unmute === document.activeElement;
    unmute.hidden = until === null;
    if (hadFocus && unmute.hidden) document.getElementById("mute-hour").focus();
    document.getElementById("mute-state").textContent = until === null ? translate("mute_why") : muteText("why", until, this.#state);
  }

  #show() {
    this.#showError("");
    this.#drawUsage();
    openDialog(this.#dialog, null);
  }

  async #drawUsage() {
    const [table, reached] = [document.getElementById("spending"), document.getElementById("reached")];
    const channel = this.#channel();
    try {
      const { currency, workspace, channels } = await fetchSpending();
      const here = channels.find(({ id }) => id === channel.id) ?? workspace;
      const isFree = settings.mind === BUILTIN && settings.judge === BUILTIN && workspace.tokens_in_month === 0;
      table.hidden = isFree;
      table.replaceChildren(
        row("th", "", translate("used_day"), translate("used_month")),
        ...usageRows(`#${channel.name}`, here, currency),
        ...usageRows(translate("used_everywhere"), workspace, currency),
      );
      const worst = ["hard", "soft", "within"].find((reach) => [here.reached, workspace.reached].includes(reach));
      const isLimited = [here, workspace].some(({ limits }) => Object.values(limits).some((limit) => limit !== null));
      if (worst === "within" && isFree) reached.textContent = translate("reached_free");
      else reached.textContent = translate(worst === "within" && !isLimited ? "reached_unlimited" : `reached_${worst}`);
      reached.dataset.reached = worst;
    } catch (problem) {
      if (!(problem instanceof ApiError)) throw problem;
      this.#showError(problem.message);
    }
  }

  async #unmute() {
    if (this.#isInFuture(this.#state.mutedUntil)) await this.#order("unmute", { channel: null });
    if (this.#isInFuture(this.#channel().muted_until)) await this.#order("unmute", {});
  }

  /** Gives an order. Orders are sent one after another, so that the last one counts. */
  #order(kind, order) {
    const channel = this.#open();
    this.#orders = this.#orders.then(() => this.#send(kind, { channel, ...order }));
    return this.#orders;
  }

  /** Sends an order. The server's event brings the new state to every page, including this one. */
  async #send(kind, order) {
    this.#showError("");
    try {
      await postOrder(kind, order);
    } catch (problem) {
      if (!(problem instanceof ApiError)) throw problem;
      this.#showError(problem.message);
    }
  }

  #showError(sentence) {
    this.#error.textContent = sentence;
    this.#error.hidden = sentence === "";
  }

  #channel() {
    return this.#state.channels.find(({ id }) => id === this.#open()) ?? {};
  }

  /** The later end of the mutes of the channel and of the room, or null. */
  #mutedUntil(channel) {
    const ends = [this.#state.mutedUntil, channel.muted_until].filter((until) => this.#isInFuture(until));
    return ends.length === 0 ? null : Math.max(...ends);
  }

  #isInFuture(until) {
    return typeof until === "number" && this.#state.secondsUntil(until) > 0;
  }

  #onClick(id, act) {
    document.getElementById(id).addEventListener("click", act);
  }
}

function muteText(where, until, state) {
  const seconds = state.secondsUntil(until);
  if (seconds > INDEFINITE_SECONDS) return translate(where === "here" ? "muted_here" : "muted_why");
  const time = seconds < DAY_SECONDS / 2 ? clock(until) : dateTime(until);
  return translate(where === "here" ? "muted_here_until" : "muted_until_why", { time });
}

function usageRows(where, { limits, ...spent }, currency) {
  const money = (amount, limit) => {
    // The cost is unknown if a model has no price.
    if (amount === null) return translate("price_unknown");
    return `${formatUsage(amount, limit, MONEY)} ${currency}`;
  };
  return [
    row(
      "td",
      translate("used_tokens", { where }),
      formatUsage(spent.tokens_in_day, limits.tokens_per_day, COUNT),
      COUNT.format(spent.tokens_in_month),
    ),
    row(
      "td",
      translate("used_money", { where }),
      money(spent.price_in_day, limits.price_per_day),
      money(spent.price_in_month, limits.price_per_month),
    ),
  ];
}

function formatUsage(amount, limit, format) {
  const used = format.format(amount);
  return limit === null ? used : translate("used_of", { used, limit: format.format(limit) });
}

function row(kind, ...cells) {
  const element = build("tr");
  element.append(...cells.map((cell, index) => build(index === 0 ? "th" : kind, "", cell)));
  return element;
}

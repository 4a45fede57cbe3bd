/** The demo: two scripted users in a channel of their own. The server plays it; the page shows it and can end it. */

import { ApiError, skipDemo, startDemo } from "./api.js";
import { settings, translate } from "./i18n.js";
import { isImeKey } from "./ime.js";

const BUILTIN = "builtin";
/** The query parameter that starts the demo at once. */
const QUERY_PARAMETER = "demo";

/**
 * @typedef {Object} DemoCallbacks
 * @property {Promise<void>} loaded resolves when the page shows its channels
 * @property {() => string} openChannel
 * @property {(channel: {id: string, name: string}) => Promise<void>} showChannel shows a channel, which may be new
 * @property {(channel: string) => void} go
 * @property {() => void} onEnd called when the page is as before
 */

/** The state of the demo, and whether this tab started it. */
export class Demo {
  #callbacks;
  #card = document.getElementById("demo");
  #status = { phase: "idle" };
  /** Whether this tab started it, or is about to. */
  #isMine = false;
  /** The number of the play that this tab started, once the server has confirmed it. */
  #play = null;
  /** Whether the card asks for consent to use a model. */
  #isAskingConsent = false;
  #problem = "";
  /** The channel of the demo, once this tab shows it. */
  #channel = "";
  /** The channel that was open before. */
  #previousChannel = "";

  /** @param {DemoCallbacks} callbacks */
  constructor(callbacks) {
    this.#callbacks = callbacks;
    const onClick = (id, listener) => document.getElementById(id).addEventListener("click", listener);
    onClick("demo-start", () => this.#request());
    onClick("demo-again", () => this.#start());
    onClick("demo-end", () => this.#end());
    onClick("demo-first", (event) => {
      this.#isMine = true;
      event.target.closest("dialog").close();
      this.#request();
    });
    document.addEventListener("keydown", (event) => {
      const isFree = event.key === "Escape" && !isImeKey(event) && document.querySelector("dialog[open]") === null;
      if (isFree && !this.#card.hidden) this.#end();
    });
    window.addEventListener("pagehide", () => this.isPlaying && this.#isMine && skipDemo());
  }

  /** Whether this tab shows it, or is about to. */
  get isOn() {
    return this.#isMine;
  }

  /** Whether the URL asks for it. */
  get isRequested() {
    return new URLSearchParams(location.search).has(QUERY_PARAMETER);
  }

  /** Plays it if the URL asks for it. Reloading the page does not play it again. */
  async playIfRequested() {
    if (!this.isRequested) return;
    window.history.replaceState(null, "", `${location.pathname}${location.hash}`);
    await this.#start();
  }

  /**
   * @param {{phase: "idle"|"playing"|"over", play: number, channel?: string, scene?: number, scenes?: number,
   *   caption?: Object<string, string>}} status
   */
  applyStatus(status) {
    this.#status = status;
    // The status from before the play may arrive after the response that confirms the play.
    if (status.phase === "idle" && this.#hasBegun && status.play >= this.#play) this.#leave();
    this.draw();
  }

  /** Leaving the channel of the demo ends it. */
  onRoute() {
    if (this.#hasBegun && this.#channel !== "" && this.#callbacks.openChannel() !== this.#channel) {
      this.#previousChannel = this.#callbacks.openChannel();
      this.#end();
    }
    this.draw();
  }

  draw() {
    const isHere = this.isPlaying && this.#callbacks.openChannel() === this.#status.channel;
    const isOver = this.#hasBegun && this.#status.phase === "over";
    const isShown = isHere || isOver || this.#isAskingConsent || this.#problem !== "";
    const hadFocus = this.#card.contains(document.activeElement);
    document.getElementById("channel-pane").toggleAttribute("data-demo", isShown);
    const isNew = this.#card.hidden && isShown;
    this.#card.hidden = !isShown;
    if (!isShown) return;
    const { scene, scenes, caption } = this.#status;
    document.getElementById("demo-scene").textContent = isHere ? translate("demo_scene", { scene, scenes }) : "";
    this.#card.style.setProperty("--played", isHere ? scene / scenes : Number(isOver));
    const captionElement = document.getElementById("demo-caption");
    const text = this.#problem || (isHere ? caption[settings.language] ?? caption.en : translate(isOver ? "demo_over" : "demo_model", { mind: model() }));
    if (captionElement.textContent !== text) captionElement.textContent = text;
    const again = document.getElementById("demo-again");
    again.hidden = isHere;
    again.textContent = translate(isOver ? "demo_again" : "demo_begin");
    const end = document.getElementById("demo-end");
    end.textContent = translate(isHere ? "demo_skip" : "close");
    if (isNew && this.#isMine) (isHere ? end : again).focus();
    else if (hadFocus && !this.#card.contains(document.activeElement)) end.focus();
  }

  get #hasBegun() {
    return this.#play !== null;
  }

  /** Whether it plays, in this tab or another one. */
  get isPlaying() {
    return this.#status.phase === "playing";
  }

  /** The built-in rules are free; a model may cost money, so the user is asked first. */
  #request() {
    this.#isMine = true;
    this.#isAskingConsent = model() !== BUILTIN;
    if (this.#isAskingConsent) this.draw();
    else this.#start();
  }

  async #start() {
    this.#isAskingConsent = false;
    this.#problem = "";
    this.#isMine = true;
    await this.#callbacks.loaded;
    this.#previousChannel ||= this.#callbacks.openChannel();
    try {
      const { id, name, play } = await startDemo();
      // The user may have left meanwhile.
      if (!this.#isMine) return skipDemo();
      this.#play = play;
      await this.#callbacks.showChannel({ id, name });
      this.#channel = id;
    } catch (problem) {
      if (!(problem instanceof ApiError)) throw problem;
      this.#problem = problem.message;
    }
    // Another tab may have ended it before the response arrived.
    this.applyStatus(this.#status);
  }

  #end() {
    if (this.isPlaying) skipDemo();
    this.#leave();
  }

  #leave() {
    const wasMine = this.#isMine;
    const previous = this.#previousChannel;
    this.#isMine = this.#isAskingConsent = false;
    this.#play = null;
    this.#problem = this.#previousChannel = this.#channel = "";
    this.#status = { phase: "idle" };
    // Draw first, so that the field to write in exists when it gets the focus.
    this.draw();
    if (!wasMine) return;
    if (previous !== "") this.#callbacks.go(previous);
    this.#callbacks.onEnd();
  }
}

/** The model that the demo would use, or the built-in rules. */
function model() {
  const { mind, judge } = settings;
  return mind === BUILTIN ? judge ?? mind : mind;
}

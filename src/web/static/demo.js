/** The demo: two scripted people in a channel of their own. The server plays it; this page shows it and may end it. */

import { Refusal, skipDemo, startDemo } from "./api.js";
import { say, settings } from "./i18n.js";
import { isImeKey } from "./ime.js";

const BUILTIN = "builtin";
/** In the page's address: play it at once. */
const WANTED = "demo";

/**
 * @typedef {Object} Doings
 * @property {Promise<void>} loaded ends when the page shows its channels
 * @property {() => string} openChannel
 * @property {(channel: {id: string, name: string}) => Promise<void>} meet shows a channel that may be new
 * @property {(channel: string) => void} go
 * @property {() => void} onEnd the page is as it was before
 */

/** What is played, and whether this tab asked for it. */
export class Demo {
  #doings;
  #card = document.getElementById("demo");
  #status = { phase: "idle" };
  /** This tab started it, or is about to. */
  #isMine = false;
  /** Since then it was heard that it is played. */
  #hasBegun = false;
  /** Whether a model may be asked is being asked. */
  #isAsking = false;
  #problem = "";
  /** Where it is played, once this tab is there. */
  #channel = "";
  /** Where the tab was before. */
  #back = "";

  /** @param {Doings} doings */
  constructor(doings) {
    this.#doings = doings;
    const onClick = (id, act) => document.getElementById(id).addEventListener("click", act);
    onClick("demo-start", () => this.#ask());
    onClick("demo-again", () => this.#start());
    onClick("demo-end", () => this.#end());
    onClick("demo-first", (event) => {
      this.#isMine = true;
      event.target.closest("dialog").close();
      this.#ask();
    });
    document.addEventListener("keydown", (event) => {
      const isFree = event.key === "Escape" && !isImeKey(event) && document.querySelector("dialog[open]") === null;
      if (isFree && !this.#card.hidden) this.#end();
    });
    window.addEventListener("pagehide", () => this.isPlaying && this.#isMine && skipDemo());
  }

  /** Whether this tab shows it, or is about to. Then nothing else needs to be asked. */
  get isOn() {
    return this.#isMine;
  }

  /** Whether the page's address asks for it. */
  get isWanted() {
    return new URLSearchParams(location.search).has(WANTED);
  }

  /** Plays it if the page's address asks for it. A page that is loaded again does not. */
  async playIfWanted() {
    if (!this.isWanted) return;
    window.history.replaceState(null, "", `${location.pathname}${location.hash}`);
    await this.#start();
  }

  /**
   * @param {{phase: "idle"|"playing"|"over", channel?: string, scene?: number, scenes?: number,
   *   caption?: Object<string, string>}} status
   */
  follow(status) {
    this.#status = status;
    if (status.phase === "playing") this.#hasBegun = this.#isMine;
    if (status.phase === "idle" && this.#hasBegun) this.#leave();
    this.draw();
  }

  /** Another channel may be open now: who leaves has seen enough. */
  onRoute() {
    if (this.#hasBegun && this.#channel !== "" && this.#doings.openChannel() !== this.#channel) {
      this.#back = this.#doings.openChannel();
      this.#end();
    }
    this.draw();
  }

  draw() {
    const isHere = this.isPlaying && this.#doings.openChannel() === this.#status.channel;
    const isOver = this.#hasBegun && this.#status.phase === "over";
    const isShown = isHere || isOver || this.#isAsking || this.#problem !== "";
    const hadFocus = this.#card.contains(document.activeElement);
    document.getElementById("channel-pane").toggleAttribute("data-demo", isShown);
    const isNew = this.#card.hidden && isShown;
    this.#card.hidden = !isShown;
    if (!isShown) return;
    const { scene, scenes, caption } = this.#status;
    document.getElementById("demo-scene").textContent = isHere ? say("demo_scene", { scene, scenes }) : "";
    this.#card.style.setProperty("--played", isHere ? scene / scenes : Number(isOver));
    const sentence = document.getElementById("demo-caption");
    const text = this.#problem || (isHere ? caption[settings.language] ?? caption.en : say(isOver ? "demo_over" : "demo_model", { mind: model() }));
    if (sentence.textContent !== text) sentence.textContent = text;
    const again = document.getElementById("demo-again");
    again.hidden = isHere;
    again.textContent = say(isOver ? "demo_again" : "demo_begin");
    const end = document.getElementById("demo-end");
    end.textContent = say(isHere ? "demo_skip" : "close");
    if (isNew && this.#isMine) (isHere ? end : again).focus();
    else if (hadFocus && !this.#card.contains(document.activeElement)) end.focus();
  }

  /** Whether it is played, for whichever tab. */
  get isPlaying() {
    return this.#status.phase === "playing";
  }

  /** The built-in rules cost nothing; a model is not asked unasked. */
  #ask() {
    this.#isMine = true;
    this.#isAsking = model() !== BUILTIN;
    if (this.#isAsking) this.draw();
    else this.#start();
  }

  async #start() {
    this.#isAsking = false;
    this.#problem = "";
    this.#isMine = true;
    await this.#doings.loaded;
    this.#back ||= this.#doings.openChannel();
    try {
      const channel = await startDemo();
      this.#hasBegun = true;
      await this.#doings.meet(channel);
      this.#channel = channel.id;
    } catch (problem) {
      if (!(problem instanceof Refusal)) throw problem;
      this.#problem = problem.message;
    }
    this.draw();
  }

  #end() {
    if (this.isPlaying) skipDemo();
    this.#leave();
  }

  #leave() {
    const wasMine = this.#isMine;
    const back = this.#back;
    this.#isMine = this.#hasBegun = this.#isAsking = false;
    this.#problem = this.#back = this.#channel = "";
    this.#status = { phase: "idle" };
    // Draw first, so that the field to write in exists when it gets the focus.
    this.draw();
    if (!wasMine) return;
    if (back !== "") this.#doings.go(back);
    this.#doings.onEnd();
  }
}

/** The model that would be asked, or the built-in rules. */
function model() {
  const { mind, judge } = settings;
  return mind === BUILTIN ? judge ?? mind : mind;
}

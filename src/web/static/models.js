/** Which model thinks here: an offer while none does, a banner while one does not answer, and a dialog to choose. */

import { announce } from "./announcer.js";
import { Refusal, fetchModels, lookForModels, postModel } from "./api.js";
import { openDialog } from "./dialogs.js";
import { build, buildButton } from "./elements.js";
import { say, settings } from "./i18n.js";
import { fillMinds } from "./page.js";

const KEPT = "builtin mind kept";

/** The offer, the banner and the dialog. */
export class Models {
  #banner = document.getElementById("model-banner");
  #offer = document.getElementById("model-offer");
  #dialog = document.getElementById("model-dialog");
  #error = this.#dialog.querySelector(".error");
  #busy = document.getElementById("model-busy");
  #provider = document.getElementById("model-provider");
  #name = document.getElementById("model-name");
  #key = document.getElementById("model-key");
  #ownKey = document.getElementById("model-own-key");
  #models = null;
  #print = "";
  #isBusy = false;
  #isFolded = false;
  /** What went wrong the last time that something was tried. */
  #problem = "";

  constructor() {
    for (const button of document.querySelectorAll(".model-open")) button.addEventListener("click", () => this.#show());
    this.#onClick("model-offer-use", () => this.#use(this.#firstFound()));
    this.#onClick("model-offer-close", () => this.#keep());
    this.#onClick("model-look", () => this.#act("model-look", say("model_looking"), lookForModels));
    this.#onClick("model-keep", () => this.#useBuiltin());
    this.#onClick("model-hosted-use", () => this.#useHosted());
    this.#onClick("model-own-use", () => this.#useOwn());
    this.#provider.addEventListener("change", () => this.#fillProvider());
    this.#refresh();
  }

  /**
   * The offer makes room for the talk, or comes back.
   * @param {boolean} isFolded
   */
  fold(isFolded) {
    this.#isFolded = isFolded;
    if (this.#models !== null) this.#draw();
  }

  /**
   * What the server tells every page. Its details are fetched where they have changed.
   * @param {{response: string, judgment: string, problems: Object[], found: number}} summary
   */
  hear(summary) {
    const print = JSON.stringify(summary);
    if (print === this.#print) return;
    this.#print = print;
    this.#tell({ ...summary, address: null });
    this.#refresh();
  }

  #tell({ response, judgment, address }) {
    Object.assign(settings, { mind: response, judge: judgment, address });
    fillMinds();
  }

  async #refresh() {
    try {
      this.#models = await fetchModels();
      this.#tell(this.#models);
    } catch (problem) {
      // The next event of the stream brings it again.
      if (!(problem instanceof Refusal)) throw problem;
      return;
    }
    this.#draw();
  }

  #draw() {
    const { problems, found, providers, may_choose } = this.#models;
    this.#banner.hidden = problems.length === 0;
    const told = problems.map(({ model, told }) => say("model_problem", { model, problem: told }));
    const banner = this.#banner.firstElementChild;
    const sentence = told.join(" ");
    if (banner.textContent !== sentence) banner.textContent = sentence;

    const first = this.#firstFound();
    const withKey = providers.find(({ has_key }) => has_key);
    const isKept = this.#isFolded || localStorage.getItem(KEPT) !== null;
    this.#offer.hidden = !this.#models.builtin || !may_choose || isKept;
    document.getElementById("model-offer-use").hidden = first === null;
    const offer = document.getElementById("model-offer-text");
    if (first !== null) offer.textContent = say("model_found", { server: first.server, model: first.name });
    else if (withKey !== undefined) offer.textContent = say("model_key_found", { variable: withKey.variable });
    else offer.textContent = say("model_none");
    document.getElementById("model-offer-more").textContent = say(first === null ? "model_connect" : "model_other");
    this.#drawDialog(found);
  }

  #drawDialog(found) {
    const { judgment, builtin, may_choose, why_not, providers } = this.#models;
    const now = builtin ? say("model_now_builtin") : say("model_now", { mind: this.#mind(), judge: judgment });
    document.getElementById("model-now").textContent = now;
    const why = document.getElementById("model-why-not");
    why.hidden = may_choose;
    why.textContent = why_not ?? "";
    document.getElementById("model-ways").hidden = !may_choose;
    document.getElementById("model-keep").textContent = say(builtin ? "model_keep" : "model_use_builtin");
    document.getElementById("model-found").replaceChildren(...found.map((server) => this.#serverItem(server)));
    document.getElementById("model-nothing").hidden = found.length > 0;
    if (this.#provider.options.length > 0) return this.#fillProvider();
    this.#provider.replaceChildren(
      ...providers.map(({ provider }) => {
        const option = build("option", "", say(`provider_${provider}`));
        option.value = provider;
        return option;
      }),
    );
    const withKey = providers.find(({ has_key }) => has_key);
    if (withKey !== undefined) this.#provider.value = withKey.provider;
    this.#fillProvider();
  }

  #serverItem({ server, models }) {
    const item = build("li", "model-server");
    item.append(build("span", "model-server-name", server));
    if (models.length === 0) {
      item.append(build("span", "aside", say("model_server_empty")));
      return item;
    }
    const choice = build("select");
    choice.setAttribute("aria-label", say("model_of", { server }));
    choice.append(
      ...models.map(({ id, name }) => {
        const option = build("option", "", name);
        option.value = id;
        return option;
      }),
    );
    const use = buildButton("quiet", `model-use-${server}`, say("model_use"));
    use.append(build("span", "unseen", ` ${say("model_of", { server })}`));
    use.addEventListener("click", () => this.#use({ server, id: choice.value }));
    item.append(choice, use);
    return item;
  }

  #fillProvider() {
    const chosen = this.#models.providers.find(({ provider }) => provider === this.#provider.value);
    this.#name.placeholder = chosen?.example ?? "";
    this.#key.placeholder = chosen?.has_key ? say("model_key_there", { variable: chosen.variable }) : "";
  }

  /** The model that answers, with its address where that is not the provider's own. */
  #mind() {
    const { response, address } = this.#models;
    return address === null ? response : say("model_at", { model: response, address });
  }

  #firstFound() {
    const server = this.#models?.found.find(({ models }) => models.length > 0);
    return server === undefined ? null : { server: server.server, ...server.models[0] };
  }

  #show() {
    // A trial continues while the dialog is closed, and its error can still be read afterwards.
    if (!this.#isBusy) {
      this.#setBusy("");
      this.#key.value = "";
      this.#ownKey.value = "";
    }
    openDialog(this.#dialog, null);
    this.#say(this.#problem);
    this.#refresh();
  }

  /** The offer goes; the footer still leads here. */
  #keep() {
    localStorage.setItem(KEPT, "yes");
    this.#offer.hidden = true;
    document.querySelector(".facts .model-open").focus();
  }

  async #useBuiltin() {
    const wasBuiltin = this.#models.builtin;
    if (!wasBuiltin && !(await this.#choose("model-keep", { kind: "builtin" }))) return;
    localStorage.setItem(KEPT, "yes");
    this.#offer.hidden = true;
    if (wasBuiltin) this.#dialog.close();
  }

  async #use({ server, id }) {
    await this.#choose("model-found", { kind: "local", server, model: id });
  }

  async #useHosted() {
    const model = this.#name.value.trim() || this.#name.placeholder;
    await this.#chooseWithKey("model-hosted-use", this.#key, { kind: "hosted", provider: this.#provider.value, model });
  }

  async #useOwn() {
    const [address, name] = ["model-address", "model-own-name"].map((id) => document.getElementById(id).value.trim());
    await this.#chooseWithKey("model-own-use", this.#ownKey, { kind: "compatible", api_base: address, model: name });
  }

  async #chooseWithKey(place, field, choice) {
    const key = field.value.trim();
    const isDone = await this.#choose(place, key === "" ? choice : { ...choice, key });
    // The key is never shown again. If something else was wrong, it need not be typed again.
    if (isDone) field.value = "";
  }

  /**
   * The model is tried first, which may take a while where it has to be loaded.
   * @param {string} place the id of the element that it was asked for with
   * @param {Object} choice
   */
  async #choose(place, choice) {
    const isDone = await this.#act(place, say("model_trying", { model: choice.model ?? "" }), () => postModel(choice));
    if (isDone) this.#showDone();
    return isDone;
  }

  #showDone() {
    const done = this.#models.builtin
      ? say("model_disconnected")
      : say("model_connected", { model: this.#mind() });
    if (!this.#dialog.open) return announce(done);
    this.#busy.textContent = done;
    this.#busy.classList.add("done");
  }

  /**
   * @param {string} place the id of the element that it was asked for with: what comes of it is said there
   * @returns {Promise<boolean>} whether it was done
   */
  async #act(place, doing, act) {
    if (this.#isBusy) return false;
    document.getElementById(place).after(this.#busy, this.#error);
    this.#setBusy(doing);
    this.#say("");
    try {
      this.#models = await act();
      this.#tell(this.#models);
      this.#draw();
      return true;
    } catch (problem) {
      if (!(problem instanceof Refusal)) throw problem;
      this.#say(problem.message);
      return false;
    } finally {
      this.#setBusy("");
    }
  }

  #setBusy(doing) {
    this.#isBusy = doing !== "";
    this.#busy.textContent = doing;
    this.#busy.classList.remove("done");
    document.getElementById("model-offer-busy").textContent = doing;
    this.#dialog.setAttribute("aria-busy", String(this.#isBusy));
  }

  /** In the dialog, until something else is tried, and where it was asked for without it. */
  #say(sentence) {
    this.#problem = sentence;
    const offered = document.getElementById("model-offer-error");
    for (const [place, shown] of [
      [this.#error, true],
      [offered, !this.#dialog.open],
    ]) {
      place.textContent = shown ? sentence : "";
      place.hidden = !shown || sentence === "";
    }
  }

  #onClick(id, act) {
    document.getElementById(id).addEventListener("click", act);
  }
}

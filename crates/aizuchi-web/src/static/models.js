/** The models: an offer to connect one while none is used, a banner while one fails, and a dialog to choose. */

import { announce } from "./announcer.js";
import { ApiError, fetchModels, postModel, scanModels } from "./api.js";
import { openDialog } from "./dialogs.js";
import { build, buildButton } from "./elements.js";
import { settings, translate } from "./i18n.js";
import { showModelNames } from "./localize.js";
import { ResponseOrder } from "./response-order.js";

const DISMISSED_KEY = "builtin mind kept";
/** After this time, a test says that it takes long. */
const SLOW_MS = 60_000;

/** The offer, the banner and the dialog. */
export class Models {
  #banner = document.getElementById("model-banner");
  #offer = document.getElementById("model-offer");
  #dialog = document.getElementById("model-dialog");
  #error = this.#dialog.querySelector(".error");
  #busy = document.getElementById("model-busy");
  #cancel = document.getElementById("model-cancel");
  #cancelled = new AbortController();
  #provider = document.getElementById("model-provider");
  #name = document.getElementById("model-name");
  #key = document.getElementById("model-key");
  #ownKey = document.getElementById("model-own-key");
  #models = null;
  #responses = new ResponseOrder();
  #summary = "";
  #isBusy = false;
  #isCollapsed = false;
  /** The error of the last action. */
  #problem = "";

  constructor() {
    for (const button of document.querySelectorAll(".model-open")) button.addEventListener("click", () => this.#show());
    this.#onClick("model-offer-use", () => this.#use(this.#firstFound()));
    this.#onClick("model-offer-close", () => this.#dismissOffer());
    this.#onClick("model-look", () => this.#run("model-look", translate("model_looking"), scanModels));
    this.#onClick("model-cancel", () => this.#cancelled.abort());
    this.#onClick("model-keep", () => this.#useBuiltin());
    this.#onClick("model-hosted-use", () => this.#useHosted());
    this.#onClick("model-own-use", () => this.#useOwn());
    this.#provider.addEventListener("change", () => this.#fillProvider());
    this.#refresh();
  }

  /**
   * Collapses the offer to make room for the conversation, or shows it again.
   * @param {boolean} isCollapsed
   */
  collapse(isCollapsed) {
    this.#isCollapsed = isCollapsed;
    if (this.#models !== null) this.#draw();
  }

  /**
   * Applies the summary that the server sends to every page. The details are fetched if it has changed.
   * @param {{response: string, judgment: string, problems: Object[], found: number}} summary
   */
  applySummary(summary) {
    const received = JSON.stringify(summary);
    if (received === this.#summary) return;
    this.#summary = received;
    this.#updateSettings({ ...summary, address: null });
    this.#refresh();
  }

  #updateSettings({ response, judgment, address }) {
    Object.assign(settings, { mind: response, judge: judgment, address });
    showModelNames();
  }

  async #refresh() {
    try {
      await this.#responses.use(fetchModels(), (models) => {
        this.#models = models;
        this.#updateSettings(models);
        this.#draw();
      });
    } catch (problem) {
      // The next event triggers it again.
      if (!(problem instanceof ApiError)) throw problem;
    }
  }

  #draw() {
    const { problems, found, providers, may_choose } = this.#models;
    this.#banner.hidden = problems.length === 0;
    const sentences = problems.map(({ model, told }) => translate("model_problem", { model, problem: told }));
    const banner = this.#banner.firstElementChild;
    const sentence = sentences.join(" ");
    if (banner.textContent !== sentence) banner.textContent = sentence;

    const first = this.#firstFound();
    const withKey = providers.find(({ has_key }) => has_key);
    const isDismissed = this.#isCollapsed || localStorage.getItem(DISMISSED_KEY) !== null;
    this.#offer.hidden = !this.#models.builtin || !may_choose || isDismissed;
    document.getElementById("model-offer-use").hidden = first === null;
    const offer = document.getElementById("model-offer-text");
    if (first !== null) offer.textContent = translate("model_found", { server: first.server, model: first.name });
    else if (withKey !== undefined) offer.textContent = translate("model_key_found", { variable: withKey.variable });
    else offer.textContent = translate("model_none");
    document.getElementById("model-offer-more").textContent = translate(first === null ? "model_connect" : "model_other");
    this.#drawDialog(found);
  }

  #drawDialog(found) {
    const { judgment, builtin, may_choose, why_not, providers } = this.#models;
    const now = builtin ? translate("model_now_builtin") : translate("model_now", { mind: this.#modelLabel(), judge: judgment });
    document.getElementById("model-now").textContent = now;
    const why = document.getElementById("model-why-not");
    why.hidden = may_choose;
    why.textContent = why_not ?? "";
    document.getElementById("model-ways").hidden = !may_choose;
    document.getElementById("model-keep").textContent = translate(builtin ? "model_keep" : "model_use_builtin");
    document.getElementById("model-found").replaceChildren(...found.map((server) => this.#serverItem(server)));
    document.getElementById("model-nothing").hidden = found.length > 0;
    if (this.#provider.options.length > 0) return this.#fillProvider();
    this.#provider.replaceChildren(
      ...providers.map(({ provider }) => {
        const option = build("option", "", translate(`provider_${provider}`));
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
      item.append(build("span", "aside", translate("model_server_empty")));
      return item;
    }
    const choice = build("select");
    choice.setAttribute("aria-label", translate("model_of", { server }));
    choice.append(
      ...models.map(({ id, name }) => {
        const option = build("option", "", name);
        option.value = id;
        return option;
      }),
    );
    const use = buildButton("quiet", `model-use-${server}`, translate("model_use"));
    use.append(build("span", "visually-hidden", ` ${translate("model_of", { server })}`));
    use.addEventListener("click", () => this.#use({ server, id: choice.value }));
    item.append(choice, use);
    return item;
  }

  #fillProvider() {
    const chosen = this.#models.providers.find(({ provider }) => provider === this.#provider.value);
    this.#name.placeholder = chosen?.example ?? "";
    this.#key.placeholder = chosen?.has_key ? translate("model_key_there", { variable: chosen.variable }) : "";
  }

  /** The model that answers, with its address unless that is the provider's default. */
  #modelLabel() {
    const { response, address } = this.#models;
    return address === null ? response : translate("model_at", { model: response, address });
  }

  #firstFound() {
    const server = this.#models?.found.find(({ models }) => models.length > 0);
    return server === undefined ? null : { server: server.server, ...server.models[0] };
  }

  #show() {
    // A test continues while the dialog is closed, and its error is shown when it is opened again.
    if (!this.#isBusy) {
      this.#setBusy("");
      this.#key.value = "";
      this.#ownKey.value = "";
    }
    openDialog(this.#dialog, null);
    this.#showError(this.#problem);
    this.#refresh();
  }

  /** Dismisses the offer. The button in the footer still opens the dialog. */
  #dismissOffer() {
    localStorage.setItem(DISMISSED_KEY, "yes");
    this.#offer.hidden = true;
    document.querySelector(".facts .model-open").focus();
  }

  async #useBuiltin() {
    const wasBuiltin = this.#models.builtin;
    if (!wasBuiltin && !(await this.#choose("model-keep", { kind: "builtin" }))) return;
    localStorage.setItem(DISMISSED_KEY, "yes");
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

  async #chooseWithKey(anchor, field, choice) {
    const key = field.value.trim();
    const isDone = await this.#choose(anchor, key === "" ? choice : { ...choice, key });
    // The key is cleared after a success. After an error, it need not be typed again.
    if (isDone) field.value = "";
  }

  /**
   * Tests a model and switches to it, which takes a while if the model has to be loaded.
   * @param {string} anchor the id of the element that triggered it
   * @param {Object} choice
   */
  async #choose(anchor, choice) {
    if (this.#isBusy) return false;
    this.#cancelled = new AbortController();
    const label = translate("model_trying", { model: choice.model ?? "" });
    const slow = setTimeout(() => this.#setBusy(`${label} ${translate("model_slow")}`), SLOW_MS);
    const isDone = await this.#run(anchor, label, () => postModel(choice, this.#cancelled.signal));
    clearTimeout(slow);
    if (isDone) this.#showDone();
    return isDone;
  }

  #showDone() {
    const done = this.#models.builtin
      ? translate("model_disconnected")
      : translate("model_connected", { model: this.#modelLabel() });
    if (!this.#dialog.open) return announce(done);
    this.#busy.textContent = done;
    this.#busy.classList.add("done");
  }

  /**
   * Runs an action and shows its progress and its error.
   * @param {string} anchor the id of the element that triggered it, after which both are shown
   * @returns {Promise<boolean>} whether it succeeded
   */
  async #run(anchor, label, action) {
    if (this.#isBusy) return false;
    document.getElementById(anchor).after(this.#busy, this.#cancel, this.#error);
    this.#setBusy(label);
    this.#showError("");
    try {
      this.#models = await action();
      this.#updateSettings(this.#models);
      this.#draw();
      return true;
    } catch (problem) {
      if (!(problem instanceof ApiError)) throw problem;
      this.#showError(problem.message);
      return false;
    } finally {
      this.#setBusy("");
    }
  }

  #setBusy(label) {
    this.#isBusy = label !== "";
    this.#busy.textContent = label;
    this.#busy.classList.remove("done");
    this.#cancel.hidden = !this.#isBusy;
    document.getElementById("model-offer-busy").textContent = label;
    this.#dialog.setAttribute("aria-busy", String(this.#isBusy));
  }

  /** Shows an error in the dialog until the next action, and in the offer if the dialog is closed. */
  #showError(sentence) {
    this.#problem = sentence;
    const offerError = document.getElementById("model-offer-error");
    for (const [element, isShown] of [
      [this.#error, true],
      [offerError, !this.#dialog.open],
    ]) {
      element.textContent = isShown ? sentence : "";
      element.hidden = !isShown || sentence === "";
    }
  }

  #onClick(id, listener) {
    document.getElementById(id).addEventListener("click", listener);
  }
}

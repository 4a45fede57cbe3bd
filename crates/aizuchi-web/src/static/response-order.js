/** Responses to a request that is repeated with each change: the newest one counts, in whichever order they arrive. */

/** The order of one kind of request. */
export class ResponseOrder {
  #sent = 0;
  #used = 0;

  /**
   * Uses a response, unless that to a later request has been used.
   * @template T
   * @param {Promise<T>} request
   * @param {(response: T) => void} use
   */
  async use(request, use) {
    this.#sent += 1;
    const number = this.#sent;
    const response = await request;
    if (number < this.#used) return;
    this.#used = number;
    use(response);
  }
}

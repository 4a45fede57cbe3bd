/** How far what was missed has been read, for as long as there is more. */

import { fetchReadiness } from "./api.js";

const PERIOD_MS = 5_000;

/** Keeps the sentence true that the page came with, until all has been read. */
export function startCatchingUp() {
  const told = document.getElementById("catching-up");
  if (told === null) return;
  const timer = setInterval(async () => {
    // While the status cannot be fetched, the notice stays as it is.
    const ready = await fetchReadiness().catch(() => null);
    if (ready === null) return;
    const behind = (ready.catching_up ?? []).filter((it) => it.read < it.channels);
    told.textContent = behind.map((it) => it.told).join(" ");
    if (behind.length > 0) return;
    clearInterval(timer);
    told.remove();
  }, PERIOD_MS);
}

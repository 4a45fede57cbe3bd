/** The progress of the backfill, while it is not complete. */

import { fetchReadiness } from "./api.js";

const POLL_MS = 5_000;

/** Keeps the notice in the footer up to date, and removes it once the backfill is complete. */
export function startBackfillNotice() {
  const notice = document.getElementById("catching-up");
  if (notice === null) return;
  const timer = setInterval(async () => {
    // While the status cannot be fetched, the notice stays as it is.
    const ready = await fetchReadiness().catch(() => null);
    if (ready === null) return;
    const incomplete = (ready.catching_up ?? []).filter((it) => it.read < it.channels);
    notice.textContent = incomplete.map((it) => it.told).join(" ");
    if (incomplete.length > 0) return;
    clearInterval(timer);
    notice.remove();
  }, POLL_MS);
}

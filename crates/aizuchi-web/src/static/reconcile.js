/** Keyed reconciliation of a list. Unchanged items keep their elements, including the focus. */

const RENDERED = new WeakMap();

/**
 * @param {Element} list
 * @param {{key: string, fingerprint: string, build: () => Element}[]} items an item is identified by its key, and rendered
 *   anew only when its fingerprint changes
 */
export function reconcile(list, items) {
  const wanted = new Set(items.map(({ key }) => key));
  // Remove elements first, because an element that has to move past another one would lose the focus.
  for (const element of [...list.children]) if (!wanted.has(RENDERED.get(element).key)) element.remove();
  const old = new Map([...list.children].map((element) => [RENDERED.get(element).key, element]));
  let next = list.firstElementChild;
  for (const item of items) {
    const known = old.get(item.key);
    if (known !== undefined && RENDERED.get(known).fingerprint === item.fingerprint) {
      if (known === next) next = next.nextElementSibling;
      else list.insertBefore(known, next);
      continue;
    }
    const element = item.build();
    RENDERED.set(element, { key: item.key, fingerprint: item.fingerprint });
    if (known === next && known !== undefined) next = next.nextElementSibling;
    list.insertBefore(element, next);
    if (known !== undefined) replace(known, element);
  }
}

function replace(known, element) {
  const focused = known.contains(document.activeElement) ? document.activeElement : null;
  const isOpen = known.querySelector(".more")?.getAttribute("aria-expanded");
  known.remove();
  if (isOpen) element.querySelector(".more")?.setAttribute("aria-expanded", isOpen);
  if (focused === null) return;
  // Focus the message first, because its buttons are hidden until the focus is within.
  element.focus();
  element.querySelector(`[data-testid="${CSS.escape(focused.dataset.testid)}"]`)?.focus();
}

/** A list brought up to date. Items that have not changed keep their elements, focus and all. */

const DRAWN = new WeakMap();

/**
 * @param {Element} list
 * @param {{key: string, print: string, build: () => Element}[]} items an item is known by its key, and stays as it is
 *   for as long as its print does
 */
export function reconcile(list, items) {
  const wanted = new Set(items.map(({ key }) => key));
  // Remove elements first, because an element that has to move around another one would lose the focus.
  for (const element of [...list.children]) if (!wanted.has(DRAWN.get(element).key)) element.remove();
  const old = new Map([...list.children].map((element) => [DRAWN.get(element).key, element]));
  let place = list.firstElementChild;
  for (const item of items) {
    const known = old.get(item.key);
    if (known !== undefined && DRAWN.get(known).print === item.print) {
      if (known === place) place = place.nextElementSibling;
      else list.insertBefore(known, place);
      continue;
    }
    const element = item.build();
    DRAWN.set(element, { key: item.key, print: item.print });
    if (known === place && known !== undefined) place = place.nextElementSibling;
    list.insertBefore(element, place);
    if (known !== undefined) replace(known, element);
  }
}

function replace(known, element) {
  const focused = known.contains(document.activeElement) ? document.activeElement : null;
  const isOpen = known.querySelector(".more")?.getAttribute("aria-expanded");
  known.remove();
  if (isOpen) element.querySelector(".more")?.setAttribute("aria-expanded", isOpen);
  if (focused === null) return;
  // Focus the line first, because its buttons are hidden until the focus is within.
  element.focus();
  element.querySelector(`[data-testid="${CSS.escape(focused.dataset.testid)}"]`)?.focus();
}

/** Makes one element like another. What stays the same keeps its elements. */

/**
 * @param {Element} old in the page
 * @param {Element} fresh what it should be like
 */
export function morph(old, fresh) {
  if (old.isEqualNode(fresh) || old.hasAttribute("data-kept") || isShownTime(old, fresh)) return;
  attributes(old, fresh);
  // A field that a user is filling in stays as it is.
  if (old.matches("select, input, textarea")) return;
  if (old.hasAttribute("data-append")) append(old, fresh);
  else children(old, fresh);
}

/** A time that the page shows in its own words stays so, as long as it is the same. */
function isShownTime(old, fresh) {
  const isSame = (name) => old.getAttribute(name) === fresh.getAttribute(name);
  return old.matches("time[data-shown]") && ["datetime", "data-ago", "data-left", "data-rest"].every(isSame);
}

/** What somebody has opened or closed stays so. */
function isTheirs(element, name) {
  return name === "open" && element.matches("details");
}

function attributes(old, fresh) {
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !isTheirs(old, name)) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value && !isTheirs(old, name)) old.setAttribute(name, value);
  }
}

function keyOf(node) {
  return node.nodeType === Node.ELEMENT_NODE ? node.dataset.key : undefined;
}

function isLike(old, fresh) {
  return old !== null && old.nodeType === fresh.nodeType && old.nodeName === fresh.nodeName && keyOf(old) === keyOf(fresh);
}

/** Makes what an element holds from `place` on like what another one holds. */
function children(old, fresh, place = old.firstChild) {
  const keyed = new Map([...old.children].filter(keyOf).map((child) => [keyOf(child), child]));
  for (const wanted of [...fresh.childNodes]) {
    const known = keyOf(wanted) === undefined ? place : keyed.get(keyOf(wanted)) ?? null;
    if (!isLike(known, wanted)) {
      old.insertBefore(document.importNode(wanted, true), place);
      continue;
    }
    if (known === place) place = place.nextSibling;
    else old.insertBefore(known, place);
    if (known.nodeType === Node.ELEMENT_NODE) morph(known, wanted);
    else if (known.data !== wanted.data) known.data = wanted.data;
  }
  while (place !== null) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
}

/** A list that grows at its end: older rows stay, as long as the fresh ones go on from them. */
function append(old, fresh) {
  const first = fresh.firstElementChild;
  const start = first === null ? undefined : [...old.children].find((row) => keyOf(row) === keyOf(first));
  if (start === undefined) {
    document.querySelectorAll("[data-kept]").forEach((kept) => kept.removeAttribute("data-kept"));
    children(old, fresh);
    return;
  }
  const before = start.previousSibling;
  children(old, fresh, before !== null && before.nodeType === Node.TEXT_NODE ? before : start);
}

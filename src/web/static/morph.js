/** Makes one element like another. What stays the same keeps its elements. */

/**
 * @param {Element} old in the page
 * @param {Element} fresh what it should be like
 */
export function morph(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  attributes(old, fresh);
  // What somebody is filling in is theirs.
  if (old.matches("select, input, textarea")) return;
  if (old.hasAttribute("data-append")) append(old, fresh);
  else children(old, fresh);
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

function children(old, fresh) {
  const keyed = new Map([...old.children].filter(keyOf).map((child) => [keyOf(child), child]));
  let place = old.firstChild;
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

/** A list that grows at its end: rows that were read before it began stay. */
function append(old, fresh) {
  const known = new Map([...old.children].map((child) => [keyOf(child), child]));
  for (const wanted of [...fresh.children]) {
    const row = known.get(keyOf(wanted));
    if (row === undefined) old.append(document.importNode(wanted, true));
    else morph(row, wanted);
  }
}

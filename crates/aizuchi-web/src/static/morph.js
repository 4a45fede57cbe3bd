/** DOM morphing: changes an element to match another one. Unchanged parts keep their elements. */

/**
 * @param {Element} old in the page
 * @param {Element} fresh the element to match
 */
export function morph(old, fresh) {
  if (old.isEqualNode(fresh) || old.hasAttribute("data-kept") || isFormattedTime(old, fresh)) return;
  morphAttributes(old, fresh);
  if (old.matches("select, textarea")) morphField(old, fresh);
  else if (old.hasAttribute("data-append")) morphAppended(old, fresh);
  else morphChildren(old, fresh);
}

/** A field follows the page until a user fills it in: otherwise it would bring back a former value. */
function morphField(old, fresh) {
  if (isFilledIn(old)) return;
  morphChildren(old, fresh);
  // A field that a user has changed and changed back no longer follows its content.
  if (old.matches("select")) old.selectedIndex = fresh.selectedIndex;
  else old.value = fresh.value;
}

/** Whether a user is filling in a field, or has done so. */
function isFilledIn(field) {
  if (field === document.activeElement) return true;
  if (field.matches("textarea")) return field.value !== field.defaultValue;
  const preset = [...field.options].findLastIndex((option) => option.defaultSelected);
  return field.selectedIndex !== Math.max(preset, 0);
}

/** A formatted time is kept as long as its value is the same. */
function isFormattedTime(old, fresh) {
  const isSame = (name) => old.getAttribute(name) === fresh.getAttribute(name);
  return old.matches("time[data-shown]") && ["datetime", "data-ago", "data-left"].every(isSame);
}

/** State that the user has changed is kept: whether a `details` element is open. */
function isUserState(element, name) {
  return name === "open" && element.matches("details");
}

function morphAttributes(old, fresh) {
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !isUserState(old, name)) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value && !isUserState(old, name)) old.setAttribute(name, value);
  }
}

function keyOf(node) {
  return node.nodeType === Node.ELEMENT_NODE ? node.dataset.key : undefined;
}

function isSameKind(old, fresh) {
  return old !== null && old.nodeType === fresh.nodeType && old.nodeName === fresh.nodeName && keyOf(old) === keyOf(fresh);
}

/** Changes the children of an element from `next` on to match those of another one. */
function morphChildren(old, fresh, next = old.firstChild) {
  const keyed = new Map([...old.children].filter(keyOf).map((child) => [keyOf(child), child]));
  for (const wanted of [...fresh.childNodes]) {
    const known = keyOf(wanted) === undefined ? next : keyed.get(keyOf(wanted)) ?? null;
    if (!isSameKind(known, wanted)) {
      old.insertBefore(document.importNode(wanted, true), next);
      continue;
    }
    if (known === next) next = next.nextSibling;
    else old.insertBefore(known, next);
    if (known.nodeType === Node.ELEMENT_NODE) morph(known, wanted);
    else if (known.data !== wanted.data) known.data = wanted.data;
  }
  while (next !== null) {
    const removed = next;
    next = next.nextSibling;
    removed.remove();
  }
}

/** A list that grows at its end keeps its older rows, if the fresh rows continue them. */
function morphAppended(old, fresh) {
  const first = fresh.firstElementChild;
  const start = first === null ? undefined : [...old.children].find((row) => keyOf(row) === keyOf(first));
  if (start === undefined) {
    document.querySelectorAll("[data-kept]").forEach((kept) => kept.removeAttribute("data-kept"));
    morphChildren(old, fresh);
    return;
  }
  const before = start.previousSibling;
  morphChildren(old, fresh, before !== null && before.nodeType === Node.TEXT_NODE ? before : start);
}

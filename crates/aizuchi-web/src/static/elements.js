/** Functions that create elements without parsing HTML. */

/**
 * @param {string} name
 * @param {string} [className]
 * @param {string} [text]
 */
export function build(name, className = "", text = "") {
  const element = document.createElement(name);
  if (className !== "") element.className = className;
  element.textContent = text;
  return element;
}

/**
 * An icon of the page's SVG sprite. It is hidden from screen readers, so its context needs a label.
 * @param {string} name
 */
export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  svg.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "use")).setAttribute("href", `#icon-${name}`);
  return svg;
}

/**
 * @param {string} className
 * @param {string} testid
 * @param {string} label
 * @param {string} [iconName] of an icon before the label
 */
export function buildButton(className, testid, label, iconName) {
  const button = build("button", className);
  button.type = "button";
  button.dataset.testid = testid;
  if (iconName !== undefined) button.append(icon(iconName));
  button.append(build("span", "label", label));
  return button;
}

/**
 * The initial of a name, for an avatar.
 * @param {string} name
 */
export function initial(name) {
  return [...name][0]?.toUpperCase() ?? "?";
}

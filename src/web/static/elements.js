/** Making elements without markup. */

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
 * One of the page's drawings; whatever shows it says in words what it means.
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
 * @param {string} [drawing] an icon in front of the label
 */
export function buildButton(className, testid, label, drawing) {
  const button = build("button", className);
  button.type = "button";
  button.dataset.testid = testid;
  if (drawing !== undefined) button.append(icon(drawing));
  button.append(build("span", "label", label));
  return button;
}

/**
 * The first letter of a name, in place of a picture.
 * @param {string} name
 */
export function initial(name) {
  return [...name][0]?.toUpperCase() ?? "?";
}

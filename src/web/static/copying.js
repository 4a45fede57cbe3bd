/** Buttons that copy a text of the page. Without a clipboard, the text is selected to be copied by hand. */

export function showCopyButtons() {
  for (const button of document.querySelectorAll("[data-copy][hidden]")) button.hidden = false;
}

async function copy(button) {
  const place = document.getElementById(button.dataset.copy);
  try {
    await navigator.clipboard.writeText(place.textContent);
    button.textContent = button.dataset.copied;
  } catch {
    getSelection().selectAllChildren(place);
    place.focus();
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (button !== null) copy(button);
});

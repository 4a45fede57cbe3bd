/** Buttons that copy a text of the page. Without access to the clipboard, they select the text instead. */

export function showCopyButtons() {
  for (const button of document.querySelectorAll("[data-copy][hidden]")) button.hidden = false;
}

async function copy(button) {
  const source = document.getElementById(button.dataset.copy);
  try {
    await navigator.clipboard.writeText(source.textContent);
    button.textContent = button.dataset.copied;
  } catch {
    getSelection().selectAllChildren(source);
    source.focus();
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (button !== null) copy(button);
});

/** Offers to copy the part of the config. */

import { showCopyButtons } from "./copy-buttons.js";

showCopyButtons();

/** Offers to copy the part of the config. */

import { showCopyButtons } from "./copying.js";

showCopyButtons();

/** The page `/learn/formulas`. */

import { Page } from "./formulas/page.js";
import { mount } from "./parts/mount.js";

mount(Page);

/** The page `/learn/figures`. */

import { Page } from "./figures/page.js";
import { mount } from "./parts/mount.js";

mount(Page);

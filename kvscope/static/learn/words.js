/** The page `/learn/words`. */

import { mount } from "./parts/mount.js";
import { Page } from "./words/page.js";

mount(Page);

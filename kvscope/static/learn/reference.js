/** The page `/learn/reference`. */

import { mount } from "./parts/mount.js";
import { Page } from "./reference/page.js";

mount(Page);

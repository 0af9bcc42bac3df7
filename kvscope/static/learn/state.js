/** The page `/learn/state`. */

import { mount } from "./parts/mount.js";
import { Page } from "./state/page.js";

mount(Page);

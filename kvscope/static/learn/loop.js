/** The page `/learn/loop`. */

import { Page } from "./loop/page.js";
import { mount } from "./parts/mount.js";

mount(Page);

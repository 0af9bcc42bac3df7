/** The page `/learn/loop`. */

import { mount } from "./parts/mount.js";
import { Page } from "./loop/page.js";

mount(Page);

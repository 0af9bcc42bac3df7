/** Answers with the functions that the panel opens for the views. */

import { OF_VIEW } from "../../../../kvscope/static/stage/code/views.js";

process.stdout.write(JSON.stringify(Object.values(OF_VIEW)));

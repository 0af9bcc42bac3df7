/**
 * The run-time API that a learning system gives to a page in one of its frames or windows: SCORM 1.2 and SCORM 2004. Its functions
 * answer with texts, and an unknown or broken system may throw: no method here does.
 */

/** @typedef {"1.2"|"2004"} Version */
/** Name of the object in a window of the system, and its functions for this module's. */
const APIS = {
  1.2: {
    object: "API",
    ...{ start: "LMSInitialize", get: "LMSGetValue", set: "LMSSetValue", commit: "LMSCommit", end: "LMSFinish" },
    ...{ code: "LMSGetLastError", words: "LMSGetErrorString" },
  },
  2004: {
    object: "API_1484_11",
    ...{ start: "Initialize", get: "GetValue", set: "SetValue", commit: "Commit", end: "Terminate" },
    ...{ code: "GetLastError", words: "GetErrorString" },
  },
};
const NO_ERROR = 0;

/**
 * @param {Window} window of the page
 * @param {Version} version
 * @returns {{start: () => boolean, get: (name: string) => string, set: (values: Object<string, string>) => {name: string, fault: string}[],
 *   commit: () => boolean, end: () => boolean, fault: () => string}|null} `start`, `commit`, `end`: whether the system agreed; `get`: "" if it
 *   has no such value; `set`: the values that it refused, in their order; `fault`: its words about the last error, "" if it names none.
 *   null: no window around this page has the API
 */
export function runTimeOf(window, version) {
  const { object, ...names } = APIS[version];
  const api = above(window, object) ?? above(openerOf(window), object);
  if (!api) return null;
  const call = (name, ...values) => {
    try {
      return String(api[names[name]](...values) ?? "");
    } catch {
      return "";
    }
  };
  const fault = () => {
    const code = call("code");
    return Number(code) === NO_ERROR ? "" : call("words", code);
  };
  const agrees = (...asked) => call(...asked) === "true";
  return {
    start: () => agrees("start", ""),
    get: (name) => call("get", name),
    // Every value is sent, also after one that the system refused. The next call, also one that succeeds, replaces the fault.
    set: (values) =>
      Object.entries(values).flatMap(([name, value]) => (agrees("set", name, value) ? [] : [{ name, fault: fault() }])),
    commit: () => agrees("commit", ""),
    end: () => agrees("end", ""),
    fault,
  };
}

/** @returns {Object|null} the object of that name in a window or in one around it; a window of another origin is passed over */
function above(window, name) {
  for (let at = window; at; at = at.parent === at ? null : at.parent) {
    try {
      if (at[name]) return at[name];
    } catch {
      // Of another origin.
    }
  }
  return null;
}

/** @returns {Window|null} the window that opened the one with this page */
function openerOf({ top }) {
  try {
    return top.opener;
  } catch {
    return null;
  }
}

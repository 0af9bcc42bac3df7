/** Uploads a file and reports progress, for which the browser has only XMLHttpRequest. */

import { under } from "./root.js";

/**
 * @param {string} path on this server, from its root
 * @param {Blob} file
 * @param {{onSent: (bytes: number) => void, signal: AbortSignal, headers: Object<string, string>}} options
 * @returns {Promise<Response>}
 * @throws {TypeError} without a response, as `fetch` does
 */
export function upload(path, file, { onSent, signal, headers }) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.upload.onprogress = ({ loaded }) => onSent(Math.min(loaded, file.size));
    request.onload = () => {
      const responseHeaders = { "Retry-After": request.getResponseHeader("Retry-After") ?? "" };
      resolve(new Response(request.response, { status: request.status, headers: responseHeaders }));
    };
    request.onerror = () => reject(new TypeError("no answer"));
    request.onabort = () => reject(new DOMException("aborted", "AbortError"));
    signal.addEventListener("abort", () => request.abort());
    request.open("POST", under(path));
    const requestHeaders = { ...headers, "Content-Type": "application/octet-stream" };
    for (const [name, value] of Object.entries(requestHeaders)) request.setRequestHeader(name, value);
    request.send(file);
  });
}

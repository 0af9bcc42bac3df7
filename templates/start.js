"use strict";
// The page's modules are packed: each is unpacked under its own name, then the first one starts.
(async ({ nonce }) => {
  const packed = Uint8Array.from(atob({{ packed|safe }}), (letter) => letter.charCodeAt(0));
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const imports = {};
  for (const [name, source] of Object.entries(await new Response(unpacked).json())) {
    const type = name.endsWith(".json") ? "application/json" : "text/javascript";
    imports[name] = URL.createObjectURL(new Blob([source], { type }));
  }
  const map = document.createElement("script");
  Object.assign(map, { type: "importmap", nonce, textContent: JSON.stringify({ imports }) });
  document.head.append(map);
  await import("{{ entry }}");
})(document.currentScript).catch((error) => {
  document.documentElement.dataset.state = "error";
  const page = document.getElementById("page");
  if (page) page.textContent =
    "This browser cannot open the page. It needs Chrome or Edge 89, Firefox 113, Safari 16.4, or a later one. (" + error + ")";
  throw error;
});

// Sent by `sampan dev` only: reloads the page when the project has changed, and shows why it could not be loaded.
(() => {
  let { version, css } = document.currentScript.dataset;
  let source;
  let overlay;

  const show = (page) => {
    overlay?.remove();
    overlay = undefined;
    if (!page) return;
    overlay = document.createElement("iframe");
    overlay.srcdoc = page;
    overlay.style.cssText = "position:fixed;inset:0;width:100%;height:100%;border:0;z-index:2147483647";
    document.documentElement.append(overlay);
  };

  const freshen = () => {
    for (const link of document.querySelectorAll('link[rel~="stylesheet"][href]')) {
      const url = new URL(link.href);
      if (url.origin !== location.origin) continue;
      url.searchParams.set("sampan-dev", css);
      const fresh = link.cloneNode();
      fresh.href = url;
      // The old one stays until then, so that the page is never without.
      fresh.onload = fresh.onerror = () => link.remove();
      link.after(fresh);
    }
  };

  const listen = () => {
    source = new EventSource("/_sampan/dev/events");
    source.onmessage = ({ data }) => {
      const state = JSON.parse(data);
      if (state.version !== version) return location.reload();
      if (state.css !== css) {
        css = state.css;
        freshen();
      }
      show(state.fault);
    };
  };

  // A browser has few connections to one server, so pages that nobody looks at keep none.
  document.addEventListener("visibilitychange", () => {
    source?.close();
    if (!document.hidden) listen();
  });
  addEventListener("pagehide", () => source?.close());
  addEventListener("pageshow", ({ persisted }) => persisted && listen());
  if (!document.hidden) listen();
})();

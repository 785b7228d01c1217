// Browsers make no web workers for pages opened from the disk, so the search would be missing there: an iframe does a
// worker's work. The name and the interface are those of the package iframe-worker, which the theme expects.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      this.inside.postMessage = (data) => {
        this.dispatchEvent(new MessageEvent("message", { data }));
        this.answered();
      };
      const script = frame.contentDocument.createElement("script");
      script.src = url;
      this.free = new Promise((resolve) => script.addEventListener("load", resolve)).then(() => {
        // lunr tells nodes of its index apart by edge and number without a mark between them: edges that are digits are
        // mixed up, and a query then meets words that no page has (2.3.9).
        this.inside.lunr.TokenSet.prototype.toString = function () {
          const edges = Object.keys(this.edges).sort();
          return Number(this.final) + edges.map((edge) => `${edge}${this.edges[edge].id};`).join("");
        };
      });
      frame.contentDocument.body.append(script);
    }

    // One message after the other: each is answered once, and a query must not overtake the set-up of the index.
    postMessage(data) {
      this.free = this.free.then(
        () =>
          new Promise((resolve) => {
            this.answered = resolve;
            this.inside.dispatchEvent(new MessageEvent("message", { data }));
          }),
      );
    }
  };
  window.Worker = window.IFrameWorker;
}

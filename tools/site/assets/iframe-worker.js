// SPDX-License-Identifier: Apache-2.0
// Browsers start no worker for a page that is a local file, and the search of the theme is one. On such pages this class takes the
// place of Worker: it runs the script in an iframe of the page. The theme looks for it by its name.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "search";
      document.body.append(frame);
      this.inside = frame.contentWindow;
      this.inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", {data}));
      this.inside.importScripts = (...urls) => urls.reduce((done, each) => done.then(() => this.add(each)), Promise.resolve());
      this.add(url).then(() => {
        for (const data of this.waiting) this.deliver(data);
        this.waiting = null;
      });
    }

    add(url) {
      const script = this.inside.document.createElement("script");
      script.src = new URL(url, document.baseURI).href;
      const loaded = new Promise((done, failed) => { script.onload = done; script.onerror = failed; });
      this.inside.document.body.append(script);
      return loaded;
    }

    deliver(data) {
      this.inside.dispatchEvent(new this.inside.MessageEvent("message", {data}));
    }

    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.deliver(data);
    }

    terminate() {
      this.inside.frameElement.remove();
    }
  };
  window.Worker = window.IFrameWorker;
}

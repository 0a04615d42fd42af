// Shows what was changed on another page, without a reload: the server tells of a change by an event, and this page
// fetches itself again. All pages work without this file.

// Fetches one after the other, the last after the last event.
let last = Promise.resolve();

async function refresh() {
  const answer = await fetch(location.href, { headers: { "X-Refresh": "yes" } });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const shown = document.querySelector(".live"), fresh = page.querySelector(".live");
  // A note that was deleted, or a login that has ended, is a page without such a part.
  if (!shown || !fresh) document.querySelector("main").replaceChildren(...page.querySelector("main").childNodes);
  else if (!shown.isEqualNode(fresh)) shown.replaceWith(fresh);
}

const events = new EventSource("/notes/events");
events.onmessage = () => {
  last = last.then(refresh).catch(() => {});
};
// Something may have changed before the server had this connection, the first or another.
events.onopen = events.onmessage;

// The service worker of the console. It shows what the page or the server tells
// it to, brings the page back with the session when that is clicked, and keeps
// nothing: it answers no request.

// The texts of the page, which may not be open: `waiting` for one session.
const WAITING = {
  en: "1 session waits for you",
  de: "1 Sitzung wartet auf dich",
  zh: "1 个会话等待你的回复",
};

addEventListener("push", (event) => {
  event.waitUntil(tell(event.data.json()));
});

// The texts when a subscription has ended while no page was open.
const ENDED = {
  en: "Open the console to be notified of waiting sessions again",
  de: "Öffne die Konsole, um wieder von wartenden Sitzungen zu erfahren",
  zh: "打开控制台，以便继续收到会话等待的通知",
};

addEventListener("pushsubscriptionchange", (event) => {
  event.waitUntil(subscribeAgain());
});

addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(show(event.notification.data));
});

/**
 * Shows that a session waits: for a moment only, and silently, if its user looks
 * at the console. Safari ends the subscription of a page whose worker has shown
 * nothing for three messages.
 */
async function tell({ taskId, title }) {
  const pages = await openPages();
  const isInView = pages.some(
    ({ visibilityState }) => visibilityState === "visible",
  );
  const [shown] = await registration.getNotifications({ tag: taskId });
  // A page in the background may have shown the same a moment ago.
  const isTold = shown && Date.now() - shown.timestamp < 60_000;
  await registration.showNotification(inLanguage(WAITING), {
    body: title,
    tag: taskId,
    renotify: !isInView && !isTold,
    silent: isInView,
    data: `#/session/${encodeURIComponent(taskId)}`,
  });
  if (!isInView) return;
  const seen = await registration.getNotifications({ tag: taskId });
  for (const notification of seen) notification.close();
}

/**
 * Has an open page subscribe, since pages alone have access to the server. When
 * none is open, a notification leads to one, which subscribes when it opens.
 */
async function subscribeAgain() {
  const [page] = await openPages();
  if (page) {
    page.postMessage("subscribe");
    return;
  }
  await registration.showNotification(inLanguage(ENDED), {
    tag: "subscribe",
    data: "",
  });
}

async function show(address) {
  const [page] = await openPages();
  if (!page) {
    await clients.openWindow(new URL(address, registration.scope).href);
    return;
  }
  // The page goes there itself: a worker moves only pages that it controls.
  page.postMessage(address);
  await page.focus();
}

function inLanguage(texts) {
  const language = navigator.languages
    .map((tag) => tag.slice(0, 2).toLowerCase())
    .find((name) => name in texts);
  return texts[language ?? "en"];
}

/** Returns the pages of the console, which not all pages of the origin are. */
async function openPages() {
  const pages = await clients.matchAll({
    type: "window",
    includeUncontrolled: true,
  });
  return pages.filter(({ url }) => url.startsWith(registration.scope));
}

// The service worker of the console. It shows what the page tells it to, brings
// the page back with the session when that is clicked, and keeps nothing: it
// answers no request.
addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(show(event.notification.data));
});

async function show(address) {
  const pages = await clients.matchAll({
    type: "window",
    includeUncontrolled: true,
  });
  const page = pages.find(({ url }) => url.startsWith(registration.scope));
  if (!page) {
    await clients.openWindow(new URL(address, registration.scope).href);
    return;
  }
  // The page goes there itself: a worker moves only pages that it controls.
  page.postMessage(address);
  await page.focus();
}

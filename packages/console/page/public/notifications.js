// The service worker of the console. It shows what the page tells it to, brings
// the page back when that is clicked, and keeps nothing: it answers no request.
addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(
    clients
      .matchAll({ type: "window", includeUncontrolled: true })
      .then(([page]) => (page ? page.focus() : clients.openWindow("./"))),
  );
});

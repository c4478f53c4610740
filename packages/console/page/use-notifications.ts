import { callWithRetry } from "@devtool/client";
import { TaskState, type TaskSummary } from "@devtool/schema";
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import type { ConsoleClient } from "./console-client.ts";
import { sessionAddress } from "./place.ts";
import { countText, words } from "./words.ts";

declare global {
  /** The part of Trusted Types that this page uses. */
  interface Window {
    readonly trustedTypes?: {
      createPolicy(
        name: string,
        rules: { readonly createScriptURL: () => string },
      ): { createScriptURL(text: string): string };
    };
  }
}

/**
 * The only URL of a script that the page makes. Trusted Types want a policy for
 * it: this one is made once, when the page starts, and has no other result.
 */
const WORKER_URL: string =
  window.trustedTypes
    ?.createPolicy("service-worker", {
      createScriptURL: () => "notifications.js",
    })
    .createScriptURL("") ?? "notifications.js";

/** Whether a session waits for its user. */
export function isWaiting({ lastEvent }: TaskSummary): boolean {
  return (
    lastEvent?.state === TaskState.INPUT_REQUIRED ||
    lastEvent?.state === TaskState.AUTH_REQUIRED
  );
}

/**
 * Shows a notification when a session begins to wait while the page is open and
 * not looked at, and has the server tell this browser while no page is open.
 * Returns what asks the user for permission; undefined when there is nothing to
 * ask.
 */
export function useNotifications(
  client: ConsoleClient,
  sessions: readonly TaskSummary[],
  isLoaded: boolean,
): (() => void) | undefined {
  const [permission, setPermission] = useState(() =>
    "Notification" in globalThis && "serviceWorker" in navigator
      ? Notification.permission
      : "denied",
  );
  const known = useRef<ReadonlySet<string> | undefined>(undefined);
  // With the list itself: a later effect would find a page that was left since.
  useLayoutEffect(() => {
    if (!isLoaded) return;
    const waiting = sessions.filter(isWaiting);
    const before = known.current;
    known.current = new Set(waiting.map(({ id }) => id));
    // Those that wait already when the page opens are in its list.
    const added = waiting.filter(({ id }) => before && !before.has(id));
    if (permission !== "granted" || document.visibilityState === "visible") {
      return;
    }
    // The list says the same: a browser that shows none is no reason to stop.
    for (const session of added) notify(session).catch(console.warn);
  }, [sessions, isLoaded, permission]);
  useEffect(() => {
    if (permission !== "granted") return;
    const mounted = new AbortController();
    const { signal } = mounted;
    // Some browsers reach no push service. The list of browsers says which are
    // notified.
    const begin = (): void => {
      callWithRetry((each) => subscribe(client, each), {}, signal).catch(
        console.warn,
      );
    };
    begin();
    // The browser may end a subscription while the page is open.
    navigator.serviceWorker.addEventListener(
      "message",
      ({ data }) => data === "subscribe" && begin(),
      { signal },
    );
    return () => mounted.abort();
  }, [client, permission]);
  useEffect(() => {
    if (!("serviceWorker" in navigator)) return;
    const { serviceWorker } = navigator;
    serviceWorker.addEventListener("message", showSession);
    return () => serviceWorker.removeEventListener("message", showSession);
  }, []);
  if (permission !== "default") return undefined;
  return () => void Notification.requestPermission().then(setPermission);
}

/**
 * Subscribes this browser at its push service, and has the server post there. A
 * subscription that is there already stays.
 */
async function subscribe(
  { browsers }: ConsoleClient,
  signal: AbortSignal,
): Promise<void> {
  const { pushManager } = await startWorker();
  const { webPushKey } = await browsers.listBrowserSessions({}, { signal });
  const options = {
    userVisibleOnly: true,
    applicationServerKey: new Uint8Array(webPushKey),
  };
  const made = await pushManager.subscribe(options).catch(async () => {
    // There may be one for an earlier key of the server.
    await (await pushManager.getSubscription())?.unsubscribe();
    return pushManager.subscribe(options);
  });
  const subscription = {
    endpoint: made.endpoint,
    p256dh: new Uint8Array(made.getKey("p256dh") ?? []),
    auth: new Uint8Array(made.getKey("auth") ?? []),
  };
  await browsers.setWebPush(subscription, { signal });
}

async function startWorker(): Promise<ServiceWorkerRegistration> {
  const worker = await navigator.serviceWorker.register(WORKER_URL);
  await navigator.serviceWorker.ready;
  return worker;
}

/** Phones show notifications of service workers alone. */
async function notify({ id, title }: TaskSummary): Promise<void> {
  const worker = await startWorker();
  const options = {
    body: title,
    tag: id,
    // A session that waits again is told again.
    renotify: true,
    data: sessionAddress(id),
  };
  await worker.showNotification(countText(words.waiting, 1), options);
}

/** Shows the session whose notification was clicked, as the worker says. */
function showSession({ data }: MessageEvent<unknown>): void {
  if (typeof data === "string" && data.startsWith("#")) location.hash = data;
}

import { readFile } from "node:fs/promises";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";

const SCOPE = "https://server.example/console/";
const ADDRESS = "#/session/s1";

describe("a click on a notification", () => {
  it("shows its session in the page that is open, which no other page of the origin is", async () => {
    const done = await click([
      "https://server.example/other/",
      `${SCOPE}#/session/s2`,
    ]);
    expect(done).toEqual([
      "close",
      `${SCOPE}#/session/s2 goes to ${ADDRESS}`,
      `${SCOPE}#/session/s2 is focused`,
    ]);
  });

  it("opens its session when no page is open", async () => {
    expect(await click([])).toEqual(["close", `open ${SCOPE}${ADDRESS}`]);
  });
});

describe("a subscription that its browser has ended", () => {
  it("is made again by the page that is open", async () => {
    const pages = ["https://server.example/other/", SCOPE];
    expect(await dispatch("pushsubscriptionchange", pages)).toEqual([
      `${SCOPE} goes to subscribe`,
    ]);
  });

  it("is told of when no page is open, and a click opens the console", async () => {
    expect(await dispatch("pushsubscriptionchange", [])).toEqual([
      "show 打开控制台，以便继续收到会话等待的通知",
    ]);
    expect(await click([], "")).toEqual(["close", `open ${SCOPE}`]);
  });
});

function click(pages: readonly string[], data = ADDRESS): Promise<string[]> {
  return dispatch("notificationclick", pages, data);
}

/** Runs the worker beside open pages, and returns what an event makes it do. */
async function dispatch(
  type: string,
  pages: readonly string[],
  data = "",
): Promise<string[]> {
  const done: string[] = [];
  const note = (text: string) => void done.push(text);
  const worker = new URL(
    "../../packages/console/page/public/notifications.js",
    import.meta.url,
  );
  const target = new EventTarget();
  runInNewContext(await readFile(worker, "utf8"), {
    URL,
    addEventListener: target.addEventListener.bind(target),
    navigator: { languages: ["fr-FR", "zh-CN", "en"] },
    registration: {
      scope: SCOPE,
      showNotification: async (title: string) => note(`show ${title}`),
    },
    clients: {
      matchAll: async () =>
        pages.map((url) => ({
          url,
          postMessage: (text: string) => note(`${url} goes to ${text}`),
          focus: async () => note(`${url} is focused`),
        })),
      openWindow: async (url: string) => note(`open ${url}`),
    },
  });
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const event = Object.assign(new Event(type), {
    notification: { data, close: () => note("close") },
    waitUntil: resolve,
  });
  target.dispatchEvent(event);
  await promise;
  return done;
}

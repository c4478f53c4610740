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

/** Runs the worker beside open pages, and returns what a click makes it do. */
async function click(pages: readonly string[]): Promise<string[]> {
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
    registration: { scope: SCOPE },
    clients: {
      matchAll: async () =>
        pages.map((url) => ({
          url,
          postMessage: (data: string) => note(`${url} goes to ${data}`),
          focus: async () => note(`${url} is focused`),
        })),
      openWindow: async (url: string) => note(`open ${url}`),
    },
  });
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const event = Object.assign(new Event("notificationclick"), {
    notification: { data: ADDRESS, close: () => note("close") },
    waitUntil: resolve,
  });
  target.dispatchEvent(event);
  await promise;
  return done;
}

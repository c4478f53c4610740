import { textMessage } from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { loadConsole } from "@devtool/console";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import type { DevtoolServer } from "@devtool/server";
import type { Browser, BrowserContext, CDPSession } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LEFT_TO_CI } from "../depth.ts";
import { CHROMIUM, launch } from "../outer/browser.ts";
import { accessCode, accessOf, clientOf } from "./console-page.ts";
import { type PushService, startPushService } from "./push-service.ts";

const LIMIT = { timeout: 60_000 };

describe.skipIf(LEFT_TO_CI !== "" || CHROMIUM === undefined)(
  `a notification in Chromium${LEFT_TO_CI}`,
  () => {
    let browser: Browser;
    beforeAll(async () => {
      browser = await launch();
    }, 60_000);
    afterAll(() => browser?.close());

    it("stays while the console is closed, goes at once while it is in view, and leads to its session; a page subscribes again when the browser has ended the subscription", async () => {
      await using service = await startPushService();
      await using server = await serveCodingAgent({
        workspace: temporaryDirectory(),
        site: await loadConsole(),
        pushTargets: [service.target],
      });
      await using context = await browser.newContext({
        locale: "en-US",
        permissions: ["notifications"],
      });
      await context.addInitScript(subscribeStandIn(service.subscribe("phone")));
      const page = await context.newPage();
      const code = await accessCode(server);
      await page.goto(`${server.url}/console/#code=${code}`);
      const access = accessOf(server, server.token);
      const notified = (isNotified: boolean): Promise<void> =>
        expect
          .poll(
            async () => (await access.listBrowserSessions({})).sessions,
            LIMIT,
          )
          .toMatchObject([{ isNotified }]);
      await notified(true);
      const worker = await workerOf(context, server);

      await ask(server, "write seen.txt x");
      await worker.deliver(await nextMessage(service, 1));
      await expect
        .poll(() => worker.everShown(), LIMIT)
        .toEqual(["write seen.txt x"]);
      await expect.poll(() => worker.shown(), LIMIT).toEqual([]);
      await page.goto("about:blank");
      await expect.poll(() => worker.pages(), LIMIT).toEqual([]);
      await ask(server, "write told.txt x");
      const message = await nextMessage(service, 2);
      await worker.deliver(message);
      await expect
        .poll(() => worker.shown(), LIMIT)
        .toEqual(["1 session waits for you: write told.txt x"]);

      await page.goto(`${server.url}/console/`);
      await page.getByText("2 sessions wait for you").waitFor();
      await worker.click();
      await page.getByRole("heading", { name: "write told.txt x" }).waitFor();
      expect(await worker.shown()).toEqual([]);

      service.answerWith((response) => response.writeHead(410).end());
      await ask(server, "write lost.txt x");
      await notified(false);
      service.answerWith((response) => response.writeHead(201).end());
      await worker.loseSubscription();
      await notified(true);
    });
  },
);

/**
 * Chromium without a window has no push service: this stands in for what it
 * answers, and the rest is real.
 */
function subscribeStandIn({
  endpoint,
  p256dh,
  auth,
}: ReturnType<PushService["subscribe"]>): string {
  const keys = JSON.stringify({ p256dh: [...p256dh], auth: [...auth] });
  return `
    const keys = ${keys};
    PushManager.prototype.subscribe = async ({ userVisibleOnly, applicationServerKey }) => {
      if (!userVisibleOnly || applicationServerKey.length !== 65) throw new TypeError("not so");
      return {
        endpoint: ${JSON.stringify(endpoint)},
        getKey: (name) => new Uint8Array(keys[name]).buffer,
      };
    };
  `;
}

/** The service worker of the console. */
interface ConsoleWorker {
  /** Gives it a message, as the push service of its browser does. */
  deliver(message: string): Promise<void>;
  /** Returns what the notifications that are shown say. */
  shown(): Promise<unknown>;
  /** Returns the titles of the sessions of all that it has shown. */
  everShown(): Promise<unknown>;
  /** Returns the pages of the console that are open, and seen or not. */
  pages(): Promise<unknown>;
  /** Tells it that the browser has ended the subscription. */
  loseSubscription(): Promise<void>;
  /** Does what a click on the notification that is shown does. */
  click(): Promise<void>;
}

async function workerOf(
  context: BrowserContext,
  { url }: DevtoolServer,
): Promise<ConsoleWorker> {
  const worker =
    context.serviceWorkers()[0] ??
    (await context.waitForEvent("serviceworker"));
  const session = await context.newCDPSession(await context.newPage());
  const registrationId = await registrationOf(session);
  await worker.evaluate(`{
    const { showNotification } = ServiceWorkerRegistration.prototype;
    globalThis.everShown = [];
    ServiceWorkerRegistration.prototype.showNotification = async function (title, options) {
      await showNotification.call(this, title, options);
      everShown.push(options.body);
    };
  }`);
  return {
    async deliver(data) {
      const { origin } = new URL(url);
      const message = { origin, registrationId, data };
      await session.send("ServiceWorker.deliverPushMessage", message);
    },
    shown: () =>
      worker.evaluate(`registration.getNotifications().then((all) =>
        all.map(({ title, body }) => title + ": " + body))`),
    pages: () =>
      worker.evaluate(`clients.matchAll({ includeUncontrolled: true })
        .then((all) => all.map(({ url, visibilityState }) => [url, visibilityState]))`),
    everShown: () => worker.evaluate("everShown"),
    loseSubscription: () =>
      worker.evaluate(
        `void dispatchEvent(Object.assign(new Event("pushsubscriptionchange"), { waitUntil() {} }))`,
      ),
    click: () =>
      worker.evaluate(`registration.getNotifications().then(([notification]) =>
        void dispatchEvent(new NotificationEvent("notificationclick", { notification })))`),
  };
}

/** Returns the id of the only registration of a service worker. */
async function registrationOf(session: CDPSession): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  session.on(
    "ServiceWorker.workerRegistrationUpdated",
    ({ registrations: [registration] }) => {
      if (registration) resolve(registration.registrationId);
    },
  );
  await session.send("ServiceWorker.enable");
  return await promise;
}

/** Returns what the message of a number says, once it has come. */
async function nextMessage(
  { posts, read }: PushService,
  count: number,
): Promise<string> {
  await expect.poll(() => posts.length, LIMIT).toBe(count);
  const post = posts[count - 1];
  return JSON.stringify(post && read(post));
}

async function ask(server: DevtoolServer, prompt: string): Promise<void> {
  const message = textMessage(crypto.randomUUID(), prompt);
  await clientOf(server).tasks.sendMessage({ message });
}

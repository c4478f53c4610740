import { Code } from "@connectrpc/connect";
import { textMessage } from "@devtool/client";
import {
  type CodingServerOptions,
  serveCodingAgent,
} from "@devtool/coding-agent";
import { loadConsole } from "@devtool/console";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { AccessCodeKind } from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Authority, hasOpenssl } from "../auth/certificates.ts";
import { createIssuer } from "../auth/issuer.ts";
import { CHROMIUM, launch } from "../outer/browser.ts";
import { accessOf, clientOf, openConsole } from "./console-page.ts";

/** What the test reads of a manifest. */
interface Manifest {
  readonly icons: readonly { readonly src: string; readonly sizes: string }[];
}

const HAS_OPENSSL = await hasOpenssl();

/** A phone of 2024, as far as a page notices. */
const PHONE = {
  viewport: { width: 390, height: 844 },
  deviceScaleFactor: 2,
  hasTouch: true,
  isMobile: true,
  locale: "en-US",
};

describe("the code for a device", () => {
  it("belongs to the principal who asked for it, and works once", async () => {
    const issuer = await createIssuer();
    await using server = await serve({
      authentication: { jwt: issuer.options },
    });
    const [alice, bob] = [
      await issuer.tokenFor("alice"),
      await issuer.tokenFor("bob"),
    ];
    const code = await deviceCode(server, alice);
    const { token, session } = await redeem(server, code);
    await expect(redeem(server, code)).rejects.toMatchObject({
      code: Code.Unauthenticated,
    });
    expect(
      (await accessOf(server, token).listBrowserSessions({})).sessions,
    ).toHaveLength(1);
    const ofBob = accessOf(server, bob);
    expect((await ofBob.listBrowserSessions({})).sessions).toEqual([]);
    await expect(
      ofBob.revokeBrowserSession({ id: session?.id ?? "" }),
    ).rejects.toMatchObject({ code: Code.NotFound });
    // A device gives no access to another one.
    await expect(deviceCode(server, token)).rejects.toMatchObject({
      code: Code.PermissionDenied,
    });
    // Its connections end with its access, and in this process they are Alice's,
    // too.
    await accessOf(server, alice)
      .revokeBrowserSession({ id: session?.id ?? "" })
      .catch(() => undefined);
    const { tasks } = clientOf({ ...server, token });
    await expect
      .poll(() =>
        tasks.listTasks({}).then(
          () => "in",
          (reason: { readonly code: Code }) => reason.code,
        ),
      )
      .toBe(Code.Unauthenticated);
  });

  it("is told to the observer: who asked for it, and that a device was let in", async () => {
    const told: unknown[] = [];
    await using server = await serve({
      observer: ({ kind, binding, name, principal }) => {
        if (kind === "request" && binding !== "http") {
          told.push([name, principal]);
        }
        return undefined;
      },
    });
    const code = await deviceCode(server, server.token);
    await redeem(server, code);
    await expect(redeem(server, code)).rejects.toThrow();
    expect(told).toEqual([
      ["CreateAccessCode", "local"],
      ["RedeemAccessCode", ""],
    ]);
  });

  it("is not found by guessing, not even at once, and the limit holds up no link", async () => {
    await using server = await serve();
    const code = await deviceCode(server, server.token);
    const guesses = await Promise.all(
      Array.from({ length: 40 }, (_, guess) =>
        redeem(server, `${String(guess).padStart(5, "0")}-00000`).then(
          () => "in",
          (reason: { readonly code: Code }) => reason.code,
        ),
      ),
    );
    expect(
      guesses.filter((each) => each === Code.Unauthenticated),
    ).toHaveLength(10);
    expect(
      guesses.filter((each) => each === Code.ResourceExhausted),
    ).toHaveLength(30);
    await expect(redeem(server, code)).rejects.toMatchObject({
      code: Code.ResourceExhausted,
    });
    const link = await accessOf(server, server.token).createAccessCode({});
    await redeem(server, link.code);
  });
});

describe.skipIf(CHROMIUM === undefined)(
  "the console on a phone (skipped without Chromium)",
  () => {
    let browser: Browser;
    beforeAll(async () => {
      browser = await launch();
    });
    afterAll(() => browser.close());

    it("can be installed: it has a manifest, with icons of the sizes that it says", async () => {
      await using server = await serve();
      await using shown = await openConsole(browser, server, PHONE);
      const { page } = shown;
      await page.getByRole("button", { name: /^Notify me/ }).waitFor();
      const href = await page
        .locator('link[rel="manifest"]')
        .getAttribute("href");
      const at = new URL(href ?? "", page.url());
      const answer = await fetch(at);
      expect(answer.headers.get("content-type")).toBe(
        "application/manifest+json",
      );
      const manifest: Manifest = JSON.parse(await answer.text());
      expect(manifest).toMatchObject({
        start_url: "./",
        display: "standalone",
      });
      for (const { src, sizes } of manifest.icons) {
        const bytes = Buffer.from(
          await (await fetch(new URL(src, at))).arrayBuffer(),
        );
        const size = `${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}`;
        expect([bytes.toString("latin1", 1, 4), size]).toEqual(["PNG", sizes]);
      }
      // What the browser itself has against it.
      const session = await page.context().newCDPSession(page);
      const { errors } = await session.send("Page.getAppManifest");
      expect(errors).toEqual([]);
      expect(shown.faults()).toEqual([]);
    });

    it.skipIf(!HAS_OPENSSL)(
      "is paired by the code that is typed, and stays so when it is opened again, over HTTPS (skipped without OpenSSL)",
      async () => {
        const authority = await Authority.create(temporaryDirectory(), "ours");
        await using server = await serve({
          tls: await authority.issue("/CN=127.0.0.1"),
        });
        await using context = await phone(browser);
        const page = await openPage(context, server);
        await page.getByLabel(/type the code/).fill("00000 00000");
        await page.getByRole("button", { name: "Pair" }).click();
        await page.getByRole("alert").getByText("code is wrong").waitFor();
        const code = await codeOverTls(server, authority);
        await page.getByLabel(/type the code/).fill(code.toLowerCase());
        await page.getByRole("button", { name: "Pair" }).click();
        await page.getByRole("heading", { name: "Sessions" }).waitFor();
        await page.close();
        const again = await openPage(context, server);
        await again.getByRole("heading", { name: "Sessions" }).waitFor();
        // Nothing but the token and the id of its access is kept.
        expect(
          await again.evaluate(
            "caches.keys().then((names) => [Object.keys(localStorage).sort(), names])",
          ),
        ).toEqual([["devtool.session", "devtool.token"], []]);
      },
    );

    it("keeps no access beyond the tab where nothing proves the server", async () => {
      await using server = await serve();
      await using context = await phone(browser);
      const page = await context.newPage();
      const code = await deviceCode(server, server.token);
      await page.goto(`${server.url}/console/#pair=${code}`);
      await page.getByRole("button", { name: "Pair" }).click();
      await page.getByRole("heading", { name: "Sessions" }).waitFor();
      expect(page.url()).not.toContain(code);
      const again = await openPage(context, server);
      await again.getByLabel(/type the code/).waitFor();
    });

    it("works as nobody else by a link: a code waits for its user, who keeps the access that there was", async () => {
      const issuer = await createIssuer();
      await using server = await serve({
        authentication: { jwt: issuer.options },
      });
      await using shown = await openConsole(browser, server, PHONE);
      const { page } = shown;
      const sessions = page.getByRole("heading", { name: "Sessions" });
      await sessions.waitFor();
      const before = await keptTokens(page);
      const mallory = await issuer.tokenFor("mallory");
      const pairing = await deviceCode(server, mallory);
      const { code: link } = await accessOf(server, mallory).createAccessCode(
        {},
      );
      for (const hash of [`pair=${pairing}`, `code=${link}`]) {
        await page.goto(`${server.url}/console/#${hash}`);
        await page.getByText("This browser has access already").waitFor();
        expect(await keptTokens(page)).toEqual(before);
        expect(page.url()).toBe(`${server.url}/console/`);
        await page.getByRole("button", { name: "Keep" }).click();
        await sessions.waitFor();
        expect(await keptTokens(page)).toEqual(before);
      }
      // Neither code was used. The user may still take one.
      await redeem(server, link);
      await page.goto(`${server.url}/console/#pair=${pairing}`);
      await page.getByRole("button", { name: "Pair" }).click();
      await sessions.waitFor();
      expect(await keptTokens(page)).not.toEqual(before);
      expect(
        (await accessOf(server, mallory).listBrowserSessions({})).sessions,
      ).toHaveLength(2);
    });

    it("forgets its access wholly when it has ended", async () => {
      await using server = await serve();
      await using shown = await openConsole(browser, server, PHONE);
      const { page } = shown;
      await page.getByRole("heading", { name: "Sessions" }).waitFor();
      const access = accessOf(server, server.token);
      for (const { id } of (await access.listBrowserSessions({})).sessions) {
        await access.revokeBrowserSession({ id });
      }
      await page.getByLabel(/type the code/).waitFor();
      await expect.poll(() => keptTokens(page)).toEqual({});
    });

    it("tells each time that a session waits, with its address, and bears a browser that shows nothing", async () => {
      await using server = await serve();
      await ask(server, "write seen.txt x");
      await using shown = await openConsole(browser, server, PHONE);
      const { page } = shown;
      // A page that is left before it has redeemed its code has no access.
      await page.getByRole("heading", { name: "Sessions" }).waitFor();
      await page.addInitScript(NOTIFICATIONS_FAIL);
      await page.reload();
      await page.getByText("1 session waits for you").waitFor();
      await ask(server, "write told.txt x");
      await expect
        .poll(() => page.evaluate("told"), { timeout: 60_000 })
        .toEqual([
          expect.objectContaining({
            body: "write told.txt x",
            renotify: true,
            data: expect.stringMatching(/^#\/session\/./),
          }),
        ]);
      await page.evaluate(
        'void navigator.serviceWorker.dispatchEvent(new MessageEvent("message", { data: told[0].data }))',
      );
      await page.getByRole("heading", { name: "write told.txt x" }).waitFor();
      expect(shown.faults()).toEqual([]);
    });

    it("tells when a session begins to wait, while it is not looked at, and only then", async () => {
      await using server = await serve();
      await using shown = await openConsole(browser, server, {
        ...PHONE,
        permissions: ["notifications"],
      });
      const { page } = shown;
      await page.getByRole("heading", { name: "Sessions" }).waitFor();
      await ask(server, "write seen.txt x");
      await page.getByText("1 session waits for you").waitFor();
      await page.evaluate(
        'void Object.defineProperty(document, "visibilityState", { value: "hidden" })',
      );
      await ask(server, "write told.txt x");
      await expect
        .poll(() => notifications(page), { timeout: 60_000 })
        .toEqual(["1 session waits for you: write told.txt x"]);
      expect(await page.evaluate("caches.keys()")).toEqual([]);
      expect(shown.faults()).toEqual([]);
    });
  },
);

function serve(
  options: Partial<CodingServerOptions> = {},
): Promise<DevtoolServer> {
  return loadConsole().then((site) =>
    serveCodingAgent({ workspace: temporaryDirectory(), site, ...options }),
  );
}

async function deviceCode(
  server: DevtoolServer,
  token: string,
): Promise<string> {
  const kind = AccessCodeKind.DEVICE;
  return (await accessOf(server, token).createAccessCode({ kind })).code;
}

function redeem(server: DevtoolServer, code: string) {
  return accessOf(server, "").redeemAccessCode({ code });
}

/** Asks for a code as `devtool pair` does, with the server's authority. */
async function codeOverTls(
  { url, token }: DevtoolServer,
  authority: Authority,
): Promise<string> {
  const { request } = await import("node:https");
  const { text } = await import("node:stream/consumers");
  const ca = await authority.certificate();
  const sent = request(
    `${url}/devtool.v1alpha.BrowserAccessService/CreateAccessCode`,
    {
      ca,
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
      },
    },
  );
  sent.end('{"kind":"ACCESS_CODE_KIND_DEVICE"}');
  const answer = await new Promise<NodeJS.ReadableStream>((resolve, reject) => {
    sent.on("response", resolve).on("error", reject);
  });
  return JSON.parse(await text(answer)).code;
}

function phone(browser: Browser): Promise<BrowserContext> {
  return browser.newContext({ ...PHONE, ignoreHTTPSErrors: true });
}

async function openPage(
  context: BrowserContext,
  { url }: DevtoolServer,
): Promise<Page> {
  const page = await context.newPage();
  await page.goto(`${url}/console/`);
  return page;
}

/** A page that is not looked at, in a browser whose notifications fail. */
const NOTIFICATIONS_FAIL = `
  globalThis.told = [];
  const fix = (object, name, value) =>
    Object.defineProperty(object, name, { value });
  fix(document, "visibilityState", "hidden");
  fix(Notification, "permission", "granted");
  fix(navigator.serviceWorker, "ready", Promise.resolve());
  fix(navigator.serviceWorker, "register", async () => ({
    async showNotification(_title, options) {
      told.push(options);
      throw new TypeError("no notifications here");
    },
  }));
`;

/** Returns what the tab and the device keep. */
function keptTokens(page: Page): Promise<unknown> {
  return page.evaluate("({ ...localStorage, ...sessionStorage })");
}

async function ask(server: DevtoolServer, prompt: string): Promise<void> {
  const message = textMessage(crypto.randomUUID(), prompt);
  await clientOf(server).tasks.sendMessage({ message });
}

/** Returns what the notifications that are shown say. */
function notifications(page: Page): Promise<unknown> {
  return page.evaluate(`(async () => {
    const worker = await navigator.serviceWorker.getRegistration();
    const shown = (await worker?.getNotifications()) ?? [];
    return shown.map(({ title, body }) => title + ": " + body);
  })()`);
}

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { serveCodingAgent } from "@devtool/coding-agent";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import type { DevtoolServer } from "@devtool/server";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LEFT_TO_CI, variantsOf } from "../depth.ts";
import {
  bundle,
  CHROMIUM,
  launch,
  type Site,
  serveSite,
} from "../outer/browser.ts";
import type { Visit } from "../outer/page.ts";
import type { Played } from "../outer/play.ts";

const PROTOCOLS = [
  "connect",
  "grpc-web",
  "1.0 JSONRPC",
  "1.0 HTTP+JSON",
  "0.3 JSONRPC",
  "0.3 HTTP+JSON",
];
const MOST_PROTOCOLS = variantsOf("protocols in a browser", PROTOCOLS, 3);
const FEW_PROTOCOLS = variantsOf("protocols that refuse", PROTOCOLS, 2);

describe.skipIf(LEFT_TO_CI !== "" || CHROMIUM === undefined)(
  `a web page in Chromium (S5)${LEFT_TO_CI}`,
  () => {
    let workspace: string;
    let server: DevtoolServer;
    let browser: Browser;
    let listed: Site;
    let unlisted: Site;

    beforeAll(async () => {
      workspace = temporaryDirectory();
      const script = await bundle("page.ts");
      [listed, unlisted] = [await serveSite(script), await serveSite(script)];
      server = await serveCodingAgent({
        workspace,
        allowedOrigins: [listed.origin],
      });
      browser = await launch();
    });
    afterAll(async () => {
      await browser?.close();
      await server?.close();
      await listed?.[Symbol.asyncDispose]();
      await unlisted?.[Symbol.asyncDispose]();
    });

    it.each(MOST_PROTOCOLS)(
      "works with an agent over %s, when its origin is listed",
      async (protocol) => {
        const file = `${protocol.replaceAll(/\W/g, "-")}.txt`;
        const played = await visit(listed, { protocol, file });
        expect(played).toEqual({
          asked: ["write_file"],
          said: "done",
          state: "COMPLETED",
        });
        expect(fileText(workspace, file)).toBe("hello");
      },
    );

    it.each(FEW_PROTOCOLS)(
      "reaches nothing over %s when its origin is not listed (sabotage)",
      async (protocol) => {
        const file = "unlisted.txt";
        await visitUntil(
          unlisted,
          { protocol, file },
          `from origin '${unlisted.origin}' has been blocked by CORS policy`,
        );
        await expect(readFile(join(workspace, file))).rejects.toThrow("ENOENT");
      },
    );

    it("U9: is told that its origin may be refused, over A2A", async () => {
      expect(
        await visit(unlisted, { protocol: "1.0 JSONRPC", file: "x.txt" }),
      ).toContain(
        `the connection was lost, or the server refuses the origin "${unlisted.origin}"`,
      );
    });

    it.each(FEW_PROTOCOLS)(
      "is told over %s that its token is wrong",
      async (protocol) => {
        expect(
          await visit(listed, { protocol, file: "x.txt", token: "wrong" }),
        ).toMatch(/\[unauthenticated\]/);
      },
    );

    type Way = Pick<Visit, "protocol" | "file"> & Partial<Visit>;

    async function visit(site: Site, to: Way): Promise<Played | string> {
      await using page = await browser.newPage();
      await page.goto(site.origin);
      return await page.evaluate(script(to));
    }

    /**
     * Visits a page until it says something in the console; it must not be done
     * before.
     */
    async function visitUntil(
      site: Site,
      to: Way,
      said: string,
    ): Promise<void> {
      await using page = await browser.newPage();
      const waiting = page.waitForEvent("console", (message) =>
        message.text().includes(said),
      );
      await page.goto(site.origin);
      const played: Promise<unknown> = page.evaluate(script(to)).catch(String);
      expect(await Promise.race([waiting, played])).not.toHaveProperty("state");
      await waiting;
    }

    function script(to: Way): string {
      return `visit(${JSON.stringify({ url: server.url, token: server.token, ...to })})`;
    }
  },
);

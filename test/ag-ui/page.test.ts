import { readFile } from "node:fs/promises";
import { serveCodingAgent } from "@devtool/coding-agent";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { describe, expect, it } from "vitest";
import { LEFT_TO_CI } from "../depth.ts";
import { bundle, CHROMIUM, launch, serveFiles } from "../outer/browser.ts";

describe.skipIf(LEFT_TO_CI !== "" || CHROMIUM === undefined)(
  `examples/ag-ui in Chromium (skipped without Chromium)${LEFT_TO_CI}`,
  () => {
    it("asks before a file is written, and opens the thread again", {
      timeout: 120_000,
    }, async () => {
      const html = await readFile(
        new URL("../../examples/ag-ui/index.html", import.meta.url),
        "utf8",
      );
      await using site = await serveFiles({
        "/": { type: "text/html", text: html },
        "/page.js": {
          type: "text/javascript",
          text: await bundle("../../examples/ag-ui/page.tsx"),
        },
      });
      const workspace = temporaryDirectory();
      await using server = await serveCodingAgent({
        workspace,
        allowedOrigins: [site.origin],
      });
      await using browser = await launch();
      const page = await browser.newPage();
      await page.goto(
        `${site.origin}/#url=${server.url}&token=${server.token}`,
      );
      await page.fill(
        "textarea",
        "think\nwrite page.txt From a page\ntext Written.",
      );
      await page.click("text=Send");
      await page.waitForSelector("button:has-text('Allow once')");

      await page.reload();
      await page.waitForSelector("p.reasoning");
      await page.click("button:has-text('Allow once')");
      await page.waitForSelector("p.assistant:has-text('Written.')");
      expect(fileText(workspace, "page.txt")).toBe("From a page");
    });
  },
);

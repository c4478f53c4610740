import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { describe, expect, it } from "vitest";
import { MAIN } from "../our-command.ts";

/** Writes the name of each file that the program loads into a file. */
const HOOK = `
import { registerHooks } from "node:module";
import { appendFileSync } from "node:fs";
registerHooks({
  load(url, context, next) {
    if (url.startsWith("file:")) appendFileSync(process.env.LOADED, url + "\\n");
    return next(url, context);
  },
});
`;

describe("a command that talks to a server", () => {
  it("loads nothing of the server itself", async () => {
    const directory = temporaryDirectory();
    const server = await serveCodingAgent({
      workspace: directory,
      sandbox: "none",
    });
    try {
      const [hook, loaded] = [
        join(directory, "hook.mjs"),
        join(directory, "loaded.txt"),
      ];
      writeFileSync(hook, HOOK);
      const args = [
        "--import",
        hook,
        MAIN,
        "tasks",
        "--url",
        server.url,
        "--token",
        server.token,
      ];
      const env = {
        PATH: process.env.PATH,
        LOADED: loaded,
        DEVTOOL_DATA: join(directory, "data"),
      };
      await promisify(execFile)(process.execPath, args, { env });
      const files = readFileSync(loaded, "utf8")
        .trim()
        .split("\n")
        .map((url) => fileURLToPath(url));
      expect(files).toContain(MAIN);
      const texts = files
        .filter((path) => path !== hook)
        .map((path) => readFileSync(path, "utf8"));
      expect(
        texts.filter((text) => text.includes("CREATE TABLE")),
      ).toHaveLength(0);
    } finally {
      await server.close();
    }
  });
});

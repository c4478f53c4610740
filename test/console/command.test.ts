import { execFile } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Code, ConnectError } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { BrowserAccessService } from "@devtool/schema";
import {
  afterAll,
  beforeAll,
  describe,
  expect,
  it,
  onTestFinished,
} from "vitest";
import {
  type ServerProcess,
  startServing,
} from "../durability/crash/server-process.ts";
import { MAIN } from "../our-command.ts";
import { CHROMIUM, launch } from "../outer/browser.ts";
import { openConsole } from "./console-page.ts";

const ADDRESS = /http:\/\/127\.0\.0\.1:\d+\/console\/#code=([\w-]{43})/;

describe("devtool console", () => {
  let base: string;
  let flags: readonly string[];
  let server: ServerProcess;

  beforeAll(async () => {
    base = temporaryDirectory();
    await mkdir(join(base, "work"));
    flags = ["--data", join(base, "data"), "--workspace", join(base, "work")];
    server = await startServing(flags);
  });
  afterAll(() => server?.stop());

  it("prints an address with a code", async () => {
    expect(await devtool("console", "--no-open")).toMatch(ADDRESS);
  });

  it("opens a file that only its user can read: the code is in no argument of a program", async () => {
    const program = join(base, "browser");
    const seen = join(base, "seen");
    await writeFile(
      program,
      `#!/bin/sh\nprintf '%s\\n' "$@" > ${seen}.new && mv ${seen}.new ${seen}\n`,
    );
    await chmod(program, 0o700);
    await promisify(execFile)(
      process.execPath,
      [MAIN, "console", "--data", join(base, "data")],
      {
        env: { ...process.env, BROWSER: program },
      },
    );
    await expect
      .poll(() => readFile(seen, "utf8").catch(String))
      .toMatch(/^file:\/\/.*open-console\.html\n$/);
    const file = fileURLToPath((await readFile(seen, "utf8")).trim());
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readFile(file, "utf8")).toMatch(ADDRESS);
  });

  it("lists the browsers that are let in, and ends one", async () => {
    const [, code = ""] =
      ADDRESS.exec(
        await devtool("console", "--no-open", "--label", "kitchen"),
      ) ?? [];
    const { url } = server.info;
    const redeemed = await fetch(
      `${url}/devtool.v1alpha.BrowserAccessService/RedeemAccessCode`,
      {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ code }),
      },
    );
    expect(redeemed.status).toBe(200);
    const [id = ""] =
      /^\w+(?=.*kitchen$)/m.exec(await devtool("console", "--list")) ?? [];
    expect(id).not.toBe("");
    expect(await devtool("console", "--revoke", id)).toBe(
      `browser session "${id}" has no access any more\n`,
    );
    expect(await devtool("console", "--list")).not.toContain(id);
    await expect(devtool("console", "--revoke", id)).rejects.toThrow(
      `browser session "${id}" does not exist: list them with "devtool console --list"`,
    );
  });

  it("says when no browser has access", async () => {
    const list = [MAIN, "console", "--list", "--data", join(base, "data")];
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      list,
    );
    expect([stdout, stderr]).toEqual(["", "no browser has access\n"]);
  });

  it("says that the server has no console", async () => {
    const data = join(base, "plain");
    const plain = await startServing([
      "--data",
      data,
      "--workspace",
      join(base, "work"),
      "--no-console",
    ]);
    onTestFinished(() => plain.kill());
    expect((await fetch(`${plain.info.url}/console/`)).status).toBe(401);
    const args = [MAIN, "console", "--no-open", "--data", data];
    await expect(promisify(execFile)(process.execPath, args)).rejects.toThrow(
      "the server has no console",
    );
    await plain.stop();
  });

  it("shows the words of a hostile server as text, and opens no other address for them", async () => {
    const words = "\u001b]0;owned\u0007\u001b[2J\u202eevil\nforged  since";
    const hostile = createServer(
      connectNodeAdapter({
        routes: (router) =>
          router.service(BrowserAccessService, {
            createAccessCode: () => ({
              code: `x"><script src=//evil.example></script>${words}`,
            }),
            listBrowserSessions: () => ({
              sessions: [{ id: words, label: words }],
            }),
            revokeBrowserSession: () =>
              Promise.reject(new ConnectError(words, Code.NotFound)),
          }),
      }),
    );
    hostile.listen(0, "127.0.0.1");
    await once(hostile, "listening");
    const data = join(base, "hostile");
    const url = `http://127.0.0.1:${portOf(hostile)}`;
    const env = { ...process.env, BROWSER: "/bin/true" };
    const outputs = [["--list"], ["--revoke", "x"], ["--no-open"], []].map(
      async (args) => {
        const flags = [
          "console",
          ...args,
          "--url",
          url,
          "--token",
          "t",
          "--data",
          data,
        ];
        const run = promisify(execFile)(process.execPath, [MAIN, ...flags], {
          env,
        });
        const { stdout, stderr } = await run.catch(
          (failed: { stdout: string; stderr: string }) => failed,
        );
        return `${stdout}${stderr}`;
      },
    );
    for (const output of await Promise.all(outputs)) {
      expect(output).toMatch(/evil/);
      // The gutter in front of further lines of an error is our own.
      expect(output).not.toMatch(/[^\x20-\x7e\n│]/);
      expect(output).not.toMatch(/^forged/m);
    }
    expect(fileText(data, "open-console.html")).toMatch(
      new RegExp(
        `^<!doctype html><meta http-equiv="refresh" content="0;url=${url}/console/#code=[\\w%.()'*!~-]+">\n$`,
      ),
    );
    hostile.close();
  });

  describe.skipIf(CHROMIUM === undefined)(
    "in Chromium (skipped without Chromium)",
    () => {
      it("goes on after kill -9: start, prompt, approve with an edit, kill, restart, answer", async () => {
        const { url, token } = server.info;
        await using browser = await launch();
        await using opened = await openConsole(browser, { url, token });
        const { page } = opened;
        await page.getByRole("link", { name: "New session" }).click();
        await page
          .getByLabel("Message")
          .fill(
            "write one.txt first\nwrite two.txt second\ntext Both are there.",
          );
        await page.getByRole("button", { name: "Send" }).click();
        const first = page.getByRole("region", { name: "Create one.txt" });
        await first.getByRole("button", { name: "Edit" }).click();
        await first.getByLabel("New content of the file").fill("edited");
        const allow = first.getByRole("button", {
          name: "Allow once (with your changes)",
        });
        // The page takes no click in a moment in which it draws the question
        // again. Once it took one, the button takes no other.
        const isAnswered = async (): Promise<boolean> => {
          await allow.click({ timeout: 2_000 }).catch(() => undefined);
          return (await first.count()) === 0;
        };
        await expect.poll(isAnswered).toBe(true);
        // A kill while the call runs would end the turn.
        await page.getByRole("region", { name: "Create two.txt" }).waitFor();
        await server.kill();
        await page.getByText("Connection lost").first().waitFor();
        server = await startServing([...flags, "--port", new URL(url).port]);
        await page
          .getByText("Connection lost")
          .first()
          .waitFor({ state: "hidden" });
        await page.getByRole("button", { name: "Allow once" }).click();
        await page.locator(".prose", { hasText: "Both are there." }).waitFor();
        expect(fileText(base, "work/one.txt")).toBe("edited");
        expect(fileText(base, "work/two.txt")).toBe("second");
        expect(opened.faults()).toEqual([]);
      });
    },
  );

  async function devtool(...args: readonly string[]): Promise<string> {
    const { stdout } = await promisify(execFile)(process.execPath, [
      MAIN,
      ...args,
      "--data",
      join(base, "data"),
    ]);
    return stdout;
  }
});

function portOf(server: Server): number {
  const address: AddressInfo | string | null = server.address();
  return typeof address === "object" && address
    ? address.port
    : expect.unreachable();
}

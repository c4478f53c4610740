import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LEFT_TO_CI } from "../depth.ts";
import { MAIN } from "../our-command.ts";
import { type ServerProcess, startServing } from "./crash/server-process.ts";

describe("processes of the command on one data directory", () => {
  let base: string;
  let place: readonly string[];
  const servers: ServerProcess[] = [];
  beforeEach(() => {
    base = temporaryDirectory();
    place = ["--data", join(base, "data"), "--workspace", join(base, "work")];
  });
  afterEach(async () => {
    for (const server of servers.splice(0)) await server.kill();
  });

  it("serve once, however many start at the same time, and the others say why not", async () => {
    const starts = await Promise.allSettled(
      Array.from({ length: 4 }, () => startServing(place)),
    );
    for (const start of starts) {
      if (start.status === "fulfilled") servers.push(start.value);
    }
    const reasons = starts.flatMap((start) =>
      start.status === "rejected" ? [String(start.reason)] : [],
    );
    expect(reasons).toEqual(
      Array(3).fill(
        expect.stringMatching(
          /^Error: the server ended with 1 before it was ready: .* is in use/,
        ),
      ),
    );
    const { info } = servers[0] ?? expect.fail("no server started");
    expect(JSON.parse(await kept("server.json"))).toMatchObject({
      pid: info.pid,
      url: info.url,
      token: info.token,
    });
    expect(JSON.parse(await kept("token.json"))).toMatchObject({
      token: info.token,
    });
  });

  it("do not touch the running server, its files and its tasks", async () => {
    const first = await startServing(place);
    servers.push(first);
    const before = [await kept("server.json"), await kept("token.json")];
    const second = await run("serve", "--port", "0", ...place);
    expect([second.code, second.err]).toEqual([
      1,
      expect.stringContaining("is in use by another server"),
    ]);
    expect(
      (await run("serve", "--port", "0", "--rotate-token", ...place)).code,
    ).toBe(1);
    expect([await kept("server.json"), await kept("token.json")]).toEqual(
      before,
    );
    const job = await run("run", ...place, "text Still here.");
    expect([job.code, job.out]).toEqual([
      0,
      expect.stringContaining("Still here."),
    ]);
  });

  it.skipIf(LEFT_TO_CI !== "")(
    `do jobs at the same time, without a server, each with a log of its own${LEFT_TO_CI}`,
    async () => {
      const jobs = ["One.", "Two.", "Three."].map((text) =>
        run("run", ...place, `text ${text}`),
      );
      expect(
        (await Promise.all(jobs)).map(({ code, out }) => [code, out.trim()]),
      ).toEqual([
        [0, "One."],
        [0, "Two."],
        [0, "Three."],
      ]);
      const logs = (await readdir(join(base, "data/jobs"))).filter((name) =>
        name.endsWith(".db"),
      );
      expect(logs).toHaveLength(3);
    },
  );

  function kept(name: string): Promise<string> {
    return readFile(join(base, "data", name), "utf8");
  }

  /** Runs the built command to its end. */
  async function run(
    ...words: readonly string[]
  ): Promise<{ code: unknown; out: string; err: string }> {
    const child = spawn(process.execPath, [MAIN, ...words], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    const said = { out: "", err: "" };
    child.stdout.on("data", (chunk) => (said.out += chunk));
    child.stderr.on("data", (chunk) => (said.err += chunk));
    const [code] = await once(child, "close");
    return { code, ...said };
  }
});

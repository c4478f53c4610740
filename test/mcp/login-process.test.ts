import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { expect, it } from "vitest";
import { MAIN } from "../our-command.ts";
import { agree } from "./protected-server.ts";

const ISSUER = fileURLToPath(
  new URL("protected-server-process.ts", import.meta.url),
);

it("devtool mcp login gets tokens of an issuer in another process, and checks who answers", async () => {
  const data = temporaryDirectory();
  const other = spawn(process.execPath, [ISSUER], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  try {
    const [line] = await once(createInterface(other.stdout), "line");
    const { url, issuer } = JSON.parse(String(line));
    const server = `[[mcp_servers]]\nname = "tickets"\nhttp = { url = "${url}" }\n`;
    putFile(data, "config.toml", server);
    const forged = await devtool(data, LOGIN, async (page) => {
      const answer = await agree(page, issuer);
      answer.searchParams.set("iss", "https://evil.example");
      await fetch(answer);
    });
    expect(forged.code, forged.said).toBe(1);
    expect(forged.said).toContain("Issuer mismatch");
    const login = await devtool(data, LOGIN, async (page) => {
      const { searchParams } = new URL(page);
      expect(searchParams.get("code_challenge_method")).toBe("S256");
      expect(searchParams.get("resource")).toBe(url);
      await fetch(await agree(page, issuer));
    });
    expect(login.code, login.said).toBe(0);
    const directory = join(data, "mcp-logins");
    const [name = "", ...others] = readdirSync(directory);
    expect(others).toEqual([]);
    expect(statSync(join(directory, name)).mode & 0o777).toBe(0o600);
    const kept = readFileSync(join(directory, name), "utf8");
    expect(kept).toContain(`"${issuer}"`);
    const call = ["run", "--approve", "all", "call mcp__tickets__count {}"];
    expect((await devtool(data, call)).said).toContain("41 tickets");
  } finally {
    other.stdin.end();
  }
});

const LOGIN = ["mcp", "login", "tickets", "--no-open"];

/** Runs the command; `visit` goes to the page that it names. */
async function devtool(
  data: string,
  args: readonly string[],
  visit?: (page: string) => Promise<void>,
): Promise<{ readonly code: unknown; readonly said: string }> {
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd: temporaryDirectory(),
    env: { PATH: process.env.PATH, NO_COLOR: "1", DEVTOOL_DATA: data },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "close");
  let said = "";
  let visited: Promise<void> | undefined;
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      said += chunk;
      const page = /^ {2}(http\S+)\n/m.exec(said)?.[1];
      if (page !== undefined) visited ??= visit?.(page);
    });
  }
  const [code] = await ended;
  await visited;
  return { code, said };
}

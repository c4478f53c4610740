import { execFile } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type ServerProcess,
  startServing,
} from "../durability/crash/server-process.ts";
import { MAIN } from "../our-command.ts";
import { accessOf, clientOf } from "./console-page.ts";
import { readPrintedCode } from "./printed-code.ts";

const PUBLIC = "https://devtool.example:8443/port";

describe("devtool pair", () => {
  let base: string;
  let near: ServerProcess;
  let far: ServerProcess;

  beforeAll(async () => {
    base = temporaryDirectory();
    await mkdir(join(base, "work"));
    [near, far] = await Promise.all([
      startServing([
        "--data",
        join(base, "near"),
        "--workspace",
        join(base, "work"),
      ]),
      startServing([
        "--data",
        join(base, "far"),
        "--workspace",
        join(base, "work"),
        "--public-url",
        PUBLIC,
        "--tls-ended-by-proxy",
      ]),
    ]);
  });
  afterAll(() => Promise.all([near?.stop(), far?.stop()]));

  it("gives no code for a server on loopback, but says what that server needs", async () => {
    const { code, stdout, stderr } = await devtool("near").catch(
      (reason: unknown) => Object(reason),
    );
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toBe(
      `a phone cannot open ${near.info.url}: the server needs
  - an address that other machines reach (--host, or --public-url of a proxy)
  - a certificate ([tls] in config.toml, or that of a proxy)
  - a token of its own (--token-file)
`,
    );
  });

  it("leads to the public address, and lets in the phone that reads the picture or gets the letters, once, with a session of its own", async () => {
    const { stdout: printed } = await devtool("far");
    const { origin, pathname, hash } = new URL(readPrintedCode(printed) ?? "");
    expect(`${origin}${pathname}`).toBe(`${PUBLIC}/console/`);
    const code = new URLSearchParams(hash.slice(1)).get("pair") ?? "";
    expect(code).toMatch(/^[0-9A-Z]{5}-[0-9A-Z]{5}$/);
    expect(printed).toContain(`\n  ${code}\n`);
    const { token, session } = await accessOf(far.info, "").redeemAccessCode({
      code,
    });
    expect(session?.label).toBe("phone");
    await clientOf({ ...far.info, token }).tasks.listTasks({});
    await expect(
      accessOf(far.info, "").redeemAccessCode({ code }),
    ).rejects.toThrow();
  });

  it("has nothing of the operator's token, nor has what is printed beside it", async () => {
    const { stdout: printed } = await devtool("far");
    const file = fileText(base, "far/server.json");
    expect(file).toContain(far.info.token);
    for (const text of [printed, readPrintedCode(printed) ?? ""]) {
      expect(text).not.toBe("");
      expect(text).not.toContain(far.info.token);
    }
  });

  function devtool(data: "near" | "far") {
    const args = [MAIN, "pair", "--data", join(base, data)];
    return promisify(execFile)(process.execPath, args);
  }
});

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { keyFile, SigningKeys } from "@devtool/server/operator";
import { decodeProtectedHeader } from "jose";
import { beforeEach, describe, expect, it } from "vitest";
import { runCommand } from "../testing/run-command.ts";

const HOUR_MS = 3_600_000;

describe("devtool keys", () => {
  let data: string;
  beforeEach(() => {
    data = temporaryDirectory();
  });

  it("says that there are none before a server signs", async () => {
    const { out, err, code } = await keys("list");
    expect([out, err, code]).toEqual([
      "",
      "there are no keys: a server makes one when it signs\n",
      0,
    ]);
  });

  it("makes the next key, which a server that runs publishes at once and signs with after a day, and keeps the one before as long as its signatures are verified", async () => {
    let now = Date.now() - 5 * 24 * HOUR_MS;
    const server = new SigningKeys({
      storage: keyFile(join(data, "signing-keys.json")),
      now: () => now,
    });
    const signer = async () => decodeProtectedHeader(await server.sign({})).kid;
    const old = await signer();
    expect((await keys("list")).out).toMatch(
      new RegExp(`^${old}  made \\S+Z  signs\n$`),
    );
    const rotated = await keys("rotate");
    expect(rotated.out).toMatch(
      new RegExp(
        `^${old}  made \\S+Z  signs until \\S+Z\n\\S{43}  made \\S+Z  signs from \\S+Z\n$`,
      ),
    );
    const [, next = ""] = rotated.out.trim().split("\n");
    const [id = ""] = next.split(" ");
    const published = async () =>
      (await server.publicKeys()).keys.map(({ kid }) => kid);
    now = Date.now() + 60_000;
    expect([await published(), await signer()]).toEqual([[old, id], old]);
    now = Date.now() + 25 * HOUR_MS;
    expect([await published(), await signer()]).toEqual([[old, id], id]);
    now = Date.now() + 49 * HOUR_MS;
    expect([await published(), await signer()]).toEqual([[id], id]);
  });

  it("makes no further key while the newest does not sign yet", async () => {
    await keys("rotate");
    const first = await readFile(join(data, "signing-keys.json"), "utf8");
    // The first key signs at once, since nobody knows another.
    expect((await keys("rotate")).code).toBe(0);
    const { err, code } = await keys("rotate");
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(/key "\S{43}" is new already: wait until it signs/),
    ]);
    expect(first).not.toContain("PRIVATE");
  });

  it("revokes a key at once, and another or a new one signs, whatever a server that runs knew", async () => {
    let now = Date.now() - 40 * 24 * HOUR_MS;
    const server = new SigningKeys({
      storage: keyFile(join(data, "signing-keys.json")),
      now: () => now,
    });
    const signer = async () => decodeProtectedHeader(await server.sign({})).kid;
    const published = async () =>
      (await server.publicKeys()).keys.map(({ kid }) => kid);
    const stolen = (await signer()) ?? "";
    // The server has not read the file again when the next key is due.
    now += 30 * 24 * HOUR_MS - 1000;
    expect(await published()).toContain(stolen);
    const { code, out, err } = await keys("revoke", stolen);
    expect([code, err, out.includes(stolen)]).toEqual([0, "", false]);
    now += 61_000;
    expect(await published()).not.toContain(stolen);
    const next = (await signer()) ?? "";
    expect(next).not.toBe(stolen);
    // The last one makes room for a new one, and a stale server cannot bring it
    // back when it rotates.
    await keys("revoke", next);
    for (const { keyId } of await new SigningKeys({
      storage: keyFile(join(data, "signing-keys.json")),
      now: () => now,
    }).list()) {
      expect([stolen, next]).not.toContain(keyId);
    }
    now += 31 * 24 * HOUR_MS;
    expect(await published()).not.toContain(next);
    expect(await keys("revoke", next)).toMatchObject({
      code: 1,
      err: expect.stringContaining(`key "${next}" is not published`),
    });
  });

  it("keeps a key revoked when a server rotates what it read before", async () => {
    const storage = keyFile(join(data, "signing-keys.json"));
    let now = Date.now() - 29 * 24 * HOUR_MS - 1000;
    const server = new SigningKeys({ storage, now: () => now });
    const first = await server.publicKeys();
    const [{ kid: stolen = "" } = {}] = first.keys;
    const stale = await storage.read();
    await keys("revoke", stolen);
    expect(await storage.replace(stale.keys, stale.version)).toBe(false);
    // Within the minute in which it does not read the file, the next key is due.
    now += 30_000;
    now += 29 * 24 * HOUR_MS;
    const after = (await server.publicKeys()).keys.map(({ kid }) => kid);
    expect(after).not.toContain(stolen);
  });

  it("shows nothing secret, and refuses a damaged file", async () => {
    await keys("rotate");
    const { privateKey } = JSON.parse(
      await readFile(join(data, "signing-keys.json"), "utf8"),
    ).keys[0];
    expect((await keys("list")).out).not.toContain(privateKey);
    await writeFile(join(data, "signing-keys.json"), "{");
    expect(await keys("list")).toMatchObject({
      code: 1,
      err: expect.stringContaining("cannot be used"),
    });
  });

  const keys = (command: string, ...args: string[]) =>
    runCommand(["keys", command, ...args, "--data", data]);
});

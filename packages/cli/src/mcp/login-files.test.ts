import {
  mkdirSync,
  readdirSync,
  readFileSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeEach, describe, expect, it } from "vitest";
import { loginStore } from "./login-files.ts";

const URL_OF_SERVER = "https://mcp.invalid/";

describe("the lock of a login", () => {
  let data: string;
  let directory: string;
  beforeEach(() => {
    data = temporaryDirectory();
    directory = join(data, "mcp-logins");
  });

  const lockPath = (): string => {
    const [name] = readdirSync(directory);
    return join(directory, name ?? "");
  };

  it("is held by one at a time, and leaves no file", async () => {
    const store = loginStore(data);
    const order: string[] = [];
    const hold = async (name: string) => {
      await using _lock = await store.lock(URL_OF_SERVER);
      order.push(`${name} begins`);
      await new Promise((resolve) => setImmediate(resolve));
      order.push(`${name} ends`);
    };
    await Promise.all([hold("a"), hold("b"), hold("c")]);
    const pairs = order.map((entry) => entry.split(" ")[0]);
    expect(pairs).toHaveLength(6);
    for (let at = 0; at < 6; at += 2) expect(pairs[at]).toBe(pairs[at + 1]);
    expect(readdirSync(directory)).toEqual([]);
  });

  it("that a crash left is taken over, and its holder removes no other", async () => {
    const store = loginStore(data);
    const slow = await store.lock(URL_OF_SERVER);
    const path = lockPath();
    const longAgo = new Date(Date.now() - 61_000);
    utimesSync(path, longAgo, longAgo);
    const taken = await store.lock(URL_OF_SERVER);
    const token = readFileSync(path, "utf8");
    await slow[Symbol.asyncDispose]();
    expect(readFileSync(path, "utf8")).toBe(token);
    await taken[Symbol.asyncDispose]();
    expect(readdirSync(directory)).toEqual([]);
  });

  it("that is empty, as a crash leaves it, is taken over too", async () => {
    const store = loginStore(data);
    await (await store.lock(URL_OF_SERVER))[Symbol.asyncDispose]();
    const held = await store.lock(URL_OF_SERVER);
    const path = lockPath();
    await held[Symbol.asyncDispose]();
    mkdirSync(directory, { recursive: true });
    writeFileSync(path, "");
    const longAgo = new Date(Date.now() - 61_000);
    utimesSync(path, longAgo, longAgo);
    await (await store.lock(URL_OF_SERVER))[Symbol.asyncDispose]();
    expect(readdirSync(directory)).toEqual([]);
  });
});

import {
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { ServerInfoSchema } from "@devtool/schema/operator";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  discoveryPath,
  readDiscovery,
  removeDiscovery,
  writeDiscovery,
} from "./discovery.ts";

describe("the discovery file (S6)", () => {
  let directory: string;
  const info = create(ServerInfoSchema, {
    url: "http://127.0.0.1:1",
    token: "secret",
    pid: process.pid,
  });

  beforeEach(() => {
    directory = temporaryDirectory();
    process.umask(0);
  });
  afterEach(() => process.umask(0o022));

  it("can be read by nobody else, whatever the umask", async () => {
    await writeDiscovery(directory, info);
    expect((await stat(discoveryPath(directory))).mode & 0o777).toBe(0o600);
    expect(await readDiscovery(directory)).toEqual(info);
  });

  it("can be read by nobody else at any moment while it is written again and again", async () => {
    let polls = 0;
    let open = 0;
    let writing = true;
    const poll = async (): Promise<void> => {
      while (writing) {
        for (const name of await readdir(directory)) {
          const mode =
            (await stat(join(directory, name)).catch(() => undefined))?.mode ??
            0;
          if ((mode & 0o077) !== 0) open++;
          polls++;
        }
      }
    };
    const polling = poll();
    for (let index = 0; index < 300 || polls <= 300; index++) {
      await writeDiscovery(directory, info);
    }
    writing = false;
    await polling;
    expect(open).toBe(0);
  });

  it("replaces a link that lies in its place, and does not write through it", async () => {
    const victim = join(directory, "victim");
    await writeFile(victim, "untouched");
    await symlink(victim, discoveryPath(directory));
    await writeDiscovery(directory, info);
    expect(await readFile(victim, "utf8")).toBe("untouched");
    expect((await stat(discoveryPath(directory))).mode & 0o777).toBe(0o600);
  });

  it("says what is wrong when others can read it, when it is damaged and when it is a link", async () => {
    const path = discoveryPath(directory);
    await writeFile(path, "{}", { mode: 0o644 });
    await expect(readDiscovery(directory)).rejects.toThrow(
      `is open to other users: chmod 600 ${path}`,
    );
    await rm(path);
    await writeFile(path, '{"url": "http://127.0', { mode: 0o600 });
    await expect(readDiscovery(directory)).rejects.toThrow(
      `${path} is damaged: remove it, then start the server again`,
    );
    // What a server writes when it ends is in its way no more.
    await removeDiscovery(directory, process.pid);
    await rm(path);
    await symlink(join(directory, "elsewhere"), path);
    await expect(readDiscovery(directory)).rejects.toThrow(
      "it is a link, remove it",
    );
  });

  it("is not believed when its server is gone", async () => {
    await writeDiscovery(directory, { ...info, pid: 2 ** 22 + 1 });
    expect(await readDiscovery(directory)).toBeUndefined();
  });

  it("is removed by its own server only", async () => {
    await writeDiscovery(directory, info);
    await removeDiscovery(directory, process.pid + 1);
    expect(await readDiscovery(directory)).toBeDefined();
    await removeDiscovery(directory, process.pid);
    expect(await readDiscovery(directory)).toBeUndefined();
  });
});

import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { serveCodingAgent } from "@devtool/coding-agent";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import type { Part } from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createClient } from "../connection/connection.ts";
import { runCommand } from "../testing/run-command.ts";

/** As large as the images of a message may be together. */
const LARGEST = 2.5 * 1024 * 1024;

describe("the images of devtool run", () => {
  let server: DevtoolServer;
  let workspace: string;

  beforeAll(async () => {
    workspace = temporaryDirectory();
    server = await serveCodingAgent({ workspace, sandbox: "none" });
    putFile(workspace, "one.png", Buffer.alloc(LARGEST - 3, 1));
    putFile(workspace, "two.JPG", Buffer.from([1, 2, 3]));
    putFile(workspace, "three.webp", Buffer.from([4]));
    putFile(workspace, "notes.txt", "notes");
    // As a repository can have it: reading it to its end takes 2 GiB.
    await symlink("/dev/zero", join(workspace, "logo.png"));
    await mkdir(join(workspace, "folder.png"));
  });
  afterAll(() => server.close());

  it.each(["connect", "grpc", "a2a"])(
    "are sent behind the prompt, as large as they may be, over %s",
    async (protocol) => {
      const { code, err } = await run(
        "--protocol",
        protocol,
        ...images("one.png", "two.JPG"),
      );
      expect([code, err]).toEqual([0, expect.stringMatching(/^task \S+\n$/)]);
      expect((await lastParts()).map(described)).toEqual([
        ["text", "text Seen."],
        ["one.png", "image/png", LARGEST - 3],
        ["two.JPG", "image/jpeg", 3],
      ]);
    },
  );

  it.each([
    [
      "that are too large together",
      ["one.png", "two.JPG", "three.webp"],
      "the images are 2621441 bytes in total: limit is",
      1,
    ],
    [
      "that are missing",
      ["missing.png"],
      'missing.png" cannot be read: ENOENT',
      1,
    ],
    ["that are no files", ["logo.png"], 'logo.png" is not a regular file', 1],
    [
      "that are directories",
      ["folder.png"],
      'folder.png" is not a regular file',
      1,
    ],
    ["that are text", ["notes.txt"], "give a .png, .jpg, .gif or .webp", 2],
  ])(
    "are refused when there are some %s",
    async (_what, names, problem, status) => {
      const { code, err } = await run(...images(...names));
      expect(err).toContain(problem);
      expect(code).toBe(status);
    },
  );

  function images(...names: readonly string[]): string[] {
    return names.flatMap((name) => ["--image", join(workspace, name)]);
  }

  function run(...flags: readonly string[]) {
    return runCommand([
      "run",
      "--url",
      server.url,
      "--token",
      server.token,
      ...flags,
      "text Seen.",
    ]);
  }

  /** Returns the parts of the first message of the task that changed last. */
  async function lastParts(): Promise<readonly Part[]> {
    const { tasks } = await createClient(server, "connect");
    const [newest] = (await tasks.listTasks({ pageSize: 1 })).tasks;
    return (
      (await tasks.getTask({ taskId: newest?.id ?? "" })).task?.history[0]
        ?.parts ?? []
    );
  }
});

function described({ content }: Part): unknown[] {
  if (content.case !== "file") return [content.case, content.value];
  const { name, mediaType, source } = content.value;
  return [
    name,
    mediaType,
    source.case === "bytes" ? source.value.length : source.case,
  ];
}

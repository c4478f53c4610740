import { mkdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import type { Io } from "@devtool/cli/testing";
import { FakeTerminal, runProgram } from "@devtool/cli/testing";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { DEPTH, LEFT_TO_CI, variantsOf } from "../depth.ts";
import { freePort } from "../free-port.ts";
import { type ServerProcess, startServing } from "./crash/server-process.ts";

/** A quick run has the protocol that the command speaks by default. */
const PROTOCOLS = DEPTH === "quick" ? ["connect"] : ["connect", "grpc", "a2a"];
const PORTS = variantsOf(
  "ports after a restart",
  ["another port", "the same port"],
  1,
);

describe("a server that is killed and started again", () => {
  let base: string;
  let server: ServerProcess;

  beforeEach(async () => {
    base = temporaryDirectory();
    await mkdir(join(base, "work"));
    server = await start("--port", String(await freePort()));
  });
  afterEach(() => server.kill());

  describe.each(PROTOCOLS)("over %s", (protocol) => {
    it.each(PORTS)("has its chat back on %s, while it works", async (port) => {
      const { terminal, code } = chat(protocol);
      await terminal.play(["> ", "say 2\\\rwait 600000\r"], ["chunk 2"]);
      await server.kill();
      await terminal.shows("is gone: waiting for it to start again");
      server = await start(
        ...(port === "the same port"
          ? ["--port", new URL(server.info.url).port]
          : []),
      );
      await terminal.play(
        [`reconnected to ${server.info.url}`],
        ["Send a message to go on", "text After the restart.\r"],
        ["After the restart.\n", "/exit\r"],
      );
      expect(await code).toBe(0);
    });

    it.each(PORTS)(
      "has its chat back on %s, at an open question",
      async (port) => {
        const { terminal, code } = chat(protocol);
        await terminal.play(
          ["> ", "write asked.txt answered\r"],
          ["choose > "],
        );
        await server.kill();
        server = await start(
          ...(port === "the same port"
            ? ["--port", new URL(server.info.url).port]
            : []),
        );
        await terminal.play(
          ["", "y\r"],
          [`reconnected to ${server.info.url}`],
          ["✓ write_file"],
          ["> ", "/exit\r"],
        );
        expect(await code).toBe(0);
        expect(fileText(base, "work/asked.txt")).toBe("answered");
      },
    );

    it.skipIf(LEFT_TO_CI !== "")(
      `has its chat back with another token, and refuses the old one${LEFT_TO_CI}`,
      async () => {
        const { terminal, code } = chat(protocol);
        await terminal.play(
          ["> ", "write asked.txt answered\r"],
          ["choose > "],
        );
        const { token } = server.info;
        await server.kill();
        server = await start(
          "--rotate-token",
          "--port",
          new URL(server.info.url).port,
        );
        expect(server.info.token).not.toBe(token);
        await expect(callWith(token)).rejects.toThrow("unauthenticated");
        await terminal.play(["", "y\r"], ["✓ write_file", "/exit\r"]);
        expect(await code).toBe(0);
      },
    );
  });

  it("gets back a job that another process gave it", async () => {
    const { io, says, errs } = piped();
    const code = runProgram(
      [
        "run",
        "--approve",
        "all",
        ...at(),
        "say 1\nwait 600000\nwrite made.txt made\ntext Done.",
      ],
      io,
    );
    await says("chunk 1");
    await server.kill();
    await errs("is gone: waiting");
    server = await start("--port", String(await freePort()));
    await errs("reconnected");
    // The turn was cut: the task waits for its user.
    expect(await code).toBe(3);
  });

  it.skipIf(LEFT_TO_CI !== "")(
    `is waited for only until Ctrl-C, which leaves the chat usable${LEFT_TO_CI}`,
    async () => {
      const { terminal, code } = chat("connect");
      await terminal.play(["> ", "say 1\\\rwait 600000\r"], ["chunk 1"]);
      await server.kill();
      await terminal.play(
        ["is gone: waiting", "\u0003"],
        [
          "not canceled: the server is not running; it will have the task when it starts again",
        ],
        ["> "],
      );
      server = await start("--port", String(await freePort()));
      await terminal.play(
        ["", "text Here again.\r"],
        ["Here again.", "/exit\r"],
      );
      expect(await code).toBe(0);
    },
  );

  it("keeps its token, in a file that only its user can read, until it is told to make another", async () => {
    const { token } = server.info;
    const path = join(base, "data/token.json");
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(JSON.parse(await readFile(path, "utf8")).token).toBe(token);
    await server.stop();
    server = await start("--port", String(await freePort()));
    expect(server.info.token).toBe(token);
    await callWith(token);
    await server.stop();
    server = await start("--rotate-token");
    expect(server.info.token).not.toBe(token);
    expect(JSON.parse(await readFile(path, "utf8")).token).toBe(
      server.info.token,
    );
    const { token: rotated } = server.info;
    await server.kill();
    server = await start("--port", String(await freePort()));
    expect(server.info.token).toBe(rotated);
  });

  it.skipIf(LEFT_TO_CI !== "")(
    `does not change its token while another start with the same data fails${LEFT_TO_CI}`,
    async () => {
      await expect(start("--rotate-token")).rejects.toThrow(
        "before it was ready",
      );
      await callWith(server.info.token);
      expect(JSON.parse(fileText(base, "data/token.json")).token).toBe(
        server.info.token,
      );
    },
  );

  async function start(...flags: readonly string[]): Promise<ServerProcess> {
    return startServing([
      "--data",
      join(base, "data"),
      "--workspace",
      join(base, "work"),
      ...flags,
    ]);
  }

  function at(): string[] {
    return ["--data", join(base, "data"), "--workspace", join(base, "work")];
  }

  function chat(protocol: string): {
    readonly terminal: FakeTerminal;
    readonly code: Promise<number>;
  } {
    const terminal = new FakeTerminal();
    return {
      terminal,
      code: runProgram(["chat", "--protocol", protocol, ...at()], terminal.io),
    };
  }

  function callWith(token: string): Promise<unknown> {
    return clientOf({ url: server.info.url, token }).tasks.listTasks({});
  }
});

/** A terminal without a user, and what was written to it. */
function piped(): {
  readonly io: Io;
  readonly says: (text: string) => Promise<void>;
  readonly errs: (text: string) => Promise<void>;
} {
  const [stdin, stdout, stderr] = [
    new PassThrough().end(),
    new PassThrough(),
    new PassThrough(),
  ];
  const waitFor = (stream: PassThrough) => {
    let text = "";
    let check = (): void => undefined;
    stream.on("data", (chunk) => {
      text += chunk;
      check();
    });
    return (wanted: string): Promise<void> =>
      new Promise((resolve) => {
        check = () => text.includes(wanted) && resolve();
        check();
      });
  };
  const io: Io = {
    stdin,
    stdout,
    stderr,
    env: { NO_COLOR: "1" },
    interactive: false,
    onInterrupt: () => () => undefined,
    interrupt: () => undefined,
  };
  return { io, says: waitFor(stdout), errs: waitFor(stderr) };
}

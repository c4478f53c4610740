import { EventEmitter } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { createServer, type DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Io } from "../io.ts";
import { chat } from "./chat.ts";

describe("devtool chat", () => {
  let server: DevtoolServer;
  let workspace: string;

  beforeAll(async () => {
    workspace = await mkdtemp(join(tmpdir(), "devtool-chat-"));
    server = await createServer({ workspace, sandbox: "none" });
  });
  afterAll(async () => {
    await server.close();
    await rm(workspace, { recursive: true });
  });

  it("runs slash commands between messages, and asks what they ask", async () => {
    const { said, erred, code } = await talk([
      "text Hello.",
      "/about",
      "/shell touch x; echo from the shell",
      "y",
      "/exit",
    ]);
    expect(said).toContain("Hello.");
    expect(said).toContain("model: scripted");
    expect(said).toContain("$ touch x; echo from the shell");
    expect(said).toMatch(/ {4}from the shell\n/);
    expect(erred).toBe("");
    expect(code).toBe(0);
  });

  it("says why a command does not start, and goes on", async () => {
    const { said, erred } = await talk(["/abuot", "/shell", "text Still here.", "/exit"]);
    expect(erred).toContain("/abuot does not exist: did you mean /about?");
    expect(erred).toContain("/shell needs <command>: the command line to run");
    expect(said).toContain("Still here.");
  });

  it("sends as messages what only begins with a slash", async () => {
    const { said, erred } = await talk(["/etc/passwd is no command", "//help", "/exit"]);
    expect(said.split("This is the scripted agent")).toHaveLength(3);
    expect(erred).toBe("");
  });

  it("keeps commands and messages in one context and messages in one task", async () => {
    const { said } = await talk(["/help", "write one.txt 1", "y", "read one.txt", "/exit"]);
    expect(said).toContain("/help - Lists the slash commands");
    expect(said).toContain("read_file: 1");
  });

  it("cancels a message with Ctrl-C and goes on", async () => {
    const { said, erred, code } = await talk(["say 1\\", "wait 600000", "text After."], {
      interruptAt: ["chunk 1"],
    });
    expect(said).toContain("chunk 1");
    expect(said + erred).toContain("canceled");
    expect(said).toContain("After.");
    expect(code).toBe(0);
  });

  it("cancels a command with Ctrl-C, also while it asks, and goes on", async () => {
    const { said, erred } = await talk(["/shell sleep 600"], {
      interruptAt: ["$ sleep 600"],
      afterwards: ["/about", "/exit"],
    });
    expect(erred).toContain("canceled");
    expect(said).toContain("model: scripted");
  });

  it("completes commands with Tab for a person", async () => {
    const { said } = await talk(["/ab\t", "/memory sh\t", "/exit"], { interactive: true });
    expect(said).toContain("model: scripted");
    expect(said).toContain("The agent is told nothing of this workspace.");
  });

  it("leaves at a second Ctrl-C", async () => {
    const { code } = await talk(["/shell sleep 600", "y"], {
      interruptAt: ["▸ run_shell_command", "▸ run_shell_command"],
    });
    expect(code).toBe(130);
  });

  interface Talk {
    readonly said: string;
    readonly erred: string;
    readonly code: number;
  }

  /** Types lines, ends the input after the last, and presses Ctrl-C where the output holds a text. */
  async function talk(
    lines: readonly string[],
    options: {
      readonly interruptAt?: readonly string[];
      readonly afterwards?: readonly string[];
      readonly interactive?: true;
    } = {},
  ): Promise<Talk> {
    const { interruptAt = [], afterwards } = options;
    const stdin = new PassThrough();
    const stdout = new PassThrough();
    const stderr = new PassThrough();
    const keys = new EventEmitter();
    let said = "";
    let erred = "";
    const waitingFor = [...interruptAt];
    stdout.on("data", (chunk) => {
      said += chunk;
      while (waitingFor.length > 0 && said.includes(waitingFor[0] ?? "")) {
        waitingFor.shift();
        keys.emit("interrupt");
      }
    });
    stderr.on("data", (chunk) => {
      erred += chunk;
      if (afterwards && String(chunk).includes("canceled")) stdin.end(`${afterwards.join("\n")}\n`);
    });
    // Key by key: what comes at once is pasted, and Tab in it completes nothing.
    for (const key of lines.map((line) => `${line}\n`).join("")) stdin.write(key);
    if (!afterwards) stdin.end();
    const io: Io = {
      stdin,
      stdout,
      stderr,
      env: { NO_COLOR: "1" },
      interactive: options.interactive ?? false,
      onInterrupt: (listener) => {
        keys.on("interrupt", listener);
        return () => keys.off("interrupt", listener);
      },
      interrupt: () => void keys.emit("interrupt"),
    };
    const code = await chat({ url: server.url, token: server.token, protocol: "connect" }, io);
    return { said, erred, code };
  }
});

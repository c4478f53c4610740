import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { CaseResult } from "@devtool/conformance";
import { playClient } from "@devtool/conformance/testing";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { describe, expect, it, vi } from "vitest";
import { variantsOf } from "../depth.ts";

const SOURCE = readFileSync(
  new URL("plain-client.mjs", import.meta.url),
  "utf8",
);
const PRINT = "console.log(JSON.stringify(result));";
const SHOW_ALL = "for (const answer of answers) show(answer);";
const THROW = "if (error) throw new Error(error.message);";
const START = 'let [task, state] = ["", ""];';

/** A change of one piece of the client, and the requirement that it breaks. */
interface Fault {
  readonly fault: string;
  readonly from: string;
  readonly to: string;
  readonly requirement: string;
  readonly says: string;
  /** Default: 1.0. */
  readonly version?: "0.3" | "1.0";
}

const FAULTS: readonly Fault[] = [
  {
    fault: "it drops the append of artifacts",
    from: PRINT,
    to: 'console.log(JSON.stringify(result, (key, value) => (key === "append" ? undefined : value)));',
    requirement: "CLIENT-3",
    says: 'the text of artifacts must be "all of it": got "of it": an artifact update with append adds its parts',
  },
  {
    fault: "it leaves a stream at the end of the task",
    from: SHOW_ALL,
    to: "for (const answer of answers) { show(answer); if (/completed/i.test(state)) break; }",
    requirement: "CLIENT-3",
    says: "read a stream to its end",
  },
  {
    fault: "it ignores a broken stream",
    from: "while (/submitted|working/i.test(state))",
    to: "while (false)",
    requirement: "CLIENT-4",
    says: "fetch the task (tasks/get, GetTask) until it is",
  },
  {
    fault: "it takes the last element only",
    from: SHOW_ALL,
    to: "show(answers.at(-1));",
    requirement: "CLIENT-7",
    says: "show each element of the answer",
  },
  {
    fault: "it takes no message for an answer",
    from: THROW,
    to: `${THROW} if (result.message) throw new Error("a task is needed");`,
    requirement: "CLIENT-7",
    says: "an answer may be a single message without a task: show it",
  },
  {
    fault: "it prints the states of 0.3 for 1.0",
    from: PRINT,
    to: "console.log(JSON.stringify(result).replaceAll(/TASK_STATE_(\\w+)/g, (_, name) => name.toLowerCase()));",
    requirement: "A2A1-JSON",
    says: 'result.task.status.state must be "TASK_STATE_SUBMITTED": got "submitted", as in A2A 0.3',
  },
  {
    fault: "it prints the elements of 0.3 for 1.0",
    from: PRINT,
    to: 'for (const [name, value] of Object.entries(result)) console.log(JSON.stringify({ kind: name.replace("Update", "-update"), ...value }));',
    requirement: "A2A1-JSON",
    says: 'a result of A2A 1.0 is in the field "task": got "kind": "task", as in A2A 0.3',
  },
  {
    fault: "it prints the numbers of states",
    from: PRINT,
    to: 'console.log(JSON.stringify(result).replaceAll(/"state":"[^"]*"/g, \'"state":1\'));',
    requirement: "A2A03-JSON",
    says: '"state": 1: print its name',
    version: "0.3",
  },
  {
    fault: "it logs on its standard output",
    from: PRINT,
    to: 'console.log("received", JSON.stringify(result));',
    requirement: "CLIENT-7",
    says: 'not valid JSON: got "received": print JSON and nothing else there, and the rest on standard error',
  },
  {
    fault: "it prints JSON of its own",
    from: PRINT,
    to: "console.log(JSON.stringify({ payload: result }));",
    requirement: "CLIENT-7",
    says: "standard output has no element of A2A: got {",
  },
  {
    fault: "it prints nothing",
    from: PRINT,
    to: "",
    requirement: "CLIENT-7",
    says: "the client showed nothing: a command must print",
  },
  {
    fault: "it does not end",
    from: START,
    to: `${START} setInterval(() => {}, 1_000);`,
    requirement: "CLIENT-7",
    says: "did not exit within the time limit (--timeout)",
  },
  {
    fault: "it cannot start",
    from: START,
    to: `import "./missing.mjs"; ${START}`,
    requirement: "CLIENT-7",
    says: "it refused: exit code 1: Error [ERR_MODULE_NOT_FOUND]",
  },
  {
    fault: "it exits with 0 after an error",
    from: THROW,
    to: "if (error) process.exit(0);",
    requirement: "CLIENT-2",
    says: "the agent failed, and the client showed no error",
    version: "0.3",
  },
  {
    fault: "it sends the message again after an HTTP error",
    from: 'const response = await fetch(endpoint, { method: "POST", headers, body });',
    to: 'const post = () => fetch(endpoint, { method: "POST", headers, body }); let response = await post(); if (!response.ok) response = await post();',
    requirement: "CLIENT-2",
    says: "the client sent its message more than once",
  },
  {
    fault: "it hides the text of errors",
    from: THROW,
    to: 'if (error) throw new Error("it failed");',
    requirement: "CLIENT-9",
    says: 'must contain "boom": got "exit code 1: Error: it failed": the answer',
  },
  {
    fault: "it knows one end of lines",
    from: '.replaceAll(/\\r\\n?/g, "\\n")',
    to: "",
    requirement: "CLIENT-1",
    says: "read streams with a parser for server-sent events",
    version: "0.3",
  },
  {
    fault: "it takes every event for JSON",
    from: ".filter(isJson)",
    to: '.filter((data) => data !== "")',
    requirement: "CLIENT-5",
    says: "pass over an event whose data is not JSON",
  },
  {
    fault: "it takes the first interface",
    from: "new URL(chosen.url, url)",
    to: "new URL(interfaces[0].url, url)",
    requirement: "CLIENT-6",
    says: "pass over the interfaces of a card that the client does not support",
  },
  {
    fault: "it knows the path of the card since 0.3",
    from: "if (!found.ok) found =",
    to: "if (found.ok) found; else",
    requirement: "CLIENT-8",
    says: "look for one at /.well-known/agent.json",
  },
];

describe.concurrent("a plain client, tested by its command", {
  timeout: 300_000,
}, () => {
  it.each([
    ["prints each element", PRINT, ["0.3", "1.0"]],
    [
      "prints responses of JSON-RPC on several lines",
      'console.log(JSON.stringify({ jsonrpc: "2.0", id: 1, result }, null, 2));',
      ["1.0"],
    ],
  ] as const)("is all green when it %s", async (_, print, [a2a, other]) => {
    const only = other === undefined ? { a2a } : {};
    const results = await play(changed(PRINT, print), only);
    const red = results.filter(({ status }) => status !== "passed");
    expect(red.map(({ id, reason }) => [id, reason])).toEqual(
      [a2a, ...(other === undefined ? [] : [other])].map((version) => [
        `client/a2a-${version}-jsonrpc/settings`,
        "the program does not support it: settings: it is given an address and a prompt",
      ]),
    );
  });

  it("is not judged by streams when it sends messages without them", async () => {
    const method = 'is1 ? "SendStreamingMessage" : "message/stream"';
    const plain = 'is1 ? "SendMessage" : "message/send"';
    const results = await play(changed(method, plain), {});
    const reasons = results
      .filter(({ status }) => status !== "passed")
      .map(({ reason = "" }) => reason);
    const why = "the program does not support it: ";
    expect(new Set(reasons)).toEqual(
      new Set([
        `${why}streams: it sent the message without one`,
        `${why}settings: it is given an address and a prompt`,
      ]),
    );
    expect(results.length - reasons.length).toBeGreaterThanOrEqual(8);
  });

  it.each(variantsOf("faults of a plain client", FAULTS, 3, 4))(
    "$fault: $requirement is red, and nothing else",
    async ({ from, to, requirement, says, version: a2a = "1.0" }) => {
      const timeout = to.includes("setInterval") ? 5 : 60;
      const results = await play(changed(from, to), { a2a, timeout });
      const failures = results.flatMap((result) => result.failures ?? []);
      expect([
        ...new Set(failures.flatMap(({ requirements }) => requirements)),
      ]).toEqual([requirement]);
      expect(failures.map(({ reason }) => reason).join("\n")).toContain(says);
    },
  );

  it("is ended with all that it has started", async () => {
    const path = changed(
      START,
      `${START} const { spawn } = await import("node:child_process");
      console.error(spawn("sleep", ["300"], { stdio: "inherit" }).pid); process.exit(1);`,
    );
    const only = "client/a2a-1.0-jsonrpc/stream";
    const [result] = await play(path, { only });
    const pid = Number(/exit code 1: (\d+)/.exec(result?.reason ?? "")?.[1]);
    expect(pid).toBeGreaterThan(1);
    await vi.waitFor(() => expect(isRunning(pid)).toBe(false), 60_000);
  });

  it("is named with exit code 2 if there is no such program", () => {
    const main = fileURLToPath(
      new URL(
        "../../packages/conformance/src/command/main.ts",
        import.meta.url,
      ),
    );
    const args = [...process.execArgv, main, "--client", "no-such-client x"];
    const { status, stderr } = spawnSync(process.execPath, args, {
      encoding: "utf8",
    });
    expect(stderr).toContain('client "no-such-client" cannot be run');
    expect(status).toBe(2);
  });
});

/** Writes the client with one piece of its source replaced. */
function changed(from: string, to: string): string {
  expect(SOURCE.split(from), from).toHaveLength(2);
  const path = join(temporaryDirectory(), "client.mjs");
  writeFileSync(
    path,
    SOURCE.replace(from, () => to),
  );
  return path;
}

async function play(
  path: string,
  options: Parameters<typeof playClient>[1],
): Promise<CaseResult[]> {
  const command = `"${process.execPath}" "${path}"`;
  const signal = AbortSignal.timeout(280_000);
  const { results } = await playClient(
    command,
    { timeout: 60, ...options },
    signal,
  );
  return Array.fromAsync(results);
}

/** Whether a process runs; one that nobody has waited for has ended. */
function isRunning(pid: number): boolean {
  try {
    return !/\) Z [^)]*$/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

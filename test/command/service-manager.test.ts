import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFile, readlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { fromJsonString } from "@bufbuild/protobuf";
import { textMessage } from "@devtool/client";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { ServerInfoSchema } from "@devtool/schema/operator";
import { describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { LEFT_TO_CI } from "../depth.ts";
import { MAIN } from "../our-command.ts";

const MANAGER = fileURLToPath(new URL("./service-manager.py", import.meta.url));
const why =
  LEFT_TO_CI ||
  ["python3", "systemd-notify"]
    .filter((name) => spawnSync(name, ["--version"]).status !== 0)
    .map((name) => ` (skipped: ${name} is not installed)`)
    .join("");
const withoutAnalyze =
  spawnSync("systemd-analyze", ["--version"]).status === 0
    ? ""
    : " (skipped: systemd-analyze is not installed)";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const SYSTEMD = fileURLToPath(new URL("./systemd.sh", import.meta.url));
const OWN = [
  ...["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--net"],
];
const withoutSystemd =
  LEFT_TO_CI ||
  [
    ["unshare", ...OWN, "ip", "link"],
    ["systemctl", "--version"],
    ["/lib/systemd/systemd", "--version"],
  ]
    .filter(([program = "", ...args]) => spawnSync(program, args).status !== 0)
    .map((words) => ` (skipped: ${words.join(" ")} fails here)`)
    .join("");

it.skipIf(withoutSystemd !== "")(
  `the units of deploy/ start by their socket, again after kill -9, and stop, under systemd${withoutSystemd}`,
  async () => {
    const script = ["bash", SYSTEMD, process.execPath, ROOT];
    const played = spawn("timeout", ["120", "unshare", ...OWN, ...script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [said, [code]] = await Promise.all([
      text(played.stdout),
      once(played, "exit"),
    ]);
    expect(said.split("\n")).toEqual([
      "socket alone: inactive, started again 0 times",
      "ready: 200",
      "after a request: active, started again 0 times",
      "ready: 200",
      "after kill -9: active, started again 1 times",
      "stopped: inactive, started again 1 times",
      "result: success, 0",
      "",
    ]);
    expect(code).toBe(0);
  },
);

describe.skipIf(why !== "")(`a server as a service${why}`, () => {
  it("answers on the socket that is passed, also what came before it was ready, and says when it is", async () => {
    const { service } = startService("127.0.0.1");
    const lines = createInterface({ input: service.stdout });
    const waiting = lines[Symbol.asyncIterator]();
    const { value = "" } = await waiting.next();
    const [port, pid] = value.split(" ").map(Number);
    const early = fetch(`http://127.0.0.1:${port}/healthz`);
    expect((await waiting.next()).value).toBe("READY=1");
    // Nobody else may speak for it then.
    expect((await waiting.next()).value).toBe("NOTIFYACCESS=main");
    expect((await early).status).toBe(200);
    const ready = await fetch(`http://127.0.0.1:${port}/readyz`);
    expect(ready.status).toBe(200);
    process.kill(pid ?? 0, "SIGTERM");
    expect(await once(service, "exit")).toEqual([0, null]);
  });

  it("passes neither the socket nor its variables to commands of an agent", async () => {
    const { service, ...place } = startService(
      "127.0.0.1",
      "--approval-mode",
      "yolo",
    );
    const lines = createInterface({ input: service.stdout });
    const waiting = lines[Symbol.asyncIterator]();
    const { value = "" } = await waiting.next();
    const [port, pid] = value.split(" ").map(Number);
    expect((await waiting.next()).value).toBe("READY=1");
    const discovery = await readFile(join(place.data, "server.json"), "utf8");
    const { token } = fromJsonString(ServerInfoSchema, discovery);
    const { tasks } = clientOf({ url: `http://127.0.0.1:${port}`, token });
    const prompt = "run env > env; readlink /proc/$$/fd/* > files";
    await tasks.sendMessage({ message: textMessage("m", prompt) });
    const written = (name: string) =>
      readFile(join(place.workspace, name), "utf8");
    const environment = await written("env");
    expect(environment).toMatch(/^PATH=/m);
    expect(environment).not.toMatch(/^(LISTEN_|NOTIFY_)/m);
    const socket = await readlink(`/proc/${pid}/fd/3`);
    expect(socket).toMatch(/^socket:/);
    const files = await written("files");
    expect(files).toContain("/dev/null\n");
    expect(files).not.toContain(socket);
    process.kill(pid ?? 0, "SIGTERM");
    expect(await once(service, "exit")).toEqual([0, null]);
  });

  it("does not start with a socket of another address than its host", async () => {
    const { service } = startService("127.0.0.2");
    const said = text(service.stderr);
    service.stdout.resume();
    expect(await once(service, "exit")).toEqual([1, null]);
    expect(await said).toContain(
      'the socket that was passed is bound to 127.0.0.2, and host is "127.0.0.1"',
    );
  });
});

it("a server whose readiness cannot be told runs on, and says so", async () => {
  const directory = temporaryDirectory();
  const [data, workspace] = ["data", "workspace"].map((name) =>
    join(directory, name),
  );
  const env = { PATH: directory, NOTIFY_SOCKET: join(directory, "notify") };
  const server = spawn(
    process.execPath,
    [
      MAIN,
      ...["serve", "--json", "--port", "0"],
      ...["--data", `${data}`, "--workspace", `${workspace}`],
    ],
    { env, stdio: ["ignore", "pipe", "pipe"] },
  );
  const ended = once(server, "exit");
  const [ready] = await once(createInterface({ input: server.stdout }), "line");
  for await (const line of createInterface({ input: server.stderr })) {
    if (line.includes("systemd-notify failed")) break;
  }
  const { url } = JSON.parse(ready);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  server.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
});

it.skipIf(withoutAnalyze !== "")(
  `the units for systemd are valid${withoutAnalyze}`,
  async () => {
    const directory = temporaryDirectory();
    for (const name of ["devtool.service", "devtool.socket"]) {
      const unit = await readFile(
        new URL(`../../deploy/${name}`, import.meta.url),
        "utf8",
      );
      // Its program need not be installed here.
      const fitted = unit.replace("/usr/bin/devtool", process.execPath);
      await writeFile(join(directory, name), fitted);
    }
    const verified = spawnSync(
      "systemd-analyze",
      ["verify", "--man=no", join(directory, "devtool.service")],
      { encoding: "utf8" },
    );
    expect(verified).toMatchObject({ status: 0, stderr: "" });
  },
);

/**
 * Starts the built command with a socket of an address and a free port, and
 * with further flags.
 */
function startService(address: string, ...flags: string[]) {
  const directory = temporaryDirectory();
  const workspace = join(directory, "workspace");
  const data = join(directory, "data");
  const args = [
    ...[MANAGER, address, join(directory, "notify"), process.execPath],
    ...[MAIN, "serve", "--data", data, "--workspace", workspace, ...flags],
  ];
  const service = spawn("python3", args, { stdio: ["ignore", "pipe", "pipe"] });
  return { service, data, workspace };
}

import { execFile } from "node:child_process";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { textMessage } from "@devtool/client";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { Role, TaskState } from "@devtool/schema";
import { devices } from "playwright-core";
import { expect, it } from "vitest";
import { Authority, hasOpenssl } from "../auth/certificates.ts";
import { LEFT_TO_DEEP } from "../depth.ts";
import {
  type ServerProcess,
  startServing,
} from "../durability/crash/server-process.ts";
import { CHROMIUM, launch } from "../outer/browser.ts";
import { documentedConfig, openEntrance, PROXIES } from "../outer/proxies.ts";
import { SteadyAddress } from "../steady-address.ts";
import { clientOf } from "./console-page.ts";
import { readPrintedCode } from "./printed-code.ts";

const MAIN = fileURLToPath(
  new URL("../../packages/cli/dist/main.js", import.meta.url),
);
const caddy = PROXIES.find(({ name }) => name === "caddy");
const why =
  LEFT_TO_DEEP ||
  (caddy?.missing ?? "") ||
  (CHROMIUM === undefined ? " (skipped without Chromium)" : "") ||
  ((await hasOpenssl()) ? "" : " (skipped without OpenSSL)");

it.skipIf(why !== "")(
  `a paired phone behind Caddy answers over a kill of the server, and what it tapped while nobody was there counts once${why}`,
  async () => {
    await using stack = new AsyncDisposableStack();
    const base = temporaryDirectory();
    for (const name of ["work", "caddy"]) await mkdir(join(base, name));
    const authority = await Authority.create(base, "ours");
    const { certificate, key } = await authority.issue(
      "/CN=agent.example",
      "DNS:agent.example",
    );
    putFile(base, "agent.pem", certificate);
    putFile(base, "agent.key", key);
    const inside = stack.use(await SteadyAddress.open());
    const socket = join(base, "caddy.sock");
    const config = (await documentedConfig({ name: "caddy" }, "server"))
      .replace("agent.example {", `https://$&\n  bind unix/${socket}`)
      .replaceAll("/etc/ssl/", `${base}/`)
      .replace("127.0.0.1:41242", inside.host);
    const started = await caddy?.start(join(base, "caddy"), config, socket);
    stack.use(started ?? expect.fail("caddy is installed"));
    const { port } = stack.use(await openEntrance(socket));

    let server: ServerProcess | undefined;
    stack.defer(() => server?.kill());
    const start = async (): Promise<ServerProcess> => {
      server = await startServing([
        ...["--data", join(base, "data"), "--workspace", join(base, "work")],
        ...["--public-url", "https://agent.example", "--tls-ended-by-proxy"],
      ]);
      inside.lead(server.info.url);
      return server;
    };
    const kill = async (): Promise<void> => {
      await server?.kill();
      inside.lead(undefined);
    };

    const { info } = await start();
    const { tasks } = clientOf(info);
    const prompt = "write one.txt One\nwrite two.txt Two\ntext Both.";
    const { task } = await tasks.sendMessage({
      message: textMessage(crypto.randomUUID(), prompt),
    });
    expect(task?.state).toBe(TaskState.INPUT_REQUIRED);

    const printed = await promisify(execFile)(process.execPath, [
      ...[MAIN, "pair", "--data", join(base, "data")],
    ]);
    const address = readPrintedCode(printed.stdout) ?? "";
    const browser = stack.use(
      await launch(
        `--host-resolver-rules=MAP agent.example:443 127.0.0.1:${port}`,
      ),
    );
    const phone = await browser.newContext({
      ...devices["Pixel 7"],
      ignoreHTTPSErrors: true,
      locale: "en-US",
    });
    const page = await phone.newPage();
    await page.goto(address);
    await page.getByRole("button", { name: "Pair" }).tap();
    await page.getByText("1 session waits for you").waitFor();
    await page.getByRole("link", { name: /^write one\.txt One/ }).tap();
    const allow = page.getByRole("button", { name: "Allow once" });
    const lost = page.getByText("Connection lost").filter({ visible: true });
    await expect.poll(() => allow.count()).toBe(2);

    // Killed with the questions open, and back.
    await kill();
    await lost.waitFor();
    await start();
    await expect.poll(() => lost.count()).toBe(0);
    await allow.first().tap();
    await expect.poll(() => allow.count()).toBe(1);
    await expect.poll(() => read("one.txt")).toBe("One");

    // Tapped while nobody is there.
    await kill();
    await lost.waitFor();
    await allow.tap();
    const last = await start();
    await page.locator(".prose", { hasText: "Both." }).waitFor();
    expect(await read("two.txt")).toBe("Two");
    const { task: ended } = await clientOf(last.info).tasks.getTask({
      taskId: task?.id ?? "",
    });
    expect(ended?.state).toBe(TaskState.COMPLETED);
    // The prompt and one message for each answer.
    const said = ended?.history.filter(({ role }) => role === Role.USER);
    expect(said).toHaveLength(3);

    function read(name: string): Promise<string> {
      return readFile(join(base, "work", name), "utf8").catch(() => "");
    }
  },
  180_000,
);

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { fileText, putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Authority, hasOpenssl } from "../auth/certificates.ts";
import { variantsOf } from "../depth.ts";
import { MAIN } from "../our-command.ts";
import {
  canConnectMachines,
  connectTwoMachines,
  inNamespace,
  type TwoMachines,
} from "../outer/namespaces.ts";

const TOKEN = "0123456789abcdef0123456789abcdef";
/** Free in a network of its own. */
const PORT = "41242";

describe.skipIf(!(await hasOpenssl()) || !(await canConnectMachines()))(
  "devtool serve --host 0.0.0.0",
  () => {
    let directory: string;
    let machines: TwoMachines;
    let url: string;

    beforeAll(async () => {
      directory = temporaryDirectory();
      machines = await connectTwoMachines();
      const { address } = machines.server;
      url = `https://${address}:${PORT}`;
      const authority = await Authority.create(directory, "ours");
      const { certificate, key } = await authority.issue(
        "/CN=agent",
        `IP:${address},IP:127.0.0.1`,
      );
      await write("agent.pem", certificate);
      await write("agent.key", key);
      await write("token", TOKEN);
      await write(
        "config.toml",
        'token_file = "token"\n[tls]\ncertificate_file = "agent.pem"\nkey_file = "agent.key"\n',
      );
    });
    afterAll(() => machines?.[Symbol.asyncDispose]());

    it.each(variantsOf("protocols", ["connect", "grpc", "a2a"], 1))(
      "serves another machine over %s",
      async (protocol) => {
        await using _server = await serve(
          "--host",
          "0.0.0.0",
          "--public-url",
          url,
        );
        const { stdout } = await runThere(
          protocol,
          `write ${protocol}.txt hello\ntext done`,
        );
        expect(stdout).toContain("done");
        expect(fileText(directory, join("workspace", `${protocol}.txt`))).toBe(
          "hello",
        );
      },
    );

    it("admits no caller there without the token", async () => {
      await using _server = await serve(
        "--host",
        "0.0.0.0",
        "--public-url",
        url,
      );
      await expect(
        runThere("connect", "text hello", { DEVTOOL_TOKEN: "wrong" }),
      ).rejects.toThrow("the bearer token is missing or wrong");
    });

    it("is not reached there when it binds loopback (sabotage)", async () => {
      await using _server = await serve("--public-url", url);
      await expect(runThere("a2a", "text hello")).rejects.toThrow(
        "ECONNREFUSED",
      );
    });

    async function write(name: string, content: string): Promise<void> {
      putFile(directory, name, content);
      await chmod(join(directory, name), 0o600);
    }

    async function serve(
      ...flags: readonly string[]
    ): Promise<AsyncDisposable> {
      const place = [
        "--data",
        join(directory, "data"),
        "--workspace",
        join(directory, "workspace"),
      ];
      const config = ["--config", join(directory, "config.toml")];
      const command = [
        process.execPath,
        MAIN,
        "serve",
        "--json",
        ...["--log-level", "error"],
        "--port",
        PORT,
        ...place,
        ...config,
        ...flags,
      ];
      const child = spawn(...inNamespace(machines.server.name, ...command), {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const ended = once(child, "exit");
      const failed = ended.then(([code]) =>
        Promise.reject(new Error(`the server ended with ${code}`)),
      );
      await Promise.race([
        once(createInterface({ input: child.stdout }), "line"),
        failed,
      ]);
      failed.catch(() => undefined);
      return {
        async [Symbol.asyncDispose]() {
          child.kill("SIGTERM");
          await ended;
        },
      };
    }

    function runThere(
      protocol: string,
      prompt: string,
      environment: Readonly<Record<string, string>> = {},
    ) {
      const flags = [
        "--approve",
        "all",
        "--url",
        url,
        "--protocol",
        protocol,
        "--data",
        join(directory, "elsewhere"),
      ];
      const ca = join(directory, "ours.pem");
      const env = {
        ...process.env,
        NODE_EXTRA_CA_CERTS: ca,
        DEVTOOL_TOKEN: TOKEN,
        ...environment,
      };
      const command = inNamespace(
        machines.client.name,
        process.execPath,
        MAIN,
        "run",
        ...flags,
        prompt,
      );
      return promisify(execFile)(...command, { env, timeout: 60_000 });
    }
  },
);

import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdirSync, readFileSync } from "node:fs";
import { copyFile, readFile, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { fromJsonString } from "@bufbuild/protobuf";
import { createConnectTransport } from "@connectrpc/connect-node";
import {
  bearerInterceptor,
  createDevtoolClient,
  textMessage,
} from "@devtool/client";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { TaskState } from "@devtool/schema";
import { ServerInfoSchema } from "@devtool/schema/operator";
import { describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { LEFT_TO_CI } from "../depth.ts";
import { describeWithPostgres } from "../fleet/with-postgres.ts";
import { PROXIES } from "../outer/proxies.ts";
import { tarballsOf } from "../packed/project.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));
const MAIN = join(root, "packages/cli/dist/main.js");
const COMPOSE = join(root, "deploy/compose.yaml");
const KUBERNETES = join(root, "deploy/kubernetes.yaml");
const CONTAINERFILE = join(root, "deploy/Containerfile");

const compose = parse(readFileSync(COMPOSE, "utf8"));
const [config, , deployment, service, budget] = parseAllDocuments(
  readFileSync(KUBERNETES, "utf8"),
).map((document) => document.toJS());

describe("the manifests for Kubernetes", () => {
  it("select the servers, and have the configuration of the Compose file", () => {
    const labels = deployment.spec.template.metadata.labels;
    expect(deployment.spec.selector.matchLabels).toEqual(labels);
    expect(service.spec.selector).toEqual(labels);
    expect(budget.spec.selector.matchLabels).toEqual(labels);
    expect(
      config.data["config.toml"].replace("/var/lib/devtool", "/run/secrets"),
    ).toBe(
      compose.configs.server.content.replace(
        /\$\{DOMAIN[^}]*\}/,
        "agent.example",
      ),
    );
  });
});

const [, caddy] = PROXIES;

describeWithPostgres("the parts of the Compose file", (database) => {
  it.skipIf(caddy?.missing !== "")(
    `play a task together, and answer the probes of Kubernetes${caddy?.missing}`,
    async () => {
      const directory = temporaryDirectory();
      const [token, file, data, workspace] = [
        "token",
        "config.toml",
        "data",
        "workspace",
      ].map((name) => join(directory, name));
      await writeFile(`${token}`, "0123456789abcdef".repeat(4), {
        mode: 0o600,
      });
      const text: string = config.data["config.toml"];
      await writeFile(
        `${file}`,
        text
          .replace('"0.0.0.0"', '"127.0.0.1"')
          .replace("/var/lib/devtool/token", `${token}`)
          .replace("postgres://devtool@postgres/devtool", database.url),
      );
      const [serve, ...flags] = compose.services.devtool.command;
      await using server = await startServer(
        [serve, flags[0], file, "--data", data, "--workspace", workspace].map(
          String,
        ),
      );

      const socket = join(directory, "caddy.sock");
      const site = compose.configs.proxy.content
        .replace(
          /^\$\{DOMAIN\} \{/,
          `http://agent.example {\nbind unix/${socket}`,
        )
        .replace("devtool:41242", new URL(server.url).host);
      const proxy = await caddy?.start(join(directory, "caddy"), site, socket);
      await using _proxy = proxy;
      const { tasks } = createDevtoolClient(
        createConnectTransport({
          baseUrl: "http://agent.example",
          httpVersion: "1.1",
          nodeOptions: { socketPath: socket },
          interceptors: [bearerInterceptor("0123456789abcdef".repeat(4))],
        }),
      );
      const message = textMessage("m1", "text Together.");
      const { task } = await tasks.sendMessage({ message });
      expect(task?.state).toBe(TaskState.COMPLETED);

      const [container] = deployment.spec.template.spec.containers;
      for (const kind of ["startupProbe", "readinessProbe", "livenessProbe"]) {
        const { path, httpHeaders } = container[kind].httpGet;
        const headers = httpHeaders.map(
          ({ name, value }: Record<string, string>) => [name, value],
        );
        const probe = request(new URL(path, server.url), {
          headers: Object.fromEntries(headers),
        }).end();
        const [response] = await once(probe, "response");
        response.resume();
        expect([kind, response.statusCode]).toEqual([kind, 200]);
      }
    },
  );
});

async function startServer(
  args: readonly string[],
): Promise<{ readonly url: string } & AsyncDisposable> {
  const server = spawn(
    process.execPath,
    [MAIN, ...args, "--json", "--port", "0"],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const ended = once(server, "exit");
  const lines = createInterface({ input: server.stdout });
  const [line] = await Promise.race([once(lines, "line"), ended]);
  const { url } = fromJsonString(ServerInfoSchema, String(line));
  return {
    url,
    async [Symbol.asyncDispose]() {
      server.kill("SIGTERM");
      await ended;
    },
  };
}

/** A container of bubblewrap, before what is run in it. */
const BWRAP = [
  ...["--unshare-user", "--unshare-pid", "--die-with-parent"],
  ...["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"],
  ...[
    "--tmpfs",
    "/tmp",
    "--setenv",
    "TMPDIR",
    "/tmp",
    "--setenv",
    "HOME",
    "/tmp",
  ],
];
const NO_NAMESPACES = ["--disable-userns"];
const HIDDEN = ["--ro-bind", "/dev/null", "/proc/version"];
const withoutBwrap =
  spawnSync("bwrap", [...BWRAP, ...NO_NAMESPACES, "true"]).status === 0
    ? ""
    : " (skipped: bubblewrap cannot make a container here)";

describe.skipIf(withoutBwrap !== "")(
  `devtool doctor in a container${withoutBwrap}`,
  () => {
    it.each([
      ["without user namespaces", NO_NAMESPACES, "namespace"],
      ["where parts of /proc are hidden", HIDDEN, "Can't mount proc"],
    ])("says what the sandbox needs %s", async (_where, flags, problem) => {
      const { stdout } = await run("bwrap", [
        ...[...BWRAP, ...flags],
        ...[process.execPath, MAIN, "doctor"],
      ]);
      const line = stdout.split("\n").find((text) => /^· sandbox/.test(text));
      expect(line).toContain(problem);
      expect(line).toContain(
        'in a container with all of /proc (Docker: --security-opt seccomp=unconfined --security-opt systempaths=unconfined, Podman: --security-opt unmask=ALL), or choose "none", which leaves commands to what confines the server',
      );
    });
  },
);

/** A base of the Containerfile that Podman has or can get. */
const BASE = process.env.DEVTOOL_IMAGE_BASE ?? "";
const withoutImage =
  LEFT_TO_CI ||
  (BASE === ""
    ? " (skipped: DEVTOOL_IMAGE_BASE names no base of deploy/Containerfile)"
    : spawnSync("podman", ["--version"]).status === 0
      ? ""
      : " (skipped: podman is not installed)");
/** The most that the image may have in bytes, compressed. */
const MAX_BYTES = 200_000_000;

const CONFINED = [
  ...["--read-only", "--tmpfs", "/tmp", "--cap-drop", "all"],
  ...["--network", "none", "--cgroups", "disabled"],
  ...["--ulimit", "nofile=4096:4096", "--ulimit", "nproc=4096:4096"],
];

describe.skipIf(withoutImage !== "")(`the image${withoutImage}`, () => {
  it("is small, and plays a task without root's rights on a read-only root", async () => {
    const directory = temporaryDirectory();
    const [context, layout, workspace, state] = [
      "context",
      "layout",
      "workspace",
      "state",
    ].map((name) => join(directory, name));
    for (const made of [`${context}`, `${workspace}`, `${state}`]) {
      mkdirSync(made);
      if (process.getuid?.() === 0) chownSync(made, 1000, 1000);
    }
    const [tarball = ""] = await tarballsOf(["cli"]);
    await copyFile(tarball, join(`${context}`, basename(tarball)));
    const image = `localhost/devtool-test-${process.pid}`;
    await podman(
      ...["build", "--isolation", "chroot", "--format", "docker"],
      ...["--build-arg", `BASE=${BASE}`, "--tag", image],
      ...["--file", CONTAINERFILE, `${context}`],
    );
    await using stack = new AsyncDisposableStack();
    stack.defer(async () => void (await podman("rmi", "--force", image)));
    await podman("push", "--quiet", image, `oci:${layout}:test`);
    const { stdout } = await run("du", ["-sb", `${layout}`]);
    const bytes = Number.parseInt(stdout, 10);
    console.log(`the image has ${(bytes / 1e6).toFixed(0)} MB, compressed`);
    expect(bytes).toBeLessThan(MAX_BYTES);

    const name = `devtool-test-${process.pid}`;
    await podman(
      ...["run", "--detach", "--name", name, ...CONFINED],
      ...["--security-opt", "no-new-privileges"],
      ...["--volume", `${workspace}:/workspace`],
      ...["--volume", `${state}:/var/lib/devtool`, image],
    );
    stack.defer(async () => void (await podman("rm", "--force", name)));
    await expect
      .poll(() =>
        podman("healthcheck", "run", name).then(
          () => "healthy",
          () => "",
        ),
      )
      .toBe("healthy");
    const script = "write a.txt hello\nrun id -u; touch /a\ntext Done.";
    const played = await podman(
      ...["exec", name, "devtool", "run", "--approve", "all", script],
    );
    expect(played).toContain("1000");
    expect(played).toContain("Read-only file system");
    expect(played).toContain("Done.");
    expect(await readFile(join(`${workspace}`, "a.txt"), "utf8")).toBe("hello");
    // In a container that hides nothing, the sandbox works.
    const healthy = await podman(
      ...["run", "--rm", ...CONFINED],
      ...["--security-opt", "unmask=ALL", image, "doctor"],
    );
    expect(healthy).toContain("bwrap confines shell commands");
    await podman("stop", name);
    const code = await podman(
      "inspect",
      name,
      "--format",
      "{{.State.ExitCode}}",
    );
    expect(code.trim()).toBe("0");
  });
});

/**
 * Runs Podman. Its runtime refuses machines that have both versions of control
 * groups, so root hides the newer one from it.
 */
async function podman(...args: readonly string[]): Promise<string> {
  const hiding = 'umount /sys/fs/cgroup/unified 2>/dev/null; exec podman "$@"';
  const [program, ...before] =
    process.getuid?.() === 0
      ? ["unshare", "--mount", "sh", "-c", hiding, "podman"]
      : ["podman"];
  const { stdout, stderr } = await run(`${program}`, [...before, ...args]);
  return stdout + stderr;
}

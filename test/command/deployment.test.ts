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
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { TaskState } from "@devtool/schema";
import { ServerInfoSchema } from "@devtool/schema/operator";
import { describe, expect, it, vi } from "vitest";
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

describe("the Compose file", () => {
  // https://github.com/docker/compose/issues/12031
  it("copies nothing into a container whose root is read-only", () => {
    const readOnly = Object.values<Record<string, unknown>>(compose.services)
      .filter((service) => service.read_only === true)
      .flatMap(({ configs = [], secrets = [] }) => [configs, secrets])
      .flat()
      .map((use) => (typeof use === "string" ? use : Object(use).source));
    expect(readOnly.toSorted()).toEqual(["proxy", "token"]);
    const sources = { ...compose.configs, ...compose.secrets };
    for (const name of readOnly) {
      expect([name, Object.keys(sources[name])]).toEqual([name, ["file"]]);
    }
  });

  it("says of each service when it works, which `up --wait` waits for", () => {
    const { devtool, ...others } = compose.services;
    expect(devtool.image).toMatch(/devtool/);
    expect(readFileSync(CONTAINERFILE, "utf8")).toContain("\nHEALTHCHECK ");
    for (const [name, { healthcheck }] of Object.entries<
      Record<string, unknown>
    >(others)) {
      expect([name, Object(healthcheck).test?.[0]]).toEqual([name, "CMD"]);
    }
  });
});

describe("the manifests for Kubernetes", () => {
  it("select the servers", () => {
    const labels = deployment.spec.template.metadata.labels;
    expect(deployment.spec.selector.matchLabels).toEqual(labels);
    expect(service.spec.selector).toEqual(labels);
    expect(budget.spec.selector.matchLabels).toEqual(labels);
  });
});

const [, caddy] = PROXIES;

describeWithPostgres("the manifests", (database) => {
  it.skipIf(caddy?.missing !== "")(
    `play a task with the parts of the Compose file${caddy?.missing}`,
    async () => {
      const { directory, token, place } = await placeOfServer();
      const args: readonly string[] = compose.services.devtool.command;
      await using server = await startServer([
        ...args.map((arg) =>
          arg
            .replace("=0.0.0.0", "=127.0.0.1")
            .replace(/\$\{DOMAIN[^}]*\}/, "agent.example")
            .replace("/run/secrets/token", token)
            .replace("postgres://devtool@postgres/devtool", database.url),
        ),
        ...place,
      ]);

      const socket = join(directory, "caddy.sock");
      const site = (
        await readFile(join(root, "deploy", compose.configs.proxy.file), "utf8")
      )
        .replace("{$DOMAIN} {", `$&\nbind unix/${socket}`)
        .replace("devtool:41242", new URL(server.url).host);
      expect(Object.keys(compose.services.caddy.environment)).toEqual([
        "DOMAIN",
      ]);
      vi.stubEnv("DOMAIN", "http://agent.example");
      await using stack = new AsyncDisposableStack();
      stack.defer(() => void vi.unstubAllEnvs());
      stack.use(await caddy?.start(join(directory, "caddy"), site, socket));
      const { tasks } = createDevtoolClient(
        createConnectTransport({
          baseUrl: "http://agent.example",
          httpVersion: "1.1",
          nodeOptions: { socketPath: socket },
          interceptors: [bearerInterceptor(TOKEN)],
        }),
      );
      const message = textMessage("m1", "text Together.");
      const { task } = await tasks.sendMessage({ message });
      expect(task?.state).toBe(TaskState.COMPLETED);
    },
  );

  it("start a server by the configuration for Kubernetes, which answers its probes", async () => {
    const { directory, token, place } = await placeOfServer();
    const text: string = config.data["config.toml"];
    const files = {
      ...config.data,
      "config.toml": text
        .replace('"0.0.0.0"', '"127.0.0.1"')
        .replace("/var/lib/devtool/token", token)
        .replace("postgres://devtool@postgres/devtool", database.url),
    };
    for (const [name, content] of Object.entries(files)) {
      putFile(directory, name, String(content));
    }
    const [container] = deployment.spec.template.spec.containers;
    const [serve, flag, path] = container.args;
    const file = join(directory, basename(path));
    await using server = await startServer([serve, flag, file, ...place]);
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
  });
});

const TOKEN = "0123456789abcdef".repeat(4);

/** A directory with a token, and the flags that keep a server in it. */
async function placeOfServer(): Promise<{
  readonly directory: string;
  readonly token: string;
  readonly place: readonly string[];
}> {
  const directory = temporaryDirectory();
  const token = join(directory, "token");
  await writeFile(token, TOKEN, { mode: 0o600 });
  const [data, workspace] = [join(directory, "data"), join(directory, "work")];
  const place = ["--data", data, "--workspace", workspace];
  return { directory, token, place };
}

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
        'allow unprivileged user namespaces (in a container: docs/sandbox.md, "In a container"), or choose "none"',
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
  // Podman gets the base, and npm and apt what is in the image.
  const timeout = 900_000;
  it("is small, and plays a task without root's rights on a read-only root", {
    timeout,
  }, async () => {
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
      // Without layers, nothing stays but the image.
      ...["build", "--layers=false", "--isolation", "chroot"],
      ...["--format", "docker"],
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

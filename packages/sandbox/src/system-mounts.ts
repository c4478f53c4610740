import { lstatSync, readdirSync, readlinkSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { dirname } from "node:path";

/** What of `/` is the system; the rest is data. */
const SYSTEM = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"];
/**
 * What programs need of `/etc`: each costs a third of a millisecond per command. Not here: what may hold secrets, for
 * instance shadow, ssh, environment, npmrc and gitconfig.
 */
const ETC = /^(alternatives|group|hosts|java.*|ld\.so\.cache|localtime|nsswitch\.conf|os-release|passwd)$/;
/** What only a program with a network needs of it. */
const ETC_OF_NETWORK = [
  "/etc/ssl/certs",
  "/etc/ssl/openssl.cnf",
  "/etc/crypto-policies",
  "/etc/pki/ca-trust",
  "/etc/pki/tls/certs",
  "/etc/services",
];
/** Where version managers keep one directory for each version of a tool: below it lies that tool and nothing else. */
const TOOL =
  /^\/(opt|snap)\/[^/]|^\/home\/linuxbrew\/[^/]|\/(versions|node-versions|installs|toolchains|candidates|image)\/[^/]/;

/** Lists the arguments that show bwrap's process the system, read-only: what every command needs, whatever its task. */
export function systemMounts(): string[] {
  const etc = namesIn("/etc").filter((name) => ETC.test(name));
  return [...SYSTEM, ...etc.map((name) => `/etc/${name}`)].flatMap(mountOf);
}

/** Lists the arguments that show what a program needs beside the system to use the network: certificates, names. */
export function networkMounts(): string[] {
  // It often is a link to a place that is not shown.
  const resolver = realPath("/etc/resolv.conf");
  const names = resolver === undefined ? [] : ["--ro-bind", resolver, "/etc/resolv.conf"];
  return [...ETC_OF_NETWORK.flatMap(mountOf), ...names];
}

/**
 * Lists the directories of a PATH that lie outside the system, and with those of version managers what belongs to them
 * (`lib/node_modules` beside `bin`).
 */
export function toolDirectories(path: string): string[] {
  const home = realPath(homedir());
  const outside = path.split(":").filter((directory) => directory.startsWith("/") && !isSystem(directory));
  const found = outside.flatMap((directory) => {
    const real = realPath(directory);
    // The home itself, or what holds it, is data, also when it is in the PATH.
    if (real === undefined || real === "/" || real === home || home?.startsWith(`${real}/`)) return [];
    const tool = dirname(real);
    return real.endsWith("/bin") && TOOL.test(`${tool}/`) ? [directory, tool] : [directory];
  });
  return [...new Set(found)];
}

/** The real path of what lies at a path; undefined when nothing does. */
export function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

/** The real path of what lies at a path, as a list to join with others: empty when nothing does. */
export function realPaths(path: string): string[] {
  const real = realPath(path);
  return real === undefined ? [] : [real];
}

function mountOf(path: string): string[] {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (!stats) return [];
  return stats.isSymbolicLink() ? ["--symlink", readlinkSync(path), path] : ["--ro-bind", path, path];
}

function isSystem(directory: string): boolean {
  return SYSTEM.some((path) => directory === path || directory.startsWith(`${path}/`));
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

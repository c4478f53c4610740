import { lstatSync, readdirSync, readlinkSync, realpathSync } from "node:fs";
import { dirname } from "node:path";

/** What of `/` is the system; the rest is data. */
const SYSTEM = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"];
/**
 * What programs need of `/etc`: each costs a third of a millisecond per command. Not here: what may hold secrets, for
 * instance shadow, ssh, environment, npmrc and gitconfig.
 */
const ETC =
  /^(alternatives|crypto-policies|fonts|group|hosts|java.*|ld\.so\.cache|localtime|mime\.types|nsswitch\.conf|os-release|passwd|protocols|services)$/;
/** What of the directories of `/etc` that hold keys too. */
const BESIDE_KEYS = ["/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/pki/ca-trust", "/etc/pki/tls/certs"];
/** Where version managers keep one directory for each version of a tool: below it lies that tool and nothing else. */
const TOOL = /^\/(opt|snap)\/|^\/home\/linuxbrew\/|\/(versions|node-versions|installs|toolchains|candidates|image)\//;

/** Lists the arguments that show bwrap's process the system, read-only: what every command needs, whatever its task. */
export function systemMounts(): string[] {
  const etc = namesIn("/etc").filter((name) => ETC.test(name));
  return [...SYSTEM, ...etc.map((name) => `/etc/${name}`), ...BESIDE_KEYS].flatMap(mountOf);
}

/**
 * Lists the directories of a PATH that lie outside the system, and with those of version managers what belongs to them
 * (`lib/node_modules` beside `bin`).
 */
export function toolDirectories(path: string): string[] {
  const outside = path.split(":").filter((directory) => directory.startsWith("/") && !isSystem(directory));
  const found = outside.flatMap((directory) => {
    const real = realPath(directory);
    if (real === undefined) return [];
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

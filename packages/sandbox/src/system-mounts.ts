import { lstatSync, readdirSync, readlinkSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname } from "node:path";
import { realPath } from "@devtool/internal/real-path";

/** Directories of the system; all others are data. */
const SYSTEM = [
  "/usr",
  "/bin",
  "/sbin",
  "/lib",
  "/lib32",
  "/lib64",
  "/libx32",
  "/nix/store",
];
/**
 * The files of `/etc` that programs need. Each costs a third of a millisecond
 * per command.
 *
 * Files that may hold secrets are not among them, such as shadow, ssh,
 * environment, npmrc and gitconfig.
 */
const ETC =
  /^(alternatives|group|hosts|java.*|ld\.so\.cache|localtime|nsswitch\.conf|os-release|passwd)$/;
/** The files of `/etc` that only a program with a network needs. */
const ETC_OF_NETWORK = [
  "/etc/ssl/certs",
  "/etc/ssl/openssl.cnf",
  "/etc/crypto-policies",
  "/etc/pki/ca-trust",
  "/etc/pki/tls/certs",
  "/etc/services",
];
/**
 * Directories of version managers that contain one version of a tool and
 * nothing else.
 */
const TOOL =
  /^\/(opt|snap)\/[^/]|^\/home\/linuxbrew\/[^/]|\/(versions|node-versions|installs|toolchains|candidates|image)\/[^/]/;

/**
 * Lists bwrap's arguments for the files of the system that every command needs,
 * read-only.
 */
export function systemMounts(): string[] {
  let names: string[] = [];
  try {
    names = readdirSync("/etc");
  } catch {
    // The system has none that can be read.
  }
  const etc = names
    .filter((name) => ETC.test(name))
    .map((name) => `/etc/${name}`);
  return [...SYSTEM, ...etc].flatMap(mountOf);
}

/**
 * Lists bwrap's arguments for what a program with a network needs in addition:
 * certificates and name resolution.
 */
export function networkMounts(): string[] {
  // It is often a link to a file that is not shown.
  const resolver = realPath("/etc/resolv.conf");
  const names =
    resolver === undefined ? [] : ["--ro-bind", resolver, "/etc/resolv.conf"];
  return [...ETC_OF_NETWORK.flatMap(mountOf), ...names];
}

/**
 * Lists the directories of a PATH that are not part of the system.
 *
 * A `bin` directory of a version manager comes with the directory above it,
 * which has the rest of that tool (`lib/node_modules`).
 */
export function toolDirectories(path: string): string[] {
  const home = realPath(homedir());
  const outside = path.split(delimiter).filter((directory) => {
    const isSystem = SYSTEM.some(
      (system) => directory === system || directory.startsWith(`${system}/`),
    );
    return directory.startsWith("/") && !isSystem;
  });
  const found = outside.flatMap((directory) => {
    const real = realPath(directory);
    // The home directory and those above it are data, even when the PATH names
    // them.
    if (
      real === undefined ||
      real === "/" ||
      real === home ||
      home?.startsWith(`${real}/`)
    ) {
      return [];
    }
    const tool = dirname(real);
    return real.endsWith("/bin") && TOOL.test(`${tool}/`)
      ? [directory, tool]
      : [directory];
  });
  return [...new Set(found)];
}

/**
 * Returns the real path of an existing path as a list of one; an empty list for
 * others.
 */
export function realPaths(path: string): string[] {
  const real = realPath(path);
  return real === undefined ? [] : [real];
}

function mountOf(path: string): string[] {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (!stats) return [];
  return stats.isSymbolicLink()
    ? ["--symlink", readlinkSync(path), path]
    : ["--ro-bind", path, path];
}

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { putFile } from "@devtool/internal/testing/files";

/** The nginx of the system; undefined where there is none. */
export const NGINX = [
  "/usr/sbin/nginx",
  "/usr/bin/nginx",
  "/usr/local/bin/nginx",
].find(existsSync);

/**
 * Appended to the name of a test that needs nginx: why it is skipped. Empty
 * where nginx is installed.
 */
export const WITHOUT_NGINX: string =
  NGINX === undefined
    ? " (skipped: nginx is not installed: apt-get install nginx)"
    : "";

/**
 * Runs nginx with some `server` blocks: in the foreground, with all its files
 * in a directory.
 */
export async function startNginx(
  directory: string,
  servers: string,
): Promise<AsyncDisposable> {
  await mkdir(directory, { recursive: true });
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (kind) => `${kind}_temp_path ${join(directory, kind)};`,
  );
  const config = `daemon off;
master_process off;
pid ${join(directory, "nginx.pid")};
error_log ${join(directory, "error.log")};
events {}
http {
access_log off;
${temporary.join("\n")}
${servers}
}
`;
  putFile(directory, "nginx.conf", config);
  const log = join(directory, "error.log");
  const args = [
    "-p",
    directory,
    "-e",
    log,
    "-c",
    join(directory, "nginx.conf"),
  ];
  const nginx = spawn(NGINX ?? "nginx", args, {
    stdio: ["ignore", "ignore", "inherit"],
  });
  await untilReady(nginx, join(directory, "nginx.pid"), log);
  return {
    async [Symbol.asyncDispose]() {
      if (nginx.exitCode !== null) return;
      nginx.kill("SIGTERM");
      await once(nginx, "exit");
    },
  };
}

/** It writes its process id once it listens. */
async function untilReady(
  nginx: ChildProcess,
  pidFile: string,
  log: string,
): Promise<void> {
  while (!existsSync(pidFile)) {
    if (nginx.exitCode !== null) {
      throw new Error(`nginx does not start: ${await readFile(log, "utf8")}`);
    }
    await delay(10);
  }
}

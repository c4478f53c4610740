import { resolve } from "node:path";
import { durationMs } from "@bufbuild/protobuf/wkt";
import type { CodingServerOptions } from "@devtool/coding-agent";
import { defined } from "@devtool/internal/json";
import { holdsUser, shownUrl } from "@devtool/internal/shown-url";
import type { ServerConfig } from "@devtool/schema/operator";
import { readKeySet } from "../authentication.ts";
import { readTokenFile } from "../token-file.ts";

/**
 * Returns the agents elsewhere that the config file names, with their tokens.
 * Throws an error that names the value that cannot be used.
 */
export async function remoteAgents(
  { remoteAgents: configured }: Pick<ServerConfig, "remoteAgents">,
  directory: string,
): Promise<NonNullable<CodingServerOptions["remoteAgents"]>> {
  const names = new Set<string>();
  return Promise.all(
    configured.map(async ({ name, url, description, ...files }) => {
      const setting = `remote_agents "${name}"`;
      if (!/^[\w-]{1,50}$/.test(name)) {
        throw new Error(
          `${setting} has no name of up to 50 letters, digits, - and _: name it`,
        );
      }
      // Names that differ in such a way have the same tool, or look the same.
      const plain = name.toLowerCase().replaceAll("-", "_");
      if (names.has(plain)) {
        throw new Error(
          `${setting} has the name of another agent, or nearly: choose another name`,
        );
      }
      names.add(plain);
      assertAddress(setting, url);
      const { tokenFile, keysFile } = files;
      const token =
        tokenFile === ""
          ? undefined
          : await readTokenFile(resolve(directory, tokenFile));
      const keys =
        keysFile === ""
          ? undefined
          : await readKeySet(`${setting}: keys_file`, keysFile, directory);
      return defined({ name, url, description, token, keys });
    }),
  );
}

/** Throws for a URL that is not one of HTTP, or holds a secret. */
export function assertAddress(setting: string, url: string): void {
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? "")) {
    throw new Error(
      `${setting} has the url ${JSON.stringify(shownUrl(url))}, which is not one: write it as https://agents.example`,
    );
  }
  if (holdsUser(url)) {
    throw new Error(
      `${setting} has a user name or a password in its url: leave them out, and name a file with a token in token_file`,
    );
  }
}

/** The longest time that a timer of Node can wait, in milliseconds. */
const MAX_MS = 2 ** 31 - 1;

/** Returns the limits of calls of other agents that the config file sets. */
export function callLimits(
  limits: ServerConfig["agentCalls"],
): NonNullable<CodingServerOptions["agentCalls"]> {
  const { maxDepth, maxCalls, silenceTimeout } = limits ?? {};
  const silenceMs = silenceTimeout && durationMs(silenceTimeout);
  assertWithin("agent_calls.max_depth", maxDepth, 0, 8);
  assertWithin("agent_calls.max_calls", maxCalls, 1, 1000);
  assertWithin("agent_calls.silence_timeout in ms", silenceMs, 1000, MAX_MS);
  return defined({ maxDepth, maxCalls, silenceMs });
}

function assertWithin(
  name: string,
  value: number | undefined,
  least: number,
  most: number,
): void {
  if (value === undefined || (value >= least && value <= most)) return;
  throw new Error(
    `${name} is ${value}: write a number from ${least} to ${most}`,
  );
}
